//! The steps of divisions and roots, and the class test, on the host's vector arithmetic.
//!
//! Lanes in which the result depends on the mode, or on more than the host computes, go through the
//! library.

use std::marker::PhantomData;

use wavemill_float as exact;
use wavemill_float::{DivFormat, F32, F64, Format};
use wavemill_ir::{FloatOp, FloatType, FpEnv, Round};

use super::double::{MixedFn, fast_mixed};
use super::{Fast, lanes};
use crate::Tier;
use crate::body::{Body, Chunks, Splat, chunks, handler, lane_mask, scalar64, store_chunk, write64};
use crate::hostop::{Ctx, HostOp};
use crate::mem::for_lanes;
use crate::simd::{CHUNK, Simd};
use wavemill_machine::registers::ROW_BYTES;

/// A format with the host's arithmetic on its bits.
trait Host: DivFormat {
    const TYPE: FloatType;

    /// Cells of a value.
    const DWORDS: usize = Self::BITS as usize / 32;
    /// `a * b + c`, rounded once; NaNs are unspecified.
    fn fma(a: u64, b: u64, c: u64) -> u64;
    /// `a * 2^power`, rounded once.
    fn times_power(a: u64, power: i32) -> u64;
}

impl Host for F32 {
    const TYPE: FloatType = FloatType::F32;

    #[inline(always)]
    fn fma(a: u64, b: u64, c: u64) -> u64 {
        let [a, b, c] = [a, b, c].map(|s| f32::from_bits(s as u32));
        a.mul_add(b, c).to_bits().into()
    }
    #[inline(always)]
    fn times_power(a: u64, power: i32) -> u64 {
        (f32::from_bits(a as u32) * f32::from_bits(((127 + power) as u32) << 23)).to_bits().into()
    }
}

impl Host for F64 {
    const TYPE: FloatType = FloatType::F64;

    #[inline(always)]
    fn fma(a: u64, b: u64, c: u64) -> u64 {
        let [a, b, c] = [a, b, c].map(f64::from_bits);
        a.mul_add(b, c).to_bits()
    }
    #[inline(always)]
    fn times_power(a: u64, power: i32) -> u64 {
        (f64::from_bits(a) * f64::from_bits(((1023 + power) as u64) << 52)).to_bits()
    }
}

/// Handler body of `div_scale`. `FLUSH`: denormal operands are zeros.
struct DivScale<F, const FLUSH: bool>(PhantomData<F>);

impl<F: Host, const FLUSH: bool> Body for DivScale<F, FLUSH> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 6];
            let sources = sources::<S, F>(ctx, op, &mut splats);
            let mask = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            let mut out = 0u64;
            for c in 0..S::chunks() {
                let [x, y, z] = values::<S, F>(&sources, c);
                let (mut r, mut scaled) = ([0; CHUNK], [false; CHUNK]);
                for n in 0..CHUNK {
                    (r[n], scaled[n]) = scale::<F, FLUSH>(x[n], y[n], z[n]);
                }
                write::<S, F>(dst, c, mask, &r);
                for (n, scaled) in scaled.iter().enumerate() {
                    out |= u64::from(*scaled) << (CHUNK * c + n);
                }
            }
            write64(ctx, (*op).dst2, out & mask);
            HostOp::next(op)
        }
    }
}

