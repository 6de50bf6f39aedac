//! Where all lanes are known to be active.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::{Graph, WaveFacts};
use crate::{Block, Inst, LaneMask, Op, Operand, ScalarOp, Uni, Value, Width};

/// Pairs of 64-bit masks that cover all lanes together, by their first cells, the smaller one first.
/// A mask that covers all lanes by itself is a pair with itself.
type Covers = BTreeSet<(u16, u16)>;

/// Where the mask of active lanes is all ones.
///
/// The analysis follows constants, copies of masks, and masks that cover all lanes together: a mask
/// and its complement, or a mask and a superset of that. So it finds the ends of branches on lanes.
#[derive(Clone, Debug)]
pub struct Full {
    /// For each node, whether all lanes are active in front of each operation and of the end.
    active: Vec<Vec<bool>>,
}

impl Full {
    /// Works it out. `at_entry` says whether all lanes are active at the entry.
    pub fn new<B: Deref<Target = Block>>(graph: &Graph<B>, wave: &WaveFacts, at_entry: bool) -> Full {
        let nodes = graph.nodes();
        let odd: Vec<Vec<bool>> = nodes.iter().map(|node| wave.odd(&node.block.insts)).collect();
        let mut starts: Vec<Option<Covers>> = vec![None; nodes.len()];
        let active = (Uni::ACTIVE.0, Uni::ACTIVE.0);
        starts[0] = Some(if at_entry { Covers::from([active]) } else { Covers::new() });
        let mut changed = true;
        while changed {
            changed = false;
            for node in graph.order() {
                let Some(mut covers) = starts[*node].clone() else { continue };
                for (inst, odd) in nodes[*node].block.insts.iter().zip(&odd[*node]) {
                    step(&mut covers, inst, wave, *odd);
                }
                drop_temporaries(&mut covers);
                for next in &nodes[*node].successors {
                    let met = match &starts[*next] {
                        Some(known) => known.intersection(&covers).copied().collect(),
                        None => covers.clone(),
                    };
                    if starts[*next].as_ref() != Some(&met) {
                        starts[*next] = Some(met);
                        changed = true;
                    }
                }
            }
        }
        let active = nodes.iter().zip(starts).zip(&odd).map(|((node, start), odd)| {
            let mut covers = start.unwrap_or_default();
            let mut known = Vec::with_capacity(node.block.insts.len() + 1);
            for (inst, odd) in node.block.insts.iter().zip(odd) {
                known.push(covers.contains(&active));
                step(&mut covers, inst, wave, *odd);
            }
            known.push(covers.contains(&active));
            known
        });
        Full { active: active.collect() }
    }

    /// Whether all lanes are active in front of an operation of a node; the number of operations
    /// means the end of its block.
    #[must_use]
    pub fn at(&self, node: usize, operation: usize) -> bool {
        self.active.get(node).and_then(|node| node.get(operation)).is_some_and(|full| *full)
    }
}

fn drop_temporaries(covers: &mut Covers) {
    covers.retain(|(_, second)| *second < Uni::TEMP0.0);
}

/// What is known of a 64-bit source.
struct Mask {
    ones: bool,
    /// The masks that it covers all lanes with.
    with: BTreeSet<u16>,
    /// Its own first cell.
    cell: Option<u16>,
}

impl Mask {
    fn of(covers: &Covers, operand: Operand, wave: &WaveFacts) -> Mask {
        match operand {
            Operand::Uni(cell) if !wave.lacks(operand, 2) => {
                let own = cell.0;
                let other = |(a, b): &(u16, u16)| match (*a == own, *b == own) {
                    (true, _) => Some(*b),
                    (_, true) => Some(*a),
                    _ => None,
                };
                let with: BTreeSet<u16> = covers.iter().filter_map(other).collect();
                Mask { ones: with.contains(&own), with, cell: Some(own) }
            }
            Operand::Const(value) => Mask { ones: value == !0, with: BTreeSet::new(), cell: None },
            _ => Mask { ones: false, with: BTreeSet::new(), cell: None },
        }
    }

    fn nothing() -> Mask {
        Mask { ones: false, with: BTreeSet::new(), cell: None }
    }

    /// The complement of a mask.
    fn not(of: &Mask) -> Mask {
        Mask { with: of.cell.into_iter().collect(), ..Mask::nothing() }
    }

    fn covers_with(&self, other: &Mask) -> bool {
        self.ones || other.ones || other.cell.is_some_and(|cell| self.with.contains(&cell))
    }

    fn or(a: Mask, b: Mask) -> Mask {
        let ones = a.covers_with(&b);
        Mask { ones, with: &a.with | &b.with, cell: None }
    }

