//! Text form of AMD GPU instructions: printer in LLVM syntax.
//!
//! [`gcn::print()`] writes a decoded instruction as `llvm-mc -disassemble` and `llvm-objdump` do. It allocates nothing
//! and works from the rows of `wavemill-isa` alone. [`gcn::explain`] takes instructions apart for people and as data,
//! [`gcn::reference`] writes pages about all of them.

pub mod gcn;
