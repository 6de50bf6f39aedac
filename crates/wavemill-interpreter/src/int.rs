//! Varying integer operations.
//!
//! Each operation is written once, on a chunk of 16 lanes: with vector operations where the host
//! has them, otherwise lane by lane.

use wavemill_ir::IntOp;

use super::body::{
    Body, ChunkFn, Elementwise, Shape, Shaped, Splat, chunks, each_chunk, handler, lane_mask, rare_handler,
    scalar64, shape as kinds, special_handler, store_chunk, write64,
};
use super::hostop::{Ctx, Handler, HostOp};
use super::simd::{CHUNK, Simd};
use super::{Tier, wide};

/// The results of [`IntOp::ScreenParts`] by the low eight bits of its source.
static SCREEN_PARTS: [u8; 256] = {
    let mut table = [0; 256];
    let mut n = 0;
    while n < 256 {
        let (x0, y0, x1, y1) = (n >> 6, n >> 4 & 3, n >> 2 & 3, n & 3);
        let (columns, rows) = ((x1 + 4 - x0) % 4 + 1, (y1 + 4 - y0) % 4 + 1);
        let mut tile = 0;
        while tile < columns * rows {
            let (x, y) = (x0 + tile % columns, y0 + tile / columns);
            table[n] |= 1 << (((x ^ (y >> 1)) & 1) * 2 + ((y ^ (x >> 1)) & 1));
            tile += 1;
        }
        n += 1;
    }
    table
};

/// Declares chunk functions; `S` is the tier.
macro_rules! chunk_fns {
    ($($name:ident |$a:ident $(, $b:ident $(, $c:ident)?)?| $code:expr;)*) => {$(
        pub(super) struct $name;
        impl ChunkFn for $name {
            const SOURCES: usize = 1 $(+ chunk_fns!(@one $b) $(+ chunk_fns!(@one $c))?)?;
            #[inline(always)]
            #[allow(unused_variables, unused_unsafe, reason = "an operation uses what it needs")]
            unsafe fn apply<S: Simd>(x: S::V, y: S::V, z: S::V, _imm: i32) -> S::V {
                let $a = x;
                $(let $b = y; $(let $c = z;)?)?
                // SAFETY: the contract of `Simd`.
                unsafe { $code }
            }
        }
    )*};
    (@one $t:tt) => { 1 };
}

/// Sign-extends the low 24 bits.
#[inline(always)]
fn i24(a: u32) -> i64 {
    i64::from((a << 8) as i32 >> 8)
}

#[inline(always)]
fn u24(a: u32) -> u64 {
    u64::from(a & 0xff_ffff)
}

#[inline(always)]
fn median<T: Ord + Copy>(a: T, b: T, c: T) -> T {
    a.max(b).min(a.min(b).max(c))
}

#[inline(always)]
fn bytes_of(a: u32) -> [i32; 4] {
    a.to_le_bytes().map(i32::from)
}

/// Sum of absolute differences of the unsigned bytes of two dwords.
#[inline(always)]
pub(super) fn sad8(a: u32, b: u32) -> u32 {
    let (a, b) = (bytes_of(a), bytes_of(b));
    (0..4).map(|i| a[i].abs_diff(b[i])).sum()
}

/// The same without the bytes that are zero in `b`.
#[inline(always)]
pub(super) fn masked_sad8(a: u32, b: u32) -> u32 {
    let (a, b) = (bytes_of(a), bytes_of(b));
    (0..4).filter(|i| b[*i] != 0).map(|i| a[i].abs_diff(b[i])).sum()
}

/// Applies a function of 16-bit values to both halves of a cell.
#[inline(always)]
fn halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

/// Byte selection of [`IntOp::Perm`]: `data` is `{src0, src1}`.
#[inline(always)]
fn perm_byte(data: u64, selector: u8) -> u8 {
    match selector {
        0..=7 => (data >> (8 * selector)) as u8,
        8..=11 => ((data >> (16 * (selector - 8) + 15) & 1) as u8).wrapping_neg(),
        12 => 0,
        _ => 0xff,
    }
}

/// [`IntOp::Perm`].
#[inline(always)]
fn perm(a: u32, b: u32, selectors: u32) -> u32 {
    let data = u64::from(a) << 32 | u64::from(b);
    let mut r = 0;
    for byte in [0, 8, 16, 24] {
        r |= u32::from(perm_byte(data, (selectors >> byte) as u8)) << byte;
    }
    r
}

