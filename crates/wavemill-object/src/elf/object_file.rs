//! Reading a code object.

use std::borrow::Cow;
use std::fmt;

use object::elf::{PT_LOAD, PT_NOTE, ProgramHeader64, SHT_DYNSYM, SHT_NOTE, SHT_RELA, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable, SymbolTable};

use super::image::Segment;
use super::kernel::{self, Kernel};
use super::note::{self, Note};
use super::relocation::{Relocation, RelocationKind, RelocationSymbol};
use super::section::{self, Section};
use super::symbol::{Symbol, SymbolKind};
use super::{Header, LE, NameBudget, elf_error};
use crate::error::{Error, Result};
use crate::metadata::{self, Metadata};
use crate::name::{Match, Search};
use crate::sniff::{self, EM_AMDGPU};
use crate::target::{Feature, Processor, TargetId};

/// Largest alignment of a segment, in bytes. Linkers align to pages, 4 KiB by default.
const LARGEST_ALIGNMENT: u64 = 1 << 30;

/// Most metadata that is read, in bytes: a kernel needs about one kilobyte.
const LARGEST_METADATA: usize = 64 << 20;

/// Most metadata of code object v2, which is text: a kernel needs up to three kilobytes.
const LARGEST_YAML: usize = 16 << 20;

/// Version of the code object format (`EI_ABIVERSION`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CodeObjectVersion {
    /// ROCm 1 and 2: `amd_kernel_code_t`, YAML metadata.
    V2,
    /// Kernel descriptors, MessagePack metadata.
    V3,
    /// Target features that can be left open.
    V4,
    /// New hidden arguments.
    V5,
    /// Generic processors.
    V6,
}

impl fmt::Display for CodeObjectVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self {
            CodeObjectVersion::V2 => 2,
            CodeObjectVersion::V3 => 3,
            CodeObjectVersion::V4 => 4,
            CodeObjectVersion::V5 => 5,
            CodeObjectVersion::V6 => 6,
        };
        write!(f, "v{number}")
    }
}

/// A code object, read in place.
#[derive(Debug, Clone)]
pub struct CodeObject<'a> {
    data: &'a [u8],
    version: CodeObjectVersion,
    flags: u32,
    target: TargetId,
    segments: Vec<Segment<'a>>,
    sections: Vec<Section<'a>>,
    symbols: Vec<Symbol<'a>>,
    relocations: Vec<Relocation<'a>>,
    metadata: Option<Metadata>,
    kernels: Vec<Kernel>,
    problems: Vec<String>,
}

