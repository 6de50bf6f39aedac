//! Register cells and operands.

use std::fmt;

/// A uniform 32-bit cell: one value per wave.
///
/// Cells 0..=127 carry the numbers of the scalar operand encoding (Vega ISA 5.1, table 9): 0..=101 SGPRs,
/// 102/103 FLAT_SCRATCH, 104/105 XNACK_MASK, 106/107 VCC, 108..=123 TTMP, 124 M0, 126/127 EXEC.
/// Cells from 128 on belong to the IR: SCC and the block-local temporaries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uni(pub u16);

impl Uni {
    /// FLAT_SCRATCH, low half.
    pub const FLAT_SCRATCH: Uni = Uni(102);
    /// XNACK_MASK, low half.
    pub const XNACK_MASK: Uni = Uni(104);
    /// VCC, low half.
    pub const VCC: Uni = Uni(106);
    /// First trap temporary.
    pub const TTMP0: Uni = Uni(108);
    /// M0.
    pub const M0: Uni = Uni(124);
    /// EXEC, low half.
    pub const EXEC: Uni = Uni(126);
    /// The scalar condition code, 0 or 1.
    pub const SCC: Uni = Uni(128);
    /// First block-local temporary.
    pub const TEMP0: Uni = Uni(130);
    /// Number of uniform temporaries of a block.
    pub const TEMPS: u16 = 32;
    /// Number of uniform cells in all; cells from here on do not exist.
    pub const COUNT: u16 = Uni::TEMP0.0 + Uni::TEMPS;

    /// The temporary number `n` (0..[`Uni::TEMPS`]); even numbers start a pair.
    #[must_use]
    pub const fn temp(n: u16) -> Uni {
        Uni(Uni::TEMP0.0 + n)
    }

    /// The cell `n` places after this one.
    #[must_use]
    pub const fn plus(self, n: u16) -> Uni {
        Uni(self.0 + n)
    }
}

impl fmt::Debug for Uni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..=101 => write!(f, "s{}", self.0),
            102 => f.write_str("flat_scratch_lo"),
            103 => f.write_str("flat_scratch_hi"),
            104 => f.write_str("xnack_mask_lo"),
            105 => f.write_str("xnack_mask_hi"),
            106 => f.write_str("vcc_lo"),
            107 => f.write_str("vcc_hi"),
            108..=123 => write!(f, "ttmp{}", self.0 - 108),
            124 => f.write_str("m0"),
            126 => f.write_str("exec_lo"),
            127 => f.write_str("exec_hi"),
            128 => f.write_str("scc"),
            n if (Uni::TEMP0.0..Uni::COUNT).contains(&n) => write!(f, "us{}", n - Uni::TEMP0.0),
            n => write!(f, "s?{n}"),
        }
    }
}

/// A row: one 32-bit value for each of the 64 lanes.
///
/// Rows 0..=255 are the VGPRs, 256..=511 the AccVGPRs, rows from 512 on are block-local temporaries.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u16);

impl Row {
    /// First AccVGPR.
    pub const ACC0: Row = Row(256);
    /// First block-local temporary.
    pub const TEMP0: Row = Row(512);
    /// Number of row temporaries of a block.
    pub const TEMPS: u16 = 16;
    /// Number of rows in all.
    pub const COUNT: u16 = Row::TEMP0.0 + Row::TEMPS;

    /// VGPR `n` (0..=255).
    #[must_use]
    pub const fn vgpr(n: u16) -> Row {
        Row(n)
    }

    /// AccVGPR `n` (0..=255).
    #[must_use]
    pub const fn acc(n: u16) -> Row {
        Row(Row::ACC0.0 + n)
    }

    /// Temporary `n` (0..[`Row::TEMPS`]).
    #[must_use]
    pub const fn temp(n: u16) -> Row {
        Row(Row::TEMP0.0 + n)
    }

    /// The row `n` places after this one.
    #[must_use]
    pub const fn plus(self, n: u16) -> Row {
        Row(self.0 + n)
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n @ 0..=255 => write!(f, "v{n}"),
            n @ 256..=511 => write!(f, "a{}", n - 256),
            n => write!(f, "t{}", n - Row::TEMP0.0),
        }
    }
}

/// An operand of an IR operation. Operands wider than 32 bits name their first cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Operand {
    /// The slot is not used.
    #[default]
    None,
    /// A uniform cell; as the source of a varying operation it is the same in all lanes.
    Uni(Uni),
    /// A row.
    Row(Row),
    /// A constant, already in the width and format that the operation reads (an `f16` operation reads the low
    /// 16 bits, a 64-bit operation all 64). Sources of more than 64 bits are never constants.
    Const(u64),
}

impl Operand {
    /// The cell `n` places (32-bit units) after the operand's first one; of a constant, its dword `n`.
    #[must_use]
    pub fn dword(self, n: u16) -> Operand {
        match self {
            Operand::None => Operand::None,
            Operand::Uni(u) => Operand::Uni(u.plus(n)),
            Operand::Row(r) => Operand::Row(r.plus(n)),
            Operand::Const(c) => Operand::Const(if n < 2 { (c >> (32 * n)) & 0xffff_ffff } else { 0 }),
        }
    }

    /// Whether the slot is unused.
    #[must_use]
    pub fn is_none(self) -> bool {
        self == Operand::None
    }
}

impl From<Uni> for Operand {
    fn from(u: Uni) -> Self {
        Operand::Uni(u)
    }
}

impl From<Row> for Operand {
    fn from(r: Row) -> Self {
        Operand::Row(r)
    }
}

impl fmt::Debug for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operand::None => f.write_str("_"),
            Operand::Uni(u) => write!(f, "{u:?}"),
            Operand::Row(r) => write!(f, "{r:?}"),
            Operand::Const(c) => write!(f, "{c:#x}"),
        }
    }
}
