//! Control flow words (HD 6900 ISA 8.1).

use wavemill_ir::{Attrs, Cond, LaneOp, Op as IrOp, Operand, ScalarOp as S, Terminator, Uni, Width};
use wavemill_isa::cayman::{FieldId as F, Format, Inst, Op};

use super::Position;
use super::lifter::{HALTED, ILLEGAL, Lifter, Refused, Then, UNSUPPORTED, all_zero};
use super::masks::ACTIVE;
use super::registers::{
    BROKEN, CALL_DEPTH, CONTROL_INDEX, ENTERED, FETCH_PROGRAM, INVALID, JUMPTABLE_CONSTANTS, LEFT, LOOP,
    LOOP_CONSTANTS, LOOP_COUNT, LOOP_INDEX, OUTSIDE,
};
use super::stack::Frame;

/// First bit of the depth of the stack in the upper dword of a position.
const DEPTH: u64 = 24;
/// The most nested calls, as CALL_COUNT counts them (HD 6900 ISA 3.7.6).
const MOST_CALLS: u64 = 32;
/// The most words of a jump table.
const MOST_JUMPS: u64 = 256;
/// First bit of CALL_DEPTH in the upper dword of the position that a call pushes, instead of the
/// word in a clause, which is 0.
const SAVED_CALLS: u64 = 16;
/// Bits of a loop index in a subentry, from the second byte on (BFE: offset, and width << 16).
const SAVED_INDEX: u64 = 8 | 16 << 16;
/// The bits of [`LOOP`] that are not a saved index.
const LOOP_FIELDS: u64 = 0xff00_00ff;

/// How a loop begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loop {
    /// LOOP_START: a count, and a loop index of its own.
    Indexed,
    /// LOOP_START_NO_AL: a count.
    Counted,
    /// LOOP_START_DX10.
    Endless,
}

impl Loop {
    fn of(op: Op) -> Option<Loop> {
        match op {
            Op::LoopStart => Some(Loop::Indexed),
            Op::LoopStartNoAl => Some(Loop::Counted),
            Op::LoopStartDx10 => Some(Loop::Endless),
            _ => None,
        }
    }
}

