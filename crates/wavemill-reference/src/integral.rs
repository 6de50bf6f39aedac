//! Rounding to integers, fractions, exponents and mantissas.

use crate::env::{Env, Round};
use crate::format::{Datum, Format};
use crate::number::Number;

/// Rounds a number to an integer; a zero keeps the sign of the source.
#[must_use]
pub fn to_integral(f: Format, a: u64, round: Round, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { .. } => a,
        Datum::Finite { negative, value } => {
            f.encode(&Number::new(value.round_to(0, round), 0), negative, env)
        }
    }
}

/// `a - floor(a)`, kept below 1 (a documented choice: otherwise, a tiny negative number would round
/// to 1).
#[must_use]
pub fn fract(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { .. } => f.invalid(),
        Datum::Finite { value, .. } => {
            let floor = Number::new(value.round_to(0, Round::Down), 0);
            // The sum of equal numbers of opposite signs, or of zeros. -0 + -(-0) is 0, except when
            // rounding towards minus infinity, where it is -0.
            let exact = &value + &-floor;
            f.encode(&exact, env.round == Round::Down, env).min(if exact.is_zero() {
                u64::MAX
            } else {
                f.one() - 1
            })
        }
    }
}

/// The exponent of C's `frexp`; 0 for infinities and NaNs.
#[must_use]
pub fn frexp_exp(f: Format, a: u64, env: Env) -> u64 {
    let exponent = match f.decode(a, env.keeps_inputs) {
        Datum::Finite { value, .. } if !value.is_zero() => value.leading() + 1,
        _ => 0,
    };
    exponent as u64 & if f.bits == 16 { 0xffff } else { 0xffff_ffff }
}

/// The mantissa of C's `frexp`.
#[must_use]
pub fn frexp_mant(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { .. } => a,
        Datum::Finite { negative, value } if value.is_zero() => f.signed(negative, 0),
        Datum::Finite { negative, value } => {
            f.encode(&value.times_power(-value.leading() - 1), negative, env)
        }
    }
}

/// `a * 2^exp`, rounded once.
#[must_use]
pub fn ldexp(f: Format, a: u64, exp: i64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { .. } => a,
        Datum::Finite { negative, value } => f.encode(&value.times_power(exp), negative, env),
    }
}
