//! The queues through which LDS returns loaded values (HD 6900 ISA 7.3).
//!
//! A queue is empty at the beginning of a clause, and every lane takes part in its use. So the
//! number of entries at each group is known at lift time: entries are rows, and the preceding
//! groups determine which row is the head.

use wavemill_ir::Row;
use wavemill_isa::cayman::{Flag, Group, Source};

use super::lifter::{Refused, UNSUPPORTED};
use super::registers::{self, QUEUE};

/// Number of entries pushed to queues A and B, and number of entries popped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Queues {
    pushed: [u16; 2],
    popped: [u16; 2],
}

impl Queues {
    /// The head of queue A (0) or B (1); `None` if the queue is empty.
    pub(super) fn head(&self, queue: u8) -> Option<Row> {
        let number = usize::from(queue & 1);
        let has_entry = self.popped[number] < self.pushed[number];
        has_entry.then(|| registers::queue(queue.into(), self.popped[number]))
    }

    /// The entry that the next value of a queue becomes.
    pub(super) fn tail(&self, queue: u8) -> Row {
        registers::queue(queue.into(), self.pushed[usize::from(queue & 1)])
    }

    /// The queues after a group.
    pub(super) fn behind(mut self, group: &Group) -> Result<Queues, Refused> {
        let slots = || group.slots.iter().flatten();
        let pops = |source: Source| matches!(source, Source::Queue(_, true));
        let group_pops = slots().any(|slot| slot.sources().any(|(.., source)| pops(source)));
        for (queue, flag) in [Flag::PushesA, Flag::PushesB].into_iter().enumerate() {
            // The group pops one entry of both queues at its end, however often it reads them.
            if group_pops && self.popped[queue] < self.pushed[queue] {
                self.popped[queue] += 1;
            }
            self.pushed[queue] += slots().filter(|slot| slot.row().has(flag)).count() as u16;
            if self.pushed[queue] - self.popped[queue] > QUEUE {
                return Err(UNSUPPORTED);
            }
        }
        Ok(self)
    }
}
