//! f32 operations with one cell per operand, on the host's vector arithmetic.

use std::marker::PhantomData;

use wavemill_float as exact;
use wavemill_ir::{FloatOp, FpEnv};

use super::{Arithmetic, Fast, lanes};
use crate::Tier;
use crate::body::{Body, Shaped, Source, Splat, handler, lane_mask, shape, special_handler, store_chunk};
use crate::hostop::{Ctx, Handler, HostOp};
use crate::mem::for_lanes;
use crate::simd::{CHUNK, CHUNKS, Simd};

/// Lanes whose result a fast handler must not use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Check {
    /// None.
    Nothing,
    /// Those with a NaN result.
    Result,
    /// Those with a NaN source.
    Sources,
}

/// How a NaN result follows from the sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NanRule {
    /// The reference knows.
    Reference,
    /// As [`exact::nan_result`] of this many sources says.
    Sources(usize),
    /// As [`exact::nan_result_of_fma`] says.
    Fused,
}

/// An operation on chunks of f32 (or of i32 where the operation says so).
pub(crate) trait SingleFn: 'static {
    /// Number of sources that it reads.
    const SOURCES: usize;
    /// Lanes that the reference must compute.
    const CHECK: Check;
    /// What a NaN result is, if those are checked.
    const NAN: NanRule = NanRule::Reference;
    /// The result, under the host's default environment.
    ///
    /// # Safety
    /// As [`Simd`].
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V) -> S::V;
}

/// Denormals become zeros of their sign.
#[inline(always)]
unsafe fn flush<S: Simd>(a: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let denormal = S::eq(S::and(a, S::splat(0x7f80_0000)), S::splat(0));
        S::select(denormal, S::and(a, S::splat(0x8000_0000)), a)
    }
}

/// Bits that `abs` (bit 0) leaves.
#[inline(always)]
const fn keep(mods: i32) -> u32 {
    if mods & 1 != 0 { 0x7fff_ffff } else { !0 }
}

/// Bits that `neg` (bit 1) flips.
#[inline(always)]
const fn flip(mods: i32) -> u32 {
    if mods & 2 != 0 { 0x8000_0000 } else { 0 }
}

/// Sign-bit modifiers of the sources, from the immediate.
#[derive(Clone, Copy)]
pub(crate) struct Signs<S: Simd> {
    keep: [S::V; 3],
    flip: [S::V; 3],
}

impl<S: Simd> Signs<S> {
    #[inline(always)]
    pub(crate) unsafe fn new(imm: i32) -> Self {
        // SAFETY: the contract of `Simd`.
        unsafe {
            Signs {
                keep: [S::splat(keep(imm)), S::splat(keep(imm >> 2)), S::splat(keep(imm >> 4))],
                flip: [S::splat(flip(imm)), S::splat(flip(imm >> 2)), S::splat(flip(imm >> 4))],
            }
        }
    }

    #[inline(always)]
    pub(crate) unsafe fn apply(&self, i: usize, a: S::V) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe { S::xor(S::and(a, self.keep[i]), self.flip[i]) }
    }
}

/// The sources of a row operation. Its functions are methods: closures might be compiled without the tier's
/// instructions.
#[derive(Clone, Copy)]
pub(crate) struct Operands<S: Simd> {
    pub(crate) sources: [Source<S>; 3],
    pub(crate) signs: Signs<S>,
}

