//! Host memory behind allocations.

use std::alloc::{Layout, alloc_zeroed, dealloc};

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
}

/// What holds the memory of a block.
#[derive(Debug)]
enum Backing {
    Heap(Layout),
    #[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "keeps the mapping"))]
    Mapping(memmap2::MmapMut),
    /// Somebody else, who promised to keep it.
    Borrowed,
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
        HostBlock { ptr, backing: Backing::Borrowed }
    }

    fn mapped(size: usize) -> Option<HostBlock> {
        let mut mapping = memmap2::MmapMut::map_anon(size).ok()?;
        #[cfg(target_os = "linux")]
        if size >= HUGE {
            // A hint; without it everything is as right, only slower.
            let _ = mapping.advise(memmap2::Advice::HugePage);
        }
        Some(HostBlock { ptr: mapping.as_mut_ptr(), backing: Backing::Mapping(mapping) })
    }

    fn on_heap(size: usize, align: usize) -> Option<HostBlock> {
        let layout = Layout::from_size_align(size, align).ok()?;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(layout) };
        (!ptr.is_null()).then_some(HostBlock { ptr, backing: Backing::Heap(layout) })
    }

    /// The first byte.
    pub(super) fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Whether its addresses are ours for as long as we keep it.
    pub(super) fn is_ours(&self) -> bool {
        !matches!(self.backing, Backing::Borrowed)
    }

    /// Gives the memory back and keeps the addresses, where the host can do that. The contents are gone.
    pub(super) fn discard(&mut self) {
        #[cfg(target_os = "linux")]
        if let Backing::Mapping(mapping) = &self.backing {
            // SAFETY: nobody else has the block, and nobody will read what it held.
            let _ = unsafe { mapping.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }
}

/// Mappings begin at a multiple of this; hosts with larger pages keep more.
const PAGE: usize = 4096;

// SAFETY: the pointer is only dereferenced through `raw`, whose accesses tolerate races.
unsafe impl Send for HostBlock {}
// SAFETY: as above.
unsafe impl Sync for HostBlock {}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if let Backing::Heap(layout) = self.backing {
            // SAFETY: allocated in `on_heap` with this layout, freed once.
            unsafe { dealloc(self.ptr, layout) };
        }
    }
}
