//! A generation of the Game of Life on a torus, cells as bytes and as bits.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::random::Random;

pub(crate) fn bytes(size: Size) -> Case {
    // The last column and the last row of tiles are not full.
    let (width, height) = size.pick((203, 91), (2048, 1024));
    let cells = cells(width, height);
    Case::new("life", "life", bytes_reference)
        .cover_2d([width, height], [16, 16])
        .buffer("now", &cells)
        .buffer("next", &vec![0xffu8; cells.len()])
        .u32("width", width)
        .u32("height", height)
}

pub(crate) fn bits(size: Size) -> Case {
    let (words, height) = size.pick((37, 203), (512, 16_384));
    let now = packed(&cells(32 * words, height));
    Case::new("life_bits", "life", bits_reference)
        .cover_2d([words, height], [16, 4])
        .buffer("now", &now)
        .buffer("next", &vec![0u32; now.len()])
        .u32("words", words)
        .u32("height", height)
}

/// One in three cells is alive, except in one part where all are dead and one where all are alive.
fn cells(width: u32, height: u32) -> Vec<u8> {
    let mut random = Random::new(43);
    let cell = |y: u32| match 16 * y / height {
        3 => 0,
        12 => 1,
        _ => u8::from(random.below(3) == 0),
    };
    (0..height).flat_map(|y| (0..width).map(move |_| y)).map(cell).collect()
}

fn bytes_reference(case: &Case) -> Vec<Expect> {
    vec![Expect::Unchanged, Expect::values(&generation(&case.input("now"), case.get_u32("width") as usize))]
}

fn bits_reference(case: &Case) -> Vec<Expect> {
    let cells: Vec<u8> = case.input::<u32>("now").into_iter().flat_map(unpacked).collect();
    let next = generation(&cells, 32 * case.get_u32("words") as usize);
    vec![Expect::Unchanged, Expect::values(&packed(&next))]
}

fn unpacked(word: u32) -> [u8; 32] {
    std::array::from_fn(|bit| (word >> bit & 1) as u8)
}

fn packed(cells: &[u8]) -> Vec<u32> {
    let word = |cells: &[u8; 32]| cells.iter().rev().fold(0, |word, &cell| word << 1 | u32::from(cell));
    cells.as_chunks::<32>().0.iter().map(word).collect()
}

fn generation(now: &[u8], width: usize) -> Vec<u8> {
    let height = now.len() / width;
    let next = |i: usize| {
        let (x, y) = (i % width, i / width);
        let (left, right) = ((x + width - 1) % width, (x + 1) % width);
        let rows = [(y + height - 1) % height, y, (y + 1) % height];
        let all: u8 =
            rows.iter().map(|row| [left, x, right].map(|x| now[row * width + x]).iter().sum::<u8>()).sum();
        // The cell itself is among the nine.
        u8::from(all == 3 || all == 4 && now[i] == 1)
    };
    (0..now.len()).map(next).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A board from a drawing, `#` for cells alive.
    fn board(rows: &[&str]) -> Vec<u8> {
        rows.iter().flat_map(|row| row.bytes()).map(|cell| u8::from(cell == b'#')).collect()
    }

    #[test]
    fn still_lives_and_blinkers() {
        let block = board(&["#..#", "....", "....", "#..#"]);
        assert_eq!(generation(&block, 4), block, "a block around the corner");
        let blinker = board(&[".....", "..#..", "..#..", "..#..", "....."]);
        let turned = board(&[".....", ".....", ".###.", ".....", "....."]);
        assert_eq!(generation(&blinker, 5), turned);
        assert_eq!(generation(&turned, 5), blinker);
    }

    #[test]
    fn a_glider_goes_around_the_torus() {
        let start = board(&[
            ".#......", "..#.....", "###.....", "........", "........", "........", "........", "........",
        ]);
        let mut now = start.clone();
        for step in 1..=32 {
            now = generation(&now, 8);
            if step % 4 == 0 {
                // One cell down and to the right in four generations.
                let came_from = |i: usize| 8 * ((i / 8 + 8 - step / 4) % 8) + (i % 8 + 8 - step / 4) % 8;
                let moved: Vec<u8> = (0..64).map(|i| start[came_from(i)]).collect();
                assert_eq!(now, moved, "after {step}");
            }
        }
        assert_eq!(now, start);
    }

    #[test]
    fn words_begin_with_their_leftmost_cell() {
        let mut cells = vec![0; 64];
        (cells[1], cells[32], cells[63]) = (1, 1, 1);
        assert_eq!(packed(&cells), [2, 0x8000_0001]);
        assert_eq!(packed(&cells).into_iter().flat_map(unpacked).collect::<Vec<u8>>(), cells);
    }
}
