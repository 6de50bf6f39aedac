//! Checks whether a grid can never finish.
//!
//! The proof is per wave: instruction by instruction, it returns to an earlier state (program
//! counter, registers, context), reads no clock on the way, and changes neither memory nor LDS. If
//! all waves that do not wait at a barrier do so while no other waves run, none of the values that
//! they read will ever change, in whatever order they run. So a grid that would finish is never
//! reported as stuck. Loops that count, or that write and undo it, are not found.

use std::collections::HashMap;

use wavemill_ir::{Inst, LANES, Op, Operand, Row, Space, Terminator, Uni};

use crate::code::{BlockCount, BlockSource};
use crate::control::RunControl;
use crate::engine::{Executor, Surroundings, Wave, WaveExit, scalar_address};
use crate::memory::MemoryMap;
use crate::observe::{Events, SingleSteps};
use crate::out_of_range::OutOfRange;

/// Cost of a step, in guest instructions of an ordinary run.
const STEP: u64 = 16;
/// Bytes that can be compared or digested at the cost of one instruction.
const BYTES: u64 = 64;

/// The loop that a wave cannot leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Spin {
    /// Guest address of the instruction with the lowest address.
    pub first: u64,
    /// Guest address of the instruction with the highest address.
    pub last: u64,
    /// Instructions of one round.
    pub instructions: u64,
    /// Guest address of the instruction that reads memory; if there are several, the last one of
    /// the round.
    pub polls: Option<u64>,
    /// Guest address in global memory that it reads, in its first active lane; `None` if it reads
    /// other memory.
    pub address: Option<u64>,
}

/// The result of a check of a wave.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It spins, and changes nothing.
    Spins(Spin),
    /// It may make progress.
    Unclear,
    /// It left its block for another reason than the end of the step.
    Exit(WaveExit),
}

/// The effect of an instruction besides computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Effect {
    None,
    Reads,
    /// It may write memory or LDS.
    Writes,
    /// Its result depends on more than registers and memory.
    Unknown,
}

fn effect_of(op: Op) -> Effect {
    let effects = op.signature().effects;
    match (effects.reads_surroundings, effects.writes_memory, effects.reads_memory) {
        (true, _, _) => Effect::Unknown,
        (_, true, _) => Effect::Writes,
        (_, _, true) => Effect::Reads,
        _ => Effect::None,
    }
}

/// The address in global memory that an operation accesses in its first active lane, before it runs.
fn address_of(inst: &Inst, wave: &Wave) -> Option<u64> {
    let lane = wave.regs.uni64(Uni::ACTIVE).trailing_zeros() as usize % LANES;
    let dword = |operand: Operand| match operand {
        Operand::None => Some(0),
        Operand::Const(value) => Some(u64::from(value as u32)),
        Operand::Uni(cell) => (cell.0 < Uni::TEMP0.0).then(|| u64::from(wave.regs.uni(cell))),
        Operand::Row(row) => (row.0 < Row::TEMP0.0).then(|| u64::from(wave.regs.row(row)[lane])),
    };
    let wide = |operand: Operand| Some(dword(operand.dword(0))? | dword(operand.dword(1))? << 32);
    let [first, second, ..] = inst.src;
    let constant = i64::from(inst.attrs.imm);
    let (base, offset) = match inst.op {
        Op::ScalarLoad(_) | Op::ScalarAtomic(..) => {
            return Some(scalar_address(wide(first)?, dword(second)?, constant));
        }
        Op::Load(Space::Global | Space::Flat, _) | Op::Atomic(_, Space::Global | Space::Flat, _) => {
            match second {
                Operand::None => (wide(first)?, 0),
                _ => (wide(second)?, dword(first)?),
            }
        }
        _ => return None,
    };
    Some(base.wrapping_add(offset).wrapping_add_signed(constant))
}

/// Everything besides memory that decides the next action of a wave.
#[derive(Debug, Default)]
struct WaveState {
    pc: u64,
    context: u32,
    cells: Vec<u32>,
    rows: Vec<[u32; LANES]>,
}

fn rows_of(wave: &Wave) -> impl Iterator<Item = [u32; LANES]> + '_ {
    wave.regs.counts().all_rows().map(|row| wave.regs.row(row))
}

