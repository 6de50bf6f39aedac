//! Finds loads that begin an exchange.
//!
//! A loop that exchanges a value of 8 or 16 bits reads the aligned dword around it first, by an
//! ordinary load, and then compares and swaps the dword. At the edge of an allocation, that load
//! must not fault, although a load that is not part of an exchange must. Only the code behind the
//! load distinguishes the two: there, the value becomes the comparand of a compare-and-swap at the
//! same address.

use std::collections::BTreeSet;

use wavemill_ir::{
    AtomicOp, Block, Inst, IntOp, LANES, MemType, Op, Operand, Row, Space, Terminator, Uni, Width,
};

use crate::code::BlockSource;
use crate::registers::Registers;

/// The most operations to look at. Between the load and the first compare-and-swap of a loop, there
/// are less than 50.
const OPERATIONS: usize = 1000;

/// A load of a dword that begins an exchange.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Head {
    /// Rows that must be 0 in all active lanes at the load. Else the two have different addresses.
    zeros: [Option<Row>; 2],
}

impl Head {
    /// The load at `pc` under `context`, if the code behind it says that it begins an exchange.
    #[must_use]
    pub fn find(source: &dyn BlockSource, pc: u64, context: u32) -> Option<Head> {
        let block = source.block(pc, context);
        let inst = block.insts.iter().take_while(|inst| inst.guest == 0);
        let (at, start) = inst.enumerate().find_map(|(at, inst)| Some((at, Path::new(inst)?)))?;
        let mut budget = OPERATIONS;
        // Blocks to look at, with the operations before.
        let mut open = vec![(pc, start)];
        let mut seen = BTreeSet::new();
        while let Some((from, mut path)) = open.pop() {
            if !seen.insert(from) {
                continue;
            }
            let block = source.block(from, context);
            let skip = if from == pc { at + 1 } else { 0 };
            for inst in block.insts.iter().skip(skip) {
                budget = budget.checked_sub(1)?;
                match path.pass(inst) {
                    Step::Continues => {}
                    Step::Found(head) => return Some(head),
                    Step::Ends => {
                        path.value.clear();
                        break;
                    }
                }
            }
            if !path.value.is_empty() {
                open.extend(successors(&block).into_iter().flatten().map(|next| (next, path.clone())));
            }
        }
        None
    }

    /// Whether the exchange has the address of the load, with the registers that the wave has there.
    #[must_use]
    pub fn applies(self, registers: &Registers) -> bool {
        let active = registers.uni64(Uni::ACTIVE);
        self.zeros.into_iter().flatten().all(|row| {
            let lanes = registers.source_row(row, 0);
            (0..LANES).all(|lane| active >> lane & 1 == 0 || lanes[lane] == 0)
        })
    }
}

/// Addresses of the code after a block, as far as it names them and the context stays.
fn successors(block: &Block) -> [Option<u64>; 2] {
    match block.terminator {
        Terminator::Jump(next) | Terminator::Yield(next) | Terminator::InvalidateCode(next) => {
            [Some(next), None]
        }
        Terminator::Branch { taken, next, .. } => [Some(next), Some(taken)],
        _ => [None; 2],
    }
}

/// An address of memory: offsets of the lanes, an address of the wave, and a constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Address {
    lanes: Operand,
    base: Operand,
    constant: i32,
}

impl Address {
    fn of_lanes(inst: &Inst) -> Address {
        Address { lanes: inst.src[0], base: inst.src[1], constant: inst.attrs.imm }
    }
}

/// What is known behind a load, along one path.
#[derive(Clone, Debug)]
struct Path {
    /// Address of the load.
    address: Address,
    /// Cells and rows that depend on the loaded value.
    value: Vec<Operand>,
    /// Rows that were written, and whether they are 0 now.
    rows: Vec<(Row, bool)>,
}

/// What an operation means for a path.
enum Step {
    Continues,
    Found(Head),
    /// It does not lead to an exchange.
    Ends,
}

impl Path {
    /// The path behind a load of a dword from global memory.
    fn new(load: &Inst) -> Option<Path> {
        let address = match load.op {
            Op::Load(Space::Global | Space::Flat, MemType::Dwords(1)) => Address::of_lanes(load),
            Op::ScalarLoad(1) if load.src[1].is_none() => {
                Address { lanes: Operand::None, base: load.src[0], constant: load.attrs.imm }
            }
            _ => return None,
        };
        let mut path = Path { address, value: Vec::new(), rows: Vec::new() };
        // The address must survive the load.
        if load.writes().any(|cell| path.is_address(cell)) {
            return None;
        }
        path.value.extend(load.writes());
        Some(path)
    }

    /// Whether a cell or row is part of the address.
    fn is_address(&self, cell: Operand) -> bool {
        let Address { lanes, base, .. } = self.address;
        let high = if base.is_none() { lanes.dword(1) } else { base.dword(1) };
        let whole = [if base.is_none() { lanes } else { base }, high];
        whole.contains(&cell)
    }

    /// Whether an offset of lanes is 0, and the row that must be 0 at the load for that.
    fn is_zero(&self, lanes: Operand) -> Option<Option<Row>> {
        match lanes {
            Operand::None | Operand::Const(0) => Some(None),
            Operand::Row(row) => match self.rows.iter().find(|(written, _)| *written == row) {
                None => Some(Some(row)),
                Some((_, zero)) => zero.then_some(None),
            },
            _ => None,
        }
    }

    /// The head, if an atomic has the address of the load.
    fn head(&self, atomic: Address) -> Option<Head> {
        let load = self.address;
        if (atomic.base, atomic.constant) != (load.base, load.constant) {
            return None;
        }
        let written =
            |lanes| matches!(lanes, Operand::Row(row) if self.rows.iter().any(|(one, _)| *one == row));
        if atomic.lanes == load.lanes && !written(load.lanes) {
            return Some(Head { zeros: [None; 2] });
        }
        // One address of the wave, without offsets.
        let before = match load.lanes {
            Operand::None | Operand::Const(0) => None,
            Operand::Row(row) if !load.base.is_none() => Some(row),
            _ => return None,
        };
        Some(Head { zeros: [before, self.is_zero(atomic.lanes)?] })
    }

    /// Passes an operation.
    fn pass(&mut self, inst: &Inst) -> Step {
        if let Op::Atomic(AtomicOp::CmpSwap, Space::Global | Space::Flat, Width::W32) = inst.op
            && self.value.contains(&inst.src[3])
            && let Some(head) = self.head(Address::of_lanes(inst))
        {
            return Step::Found(head);
        }
        let sources = (0..Inst::SOURCES).flat_map(|n| {
            let count = inst.source_dwords(n);
            (0..count).map(move |dword| inst.src[n].dword(dword))
        });
        let is_register = |cell: &Operand| matches!(cell, Operand::Uni(_) | Operand::Row(_));
        let depends = sources.filter(is_register).any(|cell| self.value.contains(&cell));
        let is_zero =
            inst.op == Op::Int(IntOp::Mov) && inst.src[0] == Operand::Const(0) && inst.attrs.is_plain();
        for cell in inst.writes() {
            if self.is_address(cell) {
                return Step::Ends;
            }
            self.value.retain(|one| *one != cell);
            let is_mask = [Uni::ACTIVE, Uni::ACTIVE.plus(1)].map(Operand::Uni).contains(&cell);
            if depends && !is_mask {
                self.value.push(cell);
            }
            if let Operand::Row(row) = cell {
                self.rows.retain(|(one, _)| *one != row);
                self.rows.push((row, is_zero));
            }
        }
        if self.value.is_empty() { Step::Ends } else { Step::Continues }
    }
}
