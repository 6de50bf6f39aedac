//! The meaning of the operations of ALU slots (HD 6900 ISA 8.2).

mod operation;

use wavemill_ir::{Attrs, IntOp, Op as IrOp, Operand, Row as IrRow, SrcMods, Uni};
use wavemill_isa::cayman::Inst;

use super::lifter::{Lifter, Refused};

/// The sources of a slot as the IR has them.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) inst: Inst,
    pub(super) sources: [Operand; 3],
    pub(super) modifiers: [SrcMods; 3],
}

/// What slots that compute together have computed, in temporaries and constants.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Joint {
    /// The result of each channel.
    pub(super) results: [Option<Operand>; 4],
    /// The masks as [`Lifter::operation`] gives them, at the first channel of the instruction.
    pub(super) masks: [Option<Uni>; 4],
}

impl Lifter<'_, '_> {
    pub(super) fn joint_results(&mut self, _: &[Slot]) -> Result<Joint, Refused> {
        Ok(Joint::default())
    }

    pub(super) fn copy(&mut self, to: IrRow, from: Operand) {
        self.push(IrOp::Int(IntOp::Mov), to, &[from], Attrs::default());
    }
}
