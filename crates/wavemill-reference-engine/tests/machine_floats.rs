//! Float operations as machine code, on numbers at the limits of what inline code computes.
//!
//! Inline code leaves an operation to its handler if a single lane is not for it. So most programs have numbers of one kind
//! in all lanes: a lane that inline code should have left is seen only there.

use std::sync::Arc;

use wavemill_float::EXP2_TOO_CLOSE;
use wavemill_ir::{
    Attrs, Block, CmpPred, FloatOp, FloatType, FpEnv, Inst, LANES, LaneMask, Op, Operand, Round, Row,
    SrcMods, SubDword, Terminator, Uni, Value, verify,
};
use wavemill_machine::{CellPair, RegisterCounts};
use wavemill_oracle::SplitMix64;

use crate::common::{Bench, Who};
use crate::machine_code::shrink;
use crate::programs::programs;

/// Rows with sources: three of two dwords. Results are behind them.
const SOURCES: u16 = 6;
const ROWS: u16 = 24;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: 40,
    absent: (Uni(40), Uni(40)),
    private_base: CellPair::new(Uni(38)),
    rows: [ROWS, 0],
};
/// Cells with the same sources, and with the mask of lanes whose quotient is scaled.
const CELLS: Uni = Uni(0);
const SCALED: Uni = Uni(8);
/// First cell with results.
const RESULTS: u16 = 10;
/// Failures that are shown.
const SHOWN: usize = 3;

/// Numbers of a program.
struct Numbers {
    /// They are f64.
    wide: bool,
    /// The exponent fields of the sources.
    exponents: [i32; 3],
    /// How far the exponents of lanes are from those.
    spread: u64,
    /// One lane in so many is any number.
    odd: u64,
    /// All are powers of two.
    powers: bool,
    /// None is negative: others have no root.
    positive: bool,
}

impl Numbers {
    fn new(random: &mut SplitMix64) -> Numbers {
        let wide = random.one_in(2);
        // Exponents with a limit close to them, and how far those of a quotient's operands are apart.
        let (limits, apart, ones): (&[i32], &[i32], i32) = if wide {
            (
                &[0, 1, 52, 53, 54, 55, 1022, 1023, 1024, 1400, 2043, 2044, 2045, 2046, 2047],
                &[767, 1075],
                2047,
            )
        } else {
            (&[0, 1, 22, 23, 24, 25, 64, 126, 127, 128, 190, 251, 252, 253, 254, 255], &[95, 149], 255)
        };
        let mut exponents = [0; 3].map(|_| match random.below(3) {
            0 => random.pick(limits),
            1 => random.below(ones as u64 + 1) as i32,
            _ => ones / 2 - 8 + random.below(16) as i32,
        });
        if random.one_in(2) {
            let distance = random.pick(apart) + random.below(4) as i32 - 1;
            let sign = random.pick(&[1, -1]);
            let [_, denominator, numerator] = &mut exponents;
            *numerator = (*denominator + sign * distance).clamp(0, ones);
            // Denormals and infinities have other rules.
            *denominator = (*denominator).clamp(1, ones - 1);
        }
        let mut numbers = Numbers {
            wide,
            exponents,
            spread: random.pick(&[1, 1, 2, 16]),
            odd: random.pick(&[u64::MAX, u64::MAX, u64::MAX, 40, 4]),
            powers: false,
            positive: random.one_in(4),
        };
        if random.one_in(4) {
            // A sum with a product of its size, or with a small one, as in a step of a division. Powers cancel out.
            numbers.powers = random.one_in(2);
            let [x, y, z] = &mut numbers.exponents;
            let below = if numbers.powers { 0 } else { random.below(ones as u64 / 4) as i32 - 2 };
            *y = *z - (*x - ones / 2) - below;
            if !(1..ones).contains(y) {
                (*x, *y) = (ones / 2, (*z - below).clamp(1, ones - 1));
            }
        }
        numbers
    }

