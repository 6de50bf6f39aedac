//! Reciprocal, roots, powers, logarithms, sine and cosine of f32 and f16.
//!
//! Everything is straight-line f64 code of `+ - * /` and `sqrt`, which IEEE 754 fixes bit for bit,
//! and integer operations. There are no calls of a host library, no fused multiply-adds and no
//! tables. A loop over lanes vectorises. The f32 functions are both the normal path of the engines
//! and the reference.
//!
//! They ignore the rounding fields of MODE (Vega ISA 12.8): results round to nearest even. Of f32, all but sine and
//! cosine flush denormals in every mode. Sine, cosine, and all functions of f16 and f64 obey the denormal field of
//! their type, as LLVM's back end relies on (facet `elementary_denormals`).
//!
//! Accuracy: all f32 functions are correctly rounded. The tests prove it for the reciprocal and the
//! roots (all significands). The others have been compared on all 2^32 sources with arithmetic of
//! 64-bit significands. The f16 functions are correctly rounded on all sources, which the tests
//! check.

use wavemill_ir::FpEnv;

use crate::convert::convert;
use crate::exceptions::{Exceptions, raise, watched};
use crate::format::{F16, F64, Format};
use crate::nan;
use crate::value::{flush_in, flushing, nearest};

/// Adding this number rounds an f64 below 2^51 to an integer, whose low bits are then the low
/// mantissa bits.
pub const TO_INT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

const SIGN: u32 = 0x8000_0000;
const INF: u32 = 0x7f80_0000;
const MIN_NORMAL: u32 = 0x0080_0000;
const NAN: u32 = 0xffc0_0000;

/// A denormal becomes a zero of its sign.
#[inline(always)]
const fn flush(bits: u32) -> u32 {
    if bits & INF == 0 { bits & SIGN } else { bits }
}

/// `result`, or the quieted source if that is a NaN: NaNs computed by the host are never returned.
#[inline(always)]
const fn unless_nan(source: u32, result: u32) -> u32 {
    if source & !SIGN > INF { source | 0x0040_0000 } else { result }
}

/// `c[0] + x * (c[1] + x * (...))`.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, c: &[f64; N]) -> f64 {
    let mut sum = c[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum * x + c[i];
    }
    sum
}

/// `1 / x`, correctly rounded, denormals flushed.
#[inline(always)]
#[must_use]
pub fn rcp_f32(x: u32) -> u32 {
    let f = f64::from(f32::from_bits(flush(x)));
    unless_nan(x, flush(((1.0 / f) as f32).to_bits()))
}

/// `sqrt(x)`, correctly rounded, denormals flushed; the default NaN below zero.
#[inline(always)]
#[must_use]
pub fn sqrt_f32(x: u32) -> u32 {
    let x = if x & !SIGN > INF { x } else { flush(x) };
    let f = f64::from(f32::from_bits(x));
    let y = if x > SIGN { NAN } else { (f.sqrt() as f32).to_bits() };
    unless_nan(x, y)
}

/// `1 / sqrt(x)`, correctly rounded, denormals flushed; the default NaN below zero.
#[inline(always)]
#[must_use]
pub fn rsq_f32(x: u32) -> u32 {
    let x = if x & !SIGN > INF { x } else { flush(x) };
    let f = f64::from(f32::from_bits(x));
    // The root of -0 is -0, and so the result -inf.
    let y = if x > SIGN { NAN } else { ((1.0 / f.sqrt()) as f32).to_bits() };
    unless_nan(x, y)
}

/// Coefficients of 2^r on \[-1/2, 1/2\], relative error 2^-57, for [`exp2_f32`].
pub const EXP2_COEFFICIENTS: [f64; 12] = [
    1.0,
    std::f64::consts::LN_2,
    0.24022650695910158,
    0.055504108664821625,
    0.009618129107587256,
    0.001333355814640647,
    0.00015403530463724353,
    1.5252733841556773e-05,
    1.3215432535912375e-06,
    1.0178057087733941e-07,
    7.074194297288521e-09,
    4.4558179083360645e-10,
];

