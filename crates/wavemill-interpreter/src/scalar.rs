//! Uniform operations.

use std::cmp::Ordering;

use wavemill_ir::{CmpPred, IntType, ScalarOp, Width};

use super::body::{scalar32, scalar64, write32, write64};
use super::compare::holds;
use super::hostop::{Ctx, Handler, HostOp};

/// A scalar operation: sources zero-extended to 64 bits, the width, the immediate; result and flag.
trait ScalarFn: 'static {
    /// Whether sources 0 and 1 have the operation's width (shift amounts and the like are always 32-bit).
    const WIDE: [bool; 2] = [true, true];
    /// Whether the result is 32-bit for every width.
    const NARROW_RESULT: bool = false;
    /// Whether the result is 64-bit for every width.
    const WIDE_RESULT: bool = false;
    fn apply<const BITS: u32>(a: u64, b: u64, c: u64, imm: i32) -> (u64, bool);
}

unsafe fn run<F: ScalarFn, const BITS: u32>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers: offsets are inside the register file.
    unsafe {
        let read = |i: usize, wide: bool| {
            if BITS == 64 && wide { scalar64(ctx, op, i) } else { u64::from(scalar32(ctx, op, i)) }
        };
        let (a, b) = (read(0, F::WIDE[0]), read(1, F::WIDE[1]));
        let c = u64::from(scalar32(ctx, op, 2));
        let (r, flag) = F::apply::<BITS>(a, b, c, (*op).imm);
        if (BITS == 64 && !F::NARROW_RESULT) || F::WIDE_RESULT {
            write64(ctx, (*op).dst, r);
        } else {
            write32(ctx, (*op).dst, r as u32);
        }
        write32(ctx, (*op).dst2, u32::from(flag));
        HostOp::next(op)
    }
}

fn sext<const BITS: u32>(a: u64) -> i64 {
    if BITS == 32 { i64::from(a as u32 as i32) } else { a as i64 }
}

fn trunc<const BITS: u32>(a: u64) -> u64 {
    if BITS == 32 { u64::from(a as u32) } else { a }
}

/// A value, and whether it is not zero.
fn nz<const BITS: u32>(a: u64) -> (u64, bool) {
    let a = trunc::<BITS>(a);
    (a, a != 0)
}

fn count_or_minus_one(n: u32, none: bool) -> u64 {
    if none { u64::from(u32::MAX) } else { u64::from(n) }
}

fn ones(width: u64) -> u64 {
    if width >= 64 { !0 } else { (1 << width) - 1 }
}

macro_rules! scalar_fns {
    ($($name:ident $(($($flag:ident = $value:expr),*))? |$bits:ident, $a:ident, $b:ident, $c:ident, $imm:ident| $code:expr;)*) => {$(
        struct $name;
        impl ScalarFn for $name {
            $($(const $flag: scalar_fns!(@type $flag) = $value;)*)?
            #[inline(always)]
            #[allow(unused_variables, non_upper_case_globals, reason = "an operation uses what it needs")]
            fn apply<const $bits: u32>($a: u64, $b: u64, $c: u64, $imm: i32) -> (u64, bool) {
                $code
            }
        }
    )*};
    (@type WIDE) => { [bool; 2] };
    (@type NARROW_RESULT) => { bool };
    (@type WIDE_RESULT) => { bool };
}

const AMOUNT: [bool; 2] = [true, false];

