//! Accesses through buffer resources (Vega ISA 8.1).

use wavemill_float::texel::BufferTexel;
use wavemill_ir::{AtomicOp, BufferAddr, Inst, LANES, MemType, TexelAccess, Width};
use wavemill_machine::{Access, BufferRange, FaultCause, FaultSpace};

use crate::host::Location;
use crate::memory::{Locations, Refused, last_ones, read_all};
use crate::state::{Row, State, lanes_of};

/// Bytes of an element of a swizzled buffer.
const ELEMENT: u64 = 4;

/// The limit that offsets or indices are compared with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Range {
    /// Nothing.
    None,
    /// The offset plus the size is compared with this many bytes after the uniform offset.
    Bytes(u64),
    /// The index is compared with this many records.
    Records(u64),
}

/// A buffer resource, with the facts that are the same in all lanes (Vega ISA 8.1.5).
#[derive(Clone, Copy, Debug)]
struct Resource {
    /// Address of the first byte, with the uniform offset added.
    base: u64,
    stride: u64,
    /// Number of interleaved records, if the buffer is swizzled.
    interleaved: Option<u64>,
    adds_lane: bool,
    range: Range,
    /// The buffer is in private memory, so an access must stay in the private memory of the wave.
    private: bool,
    /// No buffer is bound: the data format is INVALID (Vega ISA 8.1.4).
    unbound: bool,
    /// Size of the range for fault reports.
    records: u64,
    uniform: u64,
}

/// Index and offset of each lane.
struct Lanes {
    index: Row,
    offset: Row,
}

/// The part of a buffer that a lane accesses.
#[derive(Clone, Copy, Debug)]
struct At {
    index: u64,
    offset: u64,
}

impl At {
    /// The position this many bytes later.
    fn plus(self, bytes: u32) -> At {
        At { offset: self.offset + u64::from(bytes), ..self }
    }
}

impl Resource {
    /// Address of `size` bytes; `None` if they are out of range.
    fn address(&self, at: At, size: u32) -> Option<u64> {
        self.contains(at, size).then(|| self.address_in_range(at))
    }

    /// Whether `size` bytes are in range.
    fn contains(&self, at: At, size: u32) -> bool {
        match self.range {
            Range::None => true,
            Range::Bytes(bytes) => at.offset + u64::from(size) <= bytes,
            Range::Records(records) => at.index < records,
        }
    }

    /// Address of bytes that are in range.
    fn address_in_range(&self, At { index, offset }: At) -> u64 {
        let displacement = match self.interleaved {
            None => index * self.stride + offset,
            Some(records) => {
                let row = index / records * self.stride + offset / ELEMENT * ELEMENT;
                row * records + index % records * ELEMENT + offset % ELEMENT
            }
        };
        self.base.wrapping_add(displacement)
    }

    /// Whether the bytes are in two elements of a swizzled buffer, which are not next to each
    /// other.
    fn straddles(&self, at: At, size: u32) -> bool {
        self.interleaved.is_some() && at.offset % ELEMENT + u64::from(size).min(ELEMENT) > ELEMENT
    }
}

/// The components of an access, in consecutive bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Components {
    /// Bytes of a component: 1, 2 or 4, or 8 for an atomic.
    size: u32,
    count: u32,
    /// Whether a component is in range only if all of them are.
    whole: bool,
}

impl Components {
    /// The components of a type: each one is in range or not independently.
    pub(crate) fn of_type(ty: MemType) -> Components {
        match ty {
            MemType::Dwords(count) => Components { size: 4, count: count.into(), whole: false },
            narrow => Components::one(narrow.bytes()),
        }
    }

    /// A single component.
    pub(crate) fn one(size: u32) -> Components {
        Components { size, count: 1, whole: false }
    }

    /// The dwords or the narrow value of a texel of this many bytes.
    fn of_texel(bytes: u32) -> Components {
        match bytes {
            0 => Components { size: 1, count: 0, whole: true },
            1 | 2 => Components { whole: true, ..Components::one(bytes) },
            _ => Components { size: 4, count: bytes / 4, whole: true },
        }
    }
}

