//! AVX2 and FMA: a chunk is two registers.

use std::arch::x86_64::*;

use super::{DWORD_BYTES, Lanes, Simd};
use wavemill_machine::raw;

/// AVX2, FMA, F16C and BMI.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx2;

type Pair = [__m256i; 2];

macro_rules! binary {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Pair, b: Pair) -> Pair {
            // SAFETY: the trait's contract: the host has the instructions.
            unsafe { [$intrinsic(a[0], b[0]), $intrinsic(a[1], b[1])] }
        }
    )*};
}
macro_rules! float_binary {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Pair, b: Pair) -> Pair {
            // SAFETY: as above.
            unsafe {
                let f = _mm256_castsi256_ps;
                [
                    _mm256_castps_si256($intrinsic(f(a[0]), f(b[0]))),
                    _mm256_castps_si256($intrinsic(f(a[1]), f(b[1]))),
                ]
            }
        }
    )*};
}
macro_rules! float_compare {
    ($($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: Pair, b: Pair) -> u32 {
            // SAFETY: as above.
            unsafe {
                let f = _mm256_castsi256_ps;
                let lo = _mm256_movemask_ps(_mm256_cmp_ps::<$predicate>(f(a[0]), f(b[0])));
                let hi = _mm256_movemask_ps(_mm256_cmp_ps::<$predicate>(f(a[1]), f(b[1])));
                (lo | hi << 8) as u32
            }
        }
    )*};
}

#[inline(always)]
unsafe fn bits(a: Pair) -> u32 {
    // SAFETY: as above.
    unsafe {
        let lo = _mm256_movemask_ps(_mm256_castsi256_ps(a[0]));
        let hi = _mm256_movemask_ps(_mm256_castsi256_ps(a[1]));
        (lo | hi << 8) as u32
    }
}

/// All bits of the lanes in the mask.
#[inline(always)]
unsafe fn spread(mask: u32) -> Pair {
    // SAFETY: as above.
    unsafe {
        let m = _mm256_set1_epi32(mask as i32);
        let lo = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
        let hi = _mm256_slli_epi32::<8>(lo);
        [_mm256_cmpeq_epi32(_mm256_and_si256(m, lo), lo), _mm256_cmpeq_epi32(_mm256_and_si256(m, hi), hi)]
    }
}

/// The dwords with even numbers of 16. The shuffle works on halves, so that quarters 1 and 2 are
/// exchanged then.
#[inline]
#[target_feature(enable = "avx2")]
fn even(a: __m256i, b: __m256i) -> __m256i {
    let halves = _mm256_shuffle_ps::<0x88>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(halves))
}

/// Those with odd numbers.
#[inline]
#[target_feature(enable = "avx2")]
fn odd(a: __m256i, b: __m256i) -> __m256i {
    let halves = _mm256_shuffle_ps::<0xdd>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
    _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(halves))
}

/// The inverse of [`even`] and [`odd`].
#[inline]
#[target_feature(enable = "avx2")]
fn interleave(even: __m256i, odd: __m256i) -> Pair {
    let (low, high) = (_mm256_unpacklo_epi32(even, odd), _mm256_unpackhi_epi32(even, odd));
    [_mm256_permute2x128_si256::<0x20>(low, high), _mm256_permute2x128_si256::<0x31>(low, high)]
}

impl Simd for Avx2 {
    type V = Pair;

