//! Where the texels of an image are in memory: rows, blocks of a swizzle, slices, mip levels.
//!
//! The equations are facts of AMD's public address library (addrlib, interface V2): the order of
//! address bits in a block, the sizes of blocks, and the places of mip levels. Modes that depend on
//! the number of memory channels of a chip are not here.

/// Order of texels in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum BlockOrder {
    /// The standard order (S), which Direct3D documents.
    Standard,
    /// The order of display engines (D).
    Display,
}

/// How texels are arranged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Tiling {
    /// Row after row.
    Linear,
    /// Blocks of texels, row after row.
    Blocks {
        /// Logarithm of the bytes of a block: 8, 12 or 16.
        log2: u32,
        /// The order in a block.
        order: BlockOrder,
    },
}

impl Tiling {
    /// All arrangements with their numbers in resources, and their names.
    pub const ALL: [(u32, &'static str, Tiling); 7] = {
        const fn blocks(log2: u32, order: BlockOrder) -> Tiling {
            Tiling::Blocks { log2, order }
        }
        use BlockOrder::{Display, Standard};
        [
            (0, "linear", Tiling::Linear),
            (1, "256b_s", blocks(8, Standard)),
            (2, "256b_d", blocks(8, Display)),
            (5, "4kb_s", blocks(12, Standard)),
            (6, "4kb_d", blocks(12, Display)),
            (9, "64kb_s", blocks(16, Standard)),
            (10, "64kb_d", blocks(16, Display)),
        ]
    };

    /// Its number in resources.
    #[must_use]
    pub fn code(self) -> u32 {
        Tiling::ALL.iter().find(|(.., tiling)| *tiling == self).map_or(0, |(code, ..)| *code)
    }
}

/// The most mip levels of an image.
pub const MAX_LEVELS: u32 = 15;

/// The size and arrangement of an image.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct Surface {
    /// The arrangement.
    pub tiling: Tiling,
    /// Bytes of a texel.
    pub bytes: u32,
    /// Texels of a row of level 0.
    pub width: u32,
    /// Rows of level 0.
    pub height: u32,
    /// Slices of level 0, or array slices.
    pub depth: u32,
    /// Whether the slices are a third dimension, which mip levels halve.
    pub is_volume: bool,
    /// Mip levels.
    pub levels: u32,
    /// Logarithm of the samples of a texel.
    pub samples_log2: u32,
    /// Texels from row to row in an image of one level.
    pub pitch: u32,
}

/// A bit of an address in a block: an axis (0, 1, 2) and a bit of the coordinate.
type Bit = (u8, u8);

/// The order of address bits in the smallest block: 256 bytes, or 1 KiB of a volume. A pair of
/// characters is a bit of a coordinate, the lowest address bit after the bytes of a texel first.
fn micro_block(order: BlockOrder, thick: bool, bytes_log2: u32) -> &'static [u8] {
    let patterns: [&[u8]; 5] = match (order, thick) {
        (BlockOrder::Standard, false) => {
            [b"x0x1x2x3y0y1y2y3", b"x0x1x2y0y1y2x3", b"x0x1y0y1y2x2", b"x0y0y1x1x2", b"y0y1x0x1"]
        }
        (BlockOrder::Display, false) => {
            [b"x0x1x2y1y0y2x3y3", b"x0x1x2y0y1y2x3", b"x0x1y0x2y1y2", b"x0y0x1x2y1", b"x0y0x1y1"]
        }
        (_, true) => [
            b"x0x1x2x3y0y1z0z1z2y2",
            b"x0x1x2y0y1z0z1z2y2",
            b"x0x1y0y1z0z1y2x2",
            b"x0y0y1z0z1x1x2",
            b"y0y1z0z1x0x1",
        ],
    };
    patterns[bytes_log2.min(4) as usize]
}

/// Offset of the levels of a mip tail in its block, in units of 256 bytes, for a block of 1 MiB;
/// the levels of a smaller block start further down the list.
const TAIL: [u32; 16] = [2048, 1024, 512, 256, 128, 64, 32, 16, 8, 6, 5, 4, 3, 2, 1, 0];
/// Logarithm of the bytes of the block at the start of [`TAIL`].
const TAIL_BLOCK: u32 = 20;

