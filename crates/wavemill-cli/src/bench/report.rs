//! The measurements, as a table and as JSON.

use std::io::{self, Write};

use serde::Serialize;

use wavemill::stats::GroupCounts;
use wavemill_kernels::Target;

use super::pocl::{Outcome, Peer};
use crate::text::Plural;

/// Everything that a bench reports.
#[derive(Serialize)]
pub(super) struct Report {
    /// Version of Wavemill.
    pub(super) version: &'static str,
    pub(super) host: Host,
    /// The target whose machine code ran.
    pub(super) target: &'static str,
    /// Host threads.
    pub(super) threads: usize,
    /// The vector hardware of the runs.
    pub(super) tier: String,
    /// The engine of the runs.
    pub(super) engine: &'static str,
    /// Timed runs of each kernel.
    pub(super) runs: usize,
    /// Whether results were compared with the references.
    pub(super) checked: bool,
    /// Whether small launches ran.
    pub(super) small: bool,
    /// Whether accesses of kernels to memory were checked.
    pub(super) access_checks: bool,
    /// Whether kernels also ran on one thread.
    pub(super) scaling: bool,
    /// The implementation to compare with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) against: Option<Peer>,
    pub(super) kernels: Vec<Row>,
}

/// The machine.
#[derive(Serialize)]
pub(super) struct Host {
    pub(super) arch: &'static str,
    pub(super) os: &'static str,
    /// The processor's name, if the system provides it.
    pub(super) cpu: Option<String>,
    /// Processors that this process may use.
    pub(super) cpus: usize,
}

