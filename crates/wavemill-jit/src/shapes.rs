//! How the addresses of the lanes relate to each other, as the code of a kernel computes them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use wavemill_interpreter::translate::Blocks;
use wavemill_ir::Block;
use wavemill_ir::analysis::{Exit, Full, Graph, Lanes, Limits, Shapes};
use wavemill_machine::engine::Start;

/// The largest programs that are looked at.
const LIMITS: Limits = Limits { blocks: 256, operations: 1 << 13 };
/// Programs that are remembered.
const MAX_PROGRAMS: usize = 64;

/// The addresses of all operations of a program, for waves that follow their start.
#[derive(Debug, Default)]
pub(crate) struct Addresses {
    /// By the position of the block and the number of the operation.
    blocks: HashMap<u64, Vec<Lanes>>,
}

impl Addresses {
    fn of(graph: &Graph<Arc<Block>>, start: &Start) -> Addresses {
        // Blocks behind the limits may lead back. Code that is loaded later is another generation.
        let is_cut = |exit: &Exit| matches!(exit, Exit::Limit(_));
        if graph.nodes().iter().any(|node| node.exits.iter().any(is_cut)) {
            return Addresses::default();
        }
        let full = Full::new(graph, &start.wave, true);
        let shapes = Shapes::new(graph, &start.wave, &full, &start.entry);
        let of_node = |(number, node): (usize, &wavemill_ir::analysis::Node<Arc<Block>>)| {
            let mut walk = shapes.walk(number)?;
            let mut lanes = Vec::new();
            while walk.operation().is_some() {
                lanes.push(walk.address().map_or(Lanes::Varying, |address| address.lanes()));
                walk.step();
            }
            Some((node.block.start, lanes))
        };
        Addresses { blocks: graph.nodes().iter().enumerate().filter_map(of_node).collect() }
    }

    /// Those of an operation.
    pub(crate) fn at(&self, block: u64, operation: usize) -> Lanes {
        self.blocks.get(&block).and_then(|lanes| lanes.get(operation)).copied().unwrap_or(Lanes::Varying)
    }
}

/// A program, and how its waves start.
#[derive(Debug)]
struct Program {
    start: Start,
    blocks: Vec<Arc<Block>>,
    addresses: Arc<Addresses>,
}

/// The addresses of programs that were looked at.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<Vec<Arc<Program>>>);

impl Known {
    /// The addresses in the program of the wave that asks; `None` if nothing is known of the wave. The same program has the
    /// same addresses each time.
    pub(crate) fn addresses(&self, blocks: &mut dyn Blocks) -> Option<Arc<Addresses>> {
        // Another generation may have the same code.
        let start = Start { generation: 0, ..blocks.start()?.clone() };
        let programs = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_same = |old: &Arc<Block>, blocks: &mut dyn Blocks| {
            let now = blocks.lifted(old.start);
            Arc::ptr_eq(&now, old) || now == *old
        };
        let found = programs
            .iter()
            .find(|program| program.start == start && program.blocks.iter().all(|old| is_same(old, blocks)));
        if let Some(found) = found {
            return Some(Arc::clone(&found.addresses));
        }
        let graph = Graph::new(start.pc, LIMITS, |position| blocks.lifted(position));
        let addresses = Arc::new(Addresses::of(&graph, &start));
        let blocks = graph.nodes().iter().map(|node| Arc::clone(&node.block)).collect();
        let program = Arc::new(Program { start, blocks, addresses: Arc::clone(&addresses) });
        let mut programs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if programs.len() == MAX_PROGRAMS {
            programs.remove(0);
        }
        programs.push(program);
        Some(addresses)
    }
}
