//! Register cells and operands.
//!
//! The instruction family defines what each cell and row holds, and the names for texts
//! ([`Names`]). The IR defines only the active lanes and the temporaries.

use std::fmt;

/// A uniform 32-bit cell: one value per wave.
///
/// Cells below [`Uni::ACTIVE`] belong to the instruction family and live as long as the wave. The
/// other cells belong to the IR: the mask of active lanes, and the temporaries of a block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uni(pub u16);

impl Uni {
    /// First of the two cells with a bit for each active lane: the lanes that varying operations
    /// compute.
    pub const ACTIVE: Uni = Uni(256);
    /// First block-local temporary.
    pub const TEMP0: Uni = Uni(258);
    /// Number of uniform temporaries of a block.
    pub const TEMPS: u16 = 32;
    /// Total number of uniform cells.
    pub const COUNT: u16 = Uni::TEMP0.0 + Uni::TEMPS;

    /// The temporary number `n` (0..[`Uni::TEMPS`]); even numbers start a pair.
    #[must_use]
    pub const fn temp(n: u16) -> Uni {
        Uni(Uni::TEMP0.0 + n)
    }

    /// The cell `n` cells after this one. Saturates at the highest number, which is not a valid
    /// cell.
    #[must_use]
    pub const fn plus(self, n: u16) -> Uni {
        Uni(self.0.saturating_add(n))
    }
}

impl fmt::Debug for Uni {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < Uni::ACTIVE.0 => write!(f, "u{n}"),
            n if n == Uni::ACTIVE.0 => f.write_str("active"),
            n if n == Uni::ACTIVE.0 + 1 => f.write_str("active.hi"),
            n if n < Uni::COUNT => write!(f, "ut{}", n - Uni::TEMP0.0),
            n => write!(f, "u?{n}"),
        }
    }
}

/// A row: one 32-bit value for each of the 64 lanes.
///
/// Rows below [`Row::TEMP0`] belong to the instruction family, in banks of [`Row::BANK`] rows. The
/// other rows are the temporaries of a block. A bank has room for 128 registers of four channels.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row(pub u16);

impl Row {
    /// Rows of a bank. A run of rows does not continue into the next bank.
    pub const BANK: u16 = 512;
    /// Number of banks.
    pub const BANKS: usize = 2;
    /// First block-local temporary.
    pub const TEMP0: Row = Row(Row::BANK * Row::BANKS as u16);
    /// Number of row temporaries of a block.
    pub const TEMPS: u16 = 48;
    /// Total number of rows.
    pub const COUNT: u16 = Row::TEMP0.0 + Row::TEMPS;

    /// Row `n` of the second bank.
    #[must_use]
    pub const fn second(n: u16) -> Row {
        Row(Row::BANK + n)
    }

    /// Temporary `n` (0..[`Row::TEMPS`]).
    #[must_use]
    pub const fn temp(n: u16) -> Row {
        Row(Row::TEMP0.0 + n)
    }

    /// The bank that it is in, and its number in the bank; `None` for temporaries.
    #[must_use]
    pub const fn bank(self) -> Option<(usize, u16)> {
        if self.0 < Row::TEMP0.0 { Some(((self.0 / Row::BANK) as usize, self.0 % Row::BANK)) } else { None }
    }

    /// The row `n` rows after this one. Saturates at the highest number, which is not a valid row.
    #[must_use]
    pub const fn plus(self, n: u16) -> Row {
        Row(self.0.saturating_add(n))
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bank() {
            Some((0, n)) => write!(f, "r{n}"),
            Some((_, n)) => write!(f, "q{n}"),
            None => write!(f, "t{}", self.0 - Row::TEMP0.0),
        }
    }
}

/// Names of an instruction family's registers, for texts.
pub trait Names {
    /// Name of a cell; `None` selects the IR's own name.
    fn cell(&self, cell: Uni) -> Option<String>;

    /// Name of a row; `None` selects the IR's own name.
    fn row(&self, row: Row) -> Option<String>;
}

/// The IR's own names.
#[derive(Clone, Copy, Debug)]
pub struct NoNames;

impl Names for NoNames {
    fn cell(&self, _: Uni) -> Option<String> {
        None
    }

    fn row(&self, _: Row) -> Option<String> {
        None
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
    /// The cell `n` cells (of 32 bits) after the operand's first one; for a constant, its dword
    /// `n`.
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

    /// Its text, with the names of an instruction family.
    #[must_use]
    pub fn text(self, names: &dyn Names) -> String {
        match self {
            Operand::Uni(cell) => names.cell(cell).unwrap_or_else(|| format!("{cell:?}")),
            Operand::Row(row) => names.row(row).unwrap_or_else(|| format!("{row:?}")),
            Operand::None | Operand::Const(_) => format!("{self:?}"),
        }
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
