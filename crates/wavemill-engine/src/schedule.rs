//! Runs a grid: workgroups on host threads, waves of a workgroup in turns.
//!
//! Forward progress: a wave runs for a slice of guest instructions, then the next wave of its workgroup does; a
//! workgroup runs for a quantum, then the next resident one does. Workgroups start in linear order; as many are
//! resident as the launch says. All waves of a workgroup run on one host thread at a time.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex};

use crate::fault::{Fault, WaveSnapshot};
use crate::interp::{BlockCount, BlockSource, Interpreter, Surroundings, Tier, Wave, WaveExit, set_exec};
use crate::memory::MemoryMap;
use crate::observe::{Observer, SingleSteps, Step};
use crate::regs::{RegisterCounts, Registers};

/// Guest instructions that a wave runs before the next one of its workgroup does.
const SLICE: u64 = 1 << 14;
/// Slices that a workgroup runs before the next resident one does, if others wait.
const QUANTUM: u32 = 8;

/// Puts waves into their initial state.
pub trait WaveInit: Sync {
    /// Number of work-items of a workgroup; partial groups at the edge of a grid have fewer.
    fn work_items(&self, workgroup: [u32; 3]) -> u32;
    /// Sets the initial registers of a wave; everything is zero but EXEC. `slot` numbers the resident waves, for
    /// scratch memory.
    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers);
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
    /// Bytes of LDS of a workgroup.
    pub lds_size: u32,
    /// Bytes of private memory of a lane.
    pub scratch_size: u32,
    /// Guest address of the first instruction.
    pub entry: u64,
    /// Initial value of MODE.
    pub mode: u32,
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
    /// Host threads; `None`: as many as the host has cores.
    pub threads: Option<NonZeroUsize>,
    /// Vector hardware to use; `None`: the best of the host.
    pub tier: Option<Tier>,
    /// Guest instructions of all waves together after which the run is stopped.
    pub max_instructions: Option<u64>,
    /// Count how often each block is entered ([`RunStats::block_counts`]); costs a little time.
    pub count_blocks: bool,
    /// Clocks count instructions, and workgroups run on one thread in a fixed order.
    pub deterministic: bool,
}

/// What a run did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunStats {
    /// Guest instructions of all waves.
    pub instructions: u64,
    /// Workgroups that ran to their end.
    pub workgroups: u64,
    /// Waves that ran to their end.
    pub waves: u64,
    /// Host threads that took part.
    pub threads: usize,
    /// Vector hardware that was used.
    pub tier: Tier,
    /// Blocks compiled by the thread that compiled most.
    pub blocks: usize,
    /// How often each block was entered, sorted by address; empty unless the options asked for it.
    pub block_counts: Vec<BlockCount>,
}

/// A wave that had not ended when a run was stopped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LiveWave {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of its next instruction.
    pub pc: u64,
    /// Whether it waits at a barrier (the address is behind it).
    pub at_barrier: bool,
}

/// Why a run did not finish.
#[derive(Clone, PartialEq, Debug)]
pub enum RunError {
    /// A guest fault. If several waves fault at once, that of the first workgroup is reported.
    Fault(Box<Fault>),
    /// The instruction limit was reached.
    InstructionLimit {
        /// The limit.
        limit: u64,
        /// Resident waves at that moment.
        live: Vec<LiveWave>,
    },
}

struct Lds {
    ptr: *mut u8,
    size: usize,
}

// SAFETY: the block belongs to the value alone.
unsafe impl Send for Lds {}

impl Lds {
    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size + 64, 64).expect("LDS is small")
    }

    fn new(size: u32) -> Self {
        let size = size as usize;
        // SAFETY: the layout is not empty.
        let ptr = unsafe { alloc_zeroed(Self::layout(size)) };
        if ptr.is_null() {
            handle_alloc_error(Self::layout(size));
        }
        Lds { ptr, size }
    }

    fn clear(&mut self) {
        // SAFETY: the block is ours.
        unsafe { self.ptr.write_bytes(0, self.size) };
    }
}

