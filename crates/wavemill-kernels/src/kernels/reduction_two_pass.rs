//! Norms of rows in two passes, bit for bit: the launch determines the order of the additions.

use crate::case::{Case, Size};
use crate::check::Expect;
use crate::r600;
use crate::random::Random;

/// Items of a workgroup of the first pass.
const WIDE: usize = 128;
/// Items of a workgroup of the second pass.
const NARROW: usize = 64;

pub(crate) fn first(size: Size) -> Case {
    let (rows, columns, chunks) = size.pick((33, 700, 3), (1024, 8192, 8));
    Case::new("norm_first_pass", "reduction_two_pass", first_reference)
        .cover_2d([(chunks * WIDE) as u32, rows as u32], [WIDE as u32, 1])
        .buffer("x", &matrix(rows, columns))
        .buffer("partial", &vec![-1f32; rows * chunks])
        .u32("columns", columns as u32)
}

pub(crate) fn second(size: Size) -> Case {
    // The first pass divides rows into more chunks than this pass has items.
    let (rows, columns, chunks) = size.pick((66, 8000, 70), (1 << 16, 512, 4));
    let partial = partial_sums(&matrix(rows, columns), columns, chunks, IEEE);
    Case::new("norm_second_pass", "reduction_two_pass", second_reference)
        .cover((rows * NARROW) as u32, NARROW as u32)
        .buffer("partial", &partial)
        .buffer("norm", &vec![-1f32; rows])
        .u32("chunks", chunks as u32)
}

/// Some rows are so small that their squares are denormal, some so large that they overflow, and
/// one contains a NaN.
fn matrix(rows: usize, columns: usize) -> Vec<f32> {
    let mut x = Random::new(24).many(rows * columns, |r| r.f32(-1.0, 1.0));
    for (i, row) in x.chunks_exact_mut(columns).enumerate() {
        match i % 16 {
            3 => row.iter_mut().for_each(|x| *x *= 2f32.powi(-70)),
            8 => row.iter_mut().for_each(|x| *x *= 2f32.powi(62)),
            13 => row[columns / 2] = f32::NAN,
            _ => (),
        }
    }
    x
}

/// What operations give.
#[derive(Clone, Copy)]
struct Arithmetic {
    multiply: fn(f32, f32) -> f32,
    add: fn(f32, f32) -> f32,
    root: fn(f32) -> f32,
}

const IEEE: Arithmetic = Arithmetic { multiply: |x, y| x * y, add: |x, y| x + y, root: f32::sqrt };
const R600: Arithmetic =
    Arithmetic { multiply: r600::mul, add: r600::add, root: |x| r600::recip(r600::recipsqrt(x)) };

fn first_reference(case: &Case) -> Vec<Expect> {
    first_results(case, IEEE)
}

pub(crate) fn first_r600_reference(case: &Case) -> Vec<Expect> {
    first_results(case, R600)
}

fn first_results(case: &Case, with: Arithmetic) -> Vec<Expect> {
    let columns = case.get_u32("columns") as usize;
    let partial = partial_sums(&case.input("x"), columns, case.groups()[0] as usize, with);
    vec![Expect::Unchanged, Expect::values(&partial)]
}

fn second_reference(case: &Case) -> Vec<Expect> {
    second_results(case, IEEE)
}

pub(crate) fn second_r600_reference(case: &Case) -> Vec<Expect> {
    second_results(case, R600)
}

fn second_results(case: &Case, with: Arithmetic) -> Vec<Expect> {
    let norms = norms(&case.input("partial"), case.get_u32("chunks") as usize, with);
    vec![Expect::Unchanged, Expect::values(&norms)]
}

/// The sums of squares of the chunks of each row.
fn partial_sums(x: &[f32], columns: usize, chunks: usize, with: Arithmetic) -> Vec<f32> {
    let mut partial = Vec::with_capacity(x.len() / columns * chunks);
    for row in x.chunks_exact(columns) {
        let mut sums = vec![0f32; chunks * WIDE];
        for numbers in row.chunks(chunks * WIDE) {
            sums.iter_mut().zip(numbers).for_each(|(sum, &x)| *sum = (with.add)(*sum, (with.multiply)(x, x)));
        }
        partial.extend(sums.chunks_exact_mut(WIDE).map(|sums| fold(sums, with)));
    }
    partial
}

/// The roots of the sums of the chunks.
fn norms(partial: &[f32], chunks: usize, with: Arithmetic) -> Vec<f32> {
    let norm = |row: &[f32]| {
        let mut sums = [0f32; NARROW];
        for numbers in row.chunks(NARROW) {
            sums.iter_mut().zip(numbers).for_each(|(sum, &x)| *sum = (with.add)(*sum, x));
        }
        (with.root)(fold(&mut sums, with))
    };
    partial.chunks_exact(chunks).map(norm).collect()
}

/// The sum of a group's items: the upper half is added to the lower half until one is left.
fn fold(sums: &mut [f32], with: Arithmetic) -> f32 {
    let mut half = sums.len() / 2;
    while half > 0 {
        let (low, high) = sums.split_at_mut(half);
        low.iter_mut().zip(high).for_each(|(low, high)| *low = (with.add)(*low, *high));
        half /= 2;
    }
    sums[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pythagorean_row() {
        let mut x = vec![0f32; 2 * 300];
        (x[0], x[299]) = (3.0, -4.0);
        (x[300], x[301], x[500]) = (2.0, 3.0, 6.0);
        let partial = partial_sums(&x, 300, 2, IEEE);
        // Element 299 belongs to item 43 of the first chunk, element 200 to the second chunk.
        assert_eq!(partial, [25.0, 0.0, 13.0, 36.0]);
        assert_eq!(norms(&partial, 2, IEEE), [5.0, 7.0]);
    }

    #[test]
    fn inputs_reach_every_kind_of_norm() {
        let case = second(Size::Small);
        let norms = norms(&case.input("partial"), case.get_u32("chunks") as usize, IEEE);
        assert!(norms[3] > 0.0 && norms[3] < 1e-18 && norms[8] == f32::INFINITY && norms[13].is_nan());
    }
}
