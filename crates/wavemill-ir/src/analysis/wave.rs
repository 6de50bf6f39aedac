//! What analyses know of a wave besides its code.

use std::ops::Range;

use crate::{Inst, Operand, Row, Uni, Value};

/// The registers that a wave has, and those that operations use without naming them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaveFacts {
    /// Rows of each bank. An operation that names another row reads the very first one instead, and
    /// its guest instruction may do nothing.
    pub rows: [u16; Row::BANKS],
    /// Cells that the wave lacks. An operand that begins there reads as if it began at cell 0.
    pub absent: Range<Uni>,
    /// The first of the two cells with the address of private memory, which accesses to it read.
    pub private_memory: Option<Uni>,
    /// The cell that collects the exceptions that operations raise.
    pub exceptions: Option<Uni>,
}

impl Default for WaveFacts {
    /// A wave that has all registers; operations use what they name.
    fn default() -> Self {
        WaveFacts {
            rows: [Row::BANK; Row::BANKS],
            absent: Uni::ACTIVE..Uni::ACTIVE,
            private_memory: None,
            exceptions: None,
        }
    }
}

impl WaveFacts {
    /// Whether the wave lacks a register that an operand of so many cells names.
    #[must_use]
    pub fn lacks(&self, operand: Operand, dwords: u16) -> bool {
        match operand {
            Operand::Uni(first) => (first.0..first.0.saturating_add(dwords.max(1)))
                .any(|cell| self.absent.contains(&Uni(cell)) || cell >= Uni::COUNT),
            Operand::Row(first) => match first.bank() {
                Some((bank, n)) => n.saturating_add(dwords.max(1)) > self.rows[bank],
                None => first.0.saturating_add(dwords) > Row::COUNT,
            },
            Operand::None | Operand::Const(_) => false,
        }
    }

    /// Whether an operation names a register that the wave lacks.
    #[must_use]
    pub fn lacks_some(&self, inst: &Inst) -> bool {
        let source = |n: usize| match inst.op.signature().sources[n] {
            Value::None => false,
            _ => self.lacks(inst.src[n], inst.source_dwords(n)),
        };
        (0..inst.src.len()).any(source)
            || (0..inst.dst.len()).any(|n| self.lacks(inst.dst[n], inst.result_dwords(n)))
    }

    /// For each operation of a block, whether an operation of its guest instruction names a register
    /// that the wave lacks. Such an instruction may do nothing, and read other registers.
    #[must_use]
    pub fn odd(&self, insts: &[Inst]) -> Vec<bool> {
        let mut odd = Vec::with_capacity(insts.len());
        for guest in insts.chunk_by(|a, b| a.guest == b.guest) {
            let is_odd = guest.iter().any(|inst| self.lacks_some(inst));
            odd.resize(odd.len() + guest.len(), is_odd);
        }
        odd
    }
}
