//! The text of a fault report.

use std::fmt::{self, Write as _};

use wavemill_ir::{Names, Operand, Row};
use wavemill_isa::Family;
use wavemill_lift::cayman;
use wavemill_machine::{FaultCause, FaultSpace, Neighbour};
use wavemill_object::printable::{Echo, Printable};

use super::wave::{ClauseWave, Wave};
use super::{FaultReport, SegmentAccess, SourceLocation};
use crate::registers::RegisterNames;
use crate::traps::Exceptions;

/// Lines of a short report. With a blank line and a line of advice it has twelve.
const LINES: usize = 10;
/// Most instructions, and most inlined calls, that a short report shows.
const CODE: usize = 5;
const CALLS: usize = 2;
/// Lanes whose registers a full report shows.
const LANES: usize = 4;

/// Level of detail of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Length {
    /// Enough to find most errors, with at most this many inlined calls.
    Short { calls: usize },
    /// Everything.
    Full,
}

impl Length {
    /// Most lane addresses to list.
    fn addresses(self) -> usize {
        if self == Length::Full { 8 } else { 4 }
    }
}

/// Lane numbers with runs collapsed: `0, 3..7`.
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
pub(super) struct Count(pub u64, pub &'static str);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}{}", self.0, self.1, if self.0 == 1 { "" } else { "s" })
    }
}

/// Bytes between an address and an allocation; large distances are rounded.
struct Distance(u64);

impl fmt::Display for Distance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 >> 30 {
            0 => Count(self.0, "byte").fmt(f),
            _ => write!(f, "{:.1} GiB", self.0 as f64 / f64::from(1 << 30)),
        }
    }
}

/// The report in at most ten lines, or nine if it has advice. [`FaultReport::full`]
/// has the rest.
impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Advice takes one more line.
        let advice = self.stack.is_some() || self.needs_cooperative || self.lacks_trap_memory();
        let lines = LINES - usize::from(advice);
        let mut text = String::new();
        let mut left = 0;
        // There is always a line for the instruction; inlined calls leave room for it.
        for calls in (0..=CALLS).rev() {
            text.clear();
            self.rows(&mut text, Length::Short { calls })?;
            left = lines.saturating_sub(text.lines().count());
            if left > 0 {
                break;
            }
        }
        self.code(&mut text, left.clamp(1, CODE))?;
        f.write_str(&text)
    }
}

/// A fault report with all known details: more of the code, the state of the wave, and its
/// registers.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::Launch;
/// # let (kernel, args) = given::vector_add(200)?;
/// # let report = given::fault(Launch::new(&kernel).workgroup_size([256, 1, 1]).args(args))?;
/// // `report` of a kernel that stores behind a buffer, for a log, with all registers of the wave.
/// let (short, full) = (report.to_string(), report.full().to_string());
/// assert!(full.lines().count() > short.lines().count());
/// assert_eq!(short.lines().next(), full.lines().next());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FullReport<'a>(pub(super) &'a FaultReport);

impl fmt::Display for FullReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FullReport(report) = self;
        report.rows(f, Length::Full)?;
        report.code(f, usize::MAX)?;
        match report.family {
            Family::Gcn => write!(
                f,
                "{}",
                Wave { fault: &report.fault, collects_exceptions: report.collects_exceptions }
            )?,
            Family::Cayman => write!(f, "{}", ClauseWave(&report.fault))?,
        }
        report.lane_registers(f)
    }
}

impl FaultReport {
    /// The part of every report before the code.
    fn rows(&self, f: &mut dyn fmt::Write, length: Length) -> fmt::Result {
        writeln!(f, "{}", Headline(self))?;
        write!(f, "  kernel       {}", Echo::new(&wavemill_object::readable(&self.kernel)))?;
        if let Some((name, offset)) = &self.function {
            if *name != self.kernel {
                write!(f, ", in {}", Echo::new(&wavemill_object::readable(name)))?;
            }
            write!(f, " + {offset:#x}")?;
        }
        let fault = &self.fault;
        let [x, y, z] = fault.workgroup;
        let wave = format!("({x}, {y}, {z}), wave {} of {}", fault.wave, fault.resources.waves);
        match length {
            Length::Short { .. } => writeln!(f, ", workgroup {wave}")?,
            Length::Full => writeln!(f)?,
        }
        if let Some(clause) = &self.clause {
            writeln!(f, "  clause       {clause}")?;
            if let Some(constants) = &clause.constants {
                writeln!(f, "  constants    {constants}")?;
            }
        }
        self.source(f, length)?;
        // Otherwise the code marks both.
        if length == Length::Full || self.within.is_some() || self.window.is_empty() {
            write!(f, "  pc           {:#x}", self.address)?;
            if let Some(start) = self.within {
                write!(f, ", in the middle of the instruction at {start:#x}")?;
            }
            writeln!(f)?;
        }
        if length == Length::Full {
            if let Some(text) = &self.instruction {
                writeln!(f, "  instruction  {text}")?;
            }
            writeln!(f, "  workgroup    {wave}")?;
        }
        self.jump(f)?;
        self.lanes(f, length)?;
        self.memory(f, length)?;
        if self.only_in_process {
            writeln!(f, "  process      has memory there, which the launch may not access")?;
        }
        self.arguments(f)?;
        self.stack(f)?;
        self.grid_sync(f)
    }

