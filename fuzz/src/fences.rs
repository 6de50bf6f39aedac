//! An allocator that notices writes outside of guest memory.
//!
//! Register files, LDS and blocks of guest memory are what the host allocates with the alignments of vectors. Each gets a
//! fence on both sides, and a fence that is not whole when the memory is freed ends the process.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes of a fence, unless the alignment asks for more.
const FENCE: usize = 512;
/// Alignment from which on memory has fences.
const WATCHED: usize = 64;
/// What fences are made of.
const PATTERN: u8 = 0xa5;

/// The allocator. Install it by `#[global_allocator]`.
#[derive(Debug)]
pub struct Fenced;

/// The layout with fences, and the bytes of the one in front.
fn fenced(layout: Layout) -> Option<(Layout, usize)> {
    if layout.align() < WATCHED {
        return None;
    }
    let front = FENCE.max(layout.align());
    let size = layout.size().checked_add(front + FENCE)?;
    Some((Layout::from_size_align(size, layout.align()).ok()?, front))
}

// SAFETY: memory comes from the system's allocator. That of watched layouts is larger than asked for, and the pointer
// handed out lies a multiple of the alignment behind its start; `dealloc` finds both again from the same layout.
unsafe impl GlobalAlloc for Fenced {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, front)) = fenced(layout) else {
            // SAFETY: the caller's layout.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: the layout is larger than the caller's, so not empty; both fences are inside of it.
        unsafe {
            let start = System.alloc(whole);
            if start.is_null() {
                return start;
            }
            start.write_bytes(PATTERN, front);
            start.add(front + layout.size()).write_bytes(PATTERN, FENCE);
            start.add(front)
        }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        let Some((whole, front)) = fenced(layout) else {
            // SAFETY: the caller's layout.
            return unsafe { System.dealloc(ptr, layout) };
        };
        // SAFETY: allocated by `alloc` with this layout: the fences are where it wrote them.
        unsafe {
            let before = std::slice::from_raw_parts(ptr.sub(front), front);
            let behind = std::slice::from_raw_parts(ptr.add(layout.size()), FENCE);
            let broken = |fence: &[u8]| fence.iter().position(|byte| *byte != PATTERN);
            if let Some(at) = broken(before) {
                ended(layout.size(), "in front of", front - at);
            }
            if let Some(at) = broken(behind) {
                ended(layout.size(), "behind", at + 1);
            }
            System.dealloc(ptr.sub(front), whole);
        }
    }
}

/// Says what is wrong and ends the process: an allocator must not unwind.
fn ended(size: usize, place: &str, distance: usize) -> ! {
    eprintln!("host memory was written {distance} bytes {place} an allocation of {size} bytes");
    std::process::abort();
}
