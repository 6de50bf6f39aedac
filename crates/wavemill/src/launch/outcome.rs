//! How launches end.

use super::stats::LaunchStats;
use crate::report::FaultReport;
use crate::stall::StallReport;
use crate::unfinished::Unfinished;
use crate::{Error, Result};

/// How a launch that ran has ended ([`Launch::outcome`](crate::Launch::outcome)).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Launch, Outcome};
///
/// # let (kernel, args) = given::vector_add(200)?;
/// // The kernel stores 256 elements to a buffer that has room for 200.
/// let outcome = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).outcome()?;
/// # assert!(matches!(outcome, Outcome::Fault(_)), "{outcome:?}");
/// match outcome {
///     Outcome::Finished(stats) => println!("{} instructions", stats.run.instructions),
///     Outcome::Fault(report) => {
///         assert_eq!(report.refused().len(), 56);
///         println!("{report}");
///     }
///     Outcome::Unsupported(report) => println!("not implemented: {report}"),
///     Outcome::Stalled(report) => println!("{report}"),
///     other => println!("stopped: {other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// All waves ended.
    Finished(Box<LaunchStats>),
    /// The kernel did something illegal.
    Fault(Box<FaultReport>),
    /// The kernel reached an instruction, or a form of one, that Wavemill does not run.
    Unsupported(Box<FaultReport>),
    /// All waves wait for something that will never happen.
    Stalled(Box<StallReport>),
    /// The launch reached
    /// [`RunOptions::max_instructions`](crate::launch::RunOptions::max_instructions).
    InstructionLimit(Box<Unfinished>),
    /// The launch reached [`Launch::time_limit`](crate::Launch::time_limit).
    TimeLimit(Box<Unfinished>),
    /// [`RunControl::stop`](crate::launch::RunControl::stop) was called.
    Stopped(Box<Unfinished>),
}

impl Outcome {
    /// The statistics of the launch, if it finished.
    ///
    /// # Errors
    /// Why it did not. [`Outcome::Unsupported`] is an [`Error::Fault`].
    pub fn finished(self) -> Result<LaunchStats> {
        match self {
            Outcome::Finished(stats) => Ok(*stats),
            Outcome::Fault(report) | Outcome::Unsupported(report) => Err(Error::Fault(report)),
            Outcome::Stalled(report) => Err(Error::Stalled(report)),
            Outcome::InstructionLimit(report) => Err(Error::InstructionLimit(report)),
            Outcome::TimeLimit(report) => Err(Error::TimeLimit(report)),
            Outcome::Stopped(report) => Err(Error::Stopped(report)),
        }
    }
}
