//! Fault reports for people.

use std::fmt::{self, Write as _};

use wavemill_engine::{Access, Fault, FaultCause, FaultLane, FaultSpace, MemoryMap, Nearest, WaveSnapshot};
use wavemill_ir::{FaultKind, Row};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Inst, Operand, decode};

use crate::module::Kernel;

/// A position in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLocation {
    /// File as the compiler recorded it.
    pub file: String,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
}

impl fmt::Display for SourceLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
            if self.column > 0 {
                write!(f, ":{}", self.column)?;
            }
        }
        Ok(())
    }
}

/// Line table of a code object.
pub(crate) struct Lines {
    /// Rows of the line programs by guest address: address, end of sequence, location.
    rows: Vec<(u64, Option<SourceLocation>)>,
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lines({} rows)", self.rows.len())
    }
}

impl Lines {
    /// The line table of a code object whose addresses move by `bias`; `None` without debug information.
    pub(crate) fn of(object: &[u8], bias: u64) -> Option<Lines> {
        let rows = crate::lines::rows(object)?;
        let mut rows: Vec<_> = rows.into_iter().map(|(a, l)| (a.wrapping_add(bias), l)).collect();
        rows.sort_by_key(|(a, l)| (*a, l.is_some()));
        (!rows.is_empty()).then_some(Lines { rows })
    }

    /// The source position of an address.
    pub(crate) fn at(&self, pc: u64) -> Option<SourceLocation> {
        let index = self.rows.partition_point(|(a, _)| *a <= pc).checked_sub(1)?;
        self.rows[index].1.clone()
    }
}

/// A guest fault with what a person needs to understand it.
#[derive(Clone, Debug)]
pub struct FaultReport {
    /// Name of the launched kernel.
    pub kernel: String,
    /// The fault.
    pub fault: Fault,
    /// Function that holds the PC, and the PC's offset in it.
    pub function: Option<(String, u64)>,
    /// Text of the instruction at the PC.
    pub instruction: Option<String>,
    /// VGPRs and AccVGPRs that this instruction names.
    pub operands: Vec<Row>,
    /// Source position of the PC, if the code object has debug information.
    pub source: Option<SourceLocation>,
    /// Disassembly around the PC: address, text, whether it is the PC.
    pub window: Vec<(u64, String, bool)>,
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
                (0..u16::from(dwords)).map(|n| Row::vgpr(u16::from(first) + n)).collect()
            }
            Operand::Agpr { first, dwords } => {
                (0..u16::from(dwords)).map(|n| Row::acc(u16::from(first) + n)).collect()
            }
            _ => Vec::new(),
        })
        .collect();
    rows.sort();
    rows.dedup();
    rows
}

/// Instructions before and behind the PC in a report.
const WINDOW: usize = 4;

impl FaultReport {
    /// Whether the kernel did nothing wrong: Wavemill does not implement the instruction.
    #[must_use]
    pub fn is_unsupported(&self) -> bool {
        matches!(self.fault.cause, FaultCause::Instruction(FaultKind::Unsupported))
    }

    pub(crate) fn new(kernel: &Kernel, fault: Fault, map: &MemoryMap) -> Self {
        let device = &kernel.module.device;
        let region = device.code.region(fault.pc);
        let function = region.as_ref().and_then(|r| r.function(fault.pc));
        let function = function.map(|(name, offset)| (name.to_owned(), offset));
        let decode_at = |pc: u64| {
            let (bytes, n) = device.code.fetch(map, pc);
            decode(device.target, &bytes[..n]).ok()
        };
        let decoded = decode_at(fault.pc);
        let instruction = decoded.as_ref().map(text);
        let operands = decoded.as_ref().map(rows).unwrap_or_default();
        let source = region.as_ref().and_then(|r| r.lines.as_ref()?.at(fault.pc));
        let start = function.as_ref().map_or(fault.pc, |(_, offset)| fault.pc - offset);
        let window = window(device.target, start, fault.pc, |pc| {
            let (bytes, n) = device.code.fetch(map, pc);
            bytes[..n].to_vec()
        });
        let kernel = kernel.name().to_owned();
        FaultReport { kernel, fault, function, instruction, operands, source, window }
    }
}

