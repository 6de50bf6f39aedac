//! Products of matrices: every tier gives the bits of the reference engine, for every shape, format
//! and rule, on factors that the vector hardware takes and on factors that it leaves to scalar code.

use wavemill_ir::{
    Attrs, FpEnv, Inst, LaneMask, MatrixLanes, MatrixOp, MatrixOperand, MatrixSum, NumberFormat as N, Op,
    Operand, Row,
};
use wavemill_machine::GuestMemory;
use wavemill_oracle::SplitMix64;

use crate::common::{Setup, registers_after, runners};

/// Rows of the sources and of the result.
const A: u16 = 8;
const B: u16 = 16;
const C: u16 = 32;
const EXTRA: u16 = 64;
const SCALES: u16 = 65;
const D: u16 = 80;
const TRUNCATED: MatrixSum = MatrixSum::Truncated { group: 8, product_bits: 24, sum_bits: 31, halves: false };
const HALVES: MatrixSum = MatrixSum::Truncated { group: 16, product_bits: 24, sum_bits: 31, halves: true };

/// Bits of an f32-like exponent range: fraction bits, and the field of 1.
fn shape(format: N) -> (u32, u32, u32) {
    match format {
        N::F16 => (16, 10, 15),
        N::Bf16 => (16, 7, 127),
        N::Fp8 | N::Fp8Fnuz => (8, 3, 7),
        N::Bf8 | N::Bf8Fnuz => (8, 2, 15),
        N::Fp6 => (6, 3, 1),
        N::Bf6 => (6, 2, 3),
        N::Fp4 => (4, 1, 1),
        N::F64 => (64, 52, 1023),
        N::F32 | N::Xf32 | N::I8 | N::I32 => (32, 23, 127),
    }
}

/// The numbers of a matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Numbers {
    /// Near 1, and some zeros.
    NearOne,
    /// Exponents up to this far from 1.
    Spread(u32),
    /// Any bits: infinities, NaNs, the largest and the smallest.
    Any,
}

const NUMBERS: [Numbers; 5] =
    [Numbers::NearOne, Numbers::Spread(6), Numbers::Spread(20), Numbers::Spread(90), Numbers::Any];

fn number(random: &mut SplitMix64, format: N, numbers: Numbers) -> u64 {
    let (bits, mantissa, one) = shape(format);
    let any = random.next_u64() & (u64::MAX >> (64 - bits));
    if matches!(format, N::I8 | N::I32) || numbers == Numbers::Any {
        return any;
    }
    if random.one_in(9) {
        return if matches!(format, N::Fp8Fnuz | N::Bf8Fnuz) { 0 } else { any & 1 << (bits - 1) };
    }
    let spread = match numbers {
        Numbers::NearOne => 2,
        Numbers::Spread(spread) => spread,
        Numbers::Any => 0,
    };
    let largest = (1u32 << (bits - 1 - mantissa)) - 2;
    let field = (one + random.below(u64::from(2 * spread + 1)) as u32).saturating_sub(spread).min(largest);
    any & !((u64::MAX >> (64 - (bits - 1))) >> mantissa << mantissa) | u64::from(field) << mantissa
}

/// Cells filled with numbers from the lowest bit upwards, in every lane.
fn cells(random: &mut SplitMix64, format: N, count: u32, numbers: Numbers) -> Vec<[u32; 64]> {
    let mut rows = vec![[0; 64]; count as usize];
    let width = shape(format).0;
    for (lane, item) in (0..64).flat_map(|lane| (0..32 * count / width).map(move |item| (lane, item))) {
        let value = number(random, format, numbers);
        for bit in 0..width {
            let at = (item * width + bit) as usize;
            rows[at / 32][lane] |= ((value >> bit & 1) as u32) << (at % 32);
        }
    }
    rows
}

/// Bytes of scales near 127, or any; as indices of a sparse factor, any of both.
fn scales(random: &mut SplitMix64) -> [u32; 64] {
    let any = random.one_in(5);
    [0; 64].map(|_: u32| {
        let bits = random.next_u64() as u32;
        if any { bits } else { 0x7f7f_7f7f ^ bits & 0x0707_0707 }
    })
}

