//! Images as arguments: `src:image2d[rgba8,640x480]=@photo.png`.

use std::io::Cursor;
use std::path::Path;

use wavemill::image::{
    BlockOrder, DataFormat, Dimensions, ImageDesc, ImageFormat, SamplerDesc, TexelNumber, Tiling,
};
use wavemill::module::ParameterKind;
use wavemill::{Arg, Buffer, Error, Image};

use super::element::{Element, ElementText as _, Number};
use super::elements::Elements;
use super::fill::{self, Fill};
use super::parameters::Known;
use super::plan::{Contents, Single};
use super::sampler;
use super::spec::{ArgSpec, Init};
use super::view::Shape;
use crate::failure::Failure;
use crate::input::{self, Shown as _};
use crate::text::{Extent, closest};

/// An argument that is no buffer of elements, as the user describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Special {
    Image(ImageSpec),
    Sampler(SamplerDesc),
}

/// An image, as the user describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ImageSpec {
    ty: &'static Type,
    /// `rgba8` if it is not given.
    format: Option<ImageFormat>,
    /// That of a picture if it is not given.
    size: Option<[u32; 3]>,
    /// Linear if it is not given, or blocks of 64 KiB for texels of several samples.
    tiling: Option<Tiling>,
    /// Mip levels and samples; 1 if they are not given.
    levels: Option<u32>,
    samples: Option<u32>,
}

/// A type of images in arguments: OpenCL C's without the end.
#[derive(Debug, PartialEq)]
struct Type {
    name: &'static str,
    dimensions: Dimensions,
    is_buffer: bool,
    /// The form of a size, and an example.
    size: (&'static str, &'static str),
}

impl Type {
    const fn new(name: &'static str, dimensions: Dimensions, size: (&'static str, &'static str)) -> Type {
        Type { name, dimensions, is_buffer: false, size }
    }
}

const TYPES: [Type; 7] = [
    Type::new("image1d", Dimensions::D1, ("WIDTH", "64")),
    Type::new("image2d", Dimensions::D2, ("WIDTHxHEIGHT", "64x64")),
    Type::new("image3d", Dimensions::D3, ("WIDTHxHEIGHTxDEPTH", "64x64x2")),
    Type::new("image1d_array", Dimensions::D1Array, ("WIDTHxSLICES", "64x2")),
    Type::new("image2d_array", Dimensions::D2Array, ("WIDTHxHEIGHTxSLICES", "64x64x2")),
    Type::new("cube", Dimensions::Cube, ("WIDTHxHEIGHT or WIDTHxHEIGHTxFACES", "64x64")),
    Type { is_buffer: true, ..Type::new("image1d_buffer", Dimensions::D1, ("WIDTH", "1024")) },
];

/// What the type of a parameter in the source says about its image.
struct Declared {
    ty: &'static Type,
    has_depth: bool,
    has_samples: bool,
}

/// The image that a type of OpenCL C declares, such as `image2d_array_depth_t`.
fn declared(type_name: &str) -> Option<Declared> {
    let name = type_name.strip_suffix("_t")?;
    let (name, has_depth) = name.strip_suffix("_depth").map_or((name, false), |name| (name, true));
    let (name, has_samples) = name.strip_suffix("_msaa").map_or((name, false), |name| (name, true));
    let ty = TYPES.iter().find(|ty| ty.name == name)?;
    Some(Declared { ty, has_depth, has_samples })
}

/// An argument for a parameter of a type of the source, to fill in.
pub(super) fn template(name: &str, type_name: Option<&str>) -> String {
    let declared = type_name.and_then(declared);
    let Declared { ty, has_depth, has_samples } =
        declared.unwrap_or(Declared { ty: &TYPES[1], has_depth: false, has_samples: false });
    let format = if has_depth { "depth32f" } else { "rgba8" };
    let samples = if has_samples { ",samples=4" } else { "" };
    format!("{name}:{}[{format},{}{samples}]=zeros", ty.name, ty.size.1)
}

/// Whether a parameter is an image that only image instructions access.
pub(super) fn needs_instructions(parameter: &Known) -> bool {
    let ty = parameter.type_name.as_deref().and_then(declared);
    parameter.kind == ParameterKind::Image && !ty.is_some_and(|declared| declared.ty.is_buffer)
}

