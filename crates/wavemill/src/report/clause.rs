//! Locations in programs with clauses, for reports.

use std::fmt;

use wavemill_ir::{FaultKind, Row};
use wavemill_isa::cayman::{Address, CHANNELS, FieldId, Format, Inst, Lock, Source, WINDOW_FIELDS};
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
    /// What is wrong with the constants that a group reads, if that may be the cause.
    pub constants: Option<String>,
}

impl ClausePlace {
    /// The location of an instruction that faulted.
    pub(super) fn of(
        code: &Code,
        map: &MemoryMap,
        inst: Option<&ClauseInstruction>,
        fault: &Fault,
    ) -> Option<ClausePlace> {
        let inst = inst?;
        let constants = constants(code, map, inst, fault);
        Some(ClausePlace {
            slot: slot(inst, fault).or(constants.as_ref().map(|(slot, _)| *slot)),
            constants: constants.map(|(_, text)| text),
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

/// What is wrong with the constants that a group reads: its control flow word does not lock them, or
/// the launch has no such constant buffer. With the channel of the slot.
fn constants(
    code: &Code,
    map: &MemoryMap,
    inst: &ClauseInstruction,
    fault: &Fault,
) -> Option<(char, String)> {
    let is_illegal = matches!(fault.cause, FaultCause::Instruction(FaultKind::IllegalInstruction));
    let is_load = matches!(&fault.cause, FaultCause::Memory { access: Access::Load, .. });
    if !is_illegal && !is_load {
        return None;
    }
    let control = Position::control(Position::from_number(fault.pc).control).number();
    let control = *code.in_clause(map, control)?.words().first()?;
    let mut sources = slots(inst).flat_map(|(slot, name)| {
        slot.sources().map(move |(_, field, source)| (name, slot.bit(field.relative), source))
    });
    sources.find_map(|(name, is_relative, source)| {
        let Source::Constant(window, number, _) = source else { return None };
        let fields = WINDOW_FIELDS.get(usize::from(window))?;
        let [bank, index] = [fields.bank, fields.index].map(|field| control.get(field));
        let locked = fields.lock(&control).map_or(0, Lock::constants);
        // An index is added when the code runs, and a constant beyond the lines is no fault then.
        let number = if is_relative { 0 } else { number };
        if u32::from(number) >= locked {
            let text = format!(
                "kc{window}[{number}] is not locked: the control flow word locks {locked} constants of \
                 window {window}"
            );
            return is_illegal.then_some((name, text));
        }
        let is_absent = index == 0 && fault.snapshot.pair(registers::bank(bank as u16)) == 0;
        let text = format!("kc{window} is in constant buffer {bank}, which the launch does not have");
        (is_load && is_absent).then_some((name, text))
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
