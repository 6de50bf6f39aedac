//! Exports: values that lanes send to a graphics pipeline.

use std::fmt;

/// Where an export goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum ExportTarget {
    /// A colour of a pixel: the number of the render target.
    Colour(u8),
    /// The depth of a pixel.
    Depth,
    /// Nowhere: only the mask of valid pixels is sent.
    Nothing,
    /// A position of a vertex.
    Position(u8),
    /// A parameter of a vertex.
    Parameter(u8),
    /// A number that the instruction family reserves.
    Other(u8),
}

/// An export: its target, and what it sends there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ExportOp {
    /// Where it goes.
    pub target: ExportTarget,
    /// One bit for each of the four components that are sent.
    pub components: u8,
    /// Whether components are halves of a cell: the first two those of source 0, the others those of
    /// source 1. Otherwise each is a cell of its own source.
    pub halves: bool,
    /// Whether it is the last export of its kind.
    pub last: bool,
    /// Whether the active lanes are the valid pixels.
    pub valid: bool,
}

impl ExportOp {
    /// One bit for each source that is sent.
    #[must_use]
    pub const fn sources(self) -> u8 {
        match self.halves {
            true => (self.components & 3 != 0) as u8 | ((self.components & 0xc != 0) as u8) << 1,
            false => self.components & 15,
        }
    }
}

impl fmt::Display for ExportTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExportTarget::Colour(n) => write!(f, "colour{n}"),
            ExportTarget::Depth => f.write_str("depth"),
            ExportTarget::Nothing => f.write_str("nothing"),
            ExportTarget::Position(n) => write!(f, "position{n}"),
            ExportTarget::Parameter(n) => write!(f, "parameter{n}"),
            ExportTarget::Other(n) => write!(f, "target{n}"),
        }
    }
}

/// Its target, the components, and its properties: `colour0.xyzw.last.valid`.
impl fmt::Display for ExportOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.", self.target)?;
        for (n, name) in ["x", "y", "z", "w"].into_iter().enumerate() {
            if self.components >> n & 1 != 0 {
                f.write_str(name)?;
            }
        }
        for (has, name) in [(self.halves, ".halves"), (self.last, ".last"), (self.valid, ".valid")] {
            f.write_str(if has { name } else { "" })?;
        }
        Ok(())
    }
}

/// A part of a parameter that is interpolated over a primitive: its value at the first vertex, or the
/// difference between another vertex and the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ParameterPart {
    /// The value at the first vertex.
    P0,
    /// The difference between the second vertex and the first.
    P10,
    /// The difference between the third vertex and the first.
    P20,
}

impl ParameterPart {
    /// Byte offset in LDS of a lane's parameter. `source` and `imm` are those of
    /// [`Op::Parameter`](crate::Op::Parameter).
    #[must_use]
    pub fn offset(self, source: u32, imm: i32, lane: usize) -> u64 {
        let (attribute, channel) = (u64::from(imm as u32 >> 2), u64::from(imm as u32 & 3));
        // Bit n of the mask: quad n begins a primitive. The first one always does.
        let begins = source >> 15 & 0xffff | 1;
        let until = (2u32 << (lane / 4 % 16)) - 1;
        let primitive = u64::from((begins & until).count_ones() - 1);
        let primitives = u64::from(begins.count_ones());
        let dword = 12 * (attribute * primitives + primitive) + 4 * (self as u64) + channel;
        u64::from(source & 0xffff) + 4 * dword
    }
}
