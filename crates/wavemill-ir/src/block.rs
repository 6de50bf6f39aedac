//! Operations with their operands, and basic blocks of them.

use crate::{Attrs, Op, Operand, Uni};

/// Which lanes a varying operation writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum LaneMask {
    /// The lanes whose EXEC bit is set.
    #[default]
    Exec,
    /// All lanes.
    All,
}

/// One operation with its operands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Inst {
    /// What it does.
    pub op: Op,
    /// Results: the value, and the mask or SCC beside it.
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

/// Condition of a conditional branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Cond {
    /// SCC is 0.
    Scc0,
    /// SCC is 1.
    Scc1,
    /// VCC is zero.
    VccZero,
    /// VCC is not zero.
    VccNonZero,
    /// EXEC is zero.
    ExecZero,
    /// EXEC is not zero.
    ExecNonZero,
    /// Never (debug conditions that a functional model keeps false).
    Never,
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

/// The bits of MODE that a block may depend on beside its bytes: rounding (3:0), denormals (7:4), DX10_CLAMP, IEEE,
/// FP16_OVFL (23), GPR_IDX_EN (27), VSKIP (28) (Vega ISA 3.4). Blocks are lifted and kept under these alone.
pub const MODE_KEY: u32 = 0x1880_03ff;

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
    /// Trap with this number (`s_trap`); goes on at the address where the trap is a no-op.
    Trap {
        /// Trap number.
        id: u8,
        /// Where to go on.
        next: u64,
    },
    /// The MODE register changes to this value; goes on at the address under the new mode.
    SetMode {
        /// Uniform operand that holds the new bits.
        value: Operand,
        /// First bit of MODE that changes.
        offset: u8,
        /// Number of bits that change.
        width: u8,
        /// Where to go on.
        next: u64,
    },
    /// Code that has changed in memory counts from here on; goes on at the address.
    InvalidateCode(u64),
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
                b.scalar(ScalarOp::Mov, Width::W32, Uni(3), &[Operand::Const(1)], false);
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
