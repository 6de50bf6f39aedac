//! Comparisons that select: the value of each lane is one of two, and the mask of the comparison is
//! the second result.

use std::marker::PhantomData;

use wavemill_ir::{CmpPred, FloatType, FpEnv, IntType};

use super::Tier;
use super::body::{
    Body, ChunkCmp, Source, Splat, chunks, each_chunk, handler, lane_mask, scalar32, shape, special_handler,
    store_chunk, write64,
};
use super::compare::{Eq, LtI, LtU};
use super::float::{Fast, NOT, Relation, Signs, SingleOperands, by_relation};
use super::hostop::{Ctx, Handler, HostOp};
use super::simd::{CHUNK, Simd};

/// A comparison of floats as one of chunks; with `SWAP` of exchanged operands.
struct Floats<R, const SWAP: bool>(PhantomData<R>);

impl<R: Relation, const SWAP: bool> ChunkCmp for Floats<R, SWAP> {
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V) -> u32 {
        // SAFETY: the contract of `Simd`.
        unsafe { if SWAP { R::single::<S>(b, a) } else { R::single::<S>(a, b) } }
    }
}

/// The relation that never holds.
struct Never;

impl ChunkCmp for Never {
    #[inline(always)]
    unsafe fn apply<S: Simd>(_: S::V, _: S::V) -> u32 {
        0
    }
}

/// The bits of a mask that the immediate negates.
#[inline(always)]
unsafe fn negation(op: *mut HostOp) -> u32 {
    // SAFETY: the contract of handlers.
    if unsafe { (*op).imm } & NOT != 0 { 0xffff } else { 0 }
}

/// Operands of one cell. `SCALARS`: both values are scalars. `MODS`: source modifiers are in the
/// immediate. `FLUSH`: denormals count as zeros.
struct Select<F, const SCALARS: bool, const MODS: bool, const FLUSH: bool>(PhantomData<F>);

impl<F: ChunkCmp, const SCALARS: bool, const MODS: bool, const FLUSH: bool> Body
    for Select<F, SCALARS, MODS, FLUSH>
{
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1, mut s2, mut s3) = (Splat::new(), Splat::new(), Splat::new(), Splat::new());
            let signs = Signs::<S>::new(if MODS { (*op).imm } else { 0 });
            let a = Source::<S>::new::<{ shape::ANY }>(ctx, op, 0, 2, &mut s0);
            let b = Source::<S>::new::<{ shape::ANY }>(ctx, op, 1, 2, &mut s1);
            let compared = SingleOperands { sources: [a, b, b], signs };
            // Without rows, the values stay in registers.
            let (yes, no) = if SCALARS {
                (S::splat(scalar32(ctx, op, 2)), S::splat(scalar32(ctx, op, 3)))
            } else {
                (S::splat(0), S::splat(0))
            };
            let (c, d) = if SCALARS {
                (None, None)
            } else {
                let c = chunks::<S, false>(ctx, op, 2, 0, &mut s2);
                (Some(c), Some(chunks::<S, false>(ctx, op, 3, 0, &mut s3)))
            };
            let negation = negation(op);
            let active = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            let mut out = 0u64;
            each_chunk!(S, active, |i, mask| {
                let x = compared.get::<{ shape::ANY }, MODS, FLUSH>(0, 2, i);
                let y = compared.get::<{ shape::ANY }, MODS, FLUSH>(1, 2, i);
                let holds = F::apply::<S>(x, y) ^ negation;
                out |= u64::from(holds) << (CHUNK * i);
                let v = match (c, d) {
                    (Some(c), Some(d)) => {
                        let c = c.get::<S>(i);
                        let c = if MODS { signs.apply(2, c) } else { c };
                        S::select(holds, c, d.get::<S>(i))
                    }
                    _ => S::select(holds, yes, no),
                };
                store_chunk::<S>(dst, i, mask, v);
            });
            write64(ctx, (*op).dst2, out & active);
            HostOp::next(op)
        }
    }
}

/// Operands of two cells, f64.
struct Double<R, const SWAP: bool>(PhantomData<R>);