    /// The source position, and the calls inlined there.
    fn source(&self, f: &mut dyn fmt::Write, length: Length) -> fmt::Result {
        let unknown = || "?".to_owned();
        let place = |at: &Option<SourceLocation>| at.as_ref().map_or_else(unknown, ToString::to_string);
        if self.source.is_none() && self.inlined.is_empty() {
            return Ok(());
        }
        write!(f, "  source       {}", Printable(&place(&self.source)))?;
        let calls = match length {
            Length::Short { calls } => calls,
            Length::Full => usize::MAX,
        };
        let mut text = self.source_text.as_deref();
        for call in self.inlined.iter().take(calls) {
            let name = wavemill_object::readable(&call.function);
            let name = if name.is_empty() { "?" } else { &name };
            write!(f, ", in {}", Echo::new(name))?;
            source_text(f, text.take())?;
            write!(f, "\n    inlined at {}", Printable(&place(&call.at)))?;
        }
        if let more @ 1.. = self.inlined.len().saturating_sub(calls) {
            write!(f, ", in {}", Count(more as u64, "more inlined call"))?;
        }
        source_text(f, text)?;
        writeln!(f)
    }

    /// The branch that led to the PC.
    fn jump(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let Some(jump) = &self.jump else { return Ok(()) };
        f.write_str("  came from    ")?;
        match &jump.function {
            Some((name, offset)) => {
                let name = wavemill_object::readable(name);
                write!(f, "{} + {offset:#x} ({:#x})", Echo::new(&name), jump.pc)?;
            }
            None => write!(f, "{:#x}", jump.pc)?,
        }
        match &jump.instruction {
            Some(text) => writeln!(f, ": {text}"),
            None => writeln!(f),
        }
    }

    fn lanes(&self, f: &mut dyn fmt::Write, length: Length) -> fmt::Result {
        let (lanes, numbers) = (self.refused(), self.faulty());
        if numbers.is_empty() {
            return Ok(());
        }
        let active = self.fault.snapshot.active.count_ones();
        let what = if numbers.len() == 1 { "lane " } else { "lanes" };
        write!(f, "  {what}        {} ({} of {active} active)", lanes_text(&numbers), numbers.len())?;
        self.raised_by(f)?;
        if lanes.len() > 1 {
            f.write_str(" at")?;
            let hexadecimal = matches!(
                self.fault.cause,
                FaultCause::MisalignedAtomic { .. } | FaultCause::Memory { space: FaultSpace::Global, .. }
            );
            // Often they are all the same.
            let same = lanes.iter().all(|lane| lane.address == lanes[0].address);
            let listed = length.addresses();
            let shown = if same { &lanes[..1] } else { &lanes[..lanes.len().min(listed)] };
            for lane in shown {
                match hexadecimal {
                    true => write!(f, " {:#x}", lane.address)?,
                    false => write!(f, " {}", lane.address as i64)?,
                }
            }
            if !same && lanes.len() > listed {
                write!(f, " and {} more", lanes.len() - listed)?;
            }
        }
        writeln!(f)
    }

    /// Which lanes raise which exceptions, if they differ.
    fn raised_by(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let raised = self.raised();
        if raised.iter().all(|lane| lane.raised == raised[0].raised) {
            return Ok(());
        }
        for bit in 0..u8::BITS {
            let with = raised.iter().filter(|lane| lane.raised >> bit & 1 != 0);
            let with: Vec<u8> = with.map(|lane| lane.lane).collect();
            for name in Exceptions::from_bits(1 << bit).names().filter(|_| !with.is_empty()) {
                write!(f, "; {name} {}", lanes_text(&with))?;
            }
        }
        Ok(())
    }

    /// The allocations around the address. A short report shows only the one that holds it, if
    /// there is one.
    fn memory(&self, f: &mut dyn fmt::Write, length: Length) -> fmt::Result {
        let Some(neighbours) = &self.neighbours else { return Ok(()) };
        let mut holds = "contains it as";
        let address = match &self.fault.cause {
            FaultCause::BadJump { target } => *target,
            FaultCause::Memory { space: FaultSpace::Image(extent), .. } => {
                holds = "contains the image from";
                extent.base
            }
            FaultCause::Memory { lanes, .. } | FaultCause::MisalignedAtomic { lanes, .. } => {
                lanes.first().map_or(0, |lane| lane.address)
            }
            _ => 0,
        };
        let bytes = |n| Count(n, "byte");
        let relation = |one: &Neighbour| match address {
            at if at < one.start => format!("begins {} above", Distance(one.start - at)),
            at if at < one.end() => format!("{holds} byte {}", at - one.start),
            at => format!("ends {} below", Distance(at - one.end())),
        };
        let alone = length != Length::Full && neighbours.holds.is_some();
        let around = |one| Some(one).filter(|_| !alone);
        let all = [around(&neighbours.below), Some(&neighbours.holds), around(&neighbours.above)];
        for (n, one) in all.into_iter().flatten().flatten().enumerate() {
            let title = if n == 0 { "memory" } else { "" };
            let freed = if one.freed { ", freed" } else { "" };
            writeln!(
                f,
                "  {title:12} {:#x}..{:#x} `{}`, {}{freed}, {}",
                one.start,
                one.end(),
                Echo::new(&one.name),
                bytes(one.size),
                relation(one)
            )?;
        }
        Ok(())
    }