impl<S: Simd> Operands<S> {
    /// Chunk `i` of source `n` of an operation that reads `count`, with its modifiers.
    #[inline(always)]
    pub(crate) unsafe fn get<const SHAPE: u8, const MODS: bool, const FLUSH: bool>(
        &self,
        n: usize,
        count: usize,
        i: usize,
    ) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let v = self.sources[n].get::<SHAPE>(n, count, i);
            let v = if MODS { self.signs.apply(n, v) } else { v };
            if FLUSH { flush::<S>(v) } else { v }
        }
    }

    /// Chunk `i` of the result, and its lanes with NaN sources if the operation checks sources.
    #[inline(always)]
    unsafe fn chunk<F: SingleFn, const SHAPE: u8, const MODS: bool, const FLUSH: bool>(
        &self,
        i: usize,
    ) -> (S::V, u32) {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let x = self.get::<SHAPE, MODS, FLUSH>(0, F::SOURCES, i);
            let y = if F::SOURCES > 1 { self.get::<SHAPE, MODS, FLUSH>(1, F::SOURCES, i) } else { x };
            let z = if F::SOURCES > 2 { self.get::<SHAPE, MODS, FLUSH>(2, F::SOURCES, i) } else { x };
            let r = F::apply::<S>(x, y, z);
            let r = if FLUSH { flush::<S>(r) } else { r };
            let bad = match F::CHECK {
                Check::Sources if F::SOURCES > 2 => S::unordered(x, y) | S::unordered(z, z),
                Check::Sources => S::unordered(x, y),
                _ => 0,
            };
            (r, bad)
        }
    }
}

/// All chunks of the result, and the lanes that must be computed by the reference.
#[inline(always)]
unsafe fn compute<S: Simd, F: SingleFn, const SHAPE: u8, const MODS: bool, const FLUSH: bool>(
    ctx: *mut Ctx,
    op: *mut HostOp,
    mask: u64,
) -> ([S::V; CHUNKS], u64) {
    // SAFETY: the contract of `Body`.
    unsafe {
        let (mut s0, mut s1, mut s2) = (Splat::new(), Splat::new(), Splat::new());
        let n = F::SOURCES;
        let a = Source::<S>::new::<SHAPE>(ctx, op, 0, n, &mut s0);
        let b = Source::<S>::new::<SHAPE>(ctx, op, 1, n, &mut s1);
        let c = Source::<S>::new::<SHAPE>(ctx, op, 2, n, &mut s2);
        let s = Operands { sources: [a, b, c], signs: Signs::<S>::new(if MODS { (*op).imm } else { 0 }) };
        let (r0, b0) = s.chunk::<F, SHAPE, MODS, FLUSH>(0);
        let (r1, b1) = s.chunk::<F, SHAPE, MODS, FLUSH>(1);
        let (r2, b2) = s.chunk::<F, SHAPE, MODS, FLUSH>(2);
        let (r3, b3) = s.chunk::<F, SHAPE, MODS, FLUSH>(3);
        let r = [r0, r1, r2, r3];
        let bad = if F::CHECK == Check::Result {
            // One test covers two chunks; the lanes are determined only if there are any.
            if S::unordered(r0, r1) | S::unordered(r2, r3) == 0 {
                return (r, 0);
            }
            [S::unordered(r0, r0), S::unordered(r1, r1), S::unordered(r2, r2), S::unordered(r3, r3)]
        } else {
            [b0, b1, b2, b3]
        };
        let [b0, b1, b2, b3] = bad.map(u64::from);
        (r, (b0 | b1 << CHUNK | b2 << (2 * CHUNK) | b3 << (3 * CHUNK)) & mask)
    }
}

#[inline(always)]
unsafe fn store<S: Simd>(dst: *mut u8, r: &[S::V; CHUNKS], mask: u64) {
    // SAFETY: `dst` is a row.
    unsafe {
        if mask == !0 {
            for (i, v) in r.iter().enumerate() {
                store_chunk::<S>(dst, i, !0, *v);
            }
        } else {
            for (i, v) in r.iter().enumerate() {
                store_chunk::<S>(dst, i, mask, *v);
            }
        }
    }
}

/// Handler body of a [`SingleFn`]; `SHAPE`: which sources are rows, `MODS`: source modifiers are in the immediate,
/// `FLUSH`: denormals are flushed on both sides.
struct Single<F, const SHAPE: u8, const MODS: bool, const FLUSH: bool>(PhantomData<F>);

impl<F: SingleFn, const SHAPE: u8, const MODS: bool, const FLUSH: bool> Body
    for Single<F, SHAPE, MODS, FLUSH>
{
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mask = lane_mask(ctx, op);
            let (r, bad) = compute::<S, F, SHAPE, MODS, FLUSH>(ctx, op, mask);
            // The destination may be a source: bad lanes keep their old value until they are
            // repaired.
            store::<S>((*ctx).base.add((*op).dst as usize), &r, mask & !bad);
            if bad != 0 {
                repair(ctx, op, bad, F::NAN, FLUSH);
            }
            HostOp::next(op)
        }
    }
}

