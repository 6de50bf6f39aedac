//! A block under construction, and the steps from one instruction to the next.

use std::ops::Range;

use wavemill_ir::{Attrs, Block, BlockBuilder, FaultKind, FpEnv, Op, Operand, Round, Terminator};
use wavemill_isa::cayman::{DecodeError, FieldId, GroupError, Inst, decode_control};

use super::queue::Queues;
use super::{Cayman, Position};
use crate::family::Fetch;

/// Why an instruction has no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refused(pub(super) FaultKind);

/// It exists, and its meaning is not implemented.
pub(super) const UNSUPPORTED: Refused = Refused(FaultKind::Unsupported);
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
    /// The instruction at a position, in the same block.
    Next(Position),
    /// Nothing: the block ends.
    End(Terminator),
}

/// A block under construction.
pub(super) struct Lifter<'a, 'f> {
    pub(super) program: u64,
    pub(super) fp: FpEnv,
    pub(super) b: BlockBuilder,
    /// The queues of LDS before the next group of the clause; `None` if the block begins inside a
    /// clause.
    pub(super) queues: Option<Queues>,
    pub(super) fetch: &'a mut Fetch<'f>,
    ranges: Vec<Range<u64>>,
}

/// Lifts at most `max_guest` instructions.
pub(super) fn lift(
    family: &Cayman,
    position: u64,
    context: u32,
    fetch: &mut Fetch<'_>,
    max_guest: usize,
) -> Block {
    let fp = FpEnv {
        round: Round::from_bits(context),
        denorm_in: context >> 2 & 1 != 0,
        denorm_out: context >> 3 & 1 != 0,
        ..FpEnv::DEFAULT
    };
    let mut lifter = Lifter {
        program: family.program,
        fp,
        b: BlockBuilder::new(position),
        queues: None,
        fetch,
        ranges: Vec::new(),
    };
    let mut at = Position::from_number(position);
    while lifter.b.guest_len() < max_guest {
        lifter.b.begin_guest(at.number());
        let mut then = lifter.instruction(at);
        if lifter.b.guest_insts().iter().any(|operation| operation.problem().is_some()) {
            then = Err(UNSUPPORTED);
        }
        let end = match then {
            Ok(Then::Next(next)) => {
                at = next;
                continue;
            }
            Ok(Then::End(end)) => end,
            Err(Refused(kind)) => {
                lifter.b.drop_guest();
                Terminator::Fault(kind)
            }
        };
        return lifter.finish(at.next_control(), end);
    }
    lifter.finish(at, Terminator::Jump(at.number()))
}

impl Lifter<'_, '_> {
    fn finish(self, next: Position, terminator: Terminator) -> Block {
        self.b.finish_ranges(self.ranges, next.number(), terminator)
    }

    /// Lifts the instruction at a position.
    fn instruction(&mut self, at: Position) -> Result<Then, Refused> {
        let mut bytes = [0; 16];
        let count = self.read(at.control, &mut bytes);
        let control = decode_control(&bytes[..count])?;
        match at.word {
            None => {
                self.cover(at.control, control.size());
                self.control(&control, at)
            }
            Some(word) => self.in_clause(&control, at, word),
        }
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

/// Refuses an instruction if one of these fields is not zero: their other values have no meaning
/// yet.
pub(super) fn all_zero(inst: &Inst, fields: &[FieldId]) -> Result<(), Refused> {
    if fields.iter().any(|id| inst.bit(*id)) { Err(UNSUPPORTED) } else { Ok(()) }
}
