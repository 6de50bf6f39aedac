//! Floating-point exceptions of additions, products and multiply-adds (IEEE 754, 7; Vega ISA 3.10), as bits of
//! TRAPSTS.EXCP.

use crate::env::Env;
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
    /// The result is inexact and below the smallest normal number after rounding, or a denormal that is flushed.
    pub const UNDERFLOW: u32 = 1 << 4;
    /// The result is not the exact one.
    pub const INEXACT: u32 = 1 << 5;
}

/// The exceptions of rounding a number.
fn rounding(f: Format, value: &Number, env: Env) -> u32 {
    let Some(bits) = f.magnitude_of(value, env.round) else { return excp::OVERFLOW | excp::INEXACT };
    let tiny = bits < 1 << f.mantissa;
    if bits != 0 && tiny && !env.keeps_outputs {
        return excp::UNDERFLOW | excp::INEXACT;
    }
    match f.decode(bits, true) {
        Datum::Finite { value: rounded, .. } if rounded == value.abs() => 0,
        _ if tiny => excp::UNDERFLOW | excp::INEXACT,
        _ => excp::INEXACT,
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
