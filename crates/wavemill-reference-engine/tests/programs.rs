//! Random programs of the IR, with all operations and attributes, handed over before every
//! operation.

use std::collections::BTreeSet;
use std::sync::Arc;

use wavemill_ir::{
    AtomicOp, Attrs, Block, BufferAddr, CellRange, CmpPred, Cond, CounterOp, CvtOp, DataFormat, DstUnused,
    FenceScope, FloatOp, FloatType, FormatCvt, FpEnv, Inst, IntOp, IntType, LaneControl, LaneMask, LaneOp,
    LanePattern, MatrixLanes, MatrixOp, MatrixSum, MemType, NumberFormat, Omod, Op, Operand, Round, Row,
    RowRange, ScalarOp, Space, SrcMods, Status, SubDword, Terminator, TexelAccess, TexelCells, TexelFormat,
    TexelNumber, Uni, Value, Width, verify,
};
use wavemill_machine::{CellPair, LDS_APERTURE, RegisterCounts, SCRATCH_APERTURE, Strict};
use wavemill_oracle::SplitMix64;

use crate::common::{BUFFER, Bench, bits};

/// Cells and rows that the wave has; programs also name some that it lacks.
const CELLS: u16 = 40;
const LACKING: Uni = Uni(36);
const ROWS: u16 = 24;
pub(crate) const COUNTS: RegisterCounts = RegisterCounts {
    cells: CELLS,
    absent: (LACKING, Uni(38)),
    private_base: CellPair::new(Uni(38)),
    rows: [ROWS, 6],
};
/// The pair of cells with the address of the buffer, followed by four with a resource for it.
const BASE: Uni = Uni(0);
const RESOURCE: Uni = Uni(4);
/// A cell with a small number, which is an offset or an index.
const SMALL: Uni = Uni(8);
/// Rows with addresses in the buffer, and with addresses in any memory; with small offsets.
pub(crate) const ADDRESS: Row = Row(0);
const ANYWHERE: Row = Row(2);
pub(crate) const OFFSET: Row = Row(4);
/// First row and cell that programs write.
const FREE_ROW: u16 = 5;
const FREE_CELL: u16 = 9;
/// The cell that collects exceptions.
const EXCEPTIONS: Uni = Uni(39);

const WIDTHS: [Width; 2] = [Width::W32, Width::W64];
const INT_TYPES: [IntType; 6] =
    [IntType::I16, IntType::U16, IntType::I32, IntType::U32, IntType::I64, IntType::U64];
const SPACES: [Space; 4] = [Space::Global, Space::Flat, Space::Lds, Space::Scratch];
const FORMATS: [NumberFormat; 10] = [
    NumberFormat::F16,
    NumberFormat::Bf16,
    NumberFormat::F32,
    NumberFormat::Fp8,
    NumberFormat::Bf8,
    NumberFormat::Fp8Fnuz,
    NumberFormat::Bf8Fnuz,
    NumberFormat::Fp6,
    NumberFormat::Bf6,
    NumberFormat::Fp4,
];

fn pattern(random: &mut SplitMix64) -> LanePattern {
    let by = random.below(17) as i8 - 8;
    let group = random.pick(&[4, 8, 16, 32, 64]);
    let small = |random: &mut SplitMix64| random.below(32) as u8;
    match random.below(9) {
        0 => LanePattern::Quad([0; 4].map(|_| random.below(4) as u8)),
        1 => LanePattern::Shift { group, by },
        2 => LanePattern::Rotate { group, by },
        3 => LanePattern::Mirror { group },
        4 => LanePattern::Broadcast { group, lane: small(random) },
        5 => LanePattern::LastOfPrevious { group },
        6 => LanePattern::Masked { and: small(random), or: small(random), xor: small(random) },
        7 => LanePattern::RotateMasked { keep: small(random), by },
        _ => LanePattern::BitReverse { keep: small(random) },
    }
}

fn float_type(random: &mut SplitMix64) -> FloatType {
    random.pick(&[FloatType::F16, FloatType::F32, FloatType::F64, FloatType::PkF16, FloatType::PkF32])
}

