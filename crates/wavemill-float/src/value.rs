//! Unpacked numbers, exact intermediate results and the one place that rounds.

use wavemill_ir::{FpEnv, Round};

use crate::exceptions::{Exceptions, raise};
use crate::format::{Format, Specials};

/// The environment with rounding to nearest even, for operations that ignore MODE.FP_ROUND.
#[inline]
pub(crate) const fn nearest(env: FpEnv) -> FpEnv {
    FpEnv { round: Round::NearestEven, ..env }
}

/// The environment that flushes denormals on both sides, for operations that always do.
#[inline]
pub(crate) const fn flushing(env: FpEnv) -> FpEnv {
    FpEnv { denorm_in: false, denorm_out: false, ..env }
}

/// The environment that keeps denormals on both sides, for operations that always do.
#[inline]
pub(crate) const fn keeping(env: FpEnv) -> FpEnv {
    FpEnv { denorm_in: true, denorm_out: true, ..env }
}

/// The source as the operation sees it: a denormal reads as zero if the environment flushes inputs.
#[inline]
pub(crate) fn flush_in<F: Format>(bits: u64, env: FpEnv) -> u64 {
    if !F::is_denormal(bits) {
        bits
    } else if env.denorm_in {
        raise(Exceptions::INPUT_DENORMAL);
        bits
    } else {
        bits & F::SIGN
    }
}

/// The result after output flushing: a denormal becomes zero if the environment flushes outputs.
#[inline]
pub(crate) fn flush_out<F: Format>(bits: u64, env: FpEnv) -> u64 {
    if !env.denorm_out && F::is_denormal(bits) {
        raise(Exceptions::UNDERFLOW | Exceptions::INEXACT);
        bits & F::SIGN
    } else {
        bits
    }
}

/// A decoded source value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    /// A NaN; callers that need its bits keep the pattern.
    Nan,
    /// An infinity.
    Inf {
        /// Whether it is negative.
        neg: bool,
    },
    /// A finite number, zero included.
    Finite(Number),
}

impl Value {
    /// Decodes a pattern, after flushing.
    #[inline]
    pub(crate) fn unpack<F: Format>(bits: u64, env: FpEnv) -> Value {
        if F::is_nan(bits) {
            Value::Nan
        } else if F::is_inf(bits) {
            Value::Inf { neg: bits & F::SIGN != 0 }
        } else {
            Value::Finite(Number::unpack::<F>(flush_in::<F>(bits, env)))
        }
    }

    /// Whether this is a finite zero.
    #[inline]
    pub(crate) fn is_zero(self) -> bool {
        matches!(self, Value::Finite(n) if n.sig == 0)
    }

    /// Whether this is an infinity.
    #[inline]
    pub(crate) fn is_inf(self) -> bool {
        matches!(self, Value::Inf { .. })
    }

    /// Whether the sign is negative; of no meaning for a NaN.
    #[inline]
    pub(crate) fn is_neg(self) -> bool {
        match self {
            Value::Nan => false,
            Value::Inf { neg } => neg,
            Value::Finite(n) => n.neg,
        }
    }
}

/// A finite number: `sig * 2^(exp - 63)`, with bit 63 of `sig` set unless the number is zero.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Number {
    /// Sign, also of a zero.
    pub(crate) neg: bool,
    /// Exponent of the leading bit.
    pub(crate) exp: i32,
    /// Significand with its leading bit on top.
    pub(crate) sig: u64,
}

impl Number {
    /// Decodes a finite pattern.
    #[inline]
    pub(crate) fn unpack<F: Format>(bits: u64) -> Number {
        let neg = bits & F::SIGN != 0;
        let field = F::exp_field(bits);
        let man = bits & F::MANTISSA;
        let (sig, exp) = if field == 0 { (man, F::EMIN) } else { (man | F::HIDDEN, field - F::BIAS) };
        if sig == 0 {
            return Number { neg, exp: 0, sig: 0 };
        }
        let up = sig.leading_zeros();
        // The leading one of a normal number is at bit MAN.
        Number { neg, exp: exp + (63 - F::MAN as i32) - up as i32, sig: sig << up }
    }

    /// A non-negative integer.
    #[inline]
    pub(crate) fn from_u64(value: u64) -> Number {
        let up = value.leading_zeros();
        Number { neg: false, exp: 63 - up as i32, sig: value.checked_shl(up).unwrap_or(0) }
    }

    /// The number as an exact result.
    #[inline]
    pub(crate) fn exact(self) -> Exact {
        Exact { neg: self.neg, exp: self.exp, sig: u128::from(self.sig) << 64, sticky: false }
    }
}

