//! Control flow, against the scalar reference: programs that no compiler makes, and random ones.

use wavemill_ir::FaultKind;
use wavemill_isa::cayman::Op;
use wavemill_lift::cayman::{Position, registers};
use wavemill_machine::FaultCause;
use wavemill_oracle::SplitMix64;

use super::machine::{CODE, FAMILY, GPRS, Machine, set_active, set_gpr};
use super::program::{Program, Slot, Src, slot};
use super::reference::Reference;

/// Masks of active lanes: all, some, one, and the lanes of a partial wave.
const ACTIVE: [u64; 4] = [u64::MAX, 0x9249_2492_4924_9249, 1 << 37, (1 << 20) - 1];

/// The value of a channel before a program: small numbers in T2, any bits in the others; 0 in T4,
/// the trace, and T5, counters.
fn initial(register: u16, channel: u16, lane: u32) -> u32 {
    let mixed =
        SplitMix64::new(u64::from(register) << 32 | u64::from(channel) << 16 | u64::from(lane)).next_u64();
    match register {
        2 => (mixed % 5) as u32,
        4 | 5 => 0,
        _ => mixed as u32,
    }
}

/// Booleans 0, 2, 3 and 31 are set.
const BOOLEANS: u32 = 0x8000_000d;
/// Loop constants: (count, first index, step).
const LOOPS: [(u32, u32, i8); 4] = [(0, 0, 1), (3, 1, 2), (1, 5, -1), (4, 15, -5)];

fn loop_constant(number: usize) -> u32 {
    let (count, first, step) = LOOPS[number % LOOPS.len()];
    count | first << 12 | u32::from(step as u8) << 24
}

/// Runs a program on every tier with several masks, and compares all registers with the reference.
pub(super) fn check(program: &Program) {
    let code = program.code();
    for active in ACTIVE {
        let mut reference = Reference::new(active, initial);
        reference.booleans = BOOLEANS;
        reference.loops = std::array::from_fn(loop_constant);
        reference.run(program);
        let outcome = Machine::default().run_code(&code, |registers, _| {
            set_active(registers, active);
            registers.set_uni64(registers::INVALID, !active);
            registers.set_uni(registers::BOOLEANS, BOOLEANS);
            let constants = std::array::from_fn(loop_constant);
            registers.set_row(registers::LOOP_CONSTANTS, &constants);
            for register in 0..GPRS {
                for channel in 0..4 {
                    set_gpr(registers, register, channel, |lane| initial(register, channel, lane));
                }
            }
        });
        let (at, cause, _) = outcome.fault.as_ref().expect("the program stopped");
        assert_eq!(*cause, FaultCause::Instruction(FaultKind::Halted), "{at:#x}: {program:#?}");
        for register in 0..usize::from(GPRS) {
            for channel in 0..4 {
                let want = reference.gprs[register][channel];
                for (lane, (found, want)) in outcome.gpr(register, channel).into_iter().zip(want).enumerate()
                {
                    assert!(
                        found == want,
                        "T{register}.{channel} of lane {lane}: {found:#x}, not {want:#x}, with lanes {active:#x} of\n{program:#?}",
                    );
                }
            }
        }
    }
}

/// Groups that record in T4.X that lanes are here: the order of records counts.
fn trace(mark: u32) -> Vec<Vec<Slot>> {
    let rotated = [Src::Gpr(4, 0), Src::Gpr(4, 0), Src::Literal(7)];
    vec![
        vec![slot(Op::BitAlignInt, 4, 0, &rotated)],
        vec![slot(Op::AddInt, 4, 0, &[Src::Gpr(4, 0), Src::Literal(mark)])],
    ]
}

fn traces(program: &mut Program, mark: u32) {
    program.alu(Op::Alu, trace(mark));
}

/// A group after which lanes go on in which T2's channel is above a number.
fn above(channel: u16, number: u32, execute: u32) -> Vec<Slot> {
    let sources = [Src::Gpr(2, channel), Src::Literal(number)];
    vec![slot(Op::PredSetgtInt, 0, 0, &sources).masked().execute(execute)]
}

