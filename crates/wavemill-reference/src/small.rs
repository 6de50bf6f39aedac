//! Conversions to and from the formats of 8 bits and less, with a scale and stochastic rounding (CDNA4 ISA 7.3).

use crate::env::{Env, Round};
use crate::format::{Datum, Format, Specials};
use crate::number::Number;

/// The power of two that the E8M0 code 255 would represent; the code is a NaN instead (CDNA4 ISA 7.2).
const NAN_SCALE: i64 = 255 - 127;

/// The power of two that the bits of an f32 represent as an E8M0 scale: its exponent field, biased
/// by 127. [`widen`] and [`narrow`] treat 128 as a NaN.
#[must_use]
pub fn scale_of(bits: u32) -> i64 {
    i64::from(bits >> 23 & 0xff) - 127
}

/// A quiet NaN without a payload, with the sign of a datum (a documented choice).
fn nan_of_sign(from: Format, a: u64, to: Format) -> u64 {
    to.signed(a & from.sign() != 0, to.invalid() & !to.sign())
}

/// A small float times `2^scale`, converted to a wide format. Small denormals are always kept.
#[must_use]
pub fn widen(from: Format, to: Format, a: u64, scale: i64, env: Env) -> u64 {
    match from.decode(a, true) {
        Datum::Nan => to.nan_from(from, a),
        _ if scale == NAN_SCALE => nan_of_sign(from, a, to),
        Datum::Infinite { negative } => to.signed(negative, to.infinity()),
        Datum::Finite { negative, value } => to.encode(&value.times_power(scale), negative, env),
    }
}

/// The magnitude by stochastic rounding: the random number is added to the dropped digits, as a
/// fraction of 32 digits, and the sum is truncated (a documented choice).
fn stochastic(to: Format, value: &Number, random: u32) -> Option<u64> {
    if value.is_zero() {
        return Some(0);
    }
    let unit = value.leading().max(1 - to.bias) - i64::from(to.mantissa);
    let fine = value.abs().round_to(unit - 32, Round::Zero) + random;
    to.magnitude_of(&Number::new(fine >> 32u32, unit), Round::Zero)
}

/// A wide float divided by `2^scale`, converted to a small format. Rounds to nearest even, or
/// stochastically with a random number. Out of range, the table of CDNA4 ISA 7.3 applies with
/// MODE.FP16_OVFL; formats of 6 bits and less always saturate.
#[must_use]
pub fn narrow(from: Format, to: Format, a: u64, scale: i64, random: Option<u32>, env: Env) -> u64 {
    let negative = a & from.sign() != 0;
    let beyond = match to.specials {
        Specials::None => to.signed(negative, to.largest()),
        _ if env.fp16_ovfl => to.signed(negative, to.largest()),
        Specials::Ieee => to.signed(negative, to.infinity()),
        Specials::AllOnesNan => to.signed(negative, to.magnitude()),
        Specials::NegativeZeroNan => to.invalid(),
    };
    match from.decode(a, env.keeps_inputs) {
        Datum::Nan if to.specials == Specials::None => to.signed(negative, to.largest()),
        Datum::Nan => to.nan_from(from, a),
        _ if scale == NAN_SCALE && to.specials == Specials::None => to.signed(negative, to.largest()),
        _ if scale == NAN_SCALE => to.nan_from(from, nan_of_sign(from, a, from)),
        Datum::Infinite { .. } => beyond,
        Datum::Finite { value, .. } => {
            let value = value.times_power(-scale);
            let magnitude = match random {
                Some(random) => stochastic(to, &value, random),
                None => to.magnitude_of(&value, Round::NearestEven),
            };
            match magnitude {
                Some(0) if to.specials == Specials::NegativeZeroNan => 0,
                Some(magnitude) => to.signed(negative, magnitude),
                None => beyond,
            }
        }
    }
}
