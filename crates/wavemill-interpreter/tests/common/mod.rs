//! Runs hand-made blocks of IR on one wave and returns the registers afterwards, on every tier of
//! the interpreter and on the reference engine.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use wavemill_interpreter::{Interpreter, Tier};
use wavemill_ir::{Attrs, Block, Inst, LaneMask, Op, Operand, Row, Terminator, Uni, Value};
use wavemill_jit::Jit;
use wavemill_machine::engine::Engine;
use wavemill_machine::{
    BlockSource, Fault, FaultCause, Grid, GuestMemory, OutOfRange, RegisterCounts, Registers, RunError,
    RunOptions, RunStats, Strict, WaveInit, WaveSnapshot, run,
};
use wavemill_reference_engine::ReferenceEngine;

/// Address of the only block.
const START: u64 = 0x1000;
/// Flag of operations in these tests.
pub(crate) const FLAG: Uni = Uni(128);
/// Index of operations in these tests.
pub(crate) const INDEX: Uni = Uni(124);
/// Cell pair with the address of private memory.
pub(crate) const PRIVATE: Uni = Uni(254);
/// Registers of the wave.
pub(crate) const COUNTS: RegisterCounts = RegisterCounts::of_rows([256, 0]);

/// The initial state and the surroundings of a wave.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// Rows.
    pub(crate) rows: Vec<(Row, [u32; 64])>,
    /// Uniform cells.
    pub(crate) cells: Vec<(Uni, u32)>,
    /// EXEC.
    pub(crate) exec: u64,
    /// Bytes of LDS.
    pub(crate) lds_size: u32,
    pub(crate) lds_granule: u32,
    /// Bytes of private memory of a lane.
    pub(crate) scratch_size: u32,
    /// Address of the private memory of all waves, and bytes of each wave's part.
    pub(crate) private: Option<(u64, u64)>,
    /// Workgroups.
    pub(crate) workgroups: u32,
    /// Waves of each.
    pub(crate) waves: u32,
    /// Host threads.
    pub(crate) threads: usize,
    /// Accesses that are faults although the chip ignores them.
    pub(crate) strict: Strict,
}

impl Setup {
    /// One wave with the given EXEC.
    pub(crate) fn one_wave(exec: u64) -> Setup {
        Setup { exec, workgroups: 1, waves: 1, threads: 1, ..Setup::default() }
    }
}

/// The engines that run a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Runner {
    /// The interpreter on a tier.
    Interpreter(Tier),
    /// Machine code, with the interpreter for the rest.
    Jit,
    /// The reference engine.
    Reference,
}

impl Runner {
    /// The interpreter on the host's best tier.
    pub(crate) fn detect() -> Runner {
        Runner::Interpreter(Tier::detect())
    }

    /// The engine for the machine.
    pub(crate) fn engine(self) -> Box<dyn Engine> {
        match self {
            Runner::Interpreter(tier) => Box::new(Interpreter::on(tier)),
            Runner::Jit => Box::new(Jit::new()),
            Runner::Reference => Box::new(ReferenceEngine::with_close_looks(Box::new(Interpreter::new()))),
        }
    }
}

impl fmt::Display for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Runner::Interpreter(tier) => write!(f, "tier {tier}"),
            Runner::Jit => f.write_str("machine code"),
            Runner::Reference => f.write_str("reference"),
        }
    }
}

struct Source(Arc<Block>);

impl BlockSource for Source {
    fn block(&self, _: u64, _: u32) -> Arc<Block> {
        self.0.clone()
    }
}

struct Init<'a>(&'a Setup);

impl WaveInit for Init<'_> {
    fn work_items(&self, _: [u32; 3]) -> u32 {
        64 * self.0.waves
    }

    fn init(&self, _: [u32; 3], _: u32, _: u32, regs: &mut Registers) {
        for (row, lanes) in &self.0.rows {
            regs.set_row(*row, lanes);
        }
        for (cell, value) in &self.0.cells {
            regs.set_uni(*cell, *value);
        }
        regs.set_uni64(Uni::ACTIVE, self.0.exec);
    }

    fn scratch(&self, slot: u32) -> Option<(u64, u64)> {
        self.0.private.map(|(address, size)| (address + u64::from(slot) * size, size))
    }
}

