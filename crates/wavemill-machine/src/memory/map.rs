//! The allocations at one point in time.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::host_block::HostBlock;
use super::{
    LDS_APERTURE, MemoryError, MemoryObserver, Nearest, Neighbour, Neighbours, SCRATCH_APERTURE, SPACING,
};
use crate::fault::Access;
use crate::image::BorderColours;
use crate::raw;
use crate::share::Share;

/// One allocation of guest memory.
#[derive(Clone)]
pub struct Allocation {
    /// Name for messages, for example the argument that the buffer is bound to.
    pub name: Arc<str>,
    /// First guest address.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Parts that the guest must not write, sorted by address.
    pub(super) read_only: Arc<[ReadOnly]>,
    /// Whether it is hidden from users of the device.
    pub(super) internal: bool,
    pub(super) block: Arc<HostBlock>,
}

/// A part of an allocation that the guest must not write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ReadOnly {
    /// Its guest addresses.
    pub(super) range: Range<u64>,
    /// Its name for messages.
    pub(super) what: Arc<str>,
}

impl fmt::Debug for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{:#x}, {:#x})", self.name, self.start, self.end())
    }
}

impl Allocation {
    /// First guest address after the allocation.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.size
    }

    /// Host pointer of the first byte.
    #[must_use]
    pub fn host(&self) -> *mut u8 {
        self.block.ptr()
    }

    /// The largest part around an address of the allocation that the guest may access in this way;
    /// `None` if the address is read-only and the access writes.
    #[must_use]
    pub fn allowed(&self, address: u64, access: Access) -> Option<Range<u64>> {
        let mut whole = self.start..self.end();
        if access != Access::Load {
            for ReadOnly { range, .. } in &*self.read_only {
                if range.contains(&address) {
                    return None;
                }
                if range.end <= address {
                    whole.start = whole.start.max(range.end);
                } else {
                    whole.end = whole.end.min(range.start);
                }
            }
        }
        Some(whole)
    }
}

/// An immutable view of all allocations, sorted by address. A view keeps their host memory alive.
#[derive(Clone, Debug, Default)]
pub struct MemoryMap {
    pub(super) live: Vec<Allocation>,
    pub(super) freed: Arc<Vec<(Arc<str>, u64, u64)>>,
    /// The observer of the host's accesses.
    pub(super) observer: Option<Arc<dyn MemoryObserver>>,
    /// The memory of the device outside guest addresses: all views have the same.
    share: Arc<Share>,
    /// Border colours of samplers: all views have the same.
    border_colours: Arc<BorderColours>,
    /// All memory of the process, if guests may access it. The other allocations are parts of it.
    pub(super) process: Option<Arc<[Allocation]>>,
}

/// Memory of the host that a view adds ([`MemoryMap::with_host_memory`]).
#[derive(Clone, Debug)]
pub struct HostMemory {
    /// Name for messages.
    pub name: Arc<str>,
    /// The first byte, whose address is its guest address.
    pub memory: *mut u8,
    /// Size in bytes.
    pub size: u64,
    /// Its guest addresses that kernels must not write.
    pub read_only: Vec<Range<u64>>,
}

/// What messages call the parts of the host's memory that kernels must not write.
const READ_ONLY_ARGUMENT: &str = "a read-only argument";

impl HostMemory {
    /// First guest address.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.memory.expose_provenance() as u64
    }
}

