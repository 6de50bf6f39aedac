//! Promises of the scheduler: private memory does not depend on its earlier owner, the first
//! workgroup's fault is reported, and grids that can never finish end.

use crate::common::{FLAG, PRIVATE};
use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, Ordering::Relaxed};

use wavemill_interpreter::Interpreter;
use wavemill_ir::{
    AtomicOp, Attrs, Block, BlockBuilder, CmpPred, Cond, FaultKind, IntType, MemType, Op, Operand, Row,
    ScalarOp, Space, Status, Terminator, Uni, Width,
};
use wavemill_machine::{
    BlockSource, FaultCause, Grid, GuestMemory, Host, RegisterCounts, Registers, RunControl, RunError,
    RunOptions, RunStats, Share, WaveInit, run_with,
};

pub(super) const THREADS: [usize; 3] = [1, 2, 16];

/// A program: block `n` is at address `0x1000 * (n + 1)`.
pub(super) struct Program(HashMap<u64, Arc<Block>>);

pub(super) fn at(n: usize) -> u64 {
    0x1000 * (n as u64 + 1)
}

/// An operation, its result and its sources, as one guest instruction.
pub(super) type Line = (Op, Operand, Vec<Operand>);

impl Program {
    pub(super) fn new(blocks: &[(Vec<Line>, Terminator)]) -> Program {
        let block = |n: usize, lines: &[Line], end| {
            let mut b = BlockBuilder::new(at(n));
            for (i, (op, dst, src)) in lines.iter().enumerate() {
                b.begin_guest(at(n) + 4 * i as u64);
                let mut sources = [Operand::None; 4];
                sources[..src.len()].copy_from_slice(src);
                // The result of a comparison is its flag, and scalar operations need no flag here.
                b.push(*op, [*dst, Operand::None], sources, Attrs::default());
            }
            let end_at = at(n) + 4 * lines.len() as u64;
            b.begin_guest(end_at);
            let block = b.finish(end_at + 4, end);
            wavemill_ir::verify(&block).expect("the block is well formed");
            Arc::new(block)
        };
        Program(blocks.iter().enumerate().map(|(n, (l, end))| (at(n), block(n, l, *end))).collect())
    }
}

impl BlockSource for Program {
    /// The block at an address, or the rest of one: engines that single-step continue in the
    /// middle.
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        let rest = self.0.get(&(pc & !0xfff)).and_then(|block| block.starting_at(pc));
        Arc::new(
            rest.unwrap_or_else(|| {
                BlockBuilder::new(pc).finish(pc + 4, Terminator::Fault(FaultKind::NoCode))
            }),
        )
    }
}

const SCRATCH: u64 = 64 * 64;

struct Init<'a> {
    memory: u64,
    scratch: Option<u64>,
    waves: u32,
    set: &'a (dyn Fn(u32, u32, &mut Registers) + Sync),
}

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64 * self.waves
    }

    /// s[0:1] is the address of the memory, v0 the work-item's number times 4.
    fn init(&self, [group, ..]: [u32; 3], wave: u32, slot: u32, regs: &mut Registers) {
        regs.set_uni64(Uni(0), self.memory);
        let first = (group * self.waves + wave) * 64;
        regs.set_row(Row(0), &std::array::from_fn(|lane| 4 * (first + lane as u32)));
        if let Some(address) = self.scratch {
            regs.set_uni64(PRIVATE, address + u64::from(slot) * SCRATCH);
        }
        (self.set)(group, wave, regs);
    }

    fn unwritten(&self) -> Vec<Uni> {
        (0..FLAG.0).map(Uni).collect()
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        self.scratch.map(|address| (address + u64::from(slot) * SCRATCH, SCRATCH))
    }
}

pub(super) struct Launch<'a> {
    pub(super) workgroups: u32,
    pub(super) waves: u32,
    pub(super) resident: u32,
    pub(super) options: RunOptions,
    pub(super) set: &'a (dyn Fn(u32, u32, &mut Registers) + Sync),
}

impl Default for Launch<'_> {
    fn default() -> Self {
        // A stuck grid that is not detected fails the test instead of hanging it.
        let options =
            RunOptions { max_instructions: Some(1 << 31), find_stalls: true, ..RunOptions::default() };
        Launch { workgroups: 1, waves: 1, resident: 4, options, set: &|_, _, _| {} }
    }
}

const WORDS: usize = 1 << 14;

impl Launch<'_> {
    pub(super) fn threads(self, n: usize) -> Self {
        Launch { options: RunOptions { threads: NonZeroUsize::new(n), ..self.options }, ..self }
    }

    /// Runs the program with 16,384 zeros as memory; returns the final memory and the result of the
    /// run.
    pub(super) fn run(&self, program: &Program) -> (Vec<u32>, Result<RunStats, RunError>) {
        self.run_prepared(program, |_| {})
    }

    /// The same after `prepare`.
    pub(super) fn run_prepared(
        &self,
        program: &Program,
        prepare: impl FnOnce(&Share),
    ) -> (Vec<u32>, Result<RunStats, RunError>) {
        self.run_hosted(program, prepare, None)
    }

    /// The same with a host that answers the waves.
    pub(super) fn run_hosted(
        &self,
        program: &Program,
        prepare: impl FnOnce(&Share),
        host: Option<&dyn Host>,
    ) -> (Vec<u32>, Result<RunStats, RunError>) {
        let memory = GuestMemory::default();
        let buffer = memory.allocate("memory", 4 * WORDS as u64, 256).unwrap();
        let scratch = u64::from(self.resident * self.waves) * SCRATCH;
        let scratch = memory.allocate("scratch", scratch, 256).unwrap();
        let map = memory.snapshot();
        prepare(map.share());
        let init = Init { memory: buffer, scratch: Some(scratch), waves: self.waves, set: self.set };
        let grid = Grid {
            map: &map,
            source: program,
            init: &init,
            workgroups: [self.workgroups, 1, 1],
            waves_per_group: self.waves,
            registers: RegisterCounts::of_rows([16, 4]),
            lds_size: 256,
            lds_granule: 0,
            scratch_size: (SCRATCH / 64) as u32,
            entry: at(0),
            context: 0,
            resident: self.resident,
        };
        let result = run_with(&grid, &Interpreter::new(), &self.options, None, host);
        let mut bytes = vec![0; 4 * WORDS];
        memory.read(buffer, &mut bytes).unwrap();
        let words = bytes.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        (words, result)
    }
}

