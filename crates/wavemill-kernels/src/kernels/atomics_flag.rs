//! Flags, locks and fences.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup, and of a wave.
const GROUP: usize = 128;
const WAVE: usize = 64;

pub(crate) fn flag(size: Size) -> Case {
    let groups = size.pick(65, 8192);
    let items = groups * GROUP;
    // Some flags are set initially; those shared by all are not.
    let mut random = Random::new(71);
    let mut flags = random.many(items + items / WAVE + groups, |r| u32::from(r.below(5) == 0));
    flags.extend([0, 0]);
    Case::new("atomics_flag", "atomics_flag", flag_reference)
        .cover(items as u32, GROUP as u32)
        .buffer("flags", &flags)
        .buffer("winners", &[0u32; 10])
}

fn flag_reference(case: &Case) -> Vec<Expect> {
    let mut flags = case.input::<u32>("flags");
    let groups = case.groups()[0] as usize;
    let (items, waves) = (groups * GROUP, groups * GROUP / WAVE);
    // Exactly one item finds each clear flag.
    let clear = |flags: &[u32]| flags.iter().filter(|&&flag| flag == 0).count() as u32;
    let (of_items, rest) = flags.split_at(items);
    let (of_waves, rest) = rest.split_at(waves);
    let mut winners = vec![clear(of_items), clear(of_waves), clear(&rest[..groups]), 1, 1];
    winners.extend([items, waves, groups, groups, groups].map(|count| count as u32));
    // No item resets the flags of all.
    let all = flags.len() - 2;
    flags[..all].fill(0);
    flags[all..].fill(1);
    vec![Expect::values(&flags), Expect::values(&winners)]
}

pub(crate) fn lock(size: Size) -> Case {
    let groups = size.pick(65, 8192);
    let x = Random::new(72).many(groups * GROUP / WAVE, Random::u32);
    Case { spins: true, ..Case::new("atomics_lock", "atomics_flag", lock_reference) }
        .cover((groups * GROUP) as u32, GROUP as u32)
        .buffer("x", &x)
        .buffer("lock", &[0u32])
        .buffer("guarded", &[0u32; 4])
}

fn lock_reference(case: &Case) -> Vec<Expect> {
    let x = case.input::<u32>("x");
    let guarded = [
        x.len() as u32,
        x.iter().fold(0, |sum, x| sum.wrapping_add(*x)),
        x.iter().fold(0, |sum, x| sum ^ x),
        x.iter().copied().fold(0, u32::max),
    ];
    vec![Expect::Unchanged, Expect::values(&[0u32]), Expect::values(&guarded)]
}

pub(crate) fn fence(size: Size) -> Case {
    let groups = size.pick(65, 8192);
    let x = Random::new(73).many(groups * GROUP, Random::u32);
    Case::new("atomics_fence", "atomics_flag", fence_reference)
        .cover(x.len() as u32, GROUP as u32)
        .buffer("x", &x)
        .buffer("data", &vec![0u32; x.len()])
        .buffer("sums", &vec![0u32; 2 * groups])
        .buffer("arrived", &[0u32; 2])
        .buffer("total", &[0u32; 2])
}

fn fence_reference(case: &Case) -> Vec<Expect> {
    let x = case.input::<u32>("x");
    let groups = x.len() / GROUP;
    let data = [0, 1].map(|round| data(&x, round));
    let sums: Vec<u32> = data.iter().flat_map(|data| data.chunks_exact(GROUP).map(weighted_sum)).collect();
    let total: Vec<u32> =
        sums.chunks_exact(groups).map(|sums| sums.iter().fold(0, |sum, x| x.wrapping_add(sum))).collect();
    vec![
        Expect::Unchanged,
        Expect::values(&data[1]),
        Expect::values(&sums),
        Expect::values(&[groups as u32; 2]),
        Expect::values(&total),
    ]
}

/// The values that the items write in a round: a new value of their own, and their neighbour's
/// result for its own.
fn data(x: &[u32], round: u32) -> Vec<u32> {
    let own: Vec<u32> = x.iter().map(|x| x.wrapping_mul(2).wrapping_add(round)).collect();
    (0..x.len()).map(|i| own[i].wrapping_add(own[i ^ 1] ^ round)).collect()
}

fn weighted_sum(data: &[u32]) -> u32 {
    (1..).zip(data).fold(0, |sum, (weight, x)| x.wrapping_mul(weight).wrapping_add(sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_item_wins_each_flag() {
        let case = flag(Size::Small);
        let Expect::Exactly(winners) = &flag_reference(&case)[1] else { panic!("numbers") };
        let winners = crate::case::values_of::<u32>(winners);
        assert_eq!(winners[3..], [1, 1, 65 * 128, 65 * 2, 65, 65, 65]);
        assert!(winners[0] < 65 * 128 && winners[1] < 65 * 2 && winners[2] < 65, "some are set before");
    }

    #[test]
    fn sums_done_by_hand() {
        assert_eq!(weighted_sum(&[10, 20, 30]), 10 + 40 + 90);
        assert_eq!(data(&[1, 5], 0), [2 + 10, 10 + 2]);
        assert_eq!(data(&[1, 5], 1), [3 + 10, 11 + 2]);
    }

    #[test]
    fn what_a_lock_guards() {
        let case = Case::new("atomics_lock", "atomics_flag", lock_reference)
            .buffer("x", &[6u32, u32::MAX, 3])
            .buffer("lock", &[0u32])
            .buffer("guarded", &[0u32; 4]);
        let Expect::Exactly(guarded) = &lock_reference(&case)[2] else { panic!("numbers") };
        assert_eq!(crate::case::values_of::<u32>(guarded), [3, 8, !5, u32::MAX]);
    }
}
