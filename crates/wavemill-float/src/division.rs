//! The three helpers of the division sequences: V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP (Vega ISA 12.12).
//!
//! As printed, the manual's rules for the first two cannot give correct quotients. *Modelled*: the
//! rules measured on later AMD parts, which do give correct quotients; f64 uses the corresponding
//! constants.
//!
//! V_DIV_FIXUP raises the exceptions of the sources of a division, and V_DIV_FMAS those of its rounding. V_DIV_SCALE
//! raises nothing (*modelled*): the NaN that it gives for a zero is no result of the division.

use wavemill_ir::{FloatType, FpEnv};

use crate::arith::fma_values;
use crate::exceptions::{Exceptions, quietly, raise};
use crate::format::{F32, F64, Format};
use crate::integral::scale;
use crate::nan;
use crate::value::{Exact, Value, flush_in, inf, keeping, nearest, round, zero};

/// Constants of the division helpers of a format.
pub trait DivFormat: Format {
    /// The power of two by which operands and quotients are scaled.
    const SCALE: i32;
    /// Difference of exponents from which the quotient is near overflow or underflow.
    const NEAR: i32;
    /// Exponent field up to which a numerator is tiny.
    const TINY: i32;
}

impl DivFormat for F32 {
    const SCALE: i32 = 64;
    const NEAR: i32 = 96;
    const TINY: i32 = 23;
}

impl DivFormat for F64 {
    const SCALE: i32 = 128;
    const NEAR: i32 = 768;
    const TINY: i32 = 53;
}

/// Result and mask bit of V_DIV_SCALE on patterns of a format.
fn scale_step<F: DivFormat>(s0: u64, s1: u64, s2: u64, env: FpEnv) -> (u64, bool) {
    let [s0, s1, s2] = [s0, s1, s2].map(|s| flush_in::<F>(s, env));
    let (e1, e2) = (F::exp_field(s1), F::exp_field(s2));
    let diff = e2 - e1;
    let mask = diff.abs() >= F::NEAR;
    let is_denominator = s0 == s1;
    let exp = if F::is_zero(s1) || F::is_zero(s2) {
        return (F::DEFAULT_NAN, mask);
    } else if diff >= F::NEAR {
        // The quotient is near overflow: enlarge the denominator only.
        if is_denominator { F::SCALE } else { 0 }
    } else if e1 == 0 {
        F::SCALE
    } else if s1 & F::MAGNITUDE > (F::EXP_FIELD - 2) << F::MAN {
        // The reciprocal of the denominator, which is above 2^-EMIN, would be denormal. (The measurements put this at
        // the next power of two; but then V_RCP_F32, which flushes, would lose the denominators between the two.)
        if mask && !is_denominator { 0 } else { -F::SCALE }
    } else if diff <= -F::NEAR {
        // The quotient is near underflow: enlarge the numerator only.
        if is_denominator { 0 } else { F::SCALE }
    } else if e2 <= F::TINY {
        F::SCALE
    } else {
        0
    };
    // Scaling is exact, but a scaled denominator can be denormal: it must survive.
    let scaled = if exp == 0 || F::is_inf(s0) { s0 } else { scale::<F>(s0, exp, keeping(nearest(env))) };
    (if F::is_nan(s0) { nan::quiet::<F>(s0) } else { scaled }, mask)
}

/// `a * b + c` rounded once after scaling by the power of two that undoes [`scale_step`]. Inputs are not flushed.
fn fmas_step<F: DivFormat>([a, b, c]: [u64; 3], mask: bool, env: FpEnv) -> u64 {
    let env = FpEnv { denorm_in: true, ..env };
    let nan = nan::propagate::<F>(&[a, b, c], env);
    let [va, vb, vc] = [a, b, c].map(|s| Value::unpack::<F>(s, env));
    if let (true, Value::Finite(x), Value::Finite(y), Value::Finite(z)) = (mask, va, vb, vc) {
        let mut sum = Exact::sum(Exact::product(x, y), z.exact(), env.round);
        // The size of the quotient shows which way the operands were scaled.
        sum.exp += if F::exp_field(c) > F::BIAS { F::SCALE } else { -F::SCALE };
        return round::<F>(sum, env);
    }
    fma_values::<F>(va, vb, vc, nan, env)
}

/// Result and mask bit of V_DIV_SCALE of `s0`, which is the denominator `s1` or the numerator `s2`. f32 and f64 only.
#[must_use]
pub fn div_scale(ty: FloatType, s0: u64, s1: u64, s2: u64, env: FpEnv) -> Option<(u64, bool)> {
    match ty {
        FloatType::F32 => {
            let [s0, s1, s2] = [s0, s1, s2].map(|s| s & 0xffff_ffff);
            Some(quietly(|| scale_step::<F32>(s0, s1, s2, env)))
        }
        FloatType::F64 => Some(quietly(|| scale_step::<F64>(s0, s1, s2, env))),
        _ => None,
    }
}

/// V_DIV_FMAS: `s0 * s1 + s2`, scaled back if the mask bit is set. f32 and f64 only.
#[must_use]
pub fn div_fmas(ty: FloatType, s: [u64; 3], mask: bool, env: FpEnv) -> Option<u64> {
    match ty {
        FloatType::F32 => Some(fmas_step::<F32>(s.map(|s| s & 0xffff_ffff), mask, env)),
        FloatType::F64 => Some(fmas_step::<F64>(s, mask, env)),
        _ => None,
    }
}

/// V_DIV_FIXUP: special cases of the quotient `q` of numerator `n` and denominator `d`. A NaN
/// numerator takes precedence over a NaN denominator. *Modelled*: a quotient far below the
/// denormals is a zero, a NaN quotient that no special case explains becomes an infinity. The
/// quotient, which is no source of the division, raises nothing.
pub(crate) fn div_fixup<F: Format>([q, d, n]: [u64; 3], env: FpEnv) -> u64 {
    let neg = (d ^ n) & F::SIGN != 0;
    if let Some(nan) = nan::propagate::<F>(&[n, d], env) {
        return nan;
    }
    let (d, n) = (flush_in::<F>(d, env), flush_in::<F>(n, env));
    // f16 has no branch for quotients that are too small (Vega ISA 12.12, V_DIV_FIXUP_F16).
    let vanishes = F::BITS > 16 && F::exp_field(n) - F::exp_field(d) < F::EMIN - F::MAN as i32 - 1;
    if (F::is_zero(d) && F::is_zero(n)) || (F::is_inf(d) && F::is_inf(n)) {
        nan::invalid::<F>()
    } else if F::is_zero(d) || F::is_inf(n) {
        if F::is_zero(d) && !F::is_inf(n) {
            raise(Exceptions::DIVIDE_BY_ZERO);
        }
        inf::<F>(neg)
    } else if F::is_inf(d) || F::is_zero(n) || vanishes {
        zero::<F>(neg)
    } else if F::is_nan(q) {
        inf::<F>(neg)
    } else {
        zero::<F>(neg) | (quietly(|| flush_in::<F>(q, env)) & F::MAGNITUDE)
    }
}
