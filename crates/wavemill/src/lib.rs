//! Run AMD GPU code objects on the CPU: no GPU, no driver, no ROCm.
//!
//! A [`Device`] owns guest memory and says which chip it models; a [`Module`] is a code object loaded into it; a
//! [`Kernel`] is launched over a grid with arguments, among them [`Buffer`]s of guest memory.
//!
//! ```no_run
//! use wavemill::{Arg, Device, Launch, Module};
//!
//! # fn main() -> Result<(), wavemill::Error> {
//! let object = std::fs::read("vector_add.co").expect("the file is there");
//! let device = Device::for_object(&object)?;
//! let module = Module::load(&device, &object)?;
//! let kernel = module.kernel("vector_add")?;
//!
//! let x = device.buffer_from("x", &[1.0f32; 1024])?;
//! let y = device.buffer_from("y", &[2.0f32; 1024])?;
//! let z = device.buffer("z", 4096)?;
//! Launch::new(&kernel)
//!     .workgroups([4, 1, 1])
//!     .workgroup_size([256, 1, 1])
//!     .args([Arg::from(&x), Arg::from(&y), Arg::from(&z), Arg::from(1024u32)])
//!     .run()?;
//! assert_eq!(z.to_vec::<f32>()?[0], 3.0);
//! # Ok(())
//! # }
//! ```
//!
//! `printf`, `assert` and `malloc` in kernels work as they do under HIP and OpenCL; what is printed goes to whom
//! [`Launch::output`] names.

mod buffer;
mod code;
mod device;
mod error;
mod global_offset;
mod hidden;
mod launch;
mod limits;
mod lines;
mod live;
mod module;
mod observe;
mod product;
pub mod registers;
mod report;
mod services;
mod stall;
mod state;

pub use buffer::{Buffer, Plain};
pub use device::Device;
pub use error::{ArgumentError, Error, Result};
pub use global_offset::MisreadOffset;
pub use launch::{Arg, Launch, LaunchStats, LdsSize};
pub use live::LiveWave;
pub use module::{Global, Kernel, Module, Parameter, ParameterKind};
pub use observe::mix::{FidelityCounts, InexactCount, InstructionMix, OperationCounts};
pub use observe::rows::{FormatCount, RowCount, RowCounts, rows_of};
pub use observe::trace::{TraceAccess, TraceStep, Tracer};
pub use observe::traffic::{AccessCount, LINE, LdsCount, Traffic};
pub use product::{PRODUCTS, Product, TargetChoice};
pub use report::{
    ArgumentSegment, FaultReport, FullReport, InlinedCall, Jump, SegmentAccess, SourceLocation, StackOverflow,
};
pub use services::{Output, PRINTF_BUFFER_SIZES};
pub use stall::{FullStallReport, StallReport};
pub use wavemill_engine::{
    Access, AddressMode, Barrier, BufferRange, CHECKS_ACCESSES, CellChange, Changes, Fault, FaultCause,
    FaultLane, FaultSpace, FenceEvent, Instruction, Interests, MAX_THREADS, MemoryAccess, MemoryKind,
    Nearest, Neighbour, Neighbours, Observer, OutOfRange, Piece, Place, Registers, RowChange, RunControl,
    RunOptions, RunStats, Spin, Strict, Tier, Watcher, WaveId, WaveResources, WaveSnapshot,
};
pub use wavemill_ir as ir;
pub use wavemill_isa::gcn::{Fidelity, Format};
pub use wavemill_object::{Limits, TargetId};
