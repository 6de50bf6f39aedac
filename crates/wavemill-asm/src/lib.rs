//! Text form of AMD GPU instructions: parser and printer in LLVM's syntax.
//!
//! [`gcn::print()`] writes a decoded instruction as `llvm-mc -disassemble` and `llvm-objdump` do; it allocates nothing.
//! [`gcn::parse()`] reads one. Both work from the rows of `wavemill-isa` alone.

mod diagnostic;
pub mod gcn;
mod syntax;

pub use diagnostic::{Diagnostic, Fix, Span};
pub use syntax::{NoSymbols, Symbols};
