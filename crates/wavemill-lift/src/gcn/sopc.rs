//! SOPC instructions (Vega ISA 12.4).

use wavemill_ir::{Attrs, CmpPred as P, Op as IrOp, Operand, ScalarOp as S, Width};
use wavemill_isa::gcn::{Inst, Op, Role};

use super::hwreg::Field;
use super::lifter::{GPR_IDX_EN, Lifted, Lifter, VSKIP};

impl Lifter {
    pub(super) fn sopc(&mut self, inst: &Inst) -> Lifted {
        match inst.op() {
            Op::SCmpEqI32 | Op::SCmpEqU32 | Op::SCmpEqU64 => self.sopc_compare(inst, P::Eq),
            Op::SCmpLgI32 | Op::SCmpLgU32 | Op::SCmpLgU64 => self.sopc_compare(inst, P::Lg),
            Op::SCmpGtI32 | Op::SCmpGtU32 => self.sopc_compare(inst, P::Gt),
            Op::SCmpGeI32 | Op::SCmpGeU32 => self.sopc_compare(inst, P::Ge),
            Op::SCmpLtI32 | Op::SCmpLtU32 => self.sopc_compare(inst, P::Lt),
            Op::SCmpLeI32 | Op::SCmpLeU32 => self.sopc_compare(inst, P::Le),
            Op::SBitcmp0B32 | Op::SBitcmp0B64 => self.salu_flag(inst, S::BitTest0),
            Op::SBitcmp1B32 | Op::SBitcmp1B64 => self.salu_flag(inst, S::BitTest1),
            Op::SSetvskip => {
                let (value, bit) = (self.get(inst, Role::Src0), self.get(inst, Role::Src1));
                let skip = self.b.uni_temp(1);
                let sources = [value, bit, Operand::None, Operand::None];
                let test = IrOp::Scalar(S::BitTest1, Width::W32);
                self.b.push(test, [Operand::None, skip.into()], sources, Attrs::default());
                self.set_mode(skip.into(), Field::new(VSKIP, 1))
            }
            Op::SSetGprIdxOn => {
                let index = self.get(inst, Role::Src0);
                self.set_gpr_index(index, 0xff);
                let enables = self.get(inst, Role::Src1);
                self.set_gpr_index_enables(enables);
                self.set_mode(Operand::Const(1), Field::new(GPR_IDX_EN, 1))
            }
            _ => Lifted::Unsupported,
        }
    }

    fn sopc_compare(&mut self, inst: &Inst, pred: P) -> Lifted {
        self.scalar_compare(inst, pred, [Role::Src0, Role::Src1])
    }

    /// Puts the four VGPR index enables (a constant) into M0.
    pub(super) fn set_gpr_index_enables(&mut self, enables: Operand) {
        if let Operand::Const(bits) = enables {
            self.set_gpr_index(Operand::Const(bits << 12), 0xf000);
        }
    }
}
