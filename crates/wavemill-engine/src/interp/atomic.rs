//! Read-modify-write operations on memory.

use wavemill_ir::{AtomicOp, Space, Width};

use super::control;
use super::hostop::Handler;

/// The handler of an atomic.
pub(super) fn handler(_op: AtomicOp, _space: Space, _width: Width) -> Option<Handler> {
    None
}

/// The handler of `ds_append` and `ds_consume`.
pub(super) fn append_handler(_append: bool) -> Handler {
    control::unsupported
}
