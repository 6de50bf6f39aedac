//! Links one module into a loadable code object, as `ld.lld -shared` does.

mod combine;
mod dynamic;
mod emit;
mod layout;
mod merge;
mod problems;
mod scan;

use std::fmt;

use super::check::{MAX_FILE, WriteError, check};
use super::module::{Module, Place};

/// Options of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOptions {
    /// The treatment of symbols that the module does not define.
    pub undefined: Undefined,
    /// Whether the module uses its own definitions of symbols, even if another code object could
    /// replace them (`-Bsymbolic`).
    pub symbolic: bool,
    /// Largest size of the code object in bytes.
    pub max_size: u64,
}

impl Default for LinkOptions {
    /// The options that `ld.lld -shared --no-undefined` stands for, and the largest size.
    fn default() -> Self {
        LinkOptions { undefined: Undefined::default(), symbolic: false, max_size: MAX_FILE }
    }
}

/// The treatment of symbols that a module refers to and does not define. Weak ones are always left
/// to the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// They are an error (`--no-undefined`, which Clang passes to the linker).
    #[default]
    Refuse,
    /// The loader must find them in another code object.
    Keep,
}

/// Why a module cannot be linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The module cannot be written in any form.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// All symbols and relocations that prevent linking.
    #[error("the module cannot be linked:{}", Listed(.0))]
    Problems(Vec<LinkProblem>),
}

impl LinkError {
    /// Whether a reason is a symbol that the module does not define: other files may.
    #[must_use]
    pub fn needs_symbols(&self) -> bool {
        let undefined = |problem: &LinkProblem| matches!(problem, LinkProblem::Undefined { .. });
        matches!(self, LinkError::Problems(problems) if problems.iter().any(undefined))
    }
}

/// A single reason why a module cannot be linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkProblem {
    /// An undefined symbol.
    #[error("undefined symbol `{symbol}`, used at {}", Places(.places))]
    Undefined {
        /// The symbol.
        symbol: String,
        /// Every location that uses it.
        places: Vec<Place>,
    },
    /// The distance to a symbol that another module may redefine is unknown.
    #[error(
        "{kind} at {place} needs the distance to `{symbol}`, which another code object may replace; make the symbol \
         `.hidden` or `.protected`, or take its address from the global offset table (`{symbol}@gotpcrel32@lo`)"
    )]
    Preemptible {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// The loader would have to fill in a word, but it only fills in 64-bit words.
    #[error(
        "{kind} at {place} needs the address of `{symbol}`, which is known only when the code object is loaded; only a \
         64-bit word can hold it, or code that computes it from the program counter (`{symbol}@rel32@lo`)"
    )]
    NeedsAddress {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// The loader would have to fill in a word in read-only memory.
    #[error(
        "{kind} at {place} needs the address of `{symbol}`, which is known only when the code object is loaded, but the \
         section is read-only; put the word into `.data.rel.ro`"
    )]
    ReadOnly {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// The distance to an absolute symbol.
    #[error("{kind} at {place} needs the distance to `{symbol}`, which is a number, not an address")]
    Absolute {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// The value does not fit.
    #[error("{kind} at {place} to `{symbol}`: the value {value:#x} does not fit; it should be {range}")]
    OutOfRange {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// The symbol.
        symbol: String,
        /// The value.
        value: i64,
        /// The accepted range.
        range: &'static str,
    },
    /// A kind of relocation that linkers do not fill in.
    #[error("{kind} at {place} to `{symbol}` is not a relocation that linkers resolve")]
    Unsupported {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// A symbol is outside its section, or its section is not part of the linked file.
    #[error("`{symbol}` is at offset {offset:#x} of section {section}, which {reason}")]
    NoPlace {
        /// The symbol.
        symbol: String,
        /// The section.
        section: String,
        /// Bytes from the section's start.
        offset: u64,
        /// The reason.
        reason: &'static str,
    },
    /// A variable in local memory: only a loader could allocate it.
    #[error(
        "`{symbol}` is in local memory (`.amdgpu_lds`), which linking does not lay out; use a number instead"
    )]
    LocalMemory {
        /// The symbol.
        symbol: String,
    },
    /// Sections of one name have incompatible types.
    #[error("sections named {name} have types that cannot be merged")]
    Types {
        /// The name.
        name: String,
    },
    /// Problems that are not listed, because the list is too long already.
    #[error("there are {count} more problems")]
    More {
        /// Their number.
        count: usize,
    },
}

impl LinkProblem {
    /// The locations of the problem.
    fn places(&mut self) -> &mut [Place] {
        match self {
            LinkProblem::Undefined { places, .. } => places,
            LinkProblem::Preemptible { place, .. }
            | LinkProblem::NeedsAddress { place, .. }
            | LinkProblem::ReadOnly { place, .. }
            | LinkProblem::Absolute { place, .. }
            | LinkProblem::OutOfRange { place, .. }
            | LinkProblem::Unsupported { place, .. } => std::slice::from_mut(place),
            LinkProblem::NoPlace { .. }
            | LinkProblem::LocalMemory { .. }
            | LinkProblem::Types { .. }
            | LinkProblem::More { .. } => &mut [],
        }
    }
}

/// Most problems that a message lists.
const MOST_PROBLEMS: usize = 100;

/// Most locations that a message lists for a problem.
const MOST_PLACES: usize = 10;

/// Prints problems, on separate lines if there are several.
pub(crate) struct Listed<'a>(pub(crate) &'a [LinkProblem]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [only] => write!(f, " {only}"),
            several => {
                for problem in several.iter().take(MOST_PROBLEMS) {
                    write!(f, "\n  {problem}")?;
                }
                more(f, several.len().saturating_sub(MOST_PROBLEMS), "\n  ")
            }
        }
    }
}

/// Prints a list of locations.
struct Places<'a>(&'a [Place]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, place) in self.0.iter().take(MOST_PLACES).enumerate() {
            write!(f, "{}{place}", if at == 0 { "" } else { ", " })?;
        }
        more(f, self.0.len().saturating_sub(MOST_PLACES), " ")
    }
}

fn more(f: &mut fmt::Formatter<'_>, count: usize, before: &str) -> fmt::Result {
    match count {
        0 => Ok(()),
        count => write!(f, "{before}and {count} more"),
    }
}

/// Links a module to a code object; symbols that it does not define are an error. See [`link_with`].
///
/// # Errors
/// [`LinkError`].
pub fn link(module: &Module) -> Result<Vec<u8>, LinkError> {
    link_with(module, &LinkOptions::default())
}

/// Links a module to a code object, a shared ELF object. Sections have the order and the addresses
/// that `ld.lld -shared` gives them. The file has the symbols and relocations for the loader, and
/// the full symbol table. The linker does not remove unneeded sections.
///
/// Mergeable sections are merged. All section groups are kept. The linker defines the bounds of
/// `.preinit_array`, `.init_array` and `.fini_array` (`__init_array_start` and so on).
///
/// # Errors
/// [`LinkError`], with everything that prevents linking.
pub fn link_with(module: &Module, options: &LinkOptions) -> Result<Vec<u8>, LinkError> {
    check(module)?;
    let combined = combine::combine(module)?;
    let scan = scan::scan(module, &combined, options)?;
    let dynamic = dynamic::symbols(module, &combined, &scan);
    let laid_out = layout::lay_out(combined, &scan, &dynamic, options.max_size.min(MAX_FILE))?;
    emit::emit(module, laid_out, &scan, &dynamic)
}
