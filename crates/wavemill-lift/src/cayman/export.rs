//! Exports to the graphics pipeline (HD 6900 ISA 3.4.1, 8.1, 9.1).

use wavemill_ir::{Attrs, ExportOp, ExportTarget, Op as IrOp, Operand};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::lifter::{Lifter, Refused, UNSUPPORTED};
use super::masks::ACTIVE;
use super::select::{MASKED, Register};

/// The fields that select each component.
const COMPONENTS: [F; 4] = [F::SelX, F::SelY, F::SelZ, F::SelW];
/// TYPE.
const PIXEL: u32 = 0;
const POSITION: u32 = 1;
const PARAMETER: u32 = 2;

/// The target of an export with these values of TYPE and ARRAY_BASE (HD 6900 ISA, table 3.3); `None`
/// for values that the table does not have.
#[must_use]
pub fn export_target(kind: u32, base: u32) -> Option<ExportTarget> {
    Some(match (kind, base) {
        (PIXEL, 0..8) => ExportTarget::Colour(base as u8),
        (PIXEL, 61) => ExportTarget::Depth,
        (POSITION, 60..64) => ExportTarget::Position(base as u8 - 60),
        (PARAMETER, 0..32) => ExportTarget::Parameter(base as u8),
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// EXPORT and EXPORT_DONE, of the active and valid lanes. A burst goes on with the next register
    /// and the next target.
    pub(super) fn export(&mut self, inst: &Inst) -> Result<(), Refused> {
        let kind = inst.get(F::Type);
        let count = inst.get(F::BurstCount) + 1;
        let first = Register::of(inst, F::RwGpr, F::RwRel)?;
        let lanes = self.valid_lanes();
        for n in 0..count {
            let mut sources = [Operand::None; 4];
            let mut components = 0;
            for (component, field) in COMPONENTS.into_iter().enumerate() {
                let code = inst.get(field);
                if code != MASKED {
                    components |= 1 << component;
                    sources[component] = self.selected(first.plus(n as u16), code)?;
                }
            }
            let op = ExportOp {
                target: export_target(kind, inst.get(F::ArrayBase) + n).ok_or(UNSUPPORTED)?,
                components,
                halves: false,
                last: inst.op() == Op::ExportDone && n + 1 == count,
                valid: kind == PIXEL,
            };
            self.push(IrOp::Export(op), Operand::None, &sources, Attrs::default());
        }
        self.copy_mask(ACTIVE, lanes);
        Ok(())
    }
}