/// Lets the rule for NaN results, or the reference, compute the lanes in `bad`.
#[cold]
#[inline(never)]
pub(super) unsafe fn repair(ctx: *mut Ctx, op: *mut HostOp, bad: u64, rule: NanRule, flushes: bool) {
    // SAFETY: the contract of handlers.
    unsafe {
        let info = lanes::info(op);
        debug_assert!(info.reference.is_some(), "fast handlers have a reference");
        let Some(reference) = info.reference else { return };
        let imm = (*op).imm;
        let dst = (*ctx).base.add((*op).dst as usize).cast::<u32>();
        for_lanes(bad, |lane| {
            let mut s = lanes::sources(ctx, op, info, lane);
            for (i, s) in s.iter_mut().enumerate() {
                if imm >> (2 * i) & 1 != 0 {
                    *s &= 0x7fff_ffff;
                }
                if imm >> (2 * i + 1) & 1 != 0 {
                    *s ^= 0x8000_0000;
                }
            }
            let value = match rule {
                NanRule::Reference => reference(s, info.attrs.fp),
                NanRule::Sources(count) => exact::nan_result::<exact::F32>(&s[..count]),
                NanRule::Fused => {
                    // A denormal beside an infinity is a zero if it is flushed.
                    let flushed = |s: u64| if flushes && s & 0x7f80_0000 == 0 { s & 0x8000_0000 } else { s };
                    exact::nan_result_of_fma::<exact::F32>(s.map(flushed))
                }
            };
            dst.add(lane).write(value as u32);
        });
    }
}

/// The handler of a [`SingleFn`] that keeps denormals.
pub(crate) fn fast_single<F: SingleFn>(tier: Tier) -> Fast {
    Fast::single(handler::<Single<F, { shape::ANY }, true, false>>(tier))
}

/// The same for frequent operations, with separate handlers for one scalar among rows.
fn frequent<F: SingleFn>(tier: Tier) -> Fast {
    Fast { run: shaped::<F, false, false>(tier), run_mods: Some(shaped::<F, true, false>(tier)), imm: 0 }
}

/// The same of handlers that flush denormals on both sides.
fn frequent_flushing<F: SingleFn>(tier: Tier) -> Fast {
    Fast { run: shaped::<F, false, true>(tier), run_mods: Some(shaped::<F, true, true>(tier)), imm: 0 }
}

fn shaped<F: SingleFn, const MODS: bool, const FLUSH: bool>(tier: Tier) -> Shaped {
    let any = of_shape::<F, { shape::ANY }, MODS, FLUSH>(tier);
    let rows = of_shape::<F, { shape::ROWS }, MODS, FLUSH>(tier);
    let (first, second) = (of_shape::<F, 0, MODS, FLUSH>(tier), of_shape::<F, 1, MODS, FLUSH>(tier));
    let third = if F::SOURCES > 2 { of_shape::<F, 2, MODS, FLUSH>(tier) } else { any };
    Shaped { any, rows, scalar: [first, second, third] }
}

fn of_shape<F: SingleFn, const SHAPE: u8, const MODS: bool, const FLUSH: bool>(tier: Tier) -> Handler {
    special_handler::<Single<F, SHAPE, MODS, FLUSH>, Single<F, { shape::ANY }, true, FLUSH>>(tier)
}

/// The handler of a [`SingleFn`] that flushes denormals on both sides.
fn flushing<F: SingleFn>(tier: Tier) -> Fast {
    Fast::single(handler::<Single<F, { shape::ANY }, true, true>>(tier))
}

