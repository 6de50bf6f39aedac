//! Exact meanings of float operations. One binary, so that its dependencies are linked only once.

mod against_host;
mod atomics;
mod common;
mod conversions;
mod division;
mod elementary;
mod exceptions;
mod half;
mod nans;
mod operations;
mod rounding;
mod texels;
