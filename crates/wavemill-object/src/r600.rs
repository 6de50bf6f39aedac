//! Object files of the R600 family, as LLVM's `r600` backend writes them for Cayman: 32-bit
//! relocatable ELF files whose code needs no linker.
//!
//! Each function of `.text` is a program, whose addresses count from its start. `.AMDGPU.config` has
//! pairs of a register and its value for each of them, without names, in the order of `.text`.
//! `constant` tables stand in `.text` too; literals of the code hold their offsets, and have
//! relocations.

use std::ops::Range;

use object::elf::{self, FileHeader32};
use object::read::elf::{FileHeader as _, Rel as _, SectionHeader as _, Sym as _};
use object::write::elf::{Encoder, FileHeader, FileHeaderLayout, Rel, SectionHeader, Sym};

use crate::elf::{LE, name};
use crate::error::{Error, Result};
use crate::target::Processor;

type Header = FileHeader32<object::LittleEndian>;

/// A dword holds the low 32 bits of an address (AMDGPUUsage, "Relocation Records").
const R_AMDGPU_ABS32: elf::RelocationType = elf::RelocationType(6);
/// The name of the section with the registers of functions.
const CONFIG: &str = ".AMDGPU.config";
/// Registers that begin the pairs of a function: SQ_PGM_RESOURCES of each stage, as LLVM's
/// R600AsmPrinter has them (it makes no hull shaders; theirs is that of Mesa's driver). Bits 7:0 are the registers, 15:8 the entries of the stack.
const RESOURCES: [(u32, R600Stage); 5] = [
    (0x28844, R600Stage::Pixel),
    (0x28860, R600Stage::Vertex),
    (0x28878, R600Stage::Geometry),
    (0x288bc, R600Stage::Hull),
    (0x288d4, R600Stage::Compute),
];
/// DB_SHADER_CONTROL: whether a pixel shader kills.
const SHADER_CONTROL: u32 = 0x2880c;
/// SQ_LDS_ALLOC: dwords of local memory.
const LDS_ALLOC: u32 = 0x288e8;
/// What LLVM puts between functions.
const FILLER: [u8; 4] = [0, 0, 0x80, 0xbf];
/// Bytes of which the address of a function is a multiple.
const ALIGNMENT: usize = 256;
/// Bytes of which the address of a table is a multiple at least.
const TABLE_ALIGNMENT: usize = 4;

/// The stage of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum R600Stage {
    /// A pixel shader.
    Pixel,
    /// A vertex shader.
    Vertex,
    /// A geometry shader.
    Geometry,
    /// A hull shader.
    Hull,
    /// A compute kernel.
    #[default]
    Compute,
}

/// What the hardware must know of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct R600Config {
    /// The stage.
    pub stage: R600Stage,
    /// Registers of each thread.
    pub gprs: u32,
    /// Entries of the stack.
    pub stack: u32,
    /// Bytes of local memory; a multiple of 4.
    pub lds: u32,
    /// Whether a pixel shader kills pixels (DB_SHADER_CONTROL).
    pub kills: bool,
}

/// A program or a table of an object file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct R600Part {
    /// Its name. Constants that LLVM gives no symbol are called `unnamed_` with their offset in
    /// hexadecimal.
    pub name: String,
    /// Its offsets in the code.
    pub range: Range<usize>,
    /// The bytes of which its offset is a multiple, a power of two: the least one that explains the
    /// gap before it.
    pub alignment: usize,
    /// What the hardware must know of a program; `None` for a table.
    pub config: Option<R600Config>,
}

/// An object file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct R600Object<'a> {
    /// The processor.
    pub processor: Processor,
    /// The code: `.text`.
    pub text: &'a [u8],
    /// Programs and tables, in the order of the code.
    pub parts: Vec<R600Part>,
    /// Offsets in the code of dwords that hold an offset in the code (`R_AMDGPU_ABS32`), in ascending
    /// order.
    pub relocations: Vec<usize>,
}

/// Whether a file is a 32-bit ELF file for AMD GPUs.
pub fn is_r600(data: &[u8]) -> bool {
    data.starts_with(b"\x7fELF\x01\x01") && data.get(18..20) == Some(&[0xe0, 0])
}

