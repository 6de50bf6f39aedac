//! Functions called through pointers.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn by_lane(size: Size) -> Case {
    let n: usize = size.pick(64 * 64 - 13, 512 * 64);
    let mut random = Random::new(49);
    // In most waves, each lane may call any function; in some, all lanes call the same one.
    let orders = random.many(n.div_ceil(64), Random::u32);
    let order: Vec<u32> =
        (0..n).map(|i| if i / 64 % 5 == 4 { orders[i / 64] } else { random.u32() }).collect();
    Case::new("function_pointers", "function_pointers", by_lane_reference)
        .cover(n as u32, 64)
        .buffer("order", &order)
        .buffer("y", &random.many(n, Random::u32))
        .u32("n", n as u32)
        .u32("rounds", size.pick(7, 40))
}

pub(crate) fn uniform(size: Size) -> Case {
    let n = size.pick(64 * 64 - 13, 32_768 * 64);
    Case::new("function_pointers_uniform", "function_pointers", uniform_reference)
        .cover(n as u32, 64)
        .buffer("y", &Random::new(50).many(n, Random::u32))
        .u32("n", n as u32)
        .u32("which", 3)
}

fn by_lane_reference(case: &Case) -> Vec<Expect> {
    let (order, mut y) = (case.input::<u32>("order"), case.input::<u32>("y"));
    for (i, (y, order)) in (0..).zip(y.iter_mut().zip(&order)) {
        for round in 0..case.get_u32("rounds") {
            *y = step(order >> (2 * (round % 16)) & 3, *y, i + round);
        }
    }
    vec![Expect::Unchanged, Expect::values(&y)]
}

fn uniform_reference(case: &Case) -> Vec<Expect> {
    let y: Vec<u32> = (0..).zip(case.input("y")).map(|(i, y)| step(case.get_u32("which"), y, i)).collect();
    vec![Expect::values(&y)]
}

/// One of the four functions.
fn step(which: u32, x: u32, y: u32) -> u32 {
    match which {
        0 => x.wrapping_mul(0x9e37_79b1).wrapping_add(y),
        1 => {
            let (divisor, steps) = euclid(x, y);
            divisor ^ (steps << 16)
        }
        2 => x.rotate_left(y) ^ (y >> 3),
        3 => {
            let nibble = |j: u32| x >> (4 * (j % 8)) & 15;
            let nibbles: [u32; 8] = std::array::from_fn(|j| nibble((j as u32).wrapping_sub(y)));
            nibbles.iter().fold(0, |sum, &nibble| sum << 4 | nibbles[nibble as usize % 8])
        }
        _ => panic!("there is no function {which}"),
    }
}

/// The greatest common divisor, and the number of divisions.
fn euclid(x: u32, y: u32) -> (u32, u32) {
    if y == 0 {
        return (x, 0);
    }
    let (divisor, steps) = euclid(y, x % y);
    (divisor, steps + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_done_by_hand() {
        assert_eq!(step(0, 2, 5), 0x3c6e_f367);
        // 48 = 1 * 36 + 12; 36 = 3 * 12.
        assert_eq!(euclid(48, 36), (12, 2));
        assert_eq!(step(1, 36, 48), 12 | 3 << 16);
        assert_eq!(step(1, 7, 0), 7);
        assert_eq!(step(2, 0x8000_0001, 33), 3 ^ 4);
        // Nibble j of the array is nibble j - y of x; each is then looked up by its own value.
        assert_eq!(step(3, 0x7654_3210, 0), 0x0123_4567);
        assert_eq!(step(3, 0x7654_3210, 1), 0x6701_2345);
        assert_eq!(step(3, 0x7654_3210, 9), step(3, 0x7654_3210, 1));
    }
}