    #[inline(always)]
    unsafe fn load(p: *const u8) -> Pair {
        // SAFETY: as above; valid for 64 bytes.
        unsafe { [_mm256_loadu_si256(p as *const __m256i), _mm256_loadu_si256(p.add(32) as *const __m256i)] }
    }
    #[inline(always)]
    unsafe fn store(p: *mut u8, v: Pair) {
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_si256(p as *mut __m256i, v[0]);
            _mm256_storeu_si256(p.add(32) as *mut __m256i, v[1]);
        }
    }
    #[inline(always)]
    unsafe fn store_masked(p: *mut u8, mask: u32, v: Pair) {
        // SAFETY: as above.
        unsafe { Self::store(p, Self::select(mask, v, Self::load(p))) }
    }
    #[inline(always)]
    unsafe fn load_guest(p: *const u8) -> Pair {
        // SAFETY: as above; valid for 64 bytes.
        unsafe { raw::avx2::load_chunk(p) }
    }
    #[inline(always)]
    unsafe fn store_guest(p: *mut u8, v: Pair) {
        // SAFETY: as above; valid for 64 bytes.
        unsafe { raw::avx2::store_chunk(p, v) }
    }
    #[inline(always)]
    unsafe fn store_active(p: *mut u8, mask: u32, v: Pair) {
        // SAFETY: as above.
        unsafe { raw::avx2::store_active(p, spread(mask), v) }
    }
    #[inline(always)]
    unsafe fn splat(x: u32) -> Pair {
        // SAFETY: as above.
        unsafe { [_mm256_set1_epi32(x as i32); 2] }
    }
    #[inline(always)]
    unsafe fn to_lanes(v: Pair) -> Lanes {
        // SAFETY: same size, any bits are valid.
        unsafe { std::mem::transmute(v) }
    }
    #[inline(always)]
    unsafe fn from_lanes(v: Lanes) -> Pair {
        // SAFETY: same size, any bits are valid.
        unsafe { std::mem::transmute(v) }
    }
    #[inline(always)]
    unsafe fn select(mask: u32, a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            let [lo, hi] = spread(mask);
            [_mm256_blendv_epi8(b[0], a[0], lo), _mm256_blendv_epi8(b[1], a[1], hi)]
        }
    }
    binary! {
        and = _mm256_and_si256;
        or = _mm256_or_si256;
        xor = _mm256_xor_si256;
        and_not = _mm256_andnot_si256;
        add = _mm256_add_epi32;
        sub = _mm256_sub_epi32;
        mul_lo = _mm256_mullo_epi32;
        shl = _mm256_sllv_epi32;
        shr = _mm256_srlv_epi32;
        sar = _mm256_srav_epi32;
        min_i = _mm256_min_epi32;
        max_i = _mm256_max_epi32;
        min_u = _mm256_min_epu32;
        max_u = _mm256_max_epu32;
    }
    #[inline(always)]
    unsafe fn eq(a: Pair, b: Pair) -> u32 {
        // SAFETY: as above.
        unsafe { bits([_mm256_cmpeq_epi32(a[0], b[0]), _mm256_cmpeq_epi32(a[1], b[1])]) }
    }
    #[inline(always)]
    unsafe fn lt_i(a: Pair, b: Pair) -> u32 {
        // SAFETY: as above.
        unsafe { bits([_mm256_cmpgt_epi32(b[0], a[0]), _mm256_cmpgt_epi32(b[1], a[1])]) }
    }
    #[inline(always)]
    unsafe fn lt_u(a: Pair, b: Pair) -> u32 {
        // SAFETY: as above.
        unsafe {
            let bias = Self::splat(0x8000_0000);
            Self::lt_i(Self::xor(a, bias), Self::xor(b, bias))
        }
    }
    float_binary! {
        fadd = _mm256_add_ps;
        fsub = _mm256_sub_ps;
        fmul = _mm256_mul_ps;
        fdiv = _mm256_div_ps;
        fmin = _mm256_min_ps;
        fmax = _mm256_max_ps;
    }
    #[inline(always)]
    unsafe fn fma(a: Pair, b: Pair, c: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            let f = _mm256_castsi256_ps;
            [
                _mm256_castps_si256(_mm256_fmadd_ps(f(a[0]), f(b[0]), f(c[0]))),
                _mm256_castps_si256(_mm256_fmadd_ps(f(a[1]), f(b[1]), f(c[1]))),
            ]
        }
    }
    float_compare! {
        feq = _CMP_EQ_OQ;
        flt = _CMP_LT_OQ;
        fle = _CMP_LE_OQ;
        unordered = _CMP_UNORD_Q;
    }
    #[inline(always)]
    unsafe fn cvt_f32_i32(a: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            [_mm256_castps_si256(_mm256_cvtepi32_ps(a[0])), _mm256_castps_si256(_mm256_cvtepi32_ps(a[1]))]
        }
    }
    #[inline(always)]
    unsafe fn widen_half(a: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            let low = _mm256_set1_epi32(0xffff);
            // The halves of each register's four quarters, in order.
            let halves = _mm256_packus_epi32(_mm256_and_si256(a[0], low), _mm256_and_si256(a[1], low));
            let halves = _mm256_permute4x64_epi64::<0b11_01_10_00>(halves);
            let (first, second) = (_mm256_castsi256_si128(halves), _mm256_extracti128_si256::<1>(halves));
            [_mm256_castps_si256(_mm256_cvtph_ps(first)), _mm256_castps_si256(_mm256_cvtph_ps(second))]
        }
    }
    #[inline(always)]
    unsafe fn narrow_to_half(a: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            let first = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(a[0]));
            let second = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm256_castsi256_ps(a[1]));
            [_mm256_cvtepu16_epi32(first), _mm256_cvtepu16_epi32(second)]
        }
    }
    #[inline(always)]
    unsafe fn truncate(a: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { a.map(|half| _mm256_cvttps_epi32(_mm256_castsi256_ps(half))) }
    }
    #[inline(always)]
    unsafe fn fsqrt(a: Pair) -> Pair {
        // SAFETY: as above.
        unsafe {
            let (lo, hi) = (_mm256_castsi256_ps(a[0]), _mm256_castsi256_ps(a[1]));
            [_mm256_castps_si256(_mm256_sqrt_ps(lo)), _mm256_castps_si256(_mm256_sqrt_ps(hi))]
        }
    }
    #[inline(always)]
    unsafe fn frsqrt(a: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { [rsqrt(a[0]), rsqrt(a[1])] }
    }
    #[inline(always)]
    unsafe fn mul_hi_u(a: Pair, b: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { [mul_hi_u(a[0], b[0]), mul_hi_u(a[1], b[1])] }
    }
    #[inline(always)]
    unsafe fn pick_bytes(a: Pair, b: Pair, pick: Pair) -> Pair {
        // SAFETY: as above.
        unsafe { [pick_bytes(a[0], b[0], pick[0]), pick_bytes(a[1], b[1], pick[1])] }
    }
    #[inline(always)]
    unsafe fn gather(p: *const u8, offsets: Pair, mask: u32) -> Pair {
        // SAFETY: as above; the lanes in the mask are valid.
        unsafe {
            let lanes = spread(mask);
            let (p, zero) = (p.cast::<i32>(), _mm256_setzero_si256());
            [
                _mm256_mask_i32gather_epi32::<1>(zero, p, offsets[0], lanes[0]),
                _mm256_mask_i32gather_epi32::<1>(zero, p, offsets[1], lanes[1]),
            ]
        }
    }
    #[inline(always)]
    unsafe fn separate(a: Pair, b: Pair) -> (Pair, Pair) {
        // SAFETY: as above.
        unsafe { ([even(a[0], a[1]), even(b[0], b[1])], [odd(a[0], a[1]), odd(b[0], b[1])]) }
    }
    #[inline(always)]
    unsafe fn interleave(even: Pair, odd: Pair) -> (Pair, Pair) {
        // SAFETY: as above.
        unsafe { (interleave(even[0], odd[0]), interleave(even[1], odd[1])) }
    }
    #[inline(always)]
    unsafe fn every_second(p: *const u8) -> Pair {
        // SAFETY: as above; valid for 128 bytes.
        unsafe {
            let (a, b) = (Self::load(p), Self::load(p.add(64)));
            [evens(a[0], a[1]), evens(b[0], b[1])]
        }
    }
    #[inline(always)]
    unsafe fn every_fourth(p: *const u8) -> Pair {
        // SAFETY: as above; valid for 256 bytes.
        unsafe {
            let (a, b) = (Self::every_second(p), Self::every_second(p.add(128)));
            [evens(a[0], a[1]), evens(b[0], b[1])]
        }
    }
}

