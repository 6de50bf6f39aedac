//! Operations with their operands, and basic blocks of them.

use std::ops::Range;

use crate::{Attrs, Op, Operand, Uni, Width};

/// Which lanes a varying operation writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum LaneMask {
    /// The lanes whose bit at [`Uni::ACTIVE`] is set.
    #[default]
    Active,
    /// All lanes.
    All,
    /// The lanes whose bit is set in the pair of uniform temporaries that starts at this even one. Only loads and
    /// stores of lanes can have such a mask.
    Given(Uni),
}

/// One operation with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Results: the value, and a second result (mask or flag).
    pub dst: [Operand; 2],
    /// Sources.
    pub src: [Operand; Inst::SOURCES],
    /// Modifiers, mode and immediate.
    pub attrs: Attrs,
    /// Lanes that are written.
    pub mask: LaneMask,
    /// Number of its guest instruction in [`Block::guest`].
    pub guest: u32,
}

impl Inst {
    /// The most sources of an operation.
    pub const SOURCES: usize = 5;
}

/// Condition of a conditional branch: on a cell, or on the two cells that start at an even one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Cond {
    /// All bits are zero.
    Zero(Uni, Width),
    /// Some bit is not zero.
    NonZero(Uni, Width),
}

impl Cond {
    /// The cell that it tests, and the width.
    #[must_use]
    pub const fn cell(self) -> (Uni, Width) {
        match self {
            Cond::Zero(cell, width) | Cond::NonZero(cell, width) => (cell, width),
        }
    }
}

/// Why a block cannot continue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FaultKind {
    /// The word at the PC is not an instruction of the target, or breaks a rule that the manual
    /// states for it.
    IllegalInstruction,
    /// The instruction exists, but its meaning is not implemented.
    Unsupported,
    /// The PC left the memory that holds code.
    NoCode,
    /// The wave halts itself, and no debugger can resume it.
    Halted,
    /// The control flow stack of the wave has no room for another frame.
    StackOverflow,
    /// The control flow stack of the wave has no frame to pop or to read.
    StackUnderflow,
}

/// How a block ends. Addresses are guest addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terminator {
    /// Continues at the address.
    Jump(u64),
    /// Continues at `taken` if the condition holds, else at `next`.
    Branch {
        /// The condition.
        cond: Cond,
        /// Destination if it holds.
        taken: u64,
        /// Destination otherwise.
        next: u64,
    },
    /// Continues at the address in a pair of uniform cells.
    Indirect(Uni),
    /// The wave waits for the others of its workgroup, then continues at the address.
    Barrier(u64),
    /// The wave lets others run, then continues at the address.
    Yield(u64),
    /// The wave ends.
    End,
    /// Sets the wave's context, under which blocks are lifted, and continues at `next`. The
    /// instruction family defines the meaning of a context.
    SetContext {
        /// Uniform operand that holds the new context.
        value: Operand,
        /// Address of the continuation.
        next: u64,
    },
    /// Sets the wave's context as [`Terminator::SetContext`] does, and leaves the wave to the
    /// scheduler, which may change its state. Then it continues at the address.
    Resume {
        /// Uniform operand that holds the new context.
        context: Operand,
        /// Constant or pair of uniform cells with the address.
        at: Operand,
    },
    /// Changes to code in memory take effect here; continues at the address.
    InvalidateCode(u64),
    /// The wave faults at the terminator's PC with this number, because the program requests it.
    Trap(u8),
    /// The wave faults at the terminator's PC.
    Fault(FaultKind),
}

/// A basic block: straight-line operations and the way it ends.
///
/// The instruction family defines the *position* that names an instruction. Most families use an
/// address; a number that encodes the clause, group and slot of an instruction works too. Where
/// positions are addresses, branches go to addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Position of the first instruction.
    pub start: u64,
    /// Position of the code that follows the block in program order.
    pub next: u64,
    /// Guest addresses that the block covers, in the order of the code.
    pub ranges: Vec<Range<u64>>,
    /// The operations in order; operations of one guest instruction are adjacent.
    pub insts: Vec<Inst>,
    /// Position of every guest instruction, in order, including the terminating one if there is
    /// one.
    pub guest: Vec<u64>,
    /// How the block ends.
    pub terminator: Terminator,
}

