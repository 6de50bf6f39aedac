//! Conversions between floats, and between floats and integers.

use wavemill_ir::{CvtOp, FpEnv, Round};

use crate::dispatch::LaneFunction;
use crate::exceptions::{Exceptions, quietly, raise};
use crate::format::{Bf16, F16, F32, F64, Format};
use crate::nan;
use crate::value::{Exact, Number, Value, inf, keeping, nearest, round, round_to_unit};

/// A float of format `S` as one of format `D`, rounded once. An infinity stays one; a NaN is quieted and keeps the
/// top of its payload.
#[must_use]
pub fn convert<S: Format, D: Format>(bits: u64, env: FpEnv) -> u64 {
    match Value::unpack::<S>(bits, env) {
        Value::Nan => nan::convert::<S, D>(bits),
        Value::Inf { neg } => inf::<D>(neg),
        Value::Finite(n) => round::<D>(n.exact(), env),
    }
}

/// A signed integer as a float.
fn from_int<D: Format>(value: i64, env: FpEnv) -> u64 {
    round::<D>(Exact::from_u64(value < 0, value.unsigned_abs()), env)
}

/// A float as an integer: rounded by `mode`, saturated to `min..=max`, 0 for a NaN.
fn to_int<S: Format>(bits: u64, mode: Round, min: i64, max: i64, env: FpEnv) -> i64 {
    match Value::unpack::<S>(bits, env) {
        Value::Nan => {
            raise(Exceptions::INVALID);
            0
        }
        Value::Inf { neg } => {
            raise(Exceptions::INVALID);
            if neg { min } else { max }
        }
        Value::Finite(n) => to_integer(n, n.exact(), mode, min, max),
    }
}

/// An exact value rounded to an integer and saturated, and whether it is out of range.
fn saturated(v: Exact, mode: Round, min: i64, max: i64) -> (i64, bool) {
    let magnitude = i128::try_from(round_to_unit(v, 0, mode)).unwrap_or(i128::MAX);
    let value = if v.neg { -magnitude } else { magnitude };
    let clamped = value.clamp(i128::from(min), i128::from(max));
    (clamped as i64, clamped != value)
}

/// The integer that `n` is converted to, if `v`, which the conversion rounds, has that result. A
/// number out of range is invalid and nothing else; another one is inexact if it is no integer
/// (IEEE 754, 5.8 and 7.1).
fn to_integer(n: Number, v: Exact, mode: Round, min: i64, max: i64) -> i64 {
    let (value, out_of_range) = quietly(|| saturated(v, mode, min, max));
    if out_of_range {
        raise(Exceptions::INVALID);
    } else {
        round_to_unit(n.exact(), 0, Round::Zero);
    }
    value
}

/// A float in \[-1, 1\] (saturated) times `max`, rounded to the nearest even integer (*modelled*: the manual does not
/// name the rounding); `min` is `-max` for signed, 0 for unsigned normalised integers. 0 for a NaN, which is invalid.
/// Saturation is part of the meaning, so numbers outside raise nothing (*modelled*, facet `exceptions`).
fn to_norm<S: Format>(bits: u64, min: i64, max: i64, env: FpEnv) -> u64 {
    let value = match Value::unpack::<S>(bits, env) {
        Value::Nan => {
            raise(Exceptions::INVALID);
            0
        }
        Value::Inf { neg } => {
            if neg {
                min
            } else {
                max
            }
        }
        Value::Finite(n) => {
            let product = Exact::product(n, Number::from_u64(max as u64));
            let value = quietly(|| saturated(product, Round::NearestEven, min, max).0);
            // Away from zero: what is beyond the range stays beyond it.
            let away = if product.neg { Round::MinusInf } else { Round::PlusInf };
            let limit = if product.neg { -i128::from(min) } else { i128::from(max) };
            let magnitude = quietly(|| round_to_unit(product, 0, away));
            if i128::try_from(magnitude).is_ok_and(|magnitude| magnitude <= limit) {
                round_to_unit(product, 0, Round::NearestEven);
            }
            value
        }
    };
    value as u64 & 0xffff
}

