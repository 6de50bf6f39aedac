//! The masks of lanes, and how control flow changes them (HD 6900 ISA 3.6, 3.7).
//!
//! A lane is active (A), or inactive because of a branch, a `CONTINUE` or a `BREAK`. E are the
//! lanes that were active when the innermost loop began. BR are the lanes of E that have broken; L
//! are these and those that have continued. All other lanes of E that are not active wait in a
//! branch.
//!
//! - A pop of the frame F: `A = F & ~L`.
//! - `ELSE` with the frame F on top: `A = F & ~A & ~L`.
//! - `LOOP_BREAK`: `BR |= A; L |= A; A = 0`; the loop ends its iteration if no lane of `E & ~L` is
//!   left.
//! - `LOOP_CONTINUE`: `L |= A; A = 0`, and the same.
//! - `LOOP_END`: `A = E & ~BR; L = BR`; the loop goes on if a lane is left. Else `A = E`.

use wavemill_ir::{Operand, ScalarOp as S, Uni, Width};
use wavemill_isa::cayman::{FieldId as F, Inst};

use super::lifter::{Lifter, Refused};
use super::registers::{BOOLEANS, INVALID, LEFT};

pub(super) const ACTIVE: Uni = Uni::ACTIVE;

/// COND of a control flow word (HD 6900 ISA 3.6.3).
const COND_FALSE: u32 = 1;
const COND_BOOL: u32 = 2;
const COND_NOT_BOOL: u32 = 3;

impl Lifter<'_, '_> {
    /// The lanes of two cells that pass the condition of a word (HD 6900 ISA, table 3.4): the same
    /// cells if the word has no condition.
    pub(super) fn passing(&mut self, control: &Inst, lanes: Uni) -> Uni {
        let mut lanes = lanes;
        if control.bit(F::ValidPixelMode) {
            lanes = self.combined(S::AndNot, lanes, INVALID);
        }
        let cond = control.get(F::Cond);
        match cond {
            COND_FALSE => {
                let none = self.b.uni_temp(2);
                self.scalar64(S::Mov, none, &[Operand::Const(0)]);
                none
            }
            COND_BOOL | COND_NOT_BOOL => {
                let flag = self.b.uni_temp(1);
                let number = Operand::Const(control.get(F::CfConst).into());
                let test = if cond == COND_BOOL { S::BitTest1 } else { S::BitTest0 };
                self.b.scalar_with_flag(
                    test,
                    Width::W32,
                    Operand::None,
                    flag.into(),
                    &[BOOLEANS.into(), number],
                );
                let passing = self.b.uni_temp(2);
                self.scalar64(S::Select, passing, &[lanes.into(), Operand::Const(0), flag.into()]);
                passing
            }
            _ => lanes,
        }
    }

    /// Two temporary cells with a combination of masks.
    pub(super) fn combined(&mut self, op: S, first: Uni, second: Uni) -> Uni {
        let result = self.b.uni_temp(2);
        self.scalar64(op, result, &[first.into(), second.into()]);
        result
    }

    /// Changes a mask: `to = to op with`.
    pub(super) fn change(&mut self, op: S, to: Uni, with: Uni) {
        self.scalar64(op, to, &[to.into(), with.into()]);
    }

    /// Copies a mask.
    pub(super) fn copy_mask(&mut self, to: Uni, from: Uni) {
        self.scalar64(S::Mov, to, &[from.into()]);
    }

    /// Pops frames of lanes: the lanes of the last of them become active again, unless they have
    /// left the iteration of the loop. Without a frame nothing changes.
    pub(super) fn pop(&mut self, count: u32) -> Result<(), Refused> {
        let depth = self.popped(count)?;
        if count > 0 {
            let frame = self.saved(depth);
            self.scalar64(S::AndNot, ACTIVE, &[frame.into(), LEFT.into()]);
        }
        self.depth = depth;
        Ok(())
    }

    /// Exchanges active lanes and those that wait for the other branch, as far as the frame on top
    /// has them and they pass the condition. It counts for lanes that are not active, too.
    pub(super) fn invert(&mut self, control: &Inst) -> Result<(), Refused> {
        let top = self.popped(1)?;
        let frame = self.saved(top);
        let lanes = self.passing(control, frame);
        let other = self.combined(S::AndNot, lanes, ACTIVE);
        if lanes == frame {
            self.scalar64(S::AndNot, ACTIVE, &[other.into(), LEFT.into()]);
        } else {
            self.change(S::AndNot, other, LEFT);
            self.change(S::AndNot, ACTIVE, lanes);
            self.change(S::Or, ACTIVE, other);
        }
        Ok(())
    }

    /// Makes the valid lanes of the frame on top active.
    pub(super) fn reactivate(&mut self) -> Result<(), Refused> {
        let top = self.popped(1)?;
        let frame = self.saved(top);
        self.scalar64(S::AndNot, ACTIVE, &[frame.into(), INVALID.into()]);
        Ok(())
    }

    /// Makes whole quads active.
    pub(super) fn fill_quads(&mut self, lanes: Uni) {
        self.scalar64(S::WholeQuad, lanes, &[lanes.into()]);
    }
}
