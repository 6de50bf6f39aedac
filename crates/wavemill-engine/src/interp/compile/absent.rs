//! Cells that the wave was not allocated, as results: what becomes of the guest instruction (Vega ISA 3.6.1, 5.2).

use wavemill_ir::{Inst, Op, Operand, Row, Uni};

use super::Compiler;
use crate::regs::RegisterCounts;

/// The cell that the wave lacks among the results of an operation.
pub(super) fn lacking_result(inst: &Inst, counts: RegisterCounts) -> Option<Uni> {
    // Of a move by index, the sum decides.
    if let Op::MoveRelDest(..) = inst.op {
        return None;
    }
    inst.dst.iter().find_map(|dst| match dst {
        Operand::Uni(cell) if counts.lacks(*cell) => Some(*cell),
        _ => None,
    })
}

/// Whether a scalar load writes any cell that the wave lacks.
fn loads_lacking(inst: &Inst, counts: RegisterCounts) -> bool {
    match (inst.op, inst.dst[0]) {
        (Op::ScalarLoad(n) | Op::ScalarBufferLoad(n), Operand::Uni(first)) => {
            (0..u16::from(n.max(1))).any(|k| counts.lacks(first.plus(k)))
        }
        _ => false,
    }
}

impl Compiler<'_> {
    /// Whether a guest instruction does nothing at all, as a result is a cell that the wave lacks: a scalar load is not
    /// executed (Vega ISA 7.4), and of several results, one of which is a row, none is written (Vega ISA 3.6.1).
    pub(super) fn is_nullified(&self, guest: &[Inst]) -> bool {
        let is_vector = |dst: &Operand| matches!(dst, Operand::Row(row) if *row < Row::TEMP0);
        let mut all = guest.iter();
        if all.any(|inst| loads_lacking(inst, self.counts)) {
            return true;
        }
        let lacking = guest.iter().any(|inst| lacking_result(inst, self.counts).is_some());
        lacking && guest.iter().flat_map(|inst| &inst.dst).any(is_vector)
    }
}
