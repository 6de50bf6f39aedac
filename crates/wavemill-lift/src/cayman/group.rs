//! ALU groups (HD 6900 ISA 4).
//!
//! All slots of a group read before any of them writes. Slots that read a row come before the slot
//! that writes it; where slots read each other's rows, a result waits in a temporary. The results
//! of a group are also PV of the next one. If a slot writes a register in all lanes of the clause,
//! the next group reads PV there; else PV has rows of its own.
//!
//! A slot under a predicate computes in all lanes of the clause, and its result is merged into the
//! row. Where more than a row depends on the lanes, other lanes are active meanwhile.

use wavemill_ir::{
    Attrs, CmpPred, IntOp, IntType, LaneMask, LaneOp, Op as IrOp, Operand, Row as IrRow, ScalarOp as S, Uni,
    Width,
};
use wavemill_isa::cayman::{FieldId as F, Flag, Format, Inst, Op};

use super::alu::{Slot, interpolation};
use super::clause::{InClause, plain_register, written_register};
use super::lifter::{ILLEGAL, Lifter, Refused, UNSUPPORTED, all_zero};
use super::masks::ACTIVE;
use super::registers::{
    self, BROKEN, CLAUSE_GLOBAL, CONTROL_INDEX, INDEX, INVALID, LEFT, PENDING, PREDICATE,
};
use super::source::GroupConstants;

/// The lanes of a slot: those of the clause that PRED_SEL selects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lanes {
    All,
    /// The predicate is set.
    Set,
    /// The predicate is clear.
    Clear,
    None,
}

/// The lanes for which operations run now.
struct Selected {
    lanes: Lanes,
    /// The lanes of the clause, once others have been selected.
    all: Option<Uni>,
}

/// A slot that computes a result, and its way.
struct Step<'s> {
    slot: &'s Slot,
    lanes: Lanes,
    target: IrRow,
    /// Whether the result is needed. Otherwise, only the mask is.
    has_result: bool,
    /// Another row that gets the result after all slots have read.
    copy: Option<IrRow>,
    /// The register, if an index is added to its address.
    indexed: Option<IrRow>,
    /// The result and the mask of slots that compute together.
    joint: (Option<Operand>, Option<Uni>),
}

impl Step<'_> {
    /// Whether it reads a row while it computes.
    fn reads(&self, row: IrRow) -> bool {
        self.joint.0.is_none() && self.slot.sources.contains(&Operand::Row(row))
    }

    /// Whether it may write a row.
    fn writes(&self, row: IrRow) -> bool {
        self.target == row || self.copy == Some(row) || self.indexed.is_some()
    }

    /// Whether it computes in all lanes of the clause, and only its result is for the lanes of the
    /// slot: nothing else depends on the lanes.
    fn merges(&self) -> bool {
        let inst = &self.slot.inst;
        matches!(self.lanes, Lanes::Set | Lanes::Clear)
            && self.has_result
            && self.indexed.is_none()
            && !self.slot.makes_mask()
            && !interpolation::loads(inst.op())
    }
}

