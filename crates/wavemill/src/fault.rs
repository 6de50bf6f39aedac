//! Reports of launches that did not finish: faults, grids that can never finish, and grids that were stopped.

pub use crate::report::{
    ArgumentSegment, ClauseKind, ClausePlace, FaultReport, FullReport, Jump, Refusal, SegmentAccess,
    StackOverflow,
};
pub use crate::source::{InlinedCall, SourceLocation};
pub use crate::stall::{FullStallReport, StallReport};
pub use crate::unfinished::{FullUnfinished, StopCause, Unfinished, UnfinishedWave};
pub use wavemill_isa::gcn::{BrokenRule, Rule};
pub use wavemill_machine::image::{Coordinate, ImageExtent};
pub use wavemill_machine::{
    Access, BufferRange, Fault, FaultCause, FaultLane, FaultSpace, Nearest, Neighbour, Neighbours,
    RaisedLane, Spin, SyncWait, WaveResources, WaveSnapshot,
};
