//! LDS of a workgroup.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};

/// LDS of one workgroup: its own host memory, outside guest memory.
#[derive(Debug)]
pub struct Lds {
    ptr: *mut u8,
    asked: u32,
    size: usize,
}

// SAFETY: only this value owns the block.
unsafe impl Send for Lds {}

impl Lds {
    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size + 64, 64).expect("LDS is small")
    }

    /// Zeroed LDS for a workgroup that requests `asked` bytes, rounded up to a multiple of
    /// `granule`. Granules of 0 and 1 do not round.
    #[must_use]
    pub fn new(asked: u32, granule: u32) -> Self {
        let size = asked.checked_next_multiple_of(granule.max(1)).unwrap_or(asked) as usize;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(Self::layout(size)) };
        if ptr.is_null() {
            handle_alloc_error(Self::layout(size));
        }
        Lds { ptr, asked, size }
    }

    /// Host pointer to its first byte. It has [`Lds::allocated`] bytes, and 64 spare bytes after
    /// them.
    #[must_use]
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }

    /// Requested bytes.
    #[must_use]
    pub fn asked(&self) -> u32 {
        self.asked
    }

    /// Allocated bytes: up to the end of the last granule.
    #[must_use]
    pub fn allocated(&self) -> u32 {
        self.size as u32
    }

    /// Fills it with a word, or with zeros if there is none.
    pub fn clear(&mut self, poison: Option<u32>) {
        match poison {
            // SAFETY: the block is ours.
            None => unsafe { self.ptr.write_bytes(0, self.size) },
            Some(word) => {
                let words = self.ptr as *mut u32;
                for n in 0..self.size.div_ceil(4) {
                    // SAFETY: the block is ours, aligned, and longer than its size.
                    unsafe { words.add(n).write(word.to_le()) };
                }
            }
        }
    }
}

impl Lds {
    /// Writes its first bytes; those that it lacks are left out.
    pub fn write(&mut self, bytes: &[u8]) {
        let count = bytes.len().min(self.size);
        // SAFETY: the block is ours, and it has that many bytes.
        unsafe { self.ptr.copy_from_nonoverlapping(bytes.as_ptr(), count) };
    }
}

impl Drop for Lds {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.ptr, Self::layout(self.size)) };
    }
}
