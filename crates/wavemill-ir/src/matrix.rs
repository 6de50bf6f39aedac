//! Products of small matrices: sizes, formats, locations of elements, and the rule of summation.
//!
//! A [`MatrixOp`] says everything about a product except its registers. Engines compute the locations
//! of elements from it, and never see an instruction set.

use std::fmt;

use crate::{LANES, NumberFormat};

/// How the products of one element are summed. All rules round to nearest even.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MatrixSum {
    /// One fused multiply-add for each k, in ascending order, starting with the addend. The mode
    /// decides whether denormal f32 factors read as zero.
    Chain,
    /// Each product is rounded to f32. Neighbouring products are added in a tree of `width`
    /// products, then the root is added to the result so far. Denormal and zero factors and addends
    /// read as +0; denormal products and sums become a zero of their sign.
    Tree {
        /// Products of a tree: 2 or 4.
        width: u8,
    },
    /// The products of a group and the result so far are summed exactly, and rounded once.
    Exact {
        /// Products of a group.
        group: u8,
    },
    /// Products are cut towards zero at `product_bits` fraction bits below the largest exponent of
    /// their group, and added exactly. Sum and result so far are aligned to the larger exponent of
    /// the two: the sum is floored at `sum_bits + 1` fraction bits and the result at
    /// `product_bits`. They are added, floored at `sum_bits` fraction bits of the new exponent, and
    /// rounded. The exponent of a product is the sum of the exponents of its factors.
    Truncated {
        /// Products of a group.
        group: u8,
        /// Fraction bits of a product.
        product_bits: u8,
        /// Fraction bits of the sum.
        sum_bits: u8,
        /// Products with even and odd k are summed apart, and added after both are floored at
        /// `product_bits` at the larger exponent. A result so far that is more than `product_bits`
        /// + 1 binary places below the larger exponent counts as zero.
        halves: bool,
    },
    /// Integers: the sum wraps at 32 bits. With the mode's `fp16_ovfl` it saturates.
    Wrap,
}

/// The permutation of the lanes that B is read from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum MatrixLanes {
    /// Each lane reads its own.
    #[default]
    Own,
    /// Lanes 0 to 31 feed both halves (0), or lanes 32 to 63 (1).
    Half(u8),
    /// Lane n is fed by lane n + 16, counted around.
    Rotate16,
    /// The 16 lanes of this group feed all four groups.
    Quarter(u8),
}

impl MatrixLanes {
    /// The lane that feeds `lane`.
    #[must_use]
    pub const fn source(self, lane: u32) -> u32 {
        match self {
            MatrixLanes::Own => lane,
            MatrixLanes::Half(n) => lane % 32 + 32 * n as u32,
            MatrixLanes::Rotate16 => (lane + 16) % 64,
            MatrixLanes::Quarter(n) => lane % 16 + 16 * n as u32,
        }
    }
}

/// A matrix of a product. D\[i\]\[j\] = C\[i\]\[j\] + sum over k of A\[i\]\[k\] B\[k\]\[j\], for
/// each block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MatrixOperand {
    /// First factor: rows i, columns k (of a sparse A: the stored ones).
    A,
    /// Second factor: rows k, columns j.
    B,
    /// Addend and result: rows i, columns j.
    C,
}

/// The location of an element: a lane, and the lowest bit of the element counted across the rows of
/// the operand (bit 32 is the lowest of the second row).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MatrixLocation {
    /// The lane.
    pub lane: u32,
    /// The bit.
    pub bit: u32,
}