/// Result and mask bit of `div_scale` in a lane, as [`exact::div_scale`], without branches.
#[inline(always)]
fn scale<F: Host, const FLUSH: bool>(value: u64, denominator: u64, numerator: u64) -> (u64, bool) {
    let [v, d, n] = [value, denominator, numerator].map(|s| if FLUSH { flush::<F>(s) } else { s });
    let (ed, en) = (F::exp_field(d), F::exp_field(n));
    let difference = en - ed;
    let (far_above, far_below) = (difference >= F::NEAR, difference <= -F::NEAR);
    let mask = far_above | far_below;
    let is_denominator = v == d;
    let up = |yes: bool| if yes { F::SCALE } else { 0 };
    let is_large = d & F::MAGNITUDE > (F::EXP_FIELD - 2) << F::MAN;
    // From the last rule to the first one, which wins.
    let power = up(en <= F::TINY);
    let power = if far_below { up(!is_denominator) } else { power };
    let power = if is_large { up(mask & !is_denominator) - up(true) } else { power };
    let power = if ed == 0 { F::SCALE } else { power };
    let power = if far_above { up(is_denominator) } else { power };
    let scaled = if F::is_nan(v) { v | F::QUIET } else { F::times_power(v, power) };
    (if F::is_zero(d) | F::is_zero(n) { F::DEFAULT_NAN } else { scaled }, mask)
}

/// Denormals become zeros of their sign.
#[inline(always)]
fn flush<F: Host>(bits: u64) -> u64 {
    if F::exp_field(bits) == 0 { bits & F::SIGN } else { bits }
}

/// Handler body of `div_fmas`. `FLUSH`: denormal results are zeros; operands are never flushed.
struct DivFmas<F, const FLUSH: bool>(PhantomData<F>);

impl<F: Host, const FLUSH: bool> Body for DivFmas<F, FLUSH> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 6];
            let sources = sources::<S, F>(ctx, op, &mut splats);
            let mask = lane_mask(ctx, op);
            let scaled = scalar64(ctx, op, 3);
            let dst = (*ctx).base.add((*op).dst as usize);
            for c in 0..S::chunks() {
                let [x, y, z] = values::<S, F>(&sources, c);
                let back = scaled >> (CHUNK * c);
                let mut r = [0; CHUNK];
                let mut suspect = 0u64;
                for n in 0..CHUNK {
                    let (value, bad) = fmas::<F>(x[n], y[n], z[n], back >> n & 1 != 0);
                    r[n] = if FLUSH { flush::<F>(value) } else { value };
                    suspect |= u64::from(bad) << n;
                }
                suspect &= mask >> (CHUNK * c);
                if suspect != 0 {
                    let env = lanes::info(op).attrs.fp;
                    for_lanes(suspect, |n| {
                        let s = [x[n], y[n], z[n]];
                        r[n] = if F::is_nan(r[n]) {
                            exact::nan_result_of_fma::<F>(s)
                        } else {
                            exact::div_fmas(F::TYPE, s, back >> n & 1 != 0, env).unwrap_or_default()
                        };
                    });
                }
                write::<S, F>(dst, c, mask, &r);
            }
            HostOp::next(op)
        }
    }
}

/// `div_fmas` in a lane, with denormal results, and whether it must be computed in another way:
/// the sum is rounded before it is scaled back, which gives the same bits if it is normal and stays
/// above the denormals.
#[inline(always)]
fn fmas<F: Host>(a: u64, b: u64, c: u64, scaled: bool) -> (u64, bool) {
    let sum = F::fma(a, b, c);
    // The size of the quotient shows which way the operands were scaled.
    let power = if F::exp_field(c) > F::BIAS { F::SCALE } else { -F::SCALE };
    let value = if scaled { F::times_power(sum, power) } else { sum };
    // The smallest normal number may come from a sum below it, which is rounded elsewhere.
    let inexact = scaled & (!is_normal::<F>(sum) | (value & F::MAGNITUDE <= F::HIDDEN));
    (value, F::is_nan(sum) | inexact)
}

/// The sources of an operation on three values of a format: low and high cells.
type Sources = [[Chunks; 2]; 3];

#[inline(always)]
unsafe fn sources<S: Simd, F: Host>(ctx: *mut Ctx, op: *mut HostOp, splats: &mut [Splat; 6]) -> Sources {
    let [s0, s1, s2, s3, s4, s5] = splats;
    let high = F::DWORDS - 1;
    // SAFETY: the contract of `Body`.
    unsafe {
        [
            [chunks::<S, false>(ctx, op, 0, 0, s0), chunks::<S, false>(ctx, op, 0, high, s1)],
            [chunks::<S, false>(ctx, op, 1, 0, s2), chunks::<S, false>(ctx, op, 1, high, s3)],
            [chunks::<S, false>(ctx, op, 2, 0, s4), chunks::<S, false>(ctx, op, 2, high, s5)],
        ]
    }
}

