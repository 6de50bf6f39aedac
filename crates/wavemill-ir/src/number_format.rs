//! Formats of numbers that are packed in cells.

/// Format of the elements of a conversion or of a matrix.
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
    /// binary32 of which only the upper 19 bits count: a mantissa of 10 bits. Matrices only.
    Xf32,
    /// binary64. Matrices only.
    F64,
    /// Signed integer of 8 bits. Matrices only.
    I8,
    /// Signed integer of 32 bits. Results of matrix products only.
    I32,
}

impl NumberFormat {
    /// Width of an element in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            NumberFormat::F64 => 64,
            NumberFormat::F32 | NumberFormat::Xf32 | NumberFormat::I32 => 32,
            NumberFormat::F16 | NumberFormat::Bf16 => 16,
            NumberFormat::Fp8
            | NumberFormat::Bf8
            | NumberFormat::Fp8Fnuz
            | NumberFormat::Bf8Fnuz
            | NumberFormat::I8 => 8,
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
            NumberFormat::Xf32 => "xf32",
            NumberFormat::F64 => "f64",
            NumberFormat::I8 => "i8",
            NumberFormat::I32 => "i32",
        }
    }
}
