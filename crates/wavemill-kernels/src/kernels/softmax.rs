//! Softmax of rows, near the exact result. The bounds of the instructions determine how near.

use crate::case::{Case, Size};
use crate::check::{Expect, Near};
use crate::random::Random;

/// Items of a workgroup.
const GROUP: usize = 128;
/// The largest relative error of rounding to nearest.
const U: f64 = 1.0 / 16_777_216.0;

pub(crate) fn case(size: Size) -> Case {
    let (rows, columns) = size.pick((67, 300), (8192, 1024));
    let x = Random::new(4).many((rows * columns) as usize, |r| r.f32(-12.0, 12.0));
    Case::new("softmax", "softmax", reference)
        .cover(rows * GROUP as u32, GROUP as u32)
        .buffer("x", &x)
        .buffer("y", &vec![0f32; x.len()])
        .u32("columns", columns)
}

fn reference(case: &Case) -> Vec<Expect> {
    let columns = case.get_u32("columns") as usize;
    let near = case.input::<f32>("x").chunks_exact(columns).flat_map(row).collect();
    vec![Expect::Unchanged, Expect::Near(near)]
}

/// The exact results for a row, and bounds for the kernel's rounding errors.
///
/// With u = 2^-24, the largest relative error of one rounding, and t = x - max (the maximum is
/// exact):
/// - the power: `native_exp2(t * log2(e))` rounds the difference, the constant and the product, so
///   the exponent is off by a factor of 1 +- 3u, the power by exp(3u |t|); V_EXP_F32 adds 1 ulp, at
///   most 2u (Vega ISA 12.8);
/// - the sum: each power is part of at most ceil(columns / group) - 1 additions of its item and 7
///   of the tree; all terms are positive, so the relative error is the weighted error of the terms,
///   plus u for each addition;
/// - the quotient: V_RCP_F32, 1 ulp (at most 2u), and a multiplication (u); splitting and scaling
///   numbers with V_FREXP and V_LDEXP is exact, as no result here is denormal.
///
/// Errors are added; an extra factor of one in a thousand covers their products, which are far
/// smaller.
fn row(x: &[f32]) -> Vec<Near> {
    let largest = f64::from(x.iter().copied().fold(f32::NEG_INFINITY, f32::max));
    let powers: Vec<(f64, f64)> = x
        .iter()
        .map(|&x| {
            let t = f64::from(x) - largest;
            (t.exp(), 3.0 * U * t.abs() + 2.0 * U)
        })
        .collect();
    let sum: f64 = powers.iter().map(|(power, _)| power).sum();
    let additions = (x.len().div_ceil(GROUP) - 1 + 7) as f64;
    let sum_error = powers.iter().map(|(power, error)| power * error).sum::<f64>() / sum + additions * U;
    powers
        .iter()
        .map(|&(power, error)| {
            let exact = power / sum;
            Near { exact, bound: exact * (error + sum_error + 3.0 * U) * 1.001 }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::row;

    #[test]
    fn equal_numbers_share_equally() {
        for near in row(&[3.5; 8]) {
            assert_eq!(near.exact, 0.125);
            assert!(near.bound > 0.0 && near.bound < 1e-6);
        }
    }

    #[test]
    fn a_row_adds_up_to_one() {
        let x: Vec<f32> = (0..300).map(|i| (i * 37 % 100) as f32 / 10.0).collect();
        let total: f64 = row(&x).iter().map(|near| near.exact).sum();
        assert!((total - 1.0).abs() < 1e-14);
        // exp(1) times as likely for every unit more.
        let near = row(&[0.0, 1.0]);
        assert!((near[1].exact / near[0].exact - std::f64::consts::E).abs() < 1e-14);
    }
}
