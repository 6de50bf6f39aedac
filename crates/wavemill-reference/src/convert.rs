//! Conversions between floats, and between floats and integers.

use num_bigint::BigInt;

use crate::env::{Env, Round};
use crate::format::{Datum, Format};
use crate::number::Number;

/// Converts a float to another format, rounded once.
#[must_use]
pub fn float_to_float(from: Format, to: Format, a: u64, env: Env) -> u64 {
    match from.decode(a, env.keeps_inputs) {
        Datum::Nan => to.nan_from(from, a),
        Datum::Infinite { negative } => to.signed(negative, to.infinity()),
        Datum::Finite { negative, value } => to.encode(&value, negative, env),
    }
}

/// An integer as a float.
#[must_use]
pub fn int_to_float(to: Format, value: i64, env: Env) -> u64 {
    to.encode(&Number::new(value, 0), false, env)
}

/// A rounded number within limits.
fn within(units: BigInt, min: i64, max: i64) -> i64 {
    i64::try_from(units.clamp(min.into(), max.into())).unwrap_or(max)
}

/// A float as an integer between the limits: saturated, 0 for a NaN (Vega ISA 12.8, V_CVT_I32_F32).
#[must_use]
pub fn float_to_int(from: Format, a: u64, round: Round, [min, max]: [i64; 2], env: Env) -> i64 {
    match from.decode(a, env.keeps_inputs) {
        Datum::Nan => 0,
        Datum::Infinite { negative } => {
            if negative {
                min
            } else {
                max
            }
        }
        Datum::Finite { value, .. } => within(value.round_to(0, round), min, max),
    }
}

/// `floor(a + 1/2)` with an exact sum, as an integer between the limits (V_CVT_RPI_I32_F32; a documented choice).
#[must_use]
pub fn round_half_up(from: Format, a: u64, [min, max]: [i64; 2], env: Env) -> i64 {
    match from.decode(a, env.keeps_inputs) {
        Datum::Finite { value, .. } => {
            within((&value + &Number::new(1, -1)).round_to(0, Round::Down), min, max)
        }
        _ => float_to_int(from, a, Round::Down, [min, max], env),
    }
}

/// A float times the larger limit, rounded to nearest even between the limits (V_CVT_PKNORM_I16_F32; the rounding is a
/// documented choice).
#[must_use]
pub fn float_to_norm(from: Format, a: u64, [min, max]: [i64; 2], env: Env) -> i64 {
    match from.decode(a, env.keeps_inputs) {
        Datum::Finite { value, .. } => {
            within((&value * &Number::new(max, 0)).round_to(0, Round::NearestEven), min, max)
        }
        _ => float_to_int(from, a, Round::Zero, [min, max], env),
    }
}