/// A product of matrices.
///
/// A and B have `blocks` matrices each. Lanes cover the rows of A (the columns of B), then blocks,
/// then runs of consecutive k. The result has groups of four rows in a lane (one for f64), lanes
/// cover columns, then as many blocks as fit, then groups of rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct MatrixOp {
    /// Rows of A and of the result: M.
    pub rows: u8,
    /// Columns of B and of the result: N.
    pub columns: u8,
    /// Columns of A and rows of B: K. A sparse A stores half of them.
    pub depth: u8,
    /// Independent products.
    pub blocks: u8,
    /// Format of A.
    pub a: NumberFormat,
    /// Format of B.
    pub b: NumberFormat,
    /// Format of addend and result: f32, f64 or i32.
    pub c: NumberFormat,
    /// Two of each four columns of A are stored; this set of their indices counts.
    pub sparse: Option<u8>,
    /// Factors have scales: the byte of the scale cells of A and of B that holds them.
    pub scales: Option<[u8; 2]>,
    /// Groups of 2 to the power of this number of blocks share one block of A.
    pub broadcast: u8,
    /// The block of each group that is shared.
    pub shared: u8,
    /// The permutation of the lanes of B.
    pub lanes: MatrixLanes,
    /// Signs of A, B and C are flipped: bits 0, 1 and 2.
    pub negate: u8,
    /// The rule of summation.
    pub sum: MatrixSum,
}

impl MatrixOp {
    /// The most elements of a factor in a lane.
    pub const MAX_ITEMS: u32 = 32;
    /// Elements in the K dimension that share a scale.
    pub const SCALED_TOGETHER: u32 = 32;

    /// Columns of A that are stored.
    #[must_use]
    pub const fn stored_depth(&self) -> u32 {
        if self.sparse.is_some() { self.depth as u32 / 2 } else { self.depth as u32 }
    }

    /// Whether sizes, formats and rule fit each other, so that there is a location for each element.
    #[must_use]
    pub const fn is_defined(&self) -> bool {
        use NumberFormat as N;
        let shape = match (self.rows, self.blocks) {
            (32 | 16, 1) => true,
            (32, 2) | (16, 4) | (4, 16) => !matches!(self.c, N::F64),
            (4, 4) => matches!(self.c, N::F64),
            _ => false,
        };
        let formats = match (self.a, self.b, self.c) {
            (N::I8, N::I8, N::I32) | (N::F64, N::F64, N::F64) => true,
            (N::I8 | N::I32 | N::F64, _, _) | (_, N::I8 | N::I32 | N::F64, _) => false,
            (_, _, c) => matches!(c, N::F32),
        };
        shape && self.columns == self.rows && formats && self.has_places() && self.has_rule()
    }

    /// Whether each lane has whole elements, and modifiers name elements that exist.
    const fn has_places(&self) -> bool {
        let elements = self.rows as u32 * self.stored_depth() * self.blocks as u32;
        let whole = elements > 0 && elements.is_multiple_of(LANES as u32);
        let sparse = match self.sparse {
            None => true,
            Some(set) => {
                let sets = 16 / (elements / LANES as u32 + (elements == 0) as u32);
                self.blocks == 1 && self.depth.is_multiple_of(4) && (set as u32) < sets
            }
        };
        let scaled = match self.scales {
            None => true,
            Some([a, b]) => {
                let fits = self.rows as u32 * (self.depth as u32 / MatrixOp::SCALED_TOGETHER) <= LANES as u32;
                self.blocks == 1
                    && (self.depth as u32).is_multiple_of(MatrixOp::SCALED_TOGETHER)
                    && fits
                    && a < 4
                    && b < 4
            }
        };
        let shares = self.broadcast < 5
            && 1 << self.broadcast <= self.blocks as u32
            && (self.shared as u32) < 1 << self.broadcast;
        let lanes = match self.lanes {
            MatrixLanes::Own | MatrixLanes::Rotate16 => true,
            MatrixLanes::Half(n) => n < 2,
            MatrixLanes::Quarter(n) => n < 4,
        };
        let room = self.cells(MatrixOperand::A) <= 8
            && self.cells(MatrixOperand::B) <= 8
            && self.items(MatrixOperand::A) <= MatrixOp::MAX_ITEMS
            && self.items(MatrixOperand::B) <= MatrixOp::MAX_ITEMS;
        whole
            && sparse
            && scaled
            && !(self.sparse.is_some() && self.scales.is_some())
            && shares
            && lanes
            && room
    }

