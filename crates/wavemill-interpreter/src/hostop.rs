//! The interpreter's own form of an operation: a handler with its data.

use std::ptr;

use wavemill_ir::{AtomicOp, ExportOp, FaultKind, LANES, TexelAccess};

use super::atomic::Perform;
use super::edge::Heads;
use super::float::FloatInfo;
use super::image;
use super::matrix;
use super::probe::Site;
use super::translate::Linked;
use wavemill_machine::MemoryMap;
use wavemill_machine::OutOfRange;
use wavemill_machine::engine::{Events, Exports, Hold, PrivateMemory, PrivateWrites};
use wavemill_machine::image::DescriptorProblem;
use wavemill_machine::registers::Registers;
use wavemill_machine::{Access, FaultSpace};

/// A handler: performs one operation on the current wave and returns the next one, or null to leave
/// the interpreter (then [`Ctx::exit`] gives the reason).
pub(super) type Handler = unsafe fn(*mut Ctx, *mut HostOp) -> *mut HostOp;

/// Index in [`HostOp::k`] of the address after the block, for operations that end a block and
/// continue.
pub(super) const BEHIND: usize = 3;

/// Lane number that means no lane.
pub(super) const NO_LANE: u8 = 64;

/// Operand offset flag: a constant in [`HostOp::k`].
pub(super) const CONST: u32 = 1 << 31;
/// Operand offset flag: a uniform cell.
pub(super) const UNIFORM: u32 = 1 << 30;
/// Operand offset flag: no operand.
pub(super) const ABSENT: u32 = 1 << 29;
/// Operand offset flag of a buffer resource: its last dword is not looked at.
pub(super) const PLAIN: u32 = 1 << 28;
/// All flags.
pub(super) const FLAGS: u32 = CONST | UNIFORM | ABSENT | PLAIN;

/// The allocation that a memory operation touched last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct SiteCache {
    /// First guest address.
    pub start: u64,
    /// Bytes.
    pub size: u64,
    /// Host pointer of the first byte.
    pub host: *mut u8,
}

impl SiteCache {
    pub(super) const EMPTY: SiteCache = SiteCache { start: 0, size: 0, host: ptr::null_mut() };
}

/// An operation ready to run. The first 64 bytes are what ALU operations need.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(super) struct HostOp {
    pub run: Handler,
    /// Offset of the result.
    pub dst: u32,
    /// Offset of the second result; for an operation that can be part of a run, [`super::fused::STEP`] and its code.
    pub dst2: u32,
    /// Offsets of the sources, with flags.
    pub src: [u32; 4],
    /// Offset of the lane mask.
    pub mask: u32,
    /// Immediate.
    pub imm: i32,
    /// Constants of the sources.
    pub k: [u64; 4],
    /// Data that float handlers need in addition to the operands.
    pub float: *const FloatInfo,
    /// Guest address of the instruction.
    pub pc: u64,
    /// Data of memory operations and terminators, specific to each kind.
    pub own: Own,
}

/// The part of an operation that depends on its kind. It keeps operations at two cache lines.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) union Own {
    /// For a memory operation: the last allocation.
    pub site: SiteCache,
    /// For an atomic.
    pub atomic: Atomic,
    /// For an access to texels.
    pub texel: Texel,
    /// For a terminator: its targets.
    pub jump: Jump,
    /// For a probe: the data of its instruction.
    pub probe: *const Site,
    /// For a lane permutation: the lane that feeds each lane, [`NO_LANE`] if none does.
    pub lanes: *const [u8; LANES],
    /// For a product of matrices.
    pub matrix: *const matrix::Site,
    /// For an access to an image.
    pub image: *const image::Site,
    /// For an export.
    pub export: *const ExportOp,
    /// For a step that collects exceptions.
    pub collect: Collect,
    /// For a gate: its machine code, for waves that follow their start ([`Ctx::follows_start`]) and for others.
    pub units: [Option<Translated>; 2],
}

/// What a translator made of the block of a gate.
#[derive(Clone, Copy, Debug)]
pub(super) enum Translated {
    /// Machine code.
    Unit(*const Linked),
    /// Nothing.
    Never,
}

/// Data of a step that collects exceptions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Collect {
    /// Offset of the cell that collects them.
    pub cell: u32,
    /// Exceptions that stop the wave.
    pub traps: u32,
    /// Another step of the same operation follows, and that one stops the wave.
    pub more: bool,
}

/// Data of an atomic.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Atomic {
    /// The last allocation, at the same offset as in other memory operations.
    pub site: SiteCache,
    /// The operation itself.
    pub perform: Perform,
    /// Its name.
    pub op: AtomicOp,
}

/// Data of an access to texels.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Texel {
    /// The last allocation, at the same offset as in other memory operations.
    pub site: SiteCache,
    /// What it moves.
    pub access: TexelAccess,
}

impl Texel {
    pub(super) const fn own(access: TexelAccess) -> Own {
        Own { texel: Texel { site: SiteCache::EMPTY, access } }
    }
}

impl std::fmt::Debug for Own {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Own")
    }
}