/// The rows that the indices of lanes can reach; the wave may have fewer.
const LANE_ROWS: RowRange = RowRange { first: Row(16), end: Row(ROWS + 2), stride: 2 };

/// The types that an operation is defined for; empty means all that have a reference.
fn types(op: FloatOp) -> &'static [FloatType] {
    use FloatOp::*;
    match op {
        CubeId | CubeSc | CubeTc | CubeMa | Dot2F16 | Dot2Bf16 | Dot2cBf16 | MulAddWide
        | MulAddWideLegacy | MulAddNarrow | MulAddNarrowLegacy => &[FloatType::F32],
        DivScale | DivFmas => &[FloatType::F32, FloatType::F64],
        FmaMix => &[FloatType::F32, FloatType::F16],
        Ldexp | FrexpExp => &[FloatType::F16, FloatType::F32, FloatType::F64],
        _ => &[],
    }
}

/// A product of small matrices, so that all of its rows exist now and then.
fn matrix(random: &mut SplitMix64) -> MatrixOp {
    let truncated = MatrixSum::Truncated { group: 8, product_bits: 24, sum_bits: 31, halves: false };
    let (rows, depth, blocks) = random.pick(&[(16, 16, 1), (4, 4, 16)]);
    let sum = random.pick(&[truncated, MatrixSum::Chain, MatrixSum::Tree { width: 4 }]);
    MatrixOp {
        rows,
        columns: rows,
        depth,
        blocks,
        a: NumberFormat::F16,
        b: random.pick(&[NumberFormat::F16, NumberFormat::Bf16]),
        c: NumberFormat::F32,
        sparse: None,
        scales: None,
        broadcast: 0,
        shared: 0,
        lanes: MatrixLanes::Own,
        negate: 0,
        sum,
    }
}

/// An access to texels of a format, or of the resource's format.
fn texels(random: &mut SplitMix64) -> TexelAccess {
    let data = random.pick(DataFormat::ALL);
    let format = TexelFormat::new(data, random.pick(TexelNumber::ALL));
    let cells = random.pick(&[TexelCells::Dwords, TexelCells::Halves, TexelCells::UpperHalf]);
    let count = if cells == TexelCells::UpperHalf { 1 } else { 1 + random.below(4) as u8 };
    TexelAccess { format, count, cells }
}

