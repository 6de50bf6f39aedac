//! Turns an ELF file back into the module that it was made from.

mod compressed;
mod differences;

use std::borrow::Cow;
use std::collections::HashMap;

use object::elf::{self, SHN_LORESERVE};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, SymbolTable};

use crate::Limits;
use crate::elf::{
    Binding, CodeObjectVersion, Header, LE, NameBudget, RelocationKind, SHN_ABS, SHN_AMDGPU_LDS, SHN_COMMON,
    STT_AMDGPU_HSA_KERNEL, elf_error, name, version_and_target,
};
use crate::error::{Error, Result};
use crate::target::TargetId;
use crate::write::{
    Contents, Definition, Group, GroupId, Module, Relocation, Section, SectionFlags, SectionId, SectionType,
    Symbol, SymbolId, SymbolType, Visibility,
};
use compressed::Decompression;

/// An ELF file, decoded.
#[derive(Debug, Clone)]
pub struct Unlinked {
    /// The input of the linker or the output of the assembler: sections, symbols, relocations. Its
    /// version is that of the file, which may be one that this crate cannot write.
    ///
    /// For a linked file, the relocations are those left to the loader, in their unresolved form: a
    /// word to which the loader adds the load address refers to the symbol or section at its
    /// address.
    pub module: Module,
    /// Whether the file is linked: its addresses are final.
    pub linked: bool,
    /// The address of each section of the module; 0 in a file that is not linked.
    pub addresses: Vec<u64>,
    /// The entries of the global offset table of a linked file, by address.
    pub got: Vec<GotEntry>,
    /// Kernels of code object v2: symbols whose first 256 bytes are not code.
    pub legacy_kernels: Vec<SymbolId>,
    /// Sections of the source that the module omits: those that are unused at run time.
    pub left_out: Vec<LeftOut>,
}

impl Unlinked {
    /// Machine code as if assembled from a source with nothing else.
    pub fn from_code(target: TargetId, code: Vec<u8>) -> Unlinked {
        let mut module = Module::new(target, CodeObjectVersion::V6);
        let flags = SectionFlags::ALLOC | SectionFlags::EXECUTE;
        module.add_section(Section::new(".text", flags, 4, code));
        Unlinked {
            module,
            linked: false,
            addresses: vec![0],
            got: Vec::new(),
            legacy_kernels: Vec::new(),
            left_out: Vec::new(),
        }
    }
}

/// An entry of the global offset table: the address of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GotEntry {
    /// The address of the entry.
    pub address: u64,
    /// The symbol.
    pub symbol: SymbolId,
}

/// A section that the module omits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Its name.
    pub name: String,
    /// Its size in the file, in bytes.
    pub size: u64,
}

/// Decodes an ELF file for AMD GPUs, linked or not.
///
/// Omits the parts that a linker makes on its own (tables for the loader, the global offset table,
/// padding), and sections that are not loaded, such as debug information.
///
/// # Errors
/// [`Error::Foreign`] for other files, [`Error::Unsupported`] for those of other platforms and for tables that no
/// compiler for AMD GPUs writes, [`Error::Truncated`] and [`Error::Malformed`] for damaged ones.
pub fn unlink(data: &[u8]) -> Result<Unlinked> {
    read(data, None)
}

/// Decodes a relocatable file for a linker: all sections, debug information included, all symbols
/// and relocations. Compressed sections are decompressed.
///
/// # Errors
/// [`Error::Unsupported`] for a linked file and for relocation tables that no compiler for AMD GPUs
/// writes, [`Error::OverLimit`] for compressed sections beyond the limits; otherwise as [`unlink`].
pub fn read_relocatable(data: &[u8], limits: &Limits) -> Result<Module> {
    Ok(read(data, Some(limits))?.module)
}

/// Decodes a file. With limits, it is read for a linker, and nothing is left out.
fn read(data: &[u8], for_linker: Option<&Limits>) -> Result<Unlinked> {
    let (version, target) = version_and_target(data)?;
    let header = Header::parse(data).map_err(elf_error("ELF header", 0))?;
    let at = header.e_shoff(LE);
    let table = header.sections(LE, data).map_err(elf_error("section headers", at))?;
    let linked = header.e_type(LE) != elf::ET_REL;
    if linked && for_linker.is_some() {
        let detail = "it should be relocatable, but it is linked already".to_owned();
        return Err(Error::Unsupported { what: "file", detail });
    }
    let mut module = Module::new(target, version);
    if header.e_flags(LE).0 >> 24 != 0 && module.generic_version != 0 {
        module.generic_version = (header.e_flags(LE).0 >> 24) as u8;
    }
    let unlinked = Unlinked {
        module,
        linked,
        addresses: Vec::new(),
        got: Vec::new(),
        legacy_kernels: Vec::new(),
        left_out: Vec::new(),
    };
    let budget = Budget { bytes: data.len() as u64 };
    let mut reader = Reader {
        data,
        at,
        table,
        unlinked,
        places: Vec::new(),
        symbols: Vec::new(),
        budget,
        for_linker: for_linker.map(|limits| Decompression::new(limits, data)),
    };
    reader.sections()?;
    reader.all_symbols()?;
    match linked {
        true => reader.dynamic_relocations()?,
        false => {
            reader.relocations()?;
            reader.groups()?;
        }
    }
    Ok(reader.unlinked)
}

