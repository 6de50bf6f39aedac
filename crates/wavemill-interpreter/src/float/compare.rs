//! Float comparisons on the host's vector arithmetic. They have no NaN results, so nothing needs repair.

use std::marker::PhantomData;

use wavemill_ir::{CmpPred, FloatType, FpEnv};

use super::single::{Operands, Signs};
use super::{Fast, half};
use crate::Tier;
use crate::body::{Body, Shaped, Source, Splat, chunks, handler, lane_mask, shape, special_handler, write64};
use crate::hostop::{Ctx, Handler, HostOp};
use crate::simd::{CHUNK, Simd};

/// A comparison of the vector hardware. All predicates are one of these, possibly negated or with
/// operands exchanged.
pub(crate) trait Relation: 'static {
    /// Mask of the lanes of a chunk where it holds.
    ///
    /// # Safety
    /// As [`Simd`].
    unsafe fn single<S: Simd>(a: S::V, b: S::V) -> u32;
    /// Whether it holds between two f64.
    fn double(a: f64, b: f64) -> bool;
}

macro_rules! relations {
    ($($name:ident |$a:ident, $b:ident| $single:expr, $double:expr;)*) => {$(
        pub(crate) struct $name;
        impl Relation for $name {
            #[inline(always)]
            unsafe fn single<S: Simd>($a: S::V, $b: S::V) -> u32 {
                // SAFETY: the contract of `Simd`.
                unsafe { $single }
            }
            #[inline(always)]
            fn double($a: f64, $b: f64) -> bool {
                $double
            }
        }
    )*};
}

relations! {
    Less |a, b| S::flt(a, b), a < b;
    LessEqual |a, b| S::fle(a, b), a <= b;
    Equal |a, b| S::feq(a, b), a == b;
    Different |a, b| S::flt(a, b) | S::flt(b, a), (a < b) | (b < a);
    Unordered |a, b| S::unordered(a, b), a.is_nan() | b.is_nan();
}

/// Flag in the immediate, in addition to the modifiers: the result is negated.
pub(crate) const NOT: i32 = 1 << 8;

/// All bits if the immediate has [`NOT`].
#[inline(always)]
pub(super) unsafe fn negation(op: *mut HostOp) -> u64 {
    // SAFETY: the contract of handlers.
    if unsafe { (*op).imm } & NOT != 0 { !0 } else { 0 }
}

/// f32; `SHAPE`, `MODS` and `FLUSH` as for `Single`, `SWAP` exchanges the operands.
struct Single<R, const SHAPE: u8, const MODS: bool, const FLUSH: bool, const SWAP: bool>(PhantomData<R>);

