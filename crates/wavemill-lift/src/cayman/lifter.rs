//! A block under construction, and the steps from one instruction to the next.

use std::ops::Range;

use wavemill_ir::{Attrs, Block, BlockBuilder, FaultKind, FpEnv, Op, Operand, Round, Terminator};
use wavemill_isa::cayman::{
    Address, BrokenRule, DecodeError, FieldId, GroupError, Inst, decode_control, decode_fetch, decode_gds,
    decode_group,
};
use wavemill_isa::gcn::Fidelity;

use super::clause::{ClauseState, GROUP};
use super::source::GroupConstants;
use super::{Cayman, FLOAT_MODES, Position};
use crate::family::Fetch;

/// Why an instruction has no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused(pub(super) FaultKind);

/// It exists, and its meaning is not implemented.
pub(super) const UNSUPPORTED: Refused = Refused(FaultKind::Unsupported);
/// A push finds no room on the stack.
pub(super) const STACK_OVERFLOW: Refused = Refused(FaultKind::StackOverflow);
/// A pop finds no frame.
pub(super) const STACK_UNDERFLOW: Refused = Refused(FaultKind::StackUnderflow);
/// The wave halts.
pub(super) const HALTED: Refused = Refused(FaultKind::Halted);
/// There is no such instruction.
pub(super) const ILLEGAL: Refused = Refused(FaultKind::IllegalInstruction);

impl From<DecodeError> for Refused {
    fn from(error: DecodeError) -> Refused {
        match error {
            DecodeError::Truncated { .. } => Refused(FaultKind::NoCode),
            DecodeError::Unknown { .. } => ILLEGAL,
        }
    }
}

impl From<GroupError> for Refused {
    fn from(error: GroupError) -> Refused {
        match error {
            GroupError::Slot { error, .. } => error.into(),
            GroupError::Order { .. } => ILLEGAL,
        }
    }
}

/// The continuation after an instruction.
pub(super) enum Then {
    /// The instruction at a position, in the same block. The stack has the lifter's depth there.
    Next(Position),
    /// Nothing: the block ends.
    End(Terminator),
    /// The instruction itself, at the beginning of a block. It has no operations yet.
    Itself,
}

/// A block under construction.
pub(super) struct Lifter<'a, 'f> {
    pub(super) family: &'a Cayman,
    /// The modes of single floats.
    pub(super) fp: FpEnv,
    /// The modes of doubles.
    pub(super) fp64: FpEnv,
    /// The context of the block.
    pub(super) context: u32,
    pub(super) b: BlockBuilder,
    /// Subentries on the stack.
    pub(super) depth: u8,
    /// The state before the next group of the clause; `None` if the block begins inside a clause.
    pub(super) clause: Option<ClauseState>,
    /// What the current group has read of constants.
    pub(super) constants: GroupConstants,
    pub(super) fetch: &'a mut Fetch<'f>,
    ranges: Vec<Range<u64>>,
}

/// Bytes of a control flow word, except for those that are extended.
const CONTROL_WORD: usize = 8;

/// The modes of floats in the low four bits: those of a source of `SET_MODE` (HD 6900 ISA 8.2).
fn environment(modes: u32) -> FpEnv {
    FpEnv {
        round: Round::from_bits(modes),
        denorm_in: modes >> 2 & 1 != 0,
        denorm_out: modes >> 3 & 1 != 0,
        ..FpEnv::DEFAULT
    }
}

/// Lifts at most `max_guest` instructions.
pub(super) fn lift(
    family: &Cayman,
    position: u64,
    context: u32,
    fetch: &mut Fetch<'_>,
    max_guest: usize,
) -> Block {
    let mut lifter = Lifter {
        family,
        fp: FpEnv::DEFAULT,
        fp64: FpEnv::DEFAULT,
        context,
        b: BlockBuilder::new(position),
        depth: Position::depth(position),
        clause: None,
        constants: GroupConstants::default(),
        fetch,
        ranges: Vec::new(),
    };
    lifter.set_modes(None);
    let mut at = Position::from_number(position);
    let mut size = CONTROL_WORD;
    while lifter.b.guest_len() < max_guest {
        lifter.b.begin_guest(at.number_at(lifter.depth));
        let depth = lifter.depth;
        let mut then = lifter.instruction(at, &mut size);
        if lifter.b.guest_insts().iter().any(|operation| operation.problem().is_some()) {
            then = Err(UNSUPPORTED);
        }
        let end = match then {
            Ok(Then::Next(next)) => {
                at = next;
                continue;
            }
            Ok(Then::End(end)) => end,
            Ok(Then::Itself) => {
                lifter.b.drop_begun();
                let end = lifter.jump(at);
                return lifter.finish(at, end);
            }
            Err(Refused(kind)) => {
                lifter.b.drop_guest();
                lifter.depth = depth;
                let is_illegal = kind == FaultKind::Unsupported && lifter.breaks_rules(at);
                Terminator::Fault(if is_illegal { FaultKind::IllegalInstruction } else { kind })
            }
        };
        return lifter.finish(at.next_control(size), end);
    }
    let end = lifter.jump(at);
    lifter.finish(at, end)
}

