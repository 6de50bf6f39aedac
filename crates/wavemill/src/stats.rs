//! Statistics of launches: instructions, rows of the instruction table, memory.

pub use crate::launch::stats::LaunchStats;
pub use crate::observe::mix::{
    FacetCount, FidelityCounts, GroupCounts, InexactCount, InstructionMix, MachineCodeCounts, OperationCounts,
};
pub use crate::observe::rows::{FormatCount, RowCount, RowCounts, rows_of};
pub use crate::observe::traffic::{AccessCount, LINE, LdsCount, Traffic};
pub use wavemill_ir::{ExportOp, ExportTarget};
pub use wavemill_isa::gcn::{Facet, FacetKind, Fidelity, Format};
pub use wavemill_machine::{Export, RunStats, WaveExports};
