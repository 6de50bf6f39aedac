//! Locations in programs with clauses, for reports.

use std::fmt;

use wavemill_ir::{FaultKind, Row};
use wavemill_isa::cayman::{Address, CHANNELS, FieldId, Format, Inst, Source, WINDOW_FIELDS};
use wavemill_isa::gcn::Fidelity;
use wavemill_lift::cayman::{Position, registers};
use wavemill_machine::{Access, Fault, FaultCause, MemoryMap};

use crate::code::{ClauseInstruction, Code, Content};

/// Bytes of a unit of the addresses in control flow words.
const UNIT: u64 = 8;
/// Instructions before and after the PC in a report.
const WINDOW: u8 = 4;

/// The kind of a clause.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::fault::ClauseKind;
/// # use wavemill::{Arg, Device, Launch, Module};
///
/// # use wavemill_kernels::{Target, fixture};
/// # let object = fixture(Target::Cayman, "vector_add").ok_or("there is no vector_add")?;
/// # let device = Device::for_object(object)?;
/// # let kernel = Module::load(&device, object)?.kernel("vector_add")?;
/// # let [a, b, c] = [device.buffer("a", 256)?, device.buffer("b", 128)?, device.buffer("c", 256)?];
/// # let args = [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(64u32)];
/// # let report = given::fault(Launch::new(&kernel).workgroup_size([64, 1, 1]).args(args))?;
/// // `report` of a kernel of Cayman that loads from behind a buffer.
/// let clause = report.clause.as_ref().ok_or("the program has no clauses")?;
/// assert_eq!(clause.kind, Some(ClauseKind::Fetch));
/// assert_eq!(clause.kind.map(ClauseKind::name), Some("fetch"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClauseKind {
    /// ALU groups.
    Alu,
    /// Fetches.
    Fetch,
    /// Accesses to the global data share.
    Gds,
}

impl ClauseKind {
    /// The name in texts.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ClauseKind::Alu => "alu",
            ClauseKind::Fetch => "fetch",
            ClauseKind::Gds => "gds",
        }
    }
}

/// Where an instruction is in a program with clauses.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Arg, Device, Launch, Module};
/// # use wavemill_kernels::{Target, fixture};
/// # let object = fixture(Target::Cayman, "vector_add").ok_or("there is no vector_add")?;
/// # let device = Device::for_object(object)?;
/// # let kernel = Module::load(&device, object)?.kernel("vector_add")?;
/// # let [a, b, c] = [device.buffer("a", 256)?, device.buffer("b", 128)?, device.buffer("c", 256)?];
/// # let args = [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(64u32)];
/// # let report = given::fault(Launch::new(&kernel).workgroup_size([64, 1, 1]).args(args))?;
/// // `report` of a kernel of Cayman that loads from behind a buffer.
/// let clause = report.clause.as_ref().ok_or("the program has no clauses")?;
/// println!("control flow word @{}: {}", clause.control, clause.control_text.as_deref().unwrap_or("?"));
/// let kind = clause.kind.ok_or("a control flow word is at fault")?;
/// println!("{} clause @{}, instruction {}", kind.name(), clause.clause, clause.number);
/// # assert!(clause.number >= 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClausePlace {
    /// Address of the control flow word: its offset in the program in units of 8 bytes, as the words
    /// of the program write it.
    pub control: u64,
    /// Text of the control flow word.
    pub control_text: Option<String>,
    /// The clause; `None` for a control flow word itself.
    pub kind: Option<ClauseKind>,
    /// Address of the clause, in units of 8 bytes; that of the control flow word if there is no
    /// clause.
    pub clause: u64,
    /// Number of the group or the fetch in the clause, from 1 on; 0 for a control flow word.
    pub number: u32,
    /// Channel of the slot that caused the fault, if one slot did.
    pub slot: Option<char>,
    /// What is wrong with the constants that a group reads, if the launch does not have them.
    pub constants: Option<String>,
    /// Number of the constant buffer that the group reads and the launch does not have, if that is
    /// the cause.
    pub absent_bank: Option<u16>,
}

impl ClausePlace {
    /// The location of an instruction that faulted.
    pub(super) fn of(
        code: &Code,
        map: &MemoryMap,
        inst: Option<&ClauseInstruction>,
        fault: &Fault,
        is_bound: bool,
    ) -> Option<ClausePlace> {
        let inst = inst?;
        let absent = absent_constants(code, map, inst, fault, is_bound);
        Some(ClausePlace {
            slot: slot(inst, fault).or(absent.as_ref().map(|absent| absent.slot)),
            absent_bank: absent.as_ref().map(|absent| absent.bank),
            constants: absent.map(|absent| absent.text),
            ..ClausePlace::at(code, map, fault.pc, inst)
        })
    }

