//! The kernels with which ROCm's runtime copies and clears images.

use wavemill::Arg;
use wavemill::image::{Dimensions, ImageDesc, ImageFormat, Tiling};
use wavemill_oracle::Failed;

use crate::compare::same;
use crate::gpu::{Gpu, Size};
use crate::random::Random;

/// A type of images: its number in arguments of the kernels, and a size.
struct Type {
    number: u32,
    dimensions: Dimensions,
    size: [u32; 3],
    tiling: Tiling,
}

impl Type {
    /// Coordinates of texels in the order in which arguments count them: the slices of an array of
    /// lines are in Y.
    fn extent(&self) -> [u32; 3] {
        match self.dimensions {
            Dimensions::D1Array => [self.size[0], self.size[2], 1],
            _ => self.size,
        }
    }

    fn desc(&self, format: &str, tiling: Tiling) -> Result<ImageDesc, Failed> {
        let format = ImageFormat::from_name(format).ok_or("no such format")?;
        Ok(ImageDesc { tiling, ..ImageDesc::new(self.dimensions, format, self.size) })
    }
}

const TYPES: [Type; 5] = [
    Type { number: 0, dimensions: Dimensions::D1, size: [37, 1, 1], tiling: Tiling::Linear },
    Type { number: 1, dimensions: Dimensions::D2, size: [37, 21, 1], tiling: Tiling::ALL[6].2 },
    Type { number: 2, dimensions: Dimensions::D3, size: [17, 9, 5], tiling: Tiling::ALL[5].2 },
    Type { number: 3, dimensions: Dimensions::D1Array, size: [37, 1, 4], tiling: Tiling::Linear },
    Type { number: 4, dimensions: Dimensions::D2Array, size: [19, 11, 3], tiling: Tiling::ALL[3].2 },
];

/// Formats, with the channels of a texel and the bytes of each.
const FORMATS: [(&str, u32, u32); 7] = [
    ("r8ui", 1, 1),
    ("rg8ui", 2, 1),
    ("rgba8ui", 4, 1),
    ("r16ui", 1, 2),
    ("rg16ui", 2, 2),
    ("r32ui", 1, 4),
    ("rgba32ui", 4, 4),
];

/// A vector of four integers.
fn vector(numbers: [u32; 4]) -> Arg {
    Arg::Value(numbers.iter().flat_map(|number| number.to_le_bytes()).collect())
}

fn size([x, y, z]: [u32; 3]) -> Size {
    Size { groups: [x, y, z], threads: [1, 1, 1] }
}

