//! Counts accesses that the chip does not report although they are out of the wave's range.

use std::ops::AddAssign;

/// Accesses outside LDS, the range of a buffer resource or an image, counted for each lane. Strict runs stop
/// at the first one ([`Strict`](crate::Strict)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OutOfRange {
    /// Accesses to LDS after the allocated bytes: loads read 0, stores and atomics do nothing.
    pub lds: u64,
    /// Accesses to LDS after the workgroup's bytes, in the rest of the last granule.
    pub lds_granule: u64,
    /// Accesses through buffer resources that are at least partly out of range: that part reads 0,
    /// or does nothing.
    pub buffer: u64,
    /// Loads, stores and atomics outside the extent of an image: a load reads a texel of zeros, and
    /// the others do nothing.
    pub image: u64,
}

impl OutOfRange {
    /// Accesses to LDS after the workgroup's bytes, of both kinds.
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
        self.image += other.image;
    }
}
