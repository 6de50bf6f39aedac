//! Text form of AMD GPU instructions: printer in LLVM syntax.
//!
//! [`gcn::print()`] writes a decoded instruction as `llvm-mc -disassemble` and `llvm-objdump` do. It allocates nothing
//! and works from the rows of `wavemill-isa` alone.

pub mod gcn;
