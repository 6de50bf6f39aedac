//! Memory of the host that one launch may use.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use wavemill_machine::{AddressMode, MemoryMap};

use super::builder::Launch;
use crate::Result;
use crate::buffer::shown;

/// Memory of the host that kernels of one launch may use at its own address, without a copy
/// ([`Launch::host_memory`]).
///
/// An argument may be a part of an allocation. Kernels may access the whole allocation, as on a
/// GPU; only what arguments with [`HostMemory::read_only`] have is read-only.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::device::{AddressMode, TargetId};
/// use wavemill::launch::HostMemory;
/// use wavemill::{Arg, Device, Launch, Module};
///
/// # let object = given::vector_add_object()?;
/// let device = Device::builder(Device::target_of(object)?).addresses(AddressMode::Identity).build()?;
/// let kernel = Module::load(&device, object)?.kernel("vector_add")?;
///
/// let (mut ones, mut sums) = (vec![1.0f32; 256], vec![0.0f32; 256]);
/// let memory = |name: &str, values: &mut Vec<f32>| {
///     // SAFETY: the values outlive the launch, and nothing else accesses them meanwhile.
///     unsafe { HostMemory::new(name, values.as_mut_ptr().cast(), 4 * values.len() as u64) }
/// };
/// let (input, output) = (memory("ones", &mut ones).read_only(), memory("sums", &mut sums));
/// let pointers = [input.address(), input.address(), output.address()].map(Arg::from);
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(pointers).arg(256u32);
/// launch.host_memory([input, output]).run()?;
/// assert_eq!(sums, [2.0; 256]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostMemory {
    name: Arc<str>,
    start: *mut u8,
    size: u64,
    argument: Range<u64>,
    read_only: bool,
}

// SAFETY: the pointer is an address until a launch uses it, and `HostMemory::new` requires that any
// thread may do that.
unsafe impl Send for HostMemory {}
// SAFETY: as above; shared references only copy the pointer.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    /// An allocation of the host: its name for messages, its first byte, and its size in bytes.
    ///
    /// # Safety
    /// During all launches that have it, its bytes are valid on every thread for reads, and for
    /// writes where they are not [read-only](HostMemory::read_only), and nothing else accesses
    /// them, except by atomic operations. Several launches may use the same bytes at once.
    #[must_use]
    pub unsafe fn new(name: impl Into<Arc<str>>, start: *mut u8, size: u64) -> Self {
        let address = start.expose_provenance() as u64;
        let argument = address..address.saturating_add(size);
        let name = name.into();
        let name = if let Cow::Owned(shown) = shown(&name) { shown.into() } else { name };
        HostMemory { name, start, size, argument, read_only: false }
    }

    /// Its address, in the host and for kernels.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.start.expose_provenance() as u64
    }

    /// The addresses that the argument is about; without it, all of the allocation.
    #[must_use]
    pub fn argument(mut self, addresses: Range<u64>) -> Self {
        let (first, end) = (self.address(), self.address().saturating_add(self.size));
        self.argument = addresses.start.clamp(first, end)..addresses.end.clamp(first, end);
        self
    }

    /// Makes the bytes of the argument read-only for kernels, except those that another argument
    /// may write. Without an argument that may write to the allocation, all of it is read-only.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }
}

impl Launch<'_> {
    /// Lets the kernel access all memory that the process has when the launch begins, like a GPU
    /// with unified memory: for kernels that follow pointers in memory. Accesses are not checked
    /// against arguments and buffers any more. Only those where the process has no memory, or where
    /// it must not write, are faults. The device must have host addresses
    /// ([`AddressMode::Identity`]).
    ///
    /// # Safety
    /// What the kernel reads and writes may be read and written. A wrong kernel can break
    /// everything in the process. Memory that it accesses stays mapped until the launch ends, and
    /// nothing else accesses it meanwhile, except by atomic operations.
    #[must_use]
    pub unsafe fn process_memory(mut self) -> Self {
        self.process_memory = true;
        self
    }

    /// The device's memory with the memory of the host that the launch has.
    pub(super) fn memory(&self) -> Result<Arc<MemoryMap>> {
        let map = self.kernel.module.device.memory.snapshot();
        if self.host_memory.is_empty() && !self.process_memory {
            return Ok(map);
        }
        let mode = self.kernel.module.device.memory.address_mode();
        if mode != AddressMode::Identity {
            return Err(self.refuse(format!(
                "it uses memory of the host, which needs a device with the address mode {}; that of the device is {mode}",
                AddressMode::Identity
            )));
        }
        // SAFETY: who made the memory has promised it; the view lives as long as the launch.
        let map = unsafe { map.with_host_memory(joined(&self.host_memory))? };
        if !self.process_memory {
            return Ok(Arc::new(map));
        }
        // SAFETY: the caller of `Launch::process_memory` has promised it.
        Ok(Arc::new(unsafe { map.with_process_memory()? }))
    }
}