impl<'a> CodeObject<'a> {
    /// Reads a linked code object: a 64-bit ELF file for the AMD HSA platform.
    /// [`loadable`](crate::loadable) links a relocatable file.
    ///
    /// # Errors
    /// [`Error::Foreign`] for any other file, [`Error::Unsupported`] for an AMD GPU object of
    /// another platform or version, [`Error::Truncated`] and [`Error::Malformed`] for a damaged
    /// one. Errors that concern a single kernel are listed by [`problems`](Self::problems) instead.
    pub fn parse(data: &'a [u8]) -> Result<Self> {
        let version = check_header(data)?;
        let header = Header::parse(data).map_err(elf_error("ELF header", 0))?;
        let flags = header.e_flags(LE).0;
        let headers_at = header.e_phoff(LE);
        let program_headers =
            header.program_headers(LE, data).map_err(elf_error("program headers", headers_at))?;
        let sections_at = header.e_shoff(LE);
        let sections = header.sections(LE, data).map_err(elf_error("section headers", sections_at))?;

        let segments = read_segments(data, program_headers)?;
        if segments.is_empty() {
            return Err(Error::Unsupported {
                what: "code object",
                detail: "it has no loadable segment, so it is not linked; \
                         link it with `ld.lld -shared` first"
                    .to_owned(),
            });
        }
        let notes = read_notes(data, program_headers, &sections)?;
        let mut problems = Vec::new();
        let target = match version {
            CodeObjectVersion::V2 => target_v2(&notes, flags)?,
            CodeObjectVersion::V3 => TargetId::from_flags_v3(flags),
            _ => TargetId::from_flags_v4(flags),
        };
        let metadata = read_metadata(&notes, &mut problems)?;
        if sections.is_empty() {
            problems.push("there are no section headers: symbols and relocations are not known".to_owned());
        }
        if metadata.is_none() {
            problems.push("there is no metadata: arguments are not known".to_owned());
        }
        if let Some(spelled) = metadata.as_ref().and_then(|metadata| metadata.target.as_deref())
            && version >= CodeObjectVersion::V4
            && TargetId::parse(spelled).is_none_or(|spelled| spelled.to_string() != target.to_string())
        {
            problems.push(format!("the metadata is for {spelled}, but the ELF header says {target}"));
        }

        let dynamic =
            sections.symbols(LE, data, SHT_DYNSYM).map_err(elf_error("dynamic symbols", sections_at))?;
        let full = sections.symbols(LE, data, SHT_SYMTAB).map_err(elf_error("symbol table", sections_at))?;
        let table = if full.is_empty() { &dynamic } else { &full };
        let mut names = NameBudget::new(data);
        let mut symbols = Vec::with_capacity(table.len().saturating_sub(1));
        for entry in table.iter().skip(1) {
            let symbol = Symbol::from_entry(entry, table)?;
            if !symbol.name.is_empty() {
                names.spend(sections_at, &symbol.name)?;
                symbols.push(symbol);
            }
        }
        let relocations = read_relocations(data, &sections, &dynamic)?;
        let no_metadata = Metadata::default();
        let described = metadata.as_ref().unwrap_or(&no_metadata);
        let kernels = kernel::find(version, &segments, &symbols, described, &mut problems);
        Ok(CodeObject {
            data,
            version,
            flags,
            target,
            segments,
            sections: section::read(data, &sections)?,
            symbols,
            relocations,
            metadata,
            kernels,
            problems,
        })
    }

    /// The whole file.
    pub fn data(&self) -> &'a [u8] {
        self.data
    }

    /// Version of the format.
    pub fn version(&self) -> CodeObjectVersion {
        self.version
    }

    /// `e_flags` of the ELF header.
    pub fn flags(&self) -> u32 {
        self.flags
    }

    /// The processor and target features that the code was compiled for.
    pub fn target(&self) -> &TargetId {
        &self.target
    }

    /// Version of the generic processor (v6), which the device must support.
    pub fn generic_version(&self) -> Option<u8> {
        let generic = self.target.processor.info().is_some_and(|row| !row.covers.is_empty());
        (generic && self.version >= CodeObjectVersion::V6).then_some((self.flags >> 24) as u8)
    }

    /// Loadable segments, by address; they do not overlap.
    pub fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// Sections in the order of the file; a stripped file may have none.
    pub fn sections(&self) -> &[Section<'a>] {
        &self.sections
    }

    /// The section called `name`, such as `.text` or `.debug_line`.
    pub fn section(&self, name: &str) -> Option<&Section<'a>> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Symbols in the order of the file, from `.symtab` or, in a stripped file, `.dynsym`.
    pub fn symbols(&self) -> &[Symbol<'a>] {
        &self.symbols
    }

    /// Functions, kernels included.
    pub fn functions(&self) -> impl Iterator<Item = &Symbol<'a>> {
        self.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Function && symbol.is_defined())
    }

    /// Variables: in global memory, in local memory, or undefined.
    pub fn globals(&self) -> impl Iterator<Item = &Symbol<'a>> {
        self.symbols.iter().filter(|symbol| symbol.kind == SymbolKind::Variable)
    }

    /// The words to fill in after loading, see [`Image::relocate`](super::Image::relocate).
    pub fn relocations(&self) -> &[Relocation<'a>] {
        &self.relocations
    }

    /// The metadata, if any.
    pub fn metadata(&self) -> Option<&Metadata> {
        self.metadata.as_ref()
    }

    /// Kernels in the order of the metadata, then those without metadata.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernel that `name` stands for ([`name`](crate::name)); `None` if no kernel fits, or
    /// several fit equally well.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.find_kernel(name).one()
    }

    /// The kernels that `name` stands for ([`name`](crate::name)).
    pub fn find_kernel(&self, name: &str) -> Match<&Kernel> {
        let mut search = Search::new(name);
        self.kernels.iter().for_each(|kernel| search.add(&kernel.name, || kernel));
        search.finish()
    }

    /// Problems that do not prevent the use of the rest, in plain words.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The bytes of the file for `address..address + size`, before relocation; `None` outside the
    /// segments and in uninitialised memory.
    pub fn read(&self, address: u64, size: u64) -> Option<&'a [u8]> {
        kernel::read(&self.segments, address, size)
    }
}

