//! Images: what a resource and a sampler mean, where texels are, and how samples are filtered.
//!
//! Engines gather the rows of an operation and call [`ImageAccess`], lane by lane inside. So all
//! engines have the same texels, filters and faults.
//!
//! - `border`: border colours of the device.
//! - `words`: descriptors as bits; `descriptor`: what they say; `decoded`: what follows from them.
//! - `surface`: addresses of texels.
//! - `coordinates`: the cells of an address; `extent`: what they leave.
//! - `texels`: checked memory.
//! - `sample`: levels of detail, address modes, filters.
//! - `levels`: contents of mip levels from those of a finer one.
//! - `texel_buffer`: rows of texels for buffer instructions.

mod border;
mod coordinates;
mod decoded;
mod descriptor;
mod extent;
mod levels;
mod sample;
mod surface;
mod texel_buffer;
mod texels;
mod words;

use std::sync::Arc;

use wavemill_float::texel;
use wavemill_ir::{ImageData, ImageKind, ImageOp, LANES};

use crate::fault::{Access, FaultCause, FaultLane, FaultSpace};
use crate::memory::MemoryMap;
use crate::wave::Surroundings;

use coordinates::{Cells, Outside, TexelParts};
use decoded::Image;
use texels::Texels;

pub use border::BorderColours;
pub use decoded::ImageCache;
pub use descriptor::{
    AddressMode, BorderColour, Compare, Descriptor, DescriptorProblem, Dimensions, IDENTITY, MipFilter,
    Reduction, Resource, Sampler, Select,
};
pub use extent::{Coordinate, ImageExtent};
pub use levels::averaged;
pub use surface::{BlockOrder, Layout, MAX_LEVELS, Surface, Tiling};
pub use texel_buffer::TexelBuffer;

/// A 32-bit value of each lane.
pub type ImageRow = [u32; LANES];

/// The most cells of a result.
pub const MAX_RESULT: usize = 4;

/// Why an access to an image is a fault.
#[derive(Clone, PartialEq, Debug)]
pub enum ImageFault {
    /// Texels are outside the allocations, or outside the image ([`ImageAccess::check`]).
    Memory {
        /// Kind of access.
        access: Access,
        /// Global memory, or the image.
        space: FaultSpace,
        /// Bytes of a texel.
        size: u32,
        /// The refused lanes with the first address of each, or with the coordinate that is outside.
        lanes: Vec<FaultLane>,
    },
    /// A descriptor says something that the machine does not do.
    Descriptor(DescriptorProblem),
}

impl From<DescriptorProblem> for ImageFault {
    fn from(problem: DescriptorProblem) -> Self {
        ImageFault::Descriptor(problem)
    }
}

impl ImageFault {
    /// The cause for a report.
    #[must_use]
    pub fn cause(self, around: Surroundings<'_>) -> FaultCause {
        match self {
            ImageFault::Memory { access, space, size, lanes } => around.refusal(access, space, size, lanes),
            ImageFault::Descriptor(problem) => FaultCause::Descriptor(problem),
        }
    }
}

/// An access of a wave to an image.
#[derive(Clone, Copy, Debug)]
pub struct ImageAccess<'a> {
    /// What it does.
    pub op: &'a ImageOp,
    /// Guest memory.
    pub map: &'a MemoryMap,
    /// The words of the resource.
    pub resource: [u32; 8],
    /// The words of the sampler; zeros if there is none.
    pub sampler: [u32; 4],
    /// The rows of the address: [`ImageOp::address_cells`] of them.
    pub address: &'a [ImageRow],
    /// The lanes that access the image.
    pub active: u64,
    /// The descriptors of the last execution.
    pub cache: &'a ImageCache,
}

/// The numbers of the lanes in a mask, in ascending order.
fn lanes_of(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < LANES).then_some(lane)
    })
}

/// Lanes whose access is refused.
#[derive(Debug, Default)]
struct Refused(Vec<FaultLane>);

impl Refused {
    fn add(&mut self, lane: usize, address: u64) {
        self.0.push(FaultLane { lane: lane as u8, address });
    }

    fn verdict(self, access: Access, size: u32) -> Result<(), ImageFault> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(ImageFault::Memory { access, space: FaultSpace::Global, size, lanes: self.0 })
    }
}