/// Decodes from the start of a function, so that instruction boundaries are right, and keeps what is near the PC.
fn window(target: Target, start: u64, pc: u64, bytes: impl Fn(u64) -> Vec<u8>) -> Vec<(u64, String, bool)> {
    let mut list: Vec<(u64, String, bool)> = Vec::new();
    let mut at = start;
    let mut behind = 0;
    // A function of a million instructions is no reason to wait.
    for _ in 0..1 << 20 {
        let code = bytes(at);
        let (line, size) = match decode(target, &code) {
            Ok(inst) => (text(&inst), inst.size() as u64),
            Err(_) if code.len() >= 4 => {
                (format!(".long {:#010x}", u32::from_le_bytes([code[0], code[1], code[2], code[3]])), 4)
            }
            Err(_) => break,
        };
        list.push((at, line, at == pc));
        if at >= pc {
            behind += 1;
        }
        if behind > WINDOW {
            break;
        }
        at += size;
    }
    let first = list.iter().position(|(a, _, _)| *a >= pc).unwrap_or(list.len()).saturating_sub(WINDOW);
    list.split_off(first)
}

fn lanes_text(lanes: &[u8]) -> String {
    let mut out = String::new();
    let mut i = 0;
    while i < lanes.len() {
        let mut j = i;
        while j + 1 < lanes.len() && lanes[j + 1] == lanes[j] + 1 {
            j += 1;
        }
        if !out.is_empty() {
            out.push_str(", ");
        }
        if i == j {
            let _ = write!(out, "{}", lanes[i]);
        } else {
            let _ = write!(out, "{}..{}", lanes[i], lanes[j]);
        }
        i = j + 1;
    }
    out
}

fn plural(n: usize, what: &str) -> String {
    if n == 1 { format!("{what} ") } else { format!("{what}s ") }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = &self.fault;
        match &fault.cause {
            FaultCause::Memory { access, space, size, lanes, nearest } => {
                let what = match access {
                    Access::Load => "load",
                    Access::Store => "store",
                    Access::Atomic => "atomic access",
                };
                write!(f, "illegal {what} of {size} byte{}", if *size == 1 { "" } else { "s" })?;
                if let Some(first) = lanes.first() {
                    match space {
                        FaultSpace::Global => write!(f, " at {:#x}", first.address)?,
                        FaultSpace::Scratch => write!(f, " at byte {:#x} of private memory", first.address)?,
                    }
                }
                match nearest {
                    Nearest::Inside { name, offset, size: have } => {
                        write!(f, ": it begins at byte {offset} of `{name}`, which ends at {have}")?;
                    }
                    other => write!(f, ": {other}")?,
                }
                writeln!(f)?;
            }
            FaultCause::MisalignedAtomic { size, lanes } => {
                let address = lanes.first().map_or(0, |l| l.address);
                writeln!(
                    f,
                    "misaligned atomic of {size} bytes at {address:#x}: the address must be a multiple of {size}"
                )?;
            }
            FaultCause::Instruction(FaultKind::IllegalInstruction) => writeln!(f, "illegal instruction")?,
            FaultCause::Instruction(FaultKind::Unsupported) => {
                writeln!(f, "unsupported instruction: Wavemill does not implement it yet")?;
            }
            FaultCause::Instruction(FaultKind::NoCode) => {
                writeln!(f, "jump to an address that holds no code")?
            }
            FaultCause::Trap(id) => {
                writeln!(
                    f,
                    "trap {id}{}",
                    if *id == 2 {
                        ": the program aborted (assertion, abort or unreachable code)"
                    } else {
                        ""
                    }
                )?;
            }
            FaultCause::BadJump { target } => writeln!(f, "jump to {target:#x}, which holds no code")?,
        }
        write!(f, "  kernel       {}", self.kernel)?;
        if let Some((name, offset)) = &self.function {
            if *name != self.kernel {
                write!(f, ", in {name}")?;
            }
            write!(f, " + {offset:#x}")?;
        }
        writeln!(f)?;
        if let Some(source) = &self.source {
            writeln!(f, "  source       {source}")?;
        }
        writeln!(f, "  pc           {:#x}", fault.pc)?;
        if let Some(text) = &self.instruction {
            writeln!(f, "  instruction  {text}")?;
        }
        let [x, y, z] = fault.workgroup;
        writeln!(f, "  workgroup    ({x}, {y}, {z}), wave {}", fault.wave)?;
        self.lanes(f)?;
        if self.window.len() > 1 {
            writeln!(f, "  code")?;
            for (pc, text, here) in &self.window {
                writeln!(f, "  {} {pc:#x}  {text}", if *here { '*' } else { ' ' })?;
            }
        }
        scalar_registers(f, &fault.snapshot)?;
        self.lane_registers(f)
    }
}

