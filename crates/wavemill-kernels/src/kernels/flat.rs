//! Generic pointers to global memory, LDS and scratch.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup.
const GROUP: usize = 64;

pub(crate) fn flat(size: Size) -> Case {
    let n = size.pick(70, 1024) * GROUP;
    let mut random = Random::new(13);
    Case::new("flat", "flat", flat_reference)
        .cover(n as u32, GROUP as u32)
        .buffer("kind", &random.many(n, |r| r.below(100)))
        .buffer("cells", &random.many(4 * n, Random::u32))
        .buffer("y", &vec![0u32; 4 * n])
        .u32("rounds", size.pick(10, 100))
}

pub(crate) fn flat_atomic(size: Size) -> Case {
    let n = size.pick(70, 32_768) * GROUP;
    Case::new("flat_atomic", "flat", atomic_reference)
        .cover(n as u32, GROUP as u32)
        .buffer("amount", &Random::new(14).many(n, Random::u32))
        .buffer("total", &[0u32])
        .buffer("y", &vec![0u32; n / GROUP])
}

/// Adds to the four cells and returns their old sum, as `bump` in the source does.
fn bump(cells: &mut [u32], amount: u32) -> u32 {
    let mut sum = 0u32;
    for (j, cell) in (0..).zip(cells) {
        sum = sum.wrapping_add(*cell);
        *cell = cell.wrapping_add(amount + j);
    }
    sum
}

fn flat_reference(case: &Case) -> Vec<Expect> {
    let kind = case.input::<u32>("kind");
    let mut cells = case.input::<u32>("cells");
    let mut y = Vec::with_capacity(cells.len());
    for group in 0..kind.len() / GROUP {
        let first = (group * GROUP) as u32;
        let mut shared: Vec<[u32; 4]> =
            (first..).take(GROUP).map(|i| std::array::from_fn(|j| 2 * i + j as u32)).collect();
        let mut results = Vec::with_capacity(GROUP);
        for (i, shared) in (group * GROUP..).zip(&mut shared) {
            let mut own: [u32; 4] = std::array::from_fn(|j| (i + j) as u32);
            let mut sum = 0u32;
            for round in 0..case.get_u32("rounds") {
                let which = (kind[i] + round) % 3;
                let place: &mut [u32] = match which {
                    0 => &mut cells[4 * i..4 * i + 4],
                    1 => shared,
                    _ => &mut own,
                };
                sum = sum.wrapping_mul(17).wrapping_add(bump(place, round + which));
            }
            results.push((sum, own));
        }
        for ((sum, own), opposite) in results.iter().zip(shared.iter().rev()) {
            y.extend((0..4).map(|j| sum.wrapping_add(own[j]).wrapping_add(opposite[j].wrapping_mul(5))));
        }
    }
    vec![Expect::Unchanged, Expect::values(&cells), Expect::values(&y)]
}

fn atomic_reference(case: &Case) -> Vec<Expect> {
    let amount = case.input::<u32>("amount");
    let sum = |amounts: &[u32], odd: u32| {
        amounts
            .iter()
            .filter(|&&amount| amount % 2 == odd)
            .fold(0u32, |sum, amount| sum.wrapping_add(*amount))
    };
    let y: Vec<u32> = amount.chunks_exact(GROUP).map(|group| sum(group, 0)).collect();
    vec![Expect::Unchanged, Expect::values(&[sum(&amount, 1)]), Expect::values(&y)]
}