impl MemoryMap {
    /// This view with memory of the host in addition, at its own addresses. The device does not
    /// have it, and other views neither. Memory that the view already has is not added again.
    ///
    /// # Errors
    /// [`MemoryError::Overlap`] if only a part of it is new, and [`MemoryError::OutOfMemory`] if
    /// its addresses are not addresses of guest memory.
    ///
    /// # Safety
    /// All bytes stay valid for reads until the view is dropped, and for writes where they are not
    /// read-only. While a guest program that may use them runs, all other accesses to them are
    /// atomic.
    pub unsafe fn with_host_memory(&self, memory: Vec<HostMemory>) -> Result<MemoryMap, MemoryError> {
        let mut map = self.clone();
        map.live.reserve(memory.len());
        for one in memory.into_iter().filter(|one| one.size > 0) {
            let start = one.start();
            let HostMemory { name, memory, size, read_only } = one;
            if start.checked_add(size).is_none_or(|end| end >= LDS_APERTURE) {
                return Err(MemoryError::OutOfMemory { name: name.to_string(), size });
            }
            let index = map.live.partition_point(|a| a.end() <= start);
            if let Some(other) = map.live.get(index).filter(|a| a.start < start + size) {
                if other.start <= start && start + size <= other.end() {
                    continue;
                }
                return Err(MemoryError::Overlap {
                    name: name.to_string(),
                    address: start,
                    size,
                    other: other.name.to_string(),
                });
            }
            let parts = read_only.into_iter();
            let parts = parts.map(|range| ReadOnly { range, what: READ_ONLY_ARGUMENT.into() });
            let mut parts: Vec<ReadOnly> = parts.collect();
            parts.sort_by_key(|part| part.range.start);
            let block = Arc::new(HostBlock::borrowed(memory));
            let read_only = parts.into();
            map.live.insert(index, Allocation { name, start, size, read_only, internal: false, block });
        }
        Ok(map)
    }

    /// The global data share and the synchronization state of the device.
    #[must_use]
    pub fn share(&self) -> &Arc<Share> {
        &self.share
    }

    /// The border colours of the device.
    #[must_use]
    pub fn border_colours(&self) -> &BorderColours {
        &self.border_colours
    }

    /// The allocation that contains the address, or the memory of the process that does.
    #[must_use]
    pub fn find(&self, address: u64) -> Option<&Allocation> {
        let all = self.process.as_deref().unwrap_or(&self.live);
        let index = all.partition_point(|a| a.start <= address);
        let candidate = all.get(index.checked_sub(1)?)?;
        (address < candidate.end()).then_some(candidate)
    }

    /// Host pointer to `size` bytes at the address, if one allocation contains all of them.
    #[must_use]
    pub fn resolve(&self, address: u64, size: u64) -> Option<*mut u8> {
        let a = self.find(address)?;
        let offset = address - a.start;
        // SAFETY: the offset is inside the block.
        (size <= a.size - offset).then(|| unsafe { a.host().add(offset as usize) })
    }

    /// Copies guest memory to the host; `false` if the range is not inside one allocation.
    #[must_use]
    pub fn read(&self, address: u64, into: &mut [u8]) -> bool {
        match self.resolve(address, into.len() as u64) {
            Some(host) => {
                // SAFETY: `resolve` checked the range, and the view keeps it alive.
                unsafe { raw::read_bytes(host, into) };
                true
            }
            None => false,
        }
    }

    /// Reports a write by the host.
    pub(super) fn report_write(&self, address: u64, size: u64) {
        if let Some(observer) = self.observer.as_ref().filter(|_| size > 0) {
            observer.written(address, size);
        }
    }

    /// Copies host memory to the guest; `false` if the range is not inside one allocation.
    #[must_use]
    pub fn write(&self, address: u64, from: &[u8]) -> bool {
        match self.resolve(address, from.len() as u64) {
            Some(host) => {
                // SAFETY: `resolve` checked the range, and the view keeps it alive.
                unsafe { raw::write_bytes(host, from) };
                self.report_write(address, from.len() as u64);
                true
            }
            None => false,
        }
    }

    /// Swaps eight bytes at a multiple of eight, as one sequentially consistent operation; waves
    /// may do the same concurrently. Returns the old value; `None` if the address is not such a
    /// multiple, or the bytes are not inside one allocation.
    #[must_use]
    pub fn swap_u64(&self, address: u64, value: u64) -> Option<u64> {
        let host = self.resolve(address, 8).filter(|host| (*host as usize).is_multiple_of(8))?;
        // SAFETY: `resolve` checked the range, and the view keeps it alive; the pointer is aligned.
        let before = unsafe { raw::swap_u64(host, value) };
        self.report_write(address, 8);
        Some(before)
    }

