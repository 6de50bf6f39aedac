//! GCN and CDNA (gfx9 family): lifts basic blocks of machine code to blocks of IR.

mod ds;
mod exactness;
mod flat;
mod fork;
mod format_cvt;
mod gpr_index;
mod hwreg;
mod lifter;
mod mai;
mod memory;
mod mimg;
mod mtbuf;
mod mubuf;
pub mod registers;
mod salu;
mod smem;
mod sop1;
mod sop2;
mod sopc;
mod sopk;
mod sopp;
mod valu;
mod vintrp;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use wavemill_ir::{Block, BlockBuilder, FaultKind, FpEnv, Names, Round, Terminator, Uni};
use wavemill_isa::Target;
use wavemill_isa::gcn::{DecodeError, Format, Inst, decode};

pub use exactness::exactness;
pub use hwreg::{MODE_KEY, reads_exceptions};
use lifter::{Lifted, Lifter};

use crate::family::{Fetch, Lift};

/// Everything except its bytes that the meaning of code depends on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Context {
    /// The instruction set.
    pub target: Target,
    /// Value of the MODE register at the start of the block. Flags for trap handlers are in place
    /// of CSP ([`registers::PRIVILEGED`] and so on).
    pub mode: u32,
    /// Whether registers are protected by ECC. With ECC, 16-bit loads clear the other half of the
    /// register instead of keeping it (LLVM, `GCNSubtarget::d16PreservesUnusedBits`).
    pub sramecc: bool,
    /// How matrix instructions sum their products.
    pub matrix: MatrixRule,
}

impl Context {
    /// The context of code whose matrix instructions sum as the target's cores do.
    #[must_use]
    pub const fn new(target: Target, mode: u32, sramecc: bool) -> Context {
        Context { target, mode, sramecc, matrix: MatrixRule::Exact }
    }

    /// Floating-point mode for operations on f32.
    fn fp32(&self) -> FpEnv {
        self.fp(0)
    }

    /// Floating-point mode for operations on f16 and f64.
    fn fp16_64(&self) -> FpEnv {
        self.fp(2)
    }

    /// MODE: rounding in bits 3:0, denormals in bits 7:4, DX10_CLAMP 8, IEEE 9, FP16_OVFL 23 (Vega ISA 3.4); `shift`
    /// selects the f32 or the f16/f64 fields.
    fn fp(&self, shift: u32) -> FpEnv {
        let mode = self.mode;
        FpEnv {
            round: Round::from_bits(mode >> shift),
            denorm_in: mode >> (4 + shift) & 1 != 0,
            denorm_out: mode >> (5 + shift) & 1 != 0,
            dx10_clamp: mode >> 8 & 1 != 0,
            ieee: mode >> 9 & 1 != 0,
            fp16_ovfl: mode >> 23 & 1 != 0,
        }
    }
}

/// How matrix instructions sum their products.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum MatrixRule {
    /// As the matrix cores of the target do. Facets name what is not known about them.
    #[default]
    Exact,
    /// Floats by one fused multiply-add after the other, in f32. It is faster, and rounds after each
    /// product: results differ from the cores' results, most where terms cancel.
    Fast,
}

impl MatrixRule {
    /// All rules.
    pub const ALL: [MatrixRule; 2] = [MatrixRule::Exact, MatrixRule::Fast];

    /// Name for options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MatrixRule::Exact => "exact",
            MatrixRule::Fast => "fast",
        }
    }
}

/// GCN and CDNA, for code of a target. Positions are addresses, and the context is MODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gcn {
    /// The instruction set.
    pub target: Target,
    /// As [`Context::sramecc`].
    pub sramecc: bool,
    /// As [`Context::matrix`].
    pub matrix: MatrixRule,
}

impl Gcn {
    /// The context of code in a MODE.
    #[must_use]
    pub const fn context(&self, mode: u32) -> Context {
        Context { target: self.target, mode, sramecc: self.sramecc, matrix: self.matrix }
    }
}

impl Lift for Gcn {
    fn block(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        lift_block(&self.context(context), position, fetch)
    }

    fn instruction(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        lift_instruction(&self.context(context), position, fetch)
    }

    fn context_key(&self) -> u32 {
        MODE_KEY
    }

    fn cells(&self) -> u16 {
        registers::CELLS
    }

    fn names(&self) -> &'static dyn Names {
        &registers::RegisterNames
    }

    fn exceptions(&self) -> Option<Uni> {
        Some(registers::TRAPSTS)
    }

    fn reads_exceptions(&self, code: &[u8]) -> bool {
        reads_exceptions(self.target, code)
    }
}

/// Number of guest instructions after which a block is cut.
const MAX_GUEST: usize = 512;

/// Lifts the basic block at guest address `pc`. `fetch` copies up to 16 bytes of code at an address
/// and returns the number of bytes there.
///
/// A word that is not an instruction, or an instruction without a meaning yet, ends the block with
/// a fault terminator. The fault is reported if and only if a wave reaches it. Words that break a
/// rule ([`Inst::broken_rule`]) and have no meaning are illegal, as words that do not decode.
pub fn lift_block(context: &Context, pc: u64, fetch: &mut dyn FnMut(u64, &mut [u8; 16]) -> usize) -> Block {
    let max_guest = if registers::steps(context.mode) { 1 } else { MAX_GUEST };
    lift(context, pc, fetch, max_guest)
}