pub(super) fn s(n: u16) -> Operand {
    Operand::Uni(Uni(n))
}

pub(super) fn v(n: u16) -> Operand {
    Operand::Row(Row(n))
}

pub(super) const DWORD: MemType = MemType::Dwords(1);
pub(super) const NONE: Operand = Operand::None;

fn scalar(op: ScalarOp, dst: u16, src: &[Operand]) -> Line {
    (Op::Scalar(op, Width::W32), s(dst), src.to_vec())
}

pub(super) fn compare(pred: CmpPred, a: Operand, b: Operand) -> Line {
    (Op::ScalarCmp(pred, IntType::U32), FLAG.into(), vec![a, b])
}

/// `s<dst>` = word of memory at the byte offset in `offset`.
pub(super) fn load(dst: u16, offset: Operand) -> Line {
    (Op::ScalarLoad(1), s(dst), vec![s(0), offset])
}

/// Lanes store `value` to memory at their number.
pub(super) fn store(value: Operand) -> Line {
    (Op::Store(Space::Global, DWORD), NONE, vec![v(0), s(0), value])
}

pub(super) fn branch(cond: Cond, taken: usize, next: usize) -> Terminator {
    Terminator::Branch { cond, taken: at(taken), next: at(next) }
}

/// Stores the values that it finds in private memory, LDS, an SGPR, and a VGPR, and leaves other
/// values there.
fn reads_before_writing(what: usize) -> Program {
    let look: Vec<Line> = match what {
        0 => vec![(Op::Load(Space::Scratch, DWORD), v(1), vec![])],
        1 => vec![(Op::Load(Space::Lds, DWORD), v(1), vec![v(9)])],
        2 => vec![(Op::Int(wavemill_ir::IntOp::Mov), v(1), vec![s(50)])],
        _ => vec![(Op::Int(wavemill_ir::IntOp::Mov), v(1), vec![v(8)])],
    };
    let dirt = Operand::Const(0xdead_beef);
    let leave: Vec<Line> = vec![
        (Op::Int(wavemill_ir::IntOp::Mov), v(2), vec![dirt]),
        (Op::Store(Space::Scratch, DWORD), NONE, vec![NONE, NONE, v(2)]),
        (Op::Int(wavemill_ir::IntOp::Mov), v(8), vec![dirt]),
        scalar(ScalarOp::Mov, 50, &[dirt]),
        (Op::Int(wavemill_ir::IntOp::Mov), v(9), vec![Operand::Const(0)]),
        (Op::Store(Space::Lds, DWORD), NONE, vec![v(9), NONE, v(2)]),
    ];
    let address = (Op::Int(wavemill_ir::IntOp::Mov), v(9), vec![Operand::Const(0)]);
    let start = if what == 1 { vec![address] } else { vec![] };
    Program::new(&[([start, look, vec![store(v(1))], leave].concat(), Terminator::End)])
}

#[test]
fn what_nobody_wrote_is_zero_or_poison() {
    for what in 0..4 {
        for poison in [None, Some(0xfffa_fffa), Some(7)] {
            for threads in THREADS {
                let mut launch =
                    Launch { workgroups: 60, waves: 2, resident: 3, ..Launch::default() }.threads(threads);
                launch.options.poison = poison;
                let (words, result) = launch.run(&reads_before_writing(what));
                result.unwrap();
                let expected = poison.unwrap_or(0);
                // The waves of a workgroup share LDS: the second one reads the values that the
                // first one left.
                let own = |n: usize| what != 1 || n % 128 < 64;
                let wrong = (0..60 * 128).find(|n| own(*n) && words[*n] != expected);
                assert_eq!(wrong, None, "{what} {poison:?} {threads} threads");
            }
        }
    }
}

/// Waves of large grids get the registers that an earlier wave left: those that the code cannot read before it writes
/// them.
const MANY: u32 = 20_000;

/// The memory has room for the stores of 256 waves.
fn in_memory(group: u32, regs: &mut Registers) {
    regs.set_row(Row(0), &std::array::from_fn(|lane| 4 * (group % 256 * 64 + lane as u32)));
}

#[test]
fn large_grids_find_zeros_where_nobody_wrote() {
    for what in 0..4 {
        for threads in THREADS {
            let set = |group: u32, _, regs: &mut Registers| in_memory(group, regs);
            let launch = Launch { workgroups: MANY, set: &set, ..Launch::default() }.threads(threads);
            let (memory, result) = launch.run(&reads_before_writing(what));
            assert_eq!(result.unwrap().waves, u64::from(MANY));
            assert!(memory.iter().all(|word| *word == 0), "{what} with {threads} threads");
        }
    }
}

