//! What a code object says about its kernels and their arguments.

mod legacy;
mod model;
mod msgpack;
mod value;
mod yaml;

pub use model::{Access, AddressSpace, Argument, KernelMetadata, Metadata, ValueKind};
pub use value::Value;

use crate::error::Result;

/// Reads the MessagePack of code object v3 and later, found at `offset`.
pub(crate) fn from_msgpack(data: &[u8], offset: u64) -> Result<Metadata> {
    Metadata::from_value(msgpack::parse(data, offset)?, offset)
}

/// Reads the YAML of code object v2, found at `offset`.
pub(crate) fn from_yaml(data: &[u8], offset: u64) -> Result<Metadata> {
    let text = match data.iter().position(|&byte| byte == 0) {
        Some(end) => &data[..end],
        None => data,
    };
    let text = String::from_utf8_lossy(text);
    Metadata::from_value(legacy::modernise(yaml::parse(&text, offset)?), offset)
}
