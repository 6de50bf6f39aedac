//! The three helpers of division sequences (Vega ISA 12.12). The manual's ladders for the first two
//! give wrong quotients as printed. The rules here follow the observed behaviour of hardware
//! (tinygrad's hardware tests of RDNA3; `ROCm/rocm-systems` pull request 11613), and for f64 the
//! same rules with the constants of that format.

use crate::arith::{fma, fma_data};
use crate::env::{Env, Round};
use crate::format::{Datum, F64, Format};
use crate::integral::ldexp;

fn exponent(f: Format, bits: u64) -> i64 {
    ((bits & f.magnitude()) >> f.mantissa) as i64
}

/// V_DIV_SCALE: returns `s0`, which is the numerator `s2` or the denominator `s1`, scaled, and the
/// bit of VCC.
#[must_use]
pub fn div_scale(f: Format, s: [u64; 3], env: Env) -> (u64, bool) {
    let [s0, s1, s2] = s.map(|x| f.flushed(x, env.keeps_inputs));
    let (scale, near, tiny) = if f == F64 { (128, 768, 53) } else { (64, 96, 23) };
    let (denominator, numerator) = (exponent(f, s1), exponent(f, s2));
    let far = (numerator - denominator).abs() >= near;
    if s1 & f.magnitude() == 0 || s2 & f.magnitude() == 0 {
        return (f.invalid(), far);
    }
    let scales_denominator = s0 == s1;
    let overflows = numerator - denominator >= near;
    // Above the greatest power of two whose reciprocal is normal.
    let greatest = (f.infinity() >> f.mantissa) as i64 - 2;
    let huge = s1 & f.magnitude() > (greatest as u64) << f.mantissa;
    let power = match (overflows, denominator == 0, huge, far) {
        (true, ..) => {
            if scales_denominator {
                scale
            } else {
                0
            }
        }
        (_, true, ..) => scale,
        (_, _, true, _) => {
            if far && !scales_denominator {
                0
            } else {
                -scale
            }
        }
        (_, _, _, true) => {
            if scales_denominator {
                0
            } else {
                scale
            }
        }
        _ => {
            if numerator <= tiny {
                scale
            } else {
                0
            }
        }
    };
    (ldexp(f, s0, power, env.keeping().rounding(Round::NearestEven)), far)
}

/// V_DIV_FMAS: `a * b + c`, and with the bit of VCC times the power of two that undoes
/// [`div_scale`]. Inputs are not flushed.
#[must_use]
pub fn div_fmas(f: Format, s: [u64; 3], scaled: bool, env: Env) -> u64 {
    let env = Env { keeps_inputs: true, ..env };
    if !scaled {
        return fma(f, s, env);
    }
    let scale = if f == F64 { 128 } else { 64 };
    let scale = if exponent(f, s[2]) > f.bias { scale } else { -scale };
    let [a, b, c] = s.map(|x| f.decode(x, true));
    // The factor is applied to the exact sum.
    let times = |datum: &Datum| match datum {
        Datum::Finite { negative, value } => {
            Datum::Finite { negative: *negative, value: value.times_power(scale) }
        }
        other => other.clone(),
    };
    fma_data(f, [&times(&a), &b, &times(&c)], f.propagated(&s), env)
}

/// V_DIV_FIXUP of the quotient `s[0]` of `s[2] / s[1]`.
#[must_use]
pub fn div_fixup(f: Format, [q, d, n]: [u64; 3], env: Env) -> u64 {
    if let Some(nan) = f.propagated(&[n, d]) {
        return nan;
    }
    let negative = (d ^ n) & f.sign() != 0;
    let [denominator, numerator] = [d, n].map(|x| f.decode(x, env.keeps_inputs));
    let [d, n, q] = [d, n, q].map(|x| f.flushed(x, env.keeps_inputs));
    // The manual's values are -150 and -1075 (Vega ISA 12.12); f16 has no such step.
    let least = match f.bits {
        16 => i64::MIN,
        _ => -f.bias - i64::from(f.mantissa),
    };
    match (&numerator, &denominator) {
        _ if numerator.is_zero() && denominator.is_zero() => f.invalid(),
        _ if numerator.is_infinite() && denominator.is_infinite() => f.invalid(),
        _ if denominator.is_zero() || numerator.is_infinite() => f.signed(negative, f.infinity()),
        _ if denominator.is_infinite() || numerator.is_zero() => f.signed(negative, 0),
        _ if exponent(f, n) - exponent(f, d) < least => f.signed(negative, 0),
        _ if f.is_nan(q) => f.signed(negative, f.infinity()),
        _ => f.signed(negative, q & f.magnitude()),
    }
}
