//! The algorithms that the kernels implement, written from their publications.

pub(crate) mod counter_based;
pub(crate) mod mrg32k3a;
pub(crate) mod sobol;
pub(crate) mod xorwow;
