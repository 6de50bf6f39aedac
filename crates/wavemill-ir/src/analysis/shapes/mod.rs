//! The shapes of rows in front of each operation.

mod check;
mod masks;
mod operation;
mod state;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use super::{Full, Graph, Lanes, RegisterSet, Shape, WaveFacts};
use crate::{Block, CmpPred, Inst, IntType, Op, Operand, Row, Uni};

pub use state::State;

use operation::Operation;
use state::Layout;

/// Entries into a block after which ranges grow to all numbers.
const VISITS: u32 = 3;

/// What is known at the entry of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// Shapes of rows in the active lanes.
    pub rows: Vec<(Row, Shape)>,
    /// Shapes of rows in all lanes, active or not.
    pub rows_in_all_lanes: Vec<(Row, Shape)>,
    /// Shapes of cells: constants, ranges, known low bits.
    pub cells: Vec<(Uni, Shape)>,
}

/// The shapes of rows and cells of a program.
///
/// A shape of a row holds for the lanes that are active at that place. The analysis also follows the
/// shapes in all lanes, and in the lanes of saved masks: when the mask of active lanes grows again,
/// values that were written meanwhile are mixed with those of the other lanes.
#[derive(Debug)]
pub struct Shapes<'g, B> {
    graph: &'g Graph<B>,
    wave: &'g WaveFacts,
    full: &'g Full,
    odd: Vec<Vec<bool>>,
    /// Numbers of the operations that write the mask of active lanes, for each node.
    slots: Vec<BTreeMap<usize, u8>>,
    starts: Vec<Option<State>>,
}

impl<'g, B: Deref<Target = Block>> Shapes<'g, B> {
    /// Works them out. `full` is that of the same graph.
    #[must_use]
    pub fn new(graph: &'g Graph<B>, wave: &'g WaveFacts, full: &'g Full, entry: &Entry) -> Shapes<'g, B> {
        let nodes = graph.nodes();
        let mut layout: RegisterSet = nodes
            .iter()
            .flat_map(|node| &node.block.insts)
            .flat_map(|inst| inst.reads().chain(inst.writes()).chain(super::effect::reachable(inst)))
            .collect();
        let seeds = entry.rows.iter().chain(&entry.rows_in_all_lanes);
        layout.extend(seeds.map(|(row, _)| Operand::Row(*row)));
        let layout = Arc::new(Layout::new(&layout));
        let mut next = 0;
        let slots = nodes.iter().map(|node| {
            let writes = |inst: &Inst| inst.writes().any(is_active);
            let insts = node.block.insts.iter().enumerate().filter(|(_, inst)| writes(inst));
            let numbered = insts.filter_map(|(n, _)| {
                let slot = next;
                next += 1;
                (slot < usize::from(state::SLOTS)).then_some((n, slot as u8))
            });
            numbered.collect()
        });
        let slots = slots.collect();
        let odd = nodes.iter().map(|node| wave.odd(&node.block.insts)).collect();
        let mut shapes = Shapes { graph, wave, full, odd, slots, starts: vec![None; nodes.len()] };
        shapes.starts[0] = Some(State::new(layout, entry, full.at(0, 0)));
        let mut visits = vec![0u32; nodes.len()];
        let mut waiting = vec![false; nodes.len()];
        waiting[0] = true;
        // In reverse postorder, most predecessors come first.
        while let Some(node) = graph.order().iter().copied().find(|node| waiting[*node]) {
            waiting[node] = false;
            let Some(mut state) = shapes.starts[node].clone() else { continue };
            for operation in 0..nodes[node].block.insts.len() {
                shapes.step(&mut state, node, operation);
            }
            state.end_block();
            for next in &nodes[node].successors {
                let start = &mut shapes.starts[*next];
                let changed = match start {
                    Some(start) => start.join(&state, visits[*next] >= VISITS),
                    None => {
                        *start = Some(state.clone());
                        true
                    }
                };
                if changed {
                    visits[*next] += 1;
                    waiting[*next] = true;
                }
            }
        }
        shapes
    }

    fn step(&self, state: &mut State, node: usize, operation: usize) {
        let inst = &self.graph.nodes()[node].block.insts[operation];
        let full = self.full.at(node, operation);
        let slot = self.slots[node].get(&operation).copied();
        let odd = self.odd[node][operation];
        Operation { inst, wave: self.wave, full, odd, slot }.follow(state);
    }

    /// What holds at the beginning of a node; `None` if no path leads there.
    #[must_use]
    pub fn at_start(&self, node: usize) -> Option<&State> {
        self.starts.get(node)?.as_ref()
    }

    /// Walks through a node; `None` if no path leads there.
    #[must_use]
    pub fn walk(&self, node: usize) -> Option<Walk<'_, 'g, B>> {
        Some(Walk { shapes: self, node, operation: 0, state: self.at_start(node)?.clone() })
    }
}

fn is_active(register: Operand) -> bool {
    [Operand::Uni(Uni::ACTIVE), Uni::ACTIVE.plus(1).into()].contains(&register)
}

/// A place in a node: in front of an operation, or at the end.
#[derive(Debug)]
pub struct Walk<'s, 'g, B> {
    shapes: &'s Shapes<'g, B>,
    node: usize,
    operation: usize,
    state: State,
}

impl<'g, B: Deref<Target = Block>> Walk<'_, 'g, B> {
    /// The operation that comes next; `None` at the end.
    #[must_use]
    pub fn operation(&self) -> Option<&'g Inst> {
        let graph: &'g Graph<B> = self.shapes.graph;
        graph.nodes()[self.node].block.insts.get(self.operation)
    }

    /// The number of the operation that comes next.
    #[must_use]
    pub fn place(&self) -> usize {
        self.operation
    }

    /// What holds here.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Whether all lanes are active here.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.shapes.full.at(self.node, self.operation)
    }

    /// The shape of a source of the next operation, in the lanes that it works on.
    #[must_use]
    pub fn source(&self, n: usize) -> Option<Shape> {
        Some(self.here()?.source(&self.state, n))
    }

    /// The shape of the addresses of the next operation, in the lanes that it works on: of 32 bits in
    /// data shares, else of 64. `None` if it does not name addresses of lanes. Accesses to private
    /// memory have offsets instead, accesses through a resource have the offsets of lanes.
    #[must_use]
    pub fn address(&self) -> Option<Shape> {
        self.here()?.address(&self.state)
    }

    /// The lanes for which the next operation, a comparison, holds: a part of the active ones.
    #[must_use]
    pub fn compared(&self) -> Option<ComparedLanes> {
        self.here()?.compared(&self.state)
    }

    /// Steps over the next operation.
    pub fn step(&mut self) {
        if self.operation().is_some() {
            self.shapes.step(&mut self.state, self.node, self.operation);
            self.operation += 1;
        }
    }

    fn here(&self) -> Option<Operation<'_>> {
        let inst = self.operation()?;
        let odd = self.shapes.odd[self.node][self.operation];
        Some(Operation { inst, wave: self.shapes.wave, full: self.is_full(), odd, slot: None })
    }
}

