//! Data exchange inside a wave without barriers.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

/// Items of a workgroup: one wave.
const LANES: usize = 64;

pub(crate) fn scan(size: Size) -> Case {
    make("lockstep_scan", size, scan_reference)
}

pub(crate) fn barrier(size: Size) -> Case {
    make("lockstep_barrier", size, barrier_reference).u32("rounds", size.pick(9, 100))
}

fn make(name: &'static str, size: Size, reference: fn(&Case) -> Vec<Expect>) -> Case {
    let n = size.pick(80, 65_536) * LANES;
    Case::new(name, "lockstep", reference)
        .cover(n as u32, LANES as u32)
        .buffer("x", &Random::new(10).many(n, Random::u32))
        .buffer("y", &vec![0u32; n])
}

fn scan_reference(case: &Case) -> Vec<Expect> {
    let mut y = case.input::<u32>("x");
    for wave in y.chunks_exact_mut(LANES) {
        for l in 1..LANES {
            wave[l] = wave[l].wrapping_add(wave[l - 1]);
        }
    }
    vec![Expect::Unchanged, Expect::values(&y)]
}

fn barrier_reference(case: &Case) -> Vec<Expect> {
    let mut y = case.input::<u32>("x");
    for wave in y.chunks_exact_mut(LANES) {
        for round in 0..case.get_u32("rounds") as usize {
            let before = wave.to_vec();
            for l in 0..LANES {
                wave[l] = before[LANES - 1 - l].wrapping_mul(3).wrapping_add(before[(l + round) % LANES]);
            }
        }
    }
    vec![Expect::Unchanged, Expect::values(&y)]
}
