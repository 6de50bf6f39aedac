//! Workgroups that pass data to one another within a launch.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup of `handoff_ring`.
const RING_GROUP: usize = 128;
/// Number of rounds that the producer may be ahead.
const SLOTS: u32 = 4;
/// Items of a workgroup of `handoff_chain`.
const CHAIN_GROUP: usize = 256;

pub(crate) fn ring(size: Size) -> Case {
    let (teams, rounds) = size.pick((33, 11), (64, 40));
    Case {
        together: 2,
        spins: true,
        ..Case::new("handoff_ring", "handoff", ring_reference)
            .cover((2 * teams * RING_GROUP) as u32, RING_GROUP as u32)
            .buffer("x", &Random::new(54).many(teams * RING_GROUP, Random::u32))
            .buffer("ring", &vec![0u32; teams * RING_GROUP * SLOTS as usize])
            .buffer("produced", &vec![0u32; teams])
            .buffer("consumed", &vec![0u32; teams])
            .buffer("y", &vec![0u32; teams * RING_GROUP])
            .u32("rounds", rounds)
    }
}

fn ring_reference(case: &Case) -> Vec<Expect> {
    let (x, rounds) = (case.input::<u32>("x"), case.get_u32("rounds"));
    let (mut ring, mut y) = (Vec::new(), Vec::new());
    for team in x.chunks_exact(RING_GROUP) {
        // The final contents of the slots: the values of the last round that used each.
        let sent: Vec<Vec<u32>> = team.iter().map(|&x| values(x, rounds)).collect();
        for slot in 0..SLOTS {
            let last = (0..rounds).rev().find(|round| round % SLOTS == slot);
            ring.extend(sent.iter().map(|values| last.map_or(0, |round| values[round as usize])));
        }
        let hash =
            |values: &Vec<u32>| values.iter().fold(0u32, |hash, v| hash.wrapping_mul(31).wrapping_add(*v));
        y.extend(sent.iter().rev().map(hash));
    }
    let counters = vec![rounds; x.len() / RING_GROUP];
    vec![
        Expect::Unchanged,
        Expect::values(&ring),
        Expect::values(&counters),
        Expect::values(&counters),
        Expect::values(&y),
    ]
}

/// The value that a lane sends in each round.
fn values(x: u32, rounds: u32) -> Vec<u32> {
    let next = |x: &u32| Some(x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
    std::iter::successors(Some(x), next).take(rounds as usize).collect()
}

pub(crate) fn chain(size: Size) -> Case {
    let n = size.pick(67 * CHAIN_GROUP - 100, 1024 * CHAIN_GROUP);
    let parts = n.div_ceil(CHAIN_GROUP);
    Case {
        spins: true,
        ..Case::new("handoff_chain", "handoff", chain_reference)
            .cover(n as u32, CHAIN_GROUP as u32)
            .buffer("x", &Random::new(55).many(n, Random::u32))
            .buffer("y", &vec![0u32; n])
            .buffer("total", &vec![0u32; parts])
            .buffer("ready", &vec![0u32; parts])
            .buffer("next", &[0u32])
            .u32("n", n as u32)
    }
}

fn chain_reference(case: &Case) -> Vec<Expect> {
    let y = prefix_sums(&case.input("x"));
    let total: Vec<u32> = y.chunks(CHAIN_GROUP).filter_map(|part| part.last().copied()).collect();
    vec![
        Expect::Unchanged,
        Expect::values(&y),
        Expect::values(&total),
        Expect::values(&vec![1u32; total.len()]),
        Expect::values(&[total.len() as u32]),
    ]
}

fn prefix_sums(x: &[u32]) -> Vec<u32> {
    x.iter()
        .scan(0u32, |sum, x| {
            *sum = sum.wrapping_add(*x);
            Some(*sum)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_the_first_numbers_are_triangular() {
        let x: Vec<u32> = (1..=600).collect();
        assert!(prefix_sums(&x).iter().zip(&x).all(|(sum, x)| *sum == x * (x + 1) / 2));
        assert_eq!(prefix_sums(&[u32::MAX, 2]), [u32::MAX, 1]);
    }

    #[test]
    fn rings_keep_the_last_rounds() {
        assert_eq!(values(0, 3), [0, 1_013_904_223, 1_196_435_762]);
        let case = ring(Size::Small);
        let Expect::Exactly(ring) = &ring_reference(&case)[1] else { panic!("numbers") };
        let ring = crate::case::values_of::<u32>(ring);
        // Rounds 8, 9, 10 and 7.
        let sent = values(case.input("x")[5], 11);
        let held: Vec<u32> = ring.iter().skip(5).step_by(RING_GROUP).take(4).copied().collect();
        assert_eq!(held, [sent[8], sent[9], sent[10], sent[7]]);
    }
}
