//! The cost of operations in the interpreter, for statistics.

use wavemill_ir::{Block, Op, Row};

use super::{Tier, compile, lane};
use wavemill_machine::registers::RegisterCounts;

/// The code that the interpreter generates for one operation of the IR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperationCost {
    /// Operations of the interpreter: the operation itself and the steps that its attributes
    /// require.
    pub host_operations: u32,
    /// Whether its lanes go one by one through scalar code or library calls: float operations and
    /// modes without a vector form, conversions between small float formats, permutations of lanes,
    /// atomics, texels.
    ///
    /// Plain loads and stores do not count, although they go lane by lane if lanes access scattered
    /// memory. NaN lanes, which the scalar library repairs after vector code, do not count either.
    pub opaque: bool,
    /// Whether the interpreter refuses it: reaching it is a fault.
    pub unsupported: bool,
}

/// Cost of each operation of a block on a tier, in order, for a wave that has all registers.
/// Terminators, one for each block, are always one operation and never opaque.
#[must_use]
pub fn operation_costs(block: &Block, tier: Tier) -> Vec<OperationCost> {
    let tier = if tier.is_available() { tier } else { Tier::Portable };
    compile::costs(block, tier, RegisterCounts::of_rows([Row::BANK; Row::BANKS]))
}

/// Whether all handlers of the operation go lane by lane, with any attributes.
pub(super) fn goes_lane_by_lane(op: Op) -> bool {
    match op {
        Op::Lane(op) => lane::goes_lane_by_lane(op),
        Op::Atomic(..)
        | Op::BufferAtomic(..)
        | Op::Image(_)
        | Op::BufferLoadTexel(..)
        | Op::BufferStoreTexel(..)
        | Op::FormatCvt(_)
        | Op::Transpose(_)
        | Op::Swizzle(_) => true,
        _ => false,
    }
}
