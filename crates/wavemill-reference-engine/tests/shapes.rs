//! What analyses say of the shapes of rows, against their values while programs run operation by
//! operation: random programs with branches and loops.

use std::collections::BTreeMap;
use std::sync::Arc;

use wavemill_ir::analysis::{Entry, Full, Graph, Limits, Shape, Shapes, Walk, WaveFacts};
use wavemill_ir::{
    Attrs, Block, BlockBuilder, CmpPred, Cond, FaultKind, Inst, IntOp, IntType, LANES, LaneMask, LaneOp,
    MemType, Op, Operand, Row, ScalarOp, Space, Terminator, Uni, Value, Width, verify,
};
use wavemill_machine::engine::{Inside, Task, Wave};
use wavemill_machine::{BlockSource, Registers};
use wavemill_oracle::SplitMix64;
use wavemill_reference_engine::ReferenceExecutor;

use crate::common::{Bench, bits};
use crate::programs::{self, COUNTS};

/// Operations that a program runs at most.
const OPERATIONS: usize = 150;
/// The cell that branches look at.
const FLAG: Uni = Uni(12);
/// Cells and rows that operations use most: the first of them, and how many.
const CELLS: (u16, u64) = (14, 12);
const ROWS: (u16, u64) = (6, 12);

/// Integer operations that shapes go through.
const INTEGERS: [IntOp; 50] = {
    use IntOp::*;
    [
        Mov,
        Mov64,
        Not,
        And,
        Or,
        Xor,
        Xnor,
        Add,
        AddI,
        Sub,
        SubI,
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
        MadI64I32,
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
        BitMask,
        MinU,
        MaxU,
        Select,
        MaskCountLo,
        MaskCountHi,
        ShlAdd64,
        Add,
    ]
};

const MASKS: [ScalarOp; 10] = {
    use ScalarOp::*;
    [Mov, Not, And, Or, Xor, AndNot, OrNot, Nand, Select, Or]
};

const SCALARS: [ScalarOp; 16] = {
    use ScalarOp::*;
    [
        Mov,
        Not,
        And,
        Or,
        Xor,
        AndNot,
        AddCarryOut,
        SubBorrowOut,
        Mul,
        Shl,
        Shr,
        Sar,
        BfeU,
        ShlAdd,
        MinU,
        Select,
    ]
};

/// A pair of cells with a mask: that of the active lanes, or one of a few.
fn mask(random: &mut SplitMix64) -> Operand {
    match random.below(7) {
        0 => Operand::Uni(Uni::ACTIVE),
        1 => Operand::Const(random.pick(&[0, !0, 0xffff])),
        _ => Operand::Uni(Uni(CELLS.0 + 2 * random.below(3) as u16)),
    }
}

fn constant(random: &mut SplitMix64) -> u64 {
    random.pick(&[0, 1, 2, 3, 4, 6, 10, 16, 31, 0x3f, 0x40, 0xff, 0x3ff, 0x400, 0xffff_ffff, 0x8000_0000])
}

fn operand(random: &mut SplitMix64, value: Value) -> Operand {
    let dwords = value.dwords();
    match value {
        Value::None => Operand::None,
        Value::Mask => mask(random),
        _ if random.one_in(4) => Operand::Const(constant(random)),
        _ if !value.is_varying() || random.one_in(5) => {
            Operand::Uni(Uni(CELLS.0 + random.below(CELLS.1 - u64::from(dwords) + 1) as u16))
        }
        _ => Operand::Row(Row(ROWS.0 + random.below(ROWS.1 - u64::from(dwords) + 1) as u16)),
    }
}

fn result(random: &mut SplitMix64, value: Value) -> Operand {
    match value {
        Value::None => Operand::None,
        Value::Mask => match random.below(12) {
            0 => Operand::Uni(Uni::ACTIVE),
            _ => Operand::Uni(Uni(CELLS.0 + 2 * random.below(3) as u16)),
        },
        _ => {
            let operand = operand(random, value);
            if matches!(operand, Operand::Const(_)) { result(random, value) } else { operand }
        }
    }
}

