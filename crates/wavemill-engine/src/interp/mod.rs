//! The interpreter: threaded code over the register files of waves.

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

mod address;
mod atomic;
mod body;
mod buffer;
mod compare;
mod compile;
mod control;
mod cost;
mod cvt;
mod float;
mod format_cvt;
mod hostop;
mod indexed;
mod int;
mod lane;
mod lds;
mod mem;
mod probe;
mod scalar;
mod simd;
mod smem;
mod status;
mod step;
mod strict;
mod wide;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use wavemill_ir::{Block, FaultKind, Uni};

use crate::fault::{Access, BufferRange, FaultCause, FaultLane, FaultSpace, Strict};
use crate::memory::{MemoryMap, Nearest};
use crate::observe::{Events, Interests};
use crate::out_of_range::OutOfRange;
use crate::regs::{RegisterCounts, Registers, uni_offset};
use compile::{Code, Purpose, compile};
use hostop::{Clock, Ctx, Exit};
pub(crate) use smem::scalar_address;

pub use cost::{OperationCost, operation_costs};

/// Vector hardware of the host that the interpreter uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Tier {
    /// What every build of the target architecture has.
    Portable,
    /// x86-64 with AVX2, FMA and F16C.
    Avx2,
    /// x86-64 with AVX-512 F, BW, DQ, VL and CD.
    Avx512,
}

impl Tier {
    /// All tiers, slowest first.
    pub const ALL: [Tier; 3] = [Tier::Portable, Tier::Avx2, Tier::Avx512];

    /// Whether this host can run the tier.
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            Tier::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Tier::Avx2 => {
                is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
                    && is_x86_feature_detected!("f16c")
                    && is_x86_feature_detected!("bmi1")
                    && is_x86_feature_detected!("bmi2")
                    && is_x86_feature_detected!("lzcnt")
                    && is_x86_feature_detected!("popcnt")
            }
            #[cfg(target_arch = "x86_64")]
            Tier::Avx512 => {
                Tier::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512cd")
            }
            #[cfg(not(target_arch = "x86_64"))]
            _ => false,
        }
    }

    /// The best tier of this host.
    #[must_use]
    pub fn detect() -> Tier {
        Tier::ALL.into_iter().rev().find(|t| t.is_available()).unwrap_or(Tier::Portable)
    }

    /// Name for messages and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Tier::Portable => "portable",
            Tier::Avx2 => "avx2",
            Tier::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Where blocks of IR come from.
pub trait BlockSource: Sync {
    /// The block that starts at the guest address `pc`, lifted under a context of which only the bits of
    /// [`BlockSource::context_key`] matter. `pc` may be the address of any instruction: waves are preempted and stepped
    /// inside of blocks. An address without code yields a block that ends in a fault.
    fn block(&self, pc: u64, context: u32) -> Arc<Block>;

    /// The bits of a wave's context that blocks depend on: the same for a whole run.
    fn context_key(&self) -> u32 {
        !0
    }

    /// The block of the one instruction at the guest address `pc`, for those who run step by step. Sources that lift
    /// code do better than to cut a whole block.
    fn single(&self, pc: u64, context: u32) -> Arc<Block> {
        Arc::new(self.block(pc, context).first())
    }

    /// The cell that collects the floating-point exceptions that operations raise, as bits of
    /// [`wavemill_float::Exceptions`]. Collecting them costs a multiple of the float operations; where nobody looks at them
    /// they are not collected.
    fn exceptions(&self) -> Option<Uni> {
        None
    }

    /// A number that changes when blocks handed out before may no longer be what is in memory.
    fn generation(&self) -> u64 {
        0
    }

    /// A wave says that code may have changed: looks, and changes [`BlockSource::generation`] if it has.
    fn refresh(&self) {}
}

/// How often the waves of a run entered a block.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlockCount {
    /// Guest address of the block.
    pub pc: u64,
    /// The bits of the context that the block was lifted under.
    pub context: u32,
    /// Number of times that a wave entered it.
    pub entered: u64,
    /// Active lanes, summed up over all entries: number of a guest instruction in the block, and how many lanes were active at
    /// those from it on. In ascending order; the first number is 0.
    pub lanes: Vec<(u32, u64)>,
}

