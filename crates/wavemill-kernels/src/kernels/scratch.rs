//! Private arrays in scratch memory.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Values that an item sorts.
const WINDOW: usize = 96;

pub(crate) fn sort(size: Size) -> Case {
    let n = size.pick(64 * 64 - 7, 16 * 1024);
    // Small enough for equal values to be common.
    let x = Random::new(11).many(n * WINDOW, |r| r.below(1000));
    Case::new("scratch_sort", "scratch", sort_reference)
        .cover(n as u32, 64)
        .buffer("x", &x)
        .buffer("y", &vec![0u32; n * WINDOW])
        .u32("n", n as u32)
}

pub(crate) fn bytes(size: Size) -> Case {
    let n = size.pick(64 * 64 - 7, 32 * 1024);
    Case::new("scratch_bytes", "scratch", bytes_reference)
        .cover(n as u32, 64)
        .buffer("swaps", &Random::new(12).many(n, |r| r.u32() as u8))
        .buffer("y", &vec![0u32; n])
        .u32("n", n as u32)
        .u32("count", 150)
}

fn sort_reference(case: &Case) -> Vec<Expect> {
    let mut y = case.input::<u32>("x");
    y.chunks_exact_mut(WINDOW).for_each(<[u32]>::sort_unstable);
    vec![Expect::Unchanged, Expect::values(&y)]
}

fn bytes_reference(case: &Case) -> Vec<Expect> {
    let swaps = case.input::<u8>("swaps");
    let count = case.get_u32("count") as usize;
    let y: Vec<u32> = (0..swaps.len()).map(|i| permutation_sum(&swaps, i, count)).collect();
    vec![Expect::Unchanged, Expect::values(&y)]
}

fn permutation_sum(swaps: &[u8], i: usize, count: usize) -> u32 {
    let mut table: [u8; 256] = std::array::from_fn(|j| j as u8);
    for j in 0..count {
        let p = usize::from(swaps[(i + j) % swaps.len()]);
        table.swap(p, (p + 1 + j) % 256);
    }
    let mut sum = 0u32;
    for &at in &table {
        sum = sum.wrapping_mul(31).wrapping_add(u32::from(table[usize::from(at)]));
    }
    let word = |at: usize| u32::from_le_bytes(std::array::from_fn(|k| table[at + k]));
    for j in 0..16 {
        let half_word = (sum as usize + j) % 128;
        sum ^= word(16 * ((j + i) % 16) + 8)
            .wrapping_add(u32::from(u16::from_le_bytes([table[2 * half_word], table[2 * half_word + 1]])))
            .wrapping_add(word(4 * (sum as usize % 64)));
    }
    sum
}
