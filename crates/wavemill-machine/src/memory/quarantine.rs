//! Freed memory of identity mode, whose addresses the host must not hand out yet.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::FREED;
use super::host_block::Backing;

/// Bytes of what is kept that may still hold memory, because the host could not have it back without the addresses.
const RESIDENT: usize = 64 << 20;
/// Bytes of addresses that are kept.
const ADDRESSES: usize = 1 << 40;

/// Freed memory, as old as what is remembered for messages, unless it gets too much.
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
    /// Gives the addresses back when it is dropped.
    _backing: Backing,
    resident: usize,
    addresses: usize,
}

impl Quarantine {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the memory back that nobody uses any more, and keeps its addresses for a while. The contents are gone.
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

    /// Gives all addresses back, as the host has no others; whether there were any.
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

    /// Memory that the host cannot have back without the addresses.
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
        // What is too much by itself is not kept, nor is anything that is older.
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
        // Pages that nobody touches take no memory; hosts that promise no more than they have refuse so much.
        for _ in 0..5 {
            let Some(block) = HostBlock::in_own_pages(ADDRESSES / 4, 1) else { return };
            quarantine.keep(block.into_backing());
        }
        assert_eq!(quarantine.size(), (4, 0, ADDRESSES));
    }
}
