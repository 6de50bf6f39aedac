//! Conversions to and from the small formats (FP8, BF8, FP6, BF6, FP4), scaled and with stochastic rounding.
//!
//! Narrowing divides by `2^scale` and widening multiplies by it; 0 for the instructions without a scale. Small formats
//! always keep their denormals; the wide side follows the environment.

use wavemill_ir::{FpEnv, Round};

use crate::format::{Format, Specials};
use crate::nan;
use crate::value::{Exact, Value, flush_in, inf, overflow, round, round_magnitude, round_to_unit};

/// The widest sensible scale; it keeps exponents far from the range of their type.
const MAX_SCALE: i32 = 0x4000;

/// The exponent of the E8M0 code 255, which is a NaN (CDNA4 ISA 7.2).
const NAN_SCALE: i32 = 128;

/// The exponent that an E8M0 scale operand stands for: bits 30:23 of an f32, minus the bias (CDNA4 ISA 7.3). 128, the
/// largest one, is a NaN.
#[must_use]
pub const fn scale_exponent(f32_bits: u32) -> i32 {
    ((f32_bits >> 23) & 0xff) as i32 - 127
}

/// The value of a small float times `2^scale`, rounded by the environment if it does not fit the wide format.
///
/// With the scale 128 it is a quiet NaN with the sign of the small float, unless that is a NaN itself (*modelled*).
#[must_use]
pub fn widen<S: Format, D: Format>(bits: u64, scale: i32, env: FpEnv) -> u64 {
    let kept = FpEnv { denorm_in: true, ..env };
    match Value::unpack::<S>(bits, kept) {
        Value::Nan => nan::convert::<S, D>(bits),
        _ if scale == NAN_SCALE => {
            let sign = if bits & S::SIGN != 0 { D::SIGN } else { 0 };
            sign | D::DEFAULT_NAN & !D::SIGN
        }
        Value::Inf { neg } => inf::<D>(neg),
        Value::Finite(n) => round::<D>(scaled(n.exact(), scale), env),
    }
}

/// The value of a wide float divided by `2^scale`, rounded to nearest even in the small format.
///
/// Out of range (CDNA4 ISA 7.3): with MODE.FP16_OVFL infinities and overflows become the largest
/// number; without it they become an infinity, or a NaN in a format that has no infinity. FP6, BF6
/// and FP4 always saturate; a NaN becomes their largest number with its sign (*modelled*). With the
/// scale 128 the wide float counts as a quiet NaN of its sign (*modelled*).
#[must_use]
pub fn narrow<S: Format, D: Format>(bits: u64, scale: i32, env: FpEnv) -> u64 {
    narrow_with::<S, D>(bits, scale, env, |v| round_magnitude::<D>(v, Round::NearestEven))
}

/// [`narrow`] with stochastic rounding: `random` is added to the dropped bits, taken as a fraction
/// of 32 bits, and the sum is truncated (*modelled*: the manual contradicts itself; AMD's headers
/// do it this way).
#[must_use]
pub fn narrow_stochastic<S: Format, D: Format>(bits: u64, random: u32, scale: i32, env: FpEnv) -> u64 {
    narrow_with::<S, D>(bits, scale, env, |v| stochastic_magnitude::<D>(v, random))
}

fn scaled(v: Exact, scale: i32) -> Exact {
    Exact { exp: v.exp + scale.clamp(-MAX_SCALE, MAX_SCALE), ..v }
}

fn narrow_with<S: Format, D: Format>(
    bits: u64,
    scale: i32,
    env: FpEnv,
    magnitude: impl FnOnce(Exact) -> Option<u64>,
) -> u64 {
    let bits = flush_in::<S>(bits, env);
    let sign = if bits & S::SIGN != 0 { D::SIGN } else { 0 };
    let saturates = match D::SPECIALS {
        Specials::None => true,
        _ => env.fp16_ovfl,
    };
    let out_of_range = if saturates {
        sign | D::MAX
    } else if matches!(D::SPECIALS, Specials::Ieee) {
        overflow::<D>(sign != 0, FpEnv { round: Round::NearestEven, ..env })
    } else {
        sign | nan::convert::<S, D>(S::DEFAULT_NAN & !S::SIGN)
    };
    match Value::unpack::<S>(bits, env) {
        Value::Nan if matches!(D::SPECIALS, Specials::None) => sign | D::MAX,
        _ if scale == NAN_SCALE && matches!(D::SPECIALS, Specials::None) => sign | D::MAX,
        Value::Nan => nan::convert::<S, D>(bits),
        _ if scale == NAN_SCALE => nan::convert::<S, D>(bits & S::SIGN | S::DEFAULT_NAN & !S::SIGN),
        Value::Inf { .. } => out_of_range,
        Value::Finite(n) => match magnitude(scaled(n.exact(), -scale.clamp(-MAX_SCALE, MAX_SCALE))) {
            // FNUZ formats have no negative zero: its pattern is their NaN.
            Some(0) if matches!(D::SPECIALS, Specials::NanNegativeZero) => 0,
            Some(magnitude) => sign | magnitude,
            None => out_of_range,
        },
    }
}

/// Magnitude bits by stochastic rounding, `None` on overflow.
fn stochastic_magnitude<D: Format>(v: Exact, random: u32) -> Option<u64> {
    if v.sig == 0 {
        return Some(0);
    }
    let up = v.sig.leading_zeros();
    let exp = (v.exp - up as i32).max(D::EMIN);
    if exp > D::BIAS + 1 {
        return None;
    }
    // The significand in units of 2^-32 of the last place.
    let fine = round_to_unit(v, exp - D::MAN as i32 - 32, Round::Zero);
    let q = ((fine + u128::from(random)) >> 32) as u64;
    let magnitude = (((exp - D::EMIN) as u64) << D::MAN) + q;
    (magnitude <= D::MAX).then_some(magnitude)
}
