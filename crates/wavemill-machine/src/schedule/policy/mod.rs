//! The policy of the scheduler: which workgroup has the next turn, when new ones start, and when to
//! check whether the grid is stuck.
//!
//! It is a state machine without threads, memory or waves. A thread requests its next action
//! ([`Policy::next`]) and reports the result ([`Policy::give_back`]). A [`Turn`] decides the steps
//! of one workgroup in its turn.

mod rounds;
mod turn;
mod unstarted;

use std::collections::VecDeque;
use std::ops::Range;

pub(super) use turn::{Step, Stepped, Turn};
pub(super) use unstarted::Pace;

use rounds::{Rounds, Who};
use unstarted::Unstarted;

/// Guest instructions that a wave runs before the next wave of its workgroup.
pub(super) const SLICE: u64 = 1 << 14;
/// Cost of a workgroup, in instructions and turns, before the next resident one runs, if others
/// wait. It is not a number of turns: then, a workgroup with many barriers would let new ones
/// start, and together they would not fit into a cache.
const QUANTUM: u64 = 8 * SLICE;
/// Number of looks at waiting workgroups that cost about as much as a quantum.
const LOOKS: usize = 16;
/// Instructions that a workgroup may still run after one with a higher number has faulted. It may
/// fault, too, and the fault of the lowest one is reported. But it may also wait for the faulted
/// one for ever.
const GRACE: u64 = 1 << 24;
/// Instructions without the end of any workgroup after which to check whether the grid is stuck;
/// then twice as many, and so on.
const SUSPICIOUS: u64 = 1 << 24;
/// Total cost of waiting for faults of lower workgroups: they may be many.
const ALL_GRACE: u64 = 1 << 27;
/// Cost of a wave's turn besides its instructions, for limits of turns: waves that yield run few.
pub(super) const TURN: u64 = 256;

/// The policy's data about a workgroup that has started.
#[derive(Debug)]
pub(super) struct Standing {
    /// Its number.
    linear: u64,
    /// Its slot among the resident workgroups.
    slot: u32,
    /// The cost that is left to it; set once a higher workgroup has faulted.
    grace: Option<u64>,
    /// Quanta that it has used up.
    quanta: u32,
    /// The cost of its turns.
    cost: u64,
    /// Whether all of its runnable waves spin, if known.
    waits: bool,
    /// The number of releases at which all of its waves were held by other workgroups, if they are.
    held: Option<u64>,
    /// Whether it did more than wait in its last turn, if known.
    got_on: bool,
    /// Whether no other workgroup can end its waiting: then a look is no better than a turn.
    alone: bool,
    /// Whether its turn began without knowledge that it only waits.
    computes: bool,
    /// Number of consecutive turns that it had because all others only waited.
    streak: usize,
    /// Numbers of the workgroups that the same thread will run after it, in its slot.
    claimed: Range<u64>,
    /// Workgroups that have ended before it in its slot since the thread claimed them.
    before: u64,
}

impl Standing {
    fn new(linear: u64, slot: u32, claimed: Range<u64>) -> Standing {
        Standing {
            linear,
            slot,
            grace: None,
            quanta: 0,
            cost: 0,
            waits: false,
            held: None,
            got_on: false,
            alone: false,
            computes: true,
            streak: 0,
            claimed,
            before: 0,
        }
    }

    /// The number of the workgroup.
    pub(super) fn linear(&self) -> u64 {
        self.linear
    }

    /// Its slot among the resident workgroups.
    pub(super) fn slot(&self) -> u32 {
        self.slot
    }

    /// Whether all of its runnable waves spin, if known.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Number of workgroups that the thread has run in this slot, including this one.
    pub(super) fn ran(&self) -> u64 {
        self.before + 1
    }

    /// Moves on from an ended workgroup to the next one that was claimed with it. Returns whether
    /// there is one that is still needed.
    pub(super) fn follow(&mut self, is_wanted: impl Fn(u64) -> bool) -> bool {
        let next = self.claimed.start;
        if self.claimed.is_empty() || !is_wanted(next) {
            return false;
        }
        let claimed = next + 1..self.claimed.end;
        let (before, computes) = (self.before + 1, self.computes);
        *self = Standing { before, computes, ..Standing::new(next, self.slot, claimed) };
        true
    }
}

