//! The host memory that backs allocations.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::sync::{Arc, OnceLock, Weak};

use super::quarantine::Quarantine;

/// Least size of mapped host memory: fresh pages are already zero, while the heap would write
/// zeros.
const MAPPED: usize = 64 << 10;
/// Least size for which to request huge pages, which the host allocates faster.
#[cfg(target_os = "linux")]
const HUGE: usize = 2 << 20;

/// The host memory of an allocation.
#[derive(Debug)]
pub(crate) struct HostBlock {
    ptr: *mut u8,
    backing: Backing,
    /// The destination of the memory after its last use.
    quarantine: OnceLock<Weak<Quarantine>>,
}

/// The owner of a block's memory.
#[derive(Debug)]
pub(super) enum Backing {
    Heap(Heap),
    Mapping(memmap2::MmapMut),
    /// The caller, which promised to keep it valid.
    Borrowed,
}

/// Memory of the host's heap.
#[derive(Debug)]
pub(super) struct Heap {
    ptr: *mut u8,
    layout: Layout,
}

impl HostBlock {
    /// `size` zeroed bytes at a multiple of 256, where `size` is not 0; `None` if the host does not
    /// have enough memory.
    pub(super) fn new(size: usize) -> Option<HostBlock> {
        if size >= MAPPED && cfg!(not(miri)) { Self::mapped(size) } else { Self::on_heap(size, 256) }
    }

    /// Like [`HostBlock::new`], at a multiple of `align`, a power of two.
    pub(super) fn aligned(size: usize, align: usize) -> Option<HostBlock> {
        if size >= MAPPED { Self::in_own_pages(size, align) } else { Self::on_heap(size, align) }
    }

    /// `size` zeroed bytes at a multiple of `align` (a power of two), where `size` is not 0, in
    /// separate pages if the host supports that; `None` if it does not have enough memory.
    pub(super) fn in_own_pages(size: usize, align: usize) -> Option<HostBlock> {
        // Mappings begin at a page; a larger alignment needs slack.
        let slack = if align > PAGE { align } else { 0 };
        if cfg!(miri) {
            return Self::on_heap(size, align);
        }
        let mut block = Self::mapped(size.checked_add(slack)?)?;
        // The aligned address is within the slack, or the first one.
        block.ptr = block.ptr.wrapping_add(block.ptr.align_offset(align));
        Some(block)
    }

    /// Memory that the caller keeps valid.
    pub(super) fn borrowed(ptr: *mut u8) -> HostBlock {
        HostBlock { ptr, backing: Backing::Borrowed, quarantine: OnceLock::new() }
    }

    fn mapped(size: usize) -> Option<HostBlock> {
        let mut mapping = memmap2::MmapMut::map_anon(size).ok()?;
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // Only a hint: without it, memory is slower.
            let _ = mapping.advise(memmap2::Advice::HugePage);
        }
        let ptr = mapping.as_mut_ptr();
        Some(HostBlock { ptr, backing: Backing::Mapping(mapping), quarantine: OnceLock::new() })
    }

    pub(crate) fn on_heap(size: usize, align: usize) -> Option<HostBlock> {
        let layout = Layout::from_size_align(size, align).ok()?;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(layout) };
        let backing = Backing::Heap(Heap { ptr, layout });
        if ptr.is_null() {
            // There is nothing to free.
            std::mem::forget(backing);
            return None;
        }
        Some(HostBlock { ptr, backing, quarantine: OnceLock::new() })
    }

    /// The first byte.
    pub(crate) fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Moves it to the quarantine after its last use, if it owns its addresses.
    pub(super) fn keep_in(&self, quarantine: &Arc<Quarantine>) {
        if !matches!(self.backing, Backing::Borrowed) {
            // On a second free, the quarantine is already set.
            let _ = self.quarantine.set(Arc::downgrade(quarantine));
        }
    }

    /// The owner of the memory.
    #[cfg(test)]
    pub(super) fn into_backing(mut self) -> Backing {
        std::mem::replace(&mut self.backing, Backing::Borrowed)
    }
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        // Without a quarantine, all guest memory is gone.
        if let Some(quarantine) = self.quarantine.take().and_then(|weak| weak.upgrade()) {
            quarantine.keep(std::mem::replace(&mut self.backing, Backing::Borrowed));
        }
    }
}

impl Backing {
    /// Its size in bytes.
    pub(super) fn size(&self) -> usize {
        match self {
            Backing::Heap(heap) => heap.layout.size(),
            Backing::Mapping(mapping) => mapping.len(),
            Backing::Borrowed => 0,
        }
    }

    /// Returns the memory to the host and keeps the addresses; whether the host supports that. The
    /// contents are lost.
    pub(super) fn discard(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if let Backing::Mapping(mapping) = self {
            // SAFETY: this is the only owner of the block, and its contents are not read again.
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