    fn and(a: Mask, b: Mask) -> Mask {
        // A mask of ones covers all lanes with any.
        let with = match (a.ones, b.ones) {
            (true, _) => b.with,
            (_, true) => a.with,
            _ => &a.with & &b.with,
        };
        Mask { ones: a.ones && b.ones, with, cell: None }
    }

    /// The mask `a & !b`, which covers with `b` what `a` does.
    fn and_not(a: Mask, b: &Mask) -> Mask {
        let with = if a.covers_with(b) { b.cell.into_iter().collect() } else { BTreeSet::new() };
        Mask { with, ..Mask::nothing() }
    }

    fn xor(a: Mask, b: Mask) -> Mask {
        // With each of the two it covers what both cover.
        let with =
            if a.covers_with(&b) { a.cell.into_iter().chain(b.cell).collect() } else { BTreeSet::new() };
        Mask { with, ..Mask::nothing() }
    }
}

/// What a mask operation gives.
fn result(covers: &Covers, inst: &Inst, wave: &WaveFacts) -> Mask {
    let source = |n: usize| Mask::of(covers, inst.src[n], wave);
    match inst.op {
        Op::Scalar(op, Width::W64) => match op {
            ScalarOp::Mov => Mask { cell: None, ..source(0) },
            ScalarOp::Not => Mask::not(&source(0)),
            ScalarOp::And => Mask::and(source(0), source(1)),
            ScalarOp::Or => Mask::or(source(0), source(1)),
            ScalarOp::Xor => Mask::xor(source(0), source(1)),
            ScalarOp::AndNot => Mask::and_not(source(0), &source(1)),
            ScalarOp::OrNot => Mask::or(source(0), Mask::not(&source(1))),
            ScalarOp::Nand => Mask::or(Mask::not(&source(0)), Mask::not(&source(1))),
            ScalarOp::Select => {
                let (a, b) = (source(0), source(1));
                Mask { ones: a.ones && b.ones, with: &a.with & &b.with, cell: None }
            }
            _ => Mask::nothing(),
        },
        _ => Mask::nothing(),
    }
}

/// Follows an operation.
fn step(covers: &mut Covers, inst: &Inst, wave: &WaveFacts, odd: bool) {
    let signature = inst.op.signature();
    let is_mask = signature.results[0] == Value::Uniform(2) || signature.results[0] == Value::Mask;
    let new = (is_mask && !odd && inst.mask == LaneMask::Active).then(|| result(covers, inst, wave));
    forget_written(covers, inst, wave);
    if let (Some(mask), Operand::Uni(cell)) = (new, inst.dst[0]) {
        // The flag of the operation may be one of its cells.
        let own = cell.0;
        let flag = matches!(inst.dst[1], Operand::Uni(flag) if flag.0 == own || flag.0 == own + 1);
        if flag {
            return;
        }
        if mask.ones {
            covers.insert((own, own));
        }
        let overwritten = |other: u16| {
            other.abs_diff(own) < 2
                || matches!(inst.dst[1], Operand::Uni(flag) if flag.0 == other || flag.0 == other + 1)
        };
        covers.extend(
            mask.with
                .iter()
                .filter(|other| !overwritten(**other))
                .map(|other| (own.min(*other), own.max(*other))),
        );
    }
}

