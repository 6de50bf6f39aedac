//! What an access leaves when its coordinates are outside an image.

use std::fmt;

use wavemill_ir::TexelFormat;

use super::descriptor::Dimensions;

/// A part of the address of a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Coordinate {
    /// The column.
    X,
    /// The row.
    Y,
    /// The depth in a volume.
    Z,
    /// The array slice.
    Slice,
    /// The face of a cube; the faces of all cubes of an array have numbers in sequence.
    Face,
    /// The sample of a texel.
    Sample,
    /// The mip level.
    Level,
}

impl Coordinate {
    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Coordinate::X => "x",
            Coordinate::Y => "y",
            Coordinate::Z => "z",
            Coordinate::Slice => "slice",
            Coordinate::Face => "face",
            Coordinate::Sample => "sample",
            Coordinate::Level => "level",
        }
    }

    /// The third coordinate of an image of these dimensions.
    pub(super) const fn third(dimensions: Dimensions) -> Coordinate {
        match dimensions {
            Dimensions::D3 => Coordinate::Z,
            Dimensions::Cube => Coordinate::Face,
            _ => Coordinate::Slice,
        }
    }
}

/// The extent of an image in the coordinate that an access leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageExtent {
    /// The coordinate that is outside.
    pub coordinate: Coordinate,
    /// The first value of the coordinate that is outside.
    pub end: u32,
    /// Address of the first byte of the image.
    pub base: u64,
    /// Its dimensions.
    pub dimensions: Dimensions,
    /// The accessed level of the view; 0 if the level is outside.
    pub level: u32,
    /// Size of that level: width, height, and depth or slices.
    pub size: [u32; 3],
    /// Format of a texel.
    pub format: TexelFormat,
}

/// The size and the format: `640 x 480 texels, 6 slices, 8_8_8_8.unorm`.
impl fmt::Display for ImageExtent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [width, height, third] = self.size;
        let counted = |f: &mut fmt::Formatter<'_>, n: u32, of: Coordinate| {
            write!(f, ", {n} {}{}", of.name(), if n == 1 { "" } else { "s" })
        };
        write!(f, "{width}")?;
        if self.dimensions.axes() > 1 {
            write!(f, " x {height}")?;
        }
        if self.dimensions.axes() > 2 {
            write!(f, " x {third}")?;
        }
        f.write_str(" texels")?;
        if self.dimensions.has_slices() {
            counted(f, third, Coordinate::third(self.dimensions))?;
        }
        if matches!(self.coordinate, Coordinate::Sample | Coordinate::Level) {
            counted(f, self.end, self.coordinate)?;
        }
        write!(f, ", {}", self.format)
    }
}

#[cfg(test)]
mod tests {
    use wavemill_ir::{DataFormat, TexelNumber};

    use super::*;

    #[test]
    fn sizes_name_what_the_image_has() {
        let format = TexelFormat { data: DataFormat::D8_8_8_8, number: TexelNumber::Unorm };
        let text = |dimensions, coordinate, end| {
            ImageExtent { coordinate, end, base: 0, dimensions, level: 0, size: [8, 4, 6], format }
                .to_string()
        };
        for (dimensions, coordinate, end, expected) in [
            (Dimensions::D1, Coordinate::X, 8, "8 texels, 8_8_8_8.unorm"),
            (Dimensions::D2, Coordinate::Level, 1, "8 x 4 texels, 1 level, 8_8_8_8.unorm"),
            (Dimensions::D3, Coordinate::Z, 6, "8 x 4 x 6 texels, 8_8_8_8.unorm"),
            (Dimensions::Cube, Coordinate::Face, 6, "8 x 4 texels, 6 faces, 8_8_8_8.unorm"),
            (Dimensions::D1Array, Coordinate::X, 8, "8 texels, 6 slices, 8_8_8_8.unorm"),
            (
                Dimensions::SamplesArray,
                Coordinate::Sample,
                4,
                "8 x 4 texels, 6 slices, 4 samples, 8_8_8_8.unorm",
            ),
        ] {
            assert_eq!(text(dimensions, coordinate, end), expected);
        }
    }
}
