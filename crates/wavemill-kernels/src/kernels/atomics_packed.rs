//! Atomic additions that only some targets have: of pairs, and through generic pointers.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup, and of a wave.
const GROUP: usize = 128;
const WAVE: usize = 64;

pub(crate) fn packed(size: Size) -> Case {
    let groups = size.pick(65, 4096);
    let waves = groups * GROUP / WAVE;
    let mut random = Random::new(65);
    let halves = random.many(groups, |r| pair(half, r.below(100), r.below(100)));
    let bfloats = random.many(waves, |r| pair(bfloat, r.below(60), r.below(60)));
    make("atomics_packed", groups, packed_reference)
        .buffer("halves", &halves)
        .buffer("bfloats", &bfloats)
        .buffer("halves_local", &vec![u32::MAX; groups])
        .buffer("bfloats_local", &vec![u32::MAX; waves])
        .buffer("total", &[0u32])
}

pub(crate) fn generic(size: Size) -> Case {
    let groups = size.pick(65, 4096);
    make("atomics_generic", groups, generic_reference)
        .buffer("sum32", &[0f32])
        .buffer("sum64", &[0f64])
        .buffer("local32", &vec![-1f32; groups])
        .buffer("local64", &vec![-1f64; groups])
        .buffer("native", &[0f32])
}

fn make(name: &'static str, groups: usize, reference: fn(&Case) -> Vec<Expect>) -> Case {
    // Without an instruction, items whose exchange fails try again.
    Case { spins: true, ..Case::new(name, "atomics_packed", reference) }
        .cover((groups * GROUP) as u32, GROUP as u32)
        .buffer("v", &Random::new(66).many(groups * GROUP, |r| r.below(16)))
}

/// An integer up to 2048 as a half.
fn half(number: u32) -> u32 {
    match number.checked_ilog2() {
        None => 0,
        Some(exponent) => (exponent + 15) << 10 | (number << 10 >> exponent) & 0x3ff,
    }
}

/// An integer up to 256 as the upper half of a float.
fn bfloat(number: u32) -> u32 {
    (number as f32).to_bits() >> 16
}

fn pair(of: fn(u32) -> u32, low: u32, high: u32) -> u32 {
    of(low) | of(high) << 16
}

/// The numbers of a pair, by exhaustive search.
fn numbers(of: fn(u32) -> u32, pair: u32) -> [u32; 2] {
    [pair & 0xffff, pair >> 16]
        .map(|bits| (0..=256).find(|&number| of(number) == bits).expect("a small number"))
}

/// Cells of pairs that items add to, and the kernel's count.
fn add_all(cells: &mut [[u32; 2]], v: &[[u32; 2]]) -> u32 {
    let share = v.len() / cells.len();
    let mut total = 0u32;
    for (item, v) in v.iter().enumerate() {
        let cell = &mut cells[item / share];
        total = total.wrapping_add(cell[0] * v[0] + 3 * cell[1] * v[1]);
        *cell = [cell[0] + v[0], cell[1] + v[1]];
    }
    total
}

fn packed_reference(case: &Case) -> Vec<Expect> {
    let v = case.input::<u32>("v");
    let whole: Vec<[u32; 2]> = v.iter().map(|&v| [v, 15 - v]).collect();
    let quarter: Vec<[u32; 2]> = whole.iter().map(|pair| pair.map(|v| v / 4)).collect();
    let mut total = 0u32;
    let mut results = Vec::new();
    for (name, of, v, weights) in
        [("halves", half as fn(u32) -> u32, whole, [1, 5]), ("bfloats", bfloat, quarter, [7, 9])]
    {
        let mut cells: Vec<[u32; 2]> = case.input(name).into_iter().map(|cell| numbers(of, cell)).collect();
        let mut local = vec![[0; 2]; cells.len()];
        for (cells, weight) in [&mut cells, &mut local].into_iter().zip(weights) {
            total = total.wrapping_add(add_all(cells, &v).wrapping_mul(weight));
            results.push(Expect::values(
                &cells.iter().map(|&[low, high]| pair(of, low, high)).collect::<Vec<u32>>(),
            ));
        }
    }
    let [halves, halves_local, bfloats, bfloats_local] = results.try_into().expect("four buffers");
    vec![Expect::Unchanged, halves, bfloats, halves_local, bfloats_local, Expect::values(&[total])]
}

fn generic_reference(case: &Case) -> Vec<Expect> {
    let v = case.input::<u32>("v");
    let groups = v.len() / GROUP;
    // The sum that stays in the group where (v + item) is a multiple, and the sum for all.
    let sums = |multiple: u32| {
        let (mut local, mut all) = (vec![0; groups], 0);
        for (item, &v) in v.iter().enumerate() {
            let stays = (v + (item % GROUP) as u32).is_multiple_of(multiple);
            *(if stays { &mut local[item / GROUP] } else { &mut all }) += v;
        }
        (local, all)
    };
    let ((local32, all32), (local64, all64)) = (sums(2), sums(3));
    vec![
        Expect::Unchanged,
        Expect::values(&[all32 as f32]),
        Expect::values(&[f64::from(all64)]),
        Expect::values(&local32.iter().map(|&sum| sum as f32).collect::<Vec<f32>>()),
        Expect::values(&local64.into_iter().map(f64::from).collect::<Vec<f64>>()),
        Expect::values(&[v.iter().sum::<u32>() as f32]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_as_bits() {
        assert_eq!([0, 1, 2, 3, 1023, 2047].map(half), [0, 0x3c00, 0x4000, 0x4200, 0x63fe, 0x67ff]);
        assert_eq!([0, 1, 2, 3, 255].map(bfloat), [0, 0x3f80, 0x4000, 0x4040, 0x437f]);
        assert!(
            (0..=256).all(|number| numbers(half, pair(half, number, 256 - number)) == [number, 256 - number])
        );
    }

    #[test]
    fn totals_are_products_of_pairs() {
        let mut cells = [[10, 20]];
        assert_eq!(
            add_all(&mut cells, &[[1, 2], [3, 4], [5, 6]]),
            10 * 9 + 3 + 5 + 15 + 3 * (20 * 12 + 8 + 12 + 24)
        );
        assert_eq!(cells, [[19, 32]]);
    }

    #[test]
    fn no_sum_is_too_large_to_be_exact() {
        let case = packed(Size::Bench);
        let v = case.input::<u32>("v");
        let most = |share: usize, of: fn(u32) -> u32| {
            v.chunks(share).map(|v| v.iter().map(|&v| of(v)).sum::<u32>()).max()
        };
        assert!(most(GROUP, |v| v.max(15 - v)) <= Some(2048 - 100));
        assert!(most(WAVE, |v| v.max(15 - v) / 4) <= Some(256 - 60));
    }
}
