//! Checks whether a code object can have a function of some name from its string table alone.

use object::elf::{SHT_DYNSYM, SHT_SYMTAB};
use object::read::elf::{FileHeader, SectionHeader};

use super::{Header, LE};
use crate::name::identifier;

/// Whether a code object can have a symbol called `name`, spelled as in the symbol table or as in
/// the source.
///
/// Reads only headers and a string table, so that a search of a library with thousands of kernels
/// does not parse them. Returns true when the string table cannot decide;
/// [`CodeObject::parse`](super::CodeObject::parse) does then.
#[must_use]
pub fn may_define(data: &[u8], name: &str) -> bool {
    let Some(identifier) = identifier(name) else { return true };
    let Some(strings) = strings(data) else { return true };
    memchr::memmem::find(strings, identifier.as_bytes()).is_some()
}

/// The string table of the symbols that [`CodeObject`](super::CodeObject) reads: those of
/// `.symtab`, or in a stripped file those of `.dynsym`.
fn strings(data: &[u8]) -> Option<&[u8]> {
    let header = Header::parse(data).ok()?;
    let sections = header.section_headers(LE, data).ok()?;
    // The first entry is empty.
    let of = |kind| sections.iter().find(|s| s.sh_type(LE) == kind && s.sh_size(LE) > s.sh_entsize(LE));
    let symbols = of(SHT_SYMTAB).or_else(|| of(SHT_DYNSYM))?;
    sections.get(symbols.sh_link(LE) as usize)?.data(LE, data).ok()
}
