//! Controls a run from another thread.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::out_of_range::OutOfRange;

/// Stops a run from another thread and reports its progress. Each run has its own.
#[derive(Debug, Default)]
pub struct RunControl {
    stop: AtomicBool,
    done: AtomicU64,
    out_of_range: Mutex<OutOfRange>,
}

impl RunControl {
    /// Ends the run soon, with [`RunError::Stopped`](crate::RunError::Stopped) unless it ends
    /// earlier. Waves check for the request at the ends of their slices, so a short run may still
    /// finish.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether a stop was requested.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Workgroups that have run to their end.
    #[must_use]
    pub fn workgroups_done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Out-of-range accesses of a run that has ended, whatever the reason; none before the end.
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
