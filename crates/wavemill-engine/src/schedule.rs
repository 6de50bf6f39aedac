//! Runs a grid: workgroups on host threads, waves of a workgroup in turns.
//!
//! Forward progress: a wave runs for a slice of guest instructions, then the next wave of its workgroup does; a
//! workgroup runs for a quantum, then the next resident one does. Workgroups start in linear order; as many are
//! resident as the launch says. All waves of a workgroup run on one host thread at a time.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};

use wavemill_ir::{LANES, Row, Uni};

use crate::control::RunControl;
use crate::fault::{Fault, FaultCause, Strict, WaveResources, WaveSnapshot};
use crate::interp::{BlockCount, BlockSource, Interpreter, Surroundings, Tier, Wave, WaveExit, set_exec};
use crate::memory::MemoryMap;
use crate::observe::{Events, Interests, Observer, SingleSteps, WaveId};
use crate::regs::{RegisterCounts, Registers};
use crate::stall::{Attempt, Spin, Verdict};

/// Guest instructions that a wave runs before the next one of its workgroup does.
const SLICE: u64 = 1 << 14;
/// What a workgroup may cost before the next resident one runs, if others wait: instructions and turns. Not a number of
/// turns: a workgroup that meets at many barriers would make room for new ones, and all of them together fit no cache.
const QUANTUM: u64 = 8 * SLICE;
/// Instructions that a workgroup may still run when one with a higher number has faulted: it may fault too, and the
/// fault of the lowest one is reported. It may as well wait for the faulted one for ever.
const GRACE: u64 = 1 << 24;
/// Instructions without a workgroup that ends, after which it is looked whether the grid is stuck; then after twice as
/// many, and so on.
const SUSPICIOUS: u64 = 1 << 24;
/// What waiting for faults of lower workgroups may cost altogether: they may be many.
const ALL_GRACE: u64 = 1 << 27;
/// The part of the run that looking may cost: one in so many instructions, for each core that waits meanwhile.
const LOOKING: u64 = 16;
/// Live waves of a stopped run of which it is found out whether they spin, and what that may cost for each: they move on
/// a little.
const EXPLAINED: usize = 32;
const EXPLAINING: u64 = 1 << 18;
/// Host threads that a run has at most: each costs memory, and more of them than this only wait for each other.
const MAX_THREADS: usize = 1024;
/// What a turn of a wave counts beside its instructions where turns are limited: waves that yield run few.
const TURN: u64 = 256;

/// Puts waves into their initial state.
pub trait WaveInit: Sync {
    /// Number of work-items of a workgroup; partial groups at the edge of a grid have fewer.
    fn work_items(&self, workgroup: [u32; 3]) -> u32;
    /// Sets the initial registers of a wave; everything is zero but EXEC. `slot` numbers the resident waves, for
    /// scratch memory.
    fn init(&self, workgroup: [u32; 3], wave: u32, slot: u32, regs: &mut Registers);
    /// Guest address and bytes of the private memory of the wave in that slot. What an earlier wave left there is wiped
    /// before the next one starts; memory that is not told of stays as it is. Slots lie in ascending order, with nothing
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
    /// Host threads; `None`: as many as the host has cores. No more than 1024, nor than the grid has workgroups or the
    /// host can start.
    pub threads: Option<NonZeroUsize>,
    /// Vector hardware to use; `None`: the best of the host.
    pub tier: Option<Tier>,
    /// Guest instructions of all waves together after which the run is stopped.
    pub max_instructions: Option<u64>,
    /// Count how often each block is entered, and with how many active lanes ([`RunStats::block_counts`]); costs a little
    /// time.
    pub count_blocks: bool,
    /// Make a block of each guest instruction, which is slow and must not change anything: a check on the engine.
    pub single_steps: bool,
    /// Clocks count instructions, and workgroups run on one thread in a fixed order.
    pub deterministic: bool,
    /// What unwritten SGPRs, VGPRs, AccVGPRs, LDS and private memory hold; `None`: zeros.
    pub poison: Option<u32>,
    /// A grid whose waves only wait for memory that none of them will change ends with [`RunError::Stalled`]. Only for
    /// grids that are alone: the waves may as well wait for what another launch or a host thread is about to write.
    pub find_stalls: bool,
    /// Lets others stop the run and see how far it is.
    pub control: Option<Arc<RunControl>>,
    /// What is a fault although the chip says nothing.
    pub strict: Strict,
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
    /// The loop that it cannot leave while no other wave writes memory; `None` if it waits at a barrier, or no such
    /// loop was found: of a run that was stopped only the first 32 waves are looked at, not for long, and if the options
    /// ask to find stalls.
    pub spins: Option<Spin>,
}

