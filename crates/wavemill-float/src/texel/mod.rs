//! Texels of typed buffers and images: components to memory and back.
//!
//! Vega ISA 8.1.3 and 8.1.4 say which conversions exist; Direct3D 11's and Khronos' rules for data
//! conversion say what they compute. *Modelled*, because no public text fixes it for this hardware:
//!
//! - A load gives the nearest f32, ties to even; a D16 load rounds that f32 to the nearest f16.
//! - A store rounds normalised integers to the nearest one, ties to even, and scaled integers and
//!   narrower floats towards zero. A finite float that is too large for the narrower format becomes
//!   its largest number.
//! - Values out of range are clamped; a NaN becomes 0 in an integer. A float without a sign has 0
//!   for negative values.
//! - A NaN that is converted between floats is quieted and keeps the top of its payload.
//! - Integers of a D16 access are the low 16 bits.
//! - Channels of 32 bits are copied, whatever their number format is.

mod buffer;
mod srgb;

pub use buffer::BufferTexel;
use wavemill_ir::{DataFormat, FpEnv, Round, TexelFormat, TexelNumber};

use crate::convert::convert;
use crate::format::{F16, F32, Format};
use crate::half::{f16_from_f32, f32_from_f16};

/// Float of 11 bits without a sign: 5 bits of exponent, 6 of mantissa. The sign of this descriptor
/// is above the bits in memory.
#[derive(Clone, Copy, Debug)]
struct Float11;

impl Format for Float11 {
    const BITS: u32 = 12;
    const MAN: u32 = 6;
    const BIAS: i32 = 15;
}

/// Float of 10 bits without a sign: 5 bits of exponent, 5 of mantissa.
#[derive(Clone, Copy, Debug)]
struct Float10;

impl Format for Float10 {
    const BITS: u32 = 11;
    const MAN: u32 = 5;
    const BIAS: i32 = 15;
}

/// The environment of conversions to narrower floats.
const TRUNCATE: FpEnv = FpEnv { round: Round::Zero, ..FpEnv::DEFAULT };

/// Bias of the exponent of [`DataFormat::D5_9_9_9`], and bits of its significands.
const SHARED_BIAS: i32 = 15;
const SHARED_BITS: i32 = 9;

/// The lowest `n` bits set.
const fn ones(n: u32) -> u32 {
    u32::MAX >> (32 - n)
}

/// `2^n` for an `n` far from the limits.
const fn power(n: i32) -> f64 {
    f64::from_bits(((1023 + n) as u64) << 52)
}

/// An unsigned normalised integer. Both sides of the quotient are exact, so it is the nearest f32.
const fn unorm(bits: u32, largest: u32) -> u32 {
    (bits as f32 / largest as f32).to_bits()
}

/// The unsigned normalised integers of 8 bits.
static UNORM8: [u32; 256] = {
    let mut all = [0; 256];
    let mut n = 0;
    while n < all.len() {
        all[n] = unorm(n as u32, 255);
        n += 1;
    }
    all
};

/// The bits of a channel as a signed integer.
const fn signed(bits: u32, width: u32) -> i32 {
    (bits << (32 - width)) as i32 >> (32 - width)
}

/// The number format of a channel: that of the texel, with the exceptions.
fn number_of(format: TexelFormat, channel: usize) -> TexelNumber {
    match (format.number, format.data) {
        (TexelNumber::Srgb, _) if channel == 3 => TexelNumber::Unorm,
        (TexelNumber::Float, DataFormat::X24_8_32) if channel == 1 => TexelNumber::Uint,
        (number, _) => number,
    }
}

/// The component of a channel.
fn component(number: TexelNumber, bits: u32, width: u32) -> u32 {
    if width == 32 {
        return bits;
    }
    let (largest, value) = (ones(width), signed(bits, width));
    match number {
        TexelNumber::Uint => bits,
        TexelNumber::Sint => value as u32,
        TexelNumber::Unorm => unorm(bits, largest),
        // A signed channel of one bit has no positive numbers.
        TexelNumber::Snorm => (value as f32 / (largest >> 1).max(1) as f32).max(-1.0).to_bits(),
        TexelNumber::Uscaled => (bits as f32).to_bits(),
        TexelNumber::Sscaled => (value as f32).to_bits(),
        TexelNumber::Srgb => srgb::LINEAR[bits as usize & 0xff],
        TexelNumber::Float => match width {
            16 => f32_from_f16(bits),
            11 => convert::<Float11, F32>(bits.into(), FpEnv::DEFAULT) as u32,
            _ => convert::<Float10, F32>(bits.into(), FpEnv::DEFAULT) as u32,
        },
    }
}

/// A float without a sign from an f32.
fn unsigned_float<F: Format>(component: u32) -> u32 {
    let nan = component & 0x7fff_ffff > F32::INF as u32;
    if component >> 31 != 0 && !nan {
        return 0;
    }
    convert::<F32, F>(component.into(), TRUNCATE) as u32 & F::MAGNITUDE as u32
}

