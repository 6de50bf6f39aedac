//! Exact binary numbers.

use std::cmp::Ordering;
use std::ops::{Add, Mul, Neg};

use num_bigint::{BigInt, BigUint, Sign};

use crate::env::Round;

/// Digits of quotients and roots: more than twice those of any format.
const DIGITS: i64 = 160;

/// The number `digits * 2^exp`, exactly.
#[derive(Clone, Debug)]
pub struct Number {
    digits: BigInt,
    exp: i64,
}

impl Number {
    /// `digits * 2^exp`.
    #[must_use]
    pub fn new(digits: impl Into<BigInt>, exp: i64) -> Number {
        Number { digits: digits.into(), exp }
    }

    /// Zero, without a sign.
    #[must_use]
    pub fn zero() -> Number {
        Number::new(0, 0)
    }

    /// Whether it is zero.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.digits.sign() == Sign::NoSign
    }

    /// Whether it is negative.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.digits.sign() == Sign::Minus
    }

    /// The number without its sign.
    #[must_use]
    pub fn abs(&self) -> Number {
        Number { digits: BigInt::from(self.digits.magnitude().clone()), exp: self.exp }
    }

    /// The number times `2^exp`.
    #[must_use]
    pub fn times_power(&self, exp: i64) -> Number {
        Number { digits: self.digits.clone(), exp: self.exp + exp }
    }

    /// The exponent of the leading digit of a nonzero number.
    #[must_use]
    pub fn leading(&self) -> i64 {
        self.digits.bits() as i64 - 1 + self.exp
    }

    /// `self / divisor`, where the divisor is not zero, with `DIGITS` digits and one more that is 1
    /// if others follow.
    #[must_use]
    pub fn over(&self, divisor: &Number) -> Number {
        let up = (DIGITS + divisor.digits.bits() as i64 - self.digits.bits() as i64).max(0);
        let (n, d) = (self.digits.magnitude() << up, divisor.digits.magnitude());
        let quotient = &n / d;
        let more = &quotient * d != n;
        let exact = Number::with_more(quotient, more, self.exp - divisor.exp - up);
        if self.is_negative() == divisor.is_negative() { exact } else { -exact }
    }

    /// The root of a non-negative number, as exact as [`Number::over`].
    #[must_use]
    pub fn root(&self) -> Number {
        let digits = self.digits.magnitude();
        // Shift to an even exponent.
        let up = (2 * DIGITS - digits.bits() as i64).max(0);
        let up = up + ((self.exp - up) & 1);
        let square = digits << up;
        let root = square.sqrt();
        let more = &root * &root != square;
        Number::with_more(root, more, (self.exp - up) / 2)
    }

    fn with_more(digits: BigUint, more: bool, exp: i64) -> Number {
        Number::new(BigInt::from(digits << 1) + i32::from(more), exp - 1)
    }

    /// Rounds the number to a multiple of `2^unit`; returns the number of units.
    #[must_use]
    pub fn round_to(&self, unit: i64, round: Round) -> BigInt {
        let down = unit - self.exp;
        if down <= 0 {
            return &self.digits << -down;
        }
        let magnitude = self.digits.magnitude();
        let (below, half) = if down > magnitude.bits() as i64 + 1 {
            // Less than half a unit.
            (BigUint::ZERO, if self.is_zero() { None } else { Some(Ordering::Less) })
        } else {
            let below = magnitude >> down;
            let rest = magnitude - (&below << down);
            let half = (rest != BigUint::ZERO).then(|| (rest << 1u32).cmp(&(BigUint::from(1u32) << down)));
            (below, half)
        };
        let Some(half) = half else { return BigInt::from_biguint(self.digits.sign(), below) };
        let up = match round {
            Round::NearestEven => half == Ordering::Greater || half == Ordering::Equal && below.bit(0),
            Round::Up => !self.is_negative(),
            Round::Down => self.is_negative(),
            Round::Zero => false,
        };
        BigInt::from_biguint(self.digits.sign(), below + u32::from(up))
    }
}

impl Add for &Number {
    type Output = Number;

    fn add(self, other: &Number) -> Number {
        let exp = self.exp.min(other.exp);
        Number { digits: (&self.digits << (self.exp - exp)) + (&other.digits << (other.exp - exp)), exp }
    }
}

impl Mul for &Number {
    type Output = Number;

    fn mul(self, other: &Number) -> Number {
        Number { digits: &self.digits * &other.digits, exp: self.exp + other.exp }
    }
}

impl Neg for Number {
    type Output = Number;

    fn neg(self) -> Number {
        Number { digits: -self.digits, exp: self.exp }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        (self + &-other.clone()).digits.cmp(&BigInt::ZERO)
    }
}
