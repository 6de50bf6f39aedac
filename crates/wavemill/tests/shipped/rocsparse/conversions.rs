//! Conversions of formats.

use wavemill_oracle::Failed;

use super::matrix::{Csr, from_base};
use super::{COLUMN_ORDER, ROW_ORDER};
use crate::compare::same;
use crate::gpu::{Gpu, Size, grid};
use crate::random::Random;

/// Initial contents of buffers for results.
const UNTOUCHED: f32 = f32::from_bits(0xa5a5_a5a5);

pub(crate) fn indices(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(4);
    for base in [0, 1] {
        let matrix = Csr::random(&mut random, 700, 300, 90);
        let (rows, entries) = (matrix.rows, matrix.entries());
        let starts = gpu.with("row_ptr", &from_base(&matrix.starts, base))?;
        for width in [8, 64] {
            let row_of = gpu.room("row_ind", 4 * entries)?;
            gpu.launch(
                &format!("void csr2coo_kernel<512u, {width}u, int, int>"),
                grid(3, 512),
                &[(rows as i32).into(), (&starts).into(), (&row_of).into(), base.into()],
            )?;
            same("csr2coo", &row_of.to_vec::<i32>()?, &matrix.row_indices(base))?;
        }
        let row_of = gpu.with("row_ind", &matrix.row_indices(base))?;
        let found = gpu.room("row_ptr", 4 * (rows + 1))?;
        gpu.launch(
            "void coo2csr_kernel<512u, int, int>",
            grid(rows.div_ceil(512), 512),
            &[(rows as i32).into(), (entries as i32).into(), (&row_of).into(), (&found).into(), base.into()],
        )?;
        same("coo2csr", &found.to_vec::<i32>()?, &from_base(&matrix.starts, base))?;
    }
    Ok(())
}

/// A dense matrix with `stride` elements from one row or column to the next.
fn dense(matrix: &Csr, order: i32, stride: usize, empty: f32) -> Vec<f32> {
    let lines = if order == ROW_ORDER { matrix.rows } else { matrix.columns };
    let mut out = vec![empty; stride * lines];
    for (row, column, value) in matrix.triples() {
        out[if order == ROW_ORDER { row * stride + column } else { column * stride + row }] = value;
    }
    out
}

pub(crate) fn to_dense(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(5);
    for (order, base) in [(ROW_ORDER, 0), (COLUMN_ORDER, 1)] {
        let matrix = Csr::random(&mut random, 75, 130, 100);
        let columns = matrix.transposed();
        let stride = if order == ROW_ORDER { 133 } else { 80 };
        let expected = dense(&matrix, order, stride, UNTOUCHED);
        let expected: Vec<u32> = expected.iter().map(|x| x.to_bits()).collect();
        let [m, n, ld] = [matrix.rows, matrix.columns, stride].map(|n| wavemill::Arg::from(n as i32));
        for (kernel, from, lines) in
            [("csr2dense_kernel", &matrix, matrix.rows), ("csc2dense_kernel", &columns, matrix.columns)]
        {
            let result = gpu.room("dense", 4 * expected.len())?;
            gpu.launch(
                &format!("void {kernel}<16, 64, int, int, float>"),
                grid(lines.div_ceil(16), 1024),
                &[
                    base.into(),
                    m.clone(),
                    n.clone(),
                    (&gpu.with("val", &from.values)?).into(),
                    (&gpu.with("ptr", &from_base(&from.starts, base))?).into(),
                    (&gpu.with("ind", &from_base(&from.indices, base))?).into(),
                    (&result).into(),
                    ld.clone(),
                    order.into(),
                ],
            )?;
            same(kernel, &result.to_vec::<u32>()?, &expected)?;
        }
        let result = gpu.room("dense", 4 * expected.len())?;
        gpu.launch(
            "void coo2dense_kernel<512u, int, float>",
            grid(matrix.entries().div_ceil(512), 512),
            &[
                m,
                n,
                (matrix.entries() as i32).into(),
                ld,
                base.into(),
                (&gpu.with("val", &matrix.values)?).into(),
                (&gpu.with("row_ind", &matrix.row_indices(base))?).into(),
                (&gpu.with("col_ind", &from_base(&matrix.indices, base))?).into(),
                (&result).into(),
                order.into(),
            ],
        )?;
        same("coo2dense", &result.to_vec::<u32>()?, &expected)?;
    }
    Ok(())
}

