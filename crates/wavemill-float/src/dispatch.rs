//! From operations of the wave IR to functions.

use wavemill_ir::{FloatOp, FloatType, FpEnv};

use crate::exceptions::{Exceptions, quietly, raise, watched};
use crate::format::{F16, F32, F64, Format};
use crate::value::{flush_in, flush_out};
use crate::{arith, cube, division, elementary, integral, minmax, mixed, special, trig_preop};

/// A scalar operation: up to three sources and the result as bit patterns in the low bits of a `u64`. Source bits
/// above the operation's width are ignored, result bits above it are zero, sources beyond its arity do not matter.
pub type LaneFunction = fn([u64; 3], FpEnv) -> u64;

/// Applies an f16 operation to both halves of dwords.
#[inline]
fn on_halves(f: LaneFunction, s: [u64; 3], env: FpEnv) -> u64 {
    let half = |shift: u32| f(s.map(|x| x >> shift & 0xffff), env) & 0xffff;
    half(0) | half(16) << 16
}

/// Applies an f32 operation to both dwords of 64-bit values.
#[inline]
fn on_dwords(f: LaneFunction, s: [u64; 3], env: FpEnv) -> u64 {
    let half = |shift: u32| f(s.map(|x| x >> shift & 0xffff_ffff), env) & 0xffff_ffff;
    half(0) | half(32) << 32
}

/// The result of a function that hardware approximates: it does not raise "inexact" (*modelled*).
fn approximate(f: impl FnOnce() -> u64) -> u64 {
    let (result, raised) = watched(f);
    raise(raised.without(Exceptions::INEXACT));
    result
}

/// Reciprocal of any format, in the mode that the format's instruction works in.
fn rcp<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    approximate(|| arith::rcp::<F>(s, elementary::reciprocal_env::<F>(env)))
}

/// Square root of any format, as [`rcp`].
fn sqrt<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    approximate(|| arith::sqrt::<F>(s, elementary::reciprocal_env::<F>(env)))
}

/// Reciprocal square root of any format, as [`rcp`].
fn rsq<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    approximate(|| arith::rsq::<F>(s, elementary::reciprocal_env::<F>(env)))
}

/// [`rcp`], but raising only an integer division by zero.
fn rcp_iflag<F: Format>(s: [u64; 3], env: FpEnv) -> u64 {
    let (result, raised) = watched(|| match F::BITS {
        32 => exceptional(s[0], elementary::rcp_f32),
        _ => rcp::<F>(s, env),
    });
    if raised.contains(Exceptions::DIVIDE_BY_ZERO) {
        raise(Exceptions::INTEGER_DIVIDE_BY_ZERO);
    }
    result
}

/// An f32 function of the module `elementary`, with the exceptions that its result shows: a new NaN is an invalid
/// operation, a new infinity from zero (denormals are flushed) a division by zero.
fn exceptional(source: u64, f: impl Fn(u32) -> u32) -> u64 {
    let result = u64::from(f(source as u32));
    crate::nan::signal::<F32>(&[source]);
    if F32::is_nan(result) && !F32::is_nan(source) {
        raise(Exceptions::INVALID);
    }
    if F32::is_inf(result) && F32::exp_field(source) == 0 {
        raise(Exceptions::DIVIDE_BY_ZERO);
    }
    result
}

/// A sine or cosine of f32, which obeys the denormal field of MODE. Denormals raise nothing
/// (facet `approximate_exceptions`).
fn angle(source: u64, f: impl Fn(u32) -> u32, env: FpEnv) -> u64 {
    let source = quietly(|| flush_in::<F32>(source, env));
    let result = exceptional(source, f);
    quietly(|| flush_out::<F32>(result, env))
}

