//! Scalar memory.

use wavemill_float::atomic_op;
use wavemill_ir::{AtomicOp, FpEnv, Inst, Width};
use wavemill_machine::engine::scalar_address;
use wavemill_machine::{Access, FaultCause, FaultLane, FaultSpace};

use crate::host::Location;
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
        match Location::global(self.around.map, address, size, Access::Load) {
            Some(location) => Ok(location.load_dwords(count)),
            None => match self.loaded_at_edge(address) {
                Some(location) if count == 1 => Ok(vec![location.load(4)[0]]),
                _ => Err(self.refused(address, Access::Load, size)),
            },
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
        match Location::global(self.around.map, address, size, Access::Store) {
            Some(location) if count <= 4 => {
                let value = [0, 1, 2, 3].map(|n| self.cell(inst.src[2], n));
                location.store(size, value);
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
            values = self
                .read_dwords(part.address, within as u16)
                .map_err(|_| self.first_missing(part.address, within, Access::Load))?;
        }
        self.out_of_range.buffer += u64::from(within < u32::from(count));
        values.resize(count.into(), 0);
        self.set_cells(inst.dst[0], &values);
        Ok(())
    }

    /// The fault of a refused access to dwords of a buffer: it names the first dword that is
    /// missing.
    fn first_missing(&self, address: u64, count: u32, access: Access) -> FaultCause {
        let dword = |n: u32| address.wrapping_add(4 * u64::from(n));
        let is_there = |n: u32| Location::global(self.around.map, dword(n), 4, access).is_some();
        let first = (0..count).find(|n| !is_there(*n)).unwrap_or(0);
        self.refused(dword(first), access, 4)
    }

    /// A store of dwords through a buffer resource. Dwords out of range are dropped.
    pub(crate) fn scalar_buffer_store(&mut self, inst: &Inst, count: u8) -> Result<(), FaultCause> {
        let part = self.buffer_part(inst);
        let within = part.within(4, count.into());
        if within > 0 {
            match Location::global(self.around.map, part.address, 4 * within, Access::Store) {
                Some(location) => location.store(4 * within, [0, 1, 2, 3].map(|n| self.cell(inst.src[2], n))),
                None => return Err(self.first_missing(part.address, within, Access::Store)),
            }
        }
        self.out_of_range.buffer += u64::from(within < u32::from(count));
        Ok(())
    }

    /// An atomic at an address.
    pub(crate) fn scalar_atomic(
        &mut self,
        inst: &Inst,
        op: AtomicOp,
        width: Width,
    ) -> Result<(), FaultCause> {
        let old = self.atomic_at(inst, op, width, self.scalar_address(inst))?;
        self.set_old(inst, width, old);
        Ok(())
    }

    /// An atomic through a buffer resource; out of range, nothing happens and the old value is 0.
    pub(crate) fn scalar_buffer_atomic(
        &mut self,
        inst: &Inst,
        op: AtomicOp,
        width: Width,
    ) -> Result<(), FaultCause> {
        let part = self.buffer_part(inst);
        let old = if part.within(4 * u32::from(width.dwords()), 1) == 1 {
            self.atomic_at(inst, op, width, part.address)?
        } else {
            self.out_of_range.buffer += 1;
            0
        };
        self.set_old(inst, width, old);
        Ok(())
    }

    /// Performs an atomic and returns the old value.
    fn atomic_at(&self, inst: &Inst, op: AtomicOp, width: Width, address: u64) -> Result<u64, FaultCause> {
        let size = 4 * u32::from(width.dwords());
        if !address.is_multiple_of(size.into()) {
            return Err(FaultCause::MisalignedAtomic { size, lanes: vec![FaultLane { lane: 0, address }] });
        }
        let value = |source: usize| match width {
            Width::W32 => u64::from(self.cell(inst.src[source], 0)),
            Width::W64 => self.pair(inst.src[source]),
        };
        let [a, b] = [value(2), if op.has_second_datum() { value(3) } else { 0 }];
        match Location::global(self.around.map, address, size, Access::Atomic) {
            Some(location) => {
                Ok(location.update(width, |old| atomic_op(op, width, [old, a, b], FpEnv::DEFAULT)))
            }
            None => Err(self.refused(address, Access::Atomic, size)),
        }
    }

    /// Writes the old value of an atomic, if it has a result.
    fn set_old(&mut self, inst: &Inst, width: Width, old: u64) {
        if !inst.dst[0].is_none() {
            let cells = [old as u32, (old >> 32) as u32];
            self.set_cells(inst.dst[0], &cells[..usize::from(width.dwords())]);
        }
    }
}
