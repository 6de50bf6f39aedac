//! Guest memory: a table of allocations, each backed by its own host memory.
//!
//! An allocation ends at the requested byte, and an unmapped gap follows it, so an access one byte
//! past the end is found. [`AddressMode`] selects the kind of addresses. In the sandbox, gaps are
//! large ([`SPACING`]): an index that is wrong by a factor, or by any 31 bits, hits nothing either.
//! Programs with pointers of 32 bits have a smaller sandbox
//! ([`GuestMemory::with_short_pointers`]).
//! No address is reused, so a use after free is found, too. In identity mode, gaps are
//! [`GUARD_GAP`], and a use after free is found as long as the host's memory is not reused. Freed
//! allocations keep their addresses for a while to prevent that.

mod edge;
mod host_block;
mod map;
mod nearest;
mod neighbours;
mod observer;
mod process;
mod quarantine;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, RwLock};

use crate::raw;
pub(crate) use host_block::HostBlock;
use map::ReadOnly;
use quarantine::Quarantine;

pub use edge::Edge;
pub use map::{Allocation, HostMemory, MemoryMap};
pub use nearest::Nearest;
pub use neighbours::{Neighbour, Neighbours};
pub use observer::{Allocated, MemoryObserver};
pub use process::process_has;

/// Whether accesses of kernels to memory are checked. Builds with `--cfg wavemill_unchecked` do not
/// check accesses to global memory, nor most accesses to LDS (atomics and accesses of single lanes
/// are still checked), to measure the cost of the checks. Such builds are for benchmarks of kernels
/// that are known to be correct, use only host addresses, and are unsound for anything else.
pub const CHECKS_ACCESSES: bool = !cfg!(wavemill_unchecked);

/// First guest address that the sandbox hands out.
pub const SANDBOX_BASE: u64 = 0x10_0000_0000;
/// In the sandbox, allocations begin at multiples of this many bytes, and at least half as many
/// unmapped bytes follow each, while there are enough addresses. Most of the space is for about
/// 30,000 allocations.
pub const SPACING: u64 = 1 << 32;
/// Addresses reserved for allocations with gaps of only [`GUARD_GAP`], for use when all addresses
/// before them have been allocated.
const DENSE: u64 = 1 << 44;
/// Start of the allocations of [`GuestMemory::allocate_internal`] in the sandbox, far from the
/// addresses that kernels compute with.
const INTERNAL_BASE: u64 = 1 << 47;
/// The addresses of [`GuestMemory::with_short_pointers`]: all pointers have 32 bits. Allocations
/// begin at multiples of [`Space::spacing`] bytes while there are enough addresses.
const SHORT: Space = Space { first: 1 << 20, last: 1 << 32, spacing: 1 << 24, dense: 1 << 31, reuses: true };
/// The addresses of other memory in the sandbox.
const LONG: Space =
    Space { first: SANDBOX_BASE, last: INTERNAL_BASE, spacing: SPACING, dense: DENSE, reuses: false };
/// Least number of unmapped bytes after every allocation; the sandbox mostly has far more, see
/// [`SPACING`].
pub const GUARD_GAP: u64 = 4096;
/// Start of the LDS aperture in guest addresses (AMDGPUUsage, "Address Spaces"; the value is the
/// one that the kernel driver programs).
pub const LDS_APERTURE: u64 = 0x1_0000_0000_0000;
/// Start of the scratch aperture in guest addresses.
pub const SCRATCH_APERTURE: u64 = 0x2_0000_0000_0000;

/// Number of freed allocations to remember for messages.
const FREED: usize = 4096;

/// The kind of guest addresses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[non_exhaustive]
pub enum AddressMode {
    /// Synthetic addresses: the same in every run, and never reused.
    #[default]
    Sandbox,
    /// Host addresses: every host pointer is the same guest address, and vice versa. Every access
    /// is checked as in the sandbox. Addresses differ from run to run, and those of freed memory
    /// are eventually reused.
    Identity,
}

impl AddressMode {
    /// All modes.
    pub const ALL: [AddressMode; 2] = [AddressMode::Sandbox, AddressMode::Identity];

    /// The mode called `sandbox` or `identity`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            AddressMode::Sandbox => "sandbox",
            AddressMode::Identity => "identity",
        }
    }
}

impl fmt::Display for AddressMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why guest memory could not be allocated or accessed from the host side.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// There are not enough addresses left in memory of
    /// [short pointers](GuestMemory::with_short_pointers).
    #[error(
        "cannot allocate {size} bytes for `{name}`: the 4 GiB that pointers of 32 bits reach have no such gap left"
    )]
    OutOfAddresses {
        /// Name of the allocation.
        name: String,
        /// Size in bytes.
        size: u64,
    },
    /// The host does not have enough memory.
    #[error("cannot allocate {size} bytes for `{name}`: the host does not have that much memory")]
    OutOfMemory {
        /// Name of the allocation.
        name: String,
        /// Requested bytes.
        size: u64,
    },
    /// The guest already has this host memory.
    #[error("cannot allocate `{name}`, {size} bytes at {address:#x}: it would overlap `{other}`")]
    Overlap {
        /// The requested name of the range.
        name: String,
        /// First address of the range.
        address: u64,
        /// Bytes of the range.
        size: u64,
        /// Name of the allocation that is there.
        other: String,
    },
    /// The host does not describe the memory of the process.
    #[error("cannot list the memory of the process: {reason}")]
    ProcessMemory {
        /// Why.
        reason: String,
    },
    /// The range is not inside one allocation.
    #[error("{size} bytes at guest address {address:#x} are not inside one allocation ({nearest})")]
    NotMapped {
        /// First address of the access.
        address: u64,
        /// Bytes of the access.
        size: u64,
        /// The nearest allocation.
        nearest: Nearest,
    },
}

