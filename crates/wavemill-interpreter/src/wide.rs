//! Varying integer operations on more than one cell.

use wavemill_ir::IntOp;

use super::Tier;
use super::body::{Body, Splat, chunks, each_chunk, handler, lane_mask, rare_handler, store_chunk, write64};
use super::hostop::{Ctx, Handler, HostOp};
use super::int::{masked_sad8, sad8};
use super::simd::{CHUNK, Lanes, Simd};

/// A 64-bit value per lane: low and high dwords.
#[derive(Clone, Copy)]
struct Pair<S: Simd> {
    low: S::V,
    high: S::V,
}

impl<S: Simd> Pair<S> {
    /// The sum, and the lanes that carry.
    #[inline(always)]
    unsafe fn add(self, other: Pair<S>) -> (Pair<S>, u32) {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let low = S::add(self.low, other.low);
            let carry = S::lt_u(low, other.low);
            let high = S::add(self.high, other.high);
            let with_carry = S::select(carry, S::add(high, S::splat(1)), high);
            let out = S::lt_u(high, other.high) | carry & S::eq(with_carry, S::splat(0));
            (Pair { low, high: with_carry }, out)
        }
    }

    /// Shifted left by `n` below 32.
    #[inline(always)]
    unsafe fn shl(self, n: S::V) -> Pair<S> {
        // SAFETY: the contract of `Simd`. Bits that cross are shifted in two steps, because no
        // shift may be by 32.
        unsafe {
            let crossing = S::shr(S::shr(self.low, S::splat(1)), S::xor(n, S::splat(31)));
            Pair { low: S::shl(self.low, n), high: S::or(S::shl(self.high, n), crossing) }
        }
    }

    /// Shifted right by `n` below 32; with `SIGNED` the sign comes in.
    #[inline(always)]
    unsafe fn shr<const SIGNED: bool>(self, n: S::V) -> Pair<S> {
        // SAFETY: as above.
        unsafe {
            let crossing = S::shl(S::shl(self.high, S::splat(1)), S::xor(n, S::splat(31)));
            let high = if SIGNED { S::sar(self.high, n) } else { S::shr(self.high, n) };
            Pair { low: S::or(S::shr(self.low, n), crossing), high }
        }
    }
}

/// A function of 64-bit operands on a chunk. `WIDE[i]` says that source `i` has two cells; the high
/// dword of any other source is unspecified.
trait PairFn: 'static {
    /// Which sources are 64-bit.
    const WIDE: [bool; 3];
    /// Number of sources that it reads.
    const SOURCES: usize;
    /// Applies it; the second result is the mask of lanes that carry.
    ///
    /// # Safety
    /// As [`Simd`].
    unsafe fn apply<S: Simd>(a: Pair<S>, b: Pair<S>, c: Pair<S>) -> (Pair<S>, u32);
}

/// Handler body of a [`PairFn`].
struct Pairs<F>(std::marker::PhantomData<F>);

impl<F: PairFn> Body for Pairs<F> {
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
            let dst = (*ctx).base.add((*op).dst as usize);
            let mask = lane_mask(ctx, op);
            let mut out = 0u64;
            each_chunk!(S, mask, |i, mask| {
                let x = Pair::<S> { low: a.get::<S>(i), high: ah.get::<S>(i) };
                let y = Pair::<S> { low: b.get::<S>(i), high: bh.get::<S>(i) };
                let z = Pair::<S> { low: c.get::<S>(i), high: ch.get::<S>(i) };
                let (r, carry) = F::apply::<S>(x, y, z);
                out |= u64::from(carry) << (CHUNK * i);
                store_chunk::<S>(dst, i, mask, r.low);
                store_chunk::<S>(dst.add(256), i, mask, r.high);
            });
            write64(ctx, (*op).dst2, out & mask);
            HostOp::next(op)
        }
    }
}