    /// The location of the instruction that a wave at a PC runs next. Behind a control flow word that
    /// calls a clause, that is the first group or fetch.
    pub(crate) fn next(code: &Code, map: &MemoryMap, pc: u64) -> Option<ClausePlace> {
        let here = code.in_clause(map, pc)?;
        let first = Position { word: Some(0), ..Position::from_number(pc) }.number();
        let in_clause =
            code.in_clause(map, first).filter(|inst| here.clause.is_none() && inst.clause.is_some());
        Some(match in_clause {
            Some(inst) => ClausePlace::at(code, map, first, &inst),
            None => ClausePlace::at(code, map, pc, &here),
        })
    }

    /// Names the slot of a channel, if there is one.
    pub(super) fn set_slot(&mut self, channel: Option<u8>) {
        let name = channel.and_then(|channel| CHANNELS.get(usize::from(channel)));
        self.slot = name.map(|name| name.to_ascii_lowercase()).or(self.slot);
    }

    /// The location of the instruction at a PC.
    fn at(code: &Code, map: &MemoryMap, pc: u64, inst: &ClauseInstruction) -> ClausePlace {
        let kind = inst.clause.map(|clause| match clause.kind {
            Address::AluClause => ClauseKind::Alu,
            Address::GdsClause => ClauseKind::Gds,
            _ => ClauseKind::Fetch,
        });
        let control = Position::control(Position::from_number(pc).control).number();
        ClausePlace {
            control: inst.control / UNIT,
            control_text: code.text(map, control).filter(|_| kind.is_some()),
            kind,
            clause: inst.clause.map_or(inst.control, |clause| clause.start) / UNIT,
            number: inst.clause.map_or(0, |clause| clause.number + 1),
            slot: only_slot(inst),
            constants: None,
            absent_bank: None,
        }
    }
}

/// The slots of a group with their channels.
fn slots(inst: &ClauseInstruction) -> impl Iterator<Item = (&Inst, char)> {
    let group = match &inst.content {
        Content::Group(group) => &group.slots[..],
        Content::Word(_) => &[],
    };
    let channels = CHANNELS.map(|name| name.to_ascii_lowercase());
    group.iter().zip(channels).filter_map(|(slot, name)| Some((slot.as_ref()?, name)))
}

/// The slot of a group that has one.
fn only_slot(inst: &ClauseInstruction) -> Option<char> {
    let mut all = slots(inst).map(|(_, name)| name);
    all.next().filter(|_| all.next().is_none())
}

/// The slot that caused a fault, if one did.
fn slot(inst: &ClauseInstruction, fault: &Fault) -> Option<char> {
    let found = |is: &dyn Fn(&Inst) -> bool| slots(inst).find(|(slot, _)| is(slot)).map(|(_, name)| name);
    match fault.cause {
        FaultCause::Instruction(FaultKind::Unsupported) => {
            found(&|slot| slot.row().fidelity == Fidelity::Unsupported)
        }
        FaultCause::Memory { .. } | FaultCause::MisalignedAtomic { .. } => {
            found(&|slot| slot.format() == Format::Lds)
        }
        _ => None,
    }
    .or_else(|| only_slot(inst))
}

/// The constants of a buffer that the launch does not have.
struct AbsentConstants {
    /// The channel of the slot that reads them.
    slot: char,
    /// The number of the buffer.
    bank: u16,
    /// What is missing.
    text: String,
}

/// The constants that a group reads from a buffer that the launch does not have. `is_bound` is
/// whether the launch binds its resources.
fn absent_constants(
    code: &Code,
    map: &MemoryMap,
    inst: &ClauseInstruction,
    fault: &Fault,
    is_bound: bool,
) -> Option<AbsentConstants> {
    if !matches!(&fault.cause, FaultCause::Memory { access: Access::Load, .. }) {
        return None;
    }
    let control = Position::control(Position::from_number(fault.pc).control).number();
    let control = *code.in_clause(map, control)?.words().first()?;
    let mut sources =
        slots(inst).flat_map(|(slot, name)| slot.sources().map(move |(.., source)| (name, source)));
    sources.find_map(|(slot, source)| {
        let Source::Constant(window, ..) = source else { return None };
        let fields = WINDOW_FIELDS.get(usize::from(window))?;
        let bank = registers::locked_bank(&control, fields, |cell| fault.snapshot.cell(cell))?;
        let last = registers::BANKS - 1;
        if bank <= last && fault.snapshot.pair(registers::bank(bank)) != 0 {
            return None;
        }
        let remedy = match is_bound {
            _ if bank > last => format!("the last is cb{last}: does the index register have a wrong value?"),
            true => format!("bind a buffer to it, such as cb{bank}=NAME"),
            false => {
                format!("without bindings, a launch has cb0 alone; bind a buffer, such as cb{bank}=NAME")
            }
        };
        let text = format!("kc{window} is in cb{bank}, which the launch does not have: {remedy}");
        Some(AbsentConstants { slot, bank, text })
    })
}