#[inline(always)]
fn dot<const N: usize, const BITS: u32, const SIGNED: bool>(a: u32, b: u32, c: u32) -> u32 {
    let part = |x: u32, i: usize| {
        let up = x << (32 - BITS - BITS * i as u32);
        if SIGNED { up as i32 >> (32 - BITS) } else { (up >> (32 - BITS)) as i32 }
    };
    (0..N).fold(c, |sum, i| sum.wrapping_add(part(a, i).wrapping_mul(part(b, i)) as u32))
}

chunk_fns! {
    Mov |a| a;
    Not |a| S::not(a);
    And |a, b| S::and(a, b);
    Or |a, b| S::or(a, b);
    Xor |a, b| S::xor(a, b);
    Xnor |a, b| S::not(S::xor(a, b));
    Add |a, b| S::add(a, b);
    Sub |a, b| S::sub(a, b);
    CarryOut |a, b| S::select(S::lt_u(S::add(a, b), a), S::splat(1), S::splat(0));
    MulLo |a, b| S::mul_lo(a, b);
    MulHiU |a, b| S::mul_hi_u(a, b);
    MulHiI |a, b| S::map2(a, b, |a, b| ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32);
    MulU24 |a, b| { let m = S::splat(0xff_ffff); S::mul_lo(S::and(a, m), S::and(b, m)) };
    MulI24 |a, b| {
        let n = S::splat(8);
        S::mul_lo(S::sar(S::shl(a, n), n), S::sar(S::shl(b, n), n))
    };
    MulHiU24 |a, b| S::map2(a, b, |a, b| ((u24(a) * u24(b)) >> 32) as u32);
    MulHiI24 |a, b| S::map2(a, b, |a, b| ((i24(a) * i24(b)) >> 32) as u32);
    MadU32 |a, b, c| S::add(S::mul_lo(a, b), c);
    SaturatingMadU32 |a, b, c| {
        let sum = S::add(S::mul_lo(a, b), c);
        let over = S::lt_u(sum, c) | S::lt_u(S::splat(0), S::mul_hi_u(a, b));
        S::select(over, S::splat(!0), sum)
    };
    MadU24 |a, b, c| { let m = S::splat(0xff_ffff); S::add(S::mul_lo(S::and(a, m), S::and(b, m)), c) };
    MadI24 |a, b, c| {
        let n = S::splat(8);
        S::add(S::mul_lo(S::sar(S::shl(a, n), n), S::sar(S::shl(b, n), n)), c)
    };
    MadU32U16 |a, b, c| { let m = S::splat(0xffff); S::add(S::mul_lo(S::and(a, m), S::and(b, m)), c) };
    MadI32I16 |a, b, c| {
        let n = S::splat(16);
        S::add(S::mul_lo(S::sar(S::shl(a, n), n), S::sar(S::shl(b, n), n)), c)
    };
    MinI |a, b| S::min_i(a, b);
    MaxI |a, b| S::max_i(a, b);
    MinU |a, b| S::min_u(a, b);
    MaxU |a, b| S::max_u(a, b);
    Min3I |a, b, c| S::min_i(S::min_i(a, b), c);
    Max3I |a, b, c| S::max_i(S::max_i(a, b), c);
    Med3I |a, b, c| S::min_i(S::max_i(a, b), S::max_i(S::min_i(a, b), c));
    Min3U |a, b, c| S::min_u(S::min_u(a, b), c);
    Max3U |a, b, c| S::max_u(S::max_u(a, b), c);
    Med3U |a, b, c| S::min_u(S::max_u(a, b), S::max_u(S::min_u(a, b), c));
    Shl |a, n| S::shl(a, S::and(n, S::splat(31)));
    Shr |a, n| S::shr(a, S::and(n, S::splat(31)));
    Sar |a, n| S::sar(a, S::and(n, S::splat(31)));
    ShlAdd |a, n, c| S::add(S::shl(a, S::and(n, S::splat(31))), c);
    AddShl |a, b, n| S::shl(S::add(a, b), S::and(n, S::splat(31)));
    ShlOr |a, n, c| S::or(S::shl(a, S::and(n, S::splat(31))), c);
    Add3 |a, b, c| S::add(S::add(a, b), c);
    AndOr |a, b, c| S::or(S::and(a, b), c);
    Or3 |a, b, c| S::or(S::or(a, b), c);
    XorAdd |a, b, c| S::add(S::xor(a, b), c);
    BfeU |a, o, w| {
        let k = S::splat(31);
        let ones = S::sub(S::shl(S::splat(1), S::and(w, k)), S::splat(1));
        S::and(S::shr(a, S::and(o, k)), ones)
    };
    BfeI |a, o, w| {
        let k = S::splat(31);
        let w = S::and(w, k);
        // 32 - w, where that is less than 32.
        let up = S::and(S::sub(S::splat(0), w), k);
        let v = S::sar(S::shl(S::sar(a, S::and(o, k)), up), up);
        S::select(S::eq(w, S::splat(0)), w, v)
    };
    Bfi |m, a, b| S::or(S::and(m, a), S::and_not(m, b));
    BitMask |w, o| {
        let k = S::splat(31);
        S::shl(S::sub(S::shl(S::splat(1), S::and(w, k)), S::splat(1)), S::and(o, k))
    };
    BitReverse |a| S::map1(a, u32::reverse_bits);
    LeadingZeros |a| S::map1(a, |a| if a == 0 { !0 } else { a.leading_zeros() });
    TrailingZeros |a| S::map1(a, |a| if a == 0 { !0 } else { a.trailing_zeros() });
    LeadingSigns |a| S::map1(a, |a| {
        let run = (a ^ ((a as i32 >> 31) as u32)).leading_zeros();
        if run == 32 { !0 } else { run }
    });
    CountOnes |a, b| S::map2(a, b, |a, b| a.count_ones().wrapping_add(b));
    AlignBit |a, b, n| {
        // A shift by 32 must give zero, so the high part moves in two steps.
        let k = S::splat(31);
        let n = S::and(n, k);
        S::or(S::shr(b, n), S::shl(S::shl(a, S::splat(1)), S::and_not(n, k)))
    };
    RotateRight |a, n| S::ror(a, n);
    AlignByte |a, b, n| S::map3(a, b, n, |a, b, n| ((u64::from(a) << 32 | u64::from(b)) >> (8 * (n & 3))) as u32);
    Perm |a, b, s| {
        let special = S::and(s, S::splat(0xf8f8_f8f8));
        if S::eq(special, S::splat(0)) == 0xffff {
            S::pick_bytes(a, b, s)
        } else {
            S::map3(a, b, s, perm)
        }
    };
    SadU8 |a, b, c| S::map3(a, b, c, |a, b, c| sad8(a, b).wrapping_add(c));
    SadHiU8 |a, b, c| S::map3(a, b, c, |a, b, c| (sad8(a, b) << 16).wrapping_add(c));
    SadU16 |a, b, c| S::map3(a, b, c, |a, b, c| {
        c.wrapping_add((a & 0xffff).abs_diff(b & 0xffff)).wrapping_add((a >> 16).abs_diff(b >> 16))
    });
    SadU32 |a, b, c| S::map3(a, b, c, |a, b, c| a.abs_diff(b).wrapping_add(c));
    MsadU8 |a, b, c| S::map3(a, b, c, |a, b, c| masked_sad8(a, b).wrapping_add(c));
    LerpU8 |a, b, c| S::map3(a, b, c, |a, b, c| {
        let (a, b, c) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
        u32::from_le_bytes([0, 1, 2, 3].map(|i: usize| ((u16::from(a[i]) + u16::from(b[i]) + u16::from(c[i] & 1)) >> 1) as u8))
    });
    SatPkU8I16 |a| S::map1(a, |a| {
        let sat = |h: u16| u32::from((h as i16).clamp(0, 255) as u8);
        sat(a as u16) | sat((a >> 16) as u16) << 8
    });
    AsrPkI8 |a, b, n| S::map3(a, b, n, |a, b, n| {
        let sat = |x: u32| u32::from((x as i32 >> (n & 31)).clamp(-128, 127) as i8 as u8);
        sat(a) | sat(b) << 8
    });
    AsrPkU8 |a, b, n| S::map3(a, b, n, |a, b, n| {
        let sat = |x: u32| u32::from((x as i32 >> (n & 31)).clamp(0, 255) as u8);
        sat(a) | sat(b) << 8
    });
    Prng |a| S::map1(a, |a| (a << 1) ^ if a >> 31 != 0 { 0xc5 } else { 0 });
    ScreenParts |a| S::map1(a, |a| u32::from(SCREEN_PARTS[a as usize & 0xff]));
    Add16 |a, b| S::and(S::add(a, b), S::splat(0xffff));
    Sub16 |a, b| S::and(S::sub(a, b), S::splat(0xffff));
    Mul16 |a, b| S::and(S::mul_lo(a, b), S::splat(0xffff));
    MadX16 |a, b, c| S::and(S::add(S::mul_lo(a, b), c), S::splat(0xffff));
    Shl16 |a, n| S::and(S::shl(a, S::and(n, S::splat(15))), S::splat(0xffff));
    Shr16 |a, n| S::shr(S::and(a, S::splat(0xffff)), S::and(n, S::splat(15)));
    Sar16 |a, n| S::map2(a, n, |a, n| u32::from((a as i16 >> (n & 15)) as u16));
    MinI16 |a, b| S::map2(a, b, |a, b| u32::from((a as i16).min(b as i16) as u16));
    MaxI16 |a, b| S::map2(a, b, |a, b| u32::from((a as i16).max(b as i16) as u16));
    MinU16 |a, b| S::map2(a, b, |a, b| u32::from((a as u16).min(b as u16)));
    MaxU16 |a, b| S::map2(a, b, |a, b| u32::from((a as u16).max(b as u16)));
    Min3I16 |a, b, c| S::map3(a, b, c, |a, b, c| u32::from((a as i16).min(b as i16).min(c as i16) as u16));
    Max3I16 |a, b, c| S::map3(a, b, c, |a, b, c| u32::from((a as i16).max(b as i16).max(c as i16) as u16));
    Med3I16 |a, b, c| S::map3(a, b, c, |a, b, c| u32::from(median(a as i16, b as i16, c as i16) as u16));
    Min3U16 |a, b, c| S::map3(a, b, c, |a, b, c| u32::from((a as u16).min(b as u16).min(c as u16)));
    Max3U16 |a, b, c| S::map3(a, b, c, |a, b, c| u32::from((a as u16).max(b as u16).max(c as u16)));
    Med3U16 |a, b, c| S::map3(a, b, c, |a, b, c| u32::from(median(a as u16, b as u16, c as u16)));
    PkMad16 |a, b, c| S::map3(a, b, c, |a, b, c| halves(halves(a, b, u16::wrapping_mul), c, u16::wrapping_add));
    PkMulLo16 |a, b| S::map2(a, b, |a, b| halves(a, b, u16::wrapping_mul));
    PkAdd16 |a, b| S::map2(a, b, |a, b| halves(a, b, u16::wrapping_add));
    PkSub16 |a, b| S::map2(a, b, |a, b| halves(a, b, u16::wrapping_sub));
    PkShl16 |a, n| S::map2(a, n, |a, n| halves(a, n, |a, n| a << (n & 15)));
    PkShr16 |a, n| S::map2(a, n, |a, n| halves(a, n, |a, n| a >> (n & 15)));
    PkSar16 |a, n| S::map2(a, n, |a, n| halves(a, n, |a, n| (a as i16 >> (n & 15)) as u16));
    PkMaxI16 |a, b| S::map2(a, b, |a, b| halves(a, b, |a, b| (a as i16).max(b as i16) as u16));
    PkMinI16 |a, b| S::map2(a, b, |a, b| halves(a, b, |a, b| (a as i16).min(b as i16) as u16));
    PkMaxU16 |a, b| S::map2(a, b, |a, b| halves(a, b, u16::max));
    PkMinU16 |a, b| S::map2(a, b, |a, b| halves(a, b, u16::min));
    Dot2I16 |a, b, c| S::map3(a, b, c, dot::<2, 16, true>);
    Dot2U16 |a, b, c| S::map3(a, b, c, dot::<2, 16, false>);
    Dot4I8 |a, b, c| S::map3(a, b, c, dot::<4, 8, true>);
    Dot4U8 |a, b, c| S::map3(a, b, c, dot::<4, 8, false>);
    Dot8I4 |a, b, c| S::map3(a, b, c, dot::<8, 4, true>);
    Dot8U4 |a, b, c| S::map3(a, b, c, dot::<8, 4, false>);
}

