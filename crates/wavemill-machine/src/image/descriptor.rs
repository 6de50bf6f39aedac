//! What descriptors say, whatever their bits are.

use wavemill_ir::TexelFormat;

use super::surface::{Layout, Surface};

/// The dimensions of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Dimensions {
    /// A row.
    D1,
    /// A rectangle.
    D2,
    /// A box.
    D3,
    /// Six faces, or several times six.
    Cube,
    /// Several rows.
    D1Array,
    /// Several rectangles.
    D2Array,
    /// A rectangle whose texels have several samples.
    Samples,
    /// Several of them.
    SamplesArray,
}

impl Dimensions {
    /// Coordinates without slice, face and sample.
    #[must_use]
    pub const fn axes(self) -> usize {
        match self {
            Dimensions::D1 | Dimensions::D1Array => 1,
            Dimensions::D3 => 3,
            _ => 2,
        }
    }

    /// Whether it has array slices, or faces.
    #[must_use]
    pub const fn has_slices(self) -> bool {
        use Dimensions::{Cube, D1Array, D2Array, SamplesArray};
        matches!(self, Cube | D1Array | D2Array | SamplesArray)
    }

    /// Whether its texels have several samples.
    #[must_use]
    pub const fn has_samples(self) -> bool {
        matches!(self, Dimensions::Samples | Dimensions::SamplesArray)
    }
}

/// What a component of the result is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Select {
    /// Zero.
    Zero,
    /// One, of the kind of number that the format has.
    One,
    /// The channel with this number.
    Channel(u8),
}

/// The channels in their own order.
pub const IDENTITY: [Select; 4] =
    [Select::Channel(0), Select::Channel(1), Select::Channel(2), Select::Channel(3)];

/// An image, as a resource describes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Address of the first byte: a multiple of 256.
    pub base: u64,
    /// Format of a texel.
    pub format: TexelFormat,
    /// The four components of the result.
    pub select: [Select; 4],
    /// The channel of the border colour that each channel of a texel outside the image has.
    pub border: [u8; 4],
    /// Its dimensions.
    pub dimensions: Dimensions,
    /// The memory that it is a part of.
    pub surface: Surface,
    /// First level and last level of the view.
    pub levels: (u32, u32),
    /// First array slice and number of slices of the view.
    pub slices: (u32, u32),
    /// The finest level that samples use, in 1/256, counted from level 0 of the memory.
    pub min_level: i32,
}

impl Resource {
    /// Where its texels are.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.surface.layout()
    }

    /// Size of a level of the view, counted from its first one: width, height, and depth or slices.
    #[must_use]
    pub fn size(&self, level: u32) -> [u32; 3] {
        let [width, height, depth] = self.surface.size(self.levels.0 + level);
        let height = if self.dimensions.axes() == 1 { 1 } else { height };
        let third = match self.dimensions {
            Dimensions::D3 => depth,
            of if of.has_slices() => self.slices.1,
            _ => 1,
        };
        [width, height, third]
    }
}

/// What a coordinate outside the image means.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum AddressMode {
    /// The image repeats.
    Wrap,
    /// It repeats, every second time mirrored.
    Mirror,
    /// The texel at the edge.
    Clamp,
    /// Mirrored at 0 once, then the texel at the edge.
    MirrorOnce,
    /// The coordinate at the edge, halfway between the last texel and the border.
    ClampHalfBorder,
    /// Mirrored at 0 once, then the same.
    MirrorOnceHalfBorder,
    /// The border colour.
    Border,
    /// Mirrored at 0 once, then the border colour.
    MirrorOnceBorder,
}

impl AddressMode {
    /// All modes, in the order of their numbers in samplers.
    pub const ALL: [AddressMode; 8] = {
        use AddressMode::{
            Border, Clamp, ClampHalfBorder, Mirror, MirrorOnce, MirrorOnceBorder, MirrorOnceHalfBorder, Wrap,
        };
        [Wrap, Mirror, Clamp, MirrorOnce, ClampHalfBorder, MirrorOnceHalfBorder, Border, MirrorOnceBorder]
    };
}

