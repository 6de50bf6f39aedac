//! Operations on uniform values.

ops! {
    /// Operations on uniform values. Unless said otherwise `dst[1]` (the flag) receives whether the result is not zero.
    pub enum ScalarOp of w {
        /// `dst = src0`; no flag.
        Mov = "mov" (w) -> (w);
        /// `dst = ~src0`.
        Not = "not" (w) -> (w, FLAG);
        /// `dst = src0 & src1`.
        And = "and" (w, w) -> (w, FLAG);
        /// `dst = src0 | src1`.
        Or = "or" (w, w) -> (w, FLAG);
        /// `dst = src0 ^ src1`.
        Xor = "xor" (w, w) -> (w, FLAG);
        /// `dst = src0 & ~src1`.
        AndNot = "andn" (w, w) -> (w, FLAG);
        /// `dst = src0 | ~src1`.
        OrNot = "orn" (w, w) -> (w, FLAG);
        /// `dst = ~(src0 & src1)`.
        Nand = "nand" (w, w) -> (w, FLAG);
        /// `dst = ~(src0 | src1)`.
        Nor = "nor" (w, w) -> (w, FLAG);
        /// `dst = ~(src0 ^ src1)`.
        Xnor = "xnor" (w, w) -> (w, FLAG);
        /// `dst = src0 + src1`; the flag is unsigned carry out.
        AddCarryOut = "add.co" (w, w) -> (w, FLAG);
        /// `dst = src0 + src1`; the flag is signed overflow.
        AddOverflow = "add.ov" (w, w) -> (w, FLAG);
        /// `dst = src0 - src1`; the flag is unsigned borrow.
        SubBorrowOut = "sub.bo" (w, w) -> (w, FLAG);
        /// `dst = src0 - src1`; the flag is signed overflow.
        SubOverflow = "sub.ov" (w, w) -> (w, FLAG);
        /// `dst = src0 + src1 + src2` with `src2` 0 or 1; the flag is unsigned carry out.
        AddCarryInOut = "add.cio" (w, w, U32) -> (w, FLAG);
        /// `dst = src0 - src1 - src2` with `src2` 0 or 1; the flag is unsigned borrow.
        SubBorrowInOut = "sub.bio" (w, w, U32) -> (w, FLAG);
        /// Signed minimum; the flag is `src0 < src1`.
        MinI = "min.i" (w, w) -> (w, FLAG);
        /// Unsigned minimum; the flag is `src0 < src1`.
        MinU = "min.u" (w, w) -> (w, FLAG);
        /// Signed maximum; the flag is `src0 > src1`.
        MaxI = "max.i" (w, w) -> (w, FLAG);
        /// Unsigned maximum; the flag is `src0 > src1`.
        MaxU = "max.u" (w, w) -> (w, FLAG);
        /// Signed maximum; the flag is `src0 >= src1`.
        MaxEqI = "max.eq.i" (w, w) -> (w, FLAG);
        /// Unsigned maximum; the flag is `src0 >= src1`.
        MaxEqU = "max.eq.u" (w, w) -> (w, FLAG);
        /// `dst = src2 != 0 ? src0 : src1`; no flag.
        Select = "select" (w, w, U32) -> (w);
        /// `dst = src0 << src1`.
        Shl = "shl" (w, U32) -> (w, FLAG);
        /// `dst = src0 >> src1`, zeros shifted in.
        Shr = "shr" (w, U32) -> (w, FLAG);
        /// `dst = src0 >> src1`, sign shifted in.
        Sar = "sar" (w, U32) -> (w, FLAG);
        /// `dst = ((1 << src0) - 1) << src1`; no flag.
        BitMask = "bfm" (U32, U32) -> (w);
        /// Low half of the product; no flag.
        Mul = "mul" (w, w) -> (w);
        /// High half of the unsigned product; no flag.
        MulHiU = "mulhi.u" (w, w) -> (w);
        /// High half of the signed product; no flag.
        MulHiI = "mulhi.i" (w, w) -> (w);
        /// Unsigned bit field of `src0`: offset in the low 5 or 6 bits of `src1`, width in its bits 22:16.
        BfeU = "bfe.u" (w, U32) -> (w, FLAG);
        /// Signed bit field of `src0`, fields as [`ScalarOp::BfeU`].
        BfeI = "bfe.i" (w, U32) -> (w, FLAG);
        /// `dst = |src0 - src1|` on the wrapped difference.
        AbsDiff = "absdiff" (w, w) -> (w, FLAG);
        /// `dst = |src0|`; the smallest integer stays.
        Abs = "abs" (w) -> (w, FLAG);
        /// `dst = (src0 << imm[4:0]) + src1`; the flag is carry out of the unbounded sum.
        ShlAdd = "shl_add" (w, w) -> (w, FLAG);
        /// `dst = {src1.lo16, src0.lo16}`, with zeros above; no flag.
        PackLL = "pack.ll" (w, w) -> (w);
        /// `dst = {src1.hi16, src0.lo16}`, where `hi16` are bits 31:16; no flag.
        PackLH = "pack.lh" (w, w) -> (w);
        /// `dst = {src1.hi16, src0.hi16}`; no flag.
        PackHH = "pack.hh" (w, w) -> (w);
        /// Each group of four bits becomes all ones if any is set.
        WholeQuad = "wqm" (w) -> (w, FLAG);
        /// Bit `i` = OR of bits `4i..4i+3`.
        QuadMask = "quadmask" (w) -> (w, FLAG);
        /// Bits in reverse order; no flag.
        BitReverse = "brev" (w) -> (w);
        /// Number of zero bits; the result is 32-bit.
        CountZeros = "bcnt0" (w) -> (U32, FLAG);
        /// Number of one bits; the result is 32-bit.
        CountOnes = "bcnt1" (w) -> (U32, FLAG);
        /// Index of the lowest zero bit, -1 if there is none; 32-bit result, no flag.
        FindZeroLow = "ff0" (w) -> (U32);
        /// Index of the lowest one bit, -1 if there is none; 32-bit result, no flag.
        FindOneLow = "ff1" (w) -> (U32);
        /// Number of leading zeros, -1 if no bit is set; 32-bit result, no flag.
        LeadingZeros = "flbit" (w) -> (U32);
        /// Length of the run of sign bits at the top, -1 if all bits are equal; 32-bit result, no flag.
        LeadingSigns = "flbit.i" (w) -> (U32);
        /// Sign extension of the low 8 bits; no flag.
        Sext8 = "sext8" (w) -> (w);
        /// Sign extension of the low 16 bits; no flag.
        Sext16 = "sext16" (w) -> (w);
        /// `dst = src1` with bit `src0` cleared; no flag.
        BitClear = "bitset0" (U32, w) -> (w);
        /// `dst = src1` with bit `src0` set; no flag.
        BitSet = "bitset1" (U32, w) -> (w);
        /// Every bit of the 32-bit `src0` twice, 64-bit result; no flag.
        BitReplicate = "bitreplicate" (U32) -> (U64);
        /// The flag is bit `src1` of `src0` is 0; no result.
        BitTest0 = "bitcmp0" (w, U32) -> (NONE, FLAG);
        /// The flag is bit `src1` of `src0` is 1; no result.
        BitTest1 = "bitcmp1" (w, U32) -> (NONE, FLAG);
    }
}
