//! `--stats` and `--fidelity`: statistics of a launch, as text and as JSON.

mod fidelity;
mod json;

use std::fmt::Write as _;
use std::time::Duration;

use wavemill::launch::OutOfRange;
use wavemill::observe::access_name;
use wavemill::stats::{
    InstructionMix, LINE, LaunchStats, MachineCodeCounts, OperationCounts, RowCounts, Traffic,
};

pub(super) use fidelity::full as fidelity;
pub(super) use json::json;

use crate::text::{Grouped, Plural};

/// Most instructions to name for each level.
const NAMED: usize = 5;

/// The output of `--stats`.
///
/// Counting blocks takes a little time, so rates are slightly lower than without `--stats`.
/// Counting accesses to memory takes several times as long. `facets` is whether the output of
/// `--fidelity` replaces the lines about fidelity.
pub(super) fn text(stats: &LaunchStats, times: &[Duration], facets: bool) -> String {
    let mut text = head(stats, times);
    text += &out_of_range(&stats.run.out_of_range);
    text += &stats.mix.as_ref().map(mix).unwrap_or_default();
    text += &stats.rows.as_ref().map(rows).unwrap_or_default();
    text += &stats.traffic.as_ref().map(traffic).unwrap_or_default();
    let fidelity = if facets { fidelity::full } else { fidelity::short };
    text += &stats.fidelity.as_ref().map(fidelity).unwrap_or_default();
    text += &stats.operations.as_ref().map(operations).unwrap_or_default();
    text += &stats.machine_code.as_ref().map(machine_code).unwrap_or_default();
    text
}

/// Time, work and engine.
fn head(stats: &LaunchStats, times: &[Duration]) -> String {
    let run = &stats.run;
    let time = times.last().copied().unwrap_or_default();
    let seconds = time.as_secs_f64().max(1e-9);
    let rate = run.instructions as f64 / seconds / 1e6;
    format!(
        "time          {:.3} ms{}{}\n\
         instructions  {} (of waves), {rate:.1} million/s\n\
         work          {}, {}, {}\n\
         resident      {} at most\n\
         engine        {}, {}, {} compiled\n",
        seconds * 1e3,
        repeated(times),
        if stats.traffic.is_some() { ", with accesses to memory counted" } else { "" },
        Grouped(run.instructions),
        Plural(run.workgroups, "workgroup"),
        Plural(run.waves, "wave"),
        Plural(stats.work_items, "work-item"),
        Plural(u64::from(stats.resident), "workgroup"),
        stats.engine,
        Plural(run.threads as u64, "thread"),
        Plural(run.blocks as u64, "block"),
    )
}

/// Accesses that left LDS, the range of a buffer resource or an image; empty if there were none.
fn out_of_range(counts: &OutOfRange) -> String {
    let kinds = [
        (counts.lds, "beyond LDS"),
        (counts.lds_granule, "beyond the workgroup's LDS, in the rest of its last granule (modelled)"),
        (counts.buffer, "beyond the range of a buffer resource"),
        (counts.image, "outside an image"),
    ];
    let mut label = "out of range";
    let mut text = String::new();
    for (n, which) in kinds.into_iter().filter(|(n, _)| *n > 0) {
        writeln!(text, "{label:13} {} {which}", Accesses(n)).expect("writing to a string");
        label = "";
    }
    text
}

/// The times of a launch that ran more than once.
fn repeated(times: &[Duration]) -> String {
    let mut sorted = times.to_vec();
    sorted.sort();
    match &sorted[..] {
        [] | [_] => String::new(),
        [least, ..] => {
            let ms = |time: Duration| time.as_secs_f64() * 1e3;
            let median = sorted[sorted.len() / 2];
            format!(", the last of {}; median {:.3} ms, least {:.3} ms", times.len(), ms(median), ms(*least))
        }
    }
}

/// The table of instructions by kind; kinds that did not occur are omitted.
fn mix(mix: &InstructionMix) -> String {
    let kinds = [
        ("vector ALU", mix.valu),
        ("scalar ALU", mix.salu),
        ("scalar memory", mix.smem),
        ("vector memory", mix.vmem),
        ("LDS", mix.lds),
        ("control", mix.control),
    ];
    let total = mix.total().max(1) as f64;
    let width = Grouped(mix.total()).to_string().len();
    let mut out = String::from("mix\n");
    for (name, count) in kinds.into_iter().filter(|(_, count)| *count > 0) {
        let part = 100.0 * count as f64 / total;
        out += &format!("  {name:14}{:>width$}  {part:5.1} %\n", Grouped(count).to_string());
    }
    out
}

