//! The cells of an address: which coordinates they hold depends on the operation and on the
//! dimensions of the resource.

use wavemill_float::f32_from_f16;
use wavemill_ir::{ImageLevel, ImageOp};

use super::ImageRow;
use super::descriptor::{Dimensions, Resource};
use super::extent::Coordinate;

/// The cells of a lane's address, read one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cells<'a> {
    rows: &'a [ImageRow],
    lane: usize,
    /// Coordinates are halves of cells.
    short: bool,
    /// Halves that have been read.
    at: usize,
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
    /// Derivatives of the coordinates to the right and downwards.
    pub gradients: [[f32; 3]; 2],
    /// Coordinates; the third one is the depth, the slice or the face.
    pub at: [f32; 3],
    /// The level of detail that the address has.
    pub level: f32,
    /// The lower limit of the level of detail.
    pub clamp: f32,
}

impl<'a> Cells<'a> {
    pub(super) fn new(rows: &'a [ImageRow], lane: usize, short: bool) -> Cells<'a> {
        Cells { rows, lane, short, at: 0 }
    }

    fn half(&self) -> u32 {
        let cell = self.rows.get(self.at / 2).map_or(0, |row| row[self.lane]);
        cell >> (16 * (self.at % 2)) & 0xffff
    }

    /// The next whole cell.
    fn cell(&mut self) -> u32 {
        self.at = self.at.next_multiple_of(2);
        let cell = self.rows.get(self.at / 2).map_or(0, |row| row[self.lane]);
        self.at += 2;
        cell
    }

    /// The next integer.
    pub(super) fn next(&mut self) -> u32 {
        if !self.short {
            return self.cell();
        }
        let half = self.half();
        self.at += 1;
        half
    }

    /// The next float.
    fn next_float(&mut self) -> f32 {
        if !self.short {
            return f32::from_bits(self.cell());
        }
        let half = self.half();
        self.at += 1;
        f32::from_bits(f32_from_f16(half))
    }

    /// The texel that the address of an access without a sampler names, or the coordinate that is
    /// outside the image.
    pub(super) fn texel(mut self, op: &ImageOp, resource: &Resource) -> Result<TexelAt, Outside> {
        let dimensions = resource.dimensions;
        let mut at = [0; 3];
        for part in &mut at[..dimensions.axes()] {
            *part = self.next();
        }
        let is_cube = dimensions == Dimensions::Cube;
        // The number of a face is part of the address of a cube.
        if is_cube || op.array && dimensions != Dimensions::D3 {
            let slice = self.next();
            at[2] = if dimensions.has_slices() { slice } else { 0 };
        }
        let sample = if dimensions.has_samples() { self.next() } else { 0 };
        let level = if op.has_mip() { self.next() } else { 0 };
        let levels = resource.levels.1 - resource.levels.0 + 1;
        if level >= levels {
            return Err(Outside { coordinate: Coordinate::Level, value: level, end: levels, level: 0 });
        }
        let axes = [Coordinate::X, Coordinate::Y, Coordinate::third(dimensions)];
        for ((value, end), coordinate) in at.into_iter().zip(resource.size(level)).zip(axes) {
            if value >= end {
                return Err(Outside { coordinate, value, end, level });
            }
        }
        let samples = 1 << resource.surface.samples_log2;
        if sample >= samples {
            return Err(Outside { coordinate: Coordinate::Sample, value: sample, end: samples, level });
        }
        at[2] += resource.slices.0;
        Ok(TexelAt { level: resource.levels.0 + level, texel: at, sample })
    }

    /// What an access with a sampler reads from its address.
    pub(super) fn sample(mut self, op: &ImageOp, dimensions: Dimensions) -> SampleAt {
        let mut result = SampleAt::default();
        if op.offset {
            let cell = self.cell();
            result.offset = [0, 8, 16].map(|shift| ((cell >> shift << 26) as i32) >> 26);
        }
        if op.level() == Some(ImageLevel::Bias) {
            // A short bias has a cell of its own.
            result.bias = self.next_float();
            self.at = self.at.next_multiple_of(2);
        }
        if op.compare {
            result.reference = f32::from_bits(self.cell());
        }
        let axes = dimensions.axes();
        if let Some(ImageLevel::Gradients { .. }) = op.level() {
            for gradient in &mut result.gradients {
                gradient[..axes].iter_mut().for_each(|part| *part = self.next_float());
                // The derivatives of a direction have cells of their own.
                self.at = self.at.next_multiple_of(2);
            }
        }
        for part in &mut result.at[..axes] {
            *part = self.next_float();
        }
        if dimensions == Dimensions::Cube || op.array && dimensions != Dimensions::D3 {
            let slice = self.next_float();
            result.at[2] = if dimensions.has_slices() { slice } else { 0.0 };
        }
        if op.level() == Some(ImageLevel::Given) {
            result.level = self.next_float();
        }
        if op.clamp {
            result.clamp = self.next_float();
        }
        result
    }
}
