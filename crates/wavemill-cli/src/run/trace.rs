//! `--trace`: every instruction that was run, with what it changed.

use std::fmt::Write as _;
use std::io::Write as _;

use wavemill::{TraceStep, Tracer, WaveSnapshot};

use super::options::Job;

/// Writes a line for each instruction of the waves that were asked for to the standard error.
#[derive(Debug)]
pub(crate) struct TextTrace {
    workgroup: Option<[u64; 3]>,
    wave: Option<u32>,
}

/// Column at which the changes begin.
const CHANGES: usize = 88;
/// Lanes of a vector register that a line shows.
const LANES: usize = 4;

impl TextTrace {
    /// The trace that the user asked for, if any.
    pub(crate) fn of(job: &Job) -> Option<TextTrace> {
        job.trace.then_some(TextTrace { workgroup: job.trace_workgroup, wave: job.trace_wave })
    }
}

impl Tracer for TextTrace {
    fn watches(&self, workgroup: [u32; 3], wave: u32) -> bool {
        self.workgroup.is_none_or(|wanted| wanted == workgroup.map(u64::from))
            && self.wave.is_none_or(|wanted| wanted == wave)
    }

    fn stepped(&self, step: &TraceStep<'_>) {
        let [x, y, z] = step.workgroup;
        let mut line = format!("({x},{y},{z}) wave {}  ", step.wave);
        // Writing to a string does not fail.
        let _ = match step.function {
            Some((name, offset)) => write!(line, "{name}+{offset:#06x}  {}", step.text),
            None => write!(line, "{:#014x}  {}", step.pc, step.text),
        };
        let changed = changes(step.before, step.after);
        if !changed.is_empty() {
            let _ = write!(line, "{:width$}  {changed}", "", width = CHANGES.saturating_sub(line.len()));
        }
        line.push('\n');
        // Nobody can be told that the standard error is closed.
        let _ = std::io::stderr().lock().write_all(line.as_bytes());
    }
}

/// The registers that differ, with their new values: `s3=0x100 exec=0xff v1=0x0`.
fn changes(before: &WaveSnapshot, after: &WaveSnapshot) -> String {
    let mut out = Vec::new();
    let pair = |snapshot: &WaveSnapshot, low: usize| {
        u64::from(snapshot.scalars[low]) | u64::from(snapshot.scalars[low + 1]) << 32
    };
    for n in (0..102).chain([124]) {
        if before.scalars[n] != after.scalars[n] {
            let name = if n == 124 { "m0".to_owned() } else { format!("s{n}") };
            out.push(format!("{name}={:#x}", after.scalars[n]));
        }
    }
    for (name, low) in [("flat_scratch", 102), ("xnack_mask", 104), ("vcc", 106), ("exec", 126)] {
        if pair(before, low) != pair(after, low) {
            out.push(format!("{name}={:#x}", pair(after, low)));
        }
    }
    if before.scc != after.scc {
        out.push(format!("scc={}", u8::from(after.scc)));
    }
    if before.mode != after.mode {
        out.push(format!("mode={:#x}", after.mode));
    }
    for (name, before, after) in [("v", &before.vgprs, &after.vgprs), ("a", &before.accs, &after.accs)] {
        for (n, (before, after)) in before.iter().zip(after).enumerate() {
            if before != after {
                out.push(format!("{name}{n}={}", row(before, after)));
            }
        }
    }
    out.join(" ")
}

/// The lanes of a vector register that differ: one value if they all have the same, else the first few.
fn row(before: &[u32; 64], after: &[u32; 64]) -> String {
    let lanes: Vec<usize> = (0..64).filter(|lane| before[*lane] != after[*lane]).collect();
    let first = lanes.first().map_or(0, |lane| after[*lane]);
    let count = lanes.len();
    if count > 1 && lanes.iter().all(|lane| after[*lane] == first) {
        return format!("{first:#x} ({count} lanes)");
    }
    let mut out = String::from("{");
    for (index, lane) in lanes.iter().take(LANES).enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(out, "{comma}{lane}: {:#x}", after[*lane]);
    }
    match count > LANES {
        true => out + &format!(", ... {count} lanes}}"),
        false => out + "}",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changed_is_shown() {
        let before = WaveSnapshot {
            scalars: vec![0; 128],
            scc: false,
            vgprs: vec![[0; 64]; 3],
            accs: vec![[0; 64]],
            mode: 0x3f0,
        };
        assert_eq!(changes(&before, &before), "");
        let mut after = before.clone();
        after.scalars[3] = 0x100;
        after.scalars[127] = 1;
        after.scc = true;
        after.vgprs[0] = [7; 64];
        after.vgprs[1] = std::array::from_fn(|lane| lane as u32);
        after.vgprs[2][63] = 9;
        let wanted = "s3=0x100 exec=0x100000000 scc=1 v0=0x7 (64 lanes) \
                      v1={1: 0x1, 2: 0x2, 3: 0x3, 4: 0x4, ... 63 lanes} v2={63: 0x9}";
        assert_eq!(changes(&before, &after), wanted);
    }
}
