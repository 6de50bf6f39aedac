//! Whole runs in which every wave is handed over from one engine to another: reports and counts.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use wavemill_interpreter::Interpreter;
use wavemill_ir::{Block, BlockBuilder, Cond, LaneMask, Operand, Row, ScalarOp, Terminator, Uni, Width};
use wavemill_machine::engine::{Engine, Events, Executor, Surroundings, Task, Wave, WaveExit};
use wavemill_machine::{
    BlockCount, BlockSource, Changes, Grid, GuestMemory, Instruction, Interests, Observer, OutOfRange,
    RegisterCounts, Registers, Reporter, RunOptions, Strict, Watcher, WaveInit, run, run_with,
};
use wavemill_reference_engine::{ReferenceEngine, ReferenceExecutor};

const COUNTS: RegisterCounts = RegisterCounts::of_rows([4, 0]);
/// A cell that differs from wave to wave.
const NUMBER: Uni = Uni(10);

/// The engine that continues a wave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Second {
    Interpreter,
    Reference,
}

/// Each time that a wave runs, the reference engine runs this many operations of it, and another
/// executor continues.
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

/// A change at an address: cells with the values before and after, and the number of rows.
type Changed = (u64, Vec<(Uni, u32, u32)>, usize);

/// An instruction: its address, the cells that it sets, each with the number of the operation that
/// sets it, and the operations that set rows.
type Sets<'a> = (u64, &'a [(usize, Uni, u32)], &'a [usize]);

#[derive(Debug, Default)]
struct Heard(Mutex<Vec<Changed>>);

impl Observer for Heard {
    fn interests(&self) -> Interests {
        Interests { registers: true, ..Interests::default() }
    }

    fn watcher(&self, _: Reporter) -> Box<dyn Watcher + '_> {
        Box::new(Hears(self))
    }
}

struct Hears<'a>(&'a Heard);

impl Watcher for Hears<'_> {
    fn changed(&mut self, instruction: &Instruction<'_>, changes: &Changes<'_>) {
        let cells = changes.cells.iter().map(|change| (change.cell, change.before, change.after)).collect();
        self.0.0.lock().unwrap().push((instruction.pc, cells, changes.rows.len()));
    }
}

/// If a wave is handed over inside an instruction, only the changes by the rest of the instruction
/// are reported, not differences from another wave.
#[test]
fn changes_are_those_since_the_wave_was_handed_over() {
    let mut b = BlockBuilder::new(0x1000);
    b.begin_guest(0x1000);
    set(&mut b, Uni(4), 1);
    b.begin_guest(0x1004);
    set(&mut b, Uni(5), 2);
    set(&mut b, Uni(6), 3);
    b.push(
        wavemill_ir::Op::Int(wavemill_ir::IntOp::Mov),
        [Row(1).into(), Operand::None],
        [Operand::Const(9), Operand::None, Operand::None, Operand::None],
        wavemill_ir::Attrs::default(),
    )
    .mask = LaneMask::All;
    b.begin_guest(0x1008);
    set(&mut b, Uni(7), 4);
    b.begin_guest(0x100c);
    let source = Source(Arc::new(b.finish(0x1010, Terminator::End)));
    let memory = GuestMemory::default().snapshot();
    let instructions: [Sets<'_>; 4] = [
        (0x1000, &[(0, Uni(4), 1)], &[]),
        (0x1004, &[(1, Uni(5), 2), (2, Uni(6), 3)], &[3]),
        (0x1008, &[(4, Uni(7), 4)], &[]),
        (0x100c, &[], &[]),
    ];
    for first in 0..=5 {
        let heard = Heard::default();
        let engine = HandsOver(first as u64, Second::Interpreter);
        run_with(&grid(&source, &memory), &engine, &RunOptions::default(), Some(&heard), None).unwrap();
        let mut expected = Vec::new();
        for (pc, cells, rows) in instructions {
            let last = cells.iter().map(|(n, ..)| *n).chain(rows.iter().copied()).max();
            // The other executor watches no waves.
            if last.is_some_and(|last| last < first) {
                continue;
            }
            let cells = cells.iter().filter(|(n, ..)| *n >= first).map(|(_, cell, to)| (*cell, 0, *to));
            expected.push((pc, cells.collect::<Vec<_>>(), rows.iter().filter(|n| **n >= first).count()));
        }
        let expected = [expected.clone(), expected].concat();
        assert_eq!(*heard.0.lock().unwrap(), expected, "handed over in front of operation {first}");
    }
}

/// The reference engine has no probes: it leaves watched waves to another engine and never runs
/// them without reports.
#[test]
fn watched_waves_are_never_run_in_silence() {
    let mut b = BlockBuilder::new(0x1000);
    b.begin_guest(0x1000);
    set(&mut b, Uni(4), 1);
    let source = Source(Arc::new(b.finish(0x1004, Terminator::End)));
    let memory = GuestMemory::default().snapshot();
    let engine = ReferenceEngine::with_close_looks(Box::new(Interpreter::new()));
    for single_steps in [false, true] {
        let heard = Heard::default();
        let options = RunOptions { single_steps, ..RunOptions::default() };
        run_with(&grid(&source, &memory), &engine, &options, Some(&heard), None).unwrap();
        assert_eq!(*heard.0.lock().unwrap(), vec![(0x1000, vec![(Uni(4), 0, 1)], 0); 2]);
    }
    let (interests, strict) = (Heard::default().interests(), Strict::default());
    let task = Task {
        counts: COUNTS,
        source: &source,
        counting: false,
        strict,
        interests: Some(&interests),
        starts: None,
    };
    let refused = std::panic::catch_unwind(AssertUnwindSafe(|| drop(engine.executor(task))));
    assert!(refused.is_err());
}

/// The engine that begins an instruction counts it.
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
    // Two waves, three times: first with 64 lanes, then with 4. Inside the block 8 are active, at
    // its end 4.
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
