//! Random programs of long runs of operations on rows, with more rows than there are registers, masks and NaNs.

use std::sync::Arc;

use wavemill_ir::{Block, Cond, LaneMask, Op, Terminator, Uni, Width, verify};
use wavemill_machine::{CellPair, RegisterCounts};
use wavemill_oracle::SplitMix64;

use crate::common::Bench;
use crate::machine_code::shrink;
use crate::machine_loops::{
    DATA, LEFT, RESULTS, SPECIAL, TEMPS, VALUES, computes, count_down, scalar, start,
};
use crate::programs::programs;

const ROWS: u16 = 60;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: 40,
    absent: (Uni(40), Uni(40)),
    private_base: CellPair::new(Uni(38)),
    rows: [ROWS, 0],
};
/// NaNs of both kinds.
const NANS: [u32; 3] = [0x7fc0_0000, 0xff80_0001, 0x7fc1_2345];

fn block(random: &mut SplitMix64, n: u64, blocks: u64, pressure: u16) -> Block {
    let at = |n: u64| 0x1000 * (1 + n);
    let mut insts = start(pressure);
    let guests = 20 + random.below(100) as u32;
    let (all_lanes, is_float) = (random.one_in(4), random.one_in(2));
    while insts.len() < usize::from(TEMPS) + guests as usize {
        let guest = insts.len() as u32 - u32::from(TEMPS) + 1;
        let mut inst = match random.below(16) {
            0 => scalar(random, guest),
            _ => computes(random, guest, pressure),
        };
        if is_float
            && !matches!(inst.op, Op::Float(..) | Op::FloatCmp(..) | Op::Scalar(..))
            && !random.one_in(4)
        {
            continue;
        }
        // Few changes of the active lanes, and operations on all lanes in a part of the programs.
        if inst.writes().any(|cell| cell == Uni::ACTIVE.into()) && !random.one_in(8) {
            continue;
        }
        if !all_lanes {
            inst.mask = LaneMask::Active;
        }
        if inst.problem().is_none() {
            insts.push(inst);
        }
    }
    insts.push(count_down(guests + 1));
    let next = at(random.below(blocks));
    let terminator = Terminator::Branch { cond: Cond::Zero(LEFT, Width::W32), taken: 0xf000, next };
    let (start, next) = (at(n), at(n) + 0x800);
    let guest = (0..=u64::from(guests) + 1).map(|n| start + 4 * n).collect();
    Block { start, next, ranges: std::iter::once(start..next).collect(), insts, guest, terminator }
}

fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed ^ 0x9a55);
    let mut bench = Bench::new(COUNTS, !seed);
    let count = 1 + random.below(2);
    let pressure = random.pick(&[5, 8, 14, 24, ROWS - DATA]);
    let mut blocks = (0..count).map(|n| {
        let block = block(&mut random, n, count, pressure);
        verify(&block).expect("operations are well formed");
        Arc::new(block)
    });
    bench.block = blocks.next().expect("a block");
    bench.more = blocks.collect();
    bench.budget = random.pick(&[100, 400]);
    let any: Vec<u32> = (0..6).map(|_| random.next_u64() as u32).collect();
    bench.cells[usize::from(RESULTS.0)..][..6].copy_from_slice(&any);
    bench.cells[usize::from(LEFT.0)] = 1 + random.below(3) as u32;
    // Some have bytes that are constants or signs.
    bench.cells[usize::from(VALUES.0) + 8] = random.pick(&[0x0307_0104, 0x0001_0203, 0x0c07_0104]);
    // NaNs in one strip, in all, or in none at first.
    let (first, end) = random.pick(&[(0, 0), (0, 0), (16, 32), (40, 41), (0, 64)]);
    let special = random.one_in(3);
    for row in &mut bench.rows[usize::from(DATA)..] {
        for (lane, value) in row.iter_mut().enumerate() {
            *value = if (first..end).contains(&lane) && random.one_in(40) {
                random.pick(&NANS)
            } else if special && !random.one_in(4) {
                random.pick(&SPECIAL)
            } else {
                (random.below(2000) as f32 / 64.0 - 9.0).to_bits()
            };
        }
    }
    bench
}

#[test]
fn random_long_runs_are_the_same_as_machine_code() {
    let mut failed = Vec::new();
    for seed in 0..programs() / 60 {
        let mut bench = bench(seed);
        let first = (seed % 7) as usize;
        if let Err(mut difference) = bench.compare_machine_code(first) {
            if failed.len() < 3 {
                difference = shrink(&mut bench, first, difference, TEMPS.into());
            }
            failed.push(format!("program {seed}: {difference}"));
        }
    }
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(3)].join("\n"));
}
