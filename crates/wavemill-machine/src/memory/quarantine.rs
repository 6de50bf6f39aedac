//! Freed memory of identity mode, whose addresses the host must not reuse yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::FREED;
use super::host_block::Backing;

/// Most bytes in the quarantine that may be resident because the host could not reclaim them
/// without their addresses.
const RESIDENT: usize = 64 << 20;
/// Most bytes of addresses in the quarantine.
const ADDRESSES: usize = 1 << 40;

/// Freed memory, for as long as messages remember it, within limits.
#[derive(Debug, Default)]
pub(super) struct Quarantine(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    /// The oldest first.
    blocks: VecDeque<Block>,
    /// Sums over all blocks.
    resident: usize,
    addresses: usize,
}

#[derive(Debug)]
struct Block {
    /// Dropping it releases the addresses.
    _backing: Backing,
    resident: usize,
    addresses: usize,
}

impl Quarantine {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns unused memory to the host, and keeps its addresses for a while. The contents are
    /// lost.
    pub(super) fn keep(&self, mut backing: Backing) {
        let addresses = backing.size();
        let resident = if backing.discard() { 0 } else { addresses };
        let mut kept = self.kept();
        kept.resident = kept.resident.saturating_add(resident);
        kept.addresses = kept.addresses.saturating_add(addresses);
        kept.blocks.push_back(Block { _backing: backing, resident, addresses });
        while kept.blocks.len() > FREED || kept.resident > RESIDENT || kept.addresses > ADDRESSES {
            let Some(oldest) = kept.blocks.pop_front() else { break };
            kept.resident = kept.resident.saturating_sub(oldest.resident);
            kept.addresses = kept.addresses.saturating_sub(oldest.addresses);
        }
    }

    /// Releases all addresses because the host has no others; returns whether there were any.
    pub(super) fn give_back(&self) -> bool {
        let kept = std::mem::take(&mut *self.kept());
        !kept.blocks.is_empty()
    }

    /// Number of blocks, bytes that may be resident, bytes of addresses.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize, usize) {
        let kept = self.kept();
        (kept.blocks.len(), kept.resident, kept.addresses)
    }
}

#[cfg(test)]
mod tests {
    use super::super::host_block::HostBlock;
    use super::*;

    /// Memory that the host cannot reclaim without its addresses.
    fn on_heap(size: usize) -> Backing {
        HostBlock::on_heap(size, 256).unwrap().into_backing()
    }

    #[test]
    fn what_may_be_resident_is_bounded() {
        let quarantine = Quarantine::default();
        for _ in 0..4 {
            quarantine.keep(on_heap(RESIDENT / 3));
        }
        assert_eq!(quarantine.size(), (3, RESIDENT / 3 * 3, RESIDENT / 3 * 3));
        // A block over the limit is not kept, nor is any older one.
        quarantine.keep(on_heap(RESIDENT + 1));
        assert_eq!(quarantine.size(), (0, 0, 0));
        assert!(!quarantine.give_back());
        quarantine.keep(on_heap(4096));
        assert!(quarantine.give_back());
        assert_eq!(quarantine.size(), (0, 0, 0));
    }

    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn addresses_are_bounded() {
        let quarantine = Quarantine::default();
        // Untouched pages need no memory; hosts that do not overcommit refuse this much.
        for _ in 0..5 {
            let Some(block) = HostBlock::in_own_pages(ADDRESSES / 4, 1) else { return };
            quarantine.keep(block.into_backing());
        }
        assert_eq!(quarantine.size(), (4, 0, ADDRESSES));
    }
}