    /// Why an access of `size` bytes at the address is refused: the location of the address, or
    /// that its bytes are read-only.
    #[must_use]
    pub fn refusal(&self, address: u64, size: u64, access: Access) -> Nearest {
        if access != Access::Load
            && let Some(a) = self.find(address)
            && size <= a.end() - address
            && let Some(part) =
                a.read_only.iter().find(|p| p.range.start < address + size && address < p.range.end)
        {
            return Nearest::ReadOnly {
                name: a.name.to_string(),
                offset: address.max(part.range.start) - a.start,
                what: part.what.to_string(),
            };
        }
        self.nearest(address)
    }

    /// Whether guest memory contains these bytes at the address.
    #[must_use]
    pub fn holds(&self, address: u64, bytes: &[u8]) -> bool {
        match self.resolve(address, bytes.len() as u64) {
            // SAFETY: `resolve` checked the range, and the view keeps it alive.
            Some(host) => unsafe { raw::equal(host, bytes) },
            None => false,
        }
    }

    /// Fills every dword of a range with a word. Does nothing if the range is not inside one
    /// allocation.
    pub(crate) fn wipe(&self, address: u64, size: u64, word: u32) {
        if let Some(host) = self.resolve(address, size) {
            // SAFETY: `resolve` checked the range, and the view keeps it alive.
            unsafe { raw::wipe(host, size as usize, word) };
        }
    }

    /// Total size of all allocations and of the global data share, if it is used, in bytes; `None`
    /// if guests may change more.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let all = || self.live.iter().map(|a| a.size).sum::<u64>() + self.share.used_bytes();
        self.process.is_none().then(all)
    }

    /// A digest of the contents of all allocations and of the global data share: it differs, almost certainly, if any contents
    /// differ.
    pub(crate) fn digest(&self) -> u64 {
        let digest = self.live.iter().fold(0, |digest, a| {
            // SAFETY: the view keeps the allocation's host memory alive.
            unsafe { raw::digest(a.host(), a.size as usize, digest) }
        });
        self.share.digest(digest)
    }

    /// The location of an address relative to the allocations. Internal ones count only if they
    /// contain the address, or if there are no others.
    #[must_use]
    pub fn nearest(&self, address: u64) -> Nearest {
        self.nearest_of(address, self.neighbours(address))
    }

    /// Like [`MemoryMap::nearest`], but internal allocations near the address count, too: code
    /// objects are internal.
    #[must_use]
    pub fn nearest_of_all(&self, address: u64) -> Nearest {
        self.nearest_of(address, self.all_neighbours(address))
    }

    fn nearest_of(&self, address: u64, neighbours: Neighbours) -> Nearest {
        if address < NULL_PAGE {
            return Nearest::Null;
        }
        let offset = address & 0xffff_ffff;
        match address - offset {
            LDS_APERTURE => return Nearest::Lds { offset },
            SCRATCH_APERTURE => return Nearest::Private { offset },
            _ => {}
        }
        if self.process.is_some() && self.find(address).is_none() {
            return Nearest::NotMapped;
        }
        let Neighbours { holds, below, above } = neighbours;
        let near =
            below.iter().map(|b| address - b.end()).chain(above.iter().map(|a| a.start - address)).min();
        match (holds, below, above) {
            (Some(Neighbour { name, start, freed: true, .. }), ..) => {
                Nearest::Freed { name, offset: address - start }
            }
            (Some(Neighbour { name, start, size, .. }), ..) => {
                Nearest::Inside { name, offset: address - start, size }
            }
            (None, ..) if near.is_some_and(|distance| distance > SPACING) => Nearest::Far,
            (None, Some(b), a) if a.as_ref().is_none_or(|a| address - b.end() <= a.start - address) => {
                Nearest::After { distance: address - b.end(), name: b.name, freed: b.freed }
            }
            (None, _, Some(a)) => {
                Nearest::Before { distance: a.start - address, name: a.name, freed: a.freed }
            }
            (None, _, None) => Nearest::Nothing,
        }
    }
}

/// Guest addresses below this one are never allocated: accesses to them come from null pointers.
const NULL_PAGE: u64 = 4096;
