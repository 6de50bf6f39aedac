//! AVX-512: a chunk is one register, masks are mask registers.

use std::arch::x86_64::*;

use super::{DWORD_BYTES, Lanes, Simd};
use wavemill_machine::raw;

/// AVX-512 F, BW, DQ, VL and CD.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Avx512;

macro_rules! binary {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: __m512i, b: __m512i) -> __m512i {
            // SAFETY: the trait's contract: the host has the instructions.
            unsafe { $intrinsic(a, b) }
        }
    )*};
}
macro_rules! float_binary {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: __m512i, b: __m512i) -> __m512i {
            // SAFETY: as above.
            unsafe { _mm512_castps_si512($intrinsic(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))) }
        }
    )*};
}
macro_rules! compare {
    ($($name:ident = $intrinsic:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: __m512i, b: __m512i) -> u32 {
            // SAFETY: as above.
            unsafe { u32::from($intrinsic(a, b)) }
        }
    )*};
}
macro_rules! float_compare {
    ($($name:ident = $predicate:ident;)*) => {$(
        #[inline(always)]
        unsafe fn $name(a: __m512i, b: __m512i) -> u32 {
            // SAFETY: as above.
            unsafe { u32::from(_mm512_cmp_ps_mask::<$predicate>(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b))) }
        }
    )*};
}

impl Simd for Avx512 {
    type V = __m512i;

