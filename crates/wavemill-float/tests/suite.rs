//! Exact meanings of float operations. One binary: what it links is there once.

mod against_host;
mod atomics;
mod common;
mod conversions;
mod division;
mod elementary;
mod half;
mod nans;
mod operations;
mod rounding;
