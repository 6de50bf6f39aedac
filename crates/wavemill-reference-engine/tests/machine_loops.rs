//! Random loops of operations with machine code, and of nothing else: such loops keep rows in
//! registers from block to block.

use std::sync::Arc;

use wavemill_ir::{
    Attrs, Block, CmpPred, Cond, CvtOp, FloatOp, FloatType, Inst, IntOp, IntType, LaneMask, MemType, Op,
    Operand, Round, Row, ScalarOp, Space, SrcMods, SubDword, Terminator, Uni, Value, Width, verify,
};
use wavemill_machine::{CellPair, RegisterCounts};
use wavemill_oracle::SplitMix64;

use crate::common::Bench;
use crate::machine_code::shrink;
use crate::programs::programs;

const ROWS: u16 = 20;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: 40,
    absent: (Uni(40), Uni(40)),
    private_base: CellPair::new(Uni(38)),
    rows: [ROWS, 0],
};
/// The address of the buffer.
const BASE: Uni = Uni(0);
/// Masks of lanes that become the active ones.
const MASKS: Uni = Uni(2);
/// Results of comparisons, and carries.
pub(crate) const RESULTS: Uni = Uni(8);
/// Iterations that are left, which every block counts.
pub(crate) const LEFT: Uni = Uni(14);
const FLAG: Uni = Uni(15);
/// Cells with values.
pub(crate) const VALUES: Uni = Uni(16);
/// Rows with offsets in the buffer and in LDS, and with an offset in private memory.
const OFFSETS: Row = Row(0);
const PRIVATE: Row = Row(2);
/// Temporaries, which get a value at the start of each block.
pub(crate) const TEMPS: u16 = 5;
/// First row with data.
pub(crate) const DATA: u16 = 3;

/// Floats at the ends of ranges. None is a NaN: handlers would compute a part of what is under test.
pub(crate) const SPECIAL: [u32; 20] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7e80_0000,
    0x7e80_0001,
    0x7f80_0000,
    0x4eff_ffff,
    0x4f00_0000,
    0xcf00_0000,
    0xcf00_0001,
    0x4f7f_ffff,
    0x4f80_0000,
];

fn row(random: &mut SplitMix64, dwords: u16, pressure: u16) -> Row {
    // Few rows in some programs, more than there are registers in others.
    match random.below(6) {
        0 => Row::temp(random.below(u64::from(TEMPS) - 1) as u16),
        _ => Row(DATA + random.below(u64::from(pressure - dwords + 1)) as u16),
    }
}

fn source(random: &mut SplitMix64, value: Value, pressure: u16) -> Operand {
    match value {
        Value::None => Operand::None,
        Value::Mask => RESULTS.plus(2 * random.below(3) as u16).into(),
        _ if random.one_in(6) => {
            let constant = random.pick(&[0, 1, 5, 31, 33, 0x3f80_0000, 0xffff_ffff, 0x4049_0fdb_0000_0001]);
            match random.one_in(2) {
                true => Operand::Const(if value.dwords() == 2 { constant } else { constant & 0xffff_ffff }),
                false => VALUES.plus(2 * random.below(4) as u16).into(),
            }
        }
        _ => row(random, value.dwords(), pressure).into(),
    }
}

