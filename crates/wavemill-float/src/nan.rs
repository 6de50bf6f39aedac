//! The NaN policy, in one place.
//!
//! The manuals fix little of it, so most of it is a *modelled* choice (measured on later AMD parts):
//! - Sources are checked in the order src0, src1, src2. The first NaN is the result, quieted, with
//!   its sign and payload. Source modifiers have been applied before: a subtraction negates its
//!   second source first.
//! - An invalid operation gives [`Format::DEFAULT_NAN`], which is negative and quiet (Vega ISA 12.8, the examples of
//!   `v_log_f32`, `v_rsq_f32`, `v_sqrt_f32`, `v_sin_f32`).
//! - In a fused multiply-add an infinity times a zero gives the default NaN even if the addend is a NaN.
//! - A NaN that is narrowed keeps its sign and the top bits of its payload; one that is widened gets zeros below.
//! - MODE.IEEE = 0 changes minimum and maximum only: other operations quiet signalling NaNs in either case.

use wavemill_ir::FpEnv;

use crate::exceptions::{Exceptions, raise};
use crate::format::{Format, Specials};
use crate::value::flush_in;

/// Quiets a NaN. The pattern must be a NaN.
#[inline]
pub(crate) fn quiet<F: Format>(bits: u64) -> u64 {
    match F::SPECIALS {
        Specials::Ieee => bits | F::QUIET,
        _ => bits,
    }
}

/// Raises "invalid" if there is a signalling NaN.
#[inline]
pub(crate) fn signal<F: Format>(sources: &[u64]) {
    if sources.iter().any(|&s| F::is_signalling(s)) {
        raise(Exceptions::INVALID);
    }
}

/// The result of an invalid operation.
#[inline]
pub(crate) fn invalid<F: Format>() -> u64 {
    raise(Exceptions::INVALID);
    F::DEFAULT_NAN
}

/// The result that the NaNs among the sources call for, if there is any. Denormals beside a NaN raise
/// "input denormal" as beside a number.
#[inline]
pub(crate) fn propagate<F: Format>(sources: &[u64], env: FpEnv) -> Option<u64> {
    let &nan = sources.iter().find(|&&s| F::is_nan(s))?;
    signal::<F>(sources);
    for source in sources {
        flush_in::<F>(*source, env);
    }
    Some(quiet::<F>(nan))
}

/// The NaN that is the result of an operation on these sources, if its result is a NaN, without the
/// exceptions that it raises: for engines that find such results in vectors.
#[inline(always)]
#[must_use]
pub fn nan_result<F: Format>(sources: &[u64]) -> u64 {
    sources.iter().find(|&&s| F::is_nan(s)).map_or(F::DEFAULT_NAN, |&s| quiet::<F>(s))
}

/// [`nan_result`] of a multiply-add: the product of an infinity and a zero takes precedence over a NaN addend.
#[inline(always)]
#[must_use]
pub fn nan_result_of_fma<F: Format>([a, b, c]: [u64; 3]) -> u64 {
    let invalid = F::is_inf(a) && F::is_zero(b) || F::is_zero(a) && F::is_inf(b);
    let addend = if invalid { F::DEFAULT_NAN } else { c };
    nan_result::<F>(&[a, b, addend])
}

/// The NaN `bits` of format `S` as a quiet NaN of format `D`.
#[inline]
pub(crate) fn convert<S: Format, D: Format>(bits: u64) -> u64 {
    signal::<S>(&[bits]);
    match (S::SPECIALS, D::SPECIALS) {
        (Specials::Ieee, Specials::Ieee) => {
            let sign = if bits & S::SIGN != 0 { D::SIGN } else { 0 };
            let payload = bits & S::MANTISSA;
            let payload =
                if D::MAN >= S::MAN { payload << (D::MAN - S::MAN) } else { payload >> (S::MAN - D::MAN) };
            sign | D::INF | D::QUIET | payload
        }
        (_, Specials::NanAllOnes) => (if bits & S::SIGN != 0 { D::SIGN } else { 0 }) | D::MAGNITUDE,
        // A NaN of such a format has no payload. Its sign is kept.
        (Specials::NanAllOnes, Specials::Ieee) => {
            (if bits & S::SIGN != 0 { D::SIGN } else { 0 }) | D::INF | D::QUIET
        }
        _ => D::DEFAULT_NAN,
    }
}
