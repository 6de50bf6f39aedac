//! f64 operations, and others that mix operands of one and two cells, on the host's vector arithmetic.

use std::marker::PhantomData;

use wavemill_float as exact;
use wavemill_ir::{FloatOp, FpEnv, Round};

use super::{Arithmetic, Fast, lanes};
use crate::Tier;
use crate::body::{Body, Chunks, Splat, chunks, handler, lane_mask, store_chunk};
use crate::hostop::{Ctx, HostOp};
use crate::mem::for_lanes;
use crate::simd::{CHUNK, Lanes, Simd};

/// An operation on lanes whose operands have one or two cells.
pub(crate) trait MixedFn: 'static {
    /// Number of sources that it reads.
    const SOURCES: usize;
    /// Which sources have two cells.
    const WIDE: [bool; 3];
    /// Whether the result has two cells.
    const WIDE_RESULT: bool;
    /// The result, under the host's default environment.
    fn apply(a: u64, b: u64, c: u64) -> u64;
    /// Whether the lane must be computed in another way.
    fn suspect(a: u64, b: u64, c: u64, r: u64) -> bool;
    /// That other way, if it is not the reference.
    const REPAIR: Option<fn(u64, u64, u64) -> u64> = None;
}

/// Sign-bit modifiers, from the immediate, on the upper dword of a source.
#[inline(always)]
fn signs(imm: i32, i: usize) -> (u32, u32) {
    let keep = if imm >> (2 * i) & 1 != 0 { 0x7fff_ffff } else { !0 };
    let flip = if imm >> (2 * i + 1) & 1 != 0 { 0x8000_0000 } else { 0 };
    (keep, flip)
}

/// Lanes of a chunk as 64-bit values.
type WideLanes = [u64; CHUNK];

#[inline(always)]
unsafe fn read<S: Simd>(low: Chunks, high: Chunks, wide: bool, signs: (u32, u32), i: usize) -> WideLanes {
    // SAFETY: the contract of `Body`.
    unsafe {
        let l = S::to_lanes(low.get::<S>(i));
        let mut r = [0; CHUNK];
        if wide {
            let h = S::to_lanes(high.get::<S>(i));
            for n in 0..CHUNK {
                r[n] = u64::from(l[n]) | u64::from(h[n] & signs.0 ^ signs.1) << 32;
            }
        } else {
            for n in 0..CHUNK {
                r[n] = u64::from(l[n] & signs.0 ^ signs.1);
            }
        }
        r
    }
}

/// Handler body of a [`MixedFn`].
struct Mixed<F>(PhantomData<F>);

impl<F: MixedFn> Body for Mixed<F> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 6];
            let [s0, s1, s2, s3, s4, s5] = &mut splats;
            let a = chunks::<S, false>(ctx, op, 0, 0, s0);
            let ah = if F::WIDE[0] { chunks::<S, false>(ctx, op, 0, 1, s1) } else { a };
            let b = if F::SOURCES > 1 { chunks::<S, false>(ctx, op, 1, 0, s2) } else { a };
            let bh = if F::SOURCES > 1 && F::WIDE[1] { chunks::<S, false>(ctx, op, 1, 1, s3) } else { b };
            let c = if F::SOURCES > 2 { chunks::<S, false>(ctx, op, 2, 0, s4) } else { a };
            let ch = if F::SOURCES > 2 && F::WIDE[2] { chunks::<S, false>(ctx, op, 2, 1, s5) } else { c };
            let imm = (*op).imm;
            let mask = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            for i in 0..S::chunks() {
                let x = read::<S>(a, ah, F::WIDE[0], signs(imm, 0), i);
                let y = if F::SOURCES > 1 { read::<S>(b, bh, F::WIDE[1], signs(imm, 1), i) } else { x };
                let z = if F::SOURCES > 2 { read::<S>(c, ch, F::WIDE[2], signs(imm, 2), i) } else { x };
                let mut r = [0; CHUNK];
                let mut suspect = 0u64;
                for n in 0..CHUNK {
                    r[n] = F::apply(x[n], y[n], z[n]);
                    suspect |= u64::from(F::suspect(x[n], y[n], z[n], r[n]));
                }
                if suspect != 0 {
                    match F::REPAIR {
                        Some(repair) => {
                            for n in 0..CHUNK {
                                let other = repair(x[n], y[n], z[n]);
                                r[n] = if F::suspect(x[n], y[n], z[n], r[n]) { other } else { r[n] };
                            }
                        }
                        None => repair::<F>(op, i, mask, [&x, &y, &z], &mut r),
                    }
                }
                let (mut low, mut high): (Lanes, Lanes) = ([0; CHUNK], [0; CHUNK]);
                for n in 0..CHUNK {
                    low[n] = r[n] as u32;
                    high[n] = (r[n] >> 32) as u32;
                }
                // A chunk of the result depends only on the same chunk of the sources, which has
                // been read.
                store_chunk::<S>(dst, i, mask, S::from_lanes(low));
                if F::WIDE_RESULT {
                    store_chunk::<S>(dst.add(256), i, mask, S::from_lanes(high));
                }
            }
            HostOp::next(op)
        }
    }
}

