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
    /// Those in a mask of the operation's own; the others become zero.
    MaskElseZero(u8),
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
    /// Bits of lanes that are not active become zero.
    AndActive { dst: u8 },
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
    /// NaNs that are for the interpreter.
    pub refuses: Refused,
}

/// Which NaNs an operation leaves to the interpreter: hosts differ in the NaNs that they make.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Refused {
    /// None.
    #[default]
    Nothing,
    /// f32 in rows that are results.
    Results,
    /// f32 in two sources.
    Sources([Src; 2]),
}

impl Strip {
    /// Rows that it reads, each once.
    pub(crate) fn sources(&self) -> Vec<u32> {
        let mut rows = Vec::new();
        for step in &self.steps {
            if let Step::Vector { a, b, .. } = step {
                for src in [*a, Some(*b)].into_iter().flatten() {
                    if let Src::Row(row) = src
                        && !rows.contains(&row)
                    {
                        rows.push(row);
                    }
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
            if let Step::Vector { dst, a, b, .. } = step {
                let reads = [*a, Some(*b)].into_iter().flatten();
                if reads.into_iter().any(|src| matches!(src, Src::Row(row) if written.contains(&row))) {
                    return true;
                }
                if let Dst::Row(row) = dst {
                    written.push(*row);
                }
            }
        }
        false
    }
}
