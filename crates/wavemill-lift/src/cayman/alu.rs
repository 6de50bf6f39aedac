//! ALU groups (HD 6900 ISA 4, 8.2).
//!
//! All slots of a group read before any of them writes. Results go to PV, or to a temporary if a
//! later slot still reads that channel of PV. Registers are written after all slots.

mod compare;
mod convert;
mod double;
mod float;
mod integer;
mod joint;
mod operation;
mod reduction;
mod transcendental;

use wavemill_ir::{Attrs, IntOp, Op as IrOp, Operand, Row as IrRow, SrcMods};
use wavemill_isa::cayman::{Elem, FieldId as F, Format, Group, Inst, Source};

use super::lifter::{ILLEGAL, Lifter, Refused, UNSUPPORTED, all_zero};
use super::queue::Queues;
use super::registers;

/// The context of a slot.
struct Clause<'c> {
    /// The word that calls the clause, with the constants that it locks.
    control: &'c Inst,
    group: &'c Group,
    /// The queues of LDS before the group.
    queues: Queues,
}

/// The sources of a slot as the IR has them.
#[derive(Clone)]
pub(super) struct Slot {
    pub(super) inst: Inst,
    pub(super) sources: [Operand; 3],
    pub(super) modifiers: [SrcMods; 3],
}

impl Lifter<'_, '_> {
    /// A group of the clause that `control` calls.
    pub(super) fn alu_group(&mut self, control: &Inst, group: &Group, queues: Queues) -> Result<(), Refused> {
        let clause = Clause { control, group, queues };
        // Operations that can fault come first, before anything is written.
        let mut slots = Vec::with_capacity(4);
        for inst in group.slots.iter().flatten() {
            slots.push(self.slot(&clause, inst)?);
        }
        let is_lds = |slot: &Slot| slot.inst.format() == Format::Lds;
        for slot in slots.iter().filter(|slot| is_lds(slot)) {
            // LDS operations are in the first slot (HD 6900 ISA 8.6).
            if slot.inst.get(F::DstChan) != 0 {
                return Err(ILLEGAL);
            }
            self.lds_access(slot, queues)?;
        }
        let joint = self.joint_results(&slots)?;
        if joint.masks.iter().any(Option::is_some) {
            return Err(UNSUPPORTED);
        }
        let mut results: Vec<(Inst, IrRow)> = Vec::with_capacity(4);
        for (index, slot) in slots.iter().enumerate().filter(|(_, slot)| !is_lds(slot)) {
            let previous = registers::previous_vector(slot.inst.get(F::DstChan) as u16);
            let still_read =
                slots[index + 1..].iter().any(|later| later.sources.contains(&Operand::Row(previous)));
            let result = if still_read { self.b.row_temp(1) } else { previous };
            let joint_result = joint.results[slot.inst.get(F::DstChan) as usize & 3];
            match joint_result {
                Some(value) => self.copy(result, value),
                // Nothing updates predicates or kills yet.
                None if self.operation(slot, result)?.is_some() => return Err(UNSUPPORTED),
                None => {}
            }
            results.push((slot.inst, result));
        }
        // An instruction without a result leaves registers and PV as they are.
        for (inst, result) in results.into_iter().filter(|(inst, _)| inst.row().result.is_some()) {
            let channel = inst.get(F::DstChan) as u16;
            let previous = registers::previous_vector(channel);
            if result != previous {
                self.copy(previous, result.into());
            }
            // Only words with two sources can leave the register unchanged.
            if inst.field(F::WriteMask) != Some(0) {
                self.copy(registers::gpr(inst.get(F::DstGpr) as u16, channel), result.into());
            }
        }
        Ok(())
    }

    pub(super) fn copy(&mut self, to: IrRow, from: Operand) {
        self.push(IrOp::Int(IntOp::Mov), to, &[from], Attrs::default());
    }

    /// Appends the operations that read a slot's sources, where any are needed.
    fn slot(&mut self, clause: &Clause<'_>, inst: &Inst) -> Result<Slot, Refused> {
        // Predicates, relative registers, and results that change which lanes are active.
        all_zero(inst, &[F::PredSel, F::UpdateExecMask, F::UpdatePred, F::DstRel])?;
        let mut slot = Slot { inst: *inst, sources: [Operand::None; 3], modifiers: [SrcMods::default(); 3] };
        for (index, (elem, field, source)) in inst.sources().enumerate() {
            all_zero(inst, &[field.relative])?;
            let modifiers = SrcMods {
                abs: field.absolute.is_some_and(|absolute| inst.bit(absolute)),
                neg: inst.bit(field.negate),
                ..SrcMods::default()
            };
            // They must be off for integers (HD 6900 ISA 4.7.2).
            if !elem.is_float() && modifiers != SrcMods::default() {
                return Err(UNSUPPORTED);
            }
            slot.sources[index] = self.source(clause, source)?;
            slot.modifiers[index] = modifiers;
        }
        if !inst.row().result.is_some_and(Elem::is_float) {
            all_zero(inst, &[F::Omod, F::Clamp])?;
        }
        Ok(slot)
    }

    fn source(&mut self, clause: &Clause<'_>, source: Source) -> Result<Operand, Refused> {
        Ok(match source {
            Source::Gpr(register, channel) => registers::gpr(register.into(), channel.into()).into(),
            Source::PreviousVector(channel) => registers::previous_vector(channel.into()).into(),
            Source::Inline(constant) => Operand::Const(constant.bits().into()),
            Source::Literal(channel) => {
                Operand::Const(clause.group.literals[usize::from(channel & 3)].into())
            }
            Source::Constant(window, number, channel) => {
                self.constant(clause.control, window, number, channel)?
            }
            Source::Queue(0, _) if clause.queues.popped < clause.queues.pushed => {
                registers::queue(0, clause.queues.popped).into()
            }
            Source::Queue(..) | Source::Other(..) => return Err(UNSUPPORTED),
        })
    }

    /// A constant of a window: lines of 16 constants, of four dwords each, that the clause has locked (HD 6900 ISA 4.6.4).
    fn constant(&mut self, control: &Inst, window: u8, number: u8, channel: u8) -> Result<Operand, Refused> {
        let [bank, mode, line] = match window {
            0 => [F::KcacheBank0, F::KcacheMode0, F::KcacheAddr0],
            1 => [F::KcacheBank1, F::KcacheMode1, F::KcacheAddr1],
            // ALU_EXTENDED locks the others.
            _ => return Err(UNSUPPORTED),
        };
        // LOCK_1 and LOCK_2; nothing may be read without a lock, and the loop index does not exist yet.
        let locked = match control.get(mode) {
            1 => 16,
            2 => 32,
            _ => return Err(UNSUPPORTED),
        };
        if number >= locked {
            return Err(UNSUPPORTED);
        }
        let offset = 256 * control.get(line) + 16 * u32::from(number) + 4 * u32::from(channel);
        let value = self.b.uni_temp(1);
        let attrs = Attrs { imm: offset as i32, ..Attrs::default() };
        let base = registers::bank(control.get(bank) as u16);
        self.push(IrOp::ScalarLoad(1), value, &[base.into()], attrs);
        Ok(value.into())
    }
}
