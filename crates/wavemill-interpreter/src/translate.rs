//! The seam to a translator: a crate that makes machine code of the host from blocks.
//!
//! A block that is compiled for translation begins with a *gate*. The gate counts entries. When
//! there were enough of them, the runner asks the [`Translator`] for a [`Unit`] that begins with the
//! block, and from then on the gate enters the machine code.
//!
//! Machine code leaves for the interpreter by returning the host operation that comes next. It has
//! a table of them, in the order of [`Unit::links`]. So it can leave before any operation, with all
//! registers in the register file, and the interpreter does the rest: what is refused, faults,
//! waits, the ends of waves, branches to other code.

use std::fmt;
use std::sync::Arc;

use wavemill_ir::Block;
use wavemill_machine::engine::Start;
use wavemill_machine::registers::RegisterCounts;

use crate::Tier;
use crate::compile::{Code, Purpose, compile};
use crate::hostop::{Ctx, Exit, HostOp, Translated};

/// Entry of machine code: the context of the interpreter, and the table of the unit ([`layout`]).
/// It returns the next host operation, or null to leave the interpreter, after a host operation did.
///
/// The function follows the System V calling convention, also under Windows.
#[cfg(target_arch = "x86_64")]
pub type Entry = unsafe extern "sysv64" fn(context: *mut u8, table: *const u8) -> *mut u8;
/// Entry of machine code, on hosts for which there is none.
#[cfg(not(target_arch = "x86_64"))]
pub type Entry = unsafe extern "C" fn(context: *mut u8, table: *const u8) -> *mut u8;

/// Offsets of what machine code uses in the context.
pub mod layout {
    use std::mem::offset_of;

    use wavemill_machine::engine::{PrivateMemory, PrivateWrites};

    use crate::hostop::{Ctx, HostOp, SiteCache};

    /// Pointer to the register file of the wave.
    pub const REGISTERS: usize = offset_of!(Ctx, base);
    /// Guest instructions that the wave may still start, a signed 64-bit number. Blocks are charged
    /// at their end.
    pub const BUDGET: usize = offset_of!(Ctx, budget);
    /// Pointer to the LDS of the workgroup.
    pub const LDS: usize = offset_of!(Ctx, lds);
    /// Bytes of it that accesses can reach without another look, a 32-bit number.
    pub const LDS_SIZE: usize = offset_of!(Ctx, lds_size);
    /// Bytes of private memory of each lane, a 32-bit number.
    pub const PRIVATE_SIZE: usize = offset_of!(Ctx, scratch_size);
    /// First guest address of the wave's private memory.
    pub const PRIVATE_START: usize =
        offset_of!(Ctx, private) + offset_of!(PrivateMemory, own) + offset_of!((u64, u64), 0);
    /// Its end.
    pub const PRIVATE_END: usize =
        offset_of!(Ctx, private) + offset_of!(PrivateMemory, own) + offset_of!((u64, u64), 1);
    /// Host pointer to it; null until a handler has needed it.
    pub const PRIVATE_HOST: usize = offset_of!(Ctx, private_host);
    /// Bytes of it, from its start on, that hold all that the wave has written there.
    pub const PRIVATE_WRITTEN: usize = offset_of!(Ctx, private_writes) + offset_of!(PrivateWrites, own);
    /// The context of the wave, a 32-bit number.
    pub const CONTEXT: usize = offset_of!(Ctx, context);
    /// A byte to set to 1 with each store to guest memory, and to 0 with a fence that orders them before later loads.
    pub const UNORDERED_STORE: usize = offset_of!(Ctx, unordered_store);
    /// In a host operation that accesses guest memory: first address of the allocation that it accessed last.
    pub const SITE_START: usize = offset_of!(HostOp, own) + offset_of!(SiteCache, start);
    /// Bytes of that allocation, 0 if there is none.
    pub const SITE_SIZE: usize = offset_of!(HostOp, own) + offset_of!(SiteCache, size);
    /// Host pointer to its first byte.
    pub const SITE_HOST: usize = offset_of!(HostOp, own) + offset_of!(SiteCache, host);
    /// In the table: the function that runs host operations ([`Perform`](super::Perform)).
    pub const PERFORM: usize = 0;
    /// In the table: the first host operation of the links.
    pub const LINKS: usize = 8;
}