    /// A number for source `i`. An f32 is in the low dword.
    fn number(&self, i: usize, random: &mut SplitMix64) -> u64 {
        let ones = if self.wide { 2047 } else { 255 };
        let fraction_bits = if self.wide { 52 } else { 23 };
        let is_odd = self.odd != u64::MAX && random.one_in(self.odd);
        let exponent = if is_odd {
            random.pick(&[0, 1, ones - 1, ones])
        } else {
            (self.exponents[i] + random.below(self.spread) as i32).clamp(0, ones)
        };
        let fraction = match random.below(8) {
            _ if self.powers => 0,
            0 => 0,
            1 => 1,
            2 => !0,
            3 => 1 << (fraction_bits - 1),
            _ => random.next_u64(),
        };
        let fraction = fraction & ((1 << fraction_bits) - 1);
        let sign = random.next_u64() & u64::from(!self.positive);
        let number = fraction | (exponent as u64) << fraction_bits;
        if self.wide { number | sign << 63 } else { number | sign << 31 }
    }
}

fn operation(random: &mut SplitMix64, wide: bool) -> Op {
    let ty = if wide { FloatType::F64 } else { FloatType::F32 };
    let small = if wide {
        FloatType::F64
    } else {
        random.pick(&[FloatType::F32, FloatType::F32, FloatType::PkF32, FloatType::F16, FloatType::PkF16])
    };
    match random.below(24) {
        0..3 => Op::Float(FloatOp::DivScale, ty),
        3 | 4 => Op::Float(FloatOp::DivFmas, ty),
        5..8 => Op::Float(FloatOp::DivFixup, ty),
        8 => Op::Float(FloatOp::Rcp, ty),
        9 => Op::Float(FloatOp::Sqrt, ty),
        10 => Op::Float(FloatOp::Rsq, ty),
        11 => Op::Float(FloatOp::Exp2, FloatType::F32),
        12 | 13 => Op::Float(FloatOp::Ldexp, ty),
        14 => Op::Float(FloatOp::FrexpMant, ty),
        15 => Op::Float(FloatOp::FrexpExp, ty),
        16 | 17 => Op::FloatCmp(random.pick(&CmpPred::FLOAT), ty),
        18 => Op::FloatClass(ty),
        19 => Op::Float(random.pick(&[FloatOp::Floor, FloatOp::Trunc, FloatOp::Min, FloatOp::Max]), ty),
        _ => Op::Float(random.pick(&[FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Fma]), small),
    }
}

/// The mode: mostly the one of compilers, or the one that flushes denormals.
fn mode(random: &mut SplitMix64) -> FpEnv {
    let (denorm_in, denorm_out) =
        random.pick(&[(true, true), (true, true), (false, false), (true, false), (false, true)]);
    let round = match random.below(3) {
        0 => random.pick(&[Round::PlusInf, Round::MinusInf, Round::Zero]),
        _ => Round::NearestEven,
    };
    FpEnv { round, denorm_in, denorm_out, ..FpEnv::default() }
}

/// Source `i`: the row with its numbers, or mostly so.
fn source(random: &mut SplitMix64, numbers: &Numbers, i: usize, value: Value) -> Operand {
    let dwords = value.dwords();
    let is_exponent = value.float_type().is_none();
    match random.below(10) {
        _ if value == Value::None => Operand::None,
        _ if value == Value::Mask => SCALED.into(),
        0 if is_exponent => Operand::Const((random.below(80) as i32 - 40) as u32 as u64),
        0 => Operand::Const(numbers.number(i, random)),
        1 => Operand::Uni(CELLS.plus(2 * i as u16 + u16::from(dwords == 1))),
        // The last dword, unless it is a number of both.
        _ => Operand::Row(Row(2 * i as u16 + u16::from(dwords == 1))),
    }
}

