//! Sections and symbols of a code object in the order of a listing.
//!
//! The order and the choice of symbols follow `llvm-objdump`, whose output [`super::objdump`]
//! reproduces.

use object::LittleEndian;
use object::elf::{FileHeader64, SHF_EXECINSTR, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB};
use object::read::elf::{FileHeader, SectionHeader, SymbolTable};
use wavemill_object::{Error, Result, check_tables};

type Header = FileHeader64<LittleEndian>;
const LE: LittleEndian = LittleEndian;

/// Symbol without a type: an assembler label.
pub(super) const STT_NOTYPE: u8 = 0;
/// Variable.
pub(super) const STT_OBJECT: u8 = 1;
/// Function.
pub(super) const STT_FUNC: u8 = 2;
const STT_SECTION: u8 = 3;
const STT_FILE: u8 = 4;
/// Variable that the linker allocates.
pub(super) const STT_COMMON: u8 = 5;
/// Kernel of a code object v2.
pub(super) const STT_LEGACY_KERNEL: u8 = 10;
/// Section indices from here on are reserved.
const SHN_LORESERVE: u16 = 0xff00;

/// A symbol; ordered as in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol<'a> {
    pub address: u64,
    /// Symbol type of the ELF file.
    pub kind: u8,
    pub name: &'a [u8],
    pub size: u64,
}

/// A section.
#[derive(Clone, Debug)]
pub(super) struct Section<'a> {
    pub name: &'a [u8],
    pub address: u64,
    pub size: u64,
    pub bytes: &'a [u8],
    /// It holds code that is in the file.
    pub code: bool,
    /// Its symbols, sorted; never empty for a section with code.
    pub symbols: Vec<Symbol<'a>>,
}

/// The sections of a code object.
#[derive(Clone, Debug)]
pub(super) struct Sections<'a> {
    /// In the order of the file.
    pub list: Vec<Section<'a>>,
    /// Symbols that belong to no section, sorted.
    absolute: Vec<Symbol<'a>>,
    /// Indices into `list`, by address.
    by_address: Vec<usize>,
}

fn malformed(what: &'static str, offset: u64) -> impl Fn(object::read::Error) -> Error {
    move |error| Error::Malformed { what, offset, detail: error.to_string() }
}

/// The names of the functions and kernels of a code object; none if it cannot be read.
pub(super) fn functions(data: &[u8]) -> Vec<String> {
    let sections = Sections::read(data).map(|sections| sections.list).unwrap_or_default();
    let symbols = sections.iter().filter(|section| section.code).flat_map(|section| &section.symbols);
    symbols
        .filter(|symbol| matches!(symbol.kind, STT_FUNC | STT_LEGACY_KERNEL | STT_NOTYPE))
        .map(|symbol| String::from_utf8_lossy(symbol.name).into_owned())
        .collect()
}

impl<'a> Sections<'a> {
    /// Reads the section headers and symbols of a code object.
    pub(super) fn read(data: &'a [u8]) -> Result<Self> {
        let header = Header::parse(data).map_err(malformed("ELF header", 0))?;
        check_tables(data)?;
        let at = header.e_shoff(LE);
        let table = header.sections(LE, data).map_err(malformed("section headers", at))?;
        let mut list = Vec::with_capacity(table.len());
        for section in table.iter() {
            let in_file = section.sh_type(LE) != SHT_NOBITS;
            let bytes = match in_file {
                true => section.data(LE, data).map_err(malformed("section", section.sh_offset(LE)))?,
                false => &[],
            };
            list.push(Section {
                name: table.section_name(LE, section).unwrap_or_default(),
                address: section.sh_addr(LE),
                size: section.sh_size(LE),
                bytes,
                code: in_file && section.sh_flags(LE).contains(SHF_EXECINSTR),
                symbols: Vec::new(),
            });
        }
        let full = table.symbols(LE, data, SHT_SYMTAB).map_err(malformed("symbol table", at))?;
        let mut absolute = Vec::new();
        add_symbols(&full, &mut list, Some(&mut absolute));
        if list.iter().all(|section| section.symbols.is_empty()) {
            let dynamic = table.symbols(LE, data, SHT_DYNSYM).map_err(malformed("dynamic symbols", at))?;
            add_symbols(&dynamic, &mut list, None);
        }
        for section in &mut list {
            section.symbols.sort();
            // Code that does not begin with a symbol is named after its section.
            if section.code && section.symbols.first().is_none_or(|first| first.address != section.address) {
                let named = Symbol { address: section.address, kind: STT_FUNC, name: section.name, size: 0 };
                section.symbols.insert(0, named);
            }
        }
        absolute.sort();
        // The empty first section exists only to keep the indices.
        let mut by_address: Vec<usize> = (1..list.len()).collect();
        by_address.sort_by_key(|&index| list[index].address);
        Ok(Sections { list, absolute, by_address })
    }

