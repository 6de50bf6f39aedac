//! Whether workgroups go on that have begun, or new ones start.

/// Workgroups that have begun and not ended have a turn each; then, if none of them has ended, as many new ones start, and
/// so on.
///
/// If new ones came first, a workgroup that has waited for a moment in vain would have its next turn behind all that fit on
/// the chip, each of which waits as long for the one before it. If they came last, one that waits for a later one would
/// never end. So there are twice as many after each round in which none has ended, and no more than are needed otherwise:
/// each takes memory, and all of them together fit no cache.
#[derive(Default)]
pub(super) struct Rounds {
    /// Turns that are left of this round, of workgroups that have begun.
    old: usize,
    /// Workgroups that are to start in this round.
    new: usize,
    /// Whether a workgroup has ended in it.
    ended: bool,
}

/// Who has a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// A workgroup that has not begun.
    New,
    /// The one that has waited longest.
    Old,
}

impl Rounds {
    /// Who has the next turn, if so many wait for one, and new ones may start or not.
    pub(super) fn next(&mut self, waiting: usize, may_start: bool) -> Option<Turn> {
        if !may_start || waiting == 0 {
            let one = if may_start { Turn::New } else { Turn::Old };
            return (may_start || waiting > 0).then_some(one);
        }
        if self.old == 0 && self.new == 0 {
            let fruitless = !std::mem::take(&mut self.ended);
            (self.old, self.new) = (waiting, if fruitless { waiting } else { 0 });
        }
        if self.old > 0 {
            self.old -= 1;
            return Some(Turn::Old);
        }
        self.new -= 1;
        Some(Turn::New)
    }

    /// A workgroup has ended.
    pub(super) fn ended(&mut self) {
        self.ended = true;
        self.new = 0;
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
            match rounds.next(waiting, true) {
                Some(Turn::New) => {
                    waiting += 1;
                    turns.push('n');
                }
                Some(Turn::Old) => turns.push('o'),
                None => turns.push('-'),
            }
        }
        assert_eq!(turns, "nonoonnoooonnnn");
        assert_eq!(rounds.next(3, false), Some(Turn::Old));
        // Where some end, no more start but where nobody else waits.
        for _ in 0..20 {
            assert_eq!(rounds.next(2, true), Some(Turn::Old));
            rounds.ended();
        }
        assert_eq!(rounds.next(0, false), None);
        assert_eq!(rounds.next(0, true), Some(Turn::New));
    }
}
