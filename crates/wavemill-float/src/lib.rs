//! The meaning of the operations of the wave IR, for one element: bits in, bits out, exact and the
//! same on every host.
//!
//! Integer and bit operations are [`int_op`], [`int_compare`] and [`scalar_op`]. [`atomic_op`]
//! computes the values that atomics leave in memory. Tests compare the engines' handlers with them.
//! The rest is scalar floating point.
//!
//! Every float operation of the wave IR is here for one element: in all rounding modes, with and
//! without denormals, with a fixed NaN policy. Engines use these functions as their slow path
//! (modes other than the default, NaN lanes, f16, odd operations), and tests compare the fast paths
//! with them. They are the fast path itself for the f32 reciprocal, roots, powers, logarithms, sine
//! and cosine ([`rcp_f32`] and its siblings), and for f16 in the default mode ([`fma_f16`] and its
//! siblings).
//!
//! How it works: the operation unpacks its sources and computes the exact result in integers (with
//! a sticky bit for the bits that are cut off), and one function rounds the result into the format.
//! Nothing depends on the host's floating-point unit except the functions named above, which use
//! only operations that IEEE 754 defines bit for bit.
//!
//! Entry points: [`float_function`] and [`float_op`], [`convert_function`] and [`cvt`],
//! [`compare`], [`class`], [`div_scale`], [`div_fmas`], [`fma_mix_f32`], [`fma_mix_f16`],
//! [`apply_output`]; [`element_function`], and below it [`narrow`], [`narrow_stochastic`] and
//! [`widen`], for the small formats; [`matrix_product`], [`matrix_exceptions`] and [`matrix_element`] for
//! matrices; [`texel`] for typed buffers and images.
//!
//! Where the manuals leave something open, the code makes a choice and marks it *modelled*. The
//! module `nan` holds the NaN policy. The first NaN in the order of the sources wins and is
//! quieted, with sign and payload kept. Invalid operations give the negative quiet NaN without
//! payload. In a fused multiply-add an infinity times zero takes precedence over a NaN addend.

mod arith;
mod atomic;
mod compare;
mod convert;
mod cube;
mod dispatch;
mod division;
mod elementary;
mod exceptions;
mod format;
mod format_cvt;
mod half;
mod integer;
mod integral;
mod matrix;
mod minmax;
mod mixed;
mod nan;
mod output;
mod scalar;
mod small;
mod special;
pub mod texel;
mod trig_preop;
mod value;

pub use atomic::atomic_op;
pub use compare::{class, class_of, compare, compare_bits};
pub use convert::{convert, convert_function, cvt};
pub use dispatch::{LaneFunction, float_function, float_op};
pub use division::{DivFormat, div_fmas, div_scale};
pub use elementary::{
    EXP2_COEFFICIENTS, EXP2_TOO_CLOSE, TO_INT, cos_f32, exp2_f32, log2_f32, rcp_f32, rsq_f32, sin_f32,
    sqrt_f32,
};
pub use exceptions::{Exceptions, watched};
pub use format::{Bf6, Bf8, Bf8Fnuz, Bf16, F16, F32, F64, Format, Fp4, Fp6, Fp8, Fp8Fnuz, Specials};
pub use format_cvt::{ElementFunction, element_function};
pub use half::{add_f16, f16_from_f32, f32_from_f16, fma_f16, mul_f16};
pub use integer::{IntResult, int_compare, int_op};
pub use matrix::{MatrixFactor, MatrixSources, matrix_element, matrix_exceptions, matrix_product};
pub use mixed::{MixSource, fma_mix_bits, fma_mix_f16, fma_mix_f32};
pub use nan::{nan_result, nan_result_of_fma};
pub use output::{apply_output, apply_output_bits};
pub use scalar::{ScalarResult, scalar_op};
pub use small::{narrow, narrow_stochastic, scale_exponent, widen};

/// `a / b`, correctly rounded: the result that a division sequence must produce. No single
/// instruction does this.
#[must_use]
pub fn divide<F: Format>(a: u64, b: u64, env: wavemill_ir::FpEnv) -> u64 {
    arith::div::<F>([a, b, 0], env)
}

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
