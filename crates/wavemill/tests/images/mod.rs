//! OpenCL's functions of images, compiled by clang with ROCm's device libraries
//! (`kernels/images`), against the OpenCL C specification.

#![allow(clippy::needless_range_loop, reason = "a component is the same index into several arrays")]

mod reference;

use wavemill::image::{AddressMode, Dimensions, ImageDesc, ImageFormat, MipFilter, SamplerDesc, Tiling};
use wavemill::{Arg, Device, Image, Launch, Module};
use wavemill_kernels::{Target, image_fixture};
use wavemill_oracle::SplitMix64;

use reference::{Address, Colour, Format, Kind, Sampler, Texels};

/// The targets that have images and objects.
const TARGETS: [Target; 2] = [Target::Gfx906, Target::Gfx90a];

/// A type of images in the sources: part of the names of kernels, dimensions, axes, a size.
#[derive(Clone, Copy)]
struct Type {
    name: &'static str,
    dimensions: Dimensions,
    size: [u32; 3],
}

impl Type {
    fn is_array(self) -> bool {
        self.dimensions.has_slices()
    }

    fn has_depth(self) -> bool {
        self.name.ends_with("depth")
    }

    /// Formats to test besides the two-dimensional ones.
    fn formats(self) -> Vec<&'static str> {
        let all = || ImageFormat::all().iter().map(|format| format.name);
        match self.name {
            "2d" => all().filter(|name| !name.starts_with("depth")).collect(),
            _ if self.has_depth() => all().filter(|name| name.starts_with("depth")).collect(),
            _ => vec!["rgba8", "r32f", "rg16f", "rgba32i", "r8ui"],
        }
    }
}

const TYPES: [Type; 7] = [
    Type { name: "1d", dimensions: Dimensions::D1, size: [16, 1, 1] },
    Type { name: "1d_array", dimensions: Dimensions::D1Array, size: [8, 1, 3] },
    Type { name: "2d", dimensions: Dimensions::D2, size: [16, 8, 1] },
    Type { name: "2d_array", dimensions: Dimensions::D2Array, size: [8, 4, 3] },
    Type { name: "3d", dimensions: Dimensions::D3, size: [8, 4, 4] },
    Type { name: "2d_depth", dimensions: Dimensions::D2, size: [16, 8, 1] },
    Type { name: "2d_array_depth", dimensions: Dimensions::D2Array, size: [8, 4, 3] },
];

/// The same types with sizes that are no powers of two.
const ODD_TYPES: [Type; 7] = [
    Type { size: [13, 1, 1], ..TYPES[0] },
    Type { size: [7, 1, 5], ..TYPES[1] },
    Type { size: [21, 11, 1], ..TYPES[2] },
    Type { size: [9, 7, 3], ..TYPES[3] },
    Type { size: [7, 5, 3], ..TYPES[4] },
    Type { size: [21, 11, 1], ..TYPES[5] },
    Type { size: [9, 7, 3], ..TYPES[6] },
];

/// A device with the kernels of a source.
struct Loaded {
    device: Device,
    module: Module,
}

impl Loaded {
    fn new(target: Target, object: &str) -> Loaded {
        let object = image_fixture(target, object).unwrap();
        let device = Device::for_object(&object).unwrap();
        let module = Module::load(&device, &object).unwrap();
        Loaded { device, module }
    }

    /// Runs a kernel with a work-item for each index below `size`.
    fn run(&self, kernel: &str, size: [u32; 2], args: Vec<Arg>) {
        let kernel = self.module.kernel(kernel).unwrap();
        let launch = Launch::new(&kernel).workgroups([size[0], size[1], 1]).workgroup_size([1, 1, 1]);
        let launch = if size[1] == 1 && size[0].is_multiple_of(64) {
            launch.workgroups([size[0] / 64, 1, 1]).workgroup_size([64, 1, 1])
        } else {
            launch
        };
        launch.args(args).run().unwrap_or_else(|error| panic!("{}: {error}", kernel.name()));
    }

    /// A buffer with these words.
    fn buffer(&self, name: &str, words: &[u32]) -> wavemill::Buffer {
        let buffer = self.device.buffer(name, 4 * words.len() as u64).unwrap();
        buffer.write(0, words).unwrap();
        buffer
    }

    fn image(&self, desc: &ImageDesc, bytes: &[u8]) -> Image {
        let image = self.device.image("image", desc).unwrap_or_else(|error| panic!("{desc:?}: {error}"));
        image.write_bytes(0, bytes).unwrap();
        image
    }

    fn sampler(&self, sampler: Sampler, mip: MipFilter) -> Arg {
        let address = match sampler.address {
            Address::ClampToEdge => AddressMode::Clamp,
            Address::Clamp => AddressMode::Border,
            Address::Repeat => AddressMode::Wrap,
            Address::MirroredRepeat => AddressMode::Mirror,
        };
        let desc = SamplerDesc {
            address: [address; 3],
            magnifies_linear: sampler.linear,
            minifies_linear: sampler.linear,
            normalised: sampler.normalised,
            mip,
            ..SamplerDesc::default()
        };
        Arg::from(&self.device.sampler(&desc).unwrap())
    }
}

