//! The queues through which LDS returns what it read (HD 6900 ISA 7.3).
//!
//! A queue is empty where a clause begins, and every lane takes part in what a clause does with it. So how many entries it has is
//! known at each group without running: entries are rows, and which row is the head follows from the groups before.

use wavemill_isa::cayman::{Group, Op, Source};

use super::lifter::{Refused, UNSUPPORTED};
use super::registers::QUEUE;

/// How many entries have come into queue A, and how many were taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Queues {
    pub(super) pushed: u16,
    pub(super) popped: u16,
}

impl Queues {
    /// Behind a group.
    pub(super) fn behind(mut self, group: &Group) -> Result<Queues, Refused> {
        let slots = || group.slots.iter().flatten();
        let pops = |source: Source| matches!(source, Source::Queue(_, true));
        if slots().any(|slot| slot.sources().any(|(.., source)| pops(source))) {
            // One entry is taken off behind the group, however often it was read (HD 6900 ISA 7.3).
            self.popped += 1;
        }
        self.pushed += slots().filter(|slot| slot.op() == Op::LdsReadRet).count() as u16;
        let right = self.popped <= self.pushed && self.pushed - self.popped <= QUEUE;
        if right { Ok(self) } else { Err(UNSUPPORTED) }
    }
}