/// Whether `data` begins like an ELF file for AMD GPUs.
pub(crate) fn is_gpu_elf(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF")
        && crate::bytes::u16(data, 18, "ELF header").is_ok_and(|machine| machine == EM_AMDGPU)
}

/// The format's version and the target of an ELF file for AMD GPUs, linked or not.
pub(crate) fn version_and_target(data: &[u8]) -> Result<(CodeObjectVersion, TargetId)> {
    let version = check_header(data)?;
    let header = Header::parse(data).map_err(elf_error("ELF header", 0))?;
    let flags = header.e_flags(LE).0;
    let target = match version {
        CodeObjectVersion::V2 => {
            let at = header.e_shoff(LE);
            let program_headers =
                header.program_headers(LE, data).map_err(elf_error("program headers", at))?;
            let sections = header.sections(LE, data).map_err(elf_error("section headers", at))?;
            target_v2(&read_notes(data, program_headers, &sections)?, flags)?
        }
        CodeObjectVersion::V3 => TargetId::from_flags_v3(flags),
        _ => TargetId::from_flags_v4(flags),
    };
    Ok((version, target))
}

/// Checks that a 64-bit ELF file holds its tables of program headers and of section headers.
///
/// # Errors
/// [`Error::Truncated`] if a table reaches past the end, as in a file that was cut short, and
/// [`Error::Malformed`] without an ELF header.
pub fn check_tables(data: &[u8]) -> Result<()> {
    let header = Header::parse(data).map_err(elf_error("ELF header", 0))?;
    for (at, count, size, what) in [
        (header.e_phoff(LE), header.e_phnum(LE), header.e_phentsize(LE), "the program header table"),
        (header.e_shoff(LE), header.e_shnum(LE), header.e_shentsize(LE), "the section header table"),
    ] {
        if at != 0 {
            crate::bytes::slice(data, at, u64::from(count) * u64::from(size), what)?;
        }
    }
    Ok(())
}

/// Rejects data that is not a code object, with a reason; returns the version otherwise.
fn check_header(data: &[u8]) -> Result<CodeObjectVersion> {
    const EXPECTED: &str = "an AMD GPU code object (64-bit ELF)";
    if !is_gpu_elf(data) {
        return Err(sniff::foreign(EXPECTED, data));
    }
    let header = crate::bytes::slice(data, 0, 64, "ELF header")?;
    if header[4] != 2 {
        return Err(Error::Unsupported {
            what: "code object",
            detail: "it is a 32-bit ELF file, as the compiler writes for the R600 family (Cayman)".to_owned(),
        });
    }
    if header[5] != 1 {
        return Err(Error::malformed("ELF header", 5, "the byte order should be little-endian"));
    }
    let platform = match header[7] {
        64 => None,
        65 => Some("AMD PAL, a graphics driver"),
        66 => Some("Mesa, a graphics driver"),
        0 => Some("no platform (the compiler was called without `amdhsa` in the target triple)"),
        _ => Some("an unknown platform"),
    };
    if let Some(platform) = platform {
        let detail = format!("it is for {platform} (ELF OS/ABI {}), not for AMD HSA (64)", header[7]);
        return Err(Error::Unsupported { what: "code object", detail });
    }
    check_tables(data)?;
    match header[8] {
        0 => Ok(CodeObjectVersion::V2),
        1 => Ok(CodeObjectVersion::V3),
        2 => Ok(CodeObjectVersion::V4),
        3 => Ok(CodeObjectVersion::V5),
        4 => Ok(CodeObjectVersion::V6),
        other => Err(Error::Unsupported {
            what: "code object",
            detail: format!(
                "its ABI version is {other}; versions 0 to 4 (code objects v2 to v6) are supported. \
                 Compile with -mcode-object-version=6 or less"
            ),
        }),
    }
}

