//! Expected results of instructions for tests.
//!
//! All computations use integers of any size and follow the definitions of IEEE 754 and of the
//! instruction set manuals. The crate shares no code with `wavemill-float`, so that an error there
//! cannot hide in its own tests. Speed does not matter.
//!
//! - [`Number`] is an exact binary number; quotients and roots have an extra digit that records
//!   whether more follow.
//! - [`Format`] decodes bit patterns and rounds numbers to them, under an [`Env`].
//! - [`Mode`] decodes MODE; the test states which [`Field`] an instruction uses.
//! - [`texel`] has the conversions of typed buffers and images.
//! - The other modules have one function for each operation: bits in, bits out, NaNs included.
//! - [`rows`] says which operation each instruction is, and has the integer ones.
//! - [`cayman`] does the same for the ALU operations of Cayman.
//!
//! The manuals do not specify NaN results, so they follow Wavemill's documented choice. The first
//! NaN among the sources is quieted and keeps its sign and payload; an invalid operation gives the
//! negative quiet NaN without payload.
//!
//! This is a development crate: published crates use it only as a dev-dependency.

mod arith;
pub mod cayman;
mod convert;
mod cube;
mod division;
mod env;
mod exceptions;
mod format;
mod integral;
mod mixed;
mod number;
mod output;
pub mod rows;
mod select;
mod series;
mod small;
pub mod texel;
mod trig;

pub use arith::{add, div, fma, mad, mad_legacy, mul, mul_legacy, rcp, rsq, sqrt, sub};
pub use convert::{float_to_float, float_to_int, float_to_norm, int_to_float, round_half_up};
pub use cube::{Cube, cube};
pub use division::{div_fixup, div_fmas, div_scale};
pub use env::{Env, Field, Mode, Round};
pub use exceptions::{
    compare_exceptions, excp, fma_mix_exceptions, integer_exceptions, multiply_add, omod_exceptions,
};
pub use format::{BF6, BF8, BF8_FNUZ, BF16, Datum, F16, F32, F64, FP4, FP6, FP8, FP8_FNUZ, Format, Specials};
pub use integral::{fract, frexp_exp, frexp_mant, ldexp, to_integral};
pub use mixed::{Dot, Wide, dot2, fma_mix};
pub use number::Number;
pub use output::{clamp, omod};
pub use select::{Extreme, class, compare, extreme, med3, minimum3};
pub use small::{narrow, scale_of, widen};
pub use trig::{exp2, log2, sine, trig_preop};
