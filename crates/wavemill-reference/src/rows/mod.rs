//! The meaning of instructions by mnemonic, on one lane: written from the manuals, in exact or unbounded arithmetic.
//!
//! Sources come with their modifiers applied, results go without output modifiers. The caller knows registers, selects
//! and lanes.

pub mod compare;
pub mod float;
pub mod integer;
pub mod packed;
pub mod scalar;
mod screen;
pub mod small;
