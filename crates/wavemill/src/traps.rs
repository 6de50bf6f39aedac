//! Trap handlers, and floating-point exceptions that stop a wave (Vega ISA 3.10).

use std::fmt;
use std::str::FromStr;

use wavemill_ir::FaultKind;
use wavemill_machine::engine::Wave;
use wavemill_machine::{FaultCause, FaultSpace, RaisedLane, Registers, Traps};

use crate::registers::{self, COMPLETES, HANDLED, MODE_EXCP_EN, PRIVILEGED, TRAPSTS, TTMP0};

/// A trap handler on a device. Its code object must stay loaded during the launch.
///
/// A wave enters the handler at an `s_trap`, at an enabled exception, at an access to memory that
/// would be a fault, at an illegal instruction, and after each instruction under MODE.DEBUG. The
/// handler runs with STATUS.PRIV = 1 and returns with `s_rfe_b64`.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
/// use wavemill::launch::TrapHandler;
///
/// # let device = given::device()?;
/// // Returns behind the `s_trap`, whose address is in ttmp[0:1].
/// let handler = "
///     s_add_u32 ttmp0, ttmp0, 4
///     s_addc_u32 ttmp1, ttmp1, 0
///     s_and_b32 ttmp1, ttmp1, 0xffff
///     s_rfe_b64 ttmp[0:1]";
/// # let handler = given::kernel(&device, handler)?;
/// # let kernel = given::kernel(&device, "s_trap 3\ns_endpgm")?;
/// // `handler` is now this code on the device. `kernel` has an `s_trap 3` and the `s_endpgm`.
/// let entry = handler.entry();
/// let launch = Launch::new(&kernel).trap_handler(TrapHandler { entry, memory: 0 });
/// assert_eq!(launch.run()?.run.instructions, 2 + 4);
/// # assert!(given::fault(Launch::new(&kernel)).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapHandler {
    /// Guest address of its first instruction: TBA.
    pub entry: u64,
    /// Guest address of memory for the handler: TMA. The machine does not use it; 0 for none.
    pub memory: u64,
}

/// A set of floating-point exceptions, which a wave can enable (MODE.EXCP_EN, Vega ISA 3.4).
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::Launch;
/// use wavemill::launch::Exceptions;
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "v_mov_b32 v0, 0\nv_rcp_f32 v0, v0\ns_endpgm")?;
/// // The kernel computes 1 / 0.0.
/// let enabled: Exceptions = "invalid,div0".parse()?;
/// let launch = Launch::new(&kernel).exceptions(enabled);
/// # let report = given::fault(launch)?;
/// // Without a trap handler, the exception is a fault, and `report` is its report.
/// let raised = report.raised().first().ok_or("no lane raised an exception")?;
/// assert_eq!(Exceptions::from_bits(raised.raised).to_string(), "div0");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Exceptions(u8);

/// Names of the exceptions, in the order of the bits, and what each of them is.
const NAMES: [(&str, &str); 7] = [
    ("invalid", "invalid operation"),
    ("denormal", "denormal operand"),
    ("div0", "division by zero"),
    ("overflow", "overflow"),
    ("underflow", "underflow"),
    ("inexact", "inexact result"),
    ("int-div0", "integer division by zero"),
];

impl Exceptions {
    /// No exception.
    pub const NONE: Exceptions = Exceptions(0);

    /// The set with these bits of TRAPSTS.EXCP (Vega ISA 3.10); bits above the seven exceptions are
    /// ignored.
    #[must_use]
    pub const fn from_bits(bits: u32) -> Exceptions {
        Exceptions(bits as u8 & 0x7f)
    }

    /// Its bits in TRAPSTS.EXCP (Vega ISA 3.10).
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0 as u32
    }

    /// The names of the exceptions, in the order of their bits: `invalid`, `denormal`, `div0`,
    /// `overflow`, `underflow`, `inexact`, `int-div0`.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.entries().map(|(name, _)| name)
    }

    /// What the exceptions are, in words.
    pub(crate) fn words(self) -> impl Iterator<Item = &'static str> {
        self.entries().map(|(_, words)| words)
    }

    fn entries(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        NAMES.into_iter().enumerate().filter(move |(bit, _)| self.0 >> bit & 1 != 0).map(|(_, entry)| entry)
    }
}

/// The names, separated by commas.
impl fmt::Display for Exceptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(","))
    }
}

/// A name that is not the name of an exception.
///
/// ```
/// use wavemill::launch::{Exceptions, UnknownException};
///
/// let error: UnknownException = "div0,nan".parse::<Exceptions>().unwrap_err();
/// assert_eq!(error.name, "nan");
/// // Its text lists the names.
/// assert!(error.to_string().ends_with("inexact, int-div0"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no exception `{name}`; expected any of {all}", all = Exceptions(0x7f).names().collect::<Vec<_>>().join(", "))]
pub struct UnknownException {
    /// The name.
    pub name: String,
}

/// Names, separated by commas.
impl FromStr for Exceptions {
    type Err = UnknownException;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split(',').try_fold(Exceptions::NONE, |all, name| {
            let name = name.trim();
            let bit = NAMES.iter().position(|(known, _)| *known == name);
            let bit = bit.ok_or_else(|| UnknownException { name: name.to_owned() })?;
            Ok(Exceptions(all.0 | 1 << bit))
        })
    }
}

/// What a launch sets for traps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrapSetup {
    pub handler: Option<TrapHandler>,
    /// Enabled besides those of the kernel.
    pub enabled: Exceptions,
}