impl Lifter<'_, '_> {
    /// A control flow word without its clause.
    pub(super) fn control(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let behind = at.next_control(inst.size());
        match inst.op() {
            op if super::clause::Kind::of(op).is_some() => self.begin_clause(inst, at),
            Op::Tex | Op::TcAck | Op::Gds => {
                // Clauses of accesses run for the active lanes (HD 6900 ISA 3.1: COND).
                all_zero(inst, &[F::Cond, F::PopCount])?;
                if inst.bit(F::ValidPixelMode) {
                    self.copy_mask(OUTSIDE, ACTIVE);
                    self.change(S::AndNot, ACTIVE, INVALID);
                }
                Ok(Then::Next(at.in_clause(0)))
            }
            // Memory is written at once, so nothing waits for acknowledgements. Priority and the
            // release of LDS concern the time only.
            Op::CfNop | Op::WaitAck | Op::SetPriority | Op::LdsDealloc => Ok(Then::Next(behind)),
            // It ends the wave whatever its condition (HD 6900 ISA 3.1).
            Op::CfEnd => Ok(Then::End(Terminator::End)),
            _ if inst.format() == Format::Rat => {
                let lanes = inst.bit(F::ValidPixelMode).then(|| self.valid_lanes());
                self.target_access(inst)?;
                if let Some(lanes) = lanes {
                    self.copy_mask(ACTIVE, lanes);
                }
                Ok(Then::Next(behind))
            }
            _ if inst.format() == Format::ExportBuf => {
                self.memory_write(inst)?;
                Ok(Then::Next(behind))
            }
            _ if inst.format() == Format::ExportSwiz => {
                self.export(inst)?;
                Ok(Then::Next(behind))
            }
            _ if inst.format() == Format::Gws => self.global_sync(inst, at),
            // The driver resumes the wave, and there is none. A wave that sleeps waits for it, too.
            Op::Halt | Op::InterruptAndSleep => Err(HALTED),
            // It concerns the driver only.
            Op::Interrupt => {
                self.push(IrOp::Message, Operand::None, &[], Attrs::default());
                Ok(Then::Next(behind))
            }
            Op::Push | Op::PushWqm => self.push_lanes(inst, at),
            Op::Jump => {
                let lanes = self.passing(inst, ACTIVE);
                self.branch(inst, at, Cond::Zero(lanes, Width::W64))
            }
            // Table 3.7 has it jump both if all and unless all lanes fail. Its name decides.
            Op::JumpAny => {
                let lanes = self.passing(inst, ACTIVE);
                self.branch(inst, at, Cond::NonZero(lanes, Width::W64))
            }
            Op::Else | Op::ElseWqm => {
                self.invert(inst)?;
                if inst.op() == Op::ElseWqm {
                    self.fill_quads(ACTIVE);
                }
                self.branch(inst, at, Cond::Zero(ACTIVE, Width::W64))
            }
            Op::Pop | Op::PopWqm => {
                self.pop(inst.get(F::PopCount))?;
                let lanes = self.passing(inst, ACTIVE);
                if lanes != ACTIVE {
                    self.copy_mask(ACTIVE, lanes);
                }
                if inst.op() == Op::PopWqm {
                    self.fill_quads(ACTIVE);
                }
                let target = Position::control(self.address_of(inst));
                if target == behind {
                    return Ok(Then::Next(behind));
                }
                Ok(self.either(Cond::Zero(ACTIVE, Width::W64), self.number(target), self.number(behind)))
            }
            Op::Reactivate | Op::ReactivateWqm => {
                self.reactivate()?;
                if inst.op() == Op::ReactivateWqm {
                    self.fill_quads(ACTIVE);
                }
                Ok(Then::Next(behind))
            }
            Op::Kill => {
                let lanes = self.passing(inst, ACTIVE);
                self.change(S::Or, INVALID, lanes);
                let left = self.combined(S::AndNot, ACTIVE, INVALID);
                let target = Position::control(self.address_of(inst));
                Ok(self.either(Cond::Zero(left, Width::W64), self.number(target), self.number(behind)))
            }
            Op::LoopStart | Op::LoopStartNoAl | Op::LoopStartDx10 => self.begin_loop(inst, at),
            Op::LoopEnd => self.end_iteration(inst, at),
            Op::LoopBreak => self.leave_iteration(inst, at, true),
            Op::LoopContinue => self.leave_iteration(inst, at, false),
            Op::Call | Op::CallFs => self.call(inst, at),
            Op::Jumptable => {
                all_zero(inst, &[F::PopCount])?;
                let lanes = self.passing(inst, ACTIVE);
                let none = self.number(Position::control(self.address_of(inst)));
                Ok(self.either(Cond::Zero(lanes, Width::W64), none, self.number(at.second_part())))
            }
            Op::Return => {
                let lanes = self.passing(inst, ACTIVE);
                if lanes == ACTIVE {
                    return self.return_to_caller();
                }
                // All active lanes must pass (HD 6900 ISA, table 3.7).
                let failing = self.combined(S::AndNot, ACTIVE, lanes);
                let taken = self.number(at.second_part());
                Ok(self.either(Cond::Zero(failing, Width::W64), taken, self.number(behind)))
            }
            _ => Err(UNSUPPORTED),
        }
    }

