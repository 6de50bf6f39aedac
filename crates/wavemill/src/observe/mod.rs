//! Watching launches: traces, and observers of instructions, registers and memory.

pub(crate) mod banks;
pub(crate) mod mix;
pub(crate) mod rows;
pub(crate) mod trace;
pub(crate) mod traffic;

pub use trace::{TraceAccess, TraceStep, Tracer};
pub use wavemill_engine::{
    Access, Barrier, CellChange, Changes, FenceEvent, Instruction, Interests, MemoryAccess, MemoryKind,
    Observer, Piece, Place, Registers, RowChange, Watcher, WaveId,
};

#[cfg(test)]
mod tests;
