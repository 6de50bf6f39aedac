//! What is compiled together: blocks that lead to each other, in versions by what is known of the active lanes.

use std::collections::HashMap;
use std::sync::Arc;

use wavemill_interpreter::translate::{Blocks, Compiled, Link};
use wavemill_ir::{Inst, LaneOp, Op, Operand, Row, Terminator, Uni};
use wavemill_machine::registers::{RegisterCounts, uni_offset};

use crate::emit::memory::{
    Form, LaneAccess, PrivateAccess, ScalarLoad, lane_access, private_access, scalar_load,
};
use crate::emit::scalar;
use crate::lir::Strip;
use crate::lower::lower;
use crate::shapes::Addresses;

/// The most blocks and operations of a unit.
const MAX_BLOCKS: usize = 64;
const MAX_OPERATIONS: usize = 4000;
/// The most rows that a loop keeps in registers from one block to the next: some are needed for others.
const MAX_HOT_ROWS: usize = 5;

/// How an operation is run.
#[derive(Clone, Debug)]
pub(crate) enum How {
    /// It has no effect.
    Nothing,
    /// By strip code.
    Strip(Box<Strip>),
    /// By code on cells, or by a fence.
    Scalar,
    /// By code that moves a value between a row and a cell.
    Lane,
    /// By an access of lanes to memory.
    Access(Box<LaneAccess>),
    /// By an access to private memory.
    Private(Box<PrivateAccess>),
    /// By a load into cells.
    ScalarLoad(ScalarLoad),
    /// By the handlers of the interpreter.
    Call,
    /// The interpreter takes over before it.
    Leave,
}

impl How {
    /// Rows that inline code reads.
    fn sources(&self) -> Vec<u32> {
        match self {
            How::Strip(strip) => strip.sources(),
            How::Access(access) => access.sources(),
            How::Private(access) => access.sources(),
            _ => Vec::new(),
        }
    }

    /// Rows that inline code writes.
    fn results(&self) -> Vec<u32> {
        match self {
            How::Strip(strip) => strip.results(),
            How::Access(access) => access.results().to_vec(),
            How::Private(access) => access.results().to_vec(),
            _ => Vec::new(),
        }
    }
}

/// A block of a unit.
#[derive(Debug)]
pub(crate) struct UnitBlock {
    pub compiled: Compiled,
    pub how: Vec<How>,
    /// Whether it may change which lanes are active.
    pub changes_active: bool,
    /// Numbers of the operations with inline code that read a row, in ascending order.
    pub reads: HashMap<u32, Vec<u32>>,
    /// Numbers of the last operations of any kind that read a row.
    pub last_read: HashMap<u32, u32>,
}

/// A block, in the version for waves whose lanes are all active at its beginning or in the version for all waves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub(crate) struct Version {
    pub block: usize,
    pub full: bool,
}

/// A version in the order of the code.
#[derive(Debug)]
pub(crate) struct Node {
    pub version: Version,
    /// Number of versions that lead here. The unit's entry counts, too.
    pub predecessors: usize,
    /// Number of the innermost loop that has it, if that loop keeps rows in registers.
    pub hot_loop: Option<usize>,
}

/// A loop that keeps rows in registers from block to block.
#[derive(Debug)]
pub(crate) struct HotLoop {
    /// The rows, by group of registers, and whether the loop writes them.
    pub rows: Vec<(u32, bool)>,
}

/// What is compiled together.
#[derive(Debug)]
pub(crate) struct Plan {
    pub counts: RegisterCounts,
    pub blocks: Vec<UnitBlock>,
    pub nodes: Vec<Node>,
    pub numbers: HashMap<Version, usize>,
    pub loops: Vec<HotLoop>,
    by_position: HashMap<u64, usize>,
    /// What is known of addresses, if the unit is for waves that follow their start.
    pub addresses: Option<Arc<Addresses>>,
}

/// The blocks that a terminator leads to, at known positions. What the interpreter refuses leads nowhere.
pub(crate) fn targets(terminator: Terminator) -> [Option<u64>; 2] {
    match terminator {
        _ if terminator.problem().is_some() => [None, None],
        Terminator::Jump(to) => [Some(to), None],
        Terminator::Branch { taken, next, .. } => [Some(taken), Some(next)],
        _ => [None, None],
    }
}

/// Whether an operation may change which lanes are active.
pub(crate) fn changes_active(inst: &Inst) -> bool {
    inst.writes().any(|cell| cell == Uni::ACTIVE.into() || cell == Uni::ACTIVE.plus(1).into())
}

