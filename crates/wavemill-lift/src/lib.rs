//! The meaning of instructions, written once: each instruction becomes operations of the wave IR.
//!
//! There is one file per format and one arm per instruction or family, in manual order. Facts that
//! a row of `wavemill-isa` states (operands, types, modifiers) are read from the row, never
//! repeated here. This crate does not depend on engines.

pub mod cayman;
mod family;
pub mod gcn;

pub use family::{Fetch, Lift};