fn words(rows: &[[f32; 4]]) -> Vec<u32> {
    rows.iter().flatten().map(|x| x.to_bits()).collect()
}

/// An image with random texels, and its first level as the specification sees it.
struct Sample {
    desc: ImageDesc,
    format: Format,
    bytes: Vec<u8>,
}

impl Sample {
    fn new(desc: ImageDesc, random: &mut SplitMix64) -> Sample {
        let format = Format::of(desc.format.name);
        let total = desc.texels() as usize * format.bytes();
        let mut bytes: Vec<u8> = (0..total).map(|_| random.next_u64() as u8).collect();
        // Floats of moderate size, without NaNs and infinities.
        let mut float = || (random.next_u64() % 4096) as f32 / 64.0 - 32.0;
        match (format.kind, desc.format.name.contains("16")) {
            (Kind::Float, true) => bytes
                .chunks_exact_mut(2)
                .for_each(|half| half.copy_from_slice(&half::f16::from_f32(float()).to_le_bytes())),
            (Kind::Float, false) => {
                bytes.chunks_exact_mut(4).for_each(|word| word.copy_from_slice(&float().to_le_bytes()));
            }
            _ => {}
        }
        Sample { desc, format, bytes }
    }

    /// A level of one sample a texel.
    fn level(&self, level: u32) -> Texels {
        let desc = &self.desc;
        let size = desc.level_size(level).map(|n| n as usize);
        let start = desc.level_offset(level) as usize;
        let texels = self.bytes[start..].chunks_exact(self.format.bytes());
        let mut border = [0.0; 4];
        // 8.2: alpha of the border is 1 if the image has no alpha.
        if !self.format.stores(3) && !desc.format.name.starts_with("depth") {
            border[3] = 1.0;
        }
        Texels {
            axes: desc.dimensions.axes(),
            is_array: desc.dimensions.has_slices(),
            size,
            colours: texels.take(size.iter().product()).map(|texel| self.format.decode(texel)).collect(),
            border,
        }
    }
}

/// The four components of each work-item, from what a kernel of a kind wrote.
fn results(kind: &str, out: &[u32], one: bool) -> Vec<Colour> {
    let number = |word: u32| match kind {
        "i" => f64::from(word as i32),
        "ui" => f64::from(word),
        _ => f64::from(f32::from_bits(word)),
    };
    if one {
        return out.iter().map(|word| [number(*word), 0.0, 0.0, 0.0]).collect();
    }
    out.chunks_exact(4).map(|row| [0, 1, 2, 3].map(|n| number(row[n]))).collect()
}

/// Fails unless both are as close as `tolerance` allows.
fn compare(found: &[Colour], expected: &[(Colour, f64)], components: usize, what: impl Fn(usize) -> String) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, (expected, tolerance))) in found.iter().zip(expected).enumerate() {
        let near = |n: usize| (found[n] - expected[n]).abs() <= *tolerance;
        assert!(
            (0..components).all(near),
            "{}: {found:?}, expected {expected:?} within {tolerance}",
            what(i)
        );
    }
}

/// A swizzle mode that fits, another one for each number.
fn tiling(dimensions: Dimensions, number: usize) -> Tiling {
    let fits: &[usize] = match dimensions {
        Dimensions::D1 | Dimensions::D1Array => &[0],
        Dimensions::D3 => &[0, 3, 4, 5, 6],
        _ => &[0, 1, 2, 3, 4, 5, 6],
    };
    Tiling::ALL[fits[number % fits.len()]].2
}

/// All samplers that OpenCL allows.
fn samplers() -> Vec<Sampler> {
    let mut all = Vec::new();
    for (normalised, addresses) in [
        (false, &[Address::ClampToEdge, Address::Clamp][..]),
        (true, &[Address::ClampToEdge, Address::Clamp, Address::Repeat, Address::MirroredRepeat]),
    ] {
        for address in addresses {
            all.extend([false, true].map(|linear| Sampler { address: *address, linear, normalised }));
        }
    }
    all
}

/// Which coordinates of texels a test reads.
#[derive(Clone, Copy, PartialEq)]
enum Fractions {
    /// Odd sixteenths. The hardware has 8 fraction bits (`docs/fidelity.md`, facet `image_filter`), so the
    /// weights of a filter are exact where the size is a power of two.
    OddSixteenths,
    /// All, except those that 8 fraction bits may round to the next texel.
    All,
}

impl Fractions {
    /// A fraction of a texel.
    fn random(self, random: &mut SplitMix64) -> f64 {
        let number = random.next_u64() >> 11;
        match self {
            Fractions::OddSixteenths => (number % 8) as f64 / 8.0 + 1.0 / 16.0,
            Fractions::All => 1.0 / 256.0 + number as f64 / (1u64 << 53) as f64 * (254.0 / 256.0),
        }
    }

    /// How far a filtered colour may be from the exact one, if the texels of the filter differ by
    /// `range`: a step of the weight on each axis.
    fn tolerance(self, ty: Type, range: f64) -> f64 {
        match self {
            Fractions::OddSixteenths => 0.0,
            Fractions::All => ty.dimensions.axes() as f64 * range / 256.0,
        }
    }
}

