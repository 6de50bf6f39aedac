//! The operations.
//!
//! Conventions that hold for all of them:
//! - `dst[0]` is the result, `dst[1]` the second result (SCC of a scalar operation, carry or compare mask of a
//!   varying one); a slot that is [`Operand::None`](crate::Operand::None) is not written.
//! - `src[0..4]` are the sources in the order of the operation's documentation.
//! - Shift and rotate amounts are taken modulo the width of the shifted value.

/// Declares an enum of operations with their names in the text form.
macro_rules! ops {
    ($(#[$meta:meta])* $vis:vis enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        $vis enum $name { $($(#[$vmeta])* $variant,)* }

        impl $name {
            /// All operations of this kind, in declaration order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// Name in the text form of the IR.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

/// Width of a scalar or integer operation in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Width {
    /// 32 bits: one cell.
    W32,
    /// 64 bits: two cells.
    W64,
}

impl Width {
    /// Cells that a value of this width occupies.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            Width::W32 => 1,
            Width::W64 => 2,
        }
    }
}

ops! {
    /// Operations on uniform values. Unless said otherwise `dst[1]` (SCC) receives whether the result is not zero.
    pub enum ScalarOp {
        /// `dst = src0`; no SCC.
        Mov = "mov",
        /// `dst = ~src0`.
        Not = "not",
        /// `dst = src0 & src1`.
        And = "and",
        /// `dst = src0 | src1`.
        Or = "or",
        /// `dst = src0 ^ src1`.
        Xor = "xor",
        /// `dst = src0 & ~src1`.
        AndNot = "andn",
        /// `dst = src0 | ~src1`.
        OrNot = "orn",
        /// `dst = ~(src0 & src1)`.
        Nand = "nand",
        /// `dst = ~(src0 | src1)`.
        Nor = "nor",
        /// `dst = ~(src0 ^ src1)`.
        Xnor = "xnor",
        /// `dst = src0 + src1`; SCC = unsigned carry out.
        AddCarryOut = "add.co",
        /// `dst = src0 + src1`; SCC = signed overflow.
        AddOverflow = "add.ov",
        /// `dst = src0 - src1`; SCC = unsigned borrow.
        SubBorrowOut = "sub.bo",
        /// `dst = src0 - src1`; SCC = signed overflow.
        SubOverflow = "sub.ov",
        /// `dst = src0 + src1 + src2` with `src2` 0 or 1; SCC = unsigned carry out.
        AddCarryInOut = "add.cio",
        /// `dst = src0 - src1 - src2` with `src2` 0 or 1; SCC = unsigned borrow.
        SubBorrowInOut = "sub.bio",
        /// Signed minimum; SCC = `src0 < src1`.
        MinI = "min.i",
        /// Unsigned minimum; SCC = `src0 < src1`.
        MinU = "min.u",
        /// Signed maximum; SCC = `src0 > src1`.
        MaxI = "max.i",
        /// Unsigned maximum; SCC = `src0 > src1`.
        MaxU = "max.u",
        /// `dst = src2 != 0 ? src0 : src1`; no SCC.
        Select = "select",
        /// `dst = src0 << src1`.
        Shl = "shl",
        /// `dst = src0 >> src1`, zeros shifted in.
        Shr = "shr",
        /// `dst = src0 >> src1`, sign shifted in.
        Sar = "sar",
        /// `dst = ((1 << src0) - 1) << src1`; no SCC.
        BitMask = "bfm",
        /// Low half of the product; no SCC.
        Mul = "mul",
        /// High half of the unsigned product; no SCC.
        MulHiU = "mulhi.u",
        /// High half of the signed product; no SCC.
        MulHiI = "mulhi.i",
        /// Unsigned bit field of `src0`: offset in the low 5 or 6 bits of `src1`, width in its bits 22:16.
        BfeU = "bfe.u",
        /// Signed bit field of `src0`, fields as [`ScalarOp::BfeU`].
        BfeI = "bfe.i",
        /// `dst = |src0 - src1|` on wrapped 32-bit difference.
        AbsDiff = "absdiff",
        /// `dst = |src0|`; the smallest integer stays.
        Abs = "abs",
        /// `dst = (src0 << imm) + src1`; SCC = carry out of the unbounded sum.
        ShlAdd = "shl_add",
        /// `dst = {src1.lo16, src0.lo16}`; no SCC.
        PackLL = "pack.ll",
        /// `dst = {src1.hi16, src0.lo16}`; no SCC.
        PackLH = "pack.lh",
        /// `dst = {src1.hi16, src0.hi16}`; no SCC.
        PackHH = "pack.hh",
        /// Each group of four bits becomes all ones if any is set.
        WholeQuad = "wqm",
        /// Bit `i` = OR of bits `4i..4i+3`.
        QuadMask = "quadmask",
        /// Bits in reverse order; no SCC.
        BitReverse = "brev",
        /// Number of zero bits; the result is 32-bit.
        CountZeros = "bcnt0",
        /// Number of one bits; the result is 32-bit.
        CountOnes = "bcnt1",
        /// Index of the lowest zero bit, -1 if there is none; 32-bit result, no SCC.
        FindZeroLow = "ff0",
        /// Index of the lowest one bit, -1 if there is none; 32-bit result, no SCC.
        FindOneLow = "ff1",
        /// Number of leading zeros, -1 if no bit is set; 32-bit result, no SCC.
        LeadingZeros = "flbit",
        /// Length of the run of sign bits at the top, -1 if all bits are equal; 32-bit result, no SCC.
        LeadingSigns = "flbit.i",
        /// Sign extension of the low 8 bits; no SCC.
        Sext8 = "sext8",
        /// Sign extension of the low 16 bits; no SCC.
        Sext16 = "sext16",
        /// `dst = src1` with bit `src0` cleared; no SCC.
        BitClear = "bitset0",
        /// `dst = src1` with bit `src0` set; no SCC.
        BitSet = "bitset1",
        /// Every bit of the 32-bit `src0` twice, 64-bit result; no SCC.
        BitReplicate = "bitreplicate",
        /// SCC = bit `src1` of `src0` is 0; no result.
        BitTest0 = "bitcmp0",
        /// SCC = bit `src1` of `src0` is 1; no result.
        BitTest1 = "bitcmp1",
    }
}

/// Predicate of a comparison. For floats the names without `N` are false on unordered operands, those with `N` are
/// the negations and true on unordered ones (Vega ISA 6.9, tables 48 and 49).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "the names are the manual's")]
pub enum CmpPred {
    False,
    Lt,
    Eq,
    Le,
    Gt,
    /// Less or greater; for integers: not equal.
    Lg,
    Ge,
    /// Both operands are numbers.
    Ordered,
    /// At least one operand is NaN.
    Unordered,
    Nge,
    Nlg,
    Ngt,
    Nle,
    Neq,
    Nlt,
    True,
}

/// Type of an integer comparison or of the elements of a varying integer operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IntType {
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

/// Type of a float operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FloatType {
    /// binary16 in the low half of a cell (or the half that the attributes select).
    F16,
    /// binary32.
    F32,
    /// binary64 in two cells.
    F64,
    /// Two binary16 in a cell.
    PkF16,
    /// Two binary32 in two cells.
    PkF32,
}