impl Drop for Lds {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout.
        unsafe { dealloc(self.ptr, Self::layout(self.size)) };
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Ready,
    Waiting,
    Ended,
}

struct Group {
    id: [u32; 3],
    linear: u64,
    slot: u32,
    waves: Vec<Wave>,
    states: Vec<State>,
    lds: Lds,
}

impl Group {
    fn new(grid: &Grid<'_>) -> Self {
        Group {
            id: [0; 3],
            linear: 0,
            slot: 0,
            waves: Vec::new(),
            states: Vec::new(),
            lds: Lds::new(grid.lds_size),
        }
    }

    fn start(&mut self, grid: &Grid<'_>, linear: u64, slot: u32) {
        let [nx, ny, _] = grid.workgroups.map(u64::from);
        self.id = [(linear % nx) as u32, (linear / nx % ny) as u32, (linear / nx / ny) as u32];
        self.linear = linear;
        self.slot = slot;
        self.lds.clear();
        let items = grid.init.work_items(self.id);
        let waves = items.div_ceil(64) as usize;
        self.waves.truncate(waves);
        for w in &mut self.waves {
            w.regs.clear();
        }
        while self.waves.len() < waves {
            let regs = Registers::new(grid.registers);
            self.waves.push(Wave { regs, pc: 0, mode: 0, trapsts: 0, retired: 0, hw_id: 0 });
        }
        self.states.clear();
        self.states.resize(waves, State::Ready);
        for (n, w) in self.waves.iter_mut().enumerate() {
            let n = n as u32;
            w.pc = grid.entry;
            w.mode = grid.mode;
            w.trapsts = 0;
            w.retired = 0;
            let slot = slot * grid.waves_per_group + n;
            w.hw_id = slot & 0xf;
            set_exec(&mut w.regs, items - 64 * n);
            grid.init.init(self.id, n, slot, &mut w.regs);
        }
    }

    fn live(&self) -> impl Iterator<Item = LiveWave> + '_ {
        self.waves.iter().zip(&self.states).enumerate().filter(|(_, (_, s))| **s != State::Ended).map(
            |(n, (w, s))| LiveWave {
                workgroup: self.id,
                wave: n as u32,
                pc: w.pc,
                at_barrier: *s == State::Waiting,
            },
        )
    }
}

/// What became of a workgroup after a quantum.
enum Outcome {
    Done,
    Again,
    Fault(Box<Fault>),
}

struct Shared {
    next: u64,
    queue: VecDeque<Group>,
    idle: Vec<Group>,
    slots: Vec<u32>,
    running: usize,
    fault: Option<(u64, Box<Fault>)>,
    live: Vec<LiveWave>,
    stats: RunStats,
}

struct Run<'a> {
    grid: &'a Grid<'a>,
    total: u64,
    shared: Mutex<Shared>,
    wake: Condvar,
    stop: AtomicBool,
    /// Instructions left until the limit.
    left: AtomicI64,
    limit: Option<u64>,
    deterministic: bool,
    count_blocks: bool,
    tier: Tier,
    observer: Option<&'a dyn Observer>,
}

/// Runs the grid.
///
/// # Errors
/// [`RunError`] if a wave faults or the instruction limit is reached; memory then holds what was written until then.
pub fn run(grid: &Grid<'_>, options: &RunOptions) -> Result<RunStats, RunError> {
    run_with(grid, options, None)
}

/// Runs the grid while somebody watches: block by block of one instruction each.
///
/// # Errors
/// As [`run`].
pub fn run_observed(
    grid: &Grid<'_>,
    options: &RunOptions,
    observer: &dyn Observer,
) -> Result<RunStats, RunError> {
    let source = SingleSteps(grid.source);
    run_with(&Grid { source: &source, ..*grid }, options, Some(observer))
}

