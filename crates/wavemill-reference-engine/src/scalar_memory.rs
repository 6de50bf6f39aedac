//! Scalar memory.

use wavemill_ir::Inst;
use wavemill_machine::engine::scalar_address;
use wavemill_machine::{Access, FaultCause, FaultSpace};

use crate::host::Place;
use crate::memory::Refused;
use crate::state::State;

/// The part of a buffer that a scalar load reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    /// Address of the first dword.
    address: u64,
    /// Its offset in the buffer.
    pub(crate) offset: u64,
    /// Bytes of the buffer.
    pub(crate) end: u64,
}

impl Part {
    /// How many leading elements of `count` are in range.
    pub(crate) fn within(self, size: u32, count: u32) -> u32 {
        let elements = self.end.saturating_sub(self.offset) / u64::from(size);
        elements.min(count.into()) as u32
    }
}

impl State<'_> {
    /// Offset from a register, 0 if there is none.
    fn offset(&self, inst: &Inst) -> u64 {
        self.cell(inst.src[1], 0).into()
    }

    /// Address of a scalar load or store.
    fn scalar_address(&self, inst: &Inst) -> u64 {
        scalar_address(self.pair(inst.src[0]), self.offset(inst), inst.attrs.imm.into())
    }

    /// Reads dwords at a guest address.
    fn read_dwords(&self, address: u64, count: u16) -> Result<Vec<u32>, FaultCause> {
        let size = 4 * u32::from(count);
        match Place::global(self.around.map, address, size, Access::Load) {
            Some(place) => Ok(place.load_dwords(count)),
            None => Err(self.refused(address, Access::Load, size)),
        }
    }

    /// The fault of an access that is refused.
    fn refused(&self, address: u64, access: Access, size: u32) -> FaultCause {
        let mut refused = Refused::default();
        refused.add(0, address, FaultSpace::Global);
        match refused.verdict(self.around, access, size) {
            Err(cause) => cause,
            Ok(()) => unreachable!("a lane was refused"),
        }
    }

    /// A load of dwords.
    pub(crate) fn scalar_load(&mut self, inst: &Inst, count: u8) -> Result<(), FaultCause> {
        let values = self.read_dwords(self.scalar_address(inst), count.into())?;
        self.set_cells(inst.dst[0], &values);
        Ok(())
    }

    /// A store of dwords.
    pub(crate) fn scalar_store(&mut self, inst: &Inst, count: u8) -> Result<(), FaultCause> {
        let (address, size) = (self.scalar_address(inst), 4 * u32::from(count));
        match Place::global(self.around.map, address, size, Access::Store) {
            Some(place) if count <= 4 => {
                let value = [0, 1, 2, 3].map(|n| self.cell(inst.src[2], n));
                place.store(size, value);
                Ok(())
            }
            _ => Err(self.refused(address, Access::Store, size)),
        }
    }

    /// The part of a buffer that a load reads (Vega ISA 7.2, 8.1.5). The two low bits of the base
    /// and of the whole offset are ignored (CDNA4 ISA 8.2.1.1).
    pub(crate) fn buffer_part(&self, inst: &Inst) -> Part {
        let word = |n| self.cell(inst.src[0], n);
        let base = u64::from(word(0) & !3) | u64::from(word(1) & 0xffff) << 32;
        let (stride, records) = (u64::from(word(1) >> 16 & 0x3fff), u64::from(word(2)));
        let offset = self.offset(inst).wrapping_add_signed(inst.attrs.imm.into()) & !3;
        let end = if stride == 0 { records } else { stride * records };
        Part { address: base.wrapping_add(offset), offset, end }
    }

    /// A load of dwords through a buffer resource. Dwords out of range are 0.
    pub(crate) fn scalar_buffer_load(&mut self, inst: &Inst, count: u8) -> Result<(), FaultCause> {
        let part = self.buffer_part(inst);
        let within = part.within(4, count.into());
        let mut values = Vec::new();
        if within > 0 {
            let dword = |n: u32| part.address.wrapping_add(4 * u64::from(n));
            values = self.read_dwords(part.address, within as u16).map_err(|_| {
                // The report names the first dword that is missing.
                let is_there = |n: u32| Place::global(self.around.map, dword(n), 4, Access::Load).is_some();
                let first = (0..within).find(|n| !is_there(*n)).unwrap_or(0);
                self.refused(dword(first), Access::Load, 4)
            })?;
        }
        self.out_of_range.buffer += u64::from(within < u32::from(count));
        values.resize(count.into(), 0);
        self.set_cells(inst.dst[0], &values);
        Ok(())
    }
}