ops! {
    /// Varying integer and bit operations on 32-bit cells unless the name says otherwise. Names ending in `16` work on
    /// the low 16 bits and clear the high ones, names starting with `Pk` on both halves.
    pub enum IntOp {
        /// `src0`.
        Mov = "mov",
        /// 64-bit `src0`.
        Mov64 = "mov64",
        /// `~src0`.
        Not = "not",
        /// `src0 & src1`.
        And = "and",
        /// `src0 | src1`.
        Or = "or",
        /// `src0 ^ src1`.
        Xor = "xor",
        /// `~(src0 ^ src1)`.
        Xnor = "xnor",
        /// `src0 + src1`; with clamp saturating unsigned.
        Add = "add",
        /// `src0 - src1`; with clamp saturating unsigned.
        Sub = "sub",
        /// `src0 + src1`; with clamp saturating signed.
        AddI = "add.i",
        /// `src0 - src1`; with clamp saturating signed.
        SubI = "sub.i",
        /// `src0 + src1`, carry mask in `dst[1]`; with clamp saturating unsigned.
        AddCo = "add.co",
        /// `src0 - src1`, borrow mask in `dst[1]`.
        SubCo = "sub.co",
        /// `src0 + src1 + carry`, carry mask `src2` in and `dst[1]` out.
        AddCi = "add.ci",
        /// `src0 - src1 - borrow`, borrow mask `src2` in and `dst[1]` out.
        SubCi = "sub.ci",
        /// Low 32 bits of the product.
        MulLo = "mul.lo",
        /// High 32 bits of the unsigned product.
        MulHiU = "mulhi.u",
        /// High 32 bits of the signed product.
        MulHiI = "mulhi.i",
        /// Low 32 bits of the product of unsigned 24-bit operands.
        MulU24 = "mul.u24",
        /// Low 32 bits of the product of signed 24-bit operands.
        MulI24 = "mul.i24",
        /// Bits 47:32 of the product of unsigned 24-bit operands.
        MulHiU24 = "mulhi.u24",
        /// Bits 47:32, sign-extended, of the product of signed 24-bit operands.
        MulHiI24 = "mulhi.i24",
        /// `u24(src0) * u24(src1) + src2`.
        MadU24 = "mad.u24",
        /// `i24(src0) * i24(src1) + src2`.
        MadI24 = "mad.i24",
        /// `u32(src0) * u32(src1) + u64(src2)`, 64-bit result, carry mask in `dst[1]`.
        MadU64U32 = "mad.u64.u32",
        /// `i32(src0) * i32(src1) + i64(src2)`, 64-bit result, bit 64 of the exact sum (its sign) in `dst[1]`.
        MadI64I32 = "mad.i64.i32",
        /// `u16(src0) * u16(src1) + src2`.
        MadU32U16 = "mad.u32.u16",
        /// `i16(src0) * i16(src1) + src2`.
        MadI32I16 = "mad.i32.i16",
        /// Signed minimum.
        MinI = "min.i",
        /// Signed maximum.
        MaxI = "max.i",
        /// Unsigned minimum.
        MinU = "min.u",
        /// Unsigned maximum.
        MaxU = "max.u",
        /// Signed minimum of three.
        Min3I = "min3.i",
        /// Signed maximum of three.
        Max3I = "max3.i",
        /// Signed median.
        Med3I = "med3.i",
        /// Unsigned minimum of three.
        Min3U = "min3.u",
        /// Unsigned maximum of three.
        Max3U = "max3.u",
        /// Unsigned median.
        Med3U = "med3.u",
        /// `src0 << src1`.
        Shl = "shl",
        /// `src0 >> src1`, zeros shifted in.
        Shr = "shr",
        /// `src0 >> src1`, sign shifted in.
        Sar = "sar",
        /// 64-bit `src0 << src1`.
        Shl64 = "shl64",
        /// 64-bit `src0 >> src1`, zeros shifted in.
        Shr64 = "shr64",
        /// 64-bit `src0 >> src1`, sign shifted in.
        Sar64 = "sar64",
        /// 64-bit `(src0 << src1[2:0]) + src2`; shifts above 4 act as 0.
        ShlAdd64 = "shl_add64",
        /// `(src0 << src1) + src2`.
        ShlAdd = "shl_add",
        /// `(src0 + src1) << src2`.
        AddShl = "add_shl",
        /// `(src0 << src1) | src2`.
        ShlOr = "shl_or",
        /// `src0 + src1 + src2`.
        Add3 = "add3",
        /// `(src0 & src1) | src2`.
        AndOr = "and_or",
        /// `src0 | src1 | src2`.
        Or3 = "or3",
        /// `(src0 ^ src1) + src2`.
        XorAdd = "xad",
        /// Unsigned field of `src0`: offset `src1[4:0]`, width `src2[4:0]`.
        BfeU = "bfe.u",
        /// Signed field of `src0`.
        BfeI = "bfe.i",
        /// `(src0 & src1) | (~src0 & src2)`.
        Bfi = "bfi",
        /// `((1 << src0[4:0]) - 1) << src1[4:0]`.
        BitMask = "bfm",
        /// Any function of three bits: truth table in `imm[7:0]`, index `{src0, src1, src2}`.
        BitOp3 = "bitop3",
        /// Bits in reverse order.
        BitReverse = "brev",
        /// Leading zeros, -1 if no bit is set.
        LeadingZeros = "ffbh.u",
        /// Trailing zeros, -1 if no bit is set.
        TrailingZeros = "ffbl",
        /// Length of the run of sign bits at the top, -1 if all bits are equal.
        LeadingSigns = "ffbh.i",
        /// `popcount(src0) + src1`.
        CountOnes = "bcnt",
        /// `popcount(src0 & lanes below this one, 0..31) + src1`.
        MaskCountLo = "mbcnt.lo",
        /// `popcount(src0 & lanes below this one, 32..63) + src1`.
        MaskCountHi = "mbcnt.hi",
        /// `src2` mask bit set ? `src1` : `src0` (the order of `v_cndmask_b32`).
        Select = "cndmask",
        /// Low 32 bits of `{src0, src1} >> src2[4:0]`.
        AlignBit = "alignbit",
        /// Low 32 bits of `{src0, src1} >> 8 * src2[1:0]`.
        AlignByte = "alignbyte",
        /// Byte permutation of `{src0, src1}` by the selectors in `src2`.
        Perm = "perm",
        /// `src2` + sum of absolute differences of four unsigned bytes.
        SadU8 = "sad.u8",
        /// The same sum shifted left by 16, plus `src2`.
        SadHiU8 = "sad_hi.u8",
        /// `src2` + sum of absolute differences of two unsigned halves.
        SadU16 = "sad.u16",
        /// `src2` + `|src0 - src1|` unsigned.
        SadU32 = "sad.u32",
        /// [`IntOp::SadU8`] that skips bytes whose `src1` byte is zero.
        MsadU8 = "msad.u8",
        /// Four masked-less sums at byte offsets 0..3 of the 64-bit `src0`, packed as u16 onto the 64-bit `src2`.
        QsadPkU16U8 = "qsad.pk.u16.u8",
        /// The same with [`IntOp::MsadU8`].
        MqsadPkU16U8 = "mqsad.pk.u16.u8",
        /// The same with 32-bit accumulators in four cells.
        MqsadU32U8 = "mqsad.u32.u8",
        /// Per byte `(src0 + src1 + src2.bit0) >> 1`.
        LerpU8 = "lerp.u8",
        /// Clamps each signed half of `src0` to 0..=255 and packs into bits 15:0.
        SatPkU8I16 = "sat_pk.u8.i16",
        /// `src0 >> src2` of `src0` and `src1`, saturated to i8 each, packed into bits 15:0.
        AsrPkI8 = "ashr_pk.i8",
        /// The same saturated to u8.
        AsrPkU8 = "ashr_pk.u8",
        /// Next value of the gfx950 pseudo-random sequence.
        Prng = "prng",
        /// `src0 + src1`.
        Add16 = "add16",
        /// `src0 - src1`.
        Sub16 = "sub16",
        /// `src0 + src1`; with clamp saturating signed.
        AddI16 = "add.i16",
        /// `src0 - src1`; with clamp saturating signed.
        SubI16 = "sub.i16",
        /// Low half of the product.
        Mul16 = "mul16",
        /// `src0 * src1 + src2`, clamp saturating unsigned.
        MadU16 = "mad.u16",
        /// `src0 * src1 + src2`, clamp saturating signed.
        MadI16 = "mad.i16",
        /// `src0 << src1`.
        Shl16 = "shl16",
        /// `src0 >> src1`, zeros shifted in.
        Shr16 = "shr16",
        /// `src0 >> src1`, sign shifted in.
        Sar16 = "sar16",
        /// Signed minimum.
        MinI16 = "min.i16",
        /// Signed maximum.
        MaxI16 = "max.i16",
        /// Unsigned minimum.
        MinU16 = "min.u16",
        /// Unsigned maximum.
        MaxU16 = "max.u16",
        /// Signed minimum of three.
        Min3I16 = "min3.i16",
        /// Signed maximum of three.
        Max3I16 = "max3.i16",
        /// Signed median.
        Med3I16 = "med3.i16",
        /// Unsigned minimum of three.
        Min3U16 = "min3.u16",
        /// Unsigned maximum of three.
        Max3U16 = "max3.u16",
        /// Unsigned median.
        Med3U16 = "med3.u16",
        /// Packed signed `src0 * src1 + src2`.
        PkMadI16 = "pk.mad.i16",
        /// Packed unsigned `src0 * src1 + src2`.
        PkMadU16 = "pk.mad.u16",
        /// Packed low halves of the products.
        PkMulLo16 = "pk.mul16",
        /// Packed signed sum.
        PkAddI16 = "pk.add.i16",
        /// Packed unsigned sum.
        PkAddU16 = "pk.add.u16",
        /// Packed signed difference.
        PkSubI16 = "pk.sub.i16",
        /// Packed unsigned difference.
        PkSubU16 = "pk.sub.u16",
        /// Packed `src0 << src1`.
        PkShl16 = "pk.shl16",
        /// Packed `src0 >> src1`, zeros shifted in.
        PkShr16 = "pk.shr16",
        /// Packed `src0 >> src1`, sign shifted in.
        PkSar16 = "pk.sar16",
        /// Packed signed maximum.
        PkMaxI16 = "pk.max.i16",
        /// Packed signed minimum.
        PkMinI16 = "pk.min.i16",
        /// Packed unsigned maximum.
        PkMaxU16 = "pk.max.u16",
        /// Packed unsigned minimum.
        PkMinU16 = "pk.min.u16",
        /// Two dwords: `{src1.dword[sel1], src0.dword[sel0]}` (selects are `Word0`/`Word1` of the sources).
        PkMov = "pk.mov",
        /// `src0.lo16 * src1.lo16 + src0.hi16 * src1.hi16 + src2`, signed.
        Dot2I16 = "dot2.i16",
        /// The same, unsigned.
        Dot2U16 = "dot2.u16",
        /// Sum of four signed byte products + `src2`.
        Dot4I8 = "dot4.i8",
        /// Sum of four unsigned byte products + `src2`.
        Dot4U8 = "dot4.u8",
        /// Sum of eight signed nibble products + `src2`.
        Dot8I4 = "dot8.i4",
        /// Sum of eight unsigned nibble products + `src2`.
        Dot8U4 = "dot8.u4",
    }
}

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
        /// Packed f16 products of `src0` and `src1` summed onto the f32 `src2`.
        Dot2F16 = "dot2.f16",
        /// Packed bf16 products of `src0` and `src1` summed onto the f32 `src2`.
        Dot2Bf16 = "dot2.bf16",
        /// f32 FMA whose sources are f32 or halves of a cell: `hi_sel` chooses f16, `sel` which half, `neg_hi` acts as
        /// `abs`. The type says what the result is: `F32`, or `F16` written to the half that `dst_sel` names.
        FmaMix = "fma_mix",
    }
}

