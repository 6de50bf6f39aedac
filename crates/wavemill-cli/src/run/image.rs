//! Images and samplers as arguments: `src:image2d[rgba8,640x480]=@photo.png`,
//! `s:sampler[linear,clamp,normalized]`.

use std::io::Cursor;
use std::path::Path;

use wavemill::image::{
    AddressMode, DataFormat, Dimensions, ImageDesc, ImageFormat, SamplerDesc, TexelNumber, Tiling,
};
use wavemill::{Arg, Buffer, Error, Image};

use super::element::Element;
use super::elements::Elements;
use super::fill::Fill;
use super::parameters::Known;
use super::plan::{Contents, Single};
use super::spec::{ArgSpec, Init};
use super::view::Shape;
use crate::failure::Failure;
use crate::input::{self, Shown as _};
use crate::text::closest;

/// An argument that is no buffer of elements, as the user describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Special {
    Image(ImageSpec),
    Sampler(SamplerDesc),
}

/// An image, as the user describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ImageSpec {
    dimensions: Dimensions,
    /// `rgba8` if it is not given.
    format: Option<ImageFormat>,
    /// That of a picture if it is not given.
    size: Option<[u32; 3]>,
    tiling: Tiling,
}

/// Names of images in arguments.
const TYPES: [(&str, Dimensions); 6] = [
    ("image1d", Dimensions::D1),
    ("image2d", Dimensions::D2),
    ("image3d", Dimensions::D3),
    ("image1d_array", Dimensions::D1Array),
    ("image2d_array", Dimensions::D2Array),
    ("cube", Dimensions::Cube),
];

/// Names of address modes in arguments: OpenCL's.
const MODES: [(&str, AddressMode); 4] = [
    ("clamp_to_edge", AddressMode::Clamp),
    ("clamp", AddressMode::Border),
    ("repeat", AddressMode::Wrap),
    ("mirrored_repeat", AddressMode::Mirror),
];

/// The form of an image, for messages.
const IMAGE_FORM: &str = "image2d[rgba8,640x480]: a format, a size, and optionally a swizzle mode";
/// The form of a sampler, for messages.
const SAMPLER_FORM: &str = "sampler[linear,clamp_to_edge,normalized]";

fn name_of(dimensions: Dimensions) -> &'static str {
    TYPES.iter().find(|(_, one)| *one == dimensions).map_or("image2d", |(name, _)| name)
}

/// `640x480` as a size; `None` if it is not the form of one.
fn size(text: &str) -> Option<Vec<u32>> {
    let parts = text.split('x').map(|part| part.trim().replace('_', "").parse().ok());
    parts.collect::<Option<Vec<u32>>>().filter(|parts| parts.len() <= 3)
}

impl Special {
    /// The image or the sampler of a type; `None` for other types.
    ///
    /// # Errors
    /// What is between the brackets describes none.
    pub(crate) fn parse(ty: &str, inside: Option<&str>) -> Result<Option<Special>, Failure> {
        if ty == "sampler" {
            return sampler(inside).map(|desc| Some(Special::Sampler(desc)));
        }
        match TYPES.iter().find(|(name, _)| *name == ty) {
            Some((_, dimensions)) => image(*dimensions, inside).map(|spec| Some(Special::Image(spec))),
            None => Ok(None),
        }
    }
}

