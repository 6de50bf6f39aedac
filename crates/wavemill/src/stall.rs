//! Text reports of grids that can never finish.

use std::fmt;
use wavemill_object::printable::Echo;

use crate::unfinished::{LISTED_IN_FULL, List, UnfinishedWave};

/// A grid that can never finish: every wave waits at a barrier, or in a loop that reads memory
/// which no wave will change.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Launch, Outcome, RunOptions};
///
/// # use wavemill::{Arg, Device, Module};
/// # let object = given::built("faults/source.co")?;
/// # let device = Device::for_object(&object)?;
/// # let kernel = Module::load(&device, &object)?.kernel("wait_for_flag")?;
/// # let flag = device.buffer("flag", 64)?;
/// # let args = [Arg::from(&flag), Arg::from(&flag), Arg::from(&flag)];
/// // The kernel polls a flag that nothing sets.
/// let launch = Launch::new(&kernel).workgroup_size([64, 1, 1]).args(args);
/// let outcome = launch.options(RunOptions { find_stalls: true, ..RunOptions::default() }).outcome()?;
/// let Outcome::Stalled(report) = outcome else { panic!("expected a stall, found {outcome:?}") };
/// println!("{report}");
/// let wave = &report.waves[0];
/// assert_eq!(wave.looks_at, Some(("flag".to_owned(), 0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct StallReport {
    /// Name of the launched kernel.
    pub kernel: String,
    /// The resident waves, in the order of their workgroups.
    pub waves: Vec<UnfinishedWave>,
    /// Workgroups that could not start, because no resident one ended.
    pub not_started: u64,
}

impl StallReport {
    /// The report with lines for more of the waves.
    #[must_use]
    pub fn full(&self) -> FullStallReport<'_> {
        FullStallReport(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, waves: &List<'_>) -> fmt::Result {
        f.write_str("the grid can never finish: ")?;
        let endless = self.waves.iter().filter(|wave| wave.is_in_infinite_loop()).count();
        match (endless, self.waves.len()) {
            (0, _) => f.write_str("its waves wait, and no wave can end the wait")?,
            (1, 1) => f.write_str("its wave is in an infinite loop")?,
            (n, all) if n == all => f.write_str("its waves are in infinite loops")?,
            (1, _) => f.write_str("a wave is in an infinite loop, and the others wait")?,
            (n, _) => write!(f, "{n} waves are in infinite loops, and the others wait")?,
        }
        writeln!(f, "\n  kernel       {}", Echo::new(&wavemill_object::readable(&self.kernel)))?;
        writeln!(f, "  waves        {}{waves}", self.waves.len())?;
        if self.not_started > 0 {
            let s = if self.not_started == 1 { "" } else { "s" };
            writeln!(
                f,
                "  not started  {} workgroup{s}, because no resident workgroup ended; if resident waves wait for them, the \
                 grid is too large",
                self.not_started
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &List::short(&self.waves, INDENT))
    }
}

/// A report of a grid that can never finish, with lines for more of its waves.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Arg, Device, Launch, Module, Outcome, RunOptions};
/// # let object = given::built("faults/source.co")?;
/// # let device = Device::for_object(&object)?;
/// # let kernel = Module::load(&device, &object)?.kernel("wait_for_flag")?;
/// # let flag = device.buffer("flag", 64)?;
/// # let args = [Arg::from(&flag), Arg::from(&flag), Arg::from(&flag)];
/// # let launch = Launch::new(&kernel).workgroups([20, 1, 1]).args(args);
/// # let outcome = launch.options(RunOptions { find_stalls: true, ..RunOptions::default() }).outcome()?;
/// # let Outcome::Stalled(report) = outcome else { panic!("expected a stall, found {outcome:?}") };
/// // `report` of 20 waves that poll a flag.
/// let full = report.full().to_string();
/// println!("{full}");
/// assert!(full.starts_with("the grid can never finish: "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FullStallReport<'a>(&'a StallReport);

impl fmt::Display for FullStallReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FullStallReport(report) = self;
        report.write(f, &List { waves: &report.waves, indent: INDENT, lines: LISTED_IN_FULL })
    }
}

/// Start of the lines of waves.
const INDENT: &str = "    ";