    /// The kernel argument segment, and the arguments that the kernel may have expected in it.
    fn arguments(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let Some(segment) = &self.arguments else { return Ok(()) };
        write!(f, "  arguments    {}", Count(segment.bytes, "byte"))?;
        match segment.explicit.as_deref() {
            None => f.write_str(" (the code object does not describe the arguments)")?,
            Some([]) => f.write_str(", no argument")?,
            Some([only]) => write!(f, ", `{}` is the only argument", Echo::new(only))?,
            Some([.., last]) => write!(f, ", `{}` is the last argument", Echo::new(last))?,
        }
        match segment.hidden {
            0 if segment.explicit.is_some() => f.write_str(", no hidden ones")?,
            0 => {}
            n => write!(f, ", {} after it", Count(n as u64, "hidden one"))?,
        }
        writeln!(
            f,
            "{}",
            match segment.access {
                SegmentAccess::Before => "; the access begins before them",
                SegmentAccess::Past => "; does the code expect more?",
                SegmentAccess::Write => "; kernels only read them",
            }
        )
    }

    /// The size of the stack, and where the size comes from.
    fn stack(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let Some(stack) = &self.stack else { return Ok(()) };
        let why = match (stack.dynamic, stack.bytes > stack.declared) {
            (true, _) => "the code object does not say how much the kernel needs".to_owned(),
            (false, true) => format!("the code object requests {}", stack.declared),
            (false, false) => "from the code object".to_owned(),
        };
        let used = Count(stack.used.into(), "byte");
        writeln!(
            f,
            "  stack        {} for each work-item ({why}), {used} in use",
            Count(stack.bytes.into(), "byte")
        )
    }

    /// The structure for synchronising the grid that the launch does not have.
    fn grid_sync(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        match self.needs_cooperative {
            true => writeln!(
                f,
                "  grid sync    the launch is not cooperative: it has no structure for `grid.sync()`"
            ),
            false => Ok(()),
        }
    }

    /// Up to this many lines of the code around the PC, most of them before it.
    fn code(&self, f: &mut dyn fmt::Write, lines: usize) -> fmt::Result {
        let here = self.window.iter().position(|(_, _, here)| *here).unwrap_or(self.window.len());
        let behind = self.window.len().saturating_sub(here + 1).min(lines.saturating_sub(1) / 2);
        let end = (here + 1 + behind).min(self.window.len());
        let first = end.saturating_sub(lines);
        for (n, (pc, text, here)) in self.window[first..end].iter().enumerate() {
            let title = if n == 0 { "code" } else { "" };
            writeln!(f, "  {title:10} {} {pc:#x}  {text}", if *here { '*' } else { ' ' })?;
        }
        Ok(())
    }

    /// Lane registers of the first rejected lanes, or else of the first active ones: the registers
    /// that the instruction names, marked, and all others that are not zero in the whole wave.
    fn lane_registers(&self, f: &mut dyn fmt::Write) -> fmt::Result {
        let s = &self.fault.snapshot;
        let mut lanes: Vec<usize> = self.faulty().into_iter().map(usize::from).collect();
        if lanes.is_empty() {
            lanes = (0..64).filter(|l| s.active >> l & 1 != 0).collect();
        }
        lanes.truncate(LANES);
        if lanes.is_empty() {
            return Ok(());
        }
        let list = lanes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let (what, names): (_, &dyn Names) = match self.family {
            Family::Gcn => ("vgprs", &RegisterNames),
            Family::Cayman => ("gprs", &cayman::registers::RegisterNames),
        };
        writeln!(f, "    {what} of {} {list}", if lanes.len() == 1 { "lane" } else { "lanes" })?;
        let [first, second] = &s.rows;
        for (values, row) in first.iter().zip((0..).map(Row)).chain(second.iter().zip((0..).map(Row::second)))
        {
            let named = self.operands.contains(&row);
            if !named && values.iter().all(|v| *v == 0) {
                continue;
            }
            let values: Vec<String> =
                lanes.iter().map(|l| format!("{:08x}", values.get(*l).copied().unwrap_or(0))).collect();
            let name = Operand::Row(row).text(names);
            writeln!(f, "  {} {name:5} {}", if named { '*' } else { ' ' }, values.join(" "))?;
        }
        Ok(())
    }
}

/// The first line of a report.
struct Headline<'a>(&'a FaultReport);

impl fmt::Display for Headline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.headline(f)
    }
}

/// The text of a source line, on its own line below the position.
fn source_text(f: &mut dyn fmt::Write, text: Option<&str>) -> fmt::Result {
    text.map_or(Ok(()), |text| write!(f, "\n{:15}  {}", "", Printable(text)))
}