/// Coordinates of a work-item, in texels of the first level, some outside the image.
fn point(ty: Type, fractions: Fractions, random: &mut SplitMix64) -> [f64; 3] {
    let axes = ty.dimensions.axes();
    std::array::from_fn(|axis| {
        let is_slice = axis == axes && ty.is_array();
        let size = if is_slice { ty.size[2] } else { ty.size[axis] };
        let texel = (random.next_u64() % (u64::from(size) * 4)) as f64 - (1.5 * f64::from(size)).ceil();
        // Slices are rounded to the nearest; these are near enough to none of the ties.
        texel + if is_slice { 0.25 } else { fractions.random(random) }
    })
}

/// The coordinates of a sampler for a point in texels.
fn scaled(ty: Type, sampler: Sampler, at: [f64; 3]) -> [f64; 3] {
    let axes = ty.dimensions.axes();
    std::array::from_fn(|axis| {
        if sampler.normalised && axis < axes { at[axis] / f64::from(ty.size[axis]) } else { at[axis] }
    })
}

fn kinds(format: &Format) -> &'static [&'static str] {
    match format.kind {
        Kind::Uint => &["ui"],
        Kind::Sint => &["i"],
        _ => &["f", "h"],
    }
}

/// The error of a conversion to the type of a result: of floats, of halves.
fn rounding(kind: &str, colour: Colour) -> f64 {
    let largest = colour.into_iter().map(f64::abs).fold(0.0, f64::max);
    match kind {
        "f" => largest * 1e-6 + 1e-7,
        "h" => largest / 1024.0 + 1e-4,
        _ => 0.0,
    }
}

const POINTS: usize = 128;

#[test]
fn reads_between_texels_are_those_of_the_specification() {
    let mut random = SplitMix64::new(9);
    for target in TARGETS {
        let loaded = Loaded::new(target, "read");
        for (number, ty) in ODD_TYPES.into_iter().enumerate() {
            for name in ty.formats().into_iter().filter(|name| ty.name != "2d" || name.contains('8')) {
                let format = ImageFormat::from_name(name).unwrap();
                let tiling = tiling(ty.dimensions, number);
                let desc = ImageDesc { tiling, ..ImageDesc::new(ty.dimensions, format, ty.size) };
                let sample = Sample::new(desc, &mut random);
                let image = loaded.image(&desc, &sample.bytes);
                let kind = kinds(&sample.format)[0];
                reads_of(&loaded, ty, Fractions::All, &sample, &image, &sample.level(0), kind, &mut random);
            }
        }
    }
}

#[test]
fn reads_are_those_of_the_specification() {
    let mut random = SplitMix64::new(1);
    for target in TARGETS {
        let loaded = Loaded::new(target, "read");
        let mut number = 0;
        for ty in TYPES {
            for name in ty.formats() {
                let format = ImageFormat::from_name(name).unwrap();
                number += 1;
                let desc = ImageDesc {
                    tiling: tiling(ty.dimensions, number),
                    ..ImageDesc::new(ty.dimensions, format, ty.size)
                };
                let sample = Sample::new(desc, &mut random);
                let image = loaded.image(&desc, &sample.bytes);
                let level = sample.level(0);
                for kind in kinds(&sample.format).iter().filter(|kind| !ty.has_depth() || **kind != "h") {
                    let fractions = Fractions::OddSixteenths;
                    reads_of(&loaded, ty, fractions, &sample, &image, &level, kind, &mut random);
                }
            }
        }
    }
}