fn malformed(what: &'static str) -> impl FnOnce(object::read::Error) -> Error {
    move |error| Error::Malformed { what, offset: 0, detail: error.to_string() }
}

impl<'a> R600Object<'a> {
    /// Reads an object file.
    ///
    /// # Errors
    /// [`Error`] if the file is something else, or damaged.
    pub fn parse(data: &'a [u8]) -> Result<R600Object<'a>> {
        if !is_r600(data) {
            return Err(Error::Foreign {
                expected: "an object file of the R600 family (32-bit ELF)",
                found: "something else".to_owned(),
                advice: "",
            });
        }
        let header = Header::parse(data).map_err(malformed("ELF header"))?;
        let processor = Processor::from_mach(header.e_flags(LE).0 as u8);
        let sections = header.sections(LE, data).map_err(malformed("section headers"))?;
        let (text_index, text_section) = sections.section_by_name(LE, b".text").ok_or(Error::Malformed {
            what: "object file",
            offset: 0,
            detail: "it has no section .text".to_owned(),
        })?;
        let text = text_section.data(LE, data).map_err(malformed("section .text"))?;
        let symbols = sections.symbols(LE, data, elf::SHT_SYMTAB).map_err(malformed("symbol table"))?;
        let mut parts = Vec::new();
        for (index, symbol) in symbols.enumerate() {
            let is_here = symbols.symbol_section(LE, symbol, index).ok().flatten() == Some(text_index);
            let is_function = symbol.st_type() == elf::STT_FUNC;
            if !is_here || !(is_function || symbol.st_type() == elf::STT_OBJECT) {
                continue;
            }
            let start = symbol.st_value(LE) as usize;
            let size = symbol.st_size(LE) as usize;
            let range = start..start.saturating_add(size);
            if text.get(range.clone()).is_none() {
                return Err(Error::Malformed {
                    what: "symbol table",
                    offset: 0,
                    detail: format!("expected a symbol in .text ({} bytes), found {range:?}", text.len()),
                });
            }
            let bytes = symbols.symbol_name(LE, symbol).map_err(malformed("symbol name"))?;
            let config = is_function.then(R600Config::default);
            let name = name(bytes, "symbol name")?.into_owned();
            parts.push(R600Part { name, range, alignment: 0, config });
        }
        parts.sort_by_key(|part| (part.range.start, part.range.end));
        let mut parts = with_unnamed(parts, text);
        let mut end = 0;
        for part in &mut parts {
            part.alignment = alignment(end, part);
            end = part.range.end;
        }
        let configs = match sections.section_by_name(LE, CONFIG.as_bytes()) {
            Some((_, section)) => {
                configs(section.data(LE, data).map_err(malformed("section .AMDGPU.config"))?)
            }
            None => Vec::new(),
        };
        let functions = parts.iter_mut().filter_map(|part| part.config.as_mut());
        for (config, found) in functions.zip(configs) {
            *config = found;
        }
        let mut relocations = Vec::new();
        for section in sections.iter() {
            let of_text = section.sh_info(LE) as usize == text_index.0;
            if let Some((list, _)) =
                section.rel(LE, data).map_err(malformed("relocations"))?.filter(|_| of_text)
            {
                let known = list.iter().filter(|rel| rel.r_type(LE) == R_AMDGPU_ABS32);
                relocations.extend(known.map(|rel| rel.r_offset(LE) as usize));
            }
        }
        relocations.sort_unstable();
        Ok(R600Object { processor, text, parts, relocations })
    }
}

/// Adds the runs of bytes between and behind the parts that are not filler.
fn with_unnamed(named: Vec<R600Part>, text: &[u8]) -> Vec<R600Part> {
    let unnamed = |gap: Range<usize>| -> Option<R600Part> {
        let (words, rest) = text.get(gap.clone())?.as_chunks::<4>();
        let first = words.iter().position(|word| *word != FILLER).unwrap_or(words.len());
        let last = words.iter().rposition(|word| *word != FILLER).map_or(first, |last| last + 1);
        // Filler before an incomplete word belongs to what stands there.
        let end = if rest.is_empty() { gap.start + 4 * last } else { gap.end };
        let range = gap.start + 4 * first..end;
        let name = format!("unnamed_{:x}", range.start);
        (!range.is_empty()).then_some(R600Part { name, range, alignment: 0, config: None })
    };
    let mut parts = Vec::with_capacity(named.len());
    let mut end = 0;
    for part in named {
        parts.extend(unnamed(end..part.range.start));
        end = end.max(part.range.end);
        parts.push(part);
    }
    parts.extend(unnamed(end..text.len()));
    parts
}

/// The alignment of a part that follows on others, which end at `end`.
fn alignment(end: usize, part: &R600Part) -> usize {
    let least = if part.config.is_some() { ALIGNMENT } else { TABLE_ALIGNMENT };
    let mut alignments = (0..24).map(|bit| least << bit);
    alignments.find(|alignment| end.next_multiple_of(*alignment) == part.range.start).unwrap_or(least)
}

/// The pairs of all functions.
fn configs(bytes: &[u8]) -> Vec<R600Config> {
    let mut all: Vec<R600Config> = Vec::new();
    let (pairs, _) = bytes.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in pairs {
        let (register, value) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if let Some((_, stage)) = RESOURCES.iter().find(|(known, _)| *known == register) {
            let (gprs, stack) = (value & 0xff, value >> 8 & 0xff);
            all.push(R600Config { stage: *stage, gprs, stack, ..R600Config::default() });
        } else if let Some(config) = all.last_mut() {
            match register {
                SHADER_CONTROL => config.kills = value != 0,
                LDS_ALLOC => config.lds = value.saturating_mul(4),
                _ => {}
            }
        }
    }
    all
}

/// A program or a table to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct R600Program {
    /// Its name.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The bytes of which its offset in the file's code is a multiple: a power of two. Programs are
    /// aligned to 256 bytes, and tables to 4, at least.
    pub alignment: usize,
    /// What the hardware must know of a program; `None` for a table.
    pub config: Option<R600Config>,
    /// Offsets of dwords that hold an offset in the code of the file.
    pub relocations: Vec<usize>,
}

