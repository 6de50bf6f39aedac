//! Conversions between wide and small float formats (FP8, BF8, FP6, BF6, FP4).

use crate::NumberFormat;

/// A conversion of elements that are packed from the lowest bit of their first cell upwards (CDNA4 ISA 7.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct FormatCvt {
    /// Format of the source elements.
    pub from: NumberFormat,
    /// Format of the result elements.
    pub to: NumberFormat,
    /// Number of elements, 1 to 32.
    pub count: u8,
    /// The even elements are in source 0, the odd ones in source 1; otherwise all are in source 0.
    pub interleaved: bool,
    /// Stochastic rounding by the random number in source 3. Every element advances it to the next
    /// number of its sequence ([`IntOp::Prng`](crate::IntOp::Prng)).
    pub stochastic: bool,
}

impl FormatCvt {
    /// Number of cells of a source of elements.
    #[must_use]
    pub const fn source_dwords(self) -> u16 {
        let count = if self.interleaved { self.count.div_ceil(2) } else { self.count };
        (self.from.bits() * count as u32).div_ceil(32) as u16
    }

    /// Width of the result in bits; a result of less than a cell is written to the part that
    /// `dst_sel` names.
    #[must_use]
    pub const fn result_bits(self) -> u32 {
        self.to.bits() * self.count as u32
    }

    /// Number of cells of the result.
    #[must_use]
    pub const fn result_dwords(self) -> u16 {
        self.result_bits().div_ceil(32) as u16
    }
}