/// [`IntOp::BitOp3`]: any function of three bits, by its truth table in the immediate.
struct BitOp3;

impl ChunkFn for BitOp3 {
    const SOURCES: usize = 3;
    #[inline(always)]
    unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V, imm: i32) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe {
            let mut r = S::splat(0);
            for i in 0..8 {
                if imm >> i & 1 != 0 {
                    let x = if i & 4 != 0 { a } else { S::not(a) };
                    let y = if i & 2 != 0 { b } else { S::not(b) };
                    let z = if i & 1 != 0 { c } else { S::not(c) };
                    r = S::or(r, S::and(S::and(x, y), z));
                }
            }
            r
        }
    }
}

/// Saturating results, for `clamp`.
mod saturating {
    use super::{ChunkFn, Simd, dot, halves, i24, u24};

    macro_rules! lane_fns {
        ($($name:ident |$a:ident, $b:ident, $c:ident| $code:expr;)*) => {$(
            pub(super) struct $name;
            impl ChunkFn for $name {
                const SOURCES: usize = 3;
                #[inline(always)]
                #[allow(unused_variables, reason = "an operation uses the operands that it has")]
                unsafe fn apply<S: Simd>(a: S::V, b: S::V, c: S::V, _imm: i32) -> S::V {
                    // SAFETY: the contract of `Simd`.
                    unsafe { S::map3(a, b, c, |$a, $b, $c| $code) }
                }
            }
        )*};
    }

