//! Who hears of what the host does with guest memory.

use std::fmt;

/// Somebody who hears of what the host does with guest memory, launches apart: a checker that follows which bytes have a
/// value, or which belong together. Methods are called on the thread that does it, by several threads at once: behind it, but
/// [`MemoryObserver::freed`] before it.
///
/// What happens to [imported](super::GuestMemory::import) memory behind the back of [`GuestMemory`](super::GuestMemory) is
/// not reported.
pub trait MemoryObserver: fmt::Debug + Send + Sync {
    /// Memory has been allocated; it holds zeros, or if it is imported, what the host has there.
    fn allocated(&self, allocation: &Allocated<'_>) {
        let _ = allocation;
    }

    /// The allocation that starts at a guest address is about to be freed. It is still there, so that nothing else can be
    /// [`allocated`](MemoryObserver::allocated) at its addresses before.
    fn freed(&self, address: u64) {
        let _ = address;
    }

    /// The host has written so many bytes at a guest address: a user of the device, or the runtime that answers a kernel.
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
    /// Bytes.
    pub size: u64,
    /// Whether it is memory of the host.
    pub imported: bool,
    /// Whether it is the runtime's own and far from users' buffers: arguments, private memory, queues. A code object is not,
    /// as kernels compute addresses from those of its variables.
    pub internal: bool,
}