fn parts(inside: Option<&str>) -> impl Iterator<Item = &str> {
    inside.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn sampler(inside: Option<&str>) -> Result<SamplerDesc, Failure> {
    let mut desc = SamplerDesc::default();
    for part in parts(inside) {
        match (part, MODES.iter().find(|(name, _)| *name == part)) {
            (_, Some((_, mode))) => desc.address = *mode,
            ("linear", _) => desc.linear = true,
            ("nearest", _) => desc.linear = false,
            ("normalized", _) => desc.normalised = true,
            ("unnormalized", _) => desc.normalised = false,
            _ => {
                let words = ["linear", "nearest", "normalized", "unnormalized"].into_iter();
                let words: Vec<&str> = words.chain(MODES.map(|(name, _)| name)).collect();
                let hint = closest(part, words.iter().copied())
                    .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                return Err(Failure::usage(format!(
                    "`{}` says nothing about a sampler; expected some of {}, such as {SAMPLER_FORM}{hint}",
                    part.shown(),
                    words.join(", ")
                )));
            }
        }
    }
    Ok(desc)
}

fn image(dimensions: Dimensions, inside: Option<&str>) -> Result<ImageSpec, Failure> {
    let mut spec = ImageSpec { dimensions, format: None, size: None, tiling: Tiling::Linear };
    for part in parts(inside) {
        if let Some(format) = ImageFormat::from_name(part) {
            spec.format = Some(format);
        } else if let Some((.., tiling)) = Tiling::ALL.iter().find(|(_, name, _)| *name == part) {
            spec.tiling = *tiling;
        } else if part.starts_with(|c: char| c.is_ascii_digit())
            && let Some(parts) = size(part)
        {
            spec.size = Some(sized(dimensions, part, &parts)?);
        } else {
            let formats = ImageFormat::all().iter().map(|format| format.name);
            let modes = Tiling::ALL.iter().map(|(_, name, _)| *name);
            let hint = closest(part, formats.clone().chain(modes.clone()))
                .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            return Err(Failure::usage(format!(
                "`{}` is neither a format nor a size nor a swizzle mode of an image; expected {IMAGE_FORM}{hint}",
                part.shown()
            ))
            .help(format!(
                "Formats: {}. Swizzle modes: {}.",
                formats.collect::<Vec<_>>().join(", "),
                modes.collect::<Vec<_>>().join(", ")
            )));
        }
    }
    Ok(spec)
}

/// Width, height and depth from as many numbers as the dimensions have.
fn sized(dimensions: Dimensions, text: &str, parts: &[u32]) -> Result<[u32; 3], Failure> {
    let sizes = match (dimensions, parts) {
        (Dimensions::D1, [w]) => [*w, 1, 1],
        (Dimensions::D1Array, [w, n]) => [*w, 1, *n],
        (Dimensions::D2, [w, h]) => [*w, *h, 1],
        (Dimensions::Cube, [w, h]) => [*w, *h, 6],
        (Dimensions::D3 | Dimensions::D2Array | Dimensions::Cube, [w, h, d]) => [*w, *h, *d],
        _ => {
            let wanted = match dimensions {
                Dimensions::D1 => "WIDTH",
                Dimensions::D1Array => "WIDTHxSLICES",
                Dimensions::D3 => "WIDTHxHEIGHTxDEPTH",
                Dimensions::D2Array => "WIDTHxHEIGHTxSLICES",
                Dimensions::Cube => "WIDTHxHEIGHT or WIDTHxHEIGHTxFACES",
                _ => "WIDTHxHEIGHT",
            };
            return Err(Failure::usage(format!(
                "`{}` is not the size of an {}; expected {wanted}",
                text.shown(),
                name_of(dimensions)
            )));
        }
    };
    Ok(sizes)
}

/// The type of the numbers that a format stores.
fn element(format: ImageFormat) -> Element {
    let number = format.texel.number;
    let bits = match (format.channels(), format.texel.data.channels()) {
        (1, channels) if channels.len() > 1 => 8 * format.texel.data.bytes(),
        (_, channels) => channels.first().map_or(8, |(_, bits)| *bits),
    };
    match (bits, number) {
        (8, TexelNumber::Snorm | TexelNumber::Sint) => Element::I8,
        (8, _) => Element::U8,
        (16, TexelNumber::Snorm | TexelNumber::Sint) => Element::I16,
        (16, TexelNumber::Float) => Element::F16,
        (16, _) => Element::U16,
        (_, TexelNumber::Sint) => Element::I32,
        (_, TexelNumber::Float) => Element::F32,
        _ => Element::U32,
    }
}

/// Shape of the numbers of an image: slices, rows, texels, channels.
fn shape(name: &str, desc: &ImageDesc) -> Shape {
    let [width, height, depth] = desc.size.map(u64::from);
    let mut dims = match desc.dimensions {
        Dimensions::D1 => vec![width],
        Dimensions::D1Array => vec![depth, width],
        Dimensions::D2 => vec![height, width],
        _ => vec![depth, height, width],
    };
    if desc.format.channels() > 1 {
        dims.push(desc.format.channels().into());
    }
    Shape { name: name.to_owned(), element: element(desc.format), dims }
}

/// A picture with four bytes a pixel.
struct Picture {
    size: [u32; 2],
    rgba: Vec<u8>,
}

/// The most pixels of a picture: those of the largest image.
const MOST_PIXELS: u64 = 1 << 28;

/// Reads a PNG file.
fn picture(path: &Path) -> Result<Picture, Failure> {
    let cannot = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.shown()));
    let data = input::open(path)?;
    let mut decoder = png::Decoder::new(Cursor::new(&data[..]));
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(|error| cannot(error.to_string()))?;
    let (width, height) = (reader.info().width, reader.info().height);
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(cannot(format!("it has {width} x {height} pixels, more than any image")));
    }
    let bytes = reader.output_buffer_size().ok_or_else(|| cannot("it is too large".to_owned()))?;
    let mut pixels = vec![0; bytes];
    let info = reader.next_frame(&mut pixels).map_err(|error| cannot(error.to_string()))?;
    let rgba = match info.color_type {
        png::ColorType::Rgba => pixels,
        png::ColorType::Rgb => pixels.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], 255]).collect(),
        png::ColorType::GrayscaleAlpha => {
            pixels.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect()
        }
        png::ColorType::Grayscale => pixels.iter().flat_map(|p| [*p, *p, *p, 255]).collect(),
        png::ColorType::Indexed => return Err(cannot("its palette was not resolved".to_owned())),
    };
    Ok(Picture { size: [width, height], rgba })
}

