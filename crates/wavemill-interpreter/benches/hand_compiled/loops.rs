//! The inner loops of three kernels, lifted from their committed code objects.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{
    Attrs, Block, BlockBuilder, CmpPred, Cond, FaultKind, IntOp, IntType, LANES, MemType, Op, Operand, Row,
    ScalarOp, Space, Terminator, Uni, Width,
};
use wavemill_isa::Target;
use wavemill_kernels::fixture;
use wavemill_lift::gcn::registers::SCC;
use wavemill_lift::gcn::{Context, lift_block};
use wavemill_machine::{
    BlockSource, Grid, MemoryMap, RegisterCounts, Registers, RunError, RunOptions, WaveInit, WaveSnapshot,
    run,
};
use wavemill_object::{CodeObject, Limits};

use crate::compile::{Compiled, Lanes, State};

/// MODE of compute kernels: nearest even, denormals kept, DX10_CLAMP, IEEE.
pub(crate) const MODE: u32 = 0x3f0;

/// The first block of the kernel, in the order of addresses, that branches to itself. Kernel and
/// object have the same name.
///
/// # Panics
/// If the object is missing or has no such loop.
pub(crate) fn inner_loop(kernel: &str) -> Block {
    let file = fixture(wavemill_kernels::Target::Gfx942, kernel).expect("a committed object of that name");
    let object = CodeObject::parse(file).expect("the object is well formed");
    let entry = object.functions().find(|f| f.name == kernel).expect("the object has the kernel").address;
    let image = object.image(&Limits::default()).expect("the object fits into memory");
    let mut fetch = |pc: u64, into: &mut [u8; 16]| {
        let rest = pc.checked_sub(image.start).and_then(|at| image.bytes.get(at as usize..)).unwrap_or(&[]);
        let n = rest.len().min(16);
        into[..n].copy_from_slice(&rest[..n]);
        n
    };
    let context = Context::new(Target::Gfx942, MODE, true);
    let mut blocks = BTreeMap::new();
    let mut to_do = vec![entry];
    while let Some(pc) = to_do.pop() {
        if blocks.contains_key(&pc) {
            continue;
        }
        let block = lift_block(&context, pc, &mut fetch);
        match block.terminator {
            Terminator::Jump(next) | Terminator::Barrier(next) => to_do.push(next),
            Terminator::Branch { taken, next, .. } => to_do.extend([taken, next]),
            _ => {}
        }
        blocks.insert(pc, block);
    }
    let itself = |b: &Block| matches!(b.terminator, Terminator::Branch { taken, .. } if taken == b.start);
    blocks.into_values().find(itself).expect("the kernel has an inner loop")
}

/// Address of the code that fills LDS before a loop.
const PRELUDE: u64 = 0x10_0000;
/// Address of the code that ends a run.
const END: u64 = 0x20_0000;
/// Bytes of LDS.
pub(crate) const LDS_SIZE: u32 = 4 * (16 * 68 + 16 * 64);
/// VGPRs of the wave.
const VGPRS: u16 = 128;
/// Row with LDS addresses, followed by the rows that fill it.
const FILL: u16 = 63;
/// Counts the rounds of a loop that ends on its own after few iterations.
const ROUNDS: Uni = Uni(40);

/// A loop with registers to start from.
pub(crate) struct Work {
    /// Name of the kernel.
    pub name: &'static str,
    /// The loop.
    pub block: Block,
    /// The block after it, before it starts again or the run ends.
    after: Block,
    /// Registers and LDS at its start.
    pub state: State,
}

/// Numbers without a pattern.
fn noise(n: u32) -> u32 {
    let mut x = n.wrapping_mul(0x9e37_79b9) ^ 0x85eb_ca6b;
    for _ in 0..3 {
        x ^= x >> 15;
        x = x.wrapping_mul(0x2c1b_3c6d);
    }
    x ^ x >> 13
}

fn rows(f: impl Fn(usize) -> u32) -> Lanes {
    Lanes(std::array::from_fn(f))
}