/// IF T2.channel > number. Gives the JUMP.
fn begin_if(program: &mut Program, channel: u16, number: u32) -> usize {
    program.alu(Op::AluPushBefore, vec![above(channel, number, 0)]);
    program.flow(Op::Jump, 1)
}

/// ELSE, and the jump of the IF goes here. Gives the ELSE.
fn otherwise(program: &mut Program, jump: usize) -> usize {
    program.land(jump);
    program.change(jump, |flow| flow.pops = 0);
    program.flow(Op::Else, 1)
}

/// The end of an IF, to which a JUMP or an ELSE leads that pops itself.
fn end_if(program: &mut Program, jump: usize) {
    program.flow(Op::Pop, 1);
    program.land(jump);
}

/// Begins a loop whose counter T5.channel starts at 0. Gives the LOOP_START.
fn begin_loop(program: &mut Program, counter: u16) -> usize {
    program.alu(Op::Alu, vec![vec![slot(Op::Mov, 5, counter, &[Src::Code(248, 0)])]]);
    let start = program.flow(Op::LoopStartDx10, 0);
    // A lane stays for T2's channel + 1 iterations.
    let count = vec![slot(Op::AddInt, 5, counter, &[Src::Gpr(5, counter), Src::Literal(1)])];
    let sources = [Src::Gpr(2, counter), Src::Gpr(5, counter)];
    let stays = vec![slot(Op::PredSetgeInt, 0, 0, &sources).masked().execute(1)];
    program.alu(Op::Alu, vec![count, stays]);
    start
}

/// Ends a loop, and gives its LOOP_END.
fn end_loop(program: &mut Program, start: usize) -> usize {
    let end = program.flow(Op::LoopEnd, 0);
    program.change(end, |flow| flow.to = start + 1);
    program.land(start);
    end
}

#[test]
fn branches_with_a_side_effect_before_a_break() {
    let mut program = Program::default();
    let start = begin_loop(&mut program, 0);
    traces(&mut program, 1);
    // Lanes of the branch break after an effect; the others must still run the rest.
    let jump = begin_if(&mut program, 1, 1);
    traces(&mut program, 2);
    let leave = program.flow(Op::LoopBreak, 0);
    traces(&mut program, 3);
    let otherwise = otherwise(&mut program, jump);
    traces(&mut program, 4);
    end_if(&mut program, otherwise);
    traces(&mut program, 5);
    let end = end_loop(&mut program, start);
    program.change(leave, |flow| flow.to = end);
    traces(&mut program, 6);
    program.stop();
    check(&program);
}

/// A legal group has one condition. Of two, lanes must meet both.
#[test]
fn two_conditions_of_a_group() {
    for execute in [0, 1] {
        let mut program = Program::default();
        let start = begin_loop(&mut program, 2);
        let conditions = [0, 1].map(|channel| {
            let sources = [Src::Gpr(2, channel), Src::Literal(1)];
            slot(Op::PredSetgtInt, 0, channel, &sources).masked().execute(execute)
        });
        // Neither the first group of its clause nor the last.
        let groups = [trace(1), vec![conditions.to_vec()], trace(2)].concat();
        program.alu(Op::Alu, groups);
        traces(&mut program, 3);
        end_loop(&mut program, start);
        traces(&mut program, 4);
        program.stop();
        check(&program);
    }
}

#[test]
fn nested_loops_with_continues_in_branches() {
    let mut program = Program::default();
    let outer = begin_loop(&mut program, 0);
    traces(&mut program, 1);
    let jump = begin_if(&mut program, 1, 2);
    traces(&mut program, 2);
    let inner = begin_loop(&mut program, 1);
    traces(&mut program, 3);
    let deep = begin_if(&mut program, 2, 1);
    traces(&mut program, 4);
    let deeper = begin_if(&mut program, 3, 1);
    traces(&mut program, 5);
    let next = program.flow(Op::LoopContinue, 0);
    end_if(&mut program, deeper);
    traces(&mut program, 6);
    let leave = program.flow(Op::LoopBreak, 0);
    end_if(&mut program, deep);
    traces(&mut program, 7);
    let inner_end = end_loop(&mut program, inner);
    program.change(next, |flow| flow.to = inner_end);
    program.change(leave, |flow| flow.to = inner_end);
    traces(&mut program, 8);
    let skip = program.flow(Op::LoopContinue, 0);
    end_if(&mut program, jump);
    traces(&mut program, 9);
    let end = end_loop(&mut program, outer);
    program.change(skip, |flow| flow.to = end);
    traces(&mut program, 10);
    program.stop();
    check(&program);
}

