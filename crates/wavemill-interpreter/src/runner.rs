//! Runs waves: compiles blocks when a wave reaches them, and chains them.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use wavemill_ir::analysis::{Effect, RegisterSet};
use wavemill_ir::{Block, Uni};
use wavemill_machine::CHECKS_ACCESSES;
use wavemill_machine::engine::{
    Events, Executor, Inside, PrivateMemory, PrivateWrites, Start, Starts, Surroundings, Task, Wave, WaveExit,
};
use wavemill_machine::registers::{RegisterCounts, WrittenRows, uni_offset};
use wavemill_machine::{BlockCount, BlockSource, FaultCause, FaultLane, OutOfRange, RaisedLane, Strict};

use crate::compile::{Code, Purpose, compile};
use crate::edge::Heads;
use crate::hostop::{self, Clock, Ctx, Exit, Translated};
use crate::translate::{self, Blocks, Link, Linked, Translation, Translator};
use crate::{Tier, control};

/// Host operations that a thread keeps (64 MiB of them); beyond it, the thread drops all blocks.
const MAX_OPS: usize = 1 << 19;
/// Blocks that a thread finds again without a look at the map of all, a power of two.
const FOUND: usize = 64;

/// Compiled code of one host thread.
pub(crate) struct Runner<'a> {
    purpose: Purpose<'a>,
    source: &'a dyn BlockSource,
    /// The bits of contexts that matter to the source.
    context_key: u32,
    blocks: HashMap<(u64, u32), Box<Code>>,
    /// Blocks that were looked up, with their first operations, by the lowest bits of their addresses: a kernel's first
    /// block, those behind barriers, and the destinations of calls.
    found: [Option<((u64, u32), *mut hostop::HostOp)>; FOUND],
    /// Number of host operations of all blocks, and its limit.
    ops: usize,
    max_ops: usize,
    /// The generation of the source that the blocks come from.
    generation: u64,
    /// How often all blocks were dropped; pointers to operations are valid while this number stays
    /// the same.
    dropped: u64,
    /// Blocks compiled so far.
    compiled: usize,
    /// Counts of blocks that were dropped.
    counted: HashMap<(u64, u32), BlockCount>,
    /// The rows that all code so far may write.
    written: WrittenRows,
    /// The state of handlers, between runs.
    ctx: Option<Box<Ctx>>,
    /// Which loads begin an exchange. Operations point to it.
    heads: Rc<Heads<'a>>,
    /// How waves start.
    starts: Option<&'a dyn Starts>,
    /// The generation of the code that `starts` describes.
    first_generation: Option<u64>,
    /// Makes machine code of blocks that are entered often.
    translator: Option<Arc<dyn Translator>>,
    /// The machine code that gates lead to.
    #[allow(clippy::vec_box, reason = "gates hold pointers to the elements")]
    units: Vec<Box<Linked>>,
}

impl fmt::Debug for Runner<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Runner({}, {} blocks)", self.purpose.tier, self.blocks.len())
    }
}

impl<'a> Runner<'a> {
    pub(crate) fn new(tier: Tier, task: Task<'a>, translator: Option<Arc<dyn Translator>>) -> Self {
        let Task { counts, source, counting, strict, interests, starts } = task;
        let exceptions = source.exceptions().filter(|cell| cell.0 < Uni::COUNT);
        // Machine code counts nothing, collects no exceptions, checks no more than the chip, and reports to nobody.
        let plain = !counting && exceptions.is_none() && strict == Strict::default() && interests.is_none();
        let translator = translator.filter(|_| plain);
        // Blocks have gates of their own.
        let purpose = Purpose { tier, counts, counting, exceptions, strict, interests, gate: None };
        Runner {
            purpose,
            source,
            context_key: source.context_key(),
            blocks: HashMap::new(),
            found: [None; FOUND],
            ops: 0,
            max_ops: MAX_OPS,
            generation: source.generation(),
            dropped: 0,
            compiled: 0,
            counted: HashMap::new(),
            written: WrittenRows::default(),
            ctx: None,
            heads: Rc::new(Heads::new(source)),
            starts,
            first_generation: starts.map(Starts::generation),
            translator,
            units: Vec::new(),
        }
    }

