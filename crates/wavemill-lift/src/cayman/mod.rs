//! Cayman (HD 6900 series): control flow words with their clauses become blocks of IR.
//!
//! A control flow word that calls a clause is an instruction, and so is each group and each fetch
//! of the clause. Blocks continue across clauses. [`Position`] defines the names of instructions,
//! [`registers`] the cells and rows of registers.

mod alu;
mod clause;
mod control;
mod fetch;
mod lds;
mod lifter;
mod position;
mod queue;
pub mod registers;

use wavemill_ir::{Block, Names, Uni};

pub use position::Position;

use crate::family::{Fetch, Lift};

/// The bits of a context: the modes of single floats, as in the first source of `SET_MODE` (HD 6900
/// ISA 8.2). Bits 1:0 are the rounding, bit 2 keeps denormals of sources, bit 3 denormals of
/// results.
pub const MODE_KEY: u32 = 0xf;

/// Number of instructions after which a block is cut.
const MAX_GUEST: usize = 512;

/// Cayman, for one program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cayman {
    /// The start of the program: the guest address that addresses of clauses count from.
    pub program: u64,
}

impl Lift for Cayman {
    fn block(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        lifter::lift(self, position, context, fetch, MAX_GUEST)
    }

    fn instruction(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block {
        lifter::lift(self, position, context, fetch, 1)
    }

    fn context_key(&self) -> u32 {
        MODE_KEY
    }

    fn cells(&self) -> u16 {
        registers::CELLS
    }

    fn names(&self) -> &'static dyn Names {
        &registers::RegisterNames
    }

    /// Only `STORE_FLAGS` reads exceptions, and it has no row yet.
    fn exceptions(&self) -> Option<Uni> {
        None
    }

    fn reads_exceptions(&self, _: &[u8]) -> bool {
        false
    }
}