    /// What a control flow word does when it jumps, or when it leaves a loop.
    pub(super) fn second_part(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let target = Position::control(self.address_of(inst));
        match inst.op() {
            Op::Jump | Op::JumpAny | Op::Else | Op::ElseWqm => {
                self.pop(inst.get(F::PopCount))?;
                Ok(Then::End(self.jump(target)))
            }
            Op::Push | Op::PushWqm => {
                // The frame that turns out not to be pushed.
                let frame = self.saved(self.depth);
                self.copy_mask(ACTIVE, frame);
                self.pop(inst.get(F::PopCount))?;
                Ok(Then::End(self.jump(target)))
            }
            Op::LoopStart | Op::LoopStartNoAl | Op::LoopStartDx10 => {
                let Some(kind) = Loop::of(inst.op()) else { return Err(ILLEGAL) };
                self.pushed(Frame::Loop)?;
                self.copy_mask(ACTIVE, ENTERED);
                self.restore_loop(kind, self.depth);
                self.pop(inst.get(F::PopCount))?;
                Ok(Then::End(self.jump(target)))
            }
            Op::LoopEnd => {
                let kind = self.loop_of(inst)?;
                let depth = self.popped(Frame::Loop.size().into())?;
                self.copy_mask(ACTIVE, ENTERED);
                self.restore_loop(kind, depth);
                self.depth = depth;
                Ok(Then::Next(at.next_control(inst.size())))
            }
            Op::LoopBreak | Op::LoopContinue => {
                // The stack becomes as deep as at the beginning of the iteration.
                let number = target.number();
                let to = self.b.uni_temp(2);
                self.scalar32(S::Mov, to, &[Operand::Const(number & 0xffff_ffff)]);
                let depth = [LOOP.into(), Operand::Const(0xff << DEPTH)];
                self.scalar32(S::And, to.plus(1), &depth);
                self.scalar32(S::Or, to.plus(1), &[to.plus(1).into(), Operand::Const(number >> 32)]);
                Ok(Then::End(Terminator::Indirect(to)))
            }
            Op::Jumptable => self.jump_table(inst, at),
            _ if inst.format() == Format::Gws => self.indexed_sync(inst, at),
            Op::Call | Op::CallFs => {
                let behind = at.next_control(inst.size()).number_at(self.depth);
                let frame = self.depth;
                let depth = self.pushed(Frame::Call)?;
                let position = self.b.uni_temp(2);
                self.scalar32(S::Mov, position, &[Operand::Const(behind & 0xffff_ffff)]);
                let calls = [CALL_DEPTH.into(), Operand::Const(SAVED_CALLS)];
                self.scalar32(S::Shl, position.plus(1), &calls);
                let upper = Operand::Const(behind >> 32);
                self.scalar32(S::Or, position.plus(1), &[position.plus(1).into(), upper]);
                self.save(frame, position.into());
                self.depth = depth;
                let more = Operand::Const(inst.get(F::Count).into());
                if more != Operand::Const(0) {
                    self.scalar32(S::AddCarryOut, CALL_DEPTH, &[CALL_DEPTH.into(), more]);
                }
                let lanes = self.passing(inst, ACTIVE);
                if lanes != ACTIVE {
                    self.copy_mask(ACTIVE, lanes);
                }
                if inst.op() == Op::CallFs {
                    let to = self.b.uni_temp(2);
                    self.copy_mask(to, FETCH_PROGRAM);
                    return Ok(Then::End(self.indirect(to)));
                }
                Ok(Then::End(self.jump(target)))
            }
            Op::Return => self.return_to_caller(),
            _ => Err(ILLEGAL),
        }
    }

    /// The end of a block that continues at the guest address in two cells, which are changed.
    fn indirect(&mut self, to: Uni) -> Terminator {
        let upper = to.plus(1);
        self.scalar32(S::And, upper, &[upper.into(), Operand::Const(0xffff)]);
        let depth = Operand::Const(u64::from(self.depth) << DEPTH);
        self.scalar32(S::Or, upper, &[upper.into(), depth]);
        Terminator::Indirect(to)
    }