/// Two 16-bit results in a dword.
fn pair(low: u64, high: u64) -> u64 {
    low & 0xffff | (high & 0xffff) << 16
}

fn low16(bits: u64) -> u64 {
    bits & 0xffff
}

fn low32(bits: u64) -> u64 {
    bits & 0xffff_ffff
}

/// `floor(x + 1/2)` as an i32, with the sum exact (*modelled*).
fn round_half_up(bits: u64, env: FpEnv) -> i64 {
    let (min, max) = (i64::from(i32::MIN), i64::from(i32::MAX));
    match Value::unpack::<F32>(bits, env) {
        Value::Finite(n) => {
            let half = Exact { neg: false, exp: -1, sig: 1 << 127, sticky: false };
            let sum = Exact::sum(n.exact(), half, Round::NearestEven);
            to_integer(n, sum, Round::MinusInf, min, max)
        }
        _ => to_int::<F32>(bits, Round::MinusInf, min, max, env),
    }
}

/// An f16 as it passes through an operation that only moves it: denormals flushed by the mode, NaNs quieted.
fn canonical_f16(bits: u64, env: FpEnv) -> u64 {
    convert::<F16, F16>(low16(bits), env)
}

/// Function that performs a conversion: sources and result as zero-extended bit patterns (source bits above the
/// operation's width are ignored), under the environment's rounding and flushing where the operation obeys them.
#[must_use]
pub fn convert_function(op: CvtOp) -> LaneFunction {
    const I16: (i64, i64) = (i16::MIN as i64, i16::MAX as i64);
    const U16: (i64, i64) = (0, u16::MAX as i64);
    const I32: (i64, i64) = (i32::MIN as i64, i32::MAX as i64);
    const U32: (i64, i64) = (0, u32::MAX as i64);
    /// Saturating conversion of the low bits of source 0 by the given rounding.
    macro_rules! int {
        ($format:ty, $mask:ident, $round:ident, $range:expr) => {
            |s, env| $mask(to_int::<$format>($mask(s[0]), Round::$round, $range.0, $range.1, env) as u64)
        };
    }
    /// Exact f32 of a byte of source 0.
    macro_rules! ubyte {
        ($shift:literal) => {
            |s, env| from_int::<F32>((s[0] >> $shift & 0xff) as i64, env)
        };
    }
    match op {
        CvtOp::F32I32 => |s, env| from_int::<F32>(i64::from(s[0] as i32), env),
        CvtOp::F32U32 => |s, env| from_int::<F32>(i64::from(s[0] as u32), env),
        CvtOp::F64I32 => |s, env| from_int::<F64>(i64::from(s[0] as i32), env),
        CvtOp::F64U32 => |s, env| from_int::<F64>(i64::from(s[0] as u32), env),
        CvtOp::F16I16 => |s, env| from_int::<F16>(i64::from(s[0] as i16), env),
        CvtOp::F16U16 => |s, env| from_int::<F16>(i64::from(s[0] as u16), env),
        CvtOp::I32F32 => int!(F32, low32, Zero, I32),
        CvtOp::U32F32 => int!(F32, low32, Zero, U32),
        CvtOp::FlrI32F32 => int!(F32, low32, MinusInf, I32),
        CvtOp::RpiI32F32 => |s, env| low32(round_half_up(low32(s[0]), env) as u64),
        CvtOp::I32F64 => |s, env| low32(to_int::<F64>(s[0], Round::Zero, I32.0, I32.1, env) as u64),
        CvtOp::U32F64 => |s, env| low32(to_int::<F64>(s[0], Round::Zero, U32.0, U32.1, env) as u64),
        CvtOp::I16F16 => int!(F16, low16, Zero, I16),
        CvtOp::U16F16 => int!(F16, low16, Zero, U16),
        // A multiple of 1/16 below 1/2 in size is exact.
        CvtOp::OffF32I4 => |s, env| {
            let nibble = i64::from(((s[0] as u8) << 4) as i8 >> 4);
            let v = Exact::from_u64(nibble < 0, nibble.unsigned_abs());
            round::<F32>(Exact { exp: v.exp - 4, ..v }, env)
        },
        CvtOp::F32Ubyte0 => ubyte!(0),
        CvtOp::F32Ubyte1 => ubyte!(8),
        CvtOp::F32Ubyte2 => ubyte!(16),
        CvtOp::F32Ubyte3 => ubyte!(24),
        CvtOp::F16F32 => |s, env| convert::<F32, F16>(low32(s[0]), env),
        CvtOp::F32F16 => |s, env| convert::<F16, F32>(low16(s[0]), env),
        CvtOp::F64F32 => |s, env| convert::<F32, F64>(low32(s[0]), env),
        CvtOp::F32F64 => |s, env| convert::<F64, F32>(s[0], env),
        CvtOp::F32Bf16 => |s, env| convert::<Bf16, F32>(low16(s[0]), keeping(env)),
        CvtOp::NormI16F16 => |s, env| to_norm::<F16>(low16(s[0]), -0x7fff, 0x7fff, env),
        CvtOp::NormU16F16 => |s, env| to_norm::<F16>(low16(s[0]), 0, 0xffff, env),
        CvtOp::PkNormI16F16 => |s, env| {
            let norm = |x| to_norm::<F16>(low16(x), -0x7fff, 0x7fff, env);
            pair(norm(s[0]), norm(s[1]))
        },
        CvtOp::PkNormU16F16 => |s, env| {
            let norm = |x| to_norm::<F16>(low16(x), 0, 0xffff, env);
            pair(norm(s[0]), norm(s[1]))
        },
        CvtOp::PkNormI16F32 => |s, env| {
            let norm = |x| to_norm::<F32>(low32(x), -0x7fff, 0x7fff, env);
            pair(norm(s[0]), norm(s[1]))
        },
        CvtOp::PkNormU16F32 => |s, env| {
            let norm = |x| to_norm::<F32>(low32(x), 0, 0xffff, env);
            pair(norm(s[0]), norm(s[1]))
        },
        CvtOp::PkRtzF16F32 => |s, env| {
            let env = FpEnv { round: Round::Zero, ..env };
            pair(convert::<F32, F16>(low32(s[0]), env), convert::<F32, F16>(low32(s[1]), env))
        },
        CvtOp::PkF16F32 => |s, env| {
            let env = nearest(env);
            pair(convert::<F32, F16>(low32(s[0]), env), convert::<F32, F16>(low32(s[1]), env))
        },
        CvtOp::PkBf16F32 => |s, env| {
            let env = nearest(env);
            pair(convert::<F32, Bf16>(low32(s[0]), env), convert::<F32, Bf16>(low32(s[1]), env))
        },
        CvtOp::PkU16U32 => |s, _| pair(low32(s[0]).min(0xffff), low32(s[1]).min(0xffff)),
        CvtOp::PkI16I32 => |s, _| {
            let saturate = |x: u64| (x as i32).clamp(i16::MIN.into(), i16::MAX.into()) as u64;
            pair(saturate(s[0]), saturate(s[1]))
        },
        // Rounding by the mode is *modelled*; the manual does not name it.
        CvtOp::PkU8F32 => |s, env| {
            let byte = to_int::<F32>(low32(s[0]), env.round, 0, 0xff, env) as u64;
            let shift = 8 * (s[1] & 3);
            low32(s[2]) & !(0xff << shift) | byte << shift
        },
        CvtOp::PackF16 => |s, env| pair(canonical_f16(s[0], env), canonical_f16(s[1], env)),
    }
}

/// Performs one conversion; see [`convert_function`].
#[must_use]
pub fn cvt(op: CvtOp, sources: [u64; 3], env: FpEnv) -> u64 {
    convert_function(op)(sources, env)
}
