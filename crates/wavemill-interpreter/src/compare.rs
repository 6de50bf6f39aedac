//! Integer comparisons of varying values, lane by lane.

use wavemill_ir::{CmpPred, IntType};

use super::Tier;
use super::body::{Body, ChunkCmp, Compare, Splat, chunks, handler, lane_mask, special_handler, write64};
use super::hostop::{Ctx, Handler, HostOp};
use super::simd::{CHUNK, CHUNKS, Simd};

/// Comparisons on chunks. `Not` and exchanged operands give the negated half.
macro_rules! cmp_fns {
    ($($name:ident |$a:ident, $b:ident| $code:expr;)*) => {$(
        pub(super) struct $name;
        impl ChunkCmp for $name {
            #[inline(always)]
            unsafe fn apply<S: Simd>($a: S::V, $b: S::V) -> u32 {
                // SAFETY: the contract of `Simd`.
                unsafe { $code }
            }
        }
    )*};
}

cmp_fns! {
    Eq |a, b| S::eq(a, b);
    Ne |a, b| S::eq(a, b) ^ 0xffff;
    LtI |a, b| S::lt_i(a, b);
    GeI |a, b| S::lt_i(a, b) ^ 0xffff;
    GtI |a, b| S::lt_i(b, a);
    LeI |a, b| S::lt_i(b, a) ^ 0xffff;
    LtU |a, b| S::lt_u(a, b);
    GeU |a, b| S::lt_u(a, b) ^ 0xffff;
    GtU |a, b| S::lt_u(b, a);
    LeU |a, b| S::lt_u(b, a) ^ 0xffff;
}

/// Evaluates an integer predicate on the order of two values.
#[inline(always)]
pub(super) fn holds(pred: CmpPred, order: std::cmp::Ordering) -> bool {
    match pred {
        CmpPred::False => false,
        CmpPred::Lt | CmpPred::Nge => order.is_lt(),
        CmpPred::Eq | CmpPred::Nlg => order.is_eq(),
        CmpPred::Le | CmpPred::Ngt => order.is_le(),
        CmpPred::Gt | CmpPred::Nle => order.is_gt(),
        CmpPred::Lg | CmpPred::Neq => order.is_ne(),
        CmpPred::Ge | CmpPred::Nlt => order.is_ge(),
        CmpPred::Ordered | CmpPred::True => true,
        CmpPred::Unordered => false,
    }
}

/// Comparisons of other widths; the predicate is in `imm`. Types: 0 and 1: i16 and u16, 2 and 3: i64 and u64.
struct CompareOther<const TYPE: u8>;

impl<const TYPE: u8> Body for CompareOther<TYPE> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1, mut s2, mut s3) = (Splat::new(), Splat::new(), Splat::new(), Splat::new());
            let wide = TYPE >= 2;
            let a = chunks::<S, false>(ctx, op, 0, 0, &mut s0);
            let b = chunks::<S, false>(ctx, op, 1, 0, &mut s1);
            let ah = if wide { chunks::<S, false>(ctx, op, 0, 1, &mut s2) } else { a };
            let bh = if wide { chunks::<S, false>(ctx, op, 1, 1, &mut s3) } else { b };
            let (mut less, mut equal) = (0u64, 0u64);
            for i in 0..CHUNKS {
                let (x, y) = (a.get::<S>(i), b.get::<S>(i));
                let (lt, eq) = if wide {
                    let (xh, yh) = (ah.get::<S>(i), bh.get::<S>(i));
                    let high = if TYPE == 2 { S::lt_i(xh, yh) } else { S::lt_u(xh, yh) };
                    let same = S::eq(xh, yh);
                    (high | same & S::lt_u(x, y), same & S::eq(x, y))
                } else {
                    // With the halves on top, dword comparison gives the right order.
                    let (x, y) = (S::shl(x, S::splat(16)), S::shl(y, S::splat(16)));
                    (if TYPE == 0 { S::lt_i(x, y) } else { S::lt_u(x, y) }, S::eq(x, y))
                };
                less |= u64::from(lt) << (CHUNK * i);
                equal |= u64::from(eq) << (CHUNK * i);
            }
            let bits = match CmpPred::INT[(*op).imm as usize & 7] {
                CmpPred::Lt => less,
                CmpPred::Eq => equal,
                CmpPred::Le => less | equal,
                CmpPred::Gt => !(less | equal),
                CmpPred::Lg => !equal,
                CmpPred::Ge => !less,
                CmpPred::True => !0,
                _ => 0,
            };
            write64(ctx, (*op).dst, bits & lane_mask(ctx, op));
            HostOp::next(op)
        }
    }
}

/// The handler of an integer comparison, and the immediate that it needs.
pub(super) fn cmp_handler(pred: CmpPred, ty: IntType, tier: Tier, rows: bool) -> (Handler, i32) {
    fn pick<F: ChunkCmp>(tier: Tier, rows: bool) -> Handler {
        match rows {
            true => special_handler::<Compare<F, true>, Compare<F, false>>(tier),
            false => handler::<Compare<F, false>>(tier),
        }
    }
    let signed = matches!(ty, IntType::I32);
    let code = CmpPred::INT.iter().position(|p| *p == pred).unwrap_or(0) as i32;
    if matches!(ty, IntType::I32 | IntType::U32) {
        let fast = match (pred, signed) {
            (CmpPred::Eq, _) => Some(pick::<Eq>(tier, rows)),
            (CmpPred::Lg, _) => Some(pick::<Ne>(tier, rows)),
            (CmpPred::Lt, true) => Some(pick::<LtI>(tier, rows)),
            (CmpPred::Le, true) => Some(pick::<LeI>(tier, rows)),
            (CmpPred::Gt, true) => Some(pick::<GtI>(tier, rows)),
            (CmpPred::Ge, true) => Some(pick::<GeI>(tier, rows)),
            (CmpPred::Lt, false) => Some(pick::<LtU>(tier, rows)),
            (CmpPred::Le, false) => Some(pick::<LeU>(tier, rows)),
            (CmpPred::Gt, false) => Some(pick::<GtU>(tier, rows)),
            (CmpPred::Ge, false) => Some(pick::<GeU>(tier, rows)),
            _ => None,
        };
        if let Some(h) = fast {
            return (h, 0);
        }
    }
    // `False` and `True` are the same for every type.
    let h = match ty {
        IntType::I16 => handler::<CompareOther<0>>(tier),
        IntType::U16 | IntType::I32 | IntType::U32 => handler::<CompareOther<1>>(tier),
        IntType::I64 => handler::<CompareOther<2>>(tier),
        IntType::U64 => handler::<CompareOther<3>>(tier),
    };
    (h, code)
}