    /// The state of handlers before the first run. Each run sets what belongs to its wave.
    fn new_ctx(&self) -> Ctx {
        Ctx {
            base: std::ptr::null_mut(),
            budget: 0,
            lds: std::ptr::null_mut(),
            lds_size: 0,
            lds_allocated: 0,
            scratch_size: 0,
            private: PrivateMemory::default(),
            private_host: std::ptr::null_mut(),
            private_writes: PrivateWrites::default(),
            map: std::ptr::null(),
            exit: Exit::End,
            refused: Vec::new(),
            out_of_range: OutOfRange::default(),
            unordered_store: true,
            private_base: uni_offset(self.purpose.counts.private_base.first()),
            context: 0,
            follows_start: false,
            hold: std::ptr::null_mut(),
            exports: std::ptr::null_mut(),
            clock: Clock::default(),
            registers: std::ptr::null(),
            heads: Rc::as_ptr(&self.heads).cast(),
            events: std::ptr::null_mut(),
        }
    }

    /// Drops all compiled code. No pointer to an operation may be used afterwards.
    fn drop_blocks(&mut self) {
        for (key, code) in std::mem::take(&mut self.blocks) {
            self.keep_counts(key, &code);
        }
        self.found = [None; FOUND];
        self.units.clear();
        self.ops = 0;
        self.dropped += 1;
        self.heads.forget();
    }

    /// Drops all compiled code if the source's code has changed.
    fn follow_source(&mut self) {
        let generation = self.source.generation();
        if generation != self.generation {
            self.drop_blocks();
            self.generation = generation;
        }
    }

    /// The first operation at an address. All other pointers to operations are invalid if
    /// [`Runner::dropped`] changes.
    fn entry(&mut self, pc: u64, context: u32) -> *mut hostop::HostOp {
        let key = (pc, context & self.context_key);
        let slot = (pc / 4) as usize % FOUND;
        if let Some((found, op)) = self.found[slot]
            && found == key
        {
            return op;
        }
        let op = match self.blocks.get_mut(&key) {
            Some(code) => code.ops.as_mut_ptr(),
            None => {
                if self.ops >= self.max_ops {
                    self.drop_blocks();
                }
                let block = self.source.block(pc, key.1);
                self.note_writes(&block);
                let translator = self.translator.as_ref();
                let gate = translator.map(|t| t.patience(&block, key.1, self.purpose.counts).max(1));
                let mut code = Box::new(compile(&block, Purpose { gate, ..self.purpose }, 0));
                // Another thread may have changed the code when a translator asks for the block.
                code.block = gate.map(|_| block);
                self.ops += code.ops.len();
                self.compiled += 1;
                self.blocks.entry(key).or_insert(code).ops.as_mut_ptr()
            }
        };
        self.found[slot] = Some((key, op));
        op
    }

    /// Whether the source still has the code that was compiled. Otherwise another thread has changed it, and new blocks are of
    /// the new code, also those that the translator gets.
    fn has_same_code(&self) -> bool {
        self.source.generation() == self.generation
    }

    /// Machine code for the block of a gate, if the translator makes some. Returns the operation to continue with.
    fn translated(
        &mut self,
        gate: *mut hostop::HostOp,
        context: u32,
        follows_start: bool,
    ) -> *mut hostop::HostOp {
        let kind = usize::from(follows_start);
        // SAFETY: the gate is an operation of this interpreter's code, which exists until blocks are dropped.
        let (pc, units) = unsafe { ((*gate).pc, (*gate).own.units) };
        if units[kind].is_some() {
            // It has counted entries for the other kind of waves.
            // SAFETY: as above.
            unsafe { (*gate).run = translate::enter };
            return gate;
        }
        let dropped = self.dropped;
        let translator = self.translator.clone();
        let translation = translator.map_or(Translation::Never, |translator| {
            translator.translate(pc, &mut CodeOf { runner: self, context, follows_start })
        });
        // What is known of a start may be about code that the wave has not run.
        let is_for_later =
            matches!(translation, Translation::Later) || (follows_start && !self.has_same_code());
        let unit = match translation {
            Translation::Unit(unit) if !is_for_later => Some(unit),
            _ => None,
        };
        let linked = unit.and_then(|unit| {
            Linked::new(unit, |Link { block, operation }| {
                self.entry(block, context);
                let code = self.blocks.get_mut(&(block, context & self.context_key))?;
                translate::operation_at(code, operation)
            })
        });
        if self.dropped != dropped {
            // Too much code for this thread: the gate and the links are gone.
            return self.entry(pc, context);
        }
        // SAFETY: blocks have not been dropped, so the gate still exists.
        unsafe {
            let translated = match &linked {
                None if is_for_later => {
                    translate::look_later(gate);
                    return gate;
                }
                Some(linked) => Translated::Unit(&raw const **linked),
                None => Translated::Never,
            };
            (*gate).own.units[kind] = Some(translated);
            (*gate).run = translate::enter;
            self.units.extend(linked);
        }
        gate
    }