fn made(op: Op, dst: [Operand; 2], sources: &[Operand], guest: u32) -> Inst {
    let mut src = [Operand::None; Inst::SOURCES];
    src[..sources.len()].copy_from_slice(sources);
    Inst { op, dst, src, attrs: Attrs::default(), mask: LaneMask::Active, guest }
}

/// Operations of a guest instruction that shapes go through, or now and then any.
fn operations(random: &mut SplitMix64, guest: u32) -> Vec<Inst> {
    let of = |random: &mut SplitMix64, op: Op| {
        let signature = op.signature();
        let sources: Vec<Operand> = signature.sources.iter().map(|value| operand(random, *value)).collect();
        made(op, signature.results.map(|value| result(random, value)), &sources, guest)
    };
    let active = Operand::Uni(Uni::ACTIVE);
    match random.below(20) {
        0..9 => {
            let op = Op::Int(random.pick(&INTEGERS));
            let mut inst = of(random, op);
            if random.one_in(12) {
                inst.mask = LaneMask::All;
            }
            if random.one_in(20) {
                inst.attrs.clamp = inst.op.signature().saturates;
            }
            vec![inst]
        }
        9 => {
            // A sum of two pairs.
            let (op, then) = random.pick(&[
                (IntOp::AddCo, IntOp::AddCi),
                (IntOp::AddCo, IntOp::AddCi),
                (IntOp::SubCo, IntOp::SubCi),
            ]);
            let [low, high] = [0, 1].map(|n| Value::Bits(n + 1));
            let carry = Operand::Uni(Uni(CELLS.0 + 2 * random.below(3) as u16));
            let (a, b) = (operand(random, high), operand(random, high));
            let [mut a_high, mut b_high] = [a.dword(1), b.dword(1)];
            if random.one_in(3) {
                (a_high, b_high) = (b_high, a_high);
            }
            if random.one_in(6) {
                b_high = operand(random, low);
            }
            let Operand::Row(to) = result(random, high) else { return operations(random, guest) };
            let second = if random.one_in(8) { Row(ROWS.0) } else { to.plus(1) };
            vec![
                made(Op::Int(op), [to.into(), carry], &[a.dword(0), b.dword(0)], guest),
                made(Op::Int(then), [second.into(), carry], &[a_high, b_high, carry], guest),
            ]
        }
        10 | 11 => {
            let ty = random.pick(&[IntType::U32, IntType::I32, IntType::U64, IntType::I64]);
            let op = Op::IntCmp(random.pick(&CmpPred::INT), ty);
            vec![of(random, op)]
        }
        12 => {
            // A branch on lanes: its beginning, its other side or its end.
            let saved = Operand::Uni(Uni(CELLS.0 + 2 * random.below(3) as u16));
            let op = random.pick(&[ScalarOp::And, ScalarOp::And, ScalarOp::Or, ScalarOp::AndNot]);
            let kept = Uni::temp(0).into();
            let scalar = |op, to: Operand, from: &[Operand]| {
                made(Op::Scalar(op, Width::W64), [to, Operand::None], from, guest)
            };
            match random.below(3) {
                0 => vec![
                    scalar(ScalarOp::Mov, kept, &[active]),
                    scalar(op, active, &[active, mask(random)]),
                    scalar(ScalarOp::Mov, saved, &[kept]),
                ],
                1 => vec![scalar(ScalarOp::Xor, saved, &[active, saved])],
                _ => vec![scalar(ScalarOp::Or, active, &[active, saved])],
            }
        }
        13 => {
            let op = Op::Scalar(random.pick(&MASKS), Width::W64);
            let to = if random.one_in(3) {
                active
            } else {
                Operand::Uni(Uni(CELLS.0 + 2 * random.below(3) as u16))
            };
            let third = Operand::Uni(FLAG);
            let count = op.signature().source_count();
            let sources = [mask(random), mask(random), third];
            vec![made(op, [to, Operand::None], &sources[..count], guest)]
        }
        14 => {
            let width = random.pick(&[Width::W32, Width::W32, Width::W64]);
            let op = Op::Scalar(random.pick(&SCALARS), width);
            let mut inst = of(random, op);
            inst.dst[1] = if inst.dst[1].is_none() { Operand::None } else { FLAG.into() };
            inst.attrs.imm = random.below(5) as i32;
            vec![inst]
        }
        15 => {
            let op =
                random.pick(&[LaneOp::ReadLane, LaneOp::ReadFirstLane, LaneOp::Swap, LaneOp::BackPermute]);
            vec![of(random, Op::Lane(op))]
        }
        16 => {
            let ty = random.pick(&[MemType::Dwords(1), MemType::Dwords(2), MemType::U8]);
            let mut load = of(random, Op::Load(Space::Lds, ty));
            load.attrs.imm = random.pick(&[0, 4, -4]);
            load.src[1] = Operand::None;
            vec![load]
        }
        _ => vec![programs::instruction(random, guest)],
    }
    .into_iter()
    .filter(|inst| {
        inst.problem().is_none() && !(matches!(inst.op, Op::Lane(LaneOp::Swap)) && inst.dst[0] == inst.dst[1])
    })
    .collect()
}

