//! What is known of the waves of a grid when they start.

use std::sync::OnceLock;

use super::Grid;
use super::needed::facts;
use crate::engine::{Start, Starts};

/// How the waves of a grid start.
pub(super) struct StartsOf<'a> {
    grid: &'a Grid<'a>,
    /// Work-items of the workgroups that this is about.
    pub items: u32,
    generation: u64,
    known: OnceLock<Start>,
}

impl<'a> StartsOf<'a> {
    pub(super) fn new(grid: &'a Grid<'a>) -> Self {
        let (items, generation) = (grid.init.work_items([0; 3]), grid.source.generation());
        StartsOf { grid, items, generation, known: OnceLock::new() }
    }
}

impl Starts for StartsOf<'_> {
    fn start(&self) -> &Start {
        let Grid { entry, context, init, .. } = *self.grid;
        self.known.get_or_init(|| Start {
            pc: entry,
            context,
            generation: self.generation,
            wave: facts(self.grid),
            entry: init.shapes(),
        })
    }

    fn generation(&self) -> u64 {
        self.generation
    }
}
