//! The state that operations work on: the registers of a wave and its surroundings.

use wavemill_ir::{Inst, LANES, LaneMask, Operand, Uni};
use wavemill_machine::engine::{Exports, Hold, PrivateMemory, Surroundings};
use wavemill_machine::{BlockSource, OutOfRange, Registers, Strict};

/// A 32-bit value of each lane.
pub(crate) type Row = [u32; LANES];

/// A wave while it runs.
pub(crate) struct State<'w> {
    pub(crate) regs: &'w mut Registers,
    pub(crate) around: Surroundings<'w>,
    pub(crate) private: PrivateMemory,
    /// The context under which blocks are lifted.
    pub(crate) context: u32,
    /// Guest instructions that the wave has run, excluding those of the current block.
    pub(crate) retired: u64,
    /// The cell that collects exceptions.
    pub(crate) exceptions: Option<Uni>,
    pub(crate) strict: Strict,
    pub(crate) out_of_range: OutOfRange,
    /// Guest address of the barrier that it waits at.
    pub(crate) barrier: &'w mut u64,
    /// The exports of the wave.
    pub(crate) exports: &'w mut Exports,
    /// The source of code, and the address of the guest instruction that runs.
    pub(crate) source: &'w dyn BlockSource,
    pub(crate) here: u64,
    /// The wait that the wave has begun.
    pub(crate) hold: &'w mut Option<Hold>,
    /// The last result of the guest instruction, if any, that went to cells which the wave lacks.
    pub(crate) lost: Option<Uni>,
}

/// The numbers of the lanes in a mask, in ascending order.
pub(crate) fn lanes_of(mask: u64) -> impl Iterator<Item = usize> + Clone {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

impl State<'_> {
    /// The lanes that an operation works on.
    pub(crate) fn mask(&self, inst: &Inst) -> u64 {
        match inst.mask {
            LaneMask::Active => self.regs.uni64(Uni::ACTIVE),
            LaneMask::All => !0,
            LaneMask::Given(pair) => self.regs.uni64(pair),
        }
    }

    /// Dword `n` of a uniform operand. An operand that begins at a cell that the wave lacks reads
    /// as if it began at cell 0, unless an operation of the same guest instruction has a result
    /// there.
    pub(crate) fn cell(&self, operand: Operand, n: u16) -> u32 {
        match operand {
            Operand::Const(value) => value.checked_shr(32 * u32::from(n)).unwrap_or(0) as u32,
            Operand::Uni(cell) if self.lost == Some(cell) => self.regs.lost(n),
            Operand::Uni(cell) if self.regs.counts().lacks(cell) => self.regs.uni(Uni(n)),
            Operand::Uni(cell) => self.regs.uni(cell.plus(n)),
            Operand::None | Operand::Row(_) => 0,
        }
    }

    /// A pair of dwords of a uniform operand.
    pub(crate) fn pair(&self, operand: Operand) -> u64 {
        u64::from(self.cell(operand, 0)) | u64::from(self.cell(operand, 1)) << 32
    }

    /// Writes cells of a uniform result.
    pub(crate) fn set_cells(&mut self, operand: Operand, values: &[u32]) {
        let Operand::Uni(cell) = operand else { return };
        let lacks = self.regs.counts().lacks(cell);
        for (n, value) in (0..).zip(values) {
            if lacks {
                self.regs.set_lost(n, *value);
            } else {
                self.regs.set_uni(cell.plus(n), *value);
            }
        }
    }

    /// Writes a pair of cells of a uniform result, such as a mask.
    pub(crate) fn set_pair(&mut self, operand: Operand, value: u64) {
        self.set_cells(operand, &[value as u32, (value >> 32) as u32]);
    }

    /// Dword `n` of an operand in all lanes. A uniform operand is the same in all lanes.
    pub(crate) fn row(&self, operand: Operand, n: u16) -> Row {
        match operand {
            Operand::Row(row) => self.regs.source_row(row, n),
            uniform => [self.cell(uniform, n); LANES],
        }
    }

    /// Writes dword `n` of a result in the lanes of a mask.
    pub(crate) fn set_row(&mut self, operand: Operand, n: u16, values: &Row, mask: u64) {
        let Operand::Row(row) = operand else { return };
        let mut lanes = self.regs.row(row.plus(n));
        lanes_of(mask).for_each(|lane| lanes[lane] = values[lane]);
        self.regs.set_row(row.plus(n), &lanes);
    }
}
