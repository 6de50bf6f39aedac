//! Accesses to the global data share (HD 6900 ISA 8.5, 9.6).
//!
//! A cell says which part of the share the wave may access. Sources and results are channels of
//! registers.

use wavemill_ir::{Operand, Space};
use wavemill_isa::cayman::{FieldId as F, Inst};

use super::data_share::{Share, access};
use super::lifter::{Lifter, Refused, UNSUPPORTED, all_zero};
use super::registers;

/// Codes of SRC_SEL and DST_SEL that are no channels.
const ZERO: u32 = 4;
const ONE: u32 = 5;
const MASKED: u32 = 7;
const ONE_FLOAT: Operand = Operand::Const(0x3f80_0000);

impl Lifter<'_, '_> {
    /// MEM_GDS.
    pub(super) fn global_share_access(&mut self, inst: &Inst) -> Result<(), Refused> {
        let access = access(inst.op()).ok_or(UNSUPPORTED)?;
        // Counters, one access for all lanes, and relative registers.
        all_zero(inst, &[F::AllocConsume, F::BcastFirstReq, F::UavIndexMode, F::SrcRelMode, F::DstRelMode])?;
        let register = inst.get(F::SrcGpr) as u16;
        let mut sources = [Operand::None; 3];
        let fields = [F::SrcSelX, F::SrcSelY, F::SrcSelZ];
        for (source, field) in sources.iter_mut().zip(fields).take(inst.row().sources.len()) {
            *source = match inst.get(field) {
                channel @ 0..4 => registers::gpr(register, channel as u16).into(),
                ZERO => Operand::Const(0),
                ONE => ONE_FLOAT,
                _ => return Err(UNSUPPORTED),
            };
        }
        let returns = inst.row().result.is_some();
        let selected = [F::DstSelX, F::DstSelY, F::DstSelZ, F::DstSelW].map(|field| inst.get(field));
        if returns && selected.iter().any(|code| !matches!(*code, 0..=ONE | MASKED)) {
            return Err(UNSUPPORTED);
        }
        let share = Share { space: Space::Gds, base: registers::GLOBAL_SHARE.into() };
        let values = self.b.row_temp(2);
        let results = [values, values.plus(1)];
        self.share_access(share, access, sources, inst.get(F::GdsOffset), results, returns);
        if !returns {
            return Ok(());
        }
        let count = access.results();
        for (channel, code) in selected.into_iter().enumerate() {
            let value = match code {
                MASKED => continue,
                ONE => ONE_FLOAT,
                number if number < count => values.plus(number as u16).into(),
                // No value, or the code of 0.
                _ => Operand::Const(0),
            };
            self.copy(registers::gpr(inst.get(F::DstGpr) as u16, channel as u16), value);
        }
        Ok(())
    }
}
