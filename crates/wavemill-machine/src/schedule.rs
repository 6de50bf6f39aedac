//! Runs a grid: workgroups on host threads, the waves of a workgroup in turns.
//!
//! Forward progress: a wave runs for a slice of guest instructions, then the next wave of its
//! workgroup runs. A workgroup runs for a quantum, then the next resident one runs. The launch sets
//! the number of resident workgroups. All waves of a workgroup run on one host thread at a time.
//! Workgroups that only poll memory have turns that are just long enough to detect it.
//!
//! Workgroups start in linear order, except when a thread has claimed several to run one after the
//! other. As soon as one of them does not end within its quantum, the thread gives back those that
//! have not started, and the lowest ones start first. So a workgroup that waits for lower ones
//! never blocks their slots for ever: each slot that becomes free goes to the lowest workgroup that
//! has not started.

mod dirty;
mod grid;
mod group;
mod needed;
mod policy;
mod starts;
mod stuck;
mod traps;
mod waiting;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};

pub use grid::{Grid, Host, LiveWave, RunError, RunOptions, RunStats, Traps, WaveInit};

use crate::code::{BlockCount, BlockSource};
use crate::control::{Attendant, RunControl};
use crate::engine::{Engine, Executor, Lds, Starts, Surroundings, Task};
use crate::export::WaveExports;
use crate::fault::{Fault, Strict};
use crate::host_floats::HostFloats;
use crate::observe::{Events, Findings, Interests, Observer, Reporter, SingleSteps};
use crate::out_of_range::OutOfRange;
use dirty::Dirty;
use group::{Group, State, Watch};
use needed::{BEGUN_BEFORE, Needed, WORTH_WAVES};
use policy::{Became, Goes, Next, Pace, Policy, SLICE, Standing, TURN};
use starts::StartsOf;
use traps::handled;
use waiting::Looker;

/// Most host threads of a run: each uses memory, and more threads would only wait for each other.
pub const MAX_THREADS: usize = 1024;
/// Cost of the first turns, as long as one thread runs: others start soon if a workgroup is long.
const FIRST_TURN: u64 = 1 << 12;
/// Estimated cost of other workgroups that is worth starting threads, which takes some ten microseconds for each.
const WORTH_THREADS: u64 = 1 << 14;
/// Recorded exports after which no more are kept.
const MOST_EXPORTS: usize = 1 << 16;

/// The state of a workgroup after a quantum.
enum Outcome {
    Done,
    Again,
    Fault(Box<Fault>),
}

/// Data that threads write often, separate from data that all of them read: a write to a cache line
/// invalidates it for other threads. Processors fetch lines in pairs.
#[repr(align(128))]
struct Apart<T>(T);

struct Shared {
    policy: Policy<Group>,
    /// Registers and LDS of workgroups that have ended, for reuse.
    idle: Vec<Group>,
    /// Threads that wait for a workgroup, or for the others to end. Waking is a system call even if
    /// no thread waits.
    waiting: usize,
    /// Started threads that have not ended. The thread that starts the run is not one of them.
    others: usize,
    /// The fault of the lowest faulted workgroup.
    fault: Option<Box<Fault>>,
    stalled: Option<Vec<LiveWave>>,
    /// Workgroups that the end of the run left unfinished.
    unfinished: Vec<Group>,
    stats: RunStats,
}

struct Run<'a> {
    grid: &'a Grid<'a>,
    threads: usize,
    shared: Apart<Mutex<Shared>>,
    wake: Condvar,
    /// The number of releases of waits when waiting threads were last told of one.
    heard: Apart<AtomicU64>,
    stop: AtomicBool,
    /// Number of the lowest faulted workgroup, `u64::MAX` if there is none.
    faulted: AtomicU64,
    /// Instructions left until the limit.
    left: Apart<AtomicI64>,
    limit: Option<u64>,
    control: Option<&'a RunControl>,
    /// What the thread that started the run has to do from time to time.
    attendant: Option<Attendant<'a>>,
    deterministic: bool,
    /// Private memory of all resident waves: first address and end.
    private: (u64, u64),
    dirty: Dirty,
    poison: Option<u32>,
    /// The registers that waves need at their start, when that has been worked out; `None` if they get all.
    needed: Option<OnceLock<Needed>>,
    /// How waves start; `None` if programs get control elsewhere.
    starts: Option<StartsOf<'a>>,
    record_exports: bool,
    strict: Strict,
    /// Whether to check if waves of a stopped run spin.
    detect_stalls: bool,
    /// The handling of faults by the program itself.
    traps: Option<&'a dyn Traps>,
    count_blocks: bool,
    engine: &'a dyn Engine,
    observer: Option<(&'a dyn Observer, &'a Interests)>,
    host: Option<&'a dyn Host>,
    findings: Arc<Findings>,
}

