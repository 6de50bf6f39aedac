//! f16 operations, on halves of cells and on pairs, in the host's f32 arithmetic.
//!
//! Sources are exact in f32. A sum, a difference or a product rounded to f32 first becomes the same f16, because f32 has
//! more than twice the bits of f16; a fused result is rounded to odd first.

use std::marker::PhantomData;

use wavemill_ir::{Attrs, CmpPred, FloatOp, FloatType, FpEnv, SrcMods, SubDword};

use super::single::{
    Add, Ceil, Check, Floor, Fma, Max, Max3, Med3, Min, Min3, Mul, RoundEven, SingleFn, Sub, Trunc, repair,
};
use super::{Arithmetic, Fast, Relation, by_relation, lanes};
use crate::Tier;
use crate::body::{Body, Source, Splat, handler, lane_mask, shape, store_chunk, write64};
use crate::float::compare::negation;
use crate::float::single::NanRule;
use crate::hostop::{Ctx, HostOp};
use crate::simd::{CHUNK, CHUNKS, Simd};

/// The rounded sum, and what rounding has lost, exactly (Knuth).
#[inline(always)]
unsafe fn two_sum<S: Simd>(a: S::V, b: S::V) -> (S::V, S::V) {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let sum = S::fadd(a, b);
        let part = S::fsub(sum, a);
        (sum, S::fadd(S::fsub(a, S::fsub(sum, part)), S::fsub(b, part)))
    }
}

/// The sum, rounded so that the last bit is set if it is not exact: the f16 nearest to it is that of the exact sum.
/// Infinities and NaNs are as of the sum.
#[inline(always)]
unsafe fn odd_sum<S: Simd>(a: S::V, b: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let (sum, lost) = two_sum::<S>(a, b);
        let zero = S::splat(0);
        let inexact = S::flt(lost, zero) | S::flt(zero, lost);
        let is_even = S::eq(S::and(sum, S::splat(1)), zero);
        // The neighbour on the side of what is lost: further from zero if the signs are equal.
        let outwards = S::lt_i(S::xor(lost, sum), zero) ^ 0xffff;
        let neighbour = S::select(outwards, S::add(sum, S::splat(1)), S::sub(sum, S::splat(1)));
        S::select(inexact & is_even, neighbour, sum)
    }
}

/// [`FloatOp::Fma`], whose product is exact: 22 bits.
struct HalfFma;

impl SingleFn for HalfFma {
    const SOURCES: usize = 3;
    const CHECK: Check = Check::Result;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe { odd_sum::<S>(S::fmul(a, b), c) }
    }
}

/// [`FloatOp::MulAdd`], which rounds the product.
struct HalfMulAdd;

impl SingleFn for HalfMulAdd {
    const SOURCES: usize = 3;
    const CHECK: Check = Check::Result;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let product = S::widen_half(S::narrow_to_half(S::fmul(a, b)));
            S::fadd(product, c)
        }
    }
}

/// The halves of a chunk of results, and the lanes that the reference must compute.
#[inline(always)]
unsafe fn half<S: Simd, F: SingleFn>(x: S::V, y: S::V, z: S::V) -> (S::V, u32) {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let (x, y, z) = (S::widen_half(x), S::widen_half(y), S::widen_half(z));
        let r = F::apply::<S>(x, y, z);
        let bad = match F::CHECK {
            Check::Result => S::unordered(r, r),
            _ => S::unordered(x, y) | S::unordered(z, z),
        };
        (S::narrow_to_half(r), bad)
    }
}

/// Handler body of a [`SingleFn`] on f16; `PAIR`: on both halves of cells.
struct Half<F, const PAIR: bool>(PhantomData<F>);

