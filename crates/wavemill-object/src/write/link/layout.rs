//! Decides the layout: the order of the sections, segments, addresses, offsets.

use object::elf::{self, ProgramType};
use object::write::elf::{ProgramHeader, SectionHeader};

use super::LinkError;
use super::combine::{Combined, Output, Role};
use super::dynamic::DynamicSymbols;
use super::scan::Scan;
use crate::write::module::SectionFlags;
use crate::write::{WriteError, encoder};

/// Size of a memory page with its own protection, in bytes: the linker's assumption for AMD GPUs.
const PAGE: u64 = 0x1000;

/// A file whose layout is decided.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) combined: Combined,
    /// Indices of output sections in the order of the file.
    pub(super) order: Vec<usize>,
    /// The index in the file of each output section.
    indices: Vec<u32>,
    pub(super) segments: Vec<ProgramHeader>,
    /// Offset after the last section.
    pub(super) end: u64,
}

impl Layout {
    /// The index in the file of an output section.
    pub(super) fn file_index(&self, output: usize) -> u32 {
        self.indices.get(output).copied().unwrap_or(0)
    }

    /// The section that the linker makes for a purpose, if present.
    pub(super) fn role(&self, role: Role) -> Option<usize> {
        self.combined.outputs.iter().position(|output| output.role == role)
    }
}

/// A segment in the making: its sections by their positions in the order of the file.
struct Segment {
    kind: ProgramType,
    flags: elf::ProgramFlags,
    sections: Vec<usize>,
}

/// Adds the sections that the linker makes. Omits the tables at the end of the file: their sizes
/// are not known yet.
fn synthesise(outputs: &mut Vec<Output>, scan: &Scan, dynamic: &DynamicSymbols) {
    let mut add = |name: &str, role, header: SectionHeader, size: u64| {
        let flags = SectionFlags(header.sh_flags.0 & !elf::SHF_INFO_LINK.0);
        let section = Output::new(name, role, header.sh_type, flags, header.sh_addralign, header.sh_entsize);
        outputs.push(Output { size, ..section });
    };
    let encoder = encoder();
    let symbols = (dynamic.symbols.len() as u64 + 1) * encoder.sym_size();
    add(".dynsym", Role::DynSym, encoder.dynsym_section_header(0, 1), symbols);
    add(".gnu.hash", Role::GnuHash, encoder.gnu_hash_section_header(0), dynamic.gnu_hash.len() as u64);
    add(".hash", Role::Hash, encoder.hash_section_header(0), dynamic.hash.len() as u64);
    add(".dynstr", Role::DynStr, encoder.dynstr_section_header(), dynamic.names.len() as u64);
    if !scan.dynamic.is_empty() {
        let header = SectionHeader { sh_flags: elf::SHF_ALLOC, ..encoder.relocation_section_header(true) };
        add(".rela.dyn", Role::RelaDyn, header, scan.dynamic.len() as u64 * encoder.rel_size(true));
    }
    // The size is set once the entries are known.
    add(".dynamic", Role::Dynamic, encoder.dynamic_section_header(0), 0);
    let writable = |kind, align| SectionHeader {
        sh_type: kind,
        sh_flags: elf::SHF_ALLOC | elf::SHF_WRITE,
        sh_addralign: align,
        ..SectionHeader::default()
    };
    if !scan.got.is_empty() {
        add(".got", Role::Got, writable(elf::SHT_PROGBITS, 8), scan.got.len() as u64 * 8);
    }
    add(".relro_padding", Role::RelroPadding, writable(elf::SHT_NOBITS, 1), 0);
}

/// Whether only the loader writes a section, and it is read-only afterwards.
fn is_relro(output: &Output) -> bool {
    const NAMES: [&str; 10] = [
        ".data.rel.ro",
        ".bss.rel.ro",
        ".ctors",
        ".dtors",
        ".jcr",
        ".eh_frame",
        ".fini_array",
        ".init_array",
        ".preinit_array",
        ".openbsd.randomdata",
    ];
    let loaded = SectionFlags::ALLOC | SectionFlags::WRITE;
    output.flags.has(loaded)
        && (matches!(output.role, Role::Dynamic | Role::Got | Role::RelroPadding)
            || [elf::SHT_INIT_ARRAY, elf::SHT_FINI_ARRAY, elf::SHT_PREINIT_ARRAY].contains(&output.kind)
            || NAMES.contains(&output.name.as_str()))
}