fn operation(random: &mut SplitMix64) -> Op {
    let width = random.pick(&WIDTHS);
    let addr = BufferAddr { offen: !random.one_in(3), idxen: random.one_in(3), plain: random.one_in(4) };
    let ty = random.pick(&MemType::ALL);
    let space = random.pick(&SPACES);
    let cells = CellRange { first: Uni(4), end: LACKING.plus(1) };
    match random.below(38) {
        0..3 => Op::Scalar(random.pick(ScalarOp::ALL), width),
        3 => Op::ScalarCmp(random.pick(&CmpPred::INT), random.pick(&INT_TYPES)),
        4..9 => Op::Int(random.pick(IntOp::ALL)),
        9 => Op::IntCmp(random.pick(&CmpPred::INT), random.pick(&INT_TYPES)),
        10..14 => {
            let (op, ty) = (random.pick(FloatOp::ALL), float_type(random));
            let types = types(op);
            Op::Float(op, if types.contains(&ty) || types.is_empty() { ty } else { random.pick(types) })
        }
        14 => {
            let pred = random.pick(&[CmpPred::Lt, CmpPred::Nge, CmpPred::Ordered, CmpPred::Neq]);
            Op::FloatCmp(pred, random.pick(&[FloatType::F16, FloatType::F32, FloatType::F64]))
        }
        15 if random.one_in(3) => {
            Op::IntSelect(random.pick(&CmpPred::INT), random.pick(&[IntType::I32, IntType::U32]))
        }
        15 if random.one_in(2) => {
            let pred =
                random.pick(&[CmpPred::Eq, CmpPred::Nge, CmpPred::Gt, CmpPred::Unordered, CmpPred::True]);
            Op::FloatSelect(pred, random.pick(&[FloatType::F32, FloatType::F64]))
        }
        15 => Op::FloatClass(random.pick(&[FloatType::F16, FloatType::F32, FloatType::F64])),
        16 => Op::Cvt(random.pick(CvtOp::ALL)),
        17 => Op::FormatCvt(FormatCvt {
            from: random.pick(&FORMATS),
            to: random.pick(&FORMATS),
            count: random.pick(&[1, 2, 8]),
            interleaved: random.one_in(3),
            stochastic: random.one_in(3),
        }),
        18 => Op::Lane(random.pick(LaneOp::ALL)),
        19 => Op::Swizzle(pattern(random)),
        20 => Op::Transpose(random.pick(&[4, 6, 8, 16])),
        21 => Op::ScalarLoad(random.pick(&[1, 2, 4, 8])),
        22 => Op::ScalarBufferLoad(random.pick(&[1, 2, 4, 8])),
        23 => Op::ScalarStore(random.pick(&[1, 2, 4])),
        24 | 25 => Op::Load(space, ty),
        26 => Op::Store(space, ty),
        27 => Op::Atomic(random.pick(AtomicOp::ALL), random.pick(&SPACES[..3]), width),
        28 | 29 if random.one_in(3) => {
            let texel = texels(random);
            let addr = BufferAddr { plain: addr.plain && texel.format.is_some(), ..addr };
            random.pick(&[Op::BufferLoadTexel(texel, addr), Op::BufferStoreTexel(texel, addr)])
        }
        28 => Op::BufferLoad(ty, addr),
        29 => Op::BufferStore(ty, addr),
        30 => Op::BufferAtomic(random.pick(AtomicOp::ALL), width, addr),
        31 => random.pick(&[
            Op::Counter(CounterOp::Append, Space::Lds),
            Op::Counter(CounterOp::Consume, Space::Lds),
            Op::Counter(CounterOp::Add, Space::Gds),
            Op::Counter(CounterOp::Swap, Space::Lds),
            Op::Load(Space::Gds, ty),
            Op::Store(Space::Gds, ty),
            Op::Atomic(AtomicOp::IncWrap, Space::Gds, width),
            Op::LdsDirect,
            Op::Fence(FenceScope::Wave),
            Op::Message,
            Op::ReadStatus(Status::Context),
            Op::ReadStatus(Status::Clock),
            Op::ReadStatus(Status::RealTime),
            Op::ReadStatus(Status::LdsBase),
            Op::ReadStatus(Status::ScratchBase),
            Op::ReadStatus(Status::LdsEnd),
            Op::ReadStatus(Status::Rows),
        ]),
        32 => random.pick(&[Op::MoveRelSource(width, cells), Op::MoveRelDest(width, cells)]),
        33 => Op::Matrix(matrix(random)),
        34 => Op::ScalarAtomic(random.pick(AtomicOp::ALL), width),
        35 => Op::ScalarBufferAtomic(random.pick(AtomicOp::ALL), width),
        36 => Op::ScalarBufferStore(random.pick(&[1, 2, 4])),
        _ => random.pick(&[
            Op::IndexedRead(1),
            Op::IndexedRead(2),
            Op::IndexedRead(4),
            Op::IndexedWrite(1),
            Op::IndexedWrite(3),
            Op::LaneIndexedRead(LANE_ROWS),
            Op::LaneIndexedWrite(LANE_ROWS),
        ]),
    }
}

/// A constant, or a cell, or a cell that the wave lacks.
fn uniform(random: &mut SplitMix64, dwords: u16) -> Operand {
    match random.below(8) {
        0 if dwords <= 2 => Operand::Const(if dwords == 2 { random.next_u64() } else { bits(random).into() }),
        1 if dwords <= 2 => Operand::Uni(LACKING.plus(random.below(2) as u16)),
        2 => Operand::Uni(Uni::temp(2 * random.below(3) as u16)),
        _ => Operand::Uni(Uni(random.index(usize::from(LACKING.0 - dwords)) as u16)),
    }
}

