//! Runs a grid: workgroups on host threads, waves of a workgroup in turns.
//!
//! Forward progress: a wave runs for a slice of guest instructions, then the next wave of its workgroup does; a
//! workgroup runs for a quantum, then the next resident one does. As many are resident as the launch says. All waves of a
//! workgroup run on one host thread at a time. Workgroups that do nothing but look at memory have turns that are just long
//! enough to see it.
//!
//! Workgroups start in linear order, but for those that a thread has claimed to run them one after the other: it gives
//! back those that have not started as soon as one of them does not end within its quantum, and the lowest ones start
//! first. So a workgroup that waits for those before it keeps no place from them for ever: the place of each that ends
//! goes to the lowest one that has not started.

mod grid;
mod group;
mod rounds;
mod stuck;
mod unstarted;
mod waiting;

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard};

pub use grid::{Grid, Host, LiveWave, RunError, RunOptions, RunStats, WaveInit};

use crate::control::RunControl;
use crate::fault::{Fault, Strict};
use crate::interp::{BlockSource, Interpreter, Surroundings, Tier};
use crate::observe::{Events, Interests, Observer, SingleSteps};
use crate::out_of_range::OutOfRange;
use group::{Group, State, Watch};
use rounds::{Rounds, Turn};
use unstarted::{Pace, Unstarted};
use waiting::Looker;

/// Guest instructions that a wave runs before the next one of its workgroup does.
const SLICE: u64 = 1 << 14;
/// What a workgroup may cost before the next resident one runs, if others wait: instructions and turns. Not a number of
/// turns: a workgroup that meets at many barriers would make room for new ones, and all of them together fit no cache.
const QUANTUM: u64 = 8 * SLICE;
/// Looks at workgroups that wait which cost about as much as a quantum.
const LOOKS: usize = 16;
/// Instructions that a workgroup may still run when one with a higher number has faulted: it may fault too, and the
/// fault of the lowest one is reported. It may as well wait for the faulted one for ever.
const GRACE: u64 = 1 << 24;
/// Instructions without a workgroup that ends, after which it is looked whether the grid is stuck; then after twice as
/// many, and so on.
const SUSPICIOUS: u64 = 1 << 24;
/// What waiting for faults of lower workgroups may cost altogether: they may be many.
const ALL_GRACE: u64 = 1 << 27;
/// Host threads that a run has at most: each costs memory, and more of them than this only wait for each other.
pub const MAX_THREADS: usize = 1024;
/// What a turn of a wave counts beside its instructions where turns are limited: waves that yield run few.
const TURN: u64 = 256;

/// What became of a workgroup after a quantum.
enum Outcome {
    Done,
    Again,
    Fault(Box<Fault>),
}

/// What threads write to often, apart from what all of them read: a cache line that one of them writes to is lost to the
/// others. Processors fetch lines in pairs.
#[repr(align(128))]
struct Apart<T>(T);

