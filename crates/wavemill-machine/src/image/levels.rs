//! Contents of mip levels from those of a finer level.

use wavemill_float::texel;
use wavemill_ir::{TexelFormat, TexelNumber};

/// A texel of a finer level on an axis, and how much of it a coarser texel covers.
type Part = (usize, f64);

/// The texels of `from` that texel `at` of `to` covers: those of the same part of the axis.
fn covered(at: usize, from: usize, to: usize) -> Vec<Part> {
    // In units of one texel divided by `to`, texels of `from` are `to` wide, and those of `to` are
    // `from` wide.
    let (start, end) = (at * from, (at + 1) * from);
    let texels = start / to..end.div_ceil(to);
    let part = |n: usize| ((n + 1) * to).min(end) - (n * to).max(start);
    texels.map(|n| (n, part(n) as f64)).collect()
}

/// The texels of a mip level of size `to`: each is the mean of the texels that it covers of a level
/// of size `from`, whose bytes are `texels`. Rows and slices follow each other without gaps. Sizes
/// are width, height and depth. sRGB is averaged as linear light. Integers are rounded to the
/// nearest, ties to even.
///
/// # Panics
/// If `texels` is shorter than `from` says.
#[must_use]
pub fn averaged(format: TexelFormat, texels: &[u8], from: [u32; 3], to: [u32; 3]) -> Vec<u8> {
    let bytes = format.data.bytes() as usize;
    let (from, to) = (from.map(|n| n as usize), to.map(|n| n as usize));
    let parts: [Vec<Vec<Part>>; 3] =
        std::array::from_fn(|axis| (0..to[axis]).map(|at| covered(at, from[axis], to[axis])).collect());
    let mut out = Vec::with_capacity(to.iter().product::<usize>() * bytes);
    for (z, y) in (0..to[2]).flat_map(|z| (0..to[1]).map(move |y| (z, y))) {
        for x in 0..to[0] {
            let (mut sums, mut total) = ([0.0; 4], 0.0);
            for (sz, wz) in &parts[2][z] {
                for (sy, wy) in &parts[1][y] {
                    for (sx, wx) in &parts[0][x] {
                        let at = ((sz * from[1] + sy) * from[0] + sx) * bytes;
                        let weight = wx * wy * wz;
                        let components = components(format, &texels[at..at + bytes]);
                        sums.iter_mut().zip(components).for_each(|(sum, value)| *sum += weight * value);
                        total += weight;
                    }
                }
            }
            let words = texel::pack(format, sums.map(|sum| number(format, sum / total)));
            out.extend(words.into_iter().flat_map(u32::to_le_bytes).take(bytes));
        }
    }
    out
}

/// The components of a texel as numbers.
fn components(format: TexelFormat, texel: &[u8]) -> [f64; 4] {
    let mut bytes = [0; 16];
    bytes[..texel.len()].copy_from_slice(texel);
    let word =
        |n: usize| u32::from_le_bytes([bytes[4 * n], bytes[4 * n + 1], bytes[4 * n + 2], bytes[4 * n + 3]]);
    texel::unpack(format, [0, 1, 2, 3].map(word)).map(|component| match format.number.is_integer() {
        false => f32::from_bits(component).into(),
        true if format.number == TexelNumber::Sint => f64::from(component as i32),
        true => component.into(),
    })
}

/// A number as a component.
fn number(format: TexelFormat, value: f64) -> u32 {
    match format.number.is_integer() {
        false => (value as f32).to_bits(),
        true if format.number == TexelNumber::Sint => value.round_ties_even() as i32 as u32,
        true => value.round_ties_even() as u32,
    }
}

#[cfg(test)]
mod tests {
    use wavemill_ir::DataFormat;

    use super::*;

    #[test]
    fn texels_that_are_covered_in_part_count_in_part() {
        let format = TexelFormat { data: DataFormat::D8, number: TexelNumber::Uint };
        // 3 texels become 1; 5 texels become 2, which are 2.5 each.
        assert_eq!(averaged(format, &[10, 20, 60], [3, 1, 1], [1, 1, 1]), [30]);
        assert_eq!(averaged(format, &[10, 20, 30, 40, 50], [5, 1, 1], [2, 1, 1]), [18, 42]);
        // Slices of an array stay apart; those of a volume are averaged.
        let slices = [0, 2, 4, 6, 10, 12, 14, 16];
        assert_eq!(averaged(format, &slices, [2, 2, 2], [1, 1, 2]), [3, 13]);
        assert_eq!(averaged(format, &slices, [2, 2, 2], [1, 1, 1]), [8]);
        // A row has no second dimension.
        let signed = TexelFormat { data: DataFormat::D8, number: TexelNumber::Sint };
        assert_eq!(averaged(signed, &[0xfe, 0xfc], [2, 1, 1], [1, 1, 1]), [0xfd]);
    }

    #[test]
    fn srgb_is_averaged_as_light() {
        let format = TexelFormat { data: DataFormat::D8_8_8_8, number: TexelNumber::Srgb };
        let texels = [0, 0, 0, 0, 255, 255, 255, 255];
        // Half of the light is 1.055 * 0.5^(1/2.4) - 0.055 = 0.7354; alpha is linear.
        assert_eq!(averaged(format, &texels, [2, 1, 1], [1, 1, 1]), [188, 188, 188, 128]);
    }
}
