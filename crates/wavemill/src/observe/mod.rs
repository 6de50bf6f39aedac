//! Watching launches: traces, and observers of instructions, registers and memory.
//!
//! A [`Tracer`] receives instructions with their texts. An [`Observer`] receives the events of the
//! engine, on the host thread on which they happen. This one counts the bytes that a kernel stores,
//! and reports some of the stores:
//!
//! ```
//! # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! use wavemill::observe::{
//!     Access, Finding, Findings, Interests, MemoryAccess, Observer, Reporter, Watcher,
//! };
//! use wavemill::{Launch, RunOptions};
//!
//! /// Counts stored bytes, and reports stores that begin at a multiple of 1 KiB.
//! #[derive(Debug, Default)]
//! struct Stores(AtomicU64);
//!
//! /// The part of one host thread.
//! struct Thread<'a>(&'a Stores, Reporter);
//!
//! impl Observer for Stores {
//!     fn interests(&self) -> Interests {
//!         Interests { memory: true, ..Interests::default() }
//!     }
//!
//!     fn watcher(&self, reporter: Reporter) -> Box<dyn Watcher + '_> {
//!         Box::new(Thread(self, reporter))
//!     }
//! }
//!
//! impl Watcher for Thread<'_> {
//!     fn memory(&mut self, access: &MemoryAccess<'_>) {
//!         if access.access != Access::Store {
//!             return;
//!         }
//!         for piece in access.pieces {
//!             self.0.0.fetch_add(u64::from(piece.size), Ordering::Relaxed);
//!             if piece.location.address().is_some_and(|address| address % 1024 == 0) {
//!                 let finding = Finding::new(access.wave, access.pc, "a store to the start of 1 KiB");
//!                 self.1.report(finding.in_lanes(1 << piece.lane));
//!             }
//!         }
//!     }
//! }
//!
//! # let (kernel, args) = given::vector_add(256)?;
//! let (stores, findings) = (Stores::default(), Arc::new(Findings::default()));
//! let options = RunOptions { findings: Some(findings.clone()), ..RunOptions::default() };
//! let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args).options(options);
//! launch.observer(&stores).run()?;
//! // The kernel stores 256 floats.
//! assert_eq!(stores.0.into_inner(), 1024);
//! assert_eq!(findings.take().len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub(crate) mod banks;
pub mod changed;
pub(crate) mod mix;
pub(crate) mod rows;
pub(crate) mod trace;
pub(crate) mod traffic;

pub use trace::{TraceAccess, TraceStep, Tracer};
pub use wavemill_ir::MemoryScope;
pub use wavemill_machine::{
    Access, Allocated, Barrier, CellChange, Changes, FenceEvent, Finding, Findings, Instruction, Interests,
    MemoryAccess, MemoryKind, MemoryLocation, MemoryObserver, Observer, Piece, Registers, Reporter,
    RowChange, Watcher, WaveId, Workgroup,
};

/// What an access does, in one word.
#[must_use]
pub fn access_name(access: Access) -> &'static str {
    match access {
        Access::Load => "load",
        Access::Store => "store",
        Access::Atomic => "atomic",
    }
}

#[cfg(test)]
mod tests;
