//! Where matrix instructions hold the elements of their matrices: the lane, and the bits of its
//! registers.
//!
//! No other code knows the layout. Sizes come from the row: its shape gives rows, columns, depth
//! and blocks; the operand types give the number of items per lane. The layout follows CDNA4 ISA
//! 7.1.4 (inputs and outputs), 7.1.5 (8-bit and smaller elements), 7.1.6 (broadcasts), 7.2.1
//! (scales) and 7.5 (sparse matrices). It holds for CDNA 1 to 3 as well.

use super::inst::Inst;
use super::modifiers::Modifiers;
use super::row::{Op, Row};
use super::vocabulary::{Elem, Flag, Format, LANES, MatrixShape, Role, matrix_format, words};
use crate::target::Target;
use core::fmt;

/// Elements in the K dimension that share a scale (CDNA4 ISA 7.2.1).
const SCALED_TOGETHER: u32 = 32;

words! {
    /// A matrix of a matrix instruction. The product is D\[i\]\[j\] = C\[i\]\[j\] + sum over k of A\[i\]\[k\] B\[k\]\[j\], for each block.
    pub enum Matrix {
        /// First factor: rows i, columns k.
        A = "A",
        /// Second factor: rows k, columns j.
        B = "B",
        /// Addend: rows i, columns j.
        C = "C",
        /// Result: rows i, columns j.
        D = "D",
        /// Which elements of a sparse A are stored: two bits for each stored element.
        Indices = "indices",
        /// Scales of A: rows i, columns k divided by 32.
        ScaleA = "scale_A",
        /// Scales of B: rows k divided by 32, columns j.
        ScaleB = "scale_B",
    }
}

/// The number of rows, columns and blocks of one matrix, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixExtent {
    /// Blocks.
    pub blocks: u32,
    /// Rows of a block.
    pub rows: u32,
    /// Columns of a block. For a sparse A and its indices, only the stored ones.
    pub columns: u32,
}

/// The location of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MatrixLocation {
    /// The lane, 0 to 63.
    pub lane: u8,
    /// Its lowest bit, counted across the registers of the operand: bit 32 is the lowest of the
    /// second register.
    pub bit: u16,
    /// Its width in bits. A 6-bit element may span two registers; a 64-bit element always does.
    pub bits: u8,
}

impl MatrixLocation {
    /// Its first register, counted from the first of the operand.
    pub const fn register(self) -> u16 {
        self.bit / 32
    }

    /// Its last register.
    pub const fn last_register(self) -> u16 {
        (self.bit + self.bits as u16 - 1) / 32
    }
}

/// A permutation of the lanes that B is read from (CDNA4 ISA 7.1.6.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LanePermutation {
    /// Each lane reads its own.
    Own,
    /// Lanes 0 to 31 feed both halves (0), or lanes 32 to 63 (1).
    Half(u8),
    /// Lane n is fed by lane n + 16, counted around.
    Rotate16,
    /// The 16 lanes of this group feed all four groups.
    Quarter(u8),
}

impl LanePermutation {
    /// The lane that feeds `lane`.
    const fn source(self, lane: u32) -> u32 {
        match self {
            LanePermutation::Own => lane,
            LanePermutation::Half(half) => lane % 32 + 32 * half as u32,
            LanePermutation::Rotate16 => (lane + 16) % LANES,
            LanePermutation::Quarter(group) => lane % 16 + 16 * group as u32,
        }
    }
}

/// The blocks that read A from another block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockBroadcast {
    /// Binary logarithm of the blocks of a group. 0: each block reads its own A.
    pub group_log2: u8,
    /// The block of each group that all blocks of the group read A from.
    pub block: u8,
}

/// Why a matrix instruction has no layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatrixLayoutError {
    /// The instruction does not multiply matrices.
    NotMatrix(Op),
    /// CBSZ (of A) or BLGP (of B) is not an element format; expected 0 to 4.
    ReservedFormat {
        /// A or B.
        matrix: Matrix,
        /// The value of the field.
        code: u8,
    },
    /// CBSZ requests a broadcast to more blocks than exist, or ABID names a block outside of the
    /// group.
    Broadcast {
        /// CBSZ: the binary logarithm of the blocks of a group.
        cbsz: u8,
        /// ABID: the block of the group to broadcast.
        abid: u8,
        /// The blocks of the instruction.
        blocks: u32,
    },
}

