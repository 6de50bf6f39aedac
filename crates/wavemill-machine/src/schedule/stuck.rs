//! Waves that make no progress: why, and whether the whole grid is stuck.

use std::sync::atomic::Ordering::Relaxed;

use super::group::{Group, State, Watch};
use super::policy::Found;
use super::{Host, LiveWave, Run, Shared, add_counts};
use crate::observe::SingleSteps;
use crate::stall::{Attempt, Verdict};

/// The share of the run that a check may cost: one in this many instructions, for each core that
/// waits meanwhile.
const LOOKING: u64 = 16;
/// Instructions that each live wave of a stopped run may run to decide whether it spins, and all of
/// them together. Waves that spin need only a few.
const EXPLAINING: u64 = 1 << 18;
const ALL_EXPLAINING: u64 = 1 << 23;
/// Cost of a check of a wave besides its instructions.
pub(super) const LOOK: u64 = 1 << 10;

impl Run<'_> {
    /// The waves of workgroups that will not continue, in order, and whether they spin.
    pub(super) fn live(&self, groups: &mut [Group]) -> Vec<LiveWave> {
        groups.sort_by_key(|group| group.order());
        let source = SingleSteps(self.grid.source);
        let mut live = Vec::new();
        let mut left = ALL_EXPLAINING;
        for group in groups {
            for n in 0..group.waves.len() {
                if group.states[n] == State::Ended {
                    continue;
                }
                let mut wave = group.live_wave(n);
                if self.detect_stalls && left > 0 && group.is_ready(self, n) {
                    let budget = EXPLAINING.min(left);
                    let mut attempt =
                        Attempt::new(self.stepper(&source, None), &source, self.grid.map, budget, None);
                    // The run is over: watchers receive no events.
                    if let Verdict::Spins(spin) =
                        attempt.wave(&mut group.waves[n], self.around(&group.lds), None)
                    {
                        wave.spins = Some(spin);
                    }
                    // Compiling the instructions has a cost, too.
                    left = left.saturating_sub(budget - attempt.left() + LOOK);
                    wave.looked_at = true;
                }
                live.push(wave);
            }
        }
        live.sort_by_key(LiveWave::order);
        live
    }

    /// Checks whether the grid is stuck. No thread runs waves meanwhile. Waves advance a little.
    pub(super) fn look(&self, shared: &mut Shared, mut watch: Option<&mut Watch<'_>>) {
        // If the host has just answered a request, some wave will continue.
        if shared.policy.queued().next().is_none() || self.host.is_some_and(Host::poll) {
            return shared.policy.look_later();
        }
        let cores = super::cores();
        let waiting = shared.stats.threads.min(cores) as u64;
        let budget = shared.policy.begin_look() / (LOOKING * waiting);
        let source = SingleSteps(self.grid.source);
        let mut attempt =
            Attempt::new(self.stepper(&source, None), &source, self.grid.map, budget, self.control);
        if let Some((_, interests)) = self.observer {
            attempt = attempt.watching(self.stepper(&source, Some(interests)));
        }
        let mut waves = Vec::new();
        let before: u64 = shared.policy.queued().map(|group| group.retired()).sum();
        let (mut found, mut fault) = (Found::Stuck, None);
        'groups: for (index, group) in shared.policy.queued().enumerate() {
            if group.release_held() {
                found = Found::GoesOn(index);
                break;
            }
            for n in 0..group.waves.len() {
                if group.states[n] == State::Ended {
                    continue;
                }
                let spins = match group.is_ready(self, n) {
                    false => None,
                    true => {
                        let events = group.events(n, watch.as_deref_mut()).map(|watch| &mut watch.events);
                        let end = events.as_ref().and_then(|events| events.end_of_run(group.waves[n].pc));
                        let verdict = match end {
                            Some(end) => Verdict::Exit(end),
                            None => attempt.wave(&mut group.waves[n], self.around(&group.lds), events),
                        };
                        match verdict {
                            Verdict::Spins(spin) => Some(spin),
                            Verdict::Unclear => {
                                found = Found::GoesOn(index);
                                break 'groups;
                            }
                            Verdict::Exit(exit) => {
                                fault = group.settle(self, n, exit, watch.as_deref_mut()).err();
                                let faults = fault.is_some();
                                found = if faults { Found::Faults(index) } else { Found::GoesOn(index) };
                                break 'groups;
                            }
                        }
                    }
                };
                waves.push(LiveWave { looked_at: spins.is_some(), spins, ..group.live_wave(n) });
            }
            // The last wave has just reached the barrier, or ended.
            if group.is_at_barrier() {
                found = Found::GoesOn(index);
                break;
            }
        }
        let ran = shared.policy.queued().map(|group| group.retired()).sum::<u64>() - before;
        shared.stats.instructions += ran;
        shared.stats.out_of_range += attempt.out_of_range();
        add_counts(&mut shared.stats.stepped_counts, attempt.block_counts());
        let over = self.is_over(ran);
        if shared.policy.looked(found) {
            self.note_fault(shared, fault);
        }
        if found == Found::Stuck {
            shared.stalled = Some(waves);
            self.stop.store(true, Relaxed);
        } else if over {
            self.stop.store(true, Relaxed);
            let waiting = shared.policy.take_queue();
            shared.unfinished.extend(waiting);
        }
    }
}
