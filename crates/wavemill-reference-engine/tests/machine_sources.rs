//! Operations with one source as machine code, next to the scalar library: sources of all exponents, or every one.

use std::sync::Arc;

use wavemill_float::{cvt, float_op, int_op};
use wavemill_ir::{
    Attrs, Block, CvtOp, FloatOp, FloatType, FpEnv, Inst, IntOp, LANES, LaneMask, Op, Operand, Round, Row,
    Terminator, Uni, verify,
};
use wavemill_jit::Jit;
use wavemill_machine::engine::{Engine, Task};
use wavemill_machine::{CellPair, RegisterCounts, Strict};

use crate::common::{Bench, Source};

/// Rows with sources; those with results are behind them.
const SOURCES: u16 = 32;
const COUNTS: RegisterCounts = RegisterCounts {
    cells: 8,
    absent: (Uni(8), Uni(8)),
    private_base: CellPair::new(Uni(6)),
    rows: [2 * SOURCES, 0],
};
/// Distance of sources in a test that does not take every one.
const STEP: u64 = 4001;
/// Wrong results that are shown.
const SHOWN: usize = 4;

/// Functions with a margin of error, or that a margin has been proved for: these are worth a look at every source.
const FUNCTIONS: [FloatOp; 4] = [FloatOp::Rsq, FloatOp::Exp2, FloatOp::Rcp, FloatOp::Sqrt];
const OTHERS: [FloatOp; 7] = [
    FloatOp::RcpIflag,
    FloatOp::FrexpMant,
    FloatOp::FrexpExp,
    FloatOp::Trunc,
    FloatOp::Ceil,
    FloatOp::Floor,
    FloatOp::RoundEven,
];
const CONVERSIONS: [CvtOp; 6] =
    [CvtOp::I32F32, CvtOp::U32F32, CvtOp::F16F32, CvtOp::F32I32, CvtOp::F32U32, CvtOp::F32F16];
const INTEGERS: [IntOp; 5] =
    [IntOp::BitReverse, IntOp::LeadingZeros, IntOp::TrailingZeros, IntOp::LeadingSigns, IntOp::CountOnes];

/// A program that applies the operation to each row of sources.
fn bench(op: Op, env: FpEnv) -> Bench {
    let mut bench = Bench::new(COUNTS, 0);
    bench.active = !0;
    let apply = |n: u16| {
        let mut src = [Operand::None; Inst::SOURCES];
        for (i, value) in op.signature().sources.iter().enumerate() {
            src[i] = match (i, value.dwords()) {
                (_, 0) => Operand::None,
                (0, _) => Row(n).into(),
                _ => Operand::Const(0),
            };
        }
        let dst = [Row(SOURCES + n).into(), Operand::None];
        let attrs = Attrs { fp: env, ..Attrs::default() };
        Inst { op, dst, src, attrs, mask: LaneMask::Active, guest: n.into() }
    };
    let covered = 0x1000..0x1800;
    let block = Block {
        start: covered.start,
        next: covered.end,
        guest: (0..u64::from(SOURCES)).map(|n| covered.start + 4 * n).collect(),
        ranges: vec![covered],
        insts: (0..SOURCES).map(apply).collect(),
        terminator: Terminator::Jump(0xf000),
    };
    verify(&block).expect("operations are well formed");
    bench.block = Arc::new(block);
    bench
}

fn expected(op: Op, source: u32, env: FpEnv) -> u32 {
    let sources = [u64::from(source), 0, 0];
    match op {
        Op::Float(op, ty) => float_op(op, ty, sources, env).expect("a function of the library") as u32,
        Op::Cvt(op) => cvt(op, sources, env) as u32,
        Op::Int(op) => int_op(op, sources.map(u128::from), 0, 0, false).value as u32,
        _ => panic!("{op:?} has no reference here"),
    }
}

/// Compares results of sources so far apart. Returns whether there is machine code.
fn compare(op: Op, env: FpEnv, step: u64) -> bool {
    let bench = bench(op, env);
    if !Jit::has_code_for(&bench.block, COUNTS).iter().all(|has_code| *has_code) {
        return false;
    }
    let source = Source(&bench);
    let strict = Strict::default();
    let task =
        Task { counts: COUNTS, source: &source, counting: false, strict, interests: None, starts: None };
    let setting = bench.setting();
    let mut executor = Jit::new().executor(task);
    let mut wave = bench.wave();
    let mut wrong = Vec::new();
    let per_run = step * u64::from(SOURCES) * LANES as u64;
    for first in (0..1 << 32).step_by(per_run as usize) {
        let sources = |n: u16| {
            let first = first + step * u64::from(n) * LANES as u64;
            std::array::from_fn(|lane| (first + step * lane as u64) as u32)
        };
        (0..SOURCES).for_each(|n| wave.regs.set_row(Row(n), &sources(n)));
        (wave.pc, wave.from) = (bench.block.start, None);
        executor.run(&mut wave, setting.around(), 1, None);
        for n in 0..SOURCES {
            for (source, found) in sources(n).into_iter().zip(wave.regs.row(Row(SOURCES + n))) {
                let expected = expected(op, source, env);
                if found != expected {
                    wrong.push(format!("{source:#x}: {found:#x}, expected {expected:#x}"));
                }
            }
        }
    }
    let shown = wrong[..wrong.len().min(SHOWN)].join("\n");
    assert!(wrong.is_empty(), "{op:?} in {env:?}: {} results differ\n{shown}", wrong.len());
    true
}

/// The modes: rounding, and which denormals are kept.
fn modes() -> impl Iterator<Item = FpEnv> {
    let denormals = [(true, true), (false, false), (true, false), (false, true)];
    denormals.into_iter().flat_map(|(denorm_in, denorm_out)| {
        let rounds = [Round::NearestEven, Round::PlusInf, Round::MinusInf, Round::Zero];
        rounds.map(|round| FpEnv { round, denorm_in, denorm_out, ..FpEnv::default() })
    })
}

#[test]
fn results_of_single_sources_are_those_of_the_library() {
    if !Jit::is_available() {
        eprintln!("skipped: this host has no machine code");
        return;
    }
    let every = std::env::var("WAVEMILL_TESTS").is_ok_and(|tests| tests == "all");
    let functions = FUNCTIONS.map(|op| Op::Float(op, FloatType::F32));
    let others = OTHERS.map(|op| Op::Float(op, FloatType::F32));
    let all = functions.into_iter().chain(others);
    for op in all.chain(CONVERSIONS.map(Op::Cvt)).chain(INTEGERS.map(Op::Int)) {
        let mut with_code = 0;
        for (n, env) in modes().enumerate() {
            let step = if every && n == 0 && functions.contains(&op) { 1 } else { STEP };
            with_code += usize::from(compare(op, env, step));
        }
        assert!(with_code > 0, "{op:?} has no machine code in any mode");
    }
}