macro_rules! pair_fns {
    ($($name:ident $wide:expr, |$a:ident $(, $b:ident $(, $c:ident)?)?| $code:expr;)*) => {$(
        struct $name;
        impl PairFn for $name {
            const WIDE: [bool; 3] = $wide;
            const SOURCES: usize = 1 $(+ wide_fns!(@one $b) $(+ wide_fns!(@one $c))?)?;
            #[inline(always)]
            #[allow(unused_variables, unused_unsafe, reason = "an operation uses what it needs")]
            unsafe fn apply<S: Simd>(x: Pair<S>, y: Pair<S>, z: Pair<S>) -> (Pair<S>, u32) {
                let $a = x;
                $(let $b = y; $(let $c = z;)?)?
                // SAFETY: the contract of `Simd`.
                unsafe { $code }
            }
        }
    )*};
}

/// A function of 64-bit operands, lane by lane. `WIDE[i]` says that source `i` has two cells.
trait WideFn: 'static {
    /// Which sources are 64-bit.
    const WIDE: [bool; 3];
    /// Number of sources that it reads.
    const SOURCES: usize;
    /// The result, and a bit for the mask result.
    fn apply(a: u64, b: u64, c: u64) -> (u64, bool);
}

/// A [`WideFn`] as a [`PairFn`].
struct ByLane<F>(std::marker::PhantomData<F>);

/// Lane `l` of two chunks as one value.
#[inline(always)]
fn join(low: &Lanes, high: &Lanes, l: usize, wide: bool) -> u64 {
    if wide { u64::from(low[l]) | u64::from(high[l]) << 32 } else { u64::from(low[l]) }
}

impl<F: WideFn> PairFn for ByLane<F> {
    const WIDE: [bool; 3] = F::WIDE;
    const SOURCES: usize = F::SOURCES;

    #[inline(always)]
    unsafe fn apply<S: Simd>(a: Pair<S>, b: Pair<S>, c: Pair<S>) -> (Pair<S>, u32) {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let (al, ah) = (S::to_lanes(a.low), S::to_lanes(a.high));
            let (bl, bh) = (S::to_lanes(b.low), S::to_lanes(b.high));
            let (cl, ch) = (S::to_lanes(c.low), S::to_lanes(c.high));
            let (mut low, mut high) = ([0; CHUNK], [0; CHUNK]);
            let mut out = 0;
            for l in 0..CHUNK {
                let (r, bit) = F::apply(
                    join(&al, &ah, l, F::WIDE[0]),
                    join(&bl, &bh, l, F::WIDE[1]),
                    join(&cl, &ch, l, F::WIDE[2]),
                );
                low[l] = r as u32;
                high[l] = (r >> 32) as u32;
                out |= u32::from(bit) << l;
            }
            (Pair { low: S::from_lanes(low), high: S::from_lanes(high) }, out)
        }
    }
}

/// The handler of a [`WideFn`]; all of them are rare.
fn by_lane<F: WideFn>() -> Handler {
    rare_handler::<Pairs<ByLane<F>>>()
}

macro_rules! wide_fns {
    ($($name:ident $wide:expr, |$a:ident $(, $b:ident $(, $c:ident)?)?| $code:expr;)*) => {$(
        struct $name;
        impl WideFn for $name {
            const WIDE: [bool; 3] = $wide;
            const SOURCES: usize = 1 $(+ wide_fns!(@one $b) $(+ wide_fns!(@one $c))?)?;
            #[inline(always)]
            #[allow(unused_variables, reason = "an operation uses the operands that it has")]
            fn apply(x: u64, y: u64, z: u64) -> (u64, bool) {
                let $a = x;
                $(let $b = y; $(let $c = z;)?)?
                $code
            }
        }
    )*};
    (@one $t:tt) => { 1 };
}

/// The lanes whose shift amount is 32 or more.
#[inline(always)]
unsafe fn far<S: Simd>(n: S::V) -> u32 {
    // SAFETY: the contract of `Simd`.
    unsafe { !S::eq(S::and(n, S::splat(32)), S::splat(0)) & 0xffff }
}

