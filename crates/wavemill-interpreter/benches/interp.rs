//! Wave-instructions per second of the interpreter on hand-made loops, for each tier of this host, on one thread.
//!
//! The figure that criterion prints as elements per second is guest instructions of a wave, each
//! for 64 lanes. The loops are the cores of three kernels, without the code around them.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use cpu_time::ThreadTime;
use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{
    Attrs, Block, BlockBuilder, CmpPred, Cond, FaultKind, FloatOp, FloatType, FpEnv, IntOp, LANES, MemType,
    Op, Operand, Row, ScalarOp, Space, SrcMods, Terminator, Uni, Width,
};
use wavemill_lift::gcn::registers::{SCC, VCC};
use wavemill_machine::{
    BlockSource, Grid, GuestMemory, RegisterCounts, Registers, RunOptions, WaveInit, run,
};

/// Address of the loop.
const BODY: u64 = 0x1000;
/// Address after it.
const AFTER: u64 = 0x9000;
/// Iterations of a loop.
const ITERATIONS: u32 = 20_000;
/// Counter of a loop.
const COUNTER: Uni = Uni(0);

struct Loop {
    name: &'static str,
    body: Arc<Block>,
    after: Arc<Block>,
}

impl BlockSource for Loop {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        // Whole blocks, or the rest of one that starts inside.
        for block in [&self.body, &self.after] {
            if pc == block.start {
                return block.clone();
            }
            if let Some(rest) = block.starting_at(pc) {
                return Arc::new(rest);
            }
        }
        let mut b = BlockBuilder::new(pc);
        b.begin_guest(pc);
        Arc::new(b.finish(pc + 4, Terminator::Fault(FaultKind::NoCode)))
    }
}

/// Builds a loop body: one operation is one guest instruction.
struct Body(BlockBuilder, u64);

impl Body {
    fn new() -> Body {
        Body(BlockBuilder::new(BODY), BODY)
    }

    fn op(&mut self, op: Op, dst: [Operand; 2], src: &[Operand], attrs: Attrs) {
        self.0.begin_guest(self.1);
        self.1 += 4;
        let mut sources = [Operand::None; 4];
        sources[..src.len()].copy_from_slice(src);
        self.0.push(op, dst, sources, attrs);
    }

    fn int(&mut self, op: IntOp, dst: u16, src: &[Operand]) {
        self.op(Op::Int(op), [v(dst), Operand::None], src, Attrs::default());
    }

    fn float(&mut self, op: FloatOp, dst: u16, src: &[Operand]) {
        let attrs = Attrs { fp: FpEnv::DEFAULT, ..Attrs::default() };
        self.op(Op::Float(op, FloatType::F32), [v(dst), Operand::None], src, attrs);
    }

    fn scalar(&mut self, op: ScalarOp, width: Width, dst: [Operand; 2], src: &[Operand]) {
        self.op(Op::Scalar(op, width), dst, src, Attrs::default());
    }

    /// Counts down and goes round until zero.
    fn end(mut self, name: &'static str) -> Loop {
        let counter = Operand::Uni(COUNTER);
        self.scalar(
            ScalarOp::SubOverflow,
            Width::W32,
            [counter, Operand::None],
            &[counter, Operand::Const(1)],
        );
        self.op(
            Op::ScalarCmp(CmpPred::Lg, wavemill_ir::IntType::U32),
            [Operand::Uni(SCC), Operand::None],
            &[counter, Operand::Const(0)],
            Attrs::default(),
        );
        self.0.begin_guest(self.1);
        let again = Terminator::Branch { cond: Cond::NonZero(SCC, Width::W32), taken: BODY, next: AFTER };
        let body = self.0.finish(self.1 + 4, again);
        wavemill_ir::verify(&body).expect("the loop is well formed");
        let mut after = BlockBuilder::new(AFTER);
        after.begin_guest(AFTER);
        Loop { name, body: Arc::new(body), after: Arc::new(after.finish(AFTER + 4, Terminator::End)) }
    }
}

fn v(n: u16) -> Operand {
    Operand::Row(Row(n))
}

fn k(value: f32) -> Operand {
    Operand::Const(u64::from(value.to_bits()))
}

/// Three shifts and three exclusive ors, twice.
fn xorshift() -> Loop {
    let mut b = Body::new();
    for _ in 0..2 {
        for (op, n) in [(IntOp::Shl, 13), (IntOp::Shr, 17), (IntOp::Shl, 5)] {
            b.int(op, 1, &[v(0), Operand::Const(n)]);
            b.int(IntOp::Xor, 0, &[v(1), v(0)]);
        }
    }
    b.end("xorshift")
}