fn read_segments<'a>(
    data: &'a [u8],
    headers: &[ProgramHeader64<object::LittleEndian>],
) -> Result<Vec<Segment<'a>>> {
    let mut segments: Vec<Segment<'_>> = Vec::new();
    for header in headers.iter().filter(|header| header.p_type(LE) == PT_LOAD) {
        let file_offset = header.p_offset(LE);
        let contents = crate::bytes::slice(data, file_offset, header.p_filesz(LE), "segment")?;
        let (address, size) = (header.p_vaddr(LE), header.p_memsz(LE));
        let malformed = |detail: String| Error::malformed("segment", file_offset, detail);
        if size < contents.len() as u64 {
            let detail = format!("it has {} bytes in the file, but {size} in memory", contents.len());
            return Err(malformed(detail));
        }
        if address.checked_add(size).is_none() {
            return Err(malformed(format!("{size} bytes at address {address:#x} exceed the address space")));
        }
        let align = header.p_align(LE).max(1);
        if !align.is_power_of_two() {
            return Err(malformed(format!("an alignment of {align} bytes is not a power of two")));
        }
        if align > LARGEST_ALIGNMENT {
            return Err(malformed(format!(
                "an alignment of {align} bytes is more than {LARGEST_ALIGNMENT} bytes, the largest page; the file is damaged"
            )));
        }
        let flags = header.p_flags(LE).0;
        segments.push(Segment {
            address,
            size,
            contents,
            file_offset,
            align,
            readable: flags & 4 != 0,
            writable: flags & 2 != 0,
            executable: flags & 1 != 0,
        });
    }
    segments.sort_by_key(|segment| segment.address);
    for pair in segments.windows(2) {
        if pair[0].end() > pair[1].address {
            let detail = format!("it overlaps the one at address {:#x}", pair[0].address);
            return Err(Error::malformed("segment", pair[1].file_offset, detail));
        }
    }
    Ok(segments)
}

/// Rejects tables that overlap. Otherwise, a few bytes that are read again and again could expand
/// without bound.
struct Budget {
    what: &'static str,
    left: u64,
}

impl Budget {
    /// The tables of `data` together cannot have more bytes than `data`.
    fn new(what: &'static str, data: &[u8]) -> Self {
        Budget { what, left: data.len() as u64 }
    }

    fn spend(&mut self, offset: u64, size: u64) -> Result<()> {
        match self.left.checked_sub(size) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                Err(Error::malformed(self.what, offset, "there are more of them than the file has bytes"))
            }
        }
    }
}

/// The notes of the note segments, or of the note sections if the file has no note segments.
fn read_notes<'a>(
    data: &'a [u8],
    headers: &[ProgramHeader64<object::LittleEndian>],
    sections: &SectionTable<'a, Header>,
) -> Result<Vec<Note<'a>>> {
    let mut ranges: Vec<_> = headers
        .iter()
        .filter(|header| header.p_type(LE) == PT_NOTE)
        .map(|header| (header.p_offset(LE), header.p_filesz(LE)))
        .collect();
    if ranges.is_empty() {
        let notes = sections.iter().filter(|section| section.sh_type(LE) == SHT_NOTE);
        ranges.extend(notes.map(|section| (section.sh_offset(LE), section.sh_size(LE))));
    }
    let mut notes = Vec::new();
    let mut budget = Budget::new("notes", data);
    for (offset, size) in ranges {
        budget.spend(offset, size)?;
        note::parse(crate::bytes::slice(data, offset, size, "notes")?, offset, &mut notes)?;
    }
    Ok(notes)
}