/// Declares operations: name, check, operands, code on chunks.
macro_rules! single_fns {
    ($($name:ident $check:ident $([$rule:expr])? |$a:ident $(, $b:ident $(, $c:ident)?)?| $code:expr;)*) => {$(
        pub(super) struct $name;
        impl SingleFn for $name {
            const SOURCES: usize = 1 $(+ single_fns!(@one $b) $(+ single_fns!(@one $c))?)?;
            const CHECK: Check = Check::$check;
            $(const NAN: NanRule = $rule;)?
            #[inline(always)]
            #[allow(unused_variables, unused_unsafe, reason = "an operation uses what it needs")]
            unsafe fn apply<S: Simd>(x: S::V, y: S::V, z: S::V) -> S::V {
                let $a = x;
                $(let $b = y; $(let $c = z;)?)?
                // SAFETY: the contract of `Simd`.
                unsafe { $code }
            }
        }
    )*};
    (@one $t:tt) => { 1 };
}

/// The smaller one; -0 is less than +0.
#[inline(always)]
unsafe fn min<S: Simd>(a: S::V, b: S::V) -> S::V {
    // SAFETY: the contract of `Simd`. The two results differ only for zeros, in the sign.
    unsafe { S::or(S::fmin(a, b), S::fmin(b, a)) }
}

/// The greater one; -0 is less than +0.
#[inline(always)]
unsafe fn max<S: Simd>(a: S::V, b: S::V) -> S::V {
    // SAFETY: as above.
    unsafe { S::and(S::fmax(a, b), S::fmax(b, a)) }
}

/// The product; zero times a number or an infinity is +0.
#[inline(always)]
unsafe fn mul_legacy<S: Simd>(a: S::V, b: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let zero = S::splat(0);
        S::select(S::feq(a, zero) | S::feq(b, zero), zero, S::fmul(a, b))
    }
}

/// Infinities.
#[inline(always)]
unsafe fn infinite<S: Simd>(a: S::V) -> u32 {
    // SAFETY: the contract of `Simd`.
    unsafe { S::eq(S::and(a, S::splat(0x7fff_ffff)), S::splat(0x7f80_0000)) }
}

/// Result of the roots of negative numbers.
const DEFAULT_NAN: u32 = 0xffc0_0000;

/// The result, or the quieted source where that is a NaN.
#[inline(always)]
unsafe fn unless_nan<S: Simd>(source: S::V, result: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe { S::select(S::unordered(source, source), S::or(source, S::splat(0x0040_0000)), result) }
}

/// Lanes below zero, excluding -0 but including NaNs with their sign bit set.
#[inline(always)]
unsafe fn negative<S: Simd>(a: S::V) -> u32 {
    // SAFETY: the contract of `Simd`.
    unsafe { S::lt_u(S::splat(0x8000_0000), a) }
}

/// `1 / sqrt(a)`, denormals flushed, as `wavemill_float::rsq_f32`.
#[inline(always)]
unsafe fn rsq<S: Simd>(a: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let x = flush::<S>(a);
        let infinity = S::splat(0x7f80_0000);
        let zero = S::eq(S::and(x, S::splat(0x7fff_ffff)), S::splat(0));
        let r = S::frsqrt(x);
        let r = S::select(zero, S::or(x, infinity), r);
        let r = S::select(S::eq(x, infinity), S::splat(0), r);
        let r = S::select(negative::<S>(x), S::splat(DEFAULT_NAN), r);
        unless_nan::<S>(a, r)
    }
}

/// The value times 2^24 where it is denormal, and those lanes.
#[inline(always)]
unsafe fn normalised<S: Simd>(a: S::V) -> (S::V, u32) {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let small = S::eq(S::and(a, S::splat(0x7f80_0000)), S::splat(0));
        (S::select(small, S::fmul(a, S::splat((127 + 24) << 23)), a), small)
    }
}

/// Zeros, infinities and NaNs.
#[inline(always)]
unsafe fn without_exponent<S: Simd>(a: S::V) -> u32 {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let zero = S::eq(S::and(a, S::splat(0x7fff_ffff)), S::splat(0));
        let ones = S::splat(0x7f80_0000);
        zero | S::eq(S::and(a, ones), ones)
    }
}

/// The exponent for a mantissa in [0.5, 1).
#[inline(always)]
unsafe fn frexp_exp<S: Simd>(a: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let (x, small) = normalised::<S>(a);
        let field = S::shr(S::and(x, S::splat(0x7f80_0000)), S::splat(23));
        let bias = S::select(small, S::splat(126 + 24), S::splat(126));
        S::select(without_exponent::<S>(a), S::splat(0), S::sub(field, bias))
    }
}

