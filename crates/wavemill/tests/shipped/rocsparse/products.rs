//! Products of sparse matrices with vectors and dense matrices.

use wavemill_oracle::Failed;

use super::matrix::{Csr, from_base};
use super::{COLUMN_ORDER, NO_TRANSPOSE, ROW_ORDER};
use crate::compare::{Tolerance, close};
use crate::gpu::{Gpu, Size, grid};
use crate::random::Random;

/// For sums of some dozen products of numbers below 1.
const TOLERANCE: Tolerance = Tolerance { relative: 0.0, absolute: 2e-5 };

const ALPHA: f32 = 1.25;
const BETA: f32 = -0.5;

pub(crate) fn matrix_vector(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(9);
    let matrix = Csr::random(&mut random, 500, 400, 150);
    let (x, y) = (random.floats(matrix.columns), random.floats(matrix.rows));
    let (rows, base) = (matrix.rows, 1);
    let vector = gpu.with("x", &x)?;
    let [values, indices, starts] = [
        gpu.with("val", &matrix.values)?,
        gpu.with("col_ind", &from_base(&matrix.indices, base))?,
        gpu.with("row_ptr", &from_base(&matrix.starts, base))?,
    ];
    for beta in [BETA, 0.0] {
        let product = matrix.product(1, [ALPHA, beta], |row, _| x[row], |row, _| y[row]).concat();
        for width in [8, 64] {
            let result = gpu.with("y", &y)?;
            gpu.launch(
                &format!("void csrmvn_general_kernel<512u, {width}u, int, int, float, float>"),
                grid(5, 512),
                &[
                    0u8.into(),
                    (rows as i32).into(),
                    ALPHA.into(),
                    (&starts).into(),
                    (&indices).into(),
                    (&values).into(),
                    (&vector).into(),
                    beta.into(),
                    (&result).into(),
                    base.into(),
                ],
            )?;
            close("csrmvn", &result.to_vec::<f32>()?, &product, TOLERANCE)?;
        }
    }
    // By entries: partial sums of a row are added to the result in any order.
    let product = matrix.product(1, [ALPHA, 1.0], |row, _| x[row], |row, _| y[row]).concat();
    let rows_of = gpu.with("row_ind", &matrix.row_indices(base))?;
    for loops in [1, 2] {
        let result = gpu.with("y", &y)?;
        gpu.launch(
            &format!("void coomvn_atomic_loops<256u, {loops}u, int, float, float>"),
            grid(matrix.entries().div_ceil(256 * loops), 256),
            &[
                (matrix.entries() as i32).into(),
                ALPHA.into(),
                (&rows_of).into(),
                (&indices).into(),
                (&values).into(),
                (&vector).into(),
                (&result).into(),
                base.into(),
            ],
        )?;
        close("coomvn", &result.to_vec::<f32>()?, &product, TOLERANCE)?;
    }
    // Rows of one length, padded with column -1.
    let width = 150;
    let (mut columns, mut padded) = (vec![-1; rows * width], vec![0f32; rows * width]);
    for (n, (row, column, value)) in matrix.triples().enumerate() {
        let place = (n - matrix.starts[row] as usize) * rows + row;
        (columns[place], padded[place]) = (column as i32, value);
    }
    let product = matrix.product(1, [ALPHA, BETA], |row, _| x[row], |row, _| y[row]).concat();
    let result = gpu.with("y", &y)?;
    gpu.launch(
        "void ellmvn_kernel<512u, int, float, float>",
        grid(rows.div_ceil(512), 512),
        &[
            (rows as i32).into(),
            (matrix.columns as i32).into(),
            (width as i32).into(),
            ALPHA.into(),
            (&gpu.with("ell_col_ind", &columns)?).into(),
            (&gpu.with("ell_val", &padded)?).into(),
            (&vector).into(),
            BETA.into(),
            (&result).into(),
            0i32.into(),
        ],
    )?;
    close("ellmvn", &result.to_vec::<f32>()?, &product, TOLERANCE)
}

