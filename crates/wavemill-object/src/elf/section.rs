//! Sections: code, data and debug information by name.

use std::borrow::Cow;

use object::elf::SHT_NOBITS;
use object::read::elf::{SectionHeader, SectionTable};

use super::{Header, LE, name};
use crate::bytes;
use crate::error::Result;

/// A section of a code object. Loading needs only segments; disassemblers and debuggers find
/// sections by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section<'a> {
    /// `.text`, `.rodata`, `.debug_line`.
    pub name: Cow<'a, str>,
    /// Address before loading; 0 for a section that is not loaded.
    pub address: u64,
    /// Bytes in memory, or in the file if it is not loaded.
    pub size: u64,
    /// The bytes in the file; empty for uninitialised variables.
    pub contents: &'a [u8],
    /// The section is part of the memory image.
    pub loaded: bool,
    /// The section may be written.
    pub writable: bool,
    /// The section holds code.
    pub executable: bool,
}

/// Reads the section headers, except the empty first one.
pub(super) fn read<'a>(data: &'a [u8], table: &SectionTable<'a, Header>) -> Result<Vec<Section<'a>>> {
    let mut sections = Vec::with_capacity(table.len());
    for header in table.iter().filter(|header| header.sh_type(LE).0 != 0) {
        let size = header.sh_size(LE);
        let contents = match header.sh_type(LE) {
            SHT_NOBITS => &[][..],
            _ => bytes::slice(data, header.sh_offset(LE), size, "section")?,
        };
        let flags = header.sh_flags(LE).0;
        sections.push(Section {
            name: name(table.section_name(LE, header).unwrap_or_default(), "name of a section")?,
            address: header.sh_addr(LE),
            size,
            contents,
            loaded: flags & 2 != 0,
            writable: flags & 1 != 0,
            executable: flags & 4 != 0,
        });
    }
    Ok(sections)
}
