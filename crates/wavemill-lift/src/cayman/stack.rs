//! The stack of control flow (HD 6900 ISA 3.6.5).
//!
//! A subentry has 64 bits. A push of masks takes one subentry, a loop four, a call one. The lifter
//! knows the depth, which is part of the [position](super::Position), so subentries are cells, and
//! behind these lanes of rows. What is above the depth has no meaning and may be overwritten.

use wavemill_ir::{Attrs, LaneOp, Op as IrOp, Operand, ScalarOp, Uni, Width};

use super::lifter::{Lifter, Refused, STACK_OVERFLOW, STACK_UNDERFLOW};
use super::registers::{self, STACK_CELLS};

/// Subentries of an entry on a part with 64 lanes to a wave (HD 6900 ISA, table 3.5).
const ENTRY: u32 = 4;
/// Subentries that a program needs for the current masks if it pushes masks: those that LLVM
/// counts. The manual has two (HD 6900 ISA, table 3.6).
const RESERVED: u32 = 1;

/// What a frame has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Frame {
    /// The active lanes.
    Lanes,
    /// The masks and the counters of the surrounding loop.
    Loop,
    /// Where a subroutine returns to.
    Call,
}

impl Frame {
    /// Its subentries.
    pub(super) const fn size(self) -> u8 {
        match self {
            Frame::Lanes | Frame::Call => 1,
            Frame::Loop => 4,
        }
    }
}

impl Lifter<'_, '_> {
    /// The depth behind a push of a frame.
    pub(super) fn pushed(&self, frame: Frame) -> Result<u8, Refused> {
        let reserved = if frame == Frame::Lanes { RESERVED } else { 0 };
        let needed = u32::from(self.depth) + u32::from(frame.size());
        if needed + reserved > ENTRY * u32::from(self.family.stack) {
            return Err(STACK_OVERFLOW);
        }
        u8::try_from(needed).map_err(|_| STACK_OVERFLOW)
    }

    /// The depth behind a pop of that many subentries.
    pub(super) fn popped(&self, subentries: u32) -> Result<u8, Refused> {
        let left = u32::from(self.depth).checked_sub(subentries).ok_or(STACK_UNDERFLOW)?;
        // It is less than the depth.
        Ok(left as u8)
    }

    /// Copies two cells to a subentry.
    pub(super) fn save(&mut self, subentry: u8, value: Operand) {
        if subentry < STACK_CELLS {
            self.scalar64(ScalarOp::Mov, registers::stack_cells(subentry), &[value]);
            return;
        }
        let (row, lane) = registers::stack_lanes(subentry);
        for half in 0..2 {
            let sources = [value.dword(half), Operand::Const(u64::from(lane) + u64::from(half))];
            self.push(IrOp::Lane(LaneOp::WriteLane), row, &sources, Attrs::default());
        }
    }

    /// Two cells with a subentry.
    pub(super) fn saved(&mut self, subentry: u8) -> Uni {
        if subentry < STACK_CELLS {
            return registers::stack_cells(subentry);
        }
        let (row, lane) = registers::stack_lanes(subentry);
        let value = self.b.uni_temp(2);
        for half in 0..2 {
            let sources = [row.into(), Operand::Const(u64::from(lane) + u64::from(half))];
            self.push(IrOp::Lane(LaneOp::ReadLane), value.plus(half), &sources, Attrs::default());
        }
        value
    }

    /// Appends a uniform operation on 64 bits.
    pub(super) fn scalar64(&mut self, op: ScalarOp, to: Uni, sources: &[Operand]) {
        self.b.scalar(op, Width::W64, to, sources);
    }

    /// Appends a uniform operation on 32 bits.
    pub(super) fn scalar32(&mut self, op: ScalarOp, to: Uni, sources: &[Operand]) {
        self.b.scalar(op, Width::W32, to, sources);
    }
}
