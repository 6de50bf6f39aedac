//! Executes wave IR: guest memory, the register files of waves, an interpreter on the host's vector hardware, and a
//! scheduler that runs the workgroups of a grid on host threads.
//!
//! The engine knows neither instruction sets nor files: code reaches it as IR through [`BlockSource`], the initial
//! state of waves through [`WaveInit`].

mod control;
mod fault;
mod interp;
mod memory;
mod observe;
mod out_of_range;
mod raw;
mod regs;
mod schedule;
mod stall;

pub use control::RunControl;
pub use fault::{
    Access, BufferRange, Fault, FaultCause, FaultLane, FaultSpace, Strict, WaveResources, WaveSnapshot,
};
pub use interp::{BlockCount, BlockSource, OperationCost, Tier, operation_costs};
pub use memory::{
    AddressMode, Allocation, CHECKS_ACCESSES, GUARD_GAP, GuestMemory, LDS_APERTURE, MemoryError, MemoryMap,
    Nearest, Neighbour, Neighbours, SANDBOX_BASE, SCRATCH_APERTURE, SPACING,
};
pub use observe::{
    Barrier, CellChange, Changes, FenceEvent, Instruction, Interests, MemoryAccess, MemoryKind, Observer,
    Piece, Place, RowChange, Several, Watcher, WaveId,
};
pub use out_of_range::OutOfRange;
pub use regs::{RegisterCounts, Registers};
pub use schedule::{
    Grid, Host, LiveWave, MAX_THREADS, RunError, RunOptions, RunStats, WaveInit, run, run_with,
};
pub use stall::Spin;

pub(crate) use wavemill_ir::LANES;
