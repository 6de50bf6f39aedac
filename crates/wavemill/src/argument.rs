//! Arguments of launches.

use crate::buffer::{Buffer, Plain, to_bytes};
use crate::image::{Image, Sampler};

/// An argument of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Arg {
    /// The address of a buffer.
    Buffer(Buffer),
    /// A value, as little-endian bytes.
    Value(Vec<u8>),
    /// A vector or a structure, as little-endian bytes. Where the code object does not describe the
    /// parameters, as for Cayman, the launch needs its alignment.
    Aligned {
        /// The bytes in memory.
        bytes: Vec<u8>,
        /// Its alignment in bytes, a power of two: that of the largest member of a structure, or the
        /// size of a vector.
        alignment: u32,
    },
    /// Dynamic LDS of this many bytes.
    Local(u32),
    /// The address of an image's descriptor.
    Image(Image),
    /// The address of a sampler's descriptor.
    Sampler(Sampler),
}

impl From<&Buffer> for Arg {
    fn from(b: &Buffer) -> Arg {
        Arg::Buffer(b.clone())
    }
}

impl From<&Image> for Arg {
    fn from(image: &Image) -> Arg {
        Arg::Image(image.clone())
    }
}

impl From<&Sampler> for Arg {
    fn from(sampler: &Sampler) -> Arg {
        Arg::Sampler(sampler.clone())
    }
}

impl<T: Plain> From<T> for Arg {
    fn from(value: T) -> Arg {
        Arg::Value(to_bytes(&[value]).into_owned())
    }
}