/// Lets the reference compute the suspect active lanes of chunk `i`.
#[cold]
#[inline(never)]
unsafe fn repair<F: MixedFn>(op: *mut HostOp, i: usize, mask: u64, s: [&WideLanes; 3], r: &mut WideLanes) {
    // SAFETY: the contract of handlers.
    let info = unsafe { lanes::info(op) };
    let Some(reference) = info.reference else { return };
    for_lanes(mask >> (CHUNK * i) & 0xffff, |n| {
        let [a, b, c] = s.map(|s| s[n]);
        if F::suspect(a, b, c, r[n]) {
            r[n] = reference([a, b, c], info.attrs.fp);
        }
    });
}

/// The handlers of a [`MixedFn`].
pub(crate) fn fast_mixed<F: MixedFn>(tier: Tier) -> Fast {
    Fast::single(handler::<Mixed<F>>(tier))
}

#[inline(always)]
fn f(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// Declares f64 operations: suspect lanes, operands, code on lanes.
macro_rules! double_fns {
    ($($name:ident $check:ident $([$rule:expr])? |$a:ident $(, $b:ident $(, $c:ident)?)?| $code:expr;)*) => {$(
        struct $name;
        impl MixedFn for $name {
            $(const REPAIR: Option<fn(u64, u64, u64) -> u64> = Some($rule);)?
            const SOURCES: usize = 1 $(+ double_fns!(@one $b) $(+ double_fns!(@one $c))?)?;
            const WIDE: [bool; 3] = [true; 3];
            const WIDE_RESULT: bool = true;
            #[inline(always)]
            #[allow(unused_variables, reason = "an operation uses the operands that it has")]
            fn apply(x: u64, y: u64, z: u64) -> u64 {
                let $a = f(x);
                $(let $b = f(y); $(let $c = f(z);)?)?
                ($code).to_bits()
            }
            #[inline(always)]
            #[allow(unused_variables, reason = "results or sources are looked at")]
            fn suspect(a: u64, b: u64, c: u64, r: u64) -> bool {
                double_fns!(@$check a b c r)
            }
        }
    )*};
    (@one $t:tt) => { 1 };
    (@result $a:ident $b:ident $c:ident $r:ident) => { f($r).is_nan() };
    (@sources $a:ident $b:ident $c:ident $r:ident) => { f($a).is_nan() | f($b).is_nan() };
}

/// A choice between equals depends on the sign: -0 is less than +0.
#[inline(always)]
fn zero_sign(a: f64, b: f64, either: bool) -> f64 {
    let (x, y) = (a.to_bits(), b.to_bits());
    f(if either { x | y } else { x & y })
}

/// The NaN result of one and of two sources, of a difference, and of a multiply-add.
#[inline(always)]
fn nan_of_one(a: u64, _: u64, _: u64) -> u64 {
    exact::nan_result::<exact::F64>(&[a])
}

#[inline(always)]
fn nan_of_two(a: u64, b: u64, _: u64) -> u64 {
    exact::nan_result::<exact::F64>(&[a, b])
}

#[inline(always)]
fn nan_of_difference(a: u64, b: u64, c: u64) -> u64 {
    // The second source is negated before.
    nan_of_two(a, b ^ 1 << 63, c)
}

#[inline(always)]
fn nan_of_fma(a: u64, b: u64, c: u64) -> u64 {
    exact::nan_result_of_fma::<exact::F64>([a, b, c])
}

double_fns! {
    Add result [nan_of_two] |a, b| a + b;
    Sub result [nan_of_difference] |a, b| a - b;
    Mul result [nan_of_two] |a, b| a * b;
    Fma result [nan_of_fma] |a, b, c| a.mul_add(b, c);
    Min sources |a, b| if a < b { a } else if b < a { b } else { zero_sign(a, b, true) };
    Max sources |a, b| if a > b { a } else if b > a { b } else { zero_sign(a, b, false) };
    MulAdd result [nan_of_fma] |a, b, c| a * b + c;
    MinSelect sources |a, b| if a < b { a } else { b };
    MaxSelect sources |a, b| if a >= b { a } else { b };
    Trunc result [nan_of_one] |a| a.trunc();
    Ceil result [nan_of_one] |a| a.ceil();
    Floor result [nan_of_one] |a| a.floor();
    RoundEven result [nan_of_one] |a| a.round_ties_even();
    Fract result [nan_of_one] |a| {
        let fract = a - a.floor();
        if fract == 1.0 { f(0x3fef_ffff_ffff_ffff) } else { fract }
    };
}

/// [`FloatOp::MulAddWide`]. `LEGACY`: zero times anything is +0. `FLUSH`: denormal factors are
/// zeros. `NARROW`: the result is rounded to f32.
struct MulAddWide<const LEGACY: bool, const FLUSH: bool, const NARROW: bool>;

impl<const LEGACY: bool, const FLUSH: bool, const NARROW: bool> MixedFn
    for MulAddWide<LEGACY, FLUSH, NARROW>
{
    const SOURCES: usize = 3;
    const WIDE: [bool; 3] = [false, false, true];
    const WIDE_RESULT: bool = !NARROW;
    #[inline(always)]
    fn apply(a: u64, b: u64, c: u64) -> u64 {
        let factor = |s: u64| {
            let bits = s as u32;
            let zero = FLUSH && bits & 0x7f80_0000 == 0;
            f64::from(f32::from_bits(if zero { bits & 0x8000_0000 } else { bits }))
        };
        let (x, y) = (factor(a), factor(b));
        // The product of two f32 is exact.
        let product = if LEGACY && (x == 0.0 || y == 0.0) { 0.0 } else { x * y };
        let sum = product + f(c);
        if NARROW { (sum as f32).to_bits().into() } else { sum.to_bits() }
    }
    #[inline(always)]
    fn suspect(_: u64, _: u64, _: u64, r: u64) -> bool {
        if !NARROW {
            return f(r).is_nan();
        }
        // The mode may flush a denormal.
        let denormal = r & 0x7f80_0000 == 0 && r & 0x007f_ffff != 0;
        f32::from_bits(r as u32).is_nan() | denormal
    }
}

/// The fast handlers of an operation on f32 factors and an f64 addend, if there are any for the
/// environment.
pub(super) fn fast_wide(op: FloatOp, env: FpEnv, tier: Tier) -> Option<Fast> {
    if env.round != Round::NearestEven {
        return None;
    }
    Some(match (op, env.denorm_in) {
        (FloatOp::MulAddWide, true) => fast_mixed::<MulAddWide<false, false, false>>(tier),
        (FloatOp::MulAddWide, false) => fast_mixed::<MulAddWide<false, true, false>>(tier),
        (FloatOp::MulAddWideLegacy, true) => fast_mixed::<MulAddWide<true, false, false>>(tier),
        (FloatOp::MulAddWideLegacy, false) => fast_mixed::<MulAddWide<true, true, false>>(tier),
        (FloatOp::MulAddNarrow, true) => fast_mixed::<MulAddWide<false, false, true>>(tier),
        (FloatOp::MulAddNarrow, false) => fast_mixed::<MulAddWide<false, true, true>>(tier),
        (FloatOp::MulAddNarrowLegacy, true) => fast_mixed::<MulAddWide<true, false, true>>(tier),
        (FloatOp::MulAddNarrowLegacy, false) => fast_mixed::<MulAddWide<true, true, true>>(tier),
        _ => return None,
    })
}

/// The fast handlers of an f64 operation, if there are any for the environment.
pub(super) fn fast(op: FloatOp, env: FpEnv, tier: Tier) -> Option<Fast> {
    if Arithmetic::of(env) != Arithmetic::Host {
        return None;
    }
    Some(match op {
        FloatOp::Add => fast_mixed::<Add>(tier),
        FloatOp::Sub => fast_mixed::<Sub>(tier),
        FloatOp::Mul => fast_mixed::<Mul>(tier),
        FloatOp::Fma => fast_mixed::<Fma>(tier),
        FloatOp::Min => fast_mixed::<Min>(tier),
        FloatOp::Max => fast_mixed::<Max>(tier),
        FloatOp::MulAdd => fast_mixed::<MulAdd>(tier),
        FloatOp::MinSelect => fast_mixed::<MinSelect>(tier),
        FloatOp::MaxSelect => fast_mixed::<MaxSelect>(tier),
        FloatOp::Trunc => fast_mixed::<Trunc>(tier),
        FloatOp::Ceil => fast_mixed::<Ceil>(tier),
        FloatOp::Floor => fast_mixed::<Floor>(tier),
        FloatOp::RoundEven => fast_mixed::<RoundEven>(tier),
        FloatOp::Fract => fast_mixed::<Fract>(tier),
        _ => return None,
    })
}
