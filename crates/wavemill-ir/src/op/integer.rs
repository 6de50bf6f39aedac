//! Integer operations on varying values.

ops! {
    /// Varying integer and bit operations on 32-bit cells unless the name says otherwise. Names ending in `16` work on
    /// the low 16 bits and clear the high ones, names starting with `Pk` on both halves.
    pub enum IntOp {
        /// `src0`.
        Mov = "mov" (B32) -> (B32);
        /// 64-bit `src0`.
        Mov64 = "mov64" (B64) -> (B64);
        /// `~src0`.
        Not = "not" (B32) -> (B32);
        /// `src0 & src1`.
        And = "and" (B32, B32) -> (B32);
        /// `src0 | src1`.
        Or = "or" (B32, B32) -> (B32);
        /// `src0 ^ src1`.
        Xor = "xor" (B32, B32) -> (B32);
        /// `~(src0 ^ src1)`.
        Xnor = "xnor" (B32, B32) -> (B32);
        /// `src0 + src1`; with clamp saturating unsigned.
        Add = "add" (B32, B32) -> (B32) saturates;
        /// `src0 - src1`; with clamp saturating unsigned.
        Sub = "sub" (B32, B32) -> (B32) saturates;
        /// `src0 + src1`; with clamp saturating signed.
        AddI = "add.i" (B32, B32) -> (B32) saturates;
        /// `src0 - src1`; with clamp saturating signed.
        SubI = "sub.i" (B32, B32) -> (B32) saturates;
        /// `src0 + src1`, carry mask in `dst[1]`; with clamp saturating unsigned.
        AddCo = "add.co" (B32, B32) -> (B32, MASK) saturates;
        /// `src0 - src1`, borrow mask in `dst[1]`.
        SubCo = "sub.co" (B32, B32) -> (B32, MASK) saturates;
        /// `src0 + src1 + carry`, carry mask `src2` in and `dst[1]` out.
        AddCi = "add.ci" (B32, B32, MASK) -> (B32, MASK) saturates;
        /// `src0 - src1 - borrow`, borrow mask `src2` in and `dst[1]` out.
        SubCi = "sub.ci" (B32, B32, MASK) -> (B32, MASK) saturates;
        /// The carry of `src0 + src1`: 1 if the unsigned sum has more than 32 bits, else 0.
        CarryOut = "carry" (B32, B32) -> (B32);
        /// Low 32 bits of the product.
        MulLo = "mul.lo" (B32, B32) -> (B32);
        /// High 32 bits of the unsigned product.
        MulHiU = "mulhi.u" (B32, B32) -> (B32);
        /// High 32 bits of the signed product.
        MulHiI = "mulhi.i" (B32, B32) -> (B32);
        /// Low 32 bits of the product of unsigned 24-bit operands.
        MulU24 = "mul.u24" (B32, B32) -> (B32) saturates;
        /// Low 32 bits of the product of signed 24-bit operands.
        MulI24 = "mul.i24" (B32, B32) -> (B32) saturates;
        /// Bits 47:32 of the product of unsigned 24-bit operands.
        MulHiU24 = "mulhi.u24" (B32, B32) -> (B32);
        /// Bits 47:32, sign-extended, of the product of signed 24-bit operands.
        MulHiI24 = "mulhi.i24" (B32, B32) -> (B32);
        /// `src0 * src1 + src2`; with clamp saturating unsigned. A saturated offset is outside of every buffer.
        MadU32 = "mad.u32" (B32, B32, B32) -> (B32) saturates;
        /// `u24(src0) * u24(src1) + src2`.
        MadU24 = "mad.u24" (B32, B32, B32) -> (B32) saturates;
        /// `i24(src0) * i24(src1) + src2`.
        MadI24 = "mad.i24" (B32, B32, B32) -> (B32) saturates;
        /// `u32(src0) * u32(src1) + u64(src2)`, 64-bit result, carry mask in `dst[1]`.
        MadU64U32 = "mad.u64.u32" (B32, B32, B64) -> (B64, MASK) saturates;
        /// `i32(src0) * i32(src1) + i64(src2)`, 64-bit result, bit 64 of the exact sum (its sign) in `dst[1]`.
        MadI64I32 = "mad.i64.i32" (B32, B32, B64) -> (B64, MASK) saturates;
        /// `u16(src0) * u16(src1) + src2`.
        MadU32U16 = "mad.u32.u16" (B32, B32, B32) -> (B32) saturates;
        /// `i16(src0) * i16(src1) + src2`.
        MadI32I16 = "mad.i32.i16" (B32, B32, B32) -> (B32) saturates;
        /// Signed minimum.
        MinI = "min.i" (B32, B32) -> (B32);
        /// Signed maximum.
        MaxI = "max.i" (B32, B32) -> (B32);
        /// Unsigned minimum.
        MinU = "min.u" (B32, B32) -> (B32);
        /// Unsigned maximum.
        MaxU = "max.u" (B32, B32) -> (B32);
        /// Signed minimum of three.
        Min3I = "min3.i" (B32, B32, B32) -> (B32);
        /// Signed maximum of three.
        Max3I = "max3.i" (B32, B32, B32) -> (B32);
        /// Signed median.
        Med3I = "med3.i" (B32, B32, B32) -> (B32);
        /// Unsigned minimum of three.
        Min3U = "min3.u" (B32, B32, B32) -> (B32);
        /// Unsigned maximum of three.
        Max3U = "max3.u" (B32, B32, B32) -> (B32);
        /// Unsigned median.
        Med3U = "med3.u" (B32, B32, B32) -> (B32);
        /// `src0 << src1`.
        Shl = "shl" (B32, B32) -> (B32);
        /// `src0 >> src1`, zeros shifted in.
        Shr = "shr" (B32, B32) -> (B32);
        /// `src0 >> src1`, sign shifted in.
        Sar = "sar" (B32, B32) -> (B32);
        /// 64-bit `src0 << src1`.
        Shl64 = "shl64" (B64, B32) -> (B64);
        /// 64-bit `src0 >> src1`, zeros shifted in.
        Shr64 = "shr64" (B64, B32) -> (B64);
        /// 64-bit `src0 >> src1`, sign shifted in.
        Sar64 = "sar64" (B64, B32) -> (B64);
        /// 64-bit `(src0 << src1[2:0]) + src2`; shifts above 4 act as 0.
        ShlAdd64 = "shl_add64" (B64, B32, B64) -> (B64);
        /// `(src0 << src1) + src2`.
        ShlAdd = "shl_add" (B32, B32, B32) -> (B32);
        /// `(src0 + src1) << src2`.
        AddShl = "add_shl" (B32, B32, B32) -> (B32);
        /// `(src0 << src1) | src2`.
        ShlOr = "shl_or" (B32, B32, B32) -> (B32);
        /// `src0 + src1 + src2`.
        Add3 = "add3" (B32, B32, B32) -> (B32);
        /// `(src0 & src1) | src2`.
        AndOr = "and_or" (B32, B32, B32) -> (B32);
        /// `src0 | src1 | src2`.
        Or3 = "or3" (B32, B32, B32) -> (B32);
        /// `(src0 ^ src1) + src2`.
        XorAdd = "xad" (B32, B32, B32) -> (B32);
        /// Unsigned field of `src0`: offset `src1[4:0]`, width `src2[4:0]`.
        BfeU = "bfe.u" (B32, B32, B32) -> (B32);
        /// Signed field of `src0`.
        BfeI = "bfe.i" (B32, B32, B32) -> (B32);
        /// `(src0 & src1) | (~src0 & src2)`.
        Bfi = "bfi" (B32, B32, B32) -> (B32);
        /// `((1 << src0[4:0]) - 1) << src1[4:0]`.
        BitMask = "bfm" (B32, B32) -> (B32);
        /// Any function of three bits: truth table in `imm[7:0]`, index `{src0, src1, src2}`.
        BitOp3 = "bitop3" (B32, B32, B32) -> (B32);
        /// Bits in reverse order.
        BitReverse = "brev" (B32) -> (B32);
        /// Leading zeros, -1 if no bit is set.
        LeadingZeros = "ffbh.u" (B32) -> (B32);
        /// Trailing zeros, -1 if no bit is set.
        TrailingZeros = "ffbl" (B32) -> (B32);
        /// Length of the run of sign bits at the top, -1 if all bits are equal.
        LeadingSigns = "ffbh.i" (B32) -> (B32);
        /// `popcount(src0) + src1`.
        CountOnes = "bcnt" (B32, B32) -> (B32);
        /// `popcount(src0 & lanes below this one, 0..31) + src1`.
        MaskCountLo = "mbcnt.lo" (B32, B32) -> (B32);
        /// `popcount(src0 & lanes below this one, 32..63) + src1`.
        MaskCountHi = "mbcnt.hi" (B32, B32) -> (B32);
        /// `src2` mask bit set ? `src1` : `src0`.
        Select = "cndmask" (F32, F32, MASK) -> (B32);
        /// Low 32 bits of `{src0, src1} >> src2[4:0]`.
        AlignBit = "alignbit" (B32, B32, B32) -> (B32);
        /// Low 32 bits of `{src0, src1} >> 8 * src2[1:0]`.
        AlignByte = "alignbyte" (B32, B32, B32) -> (B32);
        /// Byte permutation of `{src0, src1}` by the selectors in `src2`.
        Perm = "perm" (B32, B32, B32) -> (B32);
        /// `src2` + sum of absolute differences of four unsigned bytes.
        SadU8 = "sad.u8" (B32, B32, B32) -> (B32) saturates;
        /// The same sum shifted left by 16, plus `src2`.
        SadHiU8 = "sad_hi.u8" (B32, B32, B32) -> (B32) saturates;
        /// `src2` + sum of absolute differences of two unsigned halves.
        SadU16 = "sad.u16" (B32, B32, B32) -> (B32) saturates;
        /// `src2` + `|src0 - src1|` unsigned.
        SadU32 = "sad.u32" (B32, B32, B32) -> (B32) saturates;
        /// [`IntOp::SadU8`] that skips bytes whose `src1` byte is zero.
        MsadU8 = "msad.u8" (B32, B32, B32) -> (B32) saturates;
        /// Four unmasked sums at byte offsets 0..3 of the 64-bit `src0`, packed as u16 onto the 64-bit `src2`.
        QsadPkU16U8 = "qsad.pk.u16.u8" (B64, B32, B64) -> (B64) saturates;
        /// The same with [`IntOp::MsadU8`].
        MqsadPkU16U8 = "mqsad.pk.u16.u8" (B64, B32, B64) -> (B64) saturates;
        /// The same with 32-bit accumulators in four cells.
        MqsadU32U8 = "mqsad.u32.u8" (B64, B32, B128) -> (B128) saturates;
        /// Per byte `(src0 + src1 + src2.bit0) >> 1`.
        LerpU8 = "lerp.u8" (B32, B32, B32) -> (B32);
        /// Clamps each signed half of `src0` to 0..=255 and packs into bits 15:0.
        SatPkU8I16 = "sat_pk.u8.i16" (B32) -> (B32);
        /// `src0 >> src2` of `src0` and `src1`, saturated to i8 each, packed into bits 15:0.
        AsrPkI8 = "ashr_pk.i8" (B32, B32, B32) -> (B32);
        /// The same saturated to u8.
        AsrPkU8 = "ashr_pk.u8" (B32, B32, B32) -> (B32);
        /// Next value of a pseudo-random sequence: `src0 << 1`, exclusive or 0xc5 if bit 31 of `src0` is set.
        Prng = "prng" (B32) -> (B32);
        /// Which of four parts of a screen a rectangle of tiles touches: bit n of the result is set
        /// for part n. Tiles repeat after four in both directions. The first column, first row, last
        /// column and last row are bits 7:6, 5:4, 3:2 and 1:0 of `src0`; a last one before the first
        /// is in the next repetition. The part of tile (x, y) is `2 * (x.bit0 ^ y.bit1) + (y.bit0 ^
        /// x.bit1)`.
        ScreenParts = "screen_parts" (B32) -> (B32);
        /// `src0 + src1`.
        Add16 = "add16" (B32, B32) -> (B32) saturates;
        /// `src0 - src1`.
        Sub16 = "sub16" (B32, B32) -> (B32) saturates;
        /// `src0 + src1`; with clamp saturating signed.
        AddI16 = "add.i16" (B32, B32) -> (B32) saturates;
        /// `src0 - src1`; with clamp saturating signed.
        SubI16 = "sub.i16" (B32, B32) -> (B32) saturates;
        /// Low half of the product.
        Mul16 = "mul16" (B32, B32) -> (B32) saturates;
        /// `src0 * src1 + src2`, clamp saturating unsigned.
        MadU16 = "mad.u16" (B32, B32, B32) -> (B32) saturates;
        /// `src0 * src1 + src2`, clamp saturating signed.
        MadI16 = "mad.i16" (B32, B32, B32) -> (B32) saturates;
        /// `src0 << src1`.
        Shl16 = "shl16" (B32, B32) -> (B32);
        /// `src0 >> src1`, zeros shifted in.
        Shr16 = "shr16" (B32, B32) -> (B32);
        /// `src0 >> src1`, sign shifted in.
        Sar16 = "sar16" (B32, B32) -> (B32);
        /// Signed minimum.
        MinI16 = "min.i16" (B32, B32) -> (B32);
        /// Signed maximum.
        MaxI16 = "max.i16" (B32, B32) -> (B32);
        /// Unsigned minimum.
        MinU16 = "min.u16" (B32, B32) -> (B32);
        /// Unsigned maximum.
        MaxU16 = "max.u16" (B32, B32) -> (B32);
        /// Signed minimum of three.
        Min3I16 = "min3.i16" (B32, B32, B32) -> (B32);
        /// Signed maximum of three.
        Max3I16 = "max3.i16" (B32, B32, B32) -> (B32);
        /// Signed median.
        Med3I16 = "med3.i16" (B32, B32, B32) -> (B32);
        /// Unsigned minimum of three.
        Min3U16 = "min3.u16" (B32, B32, B32) -> (B32);
        /// Unsigned maximum of three.
        Max3U16 = "max3.u16" (B32, B32, B32) -> (B32);
        /// Unsigned median.
        Med3U16 = "med3.u16" (B32, B32, B32) -> (B32);
        /// Packed signed `src0 * src1 + src2`.
        PkMadI16 = "pk.mad.i16" (PK16, PK16, PK16) -> (PK16) saturates;
        /// Packed unsigned `src0 * src1 + src2`.
        PkMadU16 = "pk.mad.u16" (PK16, PK16, PK16) -> (PK16) saturates;
        /// Packed low halves of the products.
        PkMulLo16 = "pk.mul16" (PK16, PK16) -> (PK16) saturates;
        /// Packed signed sum.
        PkAddI16 = "pk.add.i16" (PK16, PK16) -> (PK16) saturates;
        /// Packed unsigned sum.
        PkAddU16 = "pk.add.u16" (PK16, PK16) -> (PK16) saturates;
        /// Packed signed difference.
        PkSubI16 = "pk.sub.i16" (PK16, PK16) -> (PK16) saturates;
        /// Packed unsigned difference.
        PkSubU16 = "pk.sub.u16" (PK16, PK16) -> (PK16) saturates;
        /// Packed `src0 << src1`.
        PkShl16 = "pk.shl16" (PK16, PK16) -> (PK16);
        /// Packed `src0 >> src1`, zeros shifted in.
        PkShr16 = "pk.shr16" (PK16, PK16) -> (PK16);
        /// Packed `src0 >> src1`, sign shifted in.
        PkSar16 = "pk.sar16" (PK16, PK16) -> (PK16);
        /// Packed signed maximum.
        PkMaxI16 = "pk.max.i16" (PK16, PK16) -> (PK16);
        /// Packed signed minimum.
        PkMinI16 = "pk.min.i16" (PK16, PK16) -> (PK16);
        /// Packed unsigned maximum.
        PkMaxU16 = "pk.max.u16" (PK16, PK16) -> (PK16);
        /// Packed unsigned minimum.
        PkMinU16 = "pk.min.u16" (PK16, PK16) -> (PK16);
        /// Two dwords: `{src1.dword[sel1], src0.dword[sel0]}` (selects are `Word0`/`Word1` of the sources).
        PkMov = "pk.mov" (PAIR, PAIR) -> (B64);
        /// `src0.lo16 * src1.lo16 + src0.hi16 * src1.hi16 + src2`, signed.
        Dot2I16 = "dot2.i16" (B32, B32, B32) -> (B32) saturates;
        /// The same, unsigned.
        Dot2U16 = "dot2.u16" (B32, B32, B32) -> (B32) saturates;
        /// Sum of four signed byte products + `src2`.
        Dot4I8 = "dot4.i8" (B32, B32, B32) -> (B32) saturates;
        /// Sum of four unsigned byte products + `src2`.
        Dot4U8 = "dot4.u8" (B32, B32, B32) -> (B32) saturates;
        /// Sum of eight signed nibble products + `src2`.
        Dot8I4 = "dot8.i4" (B32, B32, B32) -> (B32) saturates;
        /// Sum of eight unsigned nibble products + `src2`.
        Dot8U4 = "dot8.u4" (B32, B32, B32) -> (B32) saturates;
    }
}
