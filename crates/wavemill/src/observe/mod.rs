//! Watching launches: traces, and observers of instructions, registers and memory.

pub(crate) mod banks;
pub(crate) mod mix;
pub(crate) mod rows;
pub(crate) mod trace;
pub(crate) mod traffic;

pub use trace::{TraceAccess, TraceStep, Tracer};
pub use wavemill_machine::{
    Access, Barrier, CellChange, Changes, FenceEvent, Instruction, Interests, MemoryAccess, MemoryKind,
    Observer, Piece, Place, Registers, RowChange, Watcher, WaveId,
};

/// What an access does, in a word.
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