type Program = BTreeMap<u64, Arc<Block>>;

fn program(random: &mut SplitMix64) -> Program {
    let blocks = 1 + random.below(5);
    let place = |n: u64| 0x1000 + 0x100 * n;
    let mut program = Program::new();
    for n in 0..blocks {
        let guests = 1 + random.below(10) as u32;
        let insts: Vec<Inst> = (0..guests).flat_map(|guest| operations(random, guest)).collect();
        let to = |random: &mut SplitMix64| place(random.below(blocks + 1));
        let terminator = match random.below(5) {
            0 => Terminator::Jump(to(random)),
            1 if random.one_in(4) => Terminator::Barrier(to(random)),
            _ => {
                let cond =
                    random.pick(&[Cond::Zero(FLAG, Width::W32), Cond::NonZero(Uni::ACTIVE, Width::W64)]);
                Terminator::Branch { cond, taken: to(random), next: place(n + 1) }
            }
        };
        let guest = (0..u64::from(guests)).map(|guest| place(n) + 4 * guest).collect();
        let covered = place(n)..place(n + 1);
        let block =
            Block { start: place(n), next: place(n + 1), ranges: vec![covered], insts, guest, terminator };
        verify(&block).expect("operations are well formed");
        program.insert(block.start, Arc::new(block));
    }
    program
}

#[derive(Debug)]
struct Source<'a>(&'a Program);

impl BlockSource for Source<'_> {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        self.0.get(&pc).cloned().unwrap_or_else(|| {
            let mut b = BlockBuilder::new(pc);
            b.begin_guest(pc);
            Arc::new(b.finish(pc, Terminator::Fault(FaultKind::NoCode)))
        })
    }
}

/// Values of a row at the entry, with what the analysis is told of them.
fn seed(random: &mut SplitMix64, wave: u32) -> ([u32; LANES], Option<Shape>) {
    let of = |f: &dyn Fn(u32) -> u32| -> [u32; LANES] { std::array::from_fn(|lane| f(lane as u32)) };
    let any_wave = |f: &dyn Fn(u32) -> u32| {
        let rows: Vec<_> = (0..4).map(|wave| of(&|lane| f(64 * wave + lane))).collect();
        (of(&|lane| f(64 * wave + lane)), Some(Shape::any_of(&rows)))
    };
    let base = bits(random);
    match random.below(9) {
        0 => any_wave(&|item| item),
        1 => any_wave(&|item| (item % 32) | ((item / 32) << 10)),
        2 => any_wave(&|item| item % 16),
        3 => any_wave(&|item| 4 * (item / 32)),
        4 => (of(&|_| base), Some(Shape::uniform(32))),
        5 => (of(&|lane| base.wrapping_add(lane / 16 * 77)), Some(Shape::strip_uniform(32))),
        6 => (
            of(&|lane| base.wrapping_sub(lane)),
            Some(Shape::exact(&of(&|lane| 0u32.wrapping_sub(lane))).plus(Shape::uniform(32))),
        ),
        7 => (of(&|_| 0), Some(Shape::constant(32, 0))),
        _ => (std::array::from_fn(|_| bits(random)), None),
    }
}