    fn unsigned(x: u64) -> u32 {
        x.min(u64::from(u32::MAX)) as u32
    }
    fn signed(x: i64) -> u32 {
        x.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32 as u32
    }
    fn u16s(x: i64) -> u16 {
        x.clamp(0, 0xffff) as u16
    }
    fn i16s(x: i64) -> u16 {
        x.clamp(-0x8000, 0x7fff) as i16 as u16
    }
    fn s(x: u32) -> i64 {
        i64::from(x as i32)
    }
    fn s16(x: u16) -> i64 {
        i64::from(x as i16)
    }
    /// Exact sum of products, saturated once.
    fn dot_exact<const N: usize, const BITS: u32, const SIGNED: bool>(a: u32, b: u32) -> i64 {
        let mask = if BITS == 32 { !0 } else { (1u32 << BITS) - 1 };
        (0..N as u32)
            .map(|i| {
                let (x, y) = (a >> (BITS * i) & mask, b >> (BITS * i) & mask);
                if SIGNED {
                    i64::from(dot::<1, BITS, true>(x, y, 0) as i32)
                } else {
                    i64::from(x) * i64::from(y)
                }
            })
            .sum()
    }

    lane_fns! {
        Add |a, b, c| a.saturating_add(b);
        Sub |a, b, c| a.saturating_sub(b);
        AddI |a, b, c| (a as i32).saturating_add(b as i32) as u32;
        SubI |a, b, c| (a as i32).saturating_sub(b as i32) as u32;
        MulU24 |a, b, c| unsigned(u24(a) * u24(b));
        MulI24 |a, b, c| signed(i24(a) * i24(b));
        MadU24 |a, b, c| unsigned(u24(a) * u24(b) + u64::from(c));
        MadI24 |a, b, c| signed(i24(a) * i24(b) + s(c));
        MadU32U16 |a, b, c| unsigned(u64::from(a as u16) * u64::from(b as u16) + u64::from(c));
        MadI32I16 |a, b, c| signed(s16(a as u16) * s16(b as u16) + s(c));
        SadU8 |a, b, c| unsigned(u64::from(super::sad8(a, b)) + u64::from(c));
        SadHiU8 |a, b, c| unsigned((u64::from(super::sad8(a, b)) << 16) + u64::from(c));
        SadU16 |a, b, c| unsigned(u64::from((a & 0xffff).abs_diff(b & 0xffff)) + u64::from((a >> 16).abs_diff(b >> 16)) + u64::from(c));
        SadU32 |a, b, c| unsigned(u64::from(a.abs_diff(b)) + u64::from(c));
        MsadU8 |a, b, c| unsigned(u64::from(super::masked_sad8(a, b)) + u64::from(c));
        Add16 |a, b, c| u32::from((a as u16).saturating_add(b as u16));
        Sub16 |a, b, c| u32::from((a as u16).saturating_sub(b as u16));
        AddI16 |a, b, c| u32::from((a as i16).saturating_add(b as i16) as u16);
        SubI16 |a, b, c| u32::from((a as i16).saturating_sub(b as i16) as u16);
        Mul16 |a, b, c| u32::from((a as u16).saturating_mul(b as u16));
        MadU16 |a, b, c| u32::from(u16s(i64::from(a as u16) * i64::from(b as u16) + i64::from(c as u16)));
        MadI16 |a, b, c| u32::from(i16s(s16(a as u16) * s16(b as u16) + s16(c as u16)));
        PkAddU16 |a, b, c| halves(a, b, u16::saturating_add);
        PkSubU16 |a, b, c| halves(a, b, u16::saturating_sub);
        PkAddI16 |a, b, c| halves(a, b, |a, b| (a as i16).saturating_add(b as i16) as u16);
        PkSubI16 |a, b, c| halves(a, b, |a, b| (a as i16).saturating_sub(b as i16) as u16);
        PkMulLo16 |a, b, c| halves(a, b, u16::saturating_mul);
        PkMadU16 |a, b, c| {
            let f = |a: u32, b: u32, c: u32| u32::from(u16s(i64::from(a as u16) * i64::from(b as u16) + i64::from(c as u16)));
            f(a, b, c) | f(a >> 16, b >> 16, c >> 16) << 16
        };
        PkMadI16 |a, b, c| {
            let f = |a: u32, b: u32, c: u32| u32::from(i16s(s16(a as u16) * s16(b as u16) + s16(c as u16)));
            f(a, b, c) | f(a >> 16, b >> 16, c >> 16) << 16
        };
        Dot2I16 |a, b, c| signed(dot_exact::<2, 16, true>(a, b) + s(c));
        Dot2U16 |a, b, c| unsigned(dot_exact::<2, 16, false>(a, b) as u64 + u64::from(c));
        Dot4I8 |a, b, c| signed(dot_exact::<4, 8, true>(a, b) + s(c));
        Dot4U8 |a, b, c| unsigned(dot_exact::<4, 8, false>(a, b) as u64 + u64::from(c));
        Dot8I4 |a, b, c| signed(dot_exact::<8, 4, true>(a, b) + s(c));
        Dot8U4 |a, b, c| unsigned(dot_exact::<8, 4, false>(a, b) as u64 + u64::from(c));
    }
}

