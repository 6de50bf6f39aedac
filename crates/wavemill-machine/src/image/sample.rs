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

use super::coordinates::SampleAt;
use super::descriptor::{
    AddressMode, BorderColour, DescriptorProblem, Dimensions, MipFilter, Reduction, Resource, Sampler,
};
use super::surface::Layout;
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

/// A texel of a filter with its weight.
type Weighted = (u64, Channels);

/// Where a sample is on an axis: two neighbours, and the weight of the second one.
#[derive(Clone, Copy, Debug)]
struct Along {
    index: [i64; 2],
    weight: i64,
}

impl Along {
    const NOWHERE: Along = Along { index: [0; 2], weight: 0 };

    /// The neighbours that have a weight.
    fn parts(self) -> impl Iterator<Item = (i64, u64)> {
        let Along { index: [a, b], weight } = self;
        [(a, (UNIT - weight) as u64), (b, weight as u64)].into_iter().filter(|(_, weight)| *weight > 0)
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

/// A sampling unit for one operation.
pub(super) struct Unit<'a> {
    access: &'a ImageAccess<'a>,
    resource: &'a Resource,
    texels: &'a Texels<'a>,
    sampler: Sampler,
    layout: Layout,
    unnormalised: bool,
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
fn resolve(mode: AddressMode, index: i64, size: u32) -> Option<u32> {
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
        resource: &'a Resource,
        texels: &'a Texels<'a>,
    ) -> Result<Unit<'a>, DescriptorProblem> {
        let sampler = Sampler::decode(&access.sampler)?;
        let dimensions = resource.dimensions;
        let wrong = |problem| Err(Resource::wrong_type(&access.resource, problem));
        if dimensions.has_samples() {
            return wrong("a sampler does not read images with several samples; a load does");
        }
        if matches!(access.op.kind, ImageKind::Gather(..)) && dimensions.axes() != 2 {
            return wrong("a gather reads images of two dimensions, arrays of them, and cubes");
        }
        let unnormalised = access.op.unnormalised || sampler.unnormalised;
        Ok(Unit { access, resource, texels, sampler, layout: resource.layout(), unnormalised })
    }

    /// The result of a lane.
    pub(super) fn lane(&self, lane: usize) -> Result<[u32; MAX_RESULT], Miss> {
        let op = self.access.op;
        let at = self.access.cells(lane).sample(op, self.resource.dimensions);
        let detail = self.detail(lane, &at);
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
        let at = self.access.cells(lane).sample(self.access.op, self.resource.dimensions).at;
        self.scaled(at)
    }

