//! Input, options and results of a run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_ir::analysis::Entry;
use wavemill_ir::{FaultKind, Uni};

use crate::code::{BlockCount, BlockSource};
use crate::control::RunControl;
use crate::engine::Wave;
use crate::export::WaveExports;
use crate::fault::{Fault, FaultCause, Strict};
use crate::memory::MemoryMap;
use crate::observe::Findings;
use crate::out_of_range::OutOfRange;
use crate::registers::{RegisterCounts, Registers};
use crate::share::SyncWait;
use crate::stall::Spin;

/// Sets the initial state of waves.
pub trait WaveInit: Sync {
    /// Number of work-items of a workgroup; partial groups at the edge of a grid have fewer.
    fn work_items(&self, workgroup: [u32; 3]) -> u32;
    /// Sets the initial registers of a wave. All that its code can read is zero, except the mask of active lanes.
    /// `slot` is the number of the resident wave, for scratch memory.
    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers);
    /// The same in the registers of the wave with that number of the first workgroup, which has as many work-items: sets
    /// what differs.
    fn init_like_first(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        self.init(workgroup, wave, slot, regs);
    }
    /// Registers that few programs read. [`WaveInit::init`] leaves them to [`WaveInit::init_rare`].
    fn rare(&self) -> &[Uni] {
        &[]
    }
    /// Sets them, after [`WaveInit::init`], for waves whose code may read one.
    fn init_rare(&self, workgroup: [u32; 3], wave: u32, regs: &mut Registers) {
        let _ = (workgroup, wave, regs);
    }
    /// What registers can be at the start of waves whose lanes are all active, in workgroups with as many work-items as the
    /// first one. Registers that it does not name can be anything.
    fn shapes(&self) -> Entry {
        Entry::default()
    }
    /// The first bytes of LDS when a workgroup starts, as far as it has that much. Other bytes are
    /// zero, or the value of [`RunOptions::poison`].
    fn lds(&self) -> &[u8] {
        &[]
    }
    /// Cells besides all rows that a program may leave unwritten: they get the value of
    /// [`RunOptions::poison`].
    fn unwritten(&self) -> Vec<Uni> {
        Vec::new()
    }
    /// The handling of faults by the program itself, if there is any.
    fn traps(&self) -> Option<&dyn Traps> {
        None
    }
    /// Guest address and size in bytes of the private memory of the wave in that slot. It is wiped
    /// before the next wave starts; other memory is unchanged. Slots are in ascending order, with
    /// nothing else between the first and the last.
    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        let _ = slot;
        None
    }
}

/// Lets waves handle their own faults. The instruction family defines where a wave finds the
/// handler and what the handler finds.
///
/// The machine asks it whenever a wave stops. While a grid has such handling, it does not look for
/// waves that spin: a wave that seems to wait may be on its way to its handler.
pub trait Traps: Sync {
    /// Whether a wave with this context stops after its next instruction. Its blocks have one
    /// instruction each.
    fn steps(&self, context: u32) -> bool;

    /// Sends a wave to its handler that has stopped after such an instruction. It would continue at
    /// its [`Wave::pc`].
    fn stepped(&self, wave: &mut Wave);

    /// Whether a wave continues after a fault at the guest address `pc`. If so, this changes the
    /// wave's state so that it runs its handler.
    fn takes(&self, wave: &mut Wave, pc: u64, cause: &FaultCause) -> bool;

    /// The reason why a wave does not continue after its handler, if there is one.
    fn stops(&self, wave: &Wave) -> Option<FaultKind>;
}

/// Answers requests of waves to the host while the grid runs.
///
/// The machine calls it between the turns of waves, on the thread that runs them, and it finishes
/// its work within the call. Only waves and [`Host::poll`] change memory, so stalls of the grid can
/// still be found.
pub trait Host: Sync {
    /// Serves pending requests; returns whether there were any. Several threads may call at once
    /// and often: without requests, the cost must be negligible.
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
    /// Bytes of LDS that a workgroup requests.
    pub lds_size: u32,
    /// Allocation granule of LDS in bytes; 0 and 1 do not round.
    pub lds_granule: u32,
    /// Bytes of private memory of each lane.
    pub scratch_size: u32,
    /// Guest address of the first instruction.
    pub entry: u64,
    /// Initial context of waves, for the source of blocks.
    pub context: u32,
    /// Workgroups that are resident at once, at least 1.
    pub resident: u32,
}

