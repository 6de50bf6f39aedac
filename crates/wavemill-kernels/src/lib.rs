//! The kernels that Wavemill's tests and `wavemill bench` run. Each has a compiled code object for
//! every target (for Cayman, most of them), a launch with generated inputs, and the expected results, computed on the host in
//! plain scalar Rust.
//!
//! The sources are in `kernels/` at the root of the repository. The optimised objects that
//! `kernels/build.sh` makes from them are part of this crate ([`fixture`]); those of other
//! optimisation levels are read from that folder ([`fixture_at`]). This crate launches nothing: a
//! [`Case`] is plain data that any launcher can use.
//!
//! ```
//! use wavemill_kernels::{Size, Target, Value, case, fixture};
//!
//! let case = case("vector_add", Size::Small).expect("a kernel of that name");
//! let object = fixture(Target::Gfx90a, case.object).expect("built for every target");
//! // Launch `case.kernel` of `object` over `case.global` work-items with `case.args`, then hand the contents
//! // of the buffers to `check`. Here the host does the work of the device:
//! let buffers: Vec<Vec<u8>> = case.buffers().map(|b| b.data.to_vec()).collect();
//! assert!(case.check(&buffers).is_err(), "nothing has been added yet");
//! # assert!(!object.is_empty());
//! ```

mod bounded;
mod case;
mod check;
mod fixtures;
mod half;
mod kernels;
mod r600;
mod random;

pub use case::{Arg, BufferArg, Case, Element, Size, Value};
pub use check::{Mismatch, WrongElement};
pub use fixtures::{
    Level, OBJECTS, Target, fixture, fixture_at, hip_fixture, image_fixture, opencl_options, source, twin,
    why_absent,
};
pub use kernels::mandelbrot::colour as mandelbrot_colour;
pub use kernels::{KERNELS, KernelCase, case};
pub use r600::{FLUSHED_DENORMALS, fault, why_other_numbers};

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
