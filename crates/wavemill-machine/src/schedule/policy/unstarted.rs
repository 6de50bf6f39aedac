//! Workgroups that have not started, and the number that a host thread claims at once.

use std::ops::Range;

use super::{SLICE, TURN};

/// The estimated cost of the workgroups that a thread claims at once. It is large compared with the
/// cost of a claim, and small enough that no other thread waits long for them.
const CLAIM: u64 = 2 * SLICE;
/// Their actual cost at which a thread gives back those that have not started.
const MOST: u64 = 2 * CLAIM;

/// The numbers of workgroups that have neither started nor been claimed.
#[derive(Debug)]
pub(super) struct Unstarted {
    /// Ranges that were claimed and given back, highest first.
    returned: Vec<Range<u64>>,
    /// The numbers that were never claimed.
    rest: Range<u64>,
}

impl Unstarted {
    pub(super) fn new(total: u64) -> Self {
        Unstarted { returned: Vec::new(), rest: 0..total }
    }

    /// The number of the first one.
    pub(super) fn first(&self) -> Option<u64> {
        self.returned.last().or(Some(&self.rest).filter(|rest| !rest.is_empty())).map(|range| range.start)
    }

    /// The number of workgroups.
    pub(super) fn count(&self) -> u64 {
        let size = |range: &Range<u64>| range.end - range.start;
        size(&self.rest) + self.returned.iter().map(size).sum::<u64>()
    }

    /// Takes the first one and at most `more` of the following ones.
    pub(super) fn claim(&mut self, more: u64) -> Option<(u64, Range<u64>)> {
        let range = self.returned.last_mut().unwrap_or(&mut self.rest);
        let first = range.next()?;
        let end = range.end.min(range.start.saturating_add(more));
        let behind = range.start..end;
        range.start = end;
        if self.returned.last().is_some_and(Range::is_empty) {
            self.returned.pop();
        }
        Some((first, behind))
    }

    /// Takes back some that were claimed.
    pub(super) fn give_back(&mut self, range: Range<u64>) {
        if !range.is_empty() {
            let at = self.returned.partition_point(|other| other.start > range.start);
            self.returned.insert(at, range);
        }
    }
}

/// The cost of the grid's workgroups, as measured by a thread.
#[derive(Debug)]
pub(in crate::schedule) struct Pace {
    /// The cost of one workgroup.
    cost: u64,
}

impl Pace {
    /// Unknown: claim one at a time.
    pub(in crate::schedule) const UNKNOWN: Pace = Pace { cost: CLAIM };

    /// Records the cost of workgroups that have run.
    pub(in crate::schedule) fn saw(&mut self, workgroups: u64, cost: u64) {
        if let Some(each) = cost.checked_div(workgroups) {
            self.cost = each.max(TURN);
        }
    }

    /// The cost of one workgroup.
    pub(super) fn each(&self) -> u64 {
        self.cost
    }

    /// The number to claim besides the first one, if `left` workgroups remain for `threads`
    /// threads. It shrinks near the end, so that all threads end at about the same time.
    pub(super) fn more(&self, left: u64, threads: usize) -> u64 {
        (CLAIM / self.cost).min(left / (4 * threads as u64)).saturating_sub(1)
    }

    /// Whether the cost of the workgroups of one claim so far allows another one.
    pub(in crate::schedule) fn allows_another(cost: u64) -> bool {
        cost < MOST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_come_first_and_none_twice() {
        let mut left = Unstarted::new(10);
        assert_eq!((left.first(), left.count()), (Some(0), 10));
        assert_eq!(left.claim(2), Some((0, 1..3)));
        assert_eq!(left.claim(3), Some((3, 4..7)));
        left.give_back(5..7);
        left.give_back(2..3);
        left.give_back(7..7);
        assert_eq!((left.first(), left.count()), (Some(2), 6));
        assert_eq!(left.claim(5), Some((2, 3..3)));
        assert_eq!(left.claim(0), Some((5, 6..6)));
        assert_eq!(left.claim(5), Some((6, 7..7)));
        assert_eq!(left.claim(u64::MAX), Some((7, 8..10)));
        assert_eq!((left.first(), left.count(), left.claim(0)), (None, 0, None));
    }

    #[test]
    fn claims_are_small_where_workgroups_are_large_or_few() {
        let mut pace = Pace::UNKNOWN;
        assert_eq!(pace.more(1 << 20, 2), 0);
        pace.saw(4, 4 * 1024);
        assert_eq!(pace.more(1 << 20, 2), CLAIM / 1024 - 1);
        assert_eq!(pace.more(80, 2), 9);
        assert_eq!(pace.more(3, 2), 0);
        pace.saw(0, 1 << 20);
        assert_eq!(pace.more(80, 2), 9);
        pace.saw(1, 1 << 20);
        assert_eq!(pace.more(1 << 20, 2), 0);
        pace.saw(1 << 20, 1);
        assert_eq!(pace.more(u64::MAX, 1), CLAIM / TURN - 1);
    }
}
