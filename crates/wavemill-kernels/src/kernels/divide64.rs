//! Quotients and remainders of 64-bit integers.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Numbers at which the steps of a long division are most likely to fail: powers of two, and the
/// neighbours of the largest numbers of 31 to 33, 52, 53, 63 and 64 bits.
const EDGES: [u64; 40] = [
    0,
    1,
    2,
    3,
    5,
    7,
    10,
    0xffff,
    0x1_0000,
    0x1_0001,
    0x7fff_fffe,
    0x7fff_ffff,
    0x8000_0000,
    0x8000_0001,
    0xffff_fffe,
    0xffff_ffff,
    0x1_0000_0000,
    0x1_0000_0001,
    0x1_ffff_ffff,
    0x2_0000_0000,
    0x0000_ffff_ffff_ffff,
    0x000f_ffff_ffff_ffff,
    0x001f_ffff_ffff_ffff,
    0x0020_0000_0000_0000,
    0x0020_0000_0000_0001,
    0x0fff_ffff_ffff_ffff,
    0x4000_0000_0000_0000,
    0x7fff_ffff_0000_0000,
    0x7fff_ffff_7fff_ffff,
    0x7fff_ffff_ffff_fffe,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    0x8000_0000_0000_0001,
    0x8000_0000_ffff_ffff,
    0xffff_fffe_ffff_ffff,
    0xffff_ffff_0000_0000,
    0xffff_ffff_7fff_ffff,
    0xffff_ffff_8000_0000,
    0xffff_ffff_ffff_fffe,
    0xffff_ffff_ffff_ffff,
];

pub(crate) fn unsigned(size: Size) -> Case {
    make("divide_u64", size, unsigned_reference)
}

pub(crate) fn signed(size: Size) -> Case {
    make("divide_i64", size, signed_reference)
}

fn make(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let mut random = Random::new(51);
    let mut pairs: Vec<(u64, u64)> = EDGES.iter().flat_map(|&a| EDGES.iter().map(move |&b| (a, b))).collect();
    // Numbers of arbitrary length, so that quotients have arbitrary lengths, too; products and
    // their neighbours; numbers of only 32 bits, for which the compiler has a special path that
    // runs only if a whole wave takes it.
    let long = |r: &mut Random| r.u64() >> r.below(64);
    pairs.extend(random.many(size.pick(5000, 1 << 20), |r| (long(r), long(r))));
    pairs.extend(random.many(size.pick(5000, 1 << 20), |r| {
        let b = long(r) >> 16;
        (b.wrapping_mul(long(r) >> 16).wrapping_add(u64::from(r.below(3))).wrapping_sub(1), b)
    }));
    pairs.extend(random.many(size.pick(1001, 1 << 20), |r| (u64::from(r.u32()), long(r) >> 32)));
    // Division by 0 and of the smallest number by -1 is undefined.
    let pairs =
        pairs.into_iter().map(|(a, b)| if b == 0 || a == 1 << 63 && b == u64::MAX { (a, 3) } else { (a, b) });
    let (a, b): (Vec<u64>, Vec<u64>) = pairs.unzip();
    let zeros = vec![0u64; a.len()];
    Case::new(name, "divide64", reference)
        .cover(a.len() as u32, 64)
        .buffer("a", &a)
        .buffer("b", &b)
        .buffer("quotient", &zeros)
        .buffer("remainder", &zeros)
        .u32("n", a.len() as u32)
}

fn unsigned_reference(case: &Case) -> Vec<Expect> {
    reference(case, |a, b| [a / b, a % b])
}

fn signed_reference(case: &Case) -> Vec<Expect> {
    reference(case, |a, b| {
        let (a, b) = (a.cast_signed(), b.cast_signed());
        [a / b, a % b].map(i64::cast_unsigned)
    })
}