fn operation(random: &mut SplitMix64) -> Op {
    use IntOp::*;
    let ints = [
        Mov,
        Mov64,
        Not,
        And,
        Or,
        Xor,
        Xnor,
        Add,
        Sub,
        AddCo,
        SubCo,
        AddCi,
        SubCi,
        MulLo,
        MulHiU,
        MulHiI,
        MulU24,
        MulI24,
        MadU32,
        MadU24,
        MadI24,
        MadU64U32,
        MinI,
        MaxI,
        MinU,
        MaxU,
        Min3I,
        Max3U,
        Shl,
        Shr,
        Sar,
        Shl64,
        Shr64,
        Sar64,
        ShlAdd64,
        ShlAdd,
        AddShl,
        ShlOr,
        Add3,
        AndOr,
        Or3,
        XorAdd,
        BfeU,
        BfeI,
        Bfi,
        BitOp3,
        LeadingZeros,
        Select,
        AlignBit,
        Perm,
    ];
    let preds = [CmpPred::Lt, CmpPred::Eq, CmpPred::Le, CmpPred::Gt, CmpPred::Lg, CmpPred::Ge];
    match random.below(12) {
        0..5 => Op::Int(random.pick(&ints)),
        5 => {
            let types = [IntType::I16, IntType::U16, IntType::I32, IntType::U32, IntType::I64, IntType::U64];
            Op::IntCmp(random.pick(&preds), random.pick(&types))
        }
        6 => Op::IntSelect(random.pick(&preds), random.pick(&[IntType::I32, IntType::U32])),
        7 | 8 => {
            let ops = [FloatOp::Add, FloatOp::Sub, FloatOp::Mul, FloatOp::Fma, FloatOp::Min, FloatOp::Max];
            Op::Float(random.pick(&ops), FloatType::F32)
        }
        9 => {
            let ops = [FloatOp::Add, FloatOp::Mul, FloatOp::Fma];
            Op::Float(random.pick(&ops), random.pick(&[FloatType::PkF32, FloatType::F64]))
        }
        10 => random.pick(&[
            Op::FloatCmp(CmpPred::Nge, FloatType::F32),
            Op::FloatCmp(CmpPred::Gt, FloatType::F32),
            Op::Float(FloatOp::Rcp, FloatType::F32),
            Op::Float(FloatOp::Sqrt, FloatType::F32),
        ]),
        _ => Op::Cvt(random.pick(&[CvtOp::F32U32, CvtOp::F32I32, CvtOp::U32F32, CvtOp::I32F32])),
    }
}

/// An operation on rows, of which so many have data.
pub(crate) fn computes(random: &mut SplitMix64, guest: u32, pressure: u16) -> Inst {
    let op = operation(random);
    let signature = op.signature();
    let dst = signature.results.map(|value| match value {
        Value::None => Operand::None,
        Value::Mask if random.one_in(20) => Uni::ACTIVE.into(),
        Value::Mask => RESULTS.plus(2 * random.below(3) as u16).into(),
        _ => row(random, value.dwords(), pressure).into(),
    });
    let mut src = [Operand::None; Inst::SOURCES];
    for (src, value) in src.iter_mut().zip(signature.sources) {
        *src = source(random, value, pressure);
    }
    let mut attrs = Attrs::default();
    match op {
        Op::Int(IntOp::BitOp3) => attrs.imm = random.below(256) as i32,
        // Field sizes and amounts are constants, and selectors are cells.
        Op::Int(IntOp::BfeU | IntOp::BfeI) => {
            src[1] = Operand::Const(random.below(16));
            src[2] = Operand::Const(1 + random.below(16));
        }
        Op::Int(IntOp::AlignBit) => src[2] = Operand::Const(random.below(32)),
        Op::Int(IntOp::ShlAdd64) => src[1] = Operand::Const(random.below(6)),
        Op::Int(IntOp::Perm) => src[2] = VALUES.plus(8).into(),
        Op::IntCmp(..) | Op::Int(IntOp::Add | IntOp::Xor | IntOp::MinI) if random.one_in(4) => {
            let wide = matches!(op, Op::IntCmp(_, IntType::I64 | IntType::U64));
            for mods in attrs.src[..2].iter_mut().filter(|_| !wide) {
                mods.sel = random.pick(&[SubDword::Byte1, SubDword::Word1, SubDword::Dword, SubDword::Word0]);
                mods.sext = random.one_in(2);
            }
        }
        Op::Float(_, FloatType::F32) | Op::FloatCmp(..) => {
            for mods in &mut attrs.src {
                *mods = SrcMods { neg: random.one_in(3), abs: random.one_in(4), ..SrcMods::default() };
            }
        }
        Op::Float(_, FloatType::F64) => attrs.src[1].neg = random.one_in(3),
        Op::Float(_, FloatType::PkF32) => {
            for mods in &mut attrs.src {
                mods.sel = random.pick(&[SubDword::Word0, SubDword::Word1]);
                (mods.hi_sel, mods.neg) = (random.one_in(2), random.one_in(3));
                mods.neg_hi = random.one_in(3);
            }
        }
        _ => {}
    }
    if random.one_in(12) {
        attrs.fp.denorm_in = random.one_in(2);
        attrs.fp.denorm_out = random.one_in(2);
        attrs.fp.round = random.pick(&[Round::NearestEven, Round::Zero, Round::PlusInf]);
    }
    let mask = if random.one_in(12) { LaneMask::All } else { LaneMask::Active };
    Inst { op, dst, src, attrs, mask, guest }
}

