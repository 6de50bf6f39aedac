//! Images: what a resource and a sampler mean, where texels are, and how samples are filtered.
//!
//! Engines gather the rows of an operation and call [`ImageAccess`], lane by lane inside. So all
//! engines have the same texels, filters and faults.
//!
//! - `words`: descriptors as bits; `descriptor`: what they say.
//! - `surface`: addresses of texels.
//! - `coordinates`: the cells of an address.
//! - `texels`: checked memory.
//! - `sample`: levels of detail, address modes, filters.
//! - `levels`: contents of mip levels from those of a finer one.
//! - `texel_buffer`: rows of texels for buffer instructions.

mod coordinates;
mod descriptor;
mod levels;
mod sample;
mod surface;
mod texel_buffer;
mod texels;
mod words;

use wavemill_float::texel;
use wavemill_ir::{ImageData, ImageKind, ImageOp, LANES};

use crate::fault::{Access, FaultCause, FaultLane, FaultSpace};
use crate::memory::MemoryMap;
use crate::wave::Surroundings;

use coordinates::Cells;
use texels::Texels;

pub use descriptor::{
    AddressMode, BorderColour, Compare, Descriptor, DescriptorProblem, Dimensions, IDENTITY, MipFilter,
    Reduction, Resource, Sampler, Select,
};
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
    /// Texels are outside the allocations.
    Memory {
        /// Kind of access.
        access: Access,
        /// Bytes of a texel.
        size: u32,
        /// The refused lanes with the first address of each.
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
            ImageFault::Memory { access, size, lanes } => {
                around.refusal(access, FaultSpace::Global, size, lanes)
            }
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
}

/// The numbers of the lanes in a mask, in ascending order.
fn lanes_of(mask: u64) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// Lanes whose access is refused.
#[derive(Debug, Default)]
struct Refused(Vec<FaultLane>);

impl Refused {
    fn add(&mut self, lane: usize, address: u64) {
        self.0.push(FaultLane { lane: lane as u8, address });
    }

    fn verdict(self, access: Access, size: u32) -> Result<(), ImageFault> {
        if self.0.is_empty() { Ok(()) } else { Err(ImageFault::Memory { access, size, lanes: self.0 }) }
    }
}

