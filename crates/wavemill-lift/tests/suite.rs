//! The meaning of instructions, run. One binary, so that its dependencies are linked only once.

mod cayman;
mod common;
mod control_flow;
mod coverage;
mod exceptions;
mod exports;
mod gpr_index;
mod images;
mod known_gaps;
mod matrix;
mod memory;
mod pseudocode;
mod random_words;
mod register_range;
mod scalar_alu;
mod synchronization;
mod trap_registers;
mod vector_float;
mod vector_integer;
mod vector_lanes;
mod vector_modifiers;
