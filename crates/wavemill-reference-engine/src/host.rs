//! Host memory for guest addresses, LDS and private memory. A [`Location`] is checked when it is
//! created. Only this module accesses memory.

use std::marker::PhantomData;

use wavemill_ir::Width;
use wavemill_machine::engine::Surroundings;
use wavemill_machine::raw;
use wavemill_machine::registers::ROW_BYTES;
use wavemill_machine::{Access, Edge, GDS_BYTES, MemoryMap};

/// Host memory of one access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Location<'m> {
    kind: Kind,
    /// Bytes that may be accessed.
    size: u32,
    /// Keeps the memory alive.
    owner: PhantomData<&'m ()>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Out of range: loads return 0 and stores are dropped.
    Nowhere,
    /// One piece. `own` means LDS: no other host thread accesses it meanwhile.
    Whole { ptr: *mut u8, own: bool },
    /// A dword at the edge of an allocation.
    Edge(Edge),
    /// Private memory of a lane: the host pointer of its first dword, and an offset. Consecutive
    /// dwords of a lane are one row apart.
    Private { first: *mut u8, offset: u64 },
}

/// Host pointer of bytes at a guest address, if one allocation contains all of them and allows the
/// access.
fn host(map: &MemoryMap, address: u64, size: u64, access: Access) -> Option<*mut u8> {
    let allocation = map.find(address)?;
    let allowed = allocation.allowed(address, access)?;
    let ptr = allocation.host().wrapping_add((address - allocation.start) as usize);
    (size <= allowed.end - address).then_some(ptr)
}

/// Bytes of a value of up to four dwords.
type Value = [u32; 4];

impl<'m> Location<'m> {
    /// Memory that is out of range.
    pub(crate) const NOWHERE: Location<'static> =
        Location { kind: Kind::Nowhere, size: u32::MAX, owner: PhantomData };

