//! Images and samplers of a device.
//!
//! An [`Image`] is texels in guest memory, and the descriptor that kernels receive. A [`Sampler`]
//! is a descriptor only. Kernels of OpenCL receive the addresses of descriptors as arguments.

use std::sync::Arc;

use wavemill_isa::gcn::{Format, Op};
use wavemill_isa::{Family, Target};
use wavemill_machine::image::{
    self as machine, IDENTITY, Layout, Reduction, Resource, Select, Surface, TexelBuffer,
};

pub use wavemill_ir::{DataFormat, TexelFormat, TexelNumber};
pub use wavemill_machine::image::{AddressMode, BlockOrder, Compare, Dimensions, MipFilter, Tiling};

use crate::buffer::Buffer;
use crate::guest::DeviceInner;
use crate::{Device, Error, Result};

/// Format of the texels of an image: how they are stored, and which components kernels get.
///
/// ```
/// use wavemill::image::ImageFormat;
///
/// for format in ImageFormat::all() {
///     println!("{}: {} bytes a texel", format.name, format.texel.data.bytes());
/// }
/// let format = ImageFormat::from_name("rg16f").ok_or("no such format")?;
/// assert_eq!((format.channels(), format.texel.data.bytes()), (2, 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageFormat {
    /// Name for options and messages, such as `rgba8`.
    pub name: &'static str,
    /// The texel in memory.
    pub texel: TexelFormat,
    /// The components that kernels get.
    select: [Select; 4],
    /// Numbers of the type and the order of channels in OpenCL's and HSA's interfaces.
    pub(crate) codes: (u32, u32),
}

/// Orders of channels with their numbers in HSA's interface (`hsa_ext_image_channel_order_t`).
mod order {
    use super::{IDENTITY, Select};
    use Select::{Channel, One, Zero};

    pub(super) const R: (u32, [Select; 4]) = (1, [Channel(0), Zero, Zero, One]);
    pub(super) const RG: (u32, [Select; 4]) = (3, [Channel(0), Channel(1), Zero, One]);
    pub(super) const RGB: (u32, [Select; 4]) = (6, [Channel(2), Channel(1), Channel(0), One]);
    pub(super) const RGB_IN_ORDER: (u32, [Select; 4]) = (6, [Channel(0), Channel(1), Channel(2), One]);
    pub(super) const RGBA: (u32, [Select; 4]) = (8, IDENTITY);
    pub(super) const BGRA: (u32, [Select; 4]) = (9, [Channel(2), Channel(1), Channel(0), Channel(3)]);
    pub(super) const SRGBA: (u32, [Select; 4]) = (14, IDENTITY);
    pub(super) const DEPTH: (u32, [Select; 4]) = (18, [Channel(0), Zero, Zero, Zero]);
}

