//! Text of gfx9 instructions (Vega and the CDNA generations).

pub mod explain;
mod line;
mod mnemonic;
mod number;
pub(crate) mod parse;
mod print;
pub mod reference;
mod special;

pub use parse::{parse, parse_with};
pub use print::{BranchNames, print, print_with};
