//! Every integer operation as machine code, with all selections of parts, on edge values.

use std::sync::Arc;

use wavemill_ir::{
    Attrs, Block, CmpPred, CvtOp, DstUnused, FloatOp, FloatType, Inst, IntOp, IntType, LaneMask, Op, Operand,
    Row, ScalarOp, SubDword, Terminator, Uni, Value, Width, verify,
};
use wavemill_machine::{CellPair, RegisterCounts};
use wavemill_oracle::SplitMix64;

use crate::common::{Bench, bits};
use crate::machine_code::shrink;
use crate::programs::programs;

const ROWS: u16 = 16;
const CELLS: u16 = 24;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: CELLS,
    absent: (Uni(CELLS), Uni(CELLS)),
    private_base: CellPair::new(Uni(CELLS - 2)),
    rows: [ROWS, 0],
};
/// Operations of a program.
const OPERATIONS: u32 = 8;
const PARTS: [SubDword; 7] = [
    SubDword::Dword,
    SubDword::Byte0,
    SubDword::Byte1,
    SubDword::Byte2,
    SubDword::Byte3,
    SubDword::Word0,
    SubDword::Word1,
];

/// A number near the ends of its type, or of bytes and words near the ends of theirs, or any.
fn value(random: &mut SplitMix64) -> u32 {
    let bytes = |random: &mut SplitMix64, edges: &[u8]| {
        u32::from_le_bytes(std::array::from_fn(|_| random.pick(edges)))
    };
    match random.below(6) {
        0 => bytes(random, &[0, 1, 0x7f, 0x80, 0xff]),
        1 => bytes(random, &[0, 0, 0, 0xff]),
        // Selectors of bytes.
        2 => bytes(random, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13]),
        3 => random.pick(&[
            0,
            1,
            15,
            16,
            31,
            32,
            33,
            63,
            64,
            0x7fff_ffff,
            0x8000_0000,
            !0,
            0x80_0000,
            0x4f00_0000,
        ]),
        _ => bits(random),
    }
}

fn operand(random: &mut SplitMix64, kind: Value) -> Operand {
    let dwords = kind.dwords();
    let cell = Operand::Uni(Uni(random.below(u64::from(CELLS - 2 - dwords)) as u16));
    match (kind, random.below(8)) {
        (Value::None, _) => Operand::None,
        (Value::Mask, _) => cell,
        (_, 0) if dwords <= 2 => cell,
        (_, 1 | 2) if dwords == 1 => Operand::Const(value(random).into()),
        (_, 1) if dwords == 2 => Operand::Const(u64::from(value(random)) << 32 | u64::from(value(random))),
        _ => Operand::Row(Row(random.below(u64::from(ROWS - dwords)) as u16)),
    }
}

fn operation(random: &mut SplitMix64, op: Op, guest: u32) -> Inst {
    let signature = op.signature();
    let mut attrs = Attrs::default();
    if let Op::Int(IntOp::BitOp3) = op {
        attrs.imm = random.below(256) as i32;
    }
    let is_pair = signature.sources.contains(&Value::Pair);
    let select = random.one_in(2);
    for (mods, kind) in attrs.src.iter_mut().zip(signature.sources) {
        if is_pair || op.is_packed() {
            mods.sel = random.pick(&[SubDword::Dword, SubDword::Word0, SubDword::Word1]);
            mods.hi_sel = !random.one_in(3);
        } else if select && kind.dwords() == 1 && !random.one_in(3) {
            mods.sel = random.pick(&PARTS);
            mods.sext = random.one_in(2);
        }
    }
    if signature.results[0].dwords() == 1 && !op.is_packed() && random.one_in(2) {
        attrs.dst_sel = random.pick(&PARTS);
        if attrs.dst_sel != SubDword::Dword {
            attrs.dst_unused = random.pick(&[DstUnused::Pad, DstUnused::Sext, DstUnused::Preserve]);
        }
    }
    let result = |random: &mut SplitMix64, kind: Value| match kind {
        Value::None => Operand::None,
        // Now and then, the lanes that are active afterwards.
        Value::Mask if random.one_in(12) => Operand::Uni(Uni::ACTIVE),
        Value::Mask => Operand::Uni(Uni(2 * random.below(8) as u16)),
        _ => Operand::Row(Row(random.below(u64::from(ROWS - kind.dwords())) as u16)),
    };
    let dst = signature.results.map(|kind| result(random, kind));
    let mut src = [Operand::None; Inst::SOURCES];
    for (src, kind) in src.iter_mut().zip(signature.sources) {
        *src = operand(random, kind);
    }
    if op == Op::Int(IntOp::Perm) && random.one_in(2) {
        // Selectors without signs.
        let selectors = std::array::from_fn(|_| random.pick(&[0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 0xff]));
        src[2] = Operand::Const(u32::from_le_bytes(selectors).into());
        attrs.src = Default::default();
    }
    let mask = if random.one_in(8) { LaneMask::All } else { LaneMask::Active };
    Inst { op, dst, src, attrs, mask, guest }
}