#[test]
fn else_at_several_depths() {
    let mut program = Program::default();
    let first = begin_if(&mut program, 0, 1);
    let second = begin_if(&mut program, 1, 2);
    let third = begin_if(&mut program, 2, 3);
    traces(&mut program, 1);
    let third = otherwise(&mut program, third);
    traces(&mut program, 2);
    end_if(&mut program, third);
    let second = otherwise(&mut program, second);
    traces(&mut program, 3);
    end_if(&mut program, second);
    let first = otherwise(&mut program, first);
    traces(&mut program, 4);
    // Clauses that do the ELSE and the POP themselves.
    program.alu(Op::AluPushBefore, vec![above(3, 1, 0)]);
    program.alu(Op::AluElseAfter, trace(5));
    program.alu(Op::AluPopAfter, trace(6));
    // Two branches that end together.
    program.alu(Op::AluPushBefore, vec![above(3, 0, 0)]);
    program.alu(Op::AluPushBefore, vec![above(2, 1, 0)]);
    program.alu(Op::AluPop2After, trace(7));
    program.alu(Op::AluPushBefore, vec![above(3, 2, 0)]);
    let all = program.flow(Op::Push, 1);
    traces(&mut program, 8);
    program.flow(Op::Pop, 2);
    program.land(all);
    end_if(&mut program, first);
    traces(&mut program, 9);
    program.stop();
    check(&program);
}

/// A jump leaves two branches at once.
#[test]
fn jumps_pop_several_frames() {
    for pops in 1..=3 {
        let mut program = Program::default();
        for _ in 0..pops {
            program.flow(Op::Push, 0);
        }
        program.alu(Op::Alu, vec![above(0, 2, 0)]);
        traces(&mut program, 1);
        // It is taken if no lane is left.
        program.alu(Op::Alu, vec![above(0, 9, 0)]);
        let jump = program.flow(Op::Jump, pops);
        traces(&mut program, 2);
        program.flow(Op::Pop, pops);
        program.land(jump);
        traces(&mut program, 3);
        // JUMP_ANY is taken if a lane is left.
        program.flow(Op::Push, 0);
        program.alu(Op::Alu, vec![above(1, 0, 0)]);
        let any = program.flow(Op::JumpAny, 1);
        traces(&mut program, 4);
        program.flow(Op::Pop, 1);
        program.land(any);
        traces(&mut program, 5);
        program.stop();
        check(&program);
    }
}

/// A subroutine that is called at several depths, and that calls another one.
#[test]
fn subroutines() {
    let mut program = Program::default();
    let first = program.flow(Op::Call, 0);
    traces(&mut program, 1);
    let jump = begin_if(&mut program, 0, 1);
    let second = program.flow(Op::Call, 0);
    traces(&mut program, 2);
    let start = begin_loop(&mut program, 1);
    let third = program.flow(Op::Call, 0);
    let end = end_loop(&mut program, start);
    traces(&mut program, 3);
    let direct = program.flow(Op::Call, 0);
    // All lanes fail: no call.
    let skipped = program.flow(Op::Call, 0);
    program.change(skipped, |flow| flow.cond = (1, 0));
    // Too many calls.
    let deep = program.flow(Op::Call, 0);
    program.change(deep, |flow| flow.calls = 33);
    let counted = program.flow(Op::Call, 0);
    program.change(counted, |flow| flow.calls = 31);
    end_if(&mut program, jump);
    traces(&mut program, 4);
    program.stop();
    for call in [first, second, third, skipped, deep, counted] {
        program.land(call);
    }
    traces(&mut program, 10);
    let jump = begin_if(&mut program, 2, 2);
    let inner = program.flow(Op::Call, 0);
    // At most 32 in all: ignored under `counted`.
    program.change(inner, |flow| flow.calls = 2);
    traces(&mut program, 11);
    end_if(&mut program, jump);
    program.flow(Op::Return, 0);
    program.land(inner);
    program.land(direct);
    traces(&mut program, 12);
    let jump = begin_if(&mut program, 3, 0);
    traces(&mut program, 13);
    // Booleans 1 and 0: the first RETURN is not taken.
    let stays = program.flow(Op::Return, 0);
    program.change(stays, |flow| flow.cond = (2, 1));
    end_if(&mut program, jump);
    let leaves = program.flow(Op::Return, 0);
    program.change(leaves, |flow| flow.cond = (2, 0));
    program.stop();
    let _ = end;
    check(&program);
}

