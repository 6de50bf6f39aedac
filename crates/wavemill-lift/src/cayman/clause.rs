//! The path through a clause: which of its words are an instruction, and what happens before and
//! after the clause.

use wavemill_ir::{Operand, Row as IrRow, ScalarOp as S, Terminator, Uni};
use wavemill_isa::cayman::{
    FieldId as F, Format, Group, Inst, Op, Source, decode_fetch, decode_gds, decode_group,
};

use super::lifter::{ILLEGAL, Lifter, Refused, Then, UNSUPPORTED};
use super::masks::ACTIVE;
use super::queue::Queues;
use super::registers::{self, INVALID, OUTSIDE, PENDING};
use super::stack::Frame;
use super::{BOUNDED_SHARE, Cayman, Position};

/// Bytes of the longest group: four slots and two pairs of literals.
pub(super) const GROUP: usize = 48;

/// What a word does beside its ALU clause (HD 6900 ISA 3.7.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Plain,
    PushBefore,
    /// It pops that many frames after the clause.
    PopAfter(u32),
    ElseAfter,
    ReactivateBefore,
    /// The clause runs for valid lanes only.
    Valid,
}

impl Kind {
    /// The kind of an instruction; `None` if it calls no ALU clause.
    pub(super) fn of(op: Op) -> Option<Kind> {
        Some(match op {
            Op::Alu | Op::AluExtendedAlu => Kind::Plain,
            Op::AluPushBefore | Op::AluExtendedAluPushBefore => Kind::PushBefore,
            Op::AluPopAfter | Op::AluExtendedAluPopAfter => Kind::PopAfter(1),
            Op::AluPop2After | Op::AluExtendedAluPop2After => Kind::PopAfter(2),
            Op::AluElseAfter | Op::AluExtendedAluElseAfter => Kind::ElseAfter,
            Op::AluReactivateBefore | Op::AluExtendedAluReactivateBefore => Kind::ReactivateBefore,
            Op::AluValidPixelMode | Op::AluExtendedAluValidPixelMode => Kind::Valid,
            _ => return None,
        })
    }

    /// Whether the clause of a word runs for other lanes than the active ones.
    fn has_own_lanes(self, control: &Inst) -> bool {
        self == Kind::Valid || control.bit(F::WholeQuadMode)
    }
}

/// What earlier groups of a clause determine for a group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ClauseState {
    /// The queues of LDS.
    pub(super) queues: Queues,
    /// The modes of floats that `SET_MODE` has set.
    pub(super) modes: Option<u32>,
    /// The rows with the results of the last group (PV): registers, where the results are there
    /// too.
    pub(super) previous: [IrRow; 4],
    /// Whether the predicate has been written. Before, it is the mask of active lanes.
    pub(super) has_predicate: bool,
    /// Whether [`PENDING`] are the active lanes after the clause. Otherwise the clause does not
    /// change them.
    pub(super) is_pending: bool,
}

impl ClauseState {
    /// The state before the first group.
    pub(super) fn first() -> ClauseState {
        ClauseState {
            queues: Queues::default(),
            modes: None,
            previous: std::array::from_fn(|channel| registers::previous_vector(channel as u16)),
            has_predicate: false,
            is_pending: false,
        }
    }

    /// The state after a group.
    fn behind(mut self, family: &Cayman, group: &Group) -> Result<ClauseState, Refused> {
        self.queues = self.queues.behind(group)?;
        self.modes = self.modes_of(group);
        for (channel, slot) in group.slots.iter().enumerate() {
            let register = slot.as_ref().and_then(|slot| plain_register(family, slot));
            let own = registers::previous_vector(channel as u16);
            self.previous[channel] = register.unwrap_or(own);
        }
        for slot in group.slots.iter().flatten() {
            self.has_predicate |= slot.bit(F::UpdatePred);
            self.is_pending |= slot.bit(F::UpdateExecMask);
        }
        Ok(self)
    }

    /// The modes of floats from a group on: bits 3:0 for single floats, bits 7:4 for doubles. The
    /// sources' codes themselves are the modes (HD 6900 ISA 8.2, SET_MODE).
    pub(super) fn modes_of(&self, group: &Group) -> Option<u32> {
        let set = group.slots.iter().flatten().find(|slot| slot.op() == Op::SetMode);
        match set {
            Some(slot) => Some(slot.get(F::Src0Sel) & 0xf | (slot.get(F::Src1Sel) & 0xf) << 4),
            None => self.modes,
        }
    }
}

/// The row of the register to which a slot writes all that PV gets: then the next group reads PV
/// there.
pub(super) fn plain_register(family: &Cayman, slot: &Inst) -> Option<IrRow> {
    let row = slot.row();
    if row.result.is_none() || slot.format() == Format::Lds || slot.bit(F::PredSel) || slot.bit(F::DstRel) {
        return None;
    }
    written_register(family, slot)
}