#[allow(clippy::too_many_arguments, reason = "a launch has that many parts")]
fn reads_of(
    loaded: &Loaded,
    ty: Type,
    fractions: Fractions,
    sample: &Sample,
    image: &Image,
    level: &Texels,
    kind: &str,
    random: &mut SplitMix64,
) {
    let out_words = if ty.has_depth() { 1 } else { 4 };
    let out = loaded.device.buffer("out", (4 * out_words * POINTS) as u64).unwrap();
    let components = if ty.has_depth() { 1 } else { 4 };
    let run = |sampler: Sampler, how: u32, points: &[[f64; 3]]| {
        let at: Vec<[f32; 4]> =
            points.iter().map(|[x, y, z]| [*x as f32, *y as f32, *z as f32, 0.0]).collect();
        let args = vec![
            Arg::from(image),
            loaded.sampler(sampler, MipFilter::Point),
            Arg::from(&loaded.buffer("at", &words(&at))),
            Arg::from(&out),
            Arg::Value(how.to_le_bytes().to_vec()),
        ];
        loaded.run(&format!("{kind}_{}", ty.name), [POINTS as u32, 1], args);
        results(kind, &out.to_vec::<u32>().unwrap(), ty.has_depth())
    };
    let name = sample.desc.format.name;
    // Float coordinates.
    for sampler in samplers().into_iter().filter(|sampler| !sampler.linear || !sample.format.is_integer()) {
        let points: Vec<[f64; 3]> =
            (0..POINTS).map(|_| scaled(ty, sampler, point(ty, fractions, random))).collect();
        let expected: Vec<(Colour, f64)> = points
            .iter()
            .map(|at| {
                let (colour, range) = level.sample(sampler, *at);
                (colour, rounding(kind, colour) + fractions.tolerance(ty, range))
            })
            .collect();
        let found = run(sampler, 0, &points);
        compare(&found, &expected, components, |i| {
            format!("{} {kind}_{} {name} {sampler:?} at {:?}", loaded.device.target(), ty.name, points[i])
        });
    }
    // Integer coordinates, with a sampler and without one; these must be inside.
    for (how, sampler) in [(1, Address::ClampToEdge), (1, Address::Clamp), (2, Address::ClampToEdge)] {
        let sampler = Sampler { address: sampler, linear: false, normalised: false };
        let points: Vec<[f64; 3]> = (0..POINTS)
            .map(|_| {
                let axes = ty.dimensions.axes();
                let at = point(ty, fractions, random);
                std::array::from_fn(|axis| {
                    let size = if axis == axes && ty.is_array() { ty.size[2] } else { ty.size[axis] };
                    let whole = at[axis].floor();
                    if how == 2 { whole.rem_euclid(f64::from(size)) } else { whole }
                })
            })
            .collect();
        let expected: Vec<(Colour, f64)> = points
            .iter()
            .map(|at| {
                let (colour, _) = level.sample(sampler, *at);
                (colour, rounding(kind, colour))
            })
            .collect();
        let found = run(sampler, how, &points);
        compare(&found, &expected, components, |i| {
            format!(
                "{} {kind}_{} {name} {sampler:?} way {how} at {:?}",
                loaded.device.target(),
                ty.name,
                points[i]
            )
        });
    }
}

/// The samplers of the source have words that ROCm's device libraries made.
#[test]
fn samplers_of_the_source_are_those_of_the_specification() {
    let mut random = SplitMix64::new(2);
    for target in TARGETS {
        let loaded = Loaded::new(target, "read");
        for name in ["rgba8", "r32f"] {
            let ty = TYPES[2];
            let desc = ImageDesc::new(ty.dimensions, ImageFormat::from_name(name).unwrap(), ty.size);
            let sample = Sample::new(desc, &mut random);
            let image = loaded.image(&desc, &sample.bytes);
            let level = sample.level(0);
            let out = loaded.device.buffer("out", 16 * POINTS as u64).unwrap();
            for (which, sampler) in (0u32..).zip(samplers()) {
                let points: Vec<[f64; 3]> = (0..POINTS)
                    .map(|_| scaled(ty, sampler, point(ty, Fractions::OddSixteenths, &mut random)))
                    .collect();
                let at: Vec<[f32; 4]> =
                    points.iter().map(|[x, y, _]| [*x as f32, *y as f32, 0.0, 0.0]).collect();
                let args = vec![
                    Arg::from(&image),
                    Arg::from(&loaded.buffer("at", &words(&at))),
                    Arg::from(&out),
                    Arg::Value(which.to_le_bytes().to_vec()),
                ];
                loaded.run("constant_samplers", [POINTS as u32, 1], args);
                let found = results("f", &out.to_vec::<u32>().unwrap(), false);
                let expected: Vec<(Colour, f64)> = points
                    .iter()
                    .map(|at| {
                        let (colour, _) = level.sample(sampler, *at);
                        (colour, rounding("f", colour))
                    })
                    .collect();
                compare(&found, &expected, 4, |i| {
                    format!("{} {name} {sampler:?} at {:?}", target.name(), points[i])
                });
            }
        }
    }
}

/// Values to write, some of which the format does not have.
fn value(format: &Format, random: &mut SplitMix64) -> f64 {
    let n = random.next_u64();
    match format.kind {
        Kind::Unorm | Kind::Snorm => (n % 4096) as f64 / 1024.0 - 2.0,
        Kind::Float => (n % 65536) as f64 / 512.0 - 64.0,
        Kind::Uint => f64::from((n >> 40) as u32 >> (n % 32)),
        Kind::Sint => f64::from((n >> 32) as i32 >> (n % 32)),
    }
}

#[test]
fn writes_are_those_of_the_specification() {
    let mut random = SplitMix64::new(3);
    for target in TARGETS {
        let loaded = Loaded::new(target, "write");
        for (number, ty) in TYPES.into_iter().enumerate() {
            for name in ty.formats().into_iter() {
                let desc = ImageDesc {
                    tiling: tiling(ty.dimensions, number),
                    ..ImageDesc::new(ty.dimensions, ImageFormat::from_name(name).unwrap(), ty.size)
                };
                let format = Format::of(name);
                for kind in kinds(&format).iter().filter(|kind| !ty.has_depth() || **kind != "h") {
                    writes_of(&loaded, ty, &desc, &format, kind, 0, &mut random);
                }
            }
        }
    }
}