fn instruction(random: &mut SplitMix64, numbers: &Numbers, guest: u32) -> Option<Inst> {
    let op = operation(random, numbers.wide);
    let signature = op.signature();
    let result = |value: Value| match value {
        Value::None => Operand::None,
        Value::Mask => Operand::Uni(Uni(RESULTS + 2 * (guest as u16 % 10))),
        _ => Operand::Row(Row(SOURCES + 2 * (guest as u16 % ((ROWS - SOURCES) / 2)))),
    };
    let mut inst = Inst {
        op,
        dst: signature.results.map(result),
        src: [Operand::None; Inst::SOURCES],
        attrs: Attrs { fp: mode(random), ..Attrs::default() },
        mask: if random.one_in(6) { LaneMask::All } else { LaneMask::Active },
        guest,
    };
    for n in 0..4 {
        inst.src[n] = source(random, numbers, n.min(2), signature.sources[n]);
        // Results of operations before.
        if let Operand::Row(_) = inst.src[n]
            && random.one_in(8)
        {
            inst.src[n] = Operand::Row(Row(SOURCES + 2 * random.below(9) as u16));
        }
    }
    match op {
        Op::Float(FloatOp::DivScale, _) if !random.one_in(8) => {
            inst.src[0] = inst.src[1 + random.below(2) as usize];
        }
        Op::FloatClass(_) if !random.one_in(4) => {
            let classes = random.pick(&[0x3, 0x207, 0x60, 0x260, 0x90, 0x1f8, 0x108, 0x3ff, 0x10, 0x204]);
            inst.src[1] = Operand::Const(if random.one_in(2) { classes } else { random.below(1024) });
        }
        _ => {}
    }
    let is_packed = op.is_packed();
    if random.one_in(3) && !matches!(op, Op::FloatClass(_)) {
        for (mods, value) in inst.attrs.src.iter_mut().zip(signature.sources) {
            if value.float_type().is_some() {
                let abs = !is_packed && random.one_in(3);
                *mods = SrcMods { neg: random.one_in(2), abs, ..SrcMods::default() };
                if is_packed || value.float_type() == Some(FloatType::PkF32) {
                    mods.abs = false;
                    mods.neg_hi = random.one_in(2);
                    mods.sel = random.pick(&[SubDword::Dword, SubDword::Word1]);
                    mods.hi_sel = random.one_in(2);
                }
            }
        }
    }
    inst.problem().is_none().then_some(inst)
}

/// A block of instructions with one operation each.
fn block(insts: Vec<Inst>) -> Arc<Block> {
    let guest = (0..insts.len() as u64).map(|n| 0x1000 + 4 * n).collect();
    let covered = 0x1000..0x1800;
    let block = Block {
        start: covered.start,
        next: covered.end,
        ranges: vec![covered],
        insts,
        guest,
        terminator: Terminator::Jump(0xf000),
    };
    verify(&block).expect("operations are well formed");
    Arc::new(block)
}

fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed);
    let mut bench = Bench::new(COUNTS, !seed);
    let numbers = Numbers::new(&mut random);
    for i in 0..3 {
        let cell = numbers.number(i, &mut random);
        let halves = |number: u64| {
            if numbers.wide {
                [number as u32, (number >> 32) as u32]
            } else {
                [!number as u32, number as u32]
            }
        };
        let at = 2 * i;
        bench.cells[at..at + 2].copy_from_slice(&halves(cell));
        for lane in 0..LANES {
            let [low, high] = halves(numbers.number(i, &mut random));
            (bench.rows[at][lane], bench.rows[at + 1][lane]) = (low, high);
        }
    }
    // Exponents of `Ldexp`, instead of half of the second source.
    if random.one_in(2) {
        let most = random.pick(&[4, 100, 300, 3000, 1 << 31]);
        for lane in 0..LANES {
            bench.rows[3][lane] = (random.below(2 * most) as i64 - most as i64) as u32;
        }
    }
    let scaled = if random.one_in(4) { random.next_u64() } else { 0 };
    bench.cells[usize::from(SCALED.0)] = scaled as u32;
    bench.cells[usize::from(SCALED.0) + 1] = (scaled >> 32) as u32;
    let guests = 10;
    let insts: Vec<Inst> = (0..guests)
        .map(|guest| {
            (0..)
                .find_map(|_: u32| instruction(&mut random, &numbers, guest))
                .expect("an operation that is well formed")
        })
        .collect();
    bench.block = block(insts);
    bench.budget = 100;
    bench
}

#[test]
fn floats_are_the_same_as_machine_code() {
    let mut failed = Vec::new();
    for seed in 0..programs() {
        let mut bench = bench(seed);
        let first = (seed % 7) as usize;
        if let Err(difference) = bench.compare_machine_code(first) {
            let shown = failed.len() < SHOWN;
            let difference = if shown { shrink(&mut bench, first, difference, 0) } else { difference };
            failed.push(format!("program {seed}: {difference}"));
        }
    }
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(SHOWN)].join("\n"));
}