/// The next action of a thread.
#[derive(Debug)]
pub(super) enum Next<G> {
    /// It starts the workgroup.
    Start {
        /// The workgroup.
        standing: Standing,
    },
    /// It gives the workgroup a turn.
    Resume {
        /// The workgroup.
        standing: Standing,
        /// Its running state.
        group: G,
        /// Whether all workgroups of the queue only wait.
        in_vain: bool,
        /// Whether another thread runs a workgroup that may end their waits.
        others_compute: bool,
    },
    /// It checks whether the grid is stuck; no other thread has a workgroup.
    Look,
    /// It waits until another thread gives a workgroup back.
    Wait,
    /// There is nothing left to do.
    Nothing,
}

/// The result of a workgroup's turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Became {
    /// It ended.
    Done,
    /// It wants another turn.
    Again,
    /// It faulted.
    Fault,
}

/// The destination of a workgroup that was given back.
#[derive(Debug)]
pub(super) enum Goes<G> {
    /// It waits for its next turn.
    Queued,
    /// It has ended, and its state can be reused.
    Ended(G),
    /// The end of the run leaves it unfinished.
    Unfinished(G),
    /// It is not needed.
    Dropped,
    /// It has faulted, and is lower than all others that have.
    Faulted,
}

/// The result of a check of the waiting workgroups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// None of them will ever continue.
    Stuck,
    /// The one at that index in the queue continues.
    GoesOn(usize),
    /// The one at that index in the queue has faulted.
    Faults(usize),
}

/// The policy over workgroups whose running state is `G`.
#[derive(Debug)]
pub(super) struct Policy<G> {
    unstarted: Unstarted,
    rounds: Rounds,
    /// Workgroups that have started and wait for their turns.
    queue: VecDeque<(Standing, G)>,
    /// The number of releases of waits so far, as last heard.
    releases: u64,
    /// Workgroups of the queue that cannot run before there are more releases.
    blocked: usize,
    /// Looks at workgroups that still waited, since one last made progress.
    vain: usize,
    slots: Vec<u32>,
    /// Workgroups that threads are running.
    running: usize,
    /// Those of them that [compute](Standing::computes).
    computing: usize,
    /// Number of the lowest faulted workgroup, `u64::MAX` if there is none.
    faulted: u64,
    /// Cost of quanta since a workgroup ended, or since the last check whether the grid is stuck.
    fruitless: u64,
    /// Remaining cost for waiting for faults of lower workgroups.
    grace: u64,
    /// The cost without an end that triggers a check.
    suspicious: u64,
    /// Whether threads must check if the grid is stuck before they run another workgroup.
    look: bool,
    /// Whether to check for stalls at all.
    detects_stalls: bool,
}

impl<G> Policy<G> {
    /// The policy for this many workgroups, with this many resident at once.
    pub(super) fn new(total: u64, resident: u32, detects_stalls: bool) -> Policy<G> {
        Policy {
            unstarted: Unstarted::new(total),
            rounds: Rounds::default(),
            queue: VecDeque::new(),
            releases: 0,
            blocked: 0,
            vain: 0,
            slots: (0..resident).rev().collect(),
            running: 0,
            computing: 0,
            faulted: u64::MAX,
            fruitless: 0,
            grace: ALL_GRACE,
            suspicious: SUSPICIOUS,
            look: false,
            detects_stalls,
        }
    }

    /// Workgroups that have not started.
    pub(super) fn not_started(&self) -> u64 {
        self.unstarted.count()
    }

    /// Number of the lowest faulted workgroup, `u64::MAX` if there is none; higher ones are not
    /// needed.
    pub(super) fn faulted(&self) -> u64 {
        self.faulted
    }