    /// Whether the rule of summation is one for these formats, and its groups are whole.
    const fn has_rule(&self) -> bool {
        let singles = matches!(self.c, NumberFormat::F32);
        let depth = self.stored_depth();
        match self.sum {
            MatrixSum::Wrap => matches!(self.c, NumberFormat::I32),
            MatrixSum::Chain => !matches!(self.c, NumberFormat::I32),
            MatrixSum::Tree { width } => {
                let whole = (width == 2 || width == 4) && depth.is_multiple_of(width as u32);
                singles && whole && self.scales.is_none()
            }
            MatrixSum::Exact { group } => singles && self.has_groups(group) && self.scales.is_none(),
            MatrixSum::Truncated { group, product_bits, sum_bits, .. } => {
                // Products of other factors are exact in f32.
                let wide = matches!(self.a, NumberFormat::F32) || matches!(self.b, NumberFormat::F32);
                singles && !wide && product_bits == 24 && sum_bits == 31 && self.has_groups(group)
            }
        }
    }

    /// Whether the products are whole groups, or less than one group; no group has two scales.
    const fn has_groups(&self, group: u8) -> bool {
        let (depth, group) = (self.stored_depth(), group as u32);
        group > 0
            && group <= 16
            && (depth <= group || depth.is_multiple_of(group))
            && (self.scales.is_none() || MatrixOp::SCALED_TOGETHER.is_multiple_of(group))
    }

    /// The format of a matrix.
    #[must_use]
    pub const fn format(&self, matrix: MatrixOperand) -> NumberFormat {
        match matrix {
            MatrixOperand::A => self.a,
            MatrixOperand::B => self.b,
            MatrixOperand::C => self.c,
        }
    }

    /// Elements of a matrix in a lane.
    #[must_use]
    pub const fn items(&self, matrix: MatrixOperand) -> u32 {
        let (size, blocks) = (self.rows as u32, self.blocks as u32);
        let elements = match matrix {
            MatrixOperand::A => size * self.stored_depth(),
            MatrixOperand::B => size * self.depth as u32,
            MatrixOperand::C => size * size,
        };
        elements * blocks / LANES as u32
    }

    /// Rows of the register file that a matrix occupies.
    #[must_use]
    pub const fn cells(&self, matrix: MatrixOperand) -> u32 {
        (self.items(matrix) * self.format(matrix).bits()).div_ceil(32)
    }

    /// The location of an element of A (`along` is its row) or B (`along` is its column).
    ///
    /// Where bytes or wider elements fill eight cells, the cells hold two matrices of half the
    /// depth, one after the other.
    #[must_use]
    pub fn factor_location(&self, matrix: MatrixOperand, block: u32, along: u32, k: u32) -> MatrixLocation {
        let (items, bits) = (self.items(matrix), self.format(matrix).bits());
        let depth = if matrix == MatrixOperand::A { self.stored_depth() } else { self.depth.into() };
        let halves = if items * bits == 8 * 32 && bits >= 8 { 2 } else { 1 };
        let (run, depth) = ((items / halves).max(1), (depth / halves).max(1));
        let (half, k) = (k / depth, k % depth);
        let lane = along + u32::from(self.rows) * (block + u32::from(self.blocks) * (k / run));
        MatrixLocation { lane, bit: (half * run + k % run) * bits }
    }

    /// The block of A that is read for a block of the result.
    #[must_use]
    pub const fn source_block(&self, block: u32) -> u32 {
        (block >> self.broadcast << self.broadcast) + self.shared as u32
    }

    /// The location that an element of A is read from.
    #[must_use]
    pub fn a_location(&self, block: u32, row: u32, k: u32) -> MatrixLocation {
        self.factor_location(MatrixOperand::A, self.source_block(block), row, k)
    }

