//! Numbers about a launch.

use wavemill_machine::RunStats;

use super::engine::Engine;
use crate::observe::mix::{FidelityCounts, InstructionMix, OperationCounts};
use crate::observe::rows::RowCounts;
use crate::observe::traffic::Traffic;

/// Statistics of a launch.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct LaunchStats {
    /// The engine that ran it, with the tier that it used.
    pub engine: Engine,
    /// Numbers of the run.
    pub run: RunStats,
    /// Workgroups of the grid.
    pub workgroups: [u32; 3],
    /// Work-items of the grid.
    pub work_items: u64,
    /// Most workgroups that were resident at once.
    pub resident: u32,
    /// Bytes of LDS that each workgroup requested, including dynamic LDS.
    pub lds_size: u32,
    /// Bytes of LDS that each workgroup had, as the chip allocates them.
    pub lds_allocated: u32,
    /// Kinds of the executed instructions, if the options request counts of blocks.
    pub mix: Option<InstructionMix>,
    /// How exact the meanings of the executed instructions are, if the options request counts of
    /// blocks.
    pub fidelity: Option<FidelityCounts>,
    /// Cost of the executed instructions in the interpreter, if the options request counts of
    /// blocks.
    pub operations: Option<OperationCounts>,
    /// Rows of the instruction table that were executed, and their active lanes, if the options
    /// request counts of blocks.
    pub rows: Option<RowCounts>,
    /// Memory traffic, if [`Launch::traffic`](crate::Launch::traffic) requests it.
    pub traffic: Option<Traffic>,
}