/// Writes every texel of a level; with several levels, the kernels have the level as an argument.
fn writes_of(
    loaded: &Loaded,
    ty: Type,
    desc: &ImageDesc,
    format: &Format,
    kind: &str,
    level: u32,
    random: &mut SplitMix64,
) {
    let image = loaded.image(desc, &vec![0; desc.texels() as usize * format.bytes()]);
    let [width, height, depth] = desc.level_size(level);
    let texels = (0..depth).flat_map(|z| (0..height).flat_map(move |y| (0..width).map(move |x| (x, y, z))));
    let at: Vec<u32> = texels
        .flat_map(|(x, y, z)| {
            let second = if ty.dimensions == Dimensions::D1Array { z } else { y };
            [x, second, z, 0]
        })
        .collect();
    let count = at.len() / 4;
    // Numbers that the argument of a write has exactly.
    let values: Vec<Colour> = (0..count)
        .map(|_| {
            std::array::from_fn(|_| match kind {
                "h" => half::f16::from_f64(value(format, random)).to_f64(),
                _ => f64::from(value(format, random) as f32).max(-2_147_483_648.0),
            })
        })
        .map(|colour: Colour| if format.is_integer() { colour.map(f64::trunc) } else { colour })
        .collect();
    let word = |x: f64| match kind {
        "i" => x as i32 as u32,
        "ui" => x as u32,
        _ => (x as f32).to_bits(),
    };
    let from: Vec<u32> = match ty.has_depth() {
        true => values.iter().map(|colour| word(colour[0])).collect(),
        false => values.iter().flatten().map(|x| word(*x)).collect(),
    };
    let mut args = vec![
        Arg::from(&image),
        Arg::from(&loaded.buffer("at", &at)),
        Arg::from(&loaded.buffer("values", &from)),
    ];
    let mut kernel = format!("{kind}_{}", ty.name);
    if desc.levels > 1 {
        args.push(Arg::Value(level.to_le_bytes().to_vec()));
        kernel = format!("write_{kernel}");
    }
    loaded.run(&kernel, [count as u32, 1], args);
    let mut bytes = vec![0; desc.texels() as usize * format.bytes()];
    image.read_bytes(0, &mut bytes).unwrap();
    let start = desc.level_offset(level) as usize;
    let written = start..start + count * format.bytes();
    assert!(bytes.iter().enumerate().all(|(n, byte)| written.contains(&n) || *byte == 0), "another level");
    for (i, texel) in bytes[written].chunks_exact(format.bytes()).enumerate() {
        let found = format.decode(texel);
        for n in (0..4).filter(|n| format.stores(*n)) {
            let (expected, tolerance) = format.written(n, values[i][n]);
            assert!(
                (found[n] - expected).abs() <= tolerance,
                "{} {kernel} {}, texel {i}, component {n}: {} written, {} found, expected {expected} within {tolerance}",
                loaded.device.target(),
                desc.format.name,
                values[i][n],
                found[n]
            );
        }
    }
}

#[test]
fn an_image_is_read_and_written() {
    let mut random = SplitMix64::new(4);
    for target in TARGETS {
        let loaded = Loaded::new(target, "write");
        let format = ImageFormat::from_name("rgba16ui").unwrap();
        let desc = ImageDesc::new(Dimensions::D2, format, [13, 5, 1]);
        let sample = Sample::new(desc, &mut random);
        let image = loaded.image(&desc, &sample.bytes);
        loaded.run("in_place", [13, 5], vec![Arg::from(&image)]);
        let mut bytes = vec![0; sample.bytes.len()];
        image.read_bytes(0, &mut bytes).unwrap();
        let turned = |texel: &[u8]| [6, 7, 4, 5, 2, 3, 0, 1].map(|n| texel[n]);
        let expected: Vec<u8> = sample.bytes.chunks_exact(8).flat_map(turned).collect();
        assert!(bytes == expected, "{}", target.name());
    }
}

/// OpenCL's numbers of types and orders of channels (`cl.h`).
fn numbers(name: &str) -> [u32; 2] {
    let format = Format::of(name);
    let order = match name.trim_end_matches(|c: char| !c.is_ascii_digit()).trim_end_matches(char::is_numeric)
    {
        "r" => 0x10b0,
        "rg" => 0x10b2,
        "rgb" => 0x10b4,
        "rgba" => 0x10b5,
        "bgra" => 0x10b6,
        "depth" => 0x10bd,
        "srgba" => 0x10c1,
        other => panic!("{other}"),
    };
    let of = |kind, at: u32, bits: [&str; 3]| {
        let width = bits.iter().position(|bits| name.contains(bits));
        (format.kind == kind).then(|| at + width.unwrap() as u32)
    };
    let ty = match name {
        "rgb565" => 0x10d4,
        "rgb555" => 0x10d5,
        "rgb101010" => 0x10d6,
        _ => of(Kind::Snorm, 0x10d0, ["8", "16", "-"])
            .or_else(|| of(Kind::Unorm, 0x10d2, ["8", "16", "-"]))
            .or_else(|| of(Kind::Sint, 0x10d7, ["8", "16", "32"]))
            .or_else(|| of(Kind::Uint, 0x10da, ["8", "16", "32"]))
            .or_else(|| of(Kind::Float, 0x10dd, ["16", "32", "-"]))
            .unwrap(),
    };
    [ty, order]
}

