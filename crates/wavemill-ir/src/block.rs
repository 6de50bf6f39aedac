//! Operations with their operands, and basic blocks of them.

use crate::{Attrs, Op, Operand, Uni, Width};

/// Which lanes a varying operation writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum LaneMask {
    /// The lanes whose bit at [`Uni::ACTIVE`] is set.
    #[default]
    Active,
    /// All lanes.
    All,
}

/// One operation with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Results: the value, and the mask or flag beside it.
    pub dst: [Operand; 2],
    /// Sources.
    pub src: [Operand; 4],
    /// Modifiers, mode and immediate.
    pub attrs: Attrs,
    /// Lanes that are written.
    pub mask: LaneMask,
    /// Byte offset of its guest instruction from the start of the block.
    pub pc_offset: u32,
}

/// Condition of a conditional branch: of a cell, or of the two from an even one on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Cond {
    /// All bits are zero.
    Zero(Uni, Width),
    /// Some bit is not zero.
    NonZero(Uni, Width),
}

impl Cond {
    /// What it looks at.
    #[must_use]
    pub const fn cell(self) -> (Uni, Width) {
        match self {
            Cond::Zero(cell, width) | Cond::NonZero(cell, width) => (cell, width),
        }
    }
}

/// Why a block cannot go on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FaultKind {
    /// The word at the PC is no instruction of the target.
    IllegalInstruction,
    /// The instruction exists, but its meaning is not implemented.
    Unsupported,
    /// The PC left the memory that holds code.
    NoCode,
}

/// How a block ends. Addresses are guest addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Terminator {
    /// Goes on at the address.
    Jump(u64),
    /// Goes on at `taken` if the condition holds, else at `next`.
    Branch {
        /// The condition.
        cond: Cond,
        /// Where to go if it holds.
        taken: u64,
        /// Where to go otherwise.
        next: u64,
    },
    /// Goes on at the address in a pair of uniform cells.
    Indirect(Uni),
    /// The wave waits for the others of its workgroup, then goes on at the address.
    Barrier(u64),
    /// The wave lets others run, then goes on at the address.
    Yield(u64),
    /// The wave ends.
    End,
    /// The wave's context, under which blocks are lifted, becomes this value; goes on at the address. What a context means is
    /// a matter of the instruction family.
    SetContext {
        /// Uniform operand that holds the new context.
        value: Operand,
        /// Where to go on.
        next: u64,
    },
    /// Code that has changed in memory counts from here on; goes on at the address.
    InvalidateCode(u64),
    /// The wave faults at the terminator's PC, as the program asks for, with this number.
    Trap(u8),
    /// The wave faults at the terminator's PC.
    Fault(FaultKind),
}

/// A basic block: straight-line operations and the way it ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Guest address of the first instruction.
    pub start: u64,
    /// Guest bytes that the block covers.
    pub size: u32,
    /// The operations in order.
    pub insts: Vec<Inst>,
    /// Offset from `start` of every guest instruction, in order, the terminating one included if there is one.
    pub guest: Vec<u32>,
    /// How the block ends.
    pub terminator: Terminator,
}

impl Block {
    /// Guest address of the instruction that the block's terminator stands for (the last one).
    #[must_use]
    pub fn terminator_pc(&self) -> u64 {
        self.start + u64::from(self.guest.last().copied().unwrap_or(0))
    }

    /// The rest of the block from the guest instruction at `pc` on; nothing if no instruction of it begins there.
    #[must_use]
    pub fn starting_at(&self, pc: u64) -> Option<Block> {
        let offset = u32::try_from(pc.checked_sub(self.start)?).ok()?;
        let first = self.guest.iter().position(|at| *at == offset)?;
        let insts = self.insts.iter().filter(|inst| inst.pc_offset >= offset);
        Some(Block {
            start: pc,
            size: self.size - offset,
            insts: insts.map(|inst| Inst { pc_offset: inst.pc_offset - offset, ..*inst }).collect(),
            guest: self.guest[first..].iter().map(|at| at - offset).collect(),
            terminator: self.terminator,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{BlockBuilder, Operand, ScalarOp, Terminator, Uni, Width};

    #[test]
    fn the_rest_of_a_block_keeps_addresses() {
        let block = |start: u64, offsets: &[u32]| {
            let mut b = BlockBuilder::new(start);
            for offset in offsets {
                b.begin_guest(*offset);
                b.scalar(ScalarOp::Mov, Width::W32, Uni(3), &[Operand::Const(1)]);
            }
            b.finish(offsets[offsets.len() - 1] + 4, Terminator::Jump(0x1000))
        };
        let whole = block(0x1000, &[0, 8, 12]);
        assert_eq!(whole.starting_at(0x1000).as_ref(), Some(&whole));
        assert_eq!(whole.starting_at(0x1008), Some(block(0x1008, &[0, 4])));
        for outside in [0xff8, 0x1004, 0x1010, u64::MAX] {
            assert_eq!(whole.starting_at(outside), None, "{outside:#x}");
        }
    }
}