/// All waves but the last write registers that nothing reads. The last one writes some of them, and faults.
#[test]
fn a_fault_in_a_large_grid_shows_only_what_its_wave_wrote() {
    let mov = |dst: u16, value: Operand| (Op::Int(wavemill_ir::IntOp::Mov), v(dst), vec![value]);
    let (dirt, own) = (Operand::Const(0xdead_beef), Operand::Const(42));
    let program = Program::new(&[
        (
            vec![mov(1, own), scalar(ScalarOp::Mov, 20, &[own]), compare(CmpPred::Eq, s(10), s(11))],
            branch(Cond::NonZero(FLAG, Width::W32), 2, 1),
        ),
        (vec![mov(1, dirt), mov(2, dirt), scalar(ScalarOp::Mov, 21, &[dirt]), store(v(2))], Terminator::End),
        (vec![(Op::Store(Space::Global, DWORD), NONE, vec![v(3), s(12), v(1)])], Terminator::End),
    ]);
    for threads in THREADS {
        let set = |group: u32, _, regs: &mut Registers| {
            in_memory(group, regs);
            regs.set_uni(Uni(10), group);
            regs.set_uni(Uni(11), MANY - 1);
            // No memory is there.
            regs.set_row(Row(3), &[0x40; 64]);
        };
        let launch = Launch { workgroups: MANY, set: &set, ..Launch::default() }.threads(threads);
        let (_, result) = launch.run(&program);
        let RunError::Fault(fault) = result.unwrap_err() else { panic!("not a fault") };
        assert_eq!(fault.workgroup, [MANY - 1, 0, 0]);
        let (cells, rows) = (&fault.snapshot.cells, &fault.snapshot.rows[0]);
        assert_eq!((cells[20], cells[21], cells[10]), (42, 0, MANY - 1), "{threads} threads");
        assert_eq!((rows[1], rows[2], rows[15]), ([42; 64], [0; 64], [0; 64]), "{threads} threads");
    }
}

#[test]
fn all_private_memory_is_wiped() {
    // The last dword of the last lane, and the first one.
    for offset in [0, SCRATCH as u32 / 64 - 4] {
        let o = Operand::Const(u64::from(offset));
        let program = Program::new(&[(
            vec![
                (Op::Load(Space::Scratch, DWORD), v(1), vec![NONE, o]),
                store(v(1)),
                (Op::Store(Space::Scratch, DWORD), NONE, vec![NONE, o, v(0)]),
            ],
            Terminator::End,
        )]);
        let launch = Launch { workgroups: 20, resident: 1, ..Launch::default() };
        let (words, result) = launch.run(&program);
        result.unwrap();
        assert_eq!(words[..20 * 64], [0; 20 * 64], "offset {offset}");
    }
}

/// Counts s2 down to zero, then traps.
fn counts_and_traps() -> Program {
    Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(0))], branch(Cond::NonZero(FLAG, Width::W32), 2, 1)),
        (vec![scalar(ScalarOp::SubBorrowOut, 2, &[s(2), Operand::Const(1)])], Terminator::Jump(at(0))),
        (vec![], Terminator::Trap(2)),
    ])
}

fn faulting_group(result: Result<RunStats, RunError>) -> u32 {
    match result {
        Err(RunError::Fault(fault)) => {
            assert_eq!(fault.cause, FaultCause::Trap(2));
            fault.workgroup[0]
        }
        other => panic!("expected a trap, got {other:?}"),
    }
}

#[test]
fn the_first_workgroups_fault_is_reported() {
    // The first workgroup takes longest.
    let set = |group: u32, _, regs: &mut Registers| regs.set_uni(Uni(2), (40 - group) * 20_000);
    for threads in THREADS {
        let launch = Launch { workgroups: 40, resident: 40, set: &set, ..Launch::default() };
        assert_eq!(
            faulting_group(launch.threads(threads).run(&counts_and_traps()).1),
            0,
            "{threads} threads"
        );
    }
    // Those with even numbers end.
    let program = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(0))], branch(Cond::NonZero(FLAG, Width::W32), 2, 1)),
        (vec![scalar(ScalarOp::SubBorrowOut, 2, &[s(2), Operand::Const(1)])], Terminator::Jump(at(0))),
        (vec![compare(CmpPred::Eq, s(3), Operand::Const(0))], branch(Cond::NonZero(FLAG, Width::W32), 3, 4)),
        (vec![], Terminator::End),
        (vec![], Terminator::Trap(2)),
    ]);
    let set = |group: u32, _, regs: &mut Registers| {
        regs.set_uni(Uni(2), (40 - group) * 20_000);
        regs.set_uni(Uni(3), group % 2);
    };
    for threads in THREADS {
        let launch = Launch { workgroups: 40, resident: 8, set: &set, ..Launch::default() };
        assert_eq!(faulting_group(launch.threads(threads).run(&program).1), 1, "{threads} threads");
    }
}

#[test]
fn nobody_waits_for_a_workgroup_that_has_faulted() {
    // All except the last one wait for a word that the last one would set.
    let wait = |end| {
        Program::new(&[
            (
                vec![compare(CmpPred::Eq, s(2), Operand::Const(0))],
                branch(Cond::NonZero(FLAG, Width::W32), 2, 1),
            ),
            (vec![], Terminator::Trap(2)),
            (vec![load(4, NONE), compare(CmpPred::Eq, s(4), Operand::Const(0))], end),
            (vec![], Terminator::End),
        ])
    };
    let set = |group: u32, _, regs: &mut Registers| regs.set_uni(Uni(2), u32::from(group == 5));
    for threads in THREADS {
        for find_stalls in [false, true] {
            let mut launch = Launch { workgroups: 9, resident: 7, set: &set, ..Launch::default() };
            // The wait is also limited without stall detection.
            launch.options.find_stalls = find_stalls;
            let program = wait(branch(Cond::NonZero(FLAG, Width::W32), 2, 3));
            assert_eq!(faulting_group(launch.threads(threads).run(&program).1), 5, "{threads} threads");
        }
    }
}

