//! Images: what an operation does with the texels that a resource describes.
//!
//! An [`ImageOp`] says everything about an access except its registers and descriptors. The machine
//! reads the descriptors at run time, and engines never see an instruction set.

use std::fmt;

use crate::{AtomicOp, Width};

/// The form of the data of a load or a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageData {
    /// Four channels, converted as the format of the resource says.
    Converted,
    /// The bits of the texel as they are in memory. A load extends them with zeros.
    Raw,
    /// The same for a load that extends the bits with their sign.
    RawSigned,
}

/// Where the level of detail of a sample comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageLevel {
    /// The differences of coordinates between the lanes of a quad: four lanes from a multiple of
    /// four on. The second lane is to the right of the first, the third one is below it.
    Quad,
    /// The same, plus a number of each lane.
    Bias,
    /// The address has it.
    Given,
    /// Zero.
    Zero,
    /// Derivatives in the address: of all coordinates to the right, then of all downwards.
    Gradients {
        /// The derivatives of the first lane of a quad count for the quad.
        coarse: bool,
    },
    /// Derivatives of each lane in the address, plus a number of each lane.
    BiasedGradients,
}

impl ImageLevel {
    /// Whether the address has a number that is added to the level.
    #[must_use]
    pub const fn has_bias(self) -> bool {
        matches!(self, ImageLevel::Bias | ImageLevel::BiasedGradients)
    }

    /// Whether the address has derivatives.
    #[must_use]
    pub const fn has_gradients(self) -> bool {
        matches!(self, ImageLevel::Gradients { .. } | ImageLevel::BiasedGradients)
    }
}

/// The texels whose channel a gather returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageGather {
    /// The two by two texels of a bilinear filter: lower left, lower right, upper right, upper left.
    Square,
    /// The same; in an image of integers, the upper left texel is that of the point, as without a
    /// filter.
    SquareOrPoint,
    /// Four texels of a row.
    Row,
    /// The bits of that many texels of a row, packed.
    PackedRow(u8),
}

/// What an operation does with an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum ImageKind {
    /// Reads a texel.
    Load {
        /// The form of the data.
        data: ImageData,
        /// The address has a mip level.
        mip: bool,
    },
    /// Writes a texel.
    Store {
        /// The form of the data.
        data: ImageData,
        /// The address has a mip level.
        mip: bool,
    },
    /// Changes a texel of 32 or 64 bits atomically.
    Atomic(AtomicOp, Width),
    /// Returns width, height, depth and number of mip levels.
    Size,
    /// Reads texels through a sampler and filters them.
    Sample(ImageLevel),
    /// Reads one channel of several texels through a sampler.
    Gather(ImageLevel, ImageGather),
    /// Returns the level of detail that a sample would use, clamped to the levels that exist, and
    /// before it is clamped.
    Level,
}

/// An access to an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ImageOp {
    /// What it does.
    pub kind: ImageKind,
    /// The channels that registers hold, in ascending order: bit 0 is red. For an atomic, a bit for
    /// each cell of data.
    pub channels: u8,
    /// The address has texel offsets.
    pub offset: bool,
    /// The address has a reference that texels are compared with.
    pub compare: bool,
    /// The address has a lower limit of the level of detail.
    pub clamp: bool,
    /// Data are 16 bits wide, two in a cell.
    pub half: bool,
    /// Coordinates are 16 bits wide, two in a cell: integers without a sampler, f16 with one.
    pub short: bool,
    /// The address has the number of an array slice.
    pub array: bool,
    /// Coordinates that count texels, whatever the sampler says: bit 0 is the first one.
    pub unnormalised: u8,
    /// The cells that coordinates and derivatives have in the address, 2 or 3, whatever the resource
    /// has; the last one is the slice or the face if it has any. A sample takes the cell of the mip
    /// level. 0: as many cells as the resource needs, and `array` says whether there is a slice.
    pub coordinates: u8,
}

impl ImageOp {
    /// An access without modifiers.
    #[must_use]
    pub const fn new(kind: ImageKind, channels: u8) -> ImageOp {
        ImageOp {
            kind,
            channels,
            offset: false,
            compare: false,
            clamp: false,
            half: false,
            short: false,
            array: false,
            unnormalised: 0,
            coordinates: 0,
        }
    }

