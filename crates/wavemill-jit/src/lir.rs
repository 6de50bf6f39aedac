//! Strip code: what one IR operation on rows does to a strip of 16 lanes, in instructions of the host.
//!
//! It is a template. The emitter repeats it for each strip, with the registers of the strip.

use iced_x86::Code;

/// A source of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Src {
    /// The row at an offset in the register file.
    Row(u32),
    /// A value of the operation's own.
    Temp(u8),
    /// The cell at an offset in the register file, in all lanes.
    Cell(u32),
    /// A constant in all lanes.
    Const(u32),
    /// The pair of cells at an offset in the register file, in all 64-bit numbers.
    CellPair(u32),
    /// A constant in all 64-bit numbers.
    ConstPair(u64),
    /// Four constants in each quarter of the strip.
    Quad([u32; 4]),
}

/// A destination of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dst {
    /// The row at an offset in the register file.
    Row(u32),
    /// A value of the operation's own.
    Temp(u8),
    /// A mask of the operation's own: 0, 1 or 2.
    Mask(u8),
}

/// Lanes that an instruction computes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Where {
    /// All of them, or the active ones if the destination is a row.
    #[default]
    Everywhere,
    /// Those in a mask of the operation's own; the others keep their value.
    Mask(u8),
    /// The active ones. The destination is a mask, whose other bits become zero.
    Active,
}

/// An instruction of strip code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    /// `dst = code(a, b)`, `dst = code(b)` without `a`. The destination is also a source of instructions that accumulate.
    Vector { code: Code, dst: Dst, a: Option<Src>, b: Src, imm: Option<u8>, lanes: Where },
    /// `dst = code(a, b)` on masks of the operation's own.
    Mask { code: Code, dst: u8, a: u8, b: u8 },
    /// `dst` = the strip's bits of the pair of cells at an offset.
    LoadMask { dst: u8, cells: u32 },
    /// `dst` = the top bits of the bytes of a value of the operation's own: 64 bits.
    BytesToMask { dst: u8, a: Src },
    /// `dst = code(a, b)` in the bytes of a mask of 64 bits; the others keep their value.
    Bytes { code: Code, dst: u8, a: Src, b: Src, mask: u8 },
    /// Bits of lanes that are not active become zero.
    AndActive { dst: u8 },
}

impl Step {
    /// Its sources but masks.
    fn sources(&self) -> impl Iterator<Item = Src> {
        let (first, second) = match *self {
            Step::Vector { a, b, .. } => (a, Some(b)),
            Step::Bytes { a, b, .. } => (Some(a), Some(b)),
            Step::BytesToMask { a, .. } => (Some(a), None),
            Step::Mask { .. } | Step::LoadMask { .. } | Step::AndActive { .. } => (None, None),
        };
        [first, second].into_iter().flatten()
    }

    /// The source that must be in a register.
    pub(crate) fn first_source(&self) -> Option<Src> {
        match *self {
            Step::Vector { a, .. } => a,
            Step::Bytes { a, .. } | Step::BytesToMask { a, .. } => Some(a),
            Step::Mask { .. } | Step::LoadMask { .. } | Step::AndActive { .. } => None,
        }
    }
}

/// Strip code of an operation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Strip {
    /// Its instructions.
    pub steps: Vec<Step>,
    /// Number of values of its own.
    pub temps: u8,
    /// A mask of its own that is a result, and the pair of cells that it goes to.
    pub mask_result: Option<(u8, u32)>,
    /// It computes all lanes, active or not.
    pub all_lanes: bool,
    /// What is for the interpreter.
    pub refuses: Refused,
}

/// What an operation leaves to the interpreter. Most of it are NaNs: hosts differ in those that they make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Refused {
    /// None.
    #[default]
    Nothing,
    /// f32 in rows that are results.
    Results,
    /// f32 in two sources.
    Sources([Src; 2]),
    /// f64 in the two rows that are results, with infinities.
    WideResults,
    /// No NaN: numbers in a cell with one of these bits.
    Bits { cell: u32, bits: u32 },
}

impl Strip {
    /// Rows that it reads, each once.
    pub(crate) fn sources(&self) -> Vec<u32> {
        let mut rows = Vec::new();
        for step in &self.steps {
            for src in step.sources() {
                if let Src::Row(row) = src
                    && !rows.contains(&row)
                {
                    rows.push(row);
                }
            }
        }
        rows
    }

    /// Rows that it writes, each once.
    pub(crate) fn results(&self) -> Vec<u32> {
        let mut rows = Vec::new();
        for step in &self.steps {
            if let Step::Vector { dst: Dst::Row(row), .. } = step
                && !rows.contains(row)
            {
                rows.push(*row);
            }
        }
        rows
    }

    /// Whether it writes a row and reads one that it has written, or one that is a source, afterwards.
    pub(crate) fn reads_after_write(&self) -> bool {
        let mut written = Vec::new();
        for step in &self.steps {
            if step.sources().any(|src| matches!(src, Src::Row(row) if written.contains(&row))) {
                return true;
            }
            if let Step::Vector { dst: Dst::Row(row), .. } = step {
                written.push(*row);
            }
        }
        false
    }
}