impl<'a> ImageAccess<'a> {
    /// The cells of a lane's address.
    fn cells(&self, lane: usize) -> Cells<'a> {
        Cells::new(self.address, lane, self.op.short)
    }

    /// Address of the texel that a lane without a sampler names; `None` if it is outside the image.
    fn texel(&self, resource: &Resource, layout: &Layout, lane: usize) -> Option<u64> {
        let at = self.cells(lane).texel(self.op, resource)?;
        Some(resource.base.wrapping_add(layout.offset(at.level, at.texel, at.sample)))
    }

    /// A load, a sample, a gather, or a query. Writes the result in the active lanes of the rows:
    /// [`ImageOp::result_cells`] of them.
    ///
    /// # Errors
    /// Refused accesses, or a field of a descriptor; then no row has changed.
    pub fn read(&self, result: &mut [ImageRow]) -> Result<(), ImageFault> {
        let texels = Texels::new(self.map, Access::Load, false);
        self.read_with(&texels, |lane, values| {
            for (row, value) in result.iter_mut().zip(values) {
                row[lane] = value;
            }
        })
    }

    /// Calls `write` with the results of all active lanes, after all of them are known.
    fn read_with(
        &self,
        texels: &Texels<'_>,
        mut write: impl FnMut(usize, [u32; MAX_RESULT]),
    ) -> Result<(), ImageFault> {
        let resource = Resource::decode(&self.resource)?;
        let mut results = [[0; MAX_RESULT]; LANES];
        let mut refused = Refused::default();
        match self.op.kind {
            ImageKind::Load { data, .. } => {
                let layout = resource.layout();
                let bytes = resource.surface.bytes;
                for lane in lanes_of(self.active) {
                    let words = match self.texel(&resource, &layout, lane) {
                        None => [0; 4],
                        Some(address) => match texels.read(address, bytes) {
                            Some(words) => words,
                            None => {
                                refused.add(lane, address);
                                continue;
                            }
                        },
                    };
                    results[lane] = match data {
                        // A load outside the image reads channels that are 0, even if a channel is
                        // not in memory.
                        ImageData::Converted => self.chosen(&resource, texel::unpack(resource.format, words)),
                        ImageData::Raw => self.packed(words),
                        ImageData::RawSigned => self.packed(extended(words, bytes)),
                    };
                }
            }
            ImageKind::Size => {
                for lane in lanes_of(self.active) {
                    results[lane] = self.elements(sizes(&resource, self.cells(lane).next()));
                }
            }
            ImageKind::Sample(_) | ImageKind::Gather(..) | ImageKind::Level => {
                let unit = sample::Unit::new(self, &resource, texels)?;
                for lane in lanes_of(self.active) {
                    match unit.lane(lane) {
                        Ok(values) => results[lane] = values,
                        Err(sample::Miss::Refused(address)) => refused.add(lane, address),
                        Err(sample::Miss::Problem(problem)) => return Err(problem.into()),
                    }
                }
            }
            ImageKind::Store { .. } | ImageKind::Atomic(..) => {}
        }
        refused.verdict(Access::Load, resource.surface.bytes)?;
        lanes_of(self.active).for_each(|lane| write(lane, results[lane]));
        Ok(())
    }

    /// The channels that the operation wants, one in a cell or two.
    fn elements(&self, values: [u32; 4]) -> [u32; MAX_RESULT] {
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

    /// The components that the resource selects from the channels of a texel.
    fn selected(resource: &Resource, channels: [u32; 4]) -> [u32; 4] {
        resource.select.map(|select| match select {
            Select::Zero => 0,
            Select::One => resource.format.one(),
            Select::Channel(n) => channels[usize::from(n) & 3],
        })
    }

    /// The result of a texel with these channels.
    fn chosen(&self, resource: &Resource, channels: [u32; 4]) -> [u32; MAX_RESULT] {
        let number = resource.format.number;
        let components = Self::selected(resource, channels);
        self.elements(if self.op.half {
            components.map(|component| texel::to_half(number, component).into())
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

    /// A store of the rows of data: [`ImageOp::source_cells`] of them.
    ///
    /// # Errors
    /// Refused accesses, or a field of a descriptor; then nothing is stored.
    pub fn store(&self, data: &[ImageRow]) -> Result<(), ImageFault> {
        let resource = Resource::decode(&self.resource)?;
        let texels = Texels::new(self.map, Access::Store, false);
        let bytes = resource.surface.bytes;
        let mut hosts = [std::ptr::null_mut(); LANES];
        let mut refused = Refused::default();
        let layout = resource.layout();
        for lane in lanes_of(self.active) {
            let Some(address) = self.texel(&resource, &layout, lane) else { continue };
            match texels.host(address, bytes) {
                Some(host) => hosts[lane] = host,
                None => refused.add(lane, address),
            }
        }
        refused.verdict(Access::Store, bytes)?;
        for lane in lanes_of(self.active).filter(|lane| !hosts[*lane].is_null()) {
            let cell = |n: usize| data.get(n).map_or(0, |row| row[lane]);
            let words = match self.op.kind {
                ImageKind::Store { data: ImageData::Converted, .. } => {
                    texel::pack(resource.format, self.channels(&resource, cell))
                }
                _ => [0, 1, 2, 3].map(cell),
            };
            // SAFETY: `host` has checked the bytes for stores; the map keeps them alive.
            unsafe { texels::write(hosts[lane], bytes, words) };
        }
        Ok(())
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
    /// outside the image.
    ///
    /// # Errors
    /// Refused accesses, texels of another size than the operation's, or a field of a descriptor.
    pub fn atomic_addresses(&self) -> Result<[Option<u64>; LANES], ImageFault> {
        let resource = Resource::decode(&self.resource)?;
        let bytes = resource.surface.bytes;
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
        let layout = resource.layout();
        for lane in lanes_of(self.active) {
            addresses[lane] = self.texel(&resource, &layout, lane);
            if let Some(address) = addresses[lane]
                && texels.host(address, bytes).is_none()
            {
                refused.add(lane, address);
            }
        }
        refused.verdict(Access::Atomic, bytes)?;
        Ok(addresses)
    }

    /// Bytes of a texel; 0 if the resource describes none.
    #[must_use]
    pub fn texel_bytes(&self) -> u32 {
        Resource::decode(&self.resource).map_or(0, |resource| resource.surface.bytes)
    }

    /// Calls `f` for each texel that the operation accesses: lane, address, bytes. If it is a fault,
    /// texels may be missing.
    pub fn for_texels(&self, mut f: impl FnMut(usize, u64, u32)) {
        let Ok(resource) = Resource::decode(&self.resource) else { return };
        match self.op.kind {
            ImageKind::Size | ImageKind::Level => {}
            ImageKind::Sample(_) | ImageKind::Gather(..) => {
                let texels = Texels::new(self.map, Access::Load, true);
                let Ok(unit) = sample::Unit::new(self, &resource, &texels) else { return };
                for lane in lanes_of(self.active) {
                    // A fault is reported when the operation runs.
                    let _ = unit.lane(lane);
                    texels.take_touched().into_iter().for_each(|(address, bytes)| f(lane, address, bytes));
                }
            }
            _ => {
                let layout = resource.layout();
                for lane in lanes_of(self.active) {
                    if let Some(address) = self.texel(&resource, &layout, lane) {
                        f(lane, address, resource.surface.bytes);
                    }
                }
            }
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
fn sizes(resource: &Resource, level: u32) -> [u32; 4] {
    let levels = resource.levels.1 - resource.levels.0 + 1;
    let [width, height, depth] = if level < levels { resource.size(level) } else { [0; 3] };
    [width, height, depth, levels]
}
