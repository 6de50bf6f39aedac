//! Float operations.

use wavemill_ir::Inst;

use super::Tier;
use super::compile::SourceKind;
use super::hostop::Handler;

/// How a float operation, comparison or conversion is compiled.
pub(super) struct Plan {
    /// Handler for any sources.
    pub run: Handler,
    /// Handler when all sources are rows.
    pub run_rows: Handler,
    /// Immediate that the handlers want.
    pub imm: i32,
    /// How source modifiers act; `Int` if the handler applies them itself.
    pub sources: SourceKind,
    /// Cells of each source.
    pub widths: [u16; 3],
    /// Cells of the result.
    pub result_dwords: u16,
    /// The handler looks at all attributes (selects, modifiers, outputs) itself, through `HostOp::attrs`.
    pub packed: bool,
    /// The handler writes the whole result, output modifiers and sub-dword destinations included.
    pub whole_result: bool,
    /// Step that applies output modifiers to the result (source 0) and writes it to the destination.
    pub output_step: Option<Handler>,
}

/// Plans a float operation; `None` if it has no handler.
pub(super) fn plan(_inst: &Inst, _tier: Tier) -> Option<Plan> {
    None
}