/// The mantissa in [0.5, 1).
#[inline(always)]
unsafe fn frexp_mant<S: Simd>(a: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let (x, _) = normalised::<S>(a);
        let half = S::or(S::and(x, S::splat(0x807f_ffff)), S::splat(126 << 23));
        S::select(without_exponent::<S>(a), a, half)
    }
}

/// A lane function on f32.
#[inline(always)]
fn on_f32(f: impl Fn(f32) -> f32) -> impl Fn(u32) -> u32 {
    move |x| f(f32::from_bits(x)).to_bits()
}

single_fns! {
    Add Result [NanRule::Sources(2)] |a, b| S::fadd(a, b);
    Sub Result |a, b| S::fsub(a, b);
    Mul Result [NanRule::Sources(2)] |a, b| S::fmul(a, b);
    Fma Result [NanRule::Fused] |a, b, c| S::fma(a, b, c);
    Mad Result [NanRule::Fused] |a, b, c| S::fadd(flush::<S>(S::fmul(a, b)), c);
    MulAdd Result [NanRule::Fused] |a, b, c| S::fadd(S::fmul(a, b), c);
    MulAddLegacy Result |a, b, c| S::fadd(mul_legacy::<S>(a, b), c);
    MadLegacy Result |a, b, c| S::fadd(flush::<S>(mul_legacy::<S>(a, b)), c);
    MinSelect Nothing |a, b| S::fmin(a, b);
    MaxSelect Nothing |a, b| S::select(S::fle(b, a), a, b);
    MinNumber Nothing |a, b| S::select(S::unordered(b, b), a, S::fmin(a, b));
    MaxNumber Nothing |a, b| S::select(S::fle(b, a) | S::unordered(b, b), a, b);
    InfinityToMax Nothing |a| S::select(infinite::<S>(a), S::sub(a, S::splat(1)), a);
    InfinityToZero Nothing |a| S::select(infinite::<S>(a), S::and(a, S::splat(0x8000_0000)), a);
    NanToInfinity Nothing |a| S::select(S::unordered(a, a), S::and(a, S::splat(0xff80_0000)), a);
    MulLegacy Sources |a, b| mul_legacy::<S>(a, b);
    Min Sources |a, b| min::<S>(a, b);
    Max Sources |a, b| max::<S>(a, b);
    Min3 Sources |a, b, c| min::<S>(min::<S>(a, b), c);
    Max3 Sources |a, b, c| max::<S>(max::<S>(a, b), c);
    Med3 Sources |a, b, c| {
        // The greatest one is left out; zeros of both signs count as equal here.
        let greatest = S::fmax(S::fmax(a, b), c);
        let rest = S::select(S::feq(greatest, b), max::<S>(a, c), max::<S>(a, b));
        S::select(S::feq(greatest, a), max::<S>(b, c), rest)
    };
    Trunc Result [NanRule::Sources(1)] |a| S::map1(a, on_f32(f32::trunc));
    Ceil Result [NanRule::Sources(1)] |a| S::map1(a, on_f32(f32::ceil));
    Floor Result [NanRule::Sources(1)] |a| S::map1(a, on_f32(f32::floor));
    RoundEven Result [NanRule::Sources(1)] |a| S::map1(a, on_f32(f32::round_ties_even));
    Fract Result |a| {
        let fract = S::fsub(a, S::map1(a, on_f32(f32::floor)));
        // A small negative number would round to 1. The order of operands lets a NaN through.
        S::fmin(S::splat(0x3f7f_ffff), fract)
    };
    Ldexp Result |a, n| S::ldexp(a, n);
    FrexpExp Nothing |a| frexp_exp::<S>(a);
    FrexpMant Result |a| frexp_mant::<S>(a);
    Rcp Nothing |a| unless_nan::<S>(a, flush::<S>(S::fdiv(S::splat(0x3f80_0000), flush::<S>(a))));
    Rsq Nothing |a| rsq::<S>(a);
    Sqrt Nothing |a| {
        let x = flush::<S>(a);
        unless_nan::<S>(a, S::select(negative::<S>(x), S::splat(DEFAULT_NAN), S::fsqrt(x)))
    };
    Exp2 Nothing |a| S::map1(a, exact::exp2_f32);
    Log2 Nothing |a| S::map1(a, exact::log2_f32);
    Sin Nothing |a| S::map1(a, exact::sin_f32);
    Cos Nothing |a| S::map1(a, exact::cos_f32);
}