fn stalled(result: Result<RunStats, RunError>) -> (Vec<(u32, u32, bool)>, u64) {
    match result {
        Err(RunError::Stalled { waves, not_started }) => {
            let list = waves.iter().map(|w| {
                assert_eq!(w.at_barrier, w.spins.is_none());
                (w.workgroup[0], w.wave, w.at_barrier)
            });
            (list.collect(), not_started)
        }
        Err(RunError::Fault(fault)) => panic!("expected a stall, got {:?} at {:#x}", fault.cause, fault.pc),
        other => panic!("expected a stall, got {other:?}"),
    }
}

/// Waits for a word to become nonzero, in different ways.
fn waits() -> Vec<(&'static str, Program)> {
    let zero = Operand::Const(0);
    let again = branch(Cond::NonZero(FLAG, Width::W32), 0, 1);
    let end = (vec![], Terminator::End);
    let look = vec![load(4, NONE), compare(CmpPred::Eq, s(4), zero)];
    let atomic = |op, operands: &[Operand]| {
        vec![
            (Op::Int(wavemill_ir::IntOp::Mov), v(5), vec![zero]),
            (Op::Atomic(op, Space::Global, Width::W32), v(6), [&[v(5), s(0)], operands].concat()),
            (Op::Lane(wavemill_ir::LaneOp::ReadFirstLane), s(4), vec![v(6)]),
            compare(CmpPred::Eq, s(4), zero),
        ]
    };
    // 10,000 rounds until a longer loop begins again: longer than a slice.
    let long = vec![
        (vec![scalar(ScalarOp::Mov, 5, &[Operand::Const(10_000)])], Terminator::Jump(at(1))),
        (
            vec![
                scalar(ScalarOp::SubBorrowOut, 5, &[s(5), Operand::Const(1)]),
                compare(CmpPred::Eq, s(5), zero),
            ],
            branch(Cond::NonZero(FLAG, Width::W32), 2, 1),
        ),
        (look.clone(), branch(Cond::NonZero(FLAG, Width::W32), 0, 3)),
        end.clone(),
    ];
    // Stores the same value to private memory in every round, as unoptimised code does.
    let spill: Vec<Line> = vec![
        (Op::Store(Space::Scratch, DWORD), NONE, vec![NONE, NONE, v(0)]),
        load(4, NONE),
        compare(CmpPred::Eq, s(4), zero),
    ];
    vec![
        ("loads", Program::new(&[(look.clone(), again), end.clone()])),
        ("sleeps", {
            let sleep = (vec![], Terminator::Yield(at(0)));
            Program::new(&[(look, branch(Cond::NonZero(FLAG, Width::W32), 2, 1)), end.clone(), sleep])
        }),
        ("adds 0", Program::new(&[(atomic(AtomicOp::Add, &[v(7)]), again), end.clone()])),
        ("swaps", Program::new(&[(atomic(AtomicOp::CmpSwap, &[v(7), v(7)]), again), end.clone()])),
        ("a long loop", Program::new(&long)),
        ("spills", Program::new(&[(spill, again), end])),
    ]
}

#[test]
fn waiting_for_nobody_is_reported() {
    for (name, program) in waits() {
        for threads in THREADS {
            let launch = Launch { workgroups: 3, waves: 2, resident: 2, ..Launch::default() };
            let (_, result) = launch.threads(threads).run(&program);
            let (waves, not_started) = stalled(result);
            let expected = [(0, 0, false), (0, 1, false), (1, 0, false), (1, 1, false)];
            assert_eq!((waves, not_started), (expected.to_vec(), 1), "{name}, {threads} threads");
        }
    }
}

#[test]
fn a_run_can_be_stopped_and_tells_how_far_it_is() {
    let zero = Operand::Const(0);
    // Group 0 ends, 1 counts forever, 2 waits at a barrier for a wave that waits for memory.
    let program = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), zero)], branch(Cond::NonZero(FLAG, Width::W32), 1, 2)),
        (vec![], Terminator::End),
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(1))], branch(Cond::NonZero(FLAG, Width::W32), 3, 4)),
        (vec![scalar(ScalarOp::SubBorrowOut, 5, &[s(5), Operand::Const(1)])], Terminator::Jump(at(3))),
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(2))], branch(Cond::NonZero(FLAG, Width::W32), 5, 6)),
        (vec![], Terminator::Barrier(at(1))),
        (
            vec![load(4, NONE), compare(CmpPred::Eq, s(4), zero)],
            branch(Cond::NonZero(FLAG, Width::W32), 6, 1),
        ),
    ]);
    let set = |group: u32, wave: u32, regs: &mut Registers| {
        regs.set_uni(Uni(2), if group < 2 { group } else { 2 + wave });
    };
    for threads in THREADS {
        let control = Arc::new(RunControl::default());
        let mut launch = Launch { workgroups: 5, waves: 2, resident: 2, set: &set, ..Launch::default() };
        launch.options.control = Some(control.clone());
        let result = std::thread::scope(|scope| {
            let run = scope.spawn(|| launch.threads(threads).run(&program).1);
            while control.workgroups_done() == 0 {
                std::thread::yield_now();
            }
            control.stop();
            run.join().unwrap()
        });
        assert_eq!(control.workgroups_done(), 1);
        let Err(RunError::Stopped { ran, live, not_started }) = result else { panic!("{result:?}") };
        assert!(ran > 0);
        let of = |group: u32| live.iter().filter(move |wave| wave.workgroup[0] == group);
        assert!(of(1).all(|wave| !wave.at_barrier && wave.spins.is_none()), "{live:?}");
        assert_eq!(of(1).count(), 2);
        // The other one may not have started by then, and its waves may not have reached the
        // barrier.
        assert_eq!(live.len() as u64 / 2 + 1 + not_started, 5, "{live:?}");
        for wave in of(2) {
            assert_eq!(wave.spins.is_some(), !wave.at_barrier && wave.wave == 1, "{wave:?}");
        }
    }
    // A stop after the end has no effect; a stop before the start takes effect at once.
    for (program, ends) in [(Program::new(&[(vec![], Terminator::End)]), true), (program, false)] {
        let control = Arc::new(RunControl::default());
        control.stop();
        let mut launch = Launch { set: &|_, _, regs| regs.set_uni(Uni(2), 1), ..Launch::default() };
        launch.options.control = Some(control);
        let result = launch.run(&program).1;
        assert_eq!(result.is_ok(), ends, "{result:?}");
    }
}

