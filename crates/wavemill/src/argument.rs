//! Arguments of launches.

use crate::buffer::{Buffer, Plain, to_bytes};
use crate::image::{Image, Sampler};

/// An argument of a launch.
///
/// ```
/// # mod given { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest.rs")); }
/// use wavemill::{Arg, Buffer, Launch};
///
/// # let (kernel, args) = given::vector_add(256)?;
/// # let [Arg::Buffer(a), Arg::Buffer(b), Arg::Buffer(c), _] = args else { panic!() };
/// // Buffers are passed by their addresses. The type of a number is the type of the argument.
/// let n = 256u32;
/// let args = [Arg::from(&a), Arg::from(&b), Arg::from(&c), Arg::from(n)];
/// Launch::new(&kernel).workgroup_size([n, 1, 1]).args(args).run()?;
/// assert_eq!(c.to_vec::<f32>()?, [3.0; 256]);
///
/// // A structure of C, `struct { float scale; int count; }`, and dynamic LDS.
/// let by_value = Arg::Value([1.5f32.to_le_bytes(), 7i32.to_le_bytes()].concat());
/// let lds = Arg::Local(1024);
/// # let _ = (by_value, lds);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
