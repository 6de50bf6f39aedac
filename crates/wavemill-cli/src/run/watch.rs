//! Watches launches while they run: the time limit, Ctrl-\ and the progress.

use std::io::IsTerminal as _;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::ProgressDrawTarget;
use wavemill::launch::RunControl;

use super::job::Job;
use super::progress::Progress;
use crate::failure::{Exit, Failure};
use crate::message::{self, Format};

/// Interval between checks.
const TICK: Duration = Duration::from_millis(50);

/// The watch over a run.
#[derive(Debug)]
pub(super) struct Watch {
    /// The end of the allowed time, and the allowed time.
    deadline: Option<(Instant, Duration)>,
    /// Set by Ctrl-\.
    quit: Arc<AtomicBool>,
    /// Set when the trace can no longer be written.
    lost: Arc<AtomicBool>,
    /// Whether a progress bar can be seen.
    bar: bool,
    /// Progress of the running launch.
    progress: Mutex<Option<Progress>>,
}

impl Watch {
    /// Starts the time.
    ///
    /// # Errors
    /// The host does not support signal handlers.
    pub(super) fn start(job: &Job) -> Result<Watch, Failure> {
        let quit = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            use signal_hook::consts::SIGQUIT;
            use signal_hook::flag::{register, register_conditional_default};
            // The first signal asks the run to stop, the second one ends the process at once.
            register_conditional_default(SIGQUIT, quit.clone())
                .and_then(|_| register(SIGQUIT, quit.clone()))
                .map_err(|error| Failure::input(format!("cannot listen for Ctrl-\\: {error}")))?;
        }
        let human = message::format() != Format::Json;
        Ok(Watch {
            // A time beyond the range of the clock is no limit.
            deadline: job
                .options
                .checks
                .timeout
                .and_then(|time| Some((Instant::now().checked_add(time)?, time))),
            quit,
            lost: Arc::default(),
            bar: human && job.options.trace.job.is_none() && std::io::stderr().is_terminal(),
            progress: Mutex::new(None),
        })
    }

    /// Whether the run may continue with work other than a launch; `what` describes the work.
    ///
    /// # Errors
    /// The time is over, or Ctrl-\\ came.
    pub(super) fn check(&self, what: impl FnOnce() -> String) -> Result<(), Failure> {
        match self.verdict() {
            None => Ok(()),
            Some(why) => {
                Err(Failure::new(Exit::Limit, format!("{why}: the run was stopped while it {}", what())))
            }
        }
    }

    /// Calls `print`, which prints `text`. The progress bar makes room if both are on the terminal.
    pub(super) fn beside<T>(&self, on_terminal: bool, text: &[u8], print: impl FnOnce() -> T) -> T {
        // The lock is held until all is printed, so that the bar does not return meanwhile.
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(progress) = progress.as_mut().filter(|_| on_terminal) {
            progress.make_room(text);
        }
        print()
    }

    /// The flag that ends the run when the trace can no longer be written.
    pub(super) fn lost(&self) -> Arc<AtomicBool> {
        self.lost.clone()
    }

    /// Whether Ctrl-\ came.
    pub(super) fn was_quit(&self) -> bool {
        self.quit.load(Relaxed)
    }

    /// Why the run has to end now, if it has to.
    fn verdict(&self) -> Option<String> {
        if self.lost.load(Relaxed) {
            return Some("the trace is lost".to_owned());
        }
        if self.quit.load(Relaxed) {
            return Some("Ctrl-\\".to_owned());
        }
        let (end, time) = self.deadline?;
        (Instant::now() >= end).then(|| format!("--timeout: {} s have passed", time.as_secs_f64()))
    }

    /// Runs a launch of this many workgroups. The second result is why it was stopped, if it was.
    pub(super) fn during<T>(
        &self,
        control: &RunControl,
        workgroups: u64,
        run: impl FnOnce() -> T,
    ) -> (T, Option<String>) {
        // A later launch must not start if an earlier one has used up the time.
        let mut why = self.verdict();
        if why.is_some() {
            control.stop();
            return (run(), why);
        }
        let (over, wait) = channel::<()>();
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(Progress::new(workgroups));
        let watch = move || {
            loop {
                let left =
                    self.deadline.map_or(TICK, |(end, _)| end.saturating_duration_since(Instant::now()));
                match wait.recv_timeout(TICK.min(left)) {
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return None,
                }
                if let Some(why) = self.verdict() {
                    control.stop();
                    return Some(why);
                }
                if self.bar {
                    let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(progress) = &mut *progress {
                        progress.show(control.workgroups_done(), ProgressDrawTarget::stderr);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            let watcher = std::thread::Builder::new().spawn_scoped(scope, watch);
            let result = run();
            drop(over);
            match watcher {
                Ok(watcher) => why = watcher.join().unwrap_or(None),
                // A host that cannot start a thread runs the launch without a watch.
                Err(error) => log::warn!("cannot watch the launch: {error}"),
            }
            // The bar disappears.
            self.progress.lock().unwrap_or_else(PoisonError::into_inner).take();
            (result, why)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(deadline: Option<Duration>) -> Watch {
        let deadline = deadline.map(|time| (Instant::now() + time, time));
        Watch { deadline, quit: Arc::default(), lost: Arc::default(), bar: false, progress: Mutex::default() }
    }

    #[test]
    fn time_and_ctrl_backslash_stop_a_run() {
        let wait = |control: &RunControl| {
            while !control.is_stopped() {
                std::thread::yield_now();
            }
        };
        let control = RunControl::default();
        let watch_time = watch(Some(Duration::from_millis(1)));
        let (_, why) = watch_time.during(&control, 1, || wait(&control));
        assert_eq!(why.as_deref(), Some("--timeout: 0.001 s have passed"));
        // There is no time for the next launch either.
        let control = RunControl::default();
        let (stopped, why) = watch_time.during(&control, 1, || control.is_stopped());
        assert!(stopped && why.is_some());
        let control = RunControl::default();
        let asked = watch(None);
        let (_, why) = asked.during(&control, 1, || {
            asked.quit.store(true, Relaxed);
            wait(&control);
        });
        assert_eq!(why.as_deref(), Some("Ctrl-\\"));
        let control = RunControl::default();
        assert_eq!(watch(Some(Duration::from_secs(1000))).during(&control, 1, || 7), (7, None));
        assert!(!control.is_stopped());
    }
}
