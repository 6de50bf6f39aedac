//! Text of gfx9 instructions (Vega and the CDNA generations).

mod number;
mod print;
mod special;

pub use print::{BranchNames, print, print_with};