fn accesses(random: &mut SplitMix64, guest: u32, pressure: u16) -> Inst {
    let ty = random.pick(&[MemType::Dwords(1), MemType::Dwords(1), MemType::Dwords(2), MemType::U8]);
    let data = Operand::Row(Row(DATA + random.below(u64::from(pressure - 1)) as u16));
    let offset = Operand::Row(OFFSETS.plus(random.below(2) as u16));
    let (space, ty, address, base) = match random.below(3) {
        0 => (Space::Global, ty, offset, BASE.into()),
        1 => (Space::Lds, ty, offset, Operand::None),
        _ => (Space::Scratch, MemType::Dwords(random.pick(&[1, 2])), PRIVATE.into(), Operand::None),
    };
    let none = Operand::None;
    let (op, dst, src) = match random.one_in(2) {
        true => (Op::Load(space, ty), data, [address, base, none, none, none]),
        false => (Op::Store(space, ty), none, [address, base, data, none, none]),
    };
    Inst { op, dst: [dst, none], src, attrs: Attrs::default(), mask: LaneMask::Active, guest }
}

/// An operation on cells.
pub(crate) fn scalar(random: &mut SplitMix64, guest: u32) -> Inst {
    let cell = |random: &mut SplitMix64| VALUES.plus(random.below(8) as u16);
    let mask = |random: &mut SplitMix64| Operand::Uni(MASKS.plus(2 * random.below(6) as u16));
    let (op, dst, a, b, width) = match random.below(4) {
        0 => (ScalarOp::Mov, Uni::ACTIVE, mask(random), Operand::None, Width::W64),
        1 => (ScalarOp::And, MASKS, mask(random), Uni::ACTIVE.into(), Width::W64),
        _ => {
            let op = random.pick(&[ScalarOp::AddCarryOut, ScalarOp::Xor, ScalarOp::MaxI, ScalarOp::Shl]);
            (op, cell(random), cell(random).into(), cell(random).into(), Width::W32)
        }
    };
    let flag = if op == ScalarOp::Mov { Operand::None } else { FLAG.into() };
    let none = Operand::None;
    let (attrs, mask) = (Attrs::default(), LaneMask::Active);
    Inst {
        op: Op::Scalar(op, width),
        dst: [dst.into(), flag],
        src: [a, b, none, none, none],
        attrs,
        mask,
        guest,
    }
}

fn on_all_lanes(op: Op, dst: [Operand; 2], src: [Operand; 2], guest: u32) -> Inst {
    let [a, b] = src;
    let src = [a, b, Operand::None, Operand::None, Operand::None];
    Inst { op, dst, src, attrs: Attrs::default(), mask: LaneMask::All, guest }
}

/// The start of a block: temporaries get the values of the first rows with data.
pub(crate) fn start(pressure: u16) -> Vec<Inst> {
    let value = |n| {
        let from = Operand::Row(Row(DATA + n % pressure));
        let dst = [Row::temp(n).into(), Operand::None];
        on_all_lanes(Op::Int(IntOp::Mov), dst, [from, Operand::None], 0)
    };
    (0..TEMPS).map(value).collect()
}

/// One iteration less is left.
pub(crate) fn count_down(guest: u32) -> Inst {
    let count = Op::Scalar(ScalarOp::SubBorrowOut, Width::W32);
    on_all_lanes(count, [LEFT.into(), FLAG.into()], [LEFT.into(), Operand::Const(1)], guest)
}