#[test]
fn images_say_what_they_are() {
    for target in TARGETS {
        let loaded = Loaded::new(target, "query");
        let out = loaded.device.buffer("out", 48).unwrap();
        let buffer = Type { name: "1d_buffer", dimensions: Dimensions::D1, size: [300, 1, 1] };
        for ty in TYPES.into_iter().chain([buffer]) {
            for name in ty.formats() {
                let is_buffer = ty.name == buffer.name;
                let format = ImageFormat::from_name(name).unwrap();
                let desc = ImageDesc { is_buffer, ..ImageDesc::new(ty.dimensions, format, ty.size) };
                let image = loaded.device.image("image", &desc).unwrap();
                loaded.run(&format!("query_{}", ty.name), [1, 1], vec![Arg::from(&image), Arg::from(&out)]);
                let [width, height, third] = ty.size;
                let height = if ty.dimensions.axes() > 1 { height } else { 0 };
                let depth = if ty.dimensions == Dimensions::D3 { third } else { 0 };
                let slices = if ty.is_array() { third } else { 0 };
                let [data, order] = numbers(name);
                let expected = [width, height, depth, slices, data, order];
                assert_eq!(
                    out.to_vec::<u32>().unwrap()[..6],
                    expected,
                    "{} {} {name}",
                    target.name(),
                    ty.name
                );
            }
        }
        let image = |n: usize| {
            let desc =
                ImageDesc::new(TYPES[n].dimensions, ImageFormat::from_name("rgba8").unwrap(), TYPES[n].size);
            Arg::from(&loaded.device.image("image", &desc).unwrap())
        };
        loaded.run("dimensions", [1, 1], vec![image(2), image(3), image(4), Arg::from(&out)]);
        assert_eq!(out.to_vec::<u32>().unwrap(), [16, 8, 0, 0, 8, 4, 0, 0, 8, 4, 4, 0], "{}", target.name());
    }
}

#[test]
fn texels_of_buffers_are_those_of_the_specification() {
    let mut random = SplitMix64::new(5);
    for target in TARGETS {
        let loaded = Loaded::new(target, "buffer");
        let formats = ImageFormat::all().iter().map(|format| format.name);
        let packed = ["rgb565", "rgb555"];
        for name in formats.filter(|name| !name.starts_with("srgb") && !packed.contains(name)) {
            let desc = ImageDesc {
                is_buffer: true,
                ..ImageDesc::new(Dimensions::D1, ImageFormat::from_name(name).unwrap(), [100, 1, 1])
            };
            let sample = Sample::new(desc, &mut random);
            let image = loaded.image(&desc, &sample.bytes);
            let kind = kinds(&sample.format)[0];
            let at: Vec<u32> = (0..POINTS).map(|_| (random.next_u64() % 100) as u32).collect();
            let out = loaded.device.buffer("out", 16 * POINTS as u64).unwrap();
            let args = vec![Arg::from(&image), Arg::from(&loaded.buffer("at", &at)), Arg::from(&out)];
            loaded.run(&format!("read_{kind}"), [POINTS as u32, 1], args);
            let colours = sample.level(0).colours;
            let expected: Vec<(Colour, f64)> =
                at.iter().map(|n| (colours[*n as usize], rounding(kind, colours[*n as usize]))).collect();
            compare(&results(kind, &out.to_vec::<u32>().unwrap(), false), &expected, 4, |i| {
                format!("{} {name} texel {}", target.name(), at[i])
            });
            // Writes what was read, one texel further.
            let next: Vec<u32> = (0..POINTS as u32).map(|n| (n + 1) % 100).collect();
            let copied: Vec<u32> = (0..POINTS as u32).map(|n| n % 100).collect();
            let args = vec![Arg::from(&image), Arg::from(&loaded.buffer("at", &copied)), Arg::from(&out)];
            loaded.run(&format!("read_{kind}"), [POINTS as u32, 1], args);
            let args = vec![Arg::from(&image), Arg::from(&loaded.buffer("at", &next)), Arg::from(&out)];
            loaded.run(&format!("write_{kind}"), [POINTS as u32, 1], args);
            let mut bytes = vec![0; sample.bytes.len()];
            image.read_bytes(0, &mut bytes).unwrap();
            for (n, texel) in bytes.chunks_exact(sample.format.bytes()).enumerate() {
                let found = sample.format.decode(texel);
                let expected = colours[(n + 99) % 100];
                let near = |n: usize| (found[n] - expected[n]).abs() <= rounding(kind, expected);
                assert!(
                    (0..4).all(near),
                    "{} {name} texel {n}: {found:?}, expected {expected:?}",
                    target.name()
                );
            }
        }
    }
}

/// The colour at a level of detail (`cl_khr_mipmap_image`), by a sampler with normalised coordinates.
fn at_level(sample: &Sample, sampler: Sampler, mip: MipFilter, at: [f64; 3], level: f64) -> (Colour, f64) {
    let last = f64::from(sample.desc.levels - 1);
    let level = level.clamp(0.0, last);
    let of = |n: f64| sample.level(n as u32).sample(sampler, at);
    if mip == MipFilter::Point {
        return of((level + 0.5).floor().min(last));
    }
    let (lower, part) = (level.floor(), level.fract());
    let (a, b) = (of(lower), of((lower + 1.0).min(last)));
    (std::array::from_fn(|n| a.0[n] * (1.0 - part) + b.0[n] * part), a.1.max(b.1))
}

