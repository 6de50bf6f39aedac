//! Integer operations on varying values.

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