    /// The estimated cost of what other threads could do beside this one: of the workgroups that
    /// have not started, and of those of the queue that do not only wait, except the longest one.
    /// Those that go on are estimated to run as long again as they have run.
    pub(super) fn left_for_others(&self, pace: &Pace) -> u64 {
        let unstarted = self.unstarted.count().saturating_mul(pace.each());
        let run = || self.queue.iter().filter(|(standing, _)| !standing.waits).map(|(s, _)| s.cost);
        let longest = run().max().unwrap_or(0);
        run().fold(unstarted, u64::saturating_add) - longest
    }

    /// Whether another workgroup may start.
    fn may_start(&self) -> bool {
        let first = self.unstarted.first();
        !self.slots.is_empty() && self.grace > 0 && first.is_some_and(|first| first < self.faulted)
    }

    /// Hears of the number of [releases](crate::share::Share::releases): if there are more than
    /// before, those that were held may run.
    fn hear(&mut self, releases: u64) {
        if releases != self.releases {
            self.releases = releases;
            self.count_blocked();
        }
    }

    fn is_blocked(&self, standing: &Standing) -> bool {
        standing.held == Some(self.releases)
    }

    fn count_blocked(&mut self) {
        self.blocked = self.queue.iter().filter(|(standing, _)| self.is_blocked(standing)).count();
    }

    /// Takes the first workgroup that is not blocked from the queue, or the first one.
    fn pop(&mut self) -> Option<(Standing, G)> {
        let first = if self.blocked == 0 {
            None
        } else {
            self.queue.iter().position(|(standing, _)| !self.is_blocked(standing))
        };
        self.queue.rotate_left(first.unwrap_or(0));
        let (standing, group) = self.queue.pop_front()?;
        self.blocked -= usize::from(self.is_blocked(&standing));
        Some((standing, group))
    }

    /// Whether a thread that waits would find a workgroup to run, after that number of releases.
    pub(super) fn has_more(&mut self, releases: u64) -> bool {
        self.hear(releases);
        self.blocked < self.queue.len() || self.may_start()
    }

    /// The next action of one of `threads` threads. `pace` is the cost of workgroups that it has
    /// measured, `releases` the number of [releases](crate::share::Share::releases) so far.
    pub(super) fn next(&mut self, pace: &Pace, threads: usize, releases: u64) -> Next<G> {
        self.hear(releases);
        let may_start = self.may_start();
        let waiting = self.queue.len();
        let runnable = waiting - self.blocked;
        // Without a turn, it is clear that those that are held wait for others, or for ever.
        let all_blocked = waiting > 0 && runnable == 0 && !may_start;
        if self.look || all_blocked && (self.running > 0 || self.detects_stalls) {
            return if self.running == 0 { Next::Look } else { Next::Wait };
        }
        let more = pace.more(self.unstarted.count(), threads);
        let vain = self.vain >= runnable;
        if self.rounds.next(runnable, may_start, vain) == Some(Who::New)
            && let Some((linear, claimed)) = self.unstarted.claim(more)
            && let Some(slot) = self.slots.pop()
        {
            self.running += 1;
            self.computing += 1;
            return Next::Start { standing: Standing::new(linear, slot, claimed) };
        }
        if let Some((mut standing, group)) = self.pop() {
            self.running += 1;
            let in_vain = self.vain > runnable + self.running && !may_start;
            standing.alone = in_vain && self.running == 1;
            let others_compute = self.computing > 0;
            standing.computes = !standing.waits;
            self.computing += usize::from(standing.computes);
            return Next::Resume { standing, group, in_vain, others_compute };
        }
        if self.running == 0 { Next::Nothing } else { Next::Wait }
    }

    /// Takes back a workgroup after a turn with this cost. `stopped` says whether the run is over.
    pub(super) fn give_back(
        &mut self,
        mut standing: Standing,
        group: G,
        became: Became,
        cost: u64,
        stopped: bool,
    ) -> Goes<G> {
        self.running -= 1;
        self.computing -= usize::from(standing.computes);
        if standing.before > 0 || became == Became::Done {
            self.rounds.ended();
            (self.fruitless, self.suspicious, self.look) = (0, SUSPICIOUS, false);
        }
        standing.before = 0;
        self.vain = if standing.waits && !standing.got_on { self.vain.saturating_add(1) } else { 0 };
        if !standing.claimed.is_empty() {
            self.unstarted.give_back(std::mem::take(&mut standing.claimed));
            // There is more to do than expected.
            self.look = false;
        }
        match became {
            Became::Done => {
                self.slots.push(standing.slot);
                Goes::Ended(group)
            }
            Became::Again if stopped => Goes::Unfinished(group),
            Became::Again => {
                let goes = self.queue(standing, group, cost);
                self.fruitless += cost;
                self.look |= self.detects_stalls && self.fruitless >= self.suspicious && !self.may_start();
                goes
            }
            Became::Fault => {
                self.slots.push(standing.slot);
                self.fault(standing.linear)
            }
        }
    }

