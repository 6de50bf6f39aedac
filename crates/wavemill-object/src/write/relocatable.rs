//! Writes relocatable files, as `llvm-mc -filetype=obj` does.

use hashbrown::HashMap;
use object::elf::{self, SHN_ABS, SHN_COMMON};
use object::write::elf::{FileHeaderLayout, Rel, SectionHeader, Sym};

use super::check::{WriteError, check};
use super::module::{
    Contents, Definition, GroupId, Module, Section, SectionType, Symbol, SymbolType, Visibility,
};
use super::strings::StringTable;
use super::{encoder, file_header};
use crate::elf::{Binding, RelocationKind};

/// The type number of a section.
pub(super) fn section_type(section: &Section) -> elf::SectionType {
    match (&section.contents, section.kind) {
        (Contents::Zeros(_), SectionType::Program) => elf::SHT_NOBITS,
        (_, SectionType::Program) => elf::SHT_PROGBITS,
        (_, SectionType::Note) => elf::SHT_NOTE,
        (_, SectionType::InitArray) => elf::SHT_INIT_ARRAY,
        (_, SectionType::FiniArray) => elf::SHT_FINI_ARRAY,
        (_, SectionType::PreinitArray) => elf::SHT_PREINIT_ARRAY,
        (_, SectionType::Other(number)) => elf::SectionType(number),
    }
}

/// Binding and type of a symbol.
pub(super) fn symbol_info(binding: Binding, kind: SymbolType) -> elf::SymbolInfo {
    let binding = match binding {
        Binding::Local => elf::STB_LOCAL,
        Binding::Global => elf::STB_GLOBAL,
        Binding::Weak => elf::STB_WEAK,
    };
    let kind = match kind {
        SymbolType::None => elf::STT_NOTYPE,
        SymbolType::Object => elf::STT_OBJECT,
        SymbolType::Function => elf::STT_FUNC,
        SymbolType::Section => elf::STT_SECTION,
        SymbolType::File => elf::STT_FILE,
    };
    elf::SymbolInfo::new(binding, kind)
}

/// The visibility of a symbol.
pub(super) fn symbol_other(visibility: Visibility) -> elf::SymbolOther {
    elf::SymbolOther::from(match visibility {
        Visibility::Default => elf::STV_DEFAULT,
        Visibility::Internal => elf::STV_INTERNAL,
        Visibility::Hidden => elf::STV_HIDDEN,
        Visibility::Protected => elf::STV_PROTECTED,
    })
}

/// A file under construction: consecutive contents, and the headers that point to them.
struct File {
    /// The file so far, with room for its header.
    bytes: Vec<u8>,
    headers: Vec<SectionHeader>,
    names: StringTable,
}

impl File {
    fn offset(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Pads the file to a multiple of `align`. No reader depends on it: the alignment is limited so
    /// that files stay small.
    fn align(&mut self, align: u64) {
        let end = self.offset().next_multiple_of(align.clamp(1, 4096));
        self.bytes.resize(end as usize, 0);
    }

    /// Appends the contents of a section and its header.
    fn section(&mut self, name: &str, bytes: &[u8], header: SectionHeader) {
        self.align(header.sh_addralign);
        let sh_name = self.names.add(name);
        let start = self.offset();
        self.bytes.extend_from_slice(bytes);
        self.header(sh_name, start, header);
    }

    /// Appends the header of a section whose contents begin at `start` and end here.
    fn header(&mut self, sh_name: u32, start: u64, header: SectionHeader) {
        let zeros = header.sh_type == elf::SHT_NOBITS;
        let sh_size = if zeros { header.sh_size } else { self.offset() - start };
        self.headers.push(SectionHeader { sh_name, sh_offset: start, sh_size, ..header });
    }
}

/// The indices of sections in the file.
struct Indices {
    sections: Vec<u32>,
    groups: Vec<u32>,
    symbols: Vec<u32>,
    symtab: u32,
    strtab: u32,
}

/// Symbols in the order of the file.
fn order(indices: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..indices.len()).collect();
    order.sort_by_key(|&symbol| indices.get(symbol));
    order
}

