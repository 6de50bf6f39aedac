//! The interface of engines, which run waves.

use std::fmt;

use wavemill_ir::analysis::{Entry, WaveFacts};

use crate::code::{BlockCount, BlockSource};
use crate::fault::Strict;
use crate::observe::Interests;
use crate::out_of_range::OutOfRange;
use crate::registers::RegisterCounts;

pub use crate::address::scalar_address;
pub use crate::clock::host_nanoseconds;
pub use crate::exchange::Head;
pub use crate::export::{Export, Exports};
pub use crate::lds::Lds;
pub use crate::observe::Events;
pub use crate::share::{Hold, Share};
pub use crate::wave::{Inside, PrivateMemory, PrivateWrites, Surroundings, Wave, WaveExit, WaveFault};

/// A way to run waves, and the machine's only view of it.
///
/// Engines compute the same bits, preempt waves at the same instructions and report the same
/// faults, so any engine can run any wave. An engine can hand a wave over to another at any
/// operation ([`Wave::inside`]).
pub trait Engine: Sync + fmt::Debug {
    /// Its name for messages.
    fn name(&self) -> &'static str;

    /// Makes an executor, with which one host thread runs waves.
    ///
    /// # Panics
    /// An engine may panic on a task for watched waves if it names another engine [for close
    /// looks](Engine::for_close_looks).
    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a>;

    /// The engine to use for watched waves and for waves that run instruction by instruction;
    /// `None` if this engine runs them itself.
    fn for_close_looks(&self) -> Option<&dyn Engine> {
        None
    }
}

/// The task of an executor.
#[derive(Clone, Copy)]
pub struct Task<'a> {
    /// Registers of the waves.
    pub counts: RegisterCounts,
    /// Lifts code.
    pub source: &'a dyn BlockSource,
    /// Whether to count how often each block is entered, and active lanes.
    pub counting: bool,
    /// Accesses that are faults although the chip does not report them.
    pub strict: Strict,
    /// The events to report of watched waves; `None` if the waves are not watched.
    pub interests: Option<&'a Interests>,
    /// What is known of waves that [follow their start](Wave::follows_start).
    pub starts: Option<&'a dyn Starts>,
}

/// How waves start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// Guest address of the first instruction.
    pub pc: u64,
    /// The context under which its block is lifted.
    pub context: u32,
    /// The generation of the code.
    pub generation: u64,
    /// The registers that waves have.
    pub wave: WaveFacts,
    /// What the registers can be. All lanes are active.
    pub entry: Entry,
}

/// Says how waves start, when somebody asks for it.
pub trait Starts: Sync {
    /// It is the same each time.
    fn start(&self) -> &Start;

    /// [`Start::generation`], which may be known sooner.
    fn generation(&self) -> u64 {
        self.start().generation
    }
}

impl Starts for Start {
    fn start(&self) -> &Start {
        self
    }
}

impl fmt::Debug for Task<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Task { counts, counting, strict, interests, .. } = self;
        let mut s = f.debug_struct("Task");
        s.field("counts", counts).field("counting", counting).field("strict", strict);
        s.field("interests", interests).finish_non_exhaustive()
    }
}

/// Runs waves on one host thread.
pub trait Executor {
    /// Runs a wave until it stops or has started `budget` guest instructions: at least one, and at
    /// least up to the end of the block. `events` receives the events of the wave if the executor
    /// is for watched waves. For a guest instruction that another engine began, changes are
    /// reported since the [hand-over](Inside).
    ///
    /// # Panics
    /// If the registers of the wave do not match the task, or if `events` is missing in an executor
    /// for watched waves.
    fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        events: Option<&mut Events<'_>>,
    ) -> WaveExit;

    /// Out-of-range accesses of all waves that it has run.
    fn out_of_range(&self) -> OutOfRange;

    /// Number of blocks that it has compiled.
    fn blocks(&self) -> usize;

    /// Entry counts of each block, in several parts if it was compiled several times; empty unless
    /// the task requests counts.
    fn block_counts(&self) -> Vec<BlockCount>;
}
