//! The registers that waves need at their start: those that the code can read before it writes them.
//!
//! The others keep what an earlier wave left. No wave computes with that, and no report shows it.

use wavemill_ir::analysis::{Exits, Full, Graph, Limits, Liveness, RegisterSet, WaveFacts, Written};

use wavemill_ir::{LANES, Uni};

use super::Grid;
use crate::registers::{ClearedRegisters, RegisterImage, Registers};

/// Waves of a grid for which the code is worth a look, and how many a thread begins before it looks.
pub(super) const WORTH_WAVES: u64 = 1 << 14;
pub(super) const BEGUN_BEFORE: u32 = 256;
/// The largest programs that are looked at.
const LIMITS: Limits = Limits { blocks: 256, operations: 1 << 13 };

/// What waves need whose lanes are all active at the start.
#[derive(Debug)]
pub(super) struct Needed {
    /// The code that this is about.
    generation: u64,
    /// What is zero at their start, or set.
    pub cleared: ClearedRegisters,
    /// The same in the first workgroup, for each of its waves whose lanes are all active.
    pub first: Vec<RegisterImage>,
    /// Bytes of that.
    pub bytes: usize,
    /// Whether [`rare`](super::WaveInit::rare) registers are among it.
    pub some_rare: bool,
}

/// The registers that waves of a grid have.
pub(super) fn facts(grid: &Grid<'_>) -> WaveFacts {
    let counts = grid.registers;
    WaveFacts {
        rows: counts.rows,
        absent: counts.absent.0..counts.absent.1,
        private_memory: Some(counts.private_base.first()),
        exceptions: grid.source.exceptions(),
    }
}

/// The registers that the code can read before it writes them, and those that are certainly written at `pc`.
fn look(grid: &Grid<'_>, pc: u64) -> (RegisterSet, RegisterSet) {
    let graph = Graph::new(grid.entry, LIMITS, |at| grid.source.block(at, grid.context));
    let facts = facts(grid);
    let full = Full::new(&graph, &facts, true);
    let live = Liveness::new(&graph, &facts, &full, Exits::Continuing).at(0, 0);
    (live, Written::new(&graph, &facts, &full).at_address(&graph, pc))
}

impl Needed {
    pub(super) fn of(grid: &Grid<'_>) -> Needed {
        let generation = grid.source.generation();
        let (live, _) = look(grid, grid.entry);
        let some_rare = grid.init.rare().iter().any(|cell| live.contains(*cell));
        let cleared = ClearedRegisters::new(grid.registers, live);
        let first = [0; 3];
        let image = |wave: u32| {
            let mut regs = Registers::new(grid.registers);
            regs.set_uni64(Uni::ACTIVE, !0);
            grid.init.init(first, wave, 0, &mut regs);
            RegisterImage::new(&regs, &cleared)
        };
        let full = grid.init.work_items(first) / LANES as u32;
        let first = (0..full).map(image).collect();
        Needed { generation, some_rare, bytes: cleared.bytes(), cleared, first }
    }

    /// Whether registers are those of a wave at its start, whose lanes are all active, as far as it needs them.
    pub(super) fn are_set(
        &self,
        grid: &Grid<'_>,
        id: [u32; 3],
        wave: u32,
        slot: u32,
        regs: &Registers,
    ) -> bool {
        let mut all = Registers::new(grid.registers);
        all.set_uni64(Uni::ACTIVE, !0);
        grid.init.init(id, wave, slot, &mut all);
        grid.init.init_rare(id, wave, &mut all);
        all.are_equal_in(regs, &self.cleared)
    }

    /// Whether the code is still what it was.
    pub(super) fn holds(&self, grid: &Grid<'_>) -> bool {
        self.generation == grid.source.generation()
    }

    /// The registers of a wave at an address that it has itself given their values, or that were set at its start.
    pub(super) fn known(grid: &Grid<'_>, pc: u64) -> RegisterSet {
        let (live, written) = look(grid, pc);
        live.union(written)
    }
}