/// Writes programs for Cayman to an object file, in the layout of LLVM's.
///
/// # Errors
/// [`Error::TooLarge`] if a size does not fit a file of 32 bits.
pub fn write_r600(programs: &[R600Program]) -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let mut ranges = Vec::new();
    for program in programs {
        let least = if program.config.is_some() { ALIGNMENT } else { TABLE_ALIGNMENT };
        let alignment = least.max(program.alignment);
        while !text.len().is_multiple_of(4) {
            text.push(0);
        }
        while !text.len().is_multiple_of(alignment) {
            text.extend_from_slice(&FILLER);
        }
        ranges.push(text.len()..text.len() + program.bytes.len());
        text.extend_from_slice(&program.bytes);
    }
    if u32::try_from(text.len()).is_err() {
        return Err(Error::TooLarge { what: "code", size: text.len() as u64, limit: u64::from(u32::MAX) });
    }
    let config: Vec<u8> = programs.iter().filter_map(|program| program.config).flat_map(pairs).collect();
    let mut strings = vec![0];
    let mut string = |text: &str| {
        let at = strings.len() as u32;
        strings.extend_from_slice(text.as_bytes());
        strings.push(0);
        at
    };
    let encoder = Encoder::new(object::LittleEndian, false, elf::EM_AMDGPU);
    let mut symbols = Vec::new();
    encoder.null_symbol(&mut symbols);
    // Tables are local, and local symbols come first. The section is the first of them.
    let section_symbol = Sym {
        section: Some(TEXT),
        st_name: 0,
        st_info: elf::SymbolInfo::new(elf::STB_LOCAL, elf::STT_SECTION),
        st_other: elf::SymbolOther(0),
        st_shndx: elf::SymbolSection(0),
        st_value: 0,
        st_size: 0,
    };
    let _ = encoder.symbol(&mut symbols, &section_symbol);
    let mut locals = 2;
    for is_program in [false, true] {
        for (program, range) in programs.iter().zip(&ranges) {
            if program.config.is_some() != is_program {
                continue;
            }
            let (binding, kind) = match is_program {
                true => (elf::STB_GLOBAL, elf::STT_FUNC),
                false => (elf::STB_LOCAL, elf::STT_OBJECT),
            };
            locals += u32::from(!is_program);
            let symbol = Sym {
                st_name: string(&program.name),
                st_info: elf::SymbolInfo::new(binding, kind),
                st_value: range.start as u64,
                st_size: range.len() as u64,
                ..section_symbol.clone()
            };
            let _ = encoder.symbol(&mut symbols, &symbol);
        }
    }
    let mut relocations = Vec::new();
    for (program, range) in programs.iter().zip(&ranges) {
        for offset in &program.relocations {
            let rel = Rel {
                r_offset: (range.start + offset) as u64,
                r_sym: 1,
                r_type: R_AMDGPU_ABS32,
                r_addend: 0,
            };
            encoder.relocation(&mut relocations, false, &rel);
        }
    }
    let names = [".strtab", ".text", ".rel.text", CONFIG, ".symtab"].map(&mut string);
    let base = |kind, flags, align| SectionHeader {
        sh_type: kind,
        sh_flags: elf::SectionFlags(flags),
        sh_addralign: align,
        ..SectionHeader::default()
    };
    let code = (elf::SHF_ALLOC | elf::SHF_EXECINSTR).0;
    let headers = [
        base(elf::SHT_STRTAB, 0, 1),
        base(elf::SHT_PROGBITS, code, ALIGNMENT as u64),
        SectionHeader {
            sh_link: SYMTAB,
            sh_info: TEXT,
            sh_entsize: 8,
            ..base(elf::SHT_REL, elf::SHF_INFO_LINK.0, 4)
        },
        base(elf::SHT_PROGBITS, 0, 1),
        SectionHeader { sh_link: 1, sh_info: locals, sh_entsize: 16, ..base(elf::SHT_SYMTAB, 0, 4) },
    ];
    let contents = [&strings, &text, &relocations, &config, &symbols];
    let mut file = vec![0; encoder.file_header_size() as usize];
    let mut placed = Vec::new();
    for ((header, content), name) in headers.into_iter().zip(contents).zip(names) {
        file.resize(file.len().next_multiple_of(header.sh_addralign as usize), 0);
        let (offset, size) = (file.len() as u64, content.len() as u64);
        placed.push(SectionHeader { sh_name: name, sh_offset: offset, sh_size: size, ..header });
        file.extend_from_slice(content);
    }
    file.resize(file.len().next_multiple_of(4), 0);
    let layout = FileHeaderLayout {
        e_shoff: file.len() as u64,
        section_num: 1 + placed.len() as u32,
        shstrtab_index: 1,
        ..FileHeaderLayout::default()
    };
    encoder.null_section_header(&mut file, &layout);
    for header in &placed {
        encoder.section_header(&mut file, header);
    }
    let too_large =
        |_| Error::TooLarge { what: "object file", size: file.len() as u64, limit: u64::from(u32::MAX) };
    let mut start = Vec::new();
    let header = FileHeader {
        os_abi: elf::OsAbi(0),
        abi_version: 0,
        e_type: elf::ET_REL,
        e_machine: elf::EM_AMDGPU,
        e_entry: 0,
        e_flags: elf::FileFlags(CAYMAN),
    };
    encoder.file_header(&mut start, &header, &layout).map_err(too_large)?;
    for (to, from) in file.iter_mut().zip(start) {
        *to = from;
    }
    Ok(file)
}