    /// The jump of JUMPTABLE: to one of the words behind it, or to ADDR if there is none with the
    /// number.
    fn jump_table(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let first = at.next_control(inst.size()).control;
        let end = self.address_of(inst);
        let count = end.wrapping_sub(first) / 8;
        if end < first || count > MOST_JUMPS {
            return Err(UNSUPPORTED);
        }
        let constant = |value: u64| Operand::Const(value);
        let (index, to) = (self.b.uni_temp(2), self.b.uni_temp(2));
        match inst.get(F::JumptableSel) {
            element @ 0..4 => {
                let number = constant(inst.get(F::CfConst).into());
                let read = IrOp::Lane(LaneOp::ReadLane);
                self.push(read, index, &[JUMPTABLE_CONSTANTS.into(), number], Attrs::default());
                let byte = constant(u64::from(8 * element) | 8 << 16);
                self.scalar32(S::BfeU, index, &[index.into(), byte]);
            }
            register @ 4..6 => {
                self.scalar32(S::Mov, index, &[CONTROL_INDEX[register as usize - 4].into()]);
            }
            _ => return Err(UNSUPPORTED),
        }
        self.scalar32(S::MinU, index, &[index.into(), constant(count)]);
        self.scalar32(S::Shl, index, &[index.into(), constant(3)]);
        self.scalar32(S::Mov, index.plus(1), &[constant(0)]);
        self.scalar32(S::Mov, to, &[constant(first & 0xffff_ffff)]);
        self.scalar32(S::Mov, to.plus(1), &[constant(first >> 32)]);
        self.change(S::AddCarryOut, to, index);
        Ok(Then::End(self.indirect(to)))
    }

    /// The number of a position, with the stack as deep as it is now.
    fn number(&self, at: Position) -> u64 {
        at.number_at(self.depth)
    }

    fn either(&self, cond: Cond, taken: u64, next: u64) -> Then {
        Then::End(Terminator::Branch { cond, taken, next })
    }

    /// A jump to ADDR if the condition holds, after a pop.
    fn branch(&mut self, inst: &Inst, at: Position, cond: Cond) -> Result<Then, Refused> {
        let taken = match inst.get(F::PopCount) {
            0 => Position::control(self.address_of(inst)),
            _ => at.second_part(),
        };
        let behind = at.next_control(inst.size());
        Ok(self.either(cond, self.number(taken), self.number(behind)))
    }

    /// PUSH: if a lane passes, the active lanes are pushed, and those that pass stay active.
    /// Without a jump they are always pushed: LLVM and Mesa write a PUSH that leads to the next
    /// word in place of the push of ALU_PUSH_BEFORE.
    fn push_lanes(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let depth = self.pushed(Frame::Lanes)?;
        self.save(self.depth, ACTIVE.into());
        let lanes = self.passing(inst, ACTIVE);
        let behind = at.next_control(inst.size());
        if Position::control(self.address_of(inst)) == behind {
            if lanes != ACTIVE {
                self.copy_mask(ACTIVE, lanes);
            }
            if inst.op() == Op::PushWqm {
                self.fill_quads(ACTIVE);
            }
            self.depth = depth;
            return Ok(Then::Next(behind));
        }
        let cond = Cond::Zero(ACTIVE, Width::W64);
        let changes = lanes != ACTIVE || inst.op() == Op::PushWqm || inst.get(F::PopCount) != 0;
        if lanes != ACTIVE {
            self.copy_mask(ACTIVE, lanes);
        }
        if inst.op() == Op::PushWqm {
            self.fill_quads(ACTIVE);
        }
        let taken = if changes { at.second_part() } else { Position::control(self.address_of(inst)) };
        let taken = self.number(taken);
        self.depth = depth;
        let behind = self.number(behind);
        Ok(self.either(cond, taken, behind))
    }