/// Addition and subtraction with a carry mask in and out; with `CLAMP` a lane that carries
/// saturates.
struct Carry<const SUB: bool, const IN: bool, const CLAMP: bool>;

impl<const SUB: bool, const IN: bool, const CLAMP: bool> Body for Carry<SUB, IN, CLAMP> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let a = chunks::<S, false>(ctx, op, 0, 0, &mut s0);
            let b = chunks::<S, false>(ctx, op, 1, 0, &mut s1);
            let carry_in = if IN { scalar64(ctx, op, 2) } else { 0 };
            let mask = lane_mask(ctx, op);
            let dst = (*ctx).base.add((*op).dst as usize);
            let mut out = 0;
            each_chunk!(S, mask, |i, mask| {
                let (x, y) = (a.get::<S>(i), b.get::<S>(i));
                let cin = (carry_in >> (CHUNK * i)) as u32 & 0xffff;
                let one = if IN { S::select(cin, S::splat(1), S::splat(0)) } else { S::splat(0) };
                let (v, carry) = if SUB {
                    let d = S::sub(x, y);
                    let v = if IN { S::sub(d, one) } else { d };
                    // A borrow-in turns equal operands into a borrow-out.
                    (v, S::lt_u(x, y) | if IN { S::eq(x, y) & cin } else { 0 })
                } else {
                    let s = S::add(x, y);
                    let v = if IN { S::add(s, one) } else { s };
                    (v, S::lt_u(s, x) | if IN { S::eq(s, S::splat(!0)) & cin } else { 0 })
                };
                out |= u64::from(carry & 0xffff) << (CHUNK * i);
                let limit = S::splat(if SUB { 0 } else { !0 });
                let v = if CLAMP { S::select(carry & 0xffff, limit, v) } else { v };
                store_chunk::<S>(dst, i, mask, v);
            });
            write64(ctx, (*op).dst2, out & mask);
            HostOp::next(op)
        }
    }
}

