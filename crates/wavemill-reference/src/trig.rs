//! Powers, logarithms, sine and cosine, correctly rounded, and the exact digits of 2/pi.

use num_bigint::BigInt;

use crate::env::{Env, Round};
use crate::format::{Datum, F64, Format};
use crate::number::Number;
use crate::series;

/// 2 to the power `a`.
#[must_use]
pub fn exp2(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { negative: true } => 0,
        Datum::Infinite { negative: false } => f.infinity(),
        Datum::Finite { value, negative } => {
            // Beyond this limit, the result is beyond all numbers of the format.
            let limit = Number::new(4 << (f.bits - f.mantissa), 0);
            let value = if value.abs() < limit {
                value
            } else if negative {
                -limit
            } else {
                limit
            };
            f.encode(&series::exp2(&value), false, env)
        }
    }
}

/// The binary logarithm.
#[must_use]
pub fn log2(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Finite { value, .. } if value.is_zero() => f.sign() | f.infinity(),
        Datum::Infinite { negative: false } => f.infinity(),
        Datum::Finite { negative: false, value } => f.encode(&series::log2(&value), false, env),
        _ => f.invalid(),
    }
}

/// The sine of `a` turns plus `quarters` quarter turns. -0 gives -0 without quarters; all other
/// zeros are +0 (Vega ISA 12.8, V_SIN_F32, examples).
#[must_use]
pub fn sine(f: Format, a: u64, quarters: i64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { .. } => f.invalid(),
        Datum::Finite { negative, value } if quarters == 0 && value.is_zero() => {
            if negative {
                f.sign()
            } else {
                0
            }
        }
        Datum::Finite { value, .. } => {
            f.encode(&series::sine(&(&value + &Number::new(quarters, -2))), false, env)
        }
    }
}

/// Digits of 2/pi after the binary point that are ever used.
const DIGITS: usize = 1400;

/// `atan(1 / x)` in units of `2^-DIGITS`, with 64 extra digits.
fn arc_tangent(x: u32) -> BigInt {
    let square = x * x;
    let mut power = (BigInt::from(1) << (DIGITS + 64)) / x;
    let mut sum = power.clone();
    let mut n = 1u32;
    while power != BigInt::ZERO {
        power /= square;
        n += 2;
        let term = &power / n;
        if n % 4 == 3 { sum -= term } else { sum += term }
    }
    sum
}

/// 53 digits of 2/pi from segment `b[4:0]` on, further down for large `a`, scaled by their weight
/// (Vega ISA 12.12, V_TRIG_PREOP_F64). Segments that begin after digit 1120 are 0 (a documented
/// choice).
#[must_use]
pub fn trig_preop(a: u64, b: u64, env: Env) -> u64 {
    let exponent = (a >> 52 & 0x7ff) as i64;
    let skipped = 53 * (b & 31) as i64 + (exponent - 1077).max(0);
    if skipped >= 1120 {
        return 0;
    }
    // Machin's formula.
    let pi = (arc_tangent(5) * 4 - arc_tangent(239)) * 4;
    let inverse: BigInt = (BigInt::from(2) << (2 * DIGITS + 64)) / pi;
    let until = DIGITS as i64 - skipped - 53;
    let segment: BigInt = (inverse >> until) & ((BigInt::from(1) << 53) - 1);
    let up = if exponent >= 1968 { 128 } else { 0 };
    let value = Number::new(segment, up - skipped - 53);
    F64.encode(&value, false, env.rounding(Round::Zero))
}