/// All guest memory of a device.
#[derive(Debug)]
pub struct GuestMemory {
    mode: AddressMode,
    space: Space,
    /// Freed memory in identity mode. Declared before the map, so that it is dropped first and
    /// receives nothing when all memory is dropped.
    quarantine: Arc<Quarantine>,
    map: RwLock<Arc<MemoryMap>>,
    /// The next free addresses of the sandbox.
    next: Mutex<Next>,
    /// Start addresses of allocations that are about to be freed while an observer is being
    /// notified.
    leaving: Mutex<BTreeSet<u64>>,
}

/// An allocation that is about to be freed. Dropping this frees it, even if an observer panics.
struct Leaving<'a>(&'a GuestMemory, u64);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        // Both under the lock: the next owner of the addresses may free them at once.
        let mut leaving = self.0.leaving();
        // No other thread frees an allocation that is in the list.
        let _ = self.0.remove(self.1);
        leaving.remove(&self.1);
    }
}

/// The sandbox's addresses for allocations that users can see.
#[derive(Clone, Copy, Debug)]
struct Space {
    /// The first address.
    first: u64,
    /// The address after the last.
    last: u64,
    /// Allocations begin at multiples of this, and at least half as many unmapped bytes follow each.
    spacing: u64,
    /// Addresses at the end for allocations with gaps of only [`GUARD_GAP`].
    dense: u64,
    /// Whether addresses of freed memory are used again when there are no others.
    reuses: bool,
}

/// The next free addresses of the sandbox.
#[derive(Debug)]
struct Next {
    /// For allocations that users can see.
    users: u64,
    /// For internal ones.
    internal: u64,
}

impl Default for GuestMemory {
    fn default() -> Self {
        GuestMemory::new(AddressMode::default())
    }
}

impl GuestMemory {
    /// Empty guest memory.
    #[must_use]
    pub fn new(mode: AddressMode) -> Self {
        GuestMemory::in_space(mode, LONG)
    }

    /// Empty guest memory in the sandbox, for programs whose pointers have 32 bits: all addresses
    /// of [`GuestMemory::allocate`] fit. `None` in builds that do not check accesses
    /// ([`CHECKS_ACCESSES`]), which have no sandbox.
    #[must_use]
    pub fn with_short_pointers() -> Option<Self> {
        CHECKS_ACCESSES.then(|| GuestMemory::in_space(AddressMode::Sandbox, SHORT))
    }

    fn in_space(mode: AddressMode, space: Space) -> Self {
        GuestMemory {
            // Unchecked accesses go to host addresses.
            mode: if CHECKS_ACCESSES { mode } else { AddressMode::Identity },
            space,
            quarantine: Arc::default(),
            map: RwLock::default(),
            next: Mutex::new(Next { users: space.first, internal: INTERNAL_BASE }),
            leaving: Mutex::default(),
        }
    }

    /// Sets the observer of the host's accesses to memory, in place of the previous one.
    pub fn set_observer(&self, observer: Arc<dyn MemoryObserver>) {
        let before = {
            let mut map = self.map.write().unwrap_or_else(|e| e.into_inner());
            Arc::make_mut(&mut map).observer.replace(observer)
        };
        // The previous observer may still read memory when it is dropped.
        drop(before);
    }

    /// The observer. Call it without a lock on the map: it may read memory.
    fn observer(&self) -> Option<Arc<dyn MemoryObserver>> {
        self.map.read().unwrap_or_else(|e| e.into_inner()).observer.clone()
    }

    /// Reports a new allocation.
    fn report(&self, allocated: &Allocated<'_>) {
        if let Some(observer) = self.observer() {
            observer.allocated(allocated);
        }
    }

    /// The kind of guest addresses.
    #[must_use]
    pub fn address_mode(&self) -> AddressMode {
        self.mode
    }