macro_rules! formats {
    ($(#[$doc:meta])* $list:ident: $($name:literal $data:ident $number:ident $order:ident $ty:literal;)*) => {
        $(#[$doc])*
        const $list: &[ImageFormat] = &[$(ImageFormat {
            name: $name,
            texel: TexelFormat { data: DataFormat::$data, number: TexelNumber::$number },
            select: order::$order.1,
            codes: ($ty, order::$order.0),
        }),*];
    };
}

formats! {
    /// Formats of buffers that images do not have.
    OF_BUFFERS:
    "rgb32ui" D32_32_32 Uint RGB_IN_ORDER 13;
    "rgb32i" D32_32_32 Sint RGB_IN_ORDER 10;
    "rgb32f" D32_32_32 Float RGB_IN_ORDER 15;
}

formats! {
    /// All formats with a name. Types of channels have the numbers of HSA's interface
    /// (`hsa_ext_image_channel_type_t`).
    FORMATS:
    "r8" D8 Unorm R 2;
    "rg8" D8_8 Unorm RG 2;
    "rgba8" D8_8_8_8 Unorm RGBA 2;
    "bgra8" D8_8_8_8 Unorm BGRA 2;
    "srgba8" D8_8_8_8 Srgb SRGBA 2;
    "r8s" D8 Snorm R 0;
    "rg8s" D8_8 Snorm RG 0;
    "rgba8s" D8_8_8_8 Snorm RGBA 0;
    "r8ui" D8 Uint R 11;
    "rg8ui" D8_8 Uint RG 11;
    "rgba8ui" D8_8_8_8 Uint RGBA 11;
    "r8i" D8 Sint R 8;
    "rg8i" D8_8 Sint RG 8;
    "rgba8i" D8_8_8_8 Sint RGBA 8;
    "r16" D16 Unorm R 3;
    "rg16" D16_16 Unorm RG 3;
    "rgba16" D16_16_16_16 Unorm RGBA 3;
    "r16s" D16 Snorm R 1;
    "rg16s" D16_16 Snorm RG 1;
    "rgba16s" D16_16_16_16 Snorm RGBA 1;
    "r16ui" D16 Uint R 12;
    "rg16ui" D16_16 Uint RG 12;
    "rgba16ui" D16_16_16_16 Uint RGBA 12;
    "r16i" D16 Sint R 9;
    "rg16i" D16_16 Sint RG 9;
    "rgba16i" D16_16_16_16 Sint RGBA 9;
    "r16f" D16 Float R 14;
    "rg16f" D16_16 Float RG 14;
    "rgba16f" D16_16_16_16 Float RGBA 14;
    "r32ui" D32 Uint R 13;
    "rg32ui" D32_32 Uint RG 13;
    "rgba32ui" D32_32_32_32 Uint RGBA 13;
    "r32i" D32 Sint R 10;
    "rg32i" D32_32 Sint RG 10;
    "rgba32i" D32_32_32_32 Sint RGBA 10;
    "r32f" D32 Float R 15;
    "rg32f" D32_32 Float RG 15;
    "rgba32f" D32_32_32_32 Float RGBA 15;
    "rgb565" D5_6_5 Unorm RGB 6;
    "rgb555" D1_5_5_5 Unorm RGB 5;
    "rgb101010" D2_10_10_10 Unorm RGB 7;
    "depth16" D16 Unorm DEPTH 3;
    "depth32f" D32 Float DEPTH 15;
}

impl ImageFormat {
    /// Whether a buffer can have such texels: its descriptor has no code for the others.
    pub(crate) fn is_of_buffers(self) -> bool {
        DataFormat::OF_BUFFERS.contains(&self.texel.data) && self.texel.number != TexelNumber::Srgb
    }

    /// Dword 3 of the resource of a buffer with such texels.
    pub(crate) fn buffer_word(self) -> u32 {
        let ImageFormat { texel: format, select, .. } = self;
        TexelBuffer { base: 0, format, select, texels: 0 }.encode()[3]
    }
}

impl ImageFormat {
    /// All formats with a name.
    #[must_use]
    pub fn all() -> &'static [ImageFormat] {
        FORMATS
    }

    /// The format with a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<ImageFormat> {
        FORMATS.iter().find(|format| format.name == name).copied()
    }

    /// The format of [attributes of vertices](crate::binding::Location::Attribute) with a name: those of
    /// images, and `rgb32f`, `rgb32i` and `rgb32ui`.
    #[must_use]
    pub fn of_attribute(name: &str) -> Option<ImageFormat> {
        OF_BUFFERS.iter().find(|format| format.name == name).copied().or_else(|| ImageFormat::from_name(name))
    }

    /// Numbers of a texel that are stored apart: channels of whole bytes, or 1.
    #[must_use]
    pub fn channels(self) -> u32 {
        let channels = self.texel.data.channels();
        if channels.iter().all(|(_, bits)| bits % 8 == 0) { channels.len() as u32 } else { 1 }
    }

    /// Whether a texel is four stored numbers in the order blue, green, red, alpha.
    #[must_use]
    pub fn is_turned(self) -> bool {
        self.select[0] == Select::Channel(2) && self.channels() == 4
    }
}

/// The size, format and arrangement of an image.
///
/// ```
/// use wavemill::image::{Dimensions, ImageDesc, ImageFormat};
///
/// let format = ImageFormat::from_name("rgba8").ok_or("no such format")?;
/// let desc = ImageDesc { levels: 3, ..ImageDesc::new(Dimensions::D2, format, [16, 8, 1]) };
/// assert_eq!(desc.problem(), None);
/// assert_eq!((desc.level_size(2), desc.texels()), ([4, 2, 1], 128 + 32 + 8));
/// // Levels from a picture, for `Image::write_bytes`.
/// let all = desc.with_averaged_levels(vec![100; 16 * 8 * 4])?;
/// assert_eq!(all.len(), 168 * 4);
/// // A message for users, before anything is allocated.
/// let wrong = ImageDesc { levels: 6, ..desc }.problem().ok_or("5 levels are possible")?;
/// assert!(wrong.starts_with("it has 6 mip levels; expected 1 to 5"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageDesc {
    /// Its dimensions: [`Dimensions::Samples`] or [`Dimensions::SamplesArray`] with several samples
    /// only.
    pub dimensions: Dimensions,
    /// The format of texels.
    pub format: ImageFormat,
    /// Width, height, and depth or number of slices; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// How texels are arranged in memory.
    pub tiling: Tiling,
    /// Mip levels. Each is half as large as the one before, rounded down, and at least 1.
    pub levels: u32,
    /// Samples of a texel: 1, 2, 4, 8 or 16.
    pub samples: u32,
    /// Whether kernels access it with buffer instructions, as an `image1d_buffer_t` of OpenCL: one
    /// row of texels without gaps.
    pub is_buffer: bool,
}

