//! All memory of the process as guest memory.

#[cfg(any(test, target_os = "linux"))]
use std::ops::Range;
use std::sync::Arc;

use super::host_block::HostBlock;
use super::map::{Allocation, MemoryMap, ReadOnly};
use super::{LDS_APERTURE, MemoryError};

/// What messages call memory of the process that has no other name.
const MEMORY: &str = "memory of the process";
/// What messages call mappings that the process must not write.
const READ_ONLY_MAPPING: &str = "a read-only mapping of the process";

/// A mapping of the process that it may read.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    writable: bool,
    /// The file, or what the system uses it for.
    name: Option<String>,
}

impl MemoryMap {
    /// This view with all memory that the process has now. Allocations of the view keep their names
    /// and what is read-only in them, but do not bound accesses: those may go wherever the process
    /// has memory. Memory that is mapped later is not included.
    ///
    /// # Errors
    /// [`MemoryError::ProcessMemory`] if the host does not list the mappings of the process.
    ///
    /// # Safety
    /// What guest programs read and write may be read and written: they can break everything in
    /// the process. Memory that they access stays mapped, and all other accesses to it meanwhile
    /// are atomic.
    pub unsafe fn with_process_memory(&self) -> Result<MemoryMap, MemoryError> {
        let mappings = mappings().map_err(|reason| MemoryError::ProcessMemory { reason })?;
        let read_only = self.live.iter().flat_map(|a| a.read_only.iter());
        let read_only: Vec<ReadOnly> = read_only.cloned().collect();
        let regions = joined(mappings).iter().map(|all| region(all, &read_only)).collect();
        let mut map = self.clone();
        map.process = Some(regions);
        Ok(map)
    }

    /// Whether guests may access all memory of the process.
    #[must_use]
    pub fn has_process_memory(&self) -> bool {
        self.process.is_some()
    }
}

/// Whether the process has memory at an address that it may read; `false` if the host does not say.
#[must_use]
pub fn process_has(address: u64) -> bool {
    mappings().is_ok_and(|all| all.iter().any(|one| one.start <= address && address < one.end))
}

/// The mappings that the process may read, by address.
#[cfg(target_os = "linux")]
fn mappings() -> Result<Vec<Mapping>, String> {
    let pid = proc_maps::Pid::try_from(std::process::id()).map_err(|error| error.to_string())?;
    let all = proc_maps::get_process_maps(pid).map_err(|error| error.to_string())?;
    let mut all: Vec<Mapping> = all
        .iter()
        .filter(|mapping| mapping.is_read() && !is_of_the_kernel(mapping))
        .map(|mapping| {
            let start = mapping.start() as u64;
            let end = start.saturating_add(mapping.size() as u64);
            // Only a file can end before its mapping does.
            let end = if mapping.inode == 0 { end } else { readable_end(start, end) };
            let name = mapping.filename().map(|name| name.display().to_string());
            Mapping { start, end, writable: mapping.is_write(), name }
        })
        .filter(|mapping| mapping.start < mapping.end)
        .collect();
    all.sort_by_key(|mapping| mapping.start);
    Ok(without(all, &guards()))
}

/// What is left of mappings, by address, without some ranges of addresses, which are in order.
#[cfg(any(test, target_os = "linux"))]
fn without(all: Vec<Mapping>, ranges: &[Range<u64>]) -> Vec<Mapping> {
    let mut parts = Vec::with_capacity(all.len());
    for mapping in all {
        let (mut start, end) = (mapping.start, mapping.end);
        let first = ranges.partition_point(|range| range.end <= start);
        for range in ranges[first..].iter().take_while(|range| range.start < end) {
            if start < range.start {
                parts.push(Mapping { start, end: range.start, ..mapping.clone() });
            }
            start = range.end;
        }
        if start < end {
            parts.push(Mapping { start, ..mapping });
        }
    }
    parts
}

