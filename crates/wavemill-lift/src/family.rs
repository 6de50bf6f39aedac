//! The interface that the layers above use for a family of instruction sets.

use std::fmt::Debug;

use wavemill_ir::{Block, Names, Uni};

/// Copies up to 16 bytes of code at a guest address, and returns the number of bytes there.
pub type Fetch<'a> = dyn FnMut(u64, &mut [u8; 16]) -> usize + 'a;

/// The lifter of a family, for programs with common properties such as the target.
///
/// A position names an instruction. Entries of waves and targets of blocks are positions. The
/// context of a wave is a number under which its blocks are lifted.
pub trait Lift: Debug + Send + Sync {
    /// Lifts the basic block at a position under a context.
    ///
    /// A word that is not an instruction, or an instruction without a meaning yet, ends the block
    /// with a fault terminator. The fault is reported if and only if a wave reaches it.
    fn block(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block;

    /// Lifts the one instruction at a position, otherwise as [`Lift::block`].
    fn instruction(&self, position: u64, context: u32, fetch: &mut Fetch<'_>) -> Block;

    /// The guest address of the code that a position names: for most families, the position itself.
    fn address(&self, position: u64) -> u64 {
        position
    }

    /// The bits of a context that blocks depend on.
    fn context_key(&self) -> u32;

    /// Number of cells that belong to registers of the family.
    fn cells(&self) -> u16;

    /// The names of its cells and rows.
    fn names(&self) -> &'static dyn Names;

    /// The cell that collects floating-point exceptions, if a program can read them.
    fn exceptions(&self) -> Option<Uni>;

    /// Whether code reads them, so that they must be collected.
    fn reads_exceptions(&self, code: &[u8]) -> bool;
}