/// Dense matrices of a product, in columns: the factor, and the matrix that the product is added
/// to.
struct Dense {
    width: usize,
    b: Vec<f32>,
    ldb: usize,
    c: Vec<f32>,
    ldc: usize,
}

impl Dense {
    fn random(random: &mut Random, matrix: &Csr, width: usize) -> Self {
        let [ldb, ldc] = [matrix.columns + 3, matrix.rows + 5];
        Dense { width, b: random.floats(ldb * width), ldb, c: random.floats(ldc * width), ldc }
    }

    /// The elements of the result, in columns.
    fn product(&self, matrix: &Csr, alpha: f32, beta: f32) -> Vec<f64> {
        let rows = matrix.product(
            self.width,
            [alpha, beta],
            |row, column| self.b[column * self.ldb + row],
            |row, column| self.c[column * self.ldc + row],
        );
        (0..self.width).flat_map(|column| rows.iter().map(move |row| row[column])).collect()
    }

    fn result(&self, matrix: &Csr, found: &[f32]) -> Vec<f32> {
        found.chunks(self.ldc).flat_map(|column| &column[..matrix.rows]).copied().collect()
    }
}

pub(crate) fn coo_matrix(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(10);
    let (matrix, base) = (Csr::random(&mut random, 90, 120, 60), 1);
    let entries = matrix.entries();
    let dense = Dense::random(&mut random, &matrix, 64 * 4);
    let expected = dense.product(&matrix, ALPHA, 1.0);
    let [rows, columns, values, b] = [
        gpu.with("row_ind", &matrix.row_indices(base))?,
        gpu.with("col_ind", &from_base(&matrix.indices, base))?,
        gpu.with("val", &matrix.values)?,
        gpu.with("B", &dense.b)?,
    ];
    let tail = |c: &wavemill::Buffer| {
        [
            ALPHA.into(),
            (&rows).into(),
            (&columns).into(),
            (&values).into(),
            (&b).into(),
            (dense.ldb as i32).into(),
            0i32.into(),
            c.into(),
            (dense.ldc as i32).into(),
            0i32.into(),
            COLUMN_ORDER.into(),
            base.into(),
        ]
    };
    let c = gpu.with("C", &dense.c)?;
    let head = [NO_TRANSPOSE, entries as i32, 0, 0].map(wavemill::Arg::from);
    gpu.launch(
        "void coommnn_segmented_atomic<64u, 16u, 8u, false, int, float, float>",
        Size { groups: [entries.div_ceil(64 * 16) as u32, dense.width as u32 / 8, 1], threads: [64, 1, 1] },
        &[&head[..], &tail(&c)].concat(),
    )?;
    close("segments", &dense.result(&matrix, &c.to_vec()?), &expected, TOLERANCE)?;

    let c = gpu.with("C", &dense.c)?;
    let head = [0u8.into(), 0u8.into(), (dense.width as i32).into(), (entries as i32).into()];
    let rest = [(dense.width as i32).into(), 0i32.into()];
    gpu.launch(
        "void coommnn_atomic_main<256u, 64u, 4u, false, int, float, float>",
        grid(entries.div_ceil(256), 256),
        &[&head[..], &rest, &tail(&c)].concat(),
    )?;
    close("atomics", &dense.result(&matrix, &c.to_vec()?), &expected, TOLERANCE)
}