/// The groups, each with the index of its first section: the group comes before that section. A
/// group without sections is at the end.
fn groups_before(module: &Module) -> Vec<(GroupId, usize)> {
    let first = |group| module.sections.iter().position(|section| section.group == Some(group));
    let ids = (0..module.groups.len()).map(GroupId);
    ids.map(|group| (group, first(group).unwrap_or(usize::MAX))).collect()
}

fn indices(module: &Module) -> Indices {
    let before = groups_before(module);
    let strtab = 1;
    let mut next = strtab + 1;
    let mut groups = vec![0; module.groups.len()];
    let mut place_groups = |wanted: usize, next: &mut u32| {
        for (group, _) in before.iter().filter(|(_, place)| *place == wanted) {
            if let Some(index) = groups.get_mut(group.0) {
                *index = *next;
            }
            *next += 1;
        }
    };
    let mut sections = Vec::with_capacity(module.sections.len());
    for (at, section) in module.sections.iter().enumerate() {
        place_groups(at, &mut next);
        sections.push(next);
        // Its relocations follow it.
        next += if section.relocations.is_empty() { 1 } else { 2 };
    }
    place_groups(usize::MAX, &mut next);
    Indices { sections, groups, symbols: module.symbol_indices(), symtab: next, strtab }
}

/// Writes a relocatable ELF file.
///
/// Sections are in the order of the module, each followed by its relocations; the symbols come
/// after all sections.
///
/// # Errors
/// [`WriteError`] for a module that contradicts itself, or that does not fit into a file.
pub fn write_relocatable(module: &Module) -> Result<Vec<u8>, WriteError> {
    check(module)?;
    let indices = indices(module);
    let order = order(&indices.symbols);
    let names = module.symbols.len().saturating_add(2 * module.sections.len());
    let mut file = File {
        bytes: vec![0; encoder().file_header_size() as usize],
        headers: Vec::new(),
        names: StringTable::with_capacity(names),
    };
    let before = groups_before(module);
    let groups_at = |place: usize, file: &mut File| {
        for &(group, _) in before.iter().filter(|&&(_, own)| own == place) {
            write_group(module, &indices, file, group);
        }
    };
    for (at, (section, &index)) in module.sections.iter().zip(&indices.sections).enumerate() {
        groups_at(at, &mut file);
        write_section(section, &indices, &mut file, index);
    }
    groups_at(usize::MAX, &mut file);
    write_symbols(module, &indices, &order, &mut file);
    // The table of names also holds those of the sections; its header comes first.
    let sh_name = file.names.add(".strtab");
    let start = file.offset();
    file.bytes.extend_from_slice(file.names.bytes());
    file.header(sh_name, start, encoder().strtab_section_header());
    file.headers.rotate_right(1);
    file.align(8);
    let layout = FileHeaderLayout {
        e_phoff: 0,
        segment_num: 0,
        e_shoff: file.offset(),
        section_num: file.headers.len() as u32 + 1,
        shstrtab_index: indices.strtab,
    };
    let header = file_header(module, elf::ET_REL, &layout)?;
    if let Some(room) = file.bytes.get_mut(..header.len()) {
        room.copy_from_slice(&header);
    }
    encoder().null_section_header(&mut file.bytes, &layout);
    for header in &file.headers {
        encoder().section_header(&mut file.bytes, header);
    }
    Ok(file.bytes)
}

fn write_group(module: &Module, indices: &Indices, file: &mut File, id: GroupId) {
    let Some(group) = module.groups.get(id.0) else { return };
    let mut words = vec![u32::from(group.comdat)];
    for (section, &at) in module.sections.iter().zip(&indices.sections) {
        if section.group == Some(id) {
            words.push(at);
            if !section.relocations.is_empty() {
                words.push(at + 1);
            }
        }
    }
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let header = SectionHeader {
        sh_link: indices.symtab,
        sh_info: indices.symbols.get(group.signature.0).copied().unwrap_or(0),
        ..encoder().comdat_section_header()
    };
    file.section(".group", &bytes, header);
}