impl Lifter<'_, '_> {
    /// A group of a clause. Gives whether the active lanes are already those after the clause.
    pub(super) fn alu_group(&mut self, clause: &InClause<'_>) -> Result<bool, Refused> {
        // Operations that can fault come first, before anything is written.
        self.constants = GroupConstants::default();
        let mut slots = Vec::with_capacity(4);
        let is_ignored = |inst: &&Inst| inst.row().has(Flag::Kill) && !self.family.kills;
        let executed: Vec<&Inst> =
            clause.group.slots.iter().flatten().filter(|inst| !is_ignored(inst)).collect();
        for inst in executed {
            slots.push(self.slot(clause, inst)?);
        }
        let mut selected = Selected { lanes: Lanes::All, all: None };
        let is_lds = |slot: &Slot| slot.inst.format() == Format::Lds;
        for slot in slots.iter().filter(|slot| is_lds(slot)) {
            // LDS operations are in the first slot (HD 6900 ISA 8.6).
            if slot.inst.get(F::DstChan) != 0 {
                return Err(ILLEGAL);
            }
            match lanes_of(clause, slot)? {
                Lanes::None => {}
                lanes if self.loads_or_stores(slot) => {
                    let mask = self.lanes_mask(lanes);
                    let first = self.b.guest_insts().len();
                    self.lds_access(slot, clause.state.queues)?;
                    let moves = |op: &IrOp| matches!(op, IrOp::Load(..) | IrOp::Store(..));
                    let operations = &mut self.b.guest_insts()[first..];
                    operations.iter_mut().filter(|one| moves(&one.op)).for_each(|one| one.mask = mask);
                }
                lanes => {
                    self.run_for(&mut selected, lanes);
                    self.lds_access(slot, clause.state.queues)?;
                }
            }
        }
        self.run_for(&mut selected, Lanes::All);
        let mut steps = self.steps(clause, &slots)?;
        let late = self.late_sources(&slots, &steps);
        let mut masks = Vec::new();
        let mut written = Vec::with_capacity(4);
        while !steps.is_empty() {
            let number = next_step(&steps, selected.lanes);
            let mut step = steps.remove(number.unwrap_or(0));
            let target = step.target;
            if number.is_none() {
                step.target = self.b.row_temp(1);
            }
            if step.merges() {
                self.run_for(&mut selected, Lanes::All);
                match number {
                    Some(_) => self.merge(&step)?,
                    None => {
                        self.compute(&step)?;
                    }
                }
                written.push((step, target));
                continue;
            }
            if step.lanes != Lanes::None {
                self.run_for(&mut selected, step.lanes);
            }
            let mask = self.compute(&step)?;
            if let Some(mask) = mask.filter(|_| step.slot.makes_mask()) {
                masks.push((step.slot, step.lanes, mask));
            }
            written.push((step, target));
        }
        for (step, target) in written.iter().filter(|(step, _)| step.lanes != Lanes::None) {
            let copies = [Some(*target), step.copy].into_iter().flatten().filter(|row| *row != step.target);
            for row in copies {
                if step.merges() {
                    self.run_for(&mut selected, Lanes::All);
                    self.select_lanes(row, step.target.into(), step.lanes);
                } else {
                    self.run_for(&mut selected, step.lanes);
                    self.copy(row, step.target.into());
                }
            }
            if let Some(register) = step.indexed {
                self.run_for(&mut selected, step.lanes);
                let rows = self.indexed_rows(register)?;
                let index = self.index_row(&step.slot.inst)?;
                let sources = [step.target.into(), index.into()];
                self.push(IrOp::LaneIndexedWrite(rows), register, &sources, Attrs::default());
            }
        }
        for (slot, source) in late {
            if slot.inst.op() == Op::MovaInt {
                let lanes = lanes_of(clause, slot)?;
                if lanes != Lanes::None {
                    self.run_for(&mut selected, lanes);
                    self.move_to_index(&slot.inst, source)?;
                }
            } else {
                // Whether lanes that a predicate leaves out count is not defined.
                all_zero(&slot.inst, &[F::PredSel])?;
                self.run_for(&mut selected, Lanes::All);
                self.set_share_size(slot, source)?;
            }
        }
        self.run_for(&mut selected, Lanes::All);
        let mut is_pending = clause.state.is_pending;
        if let (true, false, &[(slot, _, mask)]) = (clause.is_last, is_pending, &masks[..]) {
            let deactivates = slot.inst.bit(F::UpdateExecMask) && slot.inst.get(F::ExecuteMaskOp) == 0;
            if deactivates && clause.outside == ACTIVE {
                // No other group follows, so nothing needs to wait. The predicate ends here, too.
                self.move_mask(ACTIVE, mask);
                return Ok(true);
            }
        }
        if let &[(slot, Lanes::All, mask)] = &masks[..] {
            let inst = &slot.inst;
            if inst.bit(F::UpdatePred) && !inst.bit(F::UpdateExecMask) && !inst.row().has(Flag::Kill) {
                self.move_mask(PREDICATE, mask);
                return Ok(false);
            }
        }
        for (slot, lanes, mask) in masks {
            self.update_masks(clause, slot, lanes, mask, &mut is_pending)?;
        }
        Ok(false)
    }