impl<F: SingleFn, const PAIR: bool> Body for Half<F, PAIR> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1, mut s2) = (Splat::new(), Splat::new(), Splat::new());
            let n = F::SOURCES;
            let a = Source::<S>::new::<{ shape::ANY }>(ctx, op, 0, n, &mut s0);
            let b = Source::<S>::new::<{ shape::ANY }>(ctx, op, 1, n, &mut s1);
            let c = Source::<S>::new::<{ shape::ANY }>(ctx, op, 2, n, &mut s2);
            let mask = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            let (mut results, mut all_bad) = ([S::splat(0); CHUNKS], 0);
            for (i, result) in results.iter_mut().enumerate() {
                let x = a.get::<{ shape::ANY }>(0, n, i);
                let y = if n > 1 { b.get::<{ shape::ANY }>(1, n, i) } else { x };
                let z = if n > 2 { c.get::<{ shape::ANY }>(2, n, i) } else { x };
                let (low, bad) = half::<S, F>(x, y, z);
                *result = low;
                all_bad |= u64::from(bad) << (CHUNK * i);
                if PAIR {
                    let by = S::splat(16);
                    let (high, bad) = half::<S, F>(S::shr(x, by), S::shr(y, by), S::shr(z, by));
                    *result = S::or(low, S::shl(high, by));
                    all_bad |= u64::from(bad) << (CHUNK * i);
                }
            }
            let bad = all_bad & mask;
            // The destination may be a source: bad lanes keep their old value until they are
            // repaired.
            for (i, result) in results.into_iter().enumerate() {
                store_chunk::<S>(dst, i, mask & !bad, result);
            }
            if bad != 0 {
                repair(ctx, op, bad, NanRule::Reference, false);
            }
            HostOp::next(op)
        }
    }
}

/// The fast handlers of an f16 operation, if there are any for the environment.
pub(super) fn fast(op: FloatOp, ty: FloatType, env: FpEnv, tier: Tier) -> Option<Fast> {
    if !is_plain(env) {
        return None;
    }
    macro_rules! choose {
        ($pair:literal: $($op:ident $name:ident)*) => {
            match op {
                $(FloatOp::$op => handler::<Half<$name, $pair>>(tier),)*
                _ => return None,
            }
        };
    }
    Some(Fast::unmodified(match ty {
        FloatType::F16 => choose! {
            false: Add Add Sub Sub Mul Mul Fma HalfFma MulAdd HalfMulAdd Min Min Max Max Min3 Min3 Max3 Max3 Med3 Med3
            Trunc Trunc Ceil Ceil Floor Floor RoundEven RoundEven
        },
        FloatType::PkF16 => choose! {
            true: Add Add Sub Sub Mul Mul Fma HalfFma MulAdd HalfMulAdd Min Min Max Max
        },
        _ => return None,
    }))
}

/// To nearest, denormals kept, without a limit for large results.
fn is_plain(env: FpEnv) -> bool {
    Arithmetic::of(env) == Arithmetic::Host && !env.fp16_ovfl
}

/// Handler body of a comparison of f16; `SWAP` exchanges the operands.
struct Compare<R, const SWAP: bool>(PhantomData<R>);

impl<R: Relation, const SWAP: bool> Body for Compare<R, SWAP> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let a = Source::<S>::new::<{ shape::ANY }>(ctx, op, 0, 2, &mut s0);
            let b = Source::<S>::new::<{ shape::ANY }>(ctx, op, 1, 2, &mut s1);
            let mut bits = 0;
            for i in 0..S::chunks() {
                let x = S::widen_half(a.get::<{ shape::ANY }>(0, 2, i));
                let y = S::widen_half(b.get::<{ shape::ANY }>(1, 2, i));
                let holds = if SWAP { R::single::<S>(y, x) } else { R::single::<S>(x, y) };
                bits |= u64::from(holds) << (CHUNK * i);
            }
            write64(ctx, (*op).dst, (bits ^ negation(op)) & lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

fn compare<R: Relation, const SWAP: bool>(tier: Tier) -> Option<Fast> {
    Some(Fast::unmodified(handler::<Compare<R, SWAP>>(tier)))
}

/// The fast handlers of a comparison of f16 that keeps denormals.
pub(super) fn fast_compare(pred: CmpPred, tier: Tier) -> Option<Fast> {
    by_relation!(pred, compare(tier))
}

/// A source of [`FloatOp::FmaMix`] as f32.
#[inline(always)]
unsafe fn mixed<S: Simd>(v: S::V, m: &SrcMods) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let v = match (m.hi_sel, m.sel) {
            (false, _) => v,
            (true, SubDword::Word1) => S::widen_half(S::shr(v, S::splat(16))),
            (true, _) => S::widen_half(v),
        };
        let v = if m.abs || m.neg_hi { S::and(v, S::splat(0x7fff_ffff)) } else { v };
        if m.neg { S::xor(v, S::splat(0x8000_0000)) } else { v }
    }
}