fn write_section(section: &Section, indices: &Indices, file: &mut File, index: u32) {
    let in_group = if section.group.is_some() { elf::SHF_GROUP.0 } else { 0 };
    let header = SectionHeader {
        sh_name: 0,
        sh_type: section_type(section),
        sh_flags: elf::SectionFlags(section.flags.0 | in_group),
        sh_addr: 0,
        sh_offset: 0,
        sh_size: section.contents.size(),
        sh_link: if section.kind == SectionType::ADDRESS_SIGNIFICANCE { indices.symtab } else { 0 },
        sh_info: 0,
        sh_addralign: section.align,
        sh_entsize: section.entry_size,
    };
    let bytes = match &section.contents {
        Contents::Bytes(bytes) => bytes.as_slice(),
        Contents::Zeros(_) => &[],
    };
    file.section(&section.name, bytes, header);
    if section.relocations.is_empty() {
        return;
    }
    let mut table = Vec::new();
    for relocation in &section.relocations {
        let r_sym = indices.symbols.get(relocation.symbol.0).copied().unwrap_or(0);
        encoder().relocation(
            &mut table,
            true,
            &rel(relocation.offset, r_sym, relocation.kind, relocation.addend),
        );
    }
    let header = SectionHeader {
        // In a group, only that flag is set.
        sh_flags: if in_group == 0 { elf::SHF_INFO_LINK } else { elf::SHF_GROUP },
        sh_link: indices.symtab,
        sh_info: index,
        ..encoder().relocation_section_header(true)
    };
    file.section(&format!(".rela{}", section.name), &table, header);
}

/// A relocation for the encoder.
pub(super) fn rel(offset: u64, symbol: u32, kind: RelocationKind, addend: i64) -> Rel {
    Rel { r_offset: offset, r_sym: symbol, r_type: elf::RelocationType(kind.number()), r_addend: addend }
}

fn write_symbols(module: &Module, indices: &Indices, order: &[usize], file: &mut File) {
    // Write the table directly to the file: there may be many symbols.
    let mut header = encoder().symtab_section_header(indices.strtab, 0);
    file.align(header.sh_addralign);
    let start = file.offset();
    encoder().null_symbol(&mut file.bytes);
    let mut locals = 1;
    // The group that a symbol names; the first one if it names several.
    let groups = module.groups.iter().enumerate().rev();
    let named: HashMap<usize, usize> = groups.map(|(group, known)| (known.signature.0, group)).collect();
    for &index in order {
        let symbol = &module.symbols[index];
        locals += u32::from(symbol.binding == Binding::Local);
        let st_name = file.names.add(&symbol.name);
        let mut entry = entry(symbol, indices, st_name);
        // A symbol that only names a group belongs to the group.
        if let (Definition::Undefined, Binding::Local, Some(&group)) =
            (symbol.definition, symbol.binding, named.get(&index))
        {
            entry.st_shndx = elf::SymbolSection::new(indices.groups.get(group).copied().unwrap_or(0));
        }
        encoder().symbol(&mut file.bytes, &entry);
    }
    header.sh_info = locals;
    let sh_name = file.names.add(".symtab");
    file.header(sh_name, start, header);
}

fn entry(symbol: &Symbol, indices: &Indices, st_name: u32) -> Sym {
    let (st_shndx, st_value) = match symbol.definition {
        Definition::Section { section, offset } => {
            let index = indices.sections.get(section.0).copied().unwrap_or(0);
            (elf::SymbolSection::new(index), offset)
        }
        Definition::Absolute(value) => (SHN_ABS, value),
        Definition::Common { align } => (SHN_COMMON, align),
        Definition::LocalMemory { align } => (elf::SymbolSection(crate::elf::SHN_AMDGPU_LDS), align),
        Definition::Undefined => (elf::SHN_UNDEF, 0),
    };
    Sym {
        section: None,
        st_name,
        st_info: symbol_info(symbol.binding, symbol.kind),
        st_other: symbol_other(symbol.visibility),
        st_shndx,
        st_value,
        st_size: symbol.size,
    }
}