/// The largest width and height of an image, and the largest depth.
const LARGEST: [u32; 3] = [1 << 14, 1 << 14, 1 << 13];

/// The most texels of an image that is a buffer: what AMD's OpenCL allows.
const MOST_IN_BUFFER: u32 = 1 << 27;

impl ImageDesc {
    /// A linear image of one level with one sample a texel. Size: width, height, and depth or
    /// number of slices; 1 where there is no such dimension.
    #[must_use]
    pub fn new(dimensions: Dimensions, format: ImageFormat, size: [u32; 3]) -> ImageDesc {
        ImageDesc {
            dimensions,
            format,
            size,
            tiling: Tiling::Linear,
            levels: 1,
            samples: 1,
            is_buffer: false,
        }
    }

    fn surface(&self) -> Surface {
        let [width, height, depth] = self.size;
        let surface = Surface {
            tiling: self.tiling,
            bytes: self.format.texel.data.bytes(),
            width,
            height,
            depth,
            is_volume: self.dimensions == Dimensions::D3,
            levels: self.levels,
            samples_log2: self.samples.trailing_zeros(),
            pitch: 0,
        };
        // A texel buffer has no gaps.
        Surface { pitch: if self.is_buffer { width } else { surface.least_pitch() }, ..surface }
    }

    /// Why no image has this description; `None` if one can be made.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let largest = if self.is_buffer { [MOST_IN_BUFFER, 1, 1] } else { LARGEST };
        let too_large = (0..3).find(|n| self.size[*n] == 0 || self.size[*n] > largest[*n]);
        if let Some(axis) = too_large {
            let what = ["width", "height", "depth"][axis];
            return Some(format!("the {what} is {}; expected 1 to {}", self.size[axis], largest[axis]));
        }
        let [width, height, depth] = self.size;
        let (fits, expected) = match self.dimensions {
            Dimensions::D1 => ([height, depth] == [1, 1], "a height and a depth of 1"),
            Dimensions::D1Array => (height == 1, "a height of 1"),
            Dimensions::D2 | Dimensions::Samples => (depth == 1, "a depth of 1"),
            Dimensions::Cube => (
                width == height && depth.is_multiple_of(6),
                "square faces, and 6 of them for each cube, such as 64 x 64 x 6",
            ),
            _ => (true, ""),
        };
        if !fits {
            return Some(format!("the size is {width} x {height} x {depth}; expected {expected}"));
        }
        if let Some(problem) = self.why_not_levels().or_else(|| self.why_not_samples()) {
            return Some(problem);
        }
        if self.is_buffer {
            return self.why_no_buffer();
        }
        // The machine knows which arrangements fit.
        let words = self.resource(0).encode();
        Resource::decode(&words).err().map(|problem| problem.to_string())
    }

    fn why_not_levels(&self) -> Option<String> {
        let halved = self.dimensions.axes();
        let most = self.size[..halved].iter().max().map_or(1, |n| n.max(&1).ilog2() + 1);
        if self.levels == 0 || self.levels > most {
            let size = self.size[..halved].iter().map(u32::to_string).collect::<Vec<_>>().join(" x ");
            let last = most - 1;
            return Some(format!(
                "it has {} mip levels; expected 1 to {most}, because level {last} of {size} has one texel",
                self.levels,
            ));
        }
        None
    }

    fn why_not_samples(&self) -> Option<String> {
        if ![1, 2, 4, 8, 16].contains(&self.samples) {
            return Some(format!("a texel has {} samples; expected 1, 2, 4, 8 or 16", self.samples));
        }
        let problem = match (self.samples > 1, self.dimensions.has_samples()) {
            (true, true) if self.levels > 1 => "an image with several samples has one level",
            (true, false) => "only images of two dimensions and arrays of them have several samples",
            (false, true) => "an image with several samples has 2, 4, 8 or 16",
            _ => return None,
        };
        Some(problem.to_owned())
    }

    fn why_no_buffer(&self) -> Option<String> {
        let problem =
            if self.dimensions != Dimensions::D1 || self.tiling != Tiling::Linear || self.levels != 1 {
                "an image that is a buffer has one dimension, one level, and is linear".to_owned()
            } else if !self.format.is_of_buffers() {
                format!("buffers have no texels of the format {}", self.format.name)
            } else {
                return None;
            };
        Some(problem)
    }

    fn resource(&self, base: u64) -> Resource {
        let surface = self.surface();
        Resource {
            base,
            format: self.format.texel,
            select: self.format.select,
            border: match self.format.select {
                [Select::Channel(2), ..] => [2, 1, 0, 3],
                _ => [0, 1, 2, 3],
            },
            dimensions: self.dimensions,
            surface,
            levels: (0, self.levels - 1),
            slices: (0, if self.dimensions.has_slices() { surface.depth } else { 1 }),
            min_level: 0,
        }
    }

    /// The words of the resource: of an image, or of a buffer and zeros.
    fn words(&self, base: u64) -> [u32; 8] {
        if !self.is_buffer {
            return self.resource(base).encode();
        }
        let (format, select) = (self.format.texel, self.format.select);
        let words = TexelBuffer { base, format, select, texels: self.size[0] }.encode();
        std::array::from_fn(|n| words.get(n).copied().unwrap_or(0))
    }

    /// Width, height, and depth or number of slices of a mip level.
    #[must_use]
    pub fn level_size(&self, level: u32) -> [u32; 3] {
        self.surface().size(level)
    }

    /// Texels of a mip level, each as often as it has samples.
    fn level_texels(&self, level: u32) -> u64 {
        let texels: u64 = self.level_size(level).into_iter().map(u64::from).product();
        texels * u64::from(self.samples)
    }

    /// Texels of all levels, each as often as it has samples.
    #[must_use]
    pub fn texels(&self) -> u64 {
        (0..self.levels).map(|level| self.level_texels(level)).sum()
    }

    /// Bytes before a mip level in [`Image::read_bytes`] and [`Image::write_bytes`].
    #[must_use]
    pub fn level_offset(&self, level: u32) -> u64 {
        let texels: u64 = (0..level).map(|finer| self.level_texels(finer)).sum();
        texels * u64::from(self.format.texel.data.bytes())
    }

    /// The bytes of all levels from those of level 0, for [`Image::write_bytes`]. A texel of a
    /// level is the mean of the texels that it covers of the level before. sRGB is averaged as
    /// linear light; integers are rounded to the nearest, ties to even.
    ///
    /// # Errors
    /// [`Error::ImageLevel`] if the bytes are not those of level 0.
    pub fn with_averaged_levels(&self, first: Vec<u8>) -> Result<Vec<u8>> {
        let (expected, found) = (self.level_offset(1), first.len());
        if found as u64 != expected {
            return Err(Error::ImageLevel { expected, found });
        }
        let (mut all, mut start) = (first, 0);
        for level in 1..self.levels {
            let [from, to] = [level - 1, level].map(|level| self.level_size(level));
            let next = machine::averaged(self.format.texel, &all[start..], from, to);
            start = all.len();
            all.extend(next);
        }
        Ok(all)
    }
}

