//! Rounding to integral values, fractions, splitting into exponent and mantissa, and scaling.

use wavemill_ir::{FpEnv, Round};

use crate::arith;
use crate::exceptions::quietly;
use crate::format::Format;
use crate::nan;
use crate::value::{Exact, Number, Value, flush_in, flush_out, round, round_to_unit, zero};

/// The value rounded to an integer; the sign of the source stays, also on a zero.
fn integral<F: Format>(a: u64, mode: Round, env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a], env) {
        return nan;
    }
    match Value::unpack::<F>(a, env) {
        // From this exponent on every number is an integer.
        Value::Finite(n) if n.sig != 0 && n.exp < F::MAN as i32 => {
            // Rounding to an integer is what the operation is for: it is not inexact (IEEE 754, 5.9).
            let magnitude = quietly(|| round_to_unit(n.exact(), 0, mode)) as u64;
            if magnitude == 0 { zero::<F>(n.neg) } else { round::<F>(Exact::from_u64(n.neg, magnitude), env) }
        }
        _ => flush_in::<F>(a, env),
    }
}

pub(crate) fn trunc<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    integral::<F>(s[0], Round::Zero, env)
}

pub(crate) fn ceil<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    integral::<F>(s[0], Round::PlusInf, env)
}

pub(crate) fn floor<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    integral::<F>(s[0], Round::MinusInf, env)
}

pub(crate) fn round_even<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    integral::<F>(s[0], Round::NearestEven, env)
}

/// `a - floor(a)`, kept below 1 (*modelled*: a small negative number would round to 1). An infinity gives the
/// default NaN.
pub(crate) fn fract<F: Format>([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    let floor = quietly(|| integral::<F>(a, Round::MinusInf, env));
    let fract = arith::sub::<F>([a, floor, 0], env);
    if fract == F::ONE { F::ONE - 1 } else { fract }
}

/// The exponent `e` of a finite non-zero number `m * 2^e` with `m` in \[1/2, 1), else 0; a denormal counts as the
/// normalised number that it is, unless inputs are flushed (*modelled*: the manual refers to C's `frexp`). Two's
/// complement in the format's width, at most 32 bits.
pub(crate) fn frexp_exp<F: Format>([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    nan::signal::<F>(&[a]);
    let exp = match Value::unpack::<F>(a, env) {
        Value::Finite(n) if n.sig != 0 => n.exp + 1,
        _ => 0,
    };
    if F::BITS == 16 { u64::from(exp as u16) } else { u64::from(exp as u32) }
}

/// The `m` of [`frexp_exp`]; an infinity or a zero stays, a NaN is quieted.
pub(crate) fn frexp_mant<F: Format>([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a], env) {
        return nan;
    }
    match Value::unpack::<F>(a, env) {
        Value::Finite(n) if n.sig != 0 => round::<F>(Number { exp: -1, ..n }.exact(), env),
        _ => flush_in::<F>(a, env),
    }
}

/// `a * 2^exp`, rounded once.
pub(crate) fn scale<F: Format>(a: u64, exp: i32, env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a], env) {
        return nan;
    }
    match Value::unpack::<F>(a, env) {
        Value::Finite(n) if n.sig != 0 => {
            // Beyond this bound every number overflows or vanishes.
            let exp = n.exp + exp.clamp(-0x4000, 0x4000);
            round::<F>(Number { exp, ..n }.exact(), env)
        }
        _ => flush_out::<F>(flush_in::<F>(a, env), env),
    }
}

/// `a * 2^b` with an integer `b`: 16 bits for f16, else 32.
pub(crate) fn ldexp<F: Format>([a, b, _]: [u64; 3], env: FpEnv) -> u64 {
    let exp = if F::BITS == 16 { i32::from(b as u16 as i16) } else { b as u32 as i32 };
    scale::<F>(a, exp, env)
}
