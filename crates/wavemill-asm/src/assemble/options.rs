//! What a source is assembled for.

use std::fmt;

use wavemill_object::{CodeObjectVersion, TargetId};

use super::IncludedFile;

/// Errors that a person may want to read.
const MOST_MISTAKES: usize = 1000;

/// What a source can compute with while it is read (`.if`, `.rept`, `.balign`): whether the distances between labels of a
/// section are numbers there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distances {
    /// All are.
    #[default]
    All,
    /// Those are that have nothing between them whose size other assemblers leave open: alignments, `.org`, and what depends
    /// on labels. So it is for `llvm-mc` where it writes objects.
    Fixed,
    /// None is, and nothing is laid out: what is wrong with an address or a field that waits for one is no error. So it is for
    /// `llvm-mc` where it writes text.
    Unknown,
}

impl Distances {
    /// Whether sections are laid out, so that fields and sizes that wait for addresses get their values.
    pub(super) fn lay_out(self) -> bool {
        self != Distances::Unknown
    }
}

/// What a source is assembled for.
#[derive(Clone)]
pub struct Options<'a> {
    /// The processor and its features, unless the source says another with `.amdgcn_target`. `None`: the source must say.
    pub target: Option<TargetId>,
    /// The version of the code object format, unless the source says another.
    pub version: CodeObjectVersion,
    /// Finds a file that the source includes (`.include`, `.incbin`); the error says why there is none.
    pub include: &'a dyn Fn(&str) -> Result<IncludedFile, String>,
    /// Symbols that are set before the source is read.
    pub symbols: &'a [(&'a str, i64)],
    /// Errors after which no more of the source is read, which the last report says then; 1000 by default.
    pub most_mistakes: usize,
    /// Which distances between labels are numbers while the source is read; all by default. Where they are not all, the
    /// 16-bit constants of instructions must be known, too.
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
            include: &|name| Err(format!("`{name}` cannot be included here: the source stands alone")),
            symbols: &[],
            most_mistakes: MOST_MISTAKES,
            distances: Distances::All,
        }
    }
}