struct Reader<'a> {
    data: &'a [u8],
    /// The offset of the section headers.
    at: u64,
    table: SectionTable<'a, Header>,
    unlinked: Unlinked,
    /// The section of the module for each section of the file.
    places: Vec<Option<SectionId>>,
    /// The symbol of the module for each symbol of the file.
    symbols: Vec<Option<SymbolId>>,
    budget: Budget,
    /// What compressed sections may need, if the file is read for a linker.
    for_linker: Option<Decompression>,
}

/// A limit on the bytes to copy: overlapping parts could be read again and again.
struct Budget {
    /// Bytes of sections and tables.
    bytes: u64,
}

impl Budget {
    fn spend_bytes(&mut self, what: &'static str, offset: u64, size: u64) -> Result<()> {
        self.bytes = self.bytes.checked_sub(size).ok_or_else(|| {
            Error::malformed(what, offset, "there are more of them than the file has bytes")
        })?;
        Ok(())
    }
}

/// Whether linkers make this section of a linked file.
fn is_made_by_linkers(kind: elf::SectionType, name: &str) -> bool {
    [elf::SHT_DYNAMIC, elf::SHT_DYNSYM, elf::SHT_HASH, elf::SHT_GNU_HASH].contains(&kind)
        || matches!(name, ".got" | ".relro_padding")
}

/// Whether a section has relocations in a form that is not read.
fn is_other_relocation_table(kind: elf::SectionType) -> bool {
    /// Compact relocations (`llvm-mc --crel`).
    const SHT_CREL: elf::SectionType = elf::SectionType(0x4000_0014);
    [elf::SHT_REL, elf::SHT_RELR, SHT_CREL].contains(&kind)
}

/// Whether a section is a table about other sections.
fn is_table(kind: elf::SectionType) -> bool {
    use elf::*;
    [SHT_NULL, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_GROUP, SHT_SYMTAB_SHNDX].contains(&kind)
}

impl<'a> Reader<'a> {
    fn sections(&mut self) -> Result<()> {
        let mut names = NameBudget::new(self.data);
        for header in self.table.iter() {
            let kind = header.sh_type(LE);
            let name = name(self.table.section_name(LE, header).unwrap_or_default(), "name of a section")?;
            names.spend(self.at, &name)?;
            let mut flags = SectionFlags(header.sh_flags(LE).0);
            let size = header.sh_size(LE);
            self.places.push(None);
            if is_table(kind) || self.unlinked.linked && is_made_by_linkers(kind, &name) {
                continue;
            }
            if self.for_linker.is_some() && is_other_relocation_table(kind) {
                let number = kind.0;
                let detail = format!(
                    "section {name} has type {number:#x}; relocations should have addends (SHT_RELA)"
                );
                return Err(Error::Unsupported { what: "relocation table", detail });
            }
            if !flags.has(SectionFlags::ALLOC) && self.for_linker.is_none() {
                if size != 0 {
                    self.unlinked.left_out.push(LeftOut { name: name.into_owned(), size });
                }
                continue;
            }
            let mut align = header.sh_addralign(LE).max(1);
            let (kind, contents) = match kind {
                elf::SHT_NOBITS => (SectionType::Program, Contents::Zeros(size)),
                _ => {
                    self.budget.spend_bytes("sections", self.at, size)?;
                    let mut bytes =
                        Cow::Borrowed(header.data(LE, self.data).map_err(elf_error("section", self.at))?);
                    if let Some(decompression) = &mut self.for_linker
                        && flags.0 & elf::SHF_COMPRESSED.0 != 0
                    {
                        let offset = header.sh_offset(LE);
                        (bytes, align) = decompression.section(&bytes, offset)?;
                        flags.0 &= !elf::SHF_COMPRESSED.0;
                    }
                    let kind = match kind {
                        elf::SHT_PROGBITS => SectionType::Program,
                        elf::SHT_NOTE => SectionType::Note,
                        elf::SHT_INIT_ARRAY => SectionType::InitArray,
                        elf::SHT_FINI_ARRAY => SectionType::FiniArray,
                        elf::SHT_PREINIT_ARRAY => SectionType::PreinitArray,
                        other => SectionType::Other(other.0),
                    };
                    (kind, Contents::Bytes(bytes.into_owned()))
                }
            };
            if !align.is_power_of_two() {
                let detail = format!("{name} is aligned to {align} bytes, which is not a power of two");
                return Err(Error::malformed("section header", self.at, detail));
            }
            let dropped = match self.unlinked.linked {
                // Its entries have been merged; a second merge would move them.
                true => SectionFlags::MERGE.0 | SectionFlags::STRINGS.0,
                false => 0,
            } | elf::SHF_GROUP.0;
            let flags = SectionFlags(flags.0 & !dropped);
            let has_entries = flags.has(SectionFlags::MERGE) || self.for_linker.is_some();
            let id = self.unlinked.module.add_section(Section {
                name: name.into_owned(),
                kind,
                flags,
                align,
                entry_size: if has_entries { header.sh_entsize(LE) } else { 0 },
                contents,
                relocations: Vec::new(),
                group: None,
            });
            self.unlinked.addresses.push(if self.unlinked.linked { header.sh_addr(LE) } else { 0 });
            if let Some(place) = self.places.last_mut() {
                *place = Some(id);
            }
        }
        Ok(())
    }