fn reference(case: &Case, divide: fn(u64, u64) -> [u64; 2]) -> Vec<Expect> {
    let (a, b) = (case.input::<u64>("a"), case.input::<u64>("b"));
    let results = || a.iter().zip(&b).map(|(&a, &b)| divide(a, b));
    let quotient: Vec<u64> = results().map(|[quotient, _]| quotient).collect();
    let remainder: Vec<u64> = results().map(|[_, remainder]| remainder).collect();
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&quotient), Expect::values(&remainder)]
}

pub(crate) fn constant(size: Size) -> Case {
    let n = size.pick(64 * 64 - 3, 1 << 21);
    let mut a = EDGES.to_vec();
    a.extend(Random::new(52).many(n - a.len(), |r| r.u64() >> r.below(64)));
    Case::new("divide_constant", "divide64", constant_reference)
        .cover(n as u32, 64)
        .buffer("a", &a)
        .buffer("unsigned_parts", &vec![0u64; 4 * n])
        .buffer("signed_parts", &vec![0u64; 4 * n])
        .u32("n", n as u32)
}

fn constant_reference(case: &Case) -> Vec<Expect> {
    let a = case.input::<u64>("a");
    let unsigned: Vec<u64> = a.iter().flat_map(|u| [u / 10, u % 10, u / 1_000_000_007, u % 4096]).collect();
    let signed: Vec<u64> = a
        .iter()
        .map(|u| u.cast_signed())
        .flat_map(|s| [s / 10, s % 10, s / 1_000_000_007, s % 4096].map(i64::cast_unsigned))
        .collect();
    vec![Expect::Unchanged, Expect::values(&unsigned), Expect::values(&signed)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quotient and remainder, bit by bit.
    fn long_division(a: u64, b: u64) -> [u64; 2] {
        let (mut quotient, mut rest) = (0, 0u128);
        for bit in (0..64).rev() {
            rest = rest << 1 | u128::from(a >> bit & 1);
            if rest >= u128::from(b) {
                rest -= u128::from(b);
                quotient |= 1 << bit;
            }
        }
        [quotient, rest as u64]
    }

    #[test]
    fn the_host_divides_as_one_does_on_paper() {
        let case = unsigned(Size::Small);
        let Expect::Exactly(quotient) = &unsigned_reference(&case)[2] else { panic!("numbers") };
        let quotient = crate::case::values_of::<u64>(quotient);
        for ((a, b), quotient) in case.input("a").into_iter().zip(case.input("b")).zip(quotient) {
            assert_eq!([quotient, a - quotient * b], long_division(a, b), "{a} / {b}");
        }
    }

    #[test]
    fn signs_follow_the_dividend() {
        let case = Case::new("divide_i64", "divide64", signed_reference)
            .buffer("a", &[7, -7, 7, -7, i64::MIN].map(i64::cast_unsigned))
            .buffer("b", &[2, 2, -2, -2, 2].map(i64::cast_unsigned))
            .buffer("quotient", &[0u64; 5])
            .buffer("remainder", &[0u64; 5]);
        let signed = |x: [i64; 5]| crate::case::bytes_of(&x.map(i64::cast_unsigned));
        let (a, b) = (case.input::<u64>("a"), case.input::<u64>("b"));
        let (a, b) = (crate::case::bytes_of(&a), crate::case::bytes_of(&b));
        let results = [a, b, signed([3, -3, -3, 3, i64::MIN / 2]), signed([1, -1, 1, -1, 0])];
        assert_eq!(case.check(&results), Ok(()));
    }

    #[test]
    fn edges_meet_every_edge_and_nothing_is_undefined() {
        let case = signed(Size::Small);
        let pairs: Vec<(u64, u64)> = case.input("a").into_iter().zip(case.input("b")).collect();
        assert!(pairs.iter().all(|&(a, b)| b != 0 && (a, b) != (1 << 63, u64::MAX)));
        assert!(pairs.contains(&(1 << 63, u64::MAX - 1)) && pairs.contains(&(u64::MAX, 1)));
    }
}
