//! The reference engine beside the interpreter, and waves that it hands over.

mod common;
mod kernels;
mod programs;
