//! Errors.

use wavemill_engine::MemoryError;
use wavemill_object::TargetId;
use wavemill_object::printable::Printable;

use crate::live::{LISTED, LISTED_IN_FULL, List, LiveWave};
use crate::report::FaultReport;
use crate::stall::StallReport;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong on the way from a file to a finished launch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is no usable code object.
    #[error(transparent)]
    Object(#[from] wavemill_object::Error),
    /// Guest memory could not be allocated or accessed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// The code is for a chip that Wavemill does not model.
    #[error("the code is for {target}, which Wavemill does not run; it runs {supported}")]
    UnsupportedTarget {
        /// The target of the code.
        target: String,
        /// Targets that can be run.
        supported: String,
    },
    /// The code object does not fit the device.
    #[error("the code object is for {object}, but the device is {device}")]
    TargetMismatch {
        /// Target of the code object.
        object: TargetId,
        /// Target of the device.
        device: TargetId,
    },
    /// The file holds code for no or for several targets, and none was asked for.
    #[error("the file has code for {available}; say which target to use")]
    AmbiguousTarget {
        /// Targets in the file.
        available: String,
    },
    /// There is no kernel of that name.
    #[error(
        "no kernel `{}` in the code object{}; it has {}",
        Printable(name),
        DidYouMean(near),
        Printable(available)
    )]
    NoKernel {
        /// The name that was asked for.
        name: String,
        /// Kernels of the code object.
        available: String,
        /// Names that may have been meant, the likeliest first.
        near: Vec<String>,
    },
    /// The size of the device heap was set too late.
    #[error(
        "the device heap has {size} bytes already; set its size before the first launch of a kernel that allocates"
    )]
    HeapInUse {
        /// Bytes that it has.
        size: u64,
    },
    /// An argument does not fit its parameter.
    #[error("kernel `{}`: {problem}", Printable(kernel))]
    Argument {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        problem: ArgumentError,
    },
    /// The launch is impossible on the device.
    #[error("cannot launch `{}`: {problem}", Printable(kernel))]
    Launch {
        /// The kernel.
        kernel: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// The code object wants for the kernel what no launch can give it.
    #[error("the code object is not usable for `{}`: {problem}", Printable(kernel))]
    Unusable {
        /// The kernel.
        kernel: String,
        /// What it wants, and what there is.
        problem: String,
    },
    /// The kernel did something that it must not do.
    #[error("{0}")]
    Fault(Box<FaultReport>),
    /// All waves wait for something that will never happen.
    #[error("{0}")]
    Stalled(Box<StallReport>),
    /// The kernel ran longer than allowed.
    #[error("{}", Ended::new(kernel, *.ran, Some(*.limit), live, *.not_started))]
    InstructionLimit {
        /// The kernel.
        kernel: String,
        /// The limit, in guest instructions of all waves.
        limit: u64,
        /// Instructions that ran: waves are stopped between blocks of code, so that these may be more.
        ran: u64,
        /// The waves that had started and not ended.
        live: Vec<LiveWave>,
        /// Workgroups that had not started.
        not_started: u64,
    },
    /// [`RunControl::stop`](crate::RunControl::stop) was called.
    #[error("{}", Ended::new(kernel, *.ran, None, live, *.not_started))]
    Stopped {
        /// The kernel.
        kernel: String,
        /// Instructions that ran.
        ran: u64,
        /// The waves that had started and not ended.
        live: Vec<LiveWave>,
        /// Workgroups that had not started.
        not_started: u64,
    },
}

impl Error {
    /// The text with all that is known: of a fault the state of the wave and its registers, of a grid that did not finish
    /// more of its waves. Of other errors there is no more to say.
    #[must_use]
    pub fn full(&self) -> String {
        let full = |ended: Ended<'_>| Ended { lines: LISTED_IN_FULL, ..ended }.to_string();
        match self {
            Error::Fault(report) => report.full().to_string(),
            Error::Stalled(report) => report.full().to_string(),
            Error::InstructionLimit { kernel, limit, ran, live, not_started } => {
                full(Ended::new(kernel, *ran, Some(*limit), live, *not_started))
            }
            Error::Stopped { kernel, ran, live, not_started } => {
                full(Ended::new(kernel, *ran, None, live, *not_started))
            }
            other => other.to_string(),
        }
    }
}

/// Why an argument was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// Too few or too many arguments.
    #[error("takes {expected} arguments, {found} were given")]
    Count {
        /// Parameters of the kernel.
        expected: usize,
        /// Arguments given.
        found: usize,
    },
    /// The size of a value is not that of its parameter.
    #[error("argument {index}{} is {found} bytes, but the parameter has {expected}", Named(.name))]
    Size {
        /// Number of the argument, from 0.
        index: usize,
        /// Its name, if known.
        name: Option<String>,
        /// Bytes of the parameter.
        expected: u32,
        /// Bytes given.
        found: usize,
    },
    /// The kind of a value is not that of its parameter.
    #[error("argument {index}{} is {found}, but the parameter is {expected}", Named(.name))]
    Kind {
        /// Number of the argument, from 0.
        index: usize,
        /// Its name, if known.
        name: Option<String>,
        /// What the parameter is.
        expected: String,
        /// What was given.
        found: &'static str,
    },
    /// A buffer of another device.
    #[error("argument {index}{} is a buffer of another device", Named(.name))]
    OtherDevice {
        /// Number of the argument, from 0.
        index: usize,
        /// Its name, if known.
        name: Option<String>,
    },
    /// The code object does not say what the parameters are.
    #[error("the code object has no metadata for it; pass the kernel argument segment as raw bytes")]
    NoMetadata,
}

/// `, did you mean NAME?`, if there are names.
struct DidYouMean<'a>(&'a [String]);

impl std::fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => Ok(()),
            names => write!(f, " (did you mean `{}`?)", Printable(&names.join("`, `"))),
        }
    }
}

/// A grid that was stopped, and what it still had to do.
struct Ended<'a> {
    kernel: &'a str,
    /// Instructions that ran.
    ran: u64,
    /// The limit that stopped it.
    limit: Option<u64>,
    waves: &'a [LiveWave],
    /// Workgroups that had not started.
    groups: u64,
    /// Lines of waves, at most.
    lines: usize,
}

impl<'a> Ended<'a> {
    fn new(kernel: &'a str, ran: u64, limit: Option<u64>, waves: &'a [LiveWave], groups: u64) -> Self {
        Ended { kernel, ran, limit, waves, groups, lines: LISTED }
    }
}

impl std::fmt::Display for Ended<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ended { kernel, ran, waves, groups, lines, .. } = *self;
        write!(f, "`{}` was stopped after {ran} instructions", Printable(kernel))?;
        if let Some(limit) = self.limit {
            write!(f, ": the limit is {limit}")?;
        }
        let s = |n: bool| if n { "" } else { "s" };
        write!(
            f,
            "; {} wave{} still running, {groups} workgroup{} not started{}",
            waves.len(),
            s(waves.len() == 1),
            s(groups == 1),
            List { waves, indent: "  ", lines }
        )
    }
}

/// ` (name)` if there is a name.
struct Named<'a>(&'a Option<String>);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (`{name}`)"),
            None => Ok(()),
        }
    }
}