fn row(random: &mut SplitMix64, dwords: u16, first: u16) -> Operand {
    let within = |random: &mut SplitMix64, first: u16, count: u16| {
        first + random.index(usize::from(count.saturating_sub(dwords).max(1))) as u16
    };
    match random.below(12) {
        0 => Operand::Row(Row::second(within(random, 0, 6))),
        1 => Operand::Row(Row::temp(within(random, 0, Row::TEMPS))),
        _ => Operand::Row(Row(within(random, first, ROWS - first))),
    }
}

fn source(random: &mut SplitMix64, op: Op, value: Value, dwords: u16) -> Operand {
    match value {
        Value::None => Operand::None,
        Value::Mask | Value::Uniform(_)
            if matches!(
                op,
                Op::BufferLoad(..)
                    | Op::BufferStore(..)
                    | Op::BufferLoadTexel(..)
                    | Op::BufferStoreTexel(..)
                    | Op::BufferAtomic(..)
                    | Op::ScalarBufferLoad(_)
                    | Op::ScalarBufferStore(_)
                    | Op::ScalarBufferAtomic(..)
            ) =>
        {
            if dwords == 4 {
                RESOURCE.into()
            } else {
                random.pick(&[Operand::None, SMALL.into()])
            }
        }
        Value::Uniform(2) if matches!(op, Op::ScalarLoad(_) | Op::ScalarStore(_) | Op::ScalarAtomic(..)) => {
            BASE.into()
        }
        Value::Uniform(1) if matches!(op, Op::ScalarLoad(_)) => {
            random.pick(&[Operand::None, SMALL.into(), Operand::Const(3)])
        }
        Value::Uniform(1) if op.signature().effects.may_fault || is_indexed(op) => {
            random.pick(&[SMALL.into(), Operand::Const(3)])
        }
        Value::Mask | Value::Uniform(_) => uniform(random, dwords),
        Value::Base(Space::Global | Space::Flat) => random.pick(&[Operand::None, BASE.into()]),
        Value::Base(Space::Scratch) => random.pick(&[Operand::None, SMALL.into()]),
        Value::Base(Space::Lds) => Operand::None,
        Value::Address(Space::Scratch) => random.pick(&[Operand::None, OFFSET.into(), SMALL.into()]),
        Value::Address(_) => OFFSET.into(),
        _ if is_through_buffer(op) && dwords <= 2 => OFFSET.into(),
        _ if random.one_in(5) && dwords <= 2 => uniform(random, dwords),
        _ if random.one_in(25) => Operand::Row(Row(ROWS - 1)),
        _ => row(random, dwords, 0),
    }
}

fn is_through_buffer(op: Op) -> bool {
    matches!(
        op,
        Op::BufferLoad(..)
            | Op::BufferStore(..)
            | Op::BufferLoadTexel(..)
            | Op::BufferStoreTexel(..)
            | Op::BufferAtomic(..)
    )
}

fn is_indexed(op: Op) -> bool {
    matches!(op, Op::MoveRelSource(..) | Op::MoveRelDest(..) | Op::IndexedRead(_) | Op::IndexedWrite(_))
}

fn result(random: &mut SplitMix64, value: Value) -> Operand {
    match value {
        Value::None => Operand::None,
        Value::Mask if random.one_in(8) => Operand::Uni(Uni::ACTIVE),
        Value::Mask | Value::Uniform(_) => {
            let dwords = value.dwords();
            match random.below(10) {
                0 => Operand::Uni(Uni::temp(2 * random.below(3) as u16)),
                1 if dwords <= 2 => Operand::Uni(LACKING),
                _ => Operand::Uni(Uni(
                    FREE_CELL + random.index(usize::from(LACKING.0 - FREE_CELL - dwords)) as u16
                )),
            }
        }
        _ if random.one_in(40) => Operand::Row(Row(ROWS)),
        _ => row(random, value.dwords(), FREE_ROW),
    }
}

