//! The tier for every host: arrays and plain loops.

use super::{CHUNK, CHUNKS, Lanes, Simd};

/// Arrays; the compiler vectorises them for the build's baseline.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portable;

/// Sixteen lanes, aligned like a vector register.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(crate) struct Array(Lanes);

#[inline(always)]
fn zip(a: Array, b: Array, f: impl Fn(u32, u32) -> u32) -> Array {
    let mut r = [0; CHUNK];
    for i in 0..CHUNK {
        r[i] = f(a.0[i], b.0[i]);
    }
    Array(r)
}

#[inline(always)]
fn mask(a: Array, b: Array, f: impl Fn(u32, u32) -> bool) -> u32 {
    let mut r = 0;
    for i in 0..CHUNK {
        r |= u32::from(f(a.0[i], b.0[i])) << i;
    }
    r
}

#[inline(always)]
fn float(f: impl Fn(f32, f32) -> f32) -> impl Fn(u32, u32) -> u32 {
    move |a, b| f(f32::from_bits(a), f32::from_bits(b)).to_bits()
}

#[inline(always)]
fn compare(f: impl Fn(f32, f32) -> bool) -> impl Fn(u32, u32) -> bool {
    move |a, b| f(f32::from_bits(a), f32::from_bits(b))
}

impl Simd for Portable {
    type V = Array;