    /// The current allocations.
    #[must_use]
    pub fn snapshot(&self) -> Arc<MemoryMap> {
        self.map.read().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// Allocates `size` zeroed bytes and returns their guest address, a multiple of `align` (a
    /// power of two; at least 256).
    ///
    /// # Errors
    /// [`MemoryError::OutOfMemory`] if the host does not have enough memory.
    pub fn allocate(&self, name: &str, size: u64, align: u64) -> Result<u64, MemoryError> {
        self.allocate_for(false, name, size, align)
    }

    /// Like [`GuestMemory::allocate`], for memory that users of the device cannot see and that
    /// kernels do not compute addresses from: in the sandbox far from everything else, and
    /// [internal](GuestMemory::set_internal).
    ///
    /// # Errors
    /// As [`GuestMemory::allocate`].
    pub fn allocate_internal(&self, name: &str, size: u64, align: u64) -> Result<u64, MemoryError> {
        self.allocate_for(true, name, size, align)
    }

    fn allocate_for(&self, internal: bool, name: &str, size: u64, align: u64) -> Result<u64, MemoryError> {
        let fail = || MemoryError::OutOfMemory { name: name.to_owned(), size };
        let align = align.max(256).checked_next_power_of_two().ok_or_else(fail)?;
        let host_size = usize::try_from(size).map_err(|_| fail())?;
        let address = match self.mode {
            AddressMode::Sandbox => {
                // Eight more bytes than requested, so that the host block is never empty; the guest
                // cannot access them.
                let block = host_size.checked_add(8).and_then(HostBlock::new).ok_or_else(fail)?;
                self.add_to_sandbox(internal, name, size, (align, 0), block)?
            }
            AddressMode::Identity => {
                // The gap after it is host memory, but is never accessed.
                let host_size = host_size.checked_add(GUARD_GAP as usize).ok_or_else(fail)?;
                let align = usize::try_from(align).map_err(|_| fail())?;
                // Internal memory is not kept when it is freed, so it needs no pages of its own.
                let new = || match internal {
                    true => HostBlock::aligned(host_size, align),
                    false => HostBlock::in_own_pages(host_size, align),
                };
                let mut block = new();
                if block.is_none() && self.quarantine.give_back() {
                    block = new();
                }
                let block = block.ok_or_else(fail)?;
                self.add_in_place(internal, name, size, block)?
            }
        };
        self.report(&Allocated { name, address, size, imported: false, internal });
        Ok(address)
    }

    /// Lets the guest use host memory without a copy, and returns its guest address: in identity
    /// mode `memory` itself, in the sandbox an address with the same low eight bits. Only the
    /// sandbox adds a gap after it.
    ///
    /// # Errors
    /// [`MemoryError::Overlap`] in identity mode if the guest already has some of it.
    ///
    /// # Safety
    /// All `size` bytes at `memory` stay valid for reads and writes until the allocation has been
    /// freed and every [`GuestMemory::snapshot`] taken before that has been dropped. While a guest
    /// program that may use them runs, all other accesses to them are atomic.
    pub unsafe fn import(&self, name: &str, memory: *mut u8, size: u64) -> Result<u64, MemoryError> {
        let block = HostBlock::borrowed(memory);
        let address = match self.mode {
            AddressMode::Sandbox => {
                self.add_to_sandbox(false, name, size, (256, memory.addr() as u64 % 256), block)
            }
            AddressMode::Identity => self.add_in_place(false, name, size, block),
        }?;
        self.report(&Allocated { name, address, size, imported: true, internal: false });
        Ok(address)
    }

    /// Adds an allocation at the next address that equals `place.1` modulo `place.0`.
    fn add_to_sandbox(
        &self,
        internal: bool,
        name: &str,
        size: u64,
        place: (u64, u64),
        block: HostBlock,
    ) -> Result<u64, MemoryError> {
        let fail = || MemoryError::OutOfMemory { name: name.to_owned(), size };
        let mut next = self.next.lock().unwrap_or_else(|e| e.into_inner());
        let Space { last: end_of_users, spacing, dense, .. } = self.space;
        let (next, last) = match internal {
            true => (&mut next.internal, LDS_APERTURE),
            false => (&mut next.users, end_of_users),
        };
        let behind = |start: u64| start.checked_add(size).and_then(|end| end.checked_add(GUARD_GAP));
        let fits = |end: &u64| *end < last;
        let at = next.checked_next_multiple_of(place.0).and_then(|start| start.checked_add(place.1));
        let start = match at {
            Some(start) if behind(start).is_some_and(|end| fits(&end)) => start,
            _ if internal || !self.space.reuses => return Err(fail()),
            _ => self
                .free_space(size, place)
                .ok_or_else(|| MemoryError::OutOfAddresses { name: name.to_owned(), size })?,
        };
        let end = behind(start).filter(fits).ok_or_else(fail)?;
        // An address among others that is used again does not move the next one.
        if end > *next {
            let apart = (end + spacing / 2).next_multiple_of(spacing);
            *next = if internal || last - end < dense { end.next_multiple_of(4096) } else { apart };
        }
        // Still under the lock, so that no other thread gets the same addresses.
        self.add(internal, name, start, size, block)?;
        Ok(start)
    }

    /// The lowest address for an allocation of users between the others, with a gap of
    /// [`GUARD_GAP`] around it.
    fn free_space(&self, size: u64, place: (u64, u64)) -> Option<u64> {
        let map = self.snapshot();
        let mut start = self.space.first;
        let users = map.live.iter().filter(|one| one.start < self.space.last);
        for one in users.map(Some).chain([None]) {
            let at = start.checked_next_multiple_of(place.0)?.checked_add(place.1)?;
            let end = at.checked_add(size)?.checked_add(GUARD_GAP)?;
            match one {
                Some(one) if end > one.start => start = one.end().checked_add(GUARD_GAP)?,
                _ => return (end < self.space.last).then_some(at),
            }
        }
        None
    }

    /// Adds an allocation at its host address.
    fn add_in_place(
        &self,
        internal: bool,
        name: &str,
        size: u64,
        block: HostBlock,
    ) -> Result<u64, MemoryError> {
        let start = block.ptr().expose_provenance() as u64;
        if start.checked_add(size).is_none_or(|end| end >= LDS_APERTURE) {
            return Err(MemoryError::OutOfMemory { name: name.to_owned(), size });
        }
        self.add(internal, name, start, size, block)?;
        Ok(start)
    }

    fn add(
        &self,
        internal: bool,
        name: &str,
        start: u64,
        size: u64,
        block: HostBlock,
    ) -> Result<(), MemoryError> {
        let mut map = self.map.write().unwrap_or_else(|e| e.into_inner());
        let index = map.live.partition_point(|a| a.start <= start);
        let below =
            index.checked_sub(1).map(|i| &map.live[i]).filter(|a| a.end() > start || a.start == start);
        if let Some(other) = below.or(map.live.get(index).filter(|a| a.start < start + size)) {
            return Err(MemoryError::Overlap {
                name: name.to_owned(),
                address: start,
                size,
                other: other.name.to_string(),
            });
        }
        let map = Arc::make_mut(&mut map);
        // Addresses of freed memory may have been reused.
        if !map.freed.is_empty() {
            Arc::make_mut(&mut map.freed).retain(|(_, s, e)| *e <= start || *s >= start + size);
        }
        let block = Arc::new(block);
        let allocation =
            Allocation { name: name.into(), start, size, read_only: Arc::default(), internal, block };
        map.live.insert(index, allocation);
        Ok(())
    }

    /// Frees the allocation that starts at the address. Kernels that are running may still use it.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`] if no allocation starts there.
    pub fn free(&self, address: u64) -> Result<(), MemoryError> {
        let Some(observer) = self.observer() else { return self.remove(address) };
        {
            let mut leaving = self.leaving();
            let map = self.snapshot();
            if map.live.binary_search_by_key(&address, |a| a.start).is_err() || !leaving.insert(address) {
                return Err(MemoryError::NotMapped { address, size: 1, nearest: map.nearest(address) });
            }
        }
        let _leaving = Leaving(self, address);
        // While it is in the map, its addresses cannot be reused.
        observer.freed(address);
        Ok(())
    }

    fn leaving(&self) -> MutexGuard<'_, BTreeSet<u64>> {
        self.leaving.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn remove(&self, address: u64) -> Result<(), MemoryError> {
        let mut map = self.map.write().unwrap_or_else(|e| e.into_inner());
        match map.live.binary_search_by_key(&address, |a| a.start) {
            Ok(index) => {
                let map = Arc::make_mut(&mut map);
                let gone = map.live.remove(index);
                if gone.internal {
                    return Ok(());
                }
                let freed = Arc::make_mut(&mut map.freed);
                freed.push((gone.name.clone(), gone.start, gone.end()));
                // Messages about the oldest ones do not justify a list that grows with every
                // launch.
                if freed.len() > FREED {
                    freed.drain(..FREED / 2);
                }
                if self.mode == AddressMode::Identity {
                    // Running kernels may still use it; the last one moves it to the quarantine.
                    gone.block.keep_in(&self.quarantine);
                }
                Ok(())
            }
            Err(_) => Err(MemoryError::NotMapped { address, size: 1, nearest: map.nearest(address) }),
        }
    }

    /// Makes a range inside one allocation read-only for the guest, from the next
    /// [`GuestMemory::snapshot`] on; `what` names it in messages. The host can still write it.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`] if the range is not inside one allocation.
    pub fn protect(&self, range: Range<u64>, what: &str) -> Result<(), MemoryError> {
        let size = range.end.saturating_sub(range.start);
        let mut map = self.map.write().unwrap_or_else(|e| e.into_inner());
        let index = map.live.partition_point(|a| a.start <= range.start).checked_sub(1);
        let found = index.filter(|i| range.end <= map.live[*i].end());
        let Some(index) = found else {
            let nearest = map.nearest(range.start);
            return Err(MemoryError::NotMapped { address: range.start, size, nearest });
        };
        if size > 0 {
            let allocation = &mut Arc::make_mut(&mut map).live[index];
            let mut parts = allocation.read_only.to_vec();
            parts.push(ReadOnly { range, what: what.into() });
            parts.sort_by_key(|p| p.range.start);
            allocation.read_only = parts.into();
        }
        Ok(())
    }

    /// Marks the allocation that starts at the address as invisible to users of the device.
    /// Messages describe locations near it by other allocations, if there are any.
    pub fn set_internal(&self, address: u64) {
        let mut map = self.map.write().unwrap_or_else(|e| e.into_inner());
        if let Ok(index) = map.live.binary_search_by_key(&address, |a| a.start) {
            Arc::make_mut(&mut map).live[index].internal = true;
        }
    }

    /// Gives the allocation that starts at the address another name for messages.
    pub fn rename(&self, address: u64, name: &str) {
        let mut map = self.map.write().unwrap_or_else(|e| e.into_inner());
        if let Ok(index) = map.live.binary_search_by_key(&address, |a| a.start) {
            Arc::make_mut(&mut map).live[index].name = name.into();
        }
    }

    /// Copies guest memory to the host.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`] if the range is not inside one allocation.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), MemoryError> {
        let map = self.snapshot();
        let host = Self::resolve(&map, address, into.len())?;
        // SAFETY: `resolve` checked the range, and the snapshot keeps it alive.
        unsafe { raw::read_bytes(host, into) };
        Ok(())
    }

