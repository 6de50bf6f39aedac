//! Vectors of 16 lanes in three widths of host hardware.
//!
//! A row has 64 lanes; handlers work on it in four chunks of 16. [`Simd`] gives each tier its chunk
//! type and the operations that deserve host instructions. Everything else goes lane by lane over
//! the chunk as an array, also compiled with the tier's instructions.

#[cfg(all(target_arch = "x86_64", not(test)))]
mod avx2;
#[cfg(all(target_arch = "x86_64", not(test)))]
mod avx512;
mod portable;

#[cfg(all(target_arch = "x86_64", not(test)))]
pub(super) use avx2::Avx2;
#[cfg(all(target_arch = "x86_64", not(test)))]
pub(super) use avx512::Avx512;
pub(super) use portable::Portable;

use wavemill_ir::LANES;
use wavemill_machine::raw;

/// Number of lanes of a chunk.
pub(super) const CHUNK: usize = 16;
/// Number of chunks of a row.
pub(super) const CHUNKS: usize = LANES / CHUNK;
/// A chunk as an array.
pub(super) type Lanes = [u32; CHUNK];

/// A tier of host vector hardware. Lane masks are the low 16 bits of a `u32`, bit `i` for lane `i`.
///
/// # Safety
/// All functions require that the host has the tier's instructions; they are only called from functions that are
/// compiled with the matching `target_feature`s. Pointers must be valid for 64 bytes.
pub(super) trait Simd: Copy + 'static {
    /// Sixteen 32-bit lanes.
    type V: Copy;

    /// [`CHUNKS`], hidden from the compiler where needed: it unrolls loops up to it only if a chunk
    /// is few instructions.
    #[inline(always)]
    fn chunks() -> usize {
        CHUNKS
    }

    unsafe fn load(p: *const u8) -> Self::V;
    unsafe fn store(p: *mut u8, v: Self::V);
    /// Stores the lanes whose mask bit is set.
    unsafe fn store_masked(p: *mut u8, mask: u32, v: Self::V);
    /// Loads a chunk of guest memory, which others may write. Each aligned dword, and each aligned pair of them,
    /// moves as a whole.
    #[inline(always)]
    unsafe fn load_guest(p: *const u8) -> Self::V {
        let mut lanes = [0; CHUNK];
        // SAFETY: the contract of the trait.
        unsafe { raw::copy_chunk(lanes.as_mut_ptr().cast(), p) };
        // SAFETY: the contract of the trait.
        unsafe { Self::from_lanes(lanes) }
    }
    /// Stores a chunk to guest memory, which others may access. Each aligned dword, and each aligned pair of them,
    /// moves as a whole.
    #[inline(always)]
    unsafe fn store_guest(p: *mut u8, v: Self::V) {
        // SAFETY: the contract of the trait.
        unsafe { raw::copy_chunk(p, Self::to_lanes(v).as_ptr().cast()) };
    }
    /// Stores the lanes whose mask bit is set to guest memory: that of the other lanes is not written, and others may
    /// access it.
    #[inline(always)]
    unsafe fn store_active(p: *mut u8, mask: u32, v: Self::V) {
        // SAFETY: the contract of the trait.
        unsafe {
            let lanes = Self::to_lanes(v);
            for (i, lane) in lanes.into_iter().enumerate().filter(|(i, _)| mask >> i & 1 != 0) {
                raw::store_u32(p.add(4 * i), lane);
            }
        }
    }
    /// Whether [`Simd::gather_guest`] is faster than one load for each lane.
    const GATHERS: bool = false;
    /// The dwords of guest memory, which others may write, at `p` plus the signed byte offsets of the lanes in the mask;
    /// 0 in the others, whose memory is not accessed. Each aligned dword moves as a whole.
    #[inline(always)]
    unsafe fn gather_guest(p: *const u8, offsets: Self::V, mask: u32) -> Self::V {
        // SAFETY: the contract of the trait.
        unsafe {
            let mut lanes = Self::to_lanes(offsets);
            for (i, lane) in lanes.iter_mut().enumerate() {
                let at = p.wrapping_offset(*lane as i32 as isize);
                *lane = if mask >> i & 1 != 0 { raw::load_u32(at.cast_mut()) } else { 0 };
            }
            Self::from_lanes(lanes)
        }
    }
    unsafe fn splat(x: u32) -> Self::V;
    unsafe fn to_lanes(v: Self::V) -> Lanes;
    unsafe fn from_lanes(v: Lanes) -> Self::V;
    /// Lanes of `a` where the mask is set, of `b` elsewhere.
    unsafe fn select(mask: u32, a: Self::V, b: Self::V) -> Self::V;

    unsafe fn and(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn or(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn xor(a: Self::V, b: Self::V) -> Self::V;
    /// `!a & b`.
    unsafe fn and_not(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul_lo(a: Self::V, b: Self::V) -> Self::V;
    /// Upper dwords of the unsigned products.
    unsafe fn mul_hi_u(a: Self::V, b: Self::V) -> Self::V;
    /// Shifts by lane; amounts are below 32.
    unsafe fn shl(a: Self::V, n: Self::V) -> Self::V;
    unsafe fn shr(a: Self::V, n: Self::V) -> Self::V;
    unsafe fn sar(a: Self::V, n: Self::V) -> Self::V;
    /// Rotates right by lane; of amounts, the low five bits count.
    #[inline(always)]
    unsafe fn ror(a: Self::V, n: Self::V) -> Self::V {
        // SAFETY: the contract of the trait.
        unsafe {
            let k = Self::splat(31);
            let right = Self::shr(a, Self::and(n, k));
            Self::or(right, Self::shl(a, Self::and(Self::sub(Self::splat(0), n), k)))
        }
    }
    unsafe fn min_i(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn max_i(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn min_u(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn max_u(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn eq(a: Self::V, b: Self::V) -> u32;
    unsafe fn lt_i(a: Self::V, b: Self::V) -> u32;
    unsafe fn lt_u(a: Self::V, b: Self::V) -> u32;

    /// Float arithmetic under the host's default environment; NaN lanes are unspecified.
    unsafe fn fadd(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn fsub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn fmul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// `a < b ? a : b`, so `b` if either is NaN or both are zeros.
    unsafe fn fmin(a: Self::V, b: Self::V) -> Self::V;
    /// `a > b ? a : b`.
    unsafe fn fmax(a: Self::V, b: Self::V) -> Self::V;
    /// Ordered comparisons.
    unsafe fn feq(a: Self::V, b: Self::V) -> u32;
    unsafe fn flt(a: Self::V, b: Self::V) -> u32;
    unsafe fn fle(a: Self::V, b: Self::V) -> u32;
    /// Lanes where either operand is NaN.
    unsafe fn unordered(a: Self::V, b: Self::V) -> u32;
    /// Correctly rounded quotients and roots; NaN lanes are unspecified.
    unsafe fn fdiv(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn fsqrt(a: Self::V) -> Self::V;
    /// Correctly rounded `1 / sqrt(a)` of positive normal numbers; other lanes are unspecified.
    unsafe fn frsqrt(a: Self::V) -> Self::V;
    /// `a * 2^n` for signed integers `n`, rounded once; NaN lanes are unspecified.
    #[inline(always)]
    unsafe fn ldexp(a: Self::V, n: Self::V) -> Self::V {
        // SAFETY: as the trait says.
        unsafe { Self::map2(a, n, ldexp) }
    }
    /// Conversion of signed integers to f32, nearest even.
    unsafe fn cvt_f32_i32(a: Self::V) -> Self::V;

    /// f32 of the same value as the f16 in the lower half; NaNs keep their payload and become quiet.
    #[inline(always)]
    unsafe fn widen_half(a: Self::V) -> Self::V {
        // SAFETY: as the trait says.
        unsafe { Self::map1(a, f32_from_f16) }
    }
    /// The nearest f16, with zeros above; NaNs keep the top of their payload and become quiet.
    #[inline(always)]
    unsafe fn narrow_to_half(a: Self::V) -> Self::V {
        // SAFETY: as the trait says.
        unsafe { Self::map1(a, f16_from_f32) }
    }

    /// Conversion of f32 to signed integers, towards zero. The result fits.
    unsafe fn truncate(a: Self::V) -> Self::V;
    /// The result of a group of [`MatrixSum::Truncated`](wavemill_ir::MatrixSum::Truncated) with 24
    /// and 31 bits: sums of products in units of 2^(exponent - 24), their exponents, and a finite
    /// f32 addend. With `halves` there are two sums, and an addend far below them is dropped.
    #[inline(always)]
    unsafe fn matrix_sum(sums: [Self::V; 2], exponents: [Self::V; 2], c: Self::V, halves: bool) -> Self::V {
        // SAFETY: as the trait says.
        unsafe {
            let sums = sums.map(|v| Self::to_lanes(v));
            let exponents = exponents.map(|v| Self::to_lanes(v));
            let c = Self::to_lanes(c);
            let mut r = [0; CHUNK];
            for i in 0..CHUNK {
                r[i] = matrix_sum(sums.map(|v| v[i] as i32), exponents.map(|v| v[i] as i32), c[i], halves);
            }
            Self::from_lanes(r)
        }
    }

    /// The dwords at `p` plus the byte offsets of the lanes in the mask, 0 in the others. Only memory that no other
    /// thread writes.
    unsafe fn gather(p: *const u8, offsets: Self::V, mask: u32) -> Self::V;
    /// The dwords with even numbers and those with odd ones, of two consecutive chunks of memory.
    #[inline(always)]
    unsafe fn separate(a: Self::V, b: Self::V) -> (Self::V, Self::V) {
        // SAFETY: as the trait says.
        unsafe {
            let (a, b) = (Self::to_lanes(a), Self::to_lanes(b));
            let at = |n: usize| if n < CHUNK { a[n] } else { b[n - CHUNK] };
            let pick = |odd: usize| std::array::from_fn(|n| at(2 * n + odd));
            (Self::from_lanes(pick(0)), Self::from_lanes(pick(1)))
        }
    }
    /// The inverse of [`Simd::separate`].
    #[inline(always)]
    unsafe fn interleave(even: Self::V, odd: Self::V) -> (Self::V, Self::V) {
        // SAFETY: as the trait says.
        unsafe {
            let (even, odd) = (Self::to_lanes(even), Self::to_lanes(odd));
            let at = |n: usize| if n.is_multiple_of(2) { even[n / 2] } else { odd[n / 2] };
            let part = |first: usize| std::array::from_fn(|n| at(first + n));
            (Self::from_lanes(part(0)), Self::from_lanes(part(CHUNK)))
        }
    }
    /// Every second dword starting at `p`, which is valid for 128 bytes.
    unsafe fn every_second(p: *const u8) -> Self::V;
    /// Every fourth dword starting at `p`, which is valid for 256 bytes.
    unsafe fn every_fourth(p: *const u8) -> Self::V;

    /// Bytes of `b` (numbers 0 to 3) and `a` (4 to 7) by the numbers in the bytes of `pick`, which are below 8.
    unsafe fn pick_bytes(a: Self::V, b: Self::V, pick: Self::V) -> Self::V;

    unsafe fn not(a: Self::V) -> Self::V {
        // SAFETY: as the trait says.
        unsafe { Self::xor(a, Self::splat(!0)) }
    }

    /// Applies a function lane by lane.
    #[inline(always)]
    unsafe fn map1(a: Self::V, f: impl Fn(u32) -> u32) -> Self::V {
        // SAFETY: as the trait says.
        unsafe {
            let a = Self::to_lanes(a);
            let mut r = [0; CHUNK];
            for i in 0..CHUNK {
                r[i] = f(a[i]);
            }
            Self::from_lanes(r)
        }
    }

    /// Applies a function of two operands lane by lane.
    #[inline(always)]
    unsafe fn map2(a: Self::V, b: Self::V, f: impl Fn(u32, u32) -> u32) -> Self::V {
        // SAFETY: as the trait says.
        unsafe {
            let (a, b) = (Self::to_lanes(a), Self::to_lanes(b));
            let mut r = [0; CHUNK];
            for i in 0..CHUNK {
                r[i] = f(a[i], b[i]);
            }
            Self::from_lanes(r)
        }
    }

    /// Applies a function of three operands lane by lane.
    #[inline(always)]
    unsafe fn map3(a: Self::V, b: Self::V, c: Self::V, f: impl Fn(u32, u32, u32) -> u32) -> Self::V {
        // SAFETY: as the trait says.
        unsafe {
            let (a, b, c) = (Self::to_lanes(a), Self::to_lanes(b), Self::to_lanes(c));
            let mut r = [0; CHUNK];
            for i in 0..CHUNK {
                r[i] = f(a[i], b[i], c[i]);
            }
            Self::from_lanes(r)
        }
    }
}

/// f32 of the same value as the f16 in the lower half; NaNs keep their payload and become quiet.
#[inline(always)]
fn f32_from_f16(h: u32) -> u32 {
    let sign = (h & 0x8000) << 16;
    let magnitude = (h & 0x7fff) << 13;
    // The exponent bias differs by 112; the multiplication also normalises denormals, exactly.
    let scaled = (f32::from_bits(magnitude) * f32::from_bits((127 + 112) << 23)).to_bits();
    let special = magnitude | 0x7f80_0000 | if h & 0x3ff != 0 { 0x0040_0000 } else { 0 };
    sign | if h & 0x7c00 == 0x7c00 { special } else { scaled }
}

/// f16 nearest to an f32; NaNs keep the top of their payload and become quiet.
#[inline(always)]
fn f16_from_f32(x: u32) -> u32 {
    let sign = x >> 16 & 0x8000;
    let magnitude = x & 0x7fff_ffff;
    // Normal results: the bias changes, and the dropped bits round to nearest even; a carry may
    // give infinity.
    let odd = magnitude >> 13 & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    // Denormal results: adding a number with the same last place rounds.
    let magic = 126u32 << 23;
    let denormal = (f32::from_bits(magnitude) + f32::from_bits(magic)).to_bits().wrapping_sub(magic);
    let r = if magnitude < 113 << 23 { denormal } else { normal };
    let nan = 0x7e00 | magnitude >> 13 & 0x1ff;
    let special = if magnitude > 0x7f80_0000 { nan } else { 0x7c00 };
    sign | if magnitude >= 143 << 23 { special } else { r }
}

/// `x * 2^n` of an f32, rounded once: the f64 product is exact.
#[inline(always)]
fn ldexp(x: u32, n: u32) -> u32 {
    // Beyond these bounds every number overflows or vanishes.
    let n = (n as i32).clamp(-300, 300);
    let factor = f64::from_bits(((n + 1023) as u64) << 52);
    ((f64::from(f32::from_bits(x)) * factor) as f32).to_bits()
}

/// `2^n`, for `n` in the range of exponents of f64.
#[inline(always)]
fn power(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// [`Simd::matrix_sum`] of a lane. Every step is exact in f64 but the last, which rounds to f32.
#[inline(always)]
fn matrix_sum(sums: [i32; 2], exponents: [i32; 2], c: u32, halves: bool) -> u32 {
    let (dot, exp_dot) = if halves {
        let exp = exponents[0].max(exponents[1]);
        let part = |n: usize| (f64::from(sums[n]) * power((exponents[n] - exp).max(-64))).floor();
        (part(0) + part(1), exp)
    } else {
        (f64::from(sums[0]), exponents[0])
    };
    let field = (c >> 23 & 0xff) as i32;
    let exp_c = field.max(1) - 127;
    let magnitude = (c & 0x7f_ffff) as i32 | if field == 0 { 0 } else { 0x80_0000 };
    let signed = if c >> 31 != 0 { -magnitude } else { magnitude };
    let exp = exp_dot.max(exp_c);
    // Both in units of 2^(exp - 32).
    let dot = (dot * power((exp_dot - exp + 8).max(-64))).floor();
    let addend = (f64::from(signed) * power((exp_c - exp + 1).max(-64))).floor() * 256.0;
    let total = dot + if halves && exp_c < exp - 25 { 0.0 } else { addend };
    let leading = (total.to_bits() >> 52 & 0x7ff) as i32 - 1023;
    let down = (leading - 31).max(-125 - exp).max(0);
    let kept = (total * power(-down)).floor() * power(down);
    ((kept * power(exp - 32)) as f32).to_bits()
}

/// Numbers of the first bytes of the dwords of a 128-bit group, for byte shuffles.
#[cfg(all(target_arch = "x86_64", not(test)))]
const DWORD_BYTES: [i32; 4] = [0x0000_0000, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c];
