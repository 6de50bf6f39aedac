//! Integers and bits.

use wavemill_ir::{Attrs, CmpPred, IntOp, IntType, Op as IrOp, Operand, Row as IrRow};
use wavemill_isa::cayman::Op;

use super::Slot;
use crate::cayman::lifter::Lifter;

/// The operation of an instruction that is one.
pub(super) const fn of(op: Op) -> Option<IntOp> {
    Some(match op {
        Op::AddInt => IntOp::Add,
        // The page prints `src1 - src0`; SUBB_UINT and LLVM have it this way.
        Op::SubInt => IntOp::Sub,
        Op::AddcUint => IntOp::CarryOut,
        Op::MaxInt => IntOp::MaxI,
        Op::MinInt => IntOp::MinI,
        Op::MaxUint => IntOp::MaxU,
        Op::MinUint => IntOp::MinU,
        Op::AndInt => IntOp::And,
        Op::OrInt => IntOp::Or,
        Op::XorInt => IntOp::Xor,
        Op::NotInt => IntOp::Not,
        Op::AshrInt => IntOp::Sar,
        Op::LshlInt => IntOp::Shl,
        // The page takes the count modulo 32; table 4.4 has 0 for counts above 31.
        Op::LshrInt => IntOp::Shr,
        Op::MulloInt | Op::MulloUint => IntOp::MulLo,
        Op::MulhiInt => IntOp::MulHiI,
        Op::MulhiUint => IntOp::MulHiU,
        Op::MulInt24 => IntOp::MulI24,
        Op::MulUint24 => IntOp::MulU24,
        Op::MulhiInt24 => IntOp::MulHiI24,
        Op::MulhiUint24 => IntOp::MulHiU24,
        Op::MuladdInt24 => IntOp::MadI24,
        Op::MuladdUint24 => IntOp::MadU24,
        Op::BfeUint => IntOp::BfeU,
        Op::BfeInt => IntOp::BfeI,
        Op::BfiInt => IntOp::Bfi,
        Op::BfmInt => IntOp::BitMask,
        Op::BfrevInt => IntOp::BitReverse,
        Op::BitAlignInt => IntOp::AlignBit,
        Op::ByteAlignInt => IntOp::AlignByte,
        Op::FfbhUint => IntOp::LeadingZeros,
        Op::FfbhInt => IntOp::LeadingSigns,
        Op::FfblInt => IntOp::TrailingZeros,
        Op::LerpUint => IntOp::LerpU8,
        Op::SadAccumUint => IntOp::SadU8,
        Op::SadAccumHiUint => IntOp::SadHiU8,
        _ => return None,
    })
}

/// The operation that adds a count to its second source.
const fn count(op: Op) -> Option<IntOp> {
    Some(match op {
        Op::BcntInt => IntOp::CountOnes,
        Op::Mbcnt32hiInt => IntOp::MaskCountHi,
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// Appends the operation of an instruction whose sources are not those of the operation;
    /// `false` if it is none of these.
    pub(super) fn integer_sequence(&mut self, slot: &Slot, result: IrRow) -> bool {
        let [first, second, _] = slot.sources;
        let zero = Operand::Const(0);
        let op = slot.inst.op();
        if let Some(count) = count(op) {
            self.push(IrOp::Int(count), result, &[first, zero], Attrs::default());
        } else if op == Op::SubbUint {
            let borrow = IrOp::IntSelect(CmpPred::Gt, IntType::U32);
            self.push(borrow, result, &[second, first, Operand::Const(1), zero], Attrs::default());
        } else {
            return false;
        }
        true
    }
}
