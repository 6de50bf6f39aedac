//! Control flow graphs over static branches.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;

use crate::{Block, FaultKind, Terminator};

/// Limits on the size of a graph. Blocks near the entry come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Number of blocks. The entry always counts as one.
    pub blocks: usize,
    /// Number of operations of all blocks.
    pub operations: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { blocks: 4096, operations: 1 << 18 }
    }
}

/// How a wave leaves a graph, or is left to the scheduler, at the end of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// It waits for its workgroup, and continues at the successor.
    Barrier,
    /// It lets others run, and continues at the successor.
    Yield,
    /// It ends.
    End,
    /// It continues at an address in cells, anywhere.
    Indirect,
    /// It continues in a context that is known only at run time, at this address if it is known.
    Context(Option<u64>),
    /// It continues at the address, where code may have changed.
    InvalidateCode(u64),
    /// The program requests a trap.
    Trap(u8),
    /// It faults.
    Fault(FaultKind),
    /// It continues at the address, whose block the limits exclude.
    Limit(u64),
}

impl Exit {
    /// Whether the wave continues in the graph after it.
    #[must_use]
    pub const fn returns(self) -> bool {
        matches!(self, Exit::Barrier | Exit::Yield)
    }

    /// Whether code outside of the graph runs next.
    #[must_use]
    pub const fn continues_elsewhere(self) -> bool {
        matches!(self, Exit::Indirect | Exit::Context(_) | Exit::InvalidateCode(_) | Exit::Limit(_))
    }
}

/// A block of a graph.
#[derive(Clone, Debug)]
pub struct Node<B> {
    /// The block. Blocks may overlap: one may begin in the middle of another.
    pub block: B,
    /// Nodes that follow it, without repetitions.
    pub successors: Vec<usize>,
    /// Nodes that it follows, in ascending order, without repetitions.
    pub predecessors: Vec<usize>,
    /// The ways out of the graph.
    pub exits: Vec<Exit>,
    /// The innermost loop that contains it: its number in [`Graph::loops`].
    pub innermost: Option<usize>,
    /// Number of loops that contain it.
    pub depth: usize,
}

/// A natural loop: the nodes from which an edge back to the header can be reached without passing
/// through the header, which dominates them all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Its only entry.
    pub header: usize,
    /// Its nodes with the header, in ascending order.
    pub members: Vec<usize>,
    /// Nodes with an edge back to the header, in ascending order.
    pub latches: Vec<usize>,
    /// The smallest loop that contains it: its number in [`Graph::loops`].
    pub outer: Option<usize>,
    /// Whether no loop is inside it.
    pub innermost: bool,
}

/// The blocks that static branches lead to from an entry, which is node 0. `B` points to a block.
#[derive(Clone, Debug)]
pub struct Graph<B> {
    nodes: Vec<Node<B>>,
    order: Vec<usize>,
    dominators: Vec<usize>,
    loops: Vec<Loop>,
    irreducible: bool,
}

impl<B: Deref<Target = Block>> Graph<B> {
    /// The graph of a program. `block` gives the block at an address.
    pub fn new(entry: u64, limits: Limits, mut block: impl FnMut(u64) -> B) -> Graph<B> {
        let first = block(entry);
        let mut left = limits.operations.saturating_sub(first.insts.len());
        let mut numbers = BTreeMap::from([(entry, 0)]);
        let mut nodes = vec![Node::new(first)];
        let mut to_do = VecDeque::from([0]);
        while let Some(number) = to_do.pop_front() {
            for to in targets(nodes[number].block.terminator) {
                let known = numbers.get(&to).copied().or_else(|| {
                    let next = (nodes.len() < limits.blocks).then(|| block(to))?;
                    left = left.checked_sub(next.insts.len())?;
                    nodes.push(Node::new(next));
                    numbers.insert(to, nodes.len() - 1);
                    to_do.push_back(nodes.len() - 1);
                    Some(nodes.len() - 1)
                });
                let node = &mut nodes[number];
                match known {
                    Some(successor) if node.successors.contains(&successor) => {}
                    Some(successor) => {
                        node.successors.push(successor);
                        nodes[successor].predecessors.push(number);
                    }
                    None => node.exits.push(Exit::Limit(to)),
                }
            }
        }
        let mut graph =
            Graph { nodes, order: Vec::new(), dominators: Vec::new(), loops: Vec::new(), irreducible: false };
        for node in &mut graph.nodes {
            node.predecessors.sort_unstable();
        }
        graph.order = graph.reverse_postorder();
        graph.dominators = graph.immediate_dominators();
        graph.find_loops();
        graph
    }

    /// The nodes. The entry is the first one.
    #[must_use]
    pub fn nodes(&self) -> &[Node<B>] {
        &self.nodes
    }

    /// The node of the block at an address.
    #[must_use]
    pub fn at(&self, address: u64) -> Option<usize> {
        self.nodes.iter().position(|node| node.block.start == address)
    }

