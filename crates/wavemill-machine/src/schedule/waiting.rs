//! Workgroups that only wait for others to write memory have short turns.

use std::sync::atomic::Ordering::Relaxed;

use super::group::Group;
use super::policy::{Standing, Step, Stepped, TURN, Turn};
use super::stuck::LOOK;
use super::{Outcome, Run, Watch};
use crate::engine::Executor;
use crate::observe::SingleSteps;
use crate::out_of_range::OutOfRange;
use crate::stall::{Attempt, Verdict};

/// Most cost of a check whether a wave spins.
const BUDGET: u64 = 1 << 13;

/// State of a host thread for checks of waves that may spin.
pub(super) struct Looker<'a> {
    steps: &'a SingleSteps<'a>,
    attempt: Option<Attempt<'a>>,
}

impl<'a> Looker<'a> {
    pub(super) fn new(steps: &'a SingleSteps<'a>) -> Self {
        Looker { steps, attempt: None }
    }

    /// Out-of-range accesses of the waves that it has advanced.
    pub(super) fn out_of_range(&self) -> OutOfRange {
        self.attempt.as_ref().map(Attempt::out_of_range).unwrap_or_default()
    }

    /// An attempt that may cost [`BUDGET`].
    fn attempt(&mut self, run: &'a Run<'_>) -> &mut Attempt<'a> {
        let attempt = self.attempt.get_or_insert_with(|| {
            Attempt::new(run.stepper(self.steps, None), self.steps, run.grid.map, 0, run.control)
                .beside_others()
        });
        attempt.renew(BUDGET);
        attempt
    }
}

impl Run<'_> {
    /// Gives a workgroup its turn, in which it runs at most about `most` at once. Also returns the cost.
    pub(super) fn turn<'a>(
        &'a self,
        executor: &mut dyn Executor,
        looker: &mut Looker<'a>,
        mut watch: Option<&mut Watch<'_>>,
        standing: &mut Standing,
        group: &mut Group,
        most: u64,
    ) -> (Outcome, u64) {
        let looks_behind = self.observer.is_none() && !self.count_blocks && self.traps.is_none();
        let (mut turn, first) = Turn::begin(standing, looks_behind);
        let mut cost = 0;
        let mut step = Some(first);
        let poll = |step| {
            if let (Step::Look, Some(host)) = (step, self.host) {
                host.poll();
            }
        };
        poll(first);
        while let Some(now) = step {
            let (outcome, stepped) = match now {
                Step::Look => {
                    let (outcome, look, waits) = self.look_at(looker, group, looks_behind);
                    cost += look;
                    (outcome, self.held(group).unwrap_or(Stepped::Looked(waits)))
                }
                Step::Run(length) => {
                    let linear = standing.linear();
                    let (outcome, ran) =
                        self.quantum(executor, watch.as_deref_mut(), group, linear, length.min(most));
                    cost += ran;
                    (outcome, self.held(group).unwrap_or(Stepped::Ran(ran)))
                }
            };
            if !matches!(outcome, Outcome::Again) {
                return (outcome, cost);
            }
            step = turn.after(standing, stepped);
        }
        (Outcome::Again, cost)
    }

    /// Whether all waves of a workgroup wait for other workgroups.
    fn held(&self, group: &mut Group) -> Option<Stepped> {
        if !group.is_held() {
            return None;
        }
        // The number comes first: a wait that ends in between is noticed by either.
        let releases = self.releases();
        (!group.release_held()).then_some(Stepped::Held(releases))
    }

    /// Checks whether all runnable waves of a workgroup spin: the last result. They advance a
    /// little if they `may_advance`, which has a cost: then they run unwatched, and are not counted.
    /// Otherwise, only waves that are held wait.
    fn look_at<'a>(
        &'a self,
        looker: &mut Looker<'a>,
        group: &mut Group,
        may_advance: bool,
    ) -> (Outcome, u64, bool) {
        let before = group.retired();
        let mut cost = 0;
        let mut spins = 0;
        let mut fault = None;
        if group.release_held() {
            return (Outcome::Again, TURN, false);
        }
        if group.is_held() {
            if self.is_over(0) {
                self.stop.store(true, Relaxed);
            }
            return (Outcome::Again, TURN, true);
        }
        if !may_advance {
            return (Outcome::Again, TURN, false);
        }
        for n in 0..group.waves.len() {
            if !group.is_ready(self, n) {
                continue;
            }
            let attempt = looker.attempt(self);
            let verdict = attempt.wave(&mut group.waves[n], self.around(&group.lds), None);
            cost += LOOK + BUDGET - attempt.left();
            if let Verdict::Spins(_) = verdict {
                spins += 1;
                continue;
            }
            spins = 0;
            if let Verdict::Exit(exit) = verdict {
                fault = group.settle(self, n, exit, None).err();
            }
            break;
        }
        if self.is_over(group.retired() - before) {
            self.stop.store(true, Relaxed);
        }
        match fault {
            Some(fault) => (Outcome::Fault(fault), cost, false),
            None => (Outcome::Again, cost, spins > 0),
        }
    }
}
