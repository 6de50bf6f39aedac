//! A scalar reference of images: descriptors bit by bit, addresses, filters, without code of the
//! machine. Images are plain byte arrays.

/// Sets bits `low..low + width` of a descriptor.
pub(crate) fn set(words: &mut [u32], low: usize, width: usize, value: u64) {
    for n in 0..width {
        let bit = (value >> n & 1) as u32;
        let at = low + n;
        words[at / 32] = words[at / 32] & !(1 << (at % 32)) | bit << (at % 32);
    }
}

/// An image of one level, as the tests describe it.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) kind: u64,
    pub(crate) data_format: u64,
    pub(crate) num_format: u64,
    pub(crate) bytes: usize,
    pub(crate) size: [u32; 3],
    pub(crate) pitch: u32,
    pub(crate) swizzle: u64,
    pub(crate) select: [u64; 4],
}

pub(crate) const D1: u64 = 8;
pub(crate) const D2: u64 = 9;
pub(crate) const D3: u64 = 10;
pub(crate) const CUBE: u64 = 11;
pub(crate) const D1_ARRAY: u64 = 12;
pub(crate) const D2_ARRAY: u64 = 13;
pub(crate) const SAMPLES: u64 = 14;

/// A 2D image of four bytes a texel.
pub(crate) fn rgba8(width: u32, height: u32) -> Image {
    Image {
        kind: D2,
        data_format: 10,
        num_format: 0,
        bytes: 4,
        size: [width, height, 1],
        pitch: width.next_multiple_of(64),
        swizzle: 0,
        select: [4, 5, 6, 7],
    }
}

impl Image {
    pub(crate) fn words(&self, base: u64) -> [u32; 8] {
        let mut words = [0; 8];
        set(&mut words, 0, 40, base >> 8);
        set(&mut words, 52, 6, self.data_format);
        set(&mut words, 58, 4, self.num_format);
        set(&mut words, 64, 14, u64::from(self.size[0]) - 1);
        set(&mut words, 78, 14, u64::from(self.size[1]) - 1);
        for (n, select) in self.select.iter().enumerate() {
            set(&mut words, 96 + 3 * n, 3, *select);
        }
        set(&mut words, 116, 5, self.swizzle);
        set(&mut words, 124, 4, self.kind);
        set(&mut words, 128, 13, u64::from(self.size[2]) - 1);
        set(&mut words, 141, 16, u64::from(self.pitch) - 1);
        words
    }

    /// Bytes of a linear image.
    pub(crate) fn length(&self) -> usize {
        self.pitch as usize * self.bytes * self.size[1] as usize * self.size[2] as usize
    }

    /// First byte of a texel of a linear image.
    pub(crate) fn at(&self, [x, y, z]: [u32; 3]) -> usize {
        ((z as usize * self.size[1] as usize + y as usize) * self.pitch as usize + x as usize) * self.bytes
    }
}

/// A sampler's fields, with nothing special set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sampler {
    pub(crate) clamp: u64,
    pub(crate) bilinear: bool,
    pub(crate) unnormalised: bool,
    pub(crate) border: u64,
    pub(crate) compare: u64,
    pub(crate) mip: u64,
    pub(crate) truncates: bool,
}

impl Sampler {
    pub(crate) const POINT: Sampler = Sampler {
        clamp: 2,
        bilinear: false,
        unnormalised: true,
        border: 0,
        compare: 0,
        mip: 0,
        truncates: false,
    };

    pub(crate) fn words(self) -> [u32; 4] {
        let mut words = [0; 4];
        for axis in 0..3 {
            set(&mut words, 3 * axis, 3, self.clamp);
        }
        set(&mut words, 12, 3, self.compare);
        set(&mut words, 15, 1, self.unnormalised.into());
        set(&mut words, 27, 1, self.truncates.into());
        set(&mut words, 44, 12, 4095);
        let filter = u64::from(self.bilinear);
        set(&mut words, 84, 2, filter);
        set(&mut words, 86, 2, filter);
        set(&mut words, 90, 2, self.mip);
        set(&mut words, 126, 2, self.border);
        words
    }
}

/// The texel that a coordinate outside names; `None` is the border. Written from the names of the
/// modes, by walking.
pub(crate) fn addressed(mode: u64, index: i64, size: i64) -> Option<i64> {
    let mut at = index;
    if matches!(mode, 3 | 5 | 7) && at < 0 {
        at = -at - 1;
    }
    match mode {
        0 => {
            while at < 0 {
                at += size;
            }
            while at >= size {
                at -= size;
            }
        }
        1 => loop {
            if at < 0 {
                at = -at - 1;
            } else if at >= size {
                at = 2 * size - 1 - at;
            } else {
                break;
            }
        },
        2 | 3 => at = if at < 0 { 0 } else { at.min(size - 1) },
        _ => {
            if at < 0 || at >= size {
                return None;
            }
        }
    }
    Some(at)
}

