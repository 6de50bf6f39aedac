//! Serialises how launches end, and why a search for a kernel fails.

use serde::{Serialize, Serializer};

use crate::fault::{FaultReport, StallReport, Unfinished};
use crate::find::FindError;
use crate::launch::Outcome;
use crate::stats::LaunchStats;

/// `outcome` names the ending, `report` is the statistics or the report.
#[derive(Serialize)]
#[serde(tag = "outcome", content = "report", rename_all = "snake_case")]
enum OutcomeData<'a> {
    Finished(&'a LaunchStats),
    Fault(&'a FaultReport),
    Unsupported(&'a FaultReport),
    Stalled(&'a StallReport),
    InstructionLimit(&'a Unfinished),
    TimeLimit(&'a Unfinished),
    Stopped(&'a Unfinished),
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Outcome::Finished(stats) => OutcomeData::Finished(stats),
            Outcome::Fault(report) => OutcomeData::Fault(report),
            Outcome::Unsupported(report) => OutcomeData::Unsupported(report),
            Outcome::Stalled(report) => OutcomeData::Stalled(report),
            Outcome::InstructionLimit(report) => OutcomeData::InstructionLimit(report),
            Outcome::TimeLimit(report) => OutcomeData::TimeLimit(report),
            Outcome::Stopped(report) => OutcomeData::Stopped(report),
        }
        .serialize(serializer)
    }
}

/// `error` names the error; the other fields hold its known details.
#[derive(Serialize)]
#[serde(tag = "error", rename_all = "snake_case")]
enum FindData<'a> {
    Object,
    Target,
    OtherTarget { code: String, target: String },
    SeveralTargets { targets: Vec<String> },
    AmbiguousName { name: &'a str, kernels: &'a [String] },
    NoKernel { problems: &'a [String] },
    SeveralKernels { kernels: &'a [String] },
    Unusable { name: &'a str, problems: &'a [String] },
    UnknownKernel { name: &'a str, near: &'a [String], kernels: &'a [String] },
}

#[derive(Serialize)]
struct FindMessage<'a> {
    /// The message.
    what: String,
    #[serde(flatten)]
    data: FindData<'a>,
}

impl Serialize for FindError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let data = match self {
            FindError::Object(_) => FindData::Object,
            FindError::Target(_) => FindData::Target,
            FindError::OtherTarget { code, target } => {
                FindData::OtherTarget { code: code.to_string(), target: target.to_string() }
            }
            FindError::SeveralTargets { targets } => {
                FindData::SeveralTargets { targets: targets.iter().map(ToString::to_string).collect() }
            }
            FindError::AmbiguousName { name, kernels } => FindData::AmbiguousName { name, kernels },
            FindError::NoKernel { problems } => FindData::NoKernel { problems },
            FindError::SeveralKernels { kernels } => FindData::SeveralKernels { kernels },
            FindError::Unusable { name, problems } => FindData::Unusable { name, problems },
            FindError::UnknownKernel { name, near, kernels } => {
                FindData::UnknownKernel { name, near, kernels }
            }
        };
        FindMessage { what: self.to_string(), data }.serialize(serializer)
    }
}
