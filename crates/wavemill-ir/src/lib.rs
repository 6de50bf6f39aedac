//! The wave IR of Wavemill: the effect of a basic block of guest code on the state of a wavefront.
//!
//! Registers are 32-bit cells. A *uniform* cell ([`Uni`]) holds one value for the wave, a *row* ([`Row`]) holds one value
//! for each of the 64 lanes. A 64-bit value is two consecutive cells, low half first. A lane mask (a 1-bit varying value)
//! *is* a pair of uniform cells, so the mask of active lanes and any pair of scalar registers are masks without conversion.
//!
//! An IR operation ([`Inst`]) is a three-address operation on cells: it reads and writes registers
//! in place, and there is no SSA form. Changes to operands before and after the computation
//! (absolute value, negation, sub-dword selects, lane permutations, output modifiers, clamping) are
//! attributes ([`Attrs`]) of the operation.
//!
//! Floats are operations, not types. Each float operation carries the floating-point mode in force
//! ([`FpEnv`]), so no engine needs dynamic modes.
//!
//! Layering: this crate knows neither instruction sets nor engines. `wavemill-lift` produces
//! blocks. `wavemill-machine` runs them with an engine such as `wavemill-interpreter`.

mod access;
pub mod analysis;
mod attrs;
mod block;
mod builder;
mod export;
mod format_cvt;
mod image;
mod lanes;
mod matrix;
mod number_format;
mod op;
mod reg;
mod texel;
mod text;
mod verify;

pub use attrs::{Attrs, DstUnused, FpEnv, LaneControl, MemoryScope, Omod, Round, SrcMods, SubDword};
pub use block::{Block, Cond, FaultKind, Inst, LaneMask, Terminator};
pub use builder::BlockBuilder;
pub use export::{ExportOp, ExportTarget, ParameterPart};
pub use format_cvt::FormatCvt;
pub use image::{ImageData, ImageGather, ImageKind, ImageLevel, ImageOp};
pub use lanes::LanePattern;
pub use matrix::{MatrixLanes, MatrixLocation, MatrixOp, MatrixOperand, MatrixSum};
pub use number_format::NumberFormat;
pub use op::{
    AtomicOp, BufferAddr, CellRange, CmpPred, CounterOp, CvtOp, Effects, FenceScope, FloatOp, FloatType,
    IntOp, IntType, LaneOp, MemType, Op, RowRange, ScalarOp, Signature, Space, Status, SyncOp, TexelAccess,
    TexelCells, Value, Width,
};
pub use reg::{Names, NoNames, Operand, Row, Uni};
pub use texel::{DataFormat, TexelFormat, TexelNumber};
pub use verify::{VerifyError, verify};

/// Number of lanes of a wavefront; all supported targets have exactly 64.
pub const LANES: usize = 64;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
