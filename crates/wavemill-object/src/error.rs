//! Errors of inputs, in words that say how to fix them.

use std::fmt;

use crate::printable::Echo;
use crate::write::{LinkError, Listed, WriteError};

/// Result of reading GPU code.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an input could not be read.
///
/// Offsets are bytes from the start of the slice that was passed in, unless the message begins with
/// another location ([`Error::Within`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is something other than the caller expected.
    #[error("expected {expected}, found {found}{}", Advice(.advice))]
    Foreign {
        /// The structure that the caller wanted to read.
        expected: &'static str,
        /// A description of the bytes found.
        found: String,
        /// A remedy for the user; may be empty.
        advice: &'static str,
    },
    /// A structure reaches past the end of the input.
    #[error(
        "truncated: {what} needs {needed} bytes at offset {offset:#x}, but the input ends at {end:#x}; \
         the file is incomplete or damaged"
    )]
    Truncated {
        /// The structure.
        what: &'static str,
        /// Where it starts, in bytes.
        offset: u64,
        /// Its size in bytes.
        needed: u64,
        /// Length of the input in bytes.
        end: u64,
    },
    /// A structure contradicts itself or its format.
    #[error("malformed {what} at offset {offset:#x}: {detail}")]
    Malformed {
        /// The structure.
        what: &'static str,
        /// Where it starts, in bytes.
        offset: u64,
        /// The expectation and the finding.
        detail: String,
    },
    /// The format is known, but this part of it is not supported.
    #[error("unsupported {what}: {detail}")]
    Unsupported {
        /// The feature.
        what: &'static str,
        /// The finding and a remedy.
        detail: String,
    },
    /// Continuing would need more memory than any valid file.
    #[error("{what} of {size} bytes exceeds the limit of {limit} bytes; the file is probably damaged")]
    TooLarge {
        /// The structure that would be too large.
        what: &'static str,
        /// The size that the input states or reaches.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// Continuing would need more memory than [`Limits`](crate::Limits) allow.
    ///
    /// The message does not mention the parameter: a program that reads files has its own name for
    /// it.
    #[error("{what} needs {size} bytes, and the limit is {limit} bytes")]
    OverLimit {
        /// The structure that would be too large.
        what: &'static str,
        /// The size that the input states, which is the limit to set.
        size: u64,
        /// The limit that follows from [`Limits`](crate::Limits).
        limit: u64,
        /// The field of [`Limits`](crate::Limits) that raises it.
        parameter: &'static str,
    },
    /// No code object of the container fits the target.
    #[error("no code for {wanted}; the file has code for {}", Listing(.available))]
    NoMatch {
        /// The requested target.
        wanted: String,
        /// The entries of the container.
        available: Vec<String>,
    },
    /// Several kernels fit a name equally well.
    #[error("`{}` matches {}; add scopes, template arguments or parameters", Echo::new(name), Names(.kernels))]
    Ambiguous {
        /// The name.
        name: String,
        /// The symbols of the kernels.
        kernels: Vec<String>,
    },
    /// A relocatable file that cannot be linked on its own.
    #[error("the relocatable file cannot be linked:{}", Reasons(.0))]
    Unlinkable(Box<LinkError>),
    /// A part of the file could not be read.
    #[error("in {place}: {source}")]
    Within {
        /// The part and its location: "the offload bundle at offset 0x1000".
        place: String,
        /// The error; its offsets count from the start of that part.
        source: Box<Error>,
    },
}

impl Error {
    /// A [`Error::Malformed`].
    pub(crate) fn malformed(what: &'static str, offset: u64, detail: impl Into<String>) -> Self {
        Error::Malformed { what, offset, detail: detail.into() }
    }

    /// The field of [`Limits`](crate::Limits) to raise and the size it needs, if this error is or
    /// contains [`Error::OverLimit`].
    #[must_use]
    pub fn over_limit(&self) -> Option<(&'static str, u64)> {
        match self {
            Error::OverLimit { parameter, size, .. } => Some((parameter, *size)),
            Error::Within { source, .. } => source.over_limit(),
            _ => None,
        }
    }

    /// Adds the location in the file.
    pub(crate) fn within(self, place: impl Into<String>) -> Self {
        Error::Within { place: place.into(), source: Box::new(self) }
    }
}

/// Prints why a relocatable file cannot be linked, and a remedy.
struct Reasons<'a>(&'a LinkError);

impl fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let problems = match self.0 {
            LinkError::Write(error @ WriteError::Version { .. }) => {
                return write!(f, " {error}; link it with `ld.lld -shared` first");
            }
            LinkError::Write(error) => return write!(f, " {error}"),
            LinkError::Problems(problems) => problems,
        };
        Listed(problems).fmt(f)?;
        if self.0.needs_symbols() {
            f.write_str(if problems.len() == 1 { "; " } else { "\n" })?;
            f.write_str("link it with the files that define these symbols: ")?;
            f.write_str("`ld.lld -shared -o LINKED.co FILE.o OTHER.o`")?;
        }
        Ok(())
    }
}

/// Prints an advice after a semicolon, or nothing.
struct Advice<'a>(&'a str);

impl fmt::Display for Advice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; {}", self.0) }
    }
}

/// Prints the readable names of symbols, shortened when there are many.
struct Names<'a>(&'a [String]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        let readable = |symbol: &String| {
            format!("`{}`", Echo::new(&crate::demangle(symbol).unwrap_or_else(|| symbol.clone())))
        };
        let shown: Vec<String> = self.0.iter().take(SHOWN).map(readable).collect();
        f.write_str(&shown.join(" or "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, " or {more} more"),
        }
    }
}

/// Prints a list, shortened when it is long.
struct Listing<'a>(&'a [String]);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 12;
        if self.0.is_empty() {
            return f.write_str("no GPU target");
        }
        let shown = &self.0[..self.0.len().min(SHOWN)];
        f.write_str(&shown.join(", "))?;
        match self.0.len() - shown.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}
