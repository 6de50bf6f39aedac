//! y = alpha * x + y in double precision, over all kinds of numbers.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const GROUP: u32 = 128;

pub(crate) fn case(size: Size) -> Case {
    let (n, items) = size.pick((70 * GROUP * 2 + 11, 70 * GROUP - 37), (1 << 23, 1 << 19));
    let mut random = Random::new(20);
    // One in eight has arbitrary bits: infinities, NaNs, numbers that overflow. One in eight is
    // small enough for denormal products and sums.
    let mut number = |_| match random.below(8) {
        0 => f64::from_bits(random.u64()),
        1 => random.f64(-8.0, 8.0) * f64::MIN_POSITIVE,
        _ => random.f64(-100.0, 100.0),
    };
    let x: Vec<f64> = (0..n).map(&mut number).collect();
    let y: Vec<f64> = (0..n).map(&mut number).collect();
    let case = Case::new("daxpy", "daxpy", reference).cover(items, GROUP).buffer("x", &x).buffer("y", &y);
    // The last group is smaller than the others.
    Case { global: [items, 1, 1], ..case.f64("alpha", -1.0 / 3.0).u32("n", n) }
}

fn reference(case: &Case) -> Vec<Expect> {
    let y = sums(case.get_f64("alpha"), &case.input::<f64>("x"), &case.input::<f64>("y"));
    vec![Expect::Unchanged, Expect::values(&y)]
}

fn sums(alpha: f64, x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| alpha * x + y).collect()
}

#[cfg(test)]
mod tests {
    use super::sums;

    #[test]
    fn the_product_is_rounded_before_the_sum() {
        assert_eq!(sums(2.0, &[1.0, -3.0], &[5.0, 0.5]), [7.0, -5.5]);
        // (1 + e)^2 - (1 + 2e) is e^2; a rounded product would lose it.
        let x = 1.0 + f64::EPSILON;
        assert_eq!(sums(x, &[x], &[-(1.0 + 2.0 * f64::EPSILON)]), [0.0]);
    }
}
