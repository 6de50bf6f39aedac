//! Text of gfx9 instructions (Vega and the CDNA generations).

pub mod explain;
mod number;
mod print;
pub mod reference;
mod special;

pub use print::{BranchNames, print, print_with};