/// The first texels of an image for a parameter of a type of the source, as results name them.
pub(super) fn first_texels(name: &str, type_name: Option<&str>) -> String {
    let ty = type_name.and_then(declared).map_or(&TYPES[1], |declared| declared.ty);
    let before = match ty.dimensions {
        Dimensions::D1 => "",
        Dimensions::D1Array | Dimensions::D2 => "0,",
        _ => "0,0,",
    };
    format!("{name}[{before}:4]")
}

/// The form of an image, for messages.
const IMAGE_FORM: &str =
    "image2d[rgba8,640x480]: a format, a size, and optionally a swizzle mode, mips=LEVELS, samples=COUNT";

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
            return sampler::parse(inside).map(|desc| Some(Special::Sampler(desc)));
        }
        match TYPES.iter().find(|one| one.name == ty) {
            Some(ty) => image(ty, inside).map(|spec| Some(Special::Image(spec))),
            None if ty.starts_with("image") || is_almost_image(ty) => Err(no_type(ty)),
            None => Ok(None),
        }
    }
}

/// Whether an unknown type is closer to a type of images or samplers than to one of elements.
fn is_almost_image(ty: &str) -> bool {
    let images = || TYPES.iter().map(|ty| ty.name).chain(["sampler"]);
    let elements = Element::ALL.map(Element::name);
    Element::from_name(ty).is_none()
        && closest(ty, elements.into_iter().chain(images()))
            .is_some_and(|near| images().any(|name| name == near))
}

/// The types of images and samplers, as advice for an unknown type.
pub(super) fn types() -> String {
    let names: Vec<&str> = TYPES.iter().map(|ty| ty.name).collect();
    format!("Types of images are {}. The type of a sampler is sampler.", names.join(", "))
}

/// The failure for a type that looks like one of images.
fn no_type(ty: &str) -> Failure {
    let names = TYPES.iter().map(|ty| ty.name).chain(["sampler"]);
    // A type of OpenCL C, with or without its end.
    let spelled = declared(ty).is_some() || declared(&format!("{ty}_t")).is_some();
    let hint = if spelled {
        let of = template("name", Some(&format!("{}_t", ty.trim_end_matches("_t"))));
        format!("; did you mean {of}?")
    } else {
        closest(ty, names.clone()).map_or(String::new(), |near| format!("; did you mean `{near}`?"))
    };
    Failure::usage(format!(
        "there is no type `{}`; types of images and samplers are {}{hint}",
        ty.shown(),
        names.collect::<Vec<_>>().join(", ")
    ))
}