impl LiveWave {
    fn order(&self) -> (u32, u32, u32, u32) {
        let [x, y, z] = self.workgroup;
        (z, y, x, self.wave)
    }
}

/// Why a run did not finish.
#[derive(Clone, PartialEq, Debug)]
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

/// Fills what a program may leave unwritten: SGPRs, VCC and M0, VGPRs and AccVGPRs.
fn fill(regs: &mut Registers, word: u32) {
    for n in (0..=Uni::VCC.0 + 1).chain([Uni::M0.0]) {
        regs.set_uni(Uni(n), word);
    }
    let counts = regs.counts();
    for row in (0..counts.vgprs).map(Row::vgpr).chain((0..counts.accs).map(Row::acc)) {
        regs.set_row(row, &[word; LANES]);
    }
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

    /// Fills it with a word; zeros without one.
    fn clear(&mut self, poison: Option<u32>) {
        match poison {
            // SAFETY: the block is ours.
            None => unsafe { self.ptr.write_bytes(0, self.size) },
            Some(word) => {
                let words = self.ptr as *mut u32;
                for n in 0..self.size.div_ceil(4) {
                    // SAFETY: the block is ours, aligned, and longer than its size.
                    unsafe { words.add(n).write(word.to_le()) };
                }
            }
        }
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

/// Whether somebody watches a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Watched {
    No,
    /// Yes, and has not been told that it starts.
    New,
    Yes,
}

struct Group {
    id: [u32; 3],
    linear: u64,
    slot: u32,
    waves: Vec<Wave>,
    states: Vec<State>,
    /// Whether somebody watches each wave.
    watched: Vec<Watched>,
    lds: Lds,
    /// Bytes of private memory of each lane.
    private: u32,
    /// Instructions and turns that it may still run; set once a workgroup behind it has faulted.
    grace: Option<u64>,
}

/// Where and why a wave stopped, with what a report needs.
fn fault_of(group: &Group, n: usize, pc: u64, cause: FaultCause) -> Box<Fault> {
    let wave = &group.waves[n];
    let snapshot = Box::new(WaveSnapshot::take(&wave.regs, wave.mode));
    let resources = WaveResources {
        trapsts: wave.trapsts,
        hw_id: wave.hw_id,
        lds: group.lds.size as u32,
        private: group.private,
        waves: group.waves.len() as u32,
    };
    Box::new(Fault { pc, workgroup: group.id, wave: n as u32, cause, snapshot, resources })
}

impl Group {
    fn new(grid: &Grid<'_>) -> Self {
        Group {
            id: [0; 3],
            linear: 0,
            slot: 0,
            waves: Vec::new(),
            states: Vec::new(),
            watched: Vec::new(),
            lds: Lds::new(grid.lds_size),
            private: grid.scratch_size,
            grace: None,
        }
    }

    /// Makes it the workgroup with that number; `fresh` if no other was in the slot before.
    fn start(&mut self, grid: &Grid<'_>, linear: u64, slot: u32, fresh: bool, poison: Option<u32>) {
        let [nx, ny, _] = grid.workgroups.map(u64::from);
        self.id = [(linear % nx) as u32, (linear / nx % ny) as u32, (linear / nx / ny) as u32];
        self.linear = linear;
        self.slot = slot;
        self.grace = None;
        self.lds.clear(poison);
        let items = grid.init.work_items(self.id);
        let waves = items.div_ceil(64) as usize;
        self.waves.truncate(waves);
        for w in &mut self.waves {
            w.regs.clear();
        }
        while self.waves.len() < waves {
            self.waves.push(Wave::new(grid.registers));
        }
        self.states.clear();
        self.states.resize(waves, State::Ready);
        self.watched.clear();
        self.watched.resize(waves, Watched::No);
        for (n, w) in self.waves.iter_mut().enumerate() {
            let n = n as u32;
            w.pc = grid.entry;
            w.mode = grid.mode;
            w.trapsts = 0;
            w.retired = 0;
            w.from = None;
            let slot = slot * grid.waves_per_group + n;
            w.hw_id = slot & 0xf;
            let private = grid.init.scratch(slot);
            w.private = private.map_or((0, 0), |(address, size)| (address, address.saturating_add(size)));
            // Fresh memory holds zeros.
            if !(fresh && poison.is_none())
                && let Some((address, size)) = private
            {
                grid.map.wipe(address, size, poison.unwrap_or(0));
            }
            if let Some(word) = poison {
                fill(&mut w.regs, word);
            }
            set_exec(&mut w.regs, items - 64 * n);
            grid.init.init(self.id, n, slot, &mut w.regs);
        }
    }

    /// Asks the observer which waves it watches.
    fn ask(&mut self, observer: &dyn Observer) {
        for (wave, watched) in (0..).zip(&mut self.watched) {
            let watches = observer.watches(WaveId { workgroup: self.id, wave });
            *watched = if watches { Watched::New } else { Watched::No };
        }
    }

    /// Where the events of a wave go, if it is watched.
    fn events<'e, 'o>(&mut self, n: usize, watch: Option<&'e mut Watch<'o>>) -> Option<&'e mut Watch<'o>> {
        if self.watched[n] == Watched::No {
            return None;
        }
        let watch = watch?;
        watch.events.wave = WaveId { workgroup: self.id, wave: n as u32 };
        if self.watched[n] == Watched::New {
            self.watched[n] = Watched::Yes;
            watch.events.watcher.started(watch.events.wave, &self.waves[n].regs);
        }
        Some(watch)
    }

    /// Instructions that its waves have run.
    fn retired(&self) -> u64 {
        self.waves.iter().map(|w| w.retired).sum()
    }

    fn live_wave(&self, n: usize) -> LiveWave {
        LiveWave {
            workgroup: self.id,
            wave: n as u32,
            pc: self.waves[n].pc,
            at_barrier: self.states[n] == State::Waiting,
            spins: None,
        }
    }

    /// Notes why a wave stopped running. Whether it did so to let others run, or its fault.
    fn settle(
        &mut self,
        n: usize,
        exit: WaveExit,
        watch: Option<&mut Watch<'_>>,
    ) -> Result<bool, Box<Fault>> {
        match exit {
            WaveExit::Preempted => {}
            WaveExit::Yield => return Ok(true),
            WaveExit::Barrier => self.states[n] = State::Waiting,
            WaveExit::End => {
                self.states[n] = State::Ended;
                if let Some(watch) = self.events(n, watch) {
                    watch.events.watcher.ended(watch.events.wave);
                }
            }
            WaveExit::Fault { pc, cause } => return Err(fault_of(self, n, pc, cause)),
        }
        Ok(false)
    }
}

/// What became of a workgroup after a quantum.
enum Outcome {
    Done,
    Again,
    Fault(Box<Fault>),
}

/// What a host thread has for watched waves.
struct Watch<'a> {
    interp: Interpreter<'a>,
    events: Events<'a>,
    interests: &'a Interests,
}

