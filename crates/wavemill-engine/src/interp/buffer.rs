//! Accesses through buffer resources.

use wavemill_ir::{AtomicOp, BufferAddr, MemType, Width};

use super::control;
use super::hostop::Handler;

/// The handler of a buffer load.
pub(super) fn load_handler(_t: MemType, _addr: BufferAddr) -> Handler {
    control::unsupported
}

/// The handler of a buffer store.
pub(super) fn store_handler(_t: MemType, _addr: BufferAddr) -> Handler {
    control::unsupported
}

/// The handler of a buffer atomic.
pub(super) fn atomic_handler(_op: AtomicOp, _width: Width, _addr: BufferAddr) -> Option<Handler> {
    None
}