scalar_fns! {
    Mov |N, a, b, c, i| (a, false);
    Not |N, a, b, c, i| nz::<N>(!a);
    And |N, a, b, c, i| nz::<N>(a & b);
    Or |N, a, b, c, i| nz::<N>(a | b);
    Xor |N, a, b, c, i| nz::<N>(a ^ b);
    AndNot |N, a, b, c, i| nz::<N>(a & !b);
    OrNot |N, a, b, c, i| nz::<N>(a | !b);
    Nand |N, a, b, c, i| nz::<N>(!(a & b));
    Nor |N, a, b, c, i| nz::<N>(!(a | b));
    Xnor |N, a, b, c, i| nz::<N>(!(a ^ b));
    AddCarryOut |N, a, b, c, i| {
        let (r, carry) = a.overflowing_add(b);
        (r, if N == 32 { r >> 32 != 0 } else { carry })
    };
    AddOverflow |N, a, b, c, i| if N == 64 {
        let (r, over) = (a as i64).overflowing_add(b as i64);
        (r as u64, over)
    } else {
        let (r, over) = (a as u32 as i32).overflowing_add(b as u32 as i32);
        (u64::from(r as u32), over)
    };
    SubBorrowOut |N, a, b, c, i| (a.wrapping_sub(b), a < b);
    SubOverflow |N, a, b, c, i| if N == 64 {
        let (r, over) = (a as i64).overflowing_sub(b as i64);
        (r as u64, over)
    } else {
        let (r, over) = (a as u32 as i32).overflowing_sub(b as u32 as i32);
        (u64::from(r as u32), over)
    };
    AddCarryInOut |N, a, b, c, i| {
        let r = u128::from(a) + u128::from(b) + u128::from(c & 1);
        (r as u64, r >> N != 0)
    };
    SubBorrowInOut |N, a, b, c, i| {
        (a.wrapping_sub(b).wrapping_sub(c & 1), u128::from(a) < u128::from(b) + u128::from(c & 1))
    };
    MinI |N, a, b, c, i| { let less = sext::<N>(a) < sext::<N>(b); (if less { a } else { b }, less) };
    MinU |N, a, b, c, i| { let less = a < b; (if less { a } else { b }, less) };
    MaxI |N, a, b, c, i| { let more = sext::<N>(a) > sext::<N>(b); (if more { a } else { b }, more) };
    MaxU |N, a, b, c, i| { let more = a > b; (if more { a } else { b }, more) };
    MaxEqI |N, a, b, c, i| { let more = sext::<N>(a) >= sext::<N>(b); (if more { a } else { b }, more) };
    MaxEqU |N, a, b, c, i| { let more = a >= b; (if more { a } else { b }, more) };
    Select |N, a, b, c, i| (if c != 0 { a } else { b }, false);
    Shl (WIDE = AMOUNT) |N, a, b, c, i| nz::<N>(a << (b & u64::from(N - 1)));
    Shr (WIDE = AMOUNT) |N, a, b, c, i| nz::<N>(a >> (b & u64::from(N - 1)));
    Sar (WIDE = AMOUNT) |N, a, b, c, i| nz::<N>((sext::<N>(a) >> (b & u64::from(N - 1))) as u64);
    BitMask (WIDE = [false, false]) |N, a, b, c, i| {
        let k = u64::from(N - 1);
        (ones(a & k) << (b & k), false)
    };
    Mul |N, a, b, c, i| (a.wrapping_mul(b), false);
    MulHiU |N, a, b, c, i| {
        (if N == 64 { ((u128::from(a) * u128::from(b)) >> 64) as u64 } else { (a * b) >> 32 }, false)
    };
    MulHiI |N, a, b, c, i| {
        let high = if N == 64 {
            ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as i64
        } else {
            (sext::<32>(a) * sext::<32>(b)) >> 32
        };
        (high as u64, false)
    };
    BfeU (WIDE = AMOUNT) |N, a, b, c, i| nz::<N>(a >> (b & u64::from(N - 1)) & ones(b >> 16 & 0x7f));
    BfeI (WIDE = AMOUNT) |N, a, b, c, i| {
        let width = b >> 16 & 0x7f;
        let field = sext::<N>(a) >> (b & u64::from(N - 1));
        nz::<N>(match width {
            0 => 0,
            1..64 => (field << (64 - width) >> (64 - width)) as u64,
            _ => field as u64,
        })
    };
    AbsDiff |N, a, b, c, i| nz::<N>(sext::<N>(a.wrapping_sub(b)).wrapping_abs() as u64);
    Abs |N, a, b, c, i| nz::<N>(sext::<N>(a).wrapping_abs() as u64);
    ShlAdd |N, a, b, c, i| if N == 64 {
        let r = (u128::from(a) << (i & 31)) + u128::from(b);
        (r as u64, r >> 64 != 0)
    } else {
        let r = (a << (i & 31)) + b;
        (r, r >> 32 != 0)
    };
    PackLL |N, a, b, c, i| (b << 16 & 0xffff_0000 | a & 0xffff, false);
    PackLH |N, a, b, c, i| (b & 0xffff_0000 | a & 0xffff, false);
    PackHH |N, a, b, c, i| (b & 0xffff_0000 | a >> 16 & 0xffff, false);
    WholeQuad |N, a, b, c, i| {
        let any = (a | a >> 1 | a >> 2 | a >> 3) & 0x1111_1111_1111_1111;
        nz::<N>(any * 15)
    };
    QuadMask |N, a, b, c, i| {
        nz::<N>((0..16).fold(0, |r, q| r | u64::from(a >> (4 * q) & 15 != 0) << q))
    };
    BitReverse |N, a, b, c, i| (a.reverse_bits() >> (64 - N), false);
    CountZeros (NARROW_RESULT = true) |N, a, b, c, i| nz::<N>(u64::from(N - a.count_ones()));
    CountOnes (NARROW_RESULT = true) |N, a, b, c, i| nz::<N>(u64::from(a.count_ones()));
    FindZeroLow (NARROW_RESULT = true) |N, a, b, c, i| {
        (count_or_minus_one(a.trailing_ones(), trunc::<N>(!a) == 0), false)
    };
    FindOneLow (NARROW_RESULT = true) |N, a, b, c, i| (count_or_minus_one(a.trailing_zeros(), a == 0), false);
    LeadingZeros (NARROW_RESULT = true) |N, a, b, c, i| {
        (count_or_minus_one(a.leading_zeros().wrapping_sub(64 - N), a == 0), false)
    };
    LeadingSigns (NARROW_RESULT = true) |N, a, b, c, i| {
        let s = sext::<N>(a);
        let run = (s ^ (s >> 63)).leading_zeros();
        (count_or_minus_one(run.wrapping_sub(64 - N), run == 64), false)
    };
    Sext8 |N, a, b, c, i| (i64::from(a as u8 as i8) as u64, false);
    Sext16 |N, a, b, c, i| (i64::from(a as u16 as i16) as u64, false);
    BitClear (WIDE = [false, true]) |N, a, b, c, i| (b & !(1 << (a & u64::from(N - 1))), false);
    BitSet (WIDE = [false, true]) |N, a, b, c, i| (b | 1 << (a & u64::from(N - 1)), false);
    BitReplicate (WIDE = [false, false], WIDE_RESULT = true) |N, a, b, c, i| {
        ((0..32).fold(0, |r, n| r | (((a >> n & 1) * 3) << (2 * n))), false)
    };
    BitTest0 (WIDE = AMOUNT) |N, a, b, c, i| (0, a >> (b & u64::from(N - 1)) & 1 == 0);
    BitTest1 (WIDE = AMOUNT) |N, a, b, c, i| (0, a >> (b & u64::from(N - 1)) & 1 == 1);
}