/// Guard regions inside of mappings, by address: pages that nobody can access, although the list of
/// mappings does not say so. The C library may have them at the ends of the stacks of threads. None
/// if the kernel does not list them.
#[cfg(target_os = "linux")]
fn guards() -> Vec<Range<u64>> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    /// `struct page_region` of the kernel.
    #[repr(C)]
    #[derive(Clone, Copy, Default)]
    struct Region {
        start: u64,
        end: u64,
        categories: u64,
    }

    /// `struct pm_scan_arg` of the kernel.
    #[repr(C)]
    #[derive(Default)]
    struct Scan {
        size: u64,
        flags: u64,
        start: u64,
        end: u64,
        walk_end: u64,
        regions: u64,
        regions_len: u64,
        max_pages: u64,
        inverted: u64,
        mask: u64,
        any_of: u64,
        returned: u64,
    }

    /// `PAGE_IS_GUARD`.
    const GUARD: u64 = 1 << 8;
    /// `PAGEMAP_SCAN`: `_IOWR('f', 16, struct pm_scan_arg)`.
    const SCAN: u64 = 3 << 30 | (size_of::<Scan>() as u64) << 16 | (b'f' as u64) << 8 | 16;
    /// The end of the addresses of a process.
    const END: u64 = 0x7fff_ffff_f000;

    // SAFETY: the name ends with a zero.
    let pagemap = unsafe { libc::open(c"/proc/self/pagemap".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
    if pagemap < 0 {
        return Vec::new();
    }
    // SAFETY: nobody else has the new descriptor.
    let pagemap = unsafe { OwnedFd::from_raw_fd(pagemap) };
    let mut regions = [Region::default(); 256];
    let mut found = Vec::new();
    let mut start = 0;
    while start < END {
        let mut scan = Scan {
            size: size_of::<Scan>() as u64,
            start,
            end: END,
            regions: regions.as_mut_ptr().expose_provenance() as u64,
            regions_len: regions.len() as u64,
            mask: GUARD,
            returned: GUARD,
            ..Scan::default()
        };
        // SAFETY: the kernel reads and writes the argument, and writes at most `regions_len` regions.
        let count = unsafe { libc::ioctl(pagemap.as_raw_fd(), SCAN as _, &raw mut scan) };
        let Ok(count) = usize::try_from(count) else { return found };
        found.extend(regions.iter().take(count).map(|region| region.start..region.end));
        if scan.walk_end <= start {
            return found;
        }
        start = scan.walk_end;
    }
    found
}

/// Whether a mapping holds data of the kernel for its own code in the process, of which some pages
/// cannot be read.
#[cfg(target_os = "linux")]
fn is_of_the_kernel(mapping: &proc_maps::MapRange) -> bool {
    mapping.filename().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("[vvar"))
}

/// Where the pages of a mapping end that can be read: a file may have become shorter, and a mapping may be longer
/// than its file.
#[cfg(target_os = "linux")]
fn readable_end(start: u64, end: u64) -> u64 {
    const PAGE: u64 = 4096;
    let count = (end - start) / PAGE;
    if count == 0 || can_be_read(start + PAGE * (count - 1)) {
        return end;
    }
    // The number of pages that can be read: they come first.
    let (mut known, mut unknown) = (0, count - 1);
    while known < unknown {
        let middle = known + (unknown - known) / 2;
        if can_be_read(start + PAGE * middle) {
            known = middle + 1;
        } else {
            unknown = middle;
        }
    }
    start + PAGE * known
}

/// Whether the byte at an address of a mapping can be read; `true` if the host does not say.
#[cfg(target_os = "linux")]
fn can_be_read(address: u64) -> bool {
    let mut byte = 0u8;
    let local = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let base = std::ptr::with_exposed_provenance_mut(address as usize);
    let remote = libc::iovec { iov_base: base, iov_len: 1 };
    // SAFETY: the kernel reads the byte, and returns an error if there is none; it writes `byte` only.
    let read =
        unsafe { libc::process_vm_readv(libc::getpid(), &raw const local, 1, &raw const remote, 1, 0) };
    read == 1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT)
}

