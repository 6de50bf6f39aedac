//! Observes the host's accesses to guest memory.

use std::fmt;

/// An observer of the host's accesses to guest memory outside launches, for example a checker that
/// tracks which bytes have a value, or which belong together. Methods are called on the thread that
/// accesses memory, from several threads at once: after the access, except for
/// [`MemoryObserver::freed`], which comes before it.
///
/// Accesses to [imported](super::GuestMemory::import) memory that bypass
/// [`GuestMemory`](super::GuestMemory) are not reported.
pub trait MemoryObserver: fmt::Debug + Send + Sync {
    /// Memory has been allocated. It holds zeros, or if it is imported, the contents of the host's
    /// memory.
    fn allocated(&self, allocation: &Allocated<'_>) {
        let _ = allocation;
    }

    /// The allocation that starts at a guest address is about to be freed. It is still mapped, so
    /// no other allocation can be [`allocated`](MemoryObserver::allocated) at its addresses before.
    fn freed(&self, address: u64) {
        let _ = address;
    }

    /// The host has written this many bytes at a guest address: a user of the device, or the
    /// runtime in response to a kernel.
    fn written(&self, address: u64, size: u64) {
        let _ = (address, size);
    }
}

/// A new allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Allocated<'a> {
    /// Name for messages.
    pub name: &'a str,
    /// First guest address.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it is imported host memory.
    pub imported: bool,
    /// Whether it belongs to the runtime and is far from users' buffers: arguments, private memory,
    /// queues. Code objects do not count, because kernels compute addresses from those of their
    /// variables.
    pub internal: bool,
}