    /// The numbers of all nodes in reverse postorder: each in front of its successors, except for
    /// edges back in loops.
    #[must_use]
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The natural loops, a loop in front of those that contain it.
    #[must_use]
    pub fn loops(&self) -> &[Loop] {
        &self.loops
    }

    /// Whether there is a cycle with several entries, which is in no natural loop as a whole.
    #[must_use]
    pub fn is_irreducible(&self) -> bool {
        self.irreducible
    }

    /// Whether every path from the entry to `node` passes through `by`; a node dominates itself.
    #[must_use]
    pub fn dominates(&self, by: usize, node: usize) -> bool {
        let mut at = node;
        while at != by && at != 0 {
            at = self.dominators[at];
        }
        at == by
    }

    fn reverse_postorder(&self) -> Vec<usize> {
        let mut seen = vec![false; self.nodes.len()];
        let mut order = Vec::with_capacity(self.nodes.len());
        // The path from the entry, each node with the number of successors that have been visited.
        let mut path = vec![(0, 0)];
        seen[0] = true;
        while let Some((node, visited)) = path.last_mut() {
            match self.nodes[*node].successors.get(*visited) {
                Some(next) => {
                    *visited += 1;
                    if !std::mem::replace(&mut seen[*next], true) {
                        path.push((*next, 0));
                    }
                }
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
        order.reverse();
        order
    }

    /// Immediate dominators (Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm); the
    /// entry's is itself.
    fn immediate_dominators(&self) -> Vec<usize> {
        let mut place = vec![0; self.nodes.len()];
        for (n, node) in self.order.iter().enumerate() {
            place[*node] = n;
        }
        let mut dominators = vec![usize::MAX; self.nodes.len()];
        dominators[0] = 0;
        let mut changed = true;
        while changed {
            changed = false;
            for node in &self.order[1..] {
                let known = self.nodes[*node].predecessors.iter().filter(|p| dominators[**p] != usize::MAX);
                let common = known.copied().reduce(|mut a, mut b| {
                    while a != b {
                        while place[a] > place[b] {
                            a = dominators[a];
                        }
                        while place[b] > place[a] {
                            b = dominators[b];
                        }
                    }
                    a
                });
                // Every node but the entry has a predecessor that comes earlier.
                let common = common.unwrap_or(0);
                changed |= std::mem::replace(&mut dominators[*node], common) != common;
            }
        }
        dominators
    }

    fn find_loops(&mut self) {
        let mut place = vec![0; self.nodes.len()];
        for (n, node) in self.order.iter().enumerate() {
            place[*node] = n;
        }
        let mut latches: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (from, node) in self.nodes.iter().enumerate() {
            for to in node.successors.iter().filter(|to| place[**to] <= place[from]) {
                if self.dominates(*to, from) {
                    latches.entry(*to).or_default().push(from);
                } else {
                    self.irreducible = true;
                }
            }
        }
        for (header, latches) in latches {
            let mut members = vec![header];
            let mut to_do = latches.clone();
            while let Some(node) = to_do.pop() {
                if !members.contains(&node) {
                    members.push(node);
                    to_do.extend(&self.nodes[node].predecessors);
                }
            }
            members.sort_unstable();
            self.loops.push(Loop { header, members, latches, outer: None, innermost: true });
        }
        // A loop that contains another has more nodes.
        self.loops.sort_by_key(|l| (l.members.len(), l.header));
        for inner in 0..self.loops.len() {
            let header = self.loops[inner].header;
            let outer = (inner + 1..self.loops.len())
                .find(|outer| self.loops[*outer].members.binary_search(&header).is_ok());
            self.loops[inner].outer = outer;
            if let Some(outer) = outer {
                self.loops[outer].innermost = false;
            }
            for n in 0..self.loops[inner].members.len() {
                let node = &mut self.nodes[self.loops[inner].members[n]];
                node.innermost.get_or_insert(inner);
                node.depth += 1;
            }
        }
    }
}

impl<B: Deref<Target = Block>> Node<B> {
    fn new(block: B) -> Node<B> {
        let exits = exit(&block.terminator).into_iter().collect();
        Node { block, successors: Vec::new(), predecessors: Vec::new(), exits, innermost: None, depth: 0 }
    }
}

/// Addresses that a wave continues at in the same context.
fn targets(terminator: Terminator) -> impl Iterator<Item = u64> {
    let [first, second] = match terminator {
        Terminator::Jump(to) | Terminator::Barrier(to) | Terminator::Yield(to) => [Some(to), None],
        Terminator::Branch { taken, next, .. } => [Some(taken), Some(next)],
        _ => [None; 2],
    };
    first.into_iter().chain(second)
}

fn exit(terminator: &Terminator) -> Option<Exit> {
    Some(match *terminator {
        Terminator::Jump(_) | Terminator::Branch { .. } => return None,
        Terminator::Indirect(_) => Exit::Indirect,
        Terminator::Barrier(_) => Exit::Barrier,
        Terminator::Yield(_) => Exit::Yield,
        Terminator::End => Exit::End,
        Terminator::SetContext { next, .. } => Exit::Context(Some(next)),
        Terminator::Resume { at, .. } => Exit::Context(match at {
            crate::Operand::Const(address) => Some(address),
            _ => None,
        }),
        Terminator::InvalidateCode(next) => Exit::InvalidateCode(next),
        Terminator::Trap(number) => Exit::Trap(number),
        Terminator::Fault(kind) => Exit::Fault(kind),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::{branch, graph, program};

    #[test]
    fn nested_loops() {
        // 0 -> 1 -> 2 -> 3 -> 2, 3 -> 4 -> 1, 4 -> 5; 2 -> 6 -> 3.
        let program = program(&[
            (0, Terminator::Jump(1)),
            (1, Terminator::Jump(2)),
            (2, branch(3, 6)),
            (3, branch(2, 4)),
            (4, branch(1, 5)),
            (5, Terminator::End),
            (6, Terminator::Jump(3)),
        ]);
        let graph = graph(&program);
        let at = |address| graph.at(address).unwrap();
        assert_eq!(graph.nodes().len(), 7);
        assert!(!graph.is_irreducible());
        let [inner, outer] = graph.loops() else { panic!("{:?}", graph.loops()) };
        let sorted = |addresses: &[u64]| {
            let mut nodes: Vec<usize> = addresses.iter().map(|a| at(*a)).collect();
            nodes.sort_unstable();
            nodes
        };
        assert_eq!(
            (inner.header, &inner.members, &inner.latches),
            (at(2), &sorted(&[2, 3, 6]), &vec![at(3)])
        );
        assert_eq!((inner.outer, inner.innermost), (Some(1), true));
        assert_eq!((outer.header, &outer.members), (at(1), &sorted(&[1, 2, 3, 4, 6])));
        assert_eq!((outer.outer, outer.innermost, &outer.latches), (None, false, &vec![at(4)]));
        let depths: Vec<usize> = (0..7).map(|a| graph.nodes()[at(a)].depth).collect();
        assert_eq!(depths, [0, 1, 2, 2, 1, 0, 2]);
        assert_eq!(graph.nodes()[at(4)].innermost, Some(1));
        assert!(graph.dominates(at(2), at(3)) && !graph.dominates(at(6), at(3)));
        assert!(graph.dominates(at(5), at(5)) && !graph.dominates(at(5), at(0)));
        let place = |a: u64| graph.order().iter().position(|n| *n == at(a)).unwrap();
        assert!(place(0) == 0 && place(2) < place(6) && place(6) < place(3) && place(3) < place(4));
        assert_eq!(graph.nodes()[at(3)].predecessors, sorted(&[2, 6]));
        assert_eq!(graph.nodes()[at(5)].exits, [Exit::End]);
    }

    #[test]
    fn a_loop_of_one_block_and_a_cycle_with_two_entries() {
        let one = program(&[(0, branch(0, 1)), (1, Terminator::End)]);
        let loops = graph(&one).loops().to_vec();
        assert_eq!((loops.len(), loops[0].members.len(), loops[0].latches.len()), (1, 1, 1));
        let two =
            program(&[(0, branch(1, 2)), (1, Terminator::Jump(2)), (2, branch(1, 3)), (3, Terminator::End)]);
        let graph = graph(&two);
        assert!(graph.is_irreducible() && graph.loops().is_empty());
    }

    #[test]
    fn exits_and_limits() {
        let ends = [
            (Terminator::Indirect(crate::Uni(4)), Exit::Indirect),
            (Terminator::InvalidateCode(0x40), Exit::InvalidateCode(0x40)),
            (Terminator::Trap(2), Exit::Trap(2)),
            (Terminator::Fault(FaultKind::NoCode), Exit::Fault(FaultKind::NoCode)),
            (
                Terminator::SetContext { value: crate::Operand::Const(1), next: 0x40 },
                Exit::Context(Some(0x40)),
            ),
        ];
        for (end, exit) in ends {
            let program = program(&[(0, end)]);
            let node = graph(&program).nodes()[0].clone();
            assert_eq!((node.exits, node.successors.len()), (vec![exit], 0));
        }
        let waits = program(&[(0, Terminator::Barrier(1)), (1, Terminator::Yield(0))]);
        let graph = graph(&waits);
        assert_eq!(graph.nodes()[0].exits, [Exit::Barrier]);
        assert_eq!((graph.loops().len(), graph.nodes()[1].successors.len()), (1, 1));
        let chain: Vec<_> = (0..9).map(|n| (n, Terminator::Jump(n + 1))).collect();
        let chain = program(&chain);
        let short = Graph::new(0, Limits { blocks: 3, ..Limits::default() }, |at| &chain[&at]);
        assert_eq!(short.nodes().len(), 3);
        assert_eq!(short.nodes()[2].exits, [Exit::Limit(3)]);
    }
}
