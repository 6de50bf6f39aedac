//! Descriptors of eight words for an image and four words for a sampler, as bits.
//!
//! The fields are those of the ISA documents; the numbers of arrangements, address modes, filters,
//! comparisons and border colours are those of AMD's public headers.

use wavemill_ir::{DataFormat, TexelFormat, TexelNumber};

use super::descriptor::{
    AddressMode, BorderColour, Compare, Descriptor, DescriptorProblem, Dimensions, MipFilter, Reduction,
    Resource, Sampler, Select,
};
use super::surface::{MAX_LEVELS, Surface, Tiling};

/// A field: its name, and its lowest and highest bit.
#[derive(Clone, Copy)]
struct Field(&'static str, u16, u16);

impl Field {
    const fn mask(self) -> u64 {
        u64::MAX >> (63 - (self.2 - self.1))
    }

    /// The value, of at most 64 bits.
    fn get(self, words: &[u32]) -> u64 {
        let word = |n: usize| u64::from(words.get(n).copied().unwrap_or(0));
        let first = usize::from(self.1 / 32);
        let both = word(first) | word(first + 1) << 32;
        both >> (self.1 % 32) & self.mask()
    }

    fn small(self, words: &[u32]) -> u32 {
        self.get(words) as u32
    }

    fn put(self, words: &mut [u32], value: u64) {
        let first = usize::from(self.1 / 32);
        let value = u128::from(value & self.mask()) << (self.1 % 32);
        for (n, word) in words[first..].iter_mut().take(3).enumerate() {
            *word |= (value >> (32 * n)) as u32;
        }
    }

    fn problem(self, descriptor: Descriptor, words: &[u32], problem: &'static str) -> DescriptorProblem {
        let Field(field, low, high) = self;
        DescriptorProblem { descriptor, field, bits: (low, high), value: self.small(words), problem }
    }
}

const BASE: Field = Field("BASE_ADDRESS", 0, 39);
const MIN_LOD: Field = Field("MIN_LOD", 40, 51);
const DATA_FORMAT: Field = Field("DATA_FORMAT", 52, 57);
const NUM_FORMAT: Field = Field("NUM_FORMAT", 58, 61);
const WIDTH: Field = Field("WIDTH", 64, 77);
const HEIGHT: Field = Field("HEIGHT", 78, 91);
const DST_SEL: [Field; 4] = [
    Field("DST_SEL_X", 96, 98),
    Field("DST_SEL_Y", 99, 101),
    Field("DST_SEL_Z", 102, 104),
    Field("DST_SEL_W", 105, 107),
];
const BASE_LEVEL: Field = Field("BASE_LEVEL", 108, 111);
const LAST_LEVEL: Field = Field("LAST_LEVEL", 112, 115);
const SW_MODE: Field = Field("SW_MODE", 116, 120);
const TYPE: Field = Field("TYPE", 124, 127);
const DEPTH: Field = Field("DEPTH", 128, 140);
const PITCH: Field = Field("PITCH", 141, 156);
const BC_SWIZZLE: Field = Field("BC_SWIZZLE", 157, 159);
const BASE_ARRAY: Field = Field("BASE_ARRAY", 160, 172);
const MAX_MIP: Field = Field("MAX_MIP", 188, 191);
const COMPRESSION: Field = Field("COMPRESSION_EN", 213, 213);

const CLAMP: [Field; 3] = [Field("CLAMP_X", 0, 2), Field("CLAMP_Y", 3, 5), Field("CLAMP_Z", 6, 8)];
const DEPTH_COMPARE: Field = Field("DEPTH_COMPARE_FUNC", 12, 14);
const UNNORMALISED: Field = Field("FORCE_UNNORMALIZED", 15, 15);
const DEGAMMA: Field = Field("FORCE_DEGAMMA", 20, 20);
const TRUNC_COORD: Field = Field("TRUNC_COORD", 27, 27);
const CUBE_WRAP: Field = Field("DISABLE_CUBE_WRAP", 28, 28);
const FILTER_MODE: Field = Field("FILTER_MODE", 29, 30);
const SAMPLER_MIN_LOD: Field = Field("MIN_LOD", 32, 43);
const MAX_LOD: Field = Field("MAX_LOD", 44, 55);
const LOD_BIAS: Field = Field("LOD_BIAS", 64, 77);
const MAG_FILTER: Field = Field("XY_MAG_FILTER", 84, 85);
const MIN_FILTER: Field = Field("XY_MIN_FILTER", 86, 87);
const Z_FILTER: Field = Field("Z_FILTER", 88, 89);
const MIP_FILTER: Field = Field("MIP_FILTER", 90, 91);
const PRECLAMP: Field = Field("MIP_POINT_PRECLAMP", 92, 92);
const BORDER_PTR: Field = Field("BORDER_COLOR_PTR", 96, 107);
const BORDER: Field = Field("BORDER_COLOR_TYPE", 126, 127);

/// Dimensions with their numbers.
const TYPES: [(u32, Dimensions); 8] = [
    (8, Dimensions::D1),
    (9, Dimensions::D2),
    (10, Dimensions::D3),
    (11, Dimensions::Cube),
    (12, Dimensions::D1Array),
    (13, Dimensions::D2Array),
    (14, Dimensions::Samples),
    (15, Dimensions::SamplesArray),
];

/// Orders of the channels of a border colour, in the order of their numbers.
const BORDER_ORDERS: [[u8; 4]; 6] =
    [[0, 1, 2, 3], [0, 3, 1, 2], [3, 2, 1, 0], [3, 0, 1, 2], [2, 1, 0, 3], [1, 0, 3, 2]];

impl Resource {
    /// The image that eight words describe.
    ///
    /// # Errors
    /// A field that says something that the machine does not do.
    pub fn decode(words: &[u32; 8]) -> Result<Resource, DescriptorProblem> {
        let wrong = |field: Field, problem| Err(field.problem(Descriptor::Image, words, problem));
        let Some((_, dimensions)) = TYPES.into_iter().find(|(code, _)| *code == TYPE.small(words)) else {
            return wrong(TYPE, "it describes no image; images have the types 8 to 15");
        };
        let Some(data) = DataFormat::from_code(DATA_FORMAT.small(words)) else {
            return wrong(DATA_FORMAT, why_no_format(DATA_FORMAT.small(words)));
        };
        let number = TexelNumber::from_code(NUM_FORMAT.small(words));
        let Some(format) = number.and_then(|number| TexelFormat::new(data, number)) else {
            return wrong(NUM_FORMAT, "the data format does not have this number format");
        };
        if COMPRESSION.small(words) != 0 {
            return wrong(COMPRESSION, "compressed colours are not implemented");
        }
        let mut select = super::descriptor::IDENTITY;
        for (select, field) in select.iter_mut().zip(DST_SEL) {
            *select = match field.small(words) {
                0 => Select::Zero,
                1 => Select::One,
                n @ 4..=7 => Select::Channel(n as u8 - 4),
                _ => return wrong(field, "the selection is reserved; 0, 1 and 4 to 7 exist"),
            };
        }
        let mode = SW_MODE.small(words);
        let Some((.., tiling)) = Tiling::ALL.into_iter().find(|(code, ..)| *code == mode) else {
            return wrong(
                SW_MODE,
                "the swizzle mode is not implemented; linear (0) and the standard and display modes of \
                 256 bytes (1, 2), 4 KiB (5, 6) and 64 KiB (9, 10) are",
            );
        };
        let is_volume = dimensions == Dimensions::D3;
        let samples_log2 = if dimensions.has_samples() { LAST_LEVEL.small(words) } else { 0 };
        let levels = if dimensions.has_samples() { 1 } else { MAX_MIP.small(words) + 1 };
        if let Some(problem) = why_not_tiled(tiling, dimensions, data.bytes(), levels, samples_log2) {
            return wrong(SW_MODE, problem);
        }
        if levels > MAX_LEVELS {
            return wrong(MAX_MIP, "an image has at most 15 levels");
        }
        let view = if dimensions.has_samples() {
            (0, 0)
        } else {
            (BASE_LEVEL.small(words), LAST_LEVEL.small(words))
        };
        if view.0 > view.1 {
            return wrong(BASE_LEVEL, "it is above LAST_LEVEL");
        }
        if view.1 >= levels {
            return wrong(LAST_LEVEL, "it is above MAX_MIP");
        }
        let last = DEPTH.small(words);
        let first = BASE_ARRAY.small(words);
        if dimensions.has_slices() && first > last {
            return wrong(BASE_ARRAY, "it is above DEPTH, the last slice");
        }
        let Some(border) = BORDER_ORDERS.get(BC_SWIZZLE.small(words) as usize) else {
            return wrong(BC_SWIZZLE, "the order is reserved; 0 to 5 exist");
        };
        let has_third = is_volume || dimensions.has_slices();
        Ok(Resource {
            base: BASE.get(words) << 8,
            format,
            select,
            border: *border,
            dimensions,
            surface: Surface {
                tiling,
                bytes: data.bytes(),
                width: WIDTH.small(words) + 1,
                height: if dimensions.axes() == 1 { 1 } else { HEIGHT.small(words) + 1 },
                depth: if has_third { last + 1 } else { 1 },
                is_volume,
                levels,
                samples_log2,
                pitch: PITCH.small(words) + 1,
            },
            levels: view,
            slices: if dimensions.has_slices() { (first, last + 1 - first) } else { (0, 1) },
            min_level: MIN_LOD.small(words) as i32,
        })
    }

    /// The eight words that describe the image.
    #[must_use]
    pub fn encode(&self) -> [u32; 8] {
        let mut words = [0; 8];
        let Surface { tiling, width, height, depth, levels, samples_log2, pitch, .. } = self.surface;
        let number_of = TYPES.into_iter().find(|(_, d)| *d == self.dimensions).map_or(0, |(code, _)| code);
        let TexelFormat { data, number } = self.format;
        let view = if self.dimensions.has_samples() { (0, samples_log2) } else { self.levels };
        let order = BORDER_ORDERS.iter().position(|order| *order == self.border).unwrap_or(0);
        let mut put = |field: Field, value: u64| field.put(&mut words, value);
        put(BASE, self.base >> 8);
        put(MIN_LOD, self.min_level as u64);
        put(DATA_FORMAT, data.code().into());
        put(NUM_FORMAT, number.code().into());
        put(WIDTH, u64::from(width) - 1);
        put(HEIGHT, u64::from(height) - 1);
        for (field, select) in DST_SEL.into_iter().zip(self.select) {
            put(field, select_code(select).into());
        }
        put(BASE_LEVEL, view.0.into());
        put(LAST_LEVEL, view.1.into());
        put(SW_MODE, tiling.code().into());
        put(TYPE, number_of.into());
        put(DEPTH, u64::from(depth) - 1);
        put(PITCH, u64::from(pitch) - 1);
        put(BC_SWIZZLE, order as u64);
        put(BASE_ARRAY, self.slices.0.into());
        put(MAX_MIP, u64::from(if self.dimensions.has_samples() { samples_log2 } else { levels - 1 }));
        words
    }
}

/// The number of a selection in resources of images and of buffers.
pub(super) fn select_code(select: Select) -> u32 {
    match select {
        Select::Zero => 0,
        Select::One => 1,
        Select::Channel(n) => 4 + u32::from(n),
    }
}

/// Why a data format is not one of images here.
const fn why_no_format(code: u32) -> &'static str {
    match code {
        24..=28 | 35..=41 | 46..=51 => "formats of compressed blocks are not implemented",
        45 => "masks of fragments are not implemented",
        23 | 32 | 33 | 42..=44 | 61..=63 => "formats of several texels in one are not implemented",
        _ => "the data format is reserved",
    }
}

