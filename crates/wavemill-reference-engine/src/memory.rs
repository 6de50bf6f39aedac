//! Loads and stores of the flat, global, private and LDS spaces.

use wavemill_ir::{Inst, LANES, MemType, Op, Space};
use wavemill_machine::engine::{Head, Surroundings};
use wavemill_machine::{
    Access, FaultCause, FaultLane, FaultSpace, GDS_BYTES, LDS_APERTURE, SCRATCH_APERTURE, gds_window,
};

use crate::host::Location;
use crate::state::{State, lanes_of};

/// Lanes whose access is refused, in the space of the first refused lane.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    space: Option<FaultSpace>,
    lanes: Vec<FaultLane>,
}

impl Refused {
    /// Records a lane.
    pub(crate) fn add(&mut self, lane: usize, address: u64, space: FaultSpace) {
        if *self.space.get_or_insert(space) == space {
            self.lanes.push(FaultLane { lane: lane as u8, address });
        }
    }

    /// The fault, if any lane has been refused.
    pub(crate) fn verdict(
        self,
        around: Surroundings<'_>,
        access: Access,
        size: u32,
    ) -> Result<(), FaultCause> {
        match self.space {
            None => Ok(()),
            Some(space) => Err(around.refusal(access, space, size, self.lanes)),
        }
    }
}

/// Memory of the active lanes' accesses, in ascending order of lanes.
pub(crate) type Locations<'m> = Vec<(usize, Location<'m>)>;

/// The value that a load writes, from the bytes that it has read and the old value of the cell.
pub(crate) fn loaded(ty: MemType, bytes: u32, old: u32) -> u32 {
    let extended = match ty {
        MemType::I8 | MemType::D16I8 | MemType::D16HiI8 => bytes as u8 as i8 as u32,
        MemType::I16 => bytes as u16 as i16 as u32,
        _ => bytes,
    };
    match ty {
        MemType::D16U8 | MemType::D16I8 | MemType::D16B16 => old & 0xffff_0000 | extended & 0xffff,
        MemType::D16HiU8 | MemType::D16HiI8 | MemType::D16HiB16 => old & 0xffff | extended << 16,
        _ => extended,
    }
}

/// The part of a cell that a store writes.
pub(crate) fn stored(ty: MemType, cell: u32) -> u32 {
    match ty {
        MemType::D16HiU8 | MemType::D16HiI8 | MemType::D16HiB16 => cell >> 16,
        _ => cell,
    }
}

impl<'w> State<'w> {
    /// The bytes of the global data share that an operation may touch: all of them without an operand
    /// that says which.
    fn window(&self, inst: &Inst) -> (u64, u64) {
        if inst.src[1].is_none() { (0, GDS_BYTES.into()) } else { gds_window(self.cell(inst.src[1], 0)) }
    }

    /// Address of each lane; for data shares and private memory, an offset.
    pub(crate) fn addresses(&self, inst: &Inst, space: Space) -> [u64; LANES] {
        let (low, imm) = (self.row(inst.src[0], 0), inst.attrs.imm);
        match space {
            Space::Lds => low.map(|low| low.wrapping_add_signed(imm).into()),
            Space::Gds => {
                let (base, _) = self.window(inst);
                low.map(|low| base + u64::from(low.wrapping_add_signed(imm)))
            }
            Space::Scratch => {
                let base = u64::from(self.cell(inst.src[1], 0));
                low.map(|low| (base + u64::from(low)).wrapping_add_signed(imm.into()))
            }
            Space::Global | Space::Flat if inst.src[1].is_none() => {
                let high = self.row(inst.src[0], 1);
                std::array::from_fn(|lane| {
                    (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add_signed(imm.into())
                })
            }
            Space::Global | Space::Flat => {
                let base = self.pair(inst.src[1]);
                low.map(|low| base.wrapping_add(low.into()).wrapping_add_signed(imm.into()))
            }
        }
    }

    /// Bytes of LDS, or [`Location::NOWHERE`] if they extend beyond the allocation. Counts accesses
    /// that leave the workgroup's bytes.
    pub(crate) fn in_lds(&mut self, offset: u64, size: u32) -> Location<'w> {
        let location = Location::lds(self.around, offset, size);
        if offset.saturating_add(size.into()) > self.around.lds.asked().into() {
            let counts = &mut self.out_of_range;
            *(if location.is_some() { &mut counts.lds_granule } else { &mut counts.lds }) += 1;
        }
        location.unwrap_or(Location::NOWHERE)
    }