/// The values of a chunk.
#[inline(always)]
unsafe fn values<S: Simd, F: Host>(sources: &Sources, c: usize) -> [[u64; CHUNK]; 3] {
    let mut values = [[0; CHUNK]; 3];
    for (value, [low, high]) in values.iter_mut().zip(sources) {
        // SAFETY: the contract of `Body`.
        let (l, h) = unsafe { (low.lanes::<S>(c), high.lanes::<S>(c)) };
        for n in 0..CHUNK {
            value[n] = u64::from(l[n]) | if F::DWORDS == 2 { u64::from(h[n]) << 32 } else { 0 };
        }
    }
    values
}

/// Writes a chunk of results.
#[inline(always)]
unsafe fn write<S: Simd, F: Host>(dst: *mut u8, c: usize, mask: u64, values: &[u64; CHUNK]) {
    // SAFETY: the contract of `Body`: `dst` is a row, and one follows it for two cells.
    unsafe {
        store_chunk::<S>(dst, c, mask, S::from_lanes(values.map(|value| value as u32)));
        if F::DWORDS == 2 {
            let high = values.map(|value| (value >> 32) as u32);
            store_chunk::<S>(dst.add(ROW_BYTES as usize), c, mask, S::from_lanes(high));
        }
    }
}

/// `div_fixup` of quotient, denominator and numerator.
struct DivFixup<F>(PhantomData<F>);

impl<F: Host> MixedFn for DivFixup<F> {
    const SOURCES: usize = 3;
    const WIDE: [bool; 3] = [F::DWORDS == 2; 3];
    const WIDE_RESULT: bool = F::DWORDS == 2;
    #[inline(always)]
    fn apply(quotient: u64, denominator: u64, numerator: u64) -> u64 {
        quotient & F::MAGNITUDE | (denominator ^ numerator) & F::SIGN
    }
    #[inline(always)]
    fn suspect(quotient: u64, denominator: u64, numerator: u64, _: u64) -> bool {
        // The library has the exact limit from which the quotient vanishes.
        let near = F::exp_field(numerator) - F::exp_field(denominator) > -F::BIAS;
        !(is_normal::<F>(quotient) & is_normal::<F>(denominator) & is_normal::<F>(numerator) & near)
    }
}

/// Whether a number is normal.
#[inline(always)]
fn is_normal<F: Host>(bits: u64) -> bool {
    let field = F::exp_field(bits);
    (field > 0) & (field < F::EXP_FIELD as i32)
}

/// Declares operations on doubles: the result, and the lanes that have it.
macro_rules! double_fns {
    ($($name:ident |$a:ident, $b:ident| $code:expr, |$r:ident| $good:expr;)*) => {$(
        struct $name;
        impl MixedFn for $name {
            const SOURCES: usize = 2;
            const WIDE: [bool; 3] = [true, false, false];
            const WIDE_RESULT: bool = true;
            #[inline(always)]
            #[allow(unused_variables, reason = "an operation uses the operands that it has")]
            fn apply($a: u64, $b: u64, _: u64) -> u64 {
                $code
            }
            #[inline(always)]
            #[allow(unused_variables, reason = "an operation looks at what matters")]
            fn suspect($a: u64, $b: u64, _: u64, $r: u64) -> bool {
                !($good)
            }
        }
    )*};
}

