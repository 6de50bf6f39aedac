//! Compares two object files.

use std::fmt::Write as _;

use crate::Failed;
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};

type Header = elf::FileHeader64<object::LittleEndian>;
const LE: object::LittleEndian = object::LittleEndian;

/// Compares two descriptions, and shows the first lines that differ.
fn same(what: &str, theirs: &str, ours: &str) -> Result<(), Failed> {
    if theirs == ours {
        return Ok(());
    }
    let mut out = format!("{what} differ (- theirs, + ours)");
    let (theirs, ours): (Vec<_>, Vec<_>) = (theirs.lines().collect(), ours.lines().collect());
    let equal = theirs.iter().zip(&ours).take_while(|(left, right)| left == right).count();
    for (sign, lines) in [('-', &theirs), ('+', &ours)] {
        for line in lines.iter().skip(equal.saturating_sub(1)).take(6) {
            write!(out, "\n{sign} {line}")?;
        }
    }
    Err(out.into())
}

/// The name of a section by its index.
fn section_name(table: &SectionTable<'_, Header>, index: u16) -> Result<String, Failed> {
    if index == 0 || index >= 0xff00 {
        return Ok(format!("{index:#x}"));
    }
    let section = table.section(object::SectionIndex(index.into()))?;
    Ok(String::from_utf8_lossy(table.section_name(LE, section)?).into_owned())
}

/// Sections that record the producer of the file, and string tables, whose layout is free.
const SKIPPED: [&str; 4] = [".comment", ".shstrtab", ".strtab", ".symtab"];

/// Describes sections without their indices and file offsets; `.rela` sections are described by
/// their entries.
fn sections(data: &[u8], table: &SectionTable<'_, Header>, header: &Header) -> Result<String, Failed> {
    let symbols = match header.e_type(LE) {
        elf::ET_REL => table.symbols(LE, data, elf::SHT_SYMTAB)?,
        _ => table.symbols(LE, data, elf::SHT_DYNSYM)?,
    };
    let mut out = String::new();
    for section in table.iter() {
        let name = String::from_utf8_lossy(table.section_name(LE, section)?);
        if SKIPPED.contains(&name.as_ref()) {
            continue;
        }
        let linked = section_name(table, section.sh_link(LE) as u16)?;
        writeln!(
            out,
            "{name} {:?} flags {:#x} address {:#x} size {:#x} align {} entries of {} linked to {linked}",
            section.sh_type(LE),
            section.sh_flags(LE).0,
            section.sh_addr(LE),
            section.sh_size(LE),
            section.sh_addralign(LE),
            section.sh_entsize(LE),
        )?;
        if let Some((entries, _)) = section.rela(LE, data)? {
            for entry in entries {
                let symbol = match entry.r_sym(LE, false) {
                    0 => "nothing".to_owned(),
                    index => {
                        let symbol = symbols.symbol(object::SymbolIndex(index as usize))?;
                        let place = section_name(table, symbol.st_shndx(LE).0)?;
                        format!("{} in {place}", String::from_utf8_lossy(symbol.name(LE, symbols.strings())?))
                    }
                };
                let (offset, addend) = (entry.r_offset.get(LE), entry.r_addend.get(LE));
                writeln!(out, "  {offset:#x}: {} {symbol} + {addend:#x}", entry.r_type(LE, false).0)?;
            }
        } else if section.sh_type(LE) == elf::SHT_GROUP {
            // They are indices; the flag of the members is compared with the sections.
            continue;
        } else if section.sh_type(LE) != elf::SHT_NOBITS && section.sh_type(LE) != elf::SHT_DYNSYM {
            for (line, bytes) in section.data(LE, data)?.chunks(16).enumerate() {
                writeln!(out, "  {:#x}: {bytes:02x?}", line * 16)?;
            }
        }
    }
    Ok(out)
}

fn symbols(data: &[u8], table: &SectionTable<'_, Header>, kind: elf::SectionType) -> Result<String, Failed> {
    let symbols = table.symbols(LE, data, kind)?;
    let mut out = String::new();
    for symbol in symbols.iter() {
        writeln!(
            out,
            "{} {:#x} size {:#x} info {:#x} other {:#x} in {}",
            String::from_utf8_lossy(symbol.name(LE, symbols.strings())?),
            symbol.st_value(LE),
            symbol.st_size(LE),
            symbol.st_info.0,
            symbol.st_other.0,
            section_name(table, symbol.st_shndx(LE).0)?,
        )?;
    }
    Ok(out)
}

fn file_header(header: &Header) -> String {
    format!("{:?} {:?} {:#x}", header.e_ident(), header.e_type(LE), header.e_flags(LE).0)
}

/// Checks that two relocatable files are equivalent: header, sections with flags, bytes and
/// relocations, symbols in order.
///
/// # Errors
/// Fails with the first lines that differ, or if a file cannot be read.
pub fn same_relocatable(theirs: &[u8], ours: &[u8]) -> Result<(), Failed> {
    let (left, right) = (Header::parse(theirs)?, Header::parse(ours)?);
    same("headers", &file_header(left), &file_header(right))?;
    let (left_table, right_table) = (left.sections(LE, theirs)?, right.sections(LE, ours)?);
    same("sections", &sections(theirs, &left_table, left)?, &sections(ours, &right_table, right)?)?;
    let kind = elf::SHT_SYMTAB;
    same("symbols", &symbols(theirs, &left_table, kind)?, &symbols(ours, &right_table, kind)?)
}

/// Checks that two linked files are equivalent, at the same addresses: header, segments, sections
/// and symbols.
///
/// # Errors
/// Fails with the first lines that differ, or if a file cannot be read.
pub fn same_linked(theirs: &[u8], ours: &[u8]) -> Result<(), Failed> {
    let (left, right) = (Header::parse(theirs)?, Header::parse(ours)?);
    same("headers", &file_header(left), &file_header(right))?;
    let (left_table, right_table) = (left.sections(LE, theirs)?, right.sections(LE, ours)?);
    same("sections", &sections(theirs, &left_table, left)?, &sections(ours, &right_table, right)?)?;
    for kind in [elf::SHT_DYNSYM, elf::SHT_SYMTAB] {
        same("symbols", &symbols(theirs, &left_table, kind)?, &symbols(ours, &right_table, kind)?)?;
    }
    same("segments", &segments(theirs, left)?, &segments(ours, right)?)
}

fn segments(data: &[u8], header: &Header) -> Result<String, Failed> {
    let mut out = String::new();
    for segment in header.program_headers(LE, data)? {
        writeln!(
            out,
            "{:?} {:?} offset {:#x} address {:#x} {:#x} file {:#x} memory {:#x} align {:#x}",
            segment.p_type(LE),
            segment.p_flags(LE),
            segment.p_offset(LE),
            segment.p_vaddr(LE),
            segment.p_paddr(LE),
            segment.p_filesz(LE),
            segment.p_memsz(LE),
            segment.p_align(LE),
        )?;
    }
    Ok(out)
}