/// Reads the metadata. Omitted parts are reported in `problems`.
fn read_metadata(notes: &[Note<'_>], problems: &mut Vec<String>) -> Result<Option<Metadata>> {
    let find = |owner: &[u8], kind, limit: usize| {
        let note = notes.iter().find(|note| note.owner == owner && note.kind == kind);
        match note.map(|note| note.contents.len()).filter(|&size| size > limit) {
            None => Ok(note),
            Some(size) => Err(Error::TooLarge { what: "metadata", size: size as u64, limit: limit as u64 }),
        }
    };
    if let Some(note) = find(b"AMDGPU", note::METADATA, LARGEST_METADATA)? {
        let (metadata, left_out) = metadata::from_msgpack(note.contents, note.offset)?;
        problems.extend(left_out);
        return Ok(Some(metadata));
    }
    if let Some(note) = find(b"AMD", note::YAML_METADATA, LARGEST_YAML)? {
        return metadata::from_yaml(note.contents, note.offset).map(Some);
    }
    Ok(None)
}

/// The target of a code object v2: a note names the ISA version; `e_flags` of
/// later compilers name the processor too (AMDGPUUsage, "Code Object V2
/// Supported Processors and Fixed Target Feature Settings").
fn target_v2(notes: &[Note<'_>], flags: u32) -> Result<TargetId> {
    let note = notes.iter().find(|note| note.owner == b"AMD" && note.kind == note::ISA_VERSION);
    let Some(note) = note else { return Ok(TargetId::from_flags_v3(flags)) };
    let word = |at| crate::bytes::u32(note.contents, at, "ISA version note");
    let (major, minor, stepping) = (word(4)?, word(8)?, word(12)?);
    // Odd steppings of Vega are the variants with page-fault replay.
    let (stepping, replay) = match (major, minor, stepping) {
        (8, 0, 0) => (2, false),
        (8, 0, 4) => (3, false),
        (9, 0, 1 | 3 | 5 | 7) => (stepping - 1, true),
        (8, 0, 1) | (8, 1, 0) => (stepping, true),
        _ => (stepping, false),
    };
    let mut target = TargetId::new(Processor::from_name(&format!("gfx{major}{minor}{stepping:x}")));
    if target.xnack != Feature::Unsupported {
        target.xnack = if replay { Feature::On } else { Feature::Off };
    }
    if target.sramecc != Feature::Unsupported {
        target.sramecc = Feature::Off;
    }
    Ok(target)
}

fn read_relocations<'a>(
    data: &'a [u8],
    sections: &SectionTable<'a, Header>,
    dynamic: &SymbolTable<'a, Header>,
) -> Result<Vec<Relocation<'a>>> {
    /// The section is part of the memory image.
    const SHF_ALLOC: u64 = 2;
    /// Relocations whose addends are in the image, and packed ones.
    const OTHER_TABLES: [u32; 3] = [9, 19, 0x6fff_ff00];
    let mut out = Vec::new();
    let mut budget = Budget::new("relocations", data);
    let mut names = NameBudget::new(data);
    for section in sections.iter().filter(|section| section.sh_flags(LE).0 & SHF_ALLOC != 0) {
        let kind = section.sh_type(LE);
        let at = section.sh_offset(LE);
        if OTHER_TABLES.contains(&kind.0) && section.sh_size(LE) != 0 {
            return Err(Error::Unsupported {
                what: "relocation table",
                detail: format!(
                    "section type {} at offset {at:#x}; link without -z pack-relative-relocs and -z rel",
                    kind.0
                ),
            });
        }
        if kind != SHT_RELA {
            continue;
        }
        budget.spend(at, section.sh_size(LE))?;
        let entries = section.rela(LE, data).map_err(elf_error("relocations", at))?;
        let entries = entries.map_or(&[][..], |(entries, _)| entries);
        for entry in entries {
            let index = entry.r_sym(LE, false);
            let symbol = match index {
                0 => None,
                _ => {
                    let entry = dynamic.symbol(object::SymbolIndex(index as usize));
                    let entry = entry.map_err(elf_error("relocation symbol", at))?;
                    let symbol = Symbol::from_entry(entry, dynamic)?;
                    if let Cow::Owned(name) = &symbol.name {
                        names.spend(at, name)?;
                    }
                    Some(RelocationSymbol {
                        name: symbol.name,
                        address: symbol.address,
                        place: symbol.place,
                        binding: symbol.binding,
                    })
                }
            };
            out.push(Relocation {
                address: entry.r_offset.get(LE),
                kind: RelocationKind::from_number(entry.r_type(LE, false).0),
                symbol,
                addend: entry.r_addend.get(LE),
            });
        }
    }
    Ok(out)
}
