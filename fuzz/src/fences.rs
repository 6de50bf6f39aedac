//! An allocator that detects writes outside guest memory.
//!
//! The host allocates register files, LDS and blocks of guest memory with the alignment of vectors.
//! Each gets a fence on both sides. If a fence is damaged when the memory is freed, the process
//! ends.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes of a fence, unless the alignment needs more.
const FENCE: usize = 512;
/// Least alignment of memory with fences.
const WATCHED: usize = 64;
/// The byte that fills fences.
const PATTERN: u8 = 0xa5;

/// The allocator. Install it with `#[global_allocator]`.
#[derive(Debug)]
pub struct Fenced;

/// The layout with fences, and the size of the leading fence in bytes.
fn fenced(layout: Layout) -> Option<(Layout, usize)> {
    if layout.align() < WATCHED {
        return None;
    }
    let front = FENCE.max(layout.align());
    let size = layout.size().checked_add(front + FENCE)?;
    Some((Layout::from_size_align(size, layout.align()).ok()?, front))
}

// SAFETY: the system's allocator provides the memory. Memory of watched layouts is larger than
// requested, and the returned pointer is a multiple of the alignment after its start; `dealloc`
// computes both again from the same layout.
unsafe impl GlobalAlloc for Fenced {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some((whole, front)) = fenced(layout) else {
            // SAFETY: the caller's layout.
            return unsafe { System.alloc(layout) };
        };
        // SAFETY: the layout is larger than the caller's, so it is not empty; both fences are
        // inside it.
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
        // SAFETY: `alloc` allocated it with this layout and wrote the fences there.
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

/// Reports the error and ends the process: an allocator must not unwind.
fn ended(size: usize, place: &str, distance: usize) -> ! {
    eprintln!("host memory was written {distance} bytes {place} an allocation of {size} bytes");
    std::process::abort();
}