fn product(rows: u8, depth: u8, blocks: u8, [a, b, c]: [N; 3], sum: MatrixSum) -> MatrixOp {
    MatrixOp {
        rows,
        columns: rows,
        depth,
        blocks,
        a,
        b,
        c,
        sparse: None,
        scales: None,
        broadcast: 0,
        shared: 0,
        lanes: MatrixLanes::Own,
        negate: 0,
        sum,
    }
}

/// Products of every kind that an instruction has.
fn products() -> Vec<MatrixOp> {
    let halves = |a, b, sum| {
        let shapes = [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1), (16, 32, 1), (32, 16, 1)];
        shapes.map(|(rows, depth, blocks)| product(rows, depth, blocks, [a, b, N::F32], sum))
    };
    let mut all = Vec::new();
    for sum in [MatrixSum::Chain, MatrixSum::Tree { width: 4 }, MatrixSum::Exact { group: 4 }, TRUNCATED] {
        for format in [N::F16, N::Bf16] {
            all.extend(halves(format, format, sum));
        }
    }
    for (rows, depth, blocks) in [(32, 2, 2), (16, 2, 4), (4, 2, 16), (32, 4, 1), (16, 8, 1)] {
        all.push(product(rows, depth, blocks, [N::Bf16, N::Bf16, N::F32], MatrixSum::Tree { width: 2 }));
    }
    for (rows, depth, blocks) in [(32, 1, 2), (16, 1, 4), (4, 1, 16), (32, 2, 1), (16, 4, 1)] {
        all.push(product(rows, depth, blocks, [N::F32; 3], MatrixSum::Chain));
    }
    for (rows, depth) in [(16, 8), (32, 4)] {
        let sum = MatrixSum::Truncated { group: 4, product_bits: 24, sum_bits: 31, halves: false };
        all.push(product(rows, depth, 1, [N::Xf32, N::Xf32, N::F32], sum));
        all.push(product(rows, depth, 1, [N::Xf32, N::Xf32, N::F32], MatrixSum::Chain));
    }
    for (rows, depth, blocks) in [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 16, 1), (16, 64, 1), (32, 32, 1)] {
        all.push(product(rows, depth, blocks, [N::I8, N::I8, N::I32], MatrixSum::Wrap));
    }
    all.push(product(16, 4, 1, [N::F64; 3], MatrixSum::Chain));
    all.push(MatrixOp { negate: 5, ..product(4, 4, 4, [N::F64; 3], MatrixSum::Chain) });
    let small = [N::Fp8, N::Bf8, N::Fp8Fnuz, N::Bf8Fnuz];
    for (a, b) in small.into_iter().flat_map(|a| small.map(|b| (a, b))) {
        all.push(product(16, 32, 1, [a, b, N::F32], HALVES));
        all.push(product(32, 16, 1, [a, b, N::F32], MatrixSum::Chain));
    }
    let small = [N::Fp8, N::Bf8, N::Fp6, N::Bf6, N::Fp4];
    for (a, b) in small.into_iter().flat_map(|a| small.map(|b| (a, b))) {
        for (rows, depth) in [(16, 128), (32, 64)] {
            let op = product(rows, depth, 1, [a, b, N::F32], HALVES);
            all.push(op);
            all.push(MatrixOp { scales: Some([2, 1]), ..op });
            all.push(MatrixOp { scales: Some([0, 3]), sum: MatrixSum::Chain, ..op });
        }
    }
    let sparse = [
        (16, 32, 3, N::F16, TRUNCATED),
        (32, 32, 1, N::Bf16, TRUNCATED),
        (16, 64, 1, N::F16, MatrixSum::Chain),
        (32, 32, 0, N::Fp8Fnuz, HALVES),
        (16, 128, 0, N::Bf8, HALVES),
    ];
    for (rows, depth, set, format, sum) in sparse {
        all.push(MatrixOp { sparse: Some(set), ..product(rows, depth, 1, [format, format, N::F32], sum) });
    }
    for (rows, depth) in [(16, 64), (32, 32), (16, 128), (32, 64)] {
        let wraps = product(rows, depth, 1, [N::I8, N::I8, N::I32], MatrixSum::Wrap);
        all.push(MatrixOp { sparse: Some(0), ..wraps });
    }
    all
}

