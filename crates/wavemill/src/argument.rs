//! Arguments of launches.

use crate::buffer::{Buffer, Plain, to_bytes};

/// An argument of a launch.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Arg {
    /// The address of a buffer.
    Buffer(Buffer),
    /// A value, as little-endian bytes.
    Value(Vec<u8>),
    /// Dynamic LDS of this many bytes.
    Local(u32),
}

impl From<&Buffer> for Arg {
    fn from(b: &Buffer) -> Arg {
        Arg::Buffer(b.clone())
    }
}

impl<T: Plain> From<T> for Arg {
    fn from(value: T) -> Arg {
        Arg::Value(to_bytes(&[value]).into_owned())
    }
}