    fn symbol_table(&self, kind: elf::SectionType) -> Result<SymbolTable<'a, Header>> {
        self.table.symbols(LE, self.data, kind).map_err(elf_error("symbol table", self.at))
    }

    fn all_symbols(&mut self) -> Result<()> {
        let full = self.symbol_table(elf::SHT_SYMTAB)?;
        let table = if full.is_empty() { self.symbol_table(elf::SHT_DYNSYM)? } else { full };
        let mut found = Vec::with_capacity(table.len());
        let mut names = NameBudget::new(self.data);
        for entry in table.iter() {
            let name = name(table.symbol_name(LE, entry).unwrap_or_default(), "name of a symbol")?;
            names.spend(self.at, &name)?;
            let index = entry.st_shndx.get(LE).0;
            let value = entry.st_value.get(LE);
            let definition = match index {
                0 => Some(Definition::Undefined),
                SHN_ABS => Some(Definition::Absolute(value)),
                SHN_COMMON => Some(Definition::Common { align: value.max(1) }),
                SHN_AMDGPU_LDS => Some(Definition::LocalMemory { align: value.max(1) }),
                // It only names the group.
                index if self.is_group(index) => Some(Definition::Undefined),
                index if index < SHN_LORESERVE => {
                    self.places.get(usize::from(index)).copied().flatten().map(|section| {
                        let base = self.unlinked.addresses.get(section.0).copied().unwrap_or(0);
                        Definition::Section { section, offset: value.wrapping_sub(base) }
                    })
                }
                // The file has more sections than a symbol can name directly: no compiler for GPUs
                // makes so many.
                _ => None,
            };
            let kind = match entry.st_type().0 {
                1 => SymbolType::Object,
                2 | STT_AMDGPU_HSA_KERNEL => SymbolType::Function,
                3 => SymbolType::Section,
                4 => SymbolType::File,
                _ => SymbolType::None,
            };
            let empty = name.is_empty() && kind != SymbolType::Section;
            let is_file = kind == SymbolType::File && self.for_linker.is_none();
            let definition = definition.filter(|_| !empty && !is_file);
            let binding = match entry.st_bind() {
                elf::STB_LOCAL => Binding::Local,
                elf::STB_WEAK => Binding::Weak,
                _ => Binding::Global,
            };
            let visibility = match entry.st_other.0 & 3 {
                1 => Visibility::Internal,
                2 => Visibility::Hidden,
                3 => Visibility::Protected,
                _ => Visibility::Default,
            };
            let symbol = definition.map(|definition| Symbol {
                name: if kind == SymbolType::Section { String::new() } else { name.into_owned() },
                definition,
                size: entry.st_size.get(LE),
                kind,
                binding,
                visibility,
            });
            found.push((symbol, entry.st_type().0 == STT_AMDGPU_HSA_KERNEL));
        }
        for (symbol, legacy) in found {
            let id = symbol.map(|symbol| self.unlinked.module.add_symbol(symbol));
            self.unlinked.legacy_kernels.extend(id.filter(|_| legacy));
            self.symbols.push(id);
        }
        Ok(())
    }

    /// Whether the section of this index is a group of others.
    fn is_group(&self, index: u16) -> bool {
        let section = self.table.section(object::SectionIndex(index.into()));
        section.is_ok_and(|section| section.sh_type(LE) == elf::SHT_GROUP)
    }

    /// The relocations of a file that has not been linked.
    fn relocations(&mut self) -> Result<()> {
        for header in self.table.iter().filter(|header| header.sh_type(LE) == elf::SHT_RELA) {
            let (at, index) = (header.sh_offset(LE), header.sh_info(LE));
            let section = self.places.get(index as usize).copied().ok_or_else(|| {
                let count = self.places.len();
                let detail = format!("they are for section {index}, but the file has {count} sections");
                Error::malformed("relocations", at, detail)
            })?;
            let Some(section) = section else { continue };
            self.budget.spend_bytes("relocations", at, header.sh_size(LE))?;
            let entries = header.rela(LE, self.data).map_err(elf_error("relocations", at))?;
            for entry in entries.map_or(&[][..], |(entries, _)| entries) {
                let index = entry.r_sym(LE, false);
                let symbol = self.symbols.get(index as usize).copied().flatten().ok_or_else(|| {
                    let name = self.unlinked.module.sections.get(section.0).map_or("", |s| s.name.as_str());
                    let (place, count) = (entry.r_offset.get(LE), self.symbols.len());
                    let reason = match self.symbols.get(index as usize) {
                        None => format!("but the file has {count} symbols"),
                        Some(_) => "which has no address".to_owned(),
                    };
                    let detail =
                        format!("the one at {name}+{place:#x} refers to the symbol {index}, {reason}");
                    Error::malformed("relocations", at, detail)
                })?;
                let relocation = Relocation {
                    offset: entry.r_offset.get(LE),
                    kind: RelocationKind::from_number(entry.r_type(LE, false).0),
                    symbol,
                    addend: entry.r_addend.get(LE),
                };
                if let Some(section) = self.unlinked.module.sections.get_mut(section.0) {
                    section.relocations.push(relocation);
                }
            }
        }
        self.sort_relocations();
        Ok(())
    }

    fn sort_relocations(&mut self) {
        for section in &mut self.unlinked.module.sections {
            section.relocations.sort_by_key(|relocation| relocation.offset);
        }
    }

    fn groups(&mut self) -> Result<()> {
        for header in self.table.iter().filter(|header| header.sh_type(LE) == elf::SHT_GROUP) {
            let at = header.sh_offset(LE);
            self.budget.spend_bytes("section groups", at, header.sh_size(LE))?;
            let group = header.group(LE, self.data).map_err(elf_error("section group", at))?;
            let Some((flags, members)) = group else { continue };
            let signature = self.symbols.get(header.sh_info(LE) as usize).copied().flatten();
            let Some(signature) = signature else { continue };
            let comdat = flags.0 & elf::GRP_COMDAT.0 != 0;
            self.unlinked.module.groups.push(Group { signature, comdat });
            let id = GroupId(self.unlinked.module.groups.len() - 1);
            for member in members {
                let section = self.places.get(member.get(LE) as usize).copied().flatten();
                if let Some(section) = section.and_then(|id| self.unlinked.module.sections.get_mut(id.0)) {
                    section.group = Some(id);
                }
            }
        }
        Ok(())
    }

    /// The words of a linked file that the loader fills in.
    fn dynamic_relocations(&mut self) -> Result<()> {
        let got = self
            .table
            .iter()
            .find(|header| self.table.section_name(LE, header).is_ok_and(|name| name == b".got"));
        let got = got.map_or(0..0, |got| got.sh_addr(LE)..got.sh_addr(LE).saturating_add(got.sh_size(LE)));
        let by_name: HashMap<&str, usize> = (self.unlinked.module.symbols.iter().enumerate())
            .filter(|(_, symbol)| symbol.binding != Binding::Local)
            .map(|(index, symbol)| (symbol.name.as_str(), index))
            .collect();
        let dynamic = self.symbol_table(elf::SHT_DYNSYM)?;
        let mut words = Vec::new();
        for header in self.table.iter() {
            let loaded = SectionFlags(header.sh_flags(LE).0).has(SectionFlags::ALLOC);
            if header.sh_type(LE) != elf::SHT_RELA || !loaded {
                continue;
            }
            let at = header.sh_offset(LE);
            self.budget.spend_bytes("relocations", at, header.sh_size(LE))?;
            let entries = header.rela(LE, self.data).map_err(elf_error("relocations", at))?;
            for entry in entries.map_or(&[][..], |(entries, _)| entries) {
                let kind = RelocationKind::from_number(entry.r_type(LE, false).0);
                let symbol = match entry.r_sym(LE, false) {
                    0 => None,
                    index => {
                        let entry = dynamic.symbol(object::SymbolIndex(index as usize));
                        let entry = entry.map_err(elf_error("relocation symbol", at))?;
                        let name = dynamic.symbol_name(LE, entry).unwrap_or_default();
                        let id = by_name.get(&*String::from_utf8_lossy(name)).copied();
                        Some(id.map(SymbolId).ok_or_else(|| {
                            let name = String::from_utf8_lossy(name).into_owned();
                            Error::malformed(
                                "relocations",
                                at,
                                format!("the symbol `{name}` is not in the symbol table"),
                            )
                        })?)
                    }
                };
                words.push((entry.r_offset.get(LE), kind, symbol, entry.r_addend.get(LE)));
            }
        }
        let mut places = Places::new(&self.unlinked);
        for (address, kind, symbol, addend) in words {
            let (kind, symbol, addend) = match (kind, symbol) {
                (RelocationKind::Relative64, None) => {
                    match places.symbol_at(&mut self.unlinked.module, addend as u64) {
                        Some((symbol, rest)) => (RelocationKind::Abs64, symbol, rest),
                        None => {
                            let detail = format!("the address {addend:#x} is in no section");
                            return Err(Error::malformed("relocations", self.at, detail));
                        }
                    }
                }
                (kind, Some(symbol)) => (kind, symbol, addend),
                (kind, None) => {
                    let detail = format!("{kind} without a symbol, at address {address:#x}");
                    return Err(Error::Unsupported { what: "relocation", detail });
                }
            };
            if got.contains(&address) {
                if addend == 0 {
                    self.unlinked.got.push(GotEntry { address, symbol });
                }
                continue;
            }
            let Some((section, offset)) = places.section_of(address) else { continue };
            if let Some(section) = self.unlinked.module.sections.get_mut(section.0) {
                section.relocations.push(Relocation { offset, kind, symbol, addend });
            }
        }
        self.unlinked.got.sort_by_key(|entry| entry.address);
        self.sort_relocations();
        Ok(())
    }
}

