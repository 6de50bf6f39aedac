//! What is run, how, and what comes of it.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crate::code::{BlockCount, BlockSource};
use crate::control::RunControl;
use crate::fault::{Fault, Strict};
use crate::memory::MemoryMap;
use crate::observe::Findings;
use crate::out_of_range::OutOfRange;
use crate::registers::{RegisterCounts, Registers};
use crate::stall::Spin;

/// Puts waves into their initial state.
pub trait WaveInit: Sync {
    /// Number of work-items of a workgroup; partial groups at the edge of a grid have fewer.
    fn work_items(&self, workgroup: [u32; 3]) -> u32;
    /// Sets the initial registers of a wave; everything is zero but the mask of active lanes. `slot` numbers the resident waves, for
    /// scratch memory.
    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers);
    /// Cells that a program may leave unwritten, beside all rows: they get the value of [`RunOptions::poison`].
    fn unwritten(&self) -> Vec<wavemill_ir::Uni> {
        Vec::new()
    }
    /// Guest address and bytes of the private memory of the wave in that slot. What an earlier wave left there is wiped
    /// before the next one starts; other memory stays as it is. Slots lie in ascending order, with nothing
    /// else between the first and the last one.
    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        let _ = slot;
        None
    }
}

/// Answers what waves ask of the host while the grid runs.
///
/// It is asked between the turns of waves, on the thread that runs them, and does its work within the call. So nobody
/// but waves and [`Host::poll`] changes memory, and a grid that is stuck can still be found out.
pub trait Host: Sync {
    /// Does what there is to do; whether that was anything. Several threads may call at once, and it is called often:
    /// where nothing waits it must cost next to nothing.
    fn poll(&self) -> bool;
}

/// A grid to run.
#[derive(Clone, Copy)]
pub struct Grid<'a> {
    /// Guest memory.
    pub map: &'a MemoryMap,
    /// Lifts code.
    pub source: &'a dyn BlockSource,
    /// Initial state of waves.
    pub init: &'a dyn WaveInit,
    /// Workgroups in each dimension.
    pub workgroups: [u32; 3],
    /// Waves of a full workgroup.
    pub waves_per_group: u32,
    /// Registers of a wave.
    pub registers: RegisterCounts,
    /// Bytes of LDS that a workgroup asks for.
    pub lds_size: u32,
    /// It gets a multiple of so many bytes; 0 and 1: what it asks for.
    pub lds_granule: u32,
    /// Bytes of private memory of a lane.
    pub scratch_size: u32,
    /// Guest address of the first instruction.
    pub entry: u64,
    /// Initial context of waves, for the source of blocks.
    pub context: u32,
    /// Workgroups that are resident at once, at least 1.
    pub resident: u32,
}

impl std::fmt::Debug for Grid<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Grid({:?} workgroups of {} waves, entry {:#x})",
            self.workgroups, self.waves_per_group, self.entry
        )
    }
}

/// How to run it.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Host threads; `None`: as many as the host has cores. No more than 1024, nor than the grid has workgroups or the
    /// host can start.
    pub threads: Option<NonZeroUsize>,
    /// Guest instructions of all waves together after which the run is stopped.
    pub max_instructions: Option<u64>,
    /// Count how often each block is entered, and with how many active lanes ([`RunStats::block_counts`]); costs a little
    /// time. Instructions that waves run while somebody looks whether the grid is stuck ([`RunOptions::find_stalls`]) are
    /// missing in the counts of blocks.
    pub count_blocks: bool,
    /// Make a block of each guest instruction, which is slow and must not change anything: a check on the engine.
    pub single_steps: bool,
    /// Clocks count instructions, and workgroups run on one thread in a fixed order.
    pub deterministic: bool,
    /// What unwritten registers, LDS and private memory hold; `None`: zeros.
    pub poison: Option<u32>,
    /// A grid whose waves only wait for memory that none of them will change ends with [`RunError::Stalled`]. Only for
    /// grids that are alone: the waves may as well wait for what another launch or a host thread is about to write.
    pub find_stalls: bool,
    /// Lets others stop the run and see how far it is.
    pub control: Option<Arc<RunControl>>,
    /// What is a fault although the chip says nothing.
    pub strict: Strict,
    /// Where the findings of observers go; without it, they are lost but for the one that ends the run.
    pub findings: Option<Arc<Findings>>,
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RunStats {
    /// Guest instructions of all waves.
    pub instructions: u64,
    /// Workgroups that ran to their end.
    pub workgroups: u64,
    /// Waves that ran to their end.
    pub waves: u64,
    /// Host threads that took part.
    pub threads: usize,
    /// Blocks made ready to run by the thread that did so with most.
    pub blocks: usize,
    /// Accesses that left LDS or the range of a buffer resource.
    pub out_of_range: OutOfRange,
    /// How often each block was entered, sorted by address; empty unless the options asked for it.
    pub block_counts: Vec<BlockCount>,
}

/// A wave that had not ended when a run was stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LiveWave {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of the barrier that it waits at, or of its next instruction.
    pub pc: u64,
    /// Whether it waits at a barrier.
    pub at_barrier: bool,
    /// Whether it was found out if it spins: not of waves at barriers, only if the options ask to find stalls, and of a run
    /// that was stopped until that has cost some millions of instructions.
    pub looked_at: bool,
    /// The loop that it cannot leave while no other wave writes memory, if one was found.
    pub spins: Option<Spin>,
}

impl LiveWave {
    pub(super) fn order(&self) -> (u32, u32, u32, u32) {
        let [x, y, z] = self.workgroup;
        (z, y, x, self.wave)
    }
}

/// Why a run did not finish.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum RunError {
    /// A guest fault. If several workgroups fault, that of the first one in linear order is reported, whatever the number
    /// of threads: when one has faulted, those behind it stop, and those before it run on for up to 16 million instructions each.
    Fault(Box<Fault>),
    /// The instruction limit was reached.
    InstructionLimit {
        /// The limit.
        limit: u64,
        /// Instructions that ran: waves are stopped between blocks, so that these may be more.
        ran: u64,
        /// Resident waves at that moment.
        live: Vec<LiveWave>,
        /// Workgroups that had not started.
        not_started: u64,
    },
    /// [`RunControl::stop`] was called.
    Stopped {
        /// Instructions that ran.
        ran: u64,
        /// Resident waves at that moment.
        live: Vec<LiveWave>,
        /// Workgroups that had not started.
        not_started: u64,
    },
    /// All waves wait, at barriers or in loops that look at memory which none of them will change: the grid can never
    /// finish. Never reported for a grid that would.
    Stalled {
        /// The resident waves: each waits at a barrier, or spins.
        waves: Vec<LiveWave>,
        /// Workgroups that could not start because no resident one ended.
        not_started: u64,
    },
}
