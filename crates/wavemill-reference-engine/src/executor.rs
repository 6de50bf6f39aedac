//! Runs waves block by block, operation by operation.

use std::fmt;
use std::sync::Arc;

use wavemill_ir::{Block, Cond, FaultKind, Op, Terminator, Uni, Width};
use wavemill_machine::engine::{
    Events, Executor, Inside, PrivateMemory, PrivateWrites, Surroundings, Task, Wave, WaveExit,
};
use wavemill_machine::{BlockCount, FaultCause, OutOfRange, RegisterCounts, Strict};

use crate::code::{Blocks, Code};
use crate::state::State;

/// The executor of one host thread.
pub struct ReferenceExecutor<'a> {
    blocks: Blocks<'a>,
    counts: RegisterCounts,
    exceptions: Option<Uni>,
    strict: Strict,
    out_of_range: OutOfRange,
}

impl fmt::Debug for ReferenceExecutor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReferenceExecutor({} blocks)", self.blocks.made())
    }
}

/// How a wave continues after a part of a block.
enum Then {
    /// No operations are left that may run: it is before this one.
    Stands(usize),
    /// It continues at an address; `branch` is the address of the branch that led there, if any.
    Goes { to: u64, branch: Option<u64> },
    /// It continues at an address, where code may have changed.
    Invalidates(u64),
    /// It cannot run the instruction at the address.
    Cannot(u64, FaultKind),
    /// It stops.
    Stops(WaveExit),
}

/// Number of operations that may still run, and number of guest instructions that have run.
struct Meter {
    operations: u64,
    retired: u64,
}

impl Meter {
    /// Whether no operation may run.
    fn is_empty(&self) -> bool {
        self.operations == 0
    }

    /// Takes one operation, if there is one.
    fn take(&mut self) -> bool {
        let left = self.operations.checked_sub(1);
        self.operations = left.unwrap_or(0);
        left.is_some()
    }
}

impl State<'_> {
    fn holds(&self, cond: Cond) -> bool {
        let (cell, width) = cond.cell();
        let value = match width {
            Width::W32 => self.cell(cell.into(), 0).into(),
            Width::W64 => self.pair(cell.into()),
        };
        match cond {
            Cond::Zero(..) => value == 0,
            Cond::NonZero(..) => value != 0,
        }
    }

    /// The end of a block.
    fn end(&mut self, block: &Block, pc: &mut u64) -> Then {
        let at = block.terminator_pc();
        if block.terminator.problem().is_some() {
            return Then::Cannot(at, FaultKind::Unsupported);
        }
        let goes = |to: u64| Then::Goes { to, branch: (to != block.next).then_some(at) };
        match block.terminator {
            Terminator::Jump(to) => goes(to),
            Terminator::Branch { cond, taken, next } => goes(if self.holds(cond) { taken } else { next }),
            Terminator::Indirect(cell) => goes(self.pair(cell.into())),
            Terminator::Barrier(next) => {
                *pc = next;
                *self.barrier = at;
                Then::Stops(WaveExit::Barrier)
            }
            Terminator::Yield(next) => {
                *pc = next;
                Then::Stops(WaveExit::Yield)
            }
            Terminator::End => Then::Stops(WaveExit::End),
            Terminator::SetContext { value, next } => {
                self.context = self.cell(value, 0);
                Then::Goes { to: next, branch: None }
            }
            Terminator::Resume { context, at: to } => {
                let to = self.pair(to);
                self.context = self.cell(context, 0);
                *pc = to;
                Then::Stops(WaveExit::Preempted)
            }
            Terminator::InvalidateCode(next) => Then::Invalidates(next),
            Terminator::Trap(number) => Then::Stops(WaveExit::fault(at, FaultCause::Trap(number))),
            Terminator::Fault(kind) => Then::Cannot(at, kind),
        }
    }
}