    /// Takes note of the rows that a block may write.
    fn note_writes(&mut self, block: &Block) {
        let mut writes = RegisterSet::EMPTY;
        block.insts.iter().for_each(|inst| Effect::add_writes(inst, &mut writes));
        self.written.add(writes);
    }

    /// The rest of a block, compiled for a single use: waves are seldom left at the same operation
    /// twice.
    fn rest(&mut self, inside: &Inside) -> Box<Code> {
        self.note_writes(&inside.block);
        Box::new(compile(&inside.block, self.purpose, inside.operation))
    }

    /// Keeps the counts of code that is dropped.
    fn keep_counts(&mut self, key: (u64, u32), code: &Code) {
        if self.purpose.counting {
            let counted = block_count(key, code);
            self.counted.entry(key).and_modify(|old| old.add(&counted)).or_insert(counted);
        }
    }
}

/// The code of a runner, for its translator.
struct CodeOf<'r, 'a> {
    runner: &'r mut Runner<'a>,
    context: u32,
    follows_start: bool,
}

impl Blocks for CodeOf<'_, '_> {
    fn block(&mut self, position: u64) -> Option<translate::Compiled> {
        let runner = &mut *self.runner;
        let dropped = runner.dropped;
        runner.entry(position, self.context);
        let key = (position, self.context & runner.context_key);
        let code = runner.blocks.get(&key)?;
        if code.nowhere || runner.dropped != dropped {
            return None;
        }
        Some(translate::described(Arc::clone(code.block.as_ref()?), code))
    }

    fn counts(&self) -> RegisterCounts {
        self.runner.purpose.counts
    }

    fn tier(&self) -> Tier {
        self.runner.purpose.tier
    }

    fn context(&self) -> u32 {
        self.context & self.runner.context_key
    }

    fn start(&self) -> Option<&Start> {
        self.runner.starts.filter(|_| self.follows_start).map(Starts::start)
    }

    fn lifted(&mut self, position: u64) -> Arc<Block> {
        self.runner.source.block(position, self.context())
    }
}