/// The exact result of an operation on its way to rounding: `(sig + d) * 2^(exp - 127)` where `d` is 0, or a number
/// strictly between 0 and 1 if `sticky` is set. `sig` 0 (never with `sticky`) is a zero of the given sign.
///
/// Producers keep at least two bits more than the widest significand below the leading one whenever `sticky` is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Exact {
    /// Sign, also of a zero.
    pub(crate) neg: bool,
    /// Weight of bit 127 of `sig`.
    pub(crate) exp: i32,
    /// Significand, not necessarily normalised.
    pub(crate) sig: u128,
    /// Whether something positive below bit 0 has been cut off.
    pub(crate) sticky: bool,
}

impl Exact {
    /// A zero.
    pub(crate) const fn zero(neg: bool) -> Exact {
        Exact { neg, exp: 0, sig: 0, sticky: false }
    }

    /// An integer.
    #[inline]
    pub(crate) fn from_u64(neg: bool, magnitude: u64) -> Exact {
        Exact { neg, exp: 127, sig: u128::from(magnitude), sticky: false }
    }

    /// The product of two numbers; always exact.
    #[inline]
    pub(crate) fn product(a: Number, b: Number) -> Exact {
        let neg = a.neg != b.neg;
        if a.sig == 0 || b.sig == 0 {
            return Exact::zero(neg);
        }
        Exact { neg, exp: a.exp + b.exp + 1, sig: u128::from(a.sig) * u128::from(b.sig), sticky: false }
    }

    /// With the leading one at bit 127.
    #[inline]
    fn normalised(self) -> Exact {
        if self.sig == 0 {
            return self;
        }
        let up = self.sig.leading_zeros();
        Exact { exp: self.exp - up as i32, sig: self.sig << up, ..self }
    }

    /// The sum of two values without sticky bits. A sum that is exactly zero takes the common sign of its terms, or
    /// else the sign that the rounding mode asks for (IEEE 754, 6.3).
    ///
    /// The significands have at most 106 bits (a product of two binary64), so that a normalised one has 22 free bits
    /// at the bottom. A term that loses bits in alignment is therefore so much smaller than the other one that the
    /// difference drops by at most one binary place, and `sticky` suffices for all that was lost.
    #[inline]
    pub(crate) fn sum(a: Exact, b: Exact, round: Round) -> Exact {
        let (a, b) = (a.normalised(), b.normalised());
        match (a.sig == 0, b.sig == 0) {
            (true, true) => {
                return Exact::zero(if a.neg == b.neg { a.neg } else { round == Round::MinusInf });
            }
            (true, false) => return b,
            (false, true) => return a,
            (false, false) => {}
        }
        let (big, small) = if (a.exp, a.sig) >= (b.exp, b.sig) { (a, b) } else { (b, a) };
        // One place down makes room for the carry; the bottom bits are free.
        let big_sig = big.sig >> 1;
        let small_sig = small.sig >> 1;
        let down = (big.exp - small.exp) as u32;
        let (small_sig, sticky) = if down >= 128 {
            (0, true)
        } else {
            let kept = small_sig >> down;
            (kept, kept << down != small_sig)
        };
        let exp = big.exp + 1;
        if big.neg == small.neg {
            return Exact { neg: big.neg, exp, sig: big_sig + small_sig, sticky };
        }
        // The bits cut off the smaller term also reduce the difference: one less, and a positive
        // rest.
        let sig = big_sig - small_sig - u128::from(sticky);
        if sig == 0 {
            return Exact::zero(round == Round::MinusInf);
        }
        Exact { neg: big.neg, exp, sig, sticky }
    }
}

/// Whether a magnitude between two neighbours rounds to the larger one. `half`: it is at or above
/// the midpoint; `rest`: something beyond the midpoint (or beyond the smaller one) is left; `odd`:
/// the smaller one is odd.
#[inline]
fn rounds_up(round: Round, neg: bool, half: bool, rest: bool, odd: bool) -> bool {
    match round {
        Round::NearestEven => half && (rest || odd),
        Round::PlusInf => !neg && (half || rest),
        Round::MinusInf => neg && (half || rest),
        Round::Zero => false,
    }
}

/// Rounds a value to an integer multiple of `2^unit`; the result is that multiple, saturated to 127 bits.
#[inline]
pub(crate) fn round_to_unit(v: Exact, unit: i32, round: Round) -> u128 {
    let (multiple, inexact) = multiple_of_unit(v, unit, round);
    if inexact {
        raise(Exceptions::INEXACT);
    }
    multiple
}

