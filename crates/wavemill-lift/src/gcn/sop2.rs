//! SOP2 instructions (Vega ISA 12.1).

use wavemill_ir::{Attrs, Op as IrOp, Operand, ScalarOp as S, Width};
use wavemill_isa::gcn::{Inst, Op, Role};

use super::lifter::{Lifted, Lifter};
use super::registers::SCC;

impl Lifter {
    pub(super) fn sop2(&mut self, inst: &Inst) -> Lifted {
        match inst.op() {
            Op::SAddU32 => self.salu(inst, S::AddCarryOut),
            Op::SSubU32 => self.salu(inst, S::SubBorrowOut),
            Op::SAddI32 => self.salu(inst, S::AddOverflow),
            Op::SSubI32 => self.salu(inst, S::SubOverflow),
            Op::SAddcU32 => self.salu_with_scc(inst, S::AddCarryInOut),
            Op::SSubbU32 => self.salu_with_scc(inst, S::SubBorrowInOut),
            Op::SMinI32 => self.salu(inst, S::MinI),
            Op::SMinU32 => self.salu(inst, S::MinU),
            Op::SMaxI32 if !self.context.target.facts().max_of_equals_sets_scc => self.salu(inst, S::MaxI),
            Op::SMaxU32 if !self.context.target.facts().max_of_equals_sets_scc => self.salu(inst, S::MaxU),
            Op::SMaxI32 => self.salu(inst, S::MaxEqI),
            Op::SMaxU32 => self.salu(inst, S::MaxEqU),
            Op::SCselectB32 | Op::SCselectB64 => self.salu_with_scc(inst, S::Select),
            Op::SAndB32 | Op::SAndB64 => self.salu(inst, S::And),
            Op::SOrB32 | Op::SOrB64 => self.salu(inst, S::Or),
            Op::SXorB32 | Op::SXorB64 => self.salu(inst, S::Xor),
            Op::SAndn2B32 | Op::SAndn2B64 => self.salu(inst, S::AndNot),
            Op::SOrn2B32 | Op::SOrn2B64 => self.salu(inst, S::OrNot),
            Op::SNandB32 | Op::SNandB64 => self.salu(inst, S::Nand),
            Op::SNorB32 | Op::SNorB64 => self.salu(inst, S::Nor),
            Op::SXnorB32 | Op::SXnorB64 => self.salu(inst, S::Xnor),
            Op::SLshlB32 | Op::SLshlB64 => self.salu(inst, S::Shl),
            Op::SLshrB32 | Op::SLshrB64 => self.salu(inst, S::Shr),
            Op::SAshrI32 | Op::SAshrI64 => self.salu(inst, S::Sar),
            Op::SBfmB32 | Op::SBfmB64 => self.salu(inst, S::BitMask),
            Op::SMulI32 => self.salu(inst, S::Mul),
            Op::SBfeU32 | Op::SBfeU64 => self.salu(inst, S::BfeU),
            Op::SBfeI32 | Op::SBfeI64 => self.salu(inst, S::BfeI),
            Op::SCbranchGFork => {
                let [mask, target] = [Role::Src0, Role::Src1].map(|role| self.get(inst, role));
                self.fork(mask, target)
            }
            Op::SAbsdiffI32 => self.salu(inst, S::AbsDiff),
            // The second source is ignored (Vega ISA 12.1).
            Op::SRfeRestoreB64 => {
                let target = self.get(inst, Role::Src0);
                self.return_from_handler(target)
            }
            Op::SMulHiU32 => self.salu(inst, S::MulHiU),
            Op::SMulHiI32 => self.salu(inst, S::MulHiI),
            Op::SLshl1AddU32 => self.shift_add(inst, 1),
            Op::SLshl2AddU32 => self.shift_add(inst, 2),
            Op::SLshl3AddU32 => self.shift_add(inst, 3),
            Op::SLshl4AddU32 => self.shift_add(inst, 4),
            Op::SPackLlB32B16 => self.salu(inst, S::PackLL),
            Op::SPackLhB32B16 => self.salu(inst, S::PackLH),
            Op::SPackHhB32B16 => self.salu(inst, S::PackHH),
            _ => Lifted::Unsupported,
        }
    }

    fn shift_add(&mut self, inst: &Inst, amount: i32) -> Lifted {
        let result = self.get(inst, Role::Sdst);
        let (a, b) = (self.get(inst, Role::Src0), self.get(inst, Role::Src1));
        let attrs = Attrs { imm: amount, ..Attrs::default() };
        let op = IrOp::Scalar(S::ShlAdd, Width::W32);
        self.b.push(op, [result, SCC.into()], [a, b, Operand::None, Operand::None], attrs);
        Lifted::Next
    }
}
