//! Reads relocatable objects into modules with the reader of the `object` crate.

use object::elf;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use wavemill_object::write::{
    Contents, Definition, Group, GroupId, Module, Relocation, Section, SectionFlags, SectionId, SectionType,
    Symbol, SymbolId, SymbolType, Visibility,
};
use wavemill_object::{Binding, CodeObjectVersion, Feature, Processor, RelocationKind, TargetId};
use wavemill_oracle::Failed;

type Header = elf::FileHeader64<object::LittleEndian>;
const LE: object::LittleEndian = object::LittleEndian;

/// Reads everything in a relocatable file into a module.
pub(crate) fn module(data: &[u8]) -> Result<Module, Failed> {
    let header = Header::parse(data)?;
    let feature =
        |bits: u32| [Feature::Unsupported, Feature::Any, Feature::Off, Feature::On][bits as usize & 3];
    let flags = header.e_flags(LE).0;
    let target = TargetId {
        processor: Processor::from_mach(flags as u8),
        xnack: feature(flags >> 8),
        sramecc: feature(flags >> 10),
    };
    let version = match header.e_ident().abi_version {
        2 => CodeObjectVersion::V4,
        3 => CodeObjectVersion::V5,
        4 => CodeObjectVersion::V6,
        other => return Err(format!("ABI version {other}").into()),
    };
    let mut module = Module::new(target, version);
    module.generic_version = (flags >> 24) as u8;
    let table = header.sections(LE, data)?;
    let symbols = table.symbols(LE, data, elf::SHT_SYMTAB)?;

    let groups: Vec<u16> = (table.enumerate())
        .filter(|(_, section)| section.sh_type(LE) == elf::SHT_GROUP)
        .map(|(index, _)| index.0 as u16)
        .collect();
    let mut sections = vec![None; table.len()];
    for (index, section) in table.enumerate() {
        let kind = section.sh_type(LE);
        if [elf::SHT_NULL, elf::SHT_STRTAB, elf::SHT_SYMTAB, elf::SHT_RELA, elf::SHT_GROUP].contains(&kind) {
            continue;
        }
        sections[index.0] = Some(module.add_section(Section {
            name: String::from_utf8(table.section_name(LE, section)?.to_vec())?,
            kind: match kind {
                elf::SHT_PROGBITS | elf::SHT_NOBITS => SectionType::Program,
                elf::SHT_NOTE => SectionType::Note,
                elf::SHT_INIT_ARRAY => SectionType::InitArray,
                elf::SHT_FINI_ARRAY => SectionType::FiniArray,
                elf::SHT_PREINIT_ARRAY => SectionType::PreinitArray,
                other => SectionType::Other(other.0),
            },
            flags: SectionFlags(section.sh_flags(LE).0 & !elf::SHF_GROUP.0),
            align: section.sh_addralign(LE).max(1),
            entry_size: section.sh_entsize(LE),
            contents: match kind {
                elf::SHT_NOBITS => Contents::Zeros(section.sh_size(LE)),
                _ => Contents::Bytes(section.data(LE, data)?.to_vec()),
            },
            relocations: Vec::new(),
            group: None,
        }));
    }
    for (index, symbol) in symbols.enumerate().skip(1) {
        let _ = index;
        let value = symbol.st_value(LE);
        module.add_symbol(Symbol {
            name: String::from_utf8(symbol.name(LE, symbols.strings())?.to_vec())?,
            definition: match symbol.st_shndx(LE).0 {
                0 => Definition::Undefined,
                0xfff1 => Definition::Absolute(value),
                0xfff2 => Definition::Common { align: value },
                0xff00 => Definition::LocalMemory { align: value },
                section if groups.contains(&section) => Definition::Undefined,
                section => Definition::Section {
                    section: sections[usize::from(section)]
                        .ok_or("a symbol in a section without contents")?,
                    offset: value,
                },
            },
            size: symbol.st_size(LE),
            kind: match symbol.st_type() {
                elf::STT_NOTYPE => SymbolType::None,
                elf::STT_OBJECT => SymbolType::Object,
                elf::STT_FUNC => SymbolType::Function,
                elf::STT_SECTION => SymbolType::Section,
                elf::STT_FILE => SymbolType::File,
                other => return Err(format!("symbol type {other:?}").into()),
            },
            binding: match symbol.st_bind() {
                elf::STB_LOCAL => Binding::Local,
                elf::STB_WEAK => Binding::Weak,
                _ => Binding::Global,
            },
            visibility: match symbol.st_visibility() {
                elf::STV_HIDDEN => Visibility::Hidden,
                elf::STV_INTERNAL => Visibility::Internal,
                elf::STV_PROTECTED => Visibility::Protected,
                _ => Visibility::Default,
            },
        });
    }
    for section in table.iter() {
        if let Some((entries, _)) = section.rela(LE, data)? {
            let place: SectionId =
                sections[section.sh_info(LE) as usize].ok_or("relocations of no section")?;
            for entry in entries {
                module.sections[place.0].relocations.push(Relocation {
                    offset: entry.r_offset.get(LE),
                    kind: RelocationKind::from_number(entry.r_type(LE, false).0),
                    symbol: SymbolId(entry.r_sym(LE, false) as usize - 1),
                    addend: entry.r_addend.get(LE),
                });
            }
        }
        if let Some((group, members)) = section.group(LE, data)? {
            module.groups.push(Group {
                signature: SymbolId(section.sh_info(LE) as usize - 1),
                comdat: group.0 & 1 != 0,
            });
            for member in members {
                if let Some(section) = sections[member.get(LE) as usize] {
                    module.sections[section.0].group = Some(GroupId(module.groups.len() - 1));
                }
            }
        }
    }
    Ok(module)
}
