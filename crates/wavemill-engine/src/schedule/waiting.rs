//! Workgroups that only wait for others to write memory: their turns are short.

use std::sync::atomic::Ordering::Relaxed;

use super::group::{Group, State};
use super::stuck::LOOK;
use super::{Outcome, QUANTUM, Run, SLICE, Watch};
use crate::interp::Interpreter;
use crate::observe::SingleSteps;
use crate::out_of_range::OutOfRange;
use crate::stall::{Attempt, Verdict};

/// What looking whether a wave spins may cost.
const BUDGET: u64 = 1 << 13;

/// What a host thread has to look at waves that may spin.
pub(super) struct Looker<'a> {
    steps: &'a SingleSteps<'a>,
    attempt: Option<Attempt<'a>>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(steps: &'a SingleSteps<'a>) -> Self {
        Looker { steps, attempt: None }
    }

    /// Accesses out of range of the waves that it has moved on.
    pub(super) fn out_of_range(&self) -> OutOfRange {
        self.attempt.as_ref().map(Attempt::out_of_range).unwrap_or_default()
    }

    /// An attempt that may cost [`BUDGET`].
    fn attempt(&mut self, run: &'a Run<'_>) -> &mut Attempt<'a> {
        let attempt = self.attempt.get_or_insert_with(|| {
            let interp = run.interpreter(self.steps, false);
            Attempt::new(interp, self.steps, run.grid.map, 0, run.control).beside_others()
        });
        attempt.renew(BUDGET);
        attempt
    }
}

impl Run<'_> {
    /// Gives a workgroup its turn: a quantum, or a look whether it still waits. Also says what it cost.
    pub(super) fn turn<'a>(
        &'a self,
        interp: &mut Interpreter<'_>,
        looker: &mut Looker<'a>,
        watch: Option<&mut Watch<'_>>,
        group: &mut Group,
    ) -> (Outcome, u64) {
        let waited = group.waits;
        let alone = std::mem::take(&mut group.alone);
        group.got_on = false;
        if waited && !alone {
            if let Some(host) = self.host {
                host.poll();
            }
            let (outcome, cost) = self.look_at(looker, group);
            if !matches!(outcome, Outcome::Again) || group.waits {
                return (outcome, cost);
            }
        }
        group.got_on = !alone;
        // One that has got on may soon wait again.
        let length = if waited && !alone { SLICE } else { QUANTUM };
        let (outcome, cost) = self.quantum(interp, watch, group, length);
        // Who watches waves wants to see all that they do, and who counts blocks to count them.
        if !matches!(outcome, Outcome::Again) || cost < length || self.observer.is_some() || self.count_blocks
        {
            return (outcome, cost);
        }
        group.quanta = group.quanta.saturating_add(1);
        // Looking costs something: those that compute for long are looked at ever less often.
        if waited || group.quanta.is_power_of_two() {
            let (outcome, look) = self.look_at(looker, group);
            return (outcome, cost + look);
        }
        (outcome, cost)
    }

    /// Looks whether all waves of a workgroup that can run spin, and notes it. They move on a little.
    fn look_at<'a>(&'a self, looker: &mut Looker<'a>, group: &mut Group) -> (Outcome, u64) {
        group.waits = false;
        let around = self.around(group);
        let before = group.retired();
        let mut cost = 0;
        let mut spins = 0;
        let mut fault = None;
        for n in 0..group.waves.len() {
            if group.states[n] != State::Ready {
                continue;
            }
            let attempt = looker.attempt(self);
            let verdict = attempt.wave(&mut group.waves[n], around, None);
            cost += LOOK + BUDGET - attempt.left();
            if let Verdict::Spins(_) = verdict {
                spins += 1;
                continue;
            }
            spins = 0;
            if let Verdict::Exit(exit) = verdict {
                fault = group.settle(n, exit, None).err();
            }
            break;
        }
        if self.is_over(group.retired() - before) {
            self.stop.store(true, Relaxed);
        }
        if let Some(fault) = fault {
            return (Outcome::Fault(fault), cost);
        }
        group.waits = spins > 0;
        (Outcome::Again, cost)
    }
}
