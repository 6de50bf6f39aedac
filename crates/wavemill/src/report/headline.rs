//! The first line of a fault report.

use std::fmt;

use wavemill_ir::FaultKind;
use wavemill_isa::{Family, cayman};
use wavemill_machine::{Access, BufferRange, FaultCause, FaultLane, FaultSpace, GDS_BYTES, Nearest};

use super::text::Count;
use super::{FaultReport, Refusal};
use crate::code::is_misaligned;
use crate::registers;
use crate::traps::Exceptions;
use wavemill_object::printable::Echo;

/// A rejected access to memory.
struct Refused<'a> {
    access: Access,
    space: FaultSpace,
    size: u32,
    lanes: &'a [FaultLane],
    nearest: &'a Nearest,
}

impl FaultReport {
    /// What happened, on one line.
    pub(super) fn headline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault.cause {
            FaultCause::Memory { access, space, size, lanes, nearest } => {
                let (access, space, size) = (*access, *space, *size);
                self.refused_access(f, &Refused { access, space, size, lanes, nearest })
            }
            FaultCause::MisalignedAtomic { size, lanes } => {
                let address = lanes.first().map_or(0, |l| l.address);
                write!(
                    f,
                    "misaligned atomic of {size} bytes at {address:#x}: the address must be a multiple of {size}"
                )
            }
            FaultCause::Exceptions { enabled, lanes } => {
                let raised = lanes.iter().fold(0, |all, lane| all | lane.raised) & enabled;
                let words = Exceptions::from_bits(raised).words().collect::<Vec<_>>();
                write!(f, "floating-point exception: {}", words.join(", "))
            }
            FaultCause::Descriptor(problem) => write!(f, "{problem}"),
            FaultCause::Instruction(FaultKind::IllegalInstruction) => self.illegal(f),
            FaultCause::Instruction(FaultKind::Unsupported)
                if self.refusal == Some(Refusal::IndexedProduct) =>
            {
                f.write_str(INDEXED_PRODUCT)
            }
            FaultCause::Instruction(FaultKind::Unsupported) => {
                f.write_str("unsupported instruction: Wavemill does not implement it yet")
            }
            FaultCause::Instruction(FaultKind::NoCode) if self.family == Family::Cayman => {
                f.write_str("execution leaves the code of the program: `end` missing, or a wrong address?")
            }
            FaultCause::Instruction(FaultKind::NoCode) => f.write_str(NO_END),
            FaultCause::Instruction(FaultKind::Halted) if self.is_halted_by_handler() => {
                f.write_str("the trap handler halts the wave, and no debugger can resume it")
            }
            FaultCause::Instruction(FaultKind::Halted) => {
                f.write_str("the wave halts itself, and no debugger can resume it")
            }
            FaultCause::Instruction(FaultKind::StackOverflow) => f.write_str(
                "control flow stack overflow: the program pushes more frames than the launch's stack size allows",
            ),
            FaultCause::Instruction(FaultKind::StackUnderflow) => f.write_str(
                "control flow stack underflow: the program pops or reads a frame that it has not pushed",
            ),
            FaultCause::Trap(2) => {
                f.write_str("trap 2: the program aborted (assertion, abort or unreachable code)")
            }
            FaultCause::Finding(finding) => f.write_str(&finding.message),
            FaultCause::Trap(id) => write!(f, "trap {id}"),
            FaultCause::BadJump { target } if is_misaligned(*target) => {
                write!(f, "jump to {target:#x}, which is misaligned: instructions begin at multiples of 4")
            }
            FaultCause::BadJump { target } => {
                write!(f, "jump to {target:#x}, where there is no code")?;
                self.target.as_ref().map_or(Ok(()), |nearest| write!(f, ": {nearest}"))
            }
            // A cause that this report has no text for must still show.
            other => write!(f, "unknown fault: {other:?}"),
        }
    }

    /// Whether STATUS.HALT is set: only a trap handler sets it.
    fn is_halted_by_handler(&self) -> bool {
        self.fault.snapshot.cell(registers::STATUS) >> registers::STATUS_HALT & 1 != 0
    }

    /// An illegal instruction, and how the wave reached it.
    fn illegal(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.jump.is_some() && self.within.is_some() {
            return f.write_str("jump into the middle of an instruction");
        }
        if let Some(Refusal::BrokenCaymanRule(broken)) = self.refusal {
            // The row `clause` has the slot.
            let broken = cayman::BrokenRule { slot: None, ..broken };
            return write!(f, "illegal instruction: {}", wavemill_asm::cayman::broken_rule(&broken));
        }
        if let (Some(Refusal::BrokenRule(broken)), None) = (self.refusal, &self.fell_out_of) {
            f.write_str("illegal instruction: ")?;
            // Sentences about fields name them.
            if let Some(role) = broken.role {
                write!(f, "`{}`: ", role.name())?;
            }
            return write!(f, "{}", broken.rule);
        }
        match (&self.jump, &self.function, &self.fell_out_of) {
            (Some(_), None, _) => {
                write!(f, "jump to {:#x}, where there is no instruction", self.address)
            }
            (.., Some(name)) => {
                let name = wavemill_object::readable(name);
                let name = Echo::new(&name);
                let end = if self.family == Family::Cayman { "end" } else { "s_endpgm" };
                write!(f, "illegal instruction after the end of `{name}`: `{end}` missing?")
            }
            _ => f.write_str("illegal instruction"),
        }
    }

    fn refused_access(&self, f: &mut fmt::Formatter<'_>, refused: &Refused<'_>) -> fmt::Result {
        let what = match refused.access {
            Access::Load => "load",
            Access::Store => "store",
            Access::Atomic => "atomic access",
        };
        let silence = match refused.access {
            Access::Load => "the chip reads 0",
            Access::Store => "the chip drops it",
            Access::Atomic => "the chip drops it and returns 0",
        };
        let size = Count(refused.size.into(), "byte");
        let first = refused.lanes.first().map_or(0, |lane| lane.address);
        let signed = first as i64;
        if let Some(stack) = &self.stack {
            let have = Count(stack.bytes.into(), "byte");
            return write!(
                f,
                "stack overflow: {what} of {size} at byte {signed} of private memory (a work-item has {have})"
            );
        }
        write!(f, "illegal {what} of {size}")?;
        if let Some(bank) = self.clause.as_ref().and_then(|clause| clause.absent_bank) {
            return write!(f, " at byte {first} of constant buffer {bank}, which the launch does not have");
        }
        match refused.space {
            FaultSpace::Global => write!(f, " at {first:#x}")?,
            FaultSpace::Scratch => write!(f, " at byte {signed} of private memory")?,
            FaultSpace::Gds if self.family == Family::Cayman => {
                return write!(f, " at byte {first} of the global data share, which has {GDS_BYTES} bytes");
            }
            FaultSpace::Gds => {
                return write!(
                    f,
                    " at byte {first} of the global data share: M0 allows other bytes, or it ends at {GDS_BYTES}"
                );
            }
            FaultSpace::Lds => {
                let have = Count(self.fault.resources.lds.into(), "byte");
                write!(f, " at byte {signed} of LDS (the workgroup has {have}): ")?;
                let allocated = u64::from(self.fault.resources.lds_allocated);
                return match first.saturating_add(refused.size.into()) <= allocated {
                    true => write!(f, "the chip allocates {allocated} and serves it (modelled)"),
                    false => f.write_str(silence),
                };
            }
            FaultSpace::Buffer(BufferRange::Unbound) => {
                return write!(
                    f,
                    " through an unbound buffer resource (its DATA_FORMAT is 0, INVALID): {silence}"
                );
            }
            FaultSpace::Buffer(range) => {
                let (unit, have) = match range {
                    BufferRange::Bytes(n) => ("byte", n),
                    BufferRange::Records(n) => ("record", n),
                    other => return write!(f, " at {first} of a buffer of {other:?}: {silence}"),
                };
                let have = Count(have, unit);
                return write!(f, " at {unit} {first} of a buffer of {have}: {silence}");
            }
            FaultSpace::Image(extent) => {
                write!(f, " at {} {signed} of ", extent.coordinate.name())?;
                if extent.level > 0 {
                    write!(f, "level {} of ", extent.level)?;
                }
                match self.neighbours.as_ref().and_then(|near| near.holds.as_ref()) {
                    Some(holds) => write!(f, "the image in `{}`", Echo::new(&holds.name))?,
                    None => f.write_str("an image")?,
                }
                return write!(f, " ({extent}): {silence}");
            }
            other => return write!(f, " at {first:#x} of {other:?}"),
        }
        match refused.nearest {
            // In range, so that the base is wrong.
            Nearest::Inside { offset, size: have, .. }
                if matches!(refused.space, FaultSpace::Scratch)
                    && offset.saturating_add(refused.size.into()) <= *have =>
            {
                f.write_str(
                    ": FLAT_SCRATCH is not its address; expected ENABLE_PRIVATE_SEGMENT in the kernel descriptor, or \
                     code that sets FLAT_SCRATCH",
                )
            }
            Nearest::Inside { name, offset, size: have } => {
                write!(f, ": it begins at byte {offset} of `{name}`, which ends at {have}")
            }
            other => write!(f, ": {other}"),
        }
    }
}

/// A matrix product with VGPR indexing: facet `matrix_indexing`.
const INDEXED_PRODUCT: &str = "unsupported instruction: no manual says whether VGPR indexing reaches \
    the registers of a matrix product (facet matrix_indexing): turn it off before the product, \
    with `s_set_gpr_idx_off`";

/// Execution that continues past the end of the code.
const NO_END: &str = "execution runs past the end of the code: `s_endpgm` missing?";
