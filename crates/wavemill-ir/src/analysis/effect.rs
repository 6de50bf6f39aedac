//! What an operation does to registers and memory, as one value.

use super::{RegisterSet, WaveFacts};
use crate::{Inst, LaneMask, LaneOp, MemoryScope, Op, Operand, Row, Space, SubDword, Uni};

/// The lanes of its rows that an operation writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WrittenLanes {
    /// All of them, active or not, in all bits.
    All,
    /// The active ones, in all bits.
    Active,
    /// An unknown part of the 64 lanes, or of their bits.
    Part,
}

/// The memory that an operation accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Memory {
    /// The space. Accesses through resources are global ones, although a resource may name the
    /// private memory of the wave.
    pub space: Space,
    /// It reads.
    pub reads: bool,
    /// It may write.
    pub writes: bool,
    /// It reads and writes atomically.
    pub atomic: bool,
    /// Waves of other workgroups see it, or it sees what they write, without a fence.
    pub coherent: bool,
}

/// What an operation does. [`Effect::of`] works it out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Registers whose values it needs: sources, the lanes that it works on, registers that an index
    /// may reach.
    pub uses: RegisterSet,
    /// Registers that it may write, but of which it keeps a part: other lanes or other bits.
    pub keeps: RegisterSet,
    /// Registers that it may write.
    pub writes: RegisterSet,
    /// The lanes of its rows that it writes.
    pub lanes: WrittenLanes,
    /// Its memory.
    pub memory: Option<Memory>,
    /// It may fault, wait or trap: the wave then stays in front of its guest instruction.
    pub leaves: bool,
    /// Results of a lane depend on other lanes.
    pub crosses_lanes: bool,
    /// It orders memory accesses, or has an effect outside the wave, or depends on more than registers
    /// and memory: it stays in its place.
    pub stays: bool,
}

impl Effect {
    /// What an operation does in a wave.
    #[must_use]
    pub fn of(inst: &Inst, wave: &WaveFacts) -> Effect {
        let effects = inst.effects();
        let raises = inst.op.raises();
        let memory = inst.space().map(|space| Memory {
            space,
            reads: effects.reads_memory,
            writes: effects.writes_memory,
            atomic: effects.atomic,
            coherent: inst.attrs.scope > MemoryScope::Workgroup,
        });
        let mut uses: RegisterSet = inst.source_registers().chain(inst.lane_mask()).collect();
        if inst.op.signature().updates {
            uses.extend(inst.writes());
        }
        let mut keeps: RegisterSet = inst.kept().collect();
        let mut writes = RegisterSet::EMPTY;
        Effect::add_writes(inst, &mut writes);
        match inst.op {
            Op::MoveRelSource(..) => uses.extend(reachable(inst)),
            Op::IndexedRead(_) | Op::LaneIndexedRead(_) => uses.extend(reachable(inst)),
            Op::MoveRelDest(..) | Op::IndexedWrite(_) | Op::LaneIndexedWrite(_) => {
                keeps.extend(reachable(inst));
            }
            _ => {}
        }
        if let (Some(pair), true) = (wave.private_memory, reaches_private(inst)) {
            uses.extend([Operand::Uni(pair), pair.plus(1).into()]);
        }
        if let (Some(cell), true) = (wave.exceptions, raises) {
            uses.insert(cell);
            keeps.insert(cell);
            writes.insert(cell);
        }
        if wave.lacks_some(inst) {
            // What operands that the wave lacks read instead.
            uses.extend((0..16).map(Uni).map(Operand::Uni).chain([Row(0).into()]));
            keeps = keeps.union(writes);
        }
        let waits = matches!(inst.op, Op::Sync(op) if op.may_wait());
        Effect {
            uses,
            keeps,
            writes,
            lanes: written_lanes(inst),
            memory,
            leaves: effects.may_fault || waits || raises && inst.attrs.traps != 0,
            crosses_lanes: effects.crosses_lanes,
            stays: effects.ordered || effects.reads_surroundings,
        }
    }

    /// Adds the registers that an operation may write, but for the cell that collects exceptions.
    pub fn add_writes(inst: &Inst, set: &mut RegisterSet) {
        set.extend(inst.writes());
        if let Op::MoveRelDest(..) | Op::IndexedWrite(_) | Op::LaneIndexedWrite(_) = inst.op {
            set.extend(reachable(inst));
        }
    }

    /// The registers that have a new value in all lanes and bits afterwards, whatever they had before.
    /// `full` says whether all lanes are active.
    #[must_use]
    pub fn defines(&self, full: bool) -> RegisterSet {
        match self.lanes {
            WrittenLanes::Active if full => {
                let rows: RegisterSet = self.writes.rows().map(Operand::Row).collect();
                self.writes.without(self.keeps.without(rows))
            }
            _ => self.writes.without(self.keeps),
        }
    }
}

/// Whether it may access private memory, whose address is in cells.
fn reaches_private(inst: &Inst) -> bool {
    matches!(inst.space(), Some(Space::Scratch | Space::Flat))
}

/// The registers that the index of an operation may lead to.
pub(super) fn reachable(inst: &Inst) -> Vec<Operand> {
    let cells = |first: u16, end: u16| (first..end).map(|n| Operand::Uni(Uni(n))).collect();
    let rows = |first: u16, end: u16| (first..end).map(|n| Operand::Row(Row(n))).collect();
    let bank = |operand: Operand| match operand {
        Operand::Row(row) => row.bank().map_or(Vec::new(), |(bank, _)| {
            let first = bank as u16 * Row::BANK;
            rows(first, first + Row::BANK)
        }),
        _ => Vec::new(),
    };
    match inst.op {
        // Outside of the range, the first cells are read.
        Op::MoveRelSource(_, range) => [cells(0, 2), cells(range.first.0, range.end.0)].concat(),
        Op::MoveRelDest(_, range) => cells(range.first.0, range.end.0),
        Op::IndexedRead(_) => bank(inst.src[0]),
        Op::IndexedWrite(_) => bank(inst.dst[0]),
        // A row that the wave lacks reads as the very first one.
        Op::LaneIndexedRead(range) => [rows(0, 1), rows(range.first.0, range.end.0)].concat(),
        Op::LaneIndexedWrite(range) => rows(range.first.0, range.end.0),
        _ => Vec::new(),
    }
}

/// The lanes of its rows that an operation writes.
pub(super) fn written_lanes(inst: &Inst) -> WrittenLanes {
    let signature = inst.op.signature();
    let half = signature.updates && signature.effects.reads_memory;
    if inst.attrs.lanes.is_some() || inst.attrs.dst_sel != SubDword::Dword || half {
        return WrittenLanes::Part;
    }
    match (inst.op, inst.mask) {
        (Op::Lane(LaneOp::WriteLane), _) | (Op::LaneIndexedWrite(_), _) => WrittenLanes::Part,
        // A small result leaves the rest of its cell; which channels an image has is in its resource.
        (Op::FormatCvt(_) | Op::Image(_), _) => WrittenLanes::Part,
        // If the wave lacks a row, none is written.
        (Op::IndexedWrite(_), _) => WrittenLanes::Part,
        (Op::IndexedRead(_) | Op::Matrix(_), _) => WrittenLanes::All,
        (_, LaneMask::All) => WrittenLanes::All,
        (_, LaneMask::Active) => WrittenLanes::Active,
        (_, LaneMask::Given(_)) => WrittenLanes::Part,
    }
}