    /// Queues a workgroup that needs another turn, if it is still needed.
    fn queue(&mut self, mut standing: Standing, group: G, cost: u64) -> Goes<G> {
        standing.cost = standing.cost.saturating_add(cost);
        if self.faulted < u64::MAX {
            self.grace = self.grace.saturating_sub(cost);
            standing.grace = Some(standing.grace.map_or(GRACE, |left| left.saturating_sub(cost)));
        }
        if standing.linear >= self.faulted || standing.grace == Some(0) || self.grace == 0 {
            self.slots.push(standing.slot);
            return Goes::Dropped;
        }
        self.blocked += usize::from(self.is_blocked(&standing));
        if self.goes_on(&mut standing) {
            self.queue.push_front((standing, group));
        } else {
            self.queue.push_back((standing, group));
        }
        Goes::Queued
    }

    /// Whether a workgroup has another turn immediately: turns of many others that only wait for it
    /// cost more than one of its own.
    fn goes_on(&self, standing: &mut Standing) -> bool {
        let several = self.queue.len() / LOOKS;
        let others_wait = || self.queue.iter().all(|(other, _)| other.waits);
        let goes_on = !standing.waits && standing.streak < several && others_wait();
        standing.streak = if goes_on { standing.streak + 1 } else { 0 };
        goes_on
    }

    /// Records a fault of the workgroup with that number.
    fn fault(&mut self, linear: u64) -> Goes<G> {
        if linear >= self.faulted {
            return Goes::Dropped;
        }
        self.faulted = linear;
        let slots = &mut self.slots;
        self.queue.retain(|(other, _)| {
            let wanted = other.linear < linear;
            if !wanted {
                slots.push(other.slot);
            }
            wanted
        });
        self.count_blocked();
        Goes::Faulted
    }

    /// Removes all workgroups that wait for their turns: the run is over.
    pub(super) fn take_queue(&mut self) -> impl Iterator<Item = G> + use<G> {
        self.blocked = 0;
        std::mem::take(&mut self.queue).into_iter().map(|(_, group)| group)
    }

    /// Workgroups that wait for their turns.
    pub(super) fn queued(&mut self) -> impl Iterator<Item = &mut G> {
        self.queue.iter_mut().map(|(_, group)| group)
    }

    /// Cancels the check whether the grid is stuck: a request has just been answered.
    pub(super) fn look_later(&mut self) {
        self.look = false;
    }

    /// Begins to check whether the grid is stuck. Returns the cost of quanta since the last check.
    pub(super) fn begin_look(&mut self) -> u64 {
        self.look = false;
        self.suspicious = self.suspicious.saturating_mul(2);
        std::mem::take(&mut self.fruitless)
    }

    /// Records the result of the check. Returns whether a workgroup has faulted that is lower than
    /// all others that have.
    pub(super) fn looked(&mut self, found: Found) -> bool {
        let (index, faults) = match found {
            Found::Stuck => {
                self.queue.clear();
                self.blocked = 0;
                return false;
            }
            Found::GoesOn(index) => (index, false),
            Found::Faults(index) => (index, true),
        };
        // The next check begins with this one.
        if index < self.queue.len() {
            self.queue.rotate_left(index);
            self.queue[0].0.held = None;
            self.count_blocked();
        }
        let Some((standing, _)) = (if faults { self.queue.pop_front() } else { None }) else { return false };
        self.slots.push(standing.slot);
        matches!(self.fault(standing.linear), Goes::Faulted)
    }
}

#[cfg(test)]
mod tests;