impl Picture {
    /// The numbers of an image of a format.
    fn texels(&self, format: ImageFormat) -> Result<Vec<u8>, Failure> {
        let unit = |byte: u8| f32::from(byte) / 255.0;
        let is_float =
            format.texel.data == DataFormat::D32_32_32_32 && format.texel.number == TexelNumber::Float;
        let is_byte = |data| format.texel.data == data && element(format) == Element::U8;
        if is_byte(DataFormat::D8_8_8_8) {
            return Ok(self.rgba.clone());
        }
        if is_float {
            return Ok(self.rgba.iter().flat_map(|byte| unit(*byte).to_le_bytes()).collect());
        }
        // The brightness of Rec. 709.
        let grey = |p: &[u8]| {
            let parts = [(p[0], 0.2126), (p[1], 0.7152), (p[2], 0.0722)];
            parts.iter().map(|(byte, part)| f64::from(*byte) * part).sum::<f64>()
        };
        let pixels = self.rgba.chunks_exact(4);
        if is_byte(DataFormat::D8) {
            return Ok(pixels.map(|p| grey(p).round() as u8).collect());
        }
        if format.texel.data == DataFormat::D32 && format.texel.number == TexelNumber::Float {
            return Ok(pixels.flat_map(|p| ((grey(p) / 255.0) as f32).to_le_bytes()).collect());
        }
        Err(Failure::usage(format!(
            "a picture has 8 bits for each channel, which is not the format {}; expected rgba8, bgra8, srgba8, rgba8ui, \
             r8, r8ui, rgba32f or r32f, or a file of numbers (.npy, .bin)",
            format.name
        )))
    }
}

/// An image argument.
pub(super) fn plan(parameter: &Known, argument: &ArgSpec, spec: &ImageSpec) -> Result<Single, Failure> {
    let name = argument.name.clone().filter(|_| !parameter.named).unwrap_or_else(|| parameter.name.clone());
    let format = spec.format.or_else(|| ImageFormat::from_name("rgba8"));
    let format =
        format.ok_or_else(|| Failure::usage(format!("a format is missing; expected {IMAGE_FORM}")))?;
    let is_png = |path: &Path| path.extension().is_some_and(|end| end.eq_ignore_ascii_case("png"));
    let file = match &argument.init {
        Init::Fill(fill) => fill.file().filter(|path| is_png(path)),
        _ => None,
    };
    let picture = file.map(picture).transpose()?;
    let size = match (spec.size, &picture) {
        (Some([w, h, d]), Some(picture)) if picture.size != [w, h * d] => {
            return Err(Failure::usage(format!(
                "the picture has {} x {} pixels, but the image has {w} x {}",
                picture.size[0],
                picture.size[1],
                h * d
            )));
        }
        (Some(size), _) => size,
        (None, Some(picture)) if spec.dimensions == Dimensions::D2 => [picture.size[0], picture.size[1], 1],
        _ => {
            return Err(Failure::usage(format!(
                "the size of the image is missing; expected {name}:{}[{},640x480]=...",
                name_of(spec.dimensions),
                format.name
            )));
        }
    };
    let desc = ImageDesc { dimensions: spec.dimensions, format, size, tiling: spec.tiling };
    if let Some(problem) = desc.problem() {
        return Err(Failure::usage(format!("there is no such image: {problem}")));
    }
    let shape = shape(&name, &desc);
    let contents = match (&picture, &argument.init) {
        (Some(picture), _) => Contents::Made(Elements::bytes(shape.element, picture.texels(format)?)),
        (None, Init::Open) => Contents::Fresh,
        (None, Init::Fill(fill)) if fill.is_zero(shape.element) => Contents::Zeros,
        (None, Init::Fill(fill)) => Contents::Made(fill.elements(shape.element, shape.count())?),
        (None, _) => {
            return Err(Failure::usage(format!(
                "an image begins with contents; expected {name}:{}[...]=zeros or =@picture.png",
                name_of(spec.dimensions)
            )));
        }
    };
    Ok(Single::Image { shape, contents, desc })
}

