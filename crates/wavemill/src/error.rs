//! Errors.

use wavemill_isa::Target;
use wavemill_machine::MemoryError;
use wavemill_object::TargetId;
use wavemill_object::printable::Printable;

use crate::report::FaultReport;
use crate::stall::StallReport;
use crate::unfinished::Unfinished;

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
    /// A file lacks the kernel that is looked for, or has several.
    #[error(transparent)]
    Find(Box<FindError>),
    /// The code is for a chip that Wavemill does not model.
    #[error(
        "the code is for {target}, which Wavemill does not run; it runs {supported}: compile the code for one of these"
    )]
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
    /// The kernel ran more instructions than allowed.
    #[error("{0}")]
    InstructionLimit(Box<Unfinished>),
    /// The kernel ran longer than [`Launch::time_limit`](crate::Launch::time_limit) allows.
    #[error("{0}")]
    TimeLimit(Box<Unfinished>),
    /// [`RunControl::stop`](crate::launch::RunControl::stop) was called.
    #[error("{0}")]
    Stopped(Box<Unfinished>),
}

impl From<FindError> for Error {
    fn from(error: FindError) -> Error {
        match error {
            FindError::Object(error) => Error::Object(error),
            FindError::Target(error) => *error,
            error => Error::Find(Box::new(error)),
        }
    }
}

impl Error {
    /// That Wavemill does not run code for the target.
    pub(crate) fn unsupported(target: impl Into<String>) -> Error {
        let supported = Target::GCN.iter().map(|target| target.name()).collect::<Vec<_>>().join(", ");
        Error::UnsupportedTarget { target: target.into(), supported }
    }

    /// The text with all that is known: of a fault the state of the wave and its registers, of a grid that did not finish
    /// more of its waves. Of other errors there is no more to say.
    #[must_use]
    pub fn full(&self) -> String {
        match self {
            Error::Fault(report) => report.full().to_string(),
            Error::Stalled(report) => report.full().to_string(),
            Error::InstructionLimit(report) | Error::TimeLimit(report) | Error::Stopped(report) => {
                report.full().to_string()
            }
            other => other.to_string(),
        }
    }
}

/// Why an argument was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
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

/// Why a search for a kernel in a file fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// The file cannot be read.
    #[error(transparent)]
    Object(#[from] wavemill_object::Error),
    /// The target cannot be run, or the file's targets cannot be read.
    #[error(transparent)]
    Target(Box<Error>),
    /// The code object is for another target.
    #[error("the code object is for {code}, which does not run on {target}")]
    OtherTarget {
        /// Target of the code object. [`targets_for`](crate::device::targets_for) says what runs it.
        code: TargetId,
        /// Target that was asked for.
        target: TargetId,
    },
    /// The file has code for none or several targets, and none was asked for.
    #[error("the file has code for {} targets; say which one to run", targets.len())]
    SeveralTargets {
        /// Those that can be run, or if there are none of them all.
        targets: Vec<TargetId>,
    },
    /// The name can be that of several kernels.
    #[error("`{}` can be any of {} kernels", Printable(name), kernels.len())]
    AmbiguousName {
        /// The name that was asked for.
        name: String,
        /// The symbols of the kernels.
        kernels: Vec<String>,
    },
    /// The code for the target has no kernel that could run.
    #[error("there is no kernel in it that could run")]
    NoKernel {
        /// What is wrong with kernels that are there.
        problems: Vec<String>,
    },
    /// There are several kernels, and no name was asked for.
    #[error("there are {} kernels; say which one to run", kernels.len())]
    SeveralKernels {
        /// Their symbols.
        kernels: Vec<String>,
    },
    /// The kernel of that name is there, and cannot run.
    #[error("the kernel `{}` cannot run", Printable(name))]
    Unusable {
        /// The name that was asked for.
        name: String,
        /// What is wrong with it.
        problems: Vec<String>,
    },
    /// There is no kernel of that name.
    #[error("there is no kernel `{}`", Printable(name))]
    UnknownKernel {
        /// The name that was asked for.
        name: String,
        /// Names that may have been meant, the likeliest first.
        near: Vec<String>,
        /// The symbols of all kernels.
        kernels: Vec<String>,
    },
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