/// Number of claims that say something, and of all, at the places that were run.
type Tally = (u64, u64);

/// Runs a program operation by operation, and compares.
fn check(number: u64, tally: &mut Tally, mutate: impl Fn(&mut Program)) -> Result<(), String> {
    let mut random = SplitMix64::new(number);
    let bench = Bench::new(COUNTS, number);
    let program = program(&mut random);
    // What the analysis sees; a test of the test changes it.
    let mut seen = program.clone();
    mutate(&mut seen);
    let facts = WaveFacts {
        rows: COUNTS.rows,
        absent: COUNTS.absent.0..COUNTS.absent.1,
        private_memory: Some(COUNTS.private_base.first()),
        exceptions: None,
    };
    let mut wave = bench.wave();
    wave.pc = 0x1000;
    let mut entry = Entry::default();
    let number_of_wave = random.below(4) as u32;
    for n in ROWS.0..ROWS.0 + ROWS.1 as u16 {
        let (values, shape) = seed(&mut random, number_of_wave);
        wave.regs.set_row(Row(n), &values);
        let rows = if random.one_in(2) { &mut entry.rows } else { &mut entry.rows_in_all_lanes };
        rows.extend(shape.map(|shape| (Row(n), shape)));
    }
    for n in CELLS.0..CELLS.0 + CELLS.1 as u16 {
        let value = if random.one_in(2) { constant(&mut random) as u32 } else { bits(&mut random) };
        wave.regs.set_uni(Uni(n), value);
        let known = [
            Shape::constant(32, value.into()),
            Shape::uniform(32).in_range((value / 2).into(), u64::from(value) + 5),
            Shape::uniform(32).aligned(value.trailing_zeros().min(32) as u8),
            Shape::uniform(32),
        ];
        entry.cells.push((Uni(n), random.pick(&known)));
    }
    let graph = Graph::new(0x1000, Limits::default(), |at| Source(&seen).block(at, 0));
    let full = Full::new(&graph, &facts, bench.active == !0);
    let shapes = Shapes::new(&graph, &facts, &full, &entry);
    let listing = || program.values().map(ToString::to_string).collect::<String>();
    run(&bench, &program, &mut wave, &graph, &shapes, tally)
        .map_err(|wrong| format!("{wrong}\n{}", listing()))
}

fn cell(regs: &Registers, cell: Uni) -> u32 {
    regs.uni(cell)
}

fn run(
    bench: &Bench,
    program: &Program,
    wave: &mut Wave,
    graph: &Graph<Arc<Block>>,
    shapes: &Shapes<'_, Arc<Block>>,
    tally: &mut Tally,
) -> Result<(), String> {
    let source = Source(program);
    let setting = bench.setting();
    let task = Task {
        counts: COUNTS,
        source: &source,
        counting: false,
        strict: bench.strict,
        interests: None,
        starts: None,
    };
    let mut executor = ReferenceExecutor::new(task);
    let mut walk: Option<Walk<'_, '_, Arc<Block>>> = None;
    let mut compared = None;
    for _ in 0..OPERATIONS {
        let operation = match &wave.inside {
            Some(Inside { operation, .. }) => *operation,
            None => 0,
        };
        if operation == 0 {
            let node = graph.at(wave.pc).ok_or("the wave left the graph")?;
            walk = shapes.walk(node);
        }
        let walk = walk.as_mut().ok_or("no path leads where the wave is")?;
        while walk.place() < operation {
            walk.step();
        }
        let described = || {
            let inst = walk.operation().map(ToString::to_string).unwrap_or_default();
            format!("at {:#x}, in front of operation {operation} ({inst})", wave.pc)
        };
        if let Some((wanted, at, dst, active)) = compared.take()
            && at + 1 == operation
        {
            let wanted: wavemill_ir::analysis::ComparedLanes = wanted;
            if !wanted.admits(wave.regs.uni64(dst), active) {
                return Err(format!("{}: a comparison should give {wanted:?}", described()));
            }
        }
        if let Some(wrong) = walk.contradiction(|n| cell(&wave.regs, n), |row| wave.regs.row(row)) {
            return Err(format!("{}: {wrong}", described()));
        }
        let rows = (ROWS.0..ROWS.0 + ROWS.1 as u16).map(Row);
        let known = rows.filter(|row| walk.state().row(*row).stride().is_some()).count();
        *tally = (tally.0 + known as u64, tally.1 + ROWS.1);
        if let (Some(wanted), Some(inst)) = (walk.compared(), walk.operation())
            && let Operand::Uni(dst) = inst.dst[0]
            && !COUNTS.lacks(dst)
        {
            compared = Some((wanted, operation, dst, wave.regs.uni64(Uni::ACTIVE)));
        }
        match executor.run_operations(wave, setting.around(), u64::MAX, 1) {
            // Barriers and the like.
            Some(exit) if format!("{exit:?}").starts_with("Barrier") => {}
            Some(_) => return Ok(()),
            None => {}
        }
    }
    Ok(())
}

