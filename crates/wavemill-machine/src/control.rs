//! Controls a run from another thread.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use crate::out_of_range::OutOfRange;

/// Stops a run from another thread and reports its progress. Each run has its own.
#[derive(Debug, Default)]
pub struct RunControl {
    stop: AtomicBool,
    done: AtomicU64,
    out_of_range: Mutex<OutOfRange>,
    check: Option<Check>,
}

/// What the thread that started a run does from time to time.
struct Check {
    interval: Duration,
    goes_on: Box<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Check(every {:?})", self.interval)
    }
}

impl RunControl {
    /// A control that calls `goes_on` about once per `interval` of the run, on the thread that
    /// started it, and stops the run when that returns `false`. It is for embedders whose main
    /// thread must answer others, for example signals. A run that is shorter than the interval
    /// calls nothing.
    #[must_use]
    pub fn with_check(interval: Duration, goes_on: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let check = Some(Check { interval, goes_on: Box::new(goes_on) });
        RunControl { check, ..RunControl::default() }
    }

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

/// The checks of a run ([`RunControl::with_check`]).
pub(crate) struct Attendant<'a> {
    control: &'a RunControl,
    check: &'a Check,
    /// The thread that started the run.
    caller: ThreadId,
    start: Instant,
    /// Nanoseconds from the start to the next check.
    due: AtomicU64,
}

impl<'a> Attendant<'a> {
    /// The checks of a run that the current thread starts; `None` if its control has none.
    pub(crate) fn of(control: &'a RunControl) -> Option<Self> {
        let check = control.check.as_ref()?;
        let due = AtomicU64::new(nanoseconds(check.interval));
        Some(Attendant { control, check, caller: std::thread::current().id(), start: Instant::now(), due })
    }

    /// Time between two checks.
    pub(crate) fn interval(&self) -> Duration {
        self.check.interval
    }

    /// Whether the current thread started the run.
    pub(crate) fn is_here(&self) -> bool {
        std::thread::current().id() == self.caller
    }

    /// Checks whether the run goes on, if that is due and the current thread started the run.
    pub(crate) fn attend(&self) {
        let now = nanoseconds(self.start.elapsed());
        if now < self.due.load(Relaxed) || !self.is_here() {
            return;
        }
        if !self.control.is_stopped() && !(self.check.goes_on)() {
            self.control.stop();
        }
        let next = nanoseconds(self.start.elapsed()).saturating_add(nanoseconds(self.check.interval));
        self.due.store(next, Relaxed);
    }
}

/// A duration in nanoseconds; the largest number for 584 years and more.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