/// Memory that overlaps as one allocation, by address.
fn joined(memory: &[HostMemory]) -> Vec<wavemill_machine::HostMemory> {
    let mut sorted: Vec<&HostMemory> = memory.iter().filter(|one| one.size > 0).collect();
    sorted.sort_by_key(|one| one.address());
    let mut rest = &sorted[..];
    let mut all = Vec::with_capacity(memory.len());
    while let [first, ..] = rest {
        let mut end = first.address().saturating_add(first.size);
        let mut count = 1;
        while let Some(one) = rest.get(count).filter(|one| one.address() < end) {
            end = end.max(one.address().saturating_add(one.size));
            count += 1;
        }
        let (together, others) = rest.split_at(count);
        let whole = first.address()..end;
        all.push(wavemill_machine::HostMemory {
            name: name(together),
            memory: first.start,
            size: whole.end - whole.start,
            read_only: read_only(together, whole),
        });
        rest = others;
    }
    all
}

/// Most names of an allocation.
const NAMED: usize = 3;

/// The name of an allocation that these arguments are in.
fn name(together: &[&HostMemory]) -> Arc<str> {
    let [first, more @ ..] = together else { return Arc::default() };
    if more.is_empty() {
        return first.name.clone();
    }
    let mut names: Vec<&str> = Vec::new();
    for one in together {
        if !names.contains(&&*one.name) {
            names.push(&one.name);
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let mut text = names.join(", ");
    if more > 0 {
        text += &format!(" and {more} more");
    }
    text.into()
}

/// What kernels must not write of an allocation that these arguments are in.
fn read_only(together: &[&HostMemory], whole: Range<u64>) -> Vec<Range<u64>> {
    if together.iter().all(|one| one.read_only) {
        return vec![whole];
    }
    let mut parts: Vec<Range<u64>> =
        together.iter().filter(|one| one.read_only).map(|one| one.argument.clone()).collect();
    for written in together.iter().filter(|one| !one.read_only).map(|one| &one.argument) {
        let outside = |part: Range<u64>| {
            [part.start..part.end.min(written.start), part.start.max(written.end)..part.end]
        };
        parts = parts.into_iter().flat_map(outside).filter(|part| part.start < part.end).collect();
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(name: &str, start: usize, size: u64) -> HostMemory {
        // SAFETY: no launch uses it.
        unsafe { HostMemory::new(name, std::ptr::without_provenance_mut(start), size) }
    }

    /// Name, start and size.
    fn join(all: &[HostMemory]) -> Vec<(String, u64, u64)> {
        joined(all).into_iter().map(|m| (m.name.to_string(), m.start(), m.size)).collect()
    }

    #[test]
    fn what_overlaps_is_one_allocation() {
        let (a, b) = (memory("a", 1000, 100), memory("b", 1050, 100));
        let (c, d) = (memory("c", 1150, 10), memory("d", 1060, 10));
        let empty = memory("empty", 1055, 0);
        // c begins where b ends.
        let expected = [("a, b, d".to_owned(), 1000, 150), ("c".to_owned(), 1150, 10)];
        assert_eq!(join(&[c, b, a.clone(), d.clone(), empty]), expected);
        assert_eq!(join(&[a.clone(), d, a]), [("a, d".to_owned(), 1000, 100)]);
        let many = ["p", "q", "r", "s", "t"].map(|name| memory(name, 1000, 8));
        assert_eq!(join(&many), [("p, q, r and 2 more".to_owned(), 1000, 8)]);
    }

    /// First addresses and ends of the parts that are read-only.
    fn parts(all: &[HostMemory]) -> Vec<(u64, u64)> {
        let all = joined(all);
        all.iter().flat_map(|m| &m.read_only).map(|part| (part.start, part.end)).collect()
    }

    #[test]
    fn read_only_is_what_only_read_only_arguments_have() {
        let whole = || memory("x", 1000, 100);
        let read = |from, to| whole().argument(from..to).read_only();
        let write = |from, to| whole().argument(from..to);
        // Nothing may write to the allocation.
        assert_eq!(parts(&[read(1010, 1020)]), [(1000, 1100)]);
        assert_eq!(parts(&[read(1010, 1020), read(1030, 1040)]), [(1000, 1100)]);
        // The halves of a buffer.
        assert_eq!(parts(&[read(1000, 1050), write(1050, 1100)]), [(1000, 1050)]);
        // What may be written through one argument may be written.
        assert_eq!(parts(&[read(1000, 1050), write(1020, 1030)]), [(1000, 1020), (1030, 1050)]);
        assert!(parts(&[write(1000, 1100), read(1000, 1050)]).is_empty());
        assert!(parts(&[write(1000, 1100)]).is_empty());
        // Addresses outside the allocation do not count.
        assert_eq!(parts(&[read(0, 2000), write(1050, 1060)]), [(1000, 1050), (1060, 1100)]);
    }
}
