//! Combines sections of the module into sections of the file.

use std::collections::HashMap;

use object::elf;

use super::merge::{self, Piece};
use super::problems::Problems;
use super::{LinkError, LinkProblem};
use crate::write::WriteError;
use crate::write::check::MAX_FILE;
use crate::write::module::{Contents, Definition, Module, SectionFlags, SectionId, SymbolId, SymbolType};
use crate::write::relocatable::section_type;

/// A section of the linked file.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) kind: elf::SectionType,
    pub(super) flags: SectionFlags,
    pub(super) align: u64,
    pub(super) entry_size: u64,
    pub(super) size: u64,
    pub(super) chunks: Vec<Chunk>,
    /// Its address in memory.
    pub(super) address: u64,
    /// Its offset in the file.
    pub(super) offset: u64,
}

/// The origin of the contents of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// The module.
    Input,
    DynSym,
    GnuHash,
    Hash,
    DynStr,
    RelaDyn,
    Dynamic,
    Got,
    RelroPadding,
}

/// A part of a section that comes from the module.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) offset: u64,
    align: u64,
    size: u64,
    pub(super) source: Source,
}

#[derive(Debug)]
pub(super) enum Source {
    Section(SectionId),
    Merged(Vec<u8>),
    Common(SymbolId),
}

/// The destination of a section of the module.
#[derive(Debug, Clone)]
pub(super) enum Spot {
    /// Not in the file.
    Dropped,
    /// As a whole, at an offset of an output section.
    Whole { output: usize, offset: u64 },
    /// Entry by entry, in a chunk of an output section.
    Pieces { output: usize, chunk: usize, pieces: Vec<Piece>, size: u64 },
}

/// The sections of the file that come from the module.
#[derive(Debug)]
pub(super) struct Combined {
    pub(super) outputs: Vec<Output>,
    /// The destination of each section of the module.
    pub(super) spots: Vec<Spot>,
    /// The destinations of common symbols: output section and offset.
    pub(super) commons: HashMap<SymbolId, (usize, u64)>,
}

/// Sections whose names begin with one of these are joined under that name.
const PREFIXES: [&str; 16] = [
    ".text",
    ".data.rel.ro",
    ".data",
    ".rodata",
    ".bss.rel.ro",
    ".bss",
    ".ldata",
    ".lrodata",
    ".lbss",
    ".gcc_except_table",
    ".init_array",
    ".fini_array",
    ".tbss",
    ".tdata",
    ".ctors",
    ".dtors",
];

