//! How launches end.

use super::stats::LaunchStats;
use crate::report::FaultReport;
use crate::stall::StallReport;
use crate::unfinished::Unfinished;
use crate::{Error, Result};

/// How a launch that ran has ended ([`Launch::outcome`](crate::Launch::outcome)).
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