#[test]
fn others_may_write() {
    let (_, program) = &waits()[0];
    let mut launch = Launch::default();
    launch.options.find_stalls = false;
    launch.options.max_instructions = Some(1 << 26);
    assert!(matches!(launch.run(program).1, Err(RunError::InstructionLimit { .. })));
}

#[test]
fn waiting_for_a_workgroup_that_cannot_start_is_reported() {
    // The last workgroup would set the word.
    let program = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(0))], branch(Cond::NonZero(FLAG, Width::W32), 1, 3)),
        (
            vec![load(4, Operand::Const(4 * 64 * 4)), compare(CmpPred::Eq, s(4), Operand::Const(0))],
            branch(Cond::NonZero(FLAG, Width::W32), 1, 2),
        ),
        (vec![], Terminator::End),
        (vec![store(Operand::Const(1))], Terminator::End),
    ]);
    let set = |group: u32, _, regs: &mut Registers| regs.set_uni(Uni(2), u32::from(group == 4));
    for threads in THREADS {
        let launch = |resident| {
            Launch { workgroups: 5, resident, set: &set, ..Launch::default() }
                .threads(threads)
                .run(&program)
                .1
        };
        let spins = |n| (n, 0, false);
        assert_eq!(stalled(launch(4)), ((0..4).map(spins).collect(), 1), "{threads} threads");
        assert_eq!(launch(5).unwrap().workgroups, 5, "{threads} threads");
    }
}

#[test]
fn waves_at_a_barrier_are_told_from_those_that_spin() {
    let program = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(0))], branch(Cond::NonZero(FLAG, Width::W32), 1, 2)),
        (vec![], Terminator::Barrier(at(3))),
        (
            vec![load(4, NONE), compare(CmpPred::Eq, s(4), Operand::Const(0))],
            branch(Cond::NonZero(FLAG, Width::W32), 2, 3),
        ),
        (vec![], Terminator::End),
    ]);
    let memory = AtomicU64::new(0);
    let set = |_, wave: u32, regs: &mut Registers| {
        memory.store(regs.uni64(Uni(0)), Ordering::Relaxed);
        regs.set_uni(Uni(2), u32::from(wave == 1));
    };
    let launch = Launch { waves: 3, set: &set, ..Launch::default() };
    let (_, result) = launch.run(&program);
    if let Err(RunError::Stalled { waves, .. }) = &result {
        let spin = waves[1].spins.as_ref().expect("it spins");
        assert_eq!((spin.first, spin.last, spin.instructions), (at(2), at(2) + 8, 3));
        assert_eq!(spin.polls, Some(at(2)));
        // The start of the memory, whose address is s[0:1].
        assert_eq!(spin.address, Some(memory.load(Ordering::Relaxed)));
        assert_eq!(waves[0].pc, at(1), "the barrier itself");
    }
    assert_eq!(stalled(result), (vec![(0, 0, true), (0, 1, false), (0, 2, true)], 0));
}

