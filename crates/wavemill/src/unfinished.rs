//! Text reports of grids that did not finish, and their waves.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;
use wavemill_object::printable::{Echo, Printable};

use wavemill_machine::{LiveWave, MemoryMap, Nearest, Spin, SyncWait};

use crate::module::Kernel;
use crate::report::ClausePlace;
use crate::source::SourceLocation;

/// Most lines about waves in a short report. A wave, or a group of waves that do the same, takes
/// two or three.
pub(crate) const LISTED: usize = 6;
/// The limit of a full report.
pub(crate) const LISTED_IN_FULL: usize = 40;

/// Separates the lines about one wave.
const BELOW: &str = "\n        ";

/// Why a launch was stopped.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use std::time::Duration;
///
/// use wavemill::fault::StopCause;
/// use wavemill::{Error, Launch};
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_branch -1")?;
/// // A kernel that branches to itself.
/// let limit = Duration::from_millis(50);
/// let Err(Error::TimeLimit(report)) = Launch::new(&kernel).time_limit(limit).run() else {
///     panic!("expected that the time ends")
/// };
/// assert_eq!(report.cause, StopCause::TimeLimit(limit));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopCause {
    /// It ran more than this many instructions, counted over all waves.
    InstructionLimit(u64),
    /// It ran longer than this.
    TimeLimit(Duration),
    /// The caller stopped it.
    Caller,
}

/// A grid that was stopped, and what it still had to do.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Error, Launch, RunOptions};
///
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_branch -1")?;
/// // A kernel that branches to itself.
/// let options = RunOptions { max_instructions: Some(1000), ..RunOptions::default() };
/// let Err(Error::InstructionLimit(report)) = Launch::new(&kernel).options(options).run() else {
///     panic!("expected that the limit is reached")
/// };
/// println!("{report}");
/// assert!(report.ran >= 1000);
/// assert_eq!((report.waves.len(), report.not_started), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unfinished {
    /// Name of the launched kernel.
    pub kernel: String,
    /// Why it was stopped.
    pub cause: StopCause,
    /// Instructions that ran. Waves stop between blocks of code, so this may exceed a limit.
    pub ran: u64,
    /// The waves that had started and not ended.
    pub waves: Vec<UnfinishedWave>,
    /// Workgroups that had not started.
    pub not_started: u64,
}

impl Unfinished {
    /// The report with lines for more of the waves.
    #[must_use]
    pub fn full(&self) -> FullUnfinished<'_> {
        FullUnfinished(self)
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, lines: usize) -> fmt::Result {
        write!(
            f,
            "`{}` was stopped after {} instructions",
            Echo::new(&wavemill_object::readable(&self.kernel)),
            self.ran
        )?;
        match self.cause {
            StopCause::InstructionLimit(limit) => write!(f, ": the limit is {limit}")?,
            StopCause::TimeLimit(limit) => write!(f, ": the limit is {} s", limit.as_secs_f64())?,
            StopCause::Caller => {}
        }
        let s = |n: bool| if n { "" } else { "s" };
        let (waves, groups) = (&self.waves[..], self.not_started);
        write!(
            f,
            "; {} wave{} still running, {groups} workgroup{} not started{}",
            waves.len(),
            s(waves.len() == 1),
            s(groups == 1),
            List { waves, indent: "  ", lines }
        )
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, LISTED)
    }
}

/// A report of a grid that was stopped, with lines for more of its waves.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Error, Launch, RunOptions};
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_branch -1")?;
/// # let options = RunOptions { max_instructions: Some(1000), ..RunOptions::default() };
/// # let ended = Launch::new(&kernel).options(options).run();
/// # let Err(Error::InstructionLimit(report)) = ended else { panic!("{ended:?}") };
/// // `report` of a launch that was stopped, for a log.
/// let full = report.full().to_string();
/// println!("{full}");
/// assert!(full.starts_with("`kernel` was stopped after "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct FullUnfinished<'a>(&'a Unfinished);

impl fmt::Display for FullUnfinished<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.write(f, LISTED_IN_FULL)
    }
}