/// Runs the grid with an engine.
///
/// # Errors
/// [`RunError`] if a wave faults or the instruction limit is reached; memory then holds what was written until then.
pub fn run(grid: &Grid<'_>, engine: &dyn Engine, options: &RunOptions) -> Result<RunStats, RunError> {
    run_with(grid, engine, options, None, None)
}

/// Runs the grid with an optional observer and an optional host that answers its waves.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    grid: &Grid<'_>,
    engine: &dyn Engine,
    options: &RunOptions,
    observer: Option<&dyn Observer>,
    host: Option<&dyn Host>,
) -> Result<RunStats, RunError> {
    if options.single_steps {
        let source = SingleSteps(grid.source);
        let engine = closely(engine);
        run_grid(&Grid { source: &source, ..*grid }, engine, options, observer, host)
    } else {
        run_grid(grid, engine, options, observer, host)
    }
}

/// Cores that this process may use. The host reads files to answer, which takes longer than a small grid.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| std::thread::available_parallelism().map_or(1, NonZeroUsize::get))
}

/// The engine for watched waves and for single steps.
fn closely(engine: &dyn Engine) -> &dyn Engine {
    engine.for_close_looks().unwrap_or(engine)
}

/// Adds counts to others that are sorted by address.
fn add_counts(all: &mut Vec<BlockCount>, more: Vec<BlockCount>) {
    for count in more {
        match all.binary_search_by_key(&(count.pc, count.context), |b| (b.pc, b.context)) {
            Ok(at) => all[at].add(&count),
            Err(at) => all.insert(at, count),
        }
    }
}

/// The private memory of all resident waves.
fn private_memory(grid: &Grid<'_>, resident: u32) -> (u64, u64) {
    let last = resident.saturating_mul(grid.waves_per_group).saturating_sub(1);
    match (grid.init.scratch(0), grid.init.scratch(last)) {
        (Some((start, _)), Some((address, size))) => (start, address.saturating_add(size)),
        _ => (0, 0),
    }
}

