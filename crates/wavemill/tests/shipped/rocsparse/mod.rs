//! Kernels of rocSPARSE 5.3.0, including instances of the functions for which shipped libraries
//! have most kernels (CONFORMANCE.md). rocSPARSE's documentation describes the formats.

mod blocks;
mod conversions;
mod matrix;
mod products;
mod solve;
mod vectors;

use crate::gpu::Test;

/// Constants of rocSPARSE's types.
const ROW_ORDER: i32 = 0;
const COLUMN_ORDER: i32 = 1;
const NO_TRANSPOSE: i32 = 111;

/// The tests with their names.
pub(crate) const CASES: &[(&str, Test)] = &[
    ("sparse_vectors", vectors::elements),
    ("sparse_dot", vectors::dot),
    ("fills_and_scales", vectors::fills),
    ("indices", conversions::indices),
    ("to_dense", conversions::to_dense),
    ("from_dense", conversions::from_dense),
    ("to_ell", conversions::to_ell),
    ("permute", conversions::permute),
    ("matrix_vector", products::matrix_vector),
    ("coo_matrix_dense", products::coo_matrix),
    ("csr_matrix_dense", products::csr_matrix),
    ("sampled_product", products::sampled),
    ("block_rows", blocks::rows),
    ("block_any", blocks::any),
    ("block_square", blocks::square),
    ("triangular_solve", solve::triangular),
    ("tridiagonal_reduction", solve::tridiagonal),
];