/// The blocks of an image.
#[derive(Clone, Copy, Debug)]
struct Blocks {
    log2: u32,
    /// The address bits after the bytes of a texel.
    bits: [Bit; 16],
    count: usize,
    /// Texels of a block in each axis, as logarithms.
    size: [u32; 3],
    /// Whether a block has several slices.
    thick: bool,
    /// Blocks of a row, and of a slice.
    pitch: u64,
    slice: u64,
    /// Lowest bit of the number of the sample, and samples as a logarithm.
    sample: (u32, u32),
    bytes_log2: u32,
}

/// Where a mip level begins.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// Position of its first block.
    block: [u64; 3],
    /// Byte in the block, for a level in the tail; of a linear image, byte in the slice.
    offset: u64,
}

/// A surface with what is computed once from it.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    surface: Surface,
    blocks: Option<Blocks>,
    levels: [Level; MAX_LEVELS as usize],
    /// Bytes of a row and of a slice of a linear image.
    row: u64,
    slice: u64,
    bytes: u64,
}

fn half_up(n: u64) -> u64 {
    n / 2 + n % 2
}

impl Surface {
    /// The smallest pitch that the arrangement allows: rows of whole 256 bytes, or whole blocks.
    #[must_use]
    pub fn least_pitch(&self) -> u32 {
        match self.blocks(0, 0) {
            Some(blocks) => self.width.next_multiple_of(1 << blocks.size[0]),
            // Rows of 12 bytes a texel are whole 256 bytes from 64 texels on.
            None => self.width.next_multiple_of(if self.bytes == 12 {
                64
            } else {
                256 / self.bytes.clamp(1, 256)
            }),
        }
    }

    /// Size of a mip level.
    #[must_use]
    pub fn size(&self, level: u32) -> [u32; 3] {
        let part = |n: u32| (n >> level.min(31)).max(1);
        [part(self.width), part(self.height), if self.is_volume { part(self.depth) } else { self.depth }]
    }

    /// The blocks with rows and slices of that many blocks.
    fn blocks(&self, pitch: u64, slice: u64) -> Option<Blocks> {
        let Tiling::Blocks { log2, order } = self.tiling else { return None };
        let bytes_log2 = self.bytes.trailing_zeros();
        let thick = self.is_volume && order == BlockOrder::Standard;
        // Blocks of a volume in display order have the standard order, one slice each.
        let order = if self.is_volume { BlockOrder::Standard } else { order };
        let mut bits = [(0, 0); 16];
        let mut count = 0;
        let mut used = [0; 3];
        let mut add = |axis: u8, bit: Option<u8>| {
            let next = &mut used[usize::from(axis)];
            bits[count] = (axis, bit.unwrap_or(*next));
            *next += 1;
            count += 1;
        };
        for pair in micro_block(order, thick, bytes_log2).chunks_exact(2) {
            add(pair[0] - b'x', Some(pair[1] - b'0'));
        }
        let first = if thick { 10 } else { 8 };
        for bit in first..log2 {
            let axis = match (thick, bit % 2, bit % 3) {
                (false, 0, _) | (true, _, 2) => 1,
                (false, _, _) | (true, _, 0) => 0,
                (true, ..) => 2,
            };
            add(axis, None);
        }
        // The numbers of samples replace the uppermost bits.
        let samples = self.samples_log2.min(4);
        let count = count.saturating_sub(samples as usize);
        let mut size = [0; 3];
        for (axis, _) in &bits[..count] {
            size[usize::from(*axis)] += 1;
        }
        let sample = (bytes_log2 + count as u32, samples);
        Some(Blocks { log2, bits, count, size, thick, pitch, slice, sample, bytes_log2 })
    }

    /// Where the texels are.
    #[must_use]
    pub fn layout(&self) -> Layout {
        match self.blocks(0, 0) {
            None => self.linear(),
            Some(blocks) => self.tiled(blocks),
        }
    }

    fn linear(&self) -> Layout {
        let bytes = u64::from(self.bytes);
        let pitch = if self.levels > 1 { self.least_pitch() } else { self.pitch };
        let row = u64::from(pitch) * bytes;
        let mut levels = [Level::default(); MAX_LEVELS as usize];
        let (mut rows, mut height) = (0, u64::from(self.height));
        for level in &mut levels[..self.levels.clamp(1, MAX_LEVELS) as usize] {
            level.offset = rows * row;
            rows += height;
            height = half_up(height).max(1);
        }
        let slice = rows * row;
        Layout {
            surface: *self,
            blocks: None,
            levels,
            row,
            slice,
            bytes: slice.saturating_mul(self.depth.into()),
        }
    }

