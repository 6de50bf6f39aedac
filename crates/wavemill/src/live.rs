//! Waves of a grid that did not finish, for people.

use std::fmt;

use wavemill_engine::{LiveWave as EngineWave, MemoryMap, Nearest, Spin};
use wavemill_isa::gcn::{Inst, Op, decode};

use crate::module::Kernel;
use crate::report::{SourceLocation, text};

/// Waves that the text of a report lists.
const LISTED: usize = 20;

/// A wave that had started and not ended when its grid was stopped, or found to be stuck.
#[derive(Clone, Debug)]
pub struct LiveWave {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of the instruction that it waits at (the barrier, or the one that looks at memory), or else of the
    /// next one that it would run.
    pub pc: u64,
    /// Whether it waits at a barrier.
    pub at_barrier: bool,
    /// The loop that it cannot leave while no other wave writes memory. `None` if it waits at a barrier, or no such
    /// loop was found.
    pub spins: Option<Spin>,
    /// Name of the buffer that it looks at there, and the byte in it.
    pub looks_at: Option<(String, u64)>,
    /// Function that holds the PC, and the PC's offset in it.
    pub function: Option<(String, u64)>,
    /// Text of the instruction at the PC.
    pub instruction: Option<String>,
    /// Source position of the PC, if the code object has debug information.
    pub source: Option<SourceLocation>,
}

impl LiveWave {
    /// Adds to each wave what the code says about the place where it is.
    pub(crate) fn all(kernel: &Kernel, waves: Vec<EngineWave>, map: &MemoryMap) -> Vec<LiveWave> {
        let code = &kernel.module.device.code;
        let target = kernel.module.device.target;
        let inst_at = |pc: u64| {
            let (bytes, n) = code.fetch(map, pc);
            decode(target, &bytes[..n]).ok()
        };
        let is_barrier = |inst: Inst| inst.op() == Op::SBarrier;
        let report = |w: EngineWave| {
            // A wave at a barrier goes on behind it.
            let barrier = w.pc.wrapping_sub(4);
            let pc = match &w.spins {
                Some(spin) => spin.polls.unwrap_or(w.pc),
                None if w.at_barrier && inst_at(barrier).is_some_and(is_barrier) => barrier,
                None => w.pc,
            };
            let region = code.region(pc);
            let function = region.as_ref().and_then(|r| r.function(pc));
            let start = function.map(|(_, offset)| pc - offset);
            LiveWave {
                workgroup: w.workgroup,
                wave: w.wave,
                pc,
                at_barrier: w.at_barrier,
                looks_at: w.spins.as_ref().and_then(|spin| match map.nearest(spin.address?) {
                    Nearest::Inside { name, offset, .. } => Some((name, offset)),
                    _ => None,
                }),
                spins: w.spins,
                function: function.map(|(name, offset)| (name.to_owned(), offset)),
                instruction: inst_at(pc).map(|inst| text(&inst)),
                source: region.as_ref().and_then(|r| r.lines.as_ref()?.at(pc, start).source),
            }
        };
        waves.into_iter().map(report).collect()
    }

    /// What it does, or waits for: `waits at s_barrier`, `runs`, or
    /// ``spins in a loop of 3 instructions on 0x1000004000 (byte 0 of `flag`)``.
    #[must_use]
    pub fn state(&self) -> String {
        match &self.spins {
            Some(spin) => {
                let s = if spin.instructions == 1 { "" } else { "s" };
                let mut text = format!("spins in a loop of {} instruction{s}", spin.instructions);
                if let Some(address) = spin.address {
                    text += &format!(" on {address:#x}");
                }
                if let Some((name, byte)) = &self.looks_at {
                    text += &format!(" (byte {byte} of `{name}`)");
                }
                text
            }
            None if self.at_barrier => "waits at s_barrier".to_owned(),
            None => "runs".to_owned(),
        }
    }
}

impl fmt::Display for LiveWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "workgroup ({x}, {y}, {z}), wave {}: {} at ", self.wave, self.state())?;
        match &self.function {
            Some((name, offset)) => write!(f, "{name} + {offset:#x} ({:#x})", self.pc)?,
            None => write!(f, "{:#x}", self.pc)?,
        }
        if let Some(source) = &self.source {
            write!(f, ", {source}")?;
        }
        match &self.instruction {
            Some(text) => write!(f, ": {text}"),
            None => Ok(()),
        }
    }
}

/// A line for each of the first waves, and how many more there are.
pub(crate) struct List<'a> {
    pub waves: &'a [LiveWave],
    /// What each line begins with.
    pub indent: &'static str,
}

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indent = self.indent;
        for wave in self.waves.iter().take(LISTED) {
            write!(f, "\n{indent}{wave}")?;
        }
        match self.waves.len().saturating_sub(LISTED) {
            0 => Ok(()),
            more => write!(f, "\n{indent}and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_where_a_wave_is_and_why() {
        let wave = LiveWave {
            workgroup: [3, 0, 0],
            wave: 1,
            pc: 0x1234,
            at_barrier: false,
            spins: None,
            looks_at: None,
            function: None,
            instruction: None,
            source: None,
        };
        assert_eq!(wave.to_string(), "workgroup (3, 0, 0), wave 1: runs at 0x1234");
        let spin =
            |instructions| Some(Spin { first: 0, last: 4, instructions, polls: Some(0x1234), address: None });
        let source = SourceLocation { file: "k.cl".to_owned(), line: 7, column: 3 };
        let spinning = LiveWave {
            spins: spin(3),
            function: Some(("k".to_owned(), 0x34)),
            instruction: Some("s_nop 0".to_owned()),
            source: Some(source),
            ..wave.clone()
        };
        assert_eq!(
            spinning.to_string(),
            "workgroup (3, 0, 0), wave 1: spins in a loop of 3 instructions at k + 0x34 (0x1234), k.cl:7:3: s_nop 0"
        );
        assert_eq!(LiveWave { spins: spin(1), ..wave.clone() }.state(), "spins in a loop of 1 instruction");
        let at = Some(Spin { first: 0, last: 4, instructions: 2, polls: None, address: Some(0x5010) });
        let place = Some(("flag".to_owned(), 16));
        let looking = LiveWave { spins: at, looks_at: place, ..wave.clone() };
        assert_eq!(looking.state(), "spins in a loop of 2 instructions on 0x5010 (byte 16 of `flag`)");
        let waiting = LiveWave { at_barrier: true, ..wave };
        assert_eq!(waiting.state(), "waits at s_barrier");
        let list = |n: usize| List { waves: &vec![waiting.clone(); n], indent: " " }.to_string();
        assert_eq!(list(LISTED).lines().count(), 1 + LISTED);
        assert_eq!(list(LISTED + 7).lines().last(), Some(" and 7 more"));
    }
}
