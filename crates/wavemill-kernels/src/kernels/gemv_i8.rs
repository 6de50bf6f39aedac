//! Matrix times vector in signed bytes, exactly.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const LANES: u32 = 64;

pub(crate) fn plain(size: Size) -> Case {
    make("gemv_i8", size)
}

pub(crate) fn dot4(size: Size) -> Case {
    make("gemv_i8_dot4", size)
}

fn make(name: &'static str, size: Size) -> Case {
    let (rows, quads) = size.pick((131, 150), (8192, 1024));
    let mut random = Random::new(27);
    // Products of the most negative number have the largest magnitude.
    let mut bytes =
        |count: u32| random.many(count as usize, |r| if r.below(9) == 0 { 0x80 } else { r.u32() as u8 });
    let (a, x) = (bytes(4 * rows * quads), bytes(4 * quads));
    Case::new(name, "gemv_i8", reference)
        .cover(rows * LANES, LANES)
        .buffer("a", &a)
        .buffer("x", &x)
        .buffer("y", &vec![u32::MAX; rows as usize])
        .u32("quads", quads)
}

fn reference(case: &Case) -> Vec<Expect> {
    let y = product(&case.input("a"), &case.input("x"));
    vec![Expect::Unchanged, Expect::Unchanged, Expect::values(&y)]
}

/// The bits of the results, which are signed.
fn product(a: &[u8], x: &[u8]) -> Vec<u32> {
    let times = |(a, x): (&u8, &u8)| i32::from(*a as i8) * i32::from(*x as i8);
    a.chunks_exact(x.len()).map(|row| row.iter().zip(x).map(times).sum::<i32>() as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::product;

    #[test]
    fn bytes_are_signed() {
        // (1 2; -1 127; -128 -128) times (3, -128).
        let y = product(&[1, 2, 0xff, 127, 0x80, 0x80], &[3, 0x80]);
        assert_eq!(y, [-253, -16_259, 16_000i32].map(|y| y as u32));
    }
}