/// Targets of a terminator.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Jump {
    /// First operations of the target blocks, null until they are compiled.
    pub target: [*mut HostOp; 2],
    /// Guest addresses of the targets.
    pub pc: [u64; 2],
}

impl Jump {
    pub(super) const NOWHERE: Jump = Jump { target: [ptr::null_mut(); 2], pc: [0; 2] };

    /// A jump to one address.
    pub(super) const fn to(pc: u64) -> Own {
        Own { jump: Jump { pc: [pc, 0], ..Jump::NOWHERE } }
    }
}

const _: () = assert!(size_of::<HostOp>() == 128);

/// Why the interpreter was left.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exit {
    /// A block at `pc` is needed; its first operation goes into `target[slot]` of the operation.
    NeedBlock { pc: u64, patch: *mut HostOp, slot: usize },
    /// The instruction budget is used up. The wave continues at `pc`; `from` is the branch that led
    /// there, if any.
    Preempted { pc: u64, from: Option<u64> },
    /// Waits at the barrier with the address `at`; continues at `pc`.
    Barrier { pc: u64, at: u64 },
    /// Lets others run; continues at `pc`.
    Yield { pc: u64 },
    /// Waits for others before the instruction at `pc`; the wait is in [`Ctx::hold`].
    Wait { pc: u64 },
    /// Code has changed; continues at `pc`.
    InvalidateCode { pc: u64 },
    /// The wave ended.
    End,
    /// The program requested a fault.
    Trap { pc: u64, id: u8 },
    /// The context changes.
    SetContext { value: u32, next: u64 },
    /// The context changes, and the scheduler gets the wave, which continues at `at`.
    Resume { context: u32, at: u64 },
    /// A memory access was refused; lanes are in [`Ctx::refused`].
    Memory { pc: u64, access: Access, space: FaultSpace, size: u32 },
    /// An atomic was misaligned; lanes are in [`Ctx::refused`].
    Misaligned { pc: u64, size: u32 },
    /// An operation raises some of these exceptions; lanes are in [`Ctx::refused`], with the
    /// exceptions that they raise.
    Exceptions { pc: u64, enabled: u32 },
    /// A descriptor says something that the machine does not do.
    Descriptor { pc: u64, problem: DescriptorProblem },
    /// The instruction cannot run.
    Fault { pc: u64, kind: FaultKind },
    /// The watcher of the wave has ended the run.
    EndOfRun { pc: u64 },
    /// The block of a gate was entered often enough to be translated.
    Hot { gate: *mut HostOp },
}

/// The state that handlers work with.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Ctx {
    /// Register file of the current wave.
    pub base: *mut u8,
    /// Guest instructions that it may still start.
    pub budget: i64,
    /// LDS of its workgroup.
    pub lds: *mut u8,
    /// Bytes of LDS that the workgroup requested.
    pub lds_size: u32,
    /// Bytes of LDS that are allocated to it, up to the end of the last granule.
    pub lds_allocated: u32,
    /// Bytes of private memory per lane.
    pub scratch_size: u32,
    /// The same as an allocation, for buffer resources that point there.
    pub private: PrivateMemory,
    /// Host memory of the wave's private memory; null until an access needs it.
    pub private_host: *mut u8,
    /// What the wave has written of private memory.
    pub private_writes: PrivateWrites,
    /// Guest memory.
    pub map: *const MemoryMap,
    /// Why the interpreter was left.
    pub exit: Exit,
    /// Lanes of a refused access with their addresses.
    pub refused: Vec<(u8, u64)>,
    /// Accesses of all waves so far that left LDS or the range of a buffer resource.
    pub out_of_range: OutOfRange,
    /// Whether a later load of the wave may still overtake a global or flat store or atomic on the host.
    pub unordered_store: bool,
    /// Offset of the cells that hold the address of the wave's private memory.
    pub private_base: u32,
    /// The context under which blocks are lifted.
    pub context: u32,
    /// Whether what is known of the start of the wave still helps.
    pub follows_start: bool,
    /// The wait that the wave has begun. Behind a pointer, as few waves wait and a run may be short.
    pub hold: *mut Option<Hold>,
    /// The exports of the wave.
    pub exports: *mut Exports,
    /// The source of clock values.
    pub clock: Clock,
    /// The registers at `base`.
    pub registers: *const Registers,
    /// Finds out which loads begin an exchange.
    pub heads: *const Heads<'static>,
    /// For probes: where events go (null for a wave that is not watched).
    pub events: *mut Events<'static>,
}

/// The source of clock values.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Clocks count retired instructions instead of host time.
    pub deterministic: bool,
    /// Guest instructions that the wave had started before this run of the interpreter, plus its
    /// budget. Subtracting the remaining budget gives the number of retired instructions.
    pub retired_base: i64,
}

impl HostOp {
    /// The operation after this one.
    ///
    /// # Safety
    /// `op` is not the last one of its block.
    #[inline(always)]
    pub(super) unsafe fn next(op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the caller's promise.
        unsafe { op.add(1) }
    }
}
