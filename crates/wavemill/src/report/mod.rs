//! Fault reports as text.

mod clause;
mod headline;
mod segments;
mod text;
mod wave;

pub use clause::{ClauseKind, ClausePlace};
pub(crate) use segments::{ARGUMENTS, Segment};
pub use segments::{ArgumentSegment, SegmentAccess, StackOverflow};
pub use text::FullReport;

use std::ops::Range;

use wavemill_ir::{FaultKind, Row};
use wavemill_isa::gcn::{BrokenRule, Format, Inst, Op, Operand};
use wavemill_isa::{Family, cayman};
use wavemill_machine::{
    AddressMode, Fault, FaultCause, FaultLane, FaultSpace, GUARD_GAP, MemoryMap, Nearest, Neighbours,
    RaisedLane, process_has,
};

use crate::abi::Start;
use crate::code::{ClauseInstruction, Code};
use crate::lines::Place;
use crate::module::Kernel;
use crate::registers::{self, WaveRegisters};
use crate::source::{InlinedCall, SourceLocation};
use crate::traps;

/// A branch that led to a fault.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Device, Launch, Module};
/// # let object = given::built("faults/jumps.co")?;
/// # let device = Device::for_object(&object)?;
/// # let module = Module::load(&device, &object)?;
/// # let kernel = module.kernel("branch_to_illegal")?;
/// # let report = given::fault(Launch::new(&kernel).kernarg(&[0; 24]))?;
/// // `report` of a kernel that branches to data.
/// let jump = report.jump.as_ref().ok_or("no branch led there")?;
/// println!("reached from {:#x}: {}", jump.pc, jump.instruction.as_deref().unwrap_or("?"));
/// assert!(jump.instruction.as_deref().is_some_and(|text| text.starts_with("s_branch")));
/// assert!(jump.pc < report.fault.pc);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jump {
    /// Its guest address.
    pub pc: u64,
    /// Function that holds it, and its offset there.
    pub function: Option<(String, u64)>,
    /// Text of the branch.
    pub instruction: Option<String>,
}

/// Why an instruction that decodes cannot run.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::fault::{Refusal, Rule};
///
/// # use wavemill::Launch;
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, ".long 0xd8010000\n.long 0x00000201\ns_endpgm")?;
/// # let report = given::fault(Launch::new(&kernel))?;
/// // `report` of a kernel with `ds_add_u32 v1, v2 gds`. The chip has no global data share.
/// match report.refusal {
///     Some(Refusal::BrokenRule(broken)) => {
///         println!("{}", broken.rule);
///         assert_eq!(broken.rule, Rule::GlobalDataShare);
///     }
///     other => panic!("expected a broken rule, found {other:?}"),
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It breaks a rule of the manuals.
    BrokenRule(BrokenRule),
    /// It breaks a rule of the manual of Cayman.
    BrokenCaymanRule(cayman::BrokenRule),
    /// It is a matrix product, and VGPR indexing is on.
    IndexedProduct,
}

impl Refusal {
    fn of(fault: &Fault, inst: &Inst) -> Option<Refusal> {
        match &fault.cause {
            FaultCause::Instruction(FaultKind::IllegalInstruction) => {
                inst.broken_rule().map(Refusal::BrokenRule)
            }
            FaultCause::Instruction(FaultKind::Unsupported) => {
                let indexed = WaveRegisters(&fault.snapshot).mode() >> registers::GPR_IDX_EN & 1 != 0;
                let product = matches!(inst.row().format, Format::Mai | Format::MaiScaled);
                (indexed && product).then_some(Refusal::IndexedProduct)
            }
            _ => None,
        }
    }