/// Lifts the one instruction at guest address `pc`, otherwise as [`lift_block`].
pub fn lift_instruction(
    context: &Context,
    pc: u64,
    fetch: &mut dyn FnMut(u64, &mut [u8; 16]) -> usize,
) -> Block {
    lift(context, pc, fetch, 1)
}

/// Lifts at most `max_guest` instructions.
fn lift(
    context: &Context,
    pc: u64,
    fetch: &mut dyn FnMut(u64, &mut [u8; 16]) -> usize,
    max_guest: usize,
) -> Block {
    let b = BlockBuilder::new(pc);
    let (indexed_results, indexed_mask) = ([None; 2], None);
    let mut lifter =
        Lifter { context: *context, b, pc, next: pc, indexed_results, indexed_mask, zeros: None };
    loop {
        lifter.pc = lifter.next;
        if lifter.b.guest_len() >= max_guest {
            return lifter.b.finish(lifter.pc, Terminator::Jump(lifter.next));
        }
        lifter.b.begin_guest(lifter.pc);
        lifter.zeros = None;
        let mut bytes = [0; 16];
        let available = fetch(lifter.next, &mut bytes).min(16);
        let inst = match decode(context.target, &bytes[..available]) {
            Ok(inst) => inst,
            Err(error) => {
                let kind = match error {
                    DecodeError::Truncated { .. } => FaultKind::NoCode,
                    _ => FaultKind::IllegalInstruction,
                };
                return lifter.b.finish(lifter.pc, Terminator::Fault(kind));
            }
        };
        if ds::may_wait(inst.op()) && lifter.b.guest_len() > 1 {
            lifter.b.drop_begun();
            return lifter.b.finish(lifter.pc, Terminator::Jump(lifter.pc));
        }
        lifter.next += inst.size() as u64;
        let mut lifted = lifter.inst(&inst);
        lifter.drop_trap_temporaries();
        let modifiers = inst.modifiers();
        let traps = registers::trapping(context.mode);
        for operation in lifter.b.guest_insts() {
            if operation.op.raises() {
                operation.attrs.traps = traps;
            }
            if operation.accesses_caches() {
                operation.attrs.scope = memory::scope(context.target, operation.op, &modifiers);
            }
            // Operands that can be encoded, but that the instruction does not accept: a scalar
            // where a VGPR is required.
            if operation.problem().is_some() {
                lifted = Lifted::Unsupported;
            }
        }
        if let Lifted::Unsupported = lifted {
            lifter.b.drop_guest();
        }
        let next = lifter.next;
        match lifted {
            Lifted::Next => {}
            Lifted::End(terminator) => return lifter.b.finish(next, terminator),
            // The manuals do not allow the words, and hardware may do anything.
            Lifted::Unsupported if inst.broken_rule().is_some() => {
                return lifter.b.finish(lifter.pc, Terminator::Fault(FaultKind::IllegalInstruction));
            }
            Lifted::Unsupported => return lifter.b.finish(next, Terminator::Fault(FaultKind::Unsupported)),
        }
    }
}

impl Lifter {
    /// Lifts one instruction by its format, unless MODE changes its meaning.
    fn inst(&mut self, inst: &Inst) -> Lifted {
        let format = inst.row().format;
        match format {
            Format::Sop1 => return self.sop1(inst),
            Format::Sop2 => return self.sop2(inst),
            Format::Sopc => return self.sopc(inst),
            Format::Sopk => return self.sopk(inst),
            Format::Sopp => return self.sopp(inst),
            Format::Smem => return self.smem(inst),
            _ => {}
        }
        // All other formats are vector formats, which VSKIP does not issue (Vega ISA 4.9).
        if self.mode_bit(lifter::VSKIP) {
            return Lifted::Next;
        }
        match format {
            Format::Ds => return self.ds(inst),
            Format::Mubuf => return self.mubuf(inst),
            Format::Mimg => return self.mimg(inst),
            Format::Mtbuf => return self.mtbuf(inst),
            Format::Flat | Format::Global | Format::Scratch => return self.flat(inst),
            Format::Exp => return self.export(inst),
            _ => {}
        }
        let lifted = match format {
            Format::Vop1 => self.vop1(inst),
            Format::Vop2 => self.vop2(inst),
            Format::Vopc => self.vopc(inst),
            Format::Vop3 => self.vop3(inst),
            Format::Vop3p => self.vop3p(inst),
            Format::Mai | Format::MaiScaled => self.mai(inst),
            Format::Vintrp => self.interp(inst),
            _ => Lifted::Unsupported,
        };
        match lifted {
            Lifted::Next => self.write_indexed_results(),
            _ => (self.indexed_results, self.indexed_mask) = ([None; 2], None),
        }
        lifted
    }
}