/// The parts between the brackets of a type.
pub(super) fn parts(inside: Option<&str>) -> impl Iterator<Item = &str> {
    inside.unwrap_or_default().split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn image(ty: &'static Type, inside: Option<&str>) -> Result<ImageSpec, Failure> {
    let mut spec = ImageSpec { ty, format: None, size: None, tiling: None, levels: None, samples: None };
    for part in parts(inside) {
        let (what, twice) = if let Some(format) = ImageFormat::from_name(part) {
            ("format", spec.format.replace(format).is_some())
        } else if let Some((.., tiling)) = Tiling::ALL.iter().find(|(_, name, _)| *name == part) {
            ("swizzle mode", spec.tiling.replace(*tiling).is_some())
        } else if part.starts_with(|c: char| c.is_ascii_digit())
            && let Some(parts) = size(part)
        {
            ("size", spec.size.replace(sized(ty, part, &parts)?).is_some())
        } else if let Some((key, value)) = part.split_once('=') {
            let number = value.trim().parse::<u32>().ok().filter(|number| *number > 0);
            let number = || {
                number.ok_or_else(|| {
                    Failure::usage(format!(
                        "`{}`: expected a number from 1 on, such as {key}=4",
                        part.shown()
                    ))
                })
            };
            match key.trim() {
                "mips" => ("number of mip levels", spec.levels.replace(number()?).is_some()),
                "samples" => ("number of samples", spec.samples.replace(number()?).is_some()),
                other => {
                    return Err(Failure::usage(format!(
                        "`{}`: an image has no `{}`; expected mips=LEVELS or samples=COUNT",
                        part.shown(),
                        other.shown()
                    )));
                }
            }
        } else {
            return Err(no_part(part));
        };
        if twice {
            return Err(Failure::usage(format!("`{}`: the image already has a {what}", part.shown())));
        }
    }
    Ok(spec)
}

/// The failure for a part between the brackets that describes nothing.
fn no_part(part: &str) -> Failure {
    let formats = ImageFormat::all().iter().map(|format| format.name);
    let modes = Tiling::ALL.iter().map(|(_, name, _)| *name);
    let hint = closest(part, formats.clone().chain(modes.clone()))
        .map_or(String::new(), |near| format!("; did you mean `{near}`?"));
    Failure::usage(format!(
        "`{}` is neither a format nor a size nor a swizzle mode of an image; expected {IMAGE_FORM}{hint}",
        part.shown()
    ))
    .help(format!(
        "Formats: {}. Swizzle modes: {}.",
        formats.collect::<Vec<_>>().join(", "),
        modes.collect::<Vec<_>>().join(", ")
    ))
}

/// Width, height and depth from as many numbers as the dimensions have.
fn sized(ty: &Type, text: &str, parts: &[u32]) -> Result<[u32; 3], Failure> {
    let sizes = match (ty.dimensions, parts) {
        (Dimensions::D1, [w]) => [*w, 1, 1],
        (Dimensions::D1Array, [w, n]) => [*w, 1, *n],
        (Dimensions::D2, [w, h]) => [*w, *h, 1],
        (Dimensions::Cube, [w, h]) => [*w, *h, 6],
        (Dimensions::D3 | Dimensions::D2Array | Dimensions::Cube, [w, h, d]) => [*w, *h, *d],
        _ => {
            return Err(Failure::usage(format!(
                "`{}` is not a size of {}; expected {}, such as {}",
                text.shown(),
                ty.name,
                ty.size.0,
                ty.size.1
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

/// Shape of the numbers of a mip level: slices, rows, texels, samples, channels.
fn shape(name: &str, desc: &ImageDesc, level: u32) -> Shape {
    let [width, height, depth] = desc.level_size(level).map(u64::from);
    let mut dims = match desc.dimensions {
        Dimensions::D1 => vec![width],
        Dimensions::D1Array => vec![depth, width],
        Dimensions::D2 | Dimensions::Samples => vec![height, width],
        _ => vec![depth, height, width],
    };
    let rest = [desc.samples, desc.format.channels()].map(u64::from);
    dims.extend(rest.into_iter().filter(|n| *n > 1));
    Shape { name: name.to_owned(), element: element(desc.format), dims }
}

/// What is between the name of an image and the number of a mip level, in names of results.
const LEVEL: &str = ".mip";

/// The names of the mip levels of an image after the first one.
pub(super) fn level_names(name: &str, desc: &ImageDesc) -> Vec<String> {
    (1..desc.levels).map(|level| format!("{name}{LEVEL}{level}")).collect()
}

/// The image and the mip level that a name of a result means.
pub(super) fn split_level(name: &str) -> Option<(&str, u32)> {
    let (image, level) = name.rsplit_once(LEVEL)?;
    Some((image, level.parse().ok()?))
}

/// Offset and shape of a mip level among the bytes of an image; `None` if there is no such level.
pub(super) fn level(name: &str, desc: &ImageDesc, level: u32) -> Option<(u64, Shape)> {
    (level < desc.levels).then(|| (desc.level_offset(level), shape(name, desc, level)))
}

/// A picture with four numbers of 16 bits a pixel. One of 8 bits is 257 times as large here.
struct Picture {
    size: [u32; 2],
    rgba: Vec<u16>,
}

/// The formats that a picture fits, for messages.
const PICTURE_FORMATS: &str = "rgba8, bgra8, srgba8, rgba8ui, rgba16, rgba16ui, rgba16f, rgba32f, and as brightness \
                               r8, r8ui, r16, r16ui, r16f, r32f, depth16, depth32f";

/// The most pixels of a picture: those of the largest image.
const MOST_PIXELS: u64 = 1 << 28;

/// Reads a PNG file.
fn picture(path: &Path) -> Result<Picture, Failure> {
    let cannot = |why: String| Failure::input(format!("cannot read `{}`: {why}", path.shown()));
    let data = input::open(path)?;
    let mut decoder = png::Decoder::new(Cursor::new(&data[..]));
    decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().map_err(|error| cannot(error.to_string()))?;
    let (width, height) = (reader.info().width, reader.info().height);
    if u64::from(width) * u64::from(height) > MOST_PIXELS {
        return Err(cannot(format!("it has {width} x {height} pixels; the largest image has 16384 x 16384")));
    }
    let bytes = reader.output_buffer_size().ok_or_else(|| cannot("it is too large".to_owned()))?;
    let mut pixels = vec![0; bytes];
    let info = reader.next_frame(&mut pixels).map_err(|error| cannot(error.to_string()))?;
    pixels.truncate(info.buffer_size());
    let numbers: Vec<u16> = match info.bit_depth {
        png::BitDepth::Sixteen => {
            pixels.chunks_exact(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]])).collect()
        }
        _ => pixels.iter().map(|byte| 257 * u16::from(*byte)).collect(),
    };
    let rgba = match info.color_type {
        png::ColorType::Rgba => numbers,
        png::ColorType::Rgb => numbers.chunks_exact(3).flat_map(|p| [p[0], p[1], p[2], u16::MAX]).collect(),
        png::ColorType::GrayscaleAlpha => {
            numbers.chunks_exact(2).flat_map(|p| [p[0], p[0], p[0], p[1]]).collect()
        }
        png::ColorType::Grayscale => numbers.iter().flat_map(|p| [*p, *p, *p, u16::MAX]).collect(),
        png::ColorType::Indexed => return Err(cannot("its palette was not resolved".to_owned())),
    };
    Ok(Picture { size: [width, height], rgba })
}

/// The parts of red, green and blue in the brightness of Rec. 709, in units of 1 / [`PARTS`].
const BRIGHTNESS: [u64; 3] = [2126, 7152, 722];
const PARTS: u64 = 10_000;

/// Appends a number of a picture, in units of 1 / (65535 * [`PARTS`]), as a number of a type: the
/// nearest. The largest integer is 1.
///
/// # Errors
/// The type is not one of those that pictures fit.
fn put(element: Element, number: u64, out: &mut Vec<u8>) -> Result<(), Failure> {
    const ONE: u64 = 65535 * PARTS;
    let integer = |most: u64| Number::Int(((number * most + ONE / 2) / ONE).into());
    let number = match element {
        Element::U8 => integer(u8::MAX.into()),
        Element::U16 => integer(u16::MAX.into()),
        _ => Number::Float(number as f64 / ONE as f64),
    };
    element.put(number, out)
}

impl Picture {
    /// The numbers of an image of a format.
    fn texels(&self, format: ImageFormat) -> Result<Vec<u8>, Failure> {
        use DataFormat::{D8, D8_8_8_8, D16, D16_16_16_16, D32, D32_32_32_32};
        let (element, data) = (element(format), format.texel.data);
        let fits = matches!(element, Element::U8 | Element::U16 | Element::F16 | Element::F32);
        let pixels = self.rgba.chunks_exact(4);
        let mut out = Vec::with_capacity(pixels.len() * data.bytes() as usize);
        match data {
            D8_8_8_8 | D16_16_16_16 | D32_32_32_32 if fits => {
                let mut numbers = self.rgba.iter();
                numbers.try_for_each(|number| put(element, PARTS * u64::from(*number), &mut out))?;
            }
            D8 | D16 | D32 if fits => {
                for pixel in pixels {
                    let parts = pixel.iter().zip(BRIGHTNESS).map(|(number, part)| part * u64::from(*number));
                    put(element, parts.sum(), &mut out)?;
                }
            }
            _ => {
                return Err(Failure::usage(format!(
                    "a picture does not fit the format {}; expected one of {}, or a file of numbers (.npy, .bin)",
                    format.name, PICTURE_FORMATS
                )));
            }
        }
        Ok(out)
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
            return Err(Failure::input(format!(
                "the picture has {} x {} pixels, but the image has {w} x {}",
                picture.size[0],
                picture.size[1],
                h * d
            )));
        }
        (Some(size), _) => size,
        (None, Some(picture)) if spec.ty.dimensions == Dimensions::D2 => {
            [picture.size[0], picture.size[1], 1]
        }
        _ => {
            return Err(Failure::usage(format!(
                "the size of the image is missing; expected {name}:{}[{},{}]=...",
                spec.ty.name, format.name, spec.ty.size.1
            )));
        }
    };
    let desc = spec.desc(format, size);
    if let Some(problem) = desc.problem() {
        return Err(Failure::usage(format!("cannot create the image: {problem}")));
    }
    check_type(parameter, spec)?;
    let shape = shape(&name, &desc, 0);
    let contents = match (&picture, &argument.init) {
        (Some(_), _) if desc.samples > 1 => {
            return Err(Failure::usage(format!(
                "a picture has one sample a texel, but the image has {}; expected numbers (.npy, .bin)",
                desc.samples
            )));
        }
        (Some(picture), _) => Contents::Made(averaged(&desc, shape.element, picture.texels(format)?)?),
        (None, Init::Open) => Contents::Fresh,
        (None, Init::Fill(fill)) if fill.is_zero(shape.element) => Contents::Zeros,
        (None, Init::Fill(fill)) => Contents::Made(elements(&desc, &shape, fill)?),
        (None, _) => {
            return Err(Failure::usage(format!(
                "an image begins with contents; expected {name}:{}[...]=zeros or =@picture.png",
                spec.ty.name
            )));
        }
    };
    Ok(Single::Image { shape, contents, desc })
}

impl ImageSpec {
    fn desc(&self, format: ImageFormat, size: [u32; 3]) -> ImageDesc {
        let samples = self.samples.unwrap_or(1);
        let dimensions = match (self.ty.dimensions, samples > 1) {
            (Dimensions::D2, true) => Dimensions::Samples,
            (Dimensions::D2Array, true) => Dimensions::SamplesArray,
            (dimensions, _) => dimensions,
        };
        // Such an image is never linear.
        let blocks = Tiling::Blocks { log2: 16, order: BlockOrder::Standard };
        let usual = if samples > 1 { blocks } else { Tiling::Linear };
        ImageDesc {
            tiling: self.tiling.unwrap_or(usual),
            levels: self.levels.unwrap_or(1),
            samples,
            is_buffer: self.ty.is_buffer,
            ..ImageDesc::new(dimensions, format, size)
        }
    }
}

/// Checks that an image is of the type that the parameter has in the source.
fn check_type(parameter: &Known, spec: &ImageSpec) -> Result<(), Failure> {
    let Some(type_name) = &parameter.type_name else { return Ok(()) };
    let Some(declared) = declared(type_name) else { return Ok(()) };
    let has_samples = spec.samples.unwrap_or(1) > 1;
    if (declared.ty, declared.has_samples) == (spec.ty, has_samples) {
        return Ok(());
    }
    let with = |samples: bool| if samples { " with several samples" } else { "" };
    Err(Failure::usage(format!(
        "parameter `{name}` is `{type_name}` in the source, but the argument is {}{}; expected {}",
        spec.ty.name,
        with(has_samples),
        template(&parameter.name, Some(type_name)),
        name = parameter.name
    )))
}

/// The numbers of all mip levels from those of the first one.
fn averaged(desc: &ImageDesc, element: Element, first: Vec<u8>) -> Result<Elements, Failure> {
    let all = if desc.levels > 1 { desc.with_averaged_levels(first) } else { Ok(first) };
    all.map(|all| Elements::bytes(element, all)).map_err(|error| Failure::usage(error.to_string()))
}

/// The contents of an image: numbers of all mip levels, or a list or a file of those of the first
/// one.
fn elements(desc: &ImageDesc, shape: &Shape, fill: &Fill) -> Result<Elements, Failure> {
    let (element, first) = (shape.element, shape.count());
    let found = match fill {
        Fill::List(numbers) => Some(vec![numbers.len() as u64]),
        Fill::File(path) => Some(fill::read_file(path, Some(element))?.1),
        _ => None,
    };
    if let (Some(path), Some(dims)) = (fill.file(), found.as_ref().filter(|dims| dims.len() > 1)) {
        // A flat array has no order of rows and columns that could be wrong.
        let of = |dims: &[u64]| dims.iter().copied().filter(|n| *n > 1).collect::<Vec<u64>>();
        if of(dims) != of(&shape.dims) {
            return Err(Failure::input(format!(
                "`{}` has the shape {}, but the image has {}",
                path.shown(),
                Extent(dims),
                Extent(&shape.dims)
            ))
            .help("Rows come first: an image of 640x480 with 4 channels has the shape 480 x 640 x 4."));
        }
    }
    let given = found.map(|dims| dims.iter().product::<u64>());
    if desc.levels > 1 && desc.samples == 1 && given == Some(first) {
        return averaged(desc, element, fill.bytes(element, first)?);
    }
    let all = desc.texels() * u64::from(desc.format.channels());
    fill.elements(element, all).map_err(|failure| match (given, desc.levels) {
        (Some(_), 2..) => failure.help(format!(
            "Contents are the {all} numbers of all mip levels, the first level first, or the {first} of the first level."
        )),
        _ => failure,
    })
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
    fn templates_are_arguments() {
        for (ty, text) in [
            ("image2d_t", "x:image2d[rgba8,64x64]=zeros"),
            ("image2d_array_depth_t", "x:image2d_array[depth32f,64x64x2]=zeros"),
            ("image2d_array_msaa_depth_t", "x:image2d_array[depth32f,64x64x2,samples=4]=zeros"),
            ("image1d_buffer_t", "x:image1d_buffer[rgba8,1024]=zeros"),
            ("other", "x:image2d[rgba8,64x64]=zeros"),
        ] {
            assert_eq!(template("x", Some(ty)), text);
            assert!(matches!(parse(text), Ok(Some(Special::Image(_)))), "{text}");
        }
    }

    #[test]
    fn every_form() {
        let Ok(Some(Special::Image(spec))) = parse("src:image2d[rgba8,640x480,64kb_s]=@in.png") else {
            panic!("an image");
        };
        assert_eq!((spec.ty.dimensions, spec.size), (Dimensions::D2, Some([640, 480, 1])));
        assert_eq!(spec.format.map(|format| format.name), Some("rgba8"));
        assert_eq!(spec.tiling.map(Tiling::code), Some(9));
        let Ok(Some(Special::Image(spec))) = parse("src:image2d_array[64x64x3, samples=8, mips=1]=zeros")
        else {
            panic!("an image");
        };
        assert_eq!((spec.levels, spec.samples, spec.tiling), (Some(1), Some(8), None));
        let Ok(Some(Special::Sampler(desc))) = parse("s:sampler[linear,repeat,normalized]") else {
            panic!("a sampler");
        };
        assert!(desc.magnifies_linear && desc.minifies_linear && desc.normalised);
        assert!(matches!(parse("v:image3d[r32f,4x4x4]"), Ok(Some(Special::Image(_)))));
        let spec = ArgSpec::parse("tex:image2d=file:photo.png", Path::new("base")).unwrap();
        assert_eq!(spec.init, Init::Fill(Fill::File("base/photo.png".into())));
        assert!(parse("x:image2d[rgb8,4x4]").unwrap_err().contains("neither a format"));
        assert!(parse("x:image3d[rgba8,4x4]").unwrap_err().contains("expected WIDTHxHEIGHTxDEPTH"));
        for (text, part) in [
            ("x:image2d[mips=0]", "`mips=0`: expected a number from 1 on, such as mips=4"),
            ("x:image2d[mips=many]=1", "`mips=many`: expected a number"),
            ("x:image2d[levels=4]", "an image has no `levels`; expected mips=LEVELS or samples=COUNT"),
            ("x:image2d[4x4,5x5]", "`5x5`: the image already has a size"),
            ("x:image2d[r8,rg8]", "`rg8`: the image already has a format"),
            ("x:image2d[mips=2,mips=3]", "`mips=3`: the image already has a number of mip levels"),
            ("x:image1d_buffer[4x4]", "`4x4` is not a size of image1d_buffer; expected WIDTH, such as 1024"),
            ("x:image2d_t[r8,4x4]", "did you mean name:image2d[rgba8,64x64]=zeros?"),
            ("x:image2d_msaa[r8,4x4]", "did you mean name:image2d[rgba8,64x64,samples=4]=zeros?"),
            ("x:image2b", "types of images and samplers are image1d, image2d"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
    }
}
