//! Errors of the crate.

use wavemill_isa::Target;
pub use wavemill_machine::MemoryError;
use wavemill_object::TargetId;
use wavemill_object::printable::Echo;

use crate::report::FaultReport;
use crate::stall::StallReport;
use crate::unfinished::Unfinished;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Errors between opening a file and finishing a launch.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Device, Error, Module};
///
/// # let object = given::vector_add_object()?;
/// let module = Module::load(&Device::for_object(object)?, object)?;
/// match module.kernel("vector_ad") {
///     Err(Error::NoKernel { near, .. }) => assert_eq!(near, ["vector_add"]),
///     other => panic!("expected an error, found {other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is not a usable code object.
    #[error(transparent)]
    Object(#[from] wavemill_object::Error),
    /// Guest memory could not be allocated or accessed.
    #[error(transparent)]
    Memory(#[from] MemoryError),
    /// Bytes that are not in the global data share.
    #[error(
        "{size} bytes at byte {offset} are not in the global data share, which has {} bytes",
        wavemill_machine::GDS_BYTES
    )]
    Gds {
        /// The first byte.
        offset: u32,
        /// Number of bytes.
        size: usize,
    },
    /// No image has the requested description.
    #[error("cannot create the image: {0}")]
    Image(String),
    /// No sampler has the requested description.
    #[error("cannot create the sampler: {0}")]
    Sampler(String),
    /// Bytes that are not in the image.
    #[error("{size} bytes at byte {offset} are not in the image, which has {total} bytes")]
    ImageRange {
        /// The first byte.
        offset: u64,
        /// Number of bytes.
        size: usize,
        /// Bytes of the image, without gaps.
        total: u64,
    },
    /// Contents of another size than the first mip level.
    #[error("expected the {expected} bytes of the first mip level, found {found} bytes")]
    ImageLevel {
        /// Bytes of the level, without gaps.
        expected: u64,
        /// Bytes of the contents.
        found: usize,
    },
    /// A file lacks the requested kernel, or has several matches.
    #[error(transparent)]
    Find(Box<FindError>),
    /// The code is for a chip that Wavemill does not model.
    #[error(
        "the code is for {target}, which Wavemill does not run; it runs {supported}: compile the code for one of these"
    )]
    UnsupportedTarget {
        /// The target of the code.
        target: String,
        /// Targets that Wavemill runs.
        supported: String,
    },
    /// The target's pointers have 32 bits, and guest addresses would be the host's.
    #[error(
        "pointers of {target} have 32 bits, and cannot hold addresses of the host: use the address mode sandbox"
    )]
    ShortPointers {
        /// The target.
        target: String,
    },
    /// The code object does not fit the device.
    #[error("the code object is for {object}, but the device is {device}")]
    TargetMismatch {
        /// Target of the code object.
        object: TargetId,
        /// Target of the device.
        device: TargetId,
    },
    /// The file holds code for no target or for several, and none was requested.
    #[error("the file has code for {available}; choose one target")]
    AmbiguousTarget {
        /// Targets in the file.
        available: String,
    },
    /// There is no kernel of that name.
    #[error(
        "no kernel `{}` in the code object{}; it has {}",
        Echo::new(name),
        DidYouMean(near),
        Echo::up_to(available, LONGEST_LIST)
    )]
    NoKernel {
        /// The requested name.
        name: String,
        /// Kernels of the code object.
        available: String,
        /// Likely intended names, the likeliest first.
        near: Vec<String>,
    },
    /// An argument does not fit its parameter.
    #[error("kernel `{}`: {problem}", Echo::new(kernel))]
    Argument {
        /// The kernel.
        kernel: String,
        /// The error.
        problem: ArgumentError,
    },
    /// The launch is impossible on the device.
    #[error("cannot launch `{}`: {problem}", Echo::new(kernel))]
    Launch {
        /// The kernel.
        kernel: String,
        /// The error, and what would be right.
        problem: String,
    },
    /// The code object requests resources for the kernel that no launch can provide.
    #[error("the code object is not usable for `{}`: {problem}", Echo::new(kernel))]
    Unusable {
        /// The kernel.
        kernel: String,
        /// The request, and the limit.
        problem: String,
    },
    /// Machine code without a code object cannot be loaded.
    #[error("cannot load the code `{}`: {problem}", Echo::new(name))]
    Code {
        /// The name of its kernel.
        name: String,
        /// The error, and what would be right.
        problem: String,
    },
    /// The kernel did something illegal.
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
    /// The error for a target that Wavemill does not run.
    pub(crate) fn unsupported(target: impl Into<String>) -> Error {
        let supported = Target::ALL.iter().map(|target| target.name()).collect::<Vec<_>>().join(", ");
        Error::UnsupportedTarget { target: target.into(), supported }
    }

    /// The text with all known details. A fault adds the state of the wave and its registers; a
    /// grid that did not finish adds more of its waves. Other errors have no more details.
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

