//! Addition, multiplication, the multiply-adds, division and the roots.

use wavemill_ir::FpEnv;

use crate::exceptions::{Exceptions, raise};
use crate::format::Format;
use crate::nan;
use crate::value::{Exact, Number, Value, flush_in, flushing, inf, nearest, round, zero};

/// `a + b`.
pub(crate) fn add<F: Format>([a, b, _]: [u64; 3], env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a, b], env) {
        return nan;
    }
    sum::<F>(Value::unpack::<F>(a, env), Value::unpack::<F>(b, env), env)
}

/// `a - b`: the second source is negated first, so that a NaN there comes out with its sign flipped.
pub(crate) fn sub<F: Format>([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    add::<F>([a, b ^ F::SIGN, c], env)
}

/// Sum of two values that are not NaN.
fn sum<F: Format>(a: Value, b: Value, env: FpEnv) -> u64 {
    match (a, b) {
        (Value::Inf { neg: x }, Value::Inf { neg: y }) if x != y => nan::invalid::<F>(),
        (Value::Inf { neg }, _) | (_, Value::Inf { neg }) => inf::<F>(neg),
        (Value::Finite(x), Value::Finite(y)) => round::<F>(Exact::sum(x.exact(), y.exact(), env.round), env),
        _ => nan::invalid::<F>(),
    }
}

/// `a * b`.
pub(crate) fn mul<F: Format>([a, b, _]: [u64; 3], env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a, b], env) {
        return nan;
    }
    let (a, b) = (Value::unpack::<F>(a, env), Value::unpack::<F>(b, env));
    match (a, b) {
        (Value::Finite(x), Value::Finite(y)) => round::<F>(Exact::product(x, y), env),
        _ if a.is_zero() || b.is_zero() => nan::invalid::<F>(),
        _ => inf::<F>(a.is_neg() != b.is_neg()),
    }
}

/// Whether a zero factor makes the legacy product zero (DX9 rules: even times an infinity or a
/// NaN). Both factors raise what they raise in other products.
pub(crate) fn legacy_zero<F: Format>(a: u64, b: u64, env: FpEnv) -> bool {
    nan::signal::<F>(&[a, b]);
    let [a, b] = [a, b].map(|factor| flush_in::<F>(factor, env));
    F::is_zero(a) || F::is_zero(b)
}

/// `a * b`, where zero times anything is +0.
pub(crate) fn mul_legacy<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    if legacy_zero::<F>(s[0], s[1], env) { 0 } else { mul::<F>(s, env) }
}

/// `a * b + c` rounded once, of values of any formats.
///
/// `nan` is the NaN that the sources call for, if any. Infinity times zero takes precedence over
/// it.
pub(crate) fn fma_values<D: Format>(a: Value, b: Value, c: Value, nan: Option<u64>, env: FpEnv) -> u64 {
    if (a.is_inf() && b.is_zero()) || (a.is_zero() && b.is_inf()) {
        return nan::invalid::<D>();
    }
    if let Some(nan) = nan {
        return nan;
    }
    match (a, b, c) {
        (Value::Finite(x), Value::Finite(y), Value::Finite(z)) => {
            round::<D>(Exact::sum(Exact::product(x, y), z.exact(), env.round), env)
        }
        (Value::Finite(_), Value::Finite(_), Value::Inf { neg }) => inf::<D>(neg),
        // The product is infinite.
        _ => {
            let neg = a.is_neg() != b.is_neg();
            if c.is_inf() && c.is_neg() != neg { nan::invalid::<D>() } else { inf::<D>(neg) }
        }
    }
}