fn how(inst: &Inst, number: usize, compiled: &Compiled, counts: RegisterCounts) -> How {
    if number >= compiled.supported as usize || matches!(inst.op, Op::Sync(op) if op.may_wait()) {
        return How::Leave;
    }
    if compiled.host_operations[number] == 0 {
        return How::Nothing;
    }
    // Inline code stands for one host operation.
    if compiled.host_operations[number] == 1 {
        if let Some(access) = lane_access(inst, counts) {
            return How::Access(Box::new(access));
        }
        if let Some(access) = private_access(inst, counts) {
            return How::Private(Box::new(access));
        }
        if let Some(load) = scalar_load(inst, counts) {
            return How::ScalarLoad(load);
        }
    }
    match inst.op {
        Op::Scalar(..) | Op::ScalarCmp(..) | Op::ReadStatus(_) | Op::Fence(_)
            if scalar::supports(inst, counts) =>
        {
            How::Scalar
        }
        Op::Lane(LaneOp::ReadLane | LaneOp::ReadFirstLane | LaneOp::WriteLane)
            if scalar::supports_lane(inst, counts) =>
        {
            How::Lane
        }
        _ => match lower(inst, counts) {
            Some(strip) => How::Strip(Box::new(strip)),
            None => How::Call,
        },
    }
}

/// For each guest instruction of a block, whether machine code does all of it: no handler, and not the interpreter.
pub(crate) fn inline_instructions(compiled: &Compiled, counts: RegisterCounts) -> Vec<bool> {
    let block = &compiled.block;
    let mut inline = vec![true; block.guest.len()];
    for (n, inst) in block.insts.iter().enumerate() {
        if matches!(how(inst, n, compiled, counts), How::Call | How::Leave)
            && let Some(inline) = inline.get_mut(inst.guest as usize)
        {
            *inline = false;
        }
    }
    // The interpreter runs ends that lead to no known position.
    if let (Some(last), [None, None]) = (inline.last_mut(), targets(block.terminator)) {
        *last = false;
    }
    inline
}

impl Plan {
    /// The unit that begins at a position; `None` if there is no code.
    pub(crate) fn new(
        entry: u64,
        source: &mut dyn Blocks,
        addresses: Option<Arc<Addresses>>,
    ) -> Option<Plan> {
        let counts = source.counts();
        let mut blocks: Vec<UnitBlock> = Vec::new();
        let mut by_position = HashMap::new();
        let mut waiting = std::collections::VecDeque::from([entry]);
        let mut operations = 0;
        while let Some(position) = waiting.pop_front() {
            if by_position.contains_key(&position) || blocks.len() >= MAX_BLOCKS {
                continue;
            }
            let Some(compiled) = source.block(position) else { continue };
            operations += compiled.block.insts.len();
            if operations > MAX_OPERATIONS && !blocks.is_empty() {
                break;
            }
            let insts = compiled.block.insts.iter().enumerate();
            let mut how: Vec<How> = insts.map(|(n, inst)| how(inst, n, &compiled, counts)).collect();
            if let Some(addresses) = &addresses {
                for (n, how) in how.iter_mut().enumerate() {
                    if let How::Access(access) = how {
                        access.form = Form::new(access, addresses.at(position, n));
                    }
                }
            }
            let mut reads: HashMap<u32, Vec<u32>> = HashMap::new();
            for (n, how) in (0..).zip(&how) {
                for row in how.sources() {
                    reads.entry(row).or_default().push(n);
                }
            }
            waiting.extend(targets(compiled.block.terminator).into_iter().flatten());
            let changes_active = compiled.block.insts.iter().any(changes_active);
            let mut last_read = HashMap::new();
            for (n, inst) in (0..).zip(&compiled.block.insts) {
                for register in inst.reads() {
                    if let Operand::Row(row) = register
                        && let Some(offset) = counts.offset(row)
                    {
                        last_read.insert(offset, n);
                    }
                }
            }
            by_position.insert(position, blocks.len());
            blocks.push(UnitBlock { compiled, how, changes_active, reads, last_read });
        }
        if blocks.is_empty() {
            return None;
        }
        let mut plan = Plan {
            counts,
            blocks,
            nodes: Vec::new(),
            numbers: HashMap::new(),
            loops: Vec::new(),
            by_position,
            addresses,
        };
        plan.order();
        plan.find_loops();
        Some(plan)
    }

    /// The block at a position, if it is in the unit.
    pub(crate) fn block_at(&self, position: u64) -> Option<usize> {
        self.by_position.get(&position).copied()
    }

    /// Versions that a version may lead to.
    fn successors(&self, version: Version) -> Vec<Version> {
        let block = &self.blocks[version.block];
        if block.how.iter().any(|how| matches!(how, How::Leave)) {
            return Vec::new();
        }
        let mut all = Vec::new();
        for target in targets(block.compiled.block.terminator).into_iter().flatten() {
            let Some(block_number) = self.block_at(target) else { continue };
            if block.changes_active {
                all.push(Version { block: block_number, full: true });
                all.push(Version { block: block_number, full: false });
            } else {
                all.push(Version { block: block_number, full: version.full });
            }
        }
        all
    }