/// A wave that had started and not ended when its grid was stopped or found stuck.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// # use wavemill::{Error, Launch, RunOptions};
/// # let device = given::device()?;
/// # let kernel = given::kernel(&device, "s_branch -1")?;
/// # let options = RunOptions { max_instructions: Some(1000), ..RunOptions::default() };
/// # let ended = Launch::new(&kernel).options(options).run();
/// # let Err(Error::InstructionLimit(report)) = ended else { panic!("{ended:?}") };
/// // `report` of a launch that was stopped: what each wave was doing.
/// for wave in &report.waves {
///     println!("{:?}, wave {}: {}", wave.workgroup, wave.wave, wave.state());
/// }
/// let wave = &report.waves[0];
/// assert!(!wave.at_barrier && wave.waits_for.is_none());
/// assert!(wave.instruction.as_deref().is_some_and(|text| text.starts_with("s_branch")));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct UnfinishedWave {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of the instruction that it waits at (the barrier, or the one that reads
    /// memory), or else of the next one that it would run.
    pub pc: u64,
    /// Whether it waits at a barrier of its workgroup.
    pub at_barrier: bool,
    /// What it waits for, if that is something of the whole device.
    pub waits_for: Option<SyncWait>,
    /// Whether the wave was checked for spinning. Waves at barriers are not, nor the last ones of
    /// many that run.
    pub looked_at: bool,
    /// The loop that it cannot leave until another wave writes memory, if one was found.
    pub spins: Option<Spin>,
    /// Name of the buffer that it reads there, and the byte offset.
    pub looks_at: Option<(String, u64)>,
    /// Where the PC is in a program with clauses. At a control flow word that calls a clause, it is the
    /// first group or fetch.
    pub clause: Option<ClausePlace>,
    /// Function that holds the PC, and the PC's offset in it.
    pub function: Option<(String, u64)>,
    /// Text of the instruction at the PC.
    pub instruction: Option<String>,
    /// Source position of the PC, if the code object has debug information.
    pub source: Option<SourceLocation>,
    /// Text of that source line, if it was read: reports show it.
    pub source_text: Option<String>,
}

impl UnfinishedWave {
    /// Adds details from the code at each wave's position.
    pub(crate) fn all(kernel: &Kernel, waves: Vec<LiveWave>, map: &MemoryMap) -> Vec<UnfinishedWave> {
        let code = &kernel.module.device.code;
        let report = |w: LiveWave| {
            let pc = w.spins.as_ref().and_then(|spin| spin.polls).unwrap_or(w.pc);
            let region = code.region(pc);
            let address = code.address(pc);
            let function = region.as_ref().and_then(|r| r.function(address));
            let start = function.map(|(_, offset)| address - offset);
            UnfinishedWave {
                workgroup: w.workgroup,
                wave: w.wave,
                pc: address,
                at_barrier: w.at_barrier,
                waits_for: w.waits_for,
                looked_at: w.looked_at,
                looks_at: w.spins.as_ref().and_then(|spin| match map.nearest(spin.address?) {
                    Nearest::Inside { name, offset, .. } => Some((name, offset)),
                    _ => None,
                }),
                spins: w.spins,
                clause: ClausePlace::next(code, map, pc),
                function: function.map(|(name, offset)| (name.to_owned(), offset)),
                instruction: code.text(map, pc),
                source: region.as_ref().and_then(|r| r.lines.as_ref()?.at(address, start).source),
                source_text: None,
            }
        };
        waves.into_iter().map(report).collect()
    }

    /// Whether the wave is in a loop that no other wave can end: the loop reads no memory.
    #[must_use]
    pub fn is_in_infinite_loop(&self) -> bool {
        self.spins.as_ref().is_some_and(|spin| spin.polls.is_none())
    }

    /// Whether nothing shows that the wave waits for others.
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.spins.is_none() && !self.at_barrier && self.waits_for.is_none()
    }

    /// What the wave does, or waits for: `waits at s_barrier` (GROUP_BARRIER on Cayman), `runs`, `runs or spins` if that was
    /// not checked, `is in an infinite loop of 2 instructions`, or ``spins in a loop of 3
    /// instructions on 0x1000004000 (byte 0 of `flag`)``.
    #[must_use]
    pub fn state(&self) -> String {
        match &self.spins {
            Some(spin) => {
                let s = if spin.instructions == 1 { "" } else { "s" };
                if self.is_in_infinite_loop() {
                    return format!("is in an infinite loop of {} instruction{s}", spin.instructions);
                }
                let mut text = format!("spins in a loop of {} instruction{s}", spin.instructions);
                if let Some(address) = spin.address {
                    text += &format!(" on {address:#x}");
                }
                if let Some((name, byte)) = &self.looks_at {
                    text += &format!(" (byte {byte} of `{}`)", Echo::new(name));
                }
                text
            }
            None if self.at_barrier && self.clause.is_some() => "waits at GROUP_BARRIER".to_owned(),
            None if self.at_barrier => "waits at s_barrier".to_owned(),
            None if let Some(wait) = self.waits_for => wait_text(wait),
            None if self.looked_at => "runs".to_owned(),
            None => "runs or spins".to_owned(),
        }
    }

    /// Number of lines about what the wave does.
    fn lines(&self) -> usize {
        2 + usize::from(self.source.is_some()) + usize::from(self.clause.is_some())
    }

    /// What the wave does; the instruction and the source line are on separate lines.
    fn doing(&self) -> String {
        let mut text = self.state() + BELOW;
        match &self.function {
            Some((name, offset)) => {
                let name = wavemill_object::readable(name);
                text += &format!("{} + {offset:#x} ({:#x})", Echo::new(&name), self.pc);
            }
            None => text += &format!("{:#x}", self.pc),
        }
        if let Some(instruction) = &self.instruction {
            text += &format!(": {instruction}");
        }
        if let Some(clause) = &self.clause {
            text += &format!("{BELOW}{clause}");
        }
        if let Some(source) = &self.source {
            text += &format!("{BELOW}{}", Printable(&source.to_string()));
            if let Some(line) = &self.source_text {
                text += &format!(": {}", Printable(line.trim()));
            }
        }
        text
    }

    /// The wave's name in a report.
    fn name(&self) -> String {
        let [x, y, z] = self.workgroup;
        format!("workgroup ({x}, {y}, {z}), wave {}", self.wave)
    }
}