/// A program of one operation in each rounding mode, with the same sources in all lanes. Quotients are scaled.
fn same_in_all_lanes(op: FloatOp, ty: FloatType, sources: &[u64]) -> Bench {
    let op = Op::Float(op, ty);
    let mut bench = Bench::new(COUNTS, 0);
    bench.active = !0;
    for (i, source) in sources.iter().enumerate() {
        bench.rows[2 * i] = [*source as u32; LANES];
        bench.rows[2 * i + 1] = [(source >> 32) as u32; LANES];
    }
    bench.cells[usize::from(SCALED.0)..][..2].fill(!0);
    let operand = |(i, value): (usize, &Value)| match value {
        Value::None => Operand::None,
        Value::Mask => SCALED.into(),
        _ => Operand::Row(Row(2 * i as u16)),
    };
    let rounds = [Round::NearestEven, Round::PlusInf, Round::MinusInf, Round::Zero];
    let insts = (0..).zip(rounds).map(|(guest, round)| {
        let mut src = [Operand::None; Inst::SOURCES];
        for (src, operand) in src.iter_mut().zip(op.signature().sources.iter().enumerate().map(operand)) {
            *src = operand;
        }
        let attrs = Attrs { fp: FpEnv { round, ..FpEnv::default() }, ..Attrs::default() };
        let dst = [Row(SOURCES + 2 * guest as u16).into(), Operand::None];
        Inst { op, dst, src, attrs, mask: LaneMask::Active, guest }
    });
    bench.block = block(insts.collect());
    bench.budget = 100;
    bench
}

/// What the reference engine, the interpreter and machine code make of it is the same.
fn same_everywhere(bench: &Bench) -> Result<String, String> {
    match bench.run(Who::Reference).difference(&bench.run(Who::Interpreter)) {
        Some(difference) => Err(format!("reference engine and interpreter: {difference}")),
        None => bench.compare_machine_code(0),
    }
}

/// In modes that round towards zero, sums beyond the limit become the greatest number, but not before they are scaled.
#[test]
fn sums_beyond_the_limit_are_scaled_back() {
    let greatest = f64::MAX;
    for x in [2f64.powi(600), -2f64.powi(600) * 1.3, greatest] {
        for y in [2f64.powi(423), 2f64.powi(424) * 1.7, 2f64.powi(500), 2f64.powi(560), greatest] {
            for sum in [1.5, 3.0, -2f64.powi(-40), 2f64.powi(1000)] {
                let bench =
                    same_in_all_lanes(FloatOp::DivFmas, FloatType::F64, &[x, y, sum].map(f64::to_bits));
                bench
                    .compare_machine_code(0)
                    .unwrap_or_else(|difference| panic!("{x:e}, {y:e}, {sum:e}: {difference}"));
            }
        }
    }
}

/// The reciprocal roots of `1 - 2 k / 2^53` are `3 k^2 / 2^107` above the middle of two neighbours: the correction of an
/// estimate may be off by more.
#[test]
fn reciprocal_roots_close_to_the_middle_of_neighbours() {
    for k in (1..40).step_by(2) {
        let x = 1.0 - 2.0 * f64::from(k) / 2f64.powi(53);
        for scale in [0, 4, -600] {
            let bench = same_in_all_lanes(FloatOp::Rsq, FloatType::F64, &[(x * 2f64.powi(scale)).to_bits()]);
            same_everywhere(&bench).unwrap_or_else(|difference| panic!("{k}, {scale}: {difference}"));
        }
    }
}

/// Of powers of two, the results of two sources are next to the middle of two neighbours.
#[test]
fn powers_close_to_the_middle_of_neighbours() {
    for close in EXP2_TOO_CLOSE {
        for source in [close - 1, close, close + 1] {
            let bench = same_in_all_lanes(FloatOp::Exp2, FloatType::F32, &[source.into()]);
            same_everywhere(&bench).unwrap_or_else(|difference| panic!("{source:#x}: {difference}"));
        }
    }
}