/// Centres of texels of the first level, which are far from the edges of texels of all levels.
fn centre(ty: Type, random: &mut SplitMix64) -> [f64; 3] {
    let axes = ty.dimensions.axes();
    std::array::from_fn(|axis| {
        if axis < axes {
            let size = u64::from(ty.size[axis]);
            ((random.next_u64() % (3 * size)) as f64 + 0.5) / size as f64 - 1.0
        } else if ty.is_array() {
            (random.next_u64() % 5) as f64 - 1.0
        } else {
            0.0
        }
    })
}

#[test]
fn mip_levels_are_read_and_written() {
    let mut random = SplitMix64::new(6);
    let loaded = Loaded::new(Target::Gfx906, "mips");
    for (number, ty) in TYPES.into_iter().filter(|ty| !ty.has_depth()).enumerate() {
        // Blocks of 256 bytes have one level.
        let fits = [0, 3, 4, 5, 6].map(|n| Tiling::ALL[n].2);
        let linear = matches!(ty.dimensions, Dimensions::D1 | Dimensions::D1Array);
        for name in ["rgba8", "rg32f", "rgba8ui"] {
            let desc = ImageDesc {
                levels: 4,
                tiling: if linear { Tiling::Linear } else { fits[number % fits.len()] },
                ..ImageDesc::new(ty.dimensions, ImageFormat::from_name(name).unwrap(), ty.size)
            };
            let sample = Sample::new(desc, &mut random);
            let image = loaded.image(&desc, &sample.bytes);
            let kind = kinds(&sample.format)[0];
            let out = loaded.device.buffer("out", 16 * POINTS as u64).unwrap();
            for sampler in samplers() {
                for mip in [MipFilter::Point, MipFilter::Linear] {
                    let blends = sampler.linear || mip == MipFilter::Linear;
                    if !sampler.normalised || blends && sample.format.is_integer() {
                        continue;
                    }
                    let points: Vec<[f64; 3]> = (0..POINTS).map(|_| centre(ty, &mut random)).collect();
                    // Sixteenths, away from the ties between levels.
                    let levels: Vec<f64> = (0..POINTS)
                        .map(|_| (random.next_u64() % 48) as f64 / 8.0 - 1.0 + 1.0 / 16.0)
                        .collect();
                    let at: Vec<[f32; 4]> =
                        points.iter().map(|[x, y, z]| [*x as f32, *y as f32, *z as f32, 0.0]).collect();
                    let level: Vec<u32> = levels.iter().map(|level| (*level as f32).to_bits()).collect();
                    let args = vec![
                        Arg::from(&image),
                        loaded.sampler(sampler, mip),
                        Arg::from(&loaded.buffer("at", &words(&at))),
                        Arg::from(&loaded.buffer("level", &level)),
                        Arg::from(&out),
                    ];
                    loaded.run(&format!("{kind}_{}", ty.name), [POINTS as u32, 1], args);
                    let found = results(kind, &out.to_vec::<u32>().unwrap(), false);
                    let expected: Vec<(Colour, f64)> = points
                        .iter()
                        .zip(&levels)
                        .map(|(at, level)| {
                            let (colour, _) = at_level(&sample, sampler, mip, *at, *level);
                            (colour, rounding(kind, colour))
                        })
                        .collect();
                    compare(&found, &expected, 4, |i| {
                        format!(
                            "{kind}_{} {name} {sampler:?} {mip:?} at {:?}, level {}",
                            ty.name, points[i], levels[i]
                        )
                    });
                }
            }
            for level in 0..desc.levels {
                writes_of(&loaded, ty, &desc, &sample.format, kind, level, &mut random);
            }
        }
    }
}