impl FaultReport {
    /// The lanes whose access was refused; none if the fault is not one of lanes.
    #[must_use]
    pub fn refused(&self) -> &[FaultLane] {
        match &self.fault.cause {
            // A scalar instruction names no lane registers, and has no lanes.
            FaultCause::Memory { lanes, .. } | FaultCause::MisalignedAtomic { lanes, .. }
                if !self.operands.is_empty() =>
            {
                lanes
            }
            _ => &[],
        }
    }

    fn lanes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = self.refused();
        if lanes.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u8> = lanes.iter().map(|l| l.lane).collect();
        write!(f, "  {:13}{}", plural(numbers.len(), "lane").trim_end(), lanes_text(&numbers))?;
        if lanes.len() > 1 {
            f.write_str(" at")?;
            for l in lanes.iter().take(4) {
                write!(f, " {:#x}", l.address)?;
            }
            if lanes.len() > 4 {
                f.write_str(" ...")?;
            }
        }
        writeln!(f)
    }

    /// Lane registers of the first lanes that were refused, or else of the first active ones: those that the instruction
    /// names, marked, and all others that are not zero in the whole wave.
    fn lane_registers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.fault.snapshot;
        let mut lanes: Vec<usize> = self.refused().iter().map(|l| usize::from(l.lane)).collect();
        if lanes.is_empty() {
            lanes = (0..64).filter(|l| s.exec() >> l & 1 != 0).collect();
        }
        lanes.truncate(4);
        if lanes.is_empty() {
            return Ok(());
        }
        let list = lanes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        writeln!(f, "    vgprs of {}{list}", plural(lanes.len(), "lane"))?;
        let vgprs = s.vgprs.iter().zip((0..).map(Row::vgpr));
        for (values, row) in vgprs.chain(s.accs.iter().zip((0..).map(Row::acc))) {
            let named = self.operands.contains(&row);
            if !named && values.iter().all(|v| *v == 0) {
                continue;
            }
            let values: Vec<String> =
                lanes.iter().map(|l| format!("{:08x}", values.get(*l).copied().unwrap_or(0))).collect();
            let name = format!("{row:?}");
            writeln!(f, "  {} {name:5} {}", if named { '*' } else { ' ' }, values.join(" "))?;
        }
        Ok(())
    }
}

/// The wave's scalar registers, SGPRs in fours.
fn scalar_registers(f: &mut fmt::Formatter<'_>, s: &WaveSnapshot) -> fmt::Result {
    let scalar64 = |n: usize| u64::from(s.scalars[n]) | u64::from(s.scalars[n + 1]) << 32;
    writeln!(
        f,
        "  registers    exec {:#018x}  vcc {:#018x}  scc {}  m0 {:#x}  mode {:#x}",
        s.exec(),
        scalar64(106),
        u8::from(s.scc),
        s.scalars[124],
        s.mode
    )?;
    let used = s.scalars[..102].iter().rposition(|v| *v != 0).map_or(0, |n| n + 1).next_multiple_of(4);
    for first in (0..used).step_by(4) {
        let q: Vec<String> =
            (first..first + 4).map(|n| format!("{:08x}", s.scalars.get(n).copied().unwrap_or(0))).collect();
        writeln!(
            f,
            "    s[{first}:{}]{:pad$} {}",
            first + 3,
            "",
            q.join(" "),
            pad = 6usize.saturating_sub(digits(first) + digits(first + 3))
        )?;
    }
    Ok(())
}

fn digits(n: usize) -> usize {
    n.checked_ilog10().map_or(1, |d| d as usize + 1)
}