impl fmt::Display for MatrixLayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MatrixLayoutError::NotMatrix(op) => write!(f, "{op} is not a matrix instruction"),
            MatrixLayoutError::ReservedFormat { matrix, code } => {
                let field = if *matrix == Matrix::A { "cbsz" } else { "blgp" };
                write!(f, "{field}:{code} is not a format of matrix {}; expected 0 to 4", matrix.name())
            }
            MatrixLayoutError::Broadcast { cbsz, abid, blocks } => write!(
                f,
                "cbsz:{cbsz} abid:{abid} is not a broadcast: expected groups of at most {blocks} blocks (2 to the power of \
                 cbsz), and abid within a group"
            ),
        }
    }
}

impl core::error::Error for MatrixLayoutError {}

/// Where a matrix instruction holds the elements of its matrices.
#[derive(Clone, Copy, Debug)]
pub struct MatrixLayout {
    row: &'static Row,
    shape: MatrixShape,
    modifiers: Modifiers,
    /// Element types of A and B.
    inputs: [Elem; 2],
}

impl MatrixLayout {
    /// The layout of an instance, including the effect of its modifiers.
    ///
    /// # Errors
    /// [`MatrixLayoutError`] if it does not multiply matrices, or has modifiers that the manual
    /// leaves undefined.
    pub fn of(inst: &Inst) -> Result<MatrixLayout, MatrixLayoutError> {
        MatrixLayout::with(inst.op(), &inst.modifiers())
    }

    /// The layout of an instance with these modifiers. [`Modifiers::default`] changes nothing.
    ///
    /// # Errors
    /// As [`MatrixLayout::of`].
    pub fn with(op: Op, modifiers: &Modifiers) -> Result<MatrixLayout, MatrixLayoutError> {
        let row = op.row();
        let not_matrix = MatrixLayoutError::NotMatrix(op);
        let shape = row.shape.ok_or(not_matrix)?;
        let input = |matrix, role, code: u8| {
            let elem = row.operand(role).ok_or(not_matrix)?.ty.elem;
            match elem {
                Elem::F8f6f4 => {
                    matrix_format(code.into()).ok_or(MatrixLayoutError::ReservedFormat { matrix, code })
                }
                elem => Ok(elem),
            }
        };
        let inputs =
            [input(Matrix::A, Role::Src0, modifiers.cbsz)?, input(Matrix::B, Role::Src1, modifiers.blgp)?];
        let layout = MatrixLayout { row, shape, modifiers: *modifiers, inputs };
        let BlockBroadcast { group_log2, block } = layout.broadcast();
        let group = 1 << u32::from(group_log2).min(31);
        if group > shape.blocks || u32::from(block) >= group {
            let &Modifiers { cbsz, abid, .. } = modifiers;
            return Err(MatrixLayoutError::Broadcast { cbsz, abid, blocks: shape.blocks });
        }
        Ok(layout)
    }

    /// The sizes of the product.
    pub const fn shape(&self) -> MatrixShape {
        self.shape
    }

    /// The instruction.
    pub const fn op(&self) -> Op {
        self.row.op
    }

    /// Whether A is sparse: two of every four consecutive elements of a row are stored.
    pub fn is_sparse(&self) -> bool {
        self.row.flags().contains(Flag::Sparse)
    }

    /// Whether CBSZ, ABID and BLGP select the blocks and lanes to read. Elsewhere they are formats
    /// or signs, or select indices (CDNA4 ISA 7.1.6, 7.5).
    pub fn permutes(&self) -> bool {
        let typed = self.row.operand(Role::Src0).map(|spec| spec.ty.elem);
        !self.is_sparse() && !matches!(typed, Some(Elem::F64 | Elem::F8f6f4))
    }

    /// The matrices of the instruction. A sparse product adds to its result, which is listed as D
    /// alone.
    pub fn matrices(&self) -> impl Iterator<Item = Matrix> + use<> {
        let (sparse, scaled) = (self.is_sparse(), self.row.format == Format::MaiScaled);
        Matrix::ALL.iter().copied().filter(move |matrix| match matrix {
            Matrix::A | Matrix::B | Matrix::D => true,
            Matrix::C => !sparse,
            Matrix::Indices => sparse,
            Matrix::ScaleA | Matrix::ScaleB => scaled,
        })
    }

    /// The operand that holds a matrix.
    pub const fn role(matrix: Matrix) -> Role {
        match matrix {
            Matrix::A => Role::Src0,
            Matrix::B => Role::Src1,
            Matrix::C | Matrix::Indices => Role::Src2,
            Matrix::D => Role::Vdst,
            Matrix::ScaleA => Role::Scale0,
            Matrix::ScaleB => Role::Scale1,
        }
    }

    /// The type of the elements of A, B, C or D. Indices (two-bit numbers) and scales (eight-bit
    /// exponents) have no type in the rows.
    pub fn elem(&self, matrix: Matrix) -> Option<Elem> {
        match matrix {
            Matrix::A => Some(self.inputs[0]),
            Matrix::B => Some(self.inputs[1]),
            Matrix::C | Matrix::D => self.row.operand(Role::Vdst).map(|spec| spec.ty.elem),
            Matrix::Indices | Matrix::ScaleA | Matrix::ScaleB => None,
        }
    }

