//! Waves that do not get on: what is found out of them, and whether the whole grid is stuck.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::group::{Group, State, Watch};
use super::{Host, LiveWave, Run, Shared};
use crate::observe::SingleSteps;
use crate::stall::{Attempt, Verdict};

/// The part of the run that looking may cost: one in so many instructions, for each core that waits meanwhile.
const LOOKING: u64 = 16;
/// Instructions that each live wave of a stopped run may move on until it is clear whether it spins, and all of them
/// together. Those that spin take a few only.
const EXPLAINING: u64 = 1 << 18;
const ALL_EXPLAINING: u64 = 1 << 23;
/// What looking at a wave counts beside its instructions.
pub(super) const LOOK: u64 = 1 << 10;

impl Run<'_> {
    /// The waves of workgroups that will not go on, in order, and whether they spin.
    pub(super) fn live(&self, groups: &mut [Group]) -> Vec<LiveWave> {
        groups.sort_by_key(|group| group.linear);
        let source = SingleSteps(self.grid.source);
        let mut live = Vec::new();
        let mut left = ALL_EXPLAINING;
        for group in groups {
            let around = self.around(group);
            for n in 0..group.waves.len() {
                if group.states[n] == State::Ended {
                    continue;
                }
                let mut wave = group.live_wave(n);
                if self.detect_stalls && left > 0 && !wave.at_barrier {
                    let interp = self.interpreter(&source, false);
                    let budget = EXPLAINING.min(left);
                    let mut attempt = Attempt::new(interp, &source, self.grid.map, budget, None);
                    // The run is over; nobody is told.
                    if let Verdict::Spins(spin) = attempt.wave(&mut group.waves[n], around, None) {
                        wave.spins = Some(spin);
                    }
                    // Compiling the instructions that it looks at costs something, too.
                    left = left.saturating_sub(budget - attempt.left() + LOOK);
                    wave.looked_at = true;
                }
                live.push(wave);
            }
        }
        live.sort_by_key(LiveWave::order);
        live
    }

    /// Looks whether the grid is stuck. Nobody runs waves meanwhile. Waves move on a little.
    pub(super) fn look(&self, shared: &mut Shared, mut watch: Option<&mut Watch<'_>>) {
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
                waves.push(LiveWave { looked_at: spins.is_some(), spins, ..group.live_wave(n) });
            }
            // The last wave has just come to the barrier, or ended.
            if group.states.iter().all(|s| *s != State::Ready) {
                moved = Some((index, None));
                break;
            }
        }
        let ran = shared.queue.iter().map(Group::retired).sum::<u64>() - before;
        shared.stats.instructions += ran;
        shared.stats.out_of_range += attempt.out_of_range();
        let over = self.is_over(ran);
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
}
