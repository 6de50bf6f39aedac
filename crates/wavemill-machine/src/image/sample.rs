//! Samples: the level of detail, the texels of a filter, and their weights.
//!
//! *Modelled*: the documents name fields and filters, and give no arithmetic. Here:
//!
//! - Coordinates in texels, levels of detail and weights are multiples of 1/256. A coordinate is
//!   rounded to the nearest one, or cut where the sampler says so; a NaN is 0.
//! - The level of detail is the logarithm of the longer derivative, in texels of the first level.
//! - A weighted sum is exact up to the precision of f64, and rounded to f32 once. Texels without
//!   weight do not count. A NaN is the positive quiet one without payload.
//! - Integers have no weights: the nearest texel counts.
//! - Anisotropic filters are the isotropic ones.
//! - Across the edge of a face, a cube continues on the neighbour; at a corner, on the neighbour at
//!   the horizontal edge.

use wavemill_float::texel;
use wavemill_ir::{ImageGather, ImageKind, ImageLevel, TexelNumber};

use super::coordinates::{Cells, SampleAt, SampleParts};
use super::decoded::Image;
use super::descriptor::{
    AddressMode, BorderColour, DescriptorProblem, Dimensions, MipFilter, Reduction, Resource, Sampler,
};
use super::texels::Texels;
use super::{ImageAccess, MAX_RESULT};

/// Parts of a texel, of a level and of a weight.
const UNIT: i64 = 256;
/// Bits of a number of parts.
const UNIT_BITS: u32 = 8;
/// No coordinate is further from 0.
const FARTHEST: i64 = 1 << 44;
/// The level of detail of derivatives that are zero.
const FINEST: i32 = -(1 << 20);
/// The NaN of a filter.
const NAN: u32 = 0x7fc0_0000;
/// One, as an f32.
const ONE: u32 = 0x3f80_0000;

/// Why a lane has no sample.
#[derive(Clone, Copy, Debug)]
pub(super) enum Miss {
    /// A texel at this address is outside memory.
    Refused(u64),
    /// A descriptor says something that the machine does not do.
    Problem(DescriptorProblem),
}

/// The channels of a texel.
type Channels = [u32; 4];

/// The texels of a filter as one.
#[derive(Clone, Copy, Debug)]
struct Filter {
    reduction: Reduction,
    texels: u32,
    weight: u64,
    /// The first texel.
    first: Channels,
    /// Weighted sums of the channels.
    sums: [f64; 4],
    /// The smallest or the largest channels.
    best: [f32; 4],
}

impl Filter {
    fn new(reduction: Reduction) -> Filter {
        Filter { reduction, texels: 0, weight: 0, first: [0; 4], sums: [0.0; 4], best: [0.0; 4] }
    }

    #[inline(always)]
    fn add(&mut self, weight: u64, channels: Channels) {
        let values = channels.map(f32::from_bits);
        let is_first = self.texels == 0;
        self.texels += 1;
        self.weight += weight;
        if is_first {
            self.first = channels;
            self.best = values;
            // The sign of a zero stays.
            self.sums = values.map(|value| weight as f64 * f64::from(value));
            return;
        }
        match self.reduction {
            Reduction::Blend => {
                for (sum, value) in self.sums.iter_mut().zip(values) {
                    *sum += weight as f64 * f64::from(value);
                }
            }
            Reduction::Min => self.pick(values, |value, best| value < best),
            Reduction::Max => self.pick(values, |value, best| value > best),
        }
    }

    fn pick(&mut self, values: [f32; 4], wins: impl Fn(f32, f32) -> bool) {
        for (best, value) in self.best.iter_mut().zip(values) {
            *best = if wins(value, *best) { value } else { *best };
        }
    }

    fn result(&self) -> Channels {
        if self.texels == 1 {
            return self.first;
        }
        let total = self.weight as f64;
        let values = match self.reduction {
            Reduction::Blend => self.sums.map(|sum| (sum / total) as f32),
            Reduction::Min | Reduction::Max => self.best,
        };
        values.map(|value| if value.is_nan() { NAN } else { value.to_bits() })
    }
}

/// Where a sample is on an axis: the first of two neighbours, and the weight of the second one.
#[derive(Clone, Copy, Debug)]
struct Along {
    index: i64,
    weight: i64,
}

impl Along {
    const NOWHERE: Along = Along { index: 0, weight: 0 };

    /// The neighbours of a coordinate in parts of a texel.
    #[inline(always)]
    fn of(at: i64, linear: bool) -> Along {
        // A texel counts where it is nearest, or up to the centres of its neighbours.
        let corner = at - if linear { UNIT / 2 } else { 0 };
        Along { index: corner >> UNIT_BITS, weight: if linear { corner & (UNIT - 1) } else { 0 } }
    }