impl BlockCount {
    /// Active lanes at the guest instruction with this number, summed up over all entries.
    #[must_use]
    pub fn lanes_at(&self, guest: u32) -> u64 {
        let behind = self.lanes.partition_point(|(from, _)| *from <= guest);
        behind.checked_sub(1).map_or(0, |at| self.lanes[at].1)
    }

    /// Adds the counts of the same block elsewhere.
    pub(crate) fn add(&mut self, other: &BlockCount) {
        self.entered += other.entered;
        for (guest, lanes) in &other.lanes {
            match self.lanes.binary_search_by_key(guest, |(from, _)| *from) {
                Ok(at) => self.lanes[at].1 += lanes,
                // The code has changed meanwhile.
                Err(at) => self.lanes.insert(at, (*guest, *lanes)),
            }
        }
    }
}

/// A wave between runs of the interpreter.
#[derive(Debug)]
pub(crate) struct Wave {
    pub regs: Registers,
    pub pc: u64,
    /// The context under which its blocks are lifted.
    pub context: u32,
    /// Guest instructions that it has run.
    pub retired: u64,
    /// Its private memory: guest addresses from the first byte to behind the last one.
    pub private: (u64, u64),
    /// Address of the branch that led to `pc`, if the wave was preempted there or the instruction there is illegal.
    pub from: Option<u64>,
}

impl Wave {
    /// A wave with registers of zeros that has not begun.
    pub(crate) fn new(registers: RegisterCounts) -> Self {
        Wave { regs: Registers::new(registers), pc: 0, context: 0, retired: 0, private: (0, 0), from: None }
    }
}

/// What a wave may touch while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub map: &'a MemoryMap,
    pub lds: *mut u8,
    pub lds_size: u32,
    pub lds_allocated: u32,
    pub scratch_size: u32,
    /// Private memory of all resident waves: guest addresses from the first byte to behind the last one.
    pub private: (u64, u64),
    pub deterministic: bool,
}

/// Why a wave stopped running.
#[derive(Debug)]
pub(crate) enum WaveExit {
    /// The budget is used up.
    Preempted,
    /// It waits at a barrier.
    Barrier,
    /// It lets others run.
    Yield,
    /// It ended.
    End,
    /// It faulted at the address.
    Fault { pc: u64, cause: FaultCause },
}

/// Host operations that a thread keeps (64 MiB of them); with more than that it starts anew.
const MAX_OPS: usize = 1 << 19;

/// Compiled code of one host thread.
pub(crate) struct Interpreter<'a> {
    purpose: Purpose<'a>,
    source: &'a dyn BlockSource,
    /// The bits of contexts that matter to the source.
    context_key: u32,
    blocks: HashMap<(u64, u32), Box<Code>>,
    /// The block that was looked up last, with its first operation: most often a kernel's first block.
    last: Option<((u64, u32), *mut hostop::HostOp)>,
    /// Host operations of all blocks, and how many there may be.
    ops: usize,
    max_ops: usize,
    /// The source's generation that the blocks are of.
    generation: u64,
    /// How often all blocks were dropped: pointers to operations are good as long as this stays.
    dropped: u64,
    /// Blocks compiled so far.
    compiled: usize,
    /// Counts of blocks that were dropped.
    counted: HashMap<(u64, u32), BlockCount>,
    /// Accesses out of range of all waves that it ran.
    out_of_range: OutOfRange,
}

impl fmt::Debug for Interpreter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interpreter({}, {} blocks)", self.purpose.tier, self.blocks.len())
    }
}

impl<'a> Interpreter<'a> {
    pub(crate) fn new(
        tier: Tier,
        counts: RegisterCounts,
        source: &'a dyn BlockSource,
        counting: bool,
    ) -> Self {
        let tier = if tier.is_available() { tier } else { Tier::Portable };
        let exceptions = source.exceptions();
        let strict = Strict::default();
        let purpose = Purpose { tier, counts, counting, exceptions, strict, interests: None };
        Interpreter {
            purpose,
            source,
            context_key: source.context_key(),
            blocks: HashMap::new(),
            last: None,
            ops: 0,
            max_ops: MAX_OPS,
            generation: source.generation(),
            dropped: 0,
            compiled: 0,
            counted: HashMap::new(),
            out_of_range: OutOfRange::default(),
        }
    }