/// Memory of the pieces of a lane's access; `None` where they are out of range.
type Pieces<'m> = Vec<Option<Location<'m>>>;

/// Reads pieces of `size` bytes. Leading dwords that are contiguous are read together.
fn read(pieces: &Pieces<'_>, size: u32) -> [u32; 4] {
    let mut value = [0; 4];
    let together = if size == 4 { Location::joined(pieces) } else { None };
    let joined = together.map_or(0, |(location, count)| {
        value[..count].copy_from_slice(&location.load(4 * count as u32)[..count]);
        count
    });
    for (n, piece) in pieces.iter().enumerate().skip(joined) {
        let [part, ..] = piece.unwrap_or(Location::NOWHERE).load(size);
        let byte = n * size as usize;
        value[byte / 4] |= part << (8 * (byte % 4));
    }
    value
}

/// Writes pieces in the same way.
fn write(pieces: &Pieces<'_>, size: u32, value: [u32; 4]) {
    let together = if size == 4 { Location::joined(pieces) } else { None };
    let joined = together.map_or(0, |(location, count)| {
        location.store(4 * count as u32, value);
        count
    });
    for (n, piece) in pieces.iter().enumerate().skip(joined) {
        let byte = n * size as usize;
        piece.unwrap_or(Location::NOWHERE).store(size, [value[byte / 4] >> (8 * (byte % 4)), 0, 0, 0]);
    }
}

impl<'w> State<'w> {
    /// The resource of an operation.
    fn resource(&self, inst: &Inst, addr: BufferAddr, texels: bool) -> Resource {
        let word = |n| self.cell(inst.src[1], n);
        let uniform = u64::from(self.cell(inst.src[2], 0));
        let base = u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32;
        let adds_lane = !addr.plain && word(3) >> 23 & 1 != 0;
        let unbound = !addr.plain && !adds_lane && word(3) >> 15 & 15 == 0;
        let records = if unbound { 0 } else { u64::from(word(2)) };
        let mut stride = u64::from(word(1) >> 16 & 0x3fff);
        let range = match (adds_lane, addr.idxen && stride != 0) {
            (true, _) => Range::None,
            (false, true) => Range::Records(records),
            (false, false) => Range::Bytes(records.saturating_sub(uniform)),
        };
        if adds_lane && !texels {
            stride |= u64::from(word(3) >> 15 & 15) << 14;
        }
        let swizzled = word(1) >> 31 != 0;
        Resource {
            base: base.wrapping_add(uniform),
            stride,
            interleaved: swizzled.then(|| 8 << (if addr.plain { 0 } else { word(3) >> 21 & 3 })),
            adds_lane,
            range,
            private: adds_lane && self.private.is_anyones(base),
            unbound,
            records,
            uniform,
        }
    }

    /// Index and offset of all lanes.
    fn parts(&self, inst: &Inst, addr: BufferAddr) -> Lanes {
        let part = |wanted: bool, n: u16| if wanted { self.row(inst.src[0], n) } else { [0; LANES] };
        Lanes { index: part(addr.idxen, 0), offset: part(addr.offen, addr.idxen.into()) }
    }

    /// Index and offset of a lane, with all additions applied.
    fn at(inst: &Inst, resource: &Resource, parts: &Lanes, lane: usize) -> At {
        let added = if resource.adds_lane { lane as u64 } else { 0 };
        At {
            index: u64::from(parts.index[lane]) + added,
            offset: parts.offset[lane].wrapping_add_signed(inst.attrs.imm).into(),
        }
    }

