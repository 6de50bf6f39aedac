//! Keeps an eye on launches while they run: the time that they may take, Ctrl-\, and how far they are.

use std::fmt::Write;
use std::io::IsTerminal as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use wavemill::RunControl;

use super::options::Job;
use super::text::Grouped;
use crate::failure::Failure;
use crate::message::{self, Format};

/// How often it looks.
const TICK: Duration = Duration::from_millis(50);
/// A launch that is over by then needs no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The eye.
#[derive(Debug)]
pub(super) struct Watch {
    /// When it is all over, and after how much time.
    deadline: Option<(Instant, Duration)>,
    /// Set by Ctrl-\.
    quit: Arc<AtomicBool>,
    /// Whether somebody sees a progress bar.
    bar: bool,
}

impl Watch {
    /// Begins to count the time.
    ///
    /// # Errors
    /// If the host does not take signal handlers.
    pub(super) fn start(job: &Job) -> Result<Watch, Failure> {
        let quit = Arc::new(AtomicBool::new(false));
        #[cfg(unix)]
        {
            use signal_hook::consts::SIGQUIT;
            use signal_hook::flag::{register, register_conditional_default};
            // The first one asks the run to stop, the second one ends the process at once.
            register_conditional_default(SIGQUIT, quit.clone())
                .and_then(|_| register(SIGQUIT, quit.clone()))
                .map_err(|error| Failure::input(format!("cannot listen for Ctrl-\\: {error}")))?;
        }
        let human = message::format() != Format::Json;
        Ok(Watch {
            // A time that no clock reaches is none.
            deadline: job.timeout.and_then(|time| Some((Instant::now().checked_add(time)?, time))),
            quit,
            bar: human && job.trace.is_none() && std::io::stderr().is_terminal(),
        })
    }

    /// Why the run has to end now, if it has.
    fn verdict(&self) -> Option<String> {
        if self.quit.load(Relaxed) {
            return Some("Ctrl-\\".to_owned());
        }
        let (end, time) = self.deadline?;
        (Instant::now() >= end).then(|| format!("--timeout: {} s are over", time.as_secs_f64()))
    }

    /// Runs a launch of so many workgroups. The second result is why it was told to stop, if it was.
    pub(super) fn during<T>(
        &self,
        control: &RunControl,
        workgroups: u64,
        run: impl FnOnce() -> T,
    ) -> (T, Option<String>) {
        // Nothing is left of the time for later launches of a run that an earlier one has used up.
        let mut why = self.verdict();
        if why.is_some() {
            control.stop();
            return (run(), why);
        }
        let (over, wait) = channel::<()>();
        let watch = move || {
            let mut progress = Progress::new(workgroups);
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
                    progress.show(control.workgroups_done(), ProgressDrawTarget::stderr);
                }
            }
        };
        std::thread::scope(|scope| {
            let watcher = std::thread::Builder::new().spawn_scoped(scope, watch);
            let result = run();
            drop(over);
            match watcher {
                Ok(watcher) => why = watcher.join().unwrap_or(None),
                // A host without a thread to spare runs the launch without an eye on it.
                Err(error) => log::warn!("cannot watch the launch: {error}"),
            }
            (result, why)
        })
    }
}

/// A progress bar that comes late, and goes when it is dropped.
struct Progress {
    started: Instant,
    /// It learns the rate from the beginning, but is not seen.
    bar: ProgressBar,
    shown: bool,
}

impl Progress {
    fn new(workgroups: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(workgroups), ProgressDrawTarget::hidden());
        let template =
            "{elapsed_precise} [{bar:30}] {human_pos} of {human_len} workgroups, {rate}, {eta} left";
        let rate = |state: &ProgressState, out: &mut dyn Write| {
            let rate = state.per_sec();
            // Nobody can be told that there is no room for it.
            let _ = match rate < 10.0 {
                true => write!(out, "{rate:.1} per second"),
                false => write!(out, "{} per second", Grouped(rate as u64)),
            };
        };
        // The template is ours, and a test reads what it makes.
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("rate", rate).progress_chars("=> "));
        }
        Progress { started: Instant::now(), bar, shown: false }
    }

    /// Notes how many workgroups are done, and shows it.
    fn show(&mut self, done: u64, target: impl FnOnce() -> ProgressDrawTarget) {
        if !self.shown && self.started.elapsed() >= PATIENCE {
            self.bar.set_draw_target(target());
            self.shown = true;
        }
        self.bar.set_position(done);
        self.bar.tick();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use indicatif::InMemoryTerm;

    use super::*;

    fn watch(deadline: Option<Duration>) -> Watch {
        let deadline = deadline.map(|time| (Instant::now() + time, time));
        Watch { deadline, quit: Arc::default(), bar: false }
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
        assert_eq!(why.as_deref(), Some("--timeout: 0.001 s are over"));
        // There is no time for the next one either.
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

    #[test]
    fn the_bar_comes_after_a_second_and_goes() {
        let term = InMemoryTerm::new(4, 120);
        let target = || ProgressDrawTarget::term_like(Box::new(term.clone()));
        let mut progress = Progress::new(2000);
        progress.show(1, target);
        assert_eq!(term.contents(), "");
        let Some(earlier) = Instant::now().checked_sub(PATIENCE) else { return };
        progress.started = earlier;
        progress.show(500, target);
        let shown = term.contents();
        assert!(shown.starts_with("00:00:00 [=======>   "), "{shown}");
        assert!(shown.contains("] 500 of 2,000 workgroups, "), "{shown}");
        assert!(shown.contains(" per second, ") && shown.ends_with(" left"), "{shown}");
        drop(progress);
        assert_eq!(term.contents(), "");
    }
}
