//! Text of gfx9 instructions (Vega and the CDNA generations).

pub mod explain;
mod family;
mod line;
mod mnemonic;
mod number;
pub(crate) mod parse;
mod print;
pub mod reference;
mod special;
mod tracker;

use wavemill_isa::gcn::OperandSpec;

pub use family::processor_symbols;
pub(crate) use family::{Gcn, distance};
pub use parse::{parse, parse_with};
pub use print::{BranchNames, print, print_with};

/// Whether a source has syntax for negation and absolute value, where the encoding has the bits.
/// SDWA has none for packed values.
fn has_sign(source: &OperandSpec, sdwa: bool) -> bool {
    source.ty.elem.has_sign() && !(sdwa && source.ty.count > 1)
}