/// The number of Cayman in the flags of a file.
const CAYMAN: u32 = 0xf;
/// The number of the section with code.
const TEXT: u32 = 2;
/// The number of the section with symbols.
const SYMTAB: u32 = 5;

/// The pairs of a program.
fn pairs(config: R600Config) -> Vec<u8> {
    let resources = RESOURCES.iter().find(|(_, stage)| *stage == config.stage);
    let register = resources.map_or(0, |(register, _)| *register);
    let mut pairs = vec![
        (register, config.gprs & 0xff | (config.stack & 0xff) << 8),
        (SHADER_CONTROL, u32::from(config.kills) << 6),
    ];
    // LLVM writes the row for kernels only; theirs is there without LDS too.
    if config.stage == R600Stage::Compute || config.lds > 0 {
        pairs.push((LDS_ALLOC, config.lds.div_ceil(4)));
    }
    pairs
        .into_iter()
        .flat_map(|(register, value)| [register.to_le_bytes(), value.to_le_bytes()].concat())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let config = R600Config { gprs: 5, stack: 2, lds: 256, ..R600Config::default() };
        let code = |name: &str, size: u8, stage| R600Program {
            name: name.to_owned(),
            bytes: (0..size).collect(),
            alignment: 1,
            config: Some(R600Config { stage, ..config }),
            relocations: Vec::new(),
        };
        let table = R600Program {
            name: "t".to_owned(),
            bytes: vec![9; 16],
            alignment: 32,
            config: None,
            relocations: Vec::new(),
        };
        let first = R600Program { relocations: vec![4], ..code("k", 24, R600Stage::Compute) };
        let pixel = R600Config { lds: 0, stage: R600Stage::Pixel, ..config };
        let geometry = R600Config { stage: R600Stage::Geometry, ..config };
        let hull = R600Config { stage: R600Stage::Hull, ..geometry };
        let second = R600Program { config: Some(pixel), ..code("p", 16, R600Stage::Pixel) };
        let third = R600Program { config: Some(geometry), ..code("g", 8, R600Stage::Geometry) };
        let fourth = R600Program { config: Some(hull), ..code("h", 8, R600Stage::Hull) };
        let file =
            write_r600(&[first.clone(), second.clone(), table.clone(), third, fourth]).expect("it fits");
        assert!(is_r600(&file));
        let object = R600Object::parse(&file).expect("it is an object");
        assert_eq!(object.processor.name(), "cayman");
        assert_eq!(object.relocations, [4]);
        assert_eq!(object.text[24..28], FILLER);
        let read: Vec<_> =
            object.parts.iter().map(|part| (part.name.as_str(), part.range.clone(), part.config)).collect();
        let expected = [
            ("k", 0..24, first.config),
            ("p", 256..272, second.config),
            ("t", 288..304, None),
            ("g", 512..520, Some(geometry)),
            ("h", 768..776, Some(hull)),
        ];
        assert_eq!(read, expected);
        let alignments: Vec<usize> = object.parts.iter().map(|part| part.alignment).collect();
        assert_eq!(alignments, [256, 256, 32, 256, 256]);
        assert_eq!(object.text[256..272], second.bytes);
    }

    #[test]
    fn what_has_no_symbol_is_a_part() {
        let part = |range, config| R600Part { name: String::new(), range, alignment: 0, config };
        let program = Some(R600Config::default());
        let mut text = vec![1; 8];
        text.extend(FILLER.repeat(2));
        text.extend([7; 16]);
        text.extend(FILLER.repeat(56));
        text.extend([1, 1, 1, 1, 0, 0, 0, 0, 9]);
        let parts = with_unnamed(vec![part(0..8, program), part(256..260, program)], &text);
        let found: Vec<_> = parts.iter().map(|part| (part.name.as_str(), part.range.clone())).collect();
        assert_eq!(found, [("", 0..8), ("unnamed_10", 16..32), ("", 256..260), ("unnamed_104", 260..265)]);
        assert_eq!(alignment(8, &parts[1]), 16);
        assert_eq!(alignment(260, &parts[3]), 4);
        // No alignment explains the gap.
        assert_eq!(alignment(8, &part(28..32, None)), 4);
    }

    #[test]
    fn damaged_files_are_refused() {
        let code = R600Program {
            name: "k".to_owned(),
            bytes: vec![0; 64],
            alignment: 1,
            config: Some(R600Config::default()),
            relocations: vec![8],
        };
        let file = write_r600(&[code]).expect("it fits");
        // No change makes the reader panic.
        for at in 0..file.len() {
            for bit in [0x01, 0x80] {
                let mut changed = file.clone();
                changed[at] ^= bit;
                let _ = R600Object::parse(&changed);
            }
            let _ = R600Object::parse(&file[..at]);
        }
        assert!(R600Object::parse(b"\x7fELF\x02\x01").is_err());
    }
}
