//! Transposition through tiles in LDS.

use crate::case::{Case, Size};
use crate::check::Expect;

/// Side of a tile.
const TILE: u32 = 32;
/// Rows of the workgroup, which covers a tile in several steps.
const ROWS: u32 = 8;

pub(crate) fn case(size: Size) -> Case {
    let (width, height) = size.pick((300u32, 260u32), (4096, 2048));
    let matrix: Vec<f32> = (0..width * height).map(|i| i as f32).collect();
    Case::new("transpose", "transpose", reference)
        .cover_2d([width.next_multiple_of(TILE), height.div_ceil(TILE) * ROWS], [TILE, ROWS])
        .buffer("in", &matrix)
        .buffer("out", &vec![-1f32; matrix.len()])
        .u32("width", width)
        .u32("height", height)
}

fn reference(case: &Case) -> Vec<Expect> {
    let turned = transposed(&case.input::<f32>("in"), case.get_u32("width") as usize);
    vec![Expect::Unchanged, Expect::values(&turned)]
}

fn transposed(matrix: &[f32], width: usize) -> Vec<f32> {
    (0..width).flat_map(|x| matrix.iter().skip(x).step_by(width).copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::transposed;

    #[test]
    fn rows_become_columns() {
        assert_eq!(transposed(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}