/// Whether a target has image instructions.
fn has_images(target: Target) -> bool {
    target.family() == Family::Cayman
        || Op::ALL.iter().any(|op| op.row().format == Format::Mimg && op.row().targets.contains(target))
}

/// An image in guest memory. Dropping the last clone frees it.
///
/// ```
/// use wavemill::Device;
/// use wavemill::device::TargetId;
/// use wavemill::image::{Dimensions, ImageDesc, ImageFormat};
///
/// let device = Device::new(&TargetId::parse("gfx90a").ok_or("no such target")?)?;
/// let format = ImageFormat::from_name("r32f").ok_or("no such format")?;
/// let image = device.image("heights", &ImageDesc::new(Dimensions::D2, format, [3, 2, 1]))?;
/// // Rows without gaps, however the chip arranges the texels.
/// let heights: Vec<u8> = [1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|h| h.to_le_bytes()).collect();
/// image.write_bytes(0, &heights)?;
/// let mut last = [0; 4];
/// image.read_bytes(4 * 5, &mut last)?;
/// assert_eq!(f32::from_le_bytes(last), 6.0);
/// // Kernels get it as `Arg::from(&image)`.
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Image {
    desc: ImageDesc,
    layout: Arc<Layout>,
    texels: Buffer,
    descriptor: Buffer,
}

impl Image {
    fn allocate(device: &Arc<DeviceInner>, name: &str, desc: &ImageDesc) -> Result<Image> {
        if !desc.is_buffer && !has_images(device.target) {
            return Err(Error::Image(format!(
                "{} has no image instructions; gfx900, gfx906, gfx908 and gfx90a have them",
                device.target.name()
            )));
        }
        if let Some(problem) = desc.problem() {
            return Err(Error::Image(problem));
        }
        let layout = desc.surface().layout();
        let texels = Buffer::allocate(device, name, layout.bytes(), 1 << 16)?;
        let resource = desc.words(texels.address());
        let words = device.abi.image_descriptor(&resource, desc.format.codes, desc.size[0]);
        let descriptor = descriptor(device, &format!("{name} (descriptor)"), &words)?;
        Ok(Image { desc: *desc, layout: Arc::new(layout), texels, descriptor })
    }

    /// Its description.
    #[must_use]
    pub fn desc(&self) -> &ImageDesc {
        &self.desc
    }