    #[inline(always)]
    fn chunks() -> usize {
        std::hint::black_box(CHUNKS)
    }

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Array {
        // SAFETY: valid for 64 bytes by the trait's contract.
        Array(unsafe { (p as *const Lanes).read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(p: *mut u8, v: Array) {
        // SAFETY: as above.
        unsafe { (p as *mut Lanes).write_unaligned(v.0) }
    }
    #[inline(always)]
    unsafe fn store_masked(p: *mut u8, m: u32, v: Array) {
        // SAFETY: as above.
        unsafe { Self::store(p, Self::select(m, v, Self::load(p))) }
    }
    #[inline(always)]
    unsafe fn splat(x: u32) -> Array {
        Array([x; CHUNK])
    }
    #[inline(always)]
    unsafe fn to_lanes(v: Array) -> Lanes {
        v.0
    }
    #[inline(always)]
    unsafe fn from_lanes(v: Lanes) -> Array {
        Array(v)
    }
    #[inline(always)]
    unsafe fn select(m: u32, a: Array, b: Array) -> Array {
        let mut r = b.0;
        for (i, lane) in r.iter_mut().enumerate() {
            let keep = (m >> i & 1).wrapping_sub(1);
            *lane = (*lane & keep) | (a.0[i] & !keep);
        }
        Array(r)
    }
    #[inline(always)]
    unsafe fn and(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| a & b)
    }
    #[inline(always)]
    unsafe fn or(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| a | b)
    }
    #[inline(always)]
    unsafe fn xor(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| a ^ b)
    }
    #[inline(always)]
    unsafe fn and_not(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| !a & b)
    }
    #[inline(always)]
    unsafe fn add(a: Array, b: Array) -> Array {
        zip(a, b, u32::wrapping_add)
    }
    #[inline(always)]
    unsafe fn sub(a: Array, b: Array) -> Array {
        zip(a, b, u32::wrapping_sub)
    }
    #[inline(always)]
    unsafe fn mul_lo(a: Array, b: Array) -> Array {
        zip(a, b, u32::wrapping_mul)
    }
    #[inline(always)]
    unsafe fn shl(a: Array, n: Array) -> Array {
        zip(a, n, |a, n| a << (n & 31))
    }
    #[inline(always)]
    unsafe fn shr(a: Array, n: Array) -> Array {
        zip(a, n, |a, n| a >> (n & 31))
    }
    #[inline(always)]
    unsafe fn sar(a: Array, n: Array) -> Array {
        zip(a, n, |a, n| ((a as i32) >> (n & 31)) as u32)
    }
    #[inline(always)]
    unsafe fn min_i(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| (a as i32).min(b as i32) as u32)
    }
    #[inline(always)]
    unsafe fn max_i(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| (a as i32).max(b as i32) as u32)
    }
    #[inline(always)]
    unsafe fn min_u(a: Array, b: Array) -> Array {
        zip(a, b, u32::min)
    }
    #[inline(always)]
    unsafe fn max_u(a: Array, b: Array) -> Array {
        zip(a, b, u32::max)
    }
    #[inline(always)]
    unsafe fn eq(a: Array, b: Array) -> u32 {
        mask(a, b, |a, b| a == b)
    }
    #[inline(always)]
    unsafe fn lt_i(a: Array, b: Array) -> u32 {
        mask(a, b, |a, b| (a as i32) < b as i32)
    }
    #[inline(always)]
    unsafe fn lt_u(a: Array, b: Array) -> u32 {
        mask(a, b, |a, b| a < b)
    }
    #[inline(always)]
    unsafe fn fadd(a: Array, b: Array) -> Array {
        zip(a, b, float(|a, b| a + b))
    }
    #[inline(always)]
    unsafe fn fsub(a: Array, b: Array) -> Array {
        zip(a, b, float(|a, b| a - b))
    }
    #[inline(always)]
    unsafe fn fmul(a: Array, b: Array) -> Array {
        zip(a, b, float(|a, b| a * b))
    }
    #[inline(always)]
    unsafe fn fma(a: Array, b: Array, c: Array) -> Array {
        let mut r = [0; CHUNK];
        for i in 0..CHUNK {
            r[i] = f32::from_bits(a.0[i]).mul_add(f32::from_bits(b.0[i]), f32::from_bits(c.0[i])).to_bits();
        }
        Array(r)
    }
    #[inline(always)]
    unsafe fn fmin(a: Array, b: Array) -> Array {
        zip(a, b, float(|a, b| if a < b { a } else { b }))
    }
    #[inline(always)]
    unsafe fn fmax(a: Array, b: Array) -> Array {
        zip(a, b, float(|a, b| if a > b { a } else { b }))
    }
    #[inline(always)]
    unsafe fn feq(a: Array, b: Array) -> u32 {
        mask(a, b, compare(|a, b| a == b))
    }
    #[inline(always)]
    unsafe fn flt(a: Array, b: Array) -> u32 {
        mask(a, b, compare(|a, b| a < b))
    }
    #[inline(always)]
    unsafe fn fle(a: Array, b: Array) -> u32 {
        mask(a, b, compare(|a, b| a <= b))
    }
    #[inline(always)]
    unsafe fn unordered(a: Array, b: Array) -> u32 {
        mask(a, b, compare(|a, b| a.is_nan() || b.is_nan()))
    }
    #[inline(always)]
    unsafe fn truncate(a: Array) -> Array {
        zip(a, a, |a, _| f32::from_bits(a) as i32 as u32)
    }
    #[inline(always)]
    unsafe fn cvt_f32_i32(a: Array) -> Array {
        zip(a, a, |a, _| (a as i32 as f32).to_bits())
    }
    #[inline(always)]
    unsafe fn fdiv(a: Array, b: Array) -> Array {
        zip(a, b, float(|a, b| a / b))
    }
    #[inline(always)]
    unsafe fn fsqrt(a: Array) -> Array {
        zip(a, a, float(|a, _| a.sqrt()))
    }
    #[inline(always)]
    unsafe fn frsqrt(a: Array) -> Array {
        // The f64 quotient is accurate enough for all f32 (the tests of `wavemill-float` prove it
        // exhaustively).
        zip(a, a, float(|a, _| (1.0 / f64::from(a).sqrt()) as f32))
    }
    #[inline(always)]
    unsafe fn mul_hi_u(a: Array, b: Array) -> Array {
        zip(a, b, |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32)
    }
    #[inline(always)]
    unsafe fn pick_bytes(a: Array, b: Array, pick: Array) -> Array {
        let mut r = [0; CHUNK];
        for i in 0..CHUNK {
            let data = u64::from(a.0[i]) << 32 | u64::from(b.0[i]);
            for byte in [0, 8, 16, 24] {
                let from = pick.0[i] >> byte & 7;
                r[i] |= (data >> (8 * from) & 0xff) as u32 * (1 << byte);
            }
        }
        Array(r)
    }
    #[inline(always)]
    unsafe fn gather(p: *const u8, offsets: Array, mask: u32) -> Array {
        let mut r = [0; CHUNK];
        for i in 0..CHUNK {
            if mask >> i & 1 != 0 {
                // SAFETY: the lanes in the mask are valid.
                r[i] = unsafe { dword(p.add(offsets.0[i] as usize)) };
            }
        }
        Array(r)
    }
    #[inline(always)]
    unsafe fn every_second(p: *const u8) -> Array {
        // SAFETY: valid for 128 bytes.
        unsafe { every::<2>(p) }
    }
    #[inline(always)]
    unsafe fn every_fourth(p: *const u8) -> Array {
        // SAFETY: valid for 256 bytes.
        unsafe { every::<4>(p) }
    }
}

/// The little-endian dword at `p`.
#[inline(always)]
unsafe fn dword(p: *const u8) -> u32 {
    // SAFETY: the callers promise that it is valid for 4 bytes.
    u32::from_le(unsafe { p.cast::<u32>().read_unaligned() })
}

/// Every `N`th dword starting at `p`.
#[inline(always)]
unsafe fn every<const N: usize>(p: *const u8) -> Array {
    let mut r = [0; CHUNK];
    for (i, r) in r.iter_mut().enumerate() {
        // SAFETY: the callers promise that it is valid for `CHUNK * N` dwords.
        *r = unsafe { dword(p.add(4 * N * i)) };
    }
    Array(r)
}