/// The result of [`round_to_unit`], and whether it is inexact.
#[inline]
fn multiple_of_unit(v: Exact, unit: i32, round: Round) -> (u128, bool) {
    if v.sig == 0 {
        return (0, false);
    }
    // Bits of `sig` below the unit.
    let down = unit - (v.exp - 127);
    if down <= 0 {
        let up = -down as u32;
        return (if up < v.sig.leading_zeros() { v.sig << up } else { u128::MAX >> 1 }, v.sticky);
    }
    let (q, half, rest) = if down > 128 {
        (0, false, true)
    } else if down == 128 {
        (0, v.sig >> 127 != 0, v.sig << 1 != 0 || v.sticky)
    } else {
        let lost = v.sig << (128 - down);
        (v.sig >> down, lost >> 127 != 0, lost << 1 != 0 || v.sticky)
    };
    (q + u128::from(rounds_up(round, v.neg, half, rest, q & 1 != 0)), half || rest)
}

/// Magnitude bits of the value rounded to the format, or `None` if it overflows.
#[inline]
pub(crate) fn round_magnitude<F: Format>(v: Exact, round: Round) -> Option<u64> {
    let (magnitude, inexact) = magnitude_of::<F>(v, round)?;
    if inexact {
        raise(Exceptions::INEXACT);
    }
    Some(magnitude)
}

/// The result of [`round_magnitude`], and whether it is inexact.
#[inline]
fn magnitude_of<F: Format>(v: Exact, round: Round) -> Option<(u64, bool)> {
    if v.sig == 0 {
        return Some((0, false));
    }
    let v = v.normalised();
    if v.exp > F::BIAS + 1 {
        return None;
    }
    let exp = v.exp.max(F::EMIN);
    let (q, inexact) = multiple_of_unit(v, exp - F::MAN as i32, round);
    let q = q as u64;
    // For a normal number the hidden bit of `q` adds one to the exponent field, and so does a carry; a denormal that
    // is rounded up to the smallest normal number becomes that.
    let magnitude = (((exp - F::EMIN) as u64) << F::MAN) + q;
    (magnitude <= F::MAX).then_some((magnitude, inexact))
}

/// The pattern that an overflow gives: infinity or the largest finite number, as the rounding mode and
/// MODE.FP16_OVFL say.
#[inline]
pub(crate) fn overflow<F: Format>(neg: bool, env: FpEnv) -> u64 {
    let sign = if neg { F::SIGN } else { 0 };
    let stays_finite = match env.round {
        Round::NearestEven => false,
        Round::PlusInf => neg,
        Round::MinusInf => !neg,
        Round::Zero => true,
    };
    let has_inf = matches!(F::SPECIALS, Specials::Ieee);
    let clamps = F::OBEYS_FP16_OVFL && env.fp16_ovfl;
    sign | if stays_finite || clamps || !has_inf { F::MAX } else { F::INF }
}

/// Whether a nonzero number is below the smallest normal one after it is rounded to the precision
/// of the format without a limit for the exponent (IEEE 754, 7.5). `magnitude` is the number,
/// rounded to the format.
#[inline]
fn is_tiny<F: Format>(v: Exact, magnitude: u64, round: Round) -> bool {
    if magnitude != F::HIDDEN {
        return magnitude < F::HIDDEN;
    }
    // A number below the smallest normal one has one more bit before it is rounded to that.
    let v = v.normalised();
    let (units, _) = multiple_of_unit(v, F::EMIN - 1 - F::MAN as i32, round);
    v.exp < F::EMIN && units < u128::from(F::HIDDEN) << 1
}

/// Rounds once into the format, with overflow and output flushing. A result is flushed if it is
/// denormal as the format delivers it: the smallest normal number is kept, also where
/// [underflow](is_tiny) is raised (*modelled*, facet `exceptions`).
#[inline]
pub(crate) fn round<F: Format>(v: Exact, env: FpEnv) -> u64 {
    let sign = if v.neg { F::SIGN } else { 0 };
    match magnitude_of::<F>(v, env.round) {
        Some((magnitude, inexact)) => {
            if inexact {
                let tiny = is_tiny::<F>(v, magnitude, env.round);
                let underflow = if tiny { Exceptions::UNDERFLOW } else { Exceptions::NONE };
                raise(Exceptions::INEXACT | underflow);
            }
            flush_out::<F>(sign | magnitude, env)
        }
        None => {
            raise(Exceptions::OVERFLOW | Exceptions::INEXACT);
            overflow::<F>(v.neg, env)
        }
    }
}

/// An infinity of the format.
#[inline]
pub(crate) fn inf<F: Format>(neg: bool) -> u64 {
    F::INF | if neg { F::SIGN } else { 0 }
}

/// A zero of the format.
#[inline]
pub(crate) fn zero<F: Format>(neg: bool) -> u64 {
    if neg { F::SIGN } else { 0 }
}
