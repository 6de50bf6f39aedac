//! Float formats: decodes bit patterns and rounds numbers to them.

use crate::env::{Env, Round};
use crate::number::Number;

/// The meaning of the extreme patterns of a format.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specials {
    /// The largest exponent has infinities and NaNs (IEEE 754).
    Ieee,
    /// All ones are a NaN; there is no infinity (OCP E4M3).
    AllOnesNan,
    /// The pattern of -0 is the NaN; there is no infinity (FNUZ).
    NegativeZeroNan,
    /// Numbers only (OCP FP6 and FP4).
    None,
}

/// A binary format: sign, exponent, mantissa.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Width in bits.
    pub bits: u32,
    /// Bits of the mantissa field.
    pub mantissa: u32,
    /// Exponent bias.
    pub bias: i64,
    /// Meaning of the special patterns.
    pub specials: Specials,
}

const fn ieee(bits: u32, mantissa: u32) -> Format {
    let bias = (1 << (bits - mantissa - 2)) - 1;
    Format { bits, mantissa, bias, specials: Specials::Ieee }
}

/// IEEE binary16.
pub const F16: Format = ieee(16, 10);
/// The upper half of binary32.
pub const BF16: Format = ieee(16, 7);
/// IEEE binary32.
pub const F32: Format = ieee(32, 23);
/// IEEE binary64.
pub const F64: Format = ieee(64, 52);
/// OCP E4M3 (CDNA4 ISA 7.3).
pub const FP8: Format = Format { bits: 8, mantissa: 3, bias: 7, specials: Specials::AllOnesNan };
/// OCP E5M2 (CDNA4 ISA 7.3).
pub const BF8: Format = ieee(8, 2);
/// E4M3 FNUZ of gfx942.
pub const FP8_FNUZ: Format = Format { bits: 8, mantissa: 3, bias: 8, specials: Specials::NegativeZeroNan };
/// E5M2 FNUZ of gfx942.
pub const BF8_FNUZ: Format = Format { bits: 8, mantissa: 2, bias: 16, specials: Specials::NegativeZeroNan };
/// OCP E2M3 (CDNA4 ISA 7.3).
pub const FP6: Format = Format { bits: 6, mantissa: 3, bias: 1, specials: Specials::None };
/// OCP E3M2 (CDNA4 ISA 7.3).
pub const BF6: Format = Format { bits: 6, mantissa: 2, bias: 3, specials: Specials::None };
/// OCP E2M1 (CDNA4 ISA 7.3).
pub const FP4: Format = Format { bits: 4, mantissa: 1, bias: 1, specials: Specials::None };

/// A decoded pattern.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Datum {
    /// A NaN.
    Nan,
    /// An infinity.
    Infinite {
        /// Its sign.
        negative: bool,
    },
    /// A number.
    Finite {
        /// Its sign, also for a zero.
        negative: bool,
        /// Its value.
        value: Number,
    },
}

impl Datum {
    /// The sign.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        match self {
            Datum::Nan => false,
            Datum::Infinite { negative } | Datum::Finite { negative, .. } => *negative,
        }
    }

    /// Whether it is a zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        matches!(self, Datum::Finite { value, .. } if value.is_zero())
    }

    /// Whether it is an infinity.
    #[must_use]
    pub fn is_infinite(&self) -> bool {
        matches!(self, Datum::Infinite { .. })
    }
}

impl Format {
    /// The bit of the sign.
    #[must_use]
    pub fn sign(self) -> u64 {
        1 << (self.bits - 1)
    }

    /// All other bits.
    #[must_use]
    pub fn magnitude(self) -> u64 {
        self.sign() - 1
    }