/// [`IntOp::Select`]: the third source is a mask.
struct Select<const ROWS: bool>;

impl<const ROWS: bool> Body for Select<ROWS> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let a = chunks::<S, ROWS>(ctx, op, 0, 0, &mut s0);
            let b = chunks::<S, ROWS>(ctx, op, 1, 0, &mut s1);
            let bits = scalar64(ctx, op, 2);
            let dst = (*ctx).base.add((*op).dst as usize);
            each_chunk!(S, lane_mask(ctx, op), |i, mask| {
                let m = (bits >> (CHUNK * i)) as u32 & 0xffff;
                store_chunk::<S>(dst, i, mask, S::select(m, b.get::<S>(i), a.get::<S>(i)));
            });
            HostOp::next(op)
        }
    }
}

/// [`IntOp::MaskCountLo`] and [`IntOp::MaskCountHi`].
struct MaskCount<const HIGH: bool>;

impl<const HIGH: bool> Body for MaskCount<HIGH> {
    #[inline(always)]
    unsafe fn run<S: Simd>(ctx: *mut Ctx, op: *mut HostOp) -> *mut HostOp {
        // SAFETY: the contract of `Body`.
        unsafe {
            let (mut s0, mut s1) = (Splat::new(), Splat::new());
            let a = chunks::<S, false>(ctx, op, 0, 0, &mut s0);
            let b = chunks::<S, false>(ctx, op, 1, 0, &mut s1);
            let dst = (*ctx).base.add((*op).dst as usize);
            each_chunk!(S, lane_mask(ctx, op), |i, mask| {
                let (x, y) = (S::to_lanes(a.get::<S>(i)), S::to_lanes(b.get::<S>(i)));
                let mut r = [0; CHUNK];
                for l in 0..CHUNK {
                    let below = (1u64 << (i * CHUNK + l)) - 1;
                    let below = if HIGH { (below >> 32) as u32 } else { below as u32 };
                    r[l] = (x[l] & below).count_ones().wrapping_add(y[l]);
                }
                store_chunk::<S>(dst, i, mask, S::from_lanes(r));
            });
            HostOp::next(op)
        }
    }
}

