//! Floating-point exceptions of additions, products, multiply-adds, output modifiers, comparisons and conversions to
//! integers (IEEE 754, 7; Vega ISA 3.10), as bits of TRAPSTS.EXCP.

use num_bigint::BigInt;

use crate::env::{Env, Round};
use crate::format::{Datum, F16, F32, Format};
use crate::mixed::Wide;
use crate::number::Number;

/// The bits of TRAPSTS.EXCP.
pub mod excp {
    /// Invalid operation, or a signalling NaN.
    pub const INVALID: u32 = 1;
    /// A denormal source that is not flushed.
    pub const INPUT_DENORMAL: u32 = 1 << 1;
    /// A finite number divided by zero.
    pub const DIVIDE_BY_ZERO: u32 = 1 << 2;
    /// The rounded result is beyond the largest number.
    pub const OVERFLOW: u32 = 1 << 3;
    /// The result is inexact and tiny: rounded without a limit for the exponent, it is below the smallest normal number
    /// (IEEE 754, 7.5). Or a denormal result is flushed.
    pub const UNDERFLOW: u32 = 1 << 4;
    /// The result is not the exact one.
    pub const INEXACT: u32 = 1 << 5;
}

/// The exceptions of rounding a number.
fn rounding(f: Format, value: &Number, env: Env) -> u32 {
    let Some(bits) = f.magnitude_of(value, env.round) else { return excp::OVERFLOW | excp::INEXACT };
    if f.is_denormal(bits) && !env.keeps_outputs {
        return excp::UNDERFLOW | excp::INEXACT;
    }
    match f.decode(bits, true) {
        Datum::Finite { value: rounded, .. } if rounded == value.abs() => 0,
        _ if is_tiny(f, value, env.round) => excp::UNDERFLOW | excp::INEXACT,
        _ => excp::INEXACT,
    }
}

/// Whether a nonzero number, rounded to the precision of the format without a limit for the exponent,
/// is below the smallest normal number.
fn is_tiny(f: Format, value: &Number, round: Round) -> bool {
    let unit = value.leading() - i64::from(f.mantissa);
    Number::new(value.round_to(unit, round), unit).abs() < Number::new(1, 1 - f.bias)
}

/// The exceptions of [`omod`](crate::omod) of the same arguments: a product with a power of two.
#[must_use]
pub fn omod_exceptions(f: Format, result: u64, power: i64, env: Env) -> u32 {
    if power == 0 || env.ieee || env.keeps_outputs {
        return 0;
    }
    match f.decode(result, env.keeps_inputs) {
        Datum::Finite { value, .. } => rounding(f, &value.times_power(power), env),
        _ => 0,
    }
}

/// The exceptions of a comparison: of a NaN only if CLAMP makes it signal (Vega ISA 12.9.1).
#[must_use]
pub fn compare_exceptions(f: Format, sources: [u64; 2], signals: bool, env: Env) -> u32 {
    let any = |is: &dyn Fn(u64) -> bool| sources.into_iter().any(is);
    let invalid = if signals && any(&|bits| f.is_nan(bits)) { excp::INVALID } else { 0 };
    let denormal = env.keeps_inputs && any(&|bits| f.is_denormal(bits));
    invalid | if denormal { excp::INPUT_DENORMAL } else { 0 }
}

/// The exceptions of a conversion to an integer, which gives the integer `result` of a number before
/// saturation. Out of range, it is invalid and nothing else (IEEE 754, 5.8 and 7.1). CLAMP decides
/// whether it raises inexact (Vega ISA 12.8).
#[must_use]
pub fn integer_exceptions(
    from: Format,
    a: u64,
    result: impl Fn(&Number) -> BigInt,
    [min, max]: [i64; 2],
    inexact: bool,
    env: Env,
) -> u32 {
    let denormal = if env.keeps_inputs && from.is_denormal(a) { excp::INPUT_DENORMAL } else { 0 };
    let Datum::Finite { value, .. } = from.decode(a, env.keeps_inputs) else { return excp::INVALID };
    let integer = result(&value);
    let in_range = integer >= min.into() && integer <= max.into();
    let exact = Number::new(integer, 0) == value;
    denormal
        | match (in_range, exact) {
            (false, _) => excp::INVALID,
            (true, false) if inexact => excp::INEXACT,
            (true, _) => 0,
        }
}

/// A source of an operation: its format, its bits, and whether a denormal is kept.
type Source = (Format, u64, bool);

/// The exceptions of `a * b + c`, rounded once; of `a + c` if `b` is missing, of `a * b` if `c` is.
#[must_use]
pub fn multiply_add(f: Format, a: u64, b: Option<u64>, c: Option<u64>, env: Env) -> u32 {
    fused(f, [Some(a), b, c].map(|bits| bits.map(|bits| (f, bits, env.keeps_inputs))), env)
}

/// The exceptions of [`fma_mix`](crate::fma_mix) of the same arguments.
#[must_use]
pub fn fma_mix_exceptions(to: Format, s: [Wide; 3], singles: bool, halves: bool, env: Env) -> u32 {
    let source = |x| match x {
        Wide::Single(bits) => (F32, bits, singles),
        Wide::Half(bits) => (F16, bits, halves),
    };
    fused(to, s.map(|x| Some(source(x))), env)
}

/// [`multiply_add`] of sources of any formats, rounded to `to`. Each source raises what it calls for,
/// whatever stands beside it.
fn fused(to: Format, sources: [Option<Source>; 3], env: Env) -> u32 {
    let given = || sources.into_iter().flatten();
    let mut found = 0;
    if given().any(|(f, bits, _)| f.is_signalling(bits)) {
        found |= excp::INVALID;
    }
    if given().any(|(f, bits, keeps)| keeps && f.is_denormal(bits)) {
        found |= excp::INPUT_DENORMAL;
    }
    let one = Datum::Finite { negative: false, value: Number::new(1, 0) };
    let [a, b, c] = sources.map(|source| source.map(|(f, bits, keeps)| f.decode(bits, keeps)));
    let (Some(a), b) = (a, b.unwrap_or(one)) else { return found };
    if a.is_infinite() && b.is_zero() || a.is_zero() && b.is_infinite() {
        return found | excp::INVALID;
    }
    if a == Datum::Nan || b == Datum::Nan || c == Some(Datum::Nan) {
        return found;
    }
    let negative = a.is_negative() != b.is_negative();
    match (&a, &b, c) {
        (Datum::Finite { value: x, .. }, Datum::Finite { value: y, .. }, None) => {
            found | rounding(to, &(x * y), env)
        }
        (
            Datum::Finite { value: x, .. },
            Datum::Finite { value: y, .. },
            Some(Datum::Finite { value: z, .. }),
        ) => found | rounding(to, &(&(x * y) + &z), env),
        (Datum::Finite { .. }, Datum::Finite { .. }, _) => found,
        (_, _, Some(Datum::Infinite { negative: other })) if other != negative => found | excp::INVALID,
        _ => found,
    }
}
