//! The policy of the scheduler: which workgroup has the next turn, when new ones start, and when to look whether the grid is
//! stuck.
//!
//! It is a state machine without threads, memory or waves: a thread asks for the next thing to do ([`Policy::next`]) and says
//! what became of it ([`Policy::give_back`]). What one workgroup does in its turn is a [`Turn`].

mod rounds;
mod turn;
mod unstarted;

use std::collections::VecDeque;
use std::ops::Range;

pub(super) use turn::{Step, Stepped, Turn};
pub(super) use unstarted::Pace;

use rounds::{Rounds, Who};
use unstarted::Unstarted;

/// Guest instructions that a wave runs before the next one of its workgroup does.
pub(super) const SLICE: u64 = 1 << 14;
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
/// What a turn of a wave counts beside its instructions where turns are limited: waves that yield run few.
pub(super) const TURN: u64 = 256;

/// What the policy knows of a workgroup that has begun.
#[derive(Debug)]
pub(super) struct Standing {
    /// Its number.
    linear: u64,
    /// The slot of resident workgroups that it has.
    slot: u32,
    /// What it may still cost; set once a workgroup behind it has faulted.
    grace: Option<u64>,
    /// Quanta that it has used up.
    quanta: u32,
    /// Whether all of its waves that can run spin, as far as is known.
    waits: bool,
    /// Whether it has done something else than to wait in its last turn, as far as is known.
    got_on: bool,
    /// Whether nobody is left who could end its waiting: then looking at it is no better than to let it wait.
    alone: bool,
    /// Turns that it has had one right behind the other, as all others only waited.
    streak: usize,
    /// Numbers of the workgroups that the same thread is to run after it, in its slot.
    claimed: Range<u64>,
    /// Workgroups that have ended in its slot before it, since the thread has claimed them.
    before: u64,
}

impl Standing {
    fn new(linear: u64, slot: u32, claimed: Range<u64>) -> Standing {
        Standing {
            linear,
            slot,
            grace: None,
            quanta: 0,
            waits: false,
            got_on: false,
            alone: false,
            streak: 0,
            claimed,
            before: 0,
        }
    }

    /// The number of the workgroup.
    pub(super) fn linear(&self) -> u64 {
        self.linear
    }

    /// The slot of resident workgroups that it has.
    pub(super) fn slot(&self) -> u32 {
        self.slot
    }

    /// Whether all of its waves that can run spin, as far as is known.
    pub(super) fn waits(&self) -> bool {
        self.waits
    }

    /// Workgroups that the thread has run in this slot, this one included.
    pub(super) fn ran(&self) -> u64 {
        self.before + 1
    }

    /// Lets the next workgroup that was claimed with it follow one that has ended. Whether there is one that is wanted.
    pub(super) fn follow(&mut self, is_wanted: impl Fn(u64) -> bool) -> bool {
        let next = self.claimed.start;
        if self.claimed.is_empty() || !is_wanted(next) {
            return false;
        }
        let claimed = next + 1..self.claimed.end;
        *self = Standing { before: self.before + 1, ..Standing::new(next, self.slot, claimed) };
        true
    }
}

/// What a thread does next.
#[derive(Debug)]
pub(super) enum Next<G> {
    /// It starts the workgroup.
    Start {
        /// The workgroup.
        standing: Standing,
        /// Whether it is the first one in its slot.
        fresh: bool,
    },
    /// It gives the workgroup a turn.
    Resume {
        /// The workgroup.
        standing: Standing,
        /// What runs of it.
        group: G,
        /// Whether all workgroups only wait: others should have the processor first.
        in_vain: bool,
    },
    /// It looks whether the grid is stuck; nobody else has a workgroup.
    Look,
    /// It waits until another thread gives a workgroup back.
    Wait,
    /// There is nothing left to do.
    Nothing,
}

/// What became of a workgroup in its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Became {
    /// It ended.
    Done,
    /// It wants another turn.
    Again,
    /// It faulted.
    Fault,
}

/// Where a workgroup goes that was given back.
#[derive(Debug)]
pub(super) enum Goes<G> {
    /// It waits for its next turn.
    Queued,
    /// It has ended, and what ran of it can be used again.
    Ended(G),
    /// The end of the run leaves it unfinished.
    Unfinished(G),
    /// Nobody wants it any more.
    Dropped,
    /// It has faulted, before all others that have.
    Faulted,
}

/// What a look at the waiting workgroups found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// None of them will ever go on.
    Stuck,
    /// The one with that number in the queue goes on.
    GoesOn(usize),
    /// The one with that number in the queue has faulted.
    Faults(usize),
}

/// The policy over workgroups of which `G` is what runs.
#[derive(Debug)]
pub(super) struct Policy<G> {
    unstarted: Unstarted,
    rounds: Rounds,
    /// Workgroups that have begun and wait for their turns.
    queue: VecDeque<(Standing, G)>,
    /// Looks at workgroups that still waited, since one has got on.
    vain: usize,
    slots: Vec<u32>,
    /// Slots below this one have been used.
    used_slots: u32,
    /// Workgroups that threads have.
    running: usize,
    /// Number of the first workgroup that has faulted, `u64::MAX` if none has.
    faulted: u64,
    /// What quanta have cost since a workgroup ended, or since it was looked whether the grid is stuck.
    fruitless: u64,
    /// What waiting for faults of lower workgroups may still cost.
    grace: u64,
    /// How much without an end is suspicious.
    suspicious: u64,
    /// Whether nobody may take a workgroup before it was looked whether the grid is stuck.
    look: bool,
    /// Whether to look for that at all.
    detects_stalls: bool,
}

