//! The registers whose values matter.

use std::ops::Deref;

use super::{Effect, Exit, Full, Graph, RegisterSet, WaveFacts};
use crate::{Block, Inst, Operand};

/// Which exits of a wave read its registers.
#[derive(Clone, Copy)]
#[allow(missing_debug_implementations, reason = "it has a function")]
pub enum Exits<'a> {
    /// Only those at which other code of the program continues. Registers that a fault shows do not
    /// matter.
    Continuing,
    /// Every one: a wave that leaves in front of an operation, or at the end of a block, shows all
    /// architectural registers. The function names further operations at which a wave may leave: those
    /// that an engine does not support.
    All(&'a dyn Fn(&Inst) -> bool),
}

/// The registers that are live: whose value may be read before it is overwritten.
///
/// A row that is written in some lanes stays live, unless all lanes are known to be active.
/// Temporaries are dead at the end of a block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// For each node, what is live in front of each operation and of the end.
    live: Vec<Vec<RegisterSet>>,
}

impl Liveness {
    /// Works it out. `full` is that of the same graph.
    pub fn new<B: Deref<Target = Block>>(
        graph: &Graph<B>,
        wave: &WaveFacts,
        full: &Full,
        exits: Exits<'_>,
    ) -> Liveness {
        let nodes = graph.nodes();
        let all = RegisterSet::architectural();
        // What each operation needs, and what it defines.
        let operations: Vec<Vec<(RegisterSet, RegisterSet)>> = (0..nodes.len())
            .map(|n| {
                let insts = &nodes[n].block.insts;
                let odd = wave.odd(insts);
                let operation = |(i, inst): (usize, &Inst)| {
                    let effect = Effect::of(inst, wave);
                    let leaves = match exits {
                        Exits::Continuing => false,
                        Exits::All(also) => effect.leaves || odd[i] || also(inst),
                    };
                    let uses = if leaves { effect.uses.union(all) } else { effect.uses };
                    let defines = if odd[i] { RegisterSet::EMPTY } else { effect.defines(full.at(n, i)) };
                    (uses, defines)
                };
                insts.iter().enumerate().map(operation).collect()
            })
            .collect();
        let mut starts = vec![RegisterSet::EMPTY; nodes.len()];
        let at_end = |n: usize, starts: &[RegisterSet]| {
            let node = &nodes[n];
            let mut live: RegisterSet = node.block.terminator.reads().collect();
            let shown = |exit: &Exit| match exits {
                Exits::Continuing => exit.continues_elsewhere(),
                Exits::All(_) => *exit != Exit::End,
            };
            if node.exits.iter().any(shown) {
                live = live.union(all);
            }
            node.successors.iter().fold(live, |live, next| live.union(starts[*next]))
        };
        let before = |after: RegisterSet, (uses, defines): &(RegisterSet, RegisterSet)| {
            after.without(*defines).union(*uses)
        };
        let temporaries = |live: RegisterSet| live.intersection(all);
        let mut changed = true;
        while changed {
            changed = false;
            for n in graph.order().iter().rev() {
                let live = operations[*n].iter().rev().fold(at_end(*n, &starts), before);
                // A block writes temporaries before it reads them.
                let live = temporaries(live);
                changed |= std::mem::replace(&mut starts[*n], live) != live;
            }
        }
        let live = (0..nodes.len()).map(|n| {
            let mut live = vec![at_end(n, &starts)];
            for operation in operations[n].iter().rev() {
                let after = live.last().copied().unwrap_or(RegisterSet::EMPTY);
                live.push(before(after, operation));
            }
            live.reverse();
            live
        });
        Liveness { live: live.collect() }
    }

    /// What is live in front of an operation of a node; the number of operations means the end of its
    /// block.
    #[must_use]
    pub fn at(&self, node: usize, operation: usize) -> RegisterSet {
        self.live.get(node).and_then(|node| node.get(operation)).copied().unwrap_or(RegisterSet::EMPTY)
    }

    /// Whether a register is live behind an operation of a node.
    #[must_use]
    pub fn is_live_after(&self, node: usize, operation: usize, register: impl Into<Operand>) -> bool {
        self.at(node, operation + 1).contains(register)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::analysis::Limits;
    use crate::analysis::tests::branch;
    use crate::{
        Attrs, BlockBuilder, FloatOp, FloatType, LaneMask, MemType, Op, Row, ScalarOp, Space, Terminator,
        Uni, Width,
    };

    const NO: &dyn Fn(&Inst) -> bool = &|_| false;

    fn add(b: &mut BlockBuilder, to: Row, from: [Row; 2], mask: LaneMask) {
        b.begin_guest(0);
        let op = Op::Float(FloatOp::Add, FloatType::F32);
        b.push(op, [to.into(), Operand::None], from.map(Operand::Row), Attrs::default()).mask = mask;
    }

    fn load(b: &mut BlockBuilder, to: Row, from: Row) {
        b.begin_guest(0);
        let op = Op::Load(Space::Lds, MemType::Dwords(1));
        b.push(op, [to.into(), Operand::None], [from.into()], Attrs::default());
    }

    fn live<'p>(
        program: &'p BTreeMap<u64, Block>,
        full: bool,
        exits: Exits<'_>,
    ) -> (Graph<&'p Block>, Liveness) {
        let graph = Graph::new(0, Limits::default(), |at| &program[&at]);
        let full = Full::new(&graph, &WaveFacts::default(), full);
        let liveness = Liveness::new(&graph, &WaveFacts::default(), &full, exits);
        (graph, liveness)
    }