fn run_with(
    grid: &Grid<'_>,
    options: &RunOptions,
    observer: Option<&dyn Observer>,
) -> Result<RunStats, RunError> {
    let total = grid.workgroups.iter().map(|n| u64::from(*n)).product::<u64>();
    let tier = options.tier.filter(|t| t.is_available()).unwrap_or_else(Tier::detect);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if options.deterministic { 1 } else { options.threads.map_or(cores, NonZeroUsize::get) };
    let threads = threads.min(usize::try_from(total).unwrap_or(usize::MAX)).max(1);
    let resident = grid.resident.max(1);
    let run = Run {
        grid,
        total,
        shared: Mutex::new(Shared {
            next: 0,
            queue: VecDeque::new(),
            idle: Vec::new(),
            slots: (0..resident).rev().collect(),
            running: 0,
            fault: None,
            live: Vec::new(),
            stats: RunStats {
                instructions: 0,
                workgroups: 0,
                waves: 0,
                threads,
                tier,
                blocks: 0,
                block_counts: Vec::new(),
            },
        }),
        wake: Condvar::new(),
        stop: AtomicBool::new(false),
        left: AtomicI64::new(
            options.max_instructions.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX)),
        ),
        limit: options.max_instructions,
        deterministic: options.deterministic,
        count_blocks: options.count_blocks,
        tier,
        observer,
    };
    if threads == 1 {
        run.work();
    } else {
        std::thread::scope(|s| {
            for _ in 1..threads {
                s.spawn(|| run.work());
            }
            run.work();
        });
    }
    let shared = run.shared.into_inner().unwrap_or_else(|e| e.into_inner());
    if let Some((_, fault)) = shared.fault {
        return Err(RunError::Fault(fault));
    }
    match run.limit {
        Some(limit) if shared.stats.workgroups < total => {
            let mut live = shared.live;
            live.sort_by_key(|w| (w.workgroup[2], w.workgroup[1], w.workgroup[0], w.wave));
            Err(RunError::InstructionLimit { limit, live })
        }
        _ => Ok(shared.stats),
    }
}

