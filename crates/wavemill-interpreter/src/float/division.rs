//! The steps of divisions and roots, and the class test, on the host's vector arithmetic.
//!
//! Between the limits of exponents that the instructions look for, `v_div_scale` is a copy,
//! `v_div_fmas` a fused multiply-add, and `v_div_fixup` sets a sign. Lanes beyond them, with
//! denormals, infinities or NaNs go through the library.

use std::marker::PhantomData;

use wavemill_float as exact;
use wavemill_ir::{FloatOp, FloatType, FpEnv, Round};

use super::double::{Mixed, MixedFn, fast_mixed};
use super::{Fast, lanes, single};
use crate::Tier;
use crate::body::{Body, Splat, chunks, handler, lane_mask, scalar64, store_chunk, write64};
use crate::hostop::{Ctx, HostOp};
use crate::simd::{CHUNK, CHUNKS, Simd};
use wavemill_machine::registers::ROW_BYTES;

/// A format, for code that looks at exponents.
trait Format: 'static {
    /// Cells of a value.
    const DWORDS: usize;
    /// Bits of the fraction in the last cell.
    const FRACTION: u32;
    /// The largest value of the exponent field, of infinities and NaNs.
    const TOP: u32;
    /// Difference of exponents from which `v_div_scale` scales.
    const NEAR: u32;
    /// Exponent of the numerator up to which it scales.
    const TINY: u32;

    /// The exponent field of the last cell.
    #[inline(always)]
    fn field(high: u32) -> u32 {
        (high & 0x7fff_ffff) >> Self::FRACTION
    }
}

struct F32;

impl Format for F32 {
    const DWORDS: usize = 1;
    const FRACTION: u32 = 23;
    const TOP: u32 = 255;
    const NEAR: u32 = 96;
    const TINY: u32 = 23;
}

struct F64;

impl Format for F64 {
    const DWORDS: usize = 2;
    const FRACTION: u32 = 20;
    const TOP: u32 = 2047;
    const NEAR: u32 = 768;
    const TINY: u32 = 53;
}

/// Handler body of `v_div_scale`.
struct DivScale<F>(PhantomData<F>);

/// The exponent fields of a chunk, of which these are the last cells.
#[inline(always)]
unsafe fn fields<S: Simd, F: Format>(v: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe { S::shr(S::and(v, S::splat(0x7fff_ffff)), S::splat(F::FRACTION)) }
}

/// The lanes with a number from `first` to `last`.
#[inline(always)]
unsafe fn between<S: Simd>(v: S::V, first: u32, last: u32) -> u32 {
    // SAFETY: the contract of `Simd`.
    unsafe { S::lt_u(S::sub(v, S::splat(first)), S::splat(last - first + 1)) }
}

/// The lanes of a chunk in which `v_div_scale` copies its first operand, and the quotient need not
/// be scaled back.
#[inline(always)]
unsafe fn copies<S: Simd, F: Format>(value: S::V, denominator: S::V, numerator: S::V) -> u32 {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let (d, n) = (fields::<S, F>(denominator), fields::<S, F>(numerator));
        let difference = S::add(S::sub(n, d), S::splat(F::NEAR - 1));
        between::<S>(fields::<S, F>(value), 1, F::TOP - 1)
            & between::<S>(d, 1, F::TOP - 3)
            & between::<S>(n, F::TINY + 1, F::TOP - 1)
            & between::<S>(difference, 0, 2 * F::NEAR - 2)
    }
}

impl<F: Format> Body for DivScale<F> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 4];
            let [s0, s1, s2, s3] = &mut splats;
            let last = F::DWORDS - 1;
            let value = chunks::<S, false>(ctx, op, 0, last, s0);
            let denominator = chunks::<S, false>(ctx, op, 1, last, s1);
            let numerator = chunks::<S, false>(ctx, op, 2, last, s2);
            let mask = lane_mask(ctx, op);
            let mut copied = 0u64;
            for c in 0..CHUNKS {
                let (v, d, n) = (value.get::<S>(c), denominator.get::<S>(c), numerator.get::<S>(c));
                copied |= u64::from(copies::<S, F>(v, d, n)) << (CHUNK * c);
            }
            copied &= mask;
            let low = chunks::<S, false>(ctx, op, 0, 0, s3);
            let dst = (*ctx).base.add((*op).dst as usize);
            for c in 0..CHUNKS {
                // Both cells are read before one is written: the rows may overlap.
                let (low, high) = (low.get::<S>(c), value.get::<S>(c));
                store_chunk::<S>(dst, c, copied, low);
                if F::DWORDS == 2 {
                    store_chunk::<S>(dst.add(ROW_BYTES as usize), c, copied, high);
                }
            }
            let out = lanes::scaled(ctx, op, mask & !copied);
            write64(ctx, (*op).dst2, out);
            HostOp::next(op)
        }
    }
}

/// Handler body of `v_div_fmas`: the body for no lane to scale back, and the library for all lanes otherwise.
struct DivFmas<B>(PhantomData<B>);

impl<B: Body> Body for DivFmas<B> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            if scalar64(ctx, op, 3) & lane_mask(ctx, op) != 0 {
                return lanes::div_fmas(ctx, op);
            }
            B::run::<S>(ctx, op)
        }
    }
}

/// The reference of [`DivFmas`] for a lane that is not scaled back.
pub(super) fn unscaled<const WIDE: bool>(s: [u64; 3], env: FpEnv) -> u64 {
    let ty = if WIDE { FloatType::F64 } else { FloatType::F32 };
    exact::div_fmas(ty, s, false, env).unwrap_or_default()
}