/// The handler of a scalar operation.
pub(super) fn scalar_handler(op: ScalarOp, width: Width) -> Handler {
    macro_rules! table {
        ($($name:ident)*) => {
            match (op, width) {
                $((ScalarOp::$name, Width::W32) => run::<$name, 32>,
                  (ScalarOp::$name, Width::W64) => run::<$name, 64>,)*
            }
        };
    }
    table! {
        Mov Not And Or Xor AndNot OrNot Nand Nor Xnor AddCarryOut AddOverflow SubBorrowOut SubOverflow AddCarryInOut
        SubBorrowInOut MinI MinU MaxI MaxU MaxEqI MaxEqU Select Shl Shr Sar BitMask Mul MulHiU MulHiI BfeU BfeI AbsDiff Abs ShlAdd
        PackLL PackLH PackHH WholeQuad QuadMask BitReverse CountZeros CountOnes FindZeroLow FindOneLow LeadingZeros
        LeadingSigns Sext8 Sext16 BitClear BitSet BitReplicate BitTest0 BitTest1
    }
}

/// A scalar comparison; predicates are numbers so that each has its own handler.
unsafe fn compare<const PRED: u8, const TYPE: u8>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
    // SAFETY: the contract of handlers.
    unsafe {
        let order: Ordering = match TYPE {
            0 => (scalar32(ctx, op, 0) as i32).cmp(&(scalar32(ctx, op, 1) as i32)),
            1 => scalar32(ctx, op, 0).cmp(&scalar32(ctx, op, 1)),
            _ => scalar64(ctx, op, 0).cmp(&scalar64(ctx, op, 1)),
        };
        let result = match PRED {
            0 => order.is_eq(),
            1 => order.is_ne(),
            2 => order.is_lt(),
            3 => order.is_le(),
            4 => order.is_gt(),
            5 => order.is_ge(),
            _ => holds(CmpPred::True, order),
        };
        write32(ctx, (*op).dst, u32::from(result));
        HostOp::next(op)
    }
}

/// The handler of a scalar comparison. `None` for predicates and types that no instruction has.
pub(super) fn scalar_cmp_handler(pred: CmpPred, ty: IntType) -> Option<Handler> {
    fn typed<const PRED: u8>(ty: IntType) -> Option<Handler> {
        Some(match ty {
            IntType::I32 => compare::<PRED, 0>,
            IntType::U32 => compare::<PRED, 1>,
            IntType::U64 => compare::<PRED, 2>,
            _ => return None,
        })
    }
    match pred {
        CmpPred::Eq => typed::<0>(ty),
        CmpPred::Lg => typed::<1>(ty),
        CmpPred::Lt => typed::<2>(ty),
        CmpPred::Le => typed::<3>(ty),
        CmpPred::Gt => typed::<4>(ty),
        CmpPred::Ge => typed::<5>(ty),
        _ => None,
    }
}
