//! Types of operations: widths, predicates, integer and float types.

/// Width of a scalar or integer operation in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Width {
    /// 32 bits: one cell.
    W32,
    /// 64 bits: two cells.
    W64,
}

impl Width {
    /// Number of cells that a value of this width occupies.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            Width::W32 => 1,
            Width::W64 => 2,
        }
    }
}

/// Predicate of a comparison. For floats the names without `N` are false on unordered operands, those with `N` are
/// the negations and true on unordered ones (Vega ISA 6.9, tables 48 and 49).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "the names are the manual's")]
pub enum CmpPred {
    False,
    Lt,
    Eq,
    Le,
    Gt,
    /// Less or greater; for integers: not equal.
    Lg,
    Ge,
    /// Both operands are numbers.
    Ordered,
    /// At least one operand is NaN.
    Unordered,
    Nge,
    Nlg,
    Ngt,
    Nle,
    Neq,
    Nlt,
    True,
}

impl CmpPred {
    /// The predicates of integer comparisons, in the order of their codes.
    pub const INT: [CmpPred; 8] = [
        CmpPred::False,
        CmpPred::Lt,
        CmpPred::Eq,
        CmpPred::Le,
        CmpPred::Gt,
        CmpPred::Lg,
        CmpPred::Ge,
        CmpPred::True,
    ];

    /// The predicates of float comparisons, in the order of their codes: all of them.
    pub const FLOAT: [CmpPred; 16] = [
        CmpPred::False,
        CmpPred::Lt,
        CmpPred::Eq,
        CmpPred::Le,
        CmpPred::Gt,
        CmpPred::Lg,
        CmpPred::Ge,
        CmpPred::Ordered,
        CmpPred::Unordered,
        CmpPred::Nge,
        CmpPred::Nlg,
        CmpPred::Ngt,
        CmpPred::Nle,
        CmpPred::Neq,
        CmpPred::Nlt,
        CmpPred::True,
    ];
}

/// Type of an integer comparison or of the elements of a varying integer operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum IntType {
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
}

/// Type of a float operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum FloatType {
    /// binary16 in the low half of a cell (or the half that the attributes select).
    F16,
    /// binary32.
    F32,
    /// binary64 in two cells.
    F64,
    /// Two binary16 in a cell.
    PkF16,
    /// Two binary32 in two cells.
    PkF32,
}

impl IntType {
    /// Number of cells that a value occupies.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            IntType::I16 | IntType::U16 | IntType::I32 | IntType::U32 => 1,
            IntType::I64 | IntType::U64 => 2,
        }
    }
}

impl FloatType {
    /// Number of cells that a value occupies.
    #[must_use]
    pub const fn dwords(self) -> u16 {
        match self {
            FloatType::F16 | FloatType::F32 | FloatType::PkF16 => 1,
            FloatType::F64 | FloatType::PkF32 => 2,
        }
    }
}
