//! Decides the steps of a workgroup in its turn.

use super::{QUANTUM, SLICE, Standing};

/// A step of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::schedule) enum Step {
    /// Checks whether all runnable waves only wait for others. Waves advance a little.
    Look,
    /// Waves run up to this cost.
    Run(u64),
}

/// The result of a step after which the workgroup needs to continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::schedule) enum Stepped {
    /// Whether all runnable waves only wait.
    Looked(bool),
    /// The cost of running.
    Ran(u64),
    /// All its waves wait for other workgroups, and did when there had been this many
    /// [releases](crate::share::Share::releases).
    Held(u64),
}

/// A turn of a workgroup. Usually it is a quantum. If the workgroup waited in its last turn, it is
/// a look whether it still waits, and a short run if not. After some full quanta, a look follows:
/// if the workgroup only waits, its turns are short from then on.
#[derive(Debug)]
pub(in crate::schedule) struct Turn {
    /// Whether it waited in its last turn, and others could end that.
    waited: bool,
    /// Whether it waited in its last turn.
    was_waiting: bool,
    /// The cost limit of the quantum, once it has begun.
    length: Option<u64>,
    /// Whether a look may follow a full quantum. Not if waves are watched, because watchers expect
    /// all events, nor if blocks are counted.
    looks_behind: bool,
}

impl Turn {
    /// Begins a turn, with its first step.
    pub(in crate::schedule) fn begin(standing: &mut Standing, looks_behind: bool) -> (Turn, Step) {
        let alone = std::mem::take(&mut standing.alone);
        (standing.got_on, standing.held) = (false, None);
        let waited = standing.waits && !alone;
        let mut turn = Turn { waited, was_waiting: standing.waits, length: None, looks_behind };
        let step = if waited { look(standing) } else { turn.run(standing, alone) };
        (turn, step)
    }

    fn run(&mut self, standing: &mut Standing, alone: bool) -> Step {
        standing.got_on = !alone;
        // A workgroup that made progress may soon wait again.
        let length = if self.waited { SLICE } else { QUANTUM };
        self.length = Some(length);
        Step::Run(length)
    }

    /// The step after one that leaves the workgroup unfinished; `None` at the end of the turn.
    pub(in crate::schedule) fn after(&mut self, standing: &mut Standing, stepped: Stepped) -> Option<Step> {
        match (stepped, self.length) {
            (Stepped::Looked(waits), None) => {
                standing.waits = waits;
                (!waits).then(|| self.run(standing, false))
            }
            (Stepped::Looked(waits), Some(_)) => {
                standing.waits = waits;
                None
            }
            (Stepped::Held(releases), _) => {
                (standing.waits, standing.held) = (true, Some(releases));
                None
            }
            (Stepped::Ran(cost), length) => {
                if !self.looks_behind || length.is_none_or(|length| cost < length) {
                    return None;
                }
                standing.quanta = standing.quanta.saturating_add(1);
                // Looks cost time: a workgroup that computes for long gets them less and less
                // often.
                (self.was_waiting || standing.quanta.is_power_of_two()).then(|| look(standing))
            }
        }
    }
}

/// Until the look has a result, nothing is known.
fn look(standing: &mut Standing) -> Step {
    standing.waits = false;
    Step::Look
}