pub(crate) fn from_dense(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(6);
    for (order, base) in [(ROW_ORDER, 1), (COLUMN_ORDER, 0)] {
        let matrix = Csr::random(&mut random, 300, 137, 120);
        let stride = if order == ROW_ORDER { 140 } else { 301 };
        let a = gpu.with("A", &dense(&matrix, order, stride, 0.0))?;
        let [m, n, ld] = [matrix.rows, matrix.columns, stride].map(|n| wavemill::Arg::from(n as i32));
        let shape = [order.into(), m.clone(), n.clone(), (&a).into(), ld.clone()];

        let per_row = gpu.room("nnz_per_row", 4 * matrix.rows)?;
        let size = Size { groups: [matrix.rows.div_ceil(256) as u32, 1, 1], threads: [64, 16, 1] };
        let with = |result: &wavemill::Buffer| [&shape[..], &[result.into()]].concat();
        gpu.launch("void nnz_kernel_row<64, 16, int, int, float>", size, &with(&per_row))?;
        let counts = |matrix: &Csr| matrix.starts.windows(2).map(|w| w[1] - w[0]).collect::<Vec<i32>>();
        same("nnz of rows", &per_row.to_vec::<i32>()?, &counts(&matrix))?;

        let per_column = gpu.room("nnz_per_column", 4 * matrix.columns)?;
        let size = grid(matrix.columns, 256);
        gpu.launch("void nnz_kernel_col<256, int, int, float>", size, &with(&per_column))?;
        same("nnz of columns", &per_column.to_vec::<i32>()?, &counts(&matrix.transposed()))?;

        let starts = gpu.with("row_ptr", &from_base(&matrix.starts, base))?;
        let [values, indices] = ["val", "col_ind"].map(|name| gpu.room(name, 4 * matrix.entries()));
        let [values, indices] = [values?, indices?];
        gpu.launch(
            "void dense2csr_kernel<16, 64, int, int, float>",
            grid(matrix.rows.div_ceil(16), 1024),
            &[
                base.into(),
                order.into(),
                m,
                n,
                (&a).into(),
                ld,
                (&values).into(),
                (&starts).into(),
                (&indices).into(),
            ],
        )?;
        same("values", &values.to_vec::<f32>()?, &matrix.values)?;
        same("columns", &indices.to_vec::<i32>()?, &from_base(&matrix.indices, base))?;
    }
    Ok(())
}

pub(crate) fn to_ell(gpu: &Gpu) -> Result<(), Failed> {
    let matrix = Csr::random(&mut Random::new(7), 600, 200, 12);
    let (rows, width) = (matrix.rows, 12);
    let [columns, values] = ["ell_col_ind", "ell_val"].map(|name| gpu.room(name, 4 * rows * width));
    let [columns, values] = [columns?, values?];
    gpu.launch(
        "void csr2ell_kernel<512u, float>",
        grid(rows.div_ceil(512), 512),
        &[
            (rows as i32).into(),
            (&gpu.with("val", &matrix.values)?).into(),
            (&gpu.with("row_ptr", &from_base(&matrix.starts, 1))?).into(),
            (&gpu.with("col_ind", &from_base(&matrix.indices, 1))?).into(),
            1i32.into(),
            (width as i32).into(),
            (&columns).into(),
            (&values).into(),
            0i32.into(),
        ],
    )?;
    let mut expected = (vec![-1i32; rows * width], vec![0f32; rows * width]);
    for (n, (row, column, value)) in matrix.triples().enumerate() {
        let place = (n - matrix.starts[row] as usize) * rows + row;
        (expected.0[place], expected.1[place]) = (column as i32, value);
    }
    same("columns", &columns.to_vec::<i32>()?, &expected.0)?;
    same("values", &values.to_vec::<f32>()?, &expected.1)
}

pub(crate) fn permute(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(8);
    let count = 1300;
    let (words, numbers) = (random.words(count), random.floats(count));
    let map: Vec<i32> = (0..count).map(|_| random.below(count) as i32).collect();
    let [out1, out2] = [gpu.room("out1", 4 * count)?, gpu.room("out2", 4 * count)?];
    gpu.launch(
        "void csr2csc_permute_kernel<512u, float>",
        grid(count.div_ceil(512), 512),
        &[
            (count as i32).into(),
            (&gpu.with("in1", &words)?).into(),
            (&gpu.with("in2", &numbers)?).into(),
            (&gpu.with("map", &map)?).into(),
            (&out1).into(),
            (&out2).into(),
        ],
    )?;
    let at = |n: &i32| *n as usize;
    same("words", &out1.to_vec::<u32>()?, &map.iter().map(|n| words[at(n)]).collect::<Vec<_>>())?;
    same("numbers", &out2.to_vec::<f32>()?, &map.iter().map(|n| numbers[at(n)]).collect::<Vec<_>>())
}