/// The lanes for which a comparison holds, among the active ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparedLanes {
    /// All or none.
    AllOrNone,
    /// Those from the first lane up to one of them, or from one of them up to the last. In each strip
    /// alone, or in the wave as a whole.
    Run {
        /// In the wave as a whole.
        whole_wave: bool,
        /// It begins at the first lane; else it ends at the last one.
        from_first: bool,
    },
}

/// The lanes for which a comparison of these values holds.
fn compared(pred: CmpPred, ty: IntType, a: Shape, b: Shape) -> Option<ComparedLanes> {
    if a.is_uniform() && b.is_uniform() {
        return Some(ComparedLanes::AllOrNone);
    }
    let (value, swapped) = if b.is_uniform() { (a, false) } else { (b, a.is_uniform()) };
    if !swapped && !b.is_uniform() {
        return None;
    }
    let below = match pred {
        CmpPred::Lt | CmpPred::Le => !swapped,
        CmpPred::Gt | CmpPred::Ge => swapped,
        _ => return None,
    };
    let exact = match ty {
        IntType::U32 | IntType::U64 => value.zero_extended(),
        IntType::I32 => value.sign_extended(),
        IntType::I64 if value.range().1 <= !0 >> 1 => value.zero_extended(),
        _ => return None,
    };
    let stride = exact.stride()? as i64;
    let whole_wave = match exact.lanes() {
        Lanes::Wave { strips, .. } => {
            // The last lane of each strip against the first one of the next, in the direction of the
            // stride.
            let first = [0, strips[0] as i64, strips[1] as i64, strips[2] as i64];
            let ordered = |two: &[i64]| {
                let last = i128::from(two[0]) + 15 * i128::from(stride);
                if stride >= 0 { last <= two[1].into() } else { last >= two[1].into() }
            };
            first.windows(2).all(ordered)
        }
        _ => false,
    };
    Some(ComparedLanes::Run { whole_wave, from_first: below == (stride >= 0) })
}

/// Whether an operation compares integers.
fn comparison(op: Op) -> Option<(CmpPred, IntType)> {
    match op {
        Op::IntCmp(pred, ty) => Some((pred, ty)),
        _ => None,
    }
}