    /// Guest address of the descriptor, which kernels receive.
    #[must_use]
    pub fn descriptor(&self) -> u64 {
        self.descriptor.address()
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceInner>) -> bool {
        self.texels.belongs_to(device)
    }

    /// The words of its descriptor.
    pub(crate) fn words(&self) -> Result<Vec<u32>> {
        self.descriptor.to_vec()
    }

    /// The texels in guest memory, in the arrangement of the image.
    #[must_use]
    pub fn memory(&self) -> &Buffer {
        &self.texels
    }

    /// Calls `f` for the pieces of guest memory that hold the bytes from `offset` on, counted
    /// without gaps: offset in guest memory, and range of the bytes.
    fn pieces(
        &self,
        offset: u64,
        bytes: usize,
        mut f: impl FnMut(u64, std::ops::Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let desc = &self.desc;
        let texel = u64::from(desc.format.texel.data.bytes());
        let samples = u64::from(desc.samples);
        // Where levels begin, and the end.
        let starts: Vec<u64> = (0..=desc.levels).map(|level| desc.level_offset(level)).collect();
        let total = starts[desc.levels as usize];
        if offset.checked_add(bytes as u64).is_none_or(|end| end > total) {
            return Err(Error::ImageRange { offset, size: bytes, total });
        }
        let mut done = 0;
        while done < bytes {
            let at = offset + done as u64;
            // Levels have no gaps and at least a texel each, so this is the one that has the byte.
            let level = starts.partition_point(|start| *start <= at) - 1;
            let [width, height, _] = desc.level_size(level as u32).map(u64::from);
            let (number, within) = ((at - starts[level]) / texel, (at - starts[level]) % texel);
            let (index, sample) = (number / samples, (number % samples) as u32);
            let (x, row) = (index % width, index / width);
            let whole = if desc.tiling == Tiling::Linear { width - x } else { 1 };
            let piece = ((whole * texel - within) as usize).min(bytes - done);
            // Coordinates are below the size, which has 32 bits.
            let place = [x, row % height, row / height].map(|n| n as u32);
            f(self.layout.offset(level as u32, place, sample) + within, done..done + piece)?;
            done += piece;
        }
        Ok(())
    }

    /// Copies bytes into the image. Offsets count levels, slices, rows, texels and samples without
    /// gaps, in this order.
    ///
    /// # Errors
    /// [`Error::ImageRange`] if the image is shorter.
    pub fn write_bytes(&self, offset: u64, from: &[u8]) -> Result<()> {
        self.pieces(offset, from.len(), |at, range| self.texels.write_bytes(at, &from[range]))
    }

    /// Copies bytes out of the image. Offsets count as for [`Image::write_bytes`].
    ///
    /// # Errors
    /// [`Error::ImageRange`] if the image is shorter.
    pub fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.pieces(offset, into.len(), |at, range| self.texels.read_bytes(at, &mut into[range]))
    }
}

/// The colour of texels outside an image.
///
/// ```
/// use wavemill::image::{AddressMode, BorderColour, SamplerDesc};
///
/// // A sampler of an image of floats, orange outside of it.
/// let desc = SamplerDesc {
///     address: [AddressMode::Border; 3],
///     border: BorderColour::of_floats([1.0, 0.5, 0.0, 1.0]),
///     ..SamplerDesc::default()
/// };
/// assert_eq!(desc.border, BorderColour::Rgba([0x3f80_0000, 0x3f00_0000, 0, 0x3f80_0000]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BorderColour {
    /// All channels 0.
    TransparentBlack,
    /// The last channel 1, the others 0.
    OpaqueBlack,
    /// All channels 1.
    White,
    /// The bits of the channels: f32 for images of floats and of normalised numbers, else integers.
    /// A device has up to 4096 such colours.
    Rgba([u32; 4]),
}

impl BorderColour {
    /// A colour for images of floats and of normalised numbers.
    #[must_use]
    pub fn of_floats(channels: [f32; 4]) -> BorderColour {
        BorderColour::Rgba(channels.map(f32::to_bits))
    }

    /// What the descriptor says.
    fn in_descriptor(self, device: &DeviceInner) -> Result<machine::BorderColour> {
        Ok(match self {
            BorderColour::TransparentBlack => machine::BorderColour::TransparentBlack,
            BorderColour::OpaqueBlack => machine::BorderColour::OpaqueBlack,
            BorderColour::White => machine::BorderColour::White,
            BorderColour::Rgba(channels) => {
                let number = device.memory.snapshot().border_colours().number(channels);
                let full =
                    || Error::Sampler("the device has 4096 border colours, and no room for another".into());
                machine::BorderColour::Table(number.ok_or_else(full)?)
            }
        })
    }
}

