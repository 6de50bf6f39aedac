//! The text of a fault report.

use std::fmt::{self, Write as _};

use wavemill_engine::{Access, BufferRange, FaultCause, FaultSpace, Nearest, Neighbour};
use wavemill_ir::{FaultKind, Row};
use wavemill_object::printable::Printable;

use super::wave::Wave;
use super::{FaultReport, SourceLocation};

/// Addresses of lanes that a report lists, and lanes of which it shows registers.
const ADDRESSES: usize = 8;
const LANES: usize = 4;

/// Numbers of lanes, with runs drawn together: `0, 3..7`.
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
        // Writing to a string does not fail.
        let _ = match i == j {
            true => write!(out, "{}", lanes[i]),
            false => write!(out, "{}..{}", lanes[i], lanes[j]),
        };
        i = j + 1;
    }
    out
}

/// A number of things.
struct Count(u64, &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fault = &self.fault;
        self.what(f)?;
        write!(f, "  kernel       {}", Printable(&self.kernel))?;
        if let Some((name, offset)) = &self.function {
            if *name != self.kernel {
                let full = wavemill_object::demangle(name);
                write!(f, ", in {}", Printable(full.as_ref().unwrap_or(name)))?;
            }
            write!(f, " + {offset:#x}")?;
        }
        writeln!(f)?;
        self.source(f)?;
        write!(f, "  pc           {:#x}", fault.pc)?;
        if let Some(start) = self.within {
            write!(f, ", in the middle of the instruction at {start:#x}")?;
        }
        writeln!(f)?;
        if let Some(text) = &self.instruction {
            writeln!(f, "  instruction  {text}")?;
        }
        let [x, y, z] = fault.workgroup;
        writeln!(f, "  workgroup    ({x}, {y}, {z}), wave {} of {}", fault.wave, fault.resources.waves)?;
        self.lanes(f)?;
        self.memory(f)?;
        if self.window.len() > 1 {
            writeln!(f, "  code")?;
            for (pc, text, here) in &self.window {
                writeln!(f, "  {} {pc:#x}  {text}", if *here { '*' } else { ' ' })?;
            }
        }
        write!(f, "{}", Wave(fault))?;
        self.lane_registers(f)
    }
}

impl FaultReport {
    /// The first line.
    fn what(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault.cause {
            FaultCause::Memory { access, space, size, lanes, nearest } => {
                let what = match access {
                    Access::Load => "load",
                    Access::Store => "store",
                    Access::Atomic => "atomic access",
                };
                write!(f, "illegal {what} of {}", Count((*size).into(), "byte"))?;
                let first = lanes.first().map_or(0, |lane| lane.address);
                let silence = match access {
                    Access::Load => "the chip reads 0",
                    Access::Store => "the chip drops it",
                    Access::Atomic => "the chip drops it and returns 0",
                };
                match space {
                    FaultSpace::Global => write!(f, " at {first:#x}")?,
                    FaultSpace::Scratch => write!(f, " at byte {} of private memory", first as i64)?,
                    FaultSpace::Lds => {
                        let have = Count(self.fault.resources.lds.into(), "byte");
                        return writeln!(
                            f,
                            " at byte {} of LDS, of which the workgroup has {have}: {silence}",
                            first as i64
                        );
                    }
                    FaultSpace::Buffer(range) => {
                        let (unit, have) = match range {
                            BufferRange::Bytes(n) => ("byte", *n),
                            BufferRange::Records(n) => ("record", *n),
                        };
                        let have = Count(have, unit);
                        return writeln!(f, " at {unit} {first} of a buffer of {have}: {silence}");
                    }
                }
                match nearest {
                    Nearest::Inside { name, offset, size: have } => {
                        writeln!(f, ": it begins at byte {offset} of `{name}`, which ends at {have}")
                    }
                    other => writeln!(f, ": {other}"),
                }
            }
            FaultCause::MisalignedAtomic { size, lanes } => {
                let address = lanes.first().map_or(0, |l| l.address);
                writeln!(
                    f,
                    "misaligned atomic of {size} bytes at {address:#x}: the address must be a multiple of {size}"
                )
            }
            FaultCause::Instruction(FaultKind::IllegalInstruction) => writeln!(f, "illegal instruction"),
            FaultCause::Instruction(FaultKind::Unsupported) => {
                writeln!(f, "unsupported instruction: Wavemill does not implement it yet")
            }
            FaultCause::Instruction(FaultKind::NoCode) => {
                writeln!(f, "the code ends here, and the program does not")
            }
            FaultCause::Trap(2) => {
                writeln!(f, "trap 2: the program aborted (assertion, abort or unreachable code)")
            }
            FaultCause::Trap(id) => writeln!(f, "trap {id}"),
            FaultCause::BadJump { target } => match &self.target {
                Some(nearest) => writeln!(f, "jump to {target:#x}, which holds no code: {nearest}"),
                None => writeln!(f, "the code ends behind this instruction, and the program does not"),
            },
        }
    }