fn block(random: &mut SplitMix64, n: u64, blocks: u64, pressure: u16, changes: bool) -> Block {
    let at = |n: u64| 0x1000 * (1 + n);
    let mut insts = start(pressure);
    let guests = 2 + random.below(14) as u32;
    while insts.len() < usize::from(TEMPS) + guests as usize {
        let guest = insts.len() as u32 - u32::from(TEMPS) + 1;
        let inst = match random.below(8) {
            0 => accesses(random, guest, pressure),
            1 => scalar(random, guest),
            _ => computes(random, guest, pressure),
        };
        let is_change = inst.writes().any(|cell| cell == Uni::ACTIVE.into());
        if inst.problem().is_none() && (changes || !is_change) {
            insts.push(inst);
        }
    }
    insts.push(count_down(guests + 1));
    let target = |random: &mut SplitMix64| at(random.below(blocks));
    let cond = random.pick(&[
        Cond::Zero(LEFT, Width::W32),
        Cond::NonZero(RESULTS, Width::W64),
        Cond::Zero(RESULTS.plus(2), Width::W64),
        Cond::NonZero(FLAG, Width::W32),
    ]);
    let terminator = match random.below(5) {
        0 => Terminator::Jump(target(random)),
        1 => Terminator::Branch { cond: Cond::Zero(LEFT, Width::W32), taken: 0xf000, next: target(random) },
        _ => Terminator::Branch { cond, taken: target(random), next: target(random) },
    };
    let (start, next) = (at(n), at(n) + 0x800);
    let guest = (0..=u64::from(guests) + 1).map(|n| start + 4 * n).collect();
    Block { start, next, ranges: std::iter::once(start..next).collect(), insts, guest, terminator }
}

pub(crate) fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed ^ 0x100b);
    let mut bench = Bench::new(COUNTS, !seed);
    let count = 1 + random.below(5);
    let pressure = random.pick(&[3, 4, 6, 9, ROWS - DATA]);
    let changes = random.one_in(2);
    let mut blocks = (0..count).map(|n| {
        let block = block(&mut random, n, count, pressure, changes);
        verify(&block).expect("operations are well formed");
        Arc::new(block)
    });
    bench.block = blocks.next().expect("a block");
    bench.more = blocks.collect();
    bench.budget = random.pick(&[30, 100, 400]);
    let mut put = |cell: Uni, value: u64| {
        bench.cells[usize::from(cell.0)] = value as u32;
        bench.cells[usize::from(cell.0) + 1] = (value >> 32) as u32;
    };
    put(BASE, bench.buffer + 64);
    for n in 0..3 {
        put(MASKS.plus(2 * n), random.pick(&[!0, !0, 0xffff, 1 << 40, 0]));
        let any = random.next_u64();
        put(RESULTS.plus(2 * n), any);
    }
    put(LEFT, 1 + random.below(8));
    put(VALUES, random.pick(&[0, 1, 5]));
    // Some with bytes that are constants or signs.
    put(VALUES.plus(8), random.pick(&[0x0307_0104, 0x0001_0203, 0x0c07_0104, 0x0307_0d04, 0x0900_0607]));
    let strides = random.pick(&[(4, 4), (4, 8), (0, 4), (12, 1), (4, 0)]);
    let odd = random.index(64);
    let special = random.one_in(3);
    for lane in 0..64 {
        let n = lane as u32;
        bench.rows[0][lane] = 16 + strides.0 * n;
        bench.rows[1][lane] = 8 + strides.1 * n;
        bench.rows[2][lane] = 8;
        // Mostly numbers, so that floats stay numbers.
        for row in &mut bench.rows[usize::from(DATA)..] {
            if !random.one_in(1500) {
                let small = if special && !random.one_in(4) {
                    random.pick(&SPECIAL)
                } else {
                    (random.below(2000) as f32 / 64.0 - 9.0).to_bits()
                };
                // Numbers that are equal to constants, and to each other.
                let small = if random.one_in(6) { random.pick(&[0, 1, 5]) } else { small };
                row[lane] = if random.one_in(5) { random.next_u64() as u32 & 0x3fff_ffff } else { small };
            }
        }
    }
    if random.one_in(4) {
        bench.rows[random.index(3)][odd] ^= 4;
    }
    bench
}

#[test]
fn random_loops_are_the_same_as_machine_code() {
    let mut failed = Vec::new();
    for seed in 0..programs() / 8 {
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