/// Words that are reached with stacks of several depths.
#[test]
fn depths_that_paths_determine() {
    for boolean in [0, 1] {
        let mut program = Program::default();
        // With the boolean, a frame is pushed.
        let skip = program.flow(Op::Jump, 0);
        program.change(skip, |flow| flow.cond = (2, boolean));
        program.alu(Op::AluPushBefore, vec![above(0, 1, 0)]);
        program.land(skip);
        traces(&mut program, 1);
        let start = begin_loop(&mut program, 1);
        traces(&mut program, 2);
        let call = program.flow(Op::Call, 0);
        end_loop(&mut program, start);
        let skip = program.flow(Op::Jump, 0);
        program.change(skip, |flow| flow.cond = (2, boolean));
        program.flow(Op::Pop, 1);
        program.land(skip);
        traces(&mut program, 3);
        program.stop();
        program.land(call);
        traces(&mut program, 4);
        program.flow(Op::Return, 0);
        check(&program);
    }
}

/// The conditions of words: booleans, valid lanes, never.
#[test]
fn conditions() {
    for (cond, valid) in [
        ((0, 0), true),
        ((1, 0), false),
        ((2, 0), false),
        ((2, 1), false),
        ((3, 0), true),
        ((3, 1), true),
        ((2, 31), false),
    ] {
        let mut program = Program::default();
        // Lanes that a predicate kills are not valid.
        program.alu(Op::AluPushBefore, vec![above(0, 1, 3)]);
        program.flow(Op::Pop, 1);
        traces(&mut program, 1);
        let push = program.flow(Op::Push, 0);
        program.change(push, |flow| (flow.cond, flow.valid) = (cond, valid));
        traces(&mut program, 2);
        let other = program.flow(Op::Else, 0);
        program.change(other, |flow| (flow.cond, flow.valid) = (cond, valid));
        traces(&mut program, 3);
        let pop = program.flow(Op::Pop, 1);
        program.change(pop, |flow| (flow.cond, flow.valid) = ((0, 0), valid));
        traces(&mut program, 4);
        program.land(push);
        let start = program.flow(Op::LoopStartDx10, 0);
        program.change(start, |flow| (flow.cond, flow.valid) = (cond, valid));
        traces(&mut program, 5);
        let gone = program.flow(Op::LoopContinue, 0);
        program.change(gone, |flow| (flow.cond, flow.valid) = (cond, valid));
        traces(&mut program, 6);
        let left = program.flow(Op::LoopBreak, 0);
        let end = end_loop(&mut program, start);
        program.change(gone, |flow| flow.to = end);
        program.change(left, |flow| flow.to = end);
        // Otherwise lanes that continue do so for ever.
        program.change(end, |flow| flow.cond = (1, 0));
        traces(&mut program, 7);
        program.alu(Op::AluValidPixelMode, trace(8));
        program.flow(Op::Push, 0);
        program.alu(Op::Alu, vec![above(1, 1, 0)]);
        traces(&mut program, 9);
        program.flow(Op::Reactivate, 0);
        traces(&mut program, 10);
        program.alu(Op::Alu, vec![above(2, 1, 0)]);
        program.alu(Op::AluReactivateBefore, trace(11));
        program.flow(Op::Pop, 1);
        let killed = program.flow(Op::Kill, 0);
        program.change(killed, |flow| flow.cond = cond);
        traces(&mut program, 12);
        program.land(killed);
        program.alu(Op::AluValidPixelMode, trace(13));
        program.stop();
        check(&program);
    }
}