/// The formats of the instructions with their active lanes, and the most frequent instructions.
fn rows(counts: &RowCounts) -> String {
    let formats = counts.formats();
    let total = formats.iter().map(|format| format.count).sum::<u64>();
    let width = Grouped(formats.first().map_or(0, |format| format.count)).to_string().len();
    let mut out = String::from("formats\n");
    for format in &formats {
        let share = percent(format.count, total);
        let lanes = format.mean_lanes().map_or(String::new(), |lanes| format!(", {lanes:.1} lanes active"));
        let count = Grouped(format.count).to_string();
        out += &format!(
            "  {:14}{count:>width$}  {share:5.1} %  {}{lanes}\n",
            format.format,
            Plural(format.rows as u64, "row")
        );
    }
    if let Some(lanes) = counts.mean_lanes() {
        out += &format!("lanes         {lanes:.1} of 64 active in a vector instruction on average\n");
    }
    let which = names(counts.list().iter().map(|row| (row.mnemonic, row.count)));
    out + &format!("most often    {which}\n")
}

/// Accesses to memory, and conflicts in LDS.
fn traffic(counts: &Traffic) -> String {
    let mut out = String::from("memory\n");
    if counts.accesses.is_empty() {
        out += "  no accesses\n";
    }
    for one in &counts.accesses {
        let name = format!("{} {}", one.kind, access_name(one.access));
        let lines = match one.lines {
            0 => String::new(),
            _ => format!(", {:.2} lines of {LINE} bytes each", one.lines_per_access()),
        };
        out += &format!(
            "  {name:14}{}, {} of {:.1} lanes{lines}\n",
            Plural(one.bytes, "byte"),
            Accesses(one.accesses),
            one.mean_lanes()
        );
    }
    let lds = &counts.lds;
    if lds.accesses > 0 {
        out += &format!(
            "LDS           {}, {} with bank conflicts: {}, {} of them extra ({:.2} per access; {} banks)\n",
            Accesses(lds.accesses),
            Grouped(lds.conflicting),
            Plural(lds.cycles, "cycle"),
            Grouped(lds.extra_cycles),
            lds.extra_per_access(),
            lds.banks
        );
    }
    out
}

/// A number of accesses.
struct Accesses(u64);

impl std::fmt::Display for Accesses {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} access{}", Grouped(self.0), if self.0 == 1 { "" } else { "es" })
    }
}

/// The most frequent names with their counts.
fn names<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> String {
    // An instruction appears once for each note.
    let mut merged: Vec<(&str, u64)> = Vec::new();
    for (name, count) in all {
        match merged.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => merged.push((name, count)),
        }
    }
    let named: Vec<String> =
        merged.iter().take(NAMED).map(|(name, count)| format!("{name} {}", Grouped(*count))).collect();
    let more = merged.len().saturating_sub(NAMED);
    let tail = if more > 0 { format!(", {more} more") } else { String::new() };
    named.join(", ") + &tail
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// Cost of the instructions of a launch.
fn operations(counts: &OperationCounts) -> String {
    let mut text = format!(
        "operations    {:.2} of the wave IR and {:.2} of the interpreter per instruction\n",
        counts.ir_per_guest(),
        counts.host_per_guest()
    );
    let which = names(counts.opaque_by_instruction.iter().copied());
    let which = if which.is_empty() { which } else { format!(": {which}") };
    let share = 100.0 * counts.opaque_share();
    writeln!(text, "{:13} {share:.1}% run lane by lane in scalar code{which}", "")
        .expect("writing to a string");
    text
}

/// The share of the instructions that has machine code, and the most frequent ones that have none.
fn machine_code(counts: &MachineCodeCounts) -> String {
    let share = 100.0 * counts.share();
    let mut text =
        format!("machine code  {share:.1} % of the instructions; this run was interpreted to count them\n");
    if !counts.others.is_empty() {
        writeln!(text, "{:13} none for {}", "", names(counts.others.iter().copied()))
            .expect("writing to a string");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_names_what_has_none() {
        let mut counts = MachineCodeCounts { instructions: 1000, compiled: 1000, others: Vec::new() };
        let all = "machine code  100.0 % of the instructions; this run was interpreted to count them\n";
        assert_eq!(machine_code(&counts), all);
        (counts.compiled, counts.others) = (984, vec![("ds_add_u32", 10), ("s_endpgm", 6)]);
        assert_eq!(
            machine_code(&counts),
            "machine code  98.4 % of the instructions; this run was interpreted to count them\n              \
             none for ds_add_u32 10, s_endpgm 6\n"
        );
    }

    #[test]
    fn operations_name_what_is_opaque() {
        let mut counts = OperationCounts { guest: 100, ir: 120, host: 130, ..OperationCounts::default() };
        assert_eq!(
            operations(&counts),
            "operations    1.20 of the wave IR and 1.30 of the interpreter per instruction\n              \
             0.0% run lane by lane in scalar code\n"
        );
        (counts.opaque, counts.opaque_by_instruction) = (6, vec![("ds_add_u32", 6)]);
        assert!(operations(&counts).ends_with("5.0% run lane by lane in scalar code: ds_add_u32 6\n"));
    }
}