/// A sample of a 2D image with one level: `texel` gives a channel, the coordinates count texels in
/// 1/256.
pub(crate) fn sampled(
    sampler: Sampler,
    size: [u32; 2],
    at: [i64; 2],
    texel: impl Fn(Option<[i64; 2]>) -> f64,
) -> f64 {
    let axis = |n: usize| -> Vec<(Option<i64>, f64)> {
        let size = i64::from(size[n]);
        let mut place = at[n];
        if matches!(sampler.clamp, 4 | 5) {
            let low = if sampler.clamp == 4 { 0 } else { -256 * size };
            place = place.clamp(low, 256 * size);
        }
        if !sampler.bilinear {
            let mut index = place >> 8;
            if matches!(sampler.clamp, 4 | 5) && index == size {
                index = size - 1;
            }
            return vec![(addressed(sampler.clamp, index, size), 1.0)];
        }
        let corner = place - 128;
        let part = (corner & 255) as f64 / 256.0;
        let index = corner >> 8;
        vec![
            (addressed(sampler.clamp, index, size), 1.0 - part),
            (addressed(sampler.clamp, index + 1, size), part),
        ]
    };
    let mut sum = 0.0;
    for (y, wy) in axis(1) {
        for (x, wx) in axis(0) {
            let value = texel(match (x, y) {
                (Some(x), Some(y)) => Some([x, y]),
                _ => None,
            });
            sum += wx * wy * value;
        }
    }
    sum
}

/// The byte of a texel in a block of the standard order, by quartering: within 256 bytes the first
/// 16 bytes are of a row, then rows and columns double in turn, as Direct3D's standard swizzle has
/// it.
pub(crate) fn standard(block_log2: u32, bytes_log2: u32, x: u32, y: u32) -> u64 {
    // (is it x?) for each address bit from bit 4 on, and in the 256 bytes the order that is left.
    let low: &[bool] = match bytes_log2 {
        0 => &[false, false, false, false],
        1 => &[false, false, false, true],
        2 => &[false, false, false, true],
        3 => &[false, false, true, true],
        _ => &[false, false, true, true],
    };
    let mut address = u64::from(x << bytes_log2 & 15);
    let (mut x, mut y) = (x >> (4 - bytes_log2.min(4)), y);
    let mut bit = 4;
    let mut take = |is_x: bool| {
        let from = if is_x { &mut x } else { &mut y };
        address |= u64::from(*from & 1) << bit;
        *from >>= 1;
        bit += 1;
    };
    low.iter().for_each(|is_x| take(*is_x));
    for n in 8..block_log2 {
        take(n % 2 == 1);
    }
    address
}

/// The same for the display order: rows of eight texels follow each other in pairs, and bit 4 is the
/// lowest bit of y.
pub(crate) fn display(block_log2: u32, bytes_log2: u32, x: u32, y: u32) -> u64 {
    let bit = |value: u32, n: u32| u64::from(value >> n & 1);
    let micro = if bytes_log2 == 4 {
        bit(x, 0) << 4 | bit(y, 0) << 5 | bit(x, 1) << 6 | bit(y, 1) << 7
    } else {
        let without = u64::from(x & 7) | u64::from(y >> 1 & 3) << 3 | bit(x, 3) << 5 | bit(y, 3) << 6;
        let without = without << bytes_log2 & 0x7f;
        without & 15 | bit(y, 0) << 4 | (without >> 4) << 5
    };
    // Width and height of 256 bytes.
    let (width_log2, height_log2) = ((8 - bytes_log2).div_ceil(2), (8 - bytes_log2) / 2);
    let (mut x, mut y) = (x >> width_log2, y >> height_log2);
    let mut address = micro & 255;
    for n in 8..block_log2 {
        let from = if n % 2 == 1 { &mut x } else { &mut y };
        address |= u64::from(*from & 1) << n;
        *from >>= 1;
    }
    address
}

/// Bytes of a texel in a block of a volume in the standard order, and the size of a block.
pub(crate) fn volume(block_log2: u32, bytes_log2: u32, [x, y, z]: [u32; 3]) -> u64 {
    let mut address = u64::from(x << bytes_log2 & 15) | u64::from(y & 3) << 4 | u64::from(z & 3) << 6;
    // Two more bits, and the bits of each coordinate that are used then.
    let (more, mut used) = match bytes_log2 {
        0 => ([(2, 2), (1, 2)], [4, 3, 3]),
        1 => ([(2, 2), (1, 2)], [3, 3, 3]),
        2 => ([(1, 2), (0, 2)], [3, 3, 2]),
        3 => ([(0, 1), (0, 2)], [3, 2, 2]),
        _ => ([(0, 0), (0, 1)], [2, 2, 2]),
    };
    let at = [x, y, z];
    let bit = |axis: usize, n: u32| u64::from(at[axis] >> n & 1);
    for (n, (axis, from)) in more.into_iter().enumerate() {
        address |= bit(axis, from) << (8 + n);
    }
    for n in 10..block_log2 {
        let axis = [0, 2, 1][n as usize % 3];
        address |= bit(axis, used[axis]) << n;
        used[axis] += 1;
    }
    address
}