/// Copies part of a buffer to part of an image, all of the image to one of another layout, and part
/// of that to a buffer.
pub(crate) fn copies(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(23);
    for ty in TYPES {
        for (name, channels, bytes) in FORMATS {
            let what = format!("{name}, type {}", ty.number);
            let texel = (channels * bytes) as usize;
            let [width, height, depth] = ty.extent().map(|n| n as usize);
            let (linear, tiled) = (ty.desc(name, Tiling::Linear)?, ty.desc(name, ty.tiling)?);
            let (first, second) = (gpu.image("first", &linear)?, gpu.image("second", &tiled)?);
            let mut expected = vec![0; width * height * depth * texel];
            first.write_bytes(0, &expected)?;
            second.write_bytes(0, &expected)?;
            // The part begins at texel 1 of each axis that has several.
            let origin = ty.extent().map(|n| u32::from(n > 1));
            let part = ty.extent().map(|n| n - u32::from(n > 1));
            let [w, h, d] = part.map(|n| n as usize);
            // Lines and slices of the buffer have texels that nothing copies.
            let (pitch, slice) = (w + 3, (w + 3) * (h + 2));
            let source: Vec<u8> = (0..slice * d * texel).map(|_| random.next() as u8).collect();
            let dwords = bytes * channels / 4;
            let format = vector([channels, bytes, dwords.max(1), ty.number]);
            let at = |[x, y, z]: [u32; 3]| vector([x, y, z, 0]);
            let pitches = [Arg::from(pitch as u64), Arg::from(slice as u64)];
            let buffer = gpu.with("source", &source)?;
            let args = [Arg::from(&buffer)].into_iter().chain(std::iter::repeat_n(Arg::from(&first), 5));
            let args: Vec<Arg> = args.chain([at(origin), format.clone()]).chain(pitches.clone()).collect();
            gpu.launch("copy_buffer_to_image", size(part), &args)?;
            for (z, y, x) in (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x)))) {
                let [ox, oy, oz] = origin.map(|n| n as usize);
                let to = (((z + oz) * height + y + oy) * width + x + ox) * texel;
                let from = (z * slice + y * pitch + x) * texel;
                expected[to..to + texel].copy_from_slice(&source[from..from + texel]);
            }
            let read = |image: &wavemill::Image| -> Result<Vec<u8>, Failed> {
                let mut found = vec![0; expected.len()];
                image.read_bytes(0, &mut found)?;
                Ok(found)
            };
            same(&format!("copy_buffer_to_image: {what}"), &read(&first)?, &expected)?;

            let images = std::iter::repeat_n(Arg::from(&first), 5)
                .chain(std::iter::repeat_n(Arg::from(&second), 5))
                .chain([at([0; 3]), at([0; 3]), ty.number.into(), ty.number.into()]);
            gpu.launch("copy_image_default", size(ty.extent()), &images.collect::<Vec<Arg>>())?;
            same(&format!("copy_image_default: {what}"), &read(&second)?, &expected)?;

            let back = gpu.room("back", source.len())?;
            let args = std::iter::repeat_n(Arg::from(&second), 5)
                .chain([Arg::from(&back), at(origin), format])
                .chain(pitches);
            gpu.launch("copy_image_to_buffer", size(part), &args.collect::<Vec<Arg>>())?;
            let mut rows = vec![0xa5; source.len()];
            for (z, y) in (0..d).flat_map(|z| (0..h).map(move |y| (z, y))) {
                let row = (z * slice + y * pitch) * texel;
                rows[row..row + w * texel].copy_from_slice(&source[row..row + w * texel]);
            }
            same(&format!("copy_image_to_buffer: {what}"), &back.to_vec::<u8>()?, &rows)?;
        }
    }
    Ok(())
}

/// Fills part of an image with a colour of floats, signed and unsigned integers.
pub(crate) fn clears(gpu: &Gpu) -> Result<(), Failed> {
    let floats = [1.0f32, 0.0, 0.2, 0.6].map(f32::to_bits);
    let integers = [-3i32, 70_000, -70_000, 5].map(|n| n as u32);
    let colours: [(&str, u32, [u32; 4], &[u8]); 4] = [
        ("rgba8", 0, floats, &[255, 0, 51, 153]),
        ("r32f", 0, floats, &[0, 0, 0x80, 0x3f]),
        // Values beyond the format become the nearest one (OpenCL C, 8.3.4).
        ("rgba16i", 1, integers, &[0xfd, 0xff, 0xff, 0x7f, 0x00, 0x80, 5, 0]),
        ("rg32ui", 2, [7, u32::MAX, 0, 0], &[7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]),
    ];
    for ty in TYPES {
        for (name, kind, colour, texel) in colours {
            let image = gpu.image("image", &ty.desc(name, ty.tiling)?)?;
            let [width, height, depth] = ty.extent().map(|n| n as usize);
            let mut expected = vec![0; width * height * depth * texel.len()];
            image.write_bytes(0, &expected)?;
            let args = std::iter::repeat_n(Arg::from(&image), 5).chain([
                ty.number.into(),
                kind.into(),
                vector(colour),
                vector([2, 0, 0, 0]),
            ]);
            let [w, h, d] = ty.extent();
            gpu.launch("clear_image", size([w - 5, h, d]), &args.collect::<Vec<Arg>>())?;
            for (n, at) in expected.chunks_exact_mut(texel.len()).enumerate() {
                if (2..width - 3).contains(&(n % width)) {
                    at.copy_from_slice(texel);
                }
            }
            let mut found = vec![0; expected.len()];
            image.read_bytes(0, &mut found)?;
            same(&format!("clear_image: {name}, type {}", ty.number), &found, &expected)?;
        }
    }
    Ok(())
}