    /// The same, before anything has run, with accesses as faults of which the chip says nothing.
    pub(crate) fn strict(mut self, strict: Strict) -> Self {
        self.purpose.strict = strict;
        self
    }

    /// Accesses out of range of all waves that it has run.
    pub(crate) fn out_of_range(&self) -> OutOfRange {
        self.out_of_range
    }

    /// Number of blocks compiled.
    pub(crate) fn block_count(&self) -> usize {
        self.compiled
    }

    /// The same for waves that are watched: blocks have probes for what is asked.
    pub(crate) fn watching(mut self, interests: &'a Interests) -> Self {
        self.purpose.interests = Some(interests);
        self
    }

    /// How often each block was entered, by address and context, in parts if it was compiled again; empty unless the
    /// interpreter counts.
    pub(crate) fn block_counts(&self) -> impl Iterator<Item = BlockCount> + '_ {
        let now = self.blocks.iter().filter(|_| self.purpose.counting);
        now.map(|(key, code)| block_count(*key, code)).chain(self.counted.values().cloned())
    }

    /// Forgets all compiled code. No pointer to an operation may be used afterwards.
    fn drop_blocks(&mut self) {
        for (key, code) in self.blocks.drain() {
            if self.purpose.counting {
                let counted = block_count(key, &code);
                self.counted.entry(key).and_modify(|old| old.add(&counted)).or_insert(counted);
            }
        }
        self.last = None;
        self.ops = 0;
        self.dropped += 1;
    }

    /// Forgets all compiled code if the source's code has changed.
    fn follow_source(&mut self) {
        let generation = self.source.generation();
        if generation != self.generation {
            self.drop_blocks();
            self.generation = generation;
        }
    }

    /// The first operation at an address. All other pointers to operations are void if [`Interpreter::dropped`] changes.
    fn entry(&mut self, pc: u64, context: u32) -> *mut hostop::HostOp {
        let key = (pc, context & self.context_key);
        if let Some((_, op)) = self.last.filter(|(last, _)| *last == key) {
            return op;
        }
        let op = match self.blocks.get_mut(&key) {
            Some(code) => code.ops.as_mut_ptr(),
            None => {
                if self.ops >= self.max_ops {
                    self.drop_blocks();
                }
                let block = self.source.block(pc, key.1);
                let code = Box::new(compile(&block, self.purpose));
                self.ops += code.ops.len();
                self.compiled += 1;
                self.blocks.entry(key).or_insert(code).ops.as_mut_ptr()
            }
        };
        self.last = Some((key, op));
        op
    }

    /// Runs a wave until it stops or has started `budget` guest instructions. An interpreter for watched waves wants to
    /// know where events go.
    pub(crate) fn run(
        &mut self,
        wave: &mut Wave,
        around: Surroundings<'_>,
        budget: u64,
        events: Option<&mut Events<'_>>,
    ) -> WaveExit {
        debug_assert_eq!(wave.regs.counts(), self.purpose.counts);
        assert!(
            self.purpose.interests.is_none() || events.is_some(),
            "blocks with probes run for watched waves only"
        );
        let budget = budget.clamp(1, 1 << 40) as i64;
        let mut ctx = Ctx {
            base: wave.regs.base(),
            budget,
            lds: around.lds,
            lds_size: around.lds_size,
            lds_allocated: around.lds_allocated,
            scratch_size: around.scratch_size,
            private: hostop::PrivateMemory { all: around.private, own: wave.private },
            map: around.map,
            exit: Exit::End,
            refused: Vec::new(),
            out_of_range: OutOfRange::default(),
            unordered_store: true,
            private_base: uni_offset(self.purpose.counts.private_base),
            context: wave.context,
            clock: Clock { deterministic: around.deterministic, retired_base: wave.retired as i64 + budget },
            registers: &raw const wave.regs,
            events: events.map_or(std::ptr::null_mut(), |events| (&raw mut *events).cast()),
        };
        self.follow_source();
        // The last branch that needed a block, and where it led.
        let mut branch = wave.from.take().map(|from| (from, wave.pc));
        let mut op = self.entry(wave.pc, wave.context);
        let exit = loop {
            // SAFETY: compiled code belongs to this interpreter, which frees it only between handlers and then goes on
            // with a fresh `op`; its offsets are inside a register file with these counts, which `wave` has; handlers fit
            // the tier, which the host has.
            unsafe {
                loop {
                    op = ((*op).run)(&raw mut ctx, op);
                    if op.is_null() {
                        break;
                    }
                }
            }
            match ctx.exit {
                Exit::NeedBlock { pc, patch, slot } => {
                    let dropped = self.dropped;
                    // SAFETY: `patch` is an operation of this interpreter's code, which is there before blocks are dropped.
                    branch = unsafe { control::branch_to(patch, pc) }.map(|from| (from, pc));
                    op = self.entry(pc, ctx.context);
                    // A branch to nowhere comes by here each time, for the report.
                    let nowhere = self
                        .blocks
                        .get(&(pc, ctx.context & self.context_key))
                        .is_some_and(|code| code.nowhere);
                    if self.dropped == dropped && !nowhere {
                        // SAFETY: `patch` is an operation of this interpreter's code, which is still there.
                        unsafe { (*patch).own.jump.target[slot] = op };
                    }
                }
                Exit::InvalidateCode { pc } => {
                    self.source.refresh();
                    self.follow_source();
                    if ctx.budget <= 0 {
                        wave.pc = pc;
                        break WaveExit::Preempted;
                    }
                    op = self.entry(pc, ctx.context);
                }
                Exit::SetContext { value, next } => {
                    ctx.context = value;
                    if ctx.budget <= 0 {
                        wave.pc = next;
                        break WaveExit::Preempted;
                    }
                    op = self.entry(next, ctx.context);
                }
                Exit::Preempted { pc, from } => {
                    wave.pc = pc;
                    wave.from = from;
                    break WaveExit::Preempted;
                }
                Exit::Barrier { pc } => {
                    wave.pc = pc;
                    break WaveExit::Barrier;
                }
                Exit::Yield { pc } => {
                    wave.pc = pc;
                    break WaveExit::Yield;
                }
                Exit::End => break WaveExit::End,
                Exit::Trap { pc, id } => {
                    break WaveExit::Fault { pc, cause: FaultCause::Trap(id) };
                }
                Exit::Fault { pc: target, kind: FaultKind::NoCode }
                    if branch.is_some_and(|(_, to)| to == target) =>
                {
                    let pc = branch.map_or(target, |(from, _)| from);
                    break WaveExit::Fault { pc, cause: FaultCause::BadJump { target } };
                }
                Exit::Fault { pc, kind } => {
                    if kind == FaultKind::IllegalInstruction {
                        wave.from = branch.filter(|(_, to)| *to == pc).map(|(from, _)| from);
                    }
                    break WaveExit::Fault { pc, cause: FaultCause::Instruction(kind) };
                }
                Exit::Memory { pc, access, space, size } => {
                    let mut lanes = refused(&ctx);
                    if matches!(space, FaultSpace::Scratch | FaultSpace::Lds) {
                        // These offsets have 32 bits: in front of the start they are negative.
                        for lane in lanes.iter_mut().filter(|lane| lane.address >> 32 == 0) {
                            lane.address = lane.address as i32 as u64;
                        }
                    }
                    let nearest =
                        nearest(&around, space, lanes.first().map_or(0, |l| l.address), size, access);
                    let cause = FaultCause::Memory { access, space, size, lanes, nearest };
                    break WaveExit::Fault { pc, cause };
                }
                Exit::Misaligned { pc, size } => {
                    let lanes = refused(&ctx);
                    break WaveExit::Fault { pc, cause: FaultCause::MisalignedAtomic { size, lanes } };
                }
            }
        };
        if let WaveExit::Fault { pc, .. } = exit {
            wave.pc = pc;
        }
        wave.context = ctx.context;
        wave.retired += (budget - ctx.budget).max(0) as u64;
        self.out_of_range += ctx.out_of_range;
        exit
    }
}

