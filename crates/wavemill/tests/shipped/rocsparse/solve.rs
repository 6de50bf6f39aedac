//! Solutions of systems.

use wavemill_oracle::Failed;

use super::matrix::{Csr, from_base};
use crate::compare::{Tolerance, close, same};
use crate::gpu::{Gpu, grid};
use crate::random::Random;

/// A wave solves a row when the waves of all rows that it depends on have signalled that theirs are
/// done: the waves wait in loops.
pub(crate) fn triangular(gpu: &Gpu) -> Result<(), Failed> {
    const ALPHA: f32 = 2.0;
    let mut random = Random::new(16);
    let (size, base) = (200, 1);
    // A lower triangle with a large diagonal. The entries above it must be ignored.
    let mut matrix =
        Csr { rows: size, columns: size, starts: vec![0], indices: Vec::new(), values: Vec::new() };
    for row in 0..size {
        let mut columns: Vec<usize> = (0..8).map(|_| random.below(size)).chain([row]).collect();
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            matrix.indices.push(column as i32);
            matrix.values.push(if column == row { 3.0 + random.float() } else { random.float() });
        }
        matrix.starts.push(matrix.indices.len() as i32);
    }
    let right = random.floats(size);
    let order: Vec<i32> = (0..size as i32).collect();
    for sleep in [false, true] {
        let y = gpu.room("y", 4 * size)?;
        let done = gpu.with("done_array", &vec![0i32; size])?;
        let pivot = gpu.with("zero_pivot", &[i32::MAX])?;
        gpu.launch(
            &format!("void csrsv_kernel<1024u, 64u, {sleep}, int, int, float, float>"),
            grid(size.div_ceil(16), 1024),
            &[
                (size as i32).into(),
                ALPHA.into(),
                (&gpu.with("row_ptr", &from_base(&matrix.starts, base))?).into(),
                (&gpu.with("col_ind", &from_base(&matrix.indices, base))?).into(),
                (&gpu.with("val", &matrix.values)?).into(),
                (&gpu.with("x", &right)?).into(),
                (&y).into(),
                (&done).into(),
                (&gpu.with("map", &order)?).into(),
                0i32.into(),
                (&pivot).into(),
                base.into(),
                0i32.into(),
                0i32.into(),
            ],
        )?;
        let mut solution: Vec<f64> = right.iter().map(|x| f64::from(ALPHA) * f64::from(*x)).collect();
        for (row, column, value) in matrix.triples() {
            match column.cmp(&row) {
                std::cmp::Ordering::Less => solution[row] -= f64::from(value) * solution[column],
                std::cmp::Ordering::Equal => solution[row] /= f64::from(value),
                std::cmp::Ordering::Greater => {}
            }
        }
        close("solution", &y.to_vec::<f32>()?, &solution, Tolerance { relative: 2e-5, absolute: 2e-5 })?;
        same("done", &done.to_vec::<i32>()?, &vec![1; size])?;
        same("zero pivot", &pivot.to_vec::<i32>()?, &[i32::MAX])?;
    }
    Ok(())
}

/// Parallel cyclic reduction (Hockney and Jesshope 1981) of a system with a dominant diagonal.
pub(crate) fn tridiagonal(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(17);
    let (size, sides, stride) = (115, 3, 120);
    let [mut lower, mut upper] = [random.floats(size), random.floats(size)];
    (lower[0], upper[size - 1]) = (0.0, 0.0);
    let main: Vec<f32> = random.floats(size).iter().map(|x| 3.0 + x).collect();
    let right = random.floats(stride * sides);
    let b = gpu.with("B", &right)?;
    gpu.launch(
        "void gtsv_nopivot_pcr_shared_kernel<128u, float>",
        grid(sides, 128),
        &[
            (size as i32).into(),
            (sides as i32).into(),
            (stride as i32).into(),
            (&gpu.with("dl", &lower)?).into(),
            (&gpu.with("d", &main)?).into(),
            (&gpu.with("du", &upper)?).into(),
            (&b).into(),
        ],
    )?;
    let found = b.to_vec::<f32>()?;
    for side in 0..sides {
        let x: Vec<f64> = found[side * stride..][..size].iter().map(|x| f64::from(*x)).collect();
        let term = |factor: f32, row: usize| f64::from(factor) * x.get(row).copied().unwrap_or(0.0);
        let product: Vec<f64> = (0..size)
            .map(|row| {
                term(lower[row], row.wrapping_sub(1)) + term(main[row], row) + term(upper[row], row + 1)
            })
            .collect();
        let wanted: Vec<f64> = right[side * stride..][..size].iter().map(|x| f64::from(*x)).collect();
        close("product with the solution", &product, &wanted, Tolerance::absolute(1e-5))?;
    }
    Ok(())
}
