//! Where engines get code from, and how often it ran.

use std::sync::Arc;

use wavemill_ir::{Block, Uni};

/// Where blocks of IR come from.
pub trait BlockSource: Sync {
    /// The block that starts at the guest address `pc`, lifted under a context of which only the bits of
    /// [`BlockSource::context_key`] matter. `pc` may be the address of any instruction: waves are preempted and stepped
    /// inside of blocks. An address without code yields a block that ends in a fault. Blocks are well formed
    /// ([`wavemill_ir::verify`]). Of one that is not, an engine may refuse instructions as unsupported; whatever else it makes of
    /// them stays inside of the registers of the wave and the memory that it may touch.
    fn block(&self, pc: u64, context: u32) -> Arc<Block>;

    /// The bits of a wave's context that blocks depend on: the same for a whole run.
    fn context_key(&self) -> u32 {
        !0
    }

    /// The block of the one instruction at the guest address `pc`, for those who run step by step. Sources that lift
    /// code do better than to cut a whole block.
    fn single(&self, pc: u64, context: u32) -> Arc<Block> {
        Arc::new(self.block(pc, context).first())
    }

    /// The cell that collects the floating-point exceptions that operations raise, as bits of
    /// `wavemill_float::Exceptions`: of float operations, comparisons and conversions, not of tests of classes, conversions to
    /// and from small formats and atomics. Collecting them costs a multiple of the float operations; where nobody looks at them
    /// they are not collected. Nor are they in a cell that does not exist.
    fn exceptions(&self) -> Option<Uni> {
        None
    }

    /// A number that changes when blocks handed out before may no longer be what is in memory.
    fn generation(&self) -> u64 {
        0
    }

    /// A wave says that code may have changed: looks, and changes [`BlockSource::generation`] if it has.
    fn refresh(&self) {}
}

/// How often the waves of a run entered a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlockCount {
    /// Guest address of the block.
    pub pc: u64,
    /// The bits of the context that the block was lifted under.
    pub context: u32,
    /// Number of times that a wave entered it.
    pub entered: u64,
    /// Active lanes, summed up over all entries: number of a guest instruction in the block, and how many lanes were active at
    /// those from it on. In ascending order; the first number is 0.
    pub lanes: Vec<(u32, u64)>,
}

impl BlockCount {
    /// Active lanes at the guest instruction with this number, summed up over all entries.
    #[must_use]
    pub fn lanes_at(&self, guest: u32) -> u64 {
        let behind = self.lanes.partition_point(|(from, _)| *from <= guest);
        behind.checked_sub(1).map_or(0, |at| self.lanes[at].1)
    }

    /// Adds the counts of the same block elsewhere.
    pub fn add(&mut self, other: &BlockCount) {
        self.entered += other.entered;
        for (guest, lanes) in &other.lanes {
            match self.lanes.binary_search_by_key(guest, |(from, _)| *from) {
                Ok(at) => self.lanes[at].1 += lanes,
                // The code has changed meanwhile.
                Err(at) => self.lanes.insert(at, (*guest, *lanes)),
            }
        }
    }
}