#[cfg(not(target_os = "linux"))]
fn mappings() -> Result<Vec<Mapping>, String> {
    Err("only Linux lists it here".to_owned())
}

/// Mappings without a gap between them together, up to the addresses of the apertures.
fn joined(mappings: Vec<Mapping>) -> Vec<Vec<Mapping>> {
    let mut all: Vec<Vec<Mapping>> = Vec::new();
    for mapping in mappings {
        let mapping = Mapping { end: mapping.end.min(LDS_APERTURE), ..mapping };
        if mapping.start >= mapping.end {
            continue;
        }
        match all.last_mut().filter(|group| group.last().is_some_and(|last| last.end == mapping.start)) {
            Some(group) => group.push(mapping),
            None => all.push(vec![mapping]),
        }
    }
    all
}

/// Mappings without a gap as one allocation. Of the parts, it has those that are in it.
fn region(mappings: &[Mapping], parts: &[ReadOnly]) -> Allocation {
    let (start, end) = match mappings {
        [first, .., last] => (first.start, last.end),
        [one] => (one.start, one.end),
        [] => (0, 0),
    };
    let inside = parts.iter().filter(|part| start <= part.range.start && part.range.end <= end);
    let mut read_only: Vec<ReadOnly> = inside.cloned().collect();
    let constant = mappings.iter().filter(|mapping| !mapping.writable);
    read_only
        .extend(constant.map(|one| ReadOnly { range: one.start..one.end, what: READ_ONLY_MAPPING.into() }));
    read_only.sort_by_key(|part| part.range.start);
    let name = mappings.iter().find_map(|mapping| mapping.name.as_deref()).unwrap_or(MEMORY);
    let pointer = std::ptr::with_exposed_provenance_mut(start as usize);
    let block = Arc::new(HostBlock::borrowed(pointer));
    Allocation {
        name: name.into(),
        start,
        size: end - start,
        read_only: read_only.into(),
        internal: false,
        block,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{AddressMode, GuestMemory, Nearest};
    use super::*;
    use crate::fault::Access;

    fn mapping(start: u64, end: u64, writable: bool) -> Mapping {
        Mapping { start, end, writable, name: None }
    }

    #[test]
    fn mappings_without_a_gap_are_one_region() {
        let past = LDS_APERTURE + 100;
        let all = [
            mapping(0x1000, 0x2000, true),
            mapping(0x2000, 0x3000, false),
            mapping(0x4000, 0x5000, true),
            mapping(LDS_APERTURE - 0x1000, past, true),
            mapping(past, past + 1, true),
        ];
        let regions: Vec<Allocation> = joined(all.to_vec()).iter().map(|group| region(group, &[])).collect();
        let found: Vec<(u64, u64)> = regions.iter().map(|one| (one.start, one.end())).collect();
        assert_eq!(found, [(0x1000, 0x3000), (0x4000, 0x5000), (LDS_APERTURE - 0x1000, LDS_APERTURE)]);
        assert_eq!(regions[0].allowed(0x1800, Access::Store), Some(0x1000..0x2000));
        assert_eq!(regions[0].allowed(0x2000, Access::Store), None);
        assert_eq!(regions[0].allowed(0x1800, Access::Load), Some(0x1000..0x3000));
    }

    #[test]
    fn parts_of_allocations_stay_read_only() {
        let part = |start, end| ReadOnly { range: start..end, what: "code".into() };
        let one = region(&[mapping(0x1000, 0x3000, true)], &[part(0x1100, 0x1200), part(0x5000, 0x5100)]);
        assert_eq!(one.allowed(0x1180, Access::Store), None);
        assert_eq!(one.allowed(0x1200, Access::Store), Some(0x1200..0x3000));
    }

    /// A mapping that is longer than its file has pages that nobody can read.
    #[test]
    fn ranges_are_taken_out_of_mappings() {
        let mapping = |start, end| Mapping { start, end, writable: true, name: None };
        let all = vec![mapping(10, 20), mapping(20, 30), mapping(40, 50), mapping(60, 70)];
        let ranges = [0..5, 10..12, 14..15, 18..22, 30..40, 43..60, 69..70];
        let left = without(all, &ranges);
        let left: Vec<_> = left.iter().map(|one| (one.start, one.end)).collect();
        assert_eq!(left, [(12, 14), (15, 18), (22, 30), (40, 43), (60, 69)]);
    }

    /// Pages of a mapping that the process has made inaccessible without a mapping of their own.
    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri does not list mappings")]
    fn guard_regions_are_no_memory() {
        const PAGE: usize = 4096;
        /// `MADV_GUARD_INSTALL`, from Linux 6.13 on.
        const GUARD_INSTALL: i32 = 102;
        let mut map = memmap2::MmapMut::map_anon(8 * PAGE).unwrap();
        let start = map.as_mut_ptr();
        for page in [0, 3, 4] {
            // SAFETY: the page is in the mapping, and nothing accesses it.
            if unsafe { libc::madvise(start.add(PAGE * page).cast(), PAGE, GUARD_INSTALL) } != 0 {
                eprintln!("skipped: the kernel has no guard regions");
                return;
            }
        }
        let address = start.expose_provenance() as u64;
        if !guards().contains(&(address..address + PAGE as u64)) {
            eprintln!("skipped: the kernel does not list guard regions");
            return;
        }
        let has = [0, 1, 2, 3, 4, 5, 6, 7].map(|page| process_has(address + (PAGE * page) as u64));
        assert_eq!(has, [false, true, true, false, false, true, true, true]);
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri does not list mappings")]
    fn mappings_end_where_their_files_end() {
        for (bytes, mapped) in [(4096, 4 * 4096), (3 * 4096 + 1, 8 * 4096), (0, 4096), (8192, 8192)] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(bytes).unwrap();
            // SAFETY: nothing accesses the mapping but the test.
            let map = unsafe { memmap2::MmapOptions::new().len(mapped).map(&file) }.unwrap();
            let start = map.as_ptr().expose_provenance() as u64;
            let end = start + bytes.next_multiple_of(4096);
            assert!(bytes == 0 || process_has(start) && process_has(end - 1), "{bytes} of {mapped}");
            assert!(end == start + mapped as u64 || !process_has(end), "{bytes} of {mapped}");
        }
        let listed = mappings().unwrap();
        assert!(!listed.iter().any(|one| one.name.as_deref().is_some_and(|name| name.starts_with("[vvar"))));
    }

    #[test]
    #[cfg(target_os = "linux")]
    #[cfg_attr(miri, ignore = "Miri does not list mappings")]
    fn the_memory_of_the_process_is_found() {
        static CONSTANT: [u8; 4096] = [7; 4096];
        let memory = GuestMemory::new(AddressMode::Identity);
        let a = memory.allocate("a", 100, 1).unwrap();
        let heap = Box::new([1u32, 2, 3]);
        let before = memory.snapshot();
        // SAFETY: the test only reads what it owns.
        let map = unsafe { before.with_process_memory() }.unwrap();
        let address = heap.as_ptr().expose_provenance() as u64;
        assert!(before.find(address).is_none());
        let mut bytes = [0; 4];
        assert!(map.read(address + 4, &mut bytes));
        assert_eq!(u32::from_le_bytes(bytes), 2);
        // Past the end of an allocation, there is other memory.
        assert!(map.resolve(a + 99, 2).is_some() && before.resolve(a + 99, 2).is_none());
        let constant = CONSTANT.as_ptr().expose_provenance() as u64;
        let found = map.find(constant).unwrap();
        assert_eq!(found.allowed(constant, Access::Store), None);
        assert!(found.allowed(constant, Access::Load).is_some());
        assert!(map.has_process_memory() && !before.has_process_memory());
        assert!(process_has(address) && process_has(constant) && !process_has(16));
        assert_eq!(map.nearest(16), Nearest::Null);
        assert_eq!(map.nearest(1 << 46 | 1 << 45 | 4096), Nearest::NotMapped);
        assert_eq!((map.bytes(), before.bytes()), (None, Some(100)));
    }
}
