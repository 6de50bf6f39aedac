//! Numbers about a launch.

use wavemill_machine::RunStats;

use super::engine::Engine;
use crate::observe::mix::{FidelityCounts, InstructionMix, MachineCodeCounts, OperationCounts};
use crate::observe::rows::RowCounts;
use crate::observe::traffic::Traffic;

/// Statistics of a launch.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Launch, RunOptions};
///
/// # let (kernel, args) = given::vector_add(256)?;
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// let stats = launch.options(RunOptions { count_blocks: true, ..RunOptions::default() }).run()?;
/// assert_eq!((stats.work_items, stats.run.waves), (256, 4));
/// println!("{} ran {} instructions", stats.engine, stats.run.instructions);
/// // Some numbers are only there if the launch requests them.
/// assert!(stats.mix.is_some() && stats.traffic.is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
    /// The share of the executed instructions that has machine code, if the options request counts of
    /// blocks and the engine makes machine code. Counted runs are interpreted; other runs of the same
    /// launch use the code.
    pub machine_code: Option<MachineCodeCounts>,
    /// Rows of the instruction table that were executed, and their active lanes, if the options
    /// request counts of blocks.
    pub rows: Option<RowCounts>,
    /// Memory traffic, if [`Launch::traffic`](crate::Launch::traffic) requests it.
    pub traffic: Option<Traffic>,
}
