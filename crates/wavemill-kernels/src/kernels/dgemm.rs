//! C = alpha * A * B + beta * C in double precision, bit for bit: successive fused steps along k.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Rows and columns of the tile of C that a workgroup computes.
const TILE: [u32; 2] = [16, 32];
/// Length along k of the strips in LDS: zeros pad k to a multiple of it.
const STRIP: usize = 8;
/// Items of the workgroup along rows and down columns.
const GROUP: [u32; 2] = [16, 8];

pub(crate) fn case(size: Size) -> Case {
    let (m, n, k) = size.pick((120u32, 270u32, 13u32), (512, 512, 512));
    let mut random = Random::new(22);
    let mut matrix = |rows: u32, columns: u32| random.many((rows * columns) as usize, |r| r.f64(-1.0, 1.0));
    let (mut a, mut b, c) = (matrix(m, k), matrix(k, n), matrix(m, n));
    // Every seventh row of A and every fifth column of B is so small that their products are denormal.
    let small = 2f64.powi(-520);
    a.chunks_exact_mut(k as usize).step_by(7).flatten().for_each(|x| *x *= small);
    b.iter_mut().step_by(5).for_each(|x| *x *= small);
    Case::new("dgemm", "dgemm", reference)
        .cover_2d([n.div_ceil(TILE[1]) * GROUP[0], m.div_ceil(TILE[0]) * GROUP[1]], GROUP)
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("c", &c)
        .u32("m", m)
        .u32("n", n)
        .u32("k", k)
        .f64("alpha", 1.7)
        .f64("beta", -0.3)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (a, b, c) = (case.input::<f64>("a"), case.input::<f64>("b"), case.input::<f64>("c"));
    let [n, k] = ["n", "k"].map(|name| case.get_u32(name) as usize);
    let c = product(&a, &b, &c, [n, k], case.get_f64("alpha"), case.get_f64("beta"));
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&c)]
}

fn product(a: &[f64], b: &[f64], c: &[f64], [n, k]: [usize; 2], alpha: f64, beta: f64) -> Vec<f64> {
    let mut out = Vec::with_capacity(c.len());
    let mut sums = vec![0f64; n];
    for (a_row, c_row) in a.chunks_exact(k).zip(c.chunks_exact(n)) {
        sums.fill(0.0);
        for (&x, b_row) in a_row.iter().zip(b.chunks_exact(n)) {
            for (sum, &y) in sums.iter_mut().zip(b_row) {
                *sum = x.mul_add(y, *sum);
            }
        }
        if !k.is_multiple_of(STRIP) {
            // The zeros that pad the last strip turn -0 into 0, and change nothing else.
            sums.iter_mut().for_each(|sum| *sum += 0.0);
        }
        out.extend(sums.iter().zip(c_row).map(|(&sum, &c)| alpha.mul_add(sum, beta * c)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn a_product_done_by_hand() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 0.0, 1.0, 2.0, -1.0]);
        let c = [10.0, 20.0, 30.0, 40.0];
        // A (2 x 3) times B (3 x 2) is (7, -1; 16, -1).
        assert_eq!(product(&a, &b, &c, [2, 3], 1.0, 0.0), [7.0, -1.0, 16.0, -1.0]);
        assert_eq!(product(&a, &b, &c, [2, 3], 2.0, 0.5), [19.0, 8.0, 47.0, 18.0]);
    }

    #[test]
    fn steps_are_fused() {
        // (1 + e)^2 - (1 + 2e) is e^2; only an unrounded product keeps it.
        let x = 1.0 + f64::EPSILON;
        let a = [1.0 + 2.0 * f64::EPSILON, x];
        assert_eq!(product(&a, &[-1.0, x], &[0.0], [1, 2], 1.0, 0.0), [f64::EPSILON * f64::EPSILON]);
    }
}
