//! Text of gfx9 instructions (Vega and the CDNA generations).

mod number;
mod parse;
mod print;
mod special;

pub use parse::{parse, parse_with};
pub use print::{BranchNames, print, print_with};