/// What samples outside an image and between texels are.
///
/// Levels of detail count in 1/256 of a level.
///
/// ```
/// use wavemill::image::{AddressMode, MipFilter, SamplerDesc};
///
/// // `CLK_NORMALIZED_COORDS_TRUE | CLK_ADDRESS_REPEAT | CLK_FILTER_LINEAR` of OpenCL.
/// let desc = SamplerDesc {
///     address: [AddressMode::Wrap; 3],
///     magnifies_linear: true,
///     minifies_linear: true,
///     normalised: true,
///     ..SamplerDesc::default()
/// };
/// assert_eq!(desc.problem(), None);
/// // Limits of levels count in 1/256.
/// let wrong = SamplerDesc { levels: (512, 256), ..desc };
/// assert_eq!(wrong.problem().as_deref(), Some("its smallest level, 2, is above its largest level, 1"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SamplerDesc {
    /// What coordinates outside the image mean, on each axis.
    pub address: [AddressMode; 3],
    /// Whether neighbouring texels are blended where an image is magnified.
    pub magnifies_linear: bool,
    /// Whether they are where it is minified.
    pub minifies_linear: bool,
    /// Whether coordinates go from 0 to 1; otherwise, they count texels.
    pub normalised: bool,
    /// The mip levels that a sample uses.
    pub mip: MipFilter,
    /// The comparison of samples that have a reference. `None` is as [`Compare::Never`], and a
    /// program of Cayman that compares through such a sampler does not start.
    pub compare: Option<Compare>,
    /// The colour outside the image.
    pub border: BorderColour,
    /// The smallest and the largest level of detail, 0 to [`LARGEST_LEVEL`](Self::LARGEST_LEVEL).
    pub levels: (i32, i32),
    /// Added to the level of detail: one of [`BIASES`](Self::BIASES).
    pub bias: i32,
}

impl Default for SamplerDesc {
    /// The nearest texel of the nearest level, coordinates that count texels, the texel at the edge,
    /// all levels, no comparison.
    fn default() -> Self {
        SamplerDesc {
            address: [AddressMode::Clamp; 3],
            magnifies_linear: false,
            minifies_linear: false,
            normalised: false,
            mip: MipFilter::Point,
            compare: None,
            border: BorderColour::TransparentBlack,
            levels: (0, SamplerDesc::LARGEST_LEVEL),
            bias: 0,
        }
    }
}

impl SamplerDesc {
    /// The largest limit of the level of detail: MIN_LOD and MAX_LOD have 12 bits, of which 8 are
    /// behind the point.
    pub const LARGEST_LEVEL: i32 = 4095;
    /// What a sampler can add to the level of detail: LOD_BIAS has 14 bits, of which 8 are behind the
    /// point.
    pub const BIASES: std::ops::RangeInclusive<i32> = -8192..=8191;

    /// Why no sampler has this description; `None` if one can be made.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let part = |parts: i32| f64::from(parts) / 256.0;
        let (least, most) = self.levels;
        let limits = 0..=SamplerDesc::LARGEST_LEVEL;
        if let Some(limit) = [least, most].into_iter().find(|limit| !limits.contains(limit)) {
            let largest = part(SamplerDesc::LARGEST_LEVEL);
            return Some(format!("a limit of its levels is {}; expected 0 to {largest}", part(limit)));
        }
        if least > most {
            return Some(format!(
                "its smallest level, {}, is above its largest level, {}",
                part(least),
                part(most)
            ));
        }
        if !SamplerDesc::BIASES.contains(&self.bias) {
            let [low, high] = [SamplerDesc::BIASES.start(), SamplerDesc::BIASES.end()].map(|n| part(*n));
            return Some(format!("its bias is {}; expected {low} to {high}", part(self.bias)));
        }
        None
    }
}

/// A sampler of a device. Dropping the last clone frees it.
///
/// ```
/// use wavemill::image::{Dimensions, ImageDesc, ImageFormat, SamplerDesc};
/// use wavemill::{Arg, Device, Launch, Module};
///
/// # use wavemill_kernels::{Target, image_fixture};
/// # let object = image_fixture(Target::Gfx90a, "read")?;
/// # let device = Device::for_object(&object)?;
/// # let kernel = Module::load(&device, &object)?.kernel("f_2d")?;
/// let format = ImageFormat::from_name("r32f").ok_or("no such format")?;
/// let image = device.image("ramp", &ImageDesc::new(Dimensions::D2, format, [2, 1, 1]))?;
/// image.write_bytes(0, &[0.0f32.to_le_bytes(), 4.0f32.to_le_bytes()].concat())?;
/// let linear = SamplerDesc { magnifies_linear: true, minifies_linear: true, ..SamplerDesc::default() };
/// let sampler = device.sampler(&linear)?;
///
/// // `kernel` reads the image in the middle of the two texels.
/// let point = device.buffer_from("point", &[1.0f32, 0.5, 0.0, 0.0])?;
/// let texel = device.buffer("texel", 16)?;
/// let resources = [Arg::from(&image), Arg::from(&sampler), Arg::from(&point), Arg::from(&texel)];
/// Launch::new(&kernel).args(resources).arg(0i32).run()?;
/// assert_eq!(texel.to_vec::<f32>()?[0], 2.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    compare: Option<Compare>,
    descriptor: Buffer,
}