/// The only two sources of [`exp2_f32`] whose results are too close to the midpoint of two neighbours for f64 to decide.
pub const EXP2_TOO_CLOSE: [u32; 2] = [0x3b42_9d37, 0xbcf3_a937];

/// 2 to the power `x`, without special cases: `x` must be a number of at most 1000 in size.
#[inline(always)]
fn exp2_kernel(x: f64) -> f64 {
    let n = x + TO_INT;
    let p = polynomial(x - (n - TO_INT), &EXP2_COEFFICIENTS);
    // The integer is added to the exponent field; its upper bits fall off.
    f64::from_bits(p.to_bits().wrapping_add(n.to_bits() << 52))
}

/// `2^x`, denormals flushed.
#[inline(always)]
#[must_use]
pub fn exp2_f32(x: u32) -> u32 {
    let f = f64::from(f32::from_bits(x));
    // The comparisons also replace a NaN.
    let f = if f > -256.0 { f } else { -256.0 };
    let f = if f < 256.0 { f } else { 256.0 };
    let y = (exp2_kernel(f) as f32).to_bits();
    let y = y + u32::from((x == EXP2_TOO_CLOSE[0]) | (x == EXP2_TOO_CLOSE[1]));
    unless_nan(x, flush(y))
}

/// Binary logarithm of `m * 2^e` with `m` between about `sqrt(1/2)` and `sqrt(2)`.
#[inline(always)]
fn log2_kernel(m: f64, e: f64) -> f64 {
    /// `log2((1 + s) / (1 - s)) / s` as a function of `s^2`, relative error 2^-66.
    const C: [f64; 9] = [
        2.8853900817779268,
        0.9617966939259754,
        0.5770780163556936,
        0.412198583073463,
        0.32059890453872275,
        0.26230754780023596,
        0.22198981902561918,
        0.1911389922870324,
        0.191334029264787,
    ];
    let s = (m - 1.0) / (m + 1.0);
    e + s * polynomial(s * s, &C)
}

/// `log2(x)`, denormals flushed; minus infinity at zeros, the default NaN below.
#[inline(always)]
#[must_use]
pub fn log2_f32(x: u32) -> u32 {
    /// Bits of sqrt(1/2), rounded down.
    const ROOT_HALF: u32 = 0x3f35_04f3;
    let above = x.wrapping_sub(ROOT_HALF);
    let m = f32::from_bits((above & 0x007f_ffff) + ROOT_HALF);
    let e = f64::from((above as i32) >> 23);
    let y = (log2_kernel(f64::from(m), e) as f32).to_bits();
    let y = if x == INF { INF } else { y };
    let y = if x & SIGN != 0 { NAN } else { y };
    let y = if x & !SIGN < MIN_NORMAL { SIGN | INF } else { y };
    unless_nan(x, y)
}

/// `sin(2 pi (x + quarters / 4))` of a finite `x`; every zero of it is +0.
#[inline(always)]
fn sine_kernel(x: f64, quarters: u64) -> f64 {
    /// `sin(pi/2 r) / r` as a function of `r^2` on \[0, 1/4\], relative error 2^-57.
    const SIN: [f64; 7] = [
        std::f64::consts::FRAC_PI_2,
        -0.6459640975062443,
        0.07969262624604301,
        -0.004681754132340976,
        0.0001604411507421909,
        -3.59864335298231e-06,
        5.633933781537854e-08,
    ];
    /// `cos(pi/2 r)` as a function of `r^2` on \[0, 1/4\], relative error 2^-64.
    const COS: [f64; 8] = [
        1.0,
        -1.2337005501361697,
        0.2536695079010467,
        -0.02086348076331121,
        0.0009192602741831558,
        -2.520203677046026e-05,
        4.710609726757823e-07,
        -6.321256869628588e-09,
    ];
    // From here on every f32 is an integer: a whole number of turns.
    let x = if x > -16_777_216.0 && x < 16_777_216.0 { x } else { 0.0 };
    let turns = 4.0 * x;
    let n = turns + TO_INT;
    // The reduction is exact.
    let r = turns - (n - TO_INT);
    let quadrant = n.to_bits().wrapping_add(quarters);
    let sin = r * polynomial(r * r, &SIN);
    let cos = polynomial(r * r, &COS);
    let size = if quadrant & 1 != 0 { cos } else { sin };
    let signed = f64::from_bits(size.to_bits() ^ (quadrant & 2) << 62);
    // Turns -0 into +0.
    signed + 0.0
}

