//! Whether workgroups go on that have begun, or new ones start.

/// Workgroups that have begun and not ended have a turn each; then, if none of them has ended, as many new ones start, and
/// so on.
///
/// If new ones came first, a workgroup that has waited for a moment in vain would have its next turn behind all that fit on
/// the chip, each of which waits as long for the one before it. If they came last, one that waits for a later one would
/// never end. So there are twice as many after each round in which none has ended, and no more than are needed otherwise:
/// each takes memory, and all of them together fit no cache. Those that are not known to wait may just compute for long: if
/// they are many, ever more rounds go by before there are more.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// Turns that are left of this round, of workgroups that have begun.
    old: usize,
    /// Workgroups that are to start in this round.
    new: usize,
    /// Whether a workgroup has ended in it.
    ended: bool,
    /// Rounds without a workgroup that ended, since one did or there were more.
    fruitless: u32,
    /// How often many have become more.
    grown: u32,
}

/// As many may begin without more ado.
const FEW: usize = 64;
/// Rounds without a workgroup that ended before there are more than a few; then twice as many, and so on.
const PATIENCE: u32 = 16;

/// Who has a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    /// A workgroup that has not begun.
    New,
    /// The one that has waited longest.
    Old,
}

impl Rounds {
    /// Who has the next turn, if so many wait for one, and new ones may start or not. `vain`: all of them have been seen to
    /// wait for others.
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

    /// Whether new ones are to start after another round in which none has ended.
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
        // Where some end, no more start but where nobody else waits.
        for _ in 0..20 {
            assert_eq!(rounds.next(2, true, false), Some(Who::Old));
            rounds.ended();
        }
        assert_eq!(rounds.next(0, false, false), None);
        assert_eq!(rounds.next(0, true, false), Some(Who::New));
    }

    #[test]
    fn many_that_may_compute_are_more_after_ever_more_rounds() {
        // How many there are after so many rounds in which none ends.
        let after = |rounds_left: usize, vain: bool| {
            let mut rounds = Rounds::default();
            let (mut waiting, mut round) = (1, 0);
            while round < rounds_left {
                // All have a turn, and those that begin, too.
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