    /// That of an instruction of Cayman: the rule that leaves it no meaning.
    fn of_clause(fault: &Fault, code: &Code, map: &MemoryMap, inst: &ClauseInstruction) -> Option<Refusal> {
        let is_illegal = fault.cause == FaultCause::Instruction(FaultKind::IllegalInstruction);
        let broken = is_illegal.then(|| code.broken_rules(map, inst))?;
        let of_meaning = broken.into_iter().find(|broken| broken.rule.leaves_no_meaning());
        of_meaning.map(Refusal::BrokenCaymanRule)
    }
}

/// A guest fault with the context that a reader needs.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Error, Launch};
///
/// # let (kernel, args) = given::vector_add(200)?;
/// // The kernel stores 256 elements to `c`, which has room for 200.
/// let launch = Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args);
/// let Err(Error::Fault(report)) = launch.run() else { panic!("expected a fault") };
/// println!("{report}");
/// assert_eq!(report.kernel, "vector_add");
/// assert!(report.instruction.as_deref().is_some_and(|text| text.starts_with("global_store_dword")));
/// // Work-items 200 to 255 are lanes 8 to 63 of their wave.
/// assert_eq!((report.refused().len(), report.refused()[0].lane), (56, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct FaultReport {
    /// Name of the launched kernel.
    pub kernel: String,
    /// The fault.
    pub fault: Fault,
    /// Guest address of the code at the PC: of the control flow word, for a family with clauses.
    pub address: u64,
    /// Where the PC is in a program with clauses.
    pub clause: Option<ClausePlace>,
    /// Function that holds the PC, and the PC's offset in it.
    pub function: Option<(String, u64)>,
    /// Text of the instruction at the PC.
    pub instruction: Option<String>,
    /// Why the instruction at the PC cannot run, if the cause is that it is illegal or unsupported
    /// and more than that is known.
    pub refusal: Option<Refusal>,
    /// Lane registers that this instruction names.
    pub operands: Vec<Row>,
    /// Whether the scalar unit runs it: once for the wave, regardless of lanes.
    pub scalar: bool,
    /// Source position of the PC, if the code object has debug information.
    pub source: Option<SourceLocation>,
    /// Text of that source line, if it was read: reports show it.
    pub source_text: Option<String>,
    /// Calls that were inlined at the PC, the innermost one first.
    pub inlined: Vec<InlinedCall>,
    /// Disassembly around the PC: address, text, whether it is the PC.
    pub window: Vec<(u64, String, bool)>,
    /// Address of the instruction whose middle the PC is in, decoded from the start of the
    /// function.
    pub within: Option<u64>,
    /// The allocation nearest to the branch target, if the PC is at a branch to where there is no
    /// code.
    pub target: Option<Nearest>,
    /// The branch that led to the PC, if the instruction there is illegal and a branch led to it.
    pub jump: Option<Jump>,
    /// Allocations around the address in global memory that was accessed (the first one, if there
    /// are several) or branched to, unless the address is null or in an aperture. For an access
    /// outside an image, the allocation that the image is in.
    pub neighbours: Option<Neighbours>,
    /// The kernel argument segment, if the access left it or tried to write to it.
    pub arguments: Option<ArgumentSegment>,
    /// The stack, if private memory was too small for it.
    pub stack: Option<StackOverflow>,
    /// Whether the access goes to the structure for synchronising the grid, which only a
    /// [cooperative](crate::Launch::cooperative) launch has: `grid.sync()` of HIP uses it.
    pub needs_cooperative: bool,
    /// Whether the process has memory at the address, but the launch may not access it, and has
    /// none near it. This is so if the kernel follows a pointer in memory, and the launch lacks
    /// [what it points to](crate::Launch::host_memory).
    pub only_in_process: bool,
    /// Whether TRAPSTS has all exceptions that the wave raised. It has them if code on the device
    /// reads them.
    pub collects_exceptions: bool,
    /// The function whose end execution ran past sequentially, because its last instruction does
    /// not prevent that.
    pub fell_out_of: Option<String>,
    /// The instruction family, which decides what the registers are.
    pub(crate) family: Family,
}