/// Attributes that are meaningful for an operation.
fn attributes(random: &mut SplitMix64, op: Op) -> Attrs {
    let signature = op.signature();
    let mut attrs = Attrs { imm: random.pick(&[0, 0, 4, 8, -4, 1]), ..Attrs::default() };
    let env = FpEnv {
        round: random.pick(&[Round::NearestEven, Round::PlusInf, Round::MinusInf, Round::Zero]),
        denorm_in: random.one_in(2),
        denorm_out: random.one_in(2),
        ieee: random.one_in(2),
        dx10_clamp: random.one_in(2),
        fp16_ovfl: random.one_in(2),
    };
    if random.one_in(2) {
        attrs.fp = env;
    }
    match op {
        Op::Scalar(..) => attrs.imm = random.below(5) as i32,
        Op::Int(IntOp::BitOp3) => attrs.imm = random.below(256) as i32,
        Op::Float(..) | Op::Cvt(_) | Op::FloatCmp(..) => attrs.imm = random.below(2) as i32,
        _ => {}
    }
    if op.raises() && random.one_in(8) {
        attrs.traps = random.below(128) as u8;
    }
    let computes = matches!(
        op,
        Op::Int(_)
            | Op::IntCmp(..)
            | Op::IntSelect(..)
            | Op::Float(..)
            | Op::FloatCmp(..)
            | Op::FloatSelect(..)
            | Op::FloatClass(_)
            | Op::Cvt(_)
            | Op::FormatCvt(_)
    );
    if !computes {
        return attrs;
    }
    let is_pair = |value: &Value| matches!(value, Value::Pair | Value::Float(FloatType::PkF32));
    let packed =
        op.is_packed() || signature.results.iter().any(is_pair) || signature.sources.iter().any(is_pair);
    let mixed = signature.sources[0] == Value::Mixed;
    for (mods, value) in attrs.src.iter_mut().zip(signature.sources) {
        if packed || mixed {
            mods.sel = random.pick(&[SubDword::Dword, SubDword::Word0, SubDword::Word1]);
            mods.hi_sel = random.one_in(2);
        } else if value.dwords() == 1 && random.one_in(4) {
            mods.sel = random.pick(&[SubDword::Byte1, SubDword::Byte3, SubDword::Word1, SubDword::Word0]);
            mods.sext = random.one_in(2);
        }
        if value.float_type().is_some() || mixed {
            mods.neg = random.one_in(3);
            mods.neg_hi = (packed || mixed) && random.one_in(3);
            mods.abs = !packed && random.one_in(3);
        }
    }
    if let Op::FormatCvt(_) = op {
        attrs.src = [SrcMods { abs: random.one_in(3), neg: random.one_in(3), ..SrcMods::default() }; 3];
        attrs.dst_sel = random.pick(&[SubDword::Dword, SubDword::Byte1, SubDword::Word1]);
    }
    let float = signature.results[0].float_type().is_some();
    attrs.clamp = (signature.saturates || float) && random.one_in(3);
    attrs.omod = if float && random.one_in(4) {
        random.pick(&[Omod::Mul2, Omod::Mul4, Omod::Div2])
    } else {
        Omod::None
    };
    let dwords = signature.results[0].dwords();
    if dwords == 1 && !packed && !matches!(op, Op::FormatCvt(_)) && random.one_in(4) {
        attrs.dst_sel = random.pick(&[SubDword::Byte0, SubDword::Byte2, SubDword::Word0, SubDword::Word1]);
        attrs.dst_unused = random.pick(&[DstUnused::Pad, DstUnused::Sext, DstUnused::Preserve]);
    }
    if !mixed && signature.sources[0] != Value::Pair && random.one_in(5) {
        attrs.lanes = Some(LaneControl {
            source: 0,
            pattern: pattern(random),
            written: random.pick(&[!0, !0, 0xffff_0000_ffff_0f0f]),
            zero_fill: random.one_in(2),
        });
    }
    attrs
}