impl fmt::Display for ClausePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "control flow word @{}", self.control)?;
        let Some(kind) = self.kind else { return Ok(()) };
        if let Some(text) = &self.control_text {
            write!(f, " ({text})")?;
        }
        let what = if kind == ClauseKind::Alu { "group" } else { "fetch" };
        let kind = match kind {
            ClauseKind::Alu => "ALU",
            ClauseKind::Fetch => "fetch",
            ClauseKind::Gds => "GDS",
        };
        write!(f, ", {kind} clause @{}, {what} {}", self.clause, self.number)?;
        self.slot.map_or(Ok(()), |slot| write!(f, ", slot {slot}"))
    }
}

/// The lane registers that an instruction names by absolute addresses.
pub(super) fn rows(inst: &ClauseInstruction) -> Vec<Row> {
    use FieldId as F;
    let all = |register: u32| (0..4).map(move |channel| registers::gpr(register as u16, channel));
    let mut rows = Vec::new();
    for word in inst.words() {
        for (field, channel) in
            [(F::Src0Sel, F::Src0Chan), (F::Src1Sel, F::Src1Chan), (F::Src2Sel, F::Src2Chan)]
        {
            let register = word.field(field).filter(|select| *select < u32::from(registers::GPRS));
            let channel = word.field(channel).unwrap_or(0);
            rows.extend(register.map(|register| registers::gpr(register as u16, channel as u16)));
        }
        if let (Some(register), Some(channel)) = (word.field(F::DstGpr), word.field(F::DstChan)) {
            rows.push(registers::gpr(register as u16, channel as u16));
        } else if let Some(register) = word.field(F::DstGpr) {
            rows.extend(all(register));
        }
        let whole = [F::SrcGpr, F::RwGpr, F::IndexGpr].into_iter().filter_map(|field| word.field(field));
        rows.extend(whole.flat_map(all));
    }
    rows.sort();
    rows.dedup();
    rows
}

/// The instructions around a PC: those of its clause, or control flow words. Their addresses are
/// those of their bytes.
pub(super) fn window(code: &Code, map: &MemoryMap, pc: u64) -> Vec<(u64, String, bool)> {
    let here = Position::from_number(pc);
    let line = |position: Position, is_here| {
        let inst = code.in_clause(map, position.number())?;
        let size = match &inst.content {
            Content::Word(word) => word.size(),
            Content::Group(group) => group.size,
        };
        Some(((inst.address, inst.text(), is_here), size as u64, inst.clause))
    };
    let mut lines = Vec::new();
    let Some(word) = here.word.filter(|_| line(here, true).is_some_and(|(.., clause)| clause.is_some()))
    else {
        // Control flow words have 8 or 16 bytes, so none is decoded backwards.
        let mut at = Position::control(here.control);
        for number in 0..=WINDOW {
            let Some((one, size, _)) = line(at, number == 0) else { break };
            lines.push(one);
            at = Position::control(at.control + size);
        }
        return lines;
    };
    let unit = match line(here, true) {
        Some((.., Some(clause))) if clause.kind != Address::AluClause => 16,
        _ => UNIT,
    };
    let mut at = 0u8;
    let mut behind = 0;
    // A clause has up to 128 words.
    while at < 0x80 && behind <= WINDOW {
        let Some((one, size, _)) = line(Position { word: Some(at), ..here }, at == word) else { break };
        lines.push(one);
        behind += u8::from(at >= word);
        at = at.saturating_add((size / unit).clamp(1, 128) as u8);
        if is_end(code, map, here, at) {
            break;
        }
    }
    let first = lines.iter().position(|(.., here)| *here).unwrap_or(0).saturating_sub(WINDOW.into());
    lines.split_off(first)
}

/// Whether a clause ends before a word.
fn is_end(code: &Code, map: &MemoryMap, of: Position, word: u8) -> bool {
    let control = code.in_clause(map, Position::control(of.control).number());
    let count = control.and_then(|control| control.words().first()?.field(FieldId::Count));
    // COUNT is one less than the words.
    count.is_none_or(|count| u32::from(word) > count)
}
