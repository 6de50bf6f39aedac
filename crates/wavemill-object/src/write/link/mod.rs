//! Linking one module to a code object that can be loaded, as `ld.lld -shared` does it.

mod combine;
mod dynamic;
mod emit;
mod layout;
mod merge;
mod scan;

use std::fmt;

use super::check::{WriteError, check};
use super::module::{Module, Place};

/// Choices of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkOptions {
    /// What happens to symbols that the module does not define.
    pub undefined: Undefined,
}

/// What happens to symbols that a module refers to and does not define. Weak ones are always left to the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Undefined {
    /// They are an error (`--no-undefined`, which Clang gives to the linker).
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
    /// These symbols and relocations stand in the way; all of them are listed.
    #[error("the module cannot be linked:{}", Listing(.0))]
    Problems(Vec<LinkProblem>),
}

/// One thing that keeps a module from being linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkProblem {
    /// A symbol that nobody defines.
    #[error("undefined symbol `{symbol}`, used at {}", Places(.places))]
    Undefined {
        /// The symbol.
        symbol: String,
        /// Every place that uses it.
        places: Vec<Place>,
    },
    /// The distance to a symbol that another module may define anew is not known.
    #[error(
        "{kind} at {place} needs the distance to `{symbol}`, which another code object may replace; make the symbol \
         `.hidden` or `.protected`, or take its address from the global offset table (`{symbol}@gotpcrel32@lo`)"
    )]
    Preemptible {
        /// The kind of relocation.
        kind: String,
        /// Where it is.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// A word would have to be filled in by the loader, which only fills in 64-bit words.
    #[error(
        "{kind} at {place} needs the address of `{symbol}`, which is known only when the code object is loaded; only a \
         64-bit word can hold it, or code that computes it from the program counter (`{symbol}@rel32@lo`)"
    )]
    NeedsAddress {
        /// The kind of relocation.
        kind: String,
        /// Where it is.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// A word would have to be filled in by the loader in memory that is only read.
    #[error(
        "{kind} at {place} needs the address of `{symbol}`, which is known only when the code object is loaded, but the \
         section is read-only; put the word into `.data.rel.ro`"
    )]
    ReadOnly {
        /// The kind of relocation.
        kind: String,
        /// Where it is.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// The distance to a number.
    #[error("{kind} at {place} needs the distance to `{symbol}`, which is a number, not an address")]
    Absolute {
        /// The kind of relocation.
        kind: String,
        /// Where it is.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// The value does not fit.
    #[error("{kind} at {place} to `{symbol}`: the value {value:#x} does not fit; it should be {range}")]
    OutOfRange {
        /// The kind of relocation.
        kind: String,
        /// Where it is.
        place: Place,
        /// The symbol.
        symbol: String,
        /// The value.
        value: i64,
        /// What it should be.
        range: &'static str,
    },
    /// A kind of relocation that linkers do not fill in.
    #[error("{kind} at {place} to `{symbol}` is not a relocation that linkers resolve")]
    Unsupported {
        /// The kind of relocation.
        kind: String,
        /// Where it is.
        place: Place,
        /// The symbol.
        symbol: String,
    },
    /// A symbol lies outside of its section, or its section is not part of the linked file.
    #[error("`{symbol}` is at offset {offset:#x} of section {section}, which {reason}")]
    NoPlace {
        /// The symbol.
        symbol: String,
        /// The section.
        section: String,
        /// Bytes from the section's start.
        offset: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// A variable in local memory, for which only a loader could find room.
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
}

/// Most places or problems that a message lists.
const SHOWN: usize = 10;

/// Prints problems, one on each line where there are several.
struct Listing<'a>(&'a [LinkProblem]);

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [only] => write!(f, " {only}"),
            several => {
                for problem in &several[..several.len().min(SHOWN)] {
                    write!(f, "\n  {problem}")?;
                }
                more(f, several.len(), "\n  ")
            }
        }
    }
}

/// Prints a list of places.
struct Places<'a>(&'a [Place]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, place) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{place}", if at == 0 { "" } else { ", " })?;
        }
        more(f, self.0.len(), " ")
    }
}

fn more(f: &mut fmt::Formatter<'_>, total: usize, before: &str) -> fmt::Result {
    match total.saturating_sub(SHOWN) {
        0 => Ok(()),
        rest => write!(f, "{before}and {rest} more"),
    }
}

/// Links a module to a code object; symbols that it does not define are an error. See [`link_with`].
///
/// # Errors
/// [`LinkError`].
pub fn link(module: &Module) -> Result<Vec<u8>, LinkError> {
    link_with(module, &LinkOptions::default())
}

/// Links a module to a code object, a shared ELF object: sections in the order and at the addresses that `ld.lld -shared`
/// gives them, symbols and relocations for the loader, the full symbol table, no unneeded section left out.
///
/// Mergeable sections are merged. Section groups are all taken. Symbols that the linker defines are the bounds of
/// `.preinit_array`, `.init_array` and `.fini_array` (`__init_array_start` and so on).
///
/// # Errors
/// [`LinkError`], with all that stands in the way.
pub fn link_with(module: &Module, options: &LinkOptions) -> Result<Vec<u8>, LinkError> {
    check(module)?;
    let combined = combine::combine(module)?;
    let scan = scan::scan(module, &combined, options)?;
    let dynamic = dynamic::symbols(module, &combined, &scan);
    let laid_out = layout::lay_out(combined, &scan, &dynamic)?;
    emit::emit(module, laid_out, &scan, &dynamic)
}