impl Watch<'_> {
    /// Tells that a workgroup goes on behind a barrier, if a wave that does is watched.
    fn released(&mut self, group: &Group) {
        let mut waves = group.watched.iter().zip(&group.states);
        let watched = waves.any(|(watched, state)| *watched != Watched::No && *state != State::Ended);
        if self.interests.barriers && watched {
            self.events.watcher.released(group.id);
        }
    }
}

struct Shared {
    next: u64,
    queue: VecDeque<Group>,
    idle: Vec<Group>,
    slots: Vec<u32>,
    /// Slots below this one have been used.
    used_slots: u32,
    running: usize,
    fault: Option<Box<Fault>>,
    /// What quanta have cost since a workgroup ended, or since it was looked whether the grid is stuck.
    fruitless: u64,
    /// What waiting for faults of lower workgroups may still cost.
    grace: u64,
    /// How much of that is suspicious.
    suspicious: u64,
    /// Whether nobody may take a workgroup before it was looked whether the grid is stuck.
    look: bool,
    stalled: Option<Vec<LiveWave>>,
    /// Workgroups that the end of the run left unfinished.
    unfinished: Vec<Group>,
    stats: RunStats,
}

struct Run<'a> {
    grid: &'a Grid<'a>,
    total: u64,
    shared: Mutex<Shared>,
    wake: Condvar,
    stop: AtomicBool,
    /// Number of the first workgroup that has faulted, `u64::MAX` if none has.
    faulted: AtomicU64,
    /// Instructions left until the limit.
    left: AtomicI64,
    limit: Option<u64>,
    control: Option<&'a RunControl>,
    deterministic: bool,
    /// Private memory of all resident waves, from its first byte to behind the last one.
    private: (u64, u64),
    poison: Option<u32>,
    strict: Strict,
    /// Whether to look for grids that are stuck.
    detect_stalls: bool,
    count_blocks: bool,
    tier: Tier,
    observer: Option<(&'a dyn Observer, &'a Interests)>,
    host: Option<&'a dyn Host>,
}

