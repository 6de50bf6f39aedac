//! Programs for unit tests.

use std::collections::BTreeMap;

use super::{Graph, Limits};
use crate::{Block, BlockBuilder, Cond, Terminator, Uni, Width};

/// Empty blocks at addresses with these ends.
pub(super) fn program(ends: &[(u64, Terminator)]) -> BTreeMap<u64, Block> {
    let block = |at, end| {
        let mut builder = BlockBuilder::new(at);
        builder.begin_guest(at);
        (at, builder.finish(at + 1, end))
    };
    ends.iter().map(|(at, end)| block(*at, *end)).collect()
}

pub(super) fn graph(program: &BTreeMap<u64, Block>) -> Graph<&Block> {
    Graph::new(0, Limits::default(), |at| &program[&at])
}

/// A branch on a cell.
pub(super) fn branch(taken: u64, next: u64) -> Terminator {
    Terminator::Branch { cond: Cond::NonZero(Uni(128), Width::W32), taken, next }
}