#[inline(always)]
unsafe fn shr64<S: Simd, const SIGNED: bool>(a: Pair<S>, n: S::V) -> Pair<S> {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let r = a.shr::<SIGNED>(S::and(n, S::splat(31)));
        let far = far::<S>(n);
        let fill = if SIGNED { S::sar(a.high, S::splat(31)) } else { S::splat(0) };
        Pair { low: S::select(far, r.high, r.low), high: S::select(far, fill, r.high) }
    }
}

pair_fns! {
    Mov64 [true, false, false], |a| (a, 0);
    Shl64 [true, false, false], |a, n| {
        let r = a.shl(S::and(n.low, S::splat(31)));
        let far = far::<S>(n.low);
        (Pair { low: S::select(far, S::splat(0), r.low), high: S::select(far, r.low, r.high) }, 0)
    };
    Shr64 [true, false, false], |a, n| (shr64::<S, false>(a, n.low), 0);
    Sar64 [true, false, false], |a, n| (shr64::<S, true>(a, n.low), 0);
    ShlAdd64 [true, false, true], |a, n, c| {
        // Amounts above 4 count as 0.
        let n = S::and(n.low, S::splat(7));
        let n = S::select(S::lt_u(S::splat(4), n), S::splat(0), n);
        (a.shl(n).add(c).0, 0)
    };
    MadU64U32 [false, false, true], |a, b, c| {
        Pair { low: S::mul_lo(a.low, b.low), high: S::mul_hi_u(a.low, b.low) }.add(c)
    };
}

wide_fns! {
    MadU64U32Clamp [false, false, true], |a, b, c| {
        let (sum, carry) = (a * b).overflowing_add(c);
        (if carry { u64::MAX } else { sum }, carry)
    };
    MadI64I32 [false, false, true], |a, b, c| {
        let sum = mad_i64(a, b, c);
        (sum as u64, sum < 0)
    };
    MadI64I32Clamp [false, false, true], |a, b, c| {
        let sum = mad_i64(a, b, c);
        (sum.clamp(i64::MIN.into(), i64::MAX.into()) as u64, sum < 0)
    };
    QsadPkU16U8 [true, false, true], |a, b, c| (pk_sums::<false>(c, |k| sad8(bytes_from(a, k), b as u32)), false);
    QsadPkU16U8Clamp [true, false, true], |a, b, c| (pk_sums::<true>(c, |k| sad8(bytes_from(a, k), b as u32)), false);
    MqsadPkU16U8 [true, false, true], |a, b, c| {
        (pk_sums::<false>(c, |k| masked_sad8(bytes_from(a, k), b as u32)), false)
    };
    MqsadPkU16U8Clamp [true, false, true], |a, b, c| {
        (pk_sums::<true>(c, |k| masked_sad8(bytes_from(a, k), b as u32)), false)
    };
}

/// The exact `i32 * i32 + i64`.
fn mad_i64(a: u64, b: u64, c: u64) -> i128 {
    let product = i64::from(a as u32 as i32) * i64::from(b as u32 as i32);
    i128::from(product) + i128::from(c as i64)
}

/// Bytes `k..k + 4` of a 64-bit value.
fn bytes_from(a: u64, k: u32) -> u32 {
    (a >> (8 * k)) as u32
}

/// Adds four sums to the four halves of `c`.
fn pk_sums<const CLAMP: bool>(c: u64, sum: impl Fn(u32) -> u32) -> u64 {
    (0..4).fold(0, |r, k| {
        let (old, sum) = ((c >> (16 * k)) as u16, sum(k) as u16);
        let new = if CLAMP { old.saturating_add(sum) } else { old.wrapping_add(sum) };
        r | u64::from(new) << (16 * k)
    })
}

/// [`IntOp::MqsadU32U8`]: four sums added to four dwords.
struct MqsadU32U8<const CLAMP: bool>;