impl Lifter<'_, '_> {
    fn finish(self, next: Position, terminator: Terminator) -> Block {
        let next = next.number_at(self.depth);
        self.b.finish_ranges(self.ranges, next, terminator)
    }

    /// The end of a block that continues at a position, with the stack as deep as it is now.
    pub(super) fn jump(&self, to: Position) -> Terminator {
        Terminator::Jump(to.number_at(self.depth))
    }

    /// Sets the modes of floats: those of `SET_MODE`, or those of the context, outside of its reach.
    pub(super) fn set_modes(&mut self, modes: Option<u32>) {
        let modes = modes.unwrap_or(self.context & FLOAT_MODES);
        self.fp = environment(modes);
        self.fp64 = environment(modes >> 4);
    }

    /// Lifts the instruction at a position.
    fn instruction(&mut self, at: Position, size: &mut usize) -> Result<Then, Refused> {
        *size = CONTROL_WORD;
        let control = self.control_word(at.control)?;
        *size = control.size();
        match at.word {
            None => {
                self.cover(at.control, control.size());
                self.control(&control, at)
            }
            Some(_) if at.is_second_part() => self.second_part(&control, at),
            Some(word) => self.in_clause(&control, at, word),
        }
    }

    /// Whether the instruction at a position breaks a rule that leaves it without a meaning, and not
    /// because no instruction of its kind is implemented.
    fn breaks_rules(&mut self, at: Position) -> bool {
        let Ok(control) = self.control_word(at.control) else { return false };
        let (Some(word), Some(kind)) = (at.word, control.row().clause()) else {
            return is_meaningless(&[control], &control.broken_rules());
        };
        let unit = if kind == Address::AluClause { 8 } else { 16 };
        let mut bytes = [0; GROUP];
        let count = self.read(self.address_of(&control).wrapping_add(unit * u64::from(word)), &mut bytes);
        let bytes = &bytes[..count];
        let single = |inst: Inst| is_meaningless(&[inst], &inst.broken_rules());
        match kind {
            Address::AluClause => decode_group(bytes).is_ok_and(|group| {
                let slots: Vec<Inst> = group.slots.iter().flatten().copied().collect();
                is_meaningless(&slots, &group.broken_rules())
            }),
            Address::GdsClause => decode_gds(bytes).is_ok_and(single),
            _ => decode_fetch(bytes).is_ok_and(single),
        }
    }

    /// The control flow word at an address.
    pub(super) fn control_word(&mut self, address: u64) -> Result<Inst, Refused> {
        let mut bytes = [0; 16];
        let count = self.read(address, &mut bytes);
        Ok(decode_control(&bytes[..count])?)
    }

    /// Whether an instruction where a wave may wait is not the first one of the block. A wave that
    /// waits must be at the beginning of a block.
    pub(super) fn is_behind_others(&self) -> bool {
        self.b.guest_len() > 1
    }

    /// The guest address that ADDR of a control flow word leads to.
    pub(super) fn address_of(&self, control: &Inst) -> u64 {
        self.family.program.wrapping_add(8 * u64::from(control.get(FieldId::Addr)))
    }

    /// Copies code at an address and returns the number of bytes there.
    pub(super) fn read(&mut self, address: u64, into: &mut [u8]) -> usize {
        let mut count = 0;
        for chunk in into.chunks_mut(16) {
            let mut bytes = [0; 16];
            let here = (self.fetch)(address.wrapping_add(count as u64), &mut bytes).min(chunk.len());
            chunk[..here].copy_from_slice(&bytes[..here]);
            count += here;
            if here < chunk.len() {
                break;
            }
        }
        count
    }

    /// Records that the block has code at an address.
    pub(super) fn cover(&mut self, address: u64, size: usize) {
        let end = address.saturating_add(size as u64);
        match self.ranges.last_mut() {
            Some(last) if last.end == address => last.end = end,
            _ => self.ranges.push(address..end),
        }
    }

    /// Appends an operation with one result.
    pub(super) fn push(&mut self, op: Op, result: impl Into<Operand>, sources: &[Operand], attrs: Attrs) {
        let mut all = [Operand::None; 4];
        for (to, from) in all.iter_mut().zip(sources) {
            *to = *from;
        }
        self.b.push(op, [result.into(), Operand::None], all, attrs);
    }
}

fn is_meaningless(insts: &[Inst], broken: &[BrokenRule]) -> bool {
    let is_supported = insts.iter().all(|inst| inst.row().fidelity != Fidelity::Unsupported);
    is_supported && broken.iter().any(|broken| broken.rule.leaves_no_meaning())
}

/// Refuses an instruction if one of these fields is not zero: their other values have no meaning
/// yet.
pub(super) fn all_zero(inst: &Inst, fields: &[FieldId]) -> Result<(), Refused> {
    if fields.iter().any(|id| inst.bit(*id)) { Err(UNSUPPORTED) } else { Ok(()) }
}
