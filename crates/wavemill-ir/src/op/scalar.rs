//! Operations on uniform values.

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
        /// Signed maximum; SCC = `src0 >= src1`.
        MaxEqI = "max.eq.i",
        /// Unsigned maximum; SCC = `src0 >= src1`.
        MaxEqU = "max.eq.u",
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
