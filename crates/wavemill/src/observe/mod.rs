//! Watching launches: traces, and observers of instructions, registers and memory.

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