/// The handler of an operation.
fn elementwise<F: ChunkFn>(tier: Tier) -> Handler {
    handler::<Elementwise<F, { kinds::ANY }>>(tier)
}

/// The handler of an operation that is too rare for more than one handler.
fn rare<F: ChunkFn>() -> Handler {
    rare_handler::<Elementwise<F, { kinds::ANY }>>()
}

/// The handlers of a frequent operation, including special ones for rows only and for one scalar
/// among rows.
fn frequent<F: ChunkFn>(tier: Tier) -> Shaped {
    let any = elementwise::<F>(tier);
    let first = of_shape::<F, 0>(tier);
    let second = if F::SOURCES > 1 { of_shape::<F, 1>(tier) } else { any };
    let third = if F::SOURCES > 2 { of_shape::<F, 2>(tier) } else { any };
    Shaped { any, rows: of_shape::<F, { kinds::ROWS }>(tier), scalar: [first, second, third] }
}

fn of_shape<F: ChunkFn, const SHAPE: u8>(tier: Tier) -> Handler {
    special_handler::<Elementwise<F, SHAPE>, Elementwise<F, { kinds::ANY }>>(tier)
}

/// The handler of a rotation to the right, by the second source.
pub(super) fn rotation_handler(tier: Tier, shape: Shape) -> Handler {
    frequent::<RotateRight>(tier).pick(shape)
}

