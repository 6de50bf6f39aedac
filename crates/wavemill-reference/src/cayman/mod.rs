//! The meaning of ALU operations of Cayman on one lane, written from chapters 4, 8 and 9 of the
//! manual (HD 6900 ISA) alone.
//!
//! Sources come with NEG and ABS applied, results go without OMOD and CLAMP. The caller knows
//! registers, slots and groups.
//!
//! Where the manual is silent or contradicts itself, a result has several [`Readings`]: the choice
//! that Wavemill documents comes first. Bits in which the readings differ are not known.

mod compare;
mod convert;
mod double;
mod float;
mod function;
mod integer;
mod joint;

use crate::{Env, F32, F64, Format, Round, clamp, mul};

pub use compare::COMPARISONS;
pub use convert::CONVERSIONS;
pub use double::{DOUBLES, Doubles, OfDoubles, frexp, narrow, widen};
pub use float::{FLOATS, copied, maximum};
pub use function::{DOUBLE_FUNCTIONS, DoubleFunction, FUNCTIONS};
pub use integer::INTEGERS;
pub use joint::{
    CHAINED, Product, bit_count, cube, index, low_mask_count, maximum_of_four, pack_bytes, sum_of_products,
};

/// The results that the manual allows; the documented choice comes first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Readings(Vec<u64>);

impl Readings {
    /// The documented choice.
    #[must_use]
    pub fn chosen(&self) -> u64 {
        self.0[0]
    }

    /// The readings under another function, for example output modifiers.
    #[must_use]
    pub fn map(&self, f: impl Fn(u64) -> u64) -> Readings {
        Readings(self.0.iter().map(|bits| f(*bits)).collect())
    }

    /// With further readings.
    #[must_use]
    pub fn or(mut self, others: impl IntoIterator<Item = u64>) -> Readings {
        self.0.extend(others);
        self
    }

    /// Every result of a function of one of these readings and one of others.
    #[must_use]
    pub fn with(&self, others: &Readings, f: impl Fn(u64, u64) -> u64) -> Readings {
        Readings(self.0.iter().flat_map(|a| others.0.iter().map(|b| f(*a, *b))).collect())
    }

    /// Every reading of a result of one of these readings.
    #[must_use]
    pub fn flat_map(&self, f: impl Fn(u64) -> Readings) -> Readings {
        Readings(self.0.iter().flat_map(|bits| f(*bits).0).collect())
    }

    /// All readings, the documented choice first.
    #[must_use]
    pub fn all(self) -> Vec<u64> {
        self.0
    }

    /// The bits in which all readings agree.
    #[must_use]
    pub fn known(&self) -> u64 {
        !self.0.iter().fold(0, |differs, bits| differs | (bits ^ self.0[0]))
    }

    /// The known bits of a float. The manual does not say which NaN a result is, so of NaNs only
    /// the exponent and the bit of quiet ones are known.
    #[must_use]
    pub fn known_float(&self, f: Format) -> u64 {
        let nan = f.infinity() | f.quiet();
        match self.0.iter().filter(|bits| f.is_nan(**bits)).count() {
            0 => self.known(),
            nans if nans == self.0.len() => nan & self.known(),
            _ => 0,
        }
    }
}

impl From<u64> for Readings {
    fn from(bits: u64) -> Readings {
        Readings(vec![bits])
    }
}

impl From<u32> for Readings {
    fn from(bits: u32) -> Readings {
        Readings(vec![bits.into()])
    }
}

impl<const N: usize> From<[u64; N]> for Readings {
    fn from(bits: [u64; N]) -> Readings {
        Readings(bits.to_vec())
    }
}

impl<const N: usize> From<[u32; N]> for Readings {
    fn from(bits: [u32; N]) -> Readings {
        Readings(bits.map(u64::from).to_vec())
    }
}

/// The result of a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// The result.
    pub result: Readings,
    /// Of an instruction that computes a predicate, whether the lane executes; of one that kills,
    /// whether the lane is killed.
    pub mask: bool,
}

impl<T: Into<Readings>> From<T> for Outcome {
    fn from(result: T) -> Outcome {
        Outcome { result: result.into(), mask: false }
    }
}

impl<T: Into<Readings>> From<(T, bool)> for Outcome {
    fn from((result, mask): (T, bool)) -> Outcome {
        Outcome { result: result.into(), mask }
    }
}

/// Sources of a slot, after their modifiers.
pub type Sources = [u32; 3];

/// An operation that one slot computes from its own sources: its mnemonic, and its result under
/// the modes of singles.
pub type Operation = (&'static str, fn(Sources, Env) -> Outcome);

/// The operation of one slot with this mnemonic.
#[must_use]
pub fn operation(name: &str) -> Option<fn(Sources, Env) -> Outcome> {
    let tables = [FLOATS, INTEGERS, COMPARISONS, CONVERSIONS, FUNCTIONS];
    tables.into_iter().flatten().find(|(known, _)| *known == name).map(|(_, apply)| *apply)
}

/// The environment of four bits of SET_MODE: rounding in 1:0, denormals of sources in 2, of results
/// in 3 (HD 6900 ISA 8.2, SET_MODE; 4.13.1: they apply to all ALU instructions).
#[must_use]
pub fn environment(mode: u32) -> Env {
    let round = [Round::NearestEven, Round::Up, Round::Down, Round::Zero][(mode & 3) as usize];
    Env { round, keeps_inputs: mode & 4 != 0, keeps_outputs: mode & 8 != 0, ..Env::DEFAULT }
}

/// A result after OMOD, which multiplies it, and CLAMP (HD 6900 ISA 4.9.1). OMOD takes a result, not
/// a source: a denormal that the mode of results keeps is multiplied. CLAMP of a NaN is not defined:
/// here 0.
#[must_use]
pub fn output(f: Format, result: u64, omod: u32, clamps: bool, env: Env) -> u64 {
    let scaled = match omod {
        0 => result,
        code => mul(f, [result, factor(f, code)], Env { keeps_inputs: true, ..env }),
    };
    if clamps { clamp(f, scaled, env) } else { scaled }
}

/// The factor of a code of OMOD: 2, 4, 1/2.
fn factor(f: Format, omod: u32) -> u64 {
    let step = 1 << f.mantissa;
    match omod {
        1 => f.one() + step,
        2 => f.one() + 2 * step,
        _ => f.one() - step,
    }
}

/// Whether CLAMP of these readings is known: it is not if one is a NaN.
#[must_use]
pub fn clamp_is_known(f: Format, readings: &Readings) -> bool {
    !readings.0.iter().any(|bits| f.is_nan(*bits))
}

/// A single as a double and back.
fn single(bits: u32) -> u64 {
    bits.into()
}

/// 1.0.
const ONE: u32 = 0x3f80_0000;
const SIGN: u32 = 1 << 31;
/// The largest number.
const MAX: u32 = 0x7f7f_ffff;

/// A source for comparisons of the host: a denormal is a zero unless the mode keeps it.
fn host(bits: u32, env: Env) -> f32 {
    f32::from_bits(F32.flushed(bits.into(), env.keeps_inputs) as u32)
}

/// The same for a double.
fn host_double(bits: u64, env: Env) -> f64 {
    f64::from_bits(F64.flushed(bits, env.keeps_inputs))
}

#[test]
fn constants_are_those_of_the_format() {
    assert_eq!([ONE, SIGN, MAX].map(u64::from), [F32.one(), F32.sign(), F32.largest()]);
}
