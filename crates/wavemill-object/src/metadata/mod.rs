//! Metadata: what a code object states about its kernels and their arguments.

mod allowance;
mod legacy;
mod model;
mod msgpack;
mod print;
mod scalar;
mod value;
mod verify;
mod yaml;
mod yaml_mistakes;

pub use model::{Access, AddressSpace, Argument, KernelMetadata, Metadata, ValueKind};
pub use value::Value;
pub use yaml::MetadataError;

use crate::error::Result;

/// Reads the MessagePack of code object v3 and later, found at `offset`. Also returns which kernels
/// are omitted, and why.
pub(crate) fn from_msgpack(data: &[u8], offset: u64) -> Result<(Metadata, Vec<String>)> {
    Metadata::decode(data, offset)
}

/// Reads the YAML of code object v2, found at `offset`.
pub(crate) fn from_yaml(data: &[u8], offset: u64) -> Result<Metadata> {
    let text = match data.iter().position(|&byte| byte == 0) {
        Some(end) => &data[..end],
        None => data,
    };
    let text = String::from_utf8_lossy(text);
    let document = yaml::parse(&text, scalar::legacy)
        .map_err(|error| crate::Error::malformed("YAML metadata", offset, error.to_string()))?;
    let value = document.map_or(Value::Nil, yaml::Node::into_value);
    Metadata::from_value(legacy::modernise(value), offset, text.len())
}

/// Turns the YAML between `.amdgpu_metadata` and `.end_amdgpu_metadata` into the MessagePack of
/// code object v3 and later, byte for byte as LLVM's assembler does.
/// [`Module::add_metadata`](crate::write::Module::add_metadata) adds it to a module as a note.
///
/// Checks the required keys of kernels and their arguments; keeps keys without a meaning.
///
/// # Errors
/// [`MetadataError`] with line and column of the text.
pub fn assemble_metadata(yaml: &str) -> Result<Vec<u8>, MetadataError> {
    let mut root = yaml::parse(yaml, scalar::llvm)?.ok_or_else(verify::nothing)?;
    keys(&root)?;
    verify::verify(&mut root)?;
    Ok(msgpack::write(&root.into_value()))
}

/// Rejects keys that LLVM would not accept as text.
fn keys(node: &yaml::Node) -> Result<(), MetadataError> {
    match &node.tree {
        yaml::Tree::Leaf(_) => Ok(()),
        yaml::Tree::List(items) => items.iter().try_for_each(keys),
        yaml::Tree::Map(entries) => entries.iter().try_for_each(|(key, item)| match scalar::plain(key) {
            Value::Text(_) => keys(item),
            _ => Err(item
                .mark
                .error(format!("the key `{key}` would be a number or a boolean; keys should be text"))),
        }),
    }
}

/// The YAML from which [`assemble_metadata`] makes exactly the MessagePack `metadata`, as LLVM's
/// tools print it, between the lines `---` and `...`. `None` if there is no such text: the bytes
/// are damaged, lack required keys, or are not in the form that LLVM writes. Only data directives
/// can express such bytes.
pub fn disassemble_metadata(metadata: &[u8]) -> Option<String> {
    // The tree and the text would need many times the memory of the invalid bytes.
    if Metadata::has_too_many_arguments(metadata).ok()? {
        return None;
    }
    let text = print::document(&msgpack::parse(metadata, 0).ok()?);
    let again = assemble_metadata(&text).ok()?;
    (again == metadata).then_some(text)
}
