//! Blocks of one guest instruction each.

use std::sync::Arc;

use wavemill_ir::{Block, Uni};

use crate::code::BlockSource;

/// Blocks of one guest instruction each, cut from the beginnings of another source's blocks.
pub(crate) struct SingleSteps<'a>(pub &'a dyn BlockSource);

impl BlockSource for SingleSteps<'_> {
    fn block(&self, pc: u64, context: u32) -> Arc<Block> {
        self.0.single(pc, context)
    }

    fn context_key(&self) -> u32 {
        self.0.context_key()
    }

    fn exceptions(&self) -> Option<Uni> {
        self.0.exceptions()
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn refresh(&self) {
        self.0.refresh();
    }
}

#[cfg(test)]
mod tests {
    use wavemill_ir::{BlockBuilder, Operand, ScalarOp, Terminator, Width};

    use super::*;

    #[derive(Debug)]
    struct TwoMoves;

    impl BlockSource for TwoMoves {
        fn block(&self, pc: u64, _context: u32) -> Arc<Block> {
            let mut b = BlockBuilder::new(pc);
            for (offset, register) in [(0, 3), (8, 4)] {
                b.begin_guest(pc + offset);
                b.scalar(ScalarOp::Mov, Width::W32, Uni(register), &[Operand::Const(1)]);
            }
            b.begin_guest(pc + 12);
            Arc::new(b.finish(pc + 16, Terminator::End))
        }
    }

    #[test]
    fn a_block_is_cut_behind_its_first_instruction() {
        let whole = TwoMoves.block(0x1000, 0);
        let first = SingleSteps(&TwoMoves).block(0x1000, 0);
        assert_eq!(first.insts, whole.insts[..1]);
        assert_eq!((&first.guest[..], first.next), (&[0x1000][..], 0x1008));
        assert_eq!(first.terminator, Terminator::Jump(0x1008));
    }
}