    /// The bits of infinity, or the bits after the largest number.
    #[must_use]
    pub fn infinity(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.magnitude() >> self.mantissa << self.mantissa,
            Specials::AllOnesNan => self.magnitude(),
            Specials::NegativeZeroNan | Specials::None => self.magnitude() + 1,
        }
    }

    /// The bits of the largest number.
    #[must_use]
    pub fn largest(self) -> u64 {
        self.infinity() - 1
    }

    /// The bit that distinguishes a quiet NaN from a signalling one.
    #[must_use]
    pub fn quiet(self) -> u64 {
        1 << (self.mantissa - 1)
    }

    /// The bits of 1.
    #[must_use]
    pub fn one(self) -> u64 {
        (self.bias as u64) << self.mantissa
    }

    /// The NaN of an invalid operation (Vega ISA 12.8, examples of V_SQRT_F32): negative and quiet.
    #[must_use]
    pub fn invalid(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.sign() | self.infinity() | self.quiet(),
            Specials::AllOnesNan => self.sign() | self.magnitude(),
            Specials::NegativeZeroNan => self.sign(),
            Specials::None => self.magnitude(),
        }
    }

    /// Whether the pattern is a NaN.
    #[must_use]
    pub fn is_nan(self, bits: u64) -> bool {
        match self.specials {
            Specials::Ieee => bits & self.magnitude() > self.infinity(),
            Specials::AllOnesNan => bits & self.magnitude() == self.magnitude(),
            Specials::NegativeZeroNan => bits == self.sign(),
            Specials::None => false,
        }
    }

    /// Whether the pattern is a signalling NaN.
    #[must_use]
    pub fn is_signalling(self, bits: u64) -> bool {
        self.specials == Specials::Ieee && self.is_nan(bits) && bits & self.quiet() == 0
    }

    /// Whether the pattern is a denormal number.
    #[must_use]
    pub fn is_denormal(self, bits: u64) -> bool {
        bits & self.magnitude() != 0 && bits & self.magnitude() < 1 << self.mantissa
    }

    /// The pattern; a denormal that is not kept becomes a zero with its sign.
    #[must_use]
    pub fn flushed(self, bits: u64, keeps: bool) -> u64 {
        if self.is_denormal(bits) && !keeps { bits & self.sign() } else { bits }
    }

    /// Decodes a pattern; a denormal is a zero unless denormals are kept.
    #[must_use]
    pub fn decode(self, bits: u64, keeps: bool) -> Datum {
        let bits = self.flushed(bits, keeps);
        let negative = bits & self.sign() != 0;
        if self.is_nan(bits) {
            return Datum::Nan;
        }
        if self.specials == Specials::Ieee && bits & self.magnitude() == self.infinity() {
            return Datum::Infinite { negative };
        }
        let exponent = (bits & self.magnitude()) >> self.mantissa;
        let fraction = bits & ((1 << self.mantissa) - 1);
        let hidden = if exponent == 0 { 0 } else { 1 << self.mantissa };
        let value =
            Number::new(fraction | hidden, exponent.max(1) as i64 - self.bias - i64::from(self.mantissa));
        Datum::Finite { negative, value: if negative { -value } else { value } }
    }

    /// The pattern with this sign.
    #[must_use]
    pub fn signed(self, negative: bool, magnitude: u64) -> u64 {
        if negative { self.sign() | magnitude } else { magnitude }
    }

    /// The rounded magnitude of a number; `None` if it is beyond the largest one (IEEE 754, 4.3 and
    /// 7.4).
    #[must_use]
    pub fn magnitude_of(self, value: &Number, round: Round) -> Option<u64> {
        if value.is_zero() {
            return Some(0);
        }
        let mantissa = i64::from(self.mantissa);
        let least = 1 - self.bias;
        let leading = value.leading().max(least);
        if leading > self.bias + 2 {
            return None;
        }
        let units = value.round_to(leading - mantissa, round);
        let units = u64::try_from(units.magnitude().clone()).expect("a mantissa");
        // The hidden digit adds one to the exponent field, as a carry out of the mantissa does.
        let bits = ((leading - least) as u64) * (1 << self.mantissa) + units;
        (bits <= self.largest()).then_some(bits)
    }

    /// Rounds a number into the format. `zero` is the sign of an exact zero.
    #[must_use]
    pub fn encode(self, value: &Number, zero: bool, env: Env) -> u64 {
        let negative = if value.is_zero() { zero } else { value.is_negative() };
        match self.magnitude_of(value, env.round) {
            Some(bits) => self.flushed(self.signed(negative, bits), env.keeps_outputs),
            None => self.overflow(negative, env),
        }
    }

    /// The result for a number beyond the largest one (IEEE 754, 7.4; MODE.FP16_OVFL: Vega ISA
    /// 3.4).
    #[must_use]
    pub fn overflow(self, negative: bool, env: Env) -> u64 {
        let finite = match env.round {
            Round::NearestEven => false,
            Round::Up => negative,
            Round::Down => !negative,
            Round::Zero => true,
        };
        let finite = finite || self == F16 && env.fp16_ovfl || self.specials != Specials::Ieee;
        self.signed(negative, if finite { self.largest() } else { self.infinity() })
    }

    /// The result if a source is a NaN: the first NaN, quieted.
    #[must_use]
    pub fn propagated(self, sources: &[u64]) -> Option<u64> {
        sources.iter().find(|bits| self.is_nan(**bits)).map(|bits| self.quieted(*bits))
    }

    /// A NaN, quieted.
    #[must_use]
    pub fn quieted(self, nan: u64) -> u64 {
        if self.specials == Specials::Ieee { nan | self.quiet() } else { nan }
    }

    /// The NaN of another format as a quiet NaN of this one. Sign and top of the payload are kept
    /// if both formats have them.
    #[must_use]
    pub fn nan_from(self, from: Format, nan: u64) -> u64 {
        let negative = nan & from.sign() != 0;
        match (from.specials, self.specials) {
            (Specials::Ieee, Specials::Ieee) => {
                let payload = u128::from(nan & (from.quiet() * 2 - 1)) << self.mantissa >> from.mantissa;
                self.signed(negative, self.infinity() | self.quiet() | payload as u64)
            }
            (_, Specials::AllOnesNan) => self.signed(negative, self.magnitude()),
            (Specials::AllOnesNan, Specials::Ieee) => self.signed(negative, self.infinity() | self.quiet()),
            _ => self.invalid(),
        }
    }
}
