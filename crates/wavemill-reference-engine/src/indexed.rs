//! Access to rows by index.

use wavemill_ir::{Inst, Operand, Row};

use crate::state::State;

/// Whether the operation indexes rows in a bank that the wave lacks, or outside of the banks.
pub(crate) fn has_no_bank(base: Operand, rows: [u16; Row::BANKS]) -> bool {
    match base {
        Operand::Row(row) => row.bank().is_none_or(|(bank, _)| rows[bank] == 0),
        _ => true,
    }
}

impl State<'_> {
    /// Row `n` of those that start at `base` plus the index; `None` if the wave lacks it.
    fn indexed(&self, base: Row, inst: &Inst, n: u8) -> Option<Row> {
        let (bank, first) = base.bank()?;
        let number = u64::from(first) + u64::from(self.cell(inst.src[1], 0)) + u64::from(n);
        let has = number < self.regs.counts().rows[bank].into();
        has.then(|| Row(bank as u16 * Row::BANK + number as u16))
    }

    /// Reads rows by index.
    pub(crate) fn indexed_read(&mut self, inst: &Inst, count: u8) {
        let Operand::Row(base) = inst.src[0] else { return };
        let Some((bank, _)) = base.bank() else { return };
        for n in 0..count {
            let from = self.indexed(base, inst, n).unwrap_or(Row(bank as u16 * Row::BANK));
            let row = self.regs.row(from);
            self.set_row(inst.dst[0], n.into(), &row, !0);
        }
    }

    /// Writes rows by index.
    pub(crate) fn indexed_write(&mut self, inst: &Inst, count: u8) {
        let Operand::Row(base) = inst.dst[0] else { return };
        let Some(last) = count.checked_sub(1) else { return };
        if self.indexed(base, inst, last).is_none() {
            return;
        }
        for n in 0..count {
            let row = self.row(inst.src[0], n.into());
            if let Some(to) = self.indexed(base, inst, n) {
                self.regs.set_row(to, &row);
            }
        }
    }
}
