//! The output of an assembler: a module of sections, symbols and relocations.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use super::check::WriteError;
use crate::descriptor::KernelDescriptor;
use crate::elf::{Binding, CodeObjectVersion, RelocationKind};
use crate::target::TargetId;

/// An assembled module.
#[derive(Debug, Clone, PartialEq)]
pub struct Module {
    /// The processor and target features, as `.amdgcn_target` names them.
    pub target: TargetId,
    /// Version of the code object format: v4, v5 or v6.
    pub version: CodeObjectVersion,
    /// Version of a generic processor (v6), which [`new`](Self::new) sets; 0 for other processors.
    pub generic_version: u8,
    /// The sections, in the order of the file.
    pub sections: Vec<Section>,
    /// The symbols. In the file, local ones come first.
    pub symbols: Vec<Symbol>,
    /// The groups of sections.
    pub groups: Vec<Group>,
}

/// A section of a [`Module`]: its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectionId(pub usize);

/// A symbol of a [`Module`]: its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub usize);

/// A group of a [`Module`]: its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub usize);

/// Sections of which a linker keeps all or none (`SHT_GROUP`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The symbol that names the group.
    pub signature: SymbolId,
    /// Whether the linker keeps only one group of this name (`GRP_COMDAT`).
    pub comdat: bool,
}

/// A section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Name, `.text`.
    pub name: String,
    /// What it is for.
    pub kind: SectionType,
    /// How it is used.
    pub flags: SectionFlags,
    /// Alignment in bytes, a power of two.
    pub align: u64,
    /// Size of an entry in bytes, in sections of equal entries or strings; otherwise 0.
    pub entry_size: u64,
    /// Its bytes.
    pub contents: Contents,
    /// The words to fill in.
    pub relocations: Vec<Relocation>,
    /// The group that it belongs to.
    pub group: Option<GroupId>,
}

/// The purpose of a section (`sh_type`), apart from whether it has contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SectionType {
    /// `@progbits`, or `@nobits` if it contains only zeros.
    Program,
    /// `@note`.
    Note,
    /// `@init_array`.
    InitArray,
    /// `@fini_array`.
    FiniArray,
    /// `@preinit_array`.
    PreinitArray,
    /// Another number.
    Other(u32),
}

impl SectionType {
    /// The numbers of symbols whose addresses matter (`.llvm_addrsig`), each as ULEB128.
    pub const ADDRESS_SIGNIFICANCE: Self = SectionType::Other(0x6fff_4c03);
}

/// The bytes of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Contents {
    /// These bytes.
    Bytes(Vec<u8>),
    /// This many zeros, which need no space in the file (`@nobits`).
    Zeros(u64),
}

impl Contents {
    /// Size in memory in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Contents::Bytes(bytes) => bytes.len() as u64,
            Contents::Zeros(size) => *size,
        }
    }

    /// Size in the file in bytes.
    pub fn size_in_file(&self) -> u64 {
        match self {
            Contents::Bytes(bytes) => bytes.len() as u64,
            Contents::Zeros(_) => 0,
        }
    }
}

/// The flags of a section (`sh_flags`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SectionFlags(pub u64);

impl SectionFlags {
    /// `w`: it may be written.
    pub const WRITE: Self = SectionFlags(1);
    /// `a`: it is loaded.
    pub const ALLOC: Self = SectionFlags(2);
    /// `x`: it holds code.
    pub const EXECUTE: Self = SectionFlags(4);
    /// `M`: equal entries may be merged.
    pub const MERGE: Self = SectionFlags(0x10);
    /// `S`: it holds zero-terminated strings.
    pub const STRINGS: Self = SectionFlags(0x20);
    /// `e`: the linked file omits it.
    pub const EXCLUDE: Self = SectionFlags(0x8000_0000);

    /// Whether all of `flags` are set.
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

impl BitOr for SectionFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        SectionFlags(self.0 | other.0)
    }
}

impl BitOrAssign for SectionFlags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl Section {
    /// A section with contents, without relocations.
    pub fn new(name: impl Into<String>, flags: SectionFlags, align: u64, bytes: Vec<u8>) -> Self {
        Section {
            name: name.into(),
            kind: SectionType::Program,
            flags,
            align,
            entry_size: 0,
            contents: Contents::Bytes(bytes),
            relocations: Vec::new(),
            group: None,
        }
    }
}