double_fns! {
    // Correctly rounded (`wavemill_float::float_op`), as the host's quotients and roots are. The mode may flush
    // denormals.
    Rcp |a, n| or_nan(a, (1.0 / f64::from_bits(a)).to_bits()),
        |r| !(F64::is_denormal(a) | F64::is_denormal(r));
    Sqrt |a, n| or_nan(a, positive(a, f64::from_bits(a).sqrt().to_bits())), |r| !F64::is_denormal(a);
    Rsq |a, n| or_nan(a, positive(a, rsq(a).0)),
        |r| !F64::is_denormal(a) & (rsq(a).1 | (a >> 63 != 0) | F64::is_nan(a));
    // The exponents are added: the result is exact.
    Ldexp |a, n| a.wrapping_add(u64::from(n as u32) << 52),
        |r| is_normal::<F64>(a) & ((n as i32).unsigned_abs() < 2048) & {
            let field = F64::exp_field(a).wrapping_add(n as i32);
            (field > 0) & (field < 2047)
        };
}

/// The result, or the quieted source if that is a NaN.
#[inline(always)]
fn or_nan(a: u64, result: u64) -> u64 {
    if F64::is_nan(a) { a | F64::QUIET } else { result }
}

/// The result of a root, which negative numbers do not have.
#[inline(always)]
fn positive(a: u64, result: u64) -> u64 {
    if a > F64::SIGN { F64::DEFAULT_NAN } else { result }
}

/// `1 / sqrt(x)`, correctly rounded, and whether it is sure of that: for normal numbers, zeros and
/// infinities. Only for numbers that are not negative, or zeros.
#[inline(always)]
fn rsq(bits: u64) -> (u64, bool) {
    // The powers of two are taken out, so that nothing underflows: x = m * 4^k with m in [1, 4).
    let field = (bits >> 52) as i64 & 0x7ff;
    let odd = (field + 1) & 1;
    let m = f64::from_bits(bits & ((1 << 52) - 1) | ((1023 + odd) as u64) << 52);
    let k = (field - 1023 - odd) / 2;
    let near = 1.0 / m.sqrt();
    // 1 - m near^2, of which only the last product is rounded.
    let product = m * near;
    let rest = m.mul_add(near, -product);
    let error = (-product).mul_add(near, 1.0) - rest * near;
    // 1 / sqrt(m) = near + near error / 2 + ..., where the rest is far below 2^-100.
    let correction = 0.5 * near * error;
    let doubt = near * f64::from_bits((1023 - 98) << 52);
    let (low, high) = (near + (correction - doubt), near + (correction + doubt));
    let scaled = low.to_bits().wrapping_sub((k as u64) << 52);
    let zero = F64::is_zero(bits);
    let result = if zero { bits | F64::INF } else { scaled };
    let infinite = bits == F64::INF;
    (if infinite { 0 } else { result }, zero | infinite | (low == high) & is_normal::<F64>(bits))
}

/// Handler body of the class test.
struct Class<F>(PhantomData<F>);

