//! Checks that a module can be written.

use hashbrown::HashSet;
use object::elf::SectionType as SectionKind;

use super::module::{Contents, Definition, Module, Place, SectionFlags, SectionType};
use crate::elf::Binding;

/// Why a module cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// This crate only reads this code object version.
    #[error("code object {version} cannot be written; v4, v5 and v6 can")]
    Version {
        /// The version.
        version: String,
    },
    /// The processor has no number in `e_flags`.
    #[error("{target} is not a processor that code objects can name")]
    Target {
        /// The target.
        target: String,
    },
    /// A reference to a section that does not exist.
    #[error("the module has no section of index {index}")]
    NoSection {
        /// The index.
        index: usize,
    },
    /// A reference to a symbol that does not exist.
    #[error("the module has no symbol of index {index}")]
    NoSymbol {
        /// The index.
        index: usize,
    },
    /// A reference to a group that does not exist.
    #[error("the module has no group of index {index}")]
    NoGroup {
        /// The index.
        index: usize,
    },
    /// Bytes for a section of zeros, which has no space in the file.
    #[error("section {section} has no bytes of its own (it is @nobits), so nothing can be written to it")]
    Contents {
        /// The section.
        section: String,
    },
    /// A section type that the writer reserves, or that does not match the contents.
    #[error(
        "section {section} cannot have this type: the writer makes tables of symbols, strings and relocations, and zeros \
         that use no space in the file are of type @nobits"
    )]
    Type {
        /// The section.
        section: String,
    },
    /// An alignment that is not a power of two, or is too large.
    #[error("the alignment of {what} is {align}, but should be a power of two up to {MAX_ALIGN}")]
    Align {
        /// The section or symbol.
        what: String,
        /// Its alignment.
        align: u64,
    },
    /// A relocation reaches past the end of its section.
    #[error("{kind} at {place} does not fit into the section, which has {size} bytes")]
    Outside {
        /// The kind of relocation.
        kind: String,
        /// Its location.
        place: Place,
        /// Bytes of the section.
        size: u64,
    },
    /// A mergeable section without an entry size, or whose size is not a multiple of it.
    #[error("section {section} is mergeable in units of {entry_size} bytes, but has {size} bytes")]
    Entries {
        /// The section.
        section: String,
        /// Bytes of an entry.
        entry_size: u64,
        /// Bytes of the section.
        size: u64,
    },
    /// Two symbols that other modules can see have the same name.
    #[error("the symbol `{name}` appears more than once")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// A name contains a zero byte, which ends names in the file.
    #[error("the name {name:?} contains a zero byte")]
    Name {
        /// The name.
        name: String,
    },
    /// The file, or a part of it, is too large.
    #[error("too large: {what}")]
    TooLarge {
        /// The part that is too large.
        what: String,
    },
}

/// Most sections and largest size of a file. Larger ones would need other structures, for which
/// there is no use.
pub(super) const MAX_SECTIONS: usize = 0xf000;
pub(super) const MAX_FILE: u64 = 2 << 30;
/// Largest alignment of sections and symbols that is written, in bytes.
pub const MAX_ALIGN: u64 = 16 << 20;

/// Types of sections that the writer makes, or that mean that there are no contents.
const OWN_TYPES: [SectionKind; 13] = {
    use object::elf::*;
    [
        SHT_NULL,
        SHT_SYMTAB,
        SHT_STRTAB,
        SHT_RELA,
        SHT_HASH,
        SHT_DYNAMIC,
        SHT_NOBITS,
        SHT_REL,
        SHT_DYNSYM,
        SHT_GROUP,
        SHT_SYMTAB_SHNDX,
        SHT_RELR,
        SHT_GNU_HASH,
    ]
};

/// Checks everything that the writer relies on.
pub(super) fn check(module: &Module) -> Result<(), WriteError> {
    super::abi_version(module.version)?;
    module.flags()?;
    let count = module.sections.len() + module.groups.len();
    if count > MAX_SECTIONS / 2 {
        return Err(WriteError::TooLarge { what: format!("{count} sections") });
    }
    let mut total = 0_u64;
    for section in &module.sections {
        name(&section.name)?;
        align(&section.name, section.align)?;
        let has_bytes = matches!(section.contents, Contents::Bytes(_));
        let fits = match section.kind {
            SectionType::Program => true,
            SectionType::Other(number) => has_bytes && !OWN_TYPES.contains(&SectionKind(number)),
            _ => has_bytes,
        };
        if !fits {
            return Err(WriteError::Type { section: section.name.clone() });
        }
        let size = section.contents.size();
        if let Contents::Bytes(_) = section.contents {
            total = total.saturating_add(size);
        }
        if section.flags.has(SectionFlags::MERGE)
            && size != 0
            && (section.entry_size == 0 || !size.is_multiple_of(section.entry_size))
        {
            let (section, entry_size) = (section.name.clone(), section.entry_size);
            return Err(WriteError::Entries { section, entry_size, size });
        }
        if section.group.is_some_and(|group| group.0 >= module.groups.len()) {
            return Err(WriteError::NoGroup { index: section.group.map_or(0, |group| group.0) });
        }
    }
    if total > MAX_FILE {
        return Err(WriteError::TooLarge {
            what: format!("sections of {total} bytes; the limit is {MAX_FILE}"),
        });
    }
    for group in &module.groups {
        if group.signature.0 >= module.symbols.len() {
            return Err(WriteError::NoSymbol { index: group.signature.0 });
        }
    }
    relocations(module)?;
    symbols(module)
}

fn relocations(module: &Module) -> Result<(), WriteError> {
    for (index, section) in module.sections.iter().enumerate() {
        for relocation in &section.relocations {
            if relocation.symbol.0 >= module.symbols.len() {
                return Err(WriteError::NoSymbol { index: relocation.symbol.0 });
            }
            let Contents::Bytes(bytes) = &section.contents else {
                return Err(WriteError::Contents { section: section.name.clone() });
            };
            let (size, width) = (bytes.len() as u64, relocation.kind.width() as u64);
            if relocation.offset.checked_add(width).is_none_or(|end| end > size) {
                let place = module.place(super::SectionId(index), relocation.offset);
                return Err(WriteError::Outside { kind: relocation.kind.to_string(), place, size });
            }
        }
    }
    Ok(())
}

fn symbols(module: &Module) -> Result<(), WriteError> {
    let mut seen = HashSet::new();
    for symbol in &module.symbols {
        name(&symbol.name)?;
        match symbol.definition {
            Definition::Section { section, .. } if section.0 >= module.sections.len() => {
                return Err(WriteError::NoSection { index: section.0 });
            }
            Definition::Common { align: bytes } | Definition::LocalMemory { align: bytes } => {
                align(&symbol.name, bytes)?;
            }
            _ => {}
        }
        if symbol.binding != Binding::Local && !seen.insert(symbol.name.as_str()) {
            return Err(WriteError::Duplicate { name: symbol.name.clone() });
        }
    }
    Ok(())
}

fn name(name: &str) -> Result<(), WriteError> {
    if name.contains('\0') { Err(WriteError::Name { name: name.to_owned() }) } else { Ok(()) }
}

fn align(what: &str, align: u64) -> Result<(), WriteError> {
    if align.is_power_of_two() && align <= MAX_ALIGN {
        Ok(())
    } else {
        Err(WriteError::Align { what: what.to_owned(), align })
    }
}