/// Forgets what is known of masks in which an operation may write a cell.
fn forget_written(covers: &mut Covers, inst: &Inst, wave: &WaveFacts) {
    let touches = |covers: &mut Covers, cell: Uni| {
        let hit = |first: u16| cell.0 == first || cell.0 == first + 1;
        covers.retain(|(a, b)| !hit(*a) && !hit(*b));
    };
    match inst.op {
        Op::MoveRelDest(_, range) => (range.first.0..range.end.0).for_each(|n| touches(covers, Uni(n))),
        _ => {
            for written in inst.writes() {
                if let Operand::Uni(cell) = written {
                    touches(covers, cell);
                }
            }
        }
    }
    if let (Some(cell), true) = (wave.exceptions, inst.op.raises()) {
        touches(covers, cell);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::Limits;
    use crate::analysis::tests::branch;
    use crate::{BlockBuilder, Terminator};

    const ACTIVE: Operand = Operand::Uni(Uni::ACTIVE);
    const CONDITION: Operand = Operand::Uni(Uni(106));
    const SAVED: Uni = Uni(2);
    const INNER: Uni = Uni(4);

    type Ops = Vec<(ScalarOp, Uni, Vec<Operand>)>;

    /// Whether all lanes are active in front of each operation and of the end, by address.
    fn full(blocks: Vec<(u64, Ops, Terminator)>, at_entry: bool) -> BTreeMap<u64, Vec<bool>> {
        let blocks: BTreeMap<u64, Block> = blocks
            .into_iter()
            .map(|(at, ops, end)| {
                let mut b = BlockBuilder::new(at);
                b.begin_guest(at);
                for (op, dst, sources) in ops {
                    b.scalar(op, Width::W64, dst, &sources);
                }
                (at, b.finish(at + 1, end))
            })
            .collect();
        let graph = Graph::new(0, Limits::default(), |at| &blocks[&at]);
        let full = Full::new(&graph, &WaveFacts::default(), at_entry);
        let known = |n: usize, block: &Block| (0..=block.insts.len()).map(|i| full.at(n, i)).collect();
        graph.nodes().iter().enumerate().map(|(n, node)| (node.block.start, known(n, node.block))).collect()
    }

    /// `saved = active; active = active & condition`.
    fn narrow(saved: Uni) -> Ops {
        vec![(ScalarOp::Mov, saved, vec![ACTIVE]), (ScalarOp::And, Uni::ACTIVE, vec![ACTIVE, CONDITION])]
    }

    #[test]
    fn constants_and_saved_copies() {
        let mut ops = narrow(SAVED);
        ops.push((ScalarOp::Or, Uni::ACTIVE, vec![ACTIVE, SAVED.into()]));
        ops.push((ScalarOp::Xor, SAVED, vec![SAVED.into(), SAVED.into()]));
        ops.push((ScalarOp::And, Uni::ACTIVE, vec![ACTIVE, SAVED.into()]));
        ops.push((ScalarOp::Mov, Uni::ACTIVE, vec![Operand::Const(!0)]));
        let blocks = vec![(0, ops, Terminator::End)];
        assert_eq!(full(blocks.clone(), true)[&0], [true, true, false, true, true, false, true]);
        assert_eq!(full(blocks, false)[&0], [false, false, false, false, false, false, true]);
    }

    /// The masks of a branch on lanes with both sides, as compilers write them, with a branch inside.
    #[test]
    fn both_sides_of_a_branch_on_lanes() {
        let mut first = narrow(SAVED);
        first.push((ScalarOp::Xor, SAVED, vec![ACTIVE, SAVED.into()]));
        let mut inner = narrow(INNER);
        inner.push((ScalarOp::Or, Uni::ACTIVE, vec![ACTIVE, INNER.into()]));
        let other = vec![
            (ScalarOp::Mov, Uni(8), vec![ACTIVE]),
            (ScalarOp::Or, Uni::ACTIVE, vec![ACTIVE, SAVED.into()]),
            (ScalarOp::Mov, SAVED, vec![Uni(8).into()]),
            (ScalarOp::Xor, Uni::ACTIVE, vec![ACTIVE, SAVED.into()]),
        ];
        let last = vec![(ScalarOp::Or, Uni::ACTIVE, vec![ACTIVE, SAVED.into()])];
        let blocks = |last: Ops| {
            vec![
                (0, first.clone(), branch(1, 2)),
                (1, inner.clone(), Terminator::Jump(2)),
                (2, other.clone(), branch(3, 4)),
                (3, Vec::new(), Terminator::Jump(4)),
                (4, last, Terminator::End),
            ]
        };
        let known = full(blocks(last), true);
        assert_eq!(known[&0], [true, true, false, false]);
        assert_eq!(known[&1], [false, false, false, false]);
        assert_eq!(known[&2], [false, false, true, true, false]);
        assert_eq!(known[&4], [false, true]);
        // With another mask, the end is not the end of the branch.
        let wrong = vec![(ScalarOp::Or, Uni::ACTIVE, vec![ACTIVE, Uni(10).into()])];
        assert_eq!(full(blocks(wrong), true)[&4], [false, false]);
    }

    #[test]
    fn loops_that_narrow_the_mask() {
        let blocks = vec![
            (0, vec![(ScalarOp::Mov, SAVED, vec![ACTIVE])], Terminator::Jump(1)),
            (1, vec![(ScalarOp::AndNot, Uni::ACTIVE, vec![ACTIVE, CONDITION])], branch(1, 2)),
            (2, vec![(ScalarOp::Or, Uni::ACTIVE, vec![ACTIVE, SAVED.into()])], Terminator::End),
        ];
        let known = full(blocks, true);
        assert_eq!(
            (&known[&0][..], &known[&1][..], &known[&2][..]),
            (&[true, true][..], &[false, false][..], &[false, true][..])
        );
    }

    #[test]
    fn a_half_that_is_overwritten_is_not_full() {
        let mut b = BlockBuilder::new(0);
        b.begin_guest(0);
        b.scalar(ScalarOp::Mov, Width::W32, Uni::ACTIVE.plus(1), &[Operand::Const(0)]);
        let block = b.finish(1, Terminator::End);
        let graph = Graph::new(0, Limits::default(), |_| &block);
        let full = Full::new(&graph, &WaveFacts::default(), true);
        assert!(full.at(0, 0) && !full.at(0, 1));
    }
}