impl fmt::Display for UnfinishedWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name(), self.doing())
    }
}

/// What a wave waits for.
fn wait_text(wait: SyncWait) -> String {
    match wait {
        SyncWait::Barrier { resource, missing } => {
            let s = if missing == 1 { "" } else { "s" };
            format!("waits at the barrier of GWS resource {resource} for {missing} more wave{s}")
        }
        SyncWait::Counter { resource } => {
            format!("waits at the semaphore of GWS resource {resource}, whose counter is 0")
        }
        SyncWait::Turn { order, number, turn } => {
            format!("waits for turn {number} of ordered count {order}, which is at turn {turn}")
        }
        other => format!("waits for {other:?}"),
    }
}

/// What each wave does, grouped by equal activity if there are too many lines.
pub(crate) struct List<'a> {
    pub waves: &'a [UnfinishedWave],
    /// Start of each line.
    pub indent: &'static str,
    /// Most lines, without the one that says that there are more.
    pub lines: usize,
}

impl<'a> List<'a> {
    /// A list of the usual length.
    pub(crate) fn short(waves: &'a [UnfinishedWave], indent: &'static str) -> Self {
        List { waves, indent, lines: LISTED }
    }
}

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = self.indent;
        let lines: usize = self.waves.iter().map(UnfinishedWave::lines).sum();
        if lines <= self.lines {
            return self.waves.iter().try_for_each(|wave| write!(f, "\n{indent}{wave}"));
        }
        // In the order of their first waves.
        let mut alike: Vec<(String, Vec<&UnfinishedWave>)> = Vec::new();
        let mut lines: HashMap<String, usize> = HashMap::new();
        for wave in self.waves {
            let doing = wave.doing();
            let line = *lines.entry(doing.clone()).or_insert(alike.len());
            match alike.get_mut(line) {
                Some((_, waves)) => waves.push(wave),
                None => alike.push((doing, vec![wave])),
            }
        }
        let mut left = self.lines;
        let fits = |waves: &[&UnfinishedWave]| {
            left = left.checked_sub(waves.first().map_or(0, |wave| wave.lines()))?;
            Some(())
        };
        let shown = alike.iter().map(|(_, waves)| &waves[..]).map_while(fits).count();
        for (doing, waves) in &alike[..shown] {
            match &waves[..] {
                [first, .., last] => {
                    let (n, first, last) = (waves.len(), first.name(), last.name());
                    write!(f, "\n{indent}{n} waves, from {first} to {last}: each {doing}")?;
                }
                waves => waves.iter().try_for_each(|wave| write!(f, "\n{indent}{wave}"))?,
            }
        }
        match alike[shown..].iter().map(|(_, waves)| waves.len()).sum::<usize>() {
            0 => Ok(()),
            more => {
                let doing = match alike.len() - shown {
                    1 => "another state".to_owned(),
                    things => format!("{things} other states"),
                };
                write!(f, "\n{indent}and {more} more, in {doing}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_a_wave_is_and_why() {
        let wave = UnfinishedWave {
            workgroup: [3, 0, 0],
            wave: 1,
            pc: 0x1234,
            at_barrier: false,
            clause: None,
            waits_for: None,
            looked_at: true,
            spins: None,
            looks_at: None,
            function: None,
            instruction: None,
            source: None,
            source_text: None,
        };
        assert_eq!(wave.to_string(), "workgroup (3, 0, 0), wave 1: runs\n        0x1234");
        let spin =
            |instructions| Some(Spin { first: 0, last: 4, instructions, polls: Some(0x1234), address: None });
        let source = SourceLocation { file: "k.cl".to_owned(), line: 7, column: 3 };
        let spinning = UnfinishedWave {
            spins: spin(3),
            function: Some(("k".to_owned(), 0x34)),
            instruction: Some("s_nop 0".to_owned()),
            source: Some(source),
            ..wave.clone()
        };
        assert_eq!(
            spinning.to_string(),
            "workgroup (3, 0, 0), wave 1: spins in a loop of 3 instructions\n        k + 0x34 (0x1234): s_nop 0\n        k.cl:7:3"
        );
        assert_eq!(
            UnfinishedWave { spins: spin(1), ..wave.clone() }.state(),
            "spins in a loop of 1 instruction"
        );
        let endless = Some(Spin { first: 0, last: 4, instructions: 2, polls: None, address: None });
        let endless = UnfinishedWave { spins: endless, ..wave.clone() };
        assert_eq!(endless.state(), "is in an infinite loop of 2 instructions");
        let at =
            Some(Spin { first: 0, last: 4, instructions: 2, polls: Some(0x1234), address: Some(0x5010) });
        let place = Some(("flag".to_owned(), 16));
        let looking = UnfinishedWave { spins: at, looks_at: place, ..wave.clone() };
        assert_eq!(looking.state(), "spins in a loop of 2 instructions on 0x5010 (byte 16 of `flag`)");
        let hostile = UnfinishedWave {
            function: Some(("a\nb".to_owned(), 0)),
            looks_at: Some(("c\u{1b}[2J".to_owned(), 0)),
            source: Some(SourceLocation { file: "d\r".to_owned(), line: 1, column: 1 }),
            ..looking
        };
        let hostile = hostile.doing().replace(BELOW, "");
        assert_eq!(hostile.chars().filter(|c| c.is_control()).count(), 0, "{hostile}");
        let mangled = UnfinishedWave { function: Some(("_ZN3top5innerEPi".to_owned(), 4)), ..wave.clone() };
        assert_eq!(mangled.doing(), "runs\n        top::inner(int*) + 0x4 (0x1234)");
        let waiting = UnfinishedWave { at_barrier: true, ..wave };
        assert_eq!(waiting.state(), "waits at s_barrier");
        let unknown = UnfinishedWave { looked_at: false, at_barrier: false, ..waiting.clone() };
        assert_eq!(unknown.state(), "runs or spins");
    }

    #[test]
    fn source_lines_take_room() {
        let wave = |n: u32| UnfinishedWave {
            workgroup: [n, 0, 0],
            wave: 0,
            pc: 0x10 + 4 * u64::from(n),
            at_barrier: true,
            clause: None,
            waits_for: None,
            looked_at: false,
            spins: None,
            looks_at: None,
            function: None,
            instruction: None,
            source: Some(SourceLocation { file: "k.cl".to_owned(), line: 7, column: 3 }),
            source_text: Some("    barrier();".to_owned()),
        };
        for (waves, lines) in [(1, 3), (2, 6), (3, 7), (40, 7)] {
            let waves: Vec<UnfinishedWave> = (0..waves).map(wave).collect();
            let text = List::short(&waves, " ").to_string();
            assert_eq!(text.lines().skip(1).count(), lines, "{text}");
        }
    }

    #[test]
    fn many_waves_are_listed_by_what_they_do() {
        let wave = |n: u32, pc: u64| UnfinishedWave {
            workgroup: [n, 0, 0],
            wave: 1,
            pc,
            at_barrier: true,
            clause: None,
            waits_for: None,
            looked_at: false,
            spins: None,
            looks_at: None,
            function: None,
            instruction: None,
            source: None,
            source_text: None,
        };
        let list = |waves: &[UnfinishedWave]| List::short(waves, " ").to_string();
        let mut waves: Vec<_> = (0..LISTED as u32 / 2).map(|n| wave(n, 0x10)).collect();
        assert_eq!(list(&waves).lines().count(), 1 + LISTED);
        waves.insert(2, wave(99, 0x20));
        assert_eq!(
            list(&waves),
            "\n 3 waves, from workgroup (0, 0, 0), wave 1 to workgroup (2, 0, 0), wave 1: each waits at s_barrier\
             \n        0x10\n workgroup (99, 0, 0), wave 1: waits at s_barrier\n        0x20"
        );
        let all_different: Vec<_> = (0..11).map(|n| wave(n, n.into())).collect();
        assert_eq!(list(&all_different).lines().last(), Some(" and 8 more, in 8 other states"));
    }
}
