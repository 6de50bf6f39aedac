//! f16 arithmetic of the default mode in straight-line code that vectorises: nearest even, denormals kept,
//! MODE.FP16_OVFL off. Patterns in the low 16 bits of dwords, as lanes hold them; higher source bits are ignored.
//!
//! The results equal those of the exact path. The functions compute in f64, where products of f16
//! are exact. The sum of a product (22 bits, none below 2^-48) and an addend (11 bits, none below
//! 2^-24) is exact too, unless the product is more than 31 places below the addend or the result
//! overflows. In the first case the sum is so close to the addend, itself an f16, that f64 and f16
//! both round it there: rounding twice does no harm.

use crate::format::{F16, F32, Format};

const SIGN: u32 = 0x8000;
const INF: u32 = 0x7c00;
const QUIET: u32 = 0x0200;

/// The first NaN among the sources, quieted, else `result`, with the default NaN for a NaN of the
/// host.
#[inline(always)]
fn settle<const N: usize>(sources: [u32; N], result: u32) -> u32 {
    let is_nan = |x: u32| x & 0x7fff > INF;
    let mut y = if is_nan(result) { F16::DEFAULT_NAN as u32 } else { result };
    for s in sources.into_iter().rev() {
        y = if is_nan(s) { s & 0xffff | QUIET } else { y };
    }
    y
}

/// The value of an f16 as an f32; a NaN becomes some NaN.
#[inline(always)]
fn widen(x: u32) -> f32 {
    /// Difference of the exponent biases, as an exponent field.
    const REBIAS: u32 = 112 << 23;
    let fields = (x & 0x7fff) << 13;
    // Puts a denormal into a mantissa and subtracts the leading one that is implied there.
    // (Multiplying a denormal f32 would do, but hosts are slow at that.)
    let denormal = f32::from_bits(fields + REBIAS + (1 << 23)) - f32::from_bits(REBIAS + (1 << 23));
    let scaled = if fields < 1 << 23 { denormal } else { f32::from_bits(fields + REBIAS) };
    let special = if x & 0x7fff >= INF { F32::INF as u32 } else { 0 };
    f32::from_bits(scaled.to_bits() | special | (x & SIGN) << 16)
}

/// An f64 rounded to an f16; a NaN becomes some NaN.
#[inline(always)]
fn narrow(x: f64) -> u32 {
    let bits = x.to_bits();
    let sign = (bits >> 48) as u32 & SIGN;
    let magnitude = f64::from_bits(bits & !(1 << 63));
    let is_nan = x.is_nan();
    // From here on everything is an infinity. The comparison also replaces a NaN.
    let magnitude = if magnitude < 131_072.0 { magnitude } else { 131_072.0 };
    // Biased exponent of the result's leading bit; for denormals, the exponent of the smallest
    // normal number.
    let field = magnitude.to_bits() >> 52;
    let field = if field > 1023 - 14 { field } else { 1023 - 14 };
    // A number whose last place is the last place of the result: adding it rounds.
    let anchor = (field + 42) << 52;
    let units = (magnitude + f64::from_bits(anchor)).to_bits() - anchor;
    // The hidden bit and a carry go into the exponent field.
    let magnitude = (((field - (1023 - 14)) << 10) + units) as u32;
    let magnitude = if magnitude < INF { magnitude } else { INF };
    sign | if is_nan { INF | QUIET } else { magnitude }
}

/// The f32 of an f16; a NaN is quieted and keeps its payload.
#[inline(always)]
#[must_use]
pub fn f32_from_f16(x: u32) -> u32 {
    let y = widen(x).to_bits();
    if x & 0x7fff > INF { y | 0x0040_0000 } else { y }
}

/// The f16 nearest to an f32; a NaN is quieted and keeps the top of its payload.
#[inline(always)]
#[must_use]
pub fn f16_from_f32(x: u32) -> u32 {
    let f = f32::from_bits(x);
    let nan = (x >> 16 & SIGN) | INF | QUIET | (x >> 13 & 0x03ff);
    if f.is_nan() { nan } else { narrow(f64::from(f)) }
}

/// `a + b`.
#[inline(always)]
#[must_use]
pub fn add_f16(a: u32, b: u32) -> u32 {
    settle([a, b], narrow(f64::from(widen(a)) + f64::from(widen(b))))
}

/// `a * b`.
#[inline(always)]
#[must_use]
pub fn mul_f16(a: u32, b: u32) -> u32 {
    settle([a, b], narrow(f64::from(widen(a)) * f64::from(widen(b))))
}

/// `a * b + c`, rounded once.
#[inline(always)]
#[must_use]
pub fn fma_f16(a: u32, b: u32, c: u32) -> u32 {
    // The product is exact. If it is a NaN without a NaN factor, it takes precedence over a NaN
    // addend.
    let product = f64::from(widen(a)) * f64::from(widen(b));
    let numbers = (a & 0x7fff <= INF) & (b & 0x7fff <= INF);
    let y = settle([a, b, c], narrow(product + f64::from(widen(c))));
    if numbers & product.is_nan() { F16::DEFAULT_NAN as u32 } else { y }
}