#[test]
fn grids_that_finish_are_not_reported() {
    let zero = Operand::Const(0);
    let minus_one = |n| scalar(ScalarOp::SubBorrowOut, n, &[s(n), Operand::Const(1)]);
    // Group 0 counts for long and then sets the words that the others wait for.
    let signal = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), zero)], branch(Cond::NonZero(FLAG, Width::W32), 4, 1)),
        (vec![minus_one(2), compare(CmpPred::Eq, s(2), zero)], branch(Cond::NonZero(FLAG, Width::W32), 2, 1)),
        (vec![store(Operand::Const(1))], Terminator::End),
        (vec![], Terminator::End),
        (
            vec![load(4, NONE), compare(CmpPred::Eq, s(4), zero)],
            branch(Cond::NonZero(FLAG, Width::W32), 4, 3),
        ),
    ]);
    // One writes 1 and 0 in turns for a long time, so its state and memory repeat for an observer.
    // The other waits until it sees the 1, which is there only briefly.
    let pulse = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), zero)], branch(Cond::NonZero(FLAG, Width::W32), 2, 1)),
        (
            vec![
                store(Operand::Const(1)),
                store(zero),
                load(5, Operand::Const(1024)),
                compare(CmpPred::Eq, s(5), zero),
            ],
            branch(Cond::NonZero(FLAG, Width::W32), 1, 3),
        ),
        (
            vec![load(4, NONE), compare(CmpPred::Eq, s(4), zero)],
            branch(Cond::NonZero(FLAG, Width::W32), 2, 4),
        ),
        (vec![], Terminator::End),
        // Stores 1 at its own address.
        (vec![store(Operand::Const(1))], Terminator::End),
    ]);
    // Waits for the clock.
    let clock = Program::new(&[
        (
            vec![
                (Op::ReadStatus(Status::Clock), s(4), vec![]),
                scalar(ScalarOp::Shr, 6, &[s(4), Operand::Const(23)]),
                scalar(ScalarOp::Mov, 4, &[zero]),
                scalar(ScalarOp::Mov, 5, &[zero]),
                compare(CmpPred::Lt, s(6), Operand::Const(3)),
            ],
            branch(Cond::NonZero(FLAG, Width::W32), 0, 1),
        ),
        (vec![], Terminator::End),
    ]);
    let set =
        |group: u32, _, regs: &mut Registers| regs.set_uni(Uni(2), if group == 0 { 3_000_000 } else { 0 });
    for threads in [1, 2] {
        let launch = Launch { workgroups: 4, set: &set, ..Launch::default() }.threads(threads);
        assert_eq!(launch.run(&signal).1.unwrap().workgroups, 4, "{threads} threads");
        let mut launch = Launch { workgroups: 2, set: &set, ..Launch::default() }.threads(threads);
        // Whether the second one ever sees the 1 depends on timing; the possibility must be enough.
        launch.options.max_instructions = Some(1 << 26);
        let result = launch.run(&pulse).1;
        assert!(matches!(result, Ok(_) | Err(RunError::InstructionLimit { .. })), "{threads}: {result:?}");
        let mut launch = Launch::default().threads(threads);
        launch.options.deterministic = true;
        assert_eq!(launch.run(&clock).1.unwrap().workgroups, 1);
    }
}

#[test]
fn deterministic_clocks_count_instructions() {
    let program = Program::new(&[
        (
            vec![
                (Op::ReadStatus(Status::Clock), s(4), vec![]),
                (Op::Int(wavemill_ir::IntOp::Mov), v(1), vec![s(4)]),
                store(v(1)),
            ],
            Terminator::Jump(at(1)),
        ),
        (
            vec![
                (Op::Int(wavemill_ir::IntOp::Or), v(0), vec![v(0), Operand::Const(1 << 14)]),
                (Op::ReadStatus(Status::RealTime), s(4), vec![]),
                (Op::Int(wavemill_ir::IntOp::Mov), v(1), vec![s(4)]),
                store(v(1)),
            ],
            Terminator::End,
        ),
    ]);
    let options = RunOptions { deterministic: true, threads: NonZeroUsize::new(16), ..RunOptions::default() };
    let launch = Launch { workgroups: 8, waves: 2, options, ..Launch::default() };
    let (words, result) = launch.run(&program);
    let stats = result.unwrap();
    assert_eq!((stats.threads, stats.instructions), (1, 16 * 9));
    // The block before the second clock has four instructions, and one more precedes it in its own.
    assert_eq!(words[..1024], [0; 1024]);
    assert_eq!(words[1 << 12..][..1024], [5; 1024]);
}

/// Adds one to the word at an address if it is odd.
struct Adder<'a> {
    memory: &'a GuestMemory,
    address: u64,
    polls: AtomicU64,
}

impl Host for Adder<'_> {
    fn poll(&self) -> bool {
        self.polls.fetch_add(1, Relaxed);
        let map = self.memory.snapshot();
        let mut word = [0; 8];
        assert!(map.read(self.address, &mut word));
        let value = u64::from_le_bytes(word);
        value % 2 == 1 && map.swap_u64(self.address, value + 1) == Some(value)
    }
}

/// Waves that wait for the host continue when it has answered; if it never answers, they are stuck.
#[test]
fn the_host_answers_between_turns() {
    // Lane 0 stores 1, and the wave waits until it is `answer`.
    let program = |answer: u64| {
        Program::new(&[
            (vec![store(Operand::Const(1))], Terminator::Jump(at(1))),
            (
                vec![load(3, Operand::Const(0)), compare(CmpPred::Eq, s(3), Operand::Const(answer))],
                branch(Cond::NonZero(FLAG, Width::W32), 2, 1),
            ),
            (vec![], Terminator::End),
        ])
    };
    for (threads, answer) in [(1, 2), (2, 2), (1, 3)] {
        let memory = GuestMemory::default();
        let buffer = memory.allocate("memory", 4096, 256).unwrap();
        let map = memory.snapshot();
        let set = |_: u32, _: u32, regs: &mut Registers| regs.set_uni64(Uni::ACTIVE, 1);
        let init = Init { memory: buffer, scratch: None, waves: 1, set: &set };
        let program = program(answer);
        let grid = Grid {
            map: &map,
            source: &program,
            init: &init,
            workgroups: [1, 1, 1],
            waves_per_group: 1,
            registers: RegisterCounts::of_rows([16, 4]),
            lds_size: 0,
            lds_granule: 0,
            scratch_size: 0,
            entry: at(0),
            context: 0,
            resident: 1,
        };
        let options = RunOptions {
            threads: NonZeroUsize::new(threads),
            max_instructions: Some(1 << 31),
            find_stalls: true,
            ..RunOptions::default()
        };
        let host = Adder { memory: &memory, address: buffer, polls: AtomicU64::new(0) };
        let result = run_with(&grid, &Interpreter::new(), &options, None, Some(&host));
        assert!(host.polls.load(Relaxed) > 0);
        match answer {
            2 => assert_eq!(result.unwrap().workgroups, 1),
            _ => assert!(matches!(result, Err(RunError::Stalled { .. })), "{result:?}"),
        }
    }
}

