//! Powers of 128-bit numbers modulo others, by functions that call one another.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn case(size: Size) -> Case {
    let n = size.pick(64 * 64 - 11, 768 * 64);
    let mut random = Random::new(47);
    let mut number = || (u128::from(random.u64()) << 64 | u128::from(random.u64())) >> random.below(128);
    let special = [1, 3, 3233, u128::MAX, 1 << 127 | 1, (1 << 127) - 1, u128::MAX - 158];
    let (mut x, mut modulus) = (vec![u128::MAX; special.len()], special.to_vec());
    while modulus.len() < n {
        x.push(number());
        modulus.push(number() | 1);
    }
    let square: Vec<u128> = modulus.iter().map(|&m| power(2, 256, m)).collect();
    Case::new("call_chain", "call_chain", reference)
        .cover(n as u32, 64)
        .buffer("x", &words(&x))
        .buffer("modulus", &words(&modulus))
        .buffer("square", &words(&square))
        .buffer("y", &vec![u32::MAX; 4 * n])
        .u32("n", n as u32)
        .u32("exponent", size.pick(3, 65_537))
}

/// Each number as four words, the lowest first.
fn words(numbers: &[u128]) -> Vec<u32> {
    numbers.iter().flat_map(|number| [0, 32, 64, 96].map(|at| (number >> at) as u32)).collect()
}

fn numbers(words: &[u32]) -> impl Iterator<Item = u128> {
    words
        .as_chunks::<4>()
        .0
        .iter()
        .map(|words| words.iter().rev().fold(0, |n, &word| n << 32 | u128::from(word)))
}

fn reference(case: &Case) -> Vec<Expect> {
    let (x, modulus) = (case.input::<u32>("x"), case.input::<u32>("modulus"));
    let exponent = case.get_u32("exponent");
    let y: Vec<u128> = numbers(&x).zip(numbers(&modulus)).map(|(x, m)| power(x, exponent, m)).collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::Unchanged, Expect::values(&words(&y))]
}

/// The power, only with additions modulo m.
fn power(x: u128, exponent: u32, m: u128) -> u128 {
    let add = |a: u128, b: u128| {
        let (sum, over) = a.overflowing_add(b);
        if over || sum >= m { sum.wrapping_sub(m) } else { sum }
    };
    // From the highest bit down: double the result, and add `value` if the bit is set.
    let product = |bits: u128, value: u128| {
        let used = (0..u128::BITS - bits.leading_zeros()).rev();
        used.fold(0, |sum, bit| if bits >> bit & 1 == 1 { add(add(sum, sum), value) } else { add(sum, sum) })
    };
    let (x, one) = (x % m, 1 % m);
    let bits = (0..u32::BITS - exponent.leading_zeros()).rev();
    bits.fold(one, |y, bit| {
        let y = product(y, y);
        if exponent >> bit & 1 == 1 { product(y, x) } else { y }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_that_are_known() {
        // The example of most textbooks, with the primes 61 and 53.
        assert_eq!(power(65, 17, 3233), 2790);
        assert_eq!(power(2790, 2753, 3233), 65);
        assert_eq!(power(7, 0, 1), 0);
        assert_eq!(power(u128::MAX, 3, u128::MAX - 1), 1);
        assert_eq!(power(2, 256, u128::MAX), 1);
        assert_eq!(power(2, 128, (1 << 127) - 1), 2);
    }

    #[test]
    fn powers_of_powers_are_powers_of_the_product() {
        let mut random = Random::new(48);
        for _ in 0..50 {
            let mut number = || u128::from(random.u64()) << 64 | u128::from(random.u64());
            let (x, m) = (number(), number());
            assert_eq!(power(power(x, 17, m), 257, m), power(x, 17 * 257, m), "{x} modulo {m}");
            // Fermat's little theorem: p = 2^127 - 1 is prime, so x^p is x, and x^(2^127) is x^2.
            let p = (1 << 127) - 1;
            let high = (0..4).fold(x, |x, _| power(x, 1 << 31, p));
            assert_eq!(power(high, 8, p), power(x, 2, p));
        }
    }

    #[test]
    fn words_are_numbers() {
        let all = [1, u128::MAX, 0x0123_4567_89ab_cdef_0011_2233_4455_6677];
        assert_eq!(words(&all)[8..], [0x4455_6677, 0x0011_2233, 0x89ab_cdef, 0x0123_4567]);
        assert!(numbers(&words(&all)).eq(all));
    }
}
