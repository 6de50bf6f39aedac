//! Quicksort and the queens problem; each work-item has its own stack.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn quicksort(size: Size) -> Case {
    let (runs, longest) = size.pick((64 * 64 - 7, 12), (512 * 64, 64));
    let mut random = Random::new(46);
    let (mut start, mut y) = (vec![0], Vec::new());
    for run in 0..runs {
        // Every length up to the longest: of arbitrary numbers, of few different ones, and of
        // sorted ones in either direction.
        let length = if run < 32 { run.min(longest) } else { random.below(longest + 1) };
        y.extend((0..length).map(|i| match run % 8 {
            0 => random.below(3).wrapping_sub(1),
            1 => i.wrapping_sub(5),
            2 => 5u32.wrapping_sub(i),
            _ => random.u32(),
        }));
        start.push(y.len() as u32);
    }
    Case::new("quicksort", "explicit_stack", quicksort_reference)
        .cover(runs, 64)
        .buffer("y", &y)
        .buffer("start", &start)
        .u32("runs", runs)
}

fn quicksort_reference(case: &Case) -> Vec<Expect> {
    let (mut y, start) = (case.input::<u32>("y"), case.input::<u32>("start"));
    for ends in start.windows(2) {
        y[ends[0] as usize..ends[1] as usize].sort_unstable_by_key(|value| value.cast_signed());
    }
    vec![Expect::values(&y), Expect::Unchanged]
}

/// A board with queens in its first rows.
#[derive(Clone, Copy, Debug, Default)]
struct Board {
    /// Columns with a queen.
    taken: u32,
    /// Columns that they attack in the next row, along diagonals to higher and to lower ones.
    left: u32,
    right: u32,
}

impl Board {
    /// The boards with one more queen.
    fn more(self, size: u32) -> impl Iterator<Item = Board> {
        let Board { taken, left, right } = self;
        let open =
            (0..size).map(|column| 1 << column).filter(move |queen| (taken | left | right) & queen == 0);
        open.map(move |queen| Board {
            taken: taken | queen,
            left: (left | queen) << 1 & ((1 << size) - 1),
            right: (right | queen) >> 1,
        })
    }

    /// The number of ways to complete it.
    fn ways(self, size: u32) -> u32 {
        if self.taken == (1 << size) - 1 { 1 } else { self.more(size).map(|board| board.ways(size)).sum() }
    }
}

/// All boards with queens in the first rows.
fn boards(size: u32, rows: u32) -> Vec<Board> {
    (0..rows)
        .fold(vec![Board::default()], |boards, _| boards.iter().flat_map(|board| board.more(size)).collect())
}

pub(crate) fn queens(size: Size) -> Case {
    let (side, rows) = size.pick((10, 6), (13, 5));
    let boards: Vec<[u32; 4]> =
        boards(side, rows).iter().map(|board| [board.taken, board.left, board.right, 0]).collect();
    let count = boards.len() as u32;
    Case::new("queens", "explicit_stack", queens_reference)
        .cover(count, 64)
        .buffer("board", boards.as_flattened())
        .buffer("ways", &vec![u32::MAX; boards.len()])
        .u32("boards", count)
        .u32("size", side)
}

fn queens_reference(case: &Case) -> Vec<Expect> {
    let (board, size) = (case.input::<u32>("board"), case.get_u32("size"));
    let ways = |&[taken, left, right, _]: &[u32; 4]| Board { taken, left, right }.ways(size);
    let ways: Vec<u32> = board.as_chunks::<4>().0.iter().map(ways).collect();
    vec![Expect::Unchanged, Expect::values(&ways)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solutions_are_as_many_as_is_known() {
        for (size, solutions) in [(1, 1), (2, 0), (3, 0), (4, 2), (6, 4), (8, 92), (10, 724)] {
            assert_eq!(Board::default().ways(size), solutions, "{size} queens");
            let parts = boards(size, size / 2).iter().map(|board| board.ways(size)).sum::<u32>();
            assert_eq!(parts, solutions, "{size} queens, by boards half full");
        }
    }

    #[test]
    fn runs_are_sorted_by_sign() {
        let case = Case::new("quicksort", "explicit_stack", quicksort_reference)
            .buffer("y", &[3, u32::MAX, 0, 9, 1, 5, 4])
            .buffer("start", &[0u32, 3, 3, 5, 6]);
        let sorted = crate::case::bytes_of(&[u32::MAX, 0, 3, 1, 9, 5, 4]);
        assert_eq!(case.check(&[sorted, case.buffers().nth(1).expect("start").data.to_vec()]), Ok(()));
    }
}