/// A word to fill in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relocation {
    /// Its offset in the section, in bytes.
    pub offset: u64,
    /// How to compute it.
    pub kind: RelocationKind,
    /// The symbol it refers to.
    pub symbol: SymbolId,
    /// Added to the symbol's address.
    pub addend: i64,
}

/// A symbol.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    /// Name; empty for a section's own symbol.
    pub name: String,
    /// Where it is.
    pub definition: Definition,
    /// Its size in bytes.
    pub size: u64,
    /// What it names.
    pub kind: SymbolType,
    /// The modules that see it.
    pub binding: Binding,
    /// The use that other modules may make of it, unless it is local.
    pub visibility: Visibility,
}

/// The location of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definition {
    /// In a section.
    Section {
        /// The section.
        section: SectionId,
        /// Bytes from its start.
        offset: u64,
    },
    /// A number without a location.
    Absolute(u64),
    /// In uninitialised memory that the linker provides (`.comm`).
    Common {
        /// Alignment in bytes.
        align: u64,
    },
    /// In local memory that the linker or loader provides (`.amdgpu_lds`).
    LocalMemory {
        /// Alignment in bytes.
        align: u64,
    },
    /// In another module.
    Undefined,
}

/// The type of a symbol (`STT_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SymbolType {
    /// Unspecified.
    None,
    /// A variable or a kernel descriptor.
    Object,
    /// A function.
    Function,
    /// A section.
    Section,
    /// A source file.
    File,
}

/// The use that other modules may make of a symbol (`STV_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Visibility {
    /// Use it, or define a replacement.
    Default,
    /// None, and processor-specific rules apply.
    Internal,
    /// None.
    Hidden,
    /// Use it, without a replacement.
    Protected,
}

impl Symbol {
    /// A local symbol in a section.
    pub fn in_section(name: impl Into<String>, section: SectionId, offset: u64) -> Self {
        Symbol {
            name: name.into(),
            definition: Definition::Section { section, offset },
            size: 0,
            kind: SymbolType::None,
            binding: Binding::Local,
            visibility: Visibility::Default,
        }
    }

    /// A global symbol that another module defines.
    pub fn undefined(name: impl Into<String>) -> Self {
        Symbol {
            name: name.into(),
            definition: Definition::Undefined,
            size: 0,
            kind: SymbolType::None,
            binding: Binding::Global,
            visibility: Visibility::Default,
        }
    }
}

/// A location in a module, for messages: `.text+0x10`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The section.
    pub section: SectionId,
    /// Its name.
    pub name: Box<str>,
    /// Bytes from its start.
    pub offset: u64,
    /// The function or variable that contains it, if known.
    pub within: Option<Box<str>>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{:#x}", self.name, self.offset)?;
        match &self.within {
            Some(name) => write!(f, " in `{name}`"),
            None => Ok(()),
        }
    }
}

impl Module {
    /// A module without sections.
    pub fn new(target: TargetId, version: CodeObjectVersion) -> Self {
        // Every generic processor is at its first version (AMDGPUUsage, "Generic Processor Versioning").
        let generic = target.processor.info().is_some_and(|row| !row.covers.is_empty());
        Module {
            target,
            version,
            generic_version: generic.into(),
            sections: Vec::new(),
            symbols: Vec::new(),
            groups: Vec::new(),
        }
    }

    /// Appends a section.
    pub fn add_section(&mut self, section: Section) -> SectionId {
        self.sections.push(section);
        SectionId(self.sections.len() - 1)
    }

    /// Appends a symbol.
    pub fn add_symbol(&mut self, symbol: Symbol) -> SymbolId {
        self.symbols.push(symbol);
        SymbolId(self.symbols.len() - 1)
    }

    /// The index of each symbol in the symbol table of a relocatable file: local ones come first,
    /// after the empty one.
    pub fn symbol_indices(&self) -> Vec<u32> {
        let local = |symbol: &Symbol| symbol.binding == Binding::Local;
        let mut next_local = 1;
        let mut next_other = 1 + self.symbols.iter().filter(|symbol| local(symbol)).count() as u32;
        let next = |symbol| {
            let next = if local(symbol) { &mut next_local } else { &mut next_other };
            *next += 1;
            *next - 1
        };
        self.symbols.iter().map(next).collect()
    }

    /// The first section called `name`.
    pub fn section_named(&self, name: &str) -> Option<SectionId> {
        self.sections.iter().position(|section| section.name == name).map(SectionId)
    }