/// The comparison of a reference with a texel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Compare {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

impl Compare {
    /// All comparisons, in the order of their numbers in samplers.
    pub const ALL: [Compare; 8] = {
        use Compare::{Always, Equal, Greater, GreaterEqual, Less, LessEqual, Never, NotEqual};
        [Never, Less, Equal, LessEqual, Greater, NotEqual, GreaterEqual, Always]
    };

    /// Whether the reference and the texel compare so. A NaN only differs.
    #[must_use]
    pub fn holds(self, reference: f32, texel: f32) -> bool {
        match self {
            Compare::Never => false,
            Compare::Less => reference < texel,
            Compare::Equal => reference == texel,
            Compare::LessEqual => reference <= texel,
            Compare::Greater => reference > texel,
            Compare::NotEqual => reference != texel,
            Compare::GreaterEqual => reference >= texel,
            Compare::Always => true,
        }
    }
}

/// How texels of a filter become one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Reduction {
    /// Their weighted sum.
    Blend,
    /// The smallest one.
    Min,
    /// The largest one.
    Max,
}

/// The mip levels that a sample uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum MipFilter {
    /// The first one.
    None,
    /// The nearest one.
    Point,
    /// The two around the level of detail.
    Linear,
}

/// The colour of texels outside the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BorderColour {
    /// All channels 0.
    TransparentBlack,
    /// The last channel 1, the others 0.
    OpaqueBlack,
    /// All channels 1.
    White,
    /// The colour with this number in the table of the device, [`BorderColours`](super::BorderColours).
    Table(u16),
}

/// A sampler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sampler {
    /// What coordinates outside the image mean, for each axis.
    pub address: [AddressMode; 3],
    /// The comparison, for samples that have a reference.
    pub compare: Compare,
    /// Coordinates count texels.
    pub unnormalised: bool,
    /// Coordinates are cut to 1/256 of a texel, not rounded.
    pub truncates: bool,
    /// Faces of a cube do not continue on their neighbours.
    pub faces_apart: bool,
    /// How texels become one.
    pub reduction: Reduction,
    /// Range of the level of detail, in 1/256.
    pub levels: (i32, i32),
    /// Added to the level of detail, in 1/256.
    pub bias: i32,
    /// Whether the filter for magnified and for minified texels is bilinear.
    pub bilinear: [bool; 2],
    /// Whether the filter along the third axis is linear; `None` is the same as the others.
    pub linear_depth: Option<bool>,
    /// The filter of mip levels.
    pub mip: MipFilter,
    /// Half a level is added before the level of detail is brought into its range.
    pub rounds_first: bool,
    /// The border colour.
    pub border: BorderColour,
}

/// Kind of a descriptor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Descriptor {
    /// An image resource.
    Image,
    /// A sampler.
    Sampler,
}

impl Descriptor {
    /// Name for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Descriptor::Image => "image resource",
            Descriptor::Sampler => "sampler",
        }
    }
}

/// A field of a descriptor that says something that the machine does not do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DescriptorProblem {
    /// The descriptor.
    pub descriptor: Descriptor,
    /// Name of the field.
    pub field: &'static str,
    /// Its lowest and its highest bit in the descriptor.
    pub bits: (u16, u16),
    /// Its value.
    pub value: u32,
    /// What is wrong, and what would be right.
    pub problem: &'static str,
}

impl std::fmt::Display for DescriptorProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let DescriptorProblem { descriptor, field, bits: (low, high), value, problem } = self;
        write!(f, "{} with {field} {value}", descriptor.name())?;
        let bits = if low == high { format!("bit {low}") } else { format!("bits {high}:{low}") };
        write!(f, " ({bits}): {problem}")
    }
}
