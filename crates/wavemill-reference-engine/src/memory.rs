//! Loads and stores of the flat, global, private and LDS spaces.

use wavemill_ir::{Inst, LANES, MemType, Space};
use wavemill_machine::engine::Surroundings;
use wavemill_machine::{Access, FaultCause, FaultLane, FaultSpace, LDS_APERTURE, SCRATCH_APERTURE};

use crate::host::Place;
use crate::state::{State, lanes_of};

/// Lanes whose access is refused: those of one space, that of the first one.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    space: Option<FaultSpace>,
    lanes: Vec<FaultLane>,
}

impl Refused {
    /// Notes a lane.
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

/// Where the active lanes' accesses go, in ascending order.
pub(crate) type Places<'m> = Vec<(usize, Place<'m>)>;

/// What a load makes of the bytes that it has read, and of what was in the cell.
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

/// What a store takes of a cell.
pub(crate) fn stored(ty: MemType, cell: u32) -> u32 {
    match ty {
        MemType::D16HiU8 | MemType::D16HiI8 | MemType::D16HiB16 => cell >> 16,
        _ => cell,
    }
}

impl<'w> State<'w> {
    /// Address of each lane: an offset in LDS and private memory.
    pub(crate) fn addresses(&self, inst: &Inst, space: Space) -> [u64; LANES] {
        let (low, imm) = (self.row(inst.src[0], 0), inst.attrs.imm);
        match space {
            Space::Lds => low.map(|low| low.wrapping_add_signed(imm).into()),
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

    /// Bytes of LDS, which are nowhere if they reach behind what is allocated. Counts what leaves the workgroup's bytes.
    pub(crate) fn in_lds(&mut self, offset: u64, size: u32) -> Place<'w> {
        let place = Place::lds(self.around, offset, size);
        if offset.saturating_add(size.into()) > self.around.lds.asked().into() {
            let counts = &mut self.out_of_range;
            *(if place.is_some() { &mut counts.lds_granule } else { &mut counts.lds }) += 1;
        }
        place.unwrap_or(Place::NOWHERE)
    }

    /// Where a lane's access goes; otherwise what is refused.
    fn place(
        &mut self,
        (lane, address): (usize, u64),
        space: Space,
        size: u32,
        access: Access,
    ) -> Result<Place<'w>, (u64, FaultSpace)> {
        let (space, address) = match (space, address & !0xffff_ffff) {
            (Space::Flat, LDS_APERTURE) => (Space::Lds, address & 0xffff_ffff),
            (Space::Flat, SCRATCH_APERTURE) => (Space::Scratch, address & 0xffff_ffff),
            _ => (space, address),
        };
        match space {
            Space::Lds => Ok(self.in_lds(address, size)),
            Space::Scratch => {
                let base = self.regs.uni64(self.regs.counts().private_base.first());
                Place::private(self.around, base, lane, (address, size), access)
                    .ok_or((address, FaultSpace::Scratch))
            }
            Space::Global | Space::Flat => {
                Place::global(self.around.map, address, size, access).ok_or((address, FaultSpace::Global))
            }
        }
    }

    /// Where all active lanes' accesses go.
    pub(crate) fn places(
        &mut self,
        inst: &Inst,
        space: Space,
        size: u32,
        access: Access,
    ) -> Result<Places<'w>, FaultCause> {
        let addresses = self.addresses(inst, space);
        let (mut places, mut refused) = (Vec::new(), Refused::default());
        for lane in lanes_of(self.mask(inst)) {
            match self.place((lane, addresses[lane]), space, size, access) {
                Ok(place) => places.push((lane, place)),
                Err((address, space)) => refused.add(lane, address, space),
            }
        }
        refused.verdict(self.around, access, size)?;
        Ok(places)
    }

    /// A load.
    pub(crate) fn load(&mut self, inst: &Inst, space: Space, ty: MemType) -> Result<(), FaultCause> {
        let places = self.places(inst, space, ty.bytes(), Access::Load)?;
        let values = read_all(&places, |place| place.load(ty.bytes()));
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

    /// What each lane stores, from the rows of source `n`.
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
        let places = self.places(inst, space, ty.bytes(), Access::Store)?;
        let values = self.stored(inst, 2, ty);
        for (lane, place) in last_ones(&places) {
            place.store(ty.bytes(), values[lane]);
        }
        Ok(())
    }
}

/// What lanes read. If all go to one place, that is read once: they get the same, whatever others write meanwhile.
pub(crate) fn read_all<P: PartialEq, V: Copy>(
    places: &[(usize, P)],
    read: impl Fn(&P) -> V,
) -> Vec<(usize, V)> {
    let once = match places {
        [(_, first), rest @ ..] => rest.iter().all(|(_, place)| place == first).then(|| read(first)),
        [] => None,
    };
    places.iter().map(|(lane, place)| (*lane, once.unwrap_or_else(|| read(place)))).collect()
}

/// Where lanes write: of active lanes behind one another that go to one place, the last one. Nobody sees the others' values.
pub(crate) fn last_ones<P: PartialEq + Clone>(places: &[(usize, P)]) -> impl Iterator<Item = (usize, P)> {
    let is_last = |n: &usize| places.get(n + 1).is_none_or(|(_, next)| *next != places[*n].1);
    (0..places.len()).filter(is_last).map(|n| places[n].clone())
}
