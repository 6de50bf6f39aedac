//! The clock that programs read. Its values may differ between runs.

use std::sync::OnceLock;
use std::time::Instant;

/// Nanoseconds since the first call from any engine: all engines share one clock.
#[must_use]
pub fn host_nanoseconds() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}