/// Where the first refused address of an access lies.
fn nearest(around: &Surroundings<'_>, space: FaultSpace, first: u64, size: u32, access: Access) -> Nearest {
    let near = |name: &str, offset: u64, size: u64| {
        let name = name.to_owned();
        match offset.checked_sub(size) {
            _ if (offset as i64) < 0 => {
                Nearest::Before { name, distance: offset.wrapping_neg(), freed: false }
            }
            Some(distance) => Nearest::After { name, distance, freed: false },
            None => Nearest::Inside { name, offset, size },
        }
    };
    match space {
        FaultSpace::Global => around.map.refusal(first, u64::from(size), access),
        FaultSpace::Scratch => near("private memory", first, around.scratch_size.into()),
        FaultSpace::Lds => near("LDS", first, around.lds_size.into()),
        FaultSpace::Buffer(BufferRange::Bytes(n) | BufferRange::Records(n)) => {
            near("buffer resource", first, n)
        }
    }
}

fn block_count((pc, context): (u64, u32), code: &Code) -> BlockCount {
    let (entered, lanes) = code.counts();
    BlockCount { pc, context, entered, lanes }
}

fn refused(ctx: &Ctx) -> Vec<FaultLane> {
    ctx.refused.iter().map(|(lane, address)| FaultLane { lane: *lane, address: *address }).collect()
}