fn run_grid(
    grid: &Grid<'_>,
    engine: &dyn Engine,
    options: &RunOptions,
    observer: Option<&dyn Observer>,
    host: Option<&dyn Host>,
) -> Result<RunStats, RunError> {
    // Threads that the run starts inherit it.
    let _floats = HostFloats::set();
    let interests = observer.map(Observer::interests).unwrap_or_default();
    let total = grid.workgroups.iter().map(|n| u64::from(*n)).product::<u64>();
    let cores = cores();
    let threads = if options.deterministic { 1 } else { options.threads.map_or(cores, NonZeroUsize::get) };
    let threads = threads.min(MAX_THREADS).min(usize::try_from(total).unwrap_or(usize::MAX)).max(1);
    let resident = grid.resident.max(1);
    let traps = grid.init.traps();
    let find_stalls = options.find_stalls && traps.is_none();
    // Observers see all registers, and so do handlers of faults.
    let shows_registers = observer.is_some() || traps.is_some() || options.poison.is_some();
    let is_worth_it = !shows_registers && total * u64::from(grid.waves_per_group) >= WORTH_WAVES;
    grid.map.share().begin();
    let run = Run {
        grid,
        threads,
        shared: Apart(Mutex::new(Shared {
            policy: Policy::new(total, resident, find_stalls),
            idle: Vec::new(),
            waiting: 0,
            others: 0,
            fault: None,
            stalled: None,
            unfinished: Vec::new(),
            stats: RunStats {
                instructions: 0,
                workgroups: 0,
                waves: 0,
                threads: 1,
                blocks: 0,
                out_of_range: OutOfRange::default(),
                block_counts: Vec::new(),
                stepped_counts: Vec::new(),
                exports: Vec::new(),
                exported: 0,
            },
        })),
        wake: Condvar::new(),
        heard: Apart(AtomicU64::new(grid.map.share().releases())),
        stop: AtomicBool::new(false),
        faulted: AtomicU64::new(u64::MAX),
        left: Apart(AtomicI64::new(
            options.max_instructions.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX)),
        )),
        limit: options.max_instructions,
        control: options.control.as_deref(),
        attendant: options.control.as_deref().and_then(Attendant::of),
        deterministic: options.deterministic,
        private: private_memory(grid, resident),
        dirty: Dirty::new(match grid.init.scratch(0) {
            Some(_) => {
                u64::from(resident.min(u32::try_from(total).unwrap_or(u32::MAX)))
                    * u64::from(grid.waves_per_group)
            }
            None => 0,
        }),
        poison: options.poison,
        needed: is_worth_it.then(OnceLock::new),
        starts: traps.is_none().then(|| StartsOf::new(grid)),
        record_exports: options.record_exports,
        strict: options.strict,
        detect_stalls: find_stalls,
        traps,
        count_blocks: options.count_blocks,
        engine,
        observer: observer.map(|observer| (observer, &interests)),
        host,
        findings: options.findings.clone().unwrap_or_default(),
    };
    if threads == 1 {
        run.work(None);
    } else {
        std::thread::scope(|s| {
            let start = || {
                // If the host cannot start more threads, the grid runs with those that there are.
                let other = || {
                    let _ended = Other(&run);
                    run.work(None);
                };
                let spawn = |_: &usize| {
                    run.lock().others += 1;
                    let spawned = std::thread::Builder::new().spawn_scoped(s, other).is_ok();
                    if !spawned {
                        run.lock().others -= 1;
                    }
                    spawned
                };
                let started = 1 + (1..threads).take_while(spawn).count();
                run.lock().stats.threads = started;
            };
            if options.threads.is_some() {
                start();
                run.work(None);
            } else {
                run.work(Some(&start));
            }
            run.wait_for_others();
        });
    }
    let mut unfinished = std::mem::take(&mut run.lock().unfinished);
    let live = run.live(&mut unfinished);
    let stopped = run.is_stopped();
    let control = run.control;
    let mut shared = run.shared.0.into_inner().unwrap_or_else(|e| e.into_inner());
    shared.stats.exports.sort_by_key(WaveExports::order);
    if let Some(control) = control {
        control.ended(shared.stats.out_of_range);
    }
    if let Some(fault) = shared.fault {
        return Err(RunError::Fault(fault));
    }
    let not_started = shared.policy.not_started();
    if let Some(mut waves) = shared.stalled {
        waves.sort_by_key(LiveWave::order);
        return Err(RunError::Stalled { waves, not_started });
    }
    if shared.stats.workgroups == total {
        return Ok(shared.stats);
    }
    let ran = shared.stats.instructions;
    match run.limit {
        Some(limit) if !stopped => Err(RunError::InstructionLimit { limit, ran, live, not_started }),
        _ => Err(RunError::Stopped { ran, live, not_started }),
    }
}

/// Ends the run for all threads if one of them panics, for example in an observer or a host of the
/// embedder. The others would wait for its workgroup for ever.
struct EndOnPanic<'r, 'a>(&'r Run<'a>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Relaxed);
            // Taking the lock ensures that no thread is between its check of the flag and its wait.
            drop(self.0.lock());
            self.0.wake.notify_all();
        }
    }
}

/// A thread that the run has started; dropping it reports its end.
struct Other<'r, 'a>(&'r Run<'a>);

impl Drop for Other<'_, '_> {
    fn drop(&mut self) {
        let mut shared = self.0.lock();
        shared.others -= 1;
        if shared.others == 0 {
            self.0.wake(&shared);
        }
    }
}