/// The bits of a channel from a component.
fn channel(number: TexelNumber, component: u32, width: u32) -> u32 {
    if width == 32 {
        return component;
    }
    let (largest, value) = (ones(width), f32::from_bits(component));
    // A product of 24 and at most 24 bits is exact in f64. The conversions to integers saturate and
    // turn a NaN into 0.
    let scaled = |largest: u32| (f64::from(value) * f64::from(largest)).round_ties_even();
    let clamp =
        |value: i64| value.clamp(-i64::from(largest >> 1) - 1, i64::from(largest >> 1)) as u32 & largest;
    match number {
        TexelNumber::Uint => component.min(largest),
        TexelNumber::Sint => clamp((component as i32).into()),
        TexelNumber::Unorm => (scaled(largest) as u32).min(largest),
        TexelNumber::Snorm => {
            let most = i64::from(largest >> 1);
            clamp((scaled(largest >> 1) as i64).clamp(-most, most))
        }
        TexelNumber::Uscaled => (value as u32).min(largest),
        TexelNumber::Sscaled => clamp(value as i64),
        // Code n is for what is at least the n-th threshold. A NaN is at least none.
        TexelNumber::Srgb => srgb::FIRST.partition_point(|&first| value >= f32::from_bits(first)) as u32,
        TexelNumber::Float => match width {
            16 => convert::<F32, F16>(component.into(), TRUNCATE) as u32,
            11 => unsigned_float::<Float11>(component),
            _ => unsigned_float::<Float10>(component),
        },
    }
}

/// The components of a texel with a shared exponent.
fn unpack_shared(bits: u32) -> [u32; 3] {
    let scale = power((bits >> 27) as i32 - SHARED_BIAS - SHARED_BITS);
    [0, 9, 18].map(|shift| ((f64::from(bits >> shift & 0x1ff) * scale) as f32).to_bits())
}

/// A texel with a shared exponent: that of the largest component, rounded
/// (`EXT_texture_shared_exponent`).
fn pack_shared(components: [u32; 3]) -> u32 {
    const LARGEST: f32 = 511.0 * 128.0;
    let values = components.map(|component| {
        let value = f32::from_bits(component);
        if value > 0.0 { f64::from(value.min(LARGEST)) } else { 0.0 }
    });
    let largest = values.into_iter().fold(0.0, f64::max);
    let exponent = (largest.to_bits() >> 52) as i32 - 1023;
    let mut shared = exponent.max(-SHARED_BIAS - 1) + 1 + SHARED_BIAS;
    let rounded =
        |value: f64, shared: i32| (value * power(SHARED_BIAS + SHARED_BITS - shared) + 0.5).floor() as u32;
    if rounded(largest, shared) > 0x1ff {
        shared += 1;
    }
    let [x, y, z] = values.map(|value| rounded(value, shared));
    x | y << 9 | z << 18 | (shared as u32) << 27
}

/// The components of a texel: f32 values or integers. `words` has its bytes, lowest first; bytes
/// beyond the texel are ignored. Components that the format lacks are 0, and W is 1.
#[must_use]
#[inline]
pub fn unpack(format: TexelFormat, words: [u32; 4]) -> [u32; 4] {
    // The formats of most images.
    match (format.data, format.number) {
        (DataFormat::D8_8_8_8, TexelNumber::Unorm) => {
            words[0].to_le_bytes().map(|byte| UNORM8[usize::from(byte)])
        }
        (DataFormat::D32, _) => [words[0], 0, 0, format.one()],
        (DataFormat::D32_32_32_32, _) => words,
        _ => unpack_channels(format, words),
    }
}

/// The same, channel by channel.
fn unpack_channels(format: TexelFormat, words: [u32; 4]) -> [u32; 4] {
    let mut components = [0, 0, 0, format.one()];
    if format.data == DataFormat::D5_9_9_9 {
        components[..3].copy_from_slice(&unpack_shared(words[0]));
        return components;
    }
    for (n, &(shift, width)) in format.data.channels().iter().enumerate() {
        let bits = words[shift as usize / 32] >> (shift % 32) & ones(width);
        components[n] = component(number_of(format, n), bits, width);
    }
    components
}

/// The texel of these components, as the words of its bytes, lowest first; unused bits are 0.
#[must_use]
pub fn pack(format: TexelFormat, components: [u32; 4]) -> [u32; 4] {
    let mut words = [0; 4];
    if format.data == DataFormat::D5_9_9_9 {
        let [x, y, z, _] = components;
        words[0] = pack_shared([x, y, z]);
        return words;
    }
    for (n, &(shift, width)) in format.data.channels().iter().enumerate() {
        words[shift as usize / 32] |= channel(number_of(format, n), components[n], width) << (shift % 32);
    }
    words
}

/// A component of a texel as the 16 bits that a D16 load returns: an f16 or the low bits of an
/// integer.
#[must_use]
pub fn to_half(number: TexelNumber, component: u32) -> u16 {
    if number.is_integer() { component as u16 } else { f16_from_f32(component) as u16 }
}

/// The component of a texel that 16 bits of a D16 store stand for.
#[must_use]
pub fn from_half(number: TexelNumber, half: u16) -> u32 {
    match number {
        TexelNumber::Uint => half.into(),
        TexelNumber::Sint => half as i16 as u32,
        _ => f32_from_f16(half.into()),
    }
}

/// The components of a texel as a D16 load returns them ([`unpack`], [`to_half`]).
#[must_use]
pub fn unpack_halves(format: TexelFormat, words: [u32; 4]) -> [u16; 4] {
    unpack(format, words).map(|component| to_half(format.number, component))
}

/// The texel of the components of a D16 store ([`pack`], [`from_half`]).
#[must_use]
pub fn pack_halves(format: TexelFormat, halves: [u16; 4]) -> [u32; 4] {
    pack(format, halves.map(|half| from_half(format.number, half)))
}
