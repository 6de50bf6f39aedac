//! Prefix sums of blocks, and the pass that combines the blocks.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const GROUP: u32 = 256;
/// Elements of a workgroup.
const BLOCK: usize = 1024;

pub(crate) fn groups(size: Size) -> Case {
    let x = numbers(size, 1 << 22);
    Case::new("scan_groups", "scan", groups_reference)
        .cover(blocks(&x) as u32 * GROUP, GROUP)
        .buffer("x", &x)
        .buffer("y", &vec![0u32; x.len()])
        .buffer("totals", &vec![0u32; blocks(&x)])
        .u32("n", x.len() as u32)
}

pub(crate) fn add(size: Size) -> Case {
    let x = numbers(size, 1 << 26);
    let (y, mut totals) = block_sums(&x);
    accumulate(&mut totals);
    Case::new("scan_add", "scan", add_reference)
        .cover(blocks(&x) as u32 * GROUP, GROUP)
        .buffer("y", &y)
        .buffer("totals", &totals)
        .u32("n", x.len() as u32)
}

fn numbers(size: Size, of_bench: usize) -> Vec<u32> {
    Random::new(23).many(size.pick(66 * BLOCK - 301, of_bench), Random::u32)
}

fn blocks(x: &[u32]) -> usize {
    x.len().div_ceil(BLOCK)
}

fn groups_reference(case: &Case) -> Vec<Expect> {
    let (y, totals) = block_sums(&case.input::<u32>("x"));
    vec![Expect::Unchanged, Expect::values(&y), Expect::values(&totals)]
}

fn add_reference(case: &Case) -> Vec<Expect> {
    let mut y = case.input::<u32>("y");
    let totals = case.input::<u32>("totals");
    for (block, before) in y.chunks_mut(BLOCK).skip(1).zip(totals) {
        block.iter_mut().for_each(|y| *y = y.wrapping_add(before));
    }
    vec![Expect::values(&y), Expect::Unchanged]
}

/// Every number becomes the sum of itself and all before it.
fn accumulate(x: &mut [u32]) {
    let mut sum = 0u32;
    for x in x {
        sum = sum.wrapping_add(*x);
        *x = sum;
    }
}

/// The prefix sums of each block, and the totals of the blocks.
fn block_sums(x: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut y = x.to_vec();
    y.chunks_mut(BLOCK).for_each(accumulate);
    let totals = y.chunks(BLOCK).filter_map(|block| block.last().copied()).collect();
    (y, totals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_begin_anew() {
        let x: Vec<u32> = (1..=1500).collect();
        let (y, totals) = block_sums(&x);
        assert_eq!((y[0], y[3], y[1023], y[1024], y[1025]), (1, 10, 1024 * 1025 / 2, 1025, 2051));
        assert_eq!(totals, [524_800, 1500 * 1501 / 2 - 524_800]);
    }

    #[test]
    fn both_passes_together_sum_up_everything() {
        let case = add(Size::Small);
        let mut all = numbers(Size::Small, 0);
        accumulate(&mut all);
        let Expect::Exactly(y) = &add_reference(&case)[0] else { panic!("exact") };
        assert_eq!(*y, crate::case::bytes_of(&all));
    }
}
