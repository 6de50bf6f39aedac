//! The interpreter: threaded code over the register files of waves.

#![allow(clippy::needless_range_loop, reason = "a lane is the same index into several arrays")]

mod address;
mod atomic;
mod body;
mod buffer;
mod compile;
mod control;
mod cost;
mod cvt;
mod extent;
mod float;
mod format_cvt;
mod hostop;
mod int;
mod lane;
mod lds;
mod mem;
mod scalar;
mod simd;
mod smem;
mod status;
mod step;
mod wide;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use wavemill_ir::{Block, Uni};

use crate::fault::{FaultCause, FaultLane, FaultSpace};
use crate::memory::MemoryMap;
use crate::regs::{RegisterCounts, Registers};
use compile::{Code, Purpose, compile};
use hostop::{Ctx, Exit, Status};

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
    /// The block that starts at the guest address `pc`, lifted under the given value of the MODE register. An address
    /// without code yields a block that ends in a fault.
    fn block(&self, pc: u64, mode: u32) -> Arc<Block>;

    /// Whether the code looks at the floating-point exceptions in TRAPSTS. Collecting them costs a multiple of the float
    /// operations; where this is false they are not collected.
    fn watches_exceptions(&self) -> bool {
        false
    }
}

/// How often the waves of a run entered a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BlockCount {
    /// Guest address of the block.
    pub pc: u64,
    /// The bits of MODE that the block was lifted under.
    pub mode: u32,
    /// Number of times that a wave entered it.
    pub entered: u64,
}

/// A wave between runs of the interpreter.
#[derive(Debug)]
pub(crate) struct Wave {
    pub regs: Registers,
    pub pc: u64,
    pub mode: u32,
    pub trapsts: u32,
    /// Guest instructions that it has run.
    pub retired: u64,
    pub hw_id: u32,
}

/// What a wave may touch while it runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub map: &'a MemoryMap,
    pub lds: *mut u8,
    pub lds_size: u32,
    pub scratch_size: u32,
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

/// Bits of MODE that change what a block means: rounding, denormals, DX10_CLAMP, IEEE, FP16_OVFL, GPR_IDX_EN, VSKIP.
const MODE_KEY: u32 = 0x1880_03ff;

/// Compiled code of one host thread.
pub(crate) struct Interpreter<'a> {
    purpose: Purpose,
    source: &'a dyn BlockSource,
    blocks: HashMap<(u64, u32), Box<Code>>,
    /// The block that was looked up last, with its first operation: most often a kernel's first block.
    last: Option<((u64, u32), *mut hostop::HostOp)>,
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
        let purpose = Purpose { tier, counts, counting, watching: source.watches_exceptions() };
        Interpreter { purpose, source, blocks: HashMap::new(), last: None }
    }

    /// Number of blocks compiled.
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// How often each block was entered, by address and mode; empty unless the interpreter counts.
    pub(crate) fn block_counts(&self) -> impl Iterator<Item = BlockCount> + '_ {
        self.blocks.iter().filter(|_| self.purpose.counting).map(|((pc, mode), code)| {
            let entered = code.ops.first().map_or(0, |op| op.k[0]);
            BlockCount { pc: *pc, mode: *mode, entered }
        })
    }

    fn entry(&mut self, pc: u64, mode: u32) -> *mut hostop::HostOp {
        let key = (pc, mode & MODE_KEY);
        if let Some((_, op)) = self.last.filter(|(last, _)| *last == key) {
            return op;
        }
        let (purpose, source) = (self.purpose, self.source);
        let code =
            self.blocks.entry(key).or_insert_with(|| Box::new(compile(&source.block(pc, mode), purpose)));
        let op = code.ops.as_mut_ptr();
        self.last = Some((key, op));
        op
    }

    /// Runs a wave until it stops or has started `budget` guest instructions.
    pub(crate) fn run(&mut self, wave: &mut Wave, around: Surroundings<'_>, budget: u64) -> WaveExit {
        debug_assert_eq!(wave.regs.counts(), self.purpose.counts);
        let budget = budget.clamp(1, 1 << 40) as i64;
        let mut ctx = Ctx {
            base: wave.regs.base(),
            budget,
            lds: around.lds,
            lds_size: around.lds_size,
            scratch_size: around.scratch_size,
            map: around.map,
            exit: Exit::End,
            refused: Vec::new(),
            unordered_store: true,
            status: Status {
                mode: wave.mode,
                trapsts: wave.trapsts,
                hw_id: wave.hw_id,
                deterministic: around.deterministic,
                lds_alloc: around.lds_size.div_ceil(256) << 12,
                gpr_alloc: u32::from(self.purpose.counts.vgprs.saturating_sub(1) / 4) << 8,
                retired_base: wave.retired as i64 + budget,
                ..Status::default()
            },
        };
        let mut op = self.entry(wave.pc, wave.mode);
        let exit = loop {
            // SAFETY: compiled code belongs to this interpreter and is never freed before it; its offsets are inside a
            // register file with these counts, which `wave` has; handlers fit the tier, which the host has.
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
                    op = self.entry(pc, ctx.status.mode);
                    // SAFETY: `patch` is an operation of this interpreter's code.
                    unsafe { (*patch).own.jump.target[slot] = op };
                }
                Exit::SetMode { value, offset, width, next } => {
                    let mask = if width >= 32 { !0 } else { ((1u32 << width) - 1) << offset };
                    ctx.status.mode = (ctx.status.mode & !mask) | (value << offset & mask);
                    if ctx.budget <= 0 {
                        wave.pc = next;
                        break WaveExit::Preempted;
                    }
                    op = self.entry(next, ctx.status.mode);
                }
                Exit::Preempted { pc } => {
                    wave.pc = pc;
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
                // Trap 3 is a debugger breakpoint: nothing without a debugger (AMDGPUUsage, "Trap Handler ABI").
                Exit::Trap { id: 3, next, .. } => op = self.entry(next, ctx.status.mode),
                Exit::Trap { pc, id, .. } => break WaveExit::Fault { pc, cause: FaultCause::Trap(id) },
                Exit::Fault { pc, kind } => {
                    break WaveExit::Fault { pc, cause: FaultCause::Instruction(kind) };
                }
                Exit::Memory { pc, access, space, size } => {
                    let lanes = refused(&ctx);
                    let first = lanes.first().map_or(0, |l| l.address);
                    let nearest = match space {
                        FaultSpace::Global => around.map.nearest(first),
                        FaultSpace::Scratch => crate::memory::Nearest::After {
                            name: "private memory".into(),
                            distance: first.saturating_sub(u64::from(around.scratch_size)),
                            freed: false,
                        },
                    };
                    break WaveExit::Fault {
                        pc,
                        cause: FaultCause::Memory { access, space, size, lanes, nearest },
                    };
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
        wave.mode = ctx.status.mode;
        wave.trapsts = ctx.status.trapsts;
        wave.retired += (budget - ctx.budget).max(0) as u64;
        exit
    }
}

fn refused(ctx: &Ctx) -> Vec<FaultLane> {
    ctx.refused.iter().map(|(lane, address)| FaultLane { lane: *lane, address: *address }).collect()
}

/// Cells that start a wave off: EXEC of its first lanes.
pub(crate) fn set_exec(regs: &mut Registers, lanes: u32) {
    let mask = if lanes >= 64 { !0 } else { (1u64 << lanes) - 1 };
    regs.set_uni64(Uni::EXEC, mask);
}
