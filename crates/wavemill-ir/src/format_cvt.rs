//! Conversions between wide and small float formats (FP8, BF8, FP6, BF6, FP4).

/// Format of the elements of a [`FormatCvt`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum NumberFormat {
    /// binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// binary32.
    F32,
    /// E4M3 with the special values of OCP.
    Fp8,
    /// E5M2 with the special values of OCP.
    Bf8,
    /// E4M3 without infinities and negative zero.
    Fp8Fnuz,
    /// E5M2 without infinities and negative zero.
    Bf8Fnuz,
    /// E2M3.
    Fp6,
    /// E3M2.
    Bf6,
    /// E2M1.
    Fp4,
}

impl NumberFormat {
    /// Width of an element in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            NumberFormat::F32 => 32,
            NumberFormat::F16 | NumberFormat::Bf16 => 16,
            NumberFormat::Fp8 | NumberFormat::Bf8 | NumberFormat::Fp8Fnuz | NumberFormat::Bf8Fnuz => 8,
            NumberFormat::Fp6 | NumberFormat::Bf6 => 6,
            NumberFormat::Fp4 => 4,
        }
    }

    /// Name in the text form of the IR.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            NumberFormat::F16 => "f16",
            NumberFormat::Bf16 => "bf16",
            NumberFormat::F32 => "f32",
            NumberFormat::Fp8 => "fp8",
            NumberFormat::Bf8 => "bf8",
            NumberFormat::Fp8Fnuz => "fp8fnuz",
            NumberFormat::Bf8Fnuz => "bf8fnuz",
            NumberFormat::Fp6 => "fp6",
            NumberFormat::Bf6 => "bf6",
            NumberFormat::Fp4 => "fp4",
        }
    }
}

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
