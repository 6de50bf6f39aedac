//! Private memory that workgroups leave behind with other bytes than zeros.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};

use crate::wave::PrivateWrites;

/// What each slot for a wave must wipe before its next wave starts. Slots change threads under the
/// lock of the scheduler.
#[derive(Debug)]
pub(super) struct Dirty {
    /// Bytes from the start of the private memory of each slot.
    bytes: Vec<AtomicU64>,
    /// Whether a wave may have written anywhere.
    anywhere: AtomicBool,
}

impl Dirty {
    /// Private memory of so many waves, which is all zeros.
    pub(super) fn new(waves: u64) -> Dirty {
        Dirty { bytes: (0..waves).map(|_| AtomicU64::new(0)).collect(), anywhere: AtomicBool::new(false) }
    }

    /// Notes what the wave of a slot has written.
    pub(super) fn left(&self, slot: u32, writes: PrivateWrites) {
        if let Some(bytes) = self.bytes.get(slot as usize) {
            bytes.fetch_max(writes.own, Relaxed);
        }
        if writes.others {
            self.anywhere.store(true, Relaxed);
        }
    }

    /// The bytes to wipe in a slot with `size` bytes, which are clean then.
    pub(super) fn take(&self, slot: u32, size: u64) -> u64 {
        let bytes = self.bytes.get(slot as usize).map_or(size, |bytes| bytes.swap(0, Relaxed));
        if self.anywhere.load(Relaxed) { size } else { bytes.min(size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waves_wrote_is_wiped_once() {
        let dirty = Dirty::new(2);
        assert_eq!(dirty.take(0, 4096), 0);
        dirty.left(0, PrivateWrites { own: 512, others: false });
        dirty.left(1, PrivateWrites { own: 1 << 40, others: false });
        assert_eq!([dirty.take(0, 4096), dirty.take(0, 4096)], [512, 0]);
        assert_eq!([dirty.take(1, 4096), dirty.take(1, 4096)], [4096, 0]);
        dirty.left(1, PrivateWrites { own: 0, others: true });
        assert_eq!([dirty.take(0, 4096), dirty.take(0, 4096), dirty.take(1, 4096)], [4096; 3]);
    }
}
