//! Powers, logarithms, reciprocals, roots and angles.
//!
//! 4.13.1 says that the modes apply to all ALU instructions. The pages call these results
//! approximations without a bound, so the text does not fix their last bit. Here they are correctly
//! rounded. The readings are: to nearest with denormals as zeros, and as the modes say.

use super::{MAX, ONE, Operation, Readings, SIGN, host};
use crate::{Env, F32, F64, exp2, log2, rcp, rsq, sine, sqrt};

/// Operations of one slot.
pub const FUNCTIONS: &[Operation] = &[
    ("EXP_IEEE", |[a, ..], env| both(env, |env| exp2(F32, a.into(), env)).into()),
    ("LOG_IEEE", |[a, ..], env| logarithm(a, env).into()),
    ("LOG_CLAMPED", |[a, ..], env| {
        logarithm(a, env).map(|bits| replaced(bits, NEGATIVE_INFINITY, MAX)).into()
    }),
    ("RECIP_IEEE", |[a, ..], env| reciprocal(a, env).into()),
    ("RECIP_CLAMPED", |[a, ..], env| reciprocal(a, env).map(|bits| infinite(bits, MAX)).into()),
    ("RECIP_FF", |[a, ..], env| reciprocal(a, env).map(|bits| infinite(bits, 0)).into()),
    ("RECIPSQRT_IEEE", |[a, ..], env| reciprocal_root(a, env).into()),
    ("RECIPSQRT_CLAMPED", |[a, ..], env| reciprocal_root(a, env).map(|bits| infinite(bits, MAX)).into()),
    ("RECIPSQRT_FF", |[a, ..], env| reciprocal_root(a, env).map(|bits| infinite(bits, 0)).into()),
    ("SQRT_IEEE", |[a, ..], env| both(env, |env| sqrt(F32, a.into(), env)).into()),
    ("SIN", |[a, ..], env| angle(a, 0, 0, env).into()),
    ("COS", |[a, ..], env| angle(a, 1, ONE, env).into()),
];

/// A function of a double: its mnemonic, and its result under the modes of doubles.
pub type DoubleFunction = (&'static str, fn(u64, Env) -> Readings);

/// Functions of doubles. The result is the high dword; its low dword is "assumed to be 0".
pub const DOUBLE_FUNCTIONS: &[DoubleFunction] = &[
    ("RECIP_64", |a, env| double(a, env, rcp)),
    ("RECIP_CLAMPED_64", |a, env| double(a, env, rcp).map(limited)),
    ("RECIPSQRT_64", |a, env| double_root(a, env)),
    ("RECIPSQRT_CLAMPED_64", |a, env| double_root(a, env).map(limited)),
    ("SQRT_64", |a, env| double(a, env, sqrt)),
];

const NEGATIVE_INFINITY: u32 = 0xff80_0000;

/// To nearest with denormals as zeros, and as the modes say.
fn both(env: Env, result: impl Fn(Env) -> u64) -> Readings {
    [Env::DEFAULT.flushing(), env].map(result).into()
}

/// The page has no result for negative numbers.
fn logarithm(a: u32, env: Env) -> Readings {
    let results = both(env, |env| log2(F32, a.into(), env));
    if host(a, Env::DEFAULT) < 0.0 { results.or([0, u64::MAX]) } else { results }
}

fn reciprocal(a: u32, env: Env) -> Readings {
    both(env, |env| rcp(F32, a.into(), env))
}

/// IEEE 754 has -inf for -0; a root of zero may have no sign.
fn reciprocal_root(a: u32, env: Env) -> Readings {
    let results = both(env, |env| rsq(F32, a.into(), env));
    let zero = F32.flushed(a.into(), false) == u64::from(SIGN);
    if zero { results.or([F32.infinity()]) } else { results }
}

fn replaced(bits: u64, from: u32, magnitude: u32) -> u64 {
    if bits == u64::from(from) { u64::from(from & SIGN | magnitude) } else { bits }
}

/// An infinity becomes this magnitude with its sign.
fn infinite(bits: u64, magnitude: u32) -> u64 {
    match bits & F32.magnitude() == F32.infinity() {
        true => bits & F32.sign() | u64::from(magnitude),
        false => bits,
    }
}

/// The sine of turns, some quarters ahead. "The valid input domain is [-256, +256]"; results beyond
/// it are constants.
fn angle(a: u32, quarters: i64, beyond: u32, env: Env) -> Readings {
    match f32::from_bits(a).abs() > 256.0 {
        true => beyond.into(),
        false => {
            [Env::DEFAULT, Env::DEFAULT.flushing(), env].map(|env| sine(F32, a.into(), quarters, env)).into()
        }
    }
}

fn double(a: u64, env: Env, result: fn(crate::Format, u64, Env) -> u64) -> Readings {
    [Env::DEFAULT, Env::DEFAULT.flushing(), env].map(|env| result(F64, a, env)).into()
}

fn double_root(a: u64, env: Env) -> Readings {
    let results = double(a, env, rsq);
    let zero = F64.flushed(a, false) == F64.sign();
    if zero { results.or([F64.infinity()]) } else { results }
}

/// An infinity becomes the largest number.
fn limited(bits: u64) -> u64 {
    if bits & F64.magnitude() == F64.infinity() { bits - 1 } else { bits }
}