impl<'a> ImageAccess<'a> {
    fn cells(&self) -> Cells<'a> {
        Cells::new(self.address, self.op.short)
    }

    /// The image that the resource describes.
    fn image(&self) -> Result<Arc<Image>, DescriptorProblem> {
        self.cache.image(&self.resource)
    }

    /// Whether nothing is bound: a resource of zeros acts as an unbound texture (Vega ISA 8.1.8).
    fn is_unbound(&self) -> bool {
        self.resource == [0; 8]
    }

    /// Number of lanes that count as outside where nothing is bound: those that name a texel
    /// themselves.
    fn outside_unbound(&self) -> u64 {
        let names_texels = Self::kind(self.op).is_some() && !self.op.has_sampler();
        if names_texels { self.active.count_ones().into() } else { 0 }
    }

    /// Calls `f` for each active lane with the address of the texel that the lane names, without a
    /// sampler, or with the coordinate that is outside the image.
    #[inline(always)]
    fn for_addresses(&self, image: &Image, mut f: impl FnMut(usize, Result<u64, Outside>)) {
        let (cells, parts) = (self.cells(), TexelParts::of(self.op, image.resource.dimensions));
        for lane in lanes_of(self.active) {
            let at = cells.texel(&parts, lane, image);
            f(lane, at.map(|at| image.address(at.level, at.texel, at.sample)));
        }
    }

    /// Kind of the access to memory; `None` if the operation accesses none.
    #[must_use]
    pub const fn kind(op: &ImageOp) -> Option<Access> {
        match op.kind {
            ImageKind::Size | ImageKind::Level => None,
            ImageKind::Store { .. } => Some(Access::Store),
            ImageKind::Atomic(..) => Some(Access::Atomic),
            _ => Some(Access::Load),
        }
    }

    /// The check of a strict run: whether an image is bound, and all active lanes name texels
    /// inside it. Accesses through a sampler always do: its address modes say what a coordinate
    /// outside means.
    ///
    /// # Errors
    /// A resource of zeros, or the lanes outside. All leave the image in the coordinate that the
    /// first of them leaves it in; addresses of lanes are values of that coordinate, as signed
    /// numbers. A descriptor that the machine does not know is no error here: it is one when the
    /// operation runs.
    pub fn check(&self) -> Result<(), ImageFault> {
        let Some(access) = Self::kind(self.op) else { return Ok(()) };
        if self.is_unbound() && self.active != 0 {
            let silence = match access {
                Access::Load => "the resource is all zeros, so no image is bound: the chip reads 0",
                Access::Store => "the resource is all zeros, so no image is bound: the chip drops it",
                Access::Atomic => {
                    "the resource is all zeros, so no image is bound: the chip drops it and returns 0"
                }
            };
            return Err(Resource::wrong_type(&self.resource, silence).into());
        }
        if self.op.has_sampler() {
            return Ok(());
        }
        let Ok(image) = self.image() else { return Ok(()) };
        let signed = |value: u32| {
            let value = if self.op.short { i32::from(value as i16) } else { value as i32 };
            i64::from(value) as u64
        };
        let mut first = None;
        let mut lanes = Vec::new();
        self.for_addresses(&image, |lane, address| {
            if let Err(outside) = address
                && first.get_or_insert(outside).coordinate == outside.coordinate
            {
                lanes.push(FaultLane { lane: lane as u8, address: signed(outside.value) });
            }
        });
        let Some(Outside { coordinate, end, level, .. }) = first else { return Ok(()) };
        let Resource { base, dimensions, format, surface, .. } = image.resource;
        let extent =
            ImageExtent { coordinate, end, base, dimensions, level, size: image.size(level), format };
        let (space, size) = (FaultSpace::Image(extent), surface.bytes);
        Err(ImageFault::Memory { access, space, size, lanes })
    }

    /// A load, a sample, a gather, or a query. Writes the result in the active lanes of the rows:
    /// [`ImageOp::result_cells`] of them; where nothing is bound, it is 0. Returns the number of
    /// lanes outside the image.
    ///
    /// # Errors
    /// Refused accesses, or a field of a descriptor; then the contents of the rows mean nothing.
    pub fn read(&self, result: &mut [ImageRow; MAX_RESULT]) -> Result<u64, ImageFault> {
        if self.is_unbound() {
            for row in result {
                lanes_of(self.active).for_each(|lane| row[lane] = 0);
            }
            return Ok(self.outside_unbound());
        }
        let texels = Texels::new(self.map, Access::Load, false);
        let image = self.image()?;
        let bytes = image.resource.surface.bytes;
        let (mut refused, mut outside) = (Refused::default(), 0);
        let mut write = |lane: usize, values: [u32; MAX_RESULT]| {
            for (row, value) in result.iter_mut().zip(values) {
                row[lane] = value;
            }
        };
        match self.op.kind {
            ImageKind::Load { data, .. } => self.for_addresses(&image, |lane, address| {
                let words = match address {
                    Err(_) => {
                        outside += 1;
                        [0; 4]
                    }
                    Ok(address) => match texels.read(address, bytes) {
                        Some(words) => words,
                        None => return refused.add(lane, address),
                    },
                };
                let values = match data {
                    // A load outside the image reads channels that are 0, even if a channel is not in
                    // memory.
                    ImageData::Converted => self.chosen(&image, texel::unpack(image.resource.format, words)),
                    ImageData::Raw => self.packed(words),
                    ImageData::RawSigned => self.packed(extended(words, bytes)),
                };
                write(lane, values);
            }),
            ImageKind::Size => {
                for lane in lanes_of(self.active) {
                    write(lane, self.elements(sizes(&image, self.cells().first(lane))));
                }
            }
            ImageKind::Sample(_) | ImageKind::Gather(..) | ImageKind::Level => {
                let unit = sample::Unit::new(self, &image, &texels)?;
                for lane in lanes_of(self.active) {
                    if let Some(values) = unit.quick(lane) {
                        write(lane, values);
                        continue;
                    }
                    match unit.lane(lane) {
                        Ok(values) => write(lane, values),
                        Err(sample::Miss::Refused(address)) => refused.add(lane, address),
                        Err(sample::Miss::Problem(problem)) => return Err(problem.into()),
                    }
                }
            }
            ImageKind::Store { .. } | ImageKind::Atomic(..) => {}
        }
        refused.verdict(Access::Load, bytes)?;
        Ok(outside)
    }

    /// The channels that the operation wants, one in a cell or two.
    #[inline(always)]
    fn elements(&self, values: [u32; 4]) -> [u32; MAX_RESULT] {
        if self.op.channels == 15 && !self.op.half { values } else { self.some_elements(values) }
    }

    /// The same for halves, or without all channels.
    fn some_elements(&self, values: [u32; 4]) -> [u32; MAX_RESULT] {
        let mut result = [0; MAX_RESULT];
        let channels = if self.op.channels & 15 == 0 { 1 } else { self.op.channels };
        let chosen = (0..4).filter(|n| channels >> n & 1 != 0).map(|n| values[n]);
        for (n, value) in chosen.enumerate() {
            if self.op.half {
                result[n / 2] |= (value & 0xffff) << (16 * (n % 2));
            } else {
                result[n] = value;
            }
        }
        result
    }

    /// The result of a texel with these channels.
    #[inline(always)]
    fn chosen(&self, image: &Image, channels: [u32; 4]) -> [u32; MAX_RESULT] {
        let format = image.resource.format;
        let components = image.selected(channels, image.one);
        self.elements(if self.op.half {
            components.map(|component| texel::to_half(format.number, component).into())
        } else {
            components
        })
    }

    /// The words of a texel in the cells of the result.
    fn packed(&self, words: [u32; 4]) -> [u32; MAX_RESULT] {
        let mut result = [0; MAX_RESULT];
        let cells = usize::from(self.op.data_cells()).min(4);
        result[..cells].copy_from_slice(&words[..cells]);
        result
    }

    /// A store of the rows of data: [`ImageOp::source_cells`] of them. Returns the number of lanes
    /// outside the image.
    ///
    /// # Errors
    /// Refused accesses, or a field of a descriptor; then nothing is stored.
    pub fn store(&self, data: &[ImageRow]) -> Result<u64, ImageFault> {
        if self.is_unbound() {
            return Ok(self.outside_unbound());
        }
        let image = self.image()?;
        let resource = &image.resource;
        let texels = Texels::new(self.map, Access::Store, false);
        let bytes = resource.surface.bytes;
        let mut hosts = [std::ptr::null_mut(); LANES];
        let (mut refused, mut outside) = (Refused::default(), 0);
        self.for_addresses(&image, |lane, address| match address {
            Err(_) => outside += 1,
            Ok(address) => match texels.host(address, bytes) {
                Some(host) => hosts[lane] = host,
                None => refused.add(lane, address),
            },
        });
        refused.verdict(Access::Store, bytes)?;
        for lane in lanes_of(self.active).filter(|lane| !hosts[*lane].is_null()) {
            let cell = |n: usize| data.get(n).map_or(0, |row| row[lane]);
            let words = match self.op.kind {
                ImageKind::Store { data: ImageData::Converted, .. } => {
                    texel::pack(resource.format, self.channels(resource, cell))
                }
                _ => [0, 1, 2, 3].map(cell),
            };
            // SAFETY: `host` has checked the bytes for stores; the map keeps them alive.
            unsafe { texels::write(hosts[lane], bytes, words) };
        }
        Ok(outside)
    }

    /// The channels of a texel from the cells of data.
    fn channels(&self, resource: &Resource, cell: impl Fn(usize) -> u32) -> [u32; 4] {
        let number = resource.format.number;
        let mut components = [0; 4];
        let channels = if self.op.channels & 15 == 0 { 1 } else { self.op.channels };
        if self.op.half {
            // The mask is a number of halves.
            for (n, component) in components.iter_mut().enumerate().take(channels.count_ones() as usize) {
                let half = (cell(n / 2) >> (16 * (n % 2))) as u16;
                *component = texel::from_half(number, half);
            }
        } else {
            let wanted = (0..4).filter(|n| channels >> n & 1 != 0);
            wanted.enumerate().for_each(|(n, channel)| components[channel] = cell(n));
        }
        // The channel takes the first component that is selected from it.
        let of = |channel: u8| resource.select.iter().position(|s| *s == Select::Channel(channel));
        [0, 1, 2, 3].map(|channel| of(channel).map_or(0, |n| components[n]))
    }

    /// Addresses of the texels that an atomic changes; `None` for lanes that are inactive or
    /// outside the image, and for all lanes where nothing is bound.
    ///
    /// # Errors
    /// Refused accesses, texels of another size than the operation's, or a field of a descriptor.
    pub fn atomic_addresses(&self) -> Result<[Option<u64>; LANES], ImageFault> {
        if self.is_unbound() {
            return Ok([None; LANES]);
        }
        let image = self.image()?;
        let bytes = image.resource.surface.bytes;
        let wanted = match self.op.kind {
            ImageKind::Atomic(_, width) => 4 * u32::from(width.dwords()),
            _ => bytes,
        };
        if bytes != wanted {
            let problem = if wanted == 4 {
                "the atomic accesses 4 bytes, and a texel has another size"
            } else {
                "the atomic accesses 8 bytes, and a texel has another size"
            };
            return Err(Resource::wrong_format(&self.resource, problem).into());
        }
        let texels = Texels::new(self.map, Access::Atomic, false);
        let mut addresses = [None; LANES];
        let mut refused = Refused::default();
        self.for_addresses(&image, |lane, address| {
            addresses[lane] = address.ok();
            if let Ok(address) = address
                && texels.host(address, bytes).is_none()
            {
                refused.add(lane, address);
            }
        });
        refused.verdict(Access::Atomic, bytes)?;
        Ok(addresses)
    }

    /// Bytes of a texel; 0 if the resource describes none.
    #[must_use]
    pub fn texel_bytes(&self) -> u32 {
        self.image().map_or(0, |image| image.resource.surface.bytes)
    }

    /// Calls `f` for each texel that the operation accesses: lane, address, bytes. If it is a fault,
    /// texels may be missing.
    pub fn for_texels(&self, mut f: impl FnMut(usize, u64, u32)) {
        let Ok(image) = self.image() else { return };
        match self.op.kind {
            ImageKind::Size | ImageKind::Level => {}
            ImageKind::Sample(_) | ImageKind::Gather(..) => {
                let texels = Texels::new(self.map, Access::Load, true);
                let Ok(unit) = sample::Unit::new(self, &image, &texels) else { return };
                for lane in lanes_of(self.active) {
                    // A fault is reported when the operation runs.
                    let _ = unit.lane(lane);
                    texels.take_touched().into_iter().for_each(|(address, bytes)| f(lane, address, bytes));
                }
            }
            _ => self.for_addresses(&image, |lane, address| {
                if let Ok(address) = address {
                    f(lane, address, image.resource.surface.bytes);
                }
            }),
        }
    }
}

/// A texel narrower than a cell, extended with its sign.
fn extended(mut words: [u32; 4], bytes: u32) -> [u32; 4] {
    match bytes {
        1 => words[0] = words[0] as u8 as i8 as u32,
        2 => words[0] = words[0] as u16 as i16 as u32,
        _ => {}
    }
    words
}

/// Width, height, depth or slices, and number of levels, for a level of the view. A level that the
/// view lacks has no size.
fn sizes(image: &Image, level: u32) -> [u32; 4] {
    let levels = image.resource.levels.1 - image.resource.levels.0 + 1;
    let [width, height, depth] = image.size(level);
    [width, height, depth, levels]
}