/// The function that performs a float operation on a type, or `None` if there is no such operation, or if it is one
/// that has a function of its own: [`div_scale`](crate::div_scale), [`div_fmas`](crate::div_fmas),
/// [`fma_mix_f32`](crate::fma_mix_f32) and [`fma_mix_f16`](crate::fma_mix_f16).
///
/// Look it up once and call it for each lane. Apply source modifiers before the call and
/// [`apply_output`](crate::apply_output) after it.
#[must_use]
pub fn float_function(op: FloatOp, ty: FloatType) -> Option<LaneFunction> {
    /// From functions for the three scalar types (or `none`).
    macro_rules! by_type {
        ($f16:expr, $f32:expr, none) => {
            match ty {
                FloatType::F64 => None,
                _ => by_type!($f16, $f32, arith::add::<F64>),
            }
        };
        ($f16:expr, $f32:expr, $f64:expr) => {
            match ty {
                FloatType::F16 => Some((|s, env| $f16(s.map(|x| x & 0xffff), env)) as LaneFunction),
                FloatType::F32 => Some((|s, env| $f32(s.map(|x| x & 0xffff_ffff), env)) as LaneFunction),
                FloatType::F64 => Some($f64 as LaneFunction),
                FloatType::PkF16 => Some((|s, env| on_halves($f16, s, env)) as LaneFunction),
                FloatType::PkF32 => Some((|s, env| on_dwords($f32, s, env)) as LaneFunction),
            }
        };
    }
    /// From a function that is generic over the format.
    macro_rules! generic {
        ($($f:ident)::+) => {
            by_type!($($f)::+::<F16>, $($f)::+::<F32>, $($f)::+::<F64>)
        };
    }
    /// f32 only.
    macro_rules! single {
        ($f:expr) => {
            (ty == FloatType::F32).then_some((|s, env| $f(s.map(|x| x & 0xffff_ffff), env)) as LaneFunction)
        };
    }
    /// f32 only, with an f64 among the operands.
    macro_rules! with_double {
        ($f:expr) => {
            (ty == FloatType::F32).then_some($f as LaneFunction)
        };
    }
    match op {
        FloatOp::Add => generic!(arith::add),
        FloatOp::Sub => generic!(arith::sub),
        FloatOp::Mul => generic!(arith::mul),
        FloatOp::MulLegacy => generic!(arith::mul_legacy),
        FloatOp::Fma => generic!(arith::fma),
        FloatOp::Mad => generic!(arith::mad),
        FloatOp::MadLegacy => generic!(arith::mad_legacy),
        FloatOp::MulAdd => generic!(arith::mul_add),
        FloatOp::MulAddLegacy => generic!(arith::mul_add_legacy),
        FloatOp::MulAddWide => with_double!(mixed::mul_add_wide),
        FloatOp::MulAddWideLegacy => with_double!(mixed::mul_add_wide_legacy),
        FloatOp::MulAddNarrow => with_double!(mixed::mul_add_narrow),
        FloatOp::MulAddNarrowLegacy => with_double!(mixed::mul_add_narrow_legacy),
        FloatOp::MinSelect => generic!(minmax::min_select),
        FloatOp::MaxSelect => generic!(minmax::max_select),
        FloatOp::MinNumber => generic!(minmax::min_number),
        FloatOp::MaxNumber => generic!(minmax::max_number),
        FloatOp::InfinityToMax => generic!(special::infinity_to_max),
        FloatOp::InfinityToZero => generic!(special::infinity_to_zero),
        FloatOp::NanToInfinity => generic!(special::nan_to_infinity),
        FloatOp::Min => generic!(minmax::min),
        FloatOp::Max => generic!(minmax::max),
        FloatOp::Min3 => generic!(minmax::min3),
        FloatOp::Max3 => generic!(minmax::max3),
        FloatOp::Med3 => generic!(minmax::med3),
        FloatOp::Minimum3 => generic!(minmax::minimum3),
        FloatOp::Maximum3 => generic!(minmax::maximum3),
        // The f32 functions are those that the engines use.
        FloatOp::Rcp => {
            by_type!(rcp::<F16>, |s: [u64; 3], _| exceptional(s[0], elementary::rcp_f32), rcp::<F64>)
        }
        FloatOp::RcpIflag => by_type!(rcp_iflag::<F16>, rcp_iflag::<F32>, rcp_iflag::<F64>),
        FloatOp::Rsq => {
            by_type!(rsq::<F16>, |s: [u64; 3], _| exceptional(s[0], elementary::rsq_f32), rsq::<F64>)
        }
        FloatOp::Sqrt => {
            by_type!(sqrt::<F16>, |s: [u64; 3], _| exceptional(s[0], elementary::sqrt_f32), sqrt::<F64>)
        }
        FloatOp::Exp2 => {
            by_type!(elementary::exp2_f16, |s: [u64; 3], _| exceptional(s[0], elementary::exp2_f32), none)
        }
        FloatOp::Log2 => {
            by_type!(elementary::log2_f16, |s: [u64; 3], _| exceptional(s[0], elementary::log2_f32), none)
        }
        FloatOp::Sin => {
            by_type!(elementary::sin_f16, |s: [u64; 3], env| angle(s[0], elementary::sin_f32, env), none)
        }
        FloatOp::Cos => {
            by_type!(elementary::cos_f16, |s: [u64; 3], env| angle(s[0], elementary::cos_f32, env), none)
        }
        FloatOp::Fract => generic!(integral::fract),
        FloatOp::Trunc => generic!(integral::trunc),
        FloatOp::Ceil => generic!(integral::ceil),
        FloatOp::Floor => generic!(integral::floor),
        FloatOp::RoundEven => generic!(integral::round_even),
        FloatOp::FrexpExp => generic!(integral::frexp_exp),
        FloatOp::FrexpMant => generic!(integral::frexp_mant),
        FloatOp::Ldexp => generic!(integral::ldexp),
        FloatOp::DivFixup => generic!(division::div_fixup),
        FloatOp::TrigPreop => (ty == FloatType::F64).then_some(trig_preop::trig_preop as LaneFunction),
        FloatOp::CubeId => single!(cube::id),
        FloatOp::CubeSc => single!(cube::sc),
        FloatOp::CubeTc => single!(cube::tc),
        FloatOp::CubeMa => single!(cube::ma),
        FloatOp::Dot2F16 => single!(mixed::dot2_f16),
        FloatOp::Dot2Bf16 => single!(mixed::dot2_bf16),
        FloatOp::Dot2cBf16 => single!(mixed::dot2c_bf16),
        FloatOp::DivScale | FloatOp::DivFmas | FloatOp::FmaMix => None,
    }
}

/// Performs one float operation; see [`float_function`].
#[must_use]
pub fn float_op(op: FloatOp, ty: FloatType, sources: [u64; 3], env: FpEnv) -> Option<u64> {
    float_function(op, ty).map(|kernel| kernel(sources, env))
}