/// Memory of a launch that has a shape.
#[derive(Debug)]
pub(super) enum Memory {
    Buffer(Buffer),
    Image(Image),
}

impl Memory {
    pub(super) fn arg(&self) -> Arg {
        match self {
            Memory::Buffer(buffer) => Arg::from(buffer),
            Memory::Image(image) => Arg::from(image),
        }
    }

    pub(super) fn address(&self) -> u64 {
        match self {
            Memory::Buffer(buffer) => buffer.address(),
            Memory::Image(image) => image.memory().address(),
        }
    }

    /// Bytes of it.
    pub(super) fn size(&self) -> u64 {
        match self {
            Memory::Buffer(buffer) => buffer.size(),
            Memory::Image(image) => image.memory().size(),
        }
    }

    pub(super) fn fill(&self, word: u32) -> Result<(), Error> {
        match self {
            Memory::Buffer(buffer) => buffer.fill(word),
            Memory::Image(image) => image.memory().fill(word),
        }
    }

    /// Copies bytes out of it. Channels of an image are in the order red, green, blue, alpha.
    pub(super) fn read_bytes(&self, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        match self {
            Memory::Buffer(buffer) => buffer.read_bytes(offset, into),
            Memory::Image(image) if image.desc().format.is_turned() => {
                // Whole texels, turned around.
                let start = offset & !3;
                let end = (offset + into.len() as u64).next_multiple_of(4);
                let mut whole = vec![0; (end - start) as usize];
                image.read_bytes(start, &mut whole)?;
                turn(&mut whole);
                let skip = (offset - start) as usize;
                into.copy_from_slice(&whole[skip..skip + into.len()]);
                Ok(())
            }
            Memory::Image(image) => image.read_bytes(offset, into),
        }
    }

    /// Copies bytes into it: for an image, whole texels.
    pub(super) fn write_bytes(&self, offset: u64, from: &[u8]) -> Result<(), Error> {
        match self {
            Memory::Buffer(buffer) => buffer.write_bytes(offset, from),
            Memory::Image(image) if image.desc().format.is_turned() => {
                let mut turned = from.to_vec();
                turn(&mut turned);
                image.write_bytes(offset, &turned)
            }
            Memory::Image(image) => image.write_bytes(offset, from),
        }
    }
}

/// Swaps red and blue.
fn turn(bytes: &mut [u8]) {
    bytes.chunks_exact_mut(4).for_each(|texel| texel.swap(0, 2));
}

/// The file of `file:NAME`.
pub(super) fn file_contents(text: &str, base: &Path) -> Option<Init> {
    let path = text.trim().strip_prefix("file:").filter(|path| !path.is_empty())?;
    Some(Init::Fill(Fill::File(base.join(path))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<Special>, String> {
        ArgSpec::parse(text, Path::new("base")).map(|spec| spec.special).map_err(|failure| failure.message)
    }

    #[test]
    fn every_form() {
        let Ok(Some(Special::Image(spec))) = parse("src:image2d[rgba8,640x480,64kb_s]=@in.png") else {
            panic!("an image");
        };
        assert_eq!((spec.dimensions, spec.size), (Dimensions::D2, Some([640, 480, 1])));
        assert_eq!(spec.format.map(|format| format.name), Some("rgba8"));
        assert_eq!(spec.tiling.code(), 9);
        let Ok(Some(Special::Sampler(desc))) = parse("s:sampler[linear,repeat,normalized]") else {
            panic!("a sampler");
        };
        assert!(desc.linear && desc.normalised && desc.address == AddressMode::Wrap);
        assert!(matches!(parse("v:image3d[r32f,4x4x4]"), Ok(Some(Special::Image(_)))));
        let spec = ArgSpec::parse("tex:image2d=file:photo.png", Path::new("base")).unwrap();
        assert_eq!(spec.init, Init::Fill(Fill::File("base/photo.png".into())));
        assert!(parse("x:image2d[rgb8,4x4]").unwrap_err().contains("neither a format"));
        assert!(parse("x:image3d[rgba8,4x4]").unwrap_err().contains("expected WIDTHxHEIGHTxDEPTH"));
        assert!(parse("x:sampler[lineal]").unwrap_err().contains("did you mean `linear`?"));
    }
}
