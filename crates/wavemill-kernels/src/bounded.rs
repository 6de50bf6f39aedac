//! Arithmetic that tracks rounding: the result of a chain of single precision operations without
//! rounding, and a bound for the effect of rounding on it.
//!
//! A reference performs the operations of its kernel with these numbers, in the same order. Each
//! operation propagates the errors of its operands in full, without cancellation, and adds its own:
//! u = 2^-24 of the result for an operation that rounds to nearest, 2u (1 ulp) for one of the
//! approximating instructions (Vega ISA 12.8).

use std::ops::{Add, Mul, Neg, Sub};

use crate::check::Near;

/// The largest relative error of rounding to nearest.
const U: f64 = 1.0 / 16_777_216.0;
/// More than the error of an operation whose result is denormal, rounded or flushed.
const TINY: f64 = f32::MIN_POSITIVE as f64;
/// For the rounding of the bounds themselves, and of the exact results in double precision.
const SLACK: f64 = 1.001;

/// A result and the bound of its error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounded {
    /// The result without rounding.
    pub(crate) exact: f64,
    /// Largest distance of the kernel's result from it.
    pub(crate) error: f64,
}

impl Bounded {
    /// A number that the kernel has exactly.
    pub(crate) fn of(x: f32) -> Bounded {
        Bounded { exact: f64::from(x), error: 0.0 }
    }

    /// A constant that the kernel has rounded to single precision.
    pub(crate) fn rounded(x: f64) -> Bounded {
        Bounded { exact: x, error: (x - f64::from(x as f32)).abs() }
    }

    /// Adds the error of an operation itself: this multiple of 2^-24 of the result.
    fn plus(self, units: f64) -> Bounded {
        Bounded { error: self.error + units * U * (self.exact.abs() + self.error) + TINY, ..self }
    }

    /// A product with an exact number, plus a summand, rounded once.
    pub(crate) fn mul_add(self, factor: Bounded, summand: Bounded) -> Bounded {
        let product = self.unrounded_product(factor);
        let exact = product.exact + summand.exact;
        Bounded { exact, error: product.error + summand.error }.plus(1.0)
    }

    fn unrounded_product(self, other: Bounded) -> Bounded {
        let error =
            self.exact.abs() * other.error + other.exact.abs() * self.error + self.error * other.error;
        Bounded { exact: self.exact * other.exact, error }
    }

    /// V_RCP_F32. The operand must not reach 0.
    pub(crate) fn reciprocal(self) -> Bounded {
        self.unrounded_reciprocal().plus(2.0)
    }

    fn unrounded_reciprocal(self) -> Bounded {
        let size = self.exact.abs();
        assert!(size > self.error, "1 / 0 is possible: {self:?}");
        Bounded { exact: 1.0 / self.exact, error: self.error / (size * (size - self.error)) }
    }

    /// A correctly rounded quotient.
    pub(crate) fn divide(self, by: Bounded) -> Bounded {
        self.unrounded_product(by.unrounded_reciprocal()).plus(1.0)
    }

    /// A quotient computed by V_RCP_F32 and a multiplication.
    pub(crate) fn native_divide(self, by: Bounded) -> Bounded {
        self * by.reciprocal()
    }

    /// V_SQRT_F32. The operand must not be able to fall below 0.
    pub(crate) fn native_sqrt(self) -> Bounded {
        assert!(self.exact >= self.error, "the root of a negative number is possible: {self:?}");
        let exact = self.exact.sqrt();
        Bounded { exact, error: exact - (self.exact - self.error).sqrt() }.plus(2.0)
    }

    /// V_RSQ_F32, or the correctly rounded reciprocal of the correctly rounded root, which has the
    /// same bound. The operand must not reach 0.
    pub(crate) fn rsqrt(self) -> Bounded {
        assert!(self.exact > self.error, "1 / 0 is possible: {self:?}");
        let exact = 1.0 / self.exact.sqrt();
        Bounded { exact, error: 1.0 / (self.exact - self.error).sqrt() - exact }.plus(2.0)
    }

    /// The natural exponential by V_EXP_F32, which computes powers of 2.
    pub(crate) fn native_exp(self) -> Bounded {
        let power = self * Bounded::rounded(std::f64::consts::LOG2_E);
        let exact = power.exact.exp2();
        Bounded { exact, error: exact * (power.error * std::f64::consts::LN_2).exp_m1() }.plus(2.0)
    }

    /// The natural logarithm by V_LOG_F32, which computes logarithms to base 2. The operand must
    /// not reach 0.
    pub(crate) fn native_log(self) -> Bounded {
        assert!(self.exact > self.error, "log(0) is possible: {self:?}");
        let error = -(-self.error / self.exact).ln_1p() * std::f64::consts::LOG2_E;
        let logarithm = Bounded { exact: self.exact.log2(), error }.plus(2.0);
        logarithm * Bounded::rounded(std::f64::consts::LN_2)
    }