    /// The symbol that an address is shown relative to: the last one at or before it, in the
    /// section that holds it or else among the absolute ones.
    pub(super) fn symbol_before(&self, address: u64) -> Option<Symbol<'a>> {
        let last = |symbols: &[Symbol<'a>]| {
            let end = symbols.partition_point(|symbol| symbol.address <= address);
            end.checked_sub(1).map(|index| symbols[index])
        };
        let end = self.by_address.partition_point(|&index| self.list[index].address <= address);
        let candidates = self.by_address[..end].iter().rev().map(|&index| &self.list[index]);
        let start = end.checked_sub(1).map(|at| self.list[self.by_address[at]].address);
        candidates
            .take_while(|section| Some(section.address) == start)
            .find_map(|section| last(&section.symbols))
            .or_else(|| last(&self.absolute))
    }
}

/// Adds the symbols of a table to their sections. Symbols without a section go to `absolute`, or
/// are dropped.
fn add_symbols<'a>(
    table: &SymbolTable<'a, Header>,
    list: &mut [Section<'a>],
    mut absolute: Option<&mut Vec<Symbol<'a>>>,
) {
    for entry in table.iter().skip(1) {
        let kind = entry.st_type().0;
        let name = table.symbol_name(LE, entry).unwrap_or_default();
        if name.is_empty() || kind == STT_SECTION || kind == STT_FILE {
            continue;
        }
        let symbol = Symbol { address: entry.st_value.get(LE), kind, name, size: entry.st_size.get(LE) };
        let index = entry.st_shndx.get(LE).0;
        let section = list.get_mut(usize::from(index)).filter(|_| (1..SHN_LORESERVE).contains(&index));
        match (section, &mut absolute) {
            (Some(section), _) => section.symbols.push(symbol),
            (None, Some(absolute)) => absolute.push(symbol),
            (None, None) => {}
        }
    }
}

impl<'a> Section<'a> {
    /// The symbols with their ranges, in order: the last symbol of each address, up to the next
    /// address.
    pub(super) fn parts(&self) -> Vec<Part<'a>> {
        let symbols = &self.symbols;
        let section_end = self.address.saturating_add(self.bytes.len() as u64);
        let mut parts = Vec::with_capacity(symbols.len());
        let mut groups = symbols.chunk_by(|a, b| a.address == b.address).peekable();
        while let Some(here) = groups.next() {
            let Some(&symbol) = here.last() else { continue };
            let end = groups.peek().map_or(section_end, |next| next[0].address.min(section_end));
            if symbol.address < self.address || symbol.address >= end {
                continue;
            }
            let offset = (symbol.address - self.address) as usize;
            parts.push(Part { symbol, offset, end: (end - self.address) as usize });
        }
        parts
    }
}

/// A symbol with its part of a section, as byte offsets from the section's start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part<'a> {
    pub symbol: Symbol<'a>,
    pub offset: usize,
    pub end: usize,
}
