//! Facts from the code of a kernel before it runs: whether it accesses LDS, and whether it calls
//! functions.

use wavemill_isa::gcn::{Flag, MemSpace, Role, instructions};
use wavemill_isa::{Family, Target};
use wavemill_object::TargetId;
use wavemill_object::report::CodeReport;

/// Examines the code of a kernel. `None` if the instructions of the target are not known.
pub(crate) fn read(target: &TargetId, code: &[u8]) -> Option<CodeReport> {
    let target =
        Target::from_name(&target.processor.name()).filter(|target| target.family() == Family::Gcn)?;
    let mut report = CodeReport::default();
    // Undecodable dwords are data between instructions, or padding.
    for inst in instructions(target, code).filter_map(|(_, inst)| inst.ok()) {
        report.instructions += 1;
        // A jump with a result stores the return address.
        let is_call = inst.row().flags().contains(Flag::Jump) && inst.operand(Role::Sdst).is_some();
        report.calls += u64::from(is_call);
        report.lds_instructions += u64::from(inst.memory().any(|access| access.space == MemSpace::Lds));
    }
    Some(report)
}
