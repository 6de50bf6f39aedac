//! Float operations on varying values.

ops! {
    /// Varying float operations; the type is given beside them.
    pub enum FloatOp {
        /// `src0 + src1`.
        Add = "fadd",
        /// `src0 - src1`.
        Sub = "fsub",
        /// `src0 * src1`.
        Mul = "fmul",
        /// `src0 * src1`, but zero times anything is +0.
        MulLegacy = "fmul.legacy",
        /// `src0 * src1 + src2`, one rounding.
        Fma = "ffma",
        /// `src0 * src1 + src2`, two roundings, denormals flushed.
        Mad = "fmad",
        /// `src0 * src1 + src2` with the legacy product.
        MadLegacy = "fmad.legacy",
        /// Minimum.
        Min = "fmin",
        /// Maximum.
        Max = "fmax",
        /// Minimum of three.
        Min3 = "fmin3",
        /// Maximum of three.
        Max3 = "fmax3",
        /// Median of three.
        Med3 = "fmed3",
        /// IEEE 754-2019 minimum of three (NaN propagates).
        Minimum3 = "fminimum3",
        /// IEEE 754-2019 maximum of three (NaN propagates).
        Maximum3 = "fmaximum3",
        /// `1 / src0`.
        Rcp = "frcp",
        /// `1 / src0` that raises only the integer division flag.
        RcpIflag = "frcp.iflag",
        /// `1 / sqrt(src0)`.
        Rsq = "frsq",
        /// `sqrt(src0)`.
        Sqrt = "fsqrt",
        /// `2 ** src0`.
        Exp2 = "fexp2",
        /// `log2(src0)`.
        Log2 = "flog2",
        /// `sin(2 pi src0)`.
        Sin = "fsin",
        /// `cos(2 pi src0)`.
        Cos = "fcos",
        /// `src0 - floor(src0)`.
        Fract = "ffract",
        /// Rounding to an integral value, towards zero.
        Trunc = "ftrunc",
        /// Rounding to an integral value, upwards.
        Ceil = "fceil",
        /// Rounding to an integral value, downwards.
        Floor = "ffloor",
        /// Rounding to an integral value, nearest even.
        RoundEven = "frndne",
        /// Exponent of `frexp`, as an integer of the type's width (at most 32 bits).
        FrexpExp = "frexp_exp",
        /// Mantissa of `frexp`.
        FrexpMant = "frexp_mant",
        /// `src0 * 2 ** src1` with an integer `src1` (for f16: i16, else i32).
        Ldexp = "ldexp",
        /// First step of a division: scales `src0`; mask of the lanes that [`FloatOp::DivFmas`] scales back in `dst[1]`.
        DivScale = "div_scale",
        /// `fma(src0, src1, src2)`, scaled where the mask `src3` is set.
        DivFmas = "div_fmas",
        /// Last step of a division: special cases of quotient `src0`, denominator `src1`, numerator `src2`.
        DivFixup = "div_fixup",
        /// A segment of 2/pi for argument reduction.
        TrigPreop = "trig_preop",
        /// Face of the cube map that `(src0, src1, src2)` points to.
        CubeId = "cubeid",
        /// S coordinate on that face.
        CubeSc = "cubesc",
        /// T coordinate on that face.
        CubeTc = "cubetc",
        /// Twice the major axis.
        CubeMa = "cubema",
        /// Packed f16 products of `src0` and `src1`, from low to high, summed onto the f32 `src2`; nearest even. Of the
        /// mode only `denorm_in` counts, and for the factors: other denormals become zero.
        Dot2F16 = "dot2.f16",
        /// Sum of the packed bf16 products of `src0` and `src1`, then the f32 `src2`; nearest even, denormals become zero.
        Dot2Bf16 = "dot2.bf16",
        /// As `Dot2Bf16`, but `src2` comes first.
        Dot2cBf16 = "dot2c.bf16",
        /// f32 FMA whose sources are f32 or halves of a cell: `hi_sel` chooses f16, `sel` which half, `neg_hi` acts as
        /// `abs`. An immediate of 1 makes denormal halves zeros of their sign. The type says what the result is: `F32`, or `F16` written to the half that `dst_sel` names.
        FmaMix = "fma_mix",
    }
}
