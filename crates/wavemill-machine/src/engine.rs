//! What runs waves.

use std::fmt;

use crate::code::{BlockCount, BlockSource};
use crate::fault::Strict;
use crate::observe::Interests;
use crate::out_of_range::OutOfRange;
use crate::registers::RegisterCounts;

pub use crate::address::scalar_address;
pub use crate::clock::host_nanoseconds;
pub use crate::lds::Lds;
pub use crate::observe::Events;
pub use crate::wave::{Inside, PrivateMemory, Surroundings, Wave, WaveExit};

/// A way to run waves: all that the machine knows of one.
///
/// Engines give the same bits, preempt waves at the same instructions and report the same faults, so that it does not
/// matter which one runs a wave. They may hand a wave over to each other at any operation ([`Wave::inside`]).
pub trait Engine: Sync + fmt::Debug {
    /// Its name for messages.
    fn name(&self) -> &'static str;

    /// Makes what one host thread runs waves with.
    ///
    /// # Panics
    /// An engine may refuse a task for watched waves if it wants another one [for close looks](Engine::for_close_looks).
    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a>;

    /// The engine that it wants for waves that are watched, and for those that run instruction by instruction; `None` if it
    /// does so itself.
    fn for_close_looks(&self) -> Option<&dyn Engine> {
        None
    }
}

/// What an executor is made for.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Registers of the waves.
    pub counts: RegisterCounts,
    /// Lifts code.
    pub source: &'a dyn BlockSource,
    /// Whether to count how often each block is entered, and active lanes.
    pub counting: bool,
    /// Accesses that are faults although the chip says nothing.
    pub strict: Strict,
    /// What is reported of watched waves; `None` if the waves are not watched.
    pub interests: Option<&'a Interests>,
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { counts, counting, strict, interests, .. } = self;
        let mut s = f.debug_struct("Task");
        s.field("counts", counts).field("counting", counting).field("strict", strict);
        s.field("interests", interests).finish_non_exhaustive()
    }
}

/// What one host thread runs waves with.
pub trait Executor {
    /// Runs a wave until it stops or has started `budget` guest instructions; at least one, and no less than to the end of
    /// the block. `events` is where events of a wave go whose executor is made for watched waves. The changes of a guest
    /// instruction that another engine has begun are those since it was [handed over](Inside).
    ///
    /// # Panics
    /// If the registers of the wave are not those of the task, or if `events` is missing in an executor for watched waves.
    fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        events: Option<&mut Events<'_>>,
    ) -> WaveExit;

    /// Accesses out of range of all waves that it has run.
    fn out_of_range(&self) -> OutOfRange;

    /// Number of blocks that it has made ready to run.
    fn blocks(&self) -> usize;

    /// How often each block was entered, in parts if it was made ready again; empty unless the task says to count.
    fn block_counts(&self) -> Vec<BlockCount>;
}