    /// Where the level of detail comes from; `None` without a sampler.
    #[must_use]
    pub const fn level(&self) -> Option<ImageLevel> {
        match self.kind {
            ImageKind::Sample(level) | ImageKind::Gather(level, _) => Some(level),
            ImageKind::Level => Some(ImageLevel::Quad),
            _ => None,
        }
    }

    /// Whether it has a sampler.
    #[must_use]
    pub const fn has_sampler(&self) -> bool {
        self.level().is_some()
    }

    /// Whether the address has a mip level of its own.
    #[must_use]
    pub const fn has_mip(&self) -> bool {
        matches!(self.kind, ImageKind::Load { mip: true, .. } | ImageKind::Store { mip: true, .. })
    }

    /// The most cells of the address: those of the resource that needs most.
    #[must_use]
    pub const fn address_cells(&self) -> u16 {
        let coordinates = self.coordinates as u16;
        let Some(level) = self.level() else {
            return match (self.kind, coordinates) {
                (ImageKind::Size, _) => 1,
                (_, 0) => 4,
                _ => coordinates + self.has_mip() as u16,
            };
        };
        let rest = match coordinates {
            0 => 4,
            n => n + matches!(level, ImageLevel::Given) as u16 + self.clamp as u16,
        };
        let gradients = match (level.has_gradients(), coordinates) {
            (false, _) => 0,
            (true, 0) => 6,
            (true, n) => 2 * n,
        };
        self.offset as u16 + level.has_bias() as u16 + self.compare as u16 + gradients + rest
    }

    /// Elements of the data or of the result.
    #[must_use]
    pub const fn elements(&self) -> u16 {
        match self.kind {
            ImageKind::Gather(..) => 4,
            // An access without channels has one element.
            _ => match (self.channels & 15).count_ones() {
                0 => 1,
                n => n as u16,
            },
        }
    }

    /// Cells of the data or of the result.
    #[must_use]
    pub const fn data_cells(&self) -> u16 {
        if self.half { self.elements().div_ceil(2) } else { self.elements() }
    }

    /// Cells of the data that a store or an atomic reads.
    #[must_use]
    pub const fn source_cells(&self) -> u16 {
        if matches!(self.kind, ImageKind::Store { .. } | ImageKind::Atomic(..)) {
            self.data_cells()
        } else {
            0
        }
    }

    /// Cells of the result.
    #[must_use]
    pub const fn result_cells(&self) -> u16 {
        match self.kind {
            ImageKind::Store { .. } => 0,
            ImageKind::Atomic(_, width) => width.dwords(),
            _ => self.data_cells(),
        }
    }

    /// Whether its parameters fit each other.
    #[must_use]
    pub const fn is_defined(&self) -> bool {
        let sampled = self.has_sampler() || !(self.offset || self.compare || self.clamp);
        let kind = match self.kind {
            ImageKind::Atomic(op, width) => {
                let data = if op.has_second_datum() { 2 * width.dwords() } else { width.dwords() };
                self.elements() == data && !self.half && !op.is_float()
            }
            ImageKind::Store { data, .. } => !matches!(data, ImageData::RawSigned),
            ImageKind::Gather(_, shape) => {
                let packed = !matches!(shape, ImageGather::PackedRow(n) if n != 4 && n != 8);
                packed && self.channels.count_ones() == 1
            }
            _ => true,
        };
        let coordinates = matches!(self.coordinates, 0 | 2 | 3) && self.unnormalised < 8;
        kind && sampled && coordinates && self.channels < 16
    }
}

