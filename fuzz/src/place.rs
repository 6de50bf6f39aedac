//! Host memory at chosen addresses, to compare a run whose guest addresses are host addresses with
//! one whose addresses are synthetic.

use std::collections::BTreeSet;
use std::io::Error;
use std::sync::{Mutex, PoisonError};

/// Bytes of a page; hosts with larger pages round to them.
const PAGE: u64 = 4096;
/// The byte that fills pages around the requested bytes.
const PATTERN: u8 = 0x5c;

/// Start addresses of the pages that the process has mapped so far. They stay mapped.
static PAGES: Mutex<BTreeSet<u64>> = Mutex::new(BTreeSet::new());

/// Bytes at an address, on their own pages.
#[derive(Debug)]
pub struct Place {
    address: u64,
    size: u64,
}

impl Place {
    /// Memory that holds `contents`.
    ///
    /// # Panics
    /// If the host uses those addresses for something else.
    #[must_use]
    pub fn new(address: u64, contents: &[u8]) -> Place {
        let place = Place { address, size: contents.len() as u64 };
        let mut known = PAGES.lock().unwrap_or_else(PoisonError::into_inner);
        for page in place.pages().step_by(PAGE as usize).filter(|page| known.insert(*page)) {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let wanted = std::ptr::without_provenance_mut(page as usize);
            // SAFETY: it maps only unused addresses, or fails.
            let found = unsafe { libc::mmap(wanted, PAGE as usize, access, kind, -1, 0) };
            assert!(
                found.expose_provenance() as u64 == page,
                "no page at {page:#x}: {}",
                Error::last_os_error()
            );
        }
        for address in place.pages() {
            let byte = address.checked_sub(place.address).and_then(|n| contents.get(n as usize));
            // SAFETY: the page is mapped, and nothing else uses it.
            unsafe { pointer(address).write(*byte.unwrap_or(&PATTERN)) };
        }
        place
    }

    /// The first byte.
    #[must_use]
    pub fn pointer(&self) -> *mut u8 {
        pointer(self.address)
    }

    /// Addresses of all bytes on its pages.
    fn pages(&self) -> std::ops::Range<u64> {
        self.address / PAGE * PAGE..(self.address + self.size).next_multiple_of(PAGE)
    }

    /// Checks that nothing was written around it.
    ///
    /// # Panics
    /// If something was written.
    pub fn check(&self) {
        for address in self.pages() {
            if !(self.address..self.address + self.size).contains(&address) {
                // SAFETY: the page is mapped, and nothing else uses it.
                let byte = unsafe { pointer(address).read() };
                assert!(byte == PATTERN, "host memory was written at {address:#x}, outside of {self:x?}");
            }
        }
    }
}

fn pointer(address: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(address as usize)
}