/// The contents at the addresses of a linked file.
struct Places {
    /// Start, end, section; sorted by address.
    sections: Vec<(u64, u64, SectionId)>,
    /// The symbol at each address that has one: variables and functions first.
    symbols: HashMap<u64, SymbolId>,
    /// The symbols of sections.
    starts: HashMap<SectionId, SymbolId>,
}

impl Places {
    fn new(unlinked: &Unlinked) -> Places {
        let module = &unlinked.module;
        let mut sections: Vec<_> = (module.sections.iter().zip(&unlinked.addresses).enumerate())
            .map(|(index, (section, &start))| {
                (start, start.saturating_add(section.contents.size()), SectionId(index))
            })
            .collect();
        sections.sort();
        let mut symbols = HashMap::new();
        for (index, symbol) in module.symbols.iter().enumerate() {
            if let Definition::Section { section, offset } = symbol.definition
                && matches!(symbol.kind, SymbolType::Object | SymbolType::Function)
                && let Some(base) = unlinked.addresses.get(section.0)
            {
                symbols.entry(base.wrapping_add(offset)).or_insert(SymbolId(index));
            }
        }
        Places { sections, symbols, starts: HashMap::new() }
    }

    /// The section that contains an address, and the offset in it.
    fn section_of(&self, address: u64) -> Option<(SectionId, u64)> {
        let behind = self.sections.partition_point(|(start, ..)| *start <= address);
        // If no section contains the address, accept an empty section there or one that ends there.
        let candidates = || self.sections.get(..behind).unwrap_or_default().iter().rev();
        let inside = candidates().find(|(_, end, _)| address < *end);
        let found = inside.or_else(|| candidates().find(|(_, end, _)| address == *end))?;
        Some((found.2, address - found.0))
    }

    /// A symbol and the distance from it to an address.
    fn symbol_at(&mut self, module: &mut Module, address: u64) -> Option<(SymbolId, i64)> {
        if let Some(&symbol) = self.symbols.get(&address)
            && module.symbols.get(symbol.0).is_some_and(|symbol| {
                symbol.binding == Binding::Local || symbol.visibility != Visibility::Default
            })
        {
            return Some((symbol, 0));
        }
        let (section, offset) = self.section_of(address)?;
        let symbol = *self.starts.entry(section).or_insert_with(|| {
            let start = Symbol::in_section("", section, 0);
            module.add_symbol(Symbol { kind: SymbolType::Section, ..start })
        });
        Some((symbol, offset as i64))
    }
}