    /// The number of neighbours that have a weight.
    fn count(self) -> i64 {
        1 + i64::from(self.weight > 0)
    }

    /// The weight of a neighbour.
    fn weight(self, n: i64) -> u64 {
        (if n == 0 { UNIT - self.weight } else { self.weight }) as u64
    }
}

/// Where a sample is in a level.
#[derive(Clone, Copy, Debug)]
struct Position {
    level: u32,
    along: [Along; 3],
    slice: u32,
    face: u32,
}

impl Position {
    /// Whether a single texel has all of the weight.
    fn is_single(&self) -> bool {
        let [x, y, z] = self.along;
        x.weight | y.weight | z.weight == 0
    }

    /// The indices of a neighbour on each axis.
    fn index(&self, [x, y, z]: [i64; 3]) -> [i64; 3] {
        let [along_x, along_y, along_z] = self.along;
        [along_x.index + x, along_y.index + y, along_z.index + z]
    }
}

/// The levels of detail of a lane, in 1/256.
#[derive(Clone, Copy, Debug)]
struct Detail {
    /// As computed.
    raw: i32,
    /// In the sampler's range.
    limited: i32,
    /// In the view's range.
    level: i32,
}

impl Detail {
    /// The first level, neither magnified nor minified.
    const NONE: Detail = Detail { raw: 0, limited: 0, level: 0 };
}

/// A sampling unit for one operation.
pub(super) struct Unit<'a> {
    access: &'a ImageAccess<'a>,
    image: &'a Image,
    texels: &'a Texels<'a>,
    sampler: Sampler,
    cells: Cells<'a>,
    parts: SampleParts,
    /// The axes whose coordinates count texels.
    unnormalised: [bool; 3],
    /// The address mode of each axis decides which texel an index names. It does not on the face of
    /// a cube that continues on other faces.
    is_by_axis: bool,
    /// No level of detail changes the result: there are no levels and filters to choose from.
    needs_no_detail: bool,
    /// Components are integers, which have no weights.
    is_integer: bool,
    /// Whether the filter of each axis is linear, for magnified and for minified texels.
    linear: [[bool; 3]; 2],
    /// Whether samples are of the most frequent kind.
    is_quick: bool,
    /// Parts of a texel that a coordinate of 1 is, on the first two axes.
    scale: [f64; 2],
}

/// The nearest integer, ties to even; a NaN is 0, and the conversion saturates.
#[inline(always)]
fn nearest(x: f64) -> i64 {
    nearest_small(x).unwrap_or_else(|| x.round_ties_even() as i64)
}

/// The nearest integer, ties to even, of a number that is not too large.
#[inline(always)]
fn nearest_small(x: f64) -> Option<i64> {
    // A sum with this number is rounded to an integer, and its lowest bits are that integer.
    const ROUNDS: f64 = (3u64 << 51) as f64;
    let sum = (x + ROUNDS).to_bits().wrapping_sub(ROUNDS.to_bits()) as i64;
    (x.abs() < (1u64 << 51) as f64).then_some(sum)
}

/// A number in 1/256; a NaN is 0.
fn parts(x: f32) -> i32 {
    (f64::from(x) * UNIT as f64).round_ties_even() as i32
}

/// Half the logarithm of a number, in 1/256: that of a length from its square.
fn half_log2(square: f64) -> i32 {
    if square.is_nan() || square < f64::MIN_POSITIVE {
        return FINEST;
    }
    if square == f64::INFINITY {
        return -FINEST;
    }
    let bits = square.to_bits();
    let exponent = (bits >> 52) as i32 - 1023;
    let mut mantissa = f64::from_bits(bits & !(0x7ff << 52) | 1023 << 52);
    let mut log = exponent;
    for _ in 0..UNIT_BITS {
        // Squaring doubles the logarithm; its next bit is whether the square is 2 or more.
        mantissa *= mantissa;
        let bit = i32::from(mantissa >= 2.0);
        mantissa /= f64::from(1 + bit);
        log = 2 * log + bit;
    }
    (log + 1) >> 1
}

/// The texel of an index on an axis; `None` is the border.
#[inline(always)]
fn resolve(mode: AddressMode, index: i64, size: u32) -> Option<u32> {
    // In every mode, a texel inside is itself.
    if (index as u64) < u64::from(size) { Some(index as u32) } else { resolve_outside(mode, index, size) }
}

