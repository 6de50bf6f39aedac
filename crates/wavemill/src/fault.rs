//! Reports of launches that did not finish: faults, grids that can never finish, and grids that
//! were stopped.
//!
//! Each is text ([`Display`](std::fmt::Display)) and data. [`FaultReport::fault`] has the fault
//! itself:
//!
//! ```
//! # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
//! use wavemill::fault::{Access, FaultCause, FaultSpace, Nearest};
//!
//! # use wavemill::Launch;
//! # let (kernel, args) = given::vector_add(200)?;
//! # let report = given::fault(Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args))?;
//! // `report` of a kernel that stores behind the buffer `c`.
//! let FaultCause::Memory { access, space, size, lanes, nearest } = &report.fault.cause else {
//!     return Err("expected a fault in memory".into());
//! };
//! assert_eq!((*access, *space, *size), (Access::Store, FaultSpace::Global, 4));
//! println!("lane {} at {:#x}, and {} others", lanes[0].lane, lanes[0].address, lanes.len() - 1);
//! let Nearest::After { name, distance, .. } = nearest else { return Err("expected a buffer".into()) };
//! assert_eq!((name.as_str(), *distance), ("c", 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

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
