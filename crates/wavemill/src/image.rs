//! Images and samplers of a device.
//!
//! An [`Image`] is texels in guest memory, and the descriptor that kernels receive. A [`Sampler`]
//! is a descriptor only. Kernels of OpenCL receive the addresses of descriptors as arguments.

use std::sync::Arc;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Op};
use wavemill_machine::image::{
    self as machine, BorderColour, Compare, IDENTITY, Layout, MipFilter, Reduction, Resource, Select, Surface,
};

pub use wavemill_ir::{DataFormat, TexelFormat, TexelNumber};
pub use wavemill_machine::image::{AddressMode, BlockOrder, Dimensions, Tiling};

use crate::buffer::Buffer;
use crate::guest::DeviceInner;
use crate::{Device, Error, Result};

/// Format of the texels of an image: how they are stored, and which components kernels get.
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
    pub(super) const RGBA: (u32, [Select; 4]) = (8, IDENTITY);
    pub(super) const BGRA: (u32, [Select; 4]) = (9, [Channel(2), Channel(1), Channel(0), Channel(3)]);
    pub(super) const SRGBA: (u32, [Select; 4]) = (14, IDENTITY);
}

macro_rules! formats {
    ($($name:literal $data:ident $number:ident $order:ident $ty:literal;)*) => {
        /// All formats with a name. Types of channels have the numbers of HSA's interface
        /// (`hsa_ext_image_channel_type_t`).
        const FORMATS: &[ImageFormat] = &[$(ImageFormat {
            name: $name,
            texel: TexelFormat { data: DataFormat::$data, number: TexelNumber::$number },
            select: order::$order.1,
            codes: ($ty, order::$order.0),
        }),*];
    };
}

formats! {
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

    /// Numbers of a texel that are stored apart: channels of whole bytes, or 1.
    #[must_use]
    pub fn channels(self) -> u32 {
        let channels = self.texel.data.channels();
        if channels.iter().all(|(_, bits)| bits % 8 == 0) { channels.len() as u32 } else { 1 }
    }

    /// The stored number of the component red, if red, green and blue are stored apart; the order
    /// may be turned around.
    #[must_use]
    pub fn is_turned(self) -> bool {
        self.select[0] == Select::Channel(2) && self.channels() == 4
    }
}

/// The size, format and arrangement of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ImageDesc {
    /// Its dimensions; several samples are not possible.
    pub dimensions: Dimensions,
    /// The format of texels.
    pub format: ImageFormat,
    /// Width, height, and depth or number of slices; 1 where there is no such dimension.
    pub size: [u32; 3],
    /// How texels are arranged in memory.
    pub tiling: Tiling,
}

/// The largest width and height of an image, and the largest depth.
const LARGEST: [u32; 3] = [1 << 14, 1 << 14, 1 << 13];

impl ImageDesc {
    fn surface(&self) -> Surface {
        let [width, height, depth] = self.size;
        let surface = Surface {
            tiling: self.tiling,
            bytes: self.format.texel.data.bytes(),
            width,
            height,
            depth,
            is_volume: self.dimensions == Dimensions::D3,
            levels: 1,
            samples_log2: 0,
            pitch: 0,
        };
        Surface { pitch: surface.least_pitch(), ..surface }
    }

    /// Why no image has this description; `None` if one can be made.
    #[must_use]
    pub fn problem(&self) -> Option<String> {
        let too_large = (0..3).find(|n| self.size[*n] == 0 || self.size[*n] > LARGEST[*n]);
        if let Some(axis) = too_large {
            let what = ["width", "height", "depth"][axis];
            return Some(format!("the {what} is {}; expected 1 to {}", self.size[axis], LARGEST[axis]));
        }
        let unused = match self.dimensions {
            Dimensions::D1 => self.size[1] != 1 || self.size[2] != 1,
            Dimensions::D1Array => self.size[1] != 1,
            Dimensions::D2 => self.size[2] != 1,
            Dimensions::Cube => self.size[0] != self.size[1] || !self.size[2].is_multiple_of(6),
            _ => false,
        };
        if unused {
            return Some("the size has other dimensions than the image".to_owned());
        }
        // The machine knows which arrangements fit.
        let words = self.resource(0).encode();
        Resource::decode(&words).err().map(|problem| problem.to_string())
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
            levels: (0, 0),
            slices: (0, if self.dimensions.has_slices() { surface.depth } else { 1 }),
            min_level: 0,
        }
    }

    /// Texels of the image.
    #[must_use]
    pub fn texels(&self) -> u64 {
        self.size.iter().map(|n| u64::from(*n)).product()
    }
}

/// Whether a target has image instructions, and whether it has samplers with levels of detail.
fn has_images(target: Target) -> bool {
    Op::ALL.iter().any(|op| op.row().format == Format::Mimg && op.row().targets.contains(target))
}

/// An image in guest memory. Dropping the last clone frees it.
#[derive(Clone, Debug)]
pub struct Image {
    desc: ImageDesc,
    layout: Arc<Layout>,
    texels: Buffer,
    descriptor: Buffer,
}