impl Block {
    /// Guest bytes that the block covers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum()
    }

    /// Position of a guest instruction; the block's start if it has no such instruction.
    #[must_use]
    pub fn position(&self, guest: usize) -> u64 {
        self.guest.get(guest).copied().unwrap_or(self.start)
    }

    /// Position of the instruction that the block's terminator comes from (the last one).
    #[must_use]
    pub fn terminator_pc(&self) -> u64 {
        self.guest.last().copied().unwrap_or(self.start)
    }

    /// The rest of the block, starting with the guest instruction at a position; `None` if the
    /// block has no instruction there. It covers the same addresses.
    #[must_use]
    pub fn starting_at(&self, position: u64) -> Option<Block> {
        let first = self.guest.iter().position(|at| *at == position)?;
        let number = first as u32;
        let insts = self.insts.iter().filter(|inst| inst.guest >= number);
        Some(Block {
            start: position,
            next: self.next,
            ranges: self.ranges.clone(),
            insts: insts.map(|inst| Inst { guest: inst.guest - number, ..*inst }).collect(),
            guest: self.guest[first..].to_vec(),
            terminator: self.terminator,
        })
    }

    /// The first guest instruction of the block as a block of its own.
    #[must_use]
    pub fn first(&self) -> Block {
        let [start, second, ..] = self.guest[..] else { return self.clone() };
        Block {
            start,
            next: second,
            ranges: self.ranges.clone(),
            insts: self.insts.iter().take_while(|inst| inst.guest == 0).copied().collect(),
            guest: vec![start],
            terminator: Terminator::Jump(second),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Block, BlockBuilder, Operand, ScalarOp, Terminator, Uni, Width};

    #[test]
    fn the_rest_of_a_block_keeps_positions() {
        let block = |start: u64, positions: &[u64]| {
            let mut b = BlockBuilder::new(start);
            for position in positions {
                b.begin_guest(*position);
                b.scalar(ScalarOp::Mov, Width::W32, Uni(3), &[Operand::Const(1)]);
            }
            b.finish(0x1010, Terminator::Jump(0x1000))
        };
        let whole = block(0x1000, &[0x1000, 0x1008, 0x100c]);
        assert_eq!(whole.bytes(), 16);
        assert_eq!(whole.starting_at(0x1000).as_ref(), Some(&whole));
        let rest = Block { ranges: whole.ranges.clone(), ..block(0x1008, &[0x1008, 0x100c]) };
        assert_eq!(whole.starting_at(0x1008), Some(rest));
        for outside in [0xff8, 0x1004, 0x1010, u64::MAX] {
            assert_eq!(whole.starting_at(outside), None, "{outside:#x}");
        }
    }

    /// A control word names a clause elsewhere, and addresses alone do not distinguish the clause's
    /// instructions.
    #[test]
    fn positions_need_not_be_addresses() {
        const CLAUSE: u64 = 1 << 32;
        let mut b = BlockBuilder::new(0x100);
        for group in 0..3 {
            b.begin_guest(0x100 | (group * CLAUSE));
            b.scalar(ScalarOp::Mov, Width::W32, Uni(3), &[Operand::Const(group)]);
        }
        let block = b.finish_ranges(vec![0x100..0x108, 0x800..0x820], 0x108, Terminator::Jump(0x108));
        assert_eq!((block.bytes(), block.terminator_pc()), (40, 0x100 | (2 * CLAUSE)));
        let rest = block.starting_at(0x100 | CLAUSE).unwrap();
        assert_eq!((rest.insts.len(), rest.insts[0].guest, rest.next), (2, 0, 0x108));
        let first = rest.first();
        assert_eq!((first.insts.len(), first.terminator), (1, Terminator::Jump(0x100 | (2 * CLAUSE))));
    }
}