/// Runs host operations: from the second argument on, up to but without the third. Returns null if
/// one of them left the interpreter.
#[cfg(target_arch = "x86_64")]
pub type Perform = unsafe extern "sysv64" fn(context: *mut u8, from: *mut u8, to: *mut u8) -> *mut u8;
/// Runs host operations, on hosts for which there is no machine code.
#[cfg(not(target_arch = "x86_64"))]
pub type Perform = unsafe extern "C" fn(context: *mut u8, from: *mut u8, to: *mut u8) -> *mut u8;

/// A place in a block where machine code can leave for the interpreter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Link {
    /// Position of the block.
    pub block: u64,
    /// Number of the operation before which it leaves; the number of operations stands for the end
    /// of the block.
    pub operation: u32,
}

/// Machine code of some blocks.
pub struct Unit {
    /// Where it begins.
    pub entry: Entry,
    /// The host operations that it refers to, by their order in the table.
    pub links: Vec<Link>,
    /// Owner of the machine code.
    pub code: Arc<dyn Send + Sync>,
}

impl fmt::Debug for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unit({} links)", self.links.len())
    }
}

/// A block as the interpreter compiled it.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The block.
    pub block: Arc<Block>,
    /// Number of host operations of each IR operation; none for one that has no effect.
    pub host_operations: Vec<u32>,
    /// Number of operations that the interpreter supports; the next one is a fault.
    pub supported: u32,
}

impl Compiled {
    /// A block for waves with these registers, without a run.
    #[must_use]
    pub fn new(block: Arc<Block>, counts: RegisterCounts, tier: Tier) -> Compiled {
        let strict = wavemill_machine::Strict::default();
        let gate = Some(1);
        let purpose =
            Purpose { tier, counts, counting: false, exceptions: None, strict, interests: None, gate };
        let code = compile(&block, purpose, 0);
        described(block, &code)
    }
}

/// What a translator asks about code.
pub trait Blocks {
    /// The block at a position, under the context of the request; `None` if there is no code.
    fn block(&mut self, position: u64) -> Option<Compiled>;

    /// The registers of the waves.
    fn counts(&self) -> RegisterCounts;

    /// The vector hardware to use.
    fn tier(&self) -> Tier;

    /// The context under which blocks are lifted, as far as it matters.
    fn context(&self) -> u32;

    /// How the wave started that asks, if that is known and the wave has followed static branches since. The unit is for
    /// such waves only.
    fn start(&self) -> Option<&Start>;

    /// The block at a position as the source has it, under the same context.
    fn lifted(&mut self, position: u64) -> Arc<Block>;
}

/// The answer of a [`Translator`].
#[derive(Clone, Debug)]
pub enum Translation {
    /// Machine code.
    Unit(Arc<Unit>),
    /// There will be machine code. The interpreter goes on, and asks again after some entries.
    Later,
    /// There is none, and the interpreter does not ask again.
    Never,
}

/// Makes machine code of blocks.
pub trait Translator: Send + Sync + fmt::Debug {
    /// How often a block is entered before it is translated: at least 1. The context and the registers are those that
    /// [`Blocks`] has.
    fn patience(&self, block: &Block, context: u32, counts: RegisterCounts) -> u64;

    /// Machine code that begins with the block at a position.
    ///
    /// The code must be sound: it accesses only the register file within
    /// [`RegisterCounts`], the context at the offsets in [`layout`], its table, LDS within its size,
    /// the private memory of the wave, and memory in the allocation that the access's own host operation accessed last.
    fn translate(&self, position: u64, blocks: &mut dyn Blocks) -> Translation;
}