ops! {
    /// Varying conversions, named by result and source.
    pub enum CvtOp {
        /// f32 from i32.
        F32I32 = "f32.i32",
        /// f32 from u32.
        F32U32 = "f32.u32",
        /// i32 from f32, towards zero, saturating, NaN gives 0.
        I32F32 = "i32.f32",
        /// u32 from f32, towards zero, saturating, NaN gives 0.
        U32F32 = "u32.f32",
        /// i32 from `floor(f32 + 0.5)`.
        RpiI32F32 = "rpi.i32.f32",
        /// i32 from `floor(f32)`.
        FlrI32F32 = "flr.i32.f32",
        /// f32 from the signed nibble `src0[3:0]`, divided by 16.
        OffF32I4 = "off.f32.i4",
        /// f32 from byte 0.
        F32Ubyte0 = "f32.ubyte0",
        /// f32 from byte 1.
        F32Ubyte1 = "f32.ubyte1",
        /// f32 from byte 2.
        F32Ubyte2 = "f32.ubyte2",
        /// f32 from byte 3.
        F32Ubyte3 = "f32.ubyte3",
        /// f16 from f32.
        F16F32 = "f16.f32",
        /// f32 from f16.
        F32F16 = "f32.f16",
        /// f64 from f32.
        F64F32 = "f64.f32",
        /// f32 from f64.
        F32F64 = "f32.f64",
        /// f64 from i32.
        F64I32 = "f64.i32",
        /// f64 from u32.
        F64U32 = "f64.u32",
        /// i32 from f64, towards zero, saturating, NaN gives 0.
        I32F64 = "i32.f64",
        /// u32 from f64, towards zero, saturating, NaN gives 0.
        U32F64 = "u32.f64",
        /// f16 from u16.
        F16U16 = "f16.u16",
        /// f16 from i16.
        F16I16 = "f16.i16",
        /// u16 from f16.
        U16F16 = "u16.f16",
        /// i16 from f16.
        I16F16 = "i16.f16",
        /// Signed normalised i16 from f16.
        NormI16F16 = "norm.i16.f16",
        /// Unsigned normalised u16 from f16.
        NormU16F16 = "norm.u16.f16",
        /// Two f16, rounded towards zero, from f32 `src0` and `src1`.
        PkRtzF16F32 = "pkrtz.f16.f32",
        /// Two f16, rounded by the mode, from f32 `src0` and `src1`.
        PkF16F32 = "pk.f16.f32",
        /// Two bf16, nearest even, from f32 `src0` and `src1`.
        PkBf16F32 = "pk.bf16.f32",
        /// f32 from the bf16 in the selected half.
        F32Bf16 = "f32.bf16",
        /// Two signed normalised i16 from f32 `src0` and `src1`.
        PkNormI16F32 = "pknorm.i16.f32",
        /// Two unsigned normalised u16 from f32 `src0` and `src1`.
        PkNormU16F32 = "pknorm.u16.f32",
        /// Two signed normalised i16 from f16 `src0` and `src1`.
        PkNormI16F16 = "pknorm.i16.f16",
        /// Two unsigned normalised u16 from f16 `src0` and `src1`.
        PkNormU16F16 = "pknorm.u16.f16",
        /// Two u16 from u32 `src0` and `src1`, saturating.
        PkU16U32 = "pk.u16.u32",
        /// Two i16 from i32 `src0` and `src1`, saturating.
        PkI16I32 = "pk.i16.i32",
        /// u8 from f32 `src0`, put into byte `src1[1:0]` of `src2`.
        PkU8F32 = "pk.u8.f32",
        /// `{src1.f16, src0.f16}`.
        PackF16 = "pack.f16",
    }
}

