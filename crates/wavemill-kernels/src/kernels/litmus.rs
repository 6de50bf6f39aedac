//! Litmus tests between workgroups: outcomes that a sequentially consistent, or release-acquire,
//! run must not show.

use crate::case::{Case, Size};
use crate::check::Expect;

/// Items of a workgroup; each plays its own copy of the test.
const LANES: u32 = 64;
/// Words from one cell to the next: a cache line, so that no two lanes share one.
const STRIDE: u32 = 16;

pub(crate) fn store_buffering(size: Size) -> Case {
    make("litmus_store_buffering", ["x", "y"], 2, 2, size, |case| {
        reference(case, 2, 2, |seen| seen == [0, 1] || seen == [1, 0] || seen == [1, 1], "not [0, 0]")
    })
}

pub(crate) fn message_passing(size: Size) -> Case {
    // The reader records [0, 1] if it did not see the flag and therefore did not read the data.
    make("litmus_message_passing", ["data", "flag"], 2, 2, size, |case| {
        reference(case, 2, 2, |seen| seen == [0, 1] || seen == [1, 1], "[0, 1] or [1, 1]")
    })
}

pub(crate) fn iriw(size: Size) -> Case {
    make("litmus_iriw", ["x", "y"], 4, 4, size, |case| {
        reference(case, 4, 4, |seen| seen.iter().all(|&r| r <= 1) && seen != [1, 0, 1, 0], "not [1, 0, 1, 0]")
    })
}

/// `players` workgroups form a team; a test has `registers` results.
fn make(
    name: &'static str,
    cells: [&'static str; 2],
    players: u32,
    registers: u32,
    size: Size,
    reference: fn(&Case) -> Vec<Expect>,
) -> Case {
    let groups = 64;
    let rounds = size.pick(12, 100);
    let teams = groups / players;
    let tests = rounds * teams * LANES;
    let zeros = vec![0u32; (tests * STRIDE) as usize];
    let mut case = Case::new(name, "litmus", reference)
        .cover(groups * LANES, LANES)
        .buffer(cells[0], &zeros)
        .buffer(cells[1], &zeros)
        .buffer("seen", &vec![0u32; (tests * registers) as usize])
        .buffer("gate", &vec![0u32; teams as usize])
        .u32("rounds", rounds)
        .u32("stride", STRIDE);
    case.together = players;
    case.racy = true;
    case.spins = true;
    case
}

fn reference(
    case: &Case,
    players: u32,
    words: usize,
    allowed: fn(&[u32]) -> bool,
    rule: &'static str,
) -> Vec<Expect> {
    let rounds = case.get_u32("rounds");
    let teams = case.groups()[0] / players;
    let tests = (rounds * teams * LANES) as usize;
    // The first word of each cell is written once, the rest of its line never.
    let mut cells = vec![0u32; tests * STRIDE as usize];
    cells.iter_mut().step_by(STRIDE as usize).for_each(|cell| *cell = 1);
    vec![
        Expect::values(&cells),
        Expect::values(&cells),
        Expect::Each { words, allowed, rule },
        Expect::values(&vec![players * rounds; teams as usize]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{bytes_of, values_of};

    /// The contents after a run in which every test saw `seen`.
    fn run(case: &Case, seen: &[u32]) -> Vec<Vec<u8>> {
        let mut buffers: Vec<Vec<u8>> = case.buffers().map(|buffer| buffer.data.to_vec()).collect();
        for cells in &mut buffers[..2] {
            let mut words = values_of::<u32>(cells);
            words.iter_mut().step_by(STRIDE as usize).for_each(|cell| *cell = 1);
            *cells = bytes_of(&words);
        }
        buffers[2] = bytes_of(&seen.repeat(buffers[2].len() / 4 / seen.len()));
        let teams = buffers[3].len() / 4;
        buffers[3] = bytes_of(&vec![case.together * case.get_u32("rounds"); teams]);
        buffers
    }

    #[test]
    fn forbidden_results_are_found() {
        for (case, good, bad) in [
            (store_buffering(Size::Small), vec![0, 1], vec![0, 0]),
            (message_passing(Size::Small), vec![1, 1], vec![1, 0]),
            (iriw(Size::Small), vec![1, 0, 0, 1], vec![1, 0, 1, 0]),
        ] {
            assert_eq!(case.check(&run(&case, &good)), Ok(()));
            let error = case.check(&run(&case, &bad)).unwrap_err();
            assert!(error.to_string().starts_with(&format!("{}: seen[0] is {bad:?}", case.name)), "{error}");
        }
    }
}
