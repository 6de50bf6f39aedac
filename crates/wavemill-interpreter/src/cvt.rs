//! Conversions on the host's vector arithmetic.
//!
//! Rust's `as` does the same as the hardware. Towards floats it rounds to nearest even. Towards
//! integers it truncates and saturates, and a NaN gives 0.

use wavemill_ir::{CvtOp, FpEnv, Round};

use super::Tier;
use super::float::{Check, Fast, MixedFn, SingleFn, fast_mixed, fast_single};
use super::simd::Simd;

/// Declares conversions between values of one cell.
macro_rules! narrow_fns {
    ($($name:ident $check:ident |$a:ident| $code:expr;)*) => {$(
        struct $name;
        impl SingleFn for $name {
            const SOURCES: usize = 1;
            const CHECK: Check = Check::$check;
            #[inline(always)]
            #[allow(unused_unsafe, reason = "not every conversion is unsafe")]
            unsafe fn apply<S: Simd>($a: S::V, _: S::V, _: S::V) -> S::V {
                // SAFETY: the contract of `Simd`.
                unsafe { $code }
            }
        }
    )*};
}

#[inline(always)]
fn f32_bits(x: u32) -> f32 {
    f32::from_bits(x)
}

narrow_fns! {
    F32I32 Nothing |a| S::cvt_f32_i32(a);
    F32U32 Nothing |a| S::map1(a, |a| (a as f32).to_bits());
    I32F32 Nothing |a| S::map1(a, |a| f32_bits(a) as i32 as u32);
    U32F32 Nothing |a| S::map1(a, |a| f32_bits(a) as u32);
    FlrI32F32 Nothing |a| S::map1(a, |a| f32_bits(a).floor() as i32 as u32);
    F32Ubyte0 Nothing |a| S::cvt_f32_i32(S::and(a, S::splat(0xff)));
    F32Ubyte1 Nothing |a| S::cvt_f32_i32(S::and(S::shr(a, S::splat(8)), S::splat(0xff)));
    F32Ubyte2 Nothing |a| S::cvt_f32_i32(S::and(S::shr(a, S::splat(16)), S::splat(0xff)));
    F32Ubyte3 Nothing |a| S::cvt_f32_i32(S::shr(a, S::splat(24)));
    F32F16 Nothing |a| S::widen_half(a);
    F16F32 Nothing |a| S::narrow_to_half(a);
}

/// [`CvtOp::PackF16`].
struct PackF16;

impl SingleFn for PackF16 {
    const SOURCES: usize = 2;
    const CHECK: Check = Check::Nothing;
    #[inline(always)]
    unsafe fn apply<S: Simd>(low: S::V, high: S::V, _: S::V) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe { S::or(quiet_half::<S>(low), S::shl(quiet_half::<S>(high), S::splat(16))) }
    }
}

/// [`CvtOp::PkF16F32`].
struct PkF16F32;

impl SingleFn for PkF16F32 {
    const SOURCES: usize = 2;
    const CHECK: Check = Check::Nothing;
    #[inline(always)]
    unsafe fn apply<S: Simd>(low: S::V, high: S::V, _: S::V) -> S::V {
        // SAFETY: the contract of `Simd`.
        unsafe { S::or(S::narrow_to_half(low), S::shl(S::narrow_to_half(high), S::splat(16))) }
    }
}

/// The f16 in the lower half, quiet if it is a NaN.
#[inline(always)]
unsafe fn quiet_half<S: Simd>(a: S::V) -> S::V {
    // SAFETY: the contract of `Simd`.
    unsafe {
        let half = S::and(a, S::splat(0xffff));
        let nan = S::lt_u(S::splat(0x7c00), S::and(half, S::splat(0x7fff)));
        S::select(nan, S::or(half, S::splat(0x200)), half)
    }
}

/// Declares conversions to or from values of two cells: cells of the source and of the result.
macro_rules! wide_fns {
    ($($name:ident $from:literal $to:literal |$a:ident| $code:expr, suspect |$r:ident| $suspect:expr;)*) => {$(
        struct $name;
        impl MixedFn for $name {
            const SOURCES: usize = 1;
            const WIDE: [bool; 3] = [$from == 2; 3];
            const WIDE_RESULT: bool = $to == 2;
            #[inline(always)]
            fn apply($a: u64, _: u64, _: u64) -> u64 {
                $code
            }
            #[inline(always)]
            fn suspect(_: u64, _: u64, _: u64, $r: u64) -> bool {
                $suspect
            }
        }
    )*};
}

wide_fns! {
    F64F32 1 2 |a| f64::from(f32_bits(a as u32)).to_bits(), suspect |r| f64::from_bits(r).is_nan();
    F32F64 2 1 |a| u64::from((f64::from_bits(a) as f32).to_bits()), suspect |r| f32_bits(r as u32).is_nan();
    F64I32 1 2 |a| f64::from(a as u32 as i32).to_bits(), suspect |_r| false;
    F64U32 1 2 |a| f64::from(a as u32).to_bits(), suspect |_r| false;
    I32F64 2 1 |a| u64::from(f64::from_bits(a) as i32 as u32), suspect |_r| false;
    U32F64 2 1 |a| u64::from(f64::from_bits(a) as u32), suspect |_r| false;
}

/// The fast handlers of a conversion, if there are any for the environment.
pub(super) fn fast(op: CvtOp, env: FpEnv, tier: Tier) -> Option<Fast> {
    let keeps = env.denorm_in && env.denorm_out;
    let nearest = env.round == Round::NearestEven;
    Some(match op {
        // Exact, and independent of denormals.
        CvtOp::F32Ubyte0 => fast_single::<F32Ubyte0>(tier),
        CvtOp::F32Ubyte1 => fast_single::<F32Ubyte1>(tier),
        CvtOp::F32Ubyte2 => fast_single::<F32Ubyte2>(tier),
        CvtOp::F32Ubyte3 => fast_single::<F32Ubyte3>(tier),
        CvtOp::F64I32 => fast_mixed::<F64I32>(tier),
        CvtOp::F64U32 => fast_mixed::<F64U32>(tier),
        CvtOp::I32F32 => fast_single::<I32F32>(tier),
        CvtOp::U32F32 => fast_single::<U32F32>(tier),
        CvtOp::I32F64 => fast_mixed::<I32F64>(tier),
        CvtOp::U32F64 => fast_mixed::<U32F64>(tier),
        // Rounded, but never denormal.
        CvtOp::F32I32 if nearest => fast_single::<F32I32>(tier),
        CvtOp::F32U32 if nearest => fast_single::<F32U32>(tier),
        // Exact.
        CvtOp::FlrI32F32 if keeps => fast_single::<FlrI32F32>(tier),
        CvtOp::F64F32 if keeps => fast_mixed::<F64F32>(tier),
        CvtOp::F32F16 if keeps => Fast { run_mods: None, ..fast_single::<F32F16>(tier) },
        CvtOp::PackF16 if keeps => Fast { run_mods: None, ..fast_single::<PackF16>(tier) },
        CvtOp::PkF16F32 if keeps && !env.fp16_ovfl => fast_single::<PkF16F32>(tier),
        CvtOp::F16F32 if keeps && nearest && !env.fp16_ovfl => fast_single::<F16F32>(tier),
        CvtOp::F32F64 if keeps && nearest => fast_mixed::<F32F64>(tier),
        _ => return None,
    })
}