    /// Copies host memory to the guest.
    ///
    /// # Errors
    /// [`MemoryError::NotMapped`] if the range is not inside one allocation.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), MemoryError> {
        let map = self.snapshot();
        let host = Self::resolve(&map, address, from.len())?;
        // SAFETY: `resolve` checked the range, and the snapshot keeps it alive.
        unsafe { raw::write_bytes(host, from) };
        map.report_write(address, from.len() as u64);
        Ok(())
    }

    fn resolve(map: &MemoryMap, address: u64, size: usize) -> Result<*mut u8, MemoryError> {
        if size == 0 {
            return Ok(std::ptr::dangling_mut::<u64>().cast());
        }
        map.resolve(address, size as u64).ok_or_else(|| MemoryError::NotMapped {
            address,
            size: size as u64,
            nearest: map.nearest(address),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Access;

    #[test]
    fn allocations_are_fixed_zeroed_and_apart() {
        let m = GuestMemory::default();
        let a = m.allocate("a", 10, 1).unwrap();
        let b = m.allocate("b", 1, 65536).unwrap();
        assert_eq!(a, SANDBOX_BASE);
        assert_eq!(b % 65536, 0);
        assert!(b - (a + 10) >= SPACING / 2);
        let large = m.allocate("large", 5 << 30, 1);
        let c = m.allocate("c", 1, 1).unwrap();
        // Hosts may not have five gigabytes.
        assert!(c >= large.map_or(b, |large| large + (5 << 30)) + SPACING / 2);
        let mut bytes = [1; 10];
        m.read(a, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 10]);
    }

    /// Addresses do not run out, however many allocations there were, and internal memory is far
    /// away.
    #[test]
    fn gaps_shrink_before_addresses_run_out() {
        let m = GuestMemory::default();
        let own = m.allocate_internal("queue", 64, 64).unwrap();
        let more = m.allocate_internal("packet", 64, 64).unwrap();
        assert_eq!((own, more), (INTERNAL_BASE, INTERNAL_BASE + 2 * GUARD_GAP));
        m.next.lock().unwrap().users = INTERNAL_BASE - DENSE - 2 * SPACING;
        let mut last = 0;
        let mut gaps: Vec<u64> = Vec::new();
        for _ in 0..8 {
            let a = m.allocate("a", 100, 1).unwrap();
            gaps.push(a.wrapping_sub(last + 100));
            last = a;
        }
        assert!(gaps[1] >= SPACING / 2 && gaps[1..].is_sorted_by(|a, b| a >= b), "{gaps:x?}");
        assert!((GUARD_GAP..3 * GUARD_GAP).contains(&gaps[7]), "{gaps:x?}");
        m.next.lock().unwrap().users = INTERNAL_BASE - GUARD_GAP;
        assert!(m.allocate("a", 100, 1).is_err());
    }

    /// With short pointers, addresses fit 32 bits, and those of freed memory are used again when
    /// there are no others.
    #[test]
    fn short_addresses_are_used_again() {
        let Some(m) = GuestMemory::with_short_pointers() else { return };
        let a = m.allocate("a", 100, 1).unwrap();
        let b = m.allocate("b", 100, 1).unwrap();
        assert!(b - (a + 100) >= SHORT.spacing / 2);
        m.next.lock().unwrap().users = SHORT.last - GUARD_GAP;
        // Between a and b, and between b and the end.
        let between = m.allocate("between", b - a - 3 * GUARD_GAP, 1).unwrap();
        assert!((a..b).contains(&between));
        let behind = m.allocate("behind", 1 << 30, 1);
        // Hosts may not have a gigabyte.
        if let Ok(at) = behind {
            assert!(at > b && at + (1 << 30) < SHORT.last);
        }
        // The lowest gap that is large enough is used first.
        m.free(a).unwrap();
        assert!(matches!(m.snapshot().nearest(a), Nearest::Freed { .. }));
        assert_eq!(m.allocate("again", 100, 1).unwrap(), a);
        assert!(matches!(m.snapshot().nearest(a), Nearest::Inside { .. }));
        assert!(matches!(
            m.allocate("more than there is", 1 << 32, 1),
            Err(MemoryError::OutOfAddresses { .. })
        ));
    }

    #[test]
    fn what_is_near_is_what_users_know() {
        let m = GuestMemory::default();
        let a = m.allocate("a", 16, 1).unwrap();
        let own = m.allocate("packet", 64, 1).unwrap();
        assert_eq!(m.snapshot().nearest(own + 100).to_string(), "36 bytes past the end of `packet`");
        m.set_internal(own);
        // Further from `a` than the distance between buffers.
        assert_eq!(m.snapshot().nearest(own + 100), Nearest::Far);
        assert_eq!(m.snapshot().nearest(own + 100).to_string(), "no buffer is near");
        assert_eq!(
            m.snapshot().nearest(own - 1).to_string(),
            format!("{} bytes past the end of `a`", own - 17 - a)
        );
        assert_eq!(m.snapshot().nearest(own + 8).to_string(), "byte 8 of `packet`, which has 64");
        assert_eq!(m.snapshot().nearest(8), Nearest::Null);
        m.free(a).unwrap();
        assert_eq!(m.snapshot().nearest(own + 64).to_string(), "just past the end of `packet`");
    }

    #[test]
    fn nothing_can_be_copied_anywhere() {
        let m = GuestMemory::default();
        assert_eq!((m.write(77, &[]), m.read(77, &mut [])), (Ok(()), Ok(())));
    }

    #[test]
    fn access_must_stay_inside_one_allocation() {
        let m = GuestMemory::default();
        let a = m.allocate("a", 10, 1).unwrap();
        m.write(a + 2, &[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let mut all = [0; 10];
        m.read(a, &mut all).unwrap();
        assert_eq!(all, [0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        let error = m.write(a + 3, &[0; 8]).unwrap_err();
        assert_eq!(
            error,
            MemoryError::NotMapped {
                address: a + 3,
                size: 8,
                nearest: Nearest::Inside { name: "a".into(), offset: 3, size: 10 }
            }
        );
        assert_eq!(m.snapshot().nearest(a + 14).to_string(), "4 bytes past the end of `a`");
        assert_eq!(m.snapshot().nearest(a - 8).to_string(), "8 bytes before `a`");
    }

    #[test]
    fn words_are_swapped_where_they_are_aligned() {
        let m = GuestMemory::default();
        let a = m.allocate("a", 20, 1).unwrap();
        let map = m.snapshot();
        assert!(map.write(a + 8, &[1, 2, 3, 4, 5, 6, 7, 8]));
        assert!(!map.write(a + 13, &[0; 8]));
        assert_eq!(map.swap_u64(a + 8, 77), Some(0x0807_0605_0403_0201));
        assert_eq!(map.swap_u64(a + 8, 0), Some(77));
        assert_eq!(map.swap_u64(a + 4, 0), None);
        assert_eq!(map.swap_u64(a + 16, 0), None);
    }

    #[test]
    fn read_only_parts_are_for_loads() {
        let m = GuestMemory::default();
        let a = m.allocate("object", 4096, 1).unwrap();
        m.protect(a..a + 100, "constants").unwrap();
        m.protect(a + 1000..a + 1010, "code").unwrap();
        m.protect(a + 50..a + 50, "nothing").unwrap();
        assert!(m.protect(a + 4000..a + 4097, "code").is_err());
        let map = m.snapshot();
        let object = map.find(a).unwrap();
        assert_eq!(object.allowed(a + 1005, Access::Load), Some(a..a + 4096));
        for access in [Access::Store, Access::Atomic] {
            assert_eq!(object.allowed(a + 99, access), None);
            assert_eq!(object.allowed(a + 100, access), Some(a + 100..a + 1000));
            assert_eq!(object.allowed(a + 1009, access), None);
            assert_eq!(object.allowed(a + 1010, access), Some(a + 1010..a + 4096));
            // It begins before a part, inside one, and far from all.
            let text = |address| map.refusal(address, 8, access).to_string();
            assert_eq!(text(a + 996), "byte 1000 of `object` is read-only (code)");
            assert_eq!(text(a + 96), "byte 96 of `object` is read-only (constants)");
            assert_eq!(text(a + 4090), "byte 4090 of `object`, which has 4096");
        }
        // The host can write it.
        m.write(a + 1000, &[1; 10]).unwrap();
        assert!(map.holds(a + 1000, &[1; 10]));
        assert!(!map.holds(a + 999, &[1; 10]));
        assert!(!map.holds(a + 4090, &[0; 10]));
    }

    #[test]
    fn freed_memory_is_found_and_its_addresses_do_not_come_back() {
        let m = GuestMemory::default();
        let a = m.allocate("a", 64, 1).unwrap();
        m.free(a).unwrap();
        assert!(m.free(a).is_err());
        assert_eq!(m.snapshot().nearest(a + 4).to_string(), "byte 4 of `a`, which was freed");
        assert_ne!(m.allocate("b", 64, 1).unwrap(), a);
    }

    #[test]
    fn in_identity_mode_addresses_are_the_hosts() {
        let m = GuestMemory::new(AddressMode::Identity);
        for (size, align) in [(10, 1), (0, 1), (4096, 4096), (100_000, 65536), (3 << 20, 2 << 20)] {
            let a = m.allocate("a", size, align).unwrap();
            assert!(a.is_multiple_of(align.max(256)), "{size} {align}");
            let map = m.snapshot();
            if size > 0 {
                assert_eq!(map.find(a).unwrap().host().addr() as u64, a);
                m.write(a + size - 1, &[7]).unwrap();
            }
            // The byte after the end is not mapped.
            assert!(m.write(a + size, &[7]).is_err());
            assert!((0..GUARD_GAP).all(|n| map.find(a + size + n).is_none()));
        }
        let starts: Vec<u64> = m.snapshot().live.iter().map(|a| a.start).collect();
        assert!(starts.is_sorted() && starts.len() == 5, "{starts:x?}");
    }

    #[test]
    fn in_identity_mode_freed_addresses_are_kept_for_a_while() {
        let m = GuestMemory::new(AddressMode::Identity);
        let a = m.allocate("a", 64, 1).unwrap();
        m.write(a, &[1; 64]).unwrap();
        let running = m.snapshot();
        m.free(a).unwrap();
        // A running kernel still has it, a new one does not.
        let mut bytes = [0; 64];
        assert!(running.read(a, &mut bytes));
        assert_eq!(bytes, [1; 64]);
        assert_eq!(m.snapshot().nearest(a + 4).to_string(), "byte 4 of `a`, which was freed");
        for _ in 0..1000 {
            assert_ne!(m.allocate("b", 64, 1).unwrap(), a);
        }
        // The quarantine is bounded: repeated frees return the memory.
        for _ in 0..2 * FREED {
            let b = m.allocate("b", 64, 1).unwrap();
            m.free(b).unwrap();
        }
        assert_eq!(m.quarantine.size().0, FREED);
        assert!(m.snapshot().freed.len() <= FREED);
    }

    /// Number of resident pages in some memory of this process, if the host reports it.
    #[cfg(target_os = "linux")]
    fn pages_in_memory(address: u64, size: u64) -> Option<usize> {
        use std::io::{Read as _, Seek as _, SeekFrom};
        let mut file = std::fs::File::open("/proc/self/pagemap").ok()?;
        file.seek(SeekFrom::Start(address / 4096 * 8)).ok()?;
        let mut entries = vec![0; (size / 4096 * 8) as usize];
        file.read_exact(&mut entries).ok()?;
        // The two highest bits of each little-endian entry: in memory, or swapped out (Linux, pagemap.rst).
        Some(entries.chunks_exact(8).filter(|entry| entry[7] >> 6 != 0).count())
    }

    /// Memory that is freed while a kernel runs is returned to the host when the kernel has ended.
    #[test]
    fn in_identity_mode_freed_memory_is_given_back() {
        const SIZE: u64 = 8 << 20;
        let m = GuestMemory::new(AddressMode::Identity);
        let a = m.allocate("a", SIZE, 4096).unwrap();
        m.write(a, &vec![1; SIZE as usize]).unwrap();
        let (running, other) = (m.snapshot(), m.snapshot());
        m.free(a).unwrap();
        drop(running);
        assert_eq!(m.quarantine.size(), (0, 0, 0));
        #[cfg(all(target_os = "linux", not(miri)))]
        assert!(pages_in_memory(a, SIZE).is_none_or(|pages| pages as u64 == SIZE / 4096));
        let mut byte = [0];
        assert!(other.read(a + SIZE - 1, &mut byte) && byte == [1]);
        drop(other);
        let (blocks, resident, addresses) = m.quarantine.size();
        assert_eq!((blocks, addresses), (1, (SIZE + GUARD_GAP) as usize));
        #[cfg(all(target_os = "linux", not(miri)))]
        {
            assert_eq!(resident, 0);
            assert!(pages_in_memory(a, SIZE).is_none_or(|pages| pages == 0));
        }
        assert!(resident == 0 || resident == addresses);
        // No guest memory is left that could use the addresses.
        drop(m);
    }

    #[test]
    fn memory_of_the_host_can_be_the_guests() {
        let mut host = vec![0u64; 1000];
        let ptr = host.as_mut_ptr().cast::<u8>();
        for mode in AddressMode::ALL {
            let m = GuestMemory::new(mode);
            // SAFETY: `host` lives longer, and is not used otherwise until the allocation is freed.
            let (a, again) =
                unsafe { (m.import("a", ptr.add(8), 4000).unwrap(), m.import("b", ptr.add(4000), 4000)) };
            assert_eq!(a % 256, (ptr.addr() as u64 + 8) % 256);
            m.write(a + 3992, &[5; 8]).unwrap();
            assert!(m.write(a + 3993, &[5; 8]).is_err());
            match mode {
                AddressMode::Sandbox => m.free(again.unwrap()).unwrap(),
                AddressMode::Identity => {
                    assert_eq!(a, ptr.addr() as u64 + 8);
                    let text = again.unwrap_err().to_string();
                    let at = ptr.addr() + 4000;
                    assert_eq!(
                        text,
                        format!("cannot allocate `b`, 4000 bytes at {at:#x}: it would overlap `a`")
                    );
                }
            }
            m.free(a).unwrap();
            assert_eq!(m.quarantine.size(), (0, 0, 0));
            let fresh = m.allocate("c", 8, 8).unwrap();
            assert_eq!(m.snapshot().nearest(a).to_string(), "byte 0 of `a`, which was freed");
            m.free(fresh).unwrap();
            drop(m);
            assert_eq!(std::mem::take(&mut host[500]), 0x0505_0505_0505_0505);
        }
    }

    #[test]
    fn addresses_that_come_back_are_not_called_freed() {
        let mut host = [0u64; 16];
        let ptr = host.as_mut_ptr().cast::<u8>();
        let m = GuestMemory::new(AddressMode::Identity);
        // SAFETY: `host` lives longer, and is not used otherwise until the allocation is freed.
        let a = unsafe { m.import("a", ptr, 128).unwrap() };
        m.free(a).unwrap();
        // SAFETY: as above.
        let b = unsafe { m.import("b", ptr, 64).unwrap() };
        assert_eq!(m.snapshot().nearest(b + 8).to_string(), "byte 8 of `b`, which has 64");
        assert_eq!(m.snapshot().nearest(b + 64).to_string(), "just past the end of `b`");
    }

    /// The events that an observer received.
    #[derive(Debug, Default)]
    struct Heard(Mutex<Vec<String>>);

    impl MemoryObserver for Heard {
        fn allocated(&self, a: &Allocated<'_>) {
            let kind = (a.imported, a.internal);
            self.0.lock().unwrap().push(format!("{} at {:#x}: {} {kind:?}", a.name, a.address, a.size));
        }

        fn freed(&self, address: u64) {
            self.0.lock().unwrap().push(format!("free {address:#x}"));
        }

        fn written(&self, address: u64, size: u64) {
            self.0.lock().unwrap().push(format!("write {address:#x}: {size}"));
        }
    }

    #[test]
    fn an_observer_hears_of_what_the_host_does() {
        let heard = Arc::new(Heard::default());
        let memory = GuestMemory::default();
        memory.set_observer(heard.clone());
        let a = memory.allocate("a", 16, 256).unwrap();
        let b = memory.allocate_internal("b", 8, 256).unwrap();
        let mut host = [0u64; 2];
        // SAFETY: the memory outlives the allocation and its views.
        let c = unsafe { memory.import("c", host.as_mut_ptr().cast(), 16) }.unwrap();
        memory.write(a + 4, &[1, 2, 3]).unwrap();
        memory.write(a, &[]).unwrap();
        assert!(memory.write(a + 15, &[1, 2]).is_err());
        let map = memory.snapshot();
        assert!(map.write(b, &[1]) && !map.write(b + 8, &[1]));
        assert_eq!(map.swap_u64(a + 8, 7), Some(0));
        assert!(memory.free(c).is_ok() && memory.free(c).is_err());
        let expected = [
            format!("a at {a:#x}: 16 (false, false)"),
            format!("b at {b:#x}: 8 (false, true)"),
            format!("c at {c:#x}: 16 (true, false)"),
            format!("write {:#x}: 3", a + 4),
            format!("write {b:#x}: 1"),
            format!("write {:#x}: 8", a + 8),
            format!("free {c:#x}"),
        ];
        assert_eq!(*heard.0.lock().unwrap(), expected);
    }

    /// Reads memory when some of it is freed, and when this observer is dropped.
    #[derive(Debug, Default)]
    struct Looks {
        memory: std::sync::OnceLock<std::sync::Weak<GuestMemory>>,
        /// For freed memory: whether it is mapped, can be freed again and can be imported again;
        /// and whether memory can be read.
        seen: Arc<Mutex<Vec<[bool; 3]>>>,
        dropped: Arc<Mutex<Vec<bool>>>,
    }

    impl Looks {
        /// `None` while this memory is being dropped.
        fn memory(&self) -> Option<Arc<GuestMemory>> {
            self.memory.get()?.upgrade()
        }
    }

    impl MemoryObserver for Looks {
        fn freed(&self, address: u64) {
            let memory = self.memory().unwrap();
            let is_there = memory.snapshot().find(address).is_some();
            let ptr = std::ptr::with_exposed_provenance_mut(address as usize);
            // SAFETY: the test owns the memory until all of its allocations have been freed.
            let imported = unsafe { memory.import("again", ptr, 8) };
            self.seen.lock().unwrap().push([is_there, memory.free(address).is_ok(), imported.is_ok()]);
        }
    }

    impl Drop for Looks {
        fn drop(&mut self) {
            if let Some(memory) = self.memory() {
                self.dropped.lock().unwrap().push(memory.map.try_read().is_ok());
            }
        }
    }

    #[test]
    fn an_observer_hears_of_freed_memory_before_anybody_gets_its_addresses() {
        let mut host = [0u64; 2];
        let memory = Arc::new(GuestMemory::new(AddressMode::Identity));
        let looks = Looks::default();
        looks.memory.set(Arc::downgrade(&memory)).unwrap();
        let seen = looks.seen.clone();
        memory.set_observer(Arc::new(looks));
        let ptr = host.as_mut_ptr().cast::<u8>();
        for _ in 0..2 {
            // SAFETY: the memory outlives the allocation and its views.
            let a = unsafe { memory.import("a", ptr, 16) }.unwrap();
            memory.free(a).unwrap();
            assert!(memory.free(a).is_err() && memory.snapshot().find(a).is_none());
        }
        assert_eq!(*seen.lock().unwrap(), [[true, false, false]; 2]);
    }

    #[test]
    fn an_observer_that_another_one_replaces_may_look_at_memory() {
        let memory = Arc::new(GuestMemory::default());
        let looks = Looks::default();
        looks.memory.set(Arc::downgrade(&memory)).unwrap();
        let dropped = looks.dropped.clone();
        memory.set_observer(Arc::new(looks));
        memory.set_observer(Arc::new(Heard::default()));
        assert_eq!(*dropped.lock().unwrap(), [true]);
    }

    #[test]
    fn internal_memory_is_never_seen_as_anything_else() {
        let memory = GuestMemory::default();
        let done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|s| {
            let looks = s.spawn(|| {
                let mut all = true;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    all &= memory.snapshot().live.iter().all(|a| a.internal);
                }
                all
            });
            for _ in 0..if cfg!(miri) { 20 } else { 5000 } {
                let a = memory.allocate_internal("queue", 8, 8).unwrap();
                memory.free(a).unwrap();
            }
            done.store(true, std::sync::atomic::Ordering::Relaxed);
            assert!(looks.join().unwrap());
        });
    }
}
