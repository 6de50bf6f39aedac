//! AVX-512: a chunk is one register, masks are mask registers.

use std::arch::x86_64::*;

use super::{Lanes, Simd, Tier};

/// AVX-512 F, BW, DQ, VL and CD.
#[derive(Clone, Copy, Debug)]
pub(in crate::interp) struct Avx512;

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
    const TIER: Tier = Tier::Avx512;
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
        // SAFETY: as above; rows are aligned. Loading, blending and storing whole registers forwards to the next load;
        // a masked store, which the compiler would make of a plain load, does not.
        unsafe { Self::store(p, Self::select(mask, v, (p as *const __m512i).read_volatile())) }
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
}
