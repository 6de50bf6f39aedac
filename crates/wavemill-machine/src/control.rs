//! A hold on a run from the outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::out_of_range::OutOfRange;

/// A hold on a run from another thread: it can stop the run, and says how far it is. One for each run.
#[derive(Debug, Default)]
pub struct RunControl {
    stop: AtomicBool,
    done: AtomicU64,
    out_of_range: Mutex<OutOfRange>,
}

impl RunControl {
    /// Ends the run soon, with [`RunError::Stopped`](crate::RunError::Stopped) unless it is over before: waves look at
    /// it where their slices end, so that a short run may be over all the same.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether somebody asked the run to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Workgroups that have run to their end.
    #[must_use]
    pub fn workgroups_done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Accesses out of range of a run that has ended, in whatever way; none before.
    #[must_use]
    pub fn out_of_range(&self) -> OutOfRange {
        *self.out_of_range.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn ended(&self, out_of_range: OutOfRange) {
        *self.out_of_range.lock().unwrap_or_else(PoisonError::into_inner) = out_of_range;
    }

    pub(crate) fn workgroups_ended(&self, workgroups: u64) {
        self.done.fetch_add(workgroups, Relaxed);
    }
}
