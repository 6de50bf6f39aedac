//! Sums in a fixed order, bit for bit.

use crate::case::{Case, Size, Value};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const GROUP: usize = 256;

pub(crate) fn case(size: Size) -> Case {
    let (n, groups, x) = numbers(size);
    Case::new("reduction", "reduction", reference)
        .cover(groups * GROUP as u32, GROUP as u32)
        .buffer("x", &x)
        .buffer("partial", &vec![0f32; groups as usize])
        .u32("n", n)
        .arg("scratch", Value::Local(4 * GROUP as u32))
}

pub(crate) fn single_pass(size: Size) -> Case {
    let (n, groups, x) = numbers(size);
    Case::new("reduction_single_pass", "reduction", reference_single_pass)
        .cover(groups * GROUP as u32, GROUP as u32)
        .buffer("x", &x)
        .buffer("partial", &vec![0f32; groups as usize])
        .buffer("total", &[0f32])
        .buffer("arrived", &[0u32])
        .u32("n", n)
}

fn numbers(size: Size) -> (u32, u32, Vec<f32>) {
    let (n, groups) = size.pick((70 * GROUP as u32 * 3 + 37, 70), (1 << 24, 4096));
    (n, groups, Random::new(3).many(n as usize, |r| r.f32(-1.0, 1.0)))
}

fn reference(case: &Case) -> Vec<Expect> {
    let partial = partial_sums(&case.input("x"), case.groups()[0] as usize);
    vec![Expect::Unchanged, Expect::values(&partial)]
}

fn reference_single_pass(case: &Case) -> Vec<Expect> {
    let partial = partial_sums(&case.input("x"), case.groups()[0] as usize);
    let total = partial_sums(&partial, 1);
    vec![Expect::Unchanged, Expect::values(&partial), Expect::values(&total), Expect::values(&[0u32])]
}

/// The sums of the groups. Item i of all items adds every (groups * GROUP)th number from the ith
/// on. Then the items of a group add the upper half of their sums to the lower half until one is
/// left.
fn partial_sums(x: &[f32], groups: usize) -> Vec<f32> {
    let items = groups * GROUP;
    let mut sums: Vec<f32> =
        (0..items).map(|i| x.iter().skip(i).step_by(items).fold(0.0, |sum, x| sum + x)).collect();
    sums.chunks_exact_mut(GROUP)
        .map(|group| {
            let mut half = GROUP / 2;
            while half > 0 {
                for l in 0..half {
                    group[l] += group[l + half];
                }
                half /= 2;
            }
            group[0]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_add_up() {
        let x: Vec<f32> = (1..=1000).map(|i| i as f32).collect();
        assert_eq!(partial_sums(&x, 1), [500_500.0]);
        // Group 0 has 1..=256, 513..=768; group 1 the rest.
        assert_eq!(partial_sums(&x, 2), [32_896.0 + 163_968.0, 500_500.0 - 196_864.0]);
    }

    #[test]
    fn the_order_is_a_tree() {
        // From left to right, the ones would be lost one by one: 2^24 + 1 rounds to 2^24.
        let mut x = vec![1f32; GROUP];
        x[0] = 16_777_216.0;
        assert_eq!(partial_sums(&x, 1), [16_777_216.0 + 254.0]);
    }
}
