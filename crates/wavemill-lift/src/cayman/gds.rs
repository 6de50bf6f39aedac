//! Accesses to the global data share (HD 6900 ISA 8.5, 9.6).
//!
//! A cell says which part of the share the wave may access. Sources and results are channels of
//! registers.

use wavemill_ir::{Operand, Space};
use wavemill_isa::cayman::{FieldId as F, Inst};

use super::data_share::{Share, access};
use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::registers;
use super::select::{Register, selected_results};

impl Lifter<'_, '_> {
    /// MEM_GDS.
    pub(super) fn global_share_access(&mut self, inst: &Inst) -> Result<(), Refused> {
        let access = access(inst.op()).ok_or(UNSUPPORTED)?;
        // Counters, and one access for all lanes.
        all_zero(inst, &[F::AllocConsume, F::BcastFirstReq, F::UavIndexMode])?;
        let register = Register::of(inst, F::SrcGpr, F::SrcRelMode)?;
        let mut sources = [Operand::None; 3];
        let fields = [F::SrcSelX, F::SrcSelY, F::SrcSelZ];
        for (source, field) in sources.iter_mut().zip(fields).take(inst.row().sources.len()) {
            *source = self.selected(register, inst.get(field))?;
        }
        let returns = inst.row().result.is_some();
        let selected = selected_results(inst);
        let share = Share { space: Space::Gds, base: registers::GLOBAL_SHARE.into() };
        let values = self.b.row_temp(2);
        let results = [values, values.plus(1)];
        self.share_access(share, access, sources, inst.get(F::GdsOffset), results, returns);
        if !returns {
            return Ok(());
        }
        let count = access.results();
        let value = |number: u32| match number {
            number if number < count => values.plus(number as u16).into(),
            // No value.
            _ => Operand::Const(0),
        };
        self.write_selected(Register::of(inst, F::DstGpr, F::DstRelMode)?, selected?, value)
    }
}