impl Executor for Runner<'_> {
    fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        events: Option<&mut Events<'_>>,
    ) -> WaveExit {
        assert_eq!(wave.regs.counts(), self.purpose.counts, "the executor is made for other registers");
        assert!(
            self.purpose.interests.is_none() || events.is_some(),
            "blocks with probes run for watched waves only"
        );
        let budget = budget.clamp(1, 1 << 40) as i64;
        let mut kept = self.ctx.take().unwrap_or_else(|| Box::new(self.new_ctx()));
        let ctx = &mut *kept;
        ctx.base = wave.regs.base();
        ctx.budget = budget;
        ctx.lds = around.lds.ptr();
        ctx.lds_size = around.lds.asked();
        ctx.lds_allocated = around.lds.allocated();
        ctx.scratch_size = around.scratch_size;
        ctx.private = PrivateMemory { all: around.private, own: wave.private };
        ctx.private_host = std::ptr::null_mut();
        ctx.private_writes = match CHECKS_ACCESSES {
            true => wave.writes,
            // Accesses that are not checked are not looked at.
            false => PrivateWrites { own: u64::MAX, others: true },
        };
        ctx.map = around.map;
        ctx.refused.clear();
        ctx.unordered_store = true;
        ctx.context = wave.context;
        ctx.hold = &raw mut wave.hold;
        ctx.exports = &raw mut wave.exports;
        ctx.clock = Clock { deterministic: around.deterministic, retired_base: wave.retired as i64 + budget };
        ctx.registers = &raw const wave.regs;
        ctx.events = events.map_or(std::ptr::null_mut(), |events| (&raw mut *events).cast());
        self.follow_source();
        ctx.follows_start = wave.follows_start && self.first_generation == Some(self.generation);
        // The last branch that needed a block, and its destination.
        let mut branch = wave.from.take().map(|from| (from, wave.pc));
        // Compiled code that no other wave reaches; it must outlive the loop.
        let mut rest = wave.inside.take().map(|inside| {
            debug_assert_eq!(inside.block.start, wave.pc, "the block begins where the wave stands");
            ((wave.pc, wave.context & self.context_key), self.rest(&inside))
        });
        let mut op = match &mut rest {
            Some((_, code)) => code.ops.as_mut_ptr(),
            None => self.entry(wave.pc, wave.context),
        };
        let exit = loop {
            // SAFETY: compiled code belongs to this interpreter, which frees it only between
            // handlers and then continues with a new `op`; its offsets are inside a register file
            // with these counts, which `wave` has; handlers match the tier, which the host has.
            unsafe {
                loop {
                    op = ((*op).run)(&raw mut *ctx, op);
                    if op.is_null() {
                        break;
                    }
                }
            }
            match ctx.exit {
                Exit::NeedBlock { pc, patch, slot } => {
                    let dropped = self.dropped;
                    // SAFETY: `patch` is an operation of this interpreter's code, which exists
                    // until blocks are dropped.
                    branch = unsafe { control::branch_to(patch, pc) }.map(|from| (from, pc));
                    op = self.entry(pc, ctx.context);
                    ctx.follows_start &= self.has_same_code();
                    // A branch to an address without code is not chained, so that each one is
                    // reported.
                    let nowhere = self
                        .blocks
                        .get(&(pc, ctx.context & self.context_key))
                        .is_some_and(|code| code.nowhere);
                    if self.dropped == dropped && !nowhere {
                        // SAFETY: `patch` is an operation of this interpreter's code, which still
                        // exists.
                        unsafe { (*patch).own.jump.target[slot] = op };
                    }
                }
                Exit::Hot { gate } => {
                    ctx.follows_start &= self.has_same_code();
                    op = self.translated(gate, ctx.context, ctx.follows_start);
                }
                Exit::InvalidateCode { pc } => {
                    ctx.follows_start = false;
                    self.source.refresh();
                    self.follow_source();
                    if ctx.budget <= 0 {
                        wave.pc = pc;
                        break WaveExit::Preempted;
                    }
                    op = self.entry(pc, ctx.context);
                }
                Exit::SetContext { value, next } => {
                    (ctx.context, ctx.follows_start) = (value, false);
                    if ctx.budget <= 0 {
                        wave.pc = next;
                        break WaveExit::Preempted;
                    }
                    op = self.entry(next, ctx.context);
                }
                Exit::Resume { context, at } => {
                    (ctx.context, ctx.follows_start) = (context, false);
                    wave.pc = at;
                    break WaveExit::Preempted;
                }
                Exit::Preempted { pc, from } => {
                    wave.pc = pc;
                    wave.from = from;
                    break WaveExit::Preempted;
                }
                Exit::Barrier { pc, at } => {
                    wave.pc = pc;
                    wave.barrier = at;
                    break WaveExit::Barrier;
                }
                Exit::Yield { pc } => {
                    wave.pc = pc;
                    break WaveExit::Yield;
                }
                Exit::Wait { pc } => {
                    // It goes on inside its block, where another block may begin to which it has not branched.
                    ctx.follows_start = false;
                    wave.pc = pc;
                    break WaveExit::Wait;
                }
                Exit::End => break WaveExit::End,
                Exit::Trap { pc, id } => {
                    break WaveExit::fault(pc, FaultCause::Trap(id));
                }
                Exit::EndOfRun { pc } => {
                    // SAFETY: probes run only for watched waves, and nothing else accesses their
                    // events meanwhile.
                    let events = unsafe { ctx.events.as_ref() };
                    let end = events.and_then(|events| events.end_of_run(pc));
                    break end.expect("a probe has just seen that the watcher ended the run");
                }
                Exit::Fault { pc, kind } => break WaveExit::cannot_run(wave, pc, kind, branch),
                Exit::Memory { pc, access, space, size } => {
                    let cause = around.refusal(access, space, size, refused(ctx));
                    break WaveExit::fault(pc, cause);
                }
                Exit::Exceptions { pc, enabled } => {
                    let raised =
                        |(lane, raised): &(u8, u64)| RaisedLane { lane: *lane, raised: *raised as u32 };
                    let lanes = ctx.refused.iter().map(raised).collect();
                    break WaveExit::fault(pc, FaultCause::Exceptions { enabled, lanes });
                }
                Exit::Descriptor { pc, problem } => {
                    break WaveExit::fault(pc, FaultCause::Descriptor(problem));
                }
                Exit::Misaligned { pc, size } => {
                    let lanes = refused(ctx);
                    break WaveExit::fault(pc, FaultCause::MisalignedAtomic { size, lanes });
                }
            }
        };
        if let Some((key, code)) = rest {
            self.keep_counts(key, &code);
        }
        if let WaveExit::Fault(fault) = &exit {
            wave.pc = fault.pc;
        }
        wave.regs.note_written(&self.written);
        wave.context = ctx.context;
        wave.follows_start = ctx.follows_start;
        wave.writes = ctx.private_writes;
        wave.retired += (budget - ctx.budget).max(0) as u64;
        self.ctx = Some(kept);
        exit
    }

    fn out_of_range(&self) -> OutOfRange {
        self.ctx.as_ref().map(|ctx| ctx.out_of_range).unwrap_or_default()
    }

    fn blocks(&self) -> usize {
        self.compiled
    }

    fn block_counts(&self) -> Vec<BlockCount> {
        let now = self.blocks.iter().filter(|_| self.purpose.counting);
        now.map(|(key, code)| block_count(*key, code)).chain(self.counted.values().cloned()).collect()
    }
}