    /// Numbers the versions that the entry leads to, in reverse postorder.
    fn order(&mut self) {
        let mut done: HashMap<Version, ()> = HashMap::new();
        let mut postorder = Vec::new();
        for full in [false, true] {
            let entry = Version { block: 0, full };
            if done.insert(entry, ()).is_some() {
                continue;
            }
            let mut stack = vec![(entry, self.successors(entry))];
            while let Some((version, rest)) = stack.last_mut() {
                match rest.pop() {
                    Some(next) => {
                        if done.insert(next, ()).is_none() {
                            let successors = self.successors(next);
                            stack.push((next, successors));
                        }
                    }
                    None => {
                        postorder.push(*version);
                        stack.pop();
                    }
                }
            }
        }
        postorder.reverse();
        self.numbers = postorder.iter().enumerate().map(|(n, version)| (*version, n)).collect();
        let mut predecessors = vec![0; postorder.len()];
        for full in [true, false] {
            predecessors[self.numbers[&Version { block: 0, full }]] += 1;
        }
        for version in &postorder {
            for next in self.successors(*version) {
                predecessors[self.numbers[&next]] += 1;
            }
        }
        let nodes = postorder.into_iter().zip(predecessors);
        self.nodes =
            nodes.map(|(version, predecessors)| Node { version, predecessors, hot_loop: None }).collect();
    }

    /// Finds the innermost loops, and the rows that they keep in registers.
    fn find_loops(&mut self) {
        let count = self.nodes.len();
        let successors: Vec<Vec<usize>> = (0..count)
            .map(|n| self.successors(self.nodes[n].version).iter().map(|next| self.numbers[next]).collect())
            .collect();
        let mut sources = vec![Vec::new(); count];
        for (n, next) in successors.iter().enumerate() {
            for next in next {
                sources[*next].push(n);
            }
        }
        // An edge back in the order ends a loop. Its nodes are those that lead to the edge without the header.
        let mut loops: HashMap<usize, Vec<usize>> = HashMap::new();
        for (n, next) in successors.iter().enumerate() {
            for header in next.iter().filter(|header| **header <= n) {
                let members = loops.entry(*header).or_insert_with(|| vec![*header]);
                let mut waiting = vec![n];
                while let Some(member) = waiting.pop() {
                    if !members.contains(&member) {
                        members.push(member);
                        waiting.extend(&sources[member]);
                    }
                }
            }
        }
        let mut headers: Vec<usize> = loops.keys().copied().collect();
        headers.sort_unstable();
        for header in headers {
            let members = &loops[&header];
            // A way into the middle of what looks like a loop makes members come before the header.
            let is_innermost = members.iter().all(|m| *m == header || !loops.contains_key(m));
            let is_natural = members.iter().all(|m| *m >= header);
            if !is_innermost || !is_natural {
                continue;
            }
            if let Some(rows) = self.hot_rows(members) {
                let number = self.loops.len();
                self.loops.push(HotLoop { rows });
                for member in members {
                    self.nodes[*member].hot_loop = Some(number);
                }
            }
        }
    }

    /// The rows that a loop uses most; `None` if it calls handlers, which use all vector registers.
    fn hot_rows(&self, members: &[usize]) -> Option<Vec<(u32, bool)>> {
        let mut uses: HashMap<u32, (usize, bool)> = HashMap::new();
        for member in members {
            for how in &self.blocks[self.nodes[*member].version.block].how {
                if matches!(how, How::Call | How::Leave | How::Lane) {
                    return None;
                }
                for row in how.sources() {
                    uses.entry(row).or_default().0 += 1;
                }
                for row in how.results() {
                    let used = uses.entry(row).or_default();
                    used.0 += 1;
                    used.1 = true;
                }
            }
        }
        uses.retain(|row, _| !self.is_temporary(*row));
        let mut rows: Vec<(u32, usize, bool)> =
            uses.into_iter().map(|(row, (count, written))| (row, count, written)).collect();
        rows.sort_by_key(|(row, count, written)| (std::cmp::Reverse(count + usize::from(*written)), *row));
        rows.truncate(MAX_HOT_ROWS);
        Some(rows.into_iter().map(|(row, _, written)| (row, written)).collect())
    }

    /// Whether the row at an offset is a temporary, which no block but its own reads.
    pub(crate) fn is_temporary(&self, offset: u32) -> bool {
        self.counts.offset(Row::TEMP0).is_some_and(|first| offset >= first)
    }

    /// The link before an operation of a block.
    pub(crate) fn link(&self, block: usize, operation: usize) -> Link {
        Link { block: self.blocks[block].compiled.block.start, operation: operation as u32 }
    }
}

/// Offset of the cells that an operand names, if they are cells that the wave has.
pub(crate) fn cells(operand: Operand, dwords: u16, counts: RegisterCounts) -> Option<u32> {
    match operand {
        Operand::Uni(cell) if !(0..dwords.max(1)).any(|n| counts.lacks(cell.plus(n))) => {
            Some(uni_offset(cell))
        }
        _ => None,
    }
}
