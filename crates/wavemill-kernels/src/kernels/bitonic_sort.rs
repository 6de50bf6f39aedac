//! Bitonic sorting: tiles, and a step after the tiles.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Keys of a tile, which a workgroup sorts.
const KEYS: u32 = 1024;
/// Items of a workgroup.
const ITEMS: u32 = 256;

pub(crate) fn local(size: Size) -> Case {
    // Few tiles for many groups: without optimisation, a tile needs 200 000 instructions.
    let (n, groups) = size.pick((9 * KEYS - 300, 64), (512 * KEYS, 512));
    Case::new("bitonic_sort_local", "bitonic_sort", local_reference)
        .cover(groups * ITEMS, ITEMS)
        .buffer("keys", &keys(n))
        .u32("n", n)
}

pub(crate) fn step(size: Size) -> Case {
    // The last run of 4096 is incomplete, so that some keys have no partner.
    let n = size.pick(2 * 66 * ITEMS - 1000, 1 << 24);
    Case::new("bitonic_sort_step", "bitonic_sort", step_reference)
        .cover(n.next_multiple_of(4096) / 2, ITEMS)
        .buffer("keys", &keys(n))
        .u32("n", n)
        .u32("size", 4096)
        .u32("distance", 512)
}

/// Arbitrary keys, some of them many times, with the smallest and the largest.
fn keys(n: u32) -> Vec<u32> {
    Random::new(42).many(n as usize, |r| match r.below(8) {
        0 => r.below(3).wrapping_sub(1),
        1 => r.below(100) << 20,
        _ => r.u32(),
    })
}

fn local_reference(case: &Case) -> Vec<Expect> {
    let mut keys = case.input::<u32>("keys");
    sort_tiles(&mut keys);
    vec![Expect::values(&keys)]
}

fn sort_tiles(keys: &mut [u32]) {
    for (t, tile) in keys.chunks_mut(KEYS as usize).enumerate() {
        tile.sort_unstable();
        if t % 2 == 1 {
            tile.reverse();
        }
    }
}

fn step_reference(case: &Case) -> Vec<Expect> {
    let mut keys = case.input::<u32>("keys");
    order_pairs(&mut keys, case.get_u32("size") as usize, case.get_u32("distance") as usize);
    vec![Expect::values(&keys)]
}

/// Puts every key and the one `distance` after it in the order of their run.
fn order_pairs(keys: &mut [u32], size: usize, distance: usize) {
    for i in 0..keys.len().saturating_sub(distance) {
        let up = i & size == 0;
        if i & distance == 0 && (keys[i] > keys[i + distance]) == up {
            keys.swap(i, i + distance);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_steps_are_a_sort() {
        let mut sorted = keys(16 * KEYS);
        let mut expected = sorted.clone();
        expected.sort_unstable();
        sort_tiles(&mut sorted);
        let mut size = 2 * KEYS as usize;
        while size <= sorted.len() {
            assert!(!sorted.is_sorted());
            let mut distance = size / 2;
            while distance > 0 {
                order_pairs(&mut sorted, size, distance);
                distance /= 2;
            }
            size *= 2;
        }
        assert_eq!(sorted, expected);
    }

    #[test]
    fn a_step_done_by_hand() {
        let mut keys = [4, 3, 2, 1, 4, 3, 2, 1, 9, 8, 7];
        order_pairs(&mut keys, 4, 2);
        // Up, down, and one pair of an incomplete run.
        assert_eq!(keys, [2, 1, 4, 3, 4, 3, 2, 1, 7, 8, 9]);
    }
}