/// The level of gradients is the logarithm of the longer one in texels.
#[test]
fn gradients_choose_the_level() {
    let mut random = SplitMix64::new(7);
    let loaded = Loaded::new(Target::Gfx906, "mips");
    let ty = TYPES[2];
    let format = ImageFormat::from_name("rgba32f").unwrap();
    let desc = ImageDesc { levels: 5, ..ImageDesc::new(ty.dimensions, format, ty.size) };
    let sample = Sample::new(desc, &mut random);
    let image = loaded.image(&desc, &sample.bytes);
    let out = loaded.device.buffer("out", 16 * POINTS as u64).unwrap();
    let sampler = Sampler { address: Address::Repeat, linear: false, normalised: true };
    let points: Vec<[f64; 3]> = (0..POINTS).map(|_| centre(ty, &mut random)).collect();
    let at: Vec<[f32; 4]> = points.iter().map(|[x, y, _]| [*x as f32, *y as f32, 0.0, 0.0]).collect();
    // Gradients of 2^level texels to the right and of less downwards, or the other way round.
    let levels: Vec<f64> = (0..POINTS).map(|n| f64::from(n as u32 % 6) + 0.25).collect();
    let across: Vec<[f32; 4]> = levels
        .iter()
        .enumerate()
        .map(|(n, level)| {
            let texels = level.exp2();
            let (w, h) = (f64::from(ty.size[0]), f64::from(ty.size[1]));
            match n % 2 {
                0 => [(texels / w) as f32, 0.0, 0.0, (texels / 4.0 / h) as f32],
                _ => [0.0, (texels / 3.0 / h) as f32, (-texels / w) as f32, 0.0],
            }
        })
        .collect();
    let args = vec![
        Arg::from(&image),
        loaded.sampler(sampler, MipFilter::Point),
        Arg::from(&loaded.buffer("at", &words(&at))),
        Arg::from(&loaded.buffer("across", &words(&across))),
        Arg::from(&out),
    ];
    loaded.run("gradients_2d", [POINTS as u32, 1], args);
    let expected: Vec<(Colour, f64)> = points
        .iter()
        .zip(&levels)
        .map(|(at, level)| (at_level(&sample, sampler, MipFilter::Point, *at, *level).0, 0.0))
        .collect();
    compare(&results("f", &out.to_vec::<u32>().unwrap(), false), &expected, 4, |i| {
        format!("at {:?}, level {}", points[i], levels[i])
    });
    let images = (0..5).map(|n| {
        let ty = TYPES[n];
        let desc = ImageDesc { levels: 1 + n as u32 % 4, ..ImageDesc::new(ty.dimensions, format, ty.size) };
        Arg::from(&loaded.device.image("image", &desc).unwrap())
    });
    let counts = loaded.device.buffer("counts", 20).unwrap();
    loaded.run("levels", [1, 1], images.chain([Arg::from(&counts)]).collect());
    // ROCm's library returns the number of the last level: one less than OpenCL says.
    assert_eq!(counts.to_vec::<u32>().unwrap(), [0, 1, 2, 3, 0]);
}

#[test]
fn samples_are_read_one_by_one() {
    let mut random = SplitMix64::new(8);
    for target in TARGETS {
        let loaded = Loaded::new(target, "samples");
        for (samples, n) in [(2, 3), (4, 5), (8, 4), (16, 6)] {
            let format = ImageFormat::from_name("rgba8").unwrap();
            for (kernel, dimensions, size) in [
                ("read_2d", Dimensions::Samples, [13, 9, 1]),
                ("read_2d_array", Dimensions::SamplesArray, [5, 7, 3]),
            ] {
                let desc = ImageDesc {
                    samples,
                    tiling: Tiling::ALL[n].2,
                    ..ImageDesc::new(dimensions, format, size)
                };
                let sample = Sample::new(desc, &mut random);
                let image = loaded.image(&desc, &sample.bytes);
                let below = |n: u32, random: &mut SplitMix64| (random.next_u64() % u64::from(n)) as u32;
                let at: Vec<[u32; 4]> = (0..POINTS)
                    .map(|_| [size[0], size[1], size[2], samples].map(|n| below(n, &mut random)))
                    .collect();
                let out = loaded.device.buffer("out", 16 * POINTS as u64).unwrap();
                let args = vec![
                    Arg::from(&image),
                    Arg::from(&loaded.buffer("at", at.as_flattened())),
                    Arg::from(&out),
                ];
                loaded.run(kernel, [POINTS as u32, 1], args);
                let expected: Vec<(Colour, f64)> = at
                    .iter()
                    .map(|[x, y, z, s]| {
                        let index = ((z * size[1] + y) * size[0] + x) * samples + s;
                        (sample.format.decode(&sample.bytes[4 * index as usize..][..4]), 1e-6)
                    })
                    .collect();
                compare(&results("f", &out.to_vec::<u32>().unwrap(), false), &expected, 4, |i| {
                    format!("{} {kernel} {samples} samples at {:?}", target.name(), at[i])
                });
            }
            let size = [13, 9, 1];
            let desc = ImageDesc {
                samples,
                tiling: Tiling::ALL[n].2,
                ..ImageDesc::new(Dimensions::Samples, format, size)
            };
            let sample = Sample::new(desc, &mut random);
            let from = loaded.image(&desc, &sample.bytes);
            let mean = ImageDesc::new(Dimensions::D2, ImageFormat::from_name("rgba32f").unwrap(), size);
            let to = loaded.device.image("to", &mean).unwrap();
            let count = Arg::Value(samples.to_le_bytes().to_vec());
            loaded.run("resolve", [13, 9], vec![Arg::from(&from), Arg::from(&to), count]);
            let mut bytes = vec![0; mean.texels() as usize * 16];
            to.read_bytes(0, &mut bytes).unwrap();
            for (texel, parts) in bytes.chunks_exact(16).zip(sample.bytes.chunks_exact(4 * samples as usize))
            {
                let found = Format::of("rgba32f").decode(texel);
                for n in 0..4 {
                    let sum: f64 = parts.chunks_exact(4).map(|part| f64::from(part[n]) / 255.0).sum();
                    assert!(
                        (found[n] - sum / f64::from(samples)).abs() < 1e-6,
                        "{} {samples}",
                        target.name()
                    );
                }
            }
        }
    }
}
