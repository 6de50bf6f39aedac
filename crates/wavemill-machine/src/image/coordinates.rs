//! The cells of an address: which coordinates they hold depends on the operation and on the
//! dimensions of the resource.

use wavemill_float::f32_from_f16;
use wavemill_ir::{ImageLevel, ImageOp};

use super::descriptor::Dimensions;
use super::extent::Coordinate;
use super::{Image, ImageRow};

/// The rows of an address.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    rows: &'a [ImageRow],
    /// Coordinates are halves of cells.
    short: bool,
}

/// Where a part of an address is: halves of cells before it.
type Half = u8;

/// Assigns cells or halves to the parts of an address, one after the other.
struct Cursor {
    at: Half,
    /// Halves of a coordinate.
    step: Half,
}

/// A texel that an access without a sampler names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TexelAt {
    pub level: u32,
    /// Coordinates; the third one is the depth or the slice in memory.
    pub texel: [u32; 3],
    pub sample: u32,
}

/// The coordinate of an access without a sampler that is outside the image.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outside {
    pub coordinate: Coordinate,
    /// Its value as the address has it.
    pub value: u32,
    /// The first value outside.
    pub end: u32,
    /// The level of the view.
    pub level: u32,
}

/// What an access with a sampler reads from its address.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleAt {
    /// Offsets in texels.
    pub offset: [i32; 3],
    pub bias: f32,
    pub reference: f32,
    /// Coordinates; the third one is the depth, the slice or the face.
    pub at: [f32; 3],
    /// The level of detail that the address has.
    pub level: f32,
    /// The lower limit of the level of detail.
    pub clamp: f32,
}

/// Where the parts of an address without a sampler are. The first coordinate is at its start.
#[derive(Clone, Copy, Debug)]
pub(super) struct TexelParts {
    axes: usize,
    step: Half,
    slice: Option<Half>,
    sample: Option<Half>,
    level: Option<Half>,
    /// Whether the address has two coordinates and nothing else.
    is_plain: bool,
}

/// Where the parts of an address with a sampler are.
#[derive(Clone, Copy, Debug)]
pub(super) struct SampleParts {
    axes: usize,
    step: Half,
    offset: Option<Half>,
    bias: Option<Half>,
    reference: Option<Half>,
    gradients: Option<[Half; 2]>,
    coordinates: Half,
    slice: Option<Half>,
    level: Option<Half>,
    clamp: Option<Half>,
    /// Whether there is more than coordinates.
    pub has_more: bool,
}

impl Cursor {
    fn new(op: &ImageOp) -> Cursor {
        Cursor { at: 0, step: if op.short { 1 } else { 2 } }
    }

    /// This many coordinates.
    fn take(&mut self, count: usize) -> Half {
        let at = self.at;
        self.at += count as Half * self.step;
        at
    }

    /// A coordinate, if there is one.
    fn take_if(&mut self, there: bool) -> Option<Half> {
        there.then(|| self.take(1))
    }

    /// Skips the rest of a cell.
    fn align(&mut self) {
        self.at = self.at.next_multiple_of(2);
    }

    /// A whole cell, if there is one.
    fn cell_if(&mut self, there: bool) -> Option<Half> {
        there.then(|| {
            self.align();
            self.at += 2;
            self.at - 2
        })
    }

    /// The cells of coordinates; gives the first one, and the one of the slice or the face.
    fn coordinates(&mut self, op: &ImageOp, dimensions: Dimensions) -> (Half, Option<Half>) {
        if op.coordinates == 0 {
            let first = self.take(dimensions.axes());
            return (first, self.slice(op, dimensions));
        }
        let first = self.take(op.coordinates.into());
        (first, dimensions.has_slices().then_some(self.at - self.step))
    }

    /// The slice or the face, and whether the image has any.
    fn slice(&mut self, op: &ImageOp, dimensions: Dimensions) -> Option<Half> {
        // The number of a face is part of the address of a cube.
        let there = dimensions == Dimensions::Cube || op.array && dimensions != Dimensions::D3;
        self.take_if(there).filter(|_| dimensions.has_slices())
    }
}

impl TexelParts {
    pub(super) fn of(op: &ImageOp, dimensions: Dimensions) -> TexelParts {
        let mut cursor = Cursor::new(op);
        let axes = dimensions.axes();
        let (_, slice) = cursor.coordinates(op, dimensions);
        let has_samples = dimensions.has_samples();
        // With a number of coordinates of its own, the address has one cell for both.
        let has_mip = op.has_mip() && (op.coordinates == 0 || !has_samples);
        let sample = cursor.take_if(has_samples && (op.coordinates == 0 || op.has_mip()));
        let level = cursor.take_if(has_mip);
        let is_plain = axes == 2 && slice.or(sample).or(level).is_none();
        TexelParts { axes, step: cursor.step, slice, sample, level, is_plain }
    }
}

impl SampleParts {
    pub(super) fn of(op: &ImageOp, dimensions: Dimensions) -> SampleParts {
        let mut cursor = Cursor::new(op);
        let axes = dimensions.axes();
        let offset = cursor.cell_if(op.offset);
        // A short bias has a cell of its own.
        let bias = cursor.take_if(op.level().is_some_and(ImageLevel::has_bias));
        cursor.align();
        let reference = cursor.cell_if(op.compare);
        let gradients = op.level().is_some_and(ImageLevel::has_gradients).then(|| {
            [0, 1].map(|_| {
                let gradient = cursor.take(if op.coordinates == 0 { axes } else { op.coordinates.into() });
                // The derivatives of a direction have cells of their own.
                cursor.align();
                gradient
            })
        });
        let (coordinates, slice) = cursor.coordinates(op, dimensions);
        let level = cursor.take_if(op.level() == Some(ImageLevel::Given));
        let clamp = cursor.take_if(op.clamp);
        let has_more = [offset, bias, reference, slice, level, clamp].iter().any(Option::is_some);
        let step = cursor.step;
        SampleParts {
            axes,
            step,
            offset,
            bias,
            reference,
            gradients,
            coordinates,
            slice,
            level,
            clamp,
            has_more,
        }
    }
}