    #[inline(always)]
    unsafe fn load(p: *const u8) -> __m512i {
        // SAFETY: as above; valid for 64 bytes.
        unsafe { _mm512_loadu_si512(p as *const __m512i) }
    }
    #[inline(always)]
    unsafe fn store(p: *mut u8, v: __m512i) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(p as *mut __m512i, v) }
    }
    #[inline(always)]
    unsafe fn store_masked(p: *mut u8, mask: u32, v: __m512i) {
        // SAFETY: as above; rows are aligned. Loading, blending and storing whole registers
        // forwards to the next load; a masked store, which the compiler would generate from a plain
        // load, does not.
        unsafe { Self::store(p, Self::select(mask, v, (p as *const __m512i).read_volatile())) }
    }
    #[inline(always)]
    unsafe fn load_guest(p: *const u8) -> __m512i {
        // SAFETY: as above; valid for 64 bytes.
        unsafe { raw::avx512::load_chunk(p) }
    }
    #[inline(always)]
    unsafe fn store_guest(p: *mut u8, v: __m512i) {
        // SAFETY: as above; valid for 64 bytes.
        unsafe { raw::avx512::store_chunk(p, v) }
    }
    #[inline(always)]
    unsafe fn store_active(p: *mut u8, mask: u32, v: __m512i) {
        // SAFETY: as above.
        unsafe { raw::avx512::store_active(p, mask as u16, v) }
    }
    const GATHERS: bool = true;
    #[inline(always)]
    unsafe fn gather_guest(p: *const u8, offsets: __m512i, mask: u32) -> __m512i {
        // SAFETY: as above; the lanes in the mask are valid.
        unsafe { raw::avx512::gather(p, offsets, mask as u16) }
    }
    #[inline(always)]
    unsafe fn splat(x: u32) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_set1_epi32(x as i32) }
    }
    #[inline(always)]
    unsafe fn to_lanes(v: __m512i) -> Lanes {
        // SAFETY: same size, any bits are valid.
        unsafe { std::mem::transmute(v) }
    }
    #[inline(always)]
    unsafe fn from_lanes(v: Lanes) -> __m512i {
        // SAFETY: same size, any bits are valid.
        unsafe { std::mem::transmute(v) }
    }
    #[inline(always)]
    unsafe fn select(mask: u32, a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_mask_mov_epi32(b, mask as u16, a) }
    }
    binary! {
        and = _mm512_and_si512;
        or = _mm512_or_si512;
        xor = _mm512_xor_si512;
        and_not = _mm512_andnot_si512;
        add = _mm512_add_epi32;
        sub = _mm512_sub_epi32;
        mul_lo = _mm512_mullo_epi32;
        shl = _mm512_sllv_epi32;
        shr = _mm512_srlv_epi32;
        ror = _mm512_rorv_epi32;
        sar = _mm512_srav_epi32;
        min_i = _mm512_min_epi32;
        max_i = _mm512_max_epi32;
        min_u = _mm512_min_epu32;
        max_u = _mm512_max_epu32;
    }
    compare! {
        eq = _mm512_cmpeq_epi32_mask;
        lt_i = _mm512_cmplt_epi32_mask;
        lt_u = _mm512_cmplt_epu32_mask;
    }
    float_binary! {
        fadd = _mm512_add_ps;
        fsub = _mm512_sub_ps;
        fmul = _mm512_mul_ps;
        fdiv = _mm512_div_ps;
        fmin = _mm512_min_ps;
        fmax = _mm512_max_ps;
    }
    #[inline(always)]
    unsafe fn fma(a: __m512i, b: __m512i, c: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            _mm512_castps_si512(_mm512_fmadd_ps(
                _mm512_castsi512_ps(a),
                _mm512_castsi512_ps(b),
                _mm512_castsi512_ps(c),
            ))
        }
    }
    float_compare! {
        feq = _CMP_EQ_OQ;
        flt = _CMP_LT_OQ;
        fle = _CMP_LE_OQ;
        unordered = _CMP_UNORD_Q;
    }
    #[inline(always)]
    unsafe fn cvt_f32_i32(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_castps_si512(_mm512_cvtepi32_ps(a)) }
    }
    #[inline(always)]
    unsafe fn widen_half(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(a))) }
    }
    #[inline(always)]
    unsafe fn narrow_to_half(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            let halves = _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(_mm512_castsi512_ps(a));
            _mm512_cvtepu16_epi32(halves)
        }
    }
    #[inline(always)]
    unsafe fn matrix_sum(sums: [__m512i; 2], exponents: [__m512i; 2], c: __m512i, halves: bool) -> __m512i {
        // SAFETY: as above.
        unsafe { matrix_sum(sums, exponents, c, halves) }
    }
    #[inline(always)]
    unsafe fn truncate(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_cvttps_epi32(_mm512_castsi512_ps(a)) }
    }
    #[inline(always)]
    unsafe fn fsqrt(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe { _mm512_castps_si512(_mm512_sqrt_ps(_mm512_castsi512_ps(a))) }
    }
    #[inline(always)]
    unsafe fn frsqrt(a: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            let x = _mm512_castsi512_ps(a);
            let y = _mm512_rsqrt14_ps(x);
            let low = rsqrt_step(_mm512_castps512_ps256(x), _mm512_castps512_ps256(y));
            let high = rsqrt_step(_mm512_extractf32x8_ps::<1>(x), _mm512_extractf32x8_ps::<1>(y));
            _mm512_castps_si512(_mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high))
        }
    }
    #[inline(always)]
    unsafe fn mul_hi_u(a: __m512i, b: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            let even = _mm512_srli_epi64::<32>(_mm512_mul_epu32(a, b));
            let odd = _mm512_mul_epu32(_mm512_srli_epi64::<32>(a), _mm512_srli_epi64::<32>(b));
            _mm512_mask_mov_epi32(even, 0xaaaa, odd)
        }
    }
    #[inline(always)]
    unsafe fn ldexp(a: __m512i, n: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            // Beyond these bounds every number overflows or vanishes; within them the conversion is
            // exact.
            let n = _mm512_max_epi32(_mm512_min_epi32(n, _mm512_set1_epi32(300)), _mm512_set1_epi32(-300));
            _mm512_castps_si512(_mm512_scalef_ps(_mm512_castsi512_ps(a), _mm512_cvtepi32_ps(n)))
        }
    }
    #[inline(always)]
    unsafe fn pick_bytes(a: __m512i, b: __m512i, pick: __m512i) -> __m512i {
        // SAFETY: as above.
        unsafe {
            let [o0, o1, o2, o3] = DWORD_BYTES;
            let index = _mm512_and_si512(pick, _mm512_set1_epi8(3));
            let index = _mm512_or_si512(index, _mm512_broadcast_i32x4(_mm_setr_epi32(o0, o1, o2, o3)));
            let from_a = _mm512_test_epi8_mask(pick, _mm512_set1_epi8(4));
            _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(b, index), from_a, a, index)
        }
    }
    #[inline(always)]
    unsafe fn gather(p: *const u8, offsets: __m512i, mask: u32) -> __m512i {
        // SAFETY: as above; the lanes in the mask are valid.
        unsafe {
            _mm512_mask_i32gather_epi32::<1>(_mm512_setzero_si512(), mask as u16, offsets, p.cast::<i32>())
        }
    }
    #[inline(always)]
    unsafe fn separate(a: __m512i, b: __m512i) -> (__m512i, __m512i) {
        // SAFETY: as above.
        unsafe {
            let even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            let odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
            (_mm512_permutex2var_epi32(a, even, b), _mm512_permutex2var_epi32(a, odd, b))
        }
    }
    #[inline(always)]
    unsafe fn interleave(even: __m512i, odd: __m512i) -> (__m512i, __m512i) {
        // SAFETY: as above.
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
            (_mm512_permutex2var_epi32(even, low, odd), _mm512_permutex2var_epi32(even, high, odd))
        }
    }
    #[inline(always)]
    unsafe fn every_second(p: *const u8) -> __m512i {
        // SAFETY: as above; valid for 128 bytes.
        unsafe {
            let pick = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
            _mm512_permutex2var_epi32(Self::load(p), pick, Self::load(p.add(64)))
        }
    }
    #[inline(always)]
    unsafe fn every_fourth(p: *const u8) -> __m512i {
        // SAFETY: as above; valid for 256 bytes.
        unsafe {
            let pick = _mm512_set_epi32(28, 24, 20, 16, 12, 8, 4, 0, 28, 24, 20, 16, 12, 8, 4, 0);
            let low = _mm512_permutex2var_epi32(Self::load(p), pick, Self::load(p.add(64)));
            let high = _mm512_permutex2var_epi32(Self::load(p.add(128)), pick, Self::load(p.add(192)));
            _mm512_mask_mov_epi32(low, 0xff00, high)
        }
    }
}