/// An operation on cells. Results overlap sources now and then.
fn scalar_operation(random: &mut SplitMix64, op: Op, guest: u32) -> Inst {
    let signature = op.signature();
    loop {
        let cell = |random: &mut SplitMix64, dwords: u16| {
            Operand::Uni(Uni(random.below(u64::from(CELLS - 2 - dwords)) as u16))
        };
        let dst = signature.results.map(|kind| match kind.dwords() {
            0 => Operand::None,
            n => cell(random, n),
        });
        let mut src = [Operand::None; Inst::SOURCES];
        for (src, kind) in src.iter_mut().zip(signature.sources) {
            *src = match (kind.dwords(), random.below(4)) {
                (0, _) => Operand::None,
                (1, 0) => Operand::Const(value(random).into()),
                (2, 0) => Operand::Const(u64::from(value(random)) << 32 | u64::from(value(random))),
                (n, _) => cell(random, n),
            };
        }
        let attrs = Attrs { imm: random.below(5) as i32, ..Attrs::default() };
        let inst = Inst { op, dst, src, attrs, mask: LaneMask::Active, guest };
        if inst.problem().is_none() {
            return inst;
        }
    }
}

/// A program of one operation, with different operands and selections.
fn bench(op: Op, seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed);
    let mut bench = Bench::new(COUNTS, !seed);
    bench.rows.iter_mut().for_each(|row| *row = std::array::from_fn(|_| value(&mut random)));
    bench.cells.iter_mut().for_each(|cell| *cell = value(&mut random));
    let make = match op {
        Op::Scalar(..) | Op::ScalarCmp(..) => scalar_operation,
        _ => operation,
    };
    let insts: Vec<Inst> = (0..OPERATIONS).map(|guest| make(&mut random, op, guest)).collect();
    for inst in &insts {
        // Wide numbers that are equal, or have equal halves.
        if let (Op::IntCmp(_, IntType::I64 | IntType::U64), [Operand::Row(row), Operand::Const(value), ..]) =
            (op, inst.src)
        {
            for (n, half) in [value as u32, (value >> 32) as u32].into_iter().enumerate() {
                let row = &mut bench.rows[usize::from(row.0) + n];
                row.iter_mut().filter(|_| random.one_in(2)).for_each(|lane| *lane = half);
            }
        }
    }
    let (start, next) = (0x1000, 0x1800);
    let guest = (0..u64::from(OPERATIONS)).map(|n| start + 4 * n).collect();
    let covered = start..next;
    let terminator = Terminator::Jump(0xf000);
    let block = Block { start, next, ranges: vec![covered], insts, guest, terminator };
    verify(&block).expect("operations are well formed");
    bench.block = Arc::new(block);
    bench
}

fn same_as_interpreter(ops: &[Op], seeds: u64) {
    let mut failed = Vec::new();
    for (n, op) in (0..).zip(ops) {
        for seed in 0..seeds {
            let mut bench = bench(*op, seed << 16 | n);
            let first = (seed % 7) as usize;
            if let Err(difference) = bench.compare_machine_code(first) {
                failed.push(format!("{op:?}, {seed}: {}", shrink(&mut bench, first, difference, 0)));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{} operations differ:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn integer_operations_are_the_same_as_machine_code() {
    let ops: Vec<Op> = IntOp::ALL.iter().map(|op| Op::Int(*op)).collect();
    same_as_interpreter(&ops, programs() / 300);
}

#[test]
fn comparisons_and_parts_of_results_are_the_same_as_machine_code() {
    let mut ops = Vec::new();
    for ty in [IntType::I16, IntType::U16, IntType::I32, IntType::U32, IntType::I64, IntType::U64] {
        ops.extend([CmpPred::Lt, CmpPred::Eq, CmpPred::Ge].map(|pred| Op::IntCmp(pred, ty)));
    }
    ops.extend([IntType::I32, IntType::U32].map(|ty| Op::IntSelect(CmpPred::Gt, ty)));
    ops.extend(CvtOp::ALL.iter().map(|op| Op::Cvt(*op)));
    for ty in [FloatType::F16, FloatType::F32] {
        let floats = [FloatOp::Add, FloatOp::Mul, FloatOp::Fma, FloatOp::Max, FloatOp::Rcp, FloatOp::Floor];
        ops.extend(floats.map(|op| Op::Float(op, ty)));
    }
    same_as_interpreter(&ops, programs() / 600);
}

#[test]
fn operations_on_cells_are_the_same_as_machine_code() {
    let mut ops = Vec::new();
    for width in [Width::W32, Width::W64] {
        ops.extend(ScalarOp::ALL.iter().map(|op| Op::Scalar(*op, width)).filter(|op| op.is_defined()));
    }
    for ty in [IntType::I32, IntType::U32, IntType::U64] {
        ops.extend(CmpPred::INT.map(|pred| Op::ScalarCmp(pred, ty)));
    }
    same_as_interpreter(&ops, programs() / 300);
}
