//! The conformance suite: data files that say what instructions of AMD GPUs do.
//!
//! `conformance/README.md` describes the files for their readers. This crate has:
//!
//! - [`data`]: the format, with a parser and a writer;
//! - [`model`]: the effect of one instruction on a wave, by `wavemill-reference` and models of
//!   operands, lanes and addresses that are written from the manuals;
//! - [`generate`]: the cases of Wavemill's files.
//!
//! The crate uses the tables of `wavemill-isa` (which operands and modifiers an instruction has) and
//! the texts of `wavemill-asm`. It never uses `wavemill-float`, `wavemill-lift` or an engine.
//! Its tests run the files on every engine.
//!
//! This is a development crate.

pub mod data;
pub mod generate;
pub mod model;
