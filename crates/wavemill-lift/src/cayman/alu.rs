//! The meaning of the operations of ALU slots (HD 6900 ISA 8.2).

mod compare;
mod convert;
mod double;
mod float;
mod integer;
pub(super) mod interpolation;
mod joint;
mod operation;
mod reduction;
mod transcendental;

use wavemill_ir::{Attrs, IntOp, Op as IrOp, Operand, Row as IrRow, SrcMods};
use wavemill_isa::cayman::{FieldId as F, Flag, Inst};

use super::lifter::Lifter;

/// The sources of a slot as the IR has them.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) inst: Inst,
    pub(super) sources: [Operand; 3],
    pub(super) modifiers: [SrcMods; 3],
}

impl Slot {
    /// Whether it makes a mask that has an effect: it kills, or it changes the predicate or the
    /// active lanes.
    pub(super) fn makes_mask(&self) -> bool {
        let updates = self.inst.bit(F::UpdatePred) || self.inst.bit(F::UpdateExecMask);
        self.inst.row().has(Flag::Kill) || self.inst.row().has(Flag::Predicate) && updates
    }
}

impl Lifter<'_, '_> {
    pub(super) fn copy(&mut self, to: IrRow, from: Operand) {
        self.push(IrOp::Int(IntOp::Mov), to, &[from], Attrs::default());
    }
}