    #[test]
    fn rows_die_when_all_lanes_are_overwritten() {
        let mut b = BlockBuilder::new(0);
        add(&mut b, Row(0), [Row(1), Row(2)], LaneMask::Active);
        add(&mut b, Row(3), [Row(0), Row(0)], LaneMask::All);
        b.begin_guest(0);
        b.push(
            Op::Store(Space::Lds, MemType::Dwords(1)),
            [Operand::None; 2],
            [Operand::Row(Row(4)), Operand::None, Row(3).into()],
            Attrs::default(),
        );
        let program = BTreeMap::from([(0, b.finish(4, Terminator::End))]);
        let rows = |set: RegisterSet| set.rows().collect::<Vec<_>>();
        let (_, partial) = live(&program, false, Exits::Continuing);
        assert_eq!(rows(partial.at(0, 0)), [Row(0), Row(1), Row(2), Row(4)]);
        assert_eq!(rows(partial.at(0, 1)), [Row(0), Row(4)]);
        assert_eq!(rows(partial.at(0, 2)), [Row(3), Row(4)]);
        assert_eq!(rows(partial.at(0, 3)), []);
        assert!(partial.at(0, 2).contains(Uni::ACTIVE) && !partial.at(0, 3).contains(Uni::ACTIVE));
        let (_, full) = live(&program, true, Exits::Continuing);
        assert_eq!(rows(full.at(0, 0)), [Row(1), Row(2), Row(4)]);
        // The store may fault, and then shows all registers; row 3 is overwritten before.
        let (_, shown) = live(&program, true, Exits::All(NO));
        assert!(shown.at(0, 1).contains(Row(0)) && !shown.at(0, 1).contains(Row(3)));
        assert!(shown.at(0, 0).contains(Row(200)) && !shown.at(0, 0).contains(Row(0)));
        assert!(shown.at(0, 3).is_empty());
        // An engine that leaves at additions.
        let (_, leaves) = live(&program, true, Exits::All(&|inst| matches!(inst.op, Op::Float(..))));
        assert!(leaves.at(0, 0).contains(Row(0)) && leaves.at(0, 1).contains(Row(3)));
    }

    #[test]
    fn loops_keep_what_the_next_iteration_reads() {
        let mut first = BlockBuilder::new(0);
        first.begin_guest(0);
        first.scalar(ScalarOp::Mov, Width::W32, Uni(6), &[Operand::Const(9)]);
        let mut body = BlockBuilder::new(1);
        body.begin_guest(1);
        body.scalar_with_flag(
            ScalarOp::SubBorrowOut,
            Width::W32,
            Uni(6),
            Uni(128).into(),
            &[Uni(6).into(), Operand::Const(1)],
        );
        let temporary = body.uni_temp(1);
        body.scalar(ScalarOp::Mov, Width::W32, temporary, &[Uni(7).into()]);
        body.scalar(ScalarOp::Mov, Width::W32, Uni(8), &[temporary.into()]);
        let mut last = BlockBuilder::new(2);
        load(&mut last, Row(1), Row(2));
        let program = BTreeMap::from([
            (0, first.finish(1, Terminator::Jump(1))),
            (1, body.finish(2, branch(1, 2))),
            (2, last.finish(3, Terminator::Indirect(Uni(30)))),
        ]);
        let (graph, liveness) = live(&program, true, Exits::Continuing);
        let at = |address| graph.at(address).unwrap();
        assert!(!liveness.at(at(0), 0).contains(Uni(6)) && liveness.at(at(0), 1).contains(Uni(6)));
        assert!(liveness.at(at(1), 0).contains(Uni(6)) && liveness.at(at(1), 3).contains(Uni(6)));
        assert!(!liveness.at(at(1), 0).contains(Uni(128)) && liveness.at(at(1), 1).contains(Uni(128)));
        assert!(liveness.at(at(1), 2).contains(temporary) && !liveness.at(at(1), 3).contains(temporary));
        assert!(!liveness.at(at(1), 0).contains(temporary));
        // Code elsewhere may read everything but what the load overwrites.
        assert!(!liveness.at(at(2), 0).contains(Row(1)) && liveness.at(at(2), 1).contains(Row(1)));
        assert!(liveness.at(at(0), 0).contains(Row(99)) && !liveness.at(at(0), 0).contains(Uni(8)));
        assert!(liveness.is_live_after(at(1), 2, Uni(8)));
    }
}
