//! Rows, formats, decoder and encoder of the AMD GPU instruction sets that Wavemill implements.
//!
//! Every fact about an instruction is stated once, on one row of the tables under `rows/`. The
//! build script checks the rows and turns them into static tables. Everything in this crate is
//! derived from them.
//!
//! The crate knows nothing of execution and does no I/O.

pub mod cayman;
pub mod gcn;
mod target;

pub use target::{
    AccVgprs, CacheWords, CaymanFacts, Family, Fp8Format, GcnFacts, Generation, GenerationFacts, MatrixCore,
    RegisterUnits, SGPR_UNIT, SgprCount, Target, TargetSet,
};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
