//! What a launch did, in numbers.

use wavemill_machine::RunStats;

use super::engine::Engine;
use crate::observe::mix::{FidelityCounts, InstructionMix, OperationCounts};
use crate::observe::rows::RowCounts;
use crate::observe::traffic::Traffic;

/// What a launch did.
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
    /// Workgroups that were resident at once, at most.
    pub resident: u32,
    /// Bytes of LDS that each workgroup asked for, dynamic ones included.
    pub lds_size: u32,
    /// Bytes of LDS that it had, as the chip allocates them.
    pub lds_allocated: u32,
    /// Kinds of the executed instructions, if the options asked to count blocks.
    pub mix: Option<InstructionMix>,
    /// How exact the meanings of the executed instructions are, if the options asked to count blocks.
    pub fidelity: Option<FidelityCounts>,
    /// What they cost the interpreter, if the options asked to count blocks.
    pub operations: Option<OperationCounts>,
    /// Which rows of the instruction table they are of, and how many lanes were active, if the options asked to count
    /// blocks.
    pub rows: Option<RowCounts>,
    /// Memory traffic, if [`Launch::traffic`](crate::Launch::traffic) asked for it.
    pub traffic: Option<Traffic>,
}