/// The row of the register that a slot writes if its address is absolute. Registers that the
/// program does not declare are not written; PV gets the result all the same (HD 6900 ISA 4.6.3).
pub(super) fn written_register(family: &Cayman, slot: &Inst) -> Option<IrRow> {
    let register = slot.field(F::DstGpr)? as u16;
    // Only words with two sources can leave the register unchanged.
    let is_written = slot.field(F::WriteMask) != Some(0) && family.has_register(register);
    is_written.then(|| registers::gpr(register, slot.get(F::DstChan) as u16))
}

/// A group in its clause.
pub(super) struct InClause<'c> {
    /// The word that calls the clause, with the constants that it locks.
    pub(super) control: &'c Inst,
    pub(super) group: &'c Group,
    /// The state before the group.
    pub(super) state: ClauseState,
    /// Which channels of PV a later group reads.
    pub(super) is_read: [bool; 4],
    /// The lanes outside of the clause.
    pub(super) outside: Uni,
    /// Whether the clause ends behind the group.
    pub(super) is_last: bool,
}

impl Lifter<'_, '_> {
    /// What precedes the first group of an ALU clause.
    pub(super) fn begin_clause(&mut self, control: &Inst, at: Position) -> Result<Then, Refused> {
        let Some(kind) = Kind::of(control.op()) else { return Err(ILLEGAL) };
        match kind {
            Kind::PushBefore => {
                let depth = self.pushed(Frame::Lanes)?;
                self.save(self.depth, ACTIVE.into());
                self.depth = depth;
            }
            Kind::ReactivateBefore => {
                self.reactivate()?;
                if control.bit(F::WholeQuadMode) {
                    self.fill_quads(ACTIVE);
                }
            }
            Kind::Plain | Kind::PopAfter(_) | Kind::ElseAfter | Kind::Valid => {}
        }
        if kind.has_own_lanes(control) {
            self.copy_mask(OUTSIDE, ACTIVE);
            if control.bit(F::WholeQuadMode) {
                self.fill_quads(ACTIVE);
            }
            if kind == Kind::Valid {
                self.change(S::AndNot, ACTIVE, INVALID);
            }
        }
        self.clause = Some(ClauseState::first());
        Ok(Then::Next(at.in_clause(0)))
    }

    /// What follows the last group of an ALU clause. The group may have set the active lanes.
    fn end_clause(
        &mut self,
        control: &Inst,
        kind: Kind,
        is_pending: bool,
        is_active: bool,
    ) -> Result<(), Refused> {
        match is_active {
            true => {}
            false if is_pending => self.copy_mask(ACTIVE, PENDING),
            false if kind.has_own_lanes(control) => self.copy_mask(ACTIVE, OUTSIDE),
            false => {}
        }
        match kind {
            Kind::PopAfter(count) => self.pop(count),
            Kind::ElseAfter => self.invert(control),
            _ => Ok(()),
        }
    }

    /// The instruction at a word of the clause that a control flow word calls.
    pub(super) fn in_clause(&mut self, control: &Inst, at: Position, word: u8) -> Result<Then, Refused> {
        // The field holds one less.
        let words = control.get(F::Count) as usize + 1;
        let start = self.address_of(control);
        if let Some(kind) = Kind::of(control.op()) {
            return self.group_in_clause(control, kind, at, start, word, words);
        }
        let is_share = control.op() == Op::Gds;
        if !is_share && !matches!(control.op(), Op::Tex | Op::TcAck) {
            return Err(if control.row().clause().is_some() { UNSUPPORTED } else { ILLEGAL });
        }
        if usize::from(word) >= words {
            return Err(ILLEGAL);
        }
        let address = start.wrapping_add(16 * u64::from(word));
        let mut bytes = [0; 16];
        let count = self.read(address, &mut bytes);
        let bytes = &bytes[..count];
        let inst = if is_share { decode_gds(bytes)? } else { decode_fetch(bytes)? };
        self.cover(address, inst.size());
        if inst.op() == Op::GdsAtomicOrderedAllocRet && self.is_behind_others() {
            return Ok(Then::Itself);
        }
        let lanes = inst.bit(F::FetchWholeQuad).then(|| self.whole_quads());
        match inst.format() {
            Format::Gds => self.global_share_access(&inst)?,
            Format::TfWrite => return Err(UNSUPPORTED),
            Format::Tex => self.texture_fetch(&inst)?,
            Format::MemRd => self.memory_read(&inst)?,
            Format::VtxSemantic => self.semantic_fetch(&inst)?,
            _ => match inst.op() {
                Op::VtxRead => self.vertex_fetch(&inst)?,
                Op::GetBufferResinfo => self.buffer_size(&inst)?,
                _ => return Err(UNSUPPORTED),
            },
        }
        if let Some(lanes) = lanes {
            self.copy_mask(ACTIVE, lanes);
        }
        if control.bit(F::ValidPixelMode) && usize::from(word) + 1 == words {
            self.copy_mask(ACTIVE, OUTSIDE);
        }
        Ok(Then::Next(self.behind(control, at, usize::from(word) + 1, words)))
    }