impl<F: Host> Body for Class<F> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 3];
            let [s0, s1, s2] = &mut splats;
            let high = chunks::<S, false>(ctx, op, 0, F::DWORDS - 1, s0);
            let low = chunks::<S, false>(ctx, op, 0, 0, s1);
            let classes = chunks::<S, false>(ctx, op, 1, 0, s2);
            // Of the last cell.
            let fraction_bits = F::MAN + 32 - F::BITS;
            let top = F::EXP_FIELD as u32;
            let mut bits = 0u64;
            for c in 0..S::chunks() {
                let (h, l) = (high.lanes::<S>(c), low.lanes::<S>(c));
                let classes = classes.lanes::<S>(c);
                let mut holds = [0; CHUNK];
                for n in 0..CHUNK {
                    let fraction = h[n] & ((1 << fraction_bits) - 1);
                    let fraction = if F::DWORDS == 2 { fraction | l[n] } else { fraction };
                    let field = (h[n] & 0x7fff_ffff) >> fraction_bits;
                    // The class of a positive number; those of the negative ones are in the
                    // opposite order.
                    let numbers = if field == 0 { 6 + u32::from(fraction != 0) } else { 8 };
                    let class = if field == top { 9 } else { numbers };
                    let class = if h[n] >> 31 != 0 { 11 - class } else { class };
                    let quiet = h[n] >> (fraction_bits - 1) & 1;
                    let nan = field == top && fraction != 0;
                    holds[n] = classes[n] >> if nan { quiet } else { class } & 1;
                }
                for (n, h) in holds.iter().enumerate() {
                    bits |= u64::from(*h) << (CHUNK * c + n);
                }
            }
            write64(ctx, (*op).dst, bits & lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

/// The fast handlers of the class test, if there are any for the type.
pub(super) fn fast_class(ty: FloatType, tier: Tier) -> Option<Fast> {
    Some(Fast::unmodified(match ty {
        FloatType::F32 => handler::<Class<F32>>(tier),
        FloatType::F64 => handler::<Class<F64>>(tier),
        _ => return None,
    }))
}

/// The fast handlers of `div_scale`.
pub(super) fn fast_scale(ty: FloatType, env: FpEnv, tier: Tier) -> Option<Fast> {
    Some(Fast::unmodified(match (ty, env.denorm_in) {
        (FloatType::F32, true) => handler::<DivScale<F32, false>>(tier),
        (FloatType::F32, false) => handler::<DivScale<F32, true>>(tier),
        (FloatType::F64, true) => handler::<DivScale<F64, false>>(tier),
        (FloatType::F64, false) => handler::<DivScale<F64, true>>(tier),
        _ => return None,
    }))
}

/// The fast handlers of `div_fmas`, if there are any for the environment.
pub(super) fn fast_fmas(ty: FloatType, env: FpEnv, tier: Tier) -> Option<Fast> {
    if env.round != Round::NearestEven {
        return None;
    }
    Some(Fast::unmodified(match (ty, env.denorm_out) {
        (FloatType::F32, true) => handler::<DivFmas<F32, false>>(tier),
        (FloatType::F32, false) => handler::<DivFmas<F32, true>>(tier),
        (FloatType::F64, true) => handler::<DivFmas<F64, false>>(tier),
        (FloatType::F64, false) => handler::<DivFmas<F64, true>>(tier),
        _ => return None,
    }))
}

/// The fast handlers of the other operations, which do not depend on the environment: lanes for
/// which it matters go through the library.
pub(super) fn fast(op: FloatOp, ty: FloatType, tier: Tier) -> Option<Fast> {
    Some(match (op, ty) {
        (FloatOp::DivFixup, FloatType::F32) => fast_mixed::<DivFixup<F32>>(tier),
        (FloatOp::DivFixup, FloatType::F64) => fast_mixed::<DivFixup<F64>>(tier),
        (FloatOp::Rcp, FloatType::F64) => fast_mixed::<Rcp>(tier),
        (FloatOp::Rsq, FloatType::F64) => fast_mixed::<Rsq>(tier),
        (FloatOp::Sqrt, FloatType::F64) => fast_mixed::<Sqrt>(tier),
        (FloatOp::Ldexp, FloatType::F64) => fast_mixed::<Ldexp>(tier),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wavemill_ir::FpEnv;
    use wavemill_oracle::SplitMix64;

    #[test]
    fn reciprocal_roots_that_are_sure_are_correctly_rounded() {
        let reference = exact::float_function(FloatOp::Rsq, FloatType::F64).expect("it has one");
        let mut random = SplitMix64::new(3);
        let mut unsure = 0;
        for _ in 0..300_000 {
            // Fractions of few bits, whose roots are close to a middle between two numbers, and any.
            let fraction = random.next_u64() >> 12 & (!0 << random.below(52));
            let bits = (1 + random.below(2046)) << 52 | fraction;
            let (found, sure) = rsq(bits);
            unsure += u32::from(!sure);
            let wanted = reference([bits, 0, 0], FpEnv::default());
            assert!(!sure || found == wanted, "{bits:#x}: {found:#x}, expected {wanted:#x}");
        }
        assert!(unsure < 300, "{unsure}");
    }
}
