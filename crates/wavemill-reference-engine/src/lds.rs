//! Other operations on data shares than loads, stores and atomics: counters, synchronization, LDS as
//! a source, and the inputs and outputs of shaders.

use wavemill_ir::{CounterOp, ExportOp, Inst, LANES, ParameterPart, Space, SyncOp, Width};
use wavemill_machine::{Access, Export, FaultCause, FaultSpace};

use crate::host::Location;
use crate::memory::Refused;
use crate::state::{State, lanes_of};

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
    /// Offset of a counter in its data share.
    pub(crate) fn counter(&self, inst: &Inst, space: Space) -> u64 {
        let source = self.cell(inst.src[0], 0);
        let base = if space == Space::Gds { source >> 16 } else { source & 0xffff };
        u64::from(base).wrapping_add_signed(inst.attrs.imm.into()) & !3
    }

    /// The datum of the first active lane, or of lane 0.
    fn first_datum(&self, inst: &Inst) -> u32 {
        let lane = lanes_of(self.mask(inst)).next().unwrap_or(0);
        self.row(inst.src[1], 0)[lane]
    }

    /// An operation on the synchronization state of the device; whether the wave continues.
    pub(crate) fn sync(&mut self, inst: &Inst, op: SyncOp) -> bool {
        let datum = if op.has_datum() { self.first_datum(inst) } else { 0 };
        let source = (self.cell(inst.src[0], 0), inst.attrs.imm);
        self.around.map.share().sync(self.hold, op, source, datum)
    }

    /// An operation on a counter.
    pub(crate) fn count(&mut self, inst: &Inst, op: CounterOp, space: Space) -> Result<(), FaultCause> {
        let mask = self.mask(inst);
        let Some(first) = lanes_of(mask).next() else { return Ok(()) };
        let offset = self.counter(inst, space);
        let location = if space == Space::Gds {
            let mut refused = Refused::default();
            let location = Location::gds(self.around, offset, 4, (0, u64::MAX));
            if location.is_none() {
                refused.add(first, offset, FaultSpace::Gds);
            }
            refused.verdict(self.around, Access::Atomic, 4)?;
            location.unwrap_or(Location::NOWHERE)
        } else {
            self.in_lds(offset, 4)
        };
        let datum = if op.has_datum() { self.first_datum(inst) } else { 0 };
        let old = location.update(Width::W32, |old| op.next(old as u32, datum, mask).into());
        self.set_row(inst.dst[0], 0, &[old as u32; LANES], mask);
        Ok(())
    }

    /// Loads a parameter that is interpolated.
    pub(crate) fn parameter(&mut self, inst: &Inst, part: ParameterPart) {
        let (source, mask) = (self.cell(inst.src[0], 0), self.mask(inst));
        let mut values = [0; LANES];
        for lane in lanes_of(mask) {
            let offset = part.offset(source, inst.attrs.imm, lane);
            values[lane] = self.in_lds(offset, 4).load(4)[0];
        }
        self.set_row(inst.dst[0], 0, &values, mask);
    }

    /// Adds an export of the wave.
    pub(crate) fn export(&mut self, inst: &Inst, op: ExportOp) {
        let active = self.mask(inst);
        let sent = (0..4).filter(|n| op.sources() >> n & 1 != 0);
        let sources = sent.map(|n| {
            let mut lanes = self.row(inst.src[n], 0);
            (0..LANES).filter(|lane| active >> lane & 1 == 0).for_each(|lane| lanes[lane] = 0);
            lanes
        });
        let export = Export { op, active, sources: sources.collect() };
        self.exports.add(|| export);
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