    fn tiled(&self, blocks: Blocks) -> Layout {
        let full = [self.width, self.height, self.depth];
        let whole = |axis: usize| u64::from(full[axis].div_ceil(1 << blocks.size[axis]));
        let (width, height, depth) = (whole(0), whole(1), whole(2));
        let mut levels = [Level::default(); MAX_LEVELS as usize];
        let (mut chain_width, mut chain_height) = (width, height);
        if self.levels <= 1 {
            chain_width = u64::from(self.pitch >> blocks.size[0]);
        } else {
            let (starts, first_in_tail) = self.level_starts(&blocks, [width, height, depth]);
            levels = starts;
            // Level 1 is beside level 0, or below it.
            let ending = first_in_tail.min(self.levels - 1);
            if ending > 0 {
                let further = |n: u64| {
                    let half = half_up(n);
                    if half == 1 && ending > 2 { 2 } else { half }
                };
                if major(width, height, depth, blocks.thick) == 1 {
                    chain_width += further(width);
                } else {
                    chain_height += further(height);
                }
            }
        }
        let slice = chain_width * chain_height;
        let blocks = Blocks { pitch: chain_width, slice, ..blocks };
        let bytes = slice.saturating_mul(depth) << blocks.log2;
        Layout { surface: *self, blocks: Some(blocks), levels, row: 0, slice: 0, bytes }
    }

    /// The first blocks of all levels, and the first level in the tail.
    fn level_starts(&self, blocks: &Blocks, whole: [u64; 3]) -> ([Level; MAX_LEVELS as usize], u32) {
        let mut levels = [Level::default(); MAX_LEVELS as usize];
        // The largest level in a tail has half a block.
        let mut tail = blocks.size.map(|log2| 1u32 << log2);
        let halved = match (blocks.thick, blocks.log2 % 3) {
            (false, _) | (true, 1) => 0,
            (true, 0) => 1,
            (true, _) => 2,
        };
        tail[halved] /= 2;
        let in_tail = |[w, h, d]: [u32; 3]| w <= tail[0] && h <= tail[1] && (!blocks.thick || d <= tail[2]);
        let first_in_tail = {
            // Levels before the tail are whole blocks.
            let (mut size, mut level) = ([self.width, self.height, self.depth], 0);
            while level < self.levels && !in_tail(size) {
                for (axis, n) in size.iter_mut().enumerate() {
                    let whole = n.next_multiple_of(1 << blocks.size[axis]);
                    *n = if axis < 2 || blocks.thick { (whole / 2).max(1) } else { *n };
                }
                level += 1;
            }
            level
        };
        let offset = |index: u32| {
            let at = (index + TAIL_BLOCK - blocks.log2).min(TAIL.len() as u32 - 1);
            u64::from(TAIL[at as usize]) << 8
        };
        if first_in_tail == 0 {
            for (n, level) in (0..).zip(&mut levels) {
                level.offset = offset(n);
            }
            return (levels, 0);
        }
        let major = major(whole[0], whole[1], whole[2], blocks.thick);
        let ([mut w, mut h, mut d], mut at) = (whole, [0; 3]);
        let mut ending = None;
        for n in 1..MAX_LEVELS {
            if let Some(ending) = ending {
                levels[n as usize] = Level { block: at, offset: offset(n - ending) };
                continue;
            }
            match (n, major) {
                (1 | 3, 1) => at[0] += w,
                (1 | 3, _) => at[1] += h,
                (_, 0) => at[0] += w,
                (_, 1) => at[1] += h,
                _ => at[2] += d,
            }
            let ends = match (blocks.thick, blocks.log2 % 3) {
                (false, _) => w == 1 && h <= 2,
                (true, 0) => w <= 2 && h == 1 && d <= 2,
                (true, 1) => w == 1 && h <= 2 && d <= 2,
                (true, _) => w <= 2 && h <= 2 && d == 1,
            };
            levels[n as usize].block = at;
            if ends {
                ending = Some(n);
                levels[n as usize].offset = offset(0);
            }
            (w, h, d) = (half_up(w), half_up(h), half_up(d));
        }
        (levels, first_in_tail)
    }
}

/// The axis along which most levels follow each other.
fn major(width: u64, height: u64, depth: u64, thick: bool) -> usize {
    let tall = width < height;
    let least = if thick { depth } else { 0 };
    match tall {
        false if width >= least => 0,
        true if height >= least => 1,
        _ => 2,
    }
}