/// The even-numbered dwords of two registers.
#[inline(always)]
unsafe fn evens(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the callers have the instructions.
    unsafe {
        let halves = _mm256_shuffle_ps::<0x88>(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b));
        _mm256_permute4x64_epi64::<0xd8>(_mm256_castps_si256(halves))
    }
}

/// Correctly rounded `1 / sqrt(a)` of positive normal f32.
#[inline(always)]
unsafe fn rsqrt(a: __m256i) -> __m256i {
    // SAFETY: the callers have the instructions.
    unsafe {
        let x = _mm256_castsi256_ps(a);
        let y = _mm256_rsqrt_ps(x);
        let low = rsqrt_step(_mm256_castps256_ps128(x), _mm256_castps256_ps128(y));
        let high = rsqrt_step(_mm256_extractf128_ps::<1>(x), _mm256_extractf128_ps::<1>(y));
        _mm256_castps_si256(_mm256_set_m128(high, low))
    }
}

/// Improves `y`, which is `1 / sqrt(x)` with a relative error of at most 1.5 * 2^-12, and rounds it.
///
/// With `e = 1 - x y^2` the root is `y (1 + e/2 + 3/8 e^2 + ...)`: the first step leaves an error below 2^-32, the
/// second one below 2^-64 before roundings.
#[inline(always)]
unsafe fn rsqrt_step(x: __m128, y: __m128) -> __m128 {
    // SAFETY: the callers have the instructions.
    unsafe {
        let (one, half) = (_mm256_set1_pd(1.0), _mm256_set1_pd(0.5));
        let (x, y) = (_mm256_cvtps_pd(x), _mm256_cvtps_pd(y));
        let e = _mm256_fnmadd_pd(_mm256_mul_pd(x, y), y, one);
        let p = _mm256_fmadd_pd(e, _mm256_set1_pd(0.375), half);
        let y = _mm256_fmadd_pd(_mm256_mul_pd(y, e), p, y);
        let e = _mm256_fnmadd_pd(_mm256_mul_pd(x, y), y, one);
        _mm256_cvtpd_ps(_mm256_fmadd_pd(_mm256_mul_pd(y, e), half, y))
    }
}

#[inline(always)]
unsafe fn pick_bytes(a: __m256i, b: __m256i, pick: __m256i) -> __m256i {
    // SAFETY: the callers have the instructions.
    unsafe {
        let [o0, o1, o2, o3] = DWORD_BYTES;
        let index = _mm256_and_si256(pick, _mm256_set1_epi8(3));
        let index = _mm256_or_si256(index, _mm256_setr_epi32(o0, o1, o2, o3, o0, o1, o2, o3));
        // Bit 2 of a byte becomes its sign, which the blend tests.
        let from_a = _mm256_slli_epi16::<5>(pick);
        _mm256_blendv_epi8(_mm256_shuffle_epi8(b, index), _mm256_shuffle_epi8(a, index), from_a)
    }
}

#[inline(always)]
unsafe fn mul_hi_u(a: __m256i, b: __m256i) -> __m256i {
    // SAFETY: the callers have the instructions.
    unsafe {
        let even = _mm256_srli_epi64::<32>(_mm256_mul_epu32(a, b));
        let odd = _mm256_mul_epu32(_mm256_srli_epi64::<32>(a), _mm256_srli_epi64::<32>(b));
        _mm256_blend_epi32::<0xaa>(even, odd)
    }
}