    /// LOOP_START*: if a lane passes, the state of the surrounding loop is pushed.
    fn begin_loop(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let Some(kind) = Loop::of(inst.op()) else { return Err(ILLEGAL) };
        let depth = self.pushed(Frame::Loop)?;
        let frame = self.depth;
        let mut lanes = self.passing(inst, ACTIVE);
        let constant = match kind {
            Loop::Endless => None,
            Loop::Indexed | Loop::Counted => {
                let constant = self.b.uni_temp(1);
                let number = Operand::Const(inst.get(F::CfConst).into());
                self.push(
                    IrOp::Lane(LaneOp::ReadLane),
                    constant,
                    &[LOOP_CONSTANTS.into(), number],
                    Attrs::default(),
                );
                Some(constant)
            }
        };
        for (subentry, mask) in [ENTERED, BROKEN, LEFT].into_iter().enumerate() {
            self.save(frame + subentry as u8, mask.into());
        }
        match kind {
            // The index is in the unused bits of LOOP.
            Loop::Indexed => {
                let state = self.b.uni_temp(2);
                self.scalar32(S::BfeU, state, &[LOOP_INDEX.into(), Operand::Const(16 << 16)]);
                self.scalar32(S::Shl, state, &[state.into(), Operand::Const(8)]);
                self.scalar32(S::Or, state, &[state.into(), LOOP.into()]);
                self.scalar32(S::Mov, state.plus(1), &[LOOP_COUNT.into()]);
                self.save(frame + 3, state.into());
            }
            Loop::Counted | Loop::Endless => self.save(frame + 3, LOOP.into()),
        }
        self.scalar32(S::Mov, LOOP, &[Operand::Const(u64::from(depth) << DEPTH)]);
        if let Some(constant) = constant {
            let count = [constant.into(), Operand::Const(12 << 16)];
            self.scalar32(S::BfeU, LOOP_COUNT, &count);
            // All lanes fail if the count is 0.
            let counted = self.b.uni_temp(2);
            let none = Operand::Const(0);
            self.scalar64(S::Select, counted, &[lanes.into(), none, LOOP_COUNT.into()]);
            lanes = counted;
            if kind == Loop::Indexed {
                self.scalar32(S::BfeU, LOOP_INDEX, &[constant.into(), Operand::Const(12 | 12 << 16)]);
                let step = self.b.uni_temp(1);
                self.scalar32(S::Shr, step, &[constant.into(), Operand::Const(24)]);
                self.scalar32(S::Or, LOOP, &[LOOP.into(), step.into()]);
            }
        }
        // Lanes that fail have broken.
        self.copy_mask(ENTERED, ACTIVE);
        if lanes == ACTIVE {
            self.scalar64(S::Mov, BROKEN, &[Operand::Const(0)]);
        } else {
            self.scalar64(S::AndNot, BROKEN, &[ACTIVE.into(), lanes.into()]);
            self.copy_mask(ACTIVE, lanes);
        }
        self.copy_mask(LEFT, BROKEN);
        let taken = self.number(at.second_part());
        self.depth = depth;
        let behind = self.number(at.next_control(inst.size()));
        Ok(self.either(Cond::Zero(ACTIVE, Width::W64), taken, behind))
    }

    /// The state of the surrounding loop from the frame that begins at a subentry.
    fn restore_loop(&mut self, kind: Loop, frame: u8) {
        for (subentry, mask) in [ENTERED, BROKEN, LEFT].into_iter().enumerate() {
            let saved = self.saved(frame + subentry as u8);
            self.copy_mask(mask, saved);
        }
        let state = self.saved(frame + 3);
        if kind == Loop::Indexed {
            self.scalar32(S::BfeI, LOOP_INDEX, &[state.into(), Operand::Const(SAVED_INDEX)]);
            self.scalar32(S::And, LOOP, &[state.into(), Operand::Const(LOOP_FIELDS)]);
            self.scalar32(S::Mov, LOOP_COUNT, &[state.plus(1).into()]);
        } else {
            self.copy_mask(LOOP, state);
        }
    }

    /// How the loop began that a LOOP_END ends: ADDR is the word behind the LOOP_START (HD 6900 ISA
    /// 3.7.3).
    fn loop_of(&mut self, end: &Inst) -> Result<Loop, Refused> {
        let start = self.address_of(end).wrapping_sub(8);
        let start = self.control_word(start)?;
        Loop::of(start.op()).ok_or(UNSUPPORTED)
    }

