//! Subtracts the mean of rows and scales them to variance 1, near the exact result.

use crate::bounded::Bounded;
use crate::case::{Case, Size};
use crate::check::{Expect, Near};
use crate::random::Random;

/// Items of a workgroup.
const GROUP: usize = 128;

pub(crate) fn case(size: Size) -> Case {
    let (rows, columns) = size.pick((67, 300), (4096, 1024));
    let mut random = Random::new(29);
    let mut x = Vec::with_capacity(rows * columns);
    for row in 0..rows {
        // Rows of all sizes, some far from 0.
        let scale = 2f32.powi(row as i32 % 21 - 10);
        let middle = if row % 5 == 0 { 20.0 * scale } else { 0.0 };
        x.extend(random.many(columns, |r| middle + scale * r.f32(-1.0, 1.0)));
    }
    let gain = random.many(columns, |r| r.f32(0.5, 1.5));
    let bias = random.many(columns, |r| r.f32(-0.5, 0.5));
    Case::new("layer_norm", "layer_norm", reference)
        .cover((rows * GROUP) as u32, GROUP as u32)
        .buffer("x", &x)
        .buffer("y", &vec![0f32; x.len()])
        .buffer("gain", &gain)
        .buffer("bias", &bias)
        .u32("columns", columns as u32)
        .f32("epsilon", 1e-5)
}

fn reference(case: &Case) -> Vec<Expect> {
    let (gain, bias) = (case.input::<f32>("gain"), case.input::<f32>("bias"));
    let epsilon = case.get_f32("epsilon");
    let x = case.input::<f32>("x");
    let near = x.chunks_exact(gain.len()).flat_map(|x| row(x, &gain, &bias, epsilon)).collect();
    vec![Expect::Unchanged, Expect::Near(near), Expect::Unchanged, Expect::Unchanged]
}

/// The kernel's operations on a row. The sums follow the kernel's order, because the bound of a sum
/// depends on it.
fn row(x: &[f32], gain: &[f32], bias: &[f32], epsilon: f32) -> Vec<Near> {
    let count = Bounded::of(x.len() as f32);
    let mean = group_sum(x, |sum, x| sum + Bounded::of(x)).divide(count);
    let distance = |x: f32| Bounded::of(x) - mean;
    let squares = group_sum(x, |sum, x| distance(x).mul_add(distance(x), sum));
    let scale = (squares.divide(count) + Bounded::of(epsilon)).rsqrt();
    let affine = |(&x, (&gain, &bias)): (&f32, (&f32, &f32))| {
        (distance(x) * scale).mul_add(Bounded::of(gain), Bounded::of(bias)).near()
    };
    x.iter().zip(gain.iter().zip(bias)).map(affine).collect()
}

/// Each item adds every 128th number to its sum. The upper half of the sums is added to the lower
/// half until one is left.
fn group_sum(x: &[f32], take: impl Fn(Bounded, f32) -> Bounded) -> Bounded {
    let mut sums = [Bounded::of(0.0); GROUP];
    for x in x.chunks(GROUP) {
        sums.iter_mut().zip(x).for_each(|(sum, &x)| *sum = take(*sum, x));
    }
    let mut half = GROUP / 2;
    while half > 0 {
        for l in 0..half {
            sums[l] = sums[l] + sums[l + half];
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn two_numbers_lie_on_both_sides() {
        let near = row(&[3.0, 7.0], &[1.0, 10.0], &[0.0, 5.0], 0.0);
        assert!((near[0].exact + 1.0).abs() < 1e-14 && (near[1].exact - 15.0).abs() < 1e-13);
        assert!(near.iter().all(|near| near.bound > 1e-7 && near.bound < 1e-4));
    }

    #[test]
    fn a_row_gets_mean_0_and_variance_1() {
        let x: Vec<f32> = (0..300).map(|i| (i * 37 % 100) as f32 / 10.0).collect();
        let near = row(&x, &[1.0; 300], &[0.0; 300], 0.0);
        let mean = near.iter().map(|near| near.exact).sum::<f64>() / 300.0;
        let variance = near.iter().map(|near| near.exact * near.exact).sum::<f64>() / 300.0;
        assert!(mean.abs() < 1e-14 && (variance - 1.0).abs() < 1e-13);
    }
}