#[test]
fn where_code_ends_is_told_apart_from_jumps_to_nowhere() {
    let behind = at(0) + 8;
    let cases = [
        (Terminator::Jump(behind), behind, FaultCause::Instruction(FaultKind::NoCode)),
        (Terminator::Jump(at(7)), at(0) + 4, FaultCause::BadJump { target: at(7) }),
        (Terminator::Indirect(Uni(0)), at(0) + 4, FaultCause::BadJump { target: at(7) }),
    ];
    for (end, pc, cause) in cases {
        let program = Program::new(&[(vec![scalar(ScalarOp::Mov, 4, &[Operand::Const(1)])], end)]);
        for single_steps in [false, true] {
            let mut launch = Launch { set: &|_, _, regs| regs.set_uni64(Uni(0), at(7)), ..Launch::default() };
            launch.options.single_steps = single_steps;
            match launch.run(&program).1 {
                Err(RunError::Fault(fault)) => assert_eq!((fault.pc, &fault.cause), (pc, &cause), "{end:?}"),
                other => panic!("{end:?}: {other:?}"),
            }
        }
    }
}

/// Memory word 0 counts the workgroups that have passed; each waits until all before it have. All
/// lanes store the number: the next workgroup may continue when it sees it, and no lane may store
/// it once more after that.
#[test]
fn workgroups_that_wait_for_those_before_them_end() {
    let wait = |last| {
        Program::new(&[
            // The first ones do nothing, so that threads claim many at once.
            (
                vec![compare(CmpPred::Lt, s(2), Operand::Const(400))],
                branch(Cond::NonZero(FLAG, Width::W32), 3, 1),
            ),
            (
                vec![load(4, NONE), compare(CmpPred::Eq, s(4), s(3))],
                branch(Cond::NonZero(FLAG, Width::W32), 2, last),
            ),
            (
                vec![
                    (Op::Int(wavemill_ir::IntOp::Mov), v(5), vec![Operand::Const(0)]),
                    scalar(ScalarOp::AddCarryOut, 3, &[s(3), Operand::Const(1)]),
                    (Op::Store(Space::Global, DWORD), NONE, vec![v(5), s(0), s(3)]),
                ],
                Terminator::End,
            ),
            (vec![], Terminator::End),
            (vec![], Terminator::Yield(at(1))),
        ])
    };
    let set = |group: u32, _, regs: &mut Registers| {
        regs.set_uni(Uni(2), group);
        regs.set_uni(Uni(3), group.saturating_sub(400));
    };
    // Waves that sleep, and waves that wait at full speed.
    for (last, workgroups) in [(4, 3000), (1, 500)] {
        for threads in [1, 2, 3, 16] {
            for resident in [1, 2, 5, 100] {
                let launch = Launch { workgroups, resident, set: &set, ..Launch::default() }.threads(threads);
                let (words, result) = launch.run(&wait(last));
                assert_eq!(result.unwrap().workgroups, u64::from(workgroups));
                assert_eq!(words[0], workgroups - 400, "{threads} threads, {resident} resident");
            }
        }
    }
}

/// Each workgroup waits for the next one, in a loop that does nothing else: they end in the reverse
/// order, and have hundreds of turns until then. A turn must not always take a whole quantum.
#[test]
fn workgroups_that_wait_for_those_behind_them_end_soon() {
    let program = Program::new(&[
        (
            vec![load(4, NONE), compare(CmpPred::Eq, s(4), s(3))],
            branch(Cond::NonZero(FLAG, Width::W32), 1, 0),
        ),
        (
            vec![
                (Op::Int(wavemill_ir::IntOp::Mov), v(5), vec![Operand::Const(0)]),
                scalar(ScalarOp::AddCarryOut, 3, &[s(3), Operand::Const(1)]),
                (Op::Store(Space::Global, DWORD), NONE, vec![v(5), s(0), s(3)]),
            ],
            Terminator::End,
        ),
    ]);
    let workgroups = 100;
    let set = |group: u32, _, regs: &mut Registers| regs.set_uni(Uni(3), workgroups - 1 - group);
    for threads in THREADS {
        let launch = Launch { workgroups, resident: 1000, set: &set, ..Launch::default() }.threads(threads);
        let (words, result) = launch.run(&program);
        let ran = result.unwrap().instructions;
        assert_eq!(words[0], workgroups);
        // The first turn of each is a quantum; a few more may be, when a thread has nothing better
        // to run.
        assert!(ran < 4 * u64::from(workgroups) * (1 << 17), "{threads} threads: {ran} instructions");
    }
}

