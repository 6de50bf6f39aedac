//! Outside oracles for differential tests.
//!
//! Wavemill's own tables decide nothing about their own truth; this crate asks the LLVM project's tools instead:
//!
//! - [`LlvmOracle`] disassembles machine words with libLLVM 22, in a forked child, because LLVM's disassembler crashes on
//!   some words and a differential test must survive that, list the word and go on;
//! - [`assemble`] and [`objdump`] run `llvm-mc-22` and `llvm-objdump-22`, and [`mnemonics`] lists what the assembler knows;
//! - [`Suite`] is the one place that decides what happens to a test whose oracle is not installed: it is reported as
//!   ignored, with the reason, and counted on the last line of the test binary's output; with
//!   `WAVEMILL_REQUIRE_ORACLES=1` it fails instead;
//! - [`same_relocatable`] and [`same_linked`] hold files that Wavemill writes against those of LLVM's tools;
//! - [`clang`] compiles the repository's kernels, for tests of what compilers make;
//! - [`Filler`] makes the words: deterministic fillings of the bits that a test leaves free.
//!
//! It is a development crate: nothing that Wavemill ships depends on it.

mod disasm;
mod files;
mod fill;
mod mnemonics;
mod sources;
mod suite;
mod tools;

pub use disasm::{LlvmOracle, Verdict};
pub use files::{same_linked, same_relocatable};
pub use fill::{Filler, Span, SplitMix64};
pub use mnemonics::mnemonics;
pub use sources::{clang, kernels, listed, run};
pub use suite::{EXTENT_VARIABLE, Failed, REQUIRE_VARIABLE, Suite, Tally, oracles_required, whole_suites};
pub use tools::{OracleMissing, Refusal, Tool, assemble, objdump};

/// The target triple that every oracle of this crate is asked about.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa";