ops! {
    /// Operations that move values between lanes, or between lanes and uniform cells.
    pub enum LaneOp {
        /// Uniform `dst` = `src0` of lane `src1` (modulo 64); ignores EXEC.
        ReadLane = "readlane",
        /// Uniform `dst` = `src0` of the lowest active lane, of lane 0 if none is active.
        ReadFirstLane = "readfirstlane",
        /// Lane `src1` (modulo 64) of `dst` = uniform `src0`; ignores EXEC.
        WriteLane = "writelane",
        /// Lane `i` of `src1` goes to lane `(src0 + imm) / 4 mod 64`; the highest source lane wins, lanes that nobody
        /// writes read 0.
        Permute = "permute",
        /// `dst` = `src1` of lane `(src0 + imm) / 4 mod 64`, 0 if that lane is inactive.
        BackPermute = "bpermute",
        /// `dst` = `src0` permuted by the pattern in `imm[15:0]` (`ds_swizzle_b32`).
        Swizzle = "swizzle",
        /// Exchanges the rows `dst[0]` and `dst[1]` in the active lanes.
        Swap = "swap",
        /// Exchanges lanes 16..31 of each half of `dst[0]` with lanes 0..15 of `dst[1]`.
        Permlane16Swap = "permlane16_swap",
        /// Exchanges lanes 32..63 of `dst[0]` with lanes 0..31 of `dst[1]`.
        Permlane32Swap = "permlane32_swap",
    }
}