/// `sin(2 pi x)`, for modes that keep denormals; the default NaN at infinities. Huge sources are
/// reduced exactly, and zeros of the sine other than at `x = -0` are +0 (Vega ISA 12.8, V_SIN_F32,
/// examples).
#[inline(always)]
#[must_use]
pub fn sin_f32(x: u32) -> u32 {
    let y = (sine_kernel(f64::from(f32::from_bits(x)), 0) as f32).to_bits();
    let y = if x & !SIGN == 0 { x } else { y };
    unless_nan(x, if x & !SIGN == INF { NAN } else { y })
}

/// `cos(2 pi x)`; the default NaN at infinities. Zeros of the cosine are +0.
#[inline(always)]
#[must_use]
pub fn cos_f32(x: u32) -> u32 {
    let y = (sine_kernel(f64::from(f32::from_bits(x)), 1) as f32).to_bits();
    unless_nan(x, if x & !SIGN == INF { NAN } else { y })
}

/// An f16 function computed in f64. `special` handles special sources that are not NaN.
#[inline]
fn through_f64(a: u64, env: FpEnv, special: impl Fn(u64) -> Option<u64>, f: impl Fn(f64) -> f64) -> u64 {
    if let Some(nan) = nan::propagate::<F16>(&[a], env) {
        return nan;
    }
    let env = nearest(env);
    let a = flush_in::<F16>(a, env);
    if let Some(result) = special(a) {
        return result;
    }
    let wide = f64::from_bits(convert::<F16, F64>(a, env));
    let result = f(wide).to_bits();
    // The f64 is not the exact result, so inexactness here means nothing. Overflow and underflow
    // are still right.
    let (result, raised) = watched(|| convert::<F64, F16>(result, env));
    raise(raised.without(Exceptions::INPUT_DENORMAL | Exceptions::INEXACT));
    result
}

/// `2^a` of an f16.
pub(crate) fn exp2_f16([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    let special = |a| F16::is_inf(a).then_some(if a & F16::SIGN != 0 { 0 } else { F16::INF });
    through_f64(a, env, special, |x| exp2_kernel(x.clamp(-256.0, 256.0)))
}

/// `log2(a)` of an f16.
pub(crate) fn log2_f16([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    let special = |a| {
        if F16::is_zero(a) {
            raise(Exceptions::DIVIDE_BY_ZERO);
            Some(F16::SIGN | F16::INF)
        } else if a & F16::SIGN != 0 {
            Some(nan::invalid::<F16>())
        } else {
            F16::is_inf(a).then_some(F16::INF)
        }
    };
    through_f64(a, env, special, |x| {
        // Normal in f64, with the significand brought to [1, 2): close enough to 1 for the kernel after halving.
        let bits = x.to_bits();
        let e = ((bits >> 52) as i32 - 1023) as f64;
        let m = f64::from_bits(bits & F64::MANTISSA | F64::ONE);
        if m > std::f64::consts::SQRT_2 { log2_kernel(m * 0.5, e + 1.0) } else { log2_kernel(m, e) }
    })
}

/// `sin(2 pi a)` of an f16.
pub(crate) fn sin_f16([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    let special = |a| {
        if F16::is_inf(a) { Some(nan::invalid::<F16>()) } else { F16::is_zero(a).then_some(a) }
    };
    through_f64(a, env, special, |x| sine_kernel(x, 0))
}

/// `cos(2 pi a)` of an f16.
pub(crate) fn cos_f16([a, ..]: [u64; 3], env: FpEnv) -> u64 {
    through_f64(a, env, |a| F16::is_inf(a).then(nan::invalid::<F16>), |x| sine_kernel(x, 1))
}

/// The environment in which a reciprocal or a root of the format works: f32 flushes denormals, the others obey MODE.
pub(crate) fn reciprocal_env<F: Format>(env: FpEnv) -> FpEnv {
    if F::BITS == 32 { flushing(nearest(env)) } else { nearest(env) }
}