/// Improves `y`, which is `1 / sqrt(x)` with a relative error of at most 2^-14, and rounds it.
///
/// With `e = 1 - x y^2`, at most 2^-13 in size and exact except for one rounding, the root is
/// `y (1 + e/2 + 3/8 e^2 + 5/16 e^3 + ...)`; the first omitted term is below 2^-53.
#[inline(always)]
unsafe fn rsqrt_step(x: __m256, y: __m256) -> __m256 {
    // SAFETY: the callers have the instructions.
    unsafe {
        let (x, y) = (_mm512_cvtps_pd(x), _mm512_cvtps_pd(y));
        let e = _mm512_fnmadd_pd(_mm512_mul_pd(x, y), y, _mm512_set1_pd(1.0));
        let p = _mm512_fmadd_pd(e, _mm512_set1_pd(0.3125), _mm512_set1_pd(0.375));
        let p = _mm512_fmadd_pd(e, p, _mm512_set1_pd(0.5));
        _mm512_cvtpd_ps(_mm512_fmadd_pd(_mm512_mul_pd(y, e), p, y))
    }
}

/// `x * 2^-n`, rounded down, for lanes of 32 bits.
#[inline(always)]
unsafe fn down(x: __m512i, n: __m512i) -> __m512i {
    // SAFETY: as above.
    unsafe { _mm512_srav_epi32(x, _mm512_min_epi32(n, _mm512_set1_epi32(31))) }
}

