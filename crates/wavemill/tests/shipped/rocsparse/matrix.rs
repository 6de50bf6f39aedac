//! Sparse matrices.

use crate::random::Random;

/// A sparse matrix in rows (CSR). Columns rise within a row.
pub(super) struct Csr {
    pub rows: usize,
    pub columns: usize,
    /// The start of each row, followed by the number of entries.
    pub starts: Vec<i32>,
    pub indices: Vec<i32>,
    pub values: Vec<f32>,
}

impl Csr {
    /// Rows with up to `most` entries; some have none.
    pub(super) fn random(random: &mut Random, rows: usize, columns: usize, most: usize) -> Self {
        let mut matrix = Csr { rows, columns, starts: vec![0], indices: Vec::new(), values: Vec::new() };
        for _ in 0..rows {
            let count = random.below(most + 1);
            let mut row: Vec<i32> = (0..count).map(|_| random.below(columns) as i32).collect();
            row.sort_unstable();
            row.dedup();
            matrix.values.extend(random.floats(row.len()));
            matrix.indices.extend(row);
            matrix.starts.push(matrix.indices.len() as i32);
        }
        matrix
    }

    pub(super) fn entries(&self) -> usize {
        self.indices.len()
    }

    /// Row, column and value of each entry.
    pub(super) fn triples(&self) -> impl Iterator<Item = (usize, usize, f32)> + '_ {
        (0..self.rows).flat_map(move |row| {
            let range = self.starts[row] as usize..self.starts[row + 1] as usize;
            range.map(move |n| (row, self.indices[n] as usize, self.values[n]))
        })
    }

    /// The row of each entry, counted from `base`.
    pub(super) fn row_indices(&self, base: i32) -> Vec<i32> {
        self.triples().map(|(row, ..)| row as i32 + base).collect()
    }

    /// The same matrix in columns.
    pub(super) fn transposed(&self) -> Csr {
        let mut triples: Vec<_> = self.triples().map(|(row, column, value)| (column, row, value)).collect();
        triples.sort_by_key(|(column, row, _)| (*column, *row));
        let starts = (0..=self.columns)
            .map(|column| triples.iter().filter(|triple| triple.0 < column).count() as i32)
            .collect();
        Csr {
            rows: self.columns,
            columns: self.rows,
            starts,
            indices: triples.iter().map(|triple| triple.1 as i32).collect(),
            values: triples.iter().map(|triple| triple.2).collect(),
        }
    }

    /// alpha A B + beta C for dense matrices with `width` columns, whose entries come from
    /// functions.
    pub(super) fn product(
        &self,
        width: usize,
        [alpha, beta]: [f32; 2],
        b: impl Fn(usize, usize) -> f32,
        c: impl Fn(usize, usize) -> f32,
    ) -> Vec<Vec<f64>> {
        let mut out: Vec<Vec<f64>> = (0..self.rows)
            .map(|row| (0..width).map(|column| f64::from(beta) * f64::from(c(row, column))).collect())
            .collect();
        for (row, inner, value) in self.triples() {
            for (column, sum) in out[row].iter_mut().enumerate() {
                *sum += f64::from(alpha) * f64::from(value) * f64::from(b(inner, column));
            }
        }
        out
    }
}

/// Indices that count from a base.
pub(super) fn from_base(indices: &[i32], base: i32) -> Vec<i32> {
    indices.iter().map(|index| index + base).collect()
}
