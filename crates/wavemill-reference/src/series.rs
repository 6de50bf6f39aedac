//! Powers, logarithms and sines by series in fixed point.

use std::sync::LazyLock;

use num_bigint::BigInt;

use crate::env::Round;
use crate::number::Number;

/// Binary places of the fixed-point numbers. Errors stay below the last 16 of them.
const PLACES: i64 = 320;

fn one() -> BigInt {
    BigInt::from(1) << PLACES
}

fn times(a: &BigInt, b: &BigInt) -> BigInt {
    (a * b) >> PLACES
}

/// Whether a term is too small to count: shifts round a negative one to -1, not 0.
fn is_negligible(term: &BigInt) -> bool {
    *term == BigInt::ZERO || *term == BigInt::from(-1)
}

/// `atanh(1/n)` (`sign` 1) or `atan(1/n)` (`sign` -1).
fn arc_of_inverse(n: u32, sign: i32) -> BigInt {
    let mut power = one() / n;
    let (mut sum, mut k, mut factor) = (BigInt::ZERO, 1u32, 1);
    while power != BigInt::ZERO {
        sum += &power / k * factor;
        power /= n * n;
        k += 2;
        factor *= sign;
    }
    sum
}

/// ln 2 = 2 atanh(1/3).
static LN_2: LazyLock<BigInt> = LazyLock::new(|| arc_of_inverse(3, 1) * 2);

/// Machin's formula.
static PI: LazyLock<BigInt> = LazyLock::new(|| arc_of_inverse(5, -1) * 16 - arc_of_inverse(239, -1) * 4);

/// A result that is not a binary number: another digit says that more follow.
fn inexact(fixed: BigInt, exp: i64) -> Number {
    Number::new((fixed << 1) + 1, exp - PLACES - 1)
}

/// `2^x` for `x` between -2^20 and 2^20.
#[must_use]
pub(crate) fn exp2(x: &Number) -> Number {
    let whole = x.round_to(0, Round::Down);
    let exp = i64::try_from(whole.clone()).unwrap_or(0);
    let rest = x.round_to(-PLACES, Round::Down) - (whole << PLACES);
    if (&Number::new(exp, 0) + &-x.clone()).is_zero() {
        return Number::new(1, exp);
    }
    let argument = times(&rest, &LN_2);
    let (mut term, mut sum, mut k) = (one(), one(), 1);
    while term != BigInt::ZERO {
        term = times(&term, &argument) / k;
        sum += &term;
        k += 1;
    }
    inexact(sum, exp)
}

/// The binary logarithm of a positive number.
#[must_use]
pub(crate) fn log2(x: &Number) -> Number {
    let exp = x.leading();
    let m = x.times_power(-exp).round_to(-PLACES, Round::Down);
    if m == one() {
        return Number::new(exp, 0);
    }
    let s = ((&m - one()) << PLACES) / (&m + one());
    let square = times(&s, &s);
    let (mut power, mut sum, mut k) = (s, BigInt::ZERO, 1);
    while power != BigInt::ZERO {
        sum += &power / k;
        power = times(&power, &square);
        k += 2;
    }
    let log: BigInt = ((sum * 2) << PLACES) / &*LN_2;
    inexact(log + (BigInt::from(exp) << PLACES), 0)
}

/// The sine of `x` turns.
#[must_use]
pub(crate) fn sine(x: &Number) -> Number {
    let quarters = x.times_power(2).round_to(0, Round::NearestEven);
    // Within an eighth of a turn of zero.
    let rest = x + &Number::new(-quarters.clone(), -2);
    let quadrant = i64::try_from(((quarters % 4) + 4) % 4).unwrap_or(0);
    if rest.is_zero() {
        return Number::new([0, 1, 0, -1][quadrant as usize], 0);
    }
    let angle = times(&rest.round_to(-PLACES, Round::Down), &(&*PI * 2));
    let square = times(&angle, &angle);
    let is_cosine = quadrant % 2 == 1;
    let (mut term, mut k) = if is_cosine { (one(), 1) } else { (angle, 2) };
    let mut sum = BigInt::ZERO;
    while !is_negligible(&term) {
        sum += &term;
        term = -times(&term, &square) / (k * (k + 1));
        k += 2;
    }
    inexact(if quadrant < 2 { sum } else { -sum }, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digits of OEIS A002193 (the root of 2), A020857 (log2 of 3) and A010503 (the sine of an eighth turn).
    #[test]
    fn series_give_published_digits() {
        let digits =
            |x: &Number, n: u32| (x * &Number::new(BigInt::from(10).pow(n), 0)).round_to(0, Round::Down);
        for (number, expected) in [
            (exp2(&Number::new(1, -1)), "14142135623730950488016887242096980785696"),
            (log2(&Number::new(3, 0)), "15849625007211561814537389439478165087598"),
            (sine(&Number::new(1, -3)), "7071067811865475244008443621048490392848"),
            (sine(&Number::new(3, -3)), "7071067811865475244008443621048490392848"),
            (sine(&Number::new(-3, -3)), "-7071067811865475244008443621048490392849"),
        ] {
            assert_eq!(digits(&number, 40).to_string(), expected);
        }
    }

    #[test]
    fn exact_results_are_exact() {
        assert_eq!(exp2(&Number::new(-150, 0)), Number::new(1, -150));
        assert_eq!(log2(&Number::new(1, -149)), Number::new(-149, 0));
        assert_eq!(sine(&Number::new(5, -1)), Number::zero());
        assert_eq!(sine(&Number::new(3, -2)), Number::new(-1, 0));
        assert_eq!(sine(&Number::new(-3, -2)), Number::new(1, 0));
    }
}
