//! A progress bar that appears late, disappears when it is dropped, and does not disturb the output
//! of kernels.

use std::fmt::Write;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::text::Grouped;

/// A launch that ends within this time needs no progress bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress of the launch.
#[derive(Debug)]
pub(super) struct Progress {
    started: Instant,
    workgroups: u64,
    /// Set while it is visible.
    bar: Option<ProgressBar>,
    /// Whether the last output ended within a line: the bar would overwrite it.
    within_line: bool,
}

/// The rate of workgroups so far, and the remaining time at that rate. Empty before the first one.
fn pace(state: &ProgressState, out: &mut dyn Write) {
    let (done, all) = (state.pos(), state.len().unwrap_or(0));
    let seconds = state.elapsed().as_secs_f64();
    let rate = done as f64 / seconds;
    if done == 0 || !rate.is_finite() {
        return;
    }
    let left = Duration::try_from_secs_f64(all.saturating_sub(done) as f64 / rate).unwrap_or(Duration::MAX);
    let left = HumanDuration(left);
    // A full buffer is not an error.
    let _ = match rate < 10.0 {
        true => write!(out, ", {rate:.1} per second, {left:#} left"),
        false => write!(out, ", {} per second, {left:#} left", Grouped(rate as u64)),
    };
}

impl Progress {
    pub(super) fn new(workgroups: u64) -> Progress {
        Progress { started: Instant::now(), workgroups, bar: None, within_line: false }
    }

    fn bar(&self, target: ProgressDrawTarget) -> ProgressBar {
        let bar =
            ProgressBar::with_draw_target(Some(self.workgroups), target).with_elapsed(self.started.elapsed());
        // The template is constant, and a test checks its output.
        let template = "{elapsed_precise} [{bar:30}] {human_pos} of {human_len} workgroups{pace}";
        match ProgressStyle::with_template(template) {
            Ok(style) => bar.with_style(style.with_key("pace", pace).progress_chars("=> ")),
            Err(_) => bar,
        }
    }

    /// Shows how many workgroups are done, if it is time and the cursor is at the start of a line.
    pub(super) fn show(&mut self, done: u64, target: impl FnOnce() -> ProgressDrawTarget) {
        if self.within_line || self.started.elapsed() < PATIENCE {
            return;
        }
        if self.bar.is_none() {
            self.bar = Some(self.bar(target()));
        }
        if let Some(bar) = &self.bar {
            bar.set_position(done);
            bar.tick();
        }
    }

    /// Hides the bar before other output to the terminal. The next [`Progress::show`] shows it
    /// again below that output.
    pub(super) fn make_room(&mut self, text: &[u8]) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        if let Some(last) = text.last() {
            self.within_line = *last != b'\n';
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.make_room(&[]);
    }
}

#[cfg(test)]
mod tests {
    use indicatif::{InMemoryTerm, TermLike as _};

    use super::*;

    #[test]
    fn the_bar_comes_after_a_second_and_goes() {
        let term = InMemoryTerm::new(4, 120);
        let target = || ProgressDrawTarget::term_like(Box::new(term.clone()));
        let mut progress = Progress::new(2000);
        progress.show(1, target);
        assert_eq!(term.contents(), "");
        let Some(earlier) = Instant::now().checked_sub(Duration::from_secs(2)) else { return };
        progress.started = earlier;
        // Before the first workgroup is done, the rate is unknown.
        progress.show(0, target);
        let shown = term.contents();
        assert!(shown.ends_with("] 0 of 2,000 workgroups"), "{shown}");
        progress.make_room(b"\n");
        progress.show(500, target);
        let shown = term.contents();
        assert!(shown.contains("00:00:02 [=======>   "), "{shown}");
        assert!(shown.contains("] 500 of 2,000 workgroups, "), "{shown}");
        // The mean rate: a quarter in two seconds leaves six, less the host's own time.
        let rate = shown.split_once("workgroups, ").and_then(|(_, rest)| rest.split_once(" per second, "));
        let (rate, left) = rate.unwrap_or_else(|| panic!("{shown}"));
        assert!(rate.parse::<u64>().is_ok_and(|rate| (150..=250).contains(&rate)), "{shown}");
        assert!(["6s left", "7s left", "8s left", "9s left"].contains(&left), "{shown}");
        drop(progress);
        assert_eq!(term.contents(), "");
    }

    #[test]
    fn what_is_printed_stays() {
        let term = InMemoryTerm::new(20, 120);
        let target = || ProgressDrawTarget::term_like(Box::new(term.clone()));
        let mut progress = Progress::new(10);
        let Some(earlier) = Instant::now().checked_sub(Duration::from_secs(2)) else { return };
        progress.started = earlier;
        let mut printed = String::new();
        for (done, text) in ["one\n", "two", " and", " three\n", "\n", "four"].into_iter().enumerate() {
            progress.show(done as u64, target);
            let contents = term.contents();
            let ends_line = printed.is_empty() || printed.ends_with('\n');
            assert_eq!(contents.contains("of 10 workgroups"), ends_line, "{contents}");
            assert!(contents.starts_with(printed.trim_end()), "{contents}");
            progress.make_room(text.as_bytes());
            // A terminal driver returns to the first column on its own.
            term.write_str(&text.replace('\n', "\r\n")).unwrap();
            printed += text;
        }
        drop(progress);
        assert_eq!(term.contents(), "one\ntwo and three\n\nfour");
    }
}