    /// Appends a note to the section `.note`; adds the section if missing (AMDGPUUsage, "Note
    /// Records").
    ///
    /// # Errors
    /// [`WriteError::TooLarge`] for a note of 4 GiB or more.
    pub fn add_note(&mut self, owner: &str, kind: u32, contents: &[u8]) -> Result<(), WriteError> {
        let size = |bytes: usize| {
            u32::try_from(bytes)
                .map_err(|_| WriteError::TooLarge { what: format!("a note of {bytes} bytes") })
        };
        let mut note = Vec::with_capacity(owner.len() + contents.len() + 24);
        for word in [size(owner.len() + 1)?, size(contents.len())?, kind] {
            note.extend(word.to_le_bytes());
        }
        // The name ends with a zero byte; both parts are padded to words.
        note.extend(owner.as_bytes());
        note.resize((note.len() + 1).next_multiple_of(4), 0);
        note.extend(contents);
        note.resize(note.len().next_multiple_of(4), 0);
        let section = match self.section_named(".note") {
            Some(section) => section,
            None => {
                let kind = SectionType::Note;
                self.add_section(Section {
                    kind,
                    ..Section::new(".note", SectionFlags::ALLOC, 4, Vec::new())
                })
            }
        };
        match self.sections.get_mut(section.0).map(|section| &mut section.contents) {
            Some(Contents::Bytes(bytes)) => bytes.extend(note),
            _ => return Err(WriteError::Contents { section: ".note".to_owned() }),
        }
        Ok(())
    }

    /// Appends the metadata of the module's kernels: the MessagePack of `metadata` as a note.
    ///
    /// # Errors
    /// Fails as [`add_note`](Self::add_note) does.
    pub fn add_metadata(&mut self, metadata: &[u8]) -> Result<(), WriteError> {
        self.add_note("AMDGPU", crate::elf::NT_AMDGPU_METADATA, metadata)
    }

    /// Appends a kernel descriptor to `section` for the kernel whose code begins at the symbol
    /// `code`. Aligns the section to 64 bytes, adds the bytes, the symbol `NAME.kd`, and the
    /// relocation that fills in the distance to the code. The symbol has the binding and visibility
    /// of the code's symbol.
    ///
    /// # Errors
    /// [`WriteError`] if the section or symbol does not exist, or the section has no bytes.
    pub fn add_descriptor(
        &mut self,
        section: SectionId,
        code: SymbolId,
        descriptor: [u8; 64],
    ) -> Result<SymbolId, WriteError> {
        let kernel = self.symbols.get(code.0).ok_or(WriteError::NoSymbol { index: code.0 })?;
        let (name, binding, visibility) = (format!("{}.kd", kernel.name), kernel.binding, kernel.visibility);
        let target = self.sections.get_mut(section.0).ok_or(WriteError::NoSection { index: section.0 })?;
        let Contents::Bytes(bytes) = &mut target.contents else {
            return Err(WriteError::Contents { section: target.name.clone() });
        };
        bytes.resize(bytes.len().next_multiple_of(64), 0);
        let offset = bytes.len() as u64;
        bytes.extend(descriptor);
        target.align = target.align.max(64);
        target.relocations.push(Relocation {
            offset: offset + KernelDescriptor::ENTRY_OFFSET,
            kind: RelocationKind::Rel64,
            symbol: code,
            addend: KernelDescriptor::ENTRY_OFFSET as i64,
        });
        Ok(self.add_symbol(Symbol {
            size: KernelDescriptor::SIZE,
            kind: SymbolType::Object,
            binding,
            visibility,
            ..Symbol::in_section(name, section, offset)
        }))
    }

    /// The `e_flags` of the file.
    ///
    /// # Errors
    /// [`WriteError::Target`] for a processor that has no number.
    pub fn flags(&self) -> Result<u32, WriteError> {
        let flags = self.target.flags_v4();
        let flags = flags.ok_or_else(|| WriteError::Target { target: self.target.to_string() })?;
        Ok(flags | u32::from(self.generic_version) << 24)
    }

    /// The location at an offset of a section.
    pub(super) fn place(&self, section: SectionId, offset: u64) -> Place {
        let name = self.sections.get(section.0).map_or("", |section| section.name.as_str()).into();
        Place { section, name, offset, within: None }
    }
}
