//! C = A * B, bit for bit: a rounded product and a rounded addition for each step along k.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn case(size: Size) -> Case {
    let (m, n, k) = size.pick((70, 118, 37), (256, 512, 256));
    let mut random = Random::new(21);
    let mut matrix = |rows: usize, columns: usize| random.many(rows * columns, |r| r.f32(-1.0, 1.0));
    let (mut a, mut b) = (matrix(m, k), matrix(k, n));
    // Every seventh row of A and every fifth column of B is so small that their products are denormal.
    let small = 2f32.powi(-70);
    a.chunks_exact_mut(k).step_by(7).flatten().for_each(|x| *x *= small);
    b.iter_mut().step_by(5).for_each(|x| *x *= small);
    Case::new("sgemm_naive", "sgemm_naive", reference)
        .cover_2d([n as u32, m as u32], [16, 8])
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("c", &vec![-1f32; m * n])
        .u32("m", m as u32)
        .u32("n", n as u32)
        .u32("k", k as u32)
}

fn reference(case: &Case) -> Vec<Expect> {
    let [n, k] = ["n", "k"].map(|name| case.get_u32(name) as usize);
    let c = product(&case.input("a"), &case.input("b"), n, k);
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&c)]
}

fn product(a: &[f32], b: &[f32], n: usize, k: usize) -> Vec<f32> {
    let mut c = vec![0f32; a.len() / k * n];
    for (a_row, c_row) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)) {
        for (&x, b_row) in a_row.iter().zip(b.chunks_exact(n)) {
            for (sum, &y) in c_row.iter_mut().zip(b_row) {
                *sum += x * y;
            }
        }
    }
    c
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn a_product_done_by_hand() {
        // 2 x 3 times 3 x 2.
        let (a, b) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 0.0, 0.0, 1.0, 2.0, -1.0]);
        assert_eq!(product(&a, &b, 2, 3), [7.0, -1.0, 16.0, -1.0]);
    }

    #[test]
    fn products_are_rounded() {
        let x = 1.0 + f32::EPSILON;
        assert_eq!(product(&[1.0 + 2.0 * f32::EPSILON, x], &[-1.0, x], 1, 2), [0.0]);
    }
}
