//! Minimum, maximum and median.
//!
//! Denormals are flushed as the mode says, as everywhere on GFX9.

use std::cmp::Ordering;

use wavemill_ir::FpEnv;

use crate::compare::order;
use crate::format::Format;
use crate::nan;
use crate::value::{flush_in, flush_out};

/// Which of two numbers is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extreme {
    Least,
    Greatest,
}

/// The wanted one of two patterns that are not NaN; -0 counts as less than +0.
fn pick<F: Format>(a: u64, b: u64, which: Extreme) -> u64 {
    let a_less = match order::<F>(a, b) {
        Some(Ordering::Less) => true,
        Some(Ordering::Greater) => false,
        // Equal numbers have equal bits, except zeros.
        _ => a & F::SIGN != 0,
    };
    if a_less == (which == Extreme::Least) { a } else { b }
}

/// Minimum or maximum of two (Vega ISA 12.7, V_MIN_F32 and V_MAX_F32): with MODE.IEEE a signalling NaN is quieted
/// and returned; otherwise the operand that is no NaN wins, and of two NaNs the second, untouched.
fn extreme<F: Format>(a: u64, b: u64, which: Extreme, env: FpEnv) -> u64 {
    nan::signal::<F>(&[a, b]);
    if env.ieee && F::is_signalling(a) {
        nan::quiet::<F>(a)
    } else if env.ieee && F::is_signalling(b) {
        nan::quiet::<F>(b)
    } else if F::is_nan(a) {
        b
    } else if F::is_nan(b) {
        a
    } else {
        pick::<F>(a, b, which)
    }
}

/// The first `N` sources after input flushing.
fn inputs<F: Format, const N: usize>(s: [u64; 3], env: FpEnv) -> [u64; N] {
    std::array::from_fn(|n| flush_in::<F>(s[n], env))
}

pub(crate) fn min<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let [a, b] = inputs::<F, 2>(s, env);
    flush_out::<F>(extreme::<F>(a, b, Extreme::Least, env), env)
}

pub(crate) fn max<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let [a, b] = inputs::<F, 2>(s, env);
    flush_out::<F>(extreme::<F>(a, b, Extreme::Greatest, env), env)
}

/// `a < b ? a : b` (HD 6900 ISA 8.2, MIN). Denormals are flushed as the mode says, and a NaN stays as it is
/// (*modelled*).
pub(crate) fn min_select<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let [a, b] = inputs::<F, 2>(s, env);
    nan::signal::<F>(&[a, b]);
    let less = order::<F>(a, b) == Some(Ordering::Less);
    flush_out::<F>(if less { a } else { b }, env)
}

/// `a >= b ? a : b` (HD 6900 ISA 8.2, MAX), as [`min_select`].
pub(crate) fn max_select<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let [a, b] = inputs::<F, 2>(s, env);
    nan::signal::<F>(&[a, b]);
    let less = matches!(order::<F>(a, b), None | Some(Ordering::Less));
    flush_out::<F>(if less { b } else { a }, env)
}

/// [`min_select`], in which a number wins over a NaN (HD 6900 ISA 8.2, MIN_DX10; *modelled*: the first of two NaNs).
pub(crate) fn min_number<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    number::<F>(s, env).unwrap_or_else(|| min_select::<F>(s, env))
}

/// [`max_select`], in which a number wins over a NaN (HD 6900 ISA 8.2, MAX_DX10; *modelled*: the first of two NaNs).
pub(crate) fn max_number<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    number::<F>(s, env).unwrap_or_else(|| max_select::<F>(s, env))
}

/// The first source if the second one is a NaN.
fn number<F: Format>(s: [u64; 3], env: FpEnv) -> Option<u64> {
    let [a, b, _] = s;
    F::is_nan(b).then(|| {
        nan::signal::<F>(&[a, b]);
        flush_out::<F>(flush_in::<F>(a, env), env)
    })
}

/// Nested minimum of three.
pub(crate) fn min3<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let [a, b, c] = inputs::<F, 3>(s, env);
    let ab = extreme::<F>(a, b, Extreme::Least, env);
    flush_out::<F>(extreme::<F>(ab, c, Extreme::Least, env), env)
}

/// Nested maximum of three.
pub(crate) fn max3<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let [a, b, c] = inputs::<F, 3>(s, env);
    let ab = extreme::<F>(a, b, Extreme::Greatest, env);
    flush_out::<F>(extreme::<F>(ab, c, Extreme::Greatest, env), env)
}

/// Median of three; the minimum if there is a NaN. It distinguishes +0 and -0 only where the
/// manual's steps do (Vega ISA 12.12, V_MED3_F32): they compare the maximum with the sources as
/// numbers.
pub(crate) fn med3<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    if s.iter().any(|&x| F::is_nan(x)) {
        nan::signal::<F>(&s);
        return min3::<F>(s, env);
    }
    let [a, b, c] = inputs::<F, 3>(s, env);
    let greatest = pick::<F>(pick::<F>(a, b, Extreme::Greatest), c, Extreme::Greatest);
    let equals = |x| order::<F>(greatest, x) == Some(Ordering::Equal);
    let (x, y) = if equals(a) {
        (b, c)
    } else if equals(b) {
        (a, c)
    } else {
        (a, b)
    };
    flush_out::<F>(pick::<F>(x, y, Extreme::Greatest), env)
}

/// IEEE 754-2019 minimum or maximum of three: NaNs propagate.
fn extreme3<F: Format>(s: [u64; 3], which: Extreme, env: FpEnv) -> u64 {
    if let Some(nan) = nan::propagate::<F>(&s, env) {
        return nan;
    }
    let [a, b, c] = inputs::<F, 3>(s, env);
    flush_out::<F>(pick::<F>(pick::<F>(a, b, which), c, which), env)
}

pub(crate) fn minimum3<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    extreme3::<F>(s, Extreme::Least, env)
}

pub(crate) fn maximum3<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    extreme3::<F>(s, Extreme::Greatest, env)
}