    /// The slots that act after the results of the group, because these may need what they change.
    /// Their sources are those before the results.
    fn late_sources<'s>(&mut self, slots: &'s [Slot], steps: &[Step<'_>]) -> Vec<(&'s Slot, Operand)> {
        let mut late: Vec<(&Slot, Operand)> = Vec::new();
        let of = |op: Op| slots.iter().filter(move |slot| slot.inst.op() == op);
        for slot in of(Op::MovaInt).chain(of(Op::SetLdsSize)) {
            let [mut source, ..] = slot.sources;
            let is_written = |row| steps.iter().any(|step| step.writes(row));
            if let Operand::Row(row) = source
                && is_written(row)
            {
                let before = self.b.row_temp(1);
                self.copy(before, source);
                source = before.into();
            }
            late.push((slot, source));
        }
        late
    }

    /// The slots with an effect, and where their results go.
    fn steps<'s>(&mut self, clause: &InClause<'_>, slots: &'s [Slot]) -> Result<Vec<Step<'s>>, Refused> {
        let joint = self.joint_results(slots, clause.is_read)?;
        let mut steps = Vec::with_capacity(4);
        for slot in slots {
            let inst = &slot.inst;
            let row = inst.row();
            if !row.has(Flag::Predicate) {
                // What a kill would change of these is not defined.
                all_zero(inst, &[F::UpdateExecMask, F::UpdatePred])?;
            }
            let lanes = lanes_of(clause, slot)?;
            let has_no_result =
                matches!(inst.op(), Op::Nop | Op::GroupBarrier | Op::SetMode | Op::MovaInt | Op::SetLdsSize);
            if inst.format() == Format::Lds || has_no_result {
                continue;
            }
            let channel = inst.get(F::DstChan) as usize & 3;
            let previous = registers::previous_vector(channel as u16);
            let is_relative = inst.bit(F::DstRel) && inst.field(F::WriteMask) != Some(0);
            let register = written_register(self.family, inst).filter(|_| !is_relative);
            let indexed = is_relative.then(|| registers::gpr(inst.get(F::DstGpr) as u16, channel as u16));
            if let Some(register) = indexed {
                self.indexed_rows(register)?;
            }
            let is_read = clause.is_read[channel] && row.result.is_some();
            // The lanes of the clause that the slot leaves out keep the old result.
            let old = clause.state.previous[channel];
            if is_read && lanes != Lanes::All && old != previous {
                self.copy(previous, old.into());
            }
            let is_needed = is_read
                || register.is_some()
                || indexed.is_some()
                || slot.makes_mask()
                || row.result.is_none();
            if !is_needed || lanes == Lanes::None && !slot.makes_mask() {
                continue;
            }
            let (target, copy) = match plain_register(self.family, inst).or(register.filter(|_| !is_read)) {
                Some(register) => (register, None),
                None if is_read => (previous, register),
                None => (self.b.row_temp(1), None),
            };
            let joint = (joint.results[channel], joint.masks[channel]);
            let has_result = is_read || register.is_some() || indexed.is_some();
            steps.push(Step { slot, lanes, target, has_result, copy, indexed, joint });
        }
        // The last operation of a group can change the active lanes itself.
        steps.sort_by_key(|step| !step.has_result);
        Ok(steps)
    }

    /// Runs operations for these lanes from now on.
    fn run_for(&mut self, selected: &mut Selected, lanes: Lanes) {
        if selected.lanes == lanes {
            return;
        }
        let all = *selected.all.get_or_insert_with(|| {
            let all = self.b.uni_temp(2);
            self.b.scalar(S::Mov, Width::W64, all, &[ACTIVE.into()]);
            all
        });
        match lanes {
            Lanes::All => self.copy_mask(ACTIVE, all),
            Lanes::Set => self.scalar64(S::And, ACTIVE, &[all.into(), PREDICATE.into()]),
            Lanes::Clear => self.scalar64(S::AndNot, ACTIVE, &[all.into(), PREDICATE.into()]),
            Lanes::None => self.scalar64(S::Mov, ACTIVE, &[Operand::Const(0)]),
        }
        selected.lanes = lanes;
    }

