//! Sparse matrix times vector, bit for bit: the additions follow the order of the items.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::r600;
use crate::random::Random;

/// Items that share a row in the vector kernel.
const LANES: usize = 64;

/// A sparse matrix in compressed rows.
struct Matrix {
    start: Vec<u32>,
    column: Vec<u32>,
    value: Vec<f32>,
}

pub(crate) fn scalar(size: Size) -> Case {
    let rows = size.pick(64 * 64 + 5, 1 << 20);
    // Short rows, some of them empty, and occasionally a long one that a whole wave waits for.
    let case = make("spmv_scalar", rows, rows, |r| if r.below(100) == 0 { r.below(48) } else { r.below(8) });
    case.cover(rows as u32, 64)
}

pub(crate) fn vector(size: Size) -> Case {
    let rows = size.pick(65 * 4 - 2, 1 << 15);
    let case = make("spmv_vector", rows, 3000, |r| match r.below(6) {
        0 => 0,
        1 => r.below(600),
        _ => r.below(130),
    });
    case.cover_2d([LANES as u32, rows as u32], [LANES as u32, 4])
}

fn make(name: &'static str, rows: usize, columns: usize, length: impl FnMut(&mut Random) -> u32) -> Case {
    let mut random = Random::new(25);
    let matrix = Matrix::new(&mut random, rows, columns as u32, length);
    // The vector has denormals, and an infinity and a NaN that few rows use.
    let mut x = random.many(columns, |r| r.f32(-1.0, 1.0) * if r.below(16) == 0 { 1e-39 } else { 1.0 });
    (x[7], x[11]) = (f32::INFINITY, f32::NAN);
    let reference = if name == "spmv_scalar" { scalar_reference } else { vector_reference };
    Case::new(name, "spmv", reference)
        .buffer("start", &matrix.start)
        .buffer("column", &matrix.column)
        .buffer("value", &matrix.value)
        .buffer("x", &x)
        .buffer("y", &vec![-1f32; rows])
        .u32("rows", rows as u32)
}

fn scalar_reference(case: &Case) -> Vec<Expect> {
    let x = case.input::<f32>("x");
    results(Matrix::of(case).rows().map(|row| sum(row, &x)).collect())
}

pub(crate) fn r600_reference(case: &Case) -> Vec<Expect> {
    let x = case.input::<f32>("x");
    let sum = |(column, value): (&[u32], &[f32])| {
        let products = column.iter().zip(value).map(|(&column, &value)| r600::mul(value, x[column as usize]));
        products.fold(0.0, r600::add)
    };
    results(Matrix::of(case).rows().map(sum).collect())
}

fn vector_reference(case: &Case) -> Vec<Expect> {
    let x = case.input::<f32>("x");
    results(Matrix::of(case).rows().map(|row| shared_sum(row, &x)).collect())
}

fn results(y: Vec<f32>) -> Vec<Expect> {
    let mut all = vec![Expect::Unchanged; 4];
    all.push(Expect::values(&y));
    all
}

impl Matrix {
    /// Rows of random lengths, with random values at random columns in order.
    fn new(
        random: &mut Random,
        rows: usize,
        columns: u32,
        mut length: impl FnMut(&mut Random) -> u32,
    ) -> Matrix {
        let mut matrix = Matrix { start: vec![0], column: Vec::new(), value: Vec::new() };
        for _ in 0..rows {
            let count = length(random) as usize;
            let mut column = random.many(count, |r| r.below(columns));
            column.sort_unstable();
            matrix.column.extend(column);
            matrix.value.extend(random.many(count, |r| r.f32(-2.0, 2.0)));
            matrix.start.push(matrix.column.len() as u32);
        }
        matrix
    }

    fn of(case: &Case) -> Matrix {
        Matrix { start: case.input("start"), column: case.input("column"), value: case.input("value") }
    }

    /// The columns and values of each row.
    fn rows(&self) -> impl Iterator<Item = (&[u32], &[f32])> {
        self.start.windows(2).map(|range| {
            let range = range[0] as usize..range[1] as usize;
            (&self.column[range.clone()], &self.value[range])
        })
    }
}

/// The sum from left to right.
fn sum((column, value): (&[u32], &[f32]), x: &[f32]) -> f32 {
    column.iter().zip(value).fold(0.0, |sum, (&column, value)| sum + value * x[column as usize])
}

/// An item adds every 64th product; the upper half of the items' sums is added to the lower half
/// until one is left.
fn shared_sum((column, value): (&[u32], &[f32]), x: &[f32]) -> f32 {
    let mut sums = [0f32; LANES];
    for (column, value) in column.chunks(LANES).zip(value.chunks(LANES)) {
        for (sum, (&column, value)) in sums.iter_mut().zip(column.iter().zip(value)) {
            *sum += value * x[column as usize];
        }
    }
    let mut half = LANES / 2;
    while half > 0 {
        for l in 0..half {
            sums[l] += sums[l + half];
        }
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_matrix_done_by_hand() {
        // (5 0 1; 0 0 0; 0 2 0) times (1, 10, 100).
        let matrix = Matrix { start: vec![0, 2, 2, 3], column: vec![0, 2, 1], value: vec![5.0, 1.0, 2.0] };
        let x = [1.0, 10.0, 100.0];
        let both = [sum, shared_sum].map(|way| matrix.rows().map(|row| way(row, &x)).collect::<Vec<f32>>());
        assert_eq!(both, [[105.0, 0.0, 20.0], [105.0, 0.0, 20.0]]);
    }

    #[test]
    fn the_order_of_additions_differs() {
        // From left to right the ones are lost one by one: 2^24 + 1 rounds to 2^24.
        let column: Vec<u32> = (0..100).collect();
        let mut x = vec![1f32; 100];
        x[0] = 16_777_216.0;
        assert_eq!(sum((&column, &[1.0; 100]), &x), 16_777_216.0);
        // Item 0 loses only its second number.
        assert_eq!(shared_sum((&column, &[1.0; 100]), &x), 16_777_216.0 + 98.0);
    }
}
