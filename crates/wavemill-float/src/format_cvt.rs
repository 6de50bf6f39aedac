//! From conversions of small float formats to functions.

use wavemill_ir::{FormatCvt, FpEnv, NumberFormat};

use crate::format::{Bf6, Bf8, Bf8Fnuz, Bf16, F16, F32, Format, Fp4, Fp6, Fp8, Fp8Fnuz};
use crate::small::{narrow, narrow_stochastic, widen};

/// Converts an element: its bits, the random number of stochastic rounding, the exponent of the scale.
pub type ElementFunction = fn(u64, u32, i32, FpEnv) -> u64;

/// A conversion to a small format.
fn narrowing<S: Format, D: Format>(stochastic: bool) -> ElementFunction {
    if stochastic {
        |bits, random, scale, env| narrow_stochastic::<S, D>(bits, random, scale, env)
    } else {
        |bits, _, scale, env| narrow::<S, D>(bits, scale, env)
    }
}

/// A conversion from a small format.
fn widening<S: Format, D: Format>() -> ElementFunction {
    |bits, _, scale, env| widen::<S, D>(bits, scale, env)
}

/// A conversion of wide elements to a format.
fn narrowing_from<S: Format>(to: NumberFormat, stochastic: bool) -> Option<ElementFunction> {
    Some(match to {
        NumberFormat::Fp8 => narrowing::<S, Fp8>(stochastic),
        NumberFormat::Bf8 => narrowing::<S, Bf8>(stochastic),
        NumberFormat::Fp8Fnuz => narrowing::<S, Fp8Fnuz>(stochastic),
        NumberFormat::Bf8Fnuz => narrowing::<S, Bf8Fnuz>(stochastic),
        NumberFormat::Fp6 => narrowing::<S, Fp6>(stochastic),
        NumberFormat::Bf6 => narrowing::<S, Bf6>(stochastic),
        NumberFormat::Fp4 => narrowing::<S, Fp4>(stochastic),
        NumberFormat::F16 => narrowing::<S, F16>(stochastic),
        NumberFormat::Bf16 => narrowing::<S, Bf16>(stochastic),
        NumberFormat::F32 | NumberFormat::Xf32 | NumberFormat::F64 | NumberFormat::I8 | NumberFormat::I32 => {
            return None;
        }
    })
}

/// A conversion of small elements from a format.
fn widening_to<D: Format>(from: NumberFormat) -> Option<ElementFunction> {
    Some(match from {
        NumberFormat::Fp8 => widening::<Fp8, D>(),
        NumberFormat::Bf8 => widening::<Bf8, D>(),
        NumberFormat::Fp8Fnuz => widening::<Fp8Fnuz, D>(),
        NumberFormat::Bf8Fnuz => widening::<Bf8Fnuz, D>(),
        NumberFormat::Fp6 => widening::<Fp6, D>(),
        NumberFormat::Bf6 => widening::<Bf6, D>(),
        NumberFormat::Fp4 => widening::<Fp4, D>(),
        NumberFormat::F16
        | NumberFormat::Bf16
        | NumberFormat::F32
        | NumberFormat::Xf32
        | NumberFormat::F64
        | NumberFormat::I8
        | NumberFormat::I32 => return None,
    })
}

/// The function that converts an element; `None` if the conversion is not between a wide and a
/// small format. Apply source modifiers before the call and output modifiers after it.
#[must_use]
pub fn element_function(cvt: FormatCvt) -> Option<ElementFunction> {
    match (cvt.from, cvt.to) {
        (NumberFormat::F32, to) => narrowing_from::<F32>(to, cvt.stochastic),
        (NumberFormat::F16, to) => narrowing_from::<F16>(to, cvt.stochastic),
        (NumberFormat::Bf16, to) => narrowing_from::<Bf16>(to, cvt.stochastic),
        (from, NumberFormat::F32) => widening_to::<F32>(from),
        (from, NumberFormat::F16) => widening_to::<F16>(from),
        (from, NumberFormat::Bf16) => widening_to::<Bf16>(from),
        _ => None,
    }
}