/// Runs the grid.
///
/// # Errors
/// [`RunError`] if a wave faults or the instruction limit is reached; memory then holds what was written until then.
pub fn run(grid: &Grid<'_>, options: &RunOptions) -> Result<RunStats, RunError> {
    run_with(grid, options, None, None)
}

/// Runs the grid while somebody may watch, and a host may answer its waves.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    grid: &Grid<'_>,
    options: &RunOptions,
    observer: Option<&dyn Observer>,
    host: Option<&dyn Host>,
) -> Result<RunStats, RunError> {
    if options.single_steps {
        let source = SingleSteps(grid.source);
        run_grid(&Grid { source: &source, ..*grid }, options, observer, host)
    } else {
        run_grid(grid, options, observer, host)
    }
}

/// Where the private memory of all resident waves lies.
fn private_memory(grid: &Grid<'_>, resident: u32) -> (u64, u64) {
    let last = resident.saturating_mul(grid.waves_per_group).saturating_sub(1);
    match (grid.init.scratch(0), grid.init.scratch(last)) {
        (Some((start, _)), Some((address, size))) => (start, address.saturating_add(size)),
        _ => (0, 0),
    }
}

fn run_grid(
    grid: &Grid<'_>,
    options: &RunOptions,
    observer: Option<&dyn Observer>,
    host: Option<&dyn Host>,
) -> Result<RunStats, RunError> {
    let interests = observer.map(Observer::interests).unwrap_or_default();
    let total = grid.workgroups.iter().map(|n| u64::from(*n)).product::<u64>();
    let tier = options.tier.filter(|t| t.is_available()).unwrap_or_else(Tier::detect);
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let threads = if options.deterministic { 1 } else { options.threads.map_or(cores, NonZeroUsize::get) };
    let threads = threads.min(MAX_THREADS).min(usize::try_from(total).unwrap_or(usize::MAX)).max(1);
    let resident = grid.resident.max(1);
    let run = Run {
        grid,
        total,
        shared: Mutex::new(Shared {
            next: 0,
            queue: VecDeque::new(),
            idle: Vec::new(),
            slots: (0..resident).rev().collect(),
            used_slots: 0,
            running: 0,
            fault: None,
            fruitless: 0,
            grace: ALL_GRACE,
            suspicious: SUSPICIOUS,
            look: false,
            stalled: None,
            unfinished: Vec::new(),
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
        faulted: AtomicU64::new(u64::MAX),
        left: AtomicI64::new(
            options.max_instructions.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX)),
        ),
        limit: options.max_instructions,
        control: options.control.as_deref(),
        deterministic: options.deterministic,
        private: private_memory(grid, resident),
        poison: options.poison,
        strict: options.strict,
        detect_stalls: options.find_stalls,
        count_blocks: options.count_blocks,
        tier,
        observer: observer.map(|observer| (observer, &interests)),
        host,
    };
    if threads == 1 {
        run.work();
    } else {
        std::thread::scope(|s| {
            for started in 1..threads {
                // A host that has no more threads runs the grid with those that there are.
                if std::thread::Builder::new().spawn_scoped(s, || run.work()).is_err() {
                    run.lock().stats.threads = started;
                    break;
                }
            }
            run.work();
        });
    }
    let mut unfinished = std::mem::take(&mut run.lock().unfinished);
    let live = run.live(&mut unfinished);
    let stopped = run.is_stopped();
    let shared = run.shared.into_inner().unwrap_or_else(|e| e.into_inner());
    if let Some(fault) = shared.fault {
        return Err(RunError::Fault(fault));
    }
    if let Some(mut waves) = shared.stalled {
        waves.sort_by_key(LiveWave::order);
        return Err(RunError::Stalled { waves, not_started: total - shared.next });
    }
    if shared.stats.workgroups == total {
        return Ok(shared.stats);
    }
    let (ran, not_started) = (shared.stats.instructions, total - shared.next);
    match run.limit {
        Some(limit) if !stopped => Err(RunError::InstructionLimit { limit, ran, live, not_started }),
        _ => Err(RunError::Stopped { ran, live, not_started }),
    }
}