/// Address space of a memory operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Space {
    /// Global memory only.
    Global,
    /// Global memory, LDS or scratch, told apart by the apertures lane by lane.
    Flat,
    /// The local data share of the workgroup.
    Lds,
    /// The private memory of each lane.
    Scratch,
}

/// What a load or store moves per lane, and how a load fills its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MemType {
    /// One byte, zero-extended by a load.
    U8,
    /// One byte, sign-extended by a load.
    I8,
    /// Two bytes, zero-extended by a load.
    U16,
    /// Two bytes, sign-extended by a load.
    I16,
    /// One to four dwords.
    Dwords(u8),
    /// One byte; a load zero-extends it into bits 15:0 and keeps the others, a store takes bits 7:0.
    D16U8,
    /// One byte; a load zero-extends it into bits 31:16 and keeps the others, a store takes bits 23:16.
    D16HiU8,
    /// One byte; a load sign-extends it into bits 15:0 and keeps the others.
    D16I8,
    /// One byte; a load sign-extends it into bits 31:16 and keeps the others.
    D16HiI8,
    /// Two bytes; a load puts them into bits 15:0 and keeps the others, a store takes bits 15:0.
    D16B16,
    /// Two bytes; a load puts them into bits 31:16 and keeps the others, a store takes bits 31:16.
    D16HiB16,
}

