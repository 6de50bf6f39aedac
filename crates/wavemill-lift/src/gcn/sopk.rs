//! SOPK instructions (Vega ISA 12.2).

use wavemill_ir::{CmpPred as P, Operand, ScalarOp as S, Terminator, Width};
use wavemill_isa::gcn::{Inst, Op, Role};

use super::lifter::{Lifted, Lifter};
use super::registers::SCC;

impl Lifter {
    pub(super) fn sopk(&mut self, inst: &Inst) -> Lifted {
        let constant = self.get(inst, Role::Simm16);
        let register = self.get(inst, Role::Sdst);
        match inst.op() {
            Op::SMovkI32 => self.salu_of(inst, S::Mov, [constant, Operand::None, Operand::None]),
            Op::SCmovkI32 => self.salu_of(inst, S::Select, [constant, register, SCC.into()]),
            Op::SCmpkEqI32 | Op::SCmpkEqU32 => self.sopk_compare(inst, P::Eq),
            Op::SCmpkLgI32 | Op::SCmpkLgU32 => self.sopk_compare(inst, P::Lg),
            Op::SCmpkGtI32 | Op::SCmpkGtU32 => self.sopk_compare(inst, P::Gt),
            Op::SCmpkGeI32 | Op::SCmpkGeU32 => self.sopk_compare(inst, P::Ge),
            Op::SCmpkLtI32 | Op::SCmpkLtU32 => self.sopk_compare(inst, P::Lt),
            Op::SCmpkLeI32 | Op::SCmpkLeU32 => self.sopk_compare(inst, P::Le),
            Op::SAddkI32 => self.salu_of(inst, S::AddOverflow, [register, constant, Operand::None]),
            Op::SMulkI32 => self.salu_of(inst, S::Mul, [register, constant, Operand::None]),
            Op::SCbranchIFork => {
                let target = Operand::Const(self.branch_target(inst));
                self.fork(register, target)
            }
            Op::SGetregB32 => self.read_hwreg(inst),
            Op::SSetregB32 => self.write_hwreg(inst, register),
            Op::SSetregImm32B32 => {
                let value = self.get(inst, Role::Literal);
                self.write_hwreg(inst, value)
            }
            Op::SCallB64 => {
                self.b.scalar(S::Mov, Width::W64, register, &[Operand::Const(self.next)]);
                Lifted::End(Terminator::Jump(self.branch_target(inst)))
            }
            _ => Lifted::Unsupported,
        }
    }

    fn sopk_compare(&mut self, inst: &Inst, pred: P) -> Lifted {
        self.scalar_compare(inst, pred, [Role::Sdst, Role::Simm16])
    }
}