/// `z = z * z + c` with a count of the lanes that have not escaped; all lanes stay inside.
fn mandelbrot() -> Loop {
    let mut b = Body::new();
    let (x, y, cx, cy, xx, yy, t, n) = (v(0), v(1), v(2), v(3), 4, 5, 6, v(7));
    b.float(FloatOp::Mul, xx, &[x, x]);
    b.float(FloatOp::Mul, yy, &[y, y]);
    b.float(FloatOp::Add, t, &[v(xx), v(yy)]);
    b.op(
        Op::FloatCmp(CmpPred::Lt, FloatType::F32),
        [Operand::Uni(VCC), Operand::None],
        &[v(t), k(4.0)],
        Attrs::default(),
    );
    let carry = [Operand::Uni(VCC), Operand::None];
    b.op(Op::Int(IntOp::AddCi), [n, Operand::None], &[n, Operand::Const(0), carry[0]], Attrs::default());
    b.float(FloatOp::Mul, t, &[x, y]);
    let negated = SrcMods { neg: true, ..SrcMods::default() };
    let minus_yy = Attrs { src: [SrcMods::default(), negated, SrcMods::default()], ..Attrs::default() };
    b.op(Op::Float(FloatOp::Add, FloatType::F32), [v(xx), Operand::None], &[v(xx), v(yy)], minus_yy);
    b.float(FloatOp::Add, 0, &[v(xx), cx]);
    b.float(FloatOp::Fma, 1, &[v(t), k(2.0), cy]);
    b.end("mandelbrot")
}

/// A 4 x 4 register tile: eight LDS reads, sixteen multiply-adds.
fn sgemm() -> Loop {
    let mut b = Body::new();
    for i in 0..4 {
        for (address, first) in [(40, 16), (41, 20)] {
            let attrs = Attrs { imm: 256 * i, ..Attrs::default() };
            let load = Op::Load(Space::Lds, MemType::Dwords(1));
            b.op(load, [v(first + i as u16), Operand::None], &[v(address)], attrs);
        }
    }
    for i in 0..4 {
        for j in 0..4 {
            let acc = 4 * i + j;
            b.float(FloatOp::Fma, acc, &[v(16 + i), v(20 + j), v(acc)]);
        }
    }
    b.end("sgemm")
}

struct Init;

impl WaveInit for Init {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        LANES as u32
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        regs.set_uni(COUNTER, ITERATIONS);
        for row in 0..16 {
            let lanes = std::array::from_fn(|l| (0.001 * (l as f32 + f32::from(row))).to_bits());
            regs.set_row(Row(row), &lanes);
        }
        // LDS addresses: one per lane, and the same for sixteen lanes.
        regs.set_row(Row(40), &std::array::from_fn(|l| 4 * l as u32));
        regs.set_row(Row(41), &std::array::from_fn(|l| 4 * (l as u32 / 16)));
    }
}

/// Processor time of the thread, so that other load on the machine does not count.
struct OwnTime;

impl Measurement for OwnTime {
    type Intermediate = ThreadTime;
    type Value = Duration;

    fn start(&self) -> ThreadTime {
        ThreadTime::now()
    }

    fn end(&self, start: ThreadTime) -> Duration {
        start.elapsed()
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

fn bench(c: &mut Criterion<OwnTime>) {
    let memory = GuestMemory::default();
    let map = memory.snapshot();
    for work in [xorshift(), mandelbrot(), sgemm()] {
        let mut group = c.benchmark_group(work.name);
        group.sample_size(20);
        for tier in Tier::ALL.into_iter().filter(|t| t.is_available()) {
            let grid = Grid {
                map: &map,
                source: &work,
                init: &Init,
                workgroups: [1, 1, 1],
                waves_per_group: 1,
                registers: RegisterCounts::of_rows([64, 0]),
                lds_size: 4096,
                lds_granule: 0,
                scratch_size: 0,
                entry: BODY,
                context: 0,
                resident: 1,
            };
            let options = RunOptions { threads: NonZeroUsize::new(1), ..RunOptions::default() };
            let stats = run(&grid, &Interpreter::on(tier), &options).expect("the loop has no faults");
            group.throughput(Throughput::Elements(stats.instructions));
            group.bench_function(tier.name(), |b| {
                b.iter(|| black_box(run(&grid, &Interpreter::on(tier), &options)))
            });
        }
        group.finish();
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().with_measurement(OwnTime);
    targets = bench
}
criterion_main!(benches);
