//! Waves that wait for waves of the whole grid: barriers, semaphores and turns.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use wavemill_ir::{
    AtomicOp, CmpPred, Cond, CounterOp, Op, Operand, ScalarOp, Space, SyncOp, Terminator, Uni, Width,
};
use wavemill_machine::{Host, LiveWave, Registers, RunError, RunStats, SyncWait};

use crate::common::FLAG;
use crate::schedule::{DWORD, Launch, Line, NONE, Program, THREADS, at, branch, compare, load, s, store, v};

/// A block that does this and continues with the next one.
fn then(lines: Vec<Line>, next: usize) -> (Vec<Line>, Terminator) {
    (lines, Terminator::Jump(at(next)))
}

/// The operation on resource `s3`\[21:16\], as the first of its block; the datum is v1.
fn sync(op: SyncOp) -> Line {
    (Op::Sync(op), NONE, if op.has_datum() { vec![s(3), v(1)] } else { vec![s(3)] })
}

/// Each wave adds 1 to word 16383 of memory, in lane 0.
fn arrive() -> Vec<Line> {
    let active =
        |lanes: u64| (Op::Scalar(ScalarOp::Mov, Width::W64), Uni::ACTIVE.into(), vec![Operand::Const(lanes)]);
    vec![
        active(1),
        (Op::Atomic(AtomicOp::Add, Space::Global, Width::W32), NONE, vec![v(2), s(0), Operand::Const(1)]),
        active(!0),
    ]
}

const LAST: u32 = 4 * 16383;

/// Registers that the programs expect: the datum is the number of waves minus 1.
fn registers(waves: u32) -> impl Fn(u32, u32, &mut Registers) + Sync {
    move |group, wave, regs| {
        regs.set_uni(Uni(3), 7 << 16);
        regs.set_uni(Uni(4), group * 4 + wave);
        regs.set_row(wavemill_ir::Row(1), &[waves - 1; 64]);
        regs.set_row(wavemill_ir::Row(2), &[LAST; 64]);
    }
}

/// Waves count themselves, meet, read the count, and meet again before the next round.
fn rounds(number: usize) -> Program {
    let mut blocks = Vec::new();
    for n in 0..number {
        blocks.push(then(arrive(), 3 * n + 1));
        blocks.push(then(vec![sync(SyncOp::Barrier), load(5, Operand::Const(LAST.into()))], 3 * n + 2));
        blocks.push(then(vec![sync(SyncOp::Barrier)], 3 * n + 3));
    }
    blocks.push((vec![store(s(5))], Terminator::End));
    Program::new(&blocks)
}

#[test]
fn the_waves_of_a_grid_meet() {
    for threads in THREADS {
        for (groups, rounds_of) in [(1, 5), (3, 4), (70, 3)] {
            let waves = 2 * groups;
            let set = registers(waves);
            let launch =
                Launch { workgroups: groups, waves: 2, resident: groups, set: &set, ..Launch::default() };
            let program = rounds(rounds_of);
            let (words, result) =
                launch.threads(threads).run_prepared(&program, |share| share.init(7, waves - 1));
            let stats = result.unwrap();
            assert_eq!(stats.waves, waves.into());
            let expected = waves * rounds_of as u32;
            let stored = &words[..64 * waves as usize];
            assert!(stored.iter().all(|word| *word == expected), "{threads} threads, {groups} workgroups");
        }
    }
}

fn stuck(result: Result<RunStats, RunError>) -> (Vec<LiveWave>, u64) {
    match result {
        Err(RunError::Stalled { waves, not_started }) => (waves, not_started),
        other => panic!("expected a stall, got {other:?}"),
    }
}

#[test]
fn waves_that_wait_for_more_than_there_are_are_stuck() {
    for threads in THREADS {
        for single_steps in [false, true] {
            let set = registers(9);
            let mut launch = Launch { workgroups: 4, waves: 2, resident: 4, set: &set, ..Launch::default() }
                .threads(threads);
            launch.options.single_steps = single_steps;
            let (_, result) = launch.run_prepared(&rounds(1), |share| share.init(7, 8));
            let (waves, not_started) = stuck(result);
            assert_eq!((waves.len(), not_started), (8, 0));
            for wave in waves {
                assert_eq!(wave.waits_for, Some(SyncWait::Barrier { resource: 7, missing: 1 }));
                assert_eq!((wave.pc, wave.at_barrier, wave.spins), (at(1), false, None));
            }
            // Of ten workgroups only four fit at once.
            launch.workgroups = 10;
            let (waves, not_started) = stuck(launch.run_prepared(&rounds(1), |share| share.init(7, 19)).1);
            assert_eq!((waves.len(), not_started), (8, 6));
            assert_eq!(waves[3].waits_for, Some(SyncWait::Barrier { resource: 7, missing: 12 }));
        }
    }
}

