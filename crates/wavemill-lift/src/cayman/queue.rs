//! The queues through which LDS returns loaded values (HD 6900 ISA 7.3).
//!
//! A queue is empty at the beginning of a clause, and every lane takes part in its use. So the
//! number of entries at each group is known at lift time: entries are rows, and the preceding
//! groups determine which row is the head.

use wavemill_isa::cayman::{Group, Op, Source};

use super::lifter::{Refused, UNSUPPORTED};
use super::registers::QUEUE;

/// Number of entries pushed to queue A, and number of entries popped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Queues {
    pub(super) pushed: u16,
    pub(super) popped: u16,
}

impl Queues {
    /// The queues after a group.
    pub(super) fn behind(mut self, group: &Group) -> Result<Queues, Refused> {
        let slots = || group.slots.iter().flatten();
        let pops = |source: Source| matches!(source, Source::Queue(_, true));
        if slots().any(|slot| slot.sources().any(|(.., source)| pops(source))) {
            // The group pops one entry at its end, however often it reads it (HD 6900 ISA 7.3).
            self.popped += 1;
        }
        self.pushed += slots().filter(|slot| slot.op() == Op::LdsReadRet).count() as u16;
        let right = self.popped <= self.pushed && self.pushed - self.popped <= QUEUE;
        if right { Ok(self) } else { Err(UNSUPPORTED) }
    }
}
