//! C = alpha * A * B + beta * C, bit for bit: successive fused multiply-adds along k.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Side of the tile of C that a workgroup computes.
const TILE: u32 = 64;
/// Length along k of the strips in LDS: zeros pad k to a multiple of it.
const STRIP: usize = 16;
/// Side of the workgroup, and of the tile's grid of items.
const SIDE: u32 = 16;

pub(crate) fn case(size: Size) -> Case {
    let (m, n, k) = size.pick((500, 470, 40), (512, 512, 512));
    let mut random = Random::new(2);
    let mut matrix = |rows: u32, columns: u32| random.many((rows * columns) as usize, |r| r.f32(-1.0, 1.0));
    let (a, b, c) = (matrix(m, k), matrix(k, n), matrix(m, n));
    Case::new("sgemm", "sgemm", reference)
        .cover_2d([n.div_ceil(TILE) * SIDE, m.div_ceil(TILE) * SIDE], [SIDE, SIDE])
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("c", &c)
        .u32("m", m)
        .u32("n", n)
        .u32("k", k)
        .f32("alpha", 1.25)
        .f32("beta", -0.75)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (a, b, c) = (case.input::<f32>("a"), case.input::<f32>("b"), case.input::<f32>("c"));
    let [n, k] = ["n", "k"].map(|name| case.get_u32(name) as usize);
    let c = product(&a, &b, &c, [n, k], case.get_f32("alpha"), case.get_f32("beta"));
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&c)]
}

fn product(a: &[f32], b: &[f32], c: &[f32], [n, k]: [usize; 2], alpha: f32, beta: f32) -> Vec<f32> {
    let mut out = Vec::with_capacity(c.len());
    let mut sums = vec![0f32; n];
    for (a_row, c_row) in a.chunks_exact(k).zip(c.chunks_exact(n)) {
        sums.fill(0.0);
        // Every sum adds its products in the order of k; the loop along a row of B only helps the
        // host's cache.
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
}