fn resolve_outside(mode: AddressMode, index: i64, size: u32) -> Option<u32> {
    let n = i64::from(size);
    let mirrored = if index < 0 { -1 - index } else { index };
    let inside = |index: i64| (0..n).contains(&index).then_some(index);
    let index = match mode {
        AddressMode::Wrap => Some(index.rem_euclid(n)),
        AddressMode::Mirror => {
            let at = index.rem_euclid(2 * n);
            Some(if at < n { at } else { 2 * n - 1 - at })
        }
        AddressMode::Clamp => Some(index.clamp(0, n - 1)),
        AddressMode::MirrorOnce => Some(mirrored.min(n - 1)),
        AddressMode::ClampHalfBorder | AddressMode::Border => inside(index),
        AddressMode::MirrorOnceHalfBorder | AddressMode::MirrorOnceBorder => inside(mirrored),
    };
    index.map(|index| index as u32)
}

/// Axis and sign of the direction of a face, of its first and of its second coordinate.
const FACES: [[(usize, i64); 3]; 6] = [
    [(0, 1), (2, -1), (1, -1)],
    [(0, -1), (2, 1), (1, -1)],
    [(1, 1), (0, 1), (2, 1)],
    [(1, -1), (0, 1), (2, -1)],
    [(2, 1), (0, 1), (1, -1)],
    [(2, -1), (0, -1), (1, -1)],
];

/// Face and texel for a texel next to a face.
fn around_the_edge(face: u32, [x, y]: [i64; 2], size: u32) -> (u32, [u32; 2]) {
    let n = i64::from(size);
    let is_out = |at: i64| !(0..n).contains(&at);
    // At a corner, the second coordinate stays on the face.
    let y = if is_out(x) { y.clamp(0, n - 1) } else { y };
    if !is_out(x) && !is_out(y) {
        return (face, [x as u32, y as u32]);
    }
    // The centre of the texel in a cube from -n to n: odd or even like n - 1, one step of two a
    // texel. What is beyond the face goes around the edge.
    let place = |at: i64| 2 * at + 1 - n;
    let [(main, sign_main), (s, sign_s), (t, sign_t)] = FACES[face as usize % 6];
    let mut point = [0; 3];
    point[main] = sign_main * n;
    point[s] = sign_s * place(x);
    point[t] = sign_t * place(y);
    let beyond = if is_out(x) { s } else { t };
    let excess = point[beyond].abs() - n;
    point[main] = sign_main * (n - excess);
    point[beyond] = point[beyond].signum() * n;
    let axis = (beyond, point[beyond].signum());
    let face = FACES.iter().position(|[main, ..]| *main == axis).unwrap_or(0);
    let [_, s, t] = FACES[face];
    let index = |(axis, sign): (usize, i64)| ((sign * point[axis] + n - 1) / 2).clamp(0, n - 1) as u32;
    (face as u32, [index(s), index(t)])
}