    /// Computes a result in all lanes of the clause, and writes it to the target in those of the slot.
    fn merge(&mut self, step: &Step<'_>) -> Result<(), Refused> {
        let value = match (step.joint.0, self.copied(step.slot)) {
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => {
                let result = self.b.row_temp(1);
                self.operation(step.slot, result)?;
                result.into()
            }
        };
        self.select_lanes(step.target, value, step.lanes);
        Ok(())
    }

    /// Writes a value to a row in the lanes that a slot selects by the predicate.
    fn select_lanes(&mut self, row: IrRow, value: Operand, lanes: Lanes) {
        let [clear, set] = if lanes == Lanes::Set { [row.into(), value] } else { [value, row.into()] };
        self.push(IrOp::Int(IntOp::Select), row, &[clear, set, PREDICATE.into()], Attrs::default());
    }

    /// The lanes of an access of a slot.
    fn lanes_mask(&mut self, lanes: Lanes) -> LaneMask {
        match lanes {
            Lanes::All | Lanes::None => LaneMask::Active,
            Lanes::Set => LaneMask::Given(self.combined(S::And, ACTIVE, PREDICATE)),
            Lanes::Clear => LaneMask::Given(self.combined(S::AndNot, ACTIVE, PREDICATE)),
        }
    }

    /// Computes a result, and gives the mask that the slot makes.
    fn compute(&mut self, step: &Step<'_>) -> Result<Option<Uni>, Refused> {
        if step.lanes == Lanes::None {
            let none = self.b.uni_temp(2);
            self.scalar64(S::Mov, none, &[Operand::Const(0)]);
            return Ok(Some(none));
        }
        let (Some(value), mask) = step.joint else {
            let mask = if step.has_result { None } else { self.condition(step.slot) };
            return match mask {
                Some(mask) => Ok(Some(mask)),
                None => self.operation(step.slot, step.target),
            };
        };
        self.copy(step.target, value);
        // It counts all lanes of the clause.
        Ok(mask.map(|mask| if step.lanes == Lanes::All { mask } else { self.combined(S::And, mask, ACTIVE) }))
    }

    /// Moves a mask that nothing else needs. If a comparison that makes it is the last operation, it
    /// writes it there.
    fn move_mask(&mut self, to: Uni, mask: Uni) {
        match self.b.guest_insts().last_mut() {
            Some(last)
                if matches!(last.op, IrOp::IntCmp(..) | IrOp::FloatCmp(..)) && last.dst[0] == mask.into() =>
            {
                last.dst[0] = to.into();
            }
            _ => self.copy_mask(to, mask),
        }
    }

    /// Changes the masks as a slot says that computes a predicate, or kills (HD 6900 ISA 4.8.1,
    /// 9.2: ALU_WORD1_OP2_EXECUTE_MASK). The active lanes change after the clause.
    fn update_masks(
        &mut self,
        clause: &InClause<'_>,
        slot: &Slot,
        lanes: Lanes,
        mask: Uni,
        is_pending: &mut bool,
    ) -> Result<(), Refused> {
        let inst = &slot.inst;
        if inst.row().has(Flag::Kill) {
            self.change(S::Or, INVALID, mask);
            return Ok(());
        }
        if inst.bit(F::UpdateExecMask) {
            let before = if *is_pending { PENDING } else { clause.outside };
            let leave = inst.get(F::ExecuteMaskOp);
            if leave == 0 && clause.outside == ACTIVE {
                // The clause runs for all lanes that it can deactivate.
                match *is_pending {
                    true => self.change(S::And, PENDING, mask),
                    false => self.copy_mask(PENDING, mask),
                }
            } else {
                let failing = self.combined(S::AndNot, ACTIVE, mask);
                let leaving = self.combined(S::And, before, failing);
                match leave {
                    0 => {}
                    1 => {
                        self.change(S::Or, BROKEN, leaving);
                        self.change(S::Or, LEFT, leaving);
                    }
                    2 => self.change(S::Or, LEFT, leaving),
                    _ => self.change(S::Or, INVALID, leaving),
                }
                self.scalar64(S::AndNot, PENDING, &[before.into(), failing.into()]);
            }
            *is_pending = true;
        }
        if inst.bit(F::UpdatePred) {
            match lanes {
                Lanes::All | Lanes::Set => self.copy_mask(PREDICATE, mask),
                Lanes::Clear => self.change(S::Or, PREDICATE, mask),
                // It is still the mask of active lanes.
                Lanes::None => self.copy_mask(PREDICATE, ACTIVE),
            }
        }
        Ok(())
    }

