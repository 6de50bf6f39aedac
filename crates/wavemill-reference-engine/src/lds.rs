//! Other LDS operations than loads, stores and atomics: allocation counters, and LDS as a source.

use wavemill_ir::{Inst, LANES};

use crate::state::State;

/// Type and bytes of an element of LDS; 0 bytes for a reserved type.
fn element(source: u32) -> (u32, u32) {
    let ty = source >> 16 & 7;
    let bytes = match ty {
        0 | 4 => 1,
        1 | 5 => 2,
        2 => 4,
        _ => 0,
    };
    (ty, bytes)
}

impl State<'_> {
    /// Offset of an allocation counter.
    pub(crate) fn counter(&self, inst: &Inst) -> u64 {
        let base = u64::from(self.cell(inst.src[0], 0) & 0xffff);
        base.wrapping_add_signed(inst.attrs.imm.into()) & !3
    }

    /// An operation on an allocation counter.
    pub(crate) fn lds_append(&mut self, inst: &Inst, append: bool) {
        let mask = self.mask(inst);
        if mask == 0 {
            return;
        }
        let place = self.in_lds(self.counter(inst), 4);
        let lanes = mask.count_ones();
        let [old, ..] = place.load(4);
        let new = if append { old.wrapping_add(lanes) } else { old.wrapping_sub(lanes) };
        place.store(4, [new, 0, 0, 0]);
        self.set_row(inst.dst[0], 0, &[old; LANES], mask);
    }

    /// Offset and bytes of the element that [`State::lds_direct`] reads.
    pub(crate) fn element(&self, inst: &Inst) -> (u64, u32) {
        let source = self.cell(inst.src[0], 0);
        ((source & 0xffff).into(), element(source).1)
    }

    /// Reads an element of LDS as a uniform value.
    pub(crate) fn lds_direct(&mut self, inst: &Inst) {
        let (offset, bytes) = self.element(inst);
        let mut value = 0;
        if bytes > 0 {
            let [bits, ..] = self.in_lds(offset, bytes).load(bytes);
            value = match element(self.cell(inst.src[0], 0)).0 {
                4 => bits as u8 as i8 as u32,
                5 => bits as u16 as i16 as u32,
                _ => bits,
            };
        }
        self.set_cells(inst.dst[0], &[value]);
    }
}