impl MemType {
    /// Bytes in memory.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            MemType::U8
            | MemType::I8
            | MemType::D16U8
            | MemType::D16HiU8
            | MemType::D16I8
            | MemType::D16HiI8 => 1,
            MemType::U16 | MemType::I16 | MemType::D16B16 | MemType::D16HiB16 => 2,
            MemType::Dwords(n) => 4 * n as u32,
        }
    }

    /// Cells that the value occupies.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            MemType::Dwords(n) => n as u16,
            _ => 1,
        }
    }
}

ops! {
    /// Read-modify-write operations on memory: `old op data`.
    pub enum AtomicOp {
        /// `data`.
        Swap = "swap",
        /// `old == cmp ? data : old`.
        CmpSwap = "cmpswap",
        /// `old + data`.
        Add = "add",
        /// `old - data`.
        Sub = "sub",
        /// `data - old`.
        Rsub = "rsub",
        /// Signed minimum.
        MinI = "min.i",
        /// Unsigned minimum.
        MinU = "min.u",
        /// Signed maximum.
        MaxI = "max.i",
        /// Unsigned maximum.
        MaxU = "max.u",
        /// `old & data`.
        And = "and",
        /// `old | data`.
        Or = "or",
        /// `old ^ data`.
        Xor = "xor",
        /// `old >= data ? 0 : old + 1`.
        IncWrap = "inc",
        /// `old == 0 || old > data ? data : old - 1`.
        DecWrap = "dec",
        /// `(old & ~data) | data2`.
        MaskOr = "mskor",
        /// `old >= data ? old - data : old + data2`.
        Wrap = "wrap",
        /// Float addition, nearest even.
        AddF = "add.f",
        /// Float minimum.
        MinF = "min.f",
        /// Float maximum.
        MaxF = "max.f",
        /// `old == cmp ? data : old` with float comparison.
        CmpSwapF = "cmpswap.f",
        /// Packed f16 addition.
        PkAddF16 = "pk_add.f16",
        /// Packed bf16 addition.
        PkAddBf16 = "pk_add.bf16",
    }
}

