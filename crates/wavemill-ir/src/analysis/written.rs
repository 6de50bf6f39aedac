//! The registers that a wave has certainly written.

use std::ops::Deref;

use super::{Effect, Full, Graph, RegisterSet, WaveFacts};
use crate::{Block, Inst};

/// The registers that every path from the entry has written, in all lanes and bits.
#[derive(Clone, Debug)]
pub struct Written {
    /// For each node, what has been written in front of each operation and of the end. Empty for a
    /// node that no path leads to.
    written: Vec<Vec<RegisterSet>>,
}

impl Written {
    /// Works it out. `full` is that of the same graph.
    pub fn new<B: Deref<Target = Block>>(graph: &Graph<B>, wave: &WaveFacts, full: &Full) -> Written {
        let nodes = graph.nodes();
        let defines: Vec<Vec<RegisterSet>> = (0..nodes.len())
            .map(|n| {
                let insts = &nodes[n].block.insts;
                let odd = wave.odd(insts);
                let defined = |(i, inst): (usize, &Inst)| match odd[i] {
                    true => RegisterSet::EMPTY,
                    false => Effect::of(inst, wave).defines(full.at(n, i)),
                };
                insts.iter().enumerate().map(defined).collect()
            })
            .collect();
        let mut starts: Vec<Option<RegisterSet>> = vec![None; nodes.len()];
        starts[0] = Some(RegisterSet::EMPTY);
        let mut changed = true;
        while changed {
            changed = false;
            for node in graph.order() {
                let Some(start) = starts[*node] else { continue };
                let end = defines[*node].iter().fold(start, |set, defined| set.union(*defined));
                for next in &nodes[*node].successors {
                    let met = starts[*next].map_or(end, |known| known.intersection(end));
                    changed |= starts[*next].replace(met) != Some(met);
                }
            }
        }
        let written = starts.iter().zip(&defines).map(|(start, defines)| {
            let Some(start) = start else { return Vec::new() };
            let mut sets = vec![*start];
            for defined in defines {
                sets.push(sets[sets.len() - 1].union(*defined));
            }
            sets
        });
        Written { written: written.collect() }
    }

    /// What has been written in front of an operation of a node; the number of operations means the
    /// end of its block.
    #[must_use]
    pub fn at(&self, node: usize, operation: usize) -> RegisterSet {
        self.written.get(node).and_then(|node| node.get(operation)).copied().unwrap_or(RegisterSet::EMPTY)
    }

    /// What has been written in front of the guest instruction at an address, in whichever block a
    /// wave is there.
    pub fn at_address<B: Deref<Target = Block>>(&self, graph: &Graph<B>, pc: u64) -> RegisterSet {
        let mut all: Option<RegisterSet> = None;
        for (node, sets) in graph.nodes().iter().zip(&self.written) {
            let block = &*node.block;
            let guest = match block.guest.iter().position(|address| *address == pc) {
                Some(guest) => guest as u32,
                // A block without instructions: the wave cannot run what is there.
                None if block.start == pc => 0,
                None => continue,
            };
            let operation = block.insts.partition_point(|inst| inst.guest < guest);
            if let Some(set) = sets.get(operation) {
                all = Some(all.map_or(*set, |all| all.intersection(*set)));
            }
        }
        all.unwrap_or(RegisterSet::EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Limits;
    use crate::analysis::tests::branch;
    use crate::{Attrs, BlockBuilder, IntOp, Op, Operand, Row, ScalarOp, Terminator, Uni, Width};

    fn writes(b: &mut BlockBuilder, row: Row) {
        let sources = [Row(0).into(), Operand::Const(1)];
        b.push(Op::Int(IntOp::Add), [row.into(), Operand::None], sources, Attrs::default());
    }

    /// One of two ways writes row 2, both write row 3; row 4 is written by the fewer lanes.
    #[test]
    fn what_all_ways_write() {
        let block = |at: u64| {
            let mut b = BlockBuilder::new(at);
            let end = match at {
                0x00 => {
                    b.begin_guest(0x00);
                    writes(&mut b, Row(1));
                    branch(0x20, 0x10)
                }
                0x10 => {
                    b.begin_guest(0x10);
                    writes(&mut b, Row(2));
                    writes(&mut b, Row(3));
                    Terminator::Jump(0x30)
                }
                0x20 => {
                    b.begin_guest(0x20);
                    writes(&mut b, Row(3));
                    Terminator::Jump(0x30)
                }
                _ => {
                    b.begin_guest(0x30);
                    b.scalar(ScalarOp::Mov, Width::W64, Uni::ACTIVE, &[Operand::Const(1)]);
                    b.begin_guest(0x34);
                    writes(&mut b, Row(4));
                    b.begin_guest(0x38);
                    Terminator::End
                }
            };
            Box::new(b.finish(at + 0x10, end))
        };
        let graph = Graph::new(0, Limits::default(), block);
        let wave = WaveFacts::default();
        let full = Full::new(&graph, &wave, true);
        let written = Written::new(&graph, &wave, &full);
        let rows = |pc: u64| -> Vec<u16> { written.at_address(&graph, pc).rows().map(|row| row.0).collect() };
        assert_eq!(rows(0x00), [0; 0]);
        assert_eq!(rows(0x10), [1]);
        assert_eq!(rows(0x20), [1]);
        assert_eq!(rows(0x30), [1, 3]);
        assert_eq!(rows(0x38), [1, 3]);
        assert!(written.at_address(&graph, 0x38).contains(Uni::ACTIVE));
        assert_eq!(rows(0x1000), [0; 0]);
    }
}