    /// Memory of a piece that is in range.
    fn piece(
        &self,
        resource: &Resource,
        address: u64,
        size: u32,
        access: Access,
    ) -> Result<Location<'w>, (u64, FaultSpace)> {
        if resource.private && !self.private.holds(address, size.into()) {
            return Err((self.private.offset_in_lane(address), FaultSpace::Scratch));
        }
        Location::global(self.around.map, address, size, access).ok_or((address, FaultSpace::Global))
    }

    /// Memory of all active lanes' pieces, and the size of a piece: the components of the type, or
    /// their bytes if a component of any lane is in two elements of a swizzled buffer.
    fn pieces(
        &mut self,
        inst: &Inst,
        addr: BufferAddr,
        components: Components,
        access: Access,
    ) -> Result<(Vec<(usize, Pieces<'w>)>, u32), FaultCause> {
        let Components { size, count, whole } = components;
        let (resource, parts) = (self.resource(inst, addr, whole), self.parts(inst, addr));
        let at = |lane| Self::at(inst, &resource, &parts, lane);
        let lanes = lanes_of(self.mask(inst));
        let apart = access != Access::Atomic
            && size > 1
            && lanes.clone().any(|lane| resource.straddles(at(lane), size));
        let piece = if apart { 1 } else { size };
        let (mut all, mut refused, mut out_of_range) = (Vec::new(), Refused::default(), 0);
        for lane in lanes {
            let (mut pieces, mut complete) = (Vec::new(), true);
            for first in (0..size * count).step_by(piece as usize) {
                // Only the whole component, or all of them, decide whether it is in range.
                let component = at(lane).plus(first / size * size);
                let within = if whole {
                    resource.contains(at(lane), size * count)
                } else {
                    resource.contains(component, size)
                };
                if !within {
                    complete = false;
                    pieces.push(None);
                    continue;
                }
                let address = resource.address_in_range(at(lane).plus(first));
                match self.piece(&resource, address, piece, access) {
                    Ok(location) => pieces.push(Some(location)),
                    Err((address, space)) => {
                        refused.add(lane, address, space);
                        break;
                    }
                }
            }
            out_of_range += u64::from(!complete);
            all.push((lane, pieces));
        }
        refused.verdict(self.around, access, piece)?;
        self.out_of_range.buffer += out_of_range;
        Ok((all, piece))
    }

    /// A load.
    pub(crate) fn buffer_load(
        &mut self,
        inst: &Inst,
        ty: MemType,
        addr: BufferAddr,
    ) -> Result<(), FaultCause> {
        let (all, size) = self.pieces(inst, addr, Components::of_type(ty), Access::Load)?;
        let values = read_all(&all, |pieces| read(pieces, size));
        self.write_loaded(inst, ty, &values);
        Ok(())
    }

    /// A store.
    pub(crate) fn buffer_store(
        &mut self,
        inst: &Inst,
        ty: MemType,
        addr: BufferAddr,
    ) -> Result<(), FaultCause> {
        let (all, size) = self.pieces(inst, addr, Components::of_type(ty), Access::Store)?;
        let values = self.stored(inst, 3, ty);
        for (lane, pieces) in last_ones(&all) {
            write(&pieces, size, values[lane]);
        }
        Ok(())
    }

    /// The texels of an access, with what its resource says about them.
    fn texel(&self, inst: &Inst, access: TexelAccess) -> BufferTexel {
        BufferTexel::new(access, self.cell(inst.src[1], 3))
    }

    /// A load of texels.
    pub(crate) fn buffer_load_texel(
        &mut self,
        inst: &Inst,
        access: TexelAccess,
        addr: BufferAddr,
    ) -> Result<(), FaultCause> {
        let texel = self.texel(inst, access);
        let components = Components::of_texel(texel.bytes());
        let (all, size) = self.pieces(inst, addr, components, Access::Load)?;
        let values = read_all(&all, |pieces| {
            // All pieces are there, or none.
            let there = pieces.first().is_some_and(Option::is_some);
            texel.load(there.then(|| read(pieces, size)))
        });
        let kept = if access.keeps_half() { 0xffff } else { 0 };
        for dword in 0..access.dwords() {
            let (mut row, mut mask) = (self.row(inst.dst[0], dword), 0);
            for (lane, cells) in &values {
                row[*lane] = row[*lane] & kept | cells[usize::from(dword)];
                mask |= 1 << lane;
            }
            self.set_row(inst.dst[0], dword, &row, mask);
        }
        Ok(())
    }

    /// A store of texels.
    pub(crate) fn buffer_store_texel(
        &mut self,
        inst: &Inst,
        access: TexelAccess,
        addr: BufferAddr,
    ) -> Result<(), FaultCause> {
        let texel = self.texel(inst, access);
        let components = Components::of_texel(texel.bytes());
        let (all, size) = self.pieces(inst, addr, components, Access::Store)?;
        let rows: Vec<Row> = (0..access.dwords()).map(|dword| self.row(inst.src[3], dword)).collect();
        for (lane, pieces) in last_ones(&all) {
            let mut cells = [0; 4];
            cells.iter_mut().zip(&rows).for_each(|(cell, row)| *cell = row[lane]);
            write(&pieces, size, texel.store(cells));
        }
        Ok(())
    }

    /// An atomic.
    pub(crate) fn buffer_atomic(
        &mut self,
        inst: &Inst,
        op: AtomicOp,
        width: Width,
        addr: BufferAddr,
    ) -> Result<(), FaultCause> {
        let size = 4 * u32::from(width.dwords());
        let (resource, parts) = (self.resource(inst, addr, false), self.parts(inst, addr));
        let address = |lane| resource.address(Self::at(inst, &resource, &parts, lane), size);
        self.aligned(inst, &std::array::from_fn(|lane| address(lane).unwrap_or(0)), size)?;
        let (all, _) = self.pieces(inst, addr, Components::one(size), Access::Atomic)?;
        let location = |pieces: &Pieces<'w>| pieces.first().copied().flatten().unwrap_or(Location::NOWHERE);
        let locations: Locations<'_> = all.iter().map(|(lane, pieces)| (*lane, location(pieces))).collect();
        // The second datum follows the first one.
        let both = self.wide(inst, 3);
        let (data, second) =
            (both.map(|value| value & ((1 << (8 * size)) - 1)), both.map(|value| value >> (8 * size)));
        self.update(inst, op, width, &locations, &[data, second]);
        Ok(())
    }

    /// Refuses texels that are out of the resource's range.
    pub(crate) fn check_texels(
        &self,
        inst: &Inst,
        texel: TexelAccess,
        addr: BufferAddr,
        access: Access,
    ) -> Result<(), FaultCause> {
        match self.texel(inst, texel).bytes() {
            0 => Ok(()),
            size => {
                let components = Components { whole: true, ..Components::one(size) };
                self.check_buffer(inst, addr, components, access)
            }
        }
    }

    /// Refuses accesses that are out of the resource's range.
    pub(crate) fn check_buffer(
        &self,
        inst: &Inst,
        addr: BufferAddr,
        Components { size, count, whole }: Components,
        access: Access,
    ) -> Result<(), FaultCause> {
        let (resource, parts) = (self.resource(inst, addr, whole), self.parts(inst, addr));
        let range = match resource.range {
            Range::None => return Ok(()),
            _ if resource.unbound => BufferRange::Unbound,
            Range::Bytes(_) => BufferRange::Bytes(resource.records),
            Range::Records(records) => BufferRange::Records(records),
        };
        let mut refused = Refused::default();
        for lane in lanes_of(self.mask(inst)) {
            let at = Self::at(inst, &resource, &parts, lane);
            let component = |n: u32| at.plus(size * n);
            let Some(n) = (0..count).find(|n| resource.address(component(*n), size).is_none()) else {
                continue;
            };
            let what = match resource.range {
                Range::Records(_) => at.index,
                _ => resource.uniform + component(n).offset,
            };
            refused.add(lane, what, FaultSpace::Buffer(range));
        }
        refused.verdict(self.around, access, size)
    }
}