impl Host {
    /// This machine.
    pub(super) fn this() -> Host {
        let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let name = about.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        Host {
            arch: std::env::consts::ARCH,
            os: std::env::consts::OS,
            cpu: name.map(|(_, name)| name.trim().to_owned()),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// A kernel.
#[derive(Serialize)]
pub(super) struct Row {
    pub(super) kernel: &'static str,
    pub(super) work_items: u64,
    pub(super) workgroups: u64,
    #[serde(flatten)]
    pub(super) wavemill: Ours,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pocl: Option<Theirs>,
}

/// Wavemill's result for a kernel.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Ours {
    /// It ran.
    Ran {
        /// On the report's number of threads.
        #[serde(flatten)]
        times: Times,
        /// On one thread, if requested.
        #[serde(skip_serializing_if = "Option::is_none")]
        one_thread: Option<OneThread>,
        /// Wave instructions.
        instructions: Instructions,
    },
    /// It failed, or its result was wrong.
    Failed {
        /// The message.
        error: String,
    },
}

/// Timed runs.
#[derive(Serialize)]
pub(super) struct Times {
    /// The median.
    pub(super) time_ns: u64,
    /// All of them, sorted.
    times_ns: Vec<u64>,
}

impl Times {
    /// Times of runs, in any order.
    pub(super) fn new(mut times_ns: Vec<u64>) -> Times {
        times_ns.sort_unstable();
        Times { time_ns: median(&times_ns), times_ns }
    }
}

/// Runs on one thread.
#[derive(Serialize)]
pub(super) struct OneThread {
    #[serde(flatten)]
    times: Times,
    /// This median divided by the median on all threads.
    ratio: f64,
}

impl OneThread {
    /// Compares them with the runs on all threads.
    pub(super) fn new(times: Times, all: &Times) -> OneThread {
        // A launch takes some time, but a clock may be coarse.
        let ratio = times.time_ns as f64 / all.time_ns.max(1) as f64;
        OneThread { times, ratio }
    }
}

/// Wave instructions of one run, by kind.
#[derive(Serialize)]
pub(super) struct Instructions {
    pub(super) all: u64,
    /// Vector ALU.
    pub(super) valu: u64,
    /// Scalar ALU, scalar memory and control.
    pub(super) scalar: u64,
    /// On targets that have groups of ALU slots.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) groups: Option<Groups>,
    /// The share that has machine code, from 0 to 1, for an engine that makes some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) machine_code: Option<f64>,
}

/// Groups of ALU slots of one run.
#[derive(Serialize)]
pub(super) struct Groups {
    /// Groups.
    count: u64,
    /// Their slots.
    slots: u64,
    /// Operations of the wave IR from these groups.
    ir_operations: u64,
}

impl Groups {
    /// The counts of a run on a target; `None` if it has no groups.
    pub(super) fn of(target: Target, counts: &GroupCounts) -> Option<Groups> {
        let groups = Groups { count: counts.groups, slots: counts.slots, ir_operations: counts.ir };
        (target == Target::Cayman).then_some(groups)
    }

    /// The columns of the table: groups in a second, slots of a group, operations of a slot.
    fn columns(&self, seconds: f64) -> String {
        let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        format!(
            " {:>8} | {:>15.2} | {:>11.2} |",
            rate(self.count as f64 / seconds),
            ratio(self.slots, self.count),
            ratio(self.ir_operations, self.slots)
        )
    }
}

/// pocl's result for a kernel.
#[derive(Serialize)]
pub(super) struct Theirs {
    /// The median, if the results are right.
    pub(super) time_ns: Option<u64>,
    /// Wavemill's median divided by pocl's.
    pub(super) ratio: Option<f64>,
    /// Whether pocl ran the twin of the source in OpenCL C 1.2.
    pub(super) twin: bool,
    #[serde(flatten)]
    pub(super) outcome: Outcome,
}

/// The columns of the table that only some reports have.
#[derive(Clone, Copy, Default)]
pub(super) struct Columns {
    /// Groups of ALU slots.
    groups: bool,
    /// The share of instructions with machine code.
    machine_code: bool,
    /// One thread.
    scaling: bool,
}

impl Report {
    pub(super) fn columns(&self) -> Columns {
        let machine_code = matches!(self.engine, "jit" | "auto");
        Columns { groups: self.target == Target::Cayman.name(), machine_code, scaling: self.scaling }
    }
}

/// Columns for the name of a kernel.
const NAME: usize = 25;

/// The middle of sorted times, or the mean of the two in the middle; 0 if there are none.
pub(super) fn median(sorted: &[u64]) -> u64 {
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    at(sorted.len().saturating_sub(1) / 2).midpoint(at(sorted.len() / 2))
}

impl Theirs {
    /// Compares pocl with Wavemill.
    pub(super) fn new(outcome: Outcome, ours: &Ours, twin: bool) -> Theirs {
        let time_ns = outcome.times().map(median);
        let ratio = match (ours, time_ns) {
            (Ours::Ran { times: ours, .. }, Some(theirs)) if theirs > 0 => {
                Some(ours.time_ns as f64 / theirs as f64)
            }
            _ => None,
        };
        Theirs { time_ns, ratio, twin, outcome }
    }
}

/// Milliseconds with a useful number of digits.
fn milliseconds(ns: u64) -> String {
    let ms = ns as f64 / 1e6;
    if ms < 1.0 { format!("{ms:.3} ms") } else { format!("{ms:.2} ms") }
}

/// A number below 1000 with a letter for thousands, millions and so on.
fn rate(per_second: f64) -> String {
    let (scaled, letter) = match per_second {
        r if r >= 1e9 => (r / 1e9, "G"),
        r if r >= 1e6 => (r / 1e6, "M"),
        r => (r / 1e3, "k"),
    };
    let digits = if scaled < 10.0 { 2 } else { usize::from(scaled < 100.0) };
    format!("{scaled:.digits$} {letter}")
}

/// The first useful line of a message, short enough for a table.
fn short(message: &str) -> String {
    const MOST: usize = 60;
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    // A bar would end the cell.
    let line = line.replace('|', "/");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line,
    }
}

/// Writes the lines above the table.
pub(super) fn head(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let Report { host, threads, runs, .. } = report;
    let columns = report.columns();
    writeln!(
        out,
        "Wavemill {}, machine code of {}, {}, {}, tier {}, median of {runs}{}{}{}",
        report.version,
        report.target,
        Plural(*threads as u64, "thread"),
        report.engine,
        report.tier,
        if report.checked { ", results checked" } else { "" },
        if report.small { ", small launches" } else { "" },
        if report.access_checks { "" } else { ", without access checks" },
    )?;
    let cpu = host.cpu.as_deref().unwrap_or("processor of unknown name");
    writeln!(out, "{cpu}, {} cpus, {} {}", host.cpus, host.os, host.arch)?;
    if let Some(peer) = &report.against {
        writeln!(out, "{}, {}", peer.name, Plural(peer.threads, "thread"))?;
    }
    writeln!(out)?;
    write!(
        out,
        "| {:NAME$} | work-items |       time | ns per item | wave-instr/s | VALU lane-ops/s | scalar instr/s |",
        "kernel"
    )?;
    if columns.groups {
        write!(out, " groups/s | slots per group | IR per slot |")?;
    }
    if columns.machine_code {
        write!(out, " machine code |")?;
    }
    if report.scaling {
        write!(out, "   1 thread | times faster |")?;
    }
    if report.against.is_some() {
        write!(out, "       pocl | Wavemill / pocl |")?;
    }
    write!(out, "\n|{}|-----------:|-----------:|------------:|-------------:|", "-".repeat(NAME + 2))?;
    write!(out, "----------------:|---------------:|")?;
    if columns.groups {
        write!(out, "---------:|----------------:|------------:|")?;
    }
    if columns.machine_code {
        write!(out, "-------------:|")?;
    }
    if report.scaling {
        write!(out, "-----------:|-------------:|")?;
    }
    if report.against.is_some() {
        write!(out, "-----------:|----------------:|")?;
    }
    writeln!(out)
}

/// Writes a line of the table.
pub(super) fn line(out: &mut dyn Write, row: &Row, columns: Columns) -> io::Result<()> {
    write!(out, "| {:NAME$} | {:>10} | ", row.kernel, row.work_items)?;
    match &row.wavemill {
        Ours::Ran { times, one_thread, instructions } => {
            let time_ns = times.time_ns;
            // A launch takes some time, but a clock may be coarse.
            let seconds = time_ns.max(1) as f64 / 1e9;
            write!(
                out,
                "{:>10} | {:>11.2} | {:>12} | {:>15} | {:>14} |",
                milliseconds(time_ns),
                time_ns as f64 / row.work_items.max(1) as f64,
                rate(instructions.all as f64 / seconds),
                rate(64.0 * instructions.valu as f64 / seconds),
                rate(instructions.scalar as f64 / seconds),
            )?;
            if let Some(groups) = &instructions.groups {
                write!(out, "{}", groups.columns(seconds))?;
            }
            if columns.machine_code {
                let share = instructions.machine_code.map(|share| format!("{:.1} %", 100.0 * share));
                write!(out, " {:>12} |", share.unwrap_or_default())?;
            }
            if let Some(one) = one_thread {
                write!(out, " {:>10} | {:>12.2} |", milliseconds(one.times.time_ns), one.ratio)?;
            }
        }
        Ours::Failed { error } => {
            write!(out, "{:>10} | {:>11} | {} | | |", "failed", "", short(error))?;
            if columns.groups {
                write!(out, " {:>8} | {:>15} | {:>11} |", "", "", "")?;
            }
            if columns.machine_code {
                write!(out, " {:>12} |", "")?;
            }
            if columns.scaling {
                write!(out, " {:>10} | {:>12} |", "", "")?;
            }
        }
    }
    if let Some(theirs) = &row.pocl {
        let (time, ratio) = match &theirs.outcome {
            Outcome::Matches { .. } => {
                let ratio = theirs.ratio.map_or_else(String::new, |r| format!("{r:.2}"));
                (milliseconds(theirs.time_ns.unwrap_or_default()), ratio)
            }
            Outcome::Differs { message, .. } => ("wrong".to_owned(), short(message)),
            Outcome::NotBuilt { message } => ("not built".to_owned(), short(diagnosis(message))),
            Outcome::NotRun { message } => ("not run".to_owned(), short(message)),
        };
        write!(out, " {time:>10} | {ratio:>15} |")?;
    }
    writeln!(out)?;
    // Rows come one by one, while the next one is measured.
    out.flush()
}

/// The error in a compiler's message: the first one, without the source position before it or after
/// the word.
fn diagnosis(message: &str) -> &str {
    let Some((_, what)) = message.lines().find_map(|line| line.split_once("error: ")) else { return message };
    match what.split_once(": ") {
        Some((place, what)) if place.contains(".cl:") => what,
        _ => what,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(groups: Option<Groups>) -> Instructions {
        Instructions { all: 2_000_000, valu: 1_000_000, scalar: 500_000, groups, machine_code: Some(0.9861) }
    }

    fn ran(time_ns: u64) -> Ours {
        let times = Times::new(vec![time_ns]);
        Ours::Ran { times, one_thread: None, instructions: instructions(None) }
    }

    fn written(row: &Row) -> String {
        let mut out = Vec::new();
        line(&mut out, row, Columns::default()).expect("memory takes everything");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!((median(&[]), median(&[7]), median(&[1, 2, 9])), (0, 7, 2));
        assert_eq!((median(&[2, 5]), median(&[1, 2, 4, 9]), median(&[u64::MAX; 2])), (3, 3, u64::MAX));
    }

    #[test]
    fn numbers_are_short() {
        let rates = [950.0, 12_345.0, 1.5e6, 28.4e6, 123.4e6, 6.21e9].map(rate);
        assert_eq!(rates, ["0.95 k", "12.3 k", "1.50 M", "28.4 M", "123 M", "6.21 G"]);
        assert_eq!([1_234u64, 999_999, 15_110_000].map(milliseconds), ["0.001 ms", "1.000 ms", "15.11 ms"]);
    }

    #[test]
    fn rows_have_rates_and_the_ratio() {
        let ours = ran(20_000_000);
        let theirs =
            Theirs::new(Outcome::Matches { times_ns: vec![4_000_000, 5_000_000, 90_000_000] }, &ours, false);
        assert_eq!((theirs.time_ns, theirs.ratio), (Some(5_000_000), Some(4.0)));
        let row = Row { kernel: "k", work_items: 1000, workgroups: 4, wavemill: ours, pocl: Some(theirs) };
        let cells: Vec<String> = written(&row).split('|').map(|c| c.trim().to_owned()).collect();
        assert_eq!(
            cells,
            ["", "k", "1000", "20.00 ms", "20000.00", "100 M", "3.20 G", "25.0 M", "5.00 ms", "4.00", ""]
        );
    }

    #[test]
    fn what_pocl_cannot_do_is_said_in_its_columns() {
        let log = "clBuildProgram gave -11:\nx.cl:3:5: error: no such builtin | at all\n1 error generated.";
        let outcome = Outcome::NotBuilt { message: log.to_owned() };
        let theirs = Theirs::new(outcome, &ran(1000), false);
        assert_eq!((theirs.time_ns, theirs.ratio), (None, None));
        let row = Row { kernel: "k", work_items: 1, workgroups: 1, wavemill: ran(1000), pocl: Some(theirs) };
        assert!(written(&row).ends_with("|  not built | no such builtin / at all |\n"), "{}", written(&row));
        assert_eq!(
            diagnosis("log:\nerror: /tmp/x.cl:3:5 <Spelling=x.cl:1:1>: no builtin: f"),
            "no builtin: f"
        );
        assert_eq!(diagnosis("it has no source"), "it has no source");
        // A wrong result has times, but they are not compared.
        let wrong = Outcome::Differs { times_ns: vec![1], message: "y[0] is 1".to_owned() };
        assert_eq!(Theirs::new(wrong, &ran(1000), true).ratio, None);
    }

    #[test]
    fn one_thread_stands_beside_all_threads() {
        let all = Times::new(vec![12_000_000, 9_000_000, 10_000_000]);
        let alone = Times::new(vec![30_000_000, 19_000_000, 18_000_000]);
        let one_thread = Some(OneThread::new(alone, &all));
        let instructions = instructions(None);
        let wavemill = Ours::Ran { times: all, one_thread, instructions };
        let mut row = Row { kernel: "k", work_items: 1000, workgroups: 4, wavemill, pocl: None };
        let text = |row: &Row| {
            let mut out = Vec::new();
            line(&mut out, row, Columns { scaling: true, ..Columns::default() })
                .expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert!(text(&row).ends_with("|   19.00 ms |         1.90 |\n"), "{}", text(&row));
        let json = serde_json::to_value(&row).expect("JSON");
        assert_eq!(
            (&json["time_ns"], &json["one_thread"]["time_ns"]),
            (&10_000_000.into(), &19_000_000.into())
        );
        assert_eq!(json["one_thread"]["times_ns"][2], 30_000_000);
        assert_eq!(json["one_thread"]["ratio"], 1.9);
        let columns = text(&row).matches('|').count();
        row.wavemill = Ours::Failed { error: "k: illegal load".to_owned() };
        assert_eq!(text(&row).matches('|').count(), columns, "{}", text(&row));
    }

    #[test]
    fn the_share_with_machine_code_is_a_column() {
        let mut row =
            Row { kernel: "k", work_items: 1, workgroups: 1, wavemill: ran(10_000_000), pocl: None };
        let text = |row: &Row| {
            let mut out = Vec::new();
            let columns = Columns { machine_code: true, ..Columns::default() };
            line(&mut out, row, columns).expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert!(text(&row).ends_with("|       98.6 % |\n"), "{}", text(&row));
        let columns = text(&row).matches('|').count();
        row.wavemill = Ours::Failed { error: "k: illegal load".to_owned() };
        assert_eq!(text(&row).matches('|').count(), columns, "{}", text(&row));
    }

    #[test]
    fn groups_have_columns() {
        let counts = GroupCounts { groups: 500_000, slots: 1_500_000, ir: 1_650_000 };
        let groups = Groups::of(Target::Cayman, &counts);
        assert!(groups.is_some() && Groups::of(Target::Gfx906, &counts).is_none());
        let wavemill = Ours::Ran {
            times: Times::new(vec![10_000_000]),
            one_thread: None,
            instructions: instructions(groups),
        };
        let mut row = Row { kernel: "k", work_items: 1, workgroups: 1, wavemill, pocl: None };
        let text = |row: &Row| {
            let mut out = Vec::new();
            line(&mut out, row, Columns { groups: true, ..Columns::default() })
                .expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        assert!(text(&row).ends_with("|   50.0 M |            3.00 |        1.10 |\n"), "{}", text(&row));
        row.wavemill = Ours::Failed { error: "k: illegal load".to_owned() };
        assert_eq!(text(&row).matches('|').count(), 11, "{}", text(&row));
    }

    #[test]
    fn failures_fill_their_row() {
        let wavemill = Ours::Failed { error: "\nk: illegal load\nmore".to_owned() };
        let row = Row { kernel: "k", work_items: 1, workgroups: 1, wavemill, pocl: None };
        let text = written(&row);
        assert!(text.contains("k: illegal load |") && !text.contains("more"), "{text}");
        assert_eq!(text.matches('|').count(), 8, "{text}");
    }

    #[test]
    fn json_is_flat() {
        let ours = ran(10);
        let theirs = Theirs::new(Outcome::NotRun { message: "why".to_owned() }, &ours, false);
        let row = Row { kernel: "k", work_items: 1, workgroups: 1, wavemill: ours, pocl: Some(theirs) };
        let json = serde_json::to_value(&row).expect("JSON");
        assert_eq!(json["time_ns"], 10);
        assert_eq!(json["instructions"]["valu"], 1_000_000);
        assert_eq!(json["pocl"]["outcome"], "not-run");
        assert_eq!(json["pocl"]["ratio"], serde_json::Value::Null);
    }
}
