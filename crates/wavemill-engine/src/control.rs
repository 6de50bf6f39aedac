//! A hold on a run from the outside.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A hold on a run from another thread: it can be stopped, and tells how far it is. One for each run.
#[derive(Debug, Default)]
pub struct RunControl {
    stop: AtomicBool,
    done: AtomicU64,
}

impl RunControl {
    /// Ends the run soon, with [`RunError::Stopped`](crate::RunError::Stopped) unless it is over before: waves look at
    /// it where their slices end, so that a short run may be over all the same.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Whether the run was told to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    /// Workgroups that have run to their end.
    #[must_use]
    pub fn workgroups_done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    pub(crate) fn workgroups_ended(&self, workgroups: u64) {
        self.done.fetch_add(workgroups, Relaxed);
    }
}
