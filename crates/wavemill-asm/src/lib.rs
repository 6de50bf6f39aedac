//! Text form of AMD GPU instructions: parser and printer in LLVM's syntax, and the assembler around them.
//!
//! [`gcn::print()`] writes a decoded instruction as `llvm-mc -disassemble` and `llvm-objdump` do,
//! without allocating. [`gcn::parse()`] reads one. Both work from the rows of `wavemill-isa` alone.
//! [`assemble()`] turns a source, with its directives, into a module that `wavemill-object` writes
//! as an ELF file; [`write_source`] does the reverse. [`gcn::explain`] describes instructions in
//! detail, for people and as data. [`gcn::reference`] and [`cayman::reference`] write reference pages
//! for all of them.

mod abi;
mod assemble;
pub mod cayman;
mod diagnostic;
mod family;
pub mod gcn;
mod instruction_set;
mod pages;
mod source;
mod syntax;

pub use assemble::{
    Assembled, DataDirective, Distances, Event, IncludedFile, Inclusion, Options, Report, assemble,
    assemble_with, float_bits, leb128, octas, quoted,
};
pub use diagnostic::{Diagnostic, Fix, Span};
pub use family::Instruction;
pub use gcn::processor_symbols;
pub use instruction_set::InstructionSet;
pub use source::{SourceError, SourceOptions, Written, write_source};
pub use syntax::{NoSymbols, PrintedExpression, Symbols, integer, printed_expressions};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