impl Work {
    /// The loop of a kernel, to run about `iterations` times, in the lanes of `exec`.
    pub(crate) fn new(name: &'static str, iterations: u32, exec: u64) -> Work {
        let block = inner_loop(name);
        let mut state = State {
            rows: vec![Lanes([0; LANES]); VGPRS as usize],
            next: Vec::new(),
            cells: [0; Uni::COUNT as usize],
            own: [[0; Uni::COUNT as usize]; 4],
            lds: vec![Lanes([0; LANES]); LDS_SIZE as usize / (4 * LANES) + 1],
        };
        let v = &mut state.rows;
        v[FILL as usize] = rows(|l| 4 * l as u32);
        for n in 0..LDS_SIZE as usize / (4 * LANES) {
            // Between -1 and 1.
            v[FILL as usize + 1 + n] = rows(|l| (noise((64 * n + l) as u32) as i32 as f32 / 2e9).to_bits());
        }
        for (piece, row) in
            state.lds.iter_mut().zip(&state.rows[FILL as usize + 1..][..LDS_SIZE as usize / (4 * LANES)])
        {
            *piece = *row;
        }
        let (v, s) = (&mut state.rows, &mut state.cells);
        match name {
            "xorshift" => {
                v[2] = rows(|l| noise(l as u32));
                s[5] = iterations;
            }
            "mandelbrot" => {
                // Across the boundary of the set: some lanes leave soon, some late, some never.
                v[0] = rows(|l| (0.002 * l as f32).to_bits());
                v[1] = rows(|l| (-1.3 + 0.03 * l as f32).to_bits());
                v[2] = rows(|l| l as u32);
                s[9] = iterations;
            }
            _ => {
                v[14] = rows(|l| 16 * (l as u32 / 16));
                v[39] = rows(|l| 4 * 16 * 68 + 16 * (l as u32 % 16));
                s[ROUNDS.0 as usize] = iterations.div_ceil(4);
            }
        }
        (s[Uni::ACTIVE.0 as usize], s[Uni::ACTIVE.0 as usize + 1]) = (exec as u32, (exec >> 32) as u32);
        state.next = state.rows.clone();
        let after = after(&block, name == "sgemm");
        Work { name, block, after, state }
    }

    /// Operations of the loop, its branch included, and guest instructions.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.block.insts.len() + 1, self.block.guest.len())
    }

    /// Iterations of the loop in a whole run.
    pub(crate) fn iterations(&self, of_one_round: u64) -> u64 {
        of_one_round * u64::from(self.state.cells[ROUNDS.0 as usize].max(1))
    }

    /// Runs it in the interpreter to the end.
    ///
    /// # Panics
    /// If the run ends unexpectedly.
    pub(crate) fn interpret(&self, map: &MemoryMap, tier: Tier) -> Box<WaveSnapshot> {
        let grid = Grid {
            map,
            source: self,
            init: self,
            workgroups: [1, 1, 1],
            waves_per_group: 1,
            registers: RegisterCounts::of_rows([VGPRS, 0]),
            lds_size: LDS_SIZE,
            lds_granule: 0,
            scratch_size: 0,
            entry: PRELUDE,
            context: MODE,
            resident: 1,
        };
        let options = RunOptions { threads: NonZeroUsize::new(1), ..RunOptions::default() };
        match run(&grid, &Interpreter::on(tier), &options) {
            Err(RunError::Fault(fault)) if fault.pc == END => fault.snapshot,
            other => panic!("expected the fault at the end of the loop, found {other:?}"),
        }
    }

    /// Runs compiled code to the end; returns the number of iterations of the last round, or `None`
    /// if it was abandoned.
    pub(crate) fn run_compiled(&self, code: &Compiled, state: &mut State) -> Option<u64> {
        loop {
            let iterations = code.run(state, u64::MAX / 2)?;
            if self.name != "sgemm" {
                return Some(iterations);
            }
            // The effect of the block after the loop.
            state.cells[8] = 0;
            let exec = state.pair(Uni::ACTIVE.0);
            for (l, lane) in state.rows[14].0.iter_mut().enumerate() {
                *lane = lane.wrapping_sub(0x1100 * (exec >> l & 1) as u32);
            }
            let rounds = &mut state.cells[ROUNDS.0 as usize];
            *rounds -= 1;
            let again = *rounds != 0;
            state.cells[SCC.0 as usize] = u32::from(again);
            if !again {
                return Some(iterations);
            }
        }
    }
}