impl fmt::Display for ImageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = |level: &ImageLevel| match level {
            ImageLevel::Quad => "",
            ImageLevel::Bias => ".bias",
            ImageLevel::Given => ".level",
            ImageLevel::Zero => ".zero",
            ImageLevel::Gradients { coarse: false } => ".gradients",
            ImageLevel::Gradients { coarse: true } => ".coarse",
            ImageLevel::BiasedGradients => ".gradients.bias",
        };
        let data = |data: &ImageData, mip: bool| {
            let data = match data {
                ImageData::Converted => "",
                ImageData::Raw => ".raw",
                ImageData::RawSigned => ".raw.signed",
            };
            format!("{}{data}", if mip { ".mip" } else { "" })
        };
        match self {
            ImageKind::Load { data: form, mip } => write!(f, "load{}", data(form, *mip)),
            ImageKind::Store { data: form, mip } => write!(f, "store{}", data(form, *mip)),
            ImageKind::Atomic(op, width) => {
                write!(f, "atomic.{}{}", op.name(), if *width == Width::W64 { "64" } else { "" })
            }
            ImageKind::Size => f.write_str("size"),
            ImageKind::Sample(from) => write!(f, "sample{}", level(from)),
            ImageKind::Gather(from, shape) => {
                let shape = match shape {
                    ImageGather::Square => String::new(),
                    ImageGather::SquareOrPoint => ".or_point".to_owned(),
                    ImageGather::Row => ".row".to_owned(),
                    ImageGather::PackedRow(n) => format!(".packed{n}"),
                };
                write!(f, "gather{shape}{}", level(from))
            }
            ImageKind::Level => f.write_str("get_level"),
        }
    }
}

/// The text form: `sample.level.compare.rgba`. Everything that is not the default follows the
/// channels: `load.rg.array.half`.
impl fmt::Display for ImageOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        for (set, name) in [(self.compare, "compare"), (self.clamp, "clamp"), (self.offset, "offset")] {
            if set {
                write!(f, ".{name}")?;
            }
        }
        if !matches!(self.kind, ImageKind::Atomic(..)) {
            let names = "rgba".chars().enumerate().filter(|(n, _)| self.channels >> n & 1 != 0);
            write!(
                f,
                ".{}",
                if self.channels & 15 == 0 { "none".to_owned() } else { names.map(|n| n.1).collect() }
            )?;
        }
        if self.array {
            f.write_str(".array")?;
        }
        if self.coordinates != 0 {
            write!(f, ".of{}", self.coordinates)?;
        }
        if self.unnormalised != 0 {
            f.write_str(".texels")?;
        }
        if !matches!(self.unnormalised, 0 | 7) {
            let axes = "xyz".chars().enumerate().filter(|(n, _)| self.unnormalised >> n & 1 != 0);
            write!(f, ".{}", axes.map(|n| n.1).collect::<String>())?;
        }
        for (set, name) in [(self.short, "short"), (self.half, "half")] {
            if set {
                write!(f, ".{name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_the_parameters() {
        let load = ImageKind::Load { data: ImageData::Converted, mip: false };
        let op = |kind, channels| ImageOp::new(kind, channels);
        let sample = |level| op(ImageKind::Sample(level), 15);
        let all = ImageOp {
            offset: true,
            compare: true,
            clamp: true,
            ..sample(ImageLevel::Gradients { coarse: false })
        };
        for (op, address, data, result) in [
            (op(load, 15), 4, 0, 4),
            (op(load, 0), 4, 0, 1),
            (ImageOp { half: true, ..op(load, 7) }, 4, 0, 2),
            (op(ImageKind::Store { data: ImageData::Converted, mip: true }, 5), 4, 2, 0),
            (op(ImageKind::Size, 3), 1, 0, 2),
            (op(ImageKind::Atomic(AtomicOp::CmpSwap, Width::W64), 15), 4, 4, 2),
            (sample(ImageLevel::Quad), 4, 0, 4),
            (sample(ImageLevel::Bias), 5, 0, 4),
            (all, 12, 0, 4),
            (op(ImageKind::Gather(ImageLevel::Zero, ImageGather::Square), 2), 4, 0, 4),
        ] {
            assert!(op.is_defined(), "{op}");
            assert_eq!(
                (op.address_cells(), op.source_cells(), op.result_cells()),
                (address, data, result),
                "{op}"
            );
        }
        for op in [
            op(ImageKind::Atomic(AtomicOp::Add, Width::W64), 1),
            op(ImageKind::Atomic(AtomicOp::AddF, Width::W32), 1),
            op(ImageKind::Gather(ImageLevel::Quad, ImageGather::Square), 3),
            op(ImageKind::Gather(ImageLevel::Quad, ImageGather::PackedRow(3)), 1),
            ImageOp { compare: true, ..op(load, 1) },
            op(load, 16),
        ] {
            assert!(!op.is_defined(), "{op}");
        }
    }
}