/// Workgroup 0 produces: it raises the counter once for each other wave. The others lower it first.
#[test]
fn semaphores_let_waves_through() {
    for threads in THREADS {
        for by in [SyncOp::Raise, SyncOp::RaiseBy] {
            let set = registers(7);
            let launch = Launch { workgroups: 7, resident: 7, set: &set, ..Launch::default() };
            let mut produce: Vec<Line> = vec![sync(by)];
            if by == SyncOp::Raise {
                produce = (0..6).map(|_| sync(by)).collect();
            }
            let is_first = wavemill_ir::Cond::Zero(Uni(4), Width::W32);
            let program = Program::new(&[
                (vec![], branch(is_first, 1, 2)),
                (produce, Terminator::End),
                then(vec![sync(SyncOp::Lower)], 3),
                (vec![store(Operand::Const(9))], Terminator::End),
            ]);
            let (words, result) = launch.threads(threads).run(&program);
            result.unwrap();
            assert_eq!((&words[..64], &words[64..7 * 64]), (&[0; 64][..], &[9; 6 * 64][..]));
            // One too few.
            let set = registers(6);
            let launch = Launch { workgroups: 7, resident: 7, set: &set, ..Launch::default() };
            if by == SyncOp::RaiseBy {
                let (waves, _) = stuck(launch.threads(threads).run(&program).1);
                assert_eq!(waves.len(), 1);
                assert_eq!(waves[0].waits_for, Some(SyncWait::Counter { resource: 7 }));
            }
        }
    }
}

/// Waves append their numbers in order, though the counter is one for all.
#[test]
fn turns_are_in_the_order_of_numbers() {
    for threads in THREADS {
        for reversed in [false, true] {
            let set = move |group: u32, wave: u32, regs: &mut Registers| {
                let number = group * 2 + wave;
                regs.set_uni(Uni(3), if reversed { 19 - number } else { number });
                regs.set_row(wavemill_ir::Row(1), &[number + 1; 64]);
            };
            let launch = Launch { workgroups: 10, waves: 2, resident: 10, set: &set, ..Launch::default() };
            let program = Program::new(&[
                then(
                    vec![
                        (Op::Sync(SyncOp::Turn), NONE, vec![s(3)]),
                        (Op::Counter(CounterOp::Add, Space::Gds), v(5), vec![Operand::Const(0), v(1)]),
                        (Op::Sync(SyncOp::Pass), NONE, vec![s(3)]),
                    ],
                    1,
                ),
                (vec![(Op::Store(Space::Global, DWORD), NONE, vec![v(0), s(0), v(5)])], Terminator::End),
            ]);
            let (words, result) = launch.threads(threads).run(&program);
            result.unwrap();
            let order: Vec<u32> = if reversed { (0..20).rev().collect() } else { (0..20).collect() };
            let mut sum = 0;
            for number in order {
                assert_eq!(words[64 * number as usize], sum, "{threads} threads, {reversed}");
                sum += number + 1;
            }
        }
    }
}

#[test]
fn a_wave_without_its_turn_is_stuck() {
    let set = |group: u32, _: u32, regs: &mut Registers| regs.set_uni(Uni(3), group + 1);
    let launch = Launch { workgroups: 2, resident: 2, set: &set, ..Launch::default() };
    let program =
        Program::new(&[then(vec![(Op::Sync(SyncOp::Turn), NONE, vec![s(3)])], 1), (vec![], Terminator::End)]);
    let (waves, _) = stuck(launch.run(&program).1);
    let waits = |number| Some(SyncWait::Turn { order: 0, number, turn: 0 });
    assert_eq!(waves.iter().map(|wave| wave.waits_for).collect::<Vec<_>>(), [waits(1), waits(2)]);
}

/// Counts how often it is asked for requests: once for each turn, and for each slice in it.
struct Asked(AtomicU64);

impl Host for Asked {
    fn poll(&self) -> bool {
        self.0.fetch_add(1, Relaxed);
        false
    }
}

/// One workgroup computes while the others wait for it at a barrier: they have no turns meanwhile,
/// and checks whether the grid is stuck run few instructions.
#[test]
fn threads_without_work_take_no_turns() {
    let (groups, rounds) = (6, 20_000_000);
    let all = registers(groups);
    let set = |group: u32, wave: u32, regs: &mut Registers| {
        all(group, wave, regs);
        regs.set_uni(Uni(6), if group == 4 { rounds } else { 1 });
    };
    let minus_one = Operand::Const(0xffff_ffff);
    let program = Program::new(&[
        (
            vec![
                (Op::Scalar(ScalarOp::AddCarryOut, Width::W32), s(6), vec![s(6), minus_one]),
                compare(CmpPred::Eq, s(6), Operand::Const(0)),
            ],
            branch(Cond::NonZero(FLAG, Width::W32), 1, 0),
        ),
        then(vec![sync(SyncOp::Barrier)], 2),
        (vec![store(Operand::Const(9))], Terminator::End),
    ]);
    for threads in [1, 2, 3] {
        let mut launch =
            Launch { workgroups: groups, resident: groups, set: &set, ..Launch::default() }.threads(threads);
        launch.options.count_blocks = true;
        let host = Asked(AtomicU64::new(0));
        let (words, result) = launch.run_hosted(&program, |share| share.init(7, groups - 1), Some(&host));
        let stats = result.unwrap();
        assert!(words[..64 * groups as usize].iter().all(|word| *word == 9));
        let looked: u64 = stats.stepped_counts.iter().map(|count| count.entered).sum();
        assert!(looked > 0, "{threads} threads: the grid was not looked at");
        assert!(looked < stats.instructions / 16, "{threads} threads: {looked} instructions in looks");
        // A slice has 16,384 instructions. There are a few turns at the start and at the end, and looks.
        let (asked, slices) = (host.0.into_inner(), stats.instructions >> 14);
        assert!(asked < slices + slices / 4 + 100, "{threads} threads: asked {asked} times, {slices} slices");
    }
}
