//! Notes: the records that carry metadata and, in code object v2, the target.

use crate::bytes;
use crate::error::Result;

/// `NT_AMD_HSA_ISA_VERSION` of owner `AMD` (v2).
pub(super) const ISA_VERSION: u32 = 3;
/// `NT_AMD_HSA_METADATA` of owner `AMD` (v2): YAML.
pub(super) const YAML_METADATA: u32 = 10;
/// `NT_AMDGPU_METADATA` of owner `AMDGPU` (v3 and later): MessagePack.
pub(crate) const METADATA: u32 = 32;

/// A note record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Note<'a> {
    pub(super) owner: &'a [u8],
    pub(super) kind: u32,
    pub(super) contents: &'a [u8],
    /// File offset of the contents, in bytes.
    pub(super) offset: u64,
}

/// Reads the notes of a note segment that starts at `offset` in the file.
pub(super) fn parse<'a>(data: &'a [u8], offset: u64, notes: &mut Vec<Note<'a>>) -> Result<()> {
    // Each record is three words, then name and contents, each padded to a word.
    let mut at = 0;
    while at + 12 <= data.len() as u64 {
        let name_size = bytes::u32(data, at, "note header")?;
        let size = u64::from(bytes::u32(data, at + 4, "note header")?);
        let kind = bytes::u32(data, at + 8, "note header")?;
        let name = bytes::slice(data, at + 12, name_size.into(), "note name")?;
        let start = at + 12 + u64::from(name_size).next_multiple_of(4);
        let contents = bytes::slice(data, start, size, "note contents")?;
        let owner = name.strip_suffix(b"\0").unwrap_or(name);
        notes.push(Note { owner, kind, contents, offset: offset + start });
        at = start + size.next_multiple_of(4);
    }
    Ok(())
}