impl<R: Relation, const SWAP: bool> Body for Double<R, SWAP> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 8];
            let [s0, s1, s2, s3, s4, s5, s6, s7] = &mut splats;
            let (al, ah) = (chunks::<S, false>(ctx, op, 0, 0, s0), chunks::<S, false>(ctx, op, 0, 1, s1));
            let (bl, bh) = (chunks::<S, false>(ctx, op, 1, 0, s2), chunks::<S, false>(ctx, op, 1, 1, s3));
            let (cl, ch) = (chunks::<S, false>(ctx, op, 2, 0, s4), chunks::<S, false>(ctx, op, 2, 1, s5));
            let (dl, dh) = (chunks::<S, false>(ctx, op, 3, 0, s6), chunks::<S, false>(ctx, op, 3, 1, s7));
            let signs = Signs::<S>::new((*op).imm);
            let negation = negation(op);
            let active = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            let mut out = 0u64;
            for i in 0..S::chunks() {
                let (al, bl) = (S::to_lanes(al.get::<S>(i)), S::to_lanes(bl.get::<S>(i)));
                let ah = S::to_lanes(signs.apply(0, ah.get::<S>(i)));
                let bh = S::to_lanes(signs.apply(1, bh.get::<S>(i)));
                let mut holds = 0u32;
                for n in 0..CHUNK {
                    let a = f64::from_bits(u64::from(al[n]) | u64::from(ah[n]) << 32);
                    let b = f64::from_bits(u64::from(bl[n]) | u64::from(bh[n]) << 32);
                    holds |= u32::from(if SWAP { R::double(b, a) } else { R::double(a, b) }) << n;
                }
                holds ^= negation;
                out |= u64::from(holds) << (CHUNK * i);
                // Both cells are read before one is written: the destination may be a source.
                let low = S::select(holds, cl.get::<S>(i), dl.get::<S>(i));
                let high = S::select(holds, signs.apply(2, ch.get::<S>(i)), dh.get::<S>(i));
                store_chunk::<S>(dst, i, active, low);
                store_chunk::<S>(dst.add(256), i, active, high);
            }
            write64(ctx, (*op).dst2, out & active);
            HostOp::next(op)
        }
    }
}

/// How an integer comparison that selects is compiled.
pub(super) struct IntPlan {
    /// The handler.
    pub run: Handler,
    /// Its immediate.
    pub imm: i32,
    /// Whether the compared operands are exchanged.
    pub swap: bool,
}

/// How an integer comparison of 32 bits that selects is compiled; `scalars`: both values are
/// scalars.
pub(super) fn int_plan(pred: CmpPred, ty: IntType, tier: Tier, scalars: bool) -> IntPlan {
    fn pick<F: ChunkCmp>(tier: Tier, scalars: bool) -> Handler {
        match scalars {
            true => special_handler::<Select<F, true, false, false>, Select<F, false, false, false>>(tier),
            false => handler::<Select<F, false, false, false>>(tier),
        }
    }
    let less = match ty {
        IntType::I32 => pick::<LtI>,
        _ => pick::<LtU>,
    };
    let (pick, imm, swap): (fn(Tier, bool) -> Handler, _, _) = match pred {
        CmpPred::Eq => (pick::<Eq>, 0, false),
        CmpPred::Lg => (pick::<Eq>, NOT, false),
        CmpPred::Lt => (less, 0, false),
        CmpPred::Ge => (less, NOT, false),
        CmpPred::Gt => (less, 0, true),
        CmpPred::Le => (less, NOT, true),
        CmpPred::True => (pick::<Never>, NOT, false),
        // Predicates that exist for floats only hold for no integers.
        _ => (pick::<Never>, 0, false),
    };
    IntPlan { run: pick(tier, scalars), imm, swap }
}

fn handlers<R: Relation, const SWAP: bool>(
    ty: FloatType,
    flush: bool,
    tier: Tier,
    scalars: bool,
) -> Option<Fast> {
    fn single<F: ChunkCmp, const SCALARS: bool>(flush: bool, tier: Tier) -> Fast {
        fn pick<F: ChunkCmp, const SCALARS: bool, const MODS: bool, const FLUSH: bool>(tier: Tier) -> Fast {
            Fast::single(special_handler::<Select<F, SCALARS, MODS, FLUSH>, Select<F, false, true, FLUSH>>(
                tier,
            ))
        }
        if flush {
            return pick::<F, SCALARS, true, true>(tier);
        }
        Fast { run: pick::<F, SCALARS, false, false>(tier).run, ..pick::<F, SCALARS, true, false>(tier) }
    }
    match (ty, flush) {
        (FloatType::F32, _) if scalars => Some(single::<Floats<R, SWAP>, true>(flush, tier)),
        (FloatType::F32, _) => Some(single::<Floats<R, SWAP>, false>(flush, tier)),
        (FloatType::F64, false) => Some(Fast::single(handler::<Double<R, SWAP>>(tier))),
        _ => None,
    }
}

/// The fast handlers of a float comparison that selects, if there are any for the type and the
/// environment; `scalars`: both values are scalars without modifiers.
pub(super) fn fast(pred: CmpPred, ty: FloatType, env: FpEnv, tier: Tier, scalars: bool) -> Option<Fast> {
    let flush = !env.denorm_in;
    by_relation!(pred, handlers(ty, flush, tier, scalars))
}