impl Grid<'_> {
    /// The workgroup with that number in the order of launch.
    pub(super) fn workgroup(&self, linear: u64) -> [u32; 3] {
        let [nx, ny, _] = self.workgroups.map(u64::from);
        // Most grids have one dimension, and divisions are slow.
        if linear < nx {
            return [linear as u32, 0, 0];
        }
        [(linear % nx) as u32, (linear / nx % ny) as u32, (linear / nx / ny) as u32]
    }
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

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Host threads. At most 1024, the number of workgroups, or as many as the host can start.
    /// `None` for as many as the host has cores, or one if the grid is small.
    pub threads: Option<NonZeroUsize>,
    /// Guest instructions of all waves together after which the run stops.
    pub max_instructions: Option<u64>,
    /// Counts how often each block is entered, and with how many active lanes
    /// ([`RunStats::block_counts`], [`RunStats::stepped_counts`]); this costs a little time.
    pub count_blocks: bool,
    /// Makes a block of each guest instruction. It is slow and must not change results: it is a
    /// check on the engine.
    pub single_steps: bool,
    /// Clocks count instructions, and workgroups run on one thread in a fixed order.
    pub deterministic: bool,
    /// The value of unwritten registers, LDS and private memory; `None` for zeros.
    pub poison: Option<u32>,
    /// Ends a grid with [`RunError::Stalled`] if its waves only wait for memory that none of them
    /// will change. Only for grids that run alone: otherwise, the waves may wait for a write of
    /// another launch or a host thread.
    pub find_stalls: bool,
    /// Lets other threads stop the run and read its progress.
    pub control: Option<Arc<RunControl>>,
    /// Records what waves export to the graphics pipeline ([`RunStats::exports`]). Each export takes
    /// 256 bytes for each component.
    pub record_exports: bool,
    /// Additional faults for accesses that the chip does not report.
    pub strict: Strict,
    /// The destination of findings of observers. Without it, they are lost, except the one that
    /// ends the run.
    pub findings: Option<Arc<Findings>>,
}

/// Statistics of a run.
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
    /// Most blocks that a single thread compiled.
    pub blocks: usize,
    /// Accesses outside LDS or the range of a buffer resource.
    pub out_of_range: OutOfRange,
    /// Entry counts of each block, sorted by address; empty unless requested.
    pub block_counts: Vec<BlockCount>,
    /// Entry counts of what waves ran in checks for stalls ([`RunOptions::find_stalls`]), sorted by
    /// address; empty unless requested. Of each of these blocks, only the first guest instruction
    /// ran.
    pub stepped_counts: Vec<BlockCount>,
    /// Exports of the waves, in the order in which workgroups start; empty unless requested. At most
    /// 4,096 of a wave and about 65,536 of all waves are recorded.
    pub exports: Vec<WaveExports>,
    /// Number of all exports, recorded or not.
    pub exported: u64,
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
    /// Whether it was checked for spinning. Waves at barriers are not checked. Others are checked
    /// only if the options request stall detection, and after a stop only until the checks have
    /// cost some millions of instructions.
    pub looked_at: bool,
    /// The loop that it cannot leave while no other wave writes memory, if one was found.
    pub spins: Option<Spin>,
    /// What it waits for at the instruction at `pc`, if that is something of the whole device.
    pub waits_for: Option<SyncWait>,
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
    /// A guest fault. If several workgroups fault, the fault of the lowest one in linear order is
    /// reported, whatever the number of threads. When one has faulted, higher ones stop, and lower
    /// ones run on for up to 16 million instructions each.
    Fault(Box<Fault>),
    /// The instruction limit was reached.
    InstructionLimit {
        /// The limit.
        limit: u64,
        /// Instructions that ran. Waves stop between blocks, so these may be more than the limit.
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
    /// All waves wait, at barriers or in loops that read memory which none of them will change: the
    /// grid can never finish. Never reported for a grid that would finish.
    Stalled {
        /// The resident waves: each waits at a barrier, or spins.
        waves: Vec<LiveWave>,
        /// Workgroups that could not start because no resident one ended.
        not_started: u64,
    },
}