/// How the results of [`FloatOp::FmaMix`] come about.
trait Mixture: 'static {
    /// Whether results are f16.
    const NARROW: bool;
    /// A result as f32, and the lanes besides those with a NaN that the reference must compute.
    ///
    /// # Safety
    /// As [`Simd`].
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> (S::V, u32);
}

/// A result in f32.
struct Single;

impl Mixture for Single {
    const NARROW: bool = false;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> (S::V, u32) {
        // SAFETY: the contract of `Simd`.
        unsafe { (Fma::apply::<S>(a, b, c), 0) }
    }
}

/// A result in f16 of sources that are all f16.
struct OfHalves;

impl Mixture for OfHalves {
    const NARROW: bool = true;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> (S::V, u32) {
        // SAFETY: the contract of `Simd`.
        unsafe { (HalfFma::apply::<S>(a, b, c), 0) }
    }
}

/// A result in f16 of sources of which some are f32.
struct OfAny;

impl Mixture for OfAny {
    const NARROW: bool = true;
    /// The product and the sum in parts without errors (Boldo and Melquiond, "Emulation of FMA and
    /// correctly rounded sums", with rounding to odd at the end).
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> (S::V, u32) {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let product = S::fmul(a, b);
            let lost = S::fma(a, b, S::xor(product, S::splat(0x8000_0000)));
            let (middle, low) = two_sum::<S>(c, lost);
            let (high, rest) = two_sum::<S>(product, middle);
            let r = odd_sum::<S>(high, odd_sum::<S>(low, rest));
            // The last bits of a product below 2^-100 may be below all f32.
            let zero = S::splat(0);
            let is_zero = S::feq(a, zero) | S::feq(b, zero);
            let is_small = S::flt(S::and(product, S::splat(0x7fff_ffff)), S::splat((127 - 100) << 23));
            // A sum of zeros has the sign of the sum, not that of the parts.
            let r = S::select(S::feq(r, zero), S::fadd(product, c), r);
            (r, is_small & !is_zero)
        }
    }
}

/// Handler body of [`FloatOp::FmaMix`].
struct Mix<M>(PhantomData<M>);

impl<M: Mixture> Body for Mix<M> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let info = lanes::info(op);
            let [ma, mb, mc] = &info.attrs.src;
            let (mut s0, mut s1, mut s2) = (Splat::new(), Splat::new(), Splat::new());
            let a = Source::<S>::new::<{ shape::ANY }>(ctx, op, 0, 3, &mut s0);
            let b = Source::<S>::new::<{ shape::ANY }>(ctx, op, 1, 3, &mut s1);
            let c = Source::<S>::new::<{ shape::ANY }>(ctx, op, 2, 3, &mut s2);
            let mask = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            let (mut results, mut bad) = ([S::splat(0); CHUNKS], 0);
            for (i, result) in results.iter_mut().enumerate() {
                let x = mixed::<S>(a.get::<{ shape::ANY }>(0, 3, i), ma);
                let y = mixed::<S>(b.get::<{ shape::ANY }>(1, 3, i), mb);
                let z = mixed::<S>(c.get::<{ shape::ANY }>(2, 3, i), mc);
                let (r, other) = M::apply::<S>(x, y, z);
                bad |= u64::from(S::unordered(r, r) | other) << (CHUNK * i);
                *result = if M::NARROW { S::narrow_to_half(r) } else { r };
            }
            let bad = bad & mask;
            for (i, result) in results.into_iter().enumerate() {
                store_chunk::<S>(dst, i, mask & !bad, result);
            }
            if bad != 0 {
                lanes::mix_lanes(ctx, op, bad);
            }
            HostOp::next(op)
        }
    }
}

/// The fast handler of [`FloatOp::FmaMix`], if there is one for the attributes.
pub(super) fn fast_mix(ty: FloatType, attrs: &Attrs, tier: Tier) -> Option<Fast> {
    // A nonzero immediate: denormal halves are zeros.
    if !is_plain(attrs.fp) || attrs.imm != 0 {
        return None;
    }
    let run = match ty {
        FloatType::F16 if attrs.src.iter().all(|m| m.hi_sel) => handler::<Mix<OfHalves>>(tier),
        FloatType::F16 => handler::<Mix<OfAny>>(tier),
        FloatType::F32 => handler::<Mix<Single>>(tier),
        _ => return None,
    };
    Some(Fast::unmodified(run))
}