impl TrapSetup {
    /// The context of a wave that would start with this MODE. With a handler, memory violations are
    /// enabled, as AMD's runtime enables them.
    pub(crate) fn context(self, mode: u32) -> u32 {
        const MEMORY_VIOLATION: u32 = 1 << 20;
        let handled = if self.handler.is_some() { HANDLED | MEMORY_VIOLATION } else { 0 };
        mode | self.enabled.bits() << MODE_EXCP_EN | handled
    }

    /// Sets the registers of a wave.
    pub(crate) fn init(self, regs: &mut Registers) {
        if let Some(TrapHandler { entry, memory }) = self.handler {
            regs.set_uni64(registers::TBA, entry);
            regs.set_uni64(registers::TMA, memory);
        }
    }
}

/// Bits of TRAPSTS (Vega ISA 3.10).
mod trapsts {
    pub(super) const MEMORY_VIOLATION: u32 = 1 << 8;
    pub(super) const ILLEGAL_INSTRUCTION: u32 = 1 << 11;
    /// EXCP_CYCLE, and its two lowest bits, which say which 16 lanes raised an enabled exception.
    pub(super) const EXCP_CYCLE: u32 = 0x3f << 16;
    pub(super) const EXCP_PHASE: u32 = 16;
    /// An access to memory that is not mapped. The manuals do not list it; AMD's trap handlers read
    /// it.
    pub(super) const XNACK_ERROR: u32 = 1 << 28;
}

/// The PC has this many bits; the registers that hold it have other fields above them.
const PC_BITS: u64 = 0xffff_ffff_ffff;

/// Sends a wave to its handler: {TTMP1, TTMP0} = {0, PC rewind, host trap, trap id, PC}, PC = TBA,
/// PRIV = 1 (Vega ISA 3.10). The handler finds the instruction that trapped `rewind` dwords before
/// `pc`.
fn enter(wave: &mut Wave, pc: u64, id: u8, rewind: u64) {
    let saved = pc & PC_BITS | u64::from(id) << 48 | (rewind & 0xf) << 57;
    wave.regs.set_uni64(TTMP0, saved);
    wave.pc = wave.regs.uni64(registers::TBA) & PC_BITS;
    wave.context |= PRIVILEGED;
}

fn raise(wave: &mut Wave, bits: u32) {
    let sticky = wave.regs.uni(TRAPSTS) | bits;
    wave.regs.set_uni(TRAPSTS, sticky);
}

/// TRAPSTS after an instruction that raises enabled exceptions in these lanes. EXCP_CYCLE has the
/// phase of the first of them; its other bits depend on the speed of the chip and are 0 (*modelled*).
pub(crate) fn with_raised(trapsts: u32, lanes: &[RaisedLane]) -> u32 {
    let Some(first) = lanes.iter().map(|lane| lane.lane).min() else { return trapsts };
    let phase = u32::from(first) / 16;
    let raised = lanes.iter().fold(0, |all, lane| all | lane.raised);
    trapsts & !trapsts::EXCP_CYCLE | raised | phase << trapsts::EXCP_PHASE
}

/// Trap handlers as GCN and CDNA have them.
impl Traps for TrapHandler {
    fn steps(&self, context: u32) -> bool {
        registers::steps(context)
    }

    fn stepped(&self, wave: &mut Wave) {
        let next = wave.pc;
        // The saved PC is that of the next instruction. The rewind leads back to one that raised an
        // exception; a single step has none.
        let rewind = match wave.context & COMPLETES {
            0 => 0,
            _ => next.wrapping_sub(wave.regs.uni64(registers::RAISED_PC)) / 4,
        };
        wave.context &= !COMPLETES;
        enter(wave, next, 0, rewind);
    }

    fn takes(&self, wave: &mut Wave, pc: u64, cause: &FaultCause) -> bool {
        if let FaultCause::Trap(id) = cause {
            enter(wave, pc, *id, 0);
            return true;
        }
        // A fault of the handler itself would lead into it again and again.
        if wave.context & PRIVILEGED != 0 {
            return false;
        }
        match cause {
            // Exceptions are reported after the instruction has completed (Vega ISA 3.10).
            FaultCause::Exceptions { lanes, .. } => {
                wave.regs.set_uni(TRAPSTS, with_raised(wave.regs.uni(TRAPSTS), lanes));
                wave.regs.set_uni64(registers::RAISED_PC, pc);
                wave.pc = pc;
                wave.context |= COMPLETES;
                return true;
            }
            FaultCause::Memory { space: FaultSpace::Global, .. } => {
                raise(wave, trapsts::MEMORY_VIOLATION | trapsts::XNACK_ERROR);
            }
            FaultCause::Memory { .. } | FaultCause::MisalignedAtomic { .. } => {
                raise(wave, trapsts::MEMORY_VIOLATION);
            }
            FaultCause::Instruction(FaultKind::IllegalInstruction) => {
                raise(wave, trapsts::ILLEGAL_INSTRUCTION);
            }
            _ => return false,
        }
        enter(wave, pc, 0, 0);
        true
    }

    fn stops(&self, wave: &Wave) -> Option<FaultKind> {
        let halts = wave.regs.uni(registers::STATUS) >> registers::STATUS_HALT & 1 != 0;
        (halts && wave.context & PRIVILEGED == 0).then_some(FaultKind::Halted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_by_name() {
        let some: Exceptions = "invalid, div0".parse().unwrap();
        assert_eq!((some.bits(), some.to_string()), (0b101, "invalid,div0".to_owned()));
        assert_eq!("int-div0".parse::<Exceptions>().unwrap().bits(), 64);
        assert_eq!(Exceptions::from_bits(!0).names().count(), 7);
        let error = "nan".parse::<Exceptions>().unwrap_err().to_string();
        assert_eq!(
            error,
            "there is no exception `nan`; expected any of invalid, denormal, div0, overflow, underflow, inexact, int-div0"
        );
    }
}
