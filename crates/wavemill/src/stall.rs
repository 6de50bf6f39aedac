//! Reports of grids that can never finish, for people.

use std::fmt;

use wavemill_engine::{MemoryMap, Spin, StalledWave};
use wavemill_isa::gcn::{Op, decode};

use crate::module::Kernel;
use crate::report::{SourceLocation, text};

/// Waves that the text of a report lists.
const LISTED: usize = 16;

/// A wave that waits for something that will never happen.
#[derive(Clone, Debug)]
pub struct WaitingWave {
    /// Workgroup coordinates.
    pub workgroup: [u32; 3],
    /// Wave number in the workgroup.
    pub wave: u32,
    /// Guest address of the instruction that it waits at: the barrier, or the one that looks at memory.
    pub pc: u64,
    /// The loop that it cannot leave; `None` if it waits at a barrier.
    pub spins: Option<Spin>,
    /// Function that holds the PC, and the PC's offset in it.
    pub function: Option<(String, u64)>,
    /// Text of the instruction at the PC.
    pub instruction: Option<String>,
    /// Source position of the PC, if the code object has debug information.
    pub source: Option<SourceLocation>,
}

/// A grid that can never finish: every wave waits at a barrier, or in a loop that looks at memory which no wave will
/// change.
#[derive(Clone, Debug)]
pub struct StallReport {
    /// Name of the launched kernel.
    pub kernel: String,
    /// The resident waves, in the order of their workgroups.
    pub waves: Vec<WaitingWave>,
    /// Workgroups that could not start, because no resident one ended.
    pub not_started: u64,
}

impl StallReport {
    pub(crate) fn new(kernel: &Kernel, waves: Vec<StalledWave>, not_started: u64, map: &MemoryMap) -> Self {
        let code = &kernel.module.device.code;
        let target = kernel.module.device.target;
        let inst_at = |pc: u64| {
            let (bytes, n) = code.fetch(map, pc);
            decode(target, &bytes[..n]).ok()
        };
        let report = |w: StalledWave| {
            // A wave at a barrier goes on behind it.
            let barrier = w.wave.pc.wrapping_sub(4);
            let is_barrier = |pc| inst_at(pc).is_some_and(|inst| inst.op() == Op::SBarrier);
            let pc = match &w.spins {
                Some(spin) => spin.polls.unwrap_or(w.wave.pc),
                None if is_barrier(barrier) => barrier,
                None => w.wave.pc,
            };
            let region = code.region(pc);
            let function = region.as_ref().and_then(|r| r.function(pc));
            WaitingWave {
                workgroup: w.wave.workgroup,
                wave: w.wave.wave,
                pc,
                spins: w.spins,
                function: function.map(|(name, offset)| (name.to_owned(), offset)),
                instruction: inst_at(pc).map(|inst| text(&inst)),
                source: region.as_ref().and_then(|r| r.lines.as_ref()?.at(pc)),
            }
        };
        let waves = waves.into_iter().map(report).collect();
        StallReport { kernel: kernel.name().to_owned(), waves, not_started }
    }
}

impl fmt::Display for WaitingWave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.workgroup;
        write!(f, "workgroup ({x}, {y}, {z}), wave {}: ", self.wave)?;
        match &self.spins {
            Some(spin) => {
                let s = if spin.instructions == 1 { "" } else { "s" };
                write!(f, "spins in a loop of {} instruction{s}", spin.instructions)?;
            }
            None => f.write_str("waits at s_barrier")?,
        }
        match &self.function {
            Some((name, offset)) => write!(f, " at {name} + {offset:#x}")?,
            None => write!(f, " at {:#x}", self.pc)?,
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

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the grid can never finish: its waves wait for what none of them will do")?;
        writeln!(f, "  kernel       {}", self.kernel)?;
        writeln!(f, "  waiting      {}", self.waves.len())?;
        for wave in self.waves.iter().take(LISTED) {
            writeln!(f, "    {wave}")?;
        }
        if self.waves.len() > LISTED {
            writeln!(f, "    and {} more", self.waves.len() - LISTED)?;
        }
        if self.not_started > 0 {
            let s = if self.not_started == 1 { "" } else { "s" };
            writeln!(
                f,
                "  not started  {} workgroup{s}, because no resident one ended; if these are waited for, the grid is too \
                 large",
                self.not_started
            )?;
        }
        Ok(())
    }
}
