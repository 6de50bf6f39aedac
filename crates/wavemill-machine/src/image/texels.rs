//! Guest memory of texels: every access is checked.

use std::cell::{Cell, RefCell};

use crate::fault::Access;
use crate::memory::MemoryMap;
use crate::raw;

/// Guest memory that one allocation allows accesses to: first address, bytes, host memory.
type Window = (u64, u64, *mut u8);

/// A texel that was accessed: address and bytes.
pub(super) type Touched = (u64, u32);

/// Accesses of one kind to guest memory.
#[derive(Debug)]
pub(super) struct Texels<'a> {
    map: &'a MemoryMap,
    access: Access,
    /// The memory that was accessed last.
    window: Cell<Window>,
    /// The texels that were accessed, if somebody wants to know.
    touched: Option<RefCell<Vec<Touched>>>,
}

impl<'a> Texels<'a> {
    pub(super) fn new(map: &'a MemoryMap, access: Access, records: bool) -> Texels<'a> {
        let touched = records.then(RefCell::default);
        Texels { map, access, window: Cell::new((0, 0, std::ptr::null_mut())), touched }
    }

    /// Whether accesses are recorded.
    pub(super) fn records(&self) -> bool {
        self.touched.is_some()
    }

    /// The texels that were accessed since the last call.
    pub(super) fn take_touched(&self) -> Vec<Touched> {
        self.touched.as_ref().map(RefCell::take).unwrap_or_default()
    }

    /// Records an access.
    pub(super) fn note(&self, address: u64, bytes: u32) {
        if let Some(touched) = &self.touched {
            touched.borrow_mut().push((address, bytes));
        }
    }

    /// Host memory of a texel, if one allocation contains it and allows the access.
    #[inline(always)]
    pub(super) fn host(&self, address: u64, bytes: u32) -> Option<*mut u8> {
        let (start, size, host) = self.window.get();
        let offset = address.wrapping_sub(start);
        if offset < size && size - offset >= bytes.into() {
            return Some(host.wrapping_add(offset as usize));
        }
        self.find(address, bytes)
    }

    /// The same for a texel outside the memory that was accessed last.
    #[cold]
    #[inline(never)]
    fn find(&self, address: u64, bytes: u32) -> Option<*mut u8> {
        let allocation = self.map.find(address)?;
        let range = allocation.allowed(address, self.access)?;
        if range.end - address < bytes.into() {
            return None;
        }
        let host = allocation.host().wrapping_add((range.start - allocation.start) as usize);
        self.window.set((range.start, range.end - range.start, host));
        Some(host.wrapping_add((address - range.start) as usize))
    }

    /// The words of a texel of 1 to 16 bytes; `None` if the access is refused.
    #[inline(always)]
    pub(super) fn read(&self, address: u64, bytes: u32) -> Option<[u32; 4]> {
        self.note(address, bytes);
        let p = self.host(address, bytes)?;
        let mut words = [0; 4];
        // SAFETY: `host` has checked the bytes, and the map keeps them alive.
        unsafe {
            match bytes {
                1 => words[0] = raw::load_u8(p).into(),
                2 => words[0] = raw::load_u16(p).into(),
                4 => words[0] = raw::load_u32(p),
                _ => raw::load_dwords(p, &mut words[..(bytes / 4).min(4) as usize]),
            }
        }
        Some(words)
    }
}

/// Writes a texel of 1 to 16 bytes.
///
/// # Safety
/// `p` is from [`Texels::host`] for an access that writes, and for this number of bytes.
pub(super) unsafe fn write(p: *mut u8, bytes: u32, words: [u32; 4]) {
    // SAFETY: the caller's promise.
    unsafe {
        match bytes {
            1 => raw::store_u8(p, words[0] as u8),
            2 => raw::store_u16(p, words[0] as u16),
            _ => raw::store_dwords(p, &words[..(bytes / 4).min(4) as usize]),
        }
    }
}