fn block_count((pc, context): (u64, u32), code: &Code) -> BlockCount {
    let (entered, lanes) = code.counts();
    BlockCount { pc, context, entered, lanes }
}

fn refused(ctx: &Ctx) -> Vec<FaultLane> {
    ctx.refused.iter().map(|(lane, address)| FaultLane { lane: *lane, address: *address }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use wavemill_ir::{Block, BlockBuilder, Operand, ScalarOp, Terminator, Width};

    use std::sync::Arc;

    use wavemill_machine::engine::Lds;
    use wavemill_machine::{MemoryMap, RegisterCounts, Strict};

    use super::*;

    const COUNTS: RegisterCounts = RegisterCounts::of_rows([1, 0]);

    /// A ring of blocks, each of which adds the generation to s0; a block that invalidates code starts a new generation.
    struct Ring {
        length: u64,
        generation: AtomicU64,
        invalidate: bool,
    }

    impl BlockSource for Ring {
        fn block(&self, pc: u64, _: u32) -> Arc<Block> {
            let mut b = BlockBuilder::new(pc);
            b.begin_guest(pc);
            let step = Operand::Const(self.generation());
            b.scalar(ScalarOp::AddCarryOut, Width::W32, Uni(0), &[Uni(0).into(), step]);
            let next = (pc + 1) % self.length;
            let end = if self.invalidate { Terminator::InvalidateCode(next) } else { Terminator::Jump(next) };
            Arc::new(b.finish(pc + 4, end))
        }

        fn generation(&self) -> u64 {
            self.generation.load(Ordering::Relaxed)
        }

        fn refresh(&self) {
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn ring(length: u64, invalidate: bool) -> Ring {
        Ring { length, generation: AtomicU64::new(1), invalidate }
    }

    fn runner(source: &Ring, counting: bool) -> Runner<'_> {
        let task = Task {
            counts: COUNTS,
            source,
            counting,
            strict: Strict::default(),
            interests: None,
            starts: None,
        };
        Runner::new(Tier::Portable, task, None)
    }

    fn steps(runner: &mut Runner<'_>, wave: &mut Wave, n: u64) {
        let map = MemoryMap::default();
        let lds = Lds::new(0, 1);
        let around =
            Surroundings { map: &map, lds: &lds, scratch_size: 0, private: (0, 0), deterministic: true };
        assert!(matches!(runner.run(wave, around, n, None), WaveExit::Preempted));
    }

    #[test]
    fn compiled_code_is_bounded() {
        let source = ring(100, false);
        let mut runner = runner(&source, true);
        runner.max_ops = 20;
        let mut wave = Wave::new(COUNTS);
        for n in 1..=30 {
            steps(&mut runner, &mut wave, 10);
            assert_eq!(wave.regs.uni(Uni(0)), 10 * n);
            assert!(runner.blocks.len() <= 20, "{} blocks", runner.blocks.len());
        }
        // No counts are lost.
        let mut entered = HashMap::new();
        for c in runner.block_counts() {
            *entered.entry(c.pc).or_insert(0) += c.entered;
        }
        assert_eq!(entered, (0..100).map(|pc| (pc, 3)).collect());
    }

    #[test]
    fn a_new_generation_of_code_is_what_runs() {
        let source = ring(1, false);
        let mut runner = runner(&source, false);
        let mut wave = Wave::new(COUNTS);
        steps(&mut runner, &mut wave, 5);
        assert_eq!(wave.regs.uni(Uni(0)), 5);
        source.refresh();
        steps(&mut runner, &mut wave, 5);
        assert_eq!(wave.regs.uni(Uni(0)), 5 + 2 * 5);
    }

    #[test]
    fn a_wave_that_invalidates_code_goes_on_in_the_new_one() {
        let source = ring(1, true);
        let mut runner = runner(&source, false);
        let mut wave = Wave::new(COUNTS);
        steps(&mut runner, &mut wave, 4);
        assert_eq!(wave.regs.uni(Uni(0)), 1 + 2 + 3 + 4);
        assert_eq!(wave.retired, 4);
    }

    /// Code that another thread changes all the time: each block has one operation more than the one before.
    #[derive(Default)]
    struct Growing(AtomicU64);

    impl BlockSource for Growing {
        fn block(&self, pc: u64, _: u32) -> Arc<Block> {
            let mut b = BlockBuilder::new(pc);
            b.begin_guest(pc);
            for _ in 0..self.0.fetch_add(1, Ordering::Relaxed) {
                b.scalar(ScalarOp::Mov, Width::W32, Uni(0), &[Operand::Const(7)]);
            }
            Arc::new(b.finish(pc + 4, Terminator::Jump(pc)))
        }

        fn generation(&self) -> u64 {
            self.0.load(Ordering::Relaxed)
        }
    }

    /// Keeps the blocks that it is asked about.
    #[derive(Debug, Default)]
    struct Asked(std::sync::Mutex<Vec<translate::Compiled>>);

    impl Translator for Asked {
        fn patience(&self, _: &Block, _: u32, _: RegisterCounts) -> u64 {
            1
        }

        fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Translation {
            self.0.lock().unwrap().extend(blocks.block(position));
            Translation::Never
        }
    }

    #[test]
    fn a_translator_gets_the_block_that_was_compiled() {
        let (source, asked) = (Growing::default(), Arc::new(Asked::default()));
        let strict = Strict::default();
        let task =
            Task { counts: COUNTS, source: &source, counting: false, strict, interests: None, starts: None };
        let mut runner = Runner::new(Tier::Portable, task, Some(asked.clone()));
        for _ in 0..3 {
            steps(&mut runner, &mut Wave::new(COUNTS), 2);
        }
        let asked = asked.0.lock().unwrap();
        let operations: Vec<_> =
            asked.iter().map(|one| (one.block.insts.len(), one.host_operations.len())).collect();
        assert_eq!(operations, [(0, 0), (1, 1), (2, 2)]);
    }

    /// A ring of two blocks. The code changes when somebody asks for the second block, if that is to be so.
    struct Changed {
        generation: Arc<AtomicU64>,
        with_second: bool,
    }

    impl BlockSource for Changed {
        fn block(&self, pc: u64, _: u32) -> Arc<Block> {
            if pc == 8 && self.with_second {
                self.generation.store(2, Ordering::Relaxed);
            }
            let mut b = BlockBuilder::new(pc);
            b.begin_guest(pc);
            Arc::new(b.finish(pc + 4, Terminator::Jump(8 - pc)))
        }

        fn generation(&self) -> u64 {
            self.generation.load(Ordering::Relaxed)
        }
    }

    /// Keeps where it was asked, and whether that was for waves that follow their start. For others, there will be machine
    /// code.
    #[derive(Debug, Default)]
    struct ForStarts {
        asked: std::sync::Mutex<Vec<(u64, bool)>>,
        /// The code changes when it is asked.
        changes: Option<Arc<AtomicU64>>,
    }

    impl Translator for ForStarts {
        fn patience(&self, _: &Block, _: u32, _: RegisterCounts) -> u64 {
            1
        }

        fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Translation {
            let for_start = blocks.start().is_some();
            let mut asked = self.asked.lock().unwrap();
            asked.push((position, for_start));
            if let Some(generation) = &self.changes {
                generation.store(2, Ordering::Relaxed);
            }
            // A test should fail rather than go on for ever.
            if for_start || asked.len() > 100 { Translation::Never } else { Translation::Later }
        }
    }

    /// What a translator is asked in the ring, for one wave that follows its start and then for another one that does not.
    fn asked_in_ring(with_second: bool, when_asked: bool) -> Vec<(u64, bool)> {
        let generation = Arc::new(AtomicU64::new(1));
        let source = Changed { generation: Arc::clone(&generation), with_second };
        let translator =
            Arc::new(ForStarts { changes: when_asked.then_some(generation), ..Default::default() });
        let (wave, entry) = (wavemill_ir::analysis::WaveFacts::default(), Default::default());
        let start = Start { pc: 0, context: 0, generation: 1, wave, entry };
        let strict = Strict::default();
        let starts: Option<&dyn Starts> = Some(&start);
        let task = Task { counts: COUNTS, source: &source, counting: false, strict, interests: None, starts };
        let mut runner = Runner::new(Tier::Portable, task, Some(translator.clone()));
        for follows_start in [true, false] {
            let mut wave = Wave::new(COUNTS);
            wave.follows_start = follows_start;
            steps(&mut runner, &mut wave, 20);
        }
        let asked = translator.asked.lock().unwrap();
        asked.clone()
    }

    /// Each block is entered ten times by each wave: once, then sixteen times more, before the next look.
    #[test]
    fn waves_go_on_until_there_is_machine_code_of_their_kind() {
        assert_eq!(asked_in_ring(false, false), [(0, true), (8, true), (0, false), (8, false)]);
    }

    /// What is known of a start is about the old code, and the wave may have run some of it.
    #[test]
    fn no_wave_follows_its_start_in_code_that_another_thread_changes() {
        let of_first = asked_in_ring(true, false);
        assert_eq!(of_first[..2], [(0, true), (8, false)]);
        // The second wave comes to compiled code that is new.
        let of_first = asked_in_ring(false, true);
        assert_eq!(of_first[..2], [(0, true), (8, false)]);
        assert!(of_first[2..].iter().all(|(_, for_start)| !for_start));
    }

    /// It stands inside its block then, where another block may begin.
    #[test]
    fn a_wave_that_waits_does_not_follow_its_start() {
        struct Waits;
        impl BlockSource for Waits {
            fn block(&self, pc: u64, _: u32) -> Arc<Block> {
                let mut b = BlockBuilder::new(pc);
                b.begin_guest(pc);
                b.scalar(ScalarOp::Mov, Width::W32, Uni(0), &[Operand::Const(0)]);
                b.begin_guest(pc + 4);
                let op = wavemill_ir::Op::Sync(wavemill_ir::SyncOp::Lower);
                b.push(op, [Operand::None; 2], [Uni(0).into()], wavemill_ir::Attrs::default());
                Arc::new(b.finish(pc + 8, Terminator::Jump(pc)))
            }
        }
        let (wave, entry) = (wavemill_ir::analysis::WaveFacts::default(), Default::default());
        let start = Start { pc: 0, context: 0, generation: Waits.generation(), wave, entry };
        let strict = Strict::default();
        let starts: Option<&dyn Starts> = Some(&start);
        let task = Task { counts: COUNTS, source: &Waits, counting: false, strict, interests: None, starts };
        let mut runner = Runner::new(Tier::Portable, task, None);
        let mut wave = Wave::new(COUNTS);
        wave.follows_start = true;
        let (map, lds) = (MemoryMap::default(), Lds::new(0, 1));
        let around =
            Surroundings { map: &map, lds: &lds, scratch_size: 0, private: (0, 0), deterministic: true };
        assert!(matches!(runner.run(&mut wave, around, 10, None), WaveExit::Wait));
        assert_eq!((wave.pc, wave.follows_start), (4, false));
    }
}
