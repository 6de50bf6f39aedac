//! The meaning of instructions, written once: every instruction becomes operations of the wave IR.
//!
//! One file per format, one arm per instruction or family, in manual order. Facts that a row of `wavemill-isa` states
//! (operands, types, modifiers) are read from the row, never repeated here. This crate knows nothing of engines.

pub mod cayman;
mod family;
pub mod gcn;

pub use family::{Fetch, Lift};