/// Machine code with the host operations of one thread.
pub(crate) struct Linked {
    entry: Entry,
    /// The function that performs host operations, then the links.
    table: Box<[*const u8]>,
    /// Keeps the machine code alive.
    _unit: Arc<Unit>,
}

impl Linked {
    /// A unit with its links; `None` if one of them does not exist.
    pub(crate) fn new(
        unit: Arc<Unit>,
        mut find: impl FnMut(Link) -> Option<*mut HostOp>,
    ) -> Option<Box<Linked>> {
        let mut table = vec![perform as Perform as *const u8];
        for link in &unit.links {
            table.push(find(*link)?.cast_const().cast());
        }
        Some(Box::new(Linked { entry: unit.entry, table: table.into(), _unit: unit }))
    }
}

/// The host operation before which an IR operation of compiled code begins.
pub(crate) fn operation_at(code: &mut Code, operation: u32) -> Option<*mut HostOp> {
    let at = *code.starts.get(operation as usize)? as usize;
    // SAFETY: the starts are numbers of its operations.
    (at < code.ops.len()).then(|| unsafe { code.ops.as_mut_ptr().add(at) })
}

/// The block of compiled code for a translator.
pub(crate) fn described(block: Arc<Block>, code: &Code) -> Compiled {
    let host_operations = code.starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    Compiled { block, host_operations, supported: code.supported }
}

#[cfg(target_arch = "x86_64")]
unsafe extern "sysv64" fn perform(context: *mut u8, from: *mut u8, to: *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { perform_all(context, from, to) }
}

#[cfg(not(target_arch = "x86_64"))]
unsafe extern "C" fn perform(context: *mut u8, from: *mut u8, to: *mut u8) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe { perform_all(context, from, to) }
}

/// Runs the host operations from one up to another.
///
/// # Safety
/// The context is the interpreter's, and the operations are of one block.
unsafe fn perform_all(context: *mut u8, from: *mut u8, to: *mut u8) -> *mut u8 {
    let (ctx, mut op) = (context.cast::<Ctx>(), from.cast::<HostOp>());
    loop {
        // SAFETY: machine code passes the context and operations of its table.
        op = unsafe { ((*op).run)(ctx, op) };
        if op.is_null() || op.cast() == to {
            return op.cast();
        }
    }
}

/// A gate that counts down to the translation of its block.
pub(crate) unsafe fn count(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        (*op).k[0] = (*op).k[0].saturating_sub(1);
        if (*op).k[0] != 0 {
            return HostOp::next(op);
        }
        crate::control::leave(ctx, Exit::Hot { gate: op })
    }
}

/// Entries of a block before its gate asks again for machine code that is being made.
const ENTRIES_UNTIL_NEXT_LOOK: u64 = 16;

/// A gate looks again later.
///
/// # Safety
/// The operation is a gate.
pub(crate) unsafe fn look_later(gate: *mut HostOp) {
    // SAFETY: the caller's promise.
    unsafe {
        (*gate).k[0] = ENTRIES_UNTIL_NEXT_LOOK;
        // There may be machine code for the other kind of waves. A gate that enters it would ask at once.
        (*gate).run = count;
    }
}

/// A gate to machine code, of which there are two kinds: for waves that follow their start, and for others.
pub(crate) unsafe fn enter(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: a linked unit lives as long as its gate; the translator vouches for its code.
    unsafe {
        match (*op).own.units[usize::from((*ctx).follows_start)] {
            Some(Translated::Unit(linked)) => {
                let linked = &*linked;
                (linked.entry)(ctx.cast(), linked.table.as_ptr().cast()).cast()
            }
            Some(Translated::Never) => HostOp::next(op),
            None => crate::control::leave(ctx, Exit::Hot { gate: op }),
        }
    }
}