pub(crate) fn csr_matrix(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(11);
    let (matrix, base) = (Csr::random(&mut random, 70, 90, 40), 0);
    let width = 64;
    // The dense factor is in rows, the result in columns.
    let dense = Dense::random(&mut random, &matrix, width);
    let ldb = width + 2;
    let mut b = vec![0f32; matrix.columns * ldb];
    for row in 0..matrix.columns {
        (0..width).for_each(|column| b[row * ldb + column] = dense.b[column * dense.ldb + row]);
    }
    let [starts, columns, values, b] = [
        gpu.with("row_ptr", &from_base(&matrix.starts, base))?,
        gpu.with("col_ind", &from_base(&matrix.indices, base))?,
        gpu.with("val", &matrix.values)?,
        gpu.with("B", &b)?,
    ];
    for beta in [BETA, 0.0] {
        let expected = dense.product(&matrix, ALPHA, beta);
        // Conjugate or not, first column and number of columns, then the sizes.
        let mut head: Vec<wavemill::Arg> = vec![0u8.into(), 0u8.into()];
        let sizes = [0, width, matrix.rows, width, matrix.columns, matrix.entries()];
        head.extend(sizes.map(|n| wavemill::Arg::from(n as i32)));
        let factors = [ALPHA.into(), (&starts).into(), (&columns).into(), (&values).into(), (&b).into()];
        let (ldb, ldc) = (wavemill::Arg::from(ldb as i32), wavemill::Arg::from(dense.ldc as i32));
        let size = grid(matrix.rows.div_ceil(256 / 8), 256);

        let c = gpu.with("C", &dense.c)?;
        let strides = [0i32.into(), 0i32.into()];
        let tail = [ldb.clone(), 0i32.into(), beta.into(), (&c).into(), ldc.clone(), 0i32.into()];
        gpu.launch(
            "void csrmmnt_general_main_kernel<256u, 8u, 8u, int, int, float, float>",
            size,
            &[&head[..], &strides, &factors, &tail, &[COLUMN_ORDER.into(), base.into()]].concat(),
        )?;
        close("general", &dense.result(&matrix, &c.to_vec()?), &expected, TOLERANCE)?;

        let c = gpu.with("C", &dense.c)?;
        let tail = [ldb, beta.into(), (&c).into(), ldc];
        gpu.launch(
            "void csrmmnt_row_split_main_kernel<256u, 8u, 8u, int, int, float, float>",
            size,
            &[&head[..], &factors, &tail, &[COLUMN_ORDER.into(), base.into()]].concat(),
        )?;
        close("split rows", &dense.result(&matrix, &c.to_vec()?), &expected, TOLERANCE)?;
    }
    Ok(())
}

pub(crate) fn sampled(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(12);
    let (matrix, base, inner) = (Csr::random(&mut random, 80, 60, 25), 1, 33);
    // Both factors in rows.
    let (a, b) = (random.floats(matrix.rows * inner), random.floats(inner * matrix.columns));
    let values = gpu.with("val", &matrix.values)?;
    let mut args: Vec<wavemill::Arg> =
        [NO_TRANSPOSE, NO_TRANSPOSE, ROW_ORDER, ROW_ORDER].map(Into::into).to_vec();
    let sizes = [matrix.rows, matrix.columns, inner, matrix.entries()];
    args.extend(sizes.map(|n| wavemill::Arg::from(n as i32)));
    args.extend([ALPHA.into(), (&gpu.with("A", &a)?).into(), (inner as i32).into()]);
    args.extend([
        (&gpu.with("B", &b)?).into(),
        (matrix.columns as i32).into(),
        BETA.into(),
        (&values).into(),
    ]);
    args.push((&gpu.with("row_ptr", &from_base(&matrix.starts, base))?).into());
    args.push((&gpu.with("col_ind", &from_base(&matrix.indices, base))?).into());
    args.extend([base.into(), 0u64.into()]);
    gpu.launch(
        "void sddmm_csx_kernel<512, 1, (rocsparse_direction_)0, int, int, float, float>",
        grid(matrix.rows.div_ceil(512), 512),
        &args,
    )?;
    let expected: Vec<f64> = matrix
        .triples()
        .map(|(row, column, value)| {
            let product =
                |k: usize| f64::from(a[row * inner + k]) * f64::from(b[k * matrix.columns + column]);
            f64::from(BETA) * f64::from(value) + f64::from(ALPHA) * (0..inner).map(product).sum::<f64>()
        })
        .collect();
    close("sampled product", &values.to_vec::<f32>()?, &expected, TOLERANCE)
}