impl Image {
    fn allocate(device: &Arc<DeviceInner>, name: &str, desc: &ImageDesc) -> Result<Image> {
        if !has_images(device.target) {
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
        let resource = desc.resource(texels.address());
        let words = device.abi.image_descriptor(&resource, desc.format.codes);
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

    /// The texels in guest memory, in the arrangement of the image.
    #[must_use]
    pub fn memory(&self) -> &Buffer {
        &self.texels
    }

    /// Calls `f` for the pieces of guest memory that hold the bytes from `offset` on, counted in
    /// rows without gaps: offset in guest memory, and range of the bytes.
    fn pieces(
        &self,
        offset: u64,
        bytes: usize,
        mut f: impl FnMut(u64, std::ops::Range<usize>) -> Result<()>,
    ) -> Result<()> {
        let texel = u64::from(self.desc.format.texel.data.bytes());
        let [width, height, _] = self.desc.size.map(u64::from);
        let mut done = 0;
        while done < bytes {
            let at = offset + done as u64;
            let (index, within) = (at / texel, at % texel);
            let (x, row) = (index % width, index / width);
            let whole = if self.desc.tiling == Tiling::Linear { width - x } else { 1 };
            let piece = ((whole * texel - within) as usize).min(bytes - done);
            let place = [x, row % height, row / height].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
            f(self.layout.offset(0, place, 0) + within, done..done + piece)?;
            done += piece;
        }
        Ok(())
    }

    /// Copies bytes into the image. Offsets count rows and slices without gaps.
    ///
    /// # Errors
    /// [`Error::Memory`] if the image is shorter.
    pub fn write_bytes(&self, offset: u64, from: &[u8]) -> Result<()> {
        self.pieces(offset, from.len(), |at, range| self.texels.write_bytes(at, &from[range]))
    }

    /// Copies bytes out of the image. Offsets count rows and slices without gaps.
    ///
    /// # Errors
    /// [`Error::Memory`] if the image is shorter.
    pub fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<()> {
        self.pieces(offset, into.len(), |at, range| self.texels.read_bytes(at, &mut into[range]))
    }
}

/// What samples outside an image and between texels are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SamplerDesc {
    /// What coordinates outside the image mean.
    pub address: AddressMode,
    /// Whether neighbouring texels are blended.
    pub linear: bool,
    /// Whether coordinates go from 0 to 1; otherwise, they count texels.
    pub normalised: bool,
}

impl Default for SamplerDesc {
    /// The nearest texel, coordinates that count texels, the texel at the edge.
    fn default() -> Self {
        SamplerDesc { address: AddressMode::Clamp, linear: false, normalised: false }
    }
}

/// A sampler of a device. Dropping the last clone frees it.
#[derive(Clone, Debug)]
pub struct Sampler {
    descriptor: Buffer,
}

impl Sampler {
    fn allocate(device: &Arc<DeviceInner>, desc: &SamplerDesc) -> Result<Sampler> {
        let sampler = machine::Sampler {
            address: [desc.address; 3],
            compare: Compare::Never,
            unnormalised: !desc.normalised,
            truncates: false,
            faces_apart: false,
            reduction: Reduction::Blend,
            levels: (0, 4095),
            bias: 0,
            bilinear: [desc.linear; 2],
            linear_depth: None,
            mip: MipFilter::None,
            rounds_first: false,
            border: BorderColour::TransparentBlack,
        };
        let words = device.abi.sampler_descriptor(&sampler);
        Ok(Sampler { descriptor: descriptor(device, "sampler", &words)? })
    }

    /// Guest address of the descriptor, which kernels receive.
    #[must_use]
    pub fn descriptor(&self) -> u64 {
        self.descriptor.address()
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

    /// A sampler.
    ///
    /// # Errors
    /// [`Error::Memory`] if the host does not have the memory.
    pub fn sampler(&self, desc: &SamplerDesc) -> Result<Sampler> {
        Sampler::allocate(&self.0, desc)
    }
}

#[cfg(test)]
mod tests {
    use wavemill_object::TargetId;

    use super::*;

    #[test]
    fn bytes_come_back_from_every_arrangement() {
        let device = Device::new(&TargetId::parse("gfx906").unwrap()).unwrap();
        for (_, _, tiling) in Tiling::ALL {
            let format = ImageFormat::from_name("rgba8").unwrap();
            let desc = ImageDesc { dimensions: Dimensions::D2Array, format, size: [13, 7, 2], tiling };
            let image = device.image("image", &desc).unwrap();
            let bytes: Vec<u8> = (0..desc.texels() * 4).map(|n| (n * 7 % 251) as u8).collect();
            // In pieces that end within texels.
            for (n, piece) in bytes.chunks(51).enumerate() {
                image.write_bytes(51 * n as u64, piece).unwrap();
            }
            let mut back = vec![0; bytes.len()];
            image.read_bytes(0, &mut back).unwrap();
            assert!(back == bytes, "{tiling:?}");
            assert!(image.write_bytes(bytes.len() as u64 + (1 << 20), &[0]).is_err());
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let format = ImageFormat::from_name("r8").unwrap();
        let desc = ImageDesc { dimensions: Dimensions::D2, format, size: [4, 4, 1], tiling: Tiling::Linear };
        assert_eq!(desc.problem(), None);
        for (wrong, part) in [
            (ImageDesc { size: [0, 4, 1], ..desc }, "the width is 0; expected 1 to 16384"),
            (ImageDesc { size: [4, 4, 2], ..desc }, "other dimensions"),
            (
                ImageDesc { dimensions: Dimensions::D1, size: [4, 1, 1], tiling: Tiling::ALL[3].2, ..desc },
                "an image of one dimension is linear",
            ),
        ] {
            assert!(wrong.problem().is_some_and(|problem| problem.contains(part)), "{wrong:?}");
        }
        let device = Device::new(&TargetId::parse("gfx942").unwrap()).unwrap();
        let error = device.image("image", &desc).unwrap_err().to_string();
        assert!(error.contains("gfx942 has no image instructions"), "{error}");
    }
}