    /// Where in the source it is, and what was inlined there.
    fn source(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unknown = || "?".to_owned();
        let place = |at: &Option<SourceLocation>| at.as_ref().map_or_else(unknown, ToString::to_string);
        if self.source.is_none() && self.inlined.is_empty() {
            return Ok(());
        }
        write!(f, "  source       {}", Printable(&place(&self.source)))?;
        for call in &self.inlined {
            let name = wavemill_object::demangle(&call.function).unwrap_or_else(|| call.function.clone());
            let name = if name.is_empty() { unknown() } else { name };
            write!(f, ", in {}\n    inlined at {}", Printable(&name), Printable(&place(&call.at)))?;
        }
        writeln!(f)
    }

    fn lanes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lanes = self.refused();
        if lanes.is_empty() {
            return Ok(());
        }
        let numbers: Vec<u8> = lanes.iter().map(|l| l.lane).collect();
        let active = self.fault.snapshot.exec().count_ones();
        let what = if lanes.len() == 1 { "lane " } else { "lanes" };
        write!(f, "  {what}        {} ({} of {active} active)", lanes_text(&numbers), lanes.len())?;
        if lanes.len() > 1 {
            f.write_str(" at")?;
            let hexadecimal = matches!(
                self.fault.cause,
                FaultCause::MisalignedAtomic { .. } | FaultCause::Memory { space: FaultSpace::Global, .. }
            );
            // Often they are all the same.
            let same = lanes.iter().all(|lane| lane.address == lanes[0].address);
            let shown = if same { &lanes[..1] } else { &lanes[..lanes.len().min(ADDRESSES)] };
            for lane in shown {
                match hexadecimal {
                    true => write!(f, " {:#x}", lane.address)?,
                    false => write!(f, " {}", lane.address as i64)?,
                }
            }
            if !same && lanes.len() > ADDRESSES {
                write!(f, " and {} more", lanes.len() - ADDRESSES)?;
            }
        }
        writeln!(f)
    }

    /// The allocations around the address.
    fn memory(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(neighbours) = &self.neighbours else { return Ok(()) };
        let address = match &self.fault.cause {
            FaultCause::BadJump { target } => *target,
            FaultCause::Memory { lanes, .. } | FaultCause::MisalignedAtomic { lanes, .. } => {
                lanes.first().map_or(0, |lane| lane.address)
            }
            _ => 0,
        };
        let bytes = |n| Count(n, "byte");
        let relation = |one: &Neighbour| match address {
            at if at < one.start => format!("begins {} above", bytes(one.start - at)),
            at if at < one.end() => format!("holds it as byte {}", at - one.start),
            at => format!("ends {} below", bytes(at - one.end())),
        };
        let all = [&neighbours.below, &neighbours.holds, &neighbours.above];
        for (n, one) in all.into_iter().flatten().enumerate() {
            let title = if n == 0 { "memory" } else { "" };
            let freed = if one.freed { ", freed" } else { "" };
            writeln!(
                f,
                "  {title:12} {:#x}..{:#x} `{}`, {}{freed}, {}",
                one.start,
                one.end(),
                Printable(&one.name),
                bytes(one.size),
                relation(one)
            )?;
        }
        Ok(())
    }

    /// Lane registers of the first lanes that were refused, or else of the first active ones: those that the instruction
    /// names, marked, and all others that are not zero in the whole wave.
    fn lane_registers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = &self.fault.snapshot;
        let mut lanes: Vec<usize> = self.refused().iter().map(|l| usize::from(l.lane)).collect();
        if lanes.is_empty() {
            lanes = (0..64).filter(|l| s.exec() >> l & 1 != 0).collect();
        }
        lanes.truncate(LANES);
        if lanes.is_empty() {
            return Ok(());
        }
        let list = lanes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        writeln!(f, "    vgprs of {} {list}", if lanes.len() == 1 { "lane" } else { "lanes" })?;
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