/// All workgroups meet repeatedly; waiting for the last one must not take whole quanta.
#[test]
fn workgroups_that_meet_again_and_again_end_soon() {
    let (workgroups, meetings) = (200, 20);
    let zero = Operand::Const(0);
    let program = Program::new(&[
        (vec![], Terminator::Barrier(at(1))),
        (
            vec![
                (Op::Int(wavemill_ir::IntOp::Mov), v(5), vec![zero]),
                (
                    Op::Atomic(AtomicOp::Add, Space::Global, Width::W32),
                    NONE,
                    vec![v(5), s(0), Operand::Const(1)],
                ),
            ],
            Terminator::Jump(at(2)),
        ),
        (
            vec![load(4, NONE), compare(CmpPred::Lt, s(4), s(3))],
            branch(Cond::NonZero(FLAG, Width::W32), 2, 3),
        ),
        (
            vec![
                scalar(ScalarOp::AddCarryOut, 3, &[s(3), Operand::Const(64 * u64::from(workgroups))]),
                scalar(ScalarOp::AddCarryOut, 5, &[s(5), Operand::Const(0xffff_ffff)]),
                compare(CmpPred::Eq, s(5), zero),
            ],
            branch(Cond::NonZero(FLAG, Width::W32), 4, 0),
        ),
        (vec![], Terminator::End),
    ]);
    let set = |_, _, regs: &mut Registers| {
        regs.set_uni(Uni(3), 64 * workgroups);
        regs.set_uni(Uni(5), meetings);
    };
    for threads in THREADS {
        let launch = Launch { workgroups, resident: 1000, set: &set, ..Launch::default() }.threads(threads);
        let (words, result) = launch.run(&program);
        let ran = result.unwrap().instructions;
        assert_eq!(words[0], 64 * workgroups * meetings);
        // The first turn of each is a quantum. Each meeting then takes an eighth of one, and on
        // several threads it may occasionally be missed.
        let quanta = u64::from(workgroups) * u64::from(2 + meetings / 4);
        assert!(ran < quanta * (1 << 17), "{threads} threads: {ran} instructions");
    }
}

#[test]
fn the_first_fault_is_that_of_a_workgroup_that_another_thread_has_claimed() {
    // Most end at once, so that threads claim many at once; these do not.
    let program = Program::new(&[
        (vec![compare(CmpPred::Eq, s(2), Operand::Const(0))], branch(Cond::NonZero(FLAG, Width::W32), 1, 2)),
        (vec![], Terminator::End),
        (vec![], Terminator::Trap(2)),
    ]);
    for first in [1203, 1210, 1250, 2001] {
        let set = |group: u32, _, regs: &mut Registers| regs.set_uni(Uni(2), u32::from(group >= first));
        for threads in THREADS {
            for _ in 0..5 {
                let launch = Launch { workgroups: 4000, resident: 64, set: &set, ..Launch::default() };
                assert_eq!(faulting_group(launch.threads(threads).run(&program).1), first);
            }
        }
    }
}

/// Each wave counts s3 down to 0 in block 0, in rounds of three instructions.
fn counts_down() -> Program {
    let minus_one = Operand::Const(0xffff_ffff);
    Program::new(&[
        (
            vec![scalar(ScalarOp::AddCarryOut, 3, &[s(3), minus_one]), compare(CmpPred::Eq, s(3), s(5))],
            branch(Cond::NonZero(FLAG, Width::W32), 1, 0),
        ),
        (vec![], Terminator::End),
    ])
}

/// A grid is looked at when no workgroup has ended for long. What waves run meanwhile is counted.
#[test]
fn counts_include_what_waves_run_in_checks_for_stalls() {
    let rounds = 8_000_000;
    let set = |_, _, regs: &mut Registers| regs.set_uni(Uni(3), rounds);
    for threads in [1, 2] {
        for single_steps in [false, true] {
            let mut launch = Launch { workgroups: 2, set: &set, ..Launch::default() }.threads(threads);
            (launch.options.count_blocks, launch.options.single_steps) = (true, single_steps);
            let stats = launch.run(&counts_down()).1.unwrap();
            let case = format!("{threads} threads, single steps: {single_steps}");
            assert_eq!(stats.instructions, 2 * (3 * u64::from(rounds) + 1), "{case}");
            // How often each instruction ran, by its address.
            let mut ran = HashMap::new();
            for count in &stats.block_counts {
                let instructions = match (single_steps, count.pc & 0xfff) {
                    (false, 0) if count.pc == at(0) => 3,
                    (false, 4) => 2,
                    _ => 1,
                };
                for n in 0..instructions {
                    *ran.entry(count.pc + 4 * n).or_insert(0) += count.entered;
                }
            }
            let looked: u64 = stats.stepped_counts.iter().map(|count| count.entered).sum();
            assert!(looked > 0, "{case}: the grid was not looked at");
            assert!(looked < stats.instructions / 16, "{case}: {looked} instructions ran in looks");
            for count in &stats.stepped_counts {
                *ran.entry(count.pc).or_insert(0) += count.entered;
                assert_eq!(count.lanes, [(0, 64 * count.entered)], "{case}");
            }
            let mut ran: Vec<(u64, u64)> = ran.into_iter().collect();
            ran.sort_unstable();
            let each = 2 * u64::from(rounds);
            let expected = [(at(0), each), (at(0) + 4, each), (at(0) + 8, each), (at(1), 2)];
            assert_eq!(ran, expected, "{case}");
        }
    }
}

/// Without a number of threads, a run starts others for few workgroups, too, if they go on.
#[test]
fn few_workgroups_that_go_on_run_on_several_threads() {
    let cores = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    for (waves, rounds, several) in [(1, 1_000_000, true), (2, 1_000_000, true), (1, 100, false)] {
        for workgroups in 1..=5 {
            let set = |_, _, regs: &mut Registers| regs.set_uni(Uni(3), rounds);
            let launch = Launch { workgroups, waves, resident: 5, set: &set, ..Launch::default() };
            let stats = launch.run(&counts_down()).1.unwrap();
            let expected = if several { cores.min(workgroups as usize) } else { 1 };
            assert_eq!(stats.threads, expected, "{workgroups} workgroups of {waves} waves, {rounds} rounds");
        }
    }
}
