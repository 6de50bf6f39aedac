//! Xorshift generators.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn xorshift(size: Size) -> Case {
    let (n, rounds) = size.pick((64 * 256 - 9, 100), (64 * 1024, 4096));
    // 0 stays 0; all other states form a cycle of 2^32 - 1.
    let state = Random::new(7).many(n as usize, Random::u32);
    Case::new("xorshift", "xorshift", reference)
        .cover(n, 256)
        .buffer("state", &state)
        .u32("n", n)
        .u32("rounds", rounds)
}

pub(crate) fn xorshift64star(size: Size) -> Case {
    let (n, rounds) = size.pick((64 * 64 - 9, 60), (64 * 1024, 1024));
    let state = Random::new(8).many(n as usize, Random::u64);
    Case::new("xorshift64star", "xorshift", reference64star)
        .cover(n, 64)
        .buffer("state", &state)
        .buffer("sum", &vec![0u64; n as usize])
        .u32("n", n)
        .u32("rounds", rounds)
}

fn reference(case: &Case) -> Vec<Expect> {
    let mut state = case.input::<u32>("state");
    for x in &mut state {
        for _ in 0..case.get_u32("rounds") {
            *x = step(*x);
        }
    }
    vec![Expect::values(&state)]
}

fn reference64star(case: &Case) -> Vec<Expect> {
    let mut state = case.input::<u64>("state");
    let mut sums = vec![0u64; state.len()];
    for (x, sum) in state.iter_mut().zip(&mut sums) {
        for _ in 0..case.get_u32("rounds") {
            *sum = sum.wrapping_add(step64star(x));
        }
    }
    vec![Expect::values(&state), Expect::values(&sums)]
}

fn step(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^ x << 5
}

fn step64star(x: &mut u64) -> u64 {
    *x ^= *x >> 12;
    *x ^= *x << 25;
    *x ^= *x >> 27;
    x.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_number_from_the_published_seed() {
        // "Xorshift RNGs" (Journal of Statistical Software 8, 2003), section 3.
        assert_eq!(step(2_463_534_242), 723_471_715);
    }

    #[test]
    fn steps_from_one_done_by_hand() {
        // 1 << 13 in; then >> 17 adds nothing; << 5 adds bits 5 and 18.
        assert_eq!(step(1), 1 | 1 << 13 | 1 << 5 | 1 << 18);
        // x = 1: >> 12 adds nothing, << 25 adds bit 25, >> 27 nothing.
        let mut x = 1;
        assert_eq!(step64star(&mut x), (1u64 << 25 | 1).wrapping_mul(0x2545_f491_4f6c_dd1d));
        assert_eq!(x, 1 << 25 | 1);
    }
}