    /// How many elements a lane has.
    fn items(&self, matrix: Matrix) -> u32 {
        let count = |role| self.row.operand(role).map_or(0, |spec| u32::from(spec.ty.count));
        match matrix {
            Matrix::A | Matrix::Indices => count(Role::Src0),
            Matrix::B => count(Role::Src1),
            Matrix::C | Matrix::D => count(Role::Vdst),
            Matrix::ScaleA | Matrix::ScaleB => 1,
        }
    }

    /// Width of an element in bits.
    pub fn bits(&self, matrix: Matrix) -> u32 {
        match matrix {
            Matrix::Indices => 2,
            Matrix::ScaleA | Matrix::ScaleB => 8,
            _ => self.elem(matrix).map_or(32, Elem::bits),
        }
    }

    /// The number of registers that hold a matrix.
    pub fn registers(&self, matrix: Matrix) -> u32 {
        (self.items(matrix) * self.bits(matrix)).div_ceil(32)
    }

    /// The number of columns of A that are stored.
    fn stored_depth(&self) -> u32 {
        if self.is_sparse() { self.shape.depth / 2 } else { self.shape.depth }
    }

    /// The size of a matrix.
    pub fn extent(&self, matrix: Matrix) -> MatrixExtent {
        let MatrixShape { rows, columns, depth, blocks } = self.shape;
        let scales = depth / SCALED_TOGETHER;
        let (rows, columns) = match matrix {
            Matrix::A | Matrix::Indices => (rows, self.stored_depth()),
            Matrix::B => (depth, columns),
            Matrix::C | Matrix::D => (rows, columns),
            Matrix::ScaleA => (rows, scales),
            Matrix::ScaleB => (scales, columns),
        };
        MatrixExtent { blocks, rows, columns }
    }

    /// The location of the element in this block, row and column; `None` if there is no such
    /// element.
    ///
    /// Columns 2n and 2n + 1 of a sparse A are the two stored ones of columns 4n to 4n + 3. The
    /// indices of the same row and columns say which two.
    pub fn location(&self, matrix: Matrix, block: u32, row: u32, column: u32) -> Option<MatrixLocation> {
        let extent = self.extent(matrix);
        if block >= extent.blocks || row >= extent.rows || column >= extent.columns {
            return None;
        }
        let MatrixShape { rows, columns, depth, .. } = self.shape;
        let bits = self.bits(matrix);
        let (lane, bit) = match matrix {
            Matrix::A => {
                let (lane, item) =
                    self.input(matrix, rows, self.stored_depth(), self.source_block(block), row, column);
                (lane, item * bits)
            }
            Matrix::B => {
                let (lane, item) = self.input(matrix, columns, depth, block, column, row);
                (self.lane_permutation().source(lane), item * bits)
            }
            Matrix::C | Matrix::D => {
                let (lane, item) = self.output(block, row, column);
                (lane, item * bits)
            }
            Matrix::Indices => {
                let (lane, item) = self.input(Matrix::A, rows, self.stored_depth(), block, row, column);
                (lane, self.index_set() * self.items(matrix) * bits + item * bits)
            }
            Matrix::ScaleA => (row + rows * column, u32::from(self.scale_bytes()[0]) * bits),
            Matrix::ScaleB => (column + columns * row, u32::from(self.scale_bytes()[1]) * bits),
        };
        Some(MatrixLocation {
            lane: u8::try_from(lane).ok()?,
            bit: u16::try_from(bit).ok()?,
            bits: u8::try_from(bits).ok()?,
        })
    }