impl<const CLAMP: bool> Body for MqsadU32U8<CLAMP> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 7];
            let [s0, s1, s2, s3 @ ..] = &mut splats;
            let low = chunks::<S, false>(ctx, op, 0, 0, s0);
            let high = chunks::<S, false>(ctx, op, 0, 1, s1);
            let reference = chunks::<S, false>(ctx, op, 1, 0, s2);
            let mut sums = [low; 4];
            for (k, splat) in s3.iter_mut().enumerate() {
                sums[k] = chunks::<S, false>(ctx, op, 2, k, splat);
            }
            let dst = (*ctx).base.add((*op).dst as usize);
            each_chunk!(S, lane_mask(ctx, op), |i, mask| {
                let (l, h, r) = (low.lanes::<S>(i), high.lanes::<S>(i), reference.lanes::<S>(i));
                // All sums are read before the first is written: the destination may be a source.
                let mut new = [[0; CHUNK]; 4];
                for (sum, old) in new.iter_mut().zip(sums) {
                    *sum = old.lanes::<S>(i);
                }
                for (k, sum) in new.iter_mut().enumerate() {
                    for n in 0..CHUNK {
                        let a = u64::from(l[n]) | u64::from(h[n]) << 32;
                        let add = masked_sad8(bytes_from(a, k as u32), r[n]);
                        sum[n] = if CLAMP { sum[n].saturating_add(add) } else { sum[n].wrapping_add(add) };
                    }
                }
                for (k, sum) in new.into_iter().enumerate() {
                    store_chunk::<S>(dst.add(256 * k), i, mask, S::from_lanes(sum));
                }
            });
            HostOp::next(op)
        }
    }
}

/// Joins a selected dword of each source: [`IntOp::PkMov`].
struct PkMov;

impl Body for PkMov {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let select = (*op).imm;
            let a = chunks::<S, false>(ctx, op, 0, (select & 1) as usize, &mut s0);
            let b = chunks::<S, false>(ctx, op, 1, (select >> 1 & 1) as usize, &mut s1);
            let dst = (*ctx).base.add((*op).dst as usize);
            each_chunk!(S, lane_mask(ctx, op), |i, mask| {
                let (lo, hi) = (a.get::<S>(i), b.get::<S>(i));
                store_chunk::<S>(dst, i, mask, lo);
                store_chunk::<S>(dst.add(256), i, mask, hi);
            });
            HostOp::next(op)
        }
    }
}

/// The handler of an operation on more than one cell; `clamp`: the result saturates. `None` if the
/// operation works on single cells or the combination has no handler.
pub(super) fn wide_handler(op: IntOp, tier: Tier, clamp: bool) -> Option<Handler> {
    Some(match (op, clamp) {
        (IntOp::Mov64, false) => handler::<Pairs<Mov64>>(tier),
        (IntOp::Shl64, false) => handler::<Pairs<Shl64>>(tier),
        (IntOp::Shr64, false) => handler::<Pairs<Shr64>>(tier),
        (IntOp::Sar64, false) => handler::<Pairs<Sar64>>(tier),
        (IntOp::ShlAdd64, false) => handler::<Pairs<ShlAdd64>>(tier),
        (IntOp::MadU64U32, false) => handler::<Pairs<MadU64U32>>(tier),
        (IntOp::MadU64U32, true) => by_lane::<MadU64U32Clamp>(),
        (IntOp::MadI64I32, false) => by_lane::<MadI64I32>(),
        (IntOp::MadI64I32, true) => by_lane::<MadI64I32Clamp>(),
        (IntOp::QsadPkU16U8, false) => by_lane::<QsadPkU16U8>(),
        (IntOp::QsadPkU16U8, true) => by_lane::<QsadPkU16U8Clamp>(),
        (IntOp::MqsadPkU16U8, false) => by_lane::<MqsadPkU16U8>(),
        (IntOp::MqsadPkU16U8, true) => by_lane::<MqsadPkU16U8Clamp>(),
        (IntOp::MqsadU32U8, false) => rare_handler::<MqsadU32U8<false>>(),
        (IntOp::MqsadU32U8, true) => rare_handler::<MqsadU32U8<true>>(),
        (IntOp::PkMov, false) => handler::<PkMov>(tier),
        _ => return None,
    })
}
