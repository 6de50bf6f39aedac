//! The machine that runs wave IR: guest memory, checked addressing, register files, waves, the scheduler that runs the
//! workgroups of a grid on host threads, observers, faults and stalls.
//!
//! The machine knows no instruction sets, files or engines. Code reaches it as IR through
//! [`BlockSource`], the initial state of waves through [`WaveInit`], and an
//! [`Engine`](engine::Engine) runs the waves.
//!
//! The files for faults, memory, waves and observers refer to each other. A fault names the memory
//! near it and an observer's finding, memory and observers name the kind of an access, and the exit
//! of a wave holds its fault.

mod address;
mod clock;
mod code;
mod control;
pub mod engine;
mod exchange;
mod export;
mod fault;
mod host_floats;
pub mod image;
mod lds;
mod memory;
mod observe;
mod out_of_range;
pub mod raw;
pub mod registers;
mod schedule;
mod share;
mod stall;
mod wave;

pub use code::{BlockCount, BlockSource};
pub use control::RunControl;
pub use export::{Export, Exports, WaveExports};
pub use fault::{
    Access, BufferRange, Fault, FaultCause, FaultLane, FaultSpace, RaisedLane, Strict, WaveResources,
    WaveSnapshot,
};
pub use memory::{
    AddressMode, Allocated, Allocation, CHECKS_ACCESSES, Edge, GUARD_GAP, GuestMemory, HostMemory,
    LDS_APERTURE, MemoryError, MemoryMap, MemoryObserver, Nearest, Neighbour, Neighbours, SANDBOX_BASE,
    SCRATCH_APERTURE, SPACING, process_has,
};
pub use observe::{
    Barrier, CellChange, Changes, FenceEvent, Finding, Findings, Instruction, Interests, MemoryAccess,
    MemoryKind, MemoryLocation, Observer, Piece, Reporter, RowChange, Several, Watcher, WaveId, Workgroup,
};
pub use out_of_range::OutOfRange;
pub use registers::{CellPair, RegisterCounts, Registers};
pub use schedule::{
    Grid, Host, LiveWave, MAX_THREADS, RunError, RunOptions, RunStats, Traps, WaveInit, run, run_with,
};
pub use share::{GDS_BYTES, Hold, ORDERS, SYNC_RESOURCES, Share, SyncWait, TURNS, gds_window};
pub use stall::Spin;