    /// Bytes at a guest address, if one allocation contains all of them and allows the access.
    pub(crate) fn global(
        map: &'m MemoryMap,
        address: u64,
        size: u32,
        access: Access,
    ) -> Option<Location<'m>> {
        let ptr = host(map, address, size.into(), access)?;
        Some(Location { kind: Kind::Whole { ptr, own: false }, size, owner: PhantomData })
    }

    /// A dword at the edge of an allocation that allows the access.
    pub(crate) fn edge(edge: Edge) -> Location<'m> {
        Location { kind: Kind::Edge(edge), size: 4, owner: PhantomData }
    }

    /// Bytes of LDS, if they are allocated.
    pub(crate) fn lds(around: Surroundings<'m>, offset: u64, size: u32) -> Option<Location<'m>> {
        let end = offset.checked_add(size.into())?;
        if end > around.lds.allocated().into() {
            return None;
        }
        let ptr = around.lds.ptr().wrapping_add(offset as usize);
        Some(Location { kind: Kind::Whole { ptr, own: true }, size, owner: PhantomData })
    }

    /// Bytes of the global data share, if all of them are in the window.
    pub(crate) fn gds(
        around: Surroundings<'m>,
        offset: u64,
        size: u32,
        (first, end): (u64, u64),
    ) -> Option<Location<'m>> {
        let last = offset.checked_add(size.into())?;
        if offset < first || last > end.min(GDS_BYTES.into()) {
            return None;
        }
        let ptr = around.map.share().data()?.wrapping_add(offset as usize);
        Some(Location { kind: Kind::Whole { ptr, own: false }, size, owner: PhantomData })
    }

    /// Bytes of the private memory of a lane, which begins at a guest address, if they are within
    /// its size.
    pub(crate) fn private(
        around: Surroundings<'m>,
        base: u64,
        lane: usize,
        (offset, size): (u64, u32),
        access: Access,
    ) -> Option<Location<'m>> {
        let limit = u64::from(around.scratch_size);
        if offset.checked_add(size.into()).is_none_or(|end| end > limit) {
            return None;
        }
        let whole = limit.div_ceil(4) * u64::from(ROW_BYTES);
        let first = host(around.map, base, whole, access)?.wrapping_add(4 * lane);
        Some(Location { kind: Kind::Private { first, offset }, size, owner: PhantomData })
    }

    /// Joins the leading dwords that are contiguous in memory; also returns their number.
    pub(crate) fn joined(locations: &[Option<Location<'m>>]) -> Option<(Location<'m>, usize)> {
        let first = (*locations.first()?)?;
        let Kind::Whole { ptr, .. } = first.kind else { return None };
        let follows = |n: &usize| match locations[*n] {
            Some(Location { kind: Kind::Whole { ptr: next, .. }, .. }) => next == ptr.wrapping_add(4 * n),
            _ => false,
        };
        let count = 1 + (1..locations.len()).take_while(follows).count();
        // Each of them has been checked.
        Some((Location { size: 4 * count as u32, ..first }, count))
    }

    /// Host pointer of byte `n` of private memory.
    fn private_byte(first: *mut u8, offset: u64, n: u32) -> *mut u8 {
        let at = offset + u64::from(n);
        first.wrapping_add((at / 4) as usize * ROW_BYTES as usize + (at % 4) as usize)
    }

    /// The pieces of private memory that move as a whole, as byte number and size: dwords, or the
    /// value if it is smaller, unless they cross a dword boundary; then bytes.
    fn pieces(offset: u64, size: u32) -> impl Iterator<Item = (u32, u32)> {
        let piece = size.min(4);
        let step = if offset % 4 + u64::from(piece) <= 4 { piece } else { 1 };
        (0..size / step).map(move |n| (n * step, step))
    }

    /// Reads `size` bytes: 1, 2 or whole dwords.
    pub(crate) fn load(self, size: u32) -> Value {
        assert!(size <= self.size && size <= 16, "{size} bytes of {self:?}");
        let mut value = [0; 4];
        // SAFETY: the creator of the location has checked that `self.size` bytes are there, the
        // lifetime keeps them alive, and `size` is not larger; guest memory is accessed only
        // through `raw`.
        unsafe {
            match self.kind {
                Kind::Nowhere => {}
                Kind::Whole { ptr, .. } => match size {
                    1 => value[0] = raw::load_u8(ptr).into(),
                    2 => value[0] = raw::load_u16(ptr).into(),
                    _ => raw::load_dwords(ptr, &mut value[..size as usize / 4]),
                },
                Kind::Edge(edge) => value[0] = edge.load(),
                Kind::Private { first, offset } => {
                    for (n, step) in Self::pieces(offset, size) {
                        let ptr = Self::private_byte(first, offset, n);
                        let part = match step {
                            1 => raw::load_u8(ptr).into(),
                            2 => raw::load_u16(ptr).into(),
                            _ => raw::load_u32(ptr),
                        };
                        value[n as usize / 4] |= part << (8 * (n % 4));
                    }
                }
            }
        }
        value
    }

    /// Reads dwords that are in one piece.
    pub(crate) fn load_dwords(self, count: u16) -> Vec<u32> {
        let mut values = vec![0; count.into()];
        if let Kind::Whole { ptr, .. } = self.kind {
            assert!(4 * u32::from(count) <= self.size, "{count} dwords of {self:?}");
            // SAFETY: as in `load`.
            unsafe { raw::load_dwords(ptr, &mut values) };
        }
        values
    }

    /// Writes `size` bytes: 1, 2 or whole dwords.
    pub(crate) fn store(self, size: u32, value: Value) {
        assert!(size <= self.size && size <= 16, "{size} bytes of {self:?}");
        // SAFETY: as in `load`; the location was made for an access that writes.
        unsafe {
            match self.kind {
                Kind::Nowhere => {}
                Kind::Whole { ptr, .. } => match size {
                    1 => raw::store_u8(ptr, value[0] as u8),
                    2 => raw::store_u16(ptr, value[0] as u16),
                    _ => raw::store_dwords(ptr, &value[..size as usize / 4]),
                },
                Kind::Edge(_) => unreachable!("nothing is stored at the edge of an allocation"),
                Kind::Private { first, offset } => {
                    for (n, step) in Self::pieces(offset, size) {
                        let ptr = Self::private_byte(first, offset, n);
                        let part = value[n as usize / 4] >> (8 * (n % 4));
                        match step {
                            1 => raw::store_u8(ptr, part as u8),
                            2 => raw::store_u16(ptr, part as u16),
                            _ => raw::store_u32(ptr, part),
                        }
                    }
                }
            }
        }
    }

    /// Replaces a value by the result of `next` for it and returns the old one. For memory shared
    /// with other host threads this is atomic, and the address must be aligned.
    pub(crate) fn update(self, width: Width, next: impl Fn(u64) -> u64) -> u64 {
        let size = 4 * u32::from(width.dwords());
        match self.kind {
            Kind::Nowhere => 0,
            Kind::Whole { ptr, own: false } => {
                assert!(size <= self.size && (ptr as usize).is_multiple_of(size as usize), "{self:?}");
                // SAFETY: as in `load`; the pointer is aligned.
                unsafe {
                    match width {
                        Width::W32 => raw::update_u32(ptr, |old| next(old.into()) as u32).into(),
                        Width::W64 => raw::update_u64(ptr, next),
                    }
                }
            }
            // SAFETY: as in `load`; the edge allows atomics.
            Kind::Edge(edge) => unsafe { edge.update(|old| next(old.into()) as u32).into() },
            _ => {
                let [low, high, ..] = self.load(size);
                let old = u64::from(low) | u64::from(high) << 32;
                let new = next(old);
                self.store(size, [new as u32, (new >> 32) as u32, 0, 0]);
                old
            }
        }
    }
}