struct Shared {
    unstarted: Unstarted,
    rounds: Rounds,
    /// Workgroups that have begun and wait for their turns.
    queue: VecDeque<Group>,
    /// Looks at workgroups that still waited, since one has got on.
    vain: usize,
    idle: Vec<Group>,
    slots: Vec<u32>,
    /// Slots below this one have been used.
    used_slots: u32,
    running: usize,
    /// Threads that wait for a workgroup. Waking is a system call even if nobody waits.
    waiting: usize,
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

impl Shared {
    /// Whether a workgroup has another turn right away: those of many others that only wait for it cost more than one of
    /// its own.
    fn goes_on(&self, group: &mut Group) -> bool {
        let several = self.queue.len() / LOOKS;
        let goes_on = !group.waits && group.streak < several && self.queue.iter().all(|other| other.waits);
        group.streak = if goes_on { group.streak + 1 } else { 0 };
        goes_on
    }
}

struct Run<'a> {
    grid: &'a Grid<'a>,
    threads: usize,
    shared: Apart<Mutex<Shared>>,
    wake: Condvar,
    stop: AtomicBool,
    /// Number of the first workgroup that has faulted, `u64::MAX` if none has.
    faulted: AtomicU64,
    /// Instructions left until the limit.
    left: Apart<AtomicI64>,
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
        threads,
        shared: Apart(Mutex::new(Shared {
            unstarted: Unstarted::new(total),
            rounds: Rounds::default(),
            queue: VecDeque::new(),
            vain: 0,
            idle: Vec::new(),
            slots: (0..resident).rev().collect(),
            used_slots: 0,
            running: 0,
            waiting: 0,
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
                out_of_range: OutOfRange::default(),
                block_counts: Vec::new(),
            },
        })),
        wake: Condvar::new(),
        stop: AtomicBool::new(false),
        faulted: AtomicU64::new(u64::MAX),
        left: Apart(AtomicI64::new(
            options.max_instructions.map_or(i64::MAX, |n| i64::try_from(n).unwrap_or(i64::MAX)),
        )),
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
    let control = run.control;
    let shared = run.shared.0.into_inner().unwrap_or_else(|e| e.into_inner());
    if let Some(control) = control {
        control.ended(shared.stats.out_of_range);
    }
    if let Some(fault) = shared.fault {
        return Err(RunError::Fault(fault));
    }
    let not_started = shared.unstarted.count();
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

/// Ends the run for all threads if one of them panics (an observer or a host of the embedder's may): the others would
/// wait for its workgroup for ever.
struct EndOnPanic<'r, 'a>(&'r Run<'a>);

