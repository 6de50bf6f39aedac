//! Decides between workgroups that have started and new ones.

/// Each workgroup that has started and not ended has a turn. If none of them has ended after that,
/// the same number of new ones start, and so on.
///
/// If new workgroups came first, one that has briefly waited would get its next turn only after all
/// that fit on the chip, and each of them waits as long for the previous one. If they came last,
/// one that waits for a later one would never end. So the number doubles after each round in which
/// none has ended, and otherwise stays as small as possible: each workgroup needs memory, and
/// together they would not fit into a cache. Workgroups that are not known to wait may compute for
/// long: if they are many, it takes more and more rounds before more start.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Turns left in this round for workgroups that have started.
    old: usize,
    /// Workgroups to start in this round.
    new: usize,
    /// Whether a workgroup has ended in this round.
    ended: bool,
    /// Rounds without an end since a workgroup last ended, or since the number last grew.
    fruitless: u32,
    /// Number of times that a large number of workgroups has grown.
    grown: u32,
}

/// Up to this many may start without a delay.
const FEW: usize = 64;
/// Rounds without an end before there are more than a few workgroups; then twice as many, and so
/// on.
const PATIENCE: u32 = 16;

/// The kind of workgroup that has a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    /// One that has not started.
    New,
    /// The one that has waited longest.
    Old,
}

impl Rounds {
    /// The kind of workgroup for the next turn, if `waiting` of them wait for one. `may_start` says
    /// whether new ones may start, `vain` whether all of them are known to wait for others.
    pub(super) fn next(&mut self, waiting: usize, may_start: bool, vain: bool) -> Option<Who> {
        if !may_start || waiting == 0 {
            let one = if may_start { Who::New } else { Who::Old };
            return (may_start || waiting > 0).then_some(one);
        }
        if self.old == 0 && self.new == 0 {
            let more = !std::mem::take(&mut self.ended) && self.is_time_for_more(waiting, vain);
            (self.old, self.new) = (waiting, if more { waiting } else { 0 });
        }
        if self.old > 0 {
            self.old -= 1;
            return Some(Who::Old);
        }
        self.new -= 1;
        Some(Who::New)
    }

    /// Whether new ones should start after another round in which none has ended.
    fn is_time_for_more(&mut self, waiting: usize, vain: bool) -> bool {
        if vain || waiting < FEW {
            return true;
        }
        self.fruitless += 1;
        let enough = self.fruitless >= PATIENCE.saturating_mul(1 << self.grown.min(24));
        if enough {
            (self.fruitless, self.grown) = (0, self.grown.saturating_add(1));
        }
        enough
    }

    /// A workgroup has ended.
    pub(super) fn ended(&mut self) {
        self.ended = true;
        self.new = 0;
        self.fruitless = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_do_not_end_are_twice_as_many_after_each_round() {
        let mut rounds = Rounds::default();
        let mut waiting = 0;
        let mut turns = String::new();
        for _ in 0..15 {
            match rounds.next(waiting, true, false) {
                Some(Who::New) => {
                    waiting += 1;
                    turns.push('n');
                }
                Some(Who::Old) => turns.push('o'),
                None => turns.push('-'),
            }
        }
        assert_eq!(turns, "nonoonnoooonnnn");
        assert_eq!(rounds.next(3, false, false), Some(Who::Old));
        // Where some end, new ones start only if no other waits.
        for _ in 0..20 {
            assert_eq!(rounds.next(2, true, false), Some(Who::Old));
            rounds.ended();
        }
        assert_eq!(rounds.next(0, false, false), None);
        assert_eq!(rounds.next(0, true, false), Some(Who::New));
    }

    #[test]
    fn many_that_may_compute_are_more_after_ever_more_rounds() {
        // The number after this many rounds in which none ends.
        let after = |rounds_left: usize, vain: bool| {
            let mut rounds = Rounds::default();
            let (mut waiting, mut round) = (1, 0);
            while round < rounds_left {
                // All have a turn, including those that start.
                for _ in 0..waiting {
                    assert_eq!(rounds.next(waiting, true, vain), Some(Who::Old));
                }
                while rounds.new > 0 {
                    assert_eq!(rounds.next(waiting, true, vain), Some(Who::New));
                    waiting += 1;
                }
                round += 1;
            }
            waiting
        };
        assert_eq!([6, 12, 21, 22, 53, 54].map(|n| after(n, false)), [64, 64, 64, 128, 128, 256]);
        assert_eq!(after(12, true), 4096);
    }
}
