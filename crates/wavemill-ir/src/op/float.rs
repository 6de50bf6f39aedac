//! Float operations on varying values.

ops! {
    /// Varying float operations; each is used with a type. `cube*`, `dot2*`, `fmuladd.wide*` and
    /// `fmuladd.narrow*` are defined for f32,
    /// `div_scale` and `div_fmas` for f32 and f64, `trig_preop` for f64, `fma_mix` for f32 and f16.
    /// Functions of one operand and `ldexp` are defined for types of one value, except that powers,
    /// logarithms and angles are not defined for f64.
    pub enum FloatOp of ty {
        /// `src0 + src1`.
        Add = "fadd" (ty, ty) -> (ty);
        /// `src0 - src1`.
        Sub = "fsub" (ty, ty) -> (ty);
        /// `src0 * src1`.
        Mul = "fmul" (ty, ty) -> (ty);
        /// `src0 * src1`, but zero times anything is +0.
        MulLegacy = "fmul.legacy" (ty, ty) -> (ty);
        /// `src0 * src1 + src2`, one rounding.
        Fma = "ffma" (ty, ty, ty) -> (ty);
        /// `src0 * src1 + src2`, two roundings, denormals flushed.
        Mad = "fmad" (ty, ty, ty) -> (ty);
        /// `src0 * src1 + src2` with the legacy product.
        MadLegacy = "fmad.legacy" (ty, ty, ty) -> (ty);
        /// `src0 * src1 + src2`, two roundings: the sum of the rounded product. The mode says what denormals are, of the
        /// product too.
        MulAdd = "fmuladd" (ty, ty, ty) -> (ty);
        /// The same with the legacy product.
        MulAddLegacy = "fmuladd.legacy" (ty, ty, ty) -> (ty);
        /// `src0 * src1 + src2` of f32 factors and an f64 addend, rounded once, to f64; f64 denormals are kept. A chain
        /// of them is a sum of products that is rounded to f32 at its end only; that it has the precision of f64 is a
        /// documented choice.
        MulAddWide = "fmuladd.wide" (ty, ty, F64) -> (F64);
        /// The same with the legacy product.
        MulAddWideLegacy = "fmuladd.wide.legacy" (ty, ty, F64) -> (F64);
        /// The end of such a chain: `MulAddWide`, and its result rounded to f32.
        MulAddNarrow = "fmuladd.narrow" (ty, ty, F64) -> (ty);
        /// The same with the legacy product.
        MulAddNarrowLegacy = "fmuladd.narrow.legacy" (ty, ty, F64) -> (ty);
        /// Minimum.
        Min = "fmin" (ty, ty) -> (ty);
        /// Maximum.
        Max = "fmax" (ty, ty) -> (ty);
        /// `src0 < src1 ? src0 : src1`: `src1` if they are equal, zeros of any sign included, or if one is a NaN.
        /// Denormals are zeros as the mode says, and a NaN stays as it is (documented choice).
        MinSelect = "fmin.select" (ty, ty) -> (ty);
        /// `src0 >= src1 ? src0 : src1`: `src0` if they are equal, zeros of any sign included; `src1` if one is a NaN.
        MaxSelect = "fmax.select" (ty, ty) -> (ty);
        /// As `MinSelect`, but `src0` if `src1` is a NaN: a number wins over a NaN, and the first of two NaNs wins
        /// (documented choice).
        MinNumber = "fmin.number" (ty, ty) -> (ty);
        /// As `MaxSelect`, but `src0` if `src1` is a NaN: a number wins over a NaN, and the first of two NaNs wins
        /// (documented choice).
        MaxNumber = "fmax.number" (ty, ty) -> (ty);
        /// Minimum of three.
        Min3 = "fmin3" (ty, ty, ty) -> (ty);
        /// Maximum of three.
        Max3 = "fmax3" (ty, ty, ty) -> (ty);
        /// Median of three.
        Med3 = "fmed3" (ty, ty, ty) -> (ty);
        /// IEEE 754-2019 minimum of three (NaN propagates).
        Minimum3 = "fminimum3" (ty, ty, ty) -> (ty);
        /// IEEE 754-2019 maximum of three (NaN propagates).
        Maximum3 = "fmaximum3" (ty, ty, ty) -> (ty);
        /// A copy of `src0`; an infinity becomes the largest number of its sign.
        InfinityToMax = "finf.max" (ty) -> (ty);
        /// A copy of `src0`; an infinity becomes a zero of its sign.
        InfinityToZero = "finf.zero" (ty) -> (ty);
        /// A copy of `src0`; a NaN becomes an infinity of its sign.
        NanToInfinity = "fnan.inf" (ty) -> (ty);
        /// `1 / src0`.
        Rcp = "frcp" (ty) -> (ty);
        /// `1 / src0` that raises only the integer division flag.
        RcpIflag = "frcp.iflag" (ty) -> (ty);
        /// `1 / sqrt(src0)`.
        Rsq = "frsq" (ty) -> (ty);
        /// `sqrt(src0)`.
        Sqrt = "fsqrt" (ty) -> (ty);
        /// `2 ** src0`.
        Exp2 = "fexp2" (ty) -> (ty);
        /// `log2(src0)`.
        Log2 = "flog2" (ty) -> (ty);
        /// `sin(2 pi src0)`.
        Sin = "fsin" (ty) -> (ty);
        /// `cos(2 pi src0)`.
        Cos = "fcos" (ty) -> (ty);
        /// `src0 - floor(src0)`.
        Fract = "ffract" (ty) -> (ty);
        /// Rounding to an integral value, towards zero.
        Trunc = "ftrunc" (ty) -> (ty);
        /// Rounding to an integral value, upwards.
        Ceil = "fceil" (ty) -> (ty);
        /// Rounding to an integral value, downwards.
        Floor = "ffloor" (ty) -> (ty);
        /// Rounding to an integral value, nearest even.
        RoundEven = "frndne" (ty) -> (ty);
        /// Exponent of `frexp`, as an integer of the type's width (at most 32 bits).
        FrexpExp = "frexp_exp" (ty) -> (B32);
        /// Mantissa of `frexp`.
        FrexpMant = "frexp_mant" (ty) -> (ty);
        /// `src0 * 2 ** src1` with an integer `src1` (for f16: i16, else i32).
        Ldexp = "ldexp" (ty, B32) -> (ty);
        /// First step of a division: scales `src0`; mask of the lanes that [`FloatOp::DivFmas`] scales back in `dst[1]`.
        DivScale = "div_scale" (ty, ty, ty) -> (ty, MASK);
        /// `fma(src0, src1, src2)`, scaled where the mask `src3` is set.
        DivFmas = "div_fmas" (ty, ty, ty, MASK) -> (ty);
        /// Last step of a division: special cases of quotient `src0`, denominator `src1`, numerator `src2`.
        DivFixup = "div_fixup" (ty, ty, ty) -> (ty);
        /// A segment of 2/pi for argument reduction.
        TrigPreop = "trig_preop" (ty, B32) -> (ty);
        /// Face of the cube map that `(src0, src1, src2)` points to.
        CubeId = "cubeid" (ty, ty, ty) -> (ty);
        /// S coordinate on that face.
        CubeSc = "cubesc" (ty, ty, ty) -> (ty);
        /// T coordinate on that face.
        CubeTc = "cubetc" (ty, ty, ty) -> (ty);
        /// Twice the major axis.
        CubeMa = "cubema" (ty, ty, ty) -> (ty);
        /// Packed f16 products of `src0` and `src1`, from low to high, summed onto the f32 `src2`; nearest even. Of
        /// the mode, only `denorm_in` applies, and only to the factors: other denormals become zero.
        Dot2F16 = "dot2.f16" (PKF16, PKF16, ty) -> (ty);
        /// Sum of the packed bf16 products of `src0` and `src1`, then the f32 `src2`; nearest even, denormals become zero.
        Dot2Bf16 = "dot2.bf16" (PKF16, PKF16, ty) -> (ty);
        /// As `Dot2Bf16`, but `src2` comes first.
        Dot2cBf16 = "dot2c.bf16" (PKF16, PKF16, ty) -> (ty);
        /// f32 FMA whose sources are f32 or halves of a cell: `hi_sel` chooses f16, `sel` which half, `neg_hi` acts as
        /// `abs`. An immediate of 1 makes denormal halves zeros of their sign. The type is that of the result: `F32`, or `F16` written to the half that `dst_sel` names.
        FmaMix = "fma_mix" (MIXED, MIXED, MIXED) -> (ty);
    }
}