    /// The sine and the cosine by V_SIN_F32 and V_COS_F32, whose unit is a turn. The manual gives
    /// no bound: assume 1 ulp of a result near 1, as for the others.
    pub(crate) fn native_sin_cos(self) -> [Bounded; 2] {
        let turn = std::f64::consts::TAU;
        let part = self * Bounded::rounded(1.0 / turn);
        let (sin, cos) = (part.exact * turn).sin_cos();
        [sin, cos].map(|exact| Bounded { exact, error: part.error * turn + 2.0 * U })
    }

    /// The absolute value, which adds no error.
    pub(crate) fn abs(self) -> Bounded {
        Bounded { exact: self.exact.abs(), ..self }
    }

    /// The expectation for the kernel.
    pub(crate) fn near(self) -> Near {
        Near { exact: self.exact, bound: self.error * SLACK }
    }
}

impl Add for Bounded {
    type Output = Bounded;

    /// The rounded sum.
    fn add(self, other: Bounded) -> Bounded {
        Bounded { exact: self.exact + other.exact, error: self.error + other.error }.plus(1.0)
    }
}

impl Sub for Bounded {
    type Output = Bounded;

    /// The rounded difference.
    fn sub(self, other: Bounded) -> Bounded {
        self + -other
    }
}

impl Mul for Bounded {
    type Output = Bounded;

    /// The rounded product.
    fn mul(self, other: Bounded) -> Bounded {
        self.unrounded_product(other).plus(1.0)
    }
}

impl Neg for Bounded {
    type Output = Bounded;

    fn neg(self) -> Bounded {
        Bounded { exact: -self.exact, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Compares every operation with the host's, on operands with the largest errors that their
    /// bounds allow.
    fn compare(
        bounded: impl Fn(Bounded, Bounded) -> Bounded,
        exact: impl Fn(f64, f64) -> f64,
        single: impl Fn(f32, f32) -> f32,
    ) {
        let mut random = Random::new(99);
        let mut widest = 0f64;
        for _ in 0..2000 {
            let (a, b) = (random.f32(0.5, 4.0), random.f32(0.5, 4.0));
            // The kernel's operands a and b differ from the exact ones by parts in a million.
            let [right_a, right_b] = [a, b].map(|x| f64::from(x) * random.f64(1.0 - 1e-6, 1.0 + 1e-6));
            let operand = |right: f64, x: f32| Bounded { exact: right, error: (right - f64::from(x)).abs() };
            let result = bounded(operand(right_a, a), operand(right_b, b));
            let near = result.near();
            assert_eq!(near.exact, exact(right_a, right_b), "{a} {b}");
            let distance = (f64::from(single(a, b)) - near.exact).abs();
            assert!(distance <= near.bound, "{a} {b}: {distance:e} of {near:?}");
            widest = widest.max(distance / near.bound);
        }
        // The bounds are not so wide that they accept anything.
        assert!(widest > 0.2, "{widest}");
    }

    #[test]
    fn bounds_hold_and_are_not_wide() {
        compare(|a, b| a + b, |a, b| a + b, |a, b| a + b);
        compare(|a, b| a - b, |a, b| a - b, |a, b| a - b);
        compare(|a, b| a * b, |a, b| a * b, |a, b| a * b);
        compare(|a, b| a.mul_add(b, a), |a, b| a * b + a, |a, b| a.mul_add(b, a));
        compare(|a, b| a.divide(b), |a, b| a * (1.0 / b), |a, b| a / b);
        compare(|a, b| a.native_divide(b), |a, b| a * (1.0 / b), |a, b| a * (1.0 / b));
        compare(|a, _| a.native_sqrt(), |a, _| a.sqrt(), |a, _| a.sqrt());
        compare(|a, _| a.rsqrt(), |a, _| 1.0 / a.sqrt(), |a, _| 1.0 / a.sqrt());
    }

    #[test]
    fn functions_have_the_right_values() {
        let close = |x: Bounded, right: f64| {
            assert!((x.exact - right).abs() < 1e-14 && x.error > 0.0 && x.error < 1e-5, "{x:?} {right}");
        };
        close(Bounded::of(2.0).native_exp(), std::f64::consts::E * std::f64::consts::E);
        close(Bounded::of(10.0).native_log(), std::f64::consts::LN_10);
        close(Bounded::of(-4.0).reciprocal(), -0.25);
        let [sin, cos] = Bounded::rounded(std::f64::consts::FRAC_PI_6).native_sin_cos();
        close(sin, 0.5);
        close(cos, 0.75f64.sqrt());
        assert_eq!(Bounded::of(-3.0).abs().exact, 3.0);
    }
}
