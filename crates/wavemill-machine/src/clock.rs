//! The clock that programs read where it need not be the same in every run.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds since some engine asked for the first time: the same clock for all engines.
#[must_use]
pub fn host_nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