/// The block after the loop: nothing, or a new round of it.
fn after(block: &Block, rounds: bool) -> Block {
    let Terminator::Branch { next, .. } = block.terminator else { unreachable!("a loop ends in a branch") };
    let mut b = BlockBuilder::new(next);
    b.begin_guest(next);
    if !rounds {
        return b.finish(next + 4, Terminator::Jump(END));
    }
    b.scalar(ScalarOp::Mov, Width::W32, Uni(8), &[Operand::Const(0)]);
    b.begin_guest(next + 4);
    let sources = [Operand::Row(Row(14)), Operand::Const(0x1100), Operand::None, Operand::None];
    let dst = [Operand::Row(Row(14)), Operand::None];
    b.push(Op::Int(IntOp::Sub), dst, sources, Attrs::default());
    b.begin_guest(next + 8);
    b.scalar(ScalarOp::SubOverflow, Width::W32, ROUNDS, &[ROUNDS.into(), Operand::Const(1)]);
    b.begin_guest(next + 12);
    let compare = Op::ScalarCmp(CmpPred::Lg, IntType::U32);
    let sources = [ROUNDS.into(), Operand::Const(0), Operand::None, Operand::None];
    b.push(compare, [SCC.into(), Operand::None], sources, Attrs::default());
    b.begin_guest(next + 16);
    b.finish(
        next + 20,
        Terminator::Branch { cond: Cond::NonZero(SCC, Width::W32), taken: block.start, next: END },
    )
}

impl BlockSource for Work {
    fn block(&self, pc: u64, _: u32) -> Arc<Block> {
        let known = [&self.block, &self.after, &self.prelude()];
        let found = known.into_iter().find_map(|block| block.starting_at(pc));
        Arc::new(found.unwrap_or_else(|| {
            let mut b = BlockBuilder::new(pc);
            b.begin_guest(pc);
            b.finish(pc + 4, Terminator::Fault(FaultKind::IllegalInstruction))
        }))
    }
}

impl Work {
    /// The code before the loop: fills LDS and sets EXEC.
    fn prelude(&self) -> Block {
        let mut b = BlockBuilder::new(PRELUDE);
        for n in 0..LDS_SIZE as u16 / (4 * LANES as u16) {
            b.begin_guest(PRELUDE + 8 * u64::from(n));
            let attrs = Attrs { imm: 4 * LANES as i32 * i32::from(n), ..Attrs::default() };
            let data = Row(FILL + 1 + n).into();
            let sources = [Row(FILL).into(), Operand::None, data, Operand::None];
            let store = Op::Store(Space::Lds, MemType::Dwords(1));
            b.push(store, [Operand::None, Operand::None], sources, attrs);
        }
        let exec = u64::from(self.state.cells[Uni::ACTIVE.0 as usize])
            | u64::from(self.state.cells[Uni::ACTIVE.0 as usize + 1]) << 32;
        b.begin_guest(PRELUDE + 0x800);
        b.scalar(ScalarOp::Mov, Width::W64, Uni::ACTIVE, &[Operand::Const(exec)]);
        b.finish(PRELUDE + 0x808, Terminator::Jump(self.block.start))
    }
}

impl WaveInit for Work {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        LANES as u32
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        for (n, row) in self.state.rows.iter().enumerate() {
            regs.set_row(Row(n as u16), &row.0);
        }
        for (n, cell) in self.state.cells.iter().enumerate().filter(|(n, _)| *n < Uni::ACTIVE.0 as usize) {
            regs.set_uni(Uni(n as u16), *cell);
        }
    }
}