impl Sampler {
    fn allocate(device: &Arc<DeviceInner>, desc: &SamplerDesc) -> Result<Sampler> {
        if let Some(problem) = desc.problem() {
            return Err(Error::Sampler(problem));
        }
        let sampler = machine::Sampler {
            address: desc.address,
            compare: desc.compare.unwrap_or(Compare::Never),
            unnormalised: !desc.normalised,
            truncates: false,
            faces_apart: false,
            reduction: Reduction::Blend,
            levels: desc.levels,
            bias: desc.bias,
            bilinear: [desc.magnifies_linear, desc.minifies_linear],
            linear_depth: None,
            mip: desc.mip,
            rounds_first: false,
            border: desc.border.in_descriptor(device)?,
        };
        let words = device.abi.sampler_descriptor(&sampler);
        Ok(Sampler { compare: desc.compare, descriptor: descriptor(device, "sampler", &words)? })
    }

    /// The comparison of samples that have a reference, if it has one.
    #[must_use]
    pub fn compare(&self) -> Option<Compare> {
        self.compare
    }

    /// Guest address of the descriptor, which kernels receive.
    #[must_use]
    pub fn descriptor(&self) -> u64 {
        self.descriptor.address()
    }

    /// The words of its descriptor.
    pub(crate) fn words(&self) -> Result<Vec<u32>> {
        self.descriptor.to_vec()
    }

    pub(crate) fn belongs_to(&self, device: &Arc<DeviceInner>) -> bool {
        self.descriptor.belongs_to(device)
    }
}

fn descriptor(device: &Arc<DeviceInner>, name: &str, words: &[u32]) -> Result<Buffer> {
    let buffer = Buffer::internal(device, name, 4 * words.len() as u64, 64)?;
    buffer.write(0, words)?;
    Ok(buffer)
}

impl Device {
    /// An image; its texels are zeros. The name appears in fault reports.
    ///
    /// # Errors
    /// [`Error::Image`] if the target has no images or the description fits none, [`Error::Memory`]
    /// if the host does not have the memory.
    pub fn image(&self, name: &str, desc: &ImageDesc) -> Result<Image> {
        Image::allocate(&self.0, name, desc)
    }

    /// Whether the target has image instructions. Without them, it has only images of buffers.
    #[must_use]
    pub fn has_images(&self) -> bool {
        has_images(self.0.target)
    }

    /// Whether the target has instructions that sample at a level of detail that they are given.
    #[must_use]
    pub fn samples_levels(&self) -> bool {
        Op::ImageSampleL.row().targets.contains(self.0.target)
    }

    /// A sampler.
    ///
    /// # Errors
    /// [`Error::Sampler`] if the description fits none, [`Error::Memory`] if the host does not have the memory.
    pub fn sampler(&self, desc: &SamplerDesc) -> Result<Sampler> {
        Sampler::allocate(&self.0, desc)
    }
}

#[cfg(test)]
mod tests {
    use wavemill_object::TargetId;

    use super::*;

    fn device(target: &str) -> Device {
        Device::new(&TargetId::parse(target).unwrap()).unwrap()
    }

    fn format(name: &str) -> ImageFormat {
        ImageFormat::from_name(name).unwrap()
    }

    #[test]
    fn bytes_come_back_from_every_arrangement() {
        let device = device("gfx906");
        for (_, name, tiling) in Tiling::ALL {
            let plain =
                ImageDesc { tiling, ..ImageDesc::new(Dimensions::D2Array, format("rgba8"), [13, 7, 2]) };
            let blocks = tiling != Tiling::Linear;
            let large = blocks && !name.starts_with("256b");
            for desc in [
                Some(plain),
                (!blocks || large).then_some(ImageDesc { levels: 4, ..plain }),
                large.then_some(ImageDesc { dimensions: Dimensions::SamplesArray, samples: 4, ..plain }),
            ]
            .into_iter()
            .flatten()
            {
                let image = device.image("image", &desc).unwrap();
                let total = desc.texels() * 4;
                let bytes: Vec<u8> = (0..total).map(|n| (n * 7 % 251) as u8).collect();
                // In pieces that end within texels.
                for (n, piece) in bytes.chunks(51).enumerate() {
                    image.write_bytes(51 * n as u64, piece).unwrap();
                }
                let mut back = vec![0; bytes.len()];
                image.read_bytes(0, &mut back).unwrap();
                assert!(back == bytes, "{desc:?}");
                let error = image.write_bytes(total - 1, &[0; 2]).unwrap_err().to_string();
                assert_eq!(
                    error,
                    format!("2 bytes at byte {} are not in the image, which has {total} bytes", total - 1)
                );
            }
        }
    }

