//! Access to rows by index.

use wavemill_ir::{Inst, LANES, Operand, Row, RowRange};

use crate::state::{State, lanes_of};

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

    /// The row at an index from `base`; `None` if the range or the wave lacks it.
    fn at_index(&self, base: Row, index: u32, rows: RowRange) -> Option<Row> {
        let number = i64::from(base.0) + i64::from(rows.stride) * i64::from(index as i32);
        let row = Row(u16::try_from(number).ok()?);
        (rows.contains(row) && self.regs.counts().has(row, 1)).then_some(row)
    }

    /// Reads a row by an index of each lane.
    pub(crate) fn lane_indexed_read(&mut self, inst: &Inst, rows: RowRange) {
        let Operand::Row(base) = inst.src[0] else { return };
        let indices = self.row(inst.src[1], 0);
        let fallback = self.regs.source_row(rows.fallback(base), 0);
        let values = std::array::from_fn::<_, LANES, _>(|lane| {
            self.at_index(base, indices[lane], rows).map_or(fallback[lane], |row| self.regs.row(row)[lane])
        });
        self.set_row(inst.dst[0], 0, &values, self.mask(inst));
    }

    /// Writes to a row by an index of each lane.
    pub(crate) fn lane_indexed_write(&mut self, inst: &Inst, rows: RowRange) {
        let Operand::Row(base) = inst.dst[0] else { return };
        let (values, indices) = (self.row(inst.src[0], 0), self.row(inst.src[1], 0));
        for lane in lanes_of(self.mask(inst)) {
            if let Some(row) = self.at_index(base, indices[lane], rows) {
                let mut lanes = self.regs.row(row);
                lanes[lane] = values[lane];
                self.regs.set_row(row, &lanes);
            }
        }
    }
}