#[test]
fn shapes_hold_while_random_programs_run() {
    let (mut failed, mut tally) = (Vec::new(), (0, 0));
    for number in 0..programs::programs() / 4 {
        if let Err(difference) = check(number, &mut tally, |_| {}) {
            failed.push(format!("program {number}: {difference}"));
        }
    }
    eprintln!("{} of {} rows have a shape", tally.0, tally.1);
    assert!(failed.is_empty(), "{} are wrong:\n{}", failed.len(), failed[..failed.len().min(12)].join("\n"));
    assert!(tally.0 * 3 > tally.1, "{tally:?}");
}

/// If the analysis sees another program than the one that runs, as if it had a wrong rule, the test
/// notices.
#[test]
fn wrong_rules_are_found() {
    type Change = fn(&mut Inst);
    let changes: [(&str, Change); 9] = [
        ("sums are differences", |inst| {
            if inst.op == Op::Int(IntOp::Add) {
                inst.op = Op::Int(IntOp::Sub);
            }
        }),
        ("constants are one less", |inst| {
            if let (Op::Int(_), Operand::Const(value @ 1..)) = (inst.op, inst.src[1]) {
                inst.src[1] = Operand::Const(value - 1);
            }
        }),
        ("carries are ignored", |inst| {
            if inst.op == Op::Int(IntOp::AddCi) {
                inst.op = Op::Int(IntOp::Add);
            }
        }),
        ("partial writes are whole", |inst| {
            if let Op::Int(_) = inst.op {
                inst.mask = LaneMask::All;
            }
        }),
        ("choices by lanes are choices of the wave", |inst| {
            if inst.op == Op::Int(IntOp::Select) {
                inst.op = Op::Int(IntOp::MinU);
            }
        }),
        ("the mask of lanes narrows where it grows", |inst| {
            if inst.op == Op::Scalar(ScalarOp::Or, Width::W64) {
                inst.op = Op::Scalar(ScalarOp::And, Width::W64);
            }
        }),
        ("shifts are of 64 bits", |inst| {
            if inst.op == Op::Int(IntOp::Sar) {
                inst.op = Op::Int(IntOp::Shr);
            }
        }),
        ("addends are ignored", |inst| {
            if let Op::Int(IntOp::MadU32 | IntOp::MadU24 | IntOp::MadI24) = inst.op {
                inst.op = Op::Int(IntOp::MulLo);
            }
        }),
        ("an operation does nothing", |inst| {
            if let Op::Load(..) = inst.op {
                inst.dst[0] = Operand::Row(Row(23));
            }
        }),
    ];
    for (name, change) in changes {
        let mutate = |program: &mut Program| {
            for block in program.values_mut() {
                Arc::make_mut(block).insts.iter_mut().for_each(change);
            }
        };
        let mut tally = (0, 0);
        let found = (0..4000).any(|number| check(number, &mut tally, mutate).is_err());
        assert!(found, "nobody notices that {name}");
    }
}