    /// Memory of a lane's access, or the refused address.
    fn location(
        &mut self,
        inst: &Inst,
        (lane, address): (usize, u64),
        space: Space,
        size: u32,
        access: Access,
    ) -> Result<Location<'w>, (u64, FaultSpace)> {
        let (space, address) = match (space, address & !0xffff_ffff) {
            (Space::Flat, LDS_APERTURE) => (Space::Lds, address & 0xffff_ffff),
            (Space::Flat, SCRATCH_APERTURE) => (Space::Scratch, address & 0xffff_ffff),
            _ => (space, address),
        };
        match space {
            Space::Lds => Ok(self.in_lds(address, size)),
            Space::Gds => {
                let window = self.window(inst);
                Location::gds(self.around, address, size, window).ok_or((address, FaultSpace::Gds))
            }
            Space::Scratch => {
                let base = self.regs.uni64(self.regs.counts().private_base.first());
                Location::private(self.around, base, lane, (address, size), access)
                    .ok_or((address, FaultSpace::Scratch))
            }
            Space::Global | Space::Flat => Location::global(self.around.map, address, size, access)
                .or_else(|| match (access, size) {
                    (Access::Load, 4) => self.loaded_at_edge(address),
                    (Access::Atomic, 4) => self.exchanged_at_edge(inst, lane, address),
                    _ => None,
                })
                .ok_or((address, FaultSpace::Global)),
        }
    }

    /// A dword at the edge of an allocation, for a load that begins an exchange.
    pub(crate) fn loaded_at_edge(&self, address: u64) -> Option<Location<'w>> {
        let edge = self.around.map.edge(address, Access::Load)?;
        let head = Head::find(self.source, self.here, self.context & self.source.context_key())?;
        head.applies(self.regs).then(|| Location::edge(edge))
    }

    /// A dword at the edge of an allocation, for an atomic of a lane that changes nothing beyond.
    fn exchanged_at_edge(&self, inst: &Inst, lane: usize, address: u64) -> Option<Location<'w>> {
        let edge = self.around.map.edge(address, Access::Atomic)?;
        let Op::Atomic(op, ..) = inst.op else { return None };
        let [data, second] = [2, 3].map(|n| self.row(inst.src[n], 0)[lane]);
        edge.allows(op, data, second).then(|| Location::edge(edge))
    }

    /// Memory of all active lanes' accesses.
    pub(crate) fn locations(
        &mut self,
        inst: &Inst,
        space: Space,
        size: u32,
        access: Access,
    ) -> Result<Locations<'w>, FaultCause> {
        let addresses = self.addresses(inst, space);
        let (mut locations, mut refused) = (Vec::new(), Refused::default());
        for lane in lanes_of(self.mask(inst)) {
            match self.location(inst, (lane, addresses[lane]), space, size, access) {
                Ok(location) => locations.push((lane, location)),
                Err((address, space)) => refused.add(lane, address, space),
            }
        }
        refused.verdict(self.around, access, size)?;
        Ok(locations)
    }

    /// A load.
    pub(crate) fn load(&mut self, inst: &Inst, space: Space, ty: MemType) -> Result<(), FaultCause> {
        let locations = self.locations(inst, space, ty.bytes(), Access::Load)?;
        let values = read_all(&locations, |location| location.load(ty.bytes()));
        self.write_loaded(inst, ty, &values);
        Ok(())
    }

    /// Writes what lanes have loaded.
    pub(crate) fn write_loaded(&mut self, inst: &Inst, ty: MemType, values: &[(usize, [u32; 4])]) {
        for dword in 0..ty.dwords() {
            let mut row = self.row(inst.dst[0], dword);
            let mut mask = 0;
            for (lane, value) in values {
                row[*lane] = loaded(ty, value[usize::from(dword)], row[*lane]);
                mask |= 1 << lane;
            }
            self.set_row(inst.dst[0], dword, &row, mask);
        }
    }

    /// The values that each lane stores, from the rows of source `n`.
    pub(crate) fn stored(&self, inst: &Inst, n: usize, ty: MemType) -> [[u32; 4]; LANES] {
        let mut values = [[0; 4]; LANES];
        for dword in 0..ty.dwords() {
            let row = self.row(inst.src[n], dword);
            for (value, cell) in values.iter_mut().zip(row) {
                value[usize::from(dword)] = stored(ty, cell);
            }
        }
        values
    }

    /// A store.
    pub(crate) fn store(&mut self, inst: &Inst, space: Space, ty: MemType) -> Result<(), FaultCause> {
        let locations = self.locations(inst, space, ty.bytes(), Access::Store)?;
        let values = self.stored(inst, 2, ty);
        for (lane, location) in last_ones(&locations) {
            location.store(ty.bytes(), values[lane]);
        }
        Ok(())
    }
}

/// The values that lanes read. If all lanes read the same memory, it is read once: all get the same
/// value, whatever others write meanwhile.
pub(crate) fn read_all<P: PartialEq, V: Copy>(
    locations: &[(usize, P)],
    read: impl Fn(&P) -> V,
) -> Vec<(usize, V)> {
    let once = match locations {
        [(_, first), rest @ ..] => rest.iter().all(|(_, location)| location == first).then(|| read(first)),
        [] => None,
    };
    locations.iter().map(|(lane, location)| (*lane, once.unwrap_or_else(|| read(location)))).collect()
}

/// The writes that take effect: among consecutive active lanes that write the same memory, the last
/// one. The others' values are never visible.
pub(crate) fn last_ones<P: PartialEq + Clone>(locations: &[(usize, P)]) -> impl Iterator<Item = (usize, P)> {
    let is_last = |n: &usize| locations.get(n + 1).is_none_or(|(_, next)| *next != locations[*n].1);
    (0..locations.len()).filter(is_last).map(|n| locations[n].clone())
}