    /// Makes quads active as a whole that have an active and valid lane. Gives the lanes that were
    /// active before.
    fn whole_quads(&mut self) -> Uni {
        let lanes = self.b.uni_temp(2);
        self.copy_mask(lanes, ACTIVE);
        let quads = self.combined(S::AndNot, ACTIVE, INVALID);
        self.fill_quads(quads);
        self.change(S::Or, ACTIVE, quads);
        lanes
    }

    /// The position of a word of a clause, or what follows the clause.
    fn behind(&self, control: &Inst, at: Position, word: usize, words: usize) -> Position {
        if word < words { at.in_clause(word as u8) } else { at.next_control(control.size()) }
    }

    fn group_in_clause(
        &mut self,
        control: &Inst,
        kind: Kind,
        at: Position,
        start: u64,
        word: u8,
        words: usize,
    ) -> Result<Then, Refused> {
        let state = match self.clause {
            Some(state) => state,
            None => self.state_at(start, word)?,
        };
        let (group, address) = self.group(start, word.into())?;
        let behind = usize::from(word) + group.size / 8;
        if behind > words {
            // The clause ends inside the group.
            return Err(ILLEGAL);
        }
        self.cover(address, group.size);
        let after = state.behind(self.family, &group)?;
        self.set_modes(after.modes);
        let is_read = self.later_reads(start, behind, words);
        let outside = if kind.has_own_lanes(control) { OUTSIDE } else { ACTIVE };
        let is_last = behind == words;
        let in_clause = InClause { control, group: &group, state, is_read, outside, is_last };
        let is_active = self.alu_group(&in_clause)?;
        self.clause = Some(after);
        if is_last {
            self.end_clause(control, kind, after.is_pending, is_active)?;
            self.set_modes(None);
            self.clause = None;
        }
        let next = self.behind(control, at, behind, words);
        let has = |op: Op| group.slots.iter().flatten().any(|slot| slot.op() == op);
        let sets_size = has(Op::SetLdsSize) && self.context & BOUNDED_SHARE == 0;
        let number = next.number_at(self.depth);
        match (has(Op::GroupBarrier), sets_size) {
            (false, false) => Ok(Then::Next(next)),
            (true, false) => Ok(Then::End(Terminator::Barrier(number))),
            (false, true) => {
                let value = Operand::Const((self.context | BOUNDED_SHARE).into());
                Ok(Then::End(Terminator::SetContext { value, next: number }))
            }
            (true, true) => Err(UNSUPPORTED),
        }
    }

    /// Which channels of PV a later group reads, before another result is there: a slot under a
    /// predicate leaves the old result in lanes that it does not compute.
    fn later_reads(&mut self, start: u64, behind: usize, words: usize) -> [bool; 4] {
        let mut is_read = [false; 4];
        let mut is_open = [true; 4];
        let mut at = behind;
        while at < words && is_open.contains(&true) {
            let Ok((group, _)) = self.group(start, at as u64) else { break };
            for channel in 0..4 {
                let reads = |slot: &Inst| {
                    slot.sources().any(|(.., source)| source == Source::PreviousVector(channel as u8))
                };
                is_read[channel] |= is_open[channel] && group.slots.iter().flatten().any(reads);
                is_open[channel] &= group.slots[channel].is_some_and(|slot| slot.bit(F::PredSel));
            }
            at += group.size / 8;
        }
        is_read
    }

    /// The group at a word of a clause, and its address.
    fn group(&mut self, start: u64, word: u64) -> Result<(Group, u64), Refused> {
        let address = start.wrapping_add(8 * word);
        let mut bytes = [0; GROUP];
        let count = self.read(address, &mut bytes);
        Ok((decode_group(&bytes[..count])?, address))
    }

    /// The state at a word of a clause, where a block begins.
    fn state_at(&mut self, start: u64, word: u8) -> Result<ClauseState, Refused> {
        let mut state = ClauseState::first();
        let mut at = 0;
        while at < u64::from(word) {
            let (group, _) = self.group(start, at)?;
            state = state.behind(self.family, &group)?;
            at += group.size as u64 / 8;
        }
        // No group begins there.
        if at == u64::from(word) { Ok(state) } else { Err(ILLEGAL) }
    }
}