/// Makes the first lanes of a wave active.
pub(crate) fn set_active(regs: &mut Registers, lanes: u32) {
    let mask = if lanes >= 64 { !0 } else { (1u64 << lanes) - 1 };
    regs.set_uni64(Uni::ACTIVE, mask);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use wavemill_ir::{BlockBuilder, Operand, ScalarOp, Terminator, Width};

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

    fn steps(interp: &mut Interpreter<'_>, wave: &mut Wave, n: u64) {
        let map = MemoryMap::default();
        let lds = std::ptr::null_mut();
        let around = Surroundings {
            map: &map,
            lds,
            lds_size: 0,
            lds_allocated: 0,
            scratch_size: 0,
            private: (0, 0),
            deterministic: true,
        };
        assert!(matches!(interp.run(wave, around, n, None), WaveExit::Preempted));
    }

    #[test]
    fn compiled_code_is_bounded() {
        let source = ring(100, false);
        let mut interp = Interpreter::new(Tier::Portable, COUNTS, &source, true);
        interp.max_ops = 20;
        let mut wave = Wave::new(COUNTS);
        for n in 1..=30 {
            steps(&mut interp, &mut wave, 10);
            assert_eq!(wave.regs.uni(Uni(0)), 10 * n);
            assert!(interp.blocks.len() <= 20, "{} blocks", interp.blocks.len());
        }
        // Nothing that was counted is lost.
        let mut entered = HashMap::new();
        for c in interp.block_counts() {
            *entered.entry(c.pc).or_insert(0) += c.entered;
        }
        assert_eq!(entered, (0..100).map(|pc| (pc, 3)).collect());
    }

    #[test]
    fn a_new_generation_of_code_is_what_runs() {
        let source = ring(1, false);
        let mut interp = Interpreter::new(Tier::Portable, COUNTS, &source, false);
        let mut wave = Wave::new(COUNTS);
        steps(&mut interp, &mut wave, 5);
        assert_eq!(wave.regs.uni(Uni(0)), 5);
        source.refresh();
        steps(&mut interp, &mut wave, 5);
        assert_eq!(wave.regs.uni(Uni(0)), 5 + 2 * 5);
    }

    #[test]
    fn a_wave_that_invalidates_code_goes_on_in_the_new_one() {
        let source = ring(1, true);
        let mut interp = Interpreter::new(Tier::Portable, COUNTS, &source, false);
        let mut wave = Wave::new(COUNTS);
        steps(&mut interp, &mut wave, 4);
        assert_eq!(wave.regs.uni(Uni(0)), 1 + 2 + 3 + 4);
        assert_eq!(wave.retired, 4);
    }
}