/// The rank of a section; those with equal ranks keep their order.
fn rank(output: &Output) -> u32 {
    const NOT_LOADED: u32 = 1 << 26;
    const WRITE: u32 = 1 << 14;
    const EXECUTE_AND_WRITE: u32 = 1 << 13;
    const EXECUTE: u32 = 1 << 12;
    const READ_ONLY_DATA: u32 = 1 << 11;
    const NOT_RELRO: u32 = 1 << 9;
    const NO_BITS: u32 = 1 << 7;
    if !output.is_loaded() {
        return NOT_LOADED;
    }
    let writes = output.flags.has(SectionFlags::WRITE);
    let mut rank = match (output.flags.has(SectionFlags::EXECUTE), writes) {
        (true, true) => EXECUTE_AND_WRITE,
        (true, false) => EXECUTE,
        (false, true) if is_relro(output) => WRITE,
        (false, true) => WRITE | NOT_RELRO,
        // Separate tables that only loaders read from data that code reads.
        (false, false) if output.kind == elf::SHT_PROGBITS => READ_ONLY_DATA,
        (false, false) => 0,
    };
    if output.kind == elf::SHT_NOBITS {
        rank |= NO_BITS;
    }
    rank
}

/// Permissions of the segment that a section needs.
fn permissions(output: &Output) -> elf::ProgramFlags {
    let mut flags = elf::PF_R;
    if output.flags.has(SectionFlags::WRITE) {
        flags |= elf::PF_W;
    }
    if output.flags.has(SectionFlags::EXECUTE) {
        flags |= elf::PF_X;
    }
    flags
}

/// Orders the sections, and assigns addresses and offsets.
pub(super) fn lay_out(
    mut combined: Combined,
    scan: &Scan,
    dynamic: &DynamicSymbols,
    max_size: u64,
) -> Result<Layout, LinkError> {
    synthesise(&mut combined.outputs, scan, dynamic);
    let entries = super::emit::dynamic_entries(&combined.outputs, scan).len() as u64;
    for output in combined.outputs.iter_mut().filter(|output| output.role == Role::Dynamic) {
        output.size = entries * encoder().dyn_size();
    }
    let mut order: Vec<usize> = (0..combined.outputs.len()).collect();
    order.sort_by_key(|&index| rank(&combined.outputs[index]));
    let segments = segments(&combined.outputs, &order);
    let headers = encoder().file_header_size() + encoder().program_header_size() * segments.len() as u64;
    let end = addresses(&mut combined.outputs, &order, &segments, headers, max_size)?;
    let segments = program_headers(&combined.outputs, &segments, headers);
    let mut indices = vec![0; order.len()];
    for (at, &index) in order.iter().enumerate() {
        indices[index] = at as u32 + 1;
    }
    Ok(Layout { combined, order, indices, segments, end })
}

/// Groups sections into segments. The first loaded segment begins with the headers.
fn segments(outputs: &[Output], order: &[usize]) -> Vec<Segment> {
    let segment = |kind, flags| Segment { kind, flags, sections: Vec::new() };
    let loaded = || order.iter().copied().filter(|&index| outputs[index].is_loaded());
    // The first section that stays writable begins its own segment.
    let relro_end =
        loaded().skip_while(|&index| !is_relro(&outputs[index])).find(|&index| !is_relro(&outputs[index]));
    let mut out = vec![segment(elf::PT_PHDR, elf::PF_R)];
    let mut load = segment(elf::PT_LOAD, elf::PF_R);
    for index in loaded() {
        let flags = permissions(&outputs[index]);
        let after_zeros = load.sections.last().is_some_and(|&last| outputs[last].kind == elf::SHT_NOBITS);
        let needs_own = after_zeros && outputs[index].kind != elf::SHT_NOBITS;
        if flags != load.flags || Some(index) == relro_end || needs_own {
            out.push(std::mem::replace(&mut load, segment(elf::PT_LOAD, flags)));
        }
        load.sections.push(index);
    }
    out.push(load);
    let own = |kind, flags, wanted: &dyn Fn(&Output) -> bool| Segment {
        sections: loaded().filter(|&index| wanted(&outputs[index])).collect(),
        ..segment(kind, flags)
    };
    out.push(own(elf::PT_DYNAMIC, elf::PF_R | elf::PF_W, &|output| output.role == Role::Dynamic));
    out.push(own(elf::PT_GNU_RELRO, elf::PF_R, &is_relro));
    out.push(segment(elf::PT_GNU_STACK, elf::PF_R | elf::PF_W));
    let mut note: Option<Segment> = None;
    for index in loaded() {
        let is_note = outputs[index].kind == elf::SHT_NOTE;
        let joins = |note: &Segment| {
            note.sections.last().is_some_and(|&last| outputs[last].align == outputs[index].align)
        };
        if !is_note || !note.as_ref().is_some_and(joins) {
            out.extend(note.take());
        }
        if is_note {
            note.get_or_insert_with(|| segment(elf::PT_NOTE, elf::PF_R)).sections.push(index);
        }
    }
    out.extend(note);
    out
}

fn too_large(name: &str) -> LinkError {
    WriteError::TooLarge { what: format!("the code object, at section {name}") }.into()
}