impl Run<'_> {
    fn work(&self) {
        let new = || self.interpreter(self.grid.source, self.count_blocks);
        let mut interp = new();
        let mut watch = self.observer.map(|(observer, interests)| Watch {
            interp: new().watching(interests),
            events: Events::new(observer.watcher()),
            interests,
        });
        let mut retired = 0;
        while let Some(mut group) = self.take(watch.as_mut()) {
            let before = group.retired();
            let (outcome, cost) = self.quantum(&mut interp, watch.as_mut(), &mut group);
            retired += group.retired() - before;
            self.give_back(group, outcome, cost);
        }
        let mut shared = self.lock();
        shared.stats.instructions += retired;
        let watched = watch.as_ref().map(|watch| &watch.interp);
        for c in interp.block_counts().chain(watched.into_iter().flat_map(Interpreter::block_counts)) {
            let all = &mut shared.stats.block_counts;
            match all.binary_search_by_key(&(c.pc, c.mode), |b| (b.pc, b.mode)) {
                Ok(at) => all[at].add(&c),
                Err(at) => all.insert(at, c),
            }
        }
        let blocks = interp.block_count() + watched.map_or(0, Interpreter::block_count);
        shared.stats.blocks = shared.stats.blocks.max(blocks);
    }

    fn interpreter<'s>(&self, source: &'s dyn BlockSource, counting: bool) -> Interpreter<'s> {
        Interpreter::new(self.tier, self.grid.registers, source, counting).strict(self.strict)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether somebody outside has ended the run.
    fn is_stopped(&self) -> bool {
        self.control.is_some_and(RunControl::is_stopped)
    }

    /// The waves of workgroups that will not go on, in order; of the first ones it is found out whether they spin.
    fn live(&self, groups: &mut [Group]) -> Vec<LiveWave> {
        groups.sort_by_key(|group| group.linear);
        let source = SingleSteps(self.grid.source);
        let mut live = Vec::new();
        for group in groups {
            let around = self.around(group);
            for n in 0..group.waves.len() {
                if group.states[n] == State::Ended {
                    continue;
                }
                let mut wave = group.live_wave(n);
                if self.detect_stalls && live.len() < EXPLAINED && !wave.at_barrier {
                    let interp = self.interpreter(&source, false);
                    let mut attempt = Attempt::new(interp, &source, self.grid.map, EXPLAINING, None);
                    // The run is over; nobody is told.
                    if let Verdict::Spins(spin) = attempt.wave(&mut group.waves[n], around, None) {
                        wave.spins = Some(spin);
                    }
                }
                live.push(wave);
            }
        }
        live.sort_by_key(LiveWave::order);
        live
    }

    /// The next workgroup to run: a new one while there is room, else the one that has waited longest. `None` when
    /// there is nothing left to do.
    fn take(&self, mut watch: Option<&mut Watch<'_>>) -> Option<Group> {
        let mut shared = self.lock();
        loop {
            if self.stop.load(Relaxed) {
                return None;
            }
            if shared.look {
                if shared.running == 0 {
                    self.look(&mut shared, watch.as_deref_mut());
                    self.wake.notify_all();
                } else {
                    shared = self.wake.wait(shared).unwrap_or_else(|e| e.into_inner());
                }
                continue;
            }
            if shared.fault.is_none()
                && shared.next < self.total
                && let Some(slot) = shared.slots.pop()
            {
                let linear = shared.next;
                shared.next += 1;
                shared.running += 1;
                let recycled = shared.idle.pop();
                let fresh = slot >= shared.used_slots;
                shared.used_slots = shared.used_slots.max(slot + 1);
                drop(shared);
                let mut group = recycled.unwrap_or_else(|| Group::new(self.grid));
                group.start(self.grid, linear, slot, fresh, self.poison);
                if let Some((observer, _)) = self.observer {
                    group.ask(observer);
                }
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

    /// Takes back a workgroup after a quantum that cost so much.
    fn give_back(&self, mut group: Group, outcome: Outcome, cost: u64) {
        let mut shared = self.lock();
        shared.running -= 1;
        match outcome {
            Outcome::Done => {
                if let Some(control) = self.control {
                    control.workgroup_ended();
                }
                shared.stats.workgroups += 1;
                shared.stats.waves += group.waves.len() as u64;
                (shared.fruitless, shared.suspicious, shared.look) = (0, SUSPICIOUS, false);
                shared.slots.push(group.slot);
                shared.idle.push(group);
            }
            Outcome::Again if self.stop.load(Relaxed) => shared.unfinished.push(group),
            Outcome::Again => {
                let faulted = self.faulted.load(Relaxed);
                if faulted < u64::MAX {
                    shared.grace = shared.grace.saturating_sub(cost);
                    group.grace = Some(group.grace.map_or(GRACE, |left| left.saturating_sub(cost)));
                }
                if group.linear < faulted && group.grace != Some(0) && shared.grace > 0 {
                    shared.queue.push_back(group);
                }
                shared.fruitless += cost;
                let full = shared.next == self.total || shared.slots.is_empty() || faulted < u64::MAX;
                shared.look |= self.detect_stalls && full && shared.fruitless >= shared.suspicious;
            }
            Outcome::Fault(fault) => self.faulted(&mut shared, group.linear, fault),
        }
        if self.stop.load(Relaxed) {
            let waiting = std::mem::take(&mut shared.queue);
            shared.unfinished.extend(waiting);
        }
        self.wake.notify_all();
    }

    /// Notes a fault of the workgroup with that number.
    fn faulted(&self, shared: &mut Shared, linear: u64, fault: Box<Fault>) {
        if linear < self.faulted.fetch_min(linear, Relaxed) {
            shared.queue.retain(|other| other.linear < linear);
            shared.fault = Some(fault);
        }
    }

    fn around(&self, group: &Group) -> Surroundings<'_> {
        Surroundings {
            map: self.grid.map,
            lds: group.lds.ptr,
            lds_size: self.grid.lds_size,
            scratch_size: self.grid.scratch_size,
            private: self.private,
            deterministic: self.deterministic,
        }
    }

    /// Looks whether the grid is stuck. Nobody runs waves meanwhile. Waves move on a little.
    fn look(&self, shared: &mut Shared, mut watch: Option<&mut Watch<'_>>) {
        shared.look = false;
        // Whatever was asked and has been answered, somebody will go on.
        if shared.queue.is_empty() || self.host.is_some_and(Host::poll) {
            return;
        }
        let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let waiting = shared.stats.threads.min(cores) as u64;
        let budget = std::mem::take(&mut shared.fruitless) / (LOOKING * waiting);
        shared.suspicious = shared.suspicious.saturating_mul(2);
        let source = SingleSteps(self.grid.source);
        let interp = self.interpreter(&source, false);
        let mut attempt = Attempt::new(interp, &source, self.grid.map, budget, self.control);
        if let Some((_, interests)) = self.observer {
            let interp = self.interpreter(&source, false);
            attempt = attempt.watching(interp.watching(interests));
        }
        let mut waves = Vec::new();
        let mut moved = None;
        let before: u64 = shared.queue.iter().map(Group::retired).sum();
        'groups: for (index, group) in shared.queue.iter_mut().enumerate() {
            let around = self.around(group);
            for n in 0..group.waves.len() {
                let spins = match group.states[n] {
                    State::Ended => continue,
                    State::Waiting => None,
                    State::Ready => {
                        let events = group.events(n, watch.as_deref_mut()).map(|watch| &mut watch.events);
                        match attempt.wave(&mut group.waves[n], around, events) {
                            Verdict::Spins(spin) => Some(spin),
                            Verdict::Unclear => {
                                moved = Some((index, None));
                                break 'groups;
                            }
                            Verdict::Exit(exit) => {
                                moved = Some((index, group.settle(n, exit, watch.as_deref_mut()).err()));
                                break 'groups;
                            }
                        }
                    }
                };
                waves.push(LiveWave { spins, ..group.live_wave(n) });
            }
            // The last wave has just come to the barrier, or ended.
            if group.states.iter().all(|s| *s != State::Ready) {
                moved = Some((index, None));
                break;
            }
        }
        let ran = shared.queue.iter().map(Group::retired).sum::<u64>() - before;
        shared.stats.instructions += ran;
        let ran = ran as i64;
        let over = self.limit.is_some() && self.left.fetch_sub(ran, Relaxed) - ran <= 0 || self.is_stopped();
        match moved {
            None => {
                shared.queue.clear();
                shared.stalled = Some(waves);
                self.stop.store(true, Relaxed);
            }
            Some((index, fault)) => {
                // The next attempt begins with this one.
                shared.queue.rotate_left(index);
                if let Some(fault) = fault
                    && let Some(group) = shared.queue.pop_front()
                {
                    self.faulted(shared, group.linear, fault);
                }
                if over {
                    self.stop.store(true, Relaxed);
                    let waiting = std::mem::take(&mut shared.queue);
                    shared.unfinished.extend(waiting);
                }
            }
        }
    }

    /// Runs a workgroup until it ends, or for a quantum if others may wait. Also says what it cost.
    fn quantum(
        &self,
        interp: &mut Interpreter<'_>,
        mut watch: Option<&mut Watch<'_>>,
        group: &mut Group,
    ) -> (Outcome, u64) {
        let mut cost = 0;
        let around = self.around(group);
        loop {
            let mut yields = true;
            for n in 0..group.waves.len() {
                if group.states[n] != State::Ready {
                    continue;
                }
                let watched = group.events(n, watch.as_deref_mut());
                let wave = &mut group.waves[n];
                let before = wave.retired;
                let slice = SLICE.min(self.left.load(Relaxed).max(1) as u64);
                let exit = match watched {
                    Some(watch) => watch.interp.run(wave, around, slice, Some(&mut watch.events)),
                    None => interp.run(wave, around, slice, None),
                };
                cost += wave.retired - before + TURN;
                if let Some(host) = self.host {
                    host.poll();
                }
                let spent = (wave.retired - before) as i64;
                let over = self.limit.is_some() && self.left.fetch_sub(spent, Relaxed) - spent <= 0;
                match group.settle(n, exit, watch.as_deref_mut()) {
                    Ok(yielded) => yields &= yielded,
                    Err(fault) => return (Outcome::Fault(fault), cost),
                }
                if over || self.is_stopped() {
                    self.stop.store(true, Relaxed);
                }
                let unwanted = self.stop.load(Relaxed) || group.linear > self.faulted.load(Relaxed);
                if unwanted && group.states.iter().any(|s| *s != State::Ended) {
                    return (Outcome::Again, cost);
                }
            }
            if group.states.iter().all(|s| *s == State::Ended) {
                return (Outcome::Done, cost);
            }
            // Ended waves do not hold up a barrier (Vega ISA 12.5, S_BARRIER).
            if group.states.iter().all(|s| *s != State::Ready) {
                for s in group.states.iter_mut().filter(|s| **s == State::Waiting) {
                    *s = State::Ready;
                }
                if let Some(watch) = watch.as_deref_mut() {
                    watch.released(group);
                }
            }
            if yields || cost >= QUANTUM {
                return (Outcome::Again, cost);
            }
        }
    }
}
