//! Which lines of a source are read, and which lines it generates.

use std::collections::HashMap;
use std::rc::Rc;

use super::conditional::{self, Conditional};
use super::expand::Macro;

/// Conditionals, macros and repetitions, and how much they generated.
#[derive(Debug, Default)]
pub(super) struct Expansion {
    /// The open conditionals.
    pub(super) conditionals: Vec<Conditional>,
    pub(super) macros: HashMap<String, Rc<Macro>>,
    /// Lines and bytes generated so far.
    pub(super) made: u64,
    pub(super) made_bytes: u64,
    /// How many macros were called.
    pub(super) calls: u64,
    /// How many macros, repetitions and files are open.
    pub(super) nesting: u32,
    /// Whether `.exitm` ends the innermost of them.
    pub(super) exiting: bool,
}

impl Expansion {
    /// Whether lines are being skipped.
    pub(super) fn skipping(&self) -> bool {
        conditional::skipping(&self.conditionals)
    }
}