fn output_name(name: &str) -> &str {
    let joined = |prefix: &&str| {
        name.strip_prefix(*prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    PREFIXES.into_iter().find(joined).unwrap_or(name)
}

/// Whether a section does not reach the linked file.
fn is_dropped(name: &str, flags: SectionFlags) -> bool {
    flags.has(SectionFlags::EXCLUDE) || name == ".note.GNU-stack"
}

/// Joins the sections of the module by name, and lays them out in their output sections.
pub(super) fn combine(module: &Module) -> Result<Combined, LinkError> {
    let mut combined = Combined {
        outputs: Vec::new(),
        spots: vec![Spot::Dropped; module.sections.len()],
        commons: HashMap::new(),
    };
    let mut names: HashMap<String, usize> = HashMap::new();
    let mut problems = Problems::new();
    // Common symbols come first, as if in a file before the module.
    for (index, symbol) in module.symbols.iter().enumerate() {
        if let Definition::Common { align } = symbol.definition {
            let flags = SectionFlags::ALLOC | SectionFlags::WRITE;
            let output = output(&mut combined.outputs, &mut names, ".bss", elf::SHT_NOBITS, flags, 0);
            let chunk =
                Chunk { offset: 0, align, size: symbol.size, source: Source::Common(SymbolId(index)) };
            combined.outputs[output].chunks.push(chunk);
        }
    }
    for (index, section) in module.sections.iter().enumerate() {
        if is_dropped(&section.name, section.flags) {
            continue;
        }
        let (kind, name) = (section_type(section), output_name(&section.name));
        let size = section.contents.size();
        let output = output(&mut combined.outputs, &mut names, name, kind, section.flags, section.entry_size);
        let output = &mut combined.outputs[output];
        output.flags |= section.flags;
        if output.entry_size != section.entry_size {
            output.entry_size = 0;
        }
        if output.kind != kind {
            if !joins(output.kind) || !joins(kind) {
                problems.push(LinkProblem::Types { name: name.to_owned() });
            }
            output.kind = elf::SHT_PROGBITS;
        }
        let source = Source::Section(SectionId(index));
        output.chunks.push(Chunk { offset: 0, align: section.align, size, source });
    }
    if let Some(&index) = names.get(".eh_frame")
        && !ends_frames(module, &combined.outputs[index])
    {
        let source = Source::Merged(END_OF_FRAMES.to_vec());
        let size = END_OF_FRAMES.len() as u64;
        combined.outputs[index].chunks.push(Chunk { offset: 0, align: 1, size, source });
    }
    problems.finish(module)?;
    for index in 0..combined.outputs.len() {
        merge_entries(module, &mut combined, index);
        place(&mut combined, index)?;
    }
    Ok(combined)
}

/// The terminator of `.eh_frame` (LSB Core, "The .eh_frame section"): an entry of no length.
const END_OF_FRAMES: [u8; 4] = [0; 4];

/// Whether the last part of `.eh_frame` has a terminator.
fn ends_frames(module: &Module, output: &Output) -> bool {
    let Some(Source::Section(id)) = output.chunks.last().map(|chunk| &chunk.source) else { return true };
    let Some(Contents::Bytes(bytes)) = module.sections.get(id.0).map(|section| &section.contents) else {
        return true;
    };
    let mut rest = bytes.as_slice();
    while let Some((length, behind)) = rest.split_first_chunk() {
        match u32::from_le_bytes(*length) {
            0 => return true,
            length => rest = behind.get(length as usize..).unwrap_or_default(),
        }
    }
    false
}

/// Whether sections of a type may be joined with those of other types, to one of type
/// `SHT_PROGBITS`.
fn joins(kind: elf::SectionType) -> bool {
    use elf::*;
    [SHT_PROGBITS, SHT_NOBITS, SHT_NOTE, SHT_INIT_ARRAY, SHT_FINI_ARRAY, SHT_PREINIT_ARRAY].contains(&kind)
}

/// The output section called `name`; adds it if missing.
fn output(
    outputs: &mut Vec<Output>,
    names: &mut HashMap<String, usize>,
    name: &str,
    kind: elf::SectionType,
    flags: SectionFlags,
    entry_size: u64,
) -> usize {
    *names.entry(name.to_owned()).or_insert_with(|| {
        outputs.push(Output::new(name, Role::Input, kind, flags, 1, entry_size));
        outputs.len() - 1
    })
}

impl Output {
    pub(super) fn new(
        name: &str,
        role: Role,
        kind: elf::SectionType,
        flags: SectionFlags,
        align: u64,
        entry_size: u64,
    ) -> Self {
        Output {
            name: name.to_owned(),
            role,
            kind,
            flags,
            align,
            entry_size,
            size: 0,
            chunks: Vec::new(),
            address: 0,
            offset: 0,
        }
    }

    /// Whether it is part of the memory image.
    pub(super) fn is_loaded(&self) -> bool {
        self.flags.has(SectionFlags::ALLOC)
    }
}

/// Most bytes of a merged section for each byte of its entries. Compilers align entries to their
/// size, and some texts to 16 bytes.
const MAX_PADDING: u64 = 64;

/// The bytes of a section whose entries are to be merged.
fn mergeable(module: &Module, section: SectionId) -> Option<(&[u8], SectionFlags, usize)> {
    let section = module.sections.get(section.0)?;
    let Contents::Bytes(bytes) = &section.contents else { return None };
    let unit = usize::try_from(section.entry_size).ok()?;
    let merges = section.flags.has(SectionFlags::MERGE)
        && !section.flags.has(SectionFlags::WRITE)
        && section.relocations.is_empty()
        && unit != 0
        && !bytes.is_empty()
        // Every entry may need this alignment: leave coarsely aligned sections unmerged.
        && section.align / MAX_PADDING <= unit as u64
        && (!section.flags.has(SectionFlags::STRINGS) || merge::terminated(bytes, unit));
    merges.then_some((bytes.as_slice(), section.flags, unit))
}

/// Replaces the mergeable sections of an output section: merges those with the same kind of entries
/// into one, at the position of the first.
fn merge_entries(module: &Module, combined: &mut Combined, output: usize) {
    struct Set {
        flags: SectionFlags,
        unit: usize,
        align: u64,
        members: Vec<SectionId>,
        chunk: usize,
    }
    let mut sets: Vec<Set> = Vec::new();
    let mut chunks = Vec::new();
    for chunk in std::mem::take(&mut combined.outputs[output].chunks) {
        let entries = match chunk.source {
            Source::Section(section) => {
                mergeable(module, section).map(|(_, flags, unit)| (section, flags, unit))
            }
            _ => None,
        };
        let Some((section, flags, unit)) = entries else {
            chunks.push(chunk);
            continue;
        };
        let fits = |set: &&mut Set| {
            set.flags == flags
                && set.unit == unit
                && (set.align == chunk.align || !flags.has(SectionFlags::STRINGS))
        };
        if let Some(set) = sets.iter_mut().find(fits) {
            set.align = set.align.max(chunk.align);
            set.members.push(section);
        } else {
            sets.push(Set { flags, unit, align: chunk.align, members: vec![section], chunk: chunks.len() });
            chunks.push(Chunk { source: Source::Merged(Vec::new()), ..chunk });
        }
    }
    for set in sets {
        let inputs: Vec<_> = set
            .members
            .iter()
            .map(|&id| mergeable(module, id).map_or(&[][..], |(bytes, ..)| bytes))
            .collect();
        let merged = merge::merge(&inputs, set.unit, set.flags.has(SectionFlags::STRINGS), set.align);
        for (member, pieces) in set.members.iter().zip(merged.pieces) {
            let size = module.sections[member.0].contents.size();
            combined.spots[member.0] = Spot::Pieces { output, chunk: set.chunk, pieces, size };
        }
        let chunk = &mut chunks[set.chunk];
        chunk.align = set.align;
        chunk.size = merged.bytes.len() as u64;
        chunk.source = Source::Merged(merged.bytes);
    }
    combined.outputs[output].chunks = chunks;
}

/// Lays out the parts of an output section.
fn place(combined: &mut Combined, output: usize) -> Result<(), WriteError> {
    let section = &mut combined.outputs[output];
    let too_large = || WriteError::TooLarge { what: format!("section {}", section.name) };
    let mut end = 0_u64;
    for chunk in &mut section.chunks {
        chunk.offset = end.checked_next_multiple_of(chunk.align).ok_or_else(too_large)?;
        end = chunk.offset.checked_add(chunk.size).ok_or_else(too_large)?;
        section.align = section.align.max(chunk.align);
        match chunk.source {
            Source::Section(id) => combined.spots[id.0] = Spot::Whole { output, offset: chunk.offset },
            Source::Common(id) => {
                combined.commons.insert(id, (output, chunk.offset));
            }
            Source::Merged(_) => {}
        }
    }
    if section.kind != elf::SHT_NOBITS && end > MAX_FILE {
        return Err(too_large());
    }
    section.size = end;
    Ok(())
}

impl Combined {
    /// Whether a symbol is in a section that does not reach the linked file.
    pub(super) fn is_dropped(&self, module: &Module, id: SymbolId) -> bool {
        self.symbol(module, id, 0).is_some_and(|place| place.is_err())
    }

    /// The location of a symbol: output section and offset. `addend` only matters for the symbols
    /// of sections, where it selects the entry of a mergeable section; it is not part of the
    /// result.
    ///
    /// `None` for a symbol that is not in a section.
    pub(super) fn symbol(
        &self,
        module: &Module,
        id: SymbolId,
        addend: i64,
    ) -> Option<Result<(usize, u64), LinkProblem>> {
        let symbol = module.symbols.get(id.0)?;
        if let Definition::Common { .. } = symbol.definition {
            return self.commons.get(&id).map(|&place| Ok(place));
        }
        let Definition::Section { section, offset } = symbol.definition else { return None };
        let problem = |offset, reason| {
            let name = module.sections.get(section.0).map_or("", |section| &section.name);
            let symbol = if symbol.name.is_empty() { name } else { &symbol.name };
            Err(LinkProblem::NoPlace { symbol: symbol.to_owned(), section: name.to_owned(), offset, reason })
        };
        Some(match self.spots.get(section.0) {
            None | Some(Spot::Dropped) => problem(offset, "is not part of the linked file"),
            Some(&Spot::Whole { output, offset: start }) => Ok((output, start.wrapping_add(offset))),
            Some(Spot::Pieces { output, chunk, pieces, size }) => {
                let extra = if symbol.kind == SymbolType::Section { addend } else { 0 };
                let wanted = offset.wrapping_add_signed(extra);
                let index = pieces.partition_point(|&(from, _)| from <= wanted);
                match index.checked_sub(1).and_then(|index| pieces.get(index)) {
                    Some(&(from, to)) if wanted < *size => {
                        let start = self.outputs[*output].chunks[*chunk].offset;
                        Ok((*output, (start + to).wrapping_add(wanted - from).wrapping_sub(extra as u64)))
                    }
                    _ => problem(wanted, "is mergeable and ends before it"),
                }
            }
        })
    }
}
