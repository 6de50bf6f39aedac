//! Whole runs in which every wave is handed over from one engine to another: what is counted.

use std::sync::Arc;

use wavemill_interpreter::Interpreter;
use wavemill_ir::{Block, BlockBuilder, Cond, Operand, ScalarOp, Terminator, Uni, Width};
use wavemill_machine::engine::{Engine, Events, Executor, Surroundings, Task, Wave, WaveExit};
use wavemill_machine::{
    BlockCount, BlockSource, Grid, GuestMemory, OutOfRange, RegisterCounts, Registers, RunOptions, WaveInit,
    run,
};
use wavemill_reference_engine::ReferenceExecutor;

const COUNTS: RegisterCounts = RegisterCounts::of_rows([4, 0]);
/// A cell that differs from wave to wave.
const NUMBER: Uni = Uni(10);

/// Who goes on with a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Second {
    Interpreter,
    Reference,
}

/// Each time that a wave runs, the reference engine runs so many operations of it, and another executor goes on.
#[derive(Debug)]
struct HandsOver(u64, Second);

struct Both<'a> {
    operations: u64,
    first: ReferenceExecutor<'a>,
    second: Box<dyn Executor + 'a>,
}

impl Engine for HandsOver {
    fn name(&self) -> &'static str {
        "both"
    }

    fn executor<'a>(&self, task: Task<'a>) -> Box<dyn Executor + 'a> {
        let second = match self.1 {
            Second::Interpreter => Interpreter::new().executor(task),
            Second::Reference => Box::new(ReferenceExecutor::new(task)),
        };
        let first = ReferenceExecutor::new(Task { interests: None, ..task });
        Box::new(Both { operations: self.0, first, second })
    }
}

impl Executor for Both<'_> {
    fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        events: Option<&mut Events<'_>>,
    ) -> WaveExit {
        match self.first.run_operations(wave, around, budget, self.operations) {
            Some(exit) => exit,
            None => self.second.run(wave, around, budget, events),
        }
    }

    fn out_of_range(&self) -> OutOfRange {
        let mut both = self.first.out_of_range();
        both += self.second.out_of_range();
        both
    }

    fn blocks(&self) -> usize {
        self.second.blocks()
    }

    fn block_counts(&self) -> Vec<BlockCount> {
        [self.first.block_counts(), self.second.block_counts()].concat()
    }
}

/// Blocks of a program, and an end everywhere else.
struct Source(Arc<Block>);

impl BlockSource for Source {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        if pc == self.0.start {
            return self.0.clone();
        }
        let mut end = BlockBuilder::new(pc);
        end.begin_guest(pc);
        Arc::new(end.finish(pc + 4, Terminator::End))
    }

    /// The context does not matter.
    fn context_key(&self) -> u32 {
        0
    }
}

struct Init;

impl WaveInit for Init {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        2 * 64
    }

    fn init(&self, _: [u32; 3], wave: u32, _: u32, regs: &mut Registers) {
        regs.set_uni(NUMBER, 100 + wave);
    }
}

fn grid<'a>(source: &'a Source, memory: &'a wavemill_machine::MemoryMap) -> Grid<'a> {
    Grid {
        map: memory,
        source,
        init: &Init,
        workgroups: [1, 1, 1],
        waves_per_group: 2,
        registers: COUNTS,
        lds_size: 0,
        lds_granule: 0,
        scratch_size: 0,
        entry: source.0.start,
        context: 7,
        resident: 1,
    }
}

fn set(b: &mut BlockBuilder, cell: Uni, value: u64) {
    b.scalar(ScalarOp::Mov, Width::W32, cell, &[Operand::Const(value)]);
}

/// Whoever begins an instruction counts it.
#[test]
fn counts_do_not_depend_on_who_runs_what() {
    let mut b = BlockBuilder::new(0x1000);
    b.begin_guest(0x1000);
    b.scalar(ScalarOp::AddCarryOut, Width::W32, Uni(4), &[Uni(4).into(), Operand::Const(1)]);
    b.begin_guest(0x1004);
    set(&mut b, Uni::ACTIVE, 0xff);
    set(&mut b, Uni::ACTIVE.plus(1), 0);
    b.begin_guest(0x1008);
    b.begin_guest(0x100c);
    set(&mut b, Uni(5), 1);
    set(&mut b, Uni(6), 1);
    b.begin_guest(0x1010);
    set(&mut b, Uni::ACTIVE, 0xf);
    b.scalar(ScalarOp::Xor, Width::W32, Uni(7), &[Uni(4).into(), Operand::Const(3)]);
    b.begin_guest(0x1014);
    let cond = Cond::NonZero(Uni(7), Width::W32);
    let source = Source(Arc::new(b.finish(0x1018, Terminator::Branch { cond, taken: 0x1000, next: 0x1018 })));
    let memory = GuestMemory::default().snapshot();
    // Two waves, three times: with 64 lanes, then with 4; in its midst there are 8, at its end 4.
    let count =
        |pc, entered, lanes: &[(u32, u64)]| BlockCount { pc, context: 0, entered, lanes: lanes.into() };
    let expected = [
        count(0x1000, 6, &[(0, 2 * (64 + 4 + 4)), (2, 2 * 3 * 8), (5, 2 * 3 * 4)]),
        count(0x1018, 2, &[(0, 2 * 4)]),
    ];
    let options = RunOptions { count_blocks: true, ..RunOptions::default() };
    for second in [Second::Interpreter, Second::Reference] {
        for first in 0..30 {
            let engine = HandsOver(first, second);
            let stats = run(&grid(&source, &memory), &engine, &options).unwrap();
            assert_eq!(stats.block_counts, expected, "{second:?} goes on behind {first} operations");
            assert_eq!(stats.instructions, 2 * (3 * 6 + 1));
        }
    }
}