impl AtomicOp {
    /// Whether the operation depends on the floating-point mode (which says what becomes of denormals; rounding is to
    /// nearest even).
    #[must_use]
    pub const fn is_float(self) -> bool {
        use AtomicOp::*;
        matches!(self, AddF | MinF | MaxF | CmpSwapF | PkAddF16 | PkAddBf16)
    }
}

/// Which VGPRs form the address of a buffer access; `src[0]` names the first of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct BufferAddr {
    /// An offset VGPR takes part (after the index if both do).
    pub offen: bool,
    /// An index VGPR takes part.
    pub idxen: bool,
}

/// How far a fence reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FenceScope {
    /// The wave waits for its own memory operations (`s_waitcnt`).
    Wave,
    /// Caches of the agent are written back or invalidated.
    Agent,
}

/// Status that the program can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum StatusReg {
    /// `s_getreg_b32` of the hardware register with this number.
    HwReg(u8),
    /// The shader clock (`s_memtime`).
    MemTime,
    /// The constant-rate clock (`s_memrealtime`).
    MemRealTime,
}

/// What an IR operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Op {
    /// Uniform integer operation of the given width.
    Scalar(ScalarOp, Width),
    /// Uniform comparison of `src0` and `src1` into `dst[0]` (0 or 1).
    ScalarCmp(CmpPred, IntType),
    /// Varying integer operation.
    Int(IntOp),
    /// Varying integer comparison into the mask `dst[0]`: bit = active and predicate.
    IntCmp(CmpPred, IntType),
    /// Varying float operation.
    Float(FloatOp, FloatType),
    /// Varying float comparison into the mask `dst[0]`: bit = active and predicate. With `imm` 1 quiet NaNs raise the
    /// exception "invalid" too.
    FloatCmp(CmpPred, FloatType),
    /// Test of `src0` against the class mask `src1` into the mask `dst[0]`.
    FloatClass(FloatType),
    /// Varying conversion. One to integers raises the exception "inexact" with `imm` 1 only.
    Cvt(CvtOp),
    /// Varying conversion to or from a small float format: elements in `src0` (and `src1`), `src2` an f32 whose exponent
    /// is the scale or none, `src3` a random number or none. `sel` of `src0` says where its elements begin. A result of
    /// less than a cell leaves the rest of the destination as it is.
    FormatCvt(crate::FormatCvt),
    /// Movement between lanes.
    Lane(LaneOp),
    /// Transposition of a matrix of small elements within each group of 16 lanes. The element width in bits is beside it: 4, 6,
    /// 8 or 16. A lane has m elements in the rows at `src0` (two rows, three for 6 bits). Taken one after the other those
    /// of the group are a matrix of m rows of 16 elements; lane `n` gets its column `n`. Inactive lanes count as zeros.
    Transpose(u8),
    /// `dst` = uniform load of that many dwords from `src0` (64-bit address) + `src1` (uniform offset or none) + `imm`;
    /// the two low bits of each of the three are ignored.
    ScalarLoad(u8),
    /// The same through the buffer resource in the four cells at `src0`, with range check.
    ScalarBufferLoad(u8),
    /// Uniform store of that many dwords: address as [`Op::ScalarLoad`], data `src2`.
    ScalarStore(u8),
    /// Varying load: address row(s) `src0` (64-bit for global and flat without `src1`, else a 32-bit offset; none: 0),
    /// uniform base `src1` (64-bit for global, 32-bit offset for scratch), plus `imm`.
    Load(Space, MemType),
    /// Varying store: address as [`Op::Load`], data `src2`.
    Store(Space, MemType),
    /// Varying atomic: address as [`Op::Load`], `src2` data, `src3` second datum (comparand of compare-and-swap);
    /// `dst[0]` the old value. Width of the datum beside it.
    Atomic(AtomicOp, Space, Width),
    /// Load through the buffer resource in the four uniform cells at `src1`, `src2` = uniform offset, `imm` = offset.
    BufferLoad(MemType, BufferAddr),
    /// The same for a store, data `src3`.
    BufferStore(MemType, BufferAddr),
    /// The same for an atomic; the second datum follows the first one in the rows at `src3`.
    BufferAtomic(AtomicOp, Width, BufferAddr),
    /// LDS allocation-counter operation: `dst` = old value broadcast, counter at M0 base + `imm` changed by plus
    /// (append) or minus (consume) the number of active lanes.
    LdsAppend(bool),
    /// Uniform `dst` = one element of LDS at byte M0\[15:0\]; M0\[18:16\] is its type: 0 u8, 1 u16, 2 dword, 4 i8, 5 i16, small
    /// ones extended. 0 where LDS ends before, and for the other types.
    LdsDirect,
    /// Orders memory operations of the wave.
    Fence(FenceScope),
    /// `dst` = status; for [`StatusReg::HwReg`], field offset in `imm[4:0]`, width in `imm[12:8]` minus one.
    ReadStatus(StatusReg),
    /// Writes `src0` into the field of a hardware register that is not MODE; fields as [`Op::ReadStatus`].
    WriteStatus(u8),
    /// A message that a functional model ignores (`s_sendmsg`).
    Message,
    /// Uniform load or store through M0-relative register index: `dst = cells[src0 + M0]`, width beside it.
    MoveRelSource(Width),
    /// `cells[dst + M0] = src0`.
    MoveRelDest(Width),
    /// The given number of rows from VGPR `src0` + index on, in all lanes whatever EXEC is; the index is M0\[7:0\] if the
    /// bit of M0 with the number `imm` is set, else 0. A VGPR that the wave has not reads as VGPR0.
    IndexedRead(u8),
    /// Writes the rows from `src0` on to those from VGPR `dst` + index on, in all lanes whatever EXEC is; the index is that
    /// of [`Op::IndexedRead`]. If the wave has not all of them, none is written.
    IndexedWrite(u8),
}