/// The handler of an integer operation for sources of the shape; `clamp`: the result saturates. `None` if the
/// combination has no handler.
pub(super) fn int_handler(op: IntOp, tier: Tier, shape: Shape, clamp: bool) -> Option<Handler> {
    if op == IntOp::MadU32 {
        let run = if clamp { elementwise::<SaturatingMadU32> } else { elementwise::<MadU32> };
        return Some(run(tier));
    }
    macro_rules! table {
        (
            frequent $($hot:ident)*;
            rare $($rare:ident $(clamp $rare_sat:ident)?),*;
            $($name:ident => $f:ty $(, clamp $sat:ident)?;)*
        ) => {
            match op {
                $(IntOp::$hot if !clamp => return Some(frequent::<$hot>(tier).pick(shape)),)*
                $(IntOp::$rare => {
                    $(if clamp { return Some(rare::<saturating::$rare_sat>()); })?
                    if clamp { return None; }
                    return Some(rare::<$rare>());
                })*
                $(IntOp::$name => {
                    $(if clamp { return Some(rare::<saturating::$sat>()); })?
                    if clamp { return None; }
                    return Some(elementwise::<$f>(tier));
                })*
                _ => {}
            }
        };
    }
    table! {
        frequent Mov And Or Xor Add Sub MulLo Shl Shr Sar AlignBit ShlAdd Add3 Bfi BfeU;
        rare SadU8 clamp SadU8, SadHiU8 clamp SadHiU8, SadU16 clamp SadU16, SadU32 clamp SadU32, MsadU8 clamp MsadU8,
            Dot8I4 clamp Dot8I4, Dot8U4 clamp Dot8U4, MulHiU24, MulHiI24, LerpU8, SatPkU8I16, AsrPkI8, AsrPkU8, Prng,
            ScreenParts,
            Min3I16, Max3I16, Med3I16, Min3U16, Max3U16, Med3U16;
        Mov => Mov; Not => Not; And => And; Or => Or; Xor => Xor; Xnor => Xnor;
        Add => Add, clamp Add; Sub => Sub, clamp Sub; AddI => Add, clamp AddI; SubI => Sub, clamp SubI;
        MulLo => MulLo; MulHiU => MulHiU; MulHiI => MulHiI;
        MulU24 => MulU24, clamp MulU24; MulI24 => MulI24, clamp MulI24;
        MadU24 => MadU24, clamp MadU24; MadI24 => MadI24, clamp MadI24;
        MadU32U16 => MadU32U16, clamp MadU32U16; MadI32I16 => MadI32I16, clamp MadI32I16;
        MinI => MinI; MaxI => MaxI; MinU => MinU; MaxU => MaxU;
        Min3I => Min3I; Max3I => Max3I; Med3I => Med3I; Min3U => Min3U; Max3U => Max3U; Med3U => Med3U;
        Shl => Shl; Shr => Shr; Sar => Sar;
        CarryOut => CarryOut;
        ShlAdd => ShlAdd; AddShl => AddShl; ShlOr => ShlOr; Add3 => Add3; AndOr => AndOr; Or3 => Or3; XorAdd => XorAdd;
        BfeU => BfeU; BfeI => BfeI; Bfi => Bfi; BitMask => BitMask; BitOp3 => BitOp3; BitReverse => BitReverse;
        LeadingZeros => LeadingZeros; TrailingZeros => TrailingZeros; LeadingSigns => LeadingSigns;
        CountOnes => CountOnes; AlignBit => AlignBit; AlignByte => AlignByte; Perm => Perm;
        Add16 => Add16, clamp Add16; Sub16 => Sub16, clamp Sub16; AddI16 => Add16, clamp AddI16;
        SubI16 => Sub16, clamp SubI16; Mul16 => Mul16, clamp Mul16; MadU16 => MadX16, clamp MadU16;
        MadI16 => MadX16, clamp MadI16; Shl16 => Shl16; Shr16 => Shr16; Sar16 => Sar16;
        MinI16 => MinI16; MaxI16 => MaxI16; MinU16 => MinU16; MaxU16 => MaxU16;
        PkMadI16 => PkMad16, clamp PkMadI16; PkMadU16 => PkMad16, clamp PkMadU16; PkMulLo16 => PkMulLo16, clamp PkMulLo16;
        PkAddI16 => PkAdd16, clamp PkAddI16; PkAddU16 => PkAdd16, clamp PkAddU16;
        PkSubI16 => PkSub16, clamp PkSubI16; PkSubU16 => PkSub16, clamp PkSubU16;
        PkShl16 => PkShl16; PkShr16 => PkShr16; PkSar16 => PkSar16;
        PkMaxI16 => PkMaxI16; PkMinI16 => PkMinI16; PkMaxU16 => PkMaxU16; PkMinU16 => PkMinU16;
        Dot2I16 => Dot2I16, clamp Dot2I16; Dot2U16 => Dot2U16, clamp Dot2U16; Dot4I8 => Dot4I8, clamp Dot4I8;
        Dot4U8 => Dot4U8, clamp Dot4U8;
    }
    let carry = match (op, clamp) {
        (IntOp::AddCo, false) => Some(handler::<Carry<false, false, false>>(tier)),
        (IntOp::AddCo, true) => Some(handler::<Carry<false, false, true>>(tier)),
        (IntOp::SubCo, false) => Some(handler::<Carry<true, false, false>>(tier)),
        (IntOp::SubCo, true) => Some(handler::<Carry<true, false, true>>(tier)),
        (IntOp::AddCi, false) => Some(handler::<Carry<false, true, false>>(tier)),
        (IntOp::AddCi, true) => Some(handler::<Carry<false, true, true>>(tier)),
        (IntOp::SubCi, false) => Some(handler::<Carry<true, true, false>>(tier)),
        (IntOp::SubCi, true) => Some(handler::<Carry<true, true, true>>(tier)),
        _ => None,
    };
    if let Some(carry) = carry {
        return Some(carry);
    }
    if let Some(wide) = wide::wide_handler(op, tier, clamp) {
        return Some(wide);
    }
    if clamp {
        return None;
    }
    Some(match op {
        IntOp::Select if shape == Shape::Rows => special_handler::<Select<true>, Select<false>>(tier),
        IntOp::Select => handler::<Select<false>>(tier),
        IntOp::MaskCountLo => handler::<MaskCount<false>>(tier),
        IntOp::MaskCountHi => handler::<MaskCount<true>>(tier),
        _ => return None,
    })
}