/// Text of an instruction.
pub(crate) fn text(inst: &Inst) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = wavemill_asm::gcn::print(&mut out, inst);
    out
}

/// The lane registers that an instruction names.
fn rows(inst: &Inst) -> Vec<Row> {
    let mut rows: Vec<Row> = inst
        .operands()
        .flat_map(|(_, operand)| match operand {
            Operand::Vgpr { first, dwords } => {
                (0..u16::from(dwords)).map(|n| registers::vgpr(u16::from(first) + n)).collect()
            }
            Operand::Agpr { first, dwords } => {
                (0..u16::from(dwords)).map(|n| registers::acc(u16::from(first) + n)).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    rows.sort();
    rows.dedup();
    rows
}

/// Instructions before and after the PC in a report.
const WINDOW: usize = 4;

impl FaultReport {
    /// Whether the kernel did nothing wrong: Wavemill does not implement the instruction.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self.fault.cause, FaultCause::Instruction(FaultKind::Unsupported))
    }

    /// The report with the state of the wave, its registers, and more of the code.
    #[must_use]
    pub fn full(&self) -> FullReport<'_> {
        FullReport(self)
    }

    pub(crate) fn new(kernel: &Kernel, mut fault: Fault, map: &MemoryMap, start: &Start) -> Self {
        let device = &kernel.module.device;
        let code = &device.code;
        let family = device.target.family();
        // The instruction has not run, so its exceptions are not in the register yet.
        if let FaultCause::Exceptions { lanes, .. } = &fault.cause
            && let Some(trapsts) = fault.snapshot.cells.get_mut(usize::from(registers::TRAPSTS.0))
        {
            *trapsts = traps::with_raised(*trapsts, lanes);
        }
        let pc = code.address(fault.pc);
        // Where the code ends, the code before the PC is more useful.
        let ends = fault.cause == FaultCause::Instruction(FaultKind::NoCode);
        let at = if ends { pc.saturating_sub(4) } else { pc };
        let region = code.region(at);
        let function = region.as_ref().and_then(|r| r.function(at));
        let function = function.map(|(name, offset)| (name.to_owned(), offset + (pc - at)));
        let decoded = code.gcn(map, fault.pc);
        let in_clause = code.in_clause(map, fault.pc);
        let segment = start.arguments;
        let arguments = segment.and_then(|segment| ArgumentSegment::of(kernel, segment, &mut fault));
        let name = function.as_ref().map(|(name, _)| name.as_str());
        let stack =
            decoded.as_ref().and_then(|inst| StackOverflow::of(kernel, device.target, &fault, name, inst));
        let instruction = code.text(map, fault.pc);
        let operands = match (&decoded, &in_clause) {
            (Some(inst), _) => rows(inst),
            (None, Some(inst)) => clause::rows(inst),
            (None, None) => Vec::new(),
        };
        let refusal = match (&decoded, &in_clause) {
            (Some(inst), _) => Refusal::of(&fault, inst),
            (None, Some(inst)) => Refusal::of_clause(&fault, code, map, inst),
            (None, None) => None,
        };
        let mut clause = ClausePlace::of(code, map, in_clause.as_ref(), &fault, segment.is_none());
        if let (Some(clause), Some(Refusal::BrokenCaymanRule(broken))) = (&mut clause, refusal) {
            clause.set_slot(broken.slot);
        }
        let scalar = decoded.as_ref().is_some_and(|inst| inst.row().format == Format::Smem);
        let needs_cooperative = is_in_grid_sync(&fault, start.absent_grid_sync);
        let only_in_process = device.memory.address_mode() == AddressMode::Identity
            && !map.has_process_memory()
            && unknown(&fault).is_some_and(process_has);
        let start = function.as_ref().map(|(_, offset)| pc - offset);
        let place = region.as_ref().and_then(|r| Some(r.lines.as_ref()?.at(at, start)));
        let Place { source, inlined } = place.unwrap_or_default();
        let jump = fault.from.map(|from| Jump {
            pc: code.address(from),
            function: code.region(from).and_then(|r| {
                let (name, offset) = r.function(code.address(from))?;
                Some((name.to_owned(), offset))
            }),
            instruction: code.text(map, from),
        });
        let behind = region.as_ref().filter(|_| function.is_none() && jump.is_none());
        let behind = behind.and_then(|r| r.in_front_of(at));
        let fell_out_of = behind.filter(|(start, end, _)| goes_on(code, map, *start..*end));
        let fell_out_of = fell_out_of.map(|(.., name)| name.clone());
        let from = |start: u64| window(code, map, start, pc);
        let Window { lines, within } = match (family, start, &region) {
            (Family::Cayman, ..) => Window { lines: clause::window(code, map, fault.pc), within: None },
            (_, Some(start), _) => from(start),
            // Stripped code. Bytes between functions may not be code, so an instruction across the
            // PC proves nothing.
            (_, None, Some(region)) => {
                let before = from(region.gap(at));
                if before.within.is_none() { before } else { from(pc) }
            }
            (_, None, None) => from(pc),
        };
        let (target, address) = match &fault.cause {
            FaultCause::BadJump { target } => {
                let nearest = map.nearest_of_all(*target);
                let address = is_somewhere(&nearest).then_some(*target);
                (Some(nearest), address)
            }
            FaultCause::Memory { space: FaultSpace::Global, lanes, nearest, .. } => {
                (None, lanes.first().map(|lane| lane.address).filter(|_| is_somewhere(nearest)))
            }
            FaultCause::Memory { space: FaultSpace::Image(extent), .. } => {
                (None, Some(extent.base).filter(|base| map.find(*base).is_some()))
            }
            // An LDS address is an offset, and no allocation holds it.
            FaultCause::MisalignedAtomic { lanes, .. } => {
                (None, lanes.first().map(|lane| lane.address).filter(|at| map.find(*at).is_some()))
            }
            _ => (None, None),
        };
        FaultReport {
            kernel: kernel.name().to_owned(),
            fault,
            address: pc,
            clause,
            function,
            instruction,
            refusal,
            operands,
            scalar,
            source,
            inlined,
            window: lines,
            within,
            source_text: None,
            // For a jump, this is the code that it left; buffers have nothing to do with arguments.
            neighbours: address.filter(|_| arguments.is_none()).map(|address| match target {
                Some(_) => map.all_neighbours(address),
                None => map.neighbours(address),
            }),
            target,
            jump,
            arguments,
            stack,
            needs_cooperative,
            only_in_process,
            collects_exceptions: code.reads_exceptions(),
            fell_out_of,
            family,
        }
    }

    /// Whether a trap handler without memory accessed it: TMA is 0.
    #[must_use]
    pub fn lacks_trap_memory(&self) -> bool {
        /// Handlers address their memory from TMA on.
        const NEAR: u64 = 1 << 16;
        let FaultCause::Memory { space: FaultSpace::Global, lanes, .. } = &self.fault.cause else {
            return false;
        };
        let wave = &self.fault.snapshot;
        let tma = [registers::TMA, registers::TMA.plus(1)].map(|cell| wave.cell(cell));
        self.family == Family::Gcn
            && wave.context & registers::PRIVILEGED != 0
            && tma == [0, 0]
            && lanes.first().is_some_and(|lane| lane.address < NEAR)
    }

    /// The lanes that raise enabled exceptions; empty for other faults.
    #[must_use]
    pub fn raised(&self) -> &[RaisedLane] {
        match &self.fault.cause {
            FaultCause::Exceptions { lanes, .. } => lanes,
            _ => &[],
        }
    }

    /// Numbers of the lanes that caused the fault; empty if it is not a lane fault.
    fn faulty(&self) -> Vec<u8> {
        let refused = self.refused().iter().map(|lane| lane.lane);
        refused.chain(self.raised().iter().map(|lane| lane.lane)).collect()
    }

    /// The lanes whose access was rejected; empty if the fault is not a lane fault, such as one of
    /// the scalar unit.
    #[must_use]
    pub fn refused(&self) -> &[FaultLane] {
        match &self.fault.cause {
            FaultCause::Memory { lanes, .. } | FaultCause::MisalignedAtomic { lanes, .. } if !self.scalar => {
                lanes
            }
            _ => &[],
        }
    }
}

/// Whether a fault is an access to the structure for synchronising the grid, through a null pointer.
/// `bytes` is its size, if the kernel has that pointer.
fn is_in_grid_sync(fault: &Fault, bytes: Option<u64>) -> bool {
    let FaultCause::Memory { space: FaultSpace::Global, lanes, .. } = &fault.cause else { return false };
    bytes.is_some_and(|bytes| lanes.first().is_some_and(|lane| lane.address < bytes))
}

/// An address in global memory that was accessed, if no allocation is near it.
fn unknown(fault: &Fault) -> Option<u64> {
    let FaultCause::Memory { space: FaultSpace::Global, lanes, nearest, .. } = &fault.cause else {
        return None;
    };
    let far = match nearest {
        Nearest::Nothing | Nearest::Far => true,
        Nearest::After { distance, .. } | Nearest::Before { distance, .. } => *distance >= GUARD_GAP,
        _ => false,
    };
    lanes.first().map(|lane| lane.address).filter(|_| far)
}

/// Whether allocations around an address are worth showing.
fn is_somewhere(nearest: &Nearest) -> bool {
    !matches!(
        nearest,
        Nearest::Null | Nearest::Far | Nearest::NotMapped | Nearest::Lds { .. } | Nearest::Private { .. }
    )
}

/// Whether execution can continue past the last instruction of a function.
fn goes_on(code: &Code, map: &MemoryMap, function: Range<u64>) -> bool {
    let mut at = function.start;
    let mut last = None;
    // A function of a million instructions must not delay the report.
    for _ in 0..1 << 20 {
        if at >= function.end {
            break;
        }
        match code.gcn(map, at) {
            Some(inst) => {
                at += inst.size() as u64;
                last = Some(inst.op());
            }
            // Data between instructions.
            None => {
                at += 4;
                last = None;
            }
        }
    }
    !matches!(last, None | Some(Op::SEndpgm | Op::SBranch | Op::SSetpcB64 | Op::STrap))
}

/// Code around a PC.
struct Window {
    lines: Vec<(u64, String, bool)>,
    within: Option<u64>,
}

/// Decodes from the start of a function, so that instruction boundaries are right, and keeps the
/// instructions near the PC.
fn window(code: &Code, map: &MemoryMap, start: u64, pc: u64) -> Window {
    let mut list: Vec<(u64, String, bool)> = Vec::new();
    let mut at = start;
    let mut behind = 0;
    let mut within = None;
    // A function of a million instructions must not delay the report.
    for _ in 0..1 << 20 {
        let (line, size) = match (code.gcn(map, at), code.fetch(map, at)) {
            (Some(inst), _) => (text(&inst), inst.size() as u64),
            (None, ([a, b, c, d, ..], 4..)) => {
                (format!(".long {:#010x}", u32::from_le_bytes([a, b, c, d])), 4)
            }
            (None, _) => break,
        };
        list.push((at, line, at == pc));
        if at >= pc {
            behind += 1;
        }
        if behind > WINDOW {
            break;
        }
        if at < pc && pc < at + size {
            // A jump led into the middle of it: from there on, the instructions are different.
            within = Some(at);
            at = pc;
        } else {
            at += size;
        }
    }
    let first = list.iter().position(|(a, _, _)| *a >= pc).unwrap_or(list.len()).saturating_sub(WINDOW);
    Window { lines: list.split_off(first), within }
}