    /// MOVA_INT: an index, -256 if it is out of the range of nine bits (HD 6900 ISA 8.2). Registers
    /// of the wave get the value of the first lane, and stay as they are if there is none.
    fn move_to_index(&mut self, inst: &Inst, source: Operand) -> Result<(), Refused> {
        // Its register number is the destination.
        all_zero(inst, &[F::WriteMask, F::DstRel])?;
        let above = self.b.row_temp(1);
        let constant = |value: i32| Operand::Const(u64::from(value as u32));
        self.push(IrOp::Int(IntOp::Add), above, &[source, constant(256)], Attrs::default());
        let destination = inst.get(F::MovaDst);
        let index = if destination == 0 { INDEX } else { self.b.row_temp(1) };
        let sources = [above.into(), constant(511), constant(-256), source];
        self.push(IrOp::IntSelect(CmpPred::Gt, IntType::U32), index, &sources, Attrs::default());
        if destination == 0 {
            return Ok(());
        }
        let first = self.b.uni_temp(1);
        let has_lanes = self.b.uni_temp(1);
        self.push(IrOp::Lane(LaneOp::ReadFirstLane), first, &[index.into()], Attrs::default());
        let active = [ACTIVE.into(), ACTIVE.into()];
        self.b.scalar_with_flag(S::Or, Width::W64, Operand::None, has_lanes.into(), &active);
        let register = match destination {
            2 | 3 => {
                self.scalar32(S::And, first, &[first.into(), constant(0x1ff)]);
                CONTROL_INDEX[destination as usize - 2]
            }
            4..8 => {
                let shift = 8 * (destination as i32 - 4);
                let byte = constant(0xff << shift);
                let rest = self.b.uni_temp(1);
                self.scalar32(S::Shl, first, &[first.into(), constant(shift)]);
                self.scalar32(S::And, first, &[first.into(), byte]);
                self.scalar32(S::AndNot, rest, &[CLAUSE_GLOBAL.into(), byte]);
                self.scalar32(S::Or, first, &[first.into(), rest.into()]);
                CLAUSE_GLOBAL
            }
            // The manual does not say what CF_PC does.
            _ => return Err(UNSUPPORTED),
        };
        self.scalar32(S::Select, register, &[first.into(), register.into(), has_lanes.into()]);
        Ok(())
    }
}

/// The lanes that PRED_SEL of a slot selects. At the beginning of a clause, the predicate is set in
/// all of its lanes.
fn lanes_of(clause: &InClause<'_>, slot: &Slot) -> Result<Lanes, Refused> {
    match (slot.inst.get(F::PredSel), clause.state.has_predicate) {
        (0, _) | (3, false) => Ok(Lanes::All),
        (3, true) => Ok(Lanes::Set),
        (2, true) => Ok(Lanes::Clear),
        (2, false) => Ok(Lanes::None),
        // Reserved.
        _ => Err(UNSUPPORTED),
    }
}

/// A step whose target no other step reads, if possible for the selected lanes.
fn next_step(steps: &[Step<'_>], lanes: Lanes) -> Option<usize> {
    let is_free = |number: usize| {
        let others = steps.iter().enumerate().filter(|(other, _)| *other != number);
        !others.into_iter().any(|(_, other)| other.reads(steps[number].target))
    };
    let free = || (0..steps.len()).filter(|number| is_free(*number));
    free().find(|number| steps[*number].lanes == lanes).or_else(|| free().next())
}
