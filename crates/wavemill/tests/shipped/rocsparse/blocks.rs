//! Products of matrices of dense blocks with vectors.

use wavemill::Arg;
use wavemill_oracle::Failed;

use super::matrix::{Csr, from_base};
use crate::compare::{Tolerance, close};
use crate::gpu::{Gpu, grid};
use crate::random::Random;

const ALPHA: f32 = 0.75;

/// For sums of some hundred products of numbers below 1.
const TOLERANCE: Tolerance = Tolerance { relative: 0.0, absolute: 5e-5 };

/// A sparse matrix whose entries are blocks.
struct Blocks {
    pattern: Csr,
    rows: usize,
    columns: usize,
    values: Vec<f32>,
    x: Vec<f32>,
    y: Vec<f32>,
}

impl Blocks {
    fn random(random: &mut Random, rows: usize, columns: usize) -> Self {
        let pattern = Csr::random(random, 19, 23, 15);
        Blocks {
            values: random.floats(pattern.entries() * rows * columns),
            x: random.floats(pattern.columns * columns),
            y: random.floats(pattern.rows * rows),
            pattern,
            rows,
            columns,
        }
    }

    /// alpha A x + beta y, with blocks stored in rows (direction 0) or columns (1).
    fn product(&self, direction: i32, beta: f32) -> Vec<f64> {
        let mut out: Vec<f64> = self.y.iter().map(|y| f64::from(beta) * f64::from(*y)).collect();
        for (block, (block_row, block_column, _)) in self.pattern.triples().enumerate() {
            for row in 0..self.rows {
                for column in 0..self.columns {
                    let place = match direction {
                        0 => row * self.columns + column,
                        _ => column * self.rows + row,
                    };
                    let value = self.values[block * self.rows * self.columns + place];
                    let x = self.x[block_column * self.columns + column];
                    out[block_row * self.rows + row] += f64::from(ALPHA) * f64::from(value) * f64::from(x);
                }
            }
        }
        out
    }

    /// Runs a kernel for both directions, and with and without a vector to add to. The arguments
    /// before the direction, after alpha and after the values differ.
    fn check(
        &self,
        gpu: &Gpu,
        kernel: &str,
        threads: u32,
        rows_of_group: usize,
        arguments: impl Fn([Arg; 8]) -> Vec<Arg>,
    ) -> Result<(), Failed> {
        let base = 1;
        let [starts, indices, values, x] = [
            gpu.with("row_ptr", &from_base(&self.pattern.starts, base))?,
            gpu.with("col_ind", &from_base(&self.pattern.indices, base))?,
            gpu.with("val", &self.values)?,
            gpu.with("x", &self.x)?,
        ];
        for (direction, beta) in [(0, 1.5f32), (1, 0.0)] {
            let y = gpu.with("y", &self.y)?;
            let args = arguments([
                direction.into(),
                (&starts).into(),
                (&indices).into(),
                (&values).into(),
                (&x).into(),
                beta.into(),
                (&y).into(),
                base.into(),
            ]);
            gpu.launch(kernel, grid(self.pattern.rows.div_ceil(rows_of_group), threads), &args)?;
            close(kernel, &y.to_vec::<f32>()?, &self.product(direction, beta), TOLERANCE)?;
        }
        Ok(())
    }
}

/// Blocks of one to four rows.
pub(crate) fn rows(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(13);
    for (rows, columns, width) in [(1, 10, 16), (1, 9, 64), (2, 10, 16), (3, 1, 16), (3, 8, 64), (4, 1, 16)] {
        let blocks = Blocks::random(&mut random, rows, columns);
        let kernel = format!("void gebsrmvn_{rows}xn_kernel<128u, {columns}u, {width}u, float, float>");
        let mb = Arg::from(blocks.pattern.rows as i32);
        blocks.check(
            gpu,
            &kernel,
            128,
            128 / width,
            |[direction, starts, indices, values, x, beta, y, base]| {
                vec![mb.clone(), direction, ALPHA.into(), starts, indices, values, x, beta, y, base]
            },
        )?;
    }
    Ok(())
}

/// Blocks of any size.
pub(crate) fn any(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(14);
    for (kernel, threads, rows, columns) in [
        ("gebsrmvn_mxn_kernel<35u, 5u, 7u", 35, 5, 7),
        ("gebsrmvn_mxn_kernel<64u, 8u, 4u", 64, 8, 4),
        ("gebsrmvn_mxn_16_kernel<100u, 5u, 10u", 100, 5, 10),
        ("gebsrmvn_general_kernel<256u, 8u", 256, 9, 6),
    ] {
        let blocks = Blocks::random(&mut random, rows, columns);
        let mb = Arg::from(blocks.pattern.rows as i32);
        let kernel = format!("void {kernel}, float, float>");
        let [r, c] = [rows, columns].map(|n| Arg::from(n as i32));
        blocks.check(
            gpu,
            &kernel,
            threads,
            1,
            |[direction, starts, indices, values, x, beta, y, base]| {
                let head = [mb.clone(), direction, ALPHA.into(), starts, indices, values];
                [&head[..], &[r.clone(), c.clone(), x, beta, y, base]].concat()
            },
        )?;
    }
    Ok(())
}

/// Square blocks.
pub(crate) fn square(gpu: &Gpu) -> Result<(), Failed> {
    let mut random = Random::new(15);
    for size in [17, 26] {
        let blocks = Blocks::random(&mut random, size, size);
        let mb = Arg::from(blocks.pattern.rows as i32);
        let kernel = format!("void bsrxmvn_17_32_kernel<{size}u, float, int, int, float>");
        let threads = (size * size) as u32;
        // No mask: all rows, each up to the start of the next one.
        blocks.check(
            gpu,
            &kernel,
            threads,
            1,
            |[direction, starts, indices, values, x, beta, y, base]| {
                let none = Arg::from(0u64);
                let head = [mb.clone(), direction, ALPHA.into(), 0i32.into(), none.clone(), starts, none];
                [&head[..], &[indices, values, x, beta, y, base]].concat()
            },
        )?;
    }
    Ok(())
}