impl<R: Relation, const SHAPE: u8, const MODS: bool, const FLUSH: bool, const SWAP: bool> Body
    for Single<R, SHAPE, MODS, FLUSH, SWAP>
{
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let signs = Signs::<S>::new(if MODS { (*op).imm } else { 0 });
            let a = Source::<S>::new::<SHAPE>(ctx, op, 0, 2, &mut s0);
            let b = Source::<S>::new::<SHAPE>(ctx, op, 1, 2, &mut s1);
            let s = Operands { sources: [a, b, b], signs };
            let mut bits = 0;
            for i in 0..S::chunks() {
                let (x, y) = (s.get::<SHAPE, MODS, FLUSH>(0, 2, i), s.get::<SHAPE, MODS, FLUSH>(1, 2, i));
                let holds = if SWAP { R::single::<S>(y, x) } else { R::single::<S>(x, y) };
                bits |= u64::from(holds) << (CHUNK * i);
            }
            write64(ctx, (*op).dst, (bits ^ negation(op)) & lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

/// f64.
struct Double<R, const SWAP: bool>(PhantomData<R>);

impl<R: Relation, const SWAP: bool> Body for Double<R, SWAP> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let mut splats = [const { Splat::new() }; 4];
            let [s0, s1, s2, s3] = &mut splats;
            let (al, ah) = (chunks::<S, false>(ctx, op, 0, 0, s0), chunks::<S, false>(ctx, op, 0, 1, s1));
            let (bl, bh) = (chunks::<S, false>(ctx, op, 1, 0, s2), chunks::<S, false>(ctx, op, 1, 1, s3));
            let signs = Signs::<S>::new((*op).imm);
            let mut bits = 0u64;
            for i in 0..S::chunks() {
                let (al, bl) = (S::to_lanes(al.get::<S>(i)), S::to_lanes(bl.get::<S>(i)));
                let ah = S::to_lanes(signs.apply(0, ah.get::<S>(i)));
                let bh = S::to_lanes(signs.apply(1, bh.get::<S>(i)));
                let mut holds = [false; CHUNK];
                for n in 0..CHUNK {
                    let a = f64::from_bits(u64::from(al[n]) | u64::from(ah[n]) << 32);
                    let b = f64::from_bits(u64::from(bl[n]) | u64::from(bh[n]) << 32);
                    holds[n] = if SWAP { R::double(b, a) } else { R::double(a, b) };
                }
                for (n, h) in holds.iter().enumerate() {
                    bits |= u64::from(*h) << (CHUNK * i + n);
                }
            }
            write64(ctx, (*op).dst, (bits ^ negation(op)) & lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

fn of_shape<R: Relation, const SHAPE: u8, const SWAP: bool>(tier: Tier) -> Handler {
    special_handler::<Single<R, SHAPE, false, false, SWAP>, Single<R, { shape::ANY }, true, false, SWAP>>(
        tier,
    )
}

fn handlers<R: Relation, const SWAP: bool>(ty: FloatType, flush: bool, tier: Tier) -> Option<Fast> {
    Some(match (ty, flush) {
        (FloatType::F32, false) => {
            let any = of_shape::<R, { shape::ANY }, SWAP>(tier);
            let rows = of_shape::<R, { shape::ROWS }, SWAP>(tier);
            let (first, second) = (of_shape::<R, 0, SWAP>(tier), of_shape::<R, 1, SWAP>(tier));
            let mods = handler::<Single<R, { shape::ANY }, true, false, SWAP>>(tier);
            Fast {
                run: Shaped { any, rows, scalar: [first, second, any] },
                run_mods: Some(Shaped::same(mods)),
                imm: 0,
            }
        }
        (FloatType::F32, true) => Fast::single(handler::<Single<R, { shape::ANY }, true, true, SWAP>>(tier)),
        (FloatType::F64, false) => Fast::single(handler::<Double<R, SWAP>>(tier)),
        _ => return None,
    })
}

/// The fast handlers for a predicate, if there are any: those of its relation, from a generic
/// function with the relation and whether the operands are exchanged, and whether they are negated.
macro_rules! by_relation {
    ($pred:expr, $handlers:ident($($argument:expr),*)) => {{
        use wavemill_ir::CmpPred;
        use $crate::float::{Different, Equal, Less, LessEqual, NOT, Unordered};
        let (fast, imm) = match $pred {
            CmpPred::Lt => ($handlers::<Less, false>($($argument),*), 0),
            CmpPred::Gt => ($handlers::<Less, true>($($argument),*), 0),
            CmpPred::Le => ($handlers::<LessEqual, false>($($argument),*), 0),
            CmpPred::Ge => ($handlers::<LessEqual, true>($($argument),*), 0),
            CmpPred::Eq => ($handlers::<Equal, false>($($argument),*), 0),
            CmpPred::Lg => ($handlers::<Different, false>($($argument),*), 0),
            CmpPred::Unordered => ($handlers::<Unordered, false>($($argument),*), 0),
            CmpPred::Nlt => ($handlers::<Less, false>($($argument),*), NOT),
            CmpPred::Ngt => ($handlers::<Less, true>($($argument),*), NOT),
            CmpPred::Nle => ($handlers::<LessEqual, false>($($argument),*), NOT),
            CmpPred::Nge => ($handlers::<LessEqual, true>($($argument),*), NOT),
            CmpPred::Neq => ($handlers::<Equal, false>($($argument),*), NOT),
            CmpPred::Nlg => ($handlers::<Different, false>($($argument),*), NOT),
            CmpPred::Ordered => ($handlers::<Unordered, false>($($argument),*), NOT),
            // The lane-by-lane path handles these.
            CmpPred::False | CmpPred::True => (None, 0),
        };
        fast.map(|fast| Fast { imm, ..fast })
    }};
}
pub(crate) use by_relation;

/// The fast handlers of a comparison, if there are any for the type and the environment.
pub(super) fn fast(pred: CmpPred, ty: FloatType, env: FpEnv, tier: Tier) -> Option<Fast> {
    // Rounding does not matter.
    let flush = !env.denorm_in;
    if ty == FloatType::F16 && !flush {
        return half::fast_compare(pred, tier);
    }
    by_relation!(pred, handlers(ty, flush, tier))
}