/// Temporaries do not count: a block writes them before it reads them.
fn cells_of(wave: &Wave) -> impl Iterator<Item = u32> + '_ {
    wave.regs.counts().persistent_cells().map(|cell| wave.regs.uni(cell))
}

impl WaveState {
    fn take(&mut self, wave: &Wave) {
        (self.pc, self.context) = (wave.pc, wave.context);
        self.cells.clear();
        self.cells.extend(cells_of(wave));
        self.rows.clear();
        self.rows.extend(rows_of(wave));
    }

    fn is(&self, wave: &Wave) -> bool {
        (self.pc, self.context) == (wave.pc, wave.context)
            && cells_of(wave).eq(self.cells.iter().copied())
            && rows_of(wave).eq(self.rows.iter().copied())
    }

    fn cost(&self) -> u64 {
        4 * (self.cells.len() + self.rows.len() * LANES) as u64 / BYTES
    }
}

/// An attempt to prove that a grid is stuck. No other thread may run waves of the grid meanwhile,
/// except for an attempt [beside others](Attempt::beside_others).
pub(crate) struct Attempt<'a> {
    executor: Box<dyn Executor + 'a>,
    /// The executor for watched waves.
    watching: Option<Box<dyn Executor + 'a>>,
    source: &'a SingleSteps<'a>,
    effects: HashMap<(u64, u32), Effect>,
    /// Remaining cost.
    budget: u64,
    /// Whether no other thread runs waves of the grid meanwhile.
    alone: bool,
    /// Can stop the attempt.
    control: Option<&'a RunControl>,
    map: &'a MemoryMap,
    /// Digest of all memory, once computed.
    digest: Option<u64>,
    lds: Vec<u8>,
    state: WaveState,
}

impl<'a> Attempt<'a> {
    /// An attempt with this budget; `executor` runs single steps of `source`.
    pub(crate) fn new(
        executor: Box<dyn Executor + 'a>,
        source: &'a SingleSteps<'a>,
        map: &'a MemoryMap,
        budget: u64,
        control: Option<&'a RunControl>,
    ) -> Self {
        let (effects, lds, state) = Default::default();
        Attempt {
            executor,
            watching: None,
            source,
            effects,
            budget,
            alone: true,
            control,
            map,
            digest: None,
            lds,
            state,
        }
    }

    /// Adds an executor for watched waves.
    pub(crate) fn watching(self, executor: Box<dyn Executor + 'a>) -> Self {
        Attempt { watching: Some(executor), ..self }
    }

    /// Allows other threads to run waves meanwhile: then it only proves that a wave did nothing
    /// except read memory.
    pub(crate) fn beside_others(self) -> Self {
        Attempt { alone: false, ..self }
    }

    /// Resets the budget.
    pub(crate) fn renew(&mut self, budget: u64) {
        self.budget = budget;
    }

    /// Out-of-range accesses of the waves that it has advanced.
    pub(crate) fn out_of_range(&self) -> OutOfRange {
        let mut all = self.executor.out_of_range();
        all += self.watching.as_ref().map(|executor| executor.out_of_range()).unwrap_or_default();
        all
    }

    /// Entry counts of the instructions of the waves that it has advanced.
    pub(crate) fn block_counts(&self) -> Vec<BlockCount> {
        let mut all = self.executor.block_counts();
        all.extend(self.watching.iter().flat_map(|executor| executor.block_counts()));
        all
    }

    /// The remaining budget.
    pub(crate) fn left(&self) -> u64 {
        self.budget
    }