    fn scaled(&self, at: [f32; 3]) -> [f64; 3] {
        let (size, axes) = (self.resource.size(0), self.resource.dimensions.axes());
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
            _ if self.unnormalised => 0,
            ImageLevel::Zero => 0,
            ImageLevel::Given => parts(at.level),
            ImageLevel::Quad => of_quad(),
            ImageLevel::Bias => of_quad().saturating_add(parts(at.bias)),
            ImageLevel::Gradients { coarse: false } => of_gradients(at.gradients),
            ImageLevel::Gradients { coarse: true } => {
                let first = self.access.cells(quad).sample(self.access.op, self.resource.dimensions);
                of_gradients(first.gradients)
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
        let (first, last) = self.resource.levels;
        let finest = self.resource.min_level - first as i32 * UNIT as i32;
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
    fn along(&self, axis: usize, coordinate: f32, size: u32, linear: bool, offset: i32) -> Along {
        let texels = if self.unnormalised { 1.0 } else { f64::from(size) };
        let exact = f64::from(coordinate) * texels * UNIT as f64;
        let rounded = if self.sampler.truncates { exact.floor() } else { exact.round_ties_even() };
        // The conversion saturates, and a NaN becomes 0.
        let mut at = (rounded as i64).clamp(-FARTHEST, FARTHEST);
        let end = i64::from(size) * UNIT;
        match self.mode(axis) {
            AddressMode::ClampHalfBorder => at = at.clamp(0, end),
            AddressMode::MirrorOnceHalfBorder => at = at.clamp(-end, end),
            _ => {}
        }
        if linear {
            let corner = at - UNIT / 2;
            let index = corner.div_euclid(UNIT) + i64::from(offset);
            return Along { index: [index, index + 1], weight: corner.rem_euclid(UNIT) };
        }
        let mut index = at.div_euclid(UNIT);
        // The very edge is the last texel of a mode that stops there.
        match self.mode(axis) {
            AddressMode::ClampHalfBorder | AddressMode::MirrorOnceHalfBorder if at == end => index -= 1,
            _ => {}
        }
        Along { index: [index + i64::from(offset); 2], weight: 0 }
    }

    /// The address mode of an axis.
    fn mode(&self, axis: usize) -> AddressMode {
        self.sampler.address[axis.min(2)]
    }

    /// A coordinate on a face: faces begin at 0 and at 1.
    fn on_face(&self, at: f32) -> f32 {
        if self.resource.dimensions == Dimensions::Cube && !self.unnormalised && at >= 1.0 {
            at - 1.0
        } else {
            at
        }
    }

    /// Slice of the view and face that the third coordinate names.
    fn slice(&self, third: f32) -> (u32, u32) {
        let nearest = third.round_ties_even();
        // The conversion saturates, and a NaN becomes 0.
        let id = nearest as u32;
        let slices = self.resource.slices.1;
        match self.resource.dimensions {
            Dimensions::Cube => {
                let slice = (id / 8).min((slices / 6).saturating_sub(1));
                (6 * slice, (id % 8).min(5))
            }
            dimensions if dimensions.has_slices() => (id.min(slices - 1), 0),
            _ => (0, 0),
        }
    }

    /// The channels of the border colour.
    fn border(&self) -> Result<Channels, Miss> {
        let one = self.resource.format.one();
        let colour = match self.sampler.border {
            BorderColour::TransparentBlack => [0; 4],
            BorderColour::OpaqueBlack => [0, 0, 0, one],
            BorderColour::White => [one; 4],
            BorderColour::Table => return Err(Miss::Problem(Sampler::no_table(&self.access.sampler))),
        };
        Ok(self.resource.border.map(|channel| colour[usize::from(channel) & 3]))
    }

    /// The words of a texel of a level; indices are those of the address modes.
    fn words(
        &self,
        level: u32,
        [x, y, z]: [i64; 3],
        (slice, face): (u32, u32),
    ) -> Result<Option<[u32; 4]>, Miss> {
        let resource = self.resource;
        let [width, height, depth] = resource.size(level);
        let (mut layer, mut face) = (resource.slices.0 + slice, face);
        let axes = resource.dimensions.axes();
        let texel = if resource.dimensions == Dimensions::Cube && !self.sampler.faces_apart {
            let (to, texel) = around_the_edge(face, [x, y], width);
            face = to;
            Some([texel[0], texel[1].min(height - 1), 0])
        } else {
            let x = resolve(self.mode(0), x, width);
            let y = if axes > 1 { resolve(self.mode(1), y, height) } else { Some(0) };
            let z = if axes > 2 { resolve(self.mode(2), z, depth) } else { Some(0) };
            match (x, y, z) {
                (Some(x), Some(y), Some(z)) => Some([x, y, z]),
                _ => None,
            }
        };
        let Some([x, y, z]) = texel else { return Ok(None) };
        layer += face;
        let third = if axes > 2 { z } else { layer };
        let offset = self.layout.offset(resource.levels.0 + level, [x, y, third], 0);
        let address = resource.base.wrapping_add(offset);
        self.texels.read(address, resource.surface.bytes).map(Some).ok_or(Miss::Refused(address))
    }

    /// The channels of a texel, or the result of its comparison.
    fn texel(&self, level: u32, at: [i64; 3], slice: (u32, u32), reference: f32) -> Result<Channels, Miss> {
        let channels = match self.words(level, at, slice)? {
            Some(words) => texel::unpack(self.resource.format, words),
            None => self.border()?,
        };
        if !self.access.op.compare {
            return Ok(channels);
        }
        let holds = self.sampler.compare.holds(reference, f32::from_bits(channels[0]));
        Ok([if holds { ONE } else { 0 }, 0, 0, ONE])
    }

    /// Whether components are integers, which have no weights.
    fn is_integer(&self) -> bool {
        self.resource.format.number.is_integer() && !self.access.op.compare
    }

    /// Adds the texels of a level with their weights.
    fn level(
        &self,
        at: &SampleAt,
        level: u32,
        weight: u64,
        minified: bool,
        into: &mut Vec<Weighted>,
    ) -> Result<(), Miss> {
        let size = self.resource.size(level);
        let axes = self.resource.dimensions.axes();
        let bilinear = self.sampler.bilinear[usize::from(minified)] && !self.is_integer();
        let mut along = [Along::NOWHERE; 3];
        for (axis, place) in along.iter_mut().enumerate().take(axes) {
            let linear = match (axis, self.sampler.linear_depth) {
                (2, Some(linear)) => linear && !self.is_integer(),
                _ => bilinear,
            };
            *place = self.along(axis, self.on_face(at.at[axis]), size[axis], linear, at.offset[axis]);
        }
        let slice = self.slice(at.at[2]);
        for (z, wz) in along[2].parts() {
            for (y, wy) in along[1].parts() {
                for (x, wx) in along[0].parts() {
                    let channels = self.texel(level, [x, y, z], slice, at.reference)?;
                    into.push((weight * wx * wy * wz, channels));
                }
            }
        }
        Ok(())
    }

    fn sample(&self, at: &SampleAt, detail: &Detail) -> Result<[u32; MAX_RESULT], Miss> {
        let minified = detail.limited > 0;
        let mut all = Vec::with_capacity(8);
        let level = self.nearest_level(detail);
        let (index, part) = ((level >> UNIT_BITS) as u32, u64::from(level as u32 % UNIT as u32));
        if part == 0 || self.is_integer() {
            self.level(at, index, 1, minified, &mut all)?;
        } else {
            self.level(at, index, UNIT as u64 - part, minified, &mut all)?;
            self.level(at, index + 1, part, minified, &mut all)?;
        }
        Ok(self.finish(self.reduced(&all)))
    }

    /// The texels of a filter as one.
    fn reduced(&self, all: &[Weighted]) -> Channels {
        if let [(_, only)] = all {
            return *only;
        }
        let total: u64 = all.iter().map(|(weight, _)| weight).sum();
        std::array::from_fn(|n| {
            let values = || all.iter().map(|(weight, channels)| (*weight, f32::from_bits(channels[n])));
            let pick = |first_wins: fn(f32, f32) -> bool| {
                values().map(|(_, v)| v).reduce(|best, v| if first_wins(v, best) { v } else { best })
            };
            let value = match self.sampler.reduction {
                Reduction::Blend => {
                    let sum: f64 = values().map(|(weight, value)| weight as f64 * f64::from(value)).sum();
                    (sum / total as f64) as f32
                }
                Reduction::Min => pick(|v, best| v < best).unwrap_or(0.0),
                Reduction::Max => pick(|v, best| v > best).unwrap_or(0.0),
            };
            if value.is_nan() { NAN } else { value.to_bits() }
        })
    }

    /// The number format of the components of the result.
    fn number(&self) -> TexelNumber {
        if self.access.op.compare { TexelNumber::Float } else { self.resource.format.number }
    }

    /// The components that the resource selects.
    fn selected(&self, channels: Channels) -> Channels {
        if !self.access.op.compare {
            return ImageAccess::selected(self.resource, channels);
        }
        self.resource.select.map(|select| match select {
            super::Select::Zero => 0,
            super::Select::One => ONE,
            super::Select::Channel(n) => channels[usize::from(n) & 3],
        })
    }

    fn finish(&self, channels: Channels) -> [u32; MAX_RESULT] {
        let components = self.selected(channels);
        let half = |component| texel::to_half(self.number(), component).into();
        self.access.elements(if self.access.op.half { components.map(half) } else { components })
    }

    fn gather(&self, at: &SampleAt, detail: &Detail, shape: ImageGather) -> Result<[u32; MAX_RESULT], Miss> {
        let op = self.access.op;
        let level = (self.nearest_level(detail) + UNIT as i32 / 2) >> UNIT_BITS;
        let level = (level as u32).min(self.resource.levels.1 - self.resource.levels.0);
        let size = self.resource.size(level);
        let square = shape == ImageGather::Square;
        let [x, y] = [0, 1].map(|axis| {
            self.along(axis, self.on_face(at.at[axis]), size[axis], square, at.offset[axis]).index
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
        slice: (u32, u32),
        count: u8,
    ) -> Result<[u32; MAX_RESULT], Miss> {
        let bytes = self.resource.surface.bytes as usize;
        let room = 4 * usize::from(self.access.op.data_cells()).min(4);
        let mut packed = [0; 16];
        for n in 0..usize::from(count) {
            let words = self.words(level, [x + n as i64, y, 0], slice)?.unwrap_or([0; 4]);
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
