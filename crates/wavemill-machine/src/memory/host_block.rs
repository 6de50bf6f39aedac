//! Host memory behind allocations.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::{Arc, OnceLock, Weak};

use super::quarantine::Quarantine;

/// From this size on host memory is mapped: fresh pages are zeros already, while the heap would write them.
const MAPPED: usize = 64 << 10;
/// From this size on the host is asked for huge pages, which it hands out faster.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

/// Host memory behind an allocation.
#[derive(Debug)]
pub(super) struct HostBlock {
    ptr: *mut u8,
    backing: Backing,
    /// Where it goes when nobody uses it any more.
    quarantine: OnceLock<Weak<Quarantine>>,
}

/// What holds the memory of a block.
#[derive(Debug)]
pub(super) enum Backing {
    Heap(Heap),
    Mapping(memmap2::MmapMut),
    /// Somebody else, who promised to keep it.
    Borrowed,
}

/// Memory of the host's heap.
#[derive(Debug)]
pub(super) struct Heap {
    ptr: *mut u8,
    layout: Layout,
}

impl HostBlock {
    /// `size` zeroed bytes, which are not none, at a multiple of 256; `None` if the host has not that much.
    pub(super) fn new(size: usize) -> Option<HostBlock> {
        if size >= MAPPED && cfg!(not(miri)) { Self::mapped(size) } else { Self::on_heap(size, 256) }
    }

    /// `size` zeroed bytes, which are not none, at a multiple of `align` (a power of two), in pages of their own where the
    /// host can do that; `None` if it has not that much.
    pub(super) fn in_own_pages(size: usize, align: usize) -> Option<HostBlock> {
        // Mappings begin at a page; what wants more gets the slack to find it.
        let slack = if align > PAGE { align } else { 0 };
        if cfg!(miri) {
            return Self::on_heap(size, align);
        }
        let mut block = Self::mapped(size.checked_add(slack)?)?;
        // The aligned address lies in the slack, or is the first one.
        block.ptr = block.ptr.wrapping_add(block.ptr.align_offset(align));
        Some(block)
    }

    /// Memory that somebody else keeps.
    pub(super) fn borrowed(ptr: *mut u8) -> HostBlock {
        HostBlock { ptr, backing: Backing::Borrowed, quarantine: OnceLock::new() }
    }

    fn mapped(size: usize) -> Option<HostBlock> {
        let mut mapping = memmap2::MmapMut::map_anon(size).ok()?;
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // A hint; without it everything is as right, only slower.
            let _ = mapping.advise(memmap2::Advice::HugePage);
        }
        let ptr = mapping.as_mut_ptr();
        Some(HostBlock { ptr, backing: Backing::Mapping(mapping), quarantine: OnceLock::new() })
    }

    pub(super) fn on_heap(size: usize, align: usize) -> Option<HostBlock> {
        let layout = Layout::from_size_align(size, align).ok()?;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(layout) };
        let backing = Backing::Heap(Heap { ptr, layout });
        if ptr.is_null() {
            // There is nothing to be freed.
            std::mem::forget(backing);
            return None;
        }
        Some(HostBlock { ptr, backing, quarantine: OnceLock::new() })
    }

    /// The first byte.
    pub(super) fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Sends it into the quarantine as soon as nobody uses it any more, if its addresses are ours.
    pub(super) fn keep_in(&self, quarantine: &Arc<Quarantine>) {
        if !matches!(self.backing, Backing::Borrowed) {
            // Whoever frees it twice has said it already.
            let _ = self.quarantine.set(Arc::downgrade(quarantine));
        }
    }

    /// What holds the memory.
    #[cfg(test)]
    pub(super) fn into_backing(mut self) -> Backing {
        std::mem::replace(&mut self.backing, Backing::Borrowed)
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // Where there is no quarantine any more, all guest memory is gone.
        if let Some(quarantine) = self.quarantine.take().and_then(|weak| weak.upgrade()) {
            quarantine.keep(std::mem::replace(&mut self.backing, Backing::Borrowed));
        }
    }
}

impl Backing {
    /// Bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Backing::Heap(heap) => heap.layout.size(),
            Backing::Mapping(mapping) => mapping.len(),
            Backing::Borrowed => 0,
        }
    }

    /// Gives the memory back and keeps the addresses; whether the host could do that. The contents are gone.
    pub(super) fn discard(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if let Backing::Mapping(mapping) = self {
            // SAFETY: nobody else has the block, and nobody will read what it held.
            return unsafe { mapping.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) }.is_ok();
        }
        false
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        // SAFETY: allocated in `on_heap` with this layout, freed once.
        unsafe { dealloc(self.ptr, self.layout) };
    }
}

/// Mappings begin at a multiple of this; hosts with larger pages keep more.
const PAGE: usize = 4096;

// SAFETY: the pointer is only dereferenced through `raw`, whose accesses tolerate races.
unsafe impl Send for HostBlock {}
// SAFETY: as above.
unsafe impl Sync for HostBlock {}
// SAFETY: the pointer is only used to free the memory.
unsafe impl Send for Heap {}
