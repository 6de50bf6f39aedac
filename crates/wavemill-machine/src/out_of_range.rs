//! Accesses of which the chip says nothing although they leave what the wave was given: how many there were.

use std::ops::AddAssign;

/// Accesses that left LDS or the range of a buffer resource, each lane's counted by itself. Strict runs stop at the first one
/// ([`Strict`](crate::Strict)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutOfRange {
    /// Accesses to LDS behind what is allocated: loads read 0, stores and atomics did nothing.
    pub lds: u64,
    /// Accesses to LDS behind the workgroup's bytes that reached the rest of the last granule.
    pub lds_granule: u64,
    /// Accesses through buffer resources of which at least a part was out of range: that part read 0, or nothing was done.
    pub buffer: u64,
}

impl OutOfRange {
    /// Accesses to LDS behind the workgroup's bytes, whatever became of them.
    #[must_use]
    pub fn all_lds(&self) -> u64 {
        self.lds + self.lds_granule
    }
}

impl AddAssign for OutOfRange {
    fn add_assign(&mut self, other: OutOfRange) {
        self.lds += other.lds;
        self.lds_granule += other.lds_granule;
        self.buffer += other.buffer;
    }
}