impl<'a> Cells<'a> {
    pub(super) fn new(rows: &'a [ImageRow], short: bool) -> Cells<'a> {
        Cells { rows, short }
    }

    /// A whole cell of a lane.
    #[inline(always)]
    fn cell(&self, at: Half, lane: usize) -> u32 {
        self.rows.get(usize::from(at / 2)).map_or(0, |row| row[lane])
    }

    /// An integer of a lane.
    #[inline(always)]
    fn integer(&self, at: Half, lane: usize) -> u32 {
        let cell = self.cell(at, lane);
        if self.short { cell >> (16 * (at % 2)) & 0xffff } else { cell }
    }

    /// A float of a lane.
    #[inline(always)]
    fn float(&self, at: Half, lane: usize) -> f32 {
        let bits = self.integer(at, lane);
        f32::from_bits(if self.short { f32_from_f16(bits) } else { bits })
    }

    /// The first integer of a lane.
    pub(super) fn first(&self, lane: usize) -> u32 {
        self.integer(0, lane)
    }

    /// The texel that a lane's address without a sampler names, or the coordinate that is outside
    /// the image.
    #[inline(always)]
    pub(super) fn texel(&self, parts: &TexelParts, lane: usize, image: &Image) -> Result<TexelAt, Outside> {
        let resource = &image.resource;
        let mut at = [self.integer(0, lane), 0, 0];
        if parts.is_plain {
            at[1] = self.integer(parts.step, lane);
            let [width, height, _] = image.size(0);
            if at[0] < width && at[1] < height {
                let [x, y, _] = at;
                return Ok(TexelAt { level: resource.levels.0, texel: [x, y, resource.slices.0], sample: 0 });
            }
        }
        if parts.axes > 1 {
            at[1] = self.integer(parts.step, lane);
        }
        if parts.axes > 2 {
            at[2] = self.integer(2 * parts.step, lane);
        }
        let read = |part: Option<Half>| part.map_or(0, |part| self.integer(part, lane));
        if parts.slice.is_some() {
            at[2] = read(parts.slice);
        }
        let (sample, level) = (read(parts.sample), read(parts.level));
        let levels = resource.levels.1 - resource.levels.0 + 1;
        if level >= levels {
            return Err(Outside { coordinate: Coordinate::Level, value: level, end: levels, level: 0 });
        }
        let size = image.size(level);
        let third = Coordinate::third(resource.dimensions);
        for (n, coordinate) in [Coordinate::X, Coordinate::Y, third].into_iter().enumerate() {
            if at[n] >= size[n] {
                return Err(Outside { coordinate, value: at[n], end: size[n], level });
            }
        }
        let samples = 1 << resource.surface.samples_log2;
        if sample >= samples {
            return Err(Outside { coordinate: Coordinate::Sample, value: sample, end: samples, level });
        }
        at[2] += resource.slices.0;
        Ok(TexelAt { level: resource.levels.0 + level, texel: at, sample })
    }

    /// The coordinates of an access with a sampler, without slice and face.
    #[inline(always)]
    pub(super) fn coordinates(&self, parts: &SampleParts, lane: usize) -> [f32; 3] {
        self.floats(parts, parts.coordinates, lane)
    }

    /// The derivatives of the coordinates to the right and downwards.
    pub(super) fn gradients(&self, parts: &SampleParts, lane: usize) -> [[f32; 3]; 2] {
        parts.gradients.map_or([[0.0; 3]; 2], |both| both.map(|first| self.floats(parts, first, lane)))
    }

    /// A float for each axis.
    #[inline(always)]
    fn floats(&self, parts: &SampleParts, first: Half, lane: usize) -> [f32; 3] {
        let mut all = [self.float(first, lane), 0.0, 0.0];
        if parts.axes > 1 {
            all[1] = self.float(first + parts.step, lane);
        }
        if parts.axes > 2 {
            all[2] = self.float(first + 2 * parts.step, lane);
        }
        all
    }

    /// What an access with a sampler reads from its address.
    #[inline(always)]
    pub(super) fn sample(&self, parts: &SampleParts, lane: usize) -> SampleAt {
        let at = self.coordinates(parts, lane);
        if parts.has_more { self.more(parts, lane, at) } else { SampleAt { at, ..SampleAt::default() } }
    }

    /// The same for an address that has more than coordinates.
    fn more(&self, parts: &SampleParts, lane: usize, mut at: [f32; 3]) -> SampleAt {
        let float = |part: Option<Half>| part.map_or(0.0, |part| self.float(part, lane));
        if parts.slice.is_some() {
            at[2] = float(parts.slice);
        }
        let offset = parts.offset.map_or([0; 3], |part| {
            let cell = self.cell(part, lane);
            [0, 8, 16].map(|shift| ((cell >> shift << 26) as i32) >> 26)
        });
        SampleAt {
            offset,
            bias: float(parts.bias),
            reference: parts.reference.map_or(0.0, |part| f32::from_bits(self.cell(part, lane))),
            at,
            level: float(parts.level),
            clamp: float(parts.clamp),
        }
    }
}