impl Drop for EndOnPanic<'_, '_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.stop.store(true, Relaxed);
            // Nobody is between looking at the flag and waiting now.
            drop(self.0.lock());
            self.0.wake.notify_all();
        }
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
        let steps = SingleSteps(self.grid.source);
        let mut looker = Looker::new(&steps);
        let mut retired = 0;
        let mut pace = Pace::UNKNOWN;
        let _ending = EndOnPanic(self);
        let mut shared = self.lock();
        while let Some(mut group) = self.take(shared, watch.as_mut(), &pace) {
            let mut claim = 0;
            let (outcome, cost) = loop {
                let before = group.retired();
                let (outcome, cost) = self.turn(&mut interp, &mut looker, watch.as_mut(), &mut group);
                retired += group.retired() - before;
                claim += cost;
                if !(matches!(outcome, Outcome::Done) && Pace::allows_another(claim) && self.next(&mut group))
                {
                    break (outcome, cost);
                }
            };
            // A look at one that waits says nothing of what workgroups cost.
            if !group.waits {
                pace.saw(group.before.workgroups + 1, claim);
            }
            shared = self.lock();
            // Nobody else comes between this and the next one, which finds the registers and private memory of the
            // one that ended in this thread's cache.
            self.give_back(&mut shared, group, outcome, cost);
        }
        let mut shared = self.lock();
        shared.stats.instructions += retired;
        let watched = watch.as_ref().map(|watch| &watch.interp);
        for c in interp.block_counts().chain(watched.into_iter().flat_map(Interpreter::block_counts)) {
            let all = &mut shared.stats.block_counts;
            match all.binary_search_by_key(&(c.pc, c.context), |b| (b.pc, b.context)) {
                Ok(at) => all[at].add(&c),
                Err(at) => all.insert(at, c),
            }
        }
        let watched_lanes = watched.map(Interpreter::out_of_range).unwrap_or_default();
        for out_of_range in [interp.out_of_range(), watched_lanes, looker.out_of_range()] {
            shared.stats.out_of_range += out_of_range;
        }
        let blocks = interp.block_count() + watched.map_or(0, Interpreter::block_count);
        shared.stats.blocks = shared.stats.blocks.max(blocks);
    }

    fn interpreter<'s>(&self, source: &'s dyn BlockSource, counting: bool) -> Interpreter<'s> {
        Interpreter::new(self.tier, self.grid.registers, source, counting).strict(self.strict)
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Whether somebody outside has ended the run.
    fn is_stopped(&self) -> bool {
        self.control.is_some_and(RunControl::is_stopped)
    }

    /// Whether the run is over, as somebody outside has ended it, or the limit is reached with so many more instructions.
    fn is_over(&self, ran: u64) -> bool {
        let ran = ran as i64;
        self.limit.is_some() && self.left.0.fetch_sub(ran, Relaxed) - ran <= 0 || self.is_stopped()
    }

    /// Whether the workgroup with that number is still wanted: none behind one that has faulted is.
    fn is_wanted(&self, linear: u64) -> bool {
        linear < self.faulted.load(Relaxed) && !self.stop.load(Relaxed)
    }

    /// Whether another workgroup may start.
    fn may_start(&self, shared: &Shared) -> bool {
        let first = shared.unstarted.first();
        !shared.slots.is_empty() && shared.grace > 0 && first.is_some_and(|first| self.is_wanted(first))
    }

    /// Starts a workgroup in the place of the one that was there before.
    fn start(&self, group: &mut Group, linear: u64, slot: u32, fresh: bool) {
        group.start(self.grid, linear, slot, fresh, self.poison);
        if let Some((observer, _)) = self.observer {
            group.ask(observer);
        }
    }

    /// Starts the next workgroup that was claimed together with one that has ended. Whether there is one.
    fn next(&self, group: &mut Group) -> bool {
        if !group.claimed.clone().next().is_some_and(|linear| self.is_wanted(linear)) {
            return false;
        }
        let Some(linear) = group.claimed.next() else { return false };
        group.before.workgroups += 1;
        group.before.waves += group.waves.len() as u64;
        self.start(group, linear, group.slot, false);
        true
    }

    /// The next workgroup to run. `None` when there is nothing left to do.
    fn take<'s>(
        &'s self,
        mut shared: MutexGuard<'s, Shared>,
        mut watch: Option<&mut Watch<'_>>,
        pace: &Pace,
    ) -> Option<Group> {
        loop {
            if self.stop.load(Relaxed) {
                return None;
            }
            if shared.look {
                if shared.running == 0 {
                    self.look(&mut shared, watch.as_deref_mut());
                    self.wake(&shared);
                } else {
                    shared = self.wait(shared);
                }
                continue;
            }
            let more = pace.more(shared.unstarted.count(), self.threads);
            let may_start = self.may_start(&shared);
            let waiting = shared.queue.len();
            let vain = shared.vain >= waiting;
            let turn = shared.rounds.next(waiting, may_start, vain);
            if turn == Some(Turn::New)
                && let Some((linear, claimed)) = shared.unstarted.claim(more)
                && let Some(slot) = shared.slots.pop()
            {
                shared.running += 1;
                let recycled = shared.idle.pop();
                let fresh = slot >= shared.used_slots;
                shared.used_slots = shared.used_slots.max(slot + 1);
                drop(shared);
                let mut group = recycled.unwrap_or_else(|| Group::new(self.grid));
                self.start(&mut group, linear, slot, fresh);
                group.claimed = claimed;
                return Some(group);
            }
            if let Some(mut group) = shared.queue.pop_front() {
                shared.running += 1;
                if shared.vain > waiting + shared.running && !may_start {
                    // All of them only wait.
                    group.alone = shared.running == 1;
                    drop(shared);
                    // They wait for another thread, which may not have a processor.
                    std::thread::yield_now();
                }
                return Some(group);
            }
            if shared.running == 0 {
                self.wake(&shared);
                return None;
            }
            shared = self.wait(shared);
        }
    }

    /// Takes back a workgroup after a quantum that cost so much.
    fn give_back(&self, shared: &mut Shared, mut group: Group, outcome: Outcome, cost: u64) {
        shared.running -= 1;
        let mut ended = std::mem::take(&mut group.before);
        if let Outcome::Done = outcome {
            ended.workgroups += 1;
            ended.waves += group.waves.len() as u64;
        }
        if ended.workgroups > 0 {
            if let Some(control) = self.control {
                control.workgroups_ended(ended.workgroups);
            }
            shared.rounds.ended();
            shared.stats.workgroups += ended.workgroups;
            shared.stats.waves += ended.waves;
            (shared.fruitless, shared.suspicious, shared.look) = (0, SUSPICIOUS, false);
        }
        shared.vain = if group.waits && !group.got_on { shared.vain.saturating_add(1) } else { 0 };
        if !group.claimed.is_empty() {
            shared.unstarted.give_back(std::mem::take(&mut group.claimed));
            // There may be more to do than it seemed.
            shared.look = false;
        }
        match outcome {
            Outcome::Done => {
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
                    if shared.goes_on(&mut group) {
                        shared.queue.push_front(group);
                    } else {
                        shared.queue.push_back(group);
                    }
                } else {
                    shared.slots.push(group.slot);
                }
                shared.fruitless += cost;
                shared.look |=
                    self.detect_stalls && shared.fruitless >= shared.suspicious && !self.may_start(shared);
            }
            Outcome::Fault(fault) => {
                shared.slots.push(group.slot);
                self.faulted(shared, group.linear, fault);
            }
        }
        if self.stop.load(Relaxed) {
            let waiting = std::mem::take(&mut shared.queue);
            shared.unfinished.extend(waiting);
        }
        self.wake(shared);
    }

    /// Lets others go on until there may be something to do.
    fn wait<'s>(&self, mut shared: MutexGuard<'s, Shared>) -> MutexGuard<'s, Shared> {
        shared.waiting += 1;
        let mut shared = self.wake.wait(shared).unwrap_or_else(|e| e.into_inner());
        shared.waiting -= 1;
        shared
    }

    /// Wakes those that wait.
    fn wake(&self, shared: &Shared) {
        if shared.waiting > 0 {
            self.wake.notify_all();
        }
    }

    /// Notes a fault of the workgroup with that number.
    fn faulted(&self, shared: &mut Shared, linear: u64, fault: Box<Fault>) {
        if linear < self.faulted.fetch_min(linear, Relaxed) {
            let Shared { queue, slots, .. } = shared;
            queue.retain(|other| {
                let wanted = other.linear < linear;
                if !wanted {
                    slots.push(other.slot);
                }
                wanted
            });
            shared.fault = Some(fault);
        }
    }

    fn around(&self, group: &Group) -> Surroundings<'_> {
        Surroundings {
            map: self.grid.map,
            lds: group.lds.ptr,
            lds_size: group.lds.asked,
            lds_allocated: group.lds.size as u32,
            scratch_size: self.grid.scratch_size,
            private: self.private,
            deterministic: self.deterministic,
        }
    }

    /// Runs a workgroup until it ends, or for so long if others may wait. Also says what it cost.
    fn quantum(
        &self,
        interp: &mut Interpreter<'_>,
        mut watch: Option<&mut Watch<'_>>,
        group: &mut Group,
        length: u64,
    ) -> (Outcome, u64) {
        let mut cost = 0;
        let around = self.around(group);
        loop {
            let (mut ran, mut yields) = (false, true);
            for n in 0..group.waves.len() {
                if group.states[n] != State::Ready {
                    continue;
                }
                ran = true;
                let watched = group.events(n, watch.as_deref_mut());
                let wave = &mut group.waves[n];
                let before = wave.retired;
                let slice = SLICE.min(self.left.0.load(Relaxed).max(1) as u64);
                let exit = match watched {
                    Some(watch) => watch.interp.run(wave, around, slice, Some(&mut watch.events)),
                    None => interp.run(wave, around, slice, None),
                };
                cost += wave.retired - before + TURN;
                if let Some(host) = self.host {
                    host.poll();
                }
                let over = self.is_over(wave.retired - before);
                match group.settle(n, exit, watch.as_deref_mut()) {
                    Ok(yielded) => yields &= yielded,
                    Err(fault) => return (Outcome::Fault(fault), cost),
                }
                if over {
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
            if ran && yields || cost >= length {
                return (Outcome::Again, cost);
            }
        }
    }
}