/// The fast handlers of an f32 operation, if there are any for the environment.
pub(super) fn fast(op: FloatOp, env: FpEnv, tier: Tier) -> Option<Fast> {
    // The first operations do not depend on the mode.
    let any = match op {
        FloatOp::Rcp | FloatOp::RcpIflag => fast_single::<Rcp>,
        FloatOp::Rsq => fast_single::<Rsq>,
        FloatOp::Sqrt => fast_single::<Sqrt>,
        FloatOp::Exp2 => fast_single::<Exp2>,
        FloatOp::Log2 => fast_single::<Log2>,
        FloatOp::InfinityToMax => fast_single::<InfinityToMax>,
        FloatOp::InfinityToZero => fast_single::<InfinityToZero>,
        FloatOp::NanToInfinity => fast_single::<NanToInfinity>,
        FloatOp::Sin => return angle::<Sin>(env, tier),
        FloatOp::Cos => return angle::<Cos>(env, tier),
        _ => return arithmetic(op, env, tier),
    };
    Some(any(tier))
}

/// A sine or cosine, which ignores the rounding field.
fn angle<F: SingleFn>(env: FpEnv, tier: Tier) -> Option<Fast> {
    match (env.denorm_in, env.denorm_out) {
        (true, true) => Some(fast_single::<F>(tier)),
        (false, false) => Some(flushing::<F>(tier)),
        _ => None,
    }
}

fn arithmetic(op: FloatOp, env: FpEnv, tier: Tier) -> Option<Fast> {
    // `FloatOp::Mad` and `FloatOp::MadLegacy` flush in every mode.
    let flushes = matches!(op, FloatOp::Mad | FloatOp::MadLegacy);
    let env = if flushes { FpEnv { denorm_in: false, denorm_out: false, ..env } } else { env };
    // Where denormals are flushed, those of the product are.
    let op = match (op, Arithmetic::of(env)) {
        (FloatOp::MulAdd, Arithmetic::Flushing) => FloatOp::Mad,
        (FloatOp::MulAddLegacy, Arithmetic::Flushing) => FloatOp::MadLegacy,
        _ => op,
    };
    match (op, Arithmetic::of(env)) {
        (FloatOp::MulAdd, Arithmetic::Host) => return Some(frequent::<MulAdd>(tier)),
        (FloatOp::Mad, Arithmetic::Flushing) => return Some(frequent_flushing::<Mad>(tier)),
        _ => {}
    }
    macro_rules! choose {
        (always $($always:ident)*, frequent $($hot:ident)*, both $($both:ident)*, keeping $($keeping:ident)*) => {
            match (op, Arithmetic::of(env)) {
                $((FloatOp::$always, Arithmetic::Host) => frequent::<$always>(tier),
                (FloatOp::$always, Arithmetic::Flushing) => frequent_flushing::<$always>(tier),)*
                $((FloatOp::$hot, Arithmetic::Host) => frequent::<$hot>(tier),
                (FloatOp::$hot, Arithmetic::Flushing) => flushing::<$hot>(tier),)*
                $((FloatOp::$both, Arithmetic::Host) => fast_single::<$both>(tier),
                (FloatOp::$both, Arithmetic::Flushing) => flushing::<$both>(tier),)*
                $((FloatOp::$keeping, Arithmetic::Host) => fast_single::<$keeping>(tier),)*
                _ => return None,
            }
        };
    }
    Some(choose! {
        always Add Mul,
        frequent Sub Fma Min Max,
        both MulLegacy MadLegacy MinSelect MaxSelect MinNumber MaxNumber Min3 Max3 Med3 Trunc Ceil Floor RoundEven Fract,
        // Not all of their operands are floats.
        keeping Ldexp FrexpExp FrexpMant MulAddLegacy
    })
}