/// A well-formed operation.
pub(crate) fn instruction(random: &mut SplitMix64, guest: u32) -> Inst {
    loop {
        let op = operation(random);
        let signature = op.signature();
        let mut inst = Inst {
            op,
            dst: signature.results.map(|value| result(random, value)),
            src: [Operand::None; Inst::SOURCES],
            attrs: attributes(random, op),
            mask: match random.below(12) {
                0 => LaneMask::All,
                1 => LaneMask::Given(Uni::temp(2 * random.below(3) as u16)),
                _ => LaneMask::Active,
            },
            guest,
        };
        if let [Value::Bits(_), ..] = signature.results
            && signature.effects.atomic
            && random.one_in(4)
        {
            inst.dst[0] = Operand::None;
        }
        // The base comes first: it decides on the address.
        for n in [1, 0, 2, 3] {
            inst.src[n] = source(random, op, signature.sources[n], signature.sources[n].dwords());
            let wide =
                n == 0 && inst.source_dwords(0) == 2 && matches!(signature.sources[0], Value::Address(_));
            if wide {
                let flat = signature.sources[0] == Value::Address(Space::Flat) && !random.one_in(3);
                inst.src[0] = if flat { ANYWHERE.into() } else { ADDRESS.into() };
            }
        }
        match op {
            // A carry is 0 or 1.
            Op::Scalar(ScalarOp::AddCarryInOut | ScalarOp::SubBorrowInOut, _) => {
                inst.src[2] = Operand::Const(random.next_u64() & 1);
            }
            Op::FormatCvt(cvt) => {
                inst.src[2] = if random.one_in(2) { Operand::None } else { inst.src[2] };
                // No instruction permutes the lanes of a constant.
                inst.src[3] = if cvt.stochastic { inst.src[3] } else { Operand::None };
            }
            Op::Matrix(_) => inst.mask = LaneMask::All,
            // The data are not addresses.
            Op::ScalarAtomic(_, width) | Op::ScalarBufferAtomic(_, width) => {
                for n in [2, 3] {
                    let present = signature.sources[n] != Value::None;
                    inst.src[n] = if present { uniform(random, width.dwords()) } else { Operand::None };
                }
                if random.one_in(4) {
                    inst.dst[0] = Operand::None;
                }
            }
            Op::ScalarBufferStore(n) => inst.src[2] = uniform(random, n.into()),
            Op::MoveRelSource(..) => inst.src[0] = Operand::Uni(Uni(10)),
            Op::MoveRelDest(..) => inst.dst[0] = Operand::Uni(Uni(30)),
            Op::IndexedRead(_) => {
                inst.src[0] = Operand::Row(random.pick(&[Row(20), Row(ROWS - 1), Row(ROWS)]))
            }
            Op::IndexedWrite(_) => inst.dst[0] = Operand::Row(Row(19)),
            Op::LaneIndexedRead(_) => inst.src[0] = Operand::Row(random.pick(&[Row(18), Row(20), Row(ROWS)])),
            Op::LaneIndexedWrite(_) => {
                inst.dst[0] = Operand::Row(random.pick(&[Row(18), Row(20), Row(ROWS)]))
            }
            Op::Lane(LaneOp::Permlane16Swap | LaneOp::Permlane32Swap | LaneOp::Swap)
                if inst.dst[0] == inst.dst[1] =>
            {
                continue;
            }
            _ => {}
        }
        if inst.attrs.lanes.is_some() && !matches!(inst.src[0], Operand::Row(_)) {
            inst.attrs.lanes = None;
        }
        if inst.problem().is_none() {
            return inst;
        }
    }
}

pub(crate) fn terminator(random: &mut SplitMix64) -> Terminator {
    let cond = random.pick(&[Cond::Zero(Uni(12), Width::W32), Cond::NonZero(Uni(12), Width::W64)]);
    random.pick(&[
        Terminator::Jump(0x5000),
        Terminator::Branch { cond, taken: 0x5000, next: 0x2000 },
        Terminator::Indirect(Uni(14)),
        Terminator::Barrier(0x5000),
        Terminator::Yield(0x5000),
        Terminator::End,
        Terminator::SetContext { value: Operand::Uni(Uni(16)), next: 0x5000 },
        Terminator::Resume { context: Operand::Uni(Uni(16)), at: Operand::Uni(Uni(14)) },
        Terminator::Resume { context: Operand::Const(7), at: Operand::Const(0x5000) },
        Terminator::InvalidateCode(0x5000),
        Terminator::Trap(3),
    ])
}