/// `v_div_fixup` of quotient, denominator and numerator.
struct DivFixup<F>(PhantomData<F>);

impl<F: Format> DivFixup<F> {
    /// The last cell.
    #[inline(always)]
    fn last(bits: u64) -> u32 {
        (bits >> (32 * (F::DWORDS - 1))) as u32
    }
}

impl<F: Format> MixedFn for DivFixup<F> {
    const SOURCES: usize = 3;
    const WIDE: [bool; 3] = [F::DWORDS == 2; 3];
    const WIDE_RESULT: bool = F::DWORDS == 2;
    #[inline(always)]
    fn apply(quotient: u64, denominator: u64, numerator: u64) -> u64 {
        let sign = 1 << (32 * F::DWORDS - 1);
        quotient & !sign | (denominator ^ numerator) & sign
    }
    #[inline(always)]
    fn suspect(quotient: u64, denominator: u64, numerator: u64, _: u64) -> bool {
        let [q, d, n] = [quotient, denominator, numerator].map(|s| F::field(Self::last(s)));
        let is_normal = |e: u32| (e.wrapping_sub(1)) < F::TOP - 1;
        // The library has the exact limit from which the quotient vanishes.
        let near = n + F::TOP / 2 > d;
        !(is_normal(q) & is_normal(d) & is_normal(n) & near)
    }
}

/// Whether a double is a normal number.
#[inline(always)]
fn is_normal(bits: u64) -> bool {
    F64::field((bits >> 32) as u32).wrapping_sub(1) < F64::TOP - 1
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
    // Correctly rounded (`wavemill_float::float_op`), as the host's quotients and roots are.
    Rcp |a, n| (1.0 / f64::from_bits(a)).to_bits(), |r| is_normal(a) & is_normal(r);
    Sqrt |a, n| f64::from_bits(a).sqrt().to_bits(), |r| is_normal(a) & (a >> 63 == 0);
    Rsq |a, n| rsq(f64::from_bits(a)).0.to_bits(), |r| is_normal(a) & (a >> 63 == 0) & rsq(f64::from_bits(a)).1;
    // The exponents are added: the result is exact.
    Ldexp |a, n| a.wrapping_add(u64::from(n as u32) << 52),
        |r| is_normal(a) & ((n as i32).unsigned_abs() < 2048) & {
            let field = (F64::field((a >> 32) as u32) as i32).wrapping_add(n as i32);
            (field > 0) & (field < 2047)
        };
}

/// `1 / sqrt(x)`, correctly rounded, and whether it is sure of that.
#[inline(always)]
fn rsq(x: f64) -> (f64, bool) {
    // The powers of two are taken out, so that nothing underflows: x = m * 4^k with m in [1, 4).
    let bits = x.to_bits();
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
    (f64::from_bits(scaled), low == high)
}

/// Handler body of the class test.
struct Class<F>(PhantomData<F>);

impl<F: Format> Body for Class<F> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 3];
            let [s0, s1, s2] = &mut splats;
            let high = chunks::<S, false>(ctx, op, 0, F::DWORDS - 1, s0);
            let low = chunks::<S, false>(ctx, op, 0, 0, s1);
            let classes = chunks::<S, false>(ctx, op, 1, 0, s2);
            let mut bits = 0u64;
            for c in 0..S::chunks() {
                let (h, l) = (high.lanes::<S>(c), low.lanes::<S>(c));
                let classes = classes.lanes::<S>(c);
                let mut holds = [0; CHUNK];
                for n in 0..CHUNK {
                    let fraction = h[n] & ((1 << F::FRACTION) - 1);
                    let fraction = if F::DWORDS == 2 { fraction | l[n] } else { fraction };
                    let field = F::field(h[n]);
                    // The class of a positive number; those of the negative ones are in the
                    // opposite order.
                    let numbers = if field == 0 { 6 + u32::from(fraction != 0) } else { 8 };
                    let class = if field == F::TOP { 9 } else { numbers };
                    let class = if h[n] >> 31 != 0 { 11 - class } else { class };
                    let quiet = h[n] >> (F::FRACTION - 1) & 1;
                    let nan = field == F::TOP && fraction != 0;
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

/// The fast handlers of `v_div_scale`.
pub(super) fn fast_scale(ty: FloatType, tier: Tier) -> Option<Fast> {
    Some(Fast::unmodified(match ty {
        FloatType::F32 => handler::<DivScale<F32>>(tier),
        FloatType::F64 => handler::<DivScale<F64>>(tier),
        _ => return None,
    }))
}

/// The fast handlers of `v_div_fmas`, if there are any for the environment. It never flushes its
/// operands.
pub(super) fn fast_fmas(ty: FloatType, env: FpEnv, tier: Tier) -> Option<Fast> {
    if env.round != Round::NearestEven {
        return None;
    }
    Some(Fast::unmodified(match (ty, env.denorm_out) {
        (FloatType::F32, true) => handler::<DivFmas<single::Fused>>(tier),
        (FloatType::F32, false) => handler::<DivFmas<single::FusedFlushing>>(tier),
        (FloatType::F64, true) => handler::<DivFmas<Mixed<super::double::Fma>>>(tier),
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
            let (found, sure) = rsq(f64::from_bits(bits));
            unsure += u32::from(!sure);
            let wanted = reference([bits, 0, 0], FpEnv::default());
            assert!(
                !sure || found.to_bits() == wanted,
                "{bits:#x}: {:#x}, expected {wanted:#x}",
                found.to_bits()
            );
        }
        assert!(unsure < 300, "{unsure}");
    }
}
