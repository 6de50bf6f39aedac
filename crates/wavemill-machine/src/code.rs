//! The source of code for engines, and counts of block executions.

use std::sync::Arc;

use wavemill_ir::{Block, Uni};

/// A source of IR blocks.
pub trait BlockSource: Sync {
    /// Returns the block that starts at the guest address `pc`, lifted under `context`; only the
    /// bits of [`BlockSource::context_key`] matter. `pc` may be the address of any instruction:
    /// waves are preempted and stepped inside blocks. An address without code yields a block that
    /// ends in a fault. Blocks are well formed ([`wavemill_ir::verify`]). An engine may reject
    /// instructions of a malformed block as unsupported. Any other effect of them stays inside the
    /// wave's registers and the memory that the wave may access.
    fn block(&self, pc: u64, context: u32) -> Arc<Block>;

    /// The bits of a wave's context that blocks depend on; they are the same for a whole run.
    fn context_key(&self) -> u32 {
        !0
    }

    /// The block of the single instruction at the guest address `pc`, for stepping. Sources that
    /// lift code should override this default, which cuts a whole block.
    fn single(&self, pc: u64, context: u32) -> Arc<Block> {
        Arc::new(self.block(pc, context).first())
    }

    /// The cell that collects the floating-point exceptions of operations, as bits of
    /// `wavemill_float::Exceptions`. Float operations, comparisons and conversions raise them;
    /// tests of classes, conversions to and from small formats, and atomics do not. Collection
    /// multiplies the cost of float operations, so `None`, or a cell that does not exist, turns it
    /// off.
    fn exceptions(&self) -> Option<Uni> {
        None
    }

    /// A number that changes when blocks returned earlier may no longer match memory.
    fn generation(&self) -> u64 {
        0
    }

    /// Reacts to a wave that reports that code may have changed: checks memory, and changes
    /// [`BlockSource::generation`] if it has.
    fn refresh(&self) {}
}

/// Number of times that the waves of a run entered a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlockCount {
    /// Guest address of the block.
    pub pc: u64,
    /// The bits of the context that the block was lifted under.
    pub context: u32,
    /// Number of times that a wave entered it.
    pub entered: u64,
    /// Active lanes, summed over all entries: the number of a guest instruction in the block, and
    /// the lanes that were active from it on. In ascending order; the first number is 0.
    pub lanes: Vec<(u32, u64)>,
}

impl BlockCount {
    /// Active lanes at the guest instruction with this number, summed over all entries.
    #[must_use]
    pub fn lanes_at(&self, guest: u32) -> u64 {
        let behind = self.lanes.partition_point(|(from, _)| *from <= guest);
        behind.checked_sub(1).map_or(0, |at| self.lanes[at].1)
    }

    /// Adds the counts of another record for the same block.
    pub fn add(&mut self, other: &BlockCount) {
        self.entered += other.entered;
        for (guest, lanes) in &other.lanes {
            match self.lanes.binary_search_by_key(guest, |(from, _)| *from) {
                Ok(at) => self.lanes[at].1 += lanes,
                // The code changed between the two records.
                Err(at) => self.lanes.insert(at, (*guest, *lanes)),
            }
        }
    }
}
