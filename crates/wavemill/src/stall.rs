//! Reports of grids that can never finish, for people.

use std::fmt;
use wavemill_object::printable::Printable;

use crate::live::{List, LiveWave};

/// A grid that can never finish: every wave waits at a barrier, or in a loop that looks at memory which no wave will
/// change.
#[derive(Clone, Debug)]
pub struct StallReport {
    /// Name of the launched kernel.
    pub kernel: String,
    /// The resident waves, in the order of their workgroups.
    pub waves: Vec<LiveWave>,
    /// Workgroups that could not start, because no resident one ended.
    pub not_started: u64,
}

impl fmt::Display for StallReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "the grid can never finish: its waves wait for what none of them will do")?;
        writeln!(f, "  kernel       {}", Printable(&self.kernel))?;
        writeln!(f, "  waiting      {}{}", self.waves.len(), List { waves: &self.waves, indent: "    " })?;
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
