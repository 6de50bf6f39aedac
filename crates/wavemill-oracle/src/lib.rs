//! External oracles for differential tests.
//!
//! Wavemill's own tables cannot prove themselves correct; this crate compares them with the LLVM
//! project's tools:
//!
//! - [`LlvmOracle`] disassembles machine words with libLLVM 22, in a forked child. LLVM's
//!   disassembler crashes on some words, and a differential test must survive that, report the word
//!   and continue;
//! - [`assemble`] and [`objdump`] run `llvm-mc-22` and `llvm-objdump-22`, and [`mnemonics`] lists
//!   the mnemonics of the assembler;
//! - [`Suite`] decides alone how to report a test whose oracle is not installed: as ignored, with
//!   the reason, and counted on the last line of the test binary's output. With
//!   `WAVEMILL_REQUIRE_ORACLES=1`, the test fails instead;
//! - [`same_relocatable`] and [`same_linked`] compare files that Wavemill writes with those of
//!   LLVM's tools;
//! - [`clang`] compiles the repository's kernels, for tests of compiler output;
//! - [`random_r600_program`] writes programs for LLVM's r600 backend;
//! - [`Filler`] makes the words: deterministic fillings of the bits that a test leaves free.
//!
//! This is a development crate: published crates use it only as a dev-dependency.

mod disasm;
mod files;
mod fill;
mod mnemonics;
mod r600;
mod sources;
mod suite;
mod tools;

pub use disasm::{LlvmOracle, Verdict};
pub use files::{same_linked, same_relocatable};
pub use fill::{Filler, Span, SplitMix64};
pub use mnemonics::mnemonics;
pub use r600::random_r600_program;
pub use sources::{clang, kernels, listed, run};
pub use suite::{EXTENT_VARIABLE, Failed, REQUIRE_VARIABLE, Suite, Tally, oracles_required, whole_suites};
pub use tools::{OracleMissing, Refusal, Tool, assemble, objdump};

/// The target triple that every oracle of this crate uses.
pub const TRIPLE: &str = "amdgcn-amd-amdhsa";
