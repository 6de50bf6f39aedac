//! What a workgroup does in its turn.

use super::{QUANTUM, SLICE, Standing};

/// A step of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::schedule) enum Step {
    /// It is looked whether all waves that can run only wait for others. Waves move on a little.
    Look,
    /// Waves run until that has cost so much.
    Run(u64),
}

/// What came of a step after which the workgroup wants to go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::schedule) enum Stepped {
    /// Whether all waves that can run only wait.
    Looked(bool),
    /// What running cost.
    Ran(u64),
}

/// A turn of a workgroup: a quantum, or where it waited the last time, a look whether it still does, and a short one if not.
/// Those that have used up a quantum are looked at now and then: if they only wait, their turns are short from then on.
#[derive(Debug)]
pub(in crate::schedule) struct Turn {
    /// Whether it waited the last time, and others could end that.
    waited: bool,
    /// Whether it waited the last time at all.
    was_waiting: bool,
    /// What the quantum may cost, once it has begun.
    length: Option<u64>,
    /// Whether a quantum that is used up may be followed by a look. Not where waves are watched, as who watches wants to see
    /// all that they do, nor where blocks are counted.
    looks_behind: bool,
}

impl Turn {
    /// Begins a turn, with its first step.
    pub(in crate::schedule) fn begin(standing: &mut Standing, looks_behind: bool) -> (Turn, Step) {
        let alone = std::mem::take(&mut standing.alone);
        standing.got_on = false;
        let waited = standing.waits && !alone;
        let mut turn = Turn { waited, was_waiting: standing.waits, length: None, looks_behind };
        let step = if waited { look(standing) } else { turn.run(standing, alone) };
        (turn, step)
    }

    fn run(&mut self, standing: &mut Standing, alone: bool) -> Step {
        standing.got_on = !alone;
        // One that has got on may soon wait again.
        let length = if self.waited { SLICE } else { QUANTUM };
        self.length = Some(length);
        Step::Run(length)
    }

    /// The step behind one after which the workgroup wants to go on; `None` at the end of the turn.
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
            (Stepped::Ran(cost), length) => {
                if !self.looks_behind || length.is_none_or(|length| cost < length) {
                    return None;
                }
                standing.quanta = standing.quanta.saturating_add(1);
                // Looking costs something: those that compute for long are looked at ever less often.
                (self.was_waiting || standing.quanta.is_power_of_two()).then(|| look(standing))
            }
        }
    }
}

/// Until the look has shown something, nothing is known.
fn look(standing: &mut Standing) -> Step {
    standing.waits = false;
    Step::Look
}
