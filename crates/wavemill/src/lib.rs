//! Run AMD GPU code objects on the CPU: no GPU, no driver, no ROCm.
//!
//! A [`Device`] owns guest memory and models one chip. A [`Module`] is a code object loaded into
//! it. A [`Kernel`] is launched over a grid with arguments, among them [`Buffer`]s of guest memory.
//!
//! ```
//! # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
//! use wavemill::{Arg, Device, Launch, Module};
//!
//! # let object = given::vector_add_object()?;
//! // `object` has the bytes of a code object from clang.
//! let device = Device::for_object(object)?;
//! let module = Module::load(&device, object)?;
//! let kernel = module.kernel("vector_add")?;
//!
//! let x = device.buffer_from("x", &[1.0f32; 1024])?;
//! let y = device.buffer_from("y", &[2.0f32; 1024])?;
//! let z = device.buffer("z", 4096)?;
//! Launch::new(&kernel)
//!     .workgroups([4, 1, 1])
//!     .workgroup_size([256, 1, 1])
//!     .args([Arg::from(&x), Arg::from(&y), Arg::from(&z), Arg::from(1024u32)])
//!     .run()?;
//! assert_eq!(z.to_vec::<f32>()?[0], 3.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `printf`, `assert` and `malloc` in kernels work as they do under HIP and OpenCL.
//! [`Launch::output`] sets the receiver of the printed text.
//!
//! The crate root has the types that such a program names. Modules have the rest: [`device`]
//! (products, targets, kinds of addresses), [`image`] (images and samplers), [`find`] (kernels in
//! files and libraries), [`module`] (contents of code objects), [`launch`] (options, output,
//! [`Outcome`]), [`fault`] (reports), [`stats`], and [`observe`] (traces and observers). With the
//! feature `serde`, reports and statistics can be serialised. Each type has an example.

mod abi;
mod argument;
pub mod binding;
pub mod buffer;
mod code;
#[cfg(feature = "serde")]
mod data;
pub mod device;
pub mod element;
pub mod error;
pub mod fault;
pub mod find;
mod guest;
mod heap;
pub mod image;
pub mod launch;
mod limits;
mod lines;
pub mod module;
pub mod observe;
mod printf_formats;
mod product;
pub mod registers;
mod report;
mod services;
mod source;
mod stall;
pub mod stats;
mod traps;
mod unfinished;

pub use buffer::Buffer;
pub use device::{Device, DeviceBuilder, TargetId};
pub use error::{Error, Result};
pub use image::{Image, Sampler};
pub use launch::{Arg, Launch, Outcome, RunOptions};
pub use module::{Kernel, Module};
pub use wavemill_ir as ir;

/// The examples of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The examples of the handbook's page about this crate.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/embedding.md")]
struct Handbook;