    #[test]
    fn levels_follow_each_other() {
        let desc = ImageDesc { levels: 3, ..ImageDesc::new(Dimensions::D3, format("rg8"), [5, 4, 3]) };
        let sizes: Vec<[u32; 3]> = (0..3).map(|level| desc.level_size(level)).collect();
        assert_eq!(sizes, [[5, 4, 3], [2, 2, 1], [1, 1, 1]]);
        assert_eq!([1, 2, 3].map(|level| desc.level_offset(level)), [120, 128, 130]);
        let desc = ImageDesc { levels: 2, ..ImageDesc::new(Dimensions::D1, format("r8ui"), [4, 1, 1]) };
        assert_eq!(desc.with_averaged_levels(vec![1, 3, 10, 20]).unwrap(), [1, 3, 10, 20, 2, 15]);
        let error = desc.with_averaged_levels(vec![1]).unwrap_err().to_string();
        assert_eq!(error, "expected the 4 bytes of the first mip level, found 1 bytes");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let desc = ImageDesc::new(Dimensions::D2, format("r8"), [4, 4, 1]);
        assert_eq!(desc.problem(), None);
        let blocks = Tiling::ALL[3].2;
        let buffer =
            ImageDesc { is_buffer: true, ..ImageDesc::new(Dimensions::D1, format("r8"), [1 << 20, 1, 1]) };
        assert_eq!(buffer.problem(), None);
        for (wrong, part) in [
            (ImageDesc { size: [0, 4, 1], ..desc }, "the width is 0; expected 1 to 16384"),
            (ImageDesc { size: [4, 4, 2], ..desc }, "the size is 4 x 4 x 2; expected a depth of 1"),
            (
                ImageDesc { dimensions: Dimensions::D1, size: [4, 2, 1], ..desc },
                "the size is 4 x 2 x 1; expected a height and a depth of 1",
            ),
            (
                ImageDesc { dimensions: Dimensions::Cube, size: [4, 3, 6], ..desc },
                "the size is 4 x 3 x 6; expected square faces, and 6 of them for each cube",
            ),
            (
                ImageDesc { dimensions: Dimensions::Cube, size: [4, 4, 5], ..desc },
                "the size is 4 x 4 x 5; expected square faces, and 6 of them for each cube",
            ),
            (
                ImageDesc { dimensions: Dimensions::D1, size: [4, 1, 1], tiling: blocks, ..desc },
                "an image of one dimension is linear",
            ),
            (
                ImageDesc { levels: 4, ..desc },
                "it has 4 mip levels; expected 1 to 3, because level 2 of 4 x 4 has one texel",
            ),
            (ImageDesc { levels: 0, ..desc }, "it has 0 mip levels; expected 1 to 3"),
            (ImageDesc { levels: 2, tiling: Tiling::ALL[1].2, ..desc }, "blocks of 256 bytes"),
            (ImageDesc { samples: 3, ..desc }, "a texel has 3 samples; expected 1, 2, 4, 8 or 16"),
            (ImageDesc { samples: 4, ..desc }, "only images of two dimensions"),
            (ImageDesc { dimensions: Dimensions::Samples, ..desc }, "has 2, 4, 8 or 16"),
            (
                ImageDesc { dimensions: Dimensions::Samples, samples: 4, ..desc },
                "with several samples is not linear",
            ),
            (
                ImageDesc { dimensions: Dimensions::Samples, samples: 4, levels: 2, tiling: blocks, ..desc },
                "has one level",
            ),
            (
                ImageDesc { size: [1 << 28, 1, 1], ..buffer },
                "the width is 268435456; expected 1 to 134217728",
            ),
            (ImageDesc { format: format("srgba8"), ..buffer }, "buffers have no texels of the format srgba8"),
            (ImageDesc { format: format("rgb565"), ..buffer }, "buffers have no texels of the format rgb565"),
            (ImageDesc { levels: 2, ..buffer }, "one dimension, one level, and is linear"),
        ] {
            assert!(
                wrong.problem().is_some_and(|problem| problem.contains(part)),
                "{wrong:?}: {:?}",
                wrong.problem()
            );
        }
        let device = device("gfx942");
        let error = device.image("image", &desc).unwrap_err().to_string();
        assert!(error.contains("gfx942 has no image instructions"), "{error}");
        // Buffer instructions access it.
        assert!(device.image("image", &buffer).is_ok());
    }
}