/// Puts addresses, offsets and a resource where programs expect them.
pub(crate) fn set_up(bench: &mut Bench, random: &mut SplitMix64) {
    let set = |cells: &mut Vec<u32>, at: Uni, value: u64| {
        cells[usize::from(at.0)] = value as u32;
        cells[usize::from(at.0) + 1] = (value >> 32) as u32;
    };
    let buffer = bench.buffer;
    set(&mut bench.cells, BASE, buffer + 64);
    let (stride, swizzle) = (random.pick(&[0, 0, 4, 16]), random.pick(&[0, 0, 1 << 31]));
    set(&mut bench.cells, RESOURCE, (buffer + 256) | stride << 48 | swizzle << 32);
    let flags = random.pick(&[0, 1 << 23, 1 << 21, 3 << 21 | 1 << 23]);
    // Selections and formats. Where lane numbers are added, the data format is a part of the stride.
    let format = random.next_u64() & if flags >> 23 & 1 == 0 { 0x7_ffff } else { 0x7fff };
    let flags = flags | format;
    set(&mut bench.cells, RESOURCE.plus(2), random.pick(&[16, 200, 1000]) | flags << 32);
    set(&mut bench.cells, SMALL, random.below(24));
    for lane in 0..64 {
        let within = |random: &mut SplitMix64| match random.below(60) {
            0 => random.below(8192),
            1 => 4 * random.below(300) + 1,
            _ => 16 * random.below(BUFFER / 16 - 4),
        };
        let mut put = |row: Row, value: u64| {
            bench.rows[usize::from(row.0)][lane] = value as u32;
            bench.rows[usize::from(row.0) + 1][lane] = (value >> 32) as u32;
        };
        put(ADDRESS, buffer + within(random));
        put(
            ANYWHERE,
            match random.below(3) {
                0 => buffer + within(random),
                1 => LDS_APERTURE + 8 * random.below(127),
                _ => SCRATCH_APERTURE + 4 * random.below(12),
            },
        );
        put(
            OFFSET,
            match random.below(12) {
                0 => random.below(1100),
                _ => 8 * random.below(6),
            },
        );
    }
}

pub(crate) fn bench(seed: u64) -> Bench {
    let mut random = SplitMix64::new(seed);
    let mut bench = Bench::new(COUNTS, !seed);
    let (start, guests) = (0x1000, 1 + random.below(6) as u32);
    let mut insts = Vec::new();
    for guest in 0..guests {
        // In a guest instruction with several operations, those that may fault come first.
        insts.push(instruction(&mut random, guest));
        while random.one_in(3) {
            let inst = instruction(&mut random, guest);
            if !inst.op.signature().effects.may_fault {
                insts.push(inst);
            }
        }
    }
    let guest = (0..u64::from(guests)).map(|n| start + 4 * n).collect();
    let terminator = terminator(&mut random);
    let covered = start..0x2000;
    let block = Block { start, next: 0x2000, ranges: vec![covered], insts, guest, terminator };
    verify(&block).expect("operations are well formed");
    bench.block = Arc::new(block);
    bench.strict = random.pick(&[Strict::default(), Strict::default(), Strict::ALL]);
    bench.exceptions = random.one_in(3).then_some(EXCEPTIONS);
    set_up(&mut bench, &mut random);
    bench
}

pub(crate) fn programs() -> u64 {
    match std::env::var("WAVEMILL_TESTS").as_deref() {
        Ok("all") => 60_000,
        _ => 6_000,
    }
}

#[test]
fn random_programs_are_handed_over_anywhere() {
    let (mut kinds, mut exits) = (BTreeSet::new(), std::collections::BTreeMap::<String, usize>::new());
    let mut failed = Vec::new();
    for seed in 0..programs() {
        let bench = bench(seed);
        kinds.extend(bench.block.insts.iter().map(|inst| inst.op.signature().name));
        match bench.compare() {
            Ok(exit) => *exits.entry(exit.chars().take(30).collect()).or_default() += 1,
            Err(difference) => failed.push(format!("program {seed}: {difference}")),
        }
    }
    eprintln!("{} names of operations, {exits:#?}", kinds.len());
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed[..failed.len().min(12)].join("\n"));
    assert!(kinds.len() > 200, "{} names of operations", kinds.len());
}
