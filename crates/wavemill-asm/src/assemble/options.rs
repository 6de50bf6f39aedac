//! The options of the assembler.

use std::fmt;

use wavemill_object::{CodeObjectVersion, TargetId};

use super::IncludedFile;

/// The default limit of errors, as many as a person may want to read.
const MAX_ERRORS: usize = 1000;

/// Whether a source can compute with the distance between labels of a section while it is read
/// (`.if`, `.rept`, `.balign`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distances {
    /// Every distance is known.
    #[default]
    All,
    /// A distance is known if nothing between the labels has a size that other assemblers leave
    /// open: alignments, `.org`, and anything that depends on labels. `llvm-mc` does this when it
    /// writes objects.
    Fixed,
    /// No distance is known, and nothing is laid out. Invalid addresses, and errors in fields that
    /// wait for addresses, are not reported. `llvm-mc` does this when it writes text.
    Unknown,
}

impl Distances {
    /// Whether sections are laid out, so that fields and sizes that wait for addresses get their
    /// values.
    pub(super) fn lay_out(self) -> bool {
        self != Distances::Unknown
    }
}

/// The options of the assembler.
#[derive(Clone)]
pub struct Options<'a> {
    /// The processor and its features, unless the source names another with `.amdgcn_target`.
    /// `None`: the source must name one.
    pub target: Option<TargetId>,
    /// The version of the code object format, unless the source names another.
    pub version: CodeObjectVersion,
    /// Finds a file that the source includes (`.include`, `.incbin`). The error says why it is not
    /// available.
    pub include: &'a dyn Fn(&str) -> Result<IncludedFile, String>,
    /// Symbols that are set before the source is read.
    pub symbols: &'a [(&'a str, i64)],
    /// After this many errors, the rest of the source is not read, and the last report says so.
    /// 1000 by default.
    pub max_errors: usize,
    /// Which distances between labels are known while the source is read; all by default. With the
    /// other settings, the 16-bit constants of instructions must be known, too.
    pub distances: Distances,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("target", &self.target)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            target: None,
            version: CodeObjectVersion::V6,
            include: &|name| Err(format!("`{name}` cannot be included: no include function is set")),
            symbols: &[],
            max_errors: MAX_ERRORS,
            distances: Distances::All,
        }
    }
}
