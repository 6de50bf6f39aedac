//! Kernels of rocSPARSE 5.3.0.

use libtest_mimic::Failed;

use crate::gpu::Gpu;

/// The tests with their names.
pub(crate) const CASES: &[(&str, fn(&Gpu) -> Result<(), Failed>)] = &[];