fn over_limit(name: &str, limit: u64) -> LinkError {
    WriteError::TooLarge { what: format!("the code object, which exceeds {limit} bytes at section {name}") }
        .into()
}

/// Assigns every section its address and offset; returns the offset after the last one.
fn addresses(
    outputs: &mut [Output],
    order: &[usize],
    segments: &[Segment],
    headers: u64,
    max_size: u64,
) -> Result<u64, LinkError> {
    let mut address = headers;
    let mut offset = headers;
    // The first segment starts with the headers, each of the others with a section.
    let loads: Vec<_> = segments.iter().filter(|segment| segment.kind == elf::PT_LOAD).collect();
    for (number, load) in loads.iter().enumerate() {
        let align = load.sections.iter().map(|&index| outputs[index].align).fold(PAGE, u64::max);
        let mut start = (0, 0);
        for (at, &index) in load.sections.iter().enumerate() {
            let output = &mut outputs[index];
            let failed = || too_large(&output.name);
            let first = number != 0 && at == 0;
            if first {
                // It is on its own page in memory, at the same offset in it as in the file, so that
                // the file has no holes.
                let page = address.checked_next_multiple_of(PAGE).ok_or_else(failed)?;
                address = page.checked_add(address % PAGE).ok_or_else(failed)?;
            }
            address = address.checked_next_multiple_of(output.align).ok_or_else(failed)?;
            output.address = address;
            if first {
                offset = offset.checked_add(address.wrapping_sub(offset) % align).ok_or_else(failed)?;
                start = (offset, address);
            } else if output.kind != elf::SHT_NOBITS {
                offset = (address - start.1).checked_add(start.0).ok_or_else(failed)?;
            }
            output.offset = offset;
            address = address.checked_add(output.size).ok_or_else(failed)?;
            if output.kind != elf::SHT_NOBITS {
                offset = offset.checked_add(output.size).ok_or_else(failed)?;
            }
            if output.role == Role::RelroPadding {
                // It fills the page up without using addresses of the next section.
                output.size = address.checked_next_multiple_of(PAGE).ok_or_else(failed)? - address;
            }
            if offset > max_size {
                return Err(over_limit(&output.name, max_size));
            }
        }
    }
    for &index in order {
        let output = &mut outputs[index];
        if !output.is_loaded() {
            let failed = || too_large(&output.name);
            output.offset = offset.checked_next_multiple_of(output.align).ok_or_else(failed)?;
            offset = output.offset.checked_add(output.size).ok_or_else(failed)?;
            if offset > max_size {
                return Err(over_limit(&output.name, max_size));
            }
        }
    }
    Ok(offset)
}

fn program_headers(outputs: &[Output], segments: &[Segment], headers: u64) -> Vec<ProgramHeader> {
    let header = |with_headers: bool, segment: &Segment| {
        let mut header = ProgramHeader {
            p_type: segment.kind,
            p_flags: segment.flags,
            p_offset: 0,
            p_vaddr: 0,
            p_paddr: 0,
            p_filesz: 0,
            p_memsz: 0,
            p_align: segment.sections.iter().map(|&index| outputs[index].align).max().unwrap_or(0),
        };
        if let (Some(&first), Some(&last)) = (segment.sections.first(), segment.sections.last()) {
            let (first, last) = (&outputs[first], &outputs[last]);
            header.p_offset = first.offset;
            header.p_vaddr = first.address;
            let size = if last.kind == elf::SHT_NOBITS { 0 } else { last.size };
            header.p_filesz = last.offset + size - first.offset;
            header.p_memsz = last.address + last.size - first.address;
        }
        match segment.kind {
            elf::PT_PHDR => {
                header.p_offset = encoder().file_header_size();
                header.p_vaddr = header.p_offset;
                header.p_filesz = headers - header.p_offset;
                header.p_memsz = header.p_filesz;
                header.p_align = encoder().address_size();
            }
            elf::PT_LOAD => {
                header.p_align = header.p_align.max(PAGE);
                if with_headers {
                    let ends = (header.p_offset + header.p_filesz, header.p_vaddr + header.p_memsz);
                    (header.p_offset, header.p_vaddr) = (0, 0);
                    (header.p_filesz, header.p_memsz) = (ends.0.max(headers), ends.1.max(headers));
                }
            }
            elf::PT_GNU_RELRO => header.p_align = 1,
            _ => {}
        }
        header.p_paddr = header.p_vaddr;
        header
    };
    let first = segments.iter().position(|segment| segment.kind == elf::PT_LOAD);
    let headers = segments.iter().enumerate().map(|(at, segment)| header(Some(at) == first, segment));
    // The space for the header of an empty segment remains.
    headers.filter(|header| header.p_type != elf::PT_LOAD || header.p_memsz != 0).collect()
}