    /// Runs one instruction.
    fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        events: Option<&mut Events<'_>>,
    ) -> WaveExit {
        match (&mut self.watching, events) {
            (Some(executor), Some(events)) => executor.run(wave, around, 1, Some(events)),
            _ => self.executor.run(wave, around, 1, None),
        }
    }

    fn effect(&mut self, pc: u64, context: u32) -> Effect {
        let source = self.source;
        *self.effects.entry((pc, context)).or_insert_with(|| {
            let block = source.block(pc, context);
            // After an invalidation, the same address may hold other code.
            if let Terminator::InvalidateCode(_) = block.terminator {
                return Effect::Unknown;
            }
            let effects = || block.insts.iter().map(|inst| effect_of(inst.op));
            let strongest = [Effect::Unknown, Effect::Writes, Effect::Reads];
            strongest.into_iter().find(|e| effects().any(|f| f == *e)).unwrap_or(Effect::None)
        })
    }

    /// Pays a cost; returns whether enough was left.
    fn pay(&mut self, cost: u64) -> bool {
        let enough = self.budget >= cost && !self.control.is_some_and(RunControl::is_stopped);
        self.budget = self.budget.saturating_sub(cost);
        enough
    }

    /// Runs a wave until it returns to an earlier state, or the attempt fails.
    pub(crate) fn wave(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        mut events: Option<&mut Events<'_>>,
    ) -> Verdict {
        self.state.take(wave);
        // Brent's cycle detection: the saved state is renewed at powers of two.
        let (mut round, mut limit) = (0u64, 1u64);
        let mut spin = Spin { first: u64::MAX, last: 0, instructions: 0, polls: None, address: None };
        loop {
            let (pc, effect) = (wave.pc, self.effect(wave.pc, wave.context));
            if effect == Effect::Unknown || !self.pay(STEP) {
                return Verdict::Unclear;
            }
            let Some(exit) = self.step(wave, around, effect, events.as_deref_mut()) else {
                return Verdict::Unclear;
            };
            if !matches!(exit, WaveExit::Preempted | WaveExit::Yield) {
                return Verdict::Exit(exit);
            }
            round += 1;
            spin.first = spin.first.min(pc);
            spin.last = spin.last.max(pc);
            if matches!(effect, Effect::Reads | Effect::Writes) {
                spin.polls = Some(pc);
            }
            if wave.pc == self.state.pc {
                if !self.pay(self.state.cost()) {
                    return Verdict::Unclear;
                }
                if self.state.is(wave) {
                    spin.instructions = round;
                    spin.address = self.polled(wave, around, &spin, events);
                    return Verdict::Spins(spin);
                }
            }
            if round == limit {
                (round, limit) = (0, 2 * limit);
                spin = Spin { first: u64::MAX, last: 0, instructions: 0, polls: None, address: None };
                self.state.take(wave);
                if !self.pay(self.state.cost()) {
                    return Verdict::Unclear;
                }
            }
        }
    }

    /// The address that a wave reads in the loop that it cannot leave. The wave continues in the
    /// loop to reach that instruction.
    fn polled(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        spin: &Spin,
        mut events: Option<&mut Events<'_>>,
    ) -> Option<u64> {
        for _ in 0..spin.instructions {
            if spin.polls == Some(wave.pc) {
                let block = self.source.block(wave.pc, wave.context);
                return block.insts.iter().rev().find_map(|inst| address_of(inst, wave));
            }
            // Every step of the loop is known to change nothing.
            self.run(wave, around, events.as_deref_mut());
        }
        None
    }

    /// Runs one instruction. `None` if it changed memory or LDS, or if it would cost too much to
    /// know.
    fn step(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        effect: Effect,
        events: Option<&mut Events<'_>>,
    ) -> Option<WaveExit> {
        if effect != Effect::Writes {
            return Some(self.run(wave, around, events));
        }
        let memory = self.map.bytes()?;
        if !self.alone || !self.pay((2 * memory + 2 * u64::from(around.lds.allocated())) / BYTES) {
            return None;
        }
        let map = self.map;
        let before = *self.digest.get_or_insert_with(|| map.digest());
        let size = around.lds.allocated() as usize;
        self.lds.clear();
        // SAFETY: LDS has this many bytes, and only this thread runs waves that access it.
        self.lds.extend_from_slice(unsafe { std::slice::from_raw_parts(around.lds.ptr(), size) });
        let exit = self.run(wave, around, events);
        // SAFETY: as above.
        let same_lds = unsafe { std::slice::from_raw_parts(around.lds.ptr(), size) } == self.lds;
        // Exits are progress, whatever the contents of memory.
        let goes_on = matches!(exit, WaveExit::Preempted | WaveExit::Yield);
        if goes_on && !(same_lds && map.digest() == before) {
            return None;
        }
        Some(exit)
    }
}