/// Why an argument was rejected.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::error::ArgumentError;
/// use wavemill::{Arg, Error, Launch};
///
/// # let (kernel, mut args) = given::vector_add(256)?;
/// // The last parameter of `kernel` is a `uint`.
/// args[3] = Arg::from(256u64);
/// match Launch::new(&kernel).args(args).check() {
///     Err(Error::Argument { problem: ArgumentError::Size { index, expected, found, .. }, .. }) => {
///         assert_eq!((index, expected, found), (3, 4, 8));
///     }
///     other => panic!("expected an error, found {other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// Too few or too many arguments.
    #[error("expected {expected} arguments, found {found}")]
    Count {
        /// Parameters of the kernel.
        expected: usize,
        /// Arguments given.
        found: usize,
    },
    /// The size of a value differs from the size of its parameter.
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
    /// The kind of a value differs from the kind of its parameter.
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
    /// An alignment that no type has.
    #[error("the alignment of argument {index} is {found}, but a power of two up to {most} is expected")]
    Alignment {
        /// Number of the argument, from 0.
        index: usize,
        /// The alignment given, in bytes.
        found: u32,
        /// The largest alignment, in bytes.
        most: u32,
    },
    /// A vector or a structure whose alignment neither the code object nor the launch gives.
    #[error(
        "argument {index} has {bytes} bytes and no alignment: that of a vector is its size, that of a structure is the size \
         of its largest member"
    )]
    UnknownAlignment {
        /// Number of the argument, from 0.
        index: usize,
        /// Bytes given.
        bytes: usize,
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
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::find::{FindError, Finder};
///
/// # let file = given::vector_add_object()?;
/// let result = Finder::new(file).kernel("vector_sub").find();
/// # assert!(matches!(result, Err(FindError::UnknownKernel { .. })), "{result:?}");
/// match result {
///     Ok(found) => println!("{}", found.kernel),
///     Err(FindError::UnknownKernel { near, kernels, .. }) => {
///         println!("likely names: {near:?}");
///         assert_eq!(kernels, ["vector_add"]);
///     }
///     Err(FindError::AmbiguousName { kernels, .. }) => println!("choose one of {kernels:?}"),
///     Err(error) => return Err(error.into()),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
        /// Target of the code object. [`targets_for`](crate::device::targets_for) returns the
        /// targets that run it.
        code: TargetId,
        /// The requested target.
        target: TargetId,
    },
    /// The file has code for no target or for several, and none was requested.
    #[error("the file has code for {} targets; choose one", targets.len())]
    SeveralTargets {
        /// The targets that Wavemill runs, or all targets if it runs none of them.
        targets: Vec<TargetId>,
    },
    /// The name fits several kernels.
    #[error("`{}` matches {} kernels", Echo::new(name), kernels.len())]
    AmbiguousName {
        /// The requested name.
        name: String,
        /// The symbols of the kernels.
        kernels: Vec<String>,
    },
    /// The code for the target has no kernel that could run.
    #[error("it has no kernel that can run")]
    NoKernel {
        /// Errors of kernels in it.
        problems: Vec<String>,
    },
    /// There are several kernels, and no name was given.
    #[error("there are {} kernels; choose one", kernels.len())]
    SeveralKernels {
        /// Their symbols.
        kernels: Vec<String>,
    },
    /// The kernel exists but cannot run.
    #[error("the kernel `{}` cannot run", Echo::new(name))]
    Unusable {
        /// The requested name.
        name: String,
        /// Why it cannot run.
        problems: Vec<String>,
    },
    /// There is no kernel of that name.
    #[error("there is no kernel `{}`", Echo::new(name))]
    UnknownKernel {
        /// The requested name.
        name: String,
        /// Likely intended names, the likeliest first.
        near: Vec<String>,
        /// The symbols of all kernels.
        kernels: Vec<String>,
    },
}

/// Most bytes of a list of names.
const LONGEST_LIST: usize = 4 << 10;

/// `, did you mean NAME?`, if there are names.
struct DidYouMean<'a>(&'a [String]);

impl std::fmt::Display for DidYouMean<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            [] => Ok(()),
            names => write!(f, " (did you mean `{}`?)", Echo::up_to(&names.join("`, `"), LONGEST_LIST)),
        }
    }
}

/// ` (name)` if there is a name.
struct Named<'a>(&'a Option<String>);

impl std::fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(name) => write!(f, " (`{}`)", Echo::new(name)),
            None => Ok(()),
        }
    }
}