impl Layout {
    /// Bytes of the image.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Texels from row to row of level 0.
    #[must_use]
    pub fn pitch(&self) -> u32 {
        self.surface.pitch
    }

    /// Offset of a sample of a texel. Coordinates are those of the level; the third one is the
    /// slice.
    #[must_use]
    #[inline(always)]
    pub fn offset(&self, level: u32, [x, y, z]: [u32; 3], sample: u32) -> u64 {
        let start = &self.levels[level.min(MAX_LEVELS - 1) as usize];
        match &self.blocks {
            None => {
                start.offset
                    + u64::from(z) * self.slice
                    + u64::from(y) * self.row
                    + u64::from(x) * u64::from(self.surface.bytes)
            }
            Some(blocks) => blocks.offset(start, [x, y, z], sample),
        }
    }
}

impl Blocks {
    /// The same for an image in blocks.
    fn offset(&self, start: &Level, coordinates: [u32; 3], sample: u32) -> u64 {
        let mut within = 0;
        for (n, (axis, bit)) in self.bits[..self.count].iter().enumerate() {
            within |= u64::from(coordinates[usize::from(*axis)] >> bit & 1) << n;
        }
        let mut within = within << self.bytes_log2 | start.offset;
        if self.sample.1 > 0 {
            within |= u64::from(sample) << self.sample.0;
        }
        let [bx, by, bz] =
            [0, 1, 2].map(|axis| u64::from(coordinates[axis] >> self.size[axis]) + start.block[axis]);
        (bz * self.slice + by * self.pitch + bx) << self.log2 | within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surface(tiling: Tiling, bytes: u32, [width, height, depth]: [u32; 3], levels: u32) -> Surface {
        let surface = Surface {
            tiling,
            bytes,
            width,
            height,
            depth,
            is_volume: false,
            levels,
            samples_log2: 0,
            pitch: 0,
        };
        Surface { pitch: surface.least_pitch(), ..surface }
    }

    /// Each texel of each level has bytes of its own, inside the image.
    #[test]
    fn texels_do_not_overlap() {
        for (_, name, tiling) in Tiling::ALL {
            for bytes in [1, 2, 4, 8, 16] {
                for (size, is_volume) in
                    [([70, 33, 2], false), ([5, 9, 1], false), ([20, 70, 9], true), ([37, 9, 40], true)]
                {
                    let small = matches!(tiling, Tiling::Blocks { log2: 8, .. });
                    if small && is_volume {
                        continue;
                    }
                    let levels = if small { 1 } else { 7 };
                    for levels in [1, levels] {
                        let surface = Surface { is_volume, ..surface(tiling, bytes, size, levels) };
                        let surface = Surface { pitch: surface.least_pitch(), ..surface };
                        let layout = surface.layout();
                        let mut seen = vec![false; (layout.bytes() / u64::from(bytes)) as usize];
                        for level in 0..levels {
                            let [w, h, d] = surface.size(level);
                            for (z, y, x) in
                                (0..d).flat_map(|z| (0..h).flat_map(move |y| (0..w).map(move |x| (z, y, x))))
                            {
                                let at = layout.offset(level, [x, y, z], 0);
                                assert_eq!(at % u64::from(bytes), 0);
                                let slot = seen.get_mut((at / u64::from(bytes)) as usize);
                                let slot = slot.unwrap_or_else(|| {
                                    panic!("{name} {surface:?} {level} {x} {y} {z}: {at:#x}")
                                });
                                assert!(
                                    !std::mem::replace(slot, true),
                                    "{name} {surface:?}: level {level}, {x} {y} {z}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn samples_have_the_upper_bits_of_a_block() {
        let blocks = Tiling::Blocks { log2: 12, order: BlockOrder::Standard };
        let surface = Surface { samples_log2: 2, ..surface(blocks, 4, [32, 32, 1], 1) };
        let surface = Surface { pitch: surface.least_pitch(), ..surface };
        let layout = surface.layout();
        // 4 KiB of four samples are 1 KiB each: 16 by 16 texels of four bytes.
        assert_eq!(layout.offset(0, [1, 0, 0], 3), 4 + 3 * 1024);
        assert_eq!(layout.offset(0, [16, 0, 0], 0), 4096);
        assert_eq!(layout.offset(0, [0, 16, 0], 0), 2 * 4096);
    }
}