    /// Every element of a matrix: block, row, column and location, in this order.
    pub fn elements(&self, matrix: Matrix) -> impl Iterator<Item = (u32, u32, u32, MatrixLocation)> + '_ {
        let extent = self.extent(matrix);
        let blocks = (0..extent.blocks).flat_map(move |b| (0..extent.rows).map(move |r| (b, r)));
        blocks.flat_map(move |(b, r)| (0..extent.columns).map(move |c| (b, r, c))).filter_map(
            move |(block, row, column)| {
                self.location(matrix, block, row, column).map(|location| (block, row, column, location))
            },
        )
    }

    /// Lane and item of an element of A or B. `along` is its row of A or column of B, out of
    /// `size`; `k` is its index in the other dimension, out of `depth`.
    ///
    /// Lanes cover the first dimension, then blocks, then runs of k. Where bytes or wider elements
    /// fill eight registers, the registers hold two matrices of half the depth, one after the other
    /// (CDNA4 ISA 7.1.5, 7.5.1).
    fn input(&self, matrix: Matrix, size: u32, depth: u32, block: u32, along: u32, k: u32) -> (u32, u32) {
        let (items, bits) = (self.items(matrix), self.bits(matrix));
        let halves = if items * bits == 8 * 32 && bits >= 8 { 2 } else { 1 };
        let run = (items / halves).max(1);
        let depth = (depth / halves).max(1);
        let (half, k) = (k / depth, k % depth);
        (along + size * (block + self.shape.blocks * (k / run)), half * run + k % run)
    }

    /// Lane and item of an element of C or D.
    ///
    /// A lane holds four consecutive rows (one for doubles). Lanes cover columns, then as many
    /// blocks as fit, then groups of rows; the rest goes to further items. For the 4x4x4 product of
    /// doubles, the chip and AMD's matrix instruction calculator agree with this; CDNA4 ISA 7.1.4.2
    /// puts rows before blocks there.
    fn output(&self, block: u32, row: u32, column: u32) -> (u32, u32) {
        let MatrixShape { rows, columns, .. } = self.shape;
        let height = if self.elem(Matrix::D) == Some(Elem::F64) { 1 } else { 4 };
        let groups = (rows / height).max(1);
        let blocks = (LANES / (columns * groups).max(1)).max(1);
        let at_once = (LANES / blocks / columns).max(1);
        let (group, in_group) = (row / height, row % height);
        let further = group / at_once + groups / at_once * (block / blocks);
        (column + columns * (block % blocks + blocks * (group % at_once)), in_group + height * further)
    }

    /// The groups of blocks that read A from one block: CBSZ forms groups of blocks, and ABID names
    /// one block of the group.
    ///
    /// This follows CDNA3 ISA 13.3.6.1, table 88, and AMD's matrix instruction calculator. CDNA4
    /// ISA 7.1.6.1 differs where a group is not all blocks.
    pub fn broadcast(&self) -> BlockBroadcast {
        let &Modifiers { cbsz, abid, .. } = &self.modifiers;
        match self.permutes() && cbsz != 0 {
            true => BlockBroadcast { group_log2: cbsz, block: abid },
            false => BlockBroadcast { group_log2: 0, block: 0 },
        }
    }

    /// The block that A is read from.
    fn source_block(&self, block: u32) -> u32 {
        let BlockBroadcast { group_log2, block: in_group } = self.broadcast();
        (block >> group_log2 << group_log2) + u32::from(in_group)
    }

    /// The permutation of the lanes that B is read from, as selected by BLGP (CDNA4 ISA 7.1.6.2).
    pub fn lane_permutation(&self) -> LanePermutation {
        match self.modifiers.blgp {
            _ if !self.permutes() => LanePermutation::Own,
            blgp @ 1..=2 => LanePermutation::Half(blgp - 1),
            3 => LanePermutation::Rotate16,
            blgp @ 4..=7 => LanePermutation::Quarter(blgp - 4),
            _ => LanePermutation::Own,
        }
    }

    /// The matrices that change sign: bit 0 for A, bit 1 for B, bit 2 for C. In a product of
    /// doubles, BLGP selects them (CDNA3 ISA 13.3.6.1). `None` if BLGP is not 0 and the target has
    /// no such signs.
    pub fn signs(&self, target: Target) -> Option<u8> {
        let blgp = self.modifiers.blgp;
        match self.inputs[0] {
            Elem::F64 if blgp != 0 => target.facts().blgp_negates_doubles.then_some(blgp & 7),
            _ => Some(0),
        }
    }

    /// Which set of indices in the register applies, where it holds several: ABID if CBSZ is 0
    /// (CDNA4 ISA 7.5).
    pub fn index_set(&self) -> u32 {
        let sets = 32 / (2 * self.items(Matrix::Indices)).max(1);
        // Four sets look at two bits of CBSZ.
        let field = if sets == 4 { self.modifiers.cbsz & 3 } else { self.modifiers.cbsz };
        if field == 0 { u32::from(self.modifiers.abid) % sets.max(1) } else { 0 }
    }

    /// The bytes of the two scale registers, A's first, that OP_SEL_HI and OP_SEL select (CDNA4 ISA
    /// 7.2.1).
    pub fn scale_bytes(&self) -> [u8; 2] {
        let &Modifiers { op_sel, op_sel_hi, .. } = &self.modifiers;
        [0, 1].map(|bit| (op_sel_hi >> bit & 1) << 1 | op_sel >> bit & 1)
    }
}

impl Row {
    /// Whether the instruction multiplies matrices on `target`.
    pub fn is_matrix_product(&self, target: Target) -> bool {
        self.targets.contains(target) && self.shape.is_some()
    }
}