    /// LOOP_END: lanes that have not broken go on, and the loop repeats if there are any.
    fn end_iteration(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        let kind = self.loop_of(inst)?;
        self.popped(Frame::Loop.size().into())?;
        self.scalar64(S::AndNot, ACTIVE, &[ENTERED.into(), BROKEN.into()]);
        self.copy_mask(LEFT, BROKEN);
        let mut lanes = self.passing(inst, ACTIVE);
        if kind != Loop::Endless {
            self.scalar32(S::SubBorrowOut, LOOP_COUNT, &[LOOP_COUNT.into(), Operand::Const(1)]);
            let counted = self.b.uni_temp(2);
            self.scalar64(S::Select, counted, &[lanes.into(), Operand::Const(0), LOOP_COUNT.into()]);
            lanes = counted;
        }
        if kind == Loop::Indexed {
            let step = self.b.uni_temp(1);
            self.scalar32(S::BfeI, step, &[LOOP.into(), Operand::Const(8 << 16)]);
            self.scalar32(S::AddCarryOut, LOOP_INDEX, &[LOOP_INDEX.into(), step.into()]);
        }
        let repeat = Position::control(self.address_of(inst));
        let cond = Cond::NonZero(lanes, Width::W64);
        Ok(self.either(cond, self.number(repeat), self.number(at.second_part())))
    }

    /// LOOP_BREAK and LOOP_CONTINUE: lanes that pass leave the iteration. If none is left in it,
    /// not even in a branch, it ends.
    fn leave_iteration(&mut self, inst: &Inst, at: Position, breaks: bool) -> Result<Then, Refused> {
        let lanes = self.passing(inst, ACTIVE);
        if breaks {
            self.change(S::Or, BROKEN, lanes);
        }
        self.change(S::Or, LEFT, lanes);
        if lanes == ACTIVE {
            self.scalar64(S::Mov, ACTIVE, &[Operand::Const(0)]);
        } else {
            self.change(S::AndNot, ACTIVE, lanes);
        }
        let inside = self.combined(S::AndNot, ENTERED, LEFT);
        let behind = self.number(at.next_control(inst.size()));
        Ok(self.either(Cond::Zero(inside, Width::W64), self.number(at.second_part()), behind))
    }

    /// CALL: if a lane passes, unless there are too many calls.
    fn call(&mut self, inst: &Inst, at: Position) -> Result<Then, Refused> {
        all_zero(inst, &[F::PopCount])?;
        self.pushed(Frame::Call)?;
        let mut lanes = self.passing(inst, ACTIVE);
        let more = inst.get(F::Count);
        if more != 0 {
            let fits = self.b.uni_temp(1);
            let calls = self.b.uni_temp(1);
            self.scalar32(S::AddCarryOut, calls, &[CALL_DEPTH.into(), Operand::Const(more.into())]);
            let most = Operand::Const(MOST_CALLS);
            let compare = IrOp::ScalarCmp(wavemill_ir::CmpPred::Le, wavemill_ir::IntType::U32);
            self.push(compare, fits, &[calls.into(), most], Attrs::default());
            let allowed = self.b.uni_temp(2);
            self.scalar64(S::Select, allowed, &[lanes.into(), Operand::Const(0), fits.into()]);
            lanes = allowed;
        }
        let taken = self.number(at.second_part());
        let behind = self.number(at.next_control(inst.size()));
        Ok(self.either(Cond::NonZero(lanes, Width::W64), taken, behind))
    }

    /// RETURN: to the position in the frame on top, with its depth of the stack.
    fn return_to_caller(&mut self) -> Result<Then, Refused> {
        let frame = self.popped(Frame::Call.size().into())?;
        let saved = self.saved(frame);
        let to = self.b.uni_temp(2);
        self.scalar32(S::Mov, to, &[saved.into()]);
        let calls = Operand::Const(SAVED_CALLS | 8 << 16);
        self.scalar32(S::BfeU, CALL_DEPTH, &[saved.plus(1).into(), calls]);
        let rest = Operand::Const(0xffff_ffff & !(0xff << SAVED_CALLS));
        self.scalar32(S::And, to.plus(1), &[saved.plus(1).into(), rest]);
        Ok(Then::End(Terminator::Indirect(to)))
    }
}