impl<'a> ReferenceExecutor<'a> {
    /// The executor that one host thread runs the waves of a task with.
    ///
    /// # Panics
    /// If the task is one for watched waves: the executor would report nothing of them.
    #[must_use]
    pub fn new(task: Task<'a>) -> ReferenceExecutor<'a> {
        let Task { counts, source, counting, strict, interests, starts: _ } = task;
        assert!(interests.is_none(), "the reference engine has another one for watched waves");
        ReferenceExecutor {
            blocks: Blocks::new(source, counts, counting),
            counts,
            exceptions: source.exceptions(),
            strict,
            out_of_range: OutOfRange::default(),
        }
    }

    /// Runs a wave as [`Executor::run`] does, but at most this many operations; the end of a block
    /// counts as one. `None` means that they have run and that the wave is at the beginning of a
    /// block, or [inside](Wave::inside) one. Any engine can continue the wave there.
    ///
    /// # Panics
    /// If the registers of the wave are not those of the task.
    pub fn run_operations(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        operations: u64,
    ) -> Option<WaveExit> {
        assert_eq!(wave.regs.counts(), self.counts, "the executor was created for other registers");
        // It does not look where the wave goes.
        wave.follows_start = false;
        let budget = budget.max(1);
        let mut meter = Meter { operations, retired: 0 };
        self.blocks.follow_source();
        let before = wave.retired;
        // The last branch and its destination.
        let mut branch = wave.from.take().map(|from| (from, wave.pc));
        let mut inside = wave.inside.take();
        // This engine does not track what waves write.
        wave.writes = PrivateWrites { own: u64::MAX, others: true };
        let mut state = State {
            regs: &mut wave.regs,
            around,
            private: PrivateMemory { all: around.private, own: wave.private },
            context: wave.context,
            retired: before,
            exceptions: self.exceptions,
            strict: self.strict,
            out_of_range: OutOfRange::default(),
            barrier: &mut wave.barrier,
            exports: &mut wave.exports,
            source: self.blocks.source(),
            here: wave.pc,
            hold: &mut wave.hold,
            lost: None,
        };
        let mut pc = wave.pc;
        // The exit, or the instruction that the wave cannot run, or neither: the operations have
        // run.
        let (exit, cannot) = loop {
            let (code, first) = match inside.take() {
                Some(Inside { block, operation }) => {
                    debug_assert_eq!(block.start, pc, "the block begins where the wave stands");
                    (Arc::new(self.blocks.outside(block, pc, state.context)), operation)
                }
                None if meter.is_empty() => break (None, None),
                None => (self.blocks.at(pc, state.context), 0),
            };
            let start = pc;
            match self.block(&mut state, &code, first, &mut pc, &mut meter) {
                Then::Stands(operation) => {
                    pc = start;
                    inside = Some(Inside { block: code.block.clone(), operation });
                    break (None, None);
                }
                Then::Goes { to, branch: from } => {
                    (pc, branch) = (to, from.map(|from| (from, to)));
                }
                Then::Invalidates(to) => {
                    (pc, branch) = (to, None);
                    self.blocks.invalidate();
                }
                Then::Cannot(at, kind) => break (None, Some((at, kind))),
                Then::Stops(exit) => break (Some(exit), None),
            }
            if meter.retired >= budget {
                break (Some(WaveExit::Preempted), None);
            }
            state.retired = before + meter.retired;
        };
        self.out_of_range += state.out_of_range;
        wave.context = state.context;
        wave.retired = before + meter.retired;
        (wave.pc, wave.inside) = (pc, inside);
        let exit = match cannot {
            Some((at, kind)) => Some(WaveExit::cannot_run(wave, at, kind, branch)),
            None => exit,
        };
        match &exit {
            Some(WaveExit::Fault(fault)) => wave.pc = fault.pc,
            Some(WaveExit::Preempted) | None => {
                wave.from = branch.filter(|(_, to)| *to == wave.pc).map(|(from, _)| from);
            }
            Some(_) => {}
        }
        exit
    }

    /// Runs a block, starting at an operation.
    fn block(
        &mut self,
        state: &mut State<'_>,
        code: &Code,
        first: usize,
        pc: &mut u64,
        meter: &mut Meter,
    ) -> Then {
        let block = &*code.block;
        for (number, guest) in code.guests.iter().enumerate() {
            let operations = guest.operations.clone();
            // A guest instruction without operations runs with the operation before it; the last
            // one runs with the end.
            let is_end = operations.is_empty() && number + 1 == code.guests.len();
            if operations.end <= first && first > 0 && !is_end {
                // Another engine has run it. It may be the last one, whose results the end of the
                // block reads.
                state.lost = lost_before(block, operations, first, state.regs.counts());
                continue;
            }
            if operations.start >= first
                && !(guest.nullified || guest.unsupported || meter.is_empty())
                && let Some(inst) = block.insts[operations.clone()].first()
                && let Op::Sync(op) = inst.op
                && op.may_wait()
                && !state.sync(inst, op)
            {
                *pc = block.position(number);
                meter.retired += number as u64;
                return Then::Stops(WaveExit::Wait);
            }
            if operations.start >= first {
                let runs = is_end || !(operations.is_empty() || guest.nullified || guest.unsupported);
                if runs && meter.is_empty() {
                    return Then::Stands(operations.start);
                }
                self.blocks.count(code, number, state.regs.uni64(Uni::ACTIVE));
                state.lost = None;
            } else {
                state.lost = lost_before(block, operations.clone(), first, state.regs.counts());
            }
            if guest.nullified {
                continue;
            }
            if guest.unsupported {
                meter.retired += number as u64 + 1;
                return Then::Cannot(block.position(number), FaultKind::Unsupported);
            }
            state.here = block.position(number);
            let fault = |cause| Then::Stops(WaveExit::fault(block.position(number), cause));
            for n in operations.clone().filter(|n| *n >= first) {
                if !meter.take() {
                    return Then::Stands(n);
                }
                let checked = match n == operations.start {
                    true => state.check_guest(&block.insts[operations.clone()]),
                    false => Ok(()),
                };
                if let Err(cause) = checked.and_then(|()| state.operation(&block.insts[n])) {
                    return fault(cause);
                }
            }
        }
        if !meter.take() {
            return Then::Stands(block.insts.len());
        }
        meter.retired += block.guest.len() as u64;
        state.end(block, pc)
    }
}

/// The last result that went to cells which the wave lacks, among the operations of a guest
/// instruction before operation `before`.
fn lost_before(
    block: &Block,
    operations: std::ops::Range<usize>,
    before: usize,
    counts: RegisterCounts,
) -> Option<Uni> {
    let run = operations.start..operations.end.min(before);
    block.insts.get(run)?.iter().rev().find_map(|inst| counts.lacking_result(inst))
}

impl Executor for ReferenceExecutor<'_> {
    fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        _: Option<&mut Events<'_>>,
    ) -> WaveExit {
        loop {
            if let Some(exit) = self.run_operations(wave, around, budget, u64::MAX) {
                return exit;
            }
        }
    }

    fn out_of_range(&self) -> OutOfRange {
        self.out_of_range
    }

    fn blocks(&self) -> usize {
        self.blocks.made()
    }

    fn block_counts(&self) -> Vec<BlockCount> {
        self.blocks.block_counts()
    }
}