    /// The location that an element of B is read from.
    #[must_use]
    pub fn b_location(&self, block: u32, k: u32, column: u32) -> MatrixLocation {
        let location = self.factor_location(MatrixOperand::B, block, column, k);
        MatrixLocation { lane: self.lanes.source(location.lane), ..location }
    }

    /// The location of an element of addend and result.
    #[must_use]
    pub fn c_location(&self, block: u32, row: u32, column: u32) -> MatrixLocation {
        let (rows, columns) = (u32::from(self.rows), u32::from(self.columns));
        let height = if self.c == NumberFormat::F64 { 1 } else { 4 };
        let groups = (rows / height).max(1);
        let blocks = (LANES as u32 / (columns * groups).max(1)).max(1);
        let at_once = (LANES as u32 / blocks / columns).max(1);
        let (group, in_group) = (row / height, row % height);
        let further = group / at_once + groups / at_once * (block / blocks);
        let lane = column + columns * (block % blocks + blocks * (group % at_once));
        MatrixLocation { lane, bit: (in_group + height * further) * self.c.bits() }
    }

    /// The location of the two-bit index of a stored element of a sparse A.
    #[must_use]
    pub fn index_location(&self, row: u32, stored: u32) -> MatrixLocation {
        let location = self.factor_location(MatrixOperand::A, 0, row, stored);
        let set = u32::from(self.sparse.unwrap_or(0)) * self.items(MatrixOperand::A);
        MatrixLocation { bit: 2 * (set + location.bit / self.a.bits()), ..location }
    }

    /// The location of the scale of an element of A (`matrix` and `along` as in
    /// [`MatrixOp::factor_location`]) or B: a byte.
    #[must_use]
    pub fn scale_location(&self, matrix: MatrixOperand, along: u32, k: u32) -> MatrixLocation {
        let [a, b] = self.scales.unwrap_or_default();
        let byte = if matrix == MatrixOperand::A { a } else { b };
        MatrixLocation {
            lane: along + u32::from(self.rows) * (k / MatrixOp::SCALED_TOGETHER),
            bit: 8 * u32::from(byte),
        }
    }
}

impl fmt::Display for MatrixSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatrixSum::Chain => f.write_str("chain"),
            MatrixSum::Tree { width } => write!(f, "tree{width}"),
            MatrixSum::Exact { group } => write!(f, "exact{group}"),
            MatrixSum::Truncated { group, product_bits, sum_bits, halves } => {
                let halves = if *halves { ".halves" } else { "" };
                write!(f, "cut{group}.{product_bits}.{sum_bits}{halves}")
            }
            MatrixSum::Wrap => f.write_str("wrap"),
        }
    }
}

impl fmt::Display for MatrixLanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatrixLanes::Own => Ok(()),
            MatrixLanes::Half(n) => write!(f, ".half{n}"),
            MatrixLanes::Rotate16 => f.write_str(".rotate16"),
            MatrixLanes::Quarter(n) => write!(f, ".quarter{n}"),
        }
    }
}

/// The text form: `16x16x32.f16.f16.f32.cut8.24.31`, with the number of blocks after the sizes if
/// it is not 1, and with everything else that is not the default at the end.
impl fmt::Display for MatrixOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.rows, self.columns, self.depth)?;
        if self.blocks != 1 {
            write!(f, "x{}", self.blocks)?;
        }
        write!(f, ".{}.{}.{}.{}", self.a.name(), self.b.name(), self.c.name(), self.sum)?;
        if let Some(set) = self.sparse {
            write!(f, ".sparse{set}")?;
        }
        if let Some([a, b]) = self.scales {
            write!(f, ".scale{a}{b}")?;
        }
        if self.broadcast != 0 {
            write!(f, ".share{}of{}", self.shared, 1 << self.broadcast)?;
        }
        write!(f, "{}", self.lanes)?;
        for (bit, name) in ["a", "b", "c"].iter().enumerate() {
            if self.negate >> bit & 1 != 0 {
                write!(f, ".neg_{name}")?;
            }
        }
        Ok(())
    }
}