/// `a * b + c`, rounded once.
pub(crate) fn fma<F: Format>([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let nan = nan::propagate::<F>(&[a, b, c], env);
    let [a, b, c] = [a, b, c].map(|s| Value::unpack::<F>(s, env));
    fma_values::<F>(a, b, c, nan, env)
}

/// `a * b + c`, rounded after the product and after the sum. The mode's treatment of denormals applies to the product,
/// too: the result is that of an addition after a multiplication (HD 6900 ISA 8.2, MULADD_IEEE).
pub(crate) fn mul_add<F: Format>([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let product = mul::<F>([a, b, 0], env);
    add::<F>([product, c, 0], env)
}

/// [`mul_add`] with the product of [`mul_legacy`] (HD 6900 ISA 8.2, MULADD).
pub(crate) fn mul_add_legacy<F: Format>([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    let product = mul_legacy::<F>([a, b, 0], env);
    add::<F>([product, c, 0], env)
}

/// `a * b + c`, rounded after the product and after the sum, denormals flushed everywhere whatever the mode says
/// (Vega ISA 12.12, V_MAD_F32 and V_MAD_F16).
///
/// The NaN rules are those of the fused operation (*modelled*), so that the product's default NaN wins over `c`.
pub(crate) fn mad<F: Format>([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    mul_add::<F>([a, b, c], flushing(env))
}

/// [`mad`] with the product of [`mul_legacy`].
pub(crate) fn mad_legacy<F: Format>([a, b, c]: [u64; 3], env: FpEnv) -> u64 {
    mul_add_legacy::<F>([a, b, c], flushing(env))
}

/// `a / b`, correctly rounded. No instruction does this; the division sequences are measured against it.
pub(crate) fn div<F: Format>([a, b, _]: [u64; 3], env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a, b], env) {
        return nan;
    }
    let (a, b) = (Value::unpack::<F>(a, env), Value::unpack::<F>(b, env));
    let neg = a.is_neg() != b.is_neg();
    match (a, b) {
        (Value::Inf { .. }, Value::Inf { .. }) => nan::invalid::<F>(),
        (Value::Inf { .. }, _) => inf::<F>(neg),
        (_, Value::Inf { .. }) => zero::<F>(neg),
        (Value::Finite(x), Value::Finite(y)) => match (x.sig, y.sig) {
            (0, 0) => nan::invalid::<F>(),
            (_, 0) => division_by_zero::<F>(neg),
            (0, _) => zero::<F>(neg),
            _ => round::<F>(quotient(x, y), env),
        },
        _ => nan::invalid::<F>(),
    }
}

/// The infinity that a number divided by zero gives.
fn division_by_zero<F: Format>(neg: bool) -> u64 {
    raise(Exceptions::DIVIDE_BY_ZERO);
    inf::<F>(neg)
}

/// The quotient of two numbers, neither zero.
fn quotient(x: Number, y: Number) -> Exact {
    // x.sig / y.sig is in (1/2, 2): 63 bits below the point leave at least 63 bits of quotient.
    let n = u128::from(x.sig) << 63;
    let d = u128::from(y.sig);
    let q = n / d;
    // Bit 63 of the quotient has the weight x.exp - y.exp.
    Exact { neg: x.neg != y.neg, exp: x.exp - y.exp, sig: q << 64, sticky: q * d != n }
}

/// `1 / a`, rounded to nearest; denormals as `env` says.
pub(crate) fn rcp<F: Format>([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    div::<F>([F::ONE, a, 0], nearest(env))
}

/// Square root, rounded to nearest; denormals as `env` says.
pub(crate) fn sqrt<F: Format>([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a], env) {
        return nan;
    }
    match Value::unpack::<F>(a, env) {
        Value::Finite(x) if x.sig == 0 => zero::<F>(x.neg),
        v if v.is_neg() => nan::invalid::<F>(),
        Value::Finite(x) => {
            let odd = x.exp & 1;
            let n = u128::from(x.sig) << (63 + odd as u32);
            let q = n.isqrt();
            // n = 2^126 * sig / 2^63, twice that for an odd exponent: bit 63 of the root has half the even exponent.
            let exp = (x.exp - odd) / 2;
            round::<F>(Exact { neg: false, exp, sig: q << 64, sticky: q * q != n }, nearest(env))
        }
        _ => F::INF,
    }
}

/// `1 / sqrt(a)`, rounded to nearest; denormals as `env` says.
pub(crate) fn rsq<F: Format>([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&[a], env) {
        return nan;
    }
    match Value::unpack::<F>(a, env) {
        Value::Finite(x) if x.sig == 0 => division_by_zero::<F>(x.neg),
        v if v.is_neg() => nan::invalid::<F>(),
        Value::Finite(x) => round::<F>(reciprocal_root(x), nearest(env)),
        _ => 0,
    }
}

/// `1 / sqrt(x)` of a positive number.
fn reciprocal_root(x: Number) -> Exact {
    // With s = sig / 2^63 in [1, 2) and an even exponent, 1 / sqrt(x) = sqrt(1 / s) * 2^(-exp / 2); with an odd one
    // the same of 2 s. The quotient 2^k / d is cut to an integer first: the root of the cut quotient is the cut root.
    let odd = x.exp & 1;
    let exp = (x.exp - odd) / 2;
    // The low bits of the significand are zero: at most 53 bits carry the number.
    let d = u128::from(x.sig >> 11) << odd;
    // n = 2^174 / d in two steps of long division, between 2^120 and 2^122.
    let (q1, r1) = ((1u128 << 116) / d, (1u128 << 116) % d);
    let (q2, r2) = ((r1 << 58) / d, (r1 << 58) % d);
    let n = (q1 << 58) + q2;
    let q = n.isqrt();
    // d = s * 2^52, so q = 2^61 / sqrt(s): bit 61 has the weight -exp.
    Exact { neg: false, exp: -exp, sig: q << 66, sticky: r2 != 0 || q * q != n }
}