impl Run<'_> {
    /// Waits until the threads that the run has started have ended, if the run must attend to
    /// something meanwhile.
    fn wait_for_others(&self) {
        if self.attendant.is_some() {
            let mut shared = self.lock();
            while shared.others > 0 {
                shared = self.wait(shared);
            }
        }
    }

    /// Runs workgroups until there are none left. `start` starts the other threads, which takes longer
    /// than a small grid: this thread calls it when there is work for them.
    fn work(&self, mut start: Option<&dyn Fn()>) {
        let starts = self.starts.as_ref().map(|starts| starts as &dyn Starts);
        let task = Task { counting: self.count_blocks, starts, ..self.task(self.grid.source) };
        let mut executor = self.engine.executor(task);
        let mut watch = self.observer.map(|(observer, interests)| Watch {
            executor: closely(self.engine).executor(Task { interests: Some(interests), ..task }),
            events: {
                let reporter = Reporter::new(self.findings.clone());
                Events::new(observer.watcher(reporter.clone()), reporter)
            },
            interests,
        });
        let steps = SingleSteps(self.grid.source);
        let mut looker = Looker::new(&steps);
        let mut retired = 0;
        let mut pace = Pace::UNKNOWN;
        let _ending = EndOnPanic(self);
        let mut shared = self.lock();
        while let Some((mut standing, mut group)) = self.take(shared, watch.as_mut(), &pace) {
            let mut claim = 0;
            let most = if start.is_some() { FIRST_TURN } else { u64::MAX };
            let (outcome, cost) = loop {
                let before = group.retired();
                let watch = watch.as_mut();
                let (outcome, cost) =
                    self.turn(&mut *executor, &mut looker, watch, &mut standing, &mut group, most);
                retired += group.retired() - before;
                claim += cost;
                if !matches!(outcome, Outcome::Done) {
                    break (outcome, cost);
                }
                group.count_ended(self);
                if !(Pace::allows_another(claim) && standing.follow(|linear| self.is_wanted(linear))) {
                    break (outcome, cost);
                }
                self.start(&mut group, &standing);
            };
            // A look at a waiting workgroup does not show the cost of workgroups.
            if !standing.waits() {
                pace.saw(standing.ran(), claim);
            }
            shared = self.lock();
            // No other thread intervenes before the next workgroup, so it finds the registers and
            // private memory of the previous one in this thread's cache.
            self.give_back(&mut shared, standing, group, outcome, cost);
            if let Some(start_others) = start
                && shared.policy.left_for_others(&pace) >= WORTH_THREADS
            {
                drop(shared);
                start_others();
                start = None;
                shared = self.lock();
            }
        }
        let mut shared = self.lock();
        shared.stats.instructions += retired;
        let executors =
            || [Some(&executor), watch.as_ref().map(|watch| &watch.executor)].into_iter().flatten();
        for executor in executors() {
            add_counts(&mut shared.stats.block_counts, executor.block_counts());
        }
        for executor in executors() {
            shared.stats.out_of_range += executor.out_of_range();
        }
        shared.stats.out_of_range += looker.out_of_range();
        let blocks = executors().map(|executor| executor.blocks()).sum();
        shared.stats.blocks = shared.stats.blocks.max(blocks);
    }

    /// The task of executors for unwatched waves.
    fn task<'s>(&self, source: &'s dyn BlockSource) -> Task<'s> {
        Task {
            counts: self.grid.registers,
            source,
            counting: false,
            strict: self.strict,
            interests: None,
            starts: None,
        }
    }

    /// An executor that runs waves instruction by instruction.
    fn stepper<'s>(
        &self,
        steps: &'s SingleSteps<'s>,
        interests: Option<&'s Interests>,
    ) -> Box<dyn Executor + 's> {
        closely(self.engine).executor(Task { interests, counting: self.count_blocks, ..self.task(steps) })
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether a stop was requested.
    fn is_stopped(&self) -> bool {
        if let Some(attendant) = &self.attendant {
            attendant.attend();
        }
        self.control.is_some_and(RunControl::is_stopped)
    }

    /// Whether the run is over: a stop was requested, or this many more instructions reach the
    /// limit.
    fn is_over(&self, ran: u64) -> bool {
        let ran = ran as i64;
        self.limit.is_some() && self.left.0.fetch_sub(ran, Relaxed) - ran <= 0 || self.is_stopped()
    }

    /// Whether the workgroup with this number is still needed: those after a faulted one are not.
    fn is_wanted(&self, linear: u64) -> bool {
        linear < self.faulted.load(Relaxed) && !self.stop.load(Relaxed)
    }

    /// The registers that a wave needs at its start, on a thread that has begun so many; `None` for all.
    fn needed(&self, begun: u32) -> Option<&Needed> {
        let needed = self.needed.as_ref().filter(|_| begun > BEGUN_BEFORE)?;
        Some(needed.get_or_init(|| Needed::of(self.grid))).filter(|needed| needed.holds(self.grid))
    }

    /// Starts a workgroup in the registers and LDS of the previous one.
    fn start(&self, group: &mut Group, standing: &Standing) {
        group.start(self, standing.linear(), standing.slot());
        if let Some((observer, _)) = self.observer {
            group.ask(observer);
        }
    }

    /// The next workgroup to run. `None` when there is nothing left to do.
    fn take<'s>(
        &'s self,
        mut shared: MutexGuard<'s, Shared>,
        mut watch: Option<&mut Watch<'_>>,
        pace: &Pace,
    ) -> Option<(Standing, Group)> {
        loop {
            if self.stop.load(Relaxed) {
                self.wake(&shared);
                return None;
            }
            match shared.policy.next(pace, self.threads, self.releases()) {
                Next::Start { standing } => {
                    self.wake_for_more(&mut shared);
                    let recycled = shared.idle.pop();
                    drop(shared);
                    let mut group = recycled.unwrap_or_else(|| Group::new(self.grid));
                    self.start(&mut group, &standing);
                    return Some((standing, group));
                }
                Next::Resume { standing, group, in_vain, others_compute } => {
                    self.wake_for_more(&mut shared);
                    drop(shared);
                    // They wait for another thread, which may need this processor. Where none computes,
                    // they may wait for ever. On a busy host, yields would put off the check for that.
                    let yields = others_compute || self.threads > cores() || !self.detect_stalls;
                    if in_vain && yields {
                        std::thread::yield_now();
                    }
                    return Some((standing, group));
                }
                Next::Look => {
                    self.look(&mut shared, watch.as_deref_mut());
                    self.wake(&shared);
                }
                Next::Wait => shared = self.wait(shared),
                Next::Nothing => {
                    self.wake(&shared);
                    return None;
                }
            }
        }
    }

    /// Takes back a workgroup after a turn with this cost.
    fn give_back(
        &self,
        shared: &mut Shared,
        standing: Standing,
        mut group: Group,
        outcome: Outcome,
        cost: u64,
    ) {
        let ended = std::mem::take(&mut group.ended);
        if ended.workgroups > 0
            && let Some(control) = self.control
        {
            control.workgroups_ended(ended.workgroups);
        }
        shared.stats.workgroups += ended.workgroups;
        shared.stats.waves += ended.waves;
        shared.stats.exported += ended.exported;
        let recorded: usize = shared.stats.exports.iter().map(|wave| wave.exports.len()).sum();
        if recorded < MOST_EXPORTS {
            shared.stats.exports.extend(ended.exports);
        }
        let (became, fault) = match outcome {
            Outcome::Done => (Became::Done, None),
            Outcome::Again => (Became::Again, None),
            Outcome::Fault(fault) => (Became::Fault, Some(fault)),
        };
        match shared.policy.give_back(standing, group, became, cost, self.stop.load(Relaxed)) {
            Goes::Ended(group) => shared.idle.push(group),
            Goes::Unfinished(group) => shared.unfinished.push(group),
            Goes::Faulted => self.note_fault(shared, fault),
            Goes::Queued | Goes::Dropped => {}
        }
        if self.stop.load(Relaxed) {
            let waiting = shared.policy.take_queue();
            shared.unfinished.extend(waiting);
        }
    }

    /// Records the fault of the lowest faulted workgroup.
    fn note_fault(&self, shared: &mut Shared, fault: Option<Box<Fault>>) {
        self.faulted.store(shared.policy.faulted(), Relaxed);
        shared.fault = fault;
    }

    /// Waits until there may be something to do.
    fn wait<'s>(&'s self, mut shared: MutexGuard<'s, Shared>) -> MutexGuard<'s, Shared> {
        shared.waiting += 1;
        let mut shared = match self.attendant.as_ref().filter(|attendant| attendant.is_here()) {
            None => self.wake.wait(shared).unwrap_or_else(|e| e.into_inner()),
            Some(attendant) => {
                let (shared, _) =
                    self.wake.wait_timeout(shared, attendant.interval()).unwrap_or_else(|e| e.into_inner());
                // The other threads go on meanwhile.
                drop(shared);
                attendant.attend();
                self.lock()
            }
        };
        shared.waiting -= 1;
        shared
    }

    /// Wakes waiting threads.
    fn wake(&self, shared: &Shared) {
        if shared.waiting > 0 {
            self.wake.notify_all();
        }
    }

    /// Wakes waiting threads if there is more than this thread has just taken.
    fn wake_for_more(&self, shared: &mut Shared) {
        if shared.waiting > 0 && shared.policy.has_more(self.releases()) {
            self.wake.notify_all();
        }
    }

    /// The number of times that waits for waves of other workgroups may have ended.
    fn releases(&self) -> u64 {
        self.grid.map.share().releases()
    }

    /// Wakes waiting threads if a wave has ended waits of others: they run beside it.
    fn pass_on_releases(&self) {
        let releases = self.releases();
        if releases != self.heard.0.load(Relaxed) {
            self.heard.0.store(releases, Relaxed);
            self.wake_for_more(&mut self.lock());
        }
    }

    /// The surroundings of the waves of a workgroup with this LDS.
    fn around<'s>(&'s self, lds: &'s Lds) -> Surroundings<'s> {
        Surroundings {
            map: self.grid.map,
            lds,
            scratch_size: self.grid.scratch_size,
            private: self.private,
            deterministic: self.deterministic,
        }
    }

    /// Runs a workgroup until it ends, or for this cost if others may wait. Also returns the cost.
    fn quantum(
        &self,
        executor: &mut dyn Executor,
        mut watch: Option<&mut Watch<'_>>,
        group: &mut Group,
        linear: u64,
        length: u64,
    ) -> (Outcome, u64) {
        let most = SLICE.min(length);
        let mut cost = 0;
        loop {
            group.release_held();
            let (mut ran, mut yields) = (false, true);
            for n in 0..group.waves.len() {
                if !group.is_ready(self, n) {
                    continue;
                }
                ran = true;
                let watched = group.events(n, watch.as_deref_mut());
                let around = self.around(&group.lds);
                let wave = &mut group.waves[n];
                let before = wave.retired;
                let steps = self.traps.is_some_and(|traps| traps.steps(wave.context));
                let slice = if steps { 1 } else { most.min(self.left.0.load(Relaxed).max(1) as u64) };
                let exit = match watched {
                    // The watcher may have ended the run at the start event of the wave.
                    Some(watch) => match watch.events.end_of_run(wave.pc) {
                        Some(end) => end,
                        None => watch.executor.run(wave, around, slice, Some(&mut watch.events)),
                    },
                    None => executor.run(wave, around, slice, None),
                };
                debug_assert!(wave.inside.is_none(), "an engine left a wave inside of a block");
                self.pass_on_releases();
                let exit = match self.traps {
                    Some(traps) => handled(traps, wave, exit, steps),
                    None => exit,
                };
                cost += wave.retired - before + TURN;
                if let Some(host) = self.host {
                    host.poll();
                }
                let over = self.is_over(wave.retired - before);
                match group.settle(self, n, exit, watch.as_deref_mut()) {
                    Ok(yielded) => yields &= yielded,
                    Err(fault) => return (Outcome::Fault(fault), cost),
                }
                if over {
                    self.stop.store(true, Relaxed);
                }
                let unwanted = self.stop.load(Relaxed) || linear > self.faulted.load(Relaxed);
                if unwanted && group.states.iter().any(|s| *s != State::Ended) {
                    return (Outcome::Again, cost);
                }
            }
            if group.states.iter().all(|s| *s == State::Ended) {
                return (Outcome::Done, cost);
            }
            if group.is_held() && !group.release_held() {
                if self.is_over(0) {
                    self.stop.store(true, Relaxed);
                }
                return (Outcome::Again, cost.max(TURN));
            }
            // Ended waves do not delay a barrier (Vega ISA 12.5).
            if group.is_at_barrier() {
                for s in group.states.iter_mut().filter(|s| **s == State::Waiting) {
                    *s = State::Ready;
                }
                if let Some(watch) = watch.as_deref_mut() {
                    watch.released(group);
                    if let Some(fault) = group.found(self, watch) {
                        return (Outcome::Fault(fault), cost);
                    }
                }
            }
            if ran && yields || cost >= length {
                return (Outcome::Again, cost);
            }
        }
    }
}
