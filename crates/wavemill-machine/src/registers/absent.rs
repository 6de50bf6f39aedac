//! Results in registers that a wave was not allocated: the effect on the guest instruction
//! (Vega ISA 3.6.1, 5.2).

use wavemill_ir::{Inst, Op, Operand, Row, Uni};

use super::RegisterCounts;

/// Whether a scalar load or atomic writes any cell that the wave lacks.
fn loads_lacking(inst: &Inst, counts: RegisterCounts) -> bool {
    match (inst.op, inst.dst[0]) {
        (
            Op::ScalarLoad(_) | Op::ScalarBufferLoad(_) | Op::ScalarAtomic(..) | Op::ScalarBufferAtomic(..),
            Operand::Uni(first),
        ) => (0..inst.result_dwords(0).max(1)).any(|k| counts.lacks(first.plus(k))),
        _ => false,
    }
}

impl RegisterCounts {
    /// The cell that the wave lacks among the results of an operation. The value goes to
    /// [`Registers::lost`](super::Registers::lost). Only later operations of the same guest
    /// instruction read it, and the end of the block if it belongs to that instruction: in an
    /// operand that begins at this cell, and until the next such result.
    #[must_use]
    pub fn lacking_result(self, inst: &Inst) -> Option<Uni> {
        // For a move by index, the sum of register and index decides.
        if let Op::MoveRelDest(..) = inst.op {
            return None;
        }
        inst.dst.iter().find_map(|dst| match dst {
            Operand::Uni(cell) if self.lacks(*cell) => Some(*cell),
            _ => None,
        })
    }

    /// Whether the wave has all rows that the operation writes.
    fn has_results(self, inst: &Inst) -> bool {
        // For a write by an index of each lane, the sum of row and index decides.
        if let Op::LaneIndexedWrite(_) = inst.op {
            return true;
        }
        inst.dst.iter().enumerate().all(|(n, operand)| match operand {
            Operand::Row(row) => self.has(*row, inst.result_dwords(n)),
            _ => true,
        })
    }

    /// Whether a guest instruction with these operations does nothing, because the wave lacks a
    /// register that it writes. If a row is missing, it writes no other result and accesses no
    /// memory (Vega ISA 3.6.1). If a cell is missing, a scalar load is not executed (Vega ISA 7.4),
    /// and if one of several results is a row, none is written (Vega ISA 3.6.1).
    #[must_use]
    pub fn nullifies(self, guest: &[Inst]) -> bool {
        let is_vector = |dst: &Operand| matches!(dst, Operand::Row(row) if *row < Row::TEMP0);
        if guest.iter().any(|inst| !self.has_results(inst) || loads_lacking(inst, self)) {
            return true;
        }
        let lacking = guest.iter().any(|inst| self.lacking_result(inst).is_some());
        lacking && guest.iter().flat_map(|inst| &inst.dst).any(is_vector)
    }
}