impl<G> Policy<G> {
    /// The policy for so many workgroups, of which so many are resident at once.
    pub(super) fn new(total: u64, resident: u32, detects_stalls: bool) -> Policy<G> {
        Policy {
            unstarted: Unstarted::new(total),
            rounds: Rounds::default(),
            queue: VecDeque::new(),
            vain: 0,
            slots: (0..resident).rev().collect(),
            used_slots: 0,
            running: 0,
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

    /// Number of the first workgroup that has faulted, `u64::MAX` if none has: none behind it is wanted.
    pub(super) fn faulted(&self) -> u64 {
        self.faulted
    }

    /// Whether another workgroup may start.
    fn may_start(&self) -> bool {
        let first = self.unstarted.first();
        !self.slots.is_empty() && self.grace > 0 && first.is_some_and(|first| first < self.faulted)
    }

    /// What one of so many threads does next. `pace` is what it has seen workgroups cost.
    pub(super) fn next(&mut self, pace: &Pace, threads: usize) -> Next<G> {
        if self.look {
            return if self.running == 0 { Next::Look } else { Next::Wait };
        }
        let more = pace.more(self.unstarted.count(), threads);
        let may_start = self.may_start();
        let waiting = self.queue.len();
        let vain = self.vain >= waiting;
        if self.rounds.next(waiting, may_start, vain) == Some(Who::New)
            && let Some((linear, claimed)) = self.unstarted.claim(more)
            && let Some(slot) = self.slots.pop()
        {
            self.running += 1;
            let fresh = slot >= self.used_slots;
            self.used_slots = self.used_slots.max(slot + 1);
            return Next::Start { standing: Standing::new(linear, slot, claimed), fresh };
        }
        if let Some((mut standing, group)) = self.queue.pop_front() {
            self.running += 1;
            let in_vain = self.vain > waiting + self.running && !may_start;
            standing.alone = in_vain && self.running == 1;
            return Next::Resume { standing, group, in_vain };
        }
        if self.running == 0 { Next::Nothing } else { Next::Wait }
    }

    /// Takes back a workgroup after a turn that cost so much. `stopped` says whether the run is over.
    pub(super) fn give_back(
        &mut self,
        mut standing: Standing,
        group: G,
        became: Became,
        cost: u64,
        stopped: bool,
    ) -> Goes<G> {
        self.running -= 1;
        if standing.before > 0 || became == Became::Done {
            self.rounds.ended();
            (self.fruitless, self.suspicious, self.look) = (0, SUSPICIOUS, false);
        }
        standing.before = 0;
        self.vain = if standing.waits && !standing.got_on { self.vain.saturating_add(1) } else { 0 };
        if !standing.claimed.is_empty() {
            self.unstarted.give_back(std::mem::take(&mut standing.claimed));
            // There may be more to do than it seemed.
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

    /// Queues a workgroup that wants another turn, if it is still wanted.
    fn queue(&mut self, mut standing: Standing, group: G, cost: u64) -> Goes<G> {
        if self.faulted < u64::MAX {
            self.grace = self.grace.saturating_sub(cost);
            standing.grace = Some(standing.grace.map_or(GRACE, |left| left.saturating_sub(cost)));
        }
        if standing.linear >= self.faulted || standing.grace == Some(0) || self.grace == 0 {
            self.slots.push(standing.slot);
            return Goes::Dropped;
        }
        if self.goes_on(&mut standing) {
            self.queue.push_front((standing, group));
        } else {
            self.queue.push_back((standing, group));
        }
        Goes::Queued
    }

    /// Whether a workgroup has another turn right away: those of many others that only wait for it cost more than one of
    /// its own.
    fn goes_on(&self, standing: &mut Standing) -> bool {
        let several = self.queue.len() / LOOKS;
        let others_wait = || self.queue.iter().all(|(other, _)| other.waits);
        let goes_on = !standing.waits && standing.streak < several && others_wait();
        standing.streak = if goes_on { standing.streak + 1 } else { 0 };
        goes_on
    }

    /// Notes a fault of the workgroup with that number.
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
        Goes::Faulted
    }

    /// Takes all workgroups that wait for their turns out: the run is over.
    pub(super) fn take_queue(&mut self) -> impl Iterator<Item = G> + use<G> {
        std::mem::take(&mut self.queue).into_iter().map(|(_, group)| group)
    }

    /// Workgroups that wait for their turns.
    pub(super) fn queued(&mut self) -> impl Iterator<Item = &mut G> {
        self.queue.iter_mut().map(|(_, group)| group)
    }

    /// Says that it is no time to look whether the grid is stuck: what somebody asked for has just been answered.
    pub(super) fn look_later(&mut self) {
        self.look = false;
    }

    /// Begins to look whether the grid is stuck. What quanta have cost since the last time.
    pub(super) fn begin_look(&mut self) -> u64 {
        self.look = false;
        self.suspicious = self.suspicious.saturating_mul(2);
        std::mem::take(&mut self.fruitless)
    }

    /// Notes what the look found. Whether a workgroup has faulted, before all others that have.
    pub(super) fn looked(&mut self, found: Found) -> bool {
        let (index, faults) = match found {
            Found::Stuck => {
                self.queue.clear();
                return false;
            }
            Found::GoesOn(index) => (index, false),
            Found::Faults(index) => (index, true),
        };
        // The next look begins with this one.
        if index < self.queue.len() {
            self.queue.rotate_left(index);
        }
        let Some((standing, _)) = (if faults { self.queue.pop_front() } else { None }) else { return false };
        self.slots.push(standing.slot);
        matches!(self.fault(standing.linear), Goes::Faulted)
    }
}

#[cfg(test)]
mod tests;