fn check(random: &mut SplitMix64, op: MatrixOp, numbers: Numbers, env: FpEnv) {
    assert!(op.is_defined(), "{op}");
    let scalar_addend = random.one_in(6);
    let count = |matrix| op.cells(matrix);
    let addends = if numbers == Numbers::NearOne { Numbers::Spread(3) } else { numbers };
    let sources = [
        (A, cells(random, op.a, count(MatrixOperand::A), numbers)),
        (B, cells(random, op.b, count(MatrixOperand::B), numbers)),
        (C, cells(random, op.c, count(MatrixOperand::C), addends)),
        (EXTRA, vec![scales(random)]),
        (SCALES, vec![scales(random)]),
    ];
    let rows = sources
        .iter()
        .flat_map(|(first, rows)| rows.iter().enumerate().map(move |(n, row)| (Row(first + n as u16), *row)));
    let setup = Setup { rows: rows.collect(), ..Setup::one_wave(random.next_u64()) };
    let (has_extra, has_scales) = (op.sparse.is_some() || op.scales.is_some(), op.scales.is_some());
    let some = |is_there: bool, row| if is_there { Row(row).into() } else { Operand::None };
    let one = if op.c == N::F64 { 0x3ff0_0000_0000_0000 } else { 0x3f80_0000 };
    // The result may lie on a factor.
    let result = if random.one_in(4) { B } else { D };
    let inst = Inst {
        op: Op::Matrix(op),
        dst: [Row(result).into(), Operand::None],
        src: [
            Row(A).into(),
            Row(B).into(),
            if scalar_addend { Operand::Const(one) } else { Row(C).into() },
            some(has_extra, EXTRA),
            some(has_scales, SCALES),
        ],
        attrs: Attrs { fp: env, ..Attrs::default() },
        mask: LaneMask::All,
        guest: 0,
    };
    let results = runners().into_iter().map(|runner| {
        let after = registers_after(&[inst], &setup, &GuestMemory::default(), runner);
        let cells = count(MatrixOperand::C) as usize;
        (runner, after.rows[0][usize::from(result)..][..cells].to_vec())
    });
    let results: Vec<_> = results.collect();
    let (_, expected) = results.last().expect("the reference engine is the last one");
    for (runner, found) in &results {
        for (cell, (found, expected)) in found.iter().zip(expected).enumerate() {
            for lane in 0..64 {
                assert_eq!(
                    found[lane], expected[lane],
                    "{runner}, {inst}, {numbers:?}, cell {cell}, lane {lane}: {:#010x} and {:#010x}",
                    found[lane], expected[lane]
                );
            }
        }
    }
}

#[test]
fn tiers_agree_with_the_reference() {
    let mut random = SplitMix64::new(16);
    let rounds = if std::env::var("WAVEMILL_TESTS").as_deref() == Ok("all") { 20 } else { 1 };
    for _ in 0..rounds {
        for op in products() {
            let numbers = NUMBERS[random.index(NUMBERS.len())];
            // Half of the numbers are such that the vector hardware takes them.
            let numbers = if random.one_in(2) { Numbers::NearOne } else { numbers };
            let env = FpEnv { denorm_in: !random.one_in(4), fp16_ovfl: random.one_in(5), ..FpEnv::DEFAULT };
            check(&mut random, op, numbers, env);
        }
    }
}

#[test]
fn lanes_and_blocks_are_shared() {
    let mut random = SplitMix64::new(17);
    let lanes = [
        MatrixLanes::Half(0),
        MatrixLanes::Half(1),
        MatrixLanes::Rotate16,
        MatrixLanes::Quarter(0),
        MatrixLanes::Quarter(3),
    ];
    for (rows, depth, blocks) in [(32, 4, 2), (16, 4, 4), (4, 4, 16), (32, 8, 1), (16, 16, 1)] {
        for lanes in lanes {
            for broadcast in 0..=4 {
                let shared = random.below(1 << broadcast) as u8;
                let op = product(rows, depth, blocks, [N::F16, N::F16, N::F32], TRUNCATED);
                let op = MatrixOp { lanes, broadcast, shared, ..op };
                if op.is_defined() {
                    check(&mut random, op, Numbers::NearOne, FpEnv::DEFAULT);
                }
            }
        }
    }
}