impl Op {
    /// Rows that each lane's part of a [`Op::Transpose`] with this element width takes.
    #[must_use]
    pub const fn transposed_rows(bits: u8) -> u16 {
        if bits == 6 { 3 } else { 2 }
    }

    /// Whether the operation works on both halves of its cells, so that source selects name halves (`op_sel`).
    #[must_use]
    pub fn is_packed(self) -> bool {
        match self {
            Op::Int(op) => op.name().starts_with("pk.") && op != IntOp::PkMov,
            Op::Float(_, t) | Op::FloatCmp(_, t) => t == FloatType::PkF16,
            _ => false,
        }
    }
}

impl IntOp {
    /// Whether `clamp` means something to the operation: the exact result, brought into the range of its type.
    #[must_use]
    pub const fn saturates(self) -> bool {
        use IntOp::*;
        matches!(
            self,
            Add | Sub
                | AddI
                | SubI
                | AddCo
                | SubCo
                | AddCi
                | SubCi
                | MulU24
                | MulI24
                | MadU24
                | MadI24
                | MadU64U32
                | MadI64I32
                | MadU32U16
                | MadI32I16
                | SadU8
                | SadHiU8
                | SadU16
                | SadU32
                | MsadU8
                | QsadPkU16U8
                | MqsadPkU16U8
                | MqsadU32U8
                | Add16
                | Sub16
                | AddI16
                | SubI16
                | Mul16
                | MadU16
                | MadI16
                | PkMadI16
                | PkMadU16
                | PkMulLo16
                | PkAddI16
                | PkAddU16
                | PkSubI16
                | PkSubU16
                | Dot2I16
                | Dot2U16
                | Dot4I8
                | Dot4U8
                | Dot8I4
                | Dot8U4
        )
    }

    /// Cells of each source.
    #[must_use]
    pub const fn source_dwords(self) -> [u16; 3] {
        match self {
            IntOp::Mov64 | IntOp::Shl64 | IntOp::Shr64 | IntOp::Sar64 => [2, 1, 1],
            IntOp::ShlAdd64 | IntOp::QsadPkU16U8 | IntOp::MqsadPkU16U8 => [2, 1, 2],
            IntOp::MqsadU32U8 => [2, 1, 4],
            IntOp::MadU64U32 | IntOp::MadI64I32 => [1, 1, 2],
            IntOp::PkMov => [2, 2, 1],
            _ => [1, 1, 1],
        }
    }

    /// Cells of the result.
    #[must_use]
    pub const fn result_dwords(self) -> u16 {
        match self {
            IntOp::Mov64
            | IntOp::Shl64
            | IntOp::Shr64
            | IntOp::Sar64
            | IntOp::ShlAdd64
            | IntOp::QsadPkU16U8
            | IntOp::MqsadPkU16U8
            | IntOp::MadU64U32
            | IntOp::MadI64I32
            | IntOp::PkMov => 2,
            IntOp::MqsadU32U8 => 4,
            _ => 1,
        }
    }
}
