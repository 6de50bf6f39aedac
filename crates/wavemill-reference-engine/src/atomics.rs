//! Read-modify-write operations on memory.

use wavemill_float::atomic_op;
use wavemill_ir::{AtomicOp, Inst, LANES, Space, Width};
use wavemill_machine::{Access, FaultCause, FaultLane};

use crate::memory::Locations;
use crate::operands::Lanes;
use crate::state::{State, lanes_of};

impl State<'_> {
    /// Refuses addresses of active lanes that are not multiples of the size.
    pub(crate) fn aligned(&self, inst: &Inst, addresses: &[u64; LANES], size: u32) -> Result<(), FaultCause> {
        let lanes: Vec<FaultLane> = lanes_of(self.mask(inst))
            .filter(|lane| !addresses[*lane].is_multiple_of(size.into()))
            .map(|lane| FaultLane { lane: lane as u8, address: addresses[lane] })
            .collect();
        if lanes.is_empty() { Ok(()) } else { Err(FaultCause::MisalignedAtomic { size, lanes }) }
    }

    /// An atomic on a space of loads and stores.
    pub(crate) fn atomic(
        &mut self,
        inst: &Inst,
        op: AtomicOp,
        space: Space,
        width: Width,
    ) -> Result<(), FaultCause> {
        let size = 4 * u32::from(width.dwords());
        self.aligned(inst, &self.addresses(inst, space), size)?;
        let locations = self.locations(inst, space, size, Access::Atomic)?;
        let data = [self.wide(inst, 2), self.wide(inst, 3)];
        self.update(inst, op, width, &locations, &data);
        Ok(())
    }

    /// Performs the operation for one lane after the other and writes the old values.
    pub(crate) fn update(
        &mut self,
        inst: &Inst,
        op: AtomicOp,
        width: Width,
        locations: &Locations<'_>,
        [data, second]: &[Lanes; 2],
    ) {
        let (mut old, mut mask) = ([0; LANES], 0);
        for (lane, location) in locations {
            let [a, b] = [data[*lane] as u64, second[*lane] as u64];
            let next = |old| atomic_op(op, width, [old, a, b], inst.attrs.fp);
            old[*lane] = location.update(width, next).into();
            mask |= 1 << lane;
        }
        self.write(inst, &old, mask);
    }
}