/// Loops with constants, and the loop index as a source and as an index of registers.
#[test]
fn loops_with_counts() {
    for op in [Op::LoopStart, Op::LoopStartNoAl] {
        for outer in 0..4 {
            for inner in 0..4 {
                let mut program = Program::default();
                let body = |program: &mut Program, mark| {
                    traces(program, mark);
                    let read = slot(Op::AddInt, 6, 0, &[Src::Gpr(6, 0), Src::Indexed(7, 1)]).index_mode(4);
                    let written = slot(Op::AddInt, 3, 2, &[Src::Code(238, 0), Src::Gpr(4, 0)]);
                    program.alu(Op::Alu, vec![vec![read, written.indexed().index_mode(4)]]);
                };
                let first = program.flow(Op::LoopStart, 0);
                program.change(first, |flow| flow.cond = (0, outer));
                body(&mut program, 1);
                program.flow(Op::Push, 0);
                let second = program.flow(op, 1);
                program.change(second, |flow| flow.cond = (0, inner));
                body(&mut program, 2);
                program.alu(Op::Alu, vec![above(1, 1, 2)]);
                body(&mut program, 3);
                end_loop(&mut program, second);
                body(&mut program, 4);
                program.flow(Op::Pop, 1);
                // LOOP_START goes behind the POP if it does not enter.
                program.land(second);
                program.alu(Op::Alu, vec![above(0, 0, 1)]);
                end_loop(&mut program, first);
                body(&mut program, 5);
                program.stop();
                check(&program);
            }
        }
    }
}

/// More frames than there are cells for.
#[test]
fn deep_stacks() {
    let mut program = Program::default();
    let starts: Vec<usize> = (0..4)
        .map(|level| {
            let start = begin_loop(&mut program, level % 2);
            let jump = begin_if(&mut program, 2, level.into());
            traces(&mut program, 100 + u32::from(level));
            program.change(jump, |flow| flow.pops = 1);
            (start, jump)
        })
        .collect::<Vec<_>>()
        .into_iter()
        .flat_map(|(start, jump)| [start, jump])
        .collect();
    for level in 0..12 {
        program.alu(Op::AluPushBefore, vec![above(3, level % 3, 0)]);
    }
    traces(&mut program, 1);
    for level in 0..12 {
        if level % 3 == 0 {
            program.flow(Op::Else, 0);
        }
        program.alu(Op::AluPopAfter, trace(2));
    }
    for pair in starts.chunks(2).rev() {
        end_if(&mut program, pair[1]);
        traces(&mut program, 3);
        end_loop(&mut program, pair[0]);
    }
    program.stop();
    check(&program);
}

/// The fault of a program, its instruction and the depth of the stack there.
fn fault(program: &Program) -> (usize, u8, FaultKind) {
    let outcome = Machine::default().run_code(&program.code(), |_, _| ());
    let (at, cause, _) = outcome.fault.expect("a fault");
    let FaultCause::Instruction(kind) = cause else { panic!("{cause:?}") };
    let instruction = Position::instruction(at);
    (((instruction & 0xffff_ffff_ffff) - CODE) as usize / 8, Position::depth(at), kind)
}

#[test]
fn stacks_have_limits() {
    let room = 4 * FAMILY.stack as u8;
    // Subroutines that call themselves.
    let mut program = Program::default();
    let call = program.flow(Op::Call, 0);
    program.change(call, |flow| flow.to = 0);
    assert_eq!(fault(&program), (0, room, FaultKind::StackOverflow));
    // A subentry is for the current masks.
    let mut program = Program::default();
    program.flow(Op::Push, 0);
    let back = program.flow(Op::JumpAny, 0);
    program.change(back, |flow| flow.to = 0);
    assert_eq!(fault(&program), (0, room - 1, FaultKind::StackOverflow));
    let mut program = Program::default();
    program.flow(Op::LoopStartDx10, 0);
    let back = program.flow(Op::JumpAny, 0);
    program.change(back, |flow| flow.to = 0);
    assert_eq!(fault(&program), (0, room, FaultKind::StackOverflow));
    for (op, pops) in [(Op::Pop, 2), (Op::Else, 0), (Op::Return, 0), (Op::Reactivate, 0)] {
        let mut program = Program::default();
        program.flow(op, pops);
        assert_eq!(fault(&program), (0, 0, FaultKind::StackUnderflow), "{op:?}");
    }
    let mut program = Program::default();
    program.flow(Op::Push, 0);
    program.alu(Op::AluPop2After, vec![vec![slot(Op::Mov, 0, 0, &[Src::Literal(1)])]]);
    assert_eq!(fault(&program), (1, 1, FaultKind::StackUnderflow));
}