/// Runs the operations as one block that ends as given.
pub(crate) fn run_block(
    insts: &[Inst],
    terminator: Terminator,
    setup: &Setup,
    memory: &GuestMemory,
    runner: Runner,
) -> Result<RunStats, RunError> {
    // The guest number of an operation names its instruction; the instructions are four bytes each.
    let last = insts.iter().map(|inst| inst.guest).max().unwrap_or(0);
    let guest: Vec<u64> = (0..=u64::from(last)).map(|n| START + 4 * n).collect();
    let next = START + 4 * guest.len() as u64;
    let covered = START..next;
    let (insts, ranges) = (insts.to_vec(), vec![covered]);
    let block = Block { start: START, next, ranges, insts, guest, terminator };
    wavemill_ir::verify(&block).expect("the block is well formed");
    let map = memory.snapshot();
    let grid = Grid {
        map: &map,
        source: &Source(Arc::new(block)),
        init: &Init(setup),
        workgroups: [setup.workgroups, 1, 1],
        waves_per_group: setup.waves,
        registers: COUNTS,
        lds_size: setup.lds_size,
        lds_granule: setup.lds_granule,
        scratch_size: setup.scratch_size,
        entry: START,
        context: 0,
        resident: 64,
    };
    let options = RunOptions {
        threads: NonZeroUsize::new(setup.threads),
        strict: setup.strict,
        ..RunOptions::default()
    };
    run(&grid, &*runner.engine(), &options)
}

/// Runs the operations on one wave and returns its registers.
pub(crate) fn registers_after(
    insts: &[Inst],
    setup: &Setup,
    memory: &GuestMemory,
    runner: Runner,
) -> WaveSnapshot {
    match fault_of(insts, setup, memory, runner) {
        Fault { cause: FaultCause::Trap(2), snapshot, .. } => *snapshot,
        other => panic!("unexpected fault: {:?}", other.cause),
    }
}

/// Runs the operations on one wave and returns the fault: the trap after the last one if there is
/// no other fault.
pub(crate) fn fault_of(insts: &[Inst], setup: &Setup, memory: &GuestMemory, runner: Runner) -> Fault {
    let end = Terminator::Trap(2);
    match run_block(insts, end, setup, memory, runner) {
        Err(RunError::Fault(fault)) => *fault,
        other => panic!("expected the trap, got {other:?}"),
    }
}

/// Runs the operations on one wave that ends, and returns how many accesses were out of range.
pub(crate) fn out_of_range(
    insts: &[Inst],
    setup: &Setup,
    memory: &GuestMemory,
    runner: Runner,
) -> OutOfRange {
    run_block(insts, Terminator::End, setup, memory, runner).expect("nothing faults").out_of_range
}

/// The tiers of this host, and the reference engine. It prints the tiers that the host lacks,
/// because they are not tested.
pub(crate) fn runners() -> Vec<Runner> {
    let (here, missing): (Vec<Tier>, Vec<Tier>) = Tier::ALL.into_iter().partition(|t| t.is_available());
    for t in missing {
        eprintln!("not run on tier {t}: this host lacks its instructions");
    }
    here.into_iter().map(Runner::Interpreter).chain([Runner::Jit, Runner::Reference]).collect()
}

/// The interpreter on the host's best tier, machine code, and the reference engine, for tests of
/// properties that all tiers share.
pub(crate) fn best() -> [Runner; 3] {
    [Runner::detect(), Runner::Jit, Runner::Reference]
}

/// An operation under EXEC. Sources that it does not have are left out.
pub(crate) fn inst(op: Op, dst: impl Into<Operand>, src: &[Operand], attrs: Attrs) -> Inst {
    let mut sources = [Operand::None; Inst::SOURCES];
    for ((slot, operand), value) in sources.iter_mut().zip(src).zip(op.signature().sources) {
        if value != Value::None {
            *slot = *operand;
        }
    }
    Inst { op, dst: [dst.into(), Operand::None], src: sources, attrs, mask: LaneMask::Active, guest: 0 }
}

/// A VGPR as an operand.
pub(crate) fn v(n: u16) -> Operand {
    Operand::Row(Row(n))
}

/// An SGPR as an operand.
pub(crate) fn s(n: u16) -> Operand {
    Operand::Uni(Uni(n))
}
