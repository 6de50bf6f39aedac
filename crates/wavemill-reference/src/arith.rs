//! Addition, multiplication, multiply-adds, division, reciprocals and roots.

use crate::env::{Env, Round};
use crate::format::{Datum, Format};
use crate::number::Number;

/// The sum of two numbers, with the sign of an exact zero (IEEE 754, 6.3).
fn sum(a: &Number, a_negative: bool, b: &Number, b_negative: bool, round: Round) -> (Number, bool) {
    let zero = if a_negative == b_negative { a_negative } else { round == Round::Down };
    (a + b, zero)
}

/// `a + b` of operands that are not NaN.
fn add_data(f: Format, a: &Datum, b: &Datum, env: Env) -> u64 {
    match (a, b) {
        (Datum::Infinite { negative: x }, Datum::Infinite { negative: y }) if x != y => f.invalid(),
        (Datum::Infinite { negative }, _) | (_, Datum::Infinite { negative }) => {
            f.signed(*negative, f.infinity())
        }
        (Datum::Finite { negative: x, value: a }, Datum::Finite { negative: y, value: b }) => {
            let (value, zero) = sum(a, *x, b, *y, env.round);
            f.encode(&value, zero, env)
        }
        _ => f.invalid(),
    }
}

/// `a + b`.
#[must_use]
pub fn add(f: Format, [a, b]: [u64; 2], env: Env) -> u64 {
    f.propagated(&[a, b])
        .unwrap_or_else(|| add_data(f, &f.decode(a, env.keeps_inputs), &f.decode(b, env.keeps_inputs), env))
}

/// `a - b`, computed as `a + -b`: the sign of a NaN changes, too.
#[must_use]
pub fn sub(f: Format, [a, b]: [u64; 2], env: Env) -> u64 {
    add(f, [a, b ^ f.sign()], env)
}

/// `a * b`.
#[must_use]
pub fn mul(f: Format, s: [u64; 2], env: Env) -> u64 {
    if let Some(nan) = f.propagated(&s) {
        return nan;
    }
    let [a, b] = s.map(|x| f.decode(x, env.keeps_inputs));
    let negative = a.is_negative() != b.is_negative();
    match (&a, &b) {
        (Datum::Finite { value: x, .. }, Datum::Finite { value: y, .. }) => f.encode(&(x * y), negative, env),
        _ if a.is_zero() || b.is_zero() => f.invalid(),
        _ => f.signed(negative, f.infinity()),
    }
}

/// `a * b`, but 0 if a factor is 0, even if the other one is infinite or a NaN (Vega ISA 12.7,
/// V_MUL_LEGACY_F32).
#[must_use]
pub fn mul_legacy(f: Format, s: [u64; 2], env: Env) -> u64 {
    let zero = s.iter().any(|x| f.flushed(*x, env.keeps_inputs) & f.magnitude() == 0);
    if zero { 0 } else { mul(f, s, env) }
}

/// `a * b + c` of data, rounded once. `nan` is the result for NaN sources; infinity times zero
/// takes precedence.
pub(crate) fn fma_data(f: Format, [a, b, c]: [&Datum; 3], nan: Option<u64>, env: Env) -> u64 {
    if a.is_infinite() && b.is_zero() || a.is_zero() && b.is_infinite() {
        return f.invalid();
    }
    if let Some(nan) = nan {
        return nan;
    }
    let negative = a.is_negative() != b.is_negative();
    match (a, b) {
        (Datum::Finite { value: x, .. }, Datum::Finite { value: y, .. }) => {
            add_data(f, &Datum::Finite { negative, value: x * y }, c, env)
        }
        _ => add_data(f, &Datum::Infinite { negative }, c, env),
    }
}

/// `a * b + c`, rounded once.
#[must_use]
pub fn fma(f: Format, s: [u64; 3], env: Env) -> u64 {
    let [a, b, c] = s.map(|x| f.decode(x, env.keeps_inputs));
    fma_data(f, [&a, &b, &c], f.propagated(&s), env)
}

/// `a * b + c`, rounded after each step, with denormals flushed everywhere in every mode (Vega ISA
/// 12.12, V_MAD_F32).
#[must_use]
pub fn mad(f: Format, [a, b, c]: [u64; 3], env: Env) -> u64 {
    let env = env.flushing();
    add(f, [mul(f, [a, b], env), c], env)
}

/// [`mad`] with the product of [`mul_legacy`].
#[must_use]
pub fn mad_legacy(f: Format, [a, b, c]: [u64; 3], env: Env) -> u64 {
    let env = env.flushing();
    add(f, [mul_legacy(f, [a, b], env), c], env)
}

/// `a / b`, correctly rounded: the expected result of a division sequence.
#[must_use]
pub fn div(f: Format, s: [u64; 2], env: Env) -> u64 {
    if let Some(nan) = f.propagated(&s) {
        return nan;
    }
    let [a, b] = s.map(|x| f.decode(x, env.keeps_inputs));
    let negative = a.is_negative() != b.is_negative();
    match (&a, &b) {
        _ if a.is_zero() && b.is_zero() || a.is_infinite() && b.is_infinite() => f.invalid(),
        _ if a.is_infinite() || b.is_zero() => f.signed(negative, f.infinity()),
        (Datum::Finite { value: x, .. }, Datum::Finite { value: y, .. }) => {
            f.encode(&x.over(y), negative, env)
        }
        _ => f.signed(negative, 0),
    }
}

/// `1 / a`, correctly rounded.
#[must_use]
pub fn rcp(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Infinite { negative } => f.signed(negative, 0),
        Datum::Finite { negative, value } if value.is_zero() => f.signed(negative, f.infinity()),
        Datum::Finite { negative, value } => f.encode(&Number::new(1, 0).over(&value), negative, env),
    }
}

/// The square root, correctly rounded.
#[must_use]
pub fn sqrt(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Finite { negative, value } if value.is_zero() => f.signed(negative, 0),
        Datum::Infinite { negative: true } | Datum::Finite { negative: true, .. } => f.invalid(),
        Datum::Infinite { .. } => f.infinity(),
        Datum::Finite { value, .. } => f.encode(&value.root(), false, env),
    }
}

/// `1 / sqrt(a)`, correctly rounded.
#[must_use]
pub fn rsq(f: Format, a: u64, env: Env) -> u64 {
    match f.decode(a, env.keeps_inputs) {
        Datum::Nan => f.quieted(a),
        Datum::Finite { negative, value } if value.is_zero() => f.signed(negative, f.infinity()),
        Datum::Infinite { negative: true } | Datum::Finite { negative: true, .. } => f.invalid(),
        Datum::Infinite { .. } => 0,
        // The root of the quotient. Truncating the digits of both does not change the rounded
        // result, because no reciprocal root of a float is that close to a float or to the midpoint
        // of two.
        Datum::Finite { value, .. } => f.encode(&Number::new(1, 0).over(&value).root(), false, env),
    }
}