/// Random programs of branches, loops, breaks, continues and calls.
struct Random {
    random: SplitMix64,
    program: Program,
    mark: u32,
    /// Breaks and continues of the open loops that have no address yet.
    leaves: Vec<Vec<usize>>,
    calls: Vec<usize>,
}

impl Random {
    fn traces(&mut self) {
        self.mark += 1;
        traces(&mut self.program, self.mark);
    }

    fn condition(&mut self) -> (u16, u32) {
        (self.random.below(4) as u16, self.random.below(5) as u32)
    }

    fn block(&mut self, depth: u32) {
        for _ in 0..=self.random.below(3) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        let (channel, number) = self.condition();
        let in_loop = !self.leaves.is_empty();
        match self.random.below(if depth == 0 { 2 } else { 9 }) {
            2..=4 => self.branch(depth),
            5 | 6 if self.leaves.len() < 4 => {
                let start = begin_loop(&mut self.program, self.leaves.len() as u16);
                self.leaves.push(Vec::new());
                self.block(depth - 1);
                let end = end_loop(&mut self.program, start);
                for leave in self.leaves.pop().expect("a loop") {
                    self.program.change(leave, |flow| flow.to = end);
                }
            }
            7 if in_loop => {
                // Lanes leave under a branch.
                let jump = begin_if(&mut self.program, channel, number);
                self.traces();
                let op = if self.random.below(2) == 0 { Op::LoopBreak } else { Op::LoopContinue };
                let leave = self.program.flow(op, 0);
                self.leaves.last_mut().expect("a loop").push(leave);
                end_if(&mut self.program, jump);
            }
            8 if in_loop => {
                // Lanes leave by a predicate.
                let execute = 1 + self.random.below(2) as u32;
                self.program.alu(Op::Alu, vec![above(channel, number, execute)]);
            }
            8 => {
                let call = self.program.flow(Op::Call, 0);
                self.calls.push(call);
            }
            _ => self.traces(),
        }
    }

    fn branch(&mut self, depth: u32) {
        let (channel, number) = self.condition();
        let mut jump = match self.random.below(3) {
            0 => {
                // Frame and condition by words of their own.
                self.program.flow(Op::Push, 0);
                self.program.alu(Op::Alu, vec![above(channel, number, 0)]);
                self.program.flow(Op::Jump, 1)
            }
            _ => begin_if(&mut self.program, channel, number),
        };
        self.block(depth - 1);
        if self.random.below(2) == 0 {
            jump = otherwise(&mut self.program, jump);
            self.block(depth - 1);
        }
        match self.random.below(2) {
            0 => end_if(&mut self.program, jump),
            _ => {
                self.mark += 1;
                self.program.alu(Op::AluPopAfter, trace(self.mark));
                self.program.land(jump);
            }
        }
    }
}

#[test]
fn random_programs() {
    for seed in 0..60 {
        let random = SplitMix64::new(seed);
        let mut random =
            Random { random, program: Program::default(), mark: 0, leaves: Vec::new(), calls: Vec::new() };
        random.block(4);
        random.traces();
        random.program.stop();
        if !random.calls.is_empty() {
            for call in std::mem::take(&mut random.calls) {
                random.program.land(call);
            }
            random.block(2);
            random.program.flow(Op::Return, 0);
            // Calls in the subroutine go to another one.
            for call in std::mem::take(&mut random.calls) {
                random.program.land(call);
            }
            random.traces();
            random.program.flow(Op::Return, 0);
        }
        check(&random.program);
    }
}