impl<'a> Unit<'a> {
    pub(super) fn new(
        access: &'a ImageAccess<'a>,
        image: &'a Image,
        texels: &'a Texels<'a>,
    ) -> Result<Unit<'a>, DescriptorProblem> {
        let sampler = access.cache.sampler(&access.sampler)?;
        let Resource { dimensions, levels, .. } = image.resource;
        let wrong = |problem| Err(Resource::wrong_type(&access.resource, problem));
        if dimensions.has_samples() {
            return wrong("a sampler does not read images with several samples; a load does");
        }
        if matches!(access.op.kind, ImageKind::Gather(..)) && dimensions.axes() != 2 {
            return wrong("a gather reads images of two dimensions, arrays of them, and cubes");
        }
        let is_integer = image.resource.format.number.is_integer() && !access.op.compare;
        let linear = sampler.bilinear.map(|bilinear| {
            [bilinear, bilinear, sampler.linear_depth.unwrap_or(bilinear)].map(|linear| linear && !is_integer)
        });
        let unnormalised =
            [0, 1, 2].map(|axis| sampler.unnormalised || access.op.unnormalised >> axis & 1 != 0);
        let cells = usize::from(access.op.coordinates);
        if cells != 0 {
            if dimensions.axes() + usize::from(dimensions.has_slices()) > cells {
                return wrong("the instruction has no coordinate for the depth, the slice or the face");
            }
            if dimensions.has_slices() && dimensions != Dimensions::Cube && !unnormalised[cells - 1] {
                return wrong(
                    "the image has slices, and the instruction has a normalised coordinate for them; the \
                     number of a slice is not normalised",
                );
            }
        }
        let parts = SampleParts::of(access.op, dimensions);
        let needs_no_detail = access.op.kind != ImageKind::Level
            && levels.0 == levels.1
            && sampler.bilinear[0] == sampler.bilinear[1];
        let edges = [AddressMode::ClampHalfBorder, AddressMode::MirrorOnceHalfBorder];
        let is_quick = matches!(access.op.kind, ImageKind::Sample(_))
            && dimensions == Dimensions::D2
            && needs_no_detail
            && !(parts.has_more || access.op.compare || access.op.half || texels.records())
            && access.op.channels == 15
            && !sampler.truncates
            && !sampler.address[..2].iter().any(|mode| edges.contains(mode));
        let [width, height, _] = image.size(0);
        let scale = [(width, unnormalised[0]), (height, unnormalised[1])]
            .map(|(size, counts_texels)| if counts_texels { 1.0 } else { f64::from(size) } * UNIT as f64);
        Ok(Unit {
            access,
            is_integer,
            linear,
            is_quick,
            scale,
            image,
            texels,
            cells: access.cells(),
            parts,
            unnormalised,
            is_by_axis: dimensions != Dimensions::Cube || sampler.faces_apart,
            needs_no_detail,
            sampler,
        })
    }

    /// The result of a lane for the most frequent kind of sample: two coordinates, one level, four
    /// channels, and neighbours inside the image. `None` if it is another kind, or if the access is
    /// refused.
    #[inline(always)]
    pub(super) fn quick(&self, lane: usize) -> Option<[u32; MAX_RESULT]> {
        if !self.is_quick {
            return None;
        }
        let [x, y, _] = self.cells.coordinates(&self.parts, lane);
        let [linear_x, linear_y, _] = self.linear[0];
        let along = |at: f32, scale: f64, linear: bool| {
            Some(Along::of(nearest_small(f64::from(at) * scale)?, linear))
        };
        let (x, y) = (along(x, self.scale[0], linear_x)?, along(y, self.scale[1], linear_y)?);
        let Resource { levels, slices, format, .. } = self.image.resource;
        let [width, height, _] = self.image.size(0);
        let inside = |index: i64, size: u32| ((index as u64) < u64::from(size)).then_some(index as u32);
        let channels = |nx: i64, ny: i64| {
            let (x, y) = (inside(x.index + nx, width)?, inside(y.index + ny, height)?);
            let address = self.image.address(levels.0, [x, y, slices.0], 0);
            Some(texel::unpack(format, self.texels.read(address, self.image.resource.surface.bytes)?))
        };
        if x.weight | y.weight == 0 {
            return Some(self.image.selected(channels(0, 0)?, self.image.one));
        }
        let mut filter = Filter::new(self.sampler.reduction);
        for ny in 0..y.count() {
            for nx in 0..x.count() {
                filter.add(x.weight(nx) * y.weight(ny), channels(nx, ny)?);
            }
        }
        Some(self.image.selected(filter.result(), self.image.one))
    }

    /// The result of a lane.
    pub(super) fn lane(&self, lane: usize) -> Result<[u32; MAX_RESULT], Miss> {
        let op = self.access.op;
        let at = self.cells.sample(&self.parts, lane);
        let detail = if self.needs_no_detail { Detail::NONE } else { self.detail(lane, &at) };
        match op.kind {
            ImageKind::Level => {
                let float = |parts: i32| (parts as f32 / UNIT as f32).to_bits();
                let values = [float(self.nearest_level(&detail)), float(detail.raw), 0, 0];
                Ok(self.access.elements(values))
            }
            ImageKind::Gather(_, shape) => self.gather(&at, &detail, shape),
            _ => self.sample(&at, &detail),
        }
    }

    /// Coordinates of a lane of a quad, in texels of the first level.
    fn in_texels(&self, lane: usize) -> [f64; 3] {
        self.scaled(self.cells.coordinates(&self.parts, lane))
    }

    fn scaled(&self, at: [f32; 3]) -> [f64; 3] {
        let (size, axes) = (self.image.size(0), self.image.resource.dimensions.axes());
        std::array::from_fn(
            |axis| {
                if axis < axes { f64::from(at[axis]) * f64::from(size[axis]) } else { 0.0 }
            },
        )
    }

    /// The levels of detail of a lane.
    fn detail(&self, lane: usize, at: &SampleAt) -> Detail {
        let quad = lane & !3;
        let length = |d: [f64; 3]| d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        let longer = |a: f64, b: f64| if a > b { a } else { b };
        let of_gradients = |gradients: [[f32; 3]; 2]| {
            let [right, down] = gradients.map(|gradient| length(self.scaled(gradient)));
            half_log2(longer(right, down))
        };
        let of_quad = || {
            let [first, right, down] = [0, 1, 2].map(|n| self.in_texels(quad + n));
            let from = |to: [f64; 3]| length(std::array::from_fn(|axis| to[axis] - first[axis]));
            half_log2(longer(from(right), from(down)))
        };
        let level = self.access.op.level().unwrap_or(ImageLevel::Zero);
        let computed = match level {
            _ if self.counts_texels() => 0,
            ImageLevel::Zero => 0,
            ImageLevel::Given => parts(at.level),
            ImageLevel::Quad => of_quad(),
            ImageLevel::Bias => of_quad().saturating_add(parts(at.bias)),
            ImageLevel::Gradients { coarse } => {
                of_gradients(self.cells.gradients(&self.parts, if coarse { quad } else { lane }))
            }
            ImageLevel::BiasedGradients => {
                of_gradients(self.cells.gradients(&self.parts, lane)).saturating_add(parts(at.bias))
            }
        };
        // Level 0 that the instruction requests is not moved.
        let bias = if level == ImageLevel::Zero { 0 } else { self.sampler.bias };
        let raw = computed.saturating_add(bias);
        let (least, most) = self.sampler.levels;
        let least = if self.access.op.clamp { least.max(parts(at.clamp)) } else { least };
        let rounding = match (self.sampler.mip, self.sampler.rounds_first) {
            (MipFilter::Point, true) => UNIT as i32 / 2,
            _ => 0,
        };
        let limited = raw.saturating_add(rounding).max(least).min(most);
        let (first, last) = self.image.resource.levels;
        let finest = self.image.resource.min_level - first as i32 * UNIT as i32;
        let level = limited.max(finest).clamp(0, (last - first) as i32 * UNIT as i32);
        Detail { raw, limited, level }
    }

    /// The level that a point or no filter of levels uses, in 1/256; for a linear one, the level of
    /// detail.
    fn nearest_level(&self, detail: &Detail) -> i32 {
        let half = UNIT as i32 / 2;
        match self.sampler.mip {
            MipFilter::None => 0,
            MipFilter::Point if self.sampler.rounds_first => detail.level & !(UNIT as i32 - 1),
            MipFilter::Point => (detail.level + half) & !(UNIT as i32 - 1),
            MipFilter::Linear => detail.level,
        }
    }

    /// The nearest neighbours of a coordinate on an axis.
    #[inline(always)]
    fn along(&self, axis: usize, coordinate: f32, size: u32, linear: bool, offset: i32) -> Along {
        let texels = if self.unnormalised[axis.min(2)] { 1.0 } else { f64::from(size) };
        let exact = f64::from(coordinate) * texels * UNIT as f64;
        // The conversions saturate, and a NaN becomes 0.
        let rounded = if self.sampler.truncates { exact.floor() as i64 } else { nearest(exact) };
        let mut at = rounded.clamp(-FARTHEST, FARTHEST);
        let end = i64::from(size) * UNIT;
        let mut last = i64::MAX;
        match self.mode(axis) {
            AddressMode::ClampHalfBorder => (at, last) = (at.clamp(0, end), end),
            AddressMode::MirrorOnceHalfBorder => (at, last) = (at.clamp(-end, end), end),
            _ => {}
        }
        let Along { index, weight } = Along::of(at, linear);
        // The very edge is the last texel of a mode that stops there.
        let is_edge = !linear && at == last;
        Along { index: index + i64::from(offset) - i64::from(is_edge), weight }
    }

    /// The address mode of an axis.
    fn mode(&self, axis: usize) -> AddressMode {
        self.sampler.address[axis.min(2)]
    }

    /// Whether a coordinate counts texels. Then there is no level of detail but 0.
    fn counts_texels(&self) -> bool {
        self.unnormalised[..self.image.resource.dimensions.axes().min(3)].contains(&true)
    }

    /// A coordinate on a face: faces begin at 0 and at 1.
    fn on_face(&self, axis: usize, at: f32) -> f32 {
        if self.image.resource.dimensions == Dimensions::Cube && !self.unnormalised[axis.min(2)] && at >= 1.0
        {
            at - 1.0
        } else {
            at
        }
    }

    /// Slice of the view and face that the third coordinate names.
    fn slice(&self, third: f32) -> (u32, u32) {
        if !self.image.resource.dimensions.has_slices() {
            return (0, 0);
        }
        // The conversion saturates, and a NaN becomes 0.
        let id = third.round_ties_even() as u32;
        let slices = self.image.resource.slices.1;
        match self.image.resource.dimensions {
            Dimensions::Cube => {
                let slice = (id / 8).min((slices / 6).saturating_sub(1));
                (6 * slice, (id % 8).min(5))
            }
            _ => (id.min(slices - 1), 0),
        }
    }

    /// The channels of the border colour.
    fn border(&self) -> Result<Channels, Miss> {
        let one = self.image.one;
        let colour = match self.sampler.border {
            BorderColour::TransparentBlack => [0; 4],
            BorderColour::OpaqueBlack => [0, 0, 0, one],
            BorderColour::White => [one; 4],
            BorderColour::Table(number) => {
                let colour = self.access.map.border_colours().get(number);
                colour.ok_or_else(|| Miss::Problem(Sampler::no_colour(&self.access.sampler)))?
            }
        };
        Ok(self.image.resource.border.map(|channel| colour[usize::from(channel) & 3]))
    }

    /// The texel of a level with these indices, and its face; `None` is the border.
    #[inline(always)]
    fn texel_at(&self, level: u32, at: [i64; 3], face: u32) -> Option<([u32; 3], u32)> {
        let size = self.image.size(level);
        if !self.is_by_axis {
            let (to, [x, y]) = around_the_edge(face, [at[0], at[1]], size[0]);
            return Some(([x, y.min(size[1] - 1), 0], to));
        }
        let axes = self.image.resource.dimensions.axes();
        let mut texel = [resolve(self.mode(0), at[0], size[0])?, 0, 0];
        if axes > 1 {
            texel[1] = resolve(self.mode(1), at[1], size[1])?;
        }
        if axes > 2 {
            texel[2] = resolve(self.mode(2), at[2], size[2])?;
        }
        Some((texel, face))
    }

    /// The words of a texel of a level and of a slice of the view.
    #[inline(always)]
    fn words(&self, level: u32, [x, y, z]: [u32; 3], slice: u32) -> Result<[u32; 4], Miss> {
        let resource = &self.image.resource;
        let third = if resource.dimensions.axes() > 2 { z } else { resource.slices.0 + slice };
        let address = self.image.address(resource.levels.0 + level, [x, y, third], 0);
        self.texels.read(address, resource.surface.bytes).ok_or(Miss::Refused(address))
    }

    /// The channels of a texel, or the result of its comparison; indices are those of the address
    /// modes.
    #[inline(always)]
    fn texel(
        &self,
        level: u32,
        at: [i64; 3],
        (slice, face): (u32, u32),
        reference: f32,
    ) -> Result<Channels, Miss> {
        let channels = match self.texel_at(level, at, face) {
            Some((texel, face)) => {
                texel::unpack(self.image.resource.format, self.words(level, texel, slice + face)?)
            }
            None => self.border()?,
        };
        if !self.access.op.compare {
            return Ok(channels);
        }
        let holds = self.sampler.compare.holds(reference, f32::from_bits(channels[0]));
        Ok([if holds { ONE } else { 0 }, 0, 0, ONE])
    }

    /// Where a sample is in a level.
    #[inline(always)]
    fn position(&self, at: &SampleAt, level: u32, minified: bool) -> Position {
        let size = self.image.size(level);
        let linear = self.linear[usize::from(minified)];
        let mut along = [Along::NOWHERE; 3];
        for axis in 0..self.image.resource.dimensions.axes() {
            let coordinate = self.on_face(axis, at.at[axis]);
            along[axis] = self.along(axis, coordinate, size[axis], linear[axis], at.offset[axis]);
        }
        let (slice, face) = self.slice(at.at[2]);
        Position { level, along, slice, face }
    }

    /// The channels of a neighbour on each axis, or the result of their comparison.
    #[inline(always)]
    fn neighbour(&self, position: &Position, which: [i64; 3], reference: f32) -> Result<Channels, Miss> {
        self.texel(position.level, position.index(which), (position.slice, position.face), reference)
    }

    /// Adds the texels of a level with their weights.
    fn add(&self, position: &Position, weight: u64, reference: f32, filter: &mut Filter) -> Result<(), Miss> {
        let [x, y, z] = position.along;
        for nz in 0..z.count() {
            for ny in 0..y.count() {
                for nx in 0..x.count() {
                    let channels = self.neighbour(position, [nx, ny, nz], reference)?;
                    filter.add(weight * x.weight(nx) * y.weight(ny) * z.weight(nz), channels);
                }
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn sample(&self, at: &SampleAt, detail: &Detail) -> Result<[u32; MAX_RESULT], Miss> {
        let minified = detail.limited > 0;
        let level = self.nearest_level(detail);
        let (index, part) = ((level >> UNIT_BITS) as u32, u64::from(level as u32 % UNIT as u32));
        let first = self.position(at, index, minified);
        let is_one_level = part == 0 || self.is_integer;
        if is_one_level && first.is_single() {
            return Ok(self.finish(self.neighbour(&first, [0; 3], at.reference)?));
        }
        let mut filter = Filter::new(self.sampler.reduction);
        if is_one_level {
            self.add(&first, 1, at.reference, &mut filter)?;
        } else {
            self.add(&first, UNIT as u64 - part, at.reference, &mut filter)?;
            let second = self.position(at, index + 1, minified);
            self.add(&second, part, at.reference, &mut filter)?;
        }
        Ok(self.finish(filter.result()))
    }

    /// The number format of the components of the result.
    fn number(&self) -> TexelNumber {
        if self.access.op.compare { TexelNumber::Float } else { self.image.resource.format.number }
    }

    /// The components that the resource selects.
    fn selected(&self, channels: Channels) -> Channels {
        let one = if self.access.op.compare { ONE } else { self.image.one };
        self.image.selected(channels, one)
    }

    fn finish(&self, channels: Channels) -> [u32; MAX_RESULT] {
        let components = self.selected(channels);
        let half = |component| texel::to_half(self.number(), component).into();
        self.access.elements(if self.access.op.half { components.map(half) } else { components })
    }

    fn gather(&self, at: &SampleAt, detail: &Detail, shape: ImageGather) -> Result<[u32; MAX_RESULT], Miss> {
        let op = self.access.op;
        let level = (self.nearest_level(detail) + UNIT as i32 / 2) >> UNIT_BITS;
        let (first, last) = self.image.resource.levels;
        let level = (level as u32).min(last - first);
        let size = self.image.size(level);
        let square = matches!(shape, ImageGather::Square | ImageGather::SquareOrPoint);
        let linear = square && !(shape == ImageGather::SquareOrPoint && self.number().is_integer());
        let [x, y] = [0, 1].map(|axis| {
            let first =
                self.along(axis, self.on_face(axis, at.at[axis]), size[axis], linear, at.offset[axis]);
            [first.index, first.index + 1]
        });
        let slice = self.slice(at.at[2]);
        if let ImageGather::PackedRow(count) = shape {
            return self.packed_row(level, [x[0], y[0]], slice, count);
        }
        let places = match square {
            true => [[x[0], y[1]], [x[1], y[1]], [x[1], y[0]], [x[0], y[0]]],
            false => [0, 1, 2, 3].map(|n| [x[0] + n, y[0]]),
        };
        let component = op.channels.trailing_zeros() as usize & 3;
        let mut result = [0; MAX_RESULT];
        for (n, [x, y]) in places.into_iter().enumerate() {
            let channels = self.texel(level, [x, y, 0], slice, at.reference)?;
            let value = self.selected(channels)[component];
            if op.half {
                result[n / 2] |= u32::from(texel::to_half(self.number(), value)) << (16 * (n % 2));
            } else {
                result[n] = value;
            }
        }
        Ok(result)
    }

    /// The bits of texels of a row, one after the other.
    fn packed_row(
        &self,
        level: u32,
        [x, y]: [i64; 2],
        (slice, face): (u32, u32),
        count: u8,
    ) -> Result<[u32; MAX_RESULT], Miss> {
        let bytes = self.image.resource.surface.bytes as usize;
        let room = 4 * usize::from(self.access.op.data_cells()).min(4);
        let mut packed = [0; 16];
        for n in 0..usize::from(count) {
            let words = match self.texel_at(level, [x + n as i64, y, 0], face) {
                Some((texel, face)) => self.words(level, texel, slice + face)?,
                None => [0; 4],
            };
            let texel = words.into_iter().flat_map(u32::to_le_bytes).take(bytes);
            for (at, byte) in (n * bytes..room).zip(texel) {
                packed[at] = byte;
            }
        }
        let mut result = [0; MAX_RESULT];
        for (cell, bytes) in result.iter_mut().zip(packed.chunks_exact(4)) {
            *cell = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        Ok(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_lengths() {
        for (length, level) in [
            (1.0, 0),
            (2.0, 256),
            (0.5, -256),
            (4096.0, 12 * 256),
            // 2^0.5 and 2^(1/3).
            (std::f64::consts::SQRT_2, 128),
            (1.259_921_049_894_873, 85),
            (0.0, FINEST),
            (f64::NAN, FINEST),
            (f64::INFINITY, -FINEST),
        ] {
            assert_eq!(half_log2(length * length), level, "{length}");
        }
    }

    /// The short way of the most frequent samples gives what the general way gives.
    #[test]
    fn quick_samples_are_samples() {
        use wavemill_ir::{DataFormat, ImageOp, LANES, TexelFormat};

        use crate::image::{BlockOrder, ImageCache, Select, Surface, Tiling};
        use crate::{Access, GuestMemory};

        let mut state = 1u64;
        let mut below = move |n: u32| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32 % n
        };
        let memory = GuestMemory::default();
        let base = memory.allocate("image", 1 << 16, 1 << 16).unwrap();
        let bytes: Vec<u8> = (0..1 << 16).map(|_| below(256) as u8).collect();
        memory.write(base, &bytes).unwrap();
        let map = memory.snapshot();
        let op = ImageOp::new(ImageKind::Sample(ImageLevel::Zero), 15);
        let formats = [
            (DataFormat::D8_8_8_8, TexelNumber::Unorm),
            (DataFormat::D32, TexelNumber::Float),
            (DataFormat::D32_32_32_32, TexelNumber::Float),
            (DataFormat::D16_16, TexelNumber::Snorm),
            (DataFormat::D8, TexelNumber::Uint),
        ];
        let (mut quick, mut blended) = (0, 0);
        for _ in 0..500 {
            let (data, number) = formats[below(5) as usize];
            let blocks = Tiling::Blocks { log2: 12, order: BlockOrder::Standard };
            let surface = Surface {
                tiling: if below(2) == 0 { Tiling::Linear } else { blocks },
                bytes: data.bytes(),
                width: 1 + below(20),
                height: 1 + below(20),
                depth: 1,
                is_volume: false,
                levels: 1,
                samples_log2: 0,
                pitch: 0,
            };
            let resource = Resource {
                base,
                format: TexelFormat { data, number },
                select: [Select::Channel(2), Select::One, Select::Channel(0), Select::Zero],
                border: [0, 1, 2, 3],
                dimensions: Dimensions::D2,
                surface: Surface { pitch: surface.least_pitch(), ..surface },
                levels: (0, 0),
                slices: (0, 1),
                min_level: 0,
            };
            let bilinear = below(2) == 0;
            let sampler = Sampler {
                address: [0; 3].map(|_| AddressMode::ALL[below(8) as usize]),
                unnormalised: below(2) == 0,
                reduction: [Reduction::Blend, Reduction::Min, Reduction::Max][below(3) as usize],
                levels: (0, 4095),
                bilinear: [bilinear; 2],
                ..Sampler::decode(&[0; 4]).unwrap()
            };
            let part = if sampler.unnormalised { 1 } else { 20 };
            let mut row =
                || std::array::from_fn(|_| ((below(5000) as f32 / 200.0 - 2.0) / part as f32).to_bits());
            let address: [[u32; LANES]; 2] = [row(), row()];
            let access = ImageAccess {
                op: &op,
                map: &map,
                resource: resource.encode(),
                sampler: sampler.encode(),
                address: &address,
                active: !0,
                cache: &ImageCache::default(),
            };
            let texels = Texels::new(&map, Access::Load, false);
            let image = access.image().unwrap();
            let unit = Unit::new(&access, &image, &texels).unwrap();
            for lane in 0..LANES {
                let general = unit.lane(lane).unwrap();
                if let Some(values) = unit.quick(lane) {
                    assert_eq!(values, general, "{resource:?} {sampler:?} {address:?} {lane}");
                    quick += 1;
                    blended += usize::from(bilinear);
                }
            }
        }
        assert!(quick > 5000 && blended > 2000, "{quick} {blended}");
    }

    /// Going over an edge and back along the same line returns to the face.
    #[test]
    fn neighbours_of_faces_are_mutual() {
        const N: u32 = 4;
        let n = i64::from(N);
        for face in 0..6 {
            for along in 0..n {
                for outside in [[-1, along], [n, along], [along, -1], [along, n]] {
                    let (to, [x, y]) = around_the_edge(face, outside, N);
                    assert_ne!(to, face);
                    assert_ne!(
                        FACES[to as usize][0].0, FACES[face as usize][0].0,
                        "opposite faces do not touch"
                    );
                    // One of the neighbours of that texel outside its face is the texel inside ours.
                    let inside = outside.map(|at| at.clamp(0, n - 1) as u32);
                    let [x, y] = [i64::from(x), i64::from(y)];
                    let around = [[x - 1, y], [x + 1, y], [x, y - 1], [x, y + 1]];
                    let back = around.map(|place| around_the_edge(to, place, N));
                    assert!(back.contains(&(face, inside)), "{face} {outside:?}: {to} {x} {y}: {back:?}");
                }
            }
        }
    }
}