impl Run<'_> {
    fn work(&self) {
        let mut interp =
            Interpreter::new(self.tier, self.grid.registers, self.grid.source, self.count_blocks);
        let mut retired = 0;
        while let Some(mut group) = self.take() {
            let before: u64 = group.waves.iter().map(|w| w.retired).sum();
            let outcome = self.quantum(&mut interp, &mut group);
            retired += group.waves.iter().map(|w| w.retired).sum::<u64>() - before;
            self.give_back(group, outcome);
        }
        let mut shared = self.lock();
        shared.stats.instructions += retired;
        for c in interp.block_counts() {
            let all = &mut shared.stats.block_counts;
            match all.binary_search_by_key(&(c.pc, c.mode), |b| (b.pc, b.mode)) {
                Ok(at) => all[at].entered += c.entered,
                Err(at) => all.insert(at, c),
            }
        }
        shared.stats.blocks = shared.stats.blocks.max(interp.block_count());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The next workgroup to run: a new one while there is room, else the one that has waited longest. `None` when
    /// there is nothing left to do.
    fn take(&self) -> Option<Group> {
        let mut shared = self.lock();
        loop {
            if self.stop.load(Relaxed) {
                return None;
            }
            if shared.next < self.total
                && let Some(slot) = shared.slots.pop()
            {
                let linear = shared.next;
                shared.next += 1;
                shared.running += 1;
                let recycled = shared.idle.pop();
                drop(shared);
                let mut group = recycled.unwrap_or_else(|| Group::new(self.grid));
                group.start(self.grid, linear, slot);
                return Some(group);
            }
            if let Some(group) = shared.queue.pop_front() {
                shared.running += 1;
                return Some(group);
            }
            if shared.running == 0 {
                self.wake.notify_all();
                return None;
            }
            shared = self.wake.wait(shared).unwrap_or_else(|e| e.into_inner());
        }
    }

    fn give_back(&self, group: Group, outcome: Outcome) {
        let mut shared = self.lock();
        shared.running -= 1;
        match outcome {
            Outcome::Done => {
                shared.stats.workgroups += 1;
                shared.stats.waves += group.waves.len() as u64;
                shared.slots.push(group.slot);
                shared.idle.push(group);
            }
            Outcome::Again if self.stop.load(Relaxed) => shared.live.extend(group.live()),
            Outcome::Again => shared.queue.push_back(group),
            Outcome::Fault(fault) => {
                self.stop.store(true, Relaxed);
                if shared.fault.as_ref().is_none_or(|(linear, _)| group.linear < *linear) {
                    shared.fault = Some((group.linear, fault));
                }
            }
        }
        if self.stop.load(Relaxed) {
            let waiting: Vec<LiveWave> = shared.queue.iter().flat_map(Group::live).collect();
            shared.queue.clear();
            shared.live.extend(waiting);
        }
        self.wake.notify_all();
    }

    /// Runs a workgroup until it ends, or for a quantum if others may wait.
    fn quantum(&self, interp: &mut Interpreter<'_>, group: &mut Group) -> Outcome {
        let around = Surroundings {
            map: self.grid.map,
            lds: group.lds.ptr,
            lds_size: self.grid.lds_size,
            scratch_size: self.grid.scratch_size,
            deterministic: self.deterministic,
        };
        for _ in 0..QUANTUM {
            let mut yields = true;
            for n in 0..group.waves.len() {
                if group.states[n] != State::Ready {
                    continue;
                }
                let observer = self.observer.filter(|o| o.watches(group.id, n as u32));
                let wave = &mut group.waves[n];
                let before = wave.retired;
                let exit = match observer {
                    Some(observer) => observe(observer, group.id, n as u32, interp, wave, around),
                    None => interp.run(wave, around, SLICE.min(self.left.load(Relaxed).max(1) as u64)),
                };
                let spent = (wave.retired - before) as i64;
                let over = self.limit.is_some() && self.left.fetch_sub(spent, Relaxed) - spent <= 0;
                match exit {
                    WaveExit::Preempted => yields = false,
                    WaveExit::Yield => {}
                    WaveExit::Barrier => {
                        yields = false;
                        group.states[n] = State::Waiting;
                    }
                    WaveExit::End => {
                        yields = false;
                        group.states[n] = State::Ended;
                    }
                    WaveExit::Fault { pc, cause } => {
                        let snapshot = Box::new(WaveSnapshot::take(&wave.regs, wave.mode));
                        return Outcome::Fault(Box::new(Fault {
                            pc,
                            workgroup: group.id,
                            wave: n as u32,
                            cause,
                            snapshot,
                        }));
                    }
                }
                if over {
                    self.stop.store(true, Relaxed);
                }
                if self.stop.load(Relaxed) && group.states.iter().any(|s| *s != State::Ended) {
                    return Outcome::Again;
                }
            }
            if group.states.iter().all(|s| *s == State::Ended) {
                return Outcome::Done;
            }
            // Ended waves do not hold up a barrier (Vega ISA 12.5, S_BARRIER).
            if group.states.iter().all(|s| *s != State::Ready) {
                for s in group.states.iter_mut().filter(|s| **s == State::Waiting) {
                    *s = State::Ready;
                }
            }
            if yields {
                break;
            }
        }
        Outcome::Again
    }
}

/// Runs one instruction of a watched wave.
fn observe(
    observer: &dyn Observer,
    workgroup: [u32; 3],
    number: u32,
    interp: &mut Interpreter<'_>,
    wave: &mut Wave,
    around: Surroundings<'_>,
) -> WaveExit {
    let pc = wave.pc;
    let before = WaveSnapshot::take(&wave.regs, wave.mode);
    let exit = interp.run(wave, around, 1);
    if !matches!(exit, WaveExit::Fault { .. }) {
        let after = WaveSnapshot::take(&wave.regs, wave.mode);
        observer.stepped(&Step { workgroup, wave: number, pc, before: &before, after: &after });
    }
    exit
}