/// [`Simd::matrix_sum`], in integers of 64 bits.
#[inline(always)]
unsafe fn matrix_sum(sums: [__m512i; 2], exponents: [__m512i; 2], c: __m512i, halves: bool) -> __m512i {
    // SAFETY: as above.
    unsafe {
        let (dot, exp_dot) = if halves {
            let exp = _mm512_max_epi32(exponents[0], exponents[1]);
            let even = down(sums[0], _mm512_sub_epi32(exp, exponents[0]));
            let odd = down(sums[1], _mm512_sub_epi32(exp, exponents[1]));
            (_mm512_add_epi32(even, odd), exp)
        } else {
            (sums[0], exponents[0])
        };
        // The addend: exponent and signed significand.
        let zero = _mm512_setzero_si512();
        let field = _mm512_and_si512(_mm512_srli_epi32(c, 23), _mm512_set1_epi32(0xff));
        let is_normal = _mm512_test_epi32_mask(field, field);
        let significand = _mm512_and_si512(c, _mm512_set1_epi32(0x7f_ffff));
        let hidden = _mm512_set1_epi32(0x80_0000);
        let significand = _mm512_mask_or_epi32(significand, is_normal, significand, hidden);
        let signed = _mm512_mask_sub_epi32(significand, _mm512_movepi32_mask(c), zero, significand);
        let exp_c = _mm512_sub_epi32(_mm512_max_epi32(field, _mm512_set1_epi32(1)), _mm512_set1_epi32(127));
        let exp = _mm512_max_epi32(exp_dot, exp_c);
        let below = _mm512_sub_epi32(exp, exp_c);
        let mut addend = down(_mm512_add_epi32(signed, signed), below);
        if halves {
            let kept = _mm512_cmple_epi32_mask(below, _mm512_set1_epi32(25));
            addend = _mm512_maskz_mov_epi32(kept, addend);
        }
        let dot_down = _mm512_min_epi32(_mm512_sub_epi32(exp, exp_dot), _mm512_set1_epi32(63));
        let least = _mm512_max_epi32(_mm512_sub_epi32(_mm512_set1_epi32(-125), exp), zero);
        let scale = _mm512_slli_epi32(_mm512_add_epi32(exp, _mm512_set1_epi32(1023 - 32)), 20);
        let low = rounded_sum(
            _mm512_castsi512_si256(dot),
            _mm512_castsi512_si256(dot_down),
            _mm512_castsi512_si256(addend),
            _mm512_castsi512_si256(least),
            _mm512_castsi512_si256(scale),
        );
        let high = rounded_sum(
            _mm512_extracti64x4_epi64(dot, 1),
            _mm512_extracti64x4_epi64(dot_down, 1),
            _mm512_extracti64x4_epi64(addend, 1),
            _mm512_extracti64x4_epi64(least, 1),
            _mm512_extracti64x4_epi64(scale, 1),
        );
        _mm512_castps_si512(_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1))
    }
}

/// Eight lanes of a sum: `dot * 2^8`, shifted down, plus `addend * 2^8`, cut at 31 bits below its
/// leading one or at bit `least`, rounded to f32 after multiplication by the f64 with the high
/// dword `scale`.
#[inline(always)]
unsafe fn rounded_sum(
    dot: __m256i,
    dot_down: __m256i,
    addend: __m256i,
    least: __m256i,
    scale: __m256i,
) -> __m256 {
    // SAFETY: as above.
    unsafe {
        let dot = _mm512_slli_epi64(_mm512_cvtepi32_epi64(dot), 8);
        let dot = _mm512_srav_epi64(dot, _mm512_cvtepi32_epi64(dot_down));
        let total = _mm512_add_epi64(dot, _mm512_slli_epi64(_mm512_cvtepi32_epi64(addend), 8));
        let zeros = _mm512_lzcnt_epi64(_mm512_abs_epi64(total));
        let over = _mm512_sub_epi64(_mm512_set1_epi64(32), zeros);
        let over = _mm512_max_epi64(over, _mm512_cvtepi32_epi64(least));
        let kept = _mm512_sllv_epi64(_mm512_srav_epi64(total, over), over);
        let scale = _mm512_castsi512_pd(_mm512_slli_epi64(_mm512_cvtepi32_epi64(scale), 32));
        _mm512_cvtpd_ps(_mm512_mul_pd(_mm512_cvtepi64_pd(kept), scale))
    }
}
