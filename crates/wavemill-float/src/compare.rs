//! Comparison and classification.

use std::cmp::Ordering;

use wavemill_ir::{CmpPred, FloatType, FpEnv};

use crate::format::{F16, F32, F64, Format};
use crate::value::flush_in;

/// How two patterns compare as numbers; `None` if one is NaN. Zeros are equal.
#[inline]
pub(crate) fn order<F: Format>(a: u64, b: u64) -> Option<Ordering> {
    if F::is_nan(a) || F::is_nan(b) {
        return None;
    }
    // Sign and magnitude to two's complement; both zeros become 0.
    let key = |x: u64| {
        let magnitude = (x & F::MAGNITUDE) as i64;
        if x & F::SIGN != 0 { -magnitude } else { magnitude }
    };
    Some(key(a).cmp(&key(b)))
}

/// Comparison of two patterns of a format (Vega ISA 12.9, tables 48 and 49); denormal sources are flushed as the
/// environment says. A NaN raises nothing: with CLAMP it does, and that is up to the caller (Vega ISA 12.9.1).
#[inline]
#[must_use]
pub fn compare_bits<F: Format>(pred: CmpPred, a: u64, b: u64, env: FpEnv) -> bool {
    let order = order::<F>(flush_in::<F>(a, env), flush_in::<F>(b, env));
    let is = |o| order == Some(o);
    match pred {
        CmpPred::False => false,
        CmpPred::Lt => is(Ordering::Less),
        CmpPred::Eq => is(Ordering::Equal),
        CmpPred::Le => is(Ordering::Less) || is(Ordering::Equal),
        CmpPred::Gt => is(Ordering::Greater),
        CmpPred::Lg => is(Ordering::Less) || is(Ordering::Greater),
        CmpPred::Ge => is(Ordering::Greater) || is(Ordering::Equal),
        CmpPred::Ordered => order.is_some(),
        CmpPred::Unordered => order.is_none(),
        CmpPred::Nge => !(is(Ordering::Greater) || is(Ordering::Equal)),
        CmpPred::Nlg => !(is(Ordering::Less) || is(Ordering::Greater)),
        CmpPred::Ngt => !is(Ordering::Greater),
        CmpPred::Nle => !(is(Ordering::Less) || is(Ordering::Equal)),
        CmpPred::Neq => !is(Ordering::Equal),
        CmpPred::Nlt => !is(Ordering::Less),
        CmpPred::True => true,
    }
}

/// Comparison of two scalars of the type; a packed type compares its low element.
#[must_use]
pub fn compare(pred: CmpPred, ty: FloatType, a: u64, b: u64, env: FpEnv) -> bool {
    match ty {
        FloatType::F16 | FloatType::PkF16 => compare_bits::<F16>(pred, a & 0xffff, b & 0xffff, env),
        FloatType::F32 | FloatType::PkF32 => compare_bits::<F32>(pred, a & 0xffff_ffff, b & 0xffff_ffff, env),
        FloatType::F64 => compare_bits::<F64>(pred, a, b, env),
    }
}

/// Bit number of the class of a pattern, as V_CMP_CLASS numbers them: 0 signalling NaN, 1 quiet NaN, 2 negative
/// infinity, 3 negative normal, 4 negative denormal, 5 -0, 6 +0, 7 positive denormal, 8 positive normal, 9 positive
/// infinity (Vega ISA 12.9). The mode does not matter: denormals are reported as such.
#[inline]
#[must_use]
pub fn class_of<F: Format>(bits: u64) -> u32 {
    if F::is_nan(bits) {
        return u32::from(!F::is_signalling(bits));
    }
    let neg = bits & F::SIGN != 0;
    let (negative, positive) = if F::is_inf(bits) {
        (2, 9)
    } else if F::is_zero(bits) {
        (5, 6)
    } else if F::is_denormal(bits) {
        (4, 7)
    } else {
        (3, 8)
    };
    if neg { negative } else { positive }
}

/// Whether the class of the scalar `a` of the type is among those in `mask`; a packed type tests its low element.
#[must_use]
pub fn class(ty: FloatType, a: u64, mask: u32) -> bool {
    let class = match ty {
        FloatType::F16 | FloatType::PkF16 => class_of::<F16>(a & 0xffff),
        FloatType::F32 | FloatType::PkF32 => class_of::<F32>(a & 0xffff_ffff),
        FloatType::F64 => class_of::<F64>(a),
    };
    mask >> class & 1 != 0
}