/// Why an image cannot be arranged like this.
const fn why_not_tiled(
    tiling: Tiling,
    dimensions: Dimensions,
    bytes: u32,
    levels: u32,
    samples_log2: u32,
) -> Option<&'static str> {
    let Tiling::Blocks { log2, .. } = tiling else {
        return match (dimensions.has_samples() && samples_log2 > 0, bytes == 12 && levels > 1) {
            (true, _) => Some("an image with several samples is not linear"),
            (_, true) => Some("an image of 12 bytes a texel has one level"),
            _ => None,
        };
    };
    if matches!(dimensions, Dimensions::D1 | Dimensions::D1Array) {
        return Some("an image of one dimension is linear");
    }
    if !bytes.is_power_of_two() {
        return Some("an image of 12 bytes a texel is linear");
    }
    if log2 == 8 && (matches!(dimensions, Dimensions::D3) || levels > 1 || samples_log2 > 0) {
        return Some("blocks of 256 bytes are for images of two dimensions, one level and one sample");
    }
    if samples_log2 > 4 || 8 + samples_log2 > log2 {
        return Some("a block has no room for so many samples");
    }
    None
}

impl Sampler {
    /// The sampler that four words describe.
    ///
    /// # Errors
    /// A field that says something that the machine does not do.
    pub fn decode(words: &[u32; 4]) -> Result<Sampler, DescriptorProblem> {
        let wrong = |field: Field, problem| Err(field.problem(Descriptor::Sampler, words, problem));
        let flag = |field: Field| field.small(words) != 0;
        if flag(DEGAMMA) {
            return wrong(DEGAMMA, "conversion from sRGB by the sampler is not implemented");
        }
        let reduction = match FILTER_MODE.small(words) {
            0 => Reduction::Blend,
            1 => Reduction::Min,
            2 => Reduction::Max,
            _ => return wrong(FILTER_MODE, "the mode is reserved; 0, 1 and 2 exist"),
        };
        let mip = match MIP_FILTER.small(words) {
            0 => MipFilter::None,
            1 => MipFilter::Point,
            2 => MipFilter::Linear,
            _ => return wrong(MIP_FILTER, "the filter is not implemented; 0, 1 and 2 are"),
        };
        let linear_depth = match Z_FILTER.small(words) {
            0 => None,
            1 => Some(false),
            2 => Some(true),
            _ => return wrong(Z_FILTER, "the filter is reserved; 0, 1 and 2 exist"),
        };
        let border = match BORDER.small(words) {
            0 => BorderColour::TransparentBlack,
            1 => BorderColour::OpaqueBlack,
            2 => BorderColour::White,
            _ => BorderColour::Table(BORDER_PTR.small(words) as u16),
        };
        // Filters 2 and 3 are the anisotropic ones.
        let bilinear = |field: Field| field.small(words) & 1 != 0;
        let bias = (LOD_BIAS.small(words) << 18) as i32 >> 18;
        Ok(Sampler {
            address: CLAMP.map(|field| AddressMode::ALL[field.small(words) as usize & 7]),
            compare: Compare::ALL[DEPTH_COMPARE.small(words) as usize & 7],
            unnormalised: flag(UNNORMALISED),
            truncates: flag(TRUNC_COORD),
            faces_apart: flag(CUBE_WRAP),
            reduction,
            levels: (SAMPLER_MIN_LOD.small(words) as i32, MAX_LOD.small(words) as i32),
            bias,
            bilinear: [bilinear(MAG_FILTER), bilinear(MIN_FILTER)],
            linear_depth,
            mip,
            rounds_first: flag(PRECLAMP),
            border,
        })
    }

