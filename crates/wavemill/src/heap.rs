//! The heap for `malloc` in kernels.
//!
//! Device code (`__ockl_dm_alloc`) keeps blocks of up to 3072 bytes in slabs of 2 MiB. It requests
//! each slab, and each larger block, from the host. Its record of the slabs is a structure that
//! `hidden_heap_v1` points to and that begins as zeros. Blocks outlive the launch, so all of this
//! belongs to the device.
//!
//! Waves see only allocations that existed when the launch began. The heap is therefore one
//! allocation, and pieces of it are handed out. The host backs it with real memory where it is
//! touched.

use std::collections::BTreeMap;

use wavemill_machine::{GuestMemory, MemoryError};

/// Bytes for the device library's own structure, which needs 109 KB.
const CONTROL: u64 = 128 << 10;
/// Pieces are whole pages: device code distinguishes large blocks from blocks in slabs by their
/// alignment.
const PAGE: u64 = 4 << 10;
/// Size of a slab. Device code finds the start of a slab by it.
const SLAB: u64 = 2 << 20;

/// The heap of a device. Its memory exists as long as the device.
#[derive(Debug)]
pub(crate) struct Heap {
    control: u64,
    size: u64,
    pieces: Pieces,
}

impl Heap {
    /// A heap of `size` bytes.
    pub(crate) fn new(memory: &GuestMemory, size: u64) -> Result<Heap, MemoryError> {
        let control = memory.allocate_internal("device heap state", CONTROL, PAGE)?;
        let arena = memory.allocate("device heap", size, SLAB)?;
        Ok(Heap { control, size, pieces: Pieces::new(arena, size) })
    }

    /// The value of `hidden_heap_v1`.
    pub(crate) fn control(&self) -> u64 {
        self.control
    }

    /// Guest address of a piece of this size; `None` if no gap is large enough.
    pub(crate) fn allocate(&mut self, size: u64) -> Option<u64> {
        self.pieces.take(size)
    }

    /// Takes a piece back; `false` if no piece starts there.
    pub(crate) fn free(&mut self, address: u64) -> bool {
        self.pieces.give_back(address)
    }

    /// Total bytes.
    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

/// The allocated addresses: starts and sizes.
#[derive(Debug)]
struct Pieces {
    free: BTreeMap<u64, u64>,
    taken: BTreeMap<u64, u64>,
}

impl Pieces {
    fn new(start: u64, size: u64) -> Pieces {
        Pieces { free: [(start, size / PAGE * PAGE)].into(), taken: BTreeMap::new() }
    }

    fn take(&mut self, size: u64) -> Option<u64> {
        let align = if size == SLAB { SLAB } else { PAGE };
        let size = size.max(1).checked_next_multiple_of(PAGE)?;
        let (start, length, at) = self.free.iter().find_map(|(start, length)| {
            let at = start.checked_next_multiple_of(align)?;
            let before = at - start;
            (before.checked_add(size)? <= *length).then_some((*start, *length, at))
        })?;
        self.free.remove(&start);
        let behind = start + length - (at + size);
        for (start, length) in [(start, at - start), (at + size, behind)] {
            if length > 0 {
                self.free.insert(start, length);
            }
        }
        self.taken.insert(at, size);
        Some(at)
    }

    fn give_back(&mut self, address: u64) -> bool {
        let Some(mut size) = self.taken.remove(&address) else { return false };
        let mut start = address;
        if let Some(behind) = self.free.remove(&(address + size)) {
            size += behind;
        }
        if let Some((before, length)) = self.free.range(..address).next_back()
            && before + length == address
        {
            (start, size) = (*before, size + length);
        }
        self.free.insert(start, size);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 0x10_0000_0000;

    #[test]
    fn pieces_are_pages_and_slabs_are_aligned() {
        let mut p = Pieces::new(START, 16 << 20);
        assert_eq!(p.take(1), Some(START));
        assert_eq!(p.take(PAGE + 1), Some(START + PAGE));
        let slab = p.take(SLAB).unwrap();
        assert_eq!((slab, slab % SLAB), (START + SLAB, 0));
        // The gap before the slab is used.
        assert_eq!(p.take(PAGE), Some(START + 3 * PAGE));
        assert_eq!(p.take(17 << 20), None);
        assert_eq!(p.take(u64::MAX), None);
    }

    #[test]
    fn what_comes_back_is_whole_again() {
        let mut p = Pieces::new(START, 1 << 20);
        let all: Vec<u64> = (0..256).map(|_| p.take(PAGE).unwrap()).collect();
        assert_eq!(p.take(1), None);
        assert!(!p.give_back(START + 1));
        // In an order that joins neighbours on both sides.
        for n in (0..256).step_by(2).chain((0..256).rev().filter(|n| n % 2 == 1)) {
            assert!(p.give_back(all[n]));
            assert!(!p.give_back(all[n]));
        }
        assert_eq!(p.free, [(START, 1 << 20)].into());
        assert_eq!(p.take(1 << 20), Some(START));
    }
}