    /// The four words that describe the sampler.
    #[must_use]
    pub fn encode(&self) -> [u32; 4] {
        let mut words = [0; 4];
        let mut put = |field: Field, value: u64| field.put(&mut words, value);
        for (field, mode) in CLAMP.into_iter().zip(self.address) {
            put(field, AddressMode::ALL.iter().position(|m| *m == mode).unwrap_or(0) as u64);
        }
        put(DEPTH_COMPARE, Compare::ALL.iter().position(|c| *c == self.compare).unwrap_or(0) as u64);
        put(UNNORMALISED, self.unnormalised.into());
        put(TRUNC_COORD, self.truncates.into());
        put(CUBE_WRAP, self.faces_apart.into());
        put(FILTER_MODE, self.reduction as u64);
        put(SAMPLER_MIN_LOD, self.levels.0.clamp(0, 4095) as u64);
        put(MAX_LOD, self.levels.1.clamp(0, 4095) as u64);
        put(LOD_BIAS, self.bias.clamp(-8192, 8191) as u64);
        put(MAG_FILTER, self.bilinear[0].into());
        put(MIN_FILTER, self.bilinear[1].into());
        put(Z_FILTER, self.linear_depth.map_or(0, |linear| 1 + u64::from(linear)));
        put(MIP_FILTER, self.mip as u64);
        put(PRECLAMP, self.rounds_first.into());
        let (kind, entry) = match self.border {
            BorderColour::TransparentBlack => (0, 0),
            BorderColour::OpaqueBlack => (1, 0),
            BorderColour::White => (2, 0),
            BorderColour::Table(entry) => (3, entry & 0xfff),
        };
        put(BORDER, kind);
        put(BORDER_PTR, entry.into());
        words
    }

    /// The problem of a border colour that the table of the device does not have.
    pub(super) fn no_colour(words: &[u32; 4]) -> DescriptorProblem {
        BORDER_PTR.problem(
            Descriptor::Sampler,
            words,
            "a texel has the border colour with this number, and the device has no such colour; samplers with a \
             `border` make them",
        )
    }
}

impl Resource {
    /// The problem of a kind of access that the dimensions do not have.
    pub(super) fn wrong_type(words: &[u32; 8], problem: &'static str) -> DescriptorProblem {
        TYPE.problem(Descriptor::Image, words, problem)
    }

    /// The problem of a kind of access that the texels are too wide or too narrow for.
    pub(super) fn wrong_format(words: &[u32; 8], problem: &'static str) -> DescriptorProblem {
        DATA_FORMAT.problem(Descriptor::Image, words, problem)
    }
}
