//! Writes sources from modules: the assembler in reverse.
//!
//! The source assembles to the same bytes again. Branches go to labels, and addresses in code and
//! data are expressed with symbols, so the source can be edited.

mod code;
mod data;
mod descriptor;
mod names;
mod pieces;
mod relative;
mod symbols;

use std::collections::HashSet;
use std::fmt::{self, Write};
use wavemill_object::printable::Printable;

use wavemill_object::write::{Contents, Module, Section, SectionFlags, SectionId, SectionType, SymbolId};
use wavemill_object::{TargetId, Unlinked};

use crate::abi::KernelAbi;
use crate::family::InstructionParser;
use crate::instruction_set::InstructionSet;
use descriptor::Descriptors;
use names::Names;
use pieces::Bounds;

/// How a source is written.
#[derive(Clone, Copy, Debug, Default)]
pub struct SourceOptions<'a> {
    /// The file name in the first line; omitted if empty.
    pub title: &'a str,
    /// Write the address and machine code after each line. Contents that directives cannot express
    /// get a remark in any case.
    pub addresses: bool,
    /// Write only this function or kernel, by its name in the symbol table or in the source.
    pub only: Option<&'a str>,
}

/// Why a source cannot be written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SourceError {
    /// There are no rows for the processor, or no ABI for its kernels.
    Target(TargetId),
    /// The text cannot be written.
    Write(fmt::Error),
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceError::Target(id) => {
                let names: Vec<&str> = InstructionSet::processors().collect();
                write!(f, "expected code for one of {}, found code for {id}; ", names.join(", "))?;
                f.write_str("use code for one of these, or read it with `llvm-objdump`")
            }
            SourceError::Write(_) => f.write_str("the text cannot be written"),
        }
    }
}

impl std::error::Error for SourceError {}

impl From<fmt::Error> for SourceError {
    fn from(error: fmt::Error) -> Self {
        SourceError::Write(error)
    }
}

/// Counts of the contents written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Functions and kernels.
    pub functions: u64,
    /// Instructions.
    pub instructions: u64,
    /// Words that should be instructions but are not, or that no text reproduces. They are written
    /// as data.
    pub words: u64,
    /// Relocations that no text expresses. They are omitted, with a remark each.
    pub lost_relocations: u64,
}

/// Writes the source of an unlinked file. Assembled, and linked again if the file was linked, the
/// source gives the same code, kernel descriptors, metadata and data.
///
/// For a linked file they have the same addresses if the linker behaves like `ld.lld`. References
/// between sections that code computes with `s_getpc_b64` use symbols, so they are right even with
/// another layout.
///
/// # Errors
/// [`SourceError`].
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use wavemill_asm::{Options, SourceOptions, assemble, write_source};
/// use wavemill_object::{unlink, write::link};
///
/// let file = std::fs::read("kernels.co")?;
/// let mut source = String::new();
/// write_source(&mut source, &unlink(&file)?, &SourceOptions::default())?;
/// let again = link(&assemble(&source, &Options::default()).map_err(|reports| format!("{reports:?}"))?)?;
/// # Ok(())
/// # }
/// ```
pub fn write_source(
    out: &mut dyn Write,
    unlinked: &Unlinked,
    options: &SourceOptions<'_>,
) -> Result<Written, SourceError> {
    let id = &unlinked.module.target;
    let set = InstructionSet::of(id);
    let (set, abi) =
        set.and_then(|set| Some((set, set.abi()?))).ok_or_else(|| SourceError::Target(id.clone()))?;
    let names = Names::new(unlinked);
    let bounds = Bounds::new(unlinked);
    let mut writer = Writer {
        out,
        options,
        unlinked,
        module: &unlinked.module,
        set,
        abi,
        descriptors: Descriptors::find(unlinked, abi, &names, &bounds),
        bounds,
        names,
        parser: set.family().parser(set),
        said: HashSet::new(),
        line: String::with_capacity(256),
        text: String::with_capacity(256),
        written: Written::default(),
    };
    writer.all()?;
    Ok(writer.written)
}

/// The column where comments begin.
const COMMENT_COLUMN: usize = 60;

struct Writer<'a> {
    out: &'a mut dyn Write,
    options: &'a SourceOptions<'a>,
    unlinked: &'a Unlinked,
    module: &'a Module,
    set: InstructionSet,
    abi: &'static dyn KernelAbi,
    descriptors: Descriptors,
    bounds: Bounds,
    names: Names,
    parser: Box<dyn InstructionParser>,
    /// Symbols whose binding and visibility have been written.
    said: HashSet<SymbolId>,
    /// The current line.
    line: String,
    /// The text of the current instruction.
    text: String,
    written: Written,
}

impl Writer<'_> {
    fn all(&mut self) -> fmt::Result {
        self.heading()?;
        if self.options.only.is_none() {
            self.placeless_symbols()?;
        }
        for index in 0..self.module.sections.len() {
            self.section(SectionId(index))?;
        }
        Ok(())
    }

    /// Writes a line of the source: a statement, indented.
    fn statement(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.line.clear();
        self.line.push('\t');
        self.line.write_fmt(text)?;
        self.line.push('\n');
        self.out.write_str(&self.line)
    }

    /// Writes a comment on its own line.
    fn remark(&mut self, text: fmt::Arguments<'_>) -> fmt::Result {
        self.line.clear();
        self.line.write_fmt(text)?;
        self.out.write_str("// ")?;
        // Names from files may contain any characters.
        write!(self.out, "{}", Printable(&self.line))?;
        self.out.write_char('\n')
    }

    /// The address of a byte of a section; its offset if the file is not linked.
    fn address(&self, section: SectionId, offset: u64) -> u64 {
        self.unlinked.addresses.get(section.0).copied().unwrap_or(0).wrapping_add(offset)
    }

    fn heading(&mut self) -> fmt::Result {
        let (id, version) = (&self.module.target, self.module.version);
        let kind = if self.unlinked.linked { "code object" } else { "relocatable file, code object" };
        if !self.options.title.is_empty() {
            self.remark(format_args!("{}: {id}, {kind} {version}", self.options.title))?;
        }
        for left_out in &self.unlinked.left_out {
            let (name, size) = (&left_out.name, left_out.size);
            self.remark(format_args!("omitted: section {name} ({size} bytes), which is not loaded"))?;
        }
        let abi = self.abi;
        let known = abi.directives();
        self.statement(format_args!("{} \"{}\"", known.target, abi.target_text(id)))?;
        let number = match abi.version_number(version) {
            Ok(number) => number,
            Err(least) => {
                self.remark(format_args!(
                    "This code object is {version}; assemblers write v{least} or later, so the assembled file has another version"
                ))?;
                least
            }
        };
        self.statement(format_args!("{} {number}", known.version))
    }

    /// The text of a section, if the section is the note that metadata directives make.
    fn metadata(&self, section: SectionId) -> Option<Result<String, &'static str>> {
        let section = self.module.sections.get(section.0)?;
        let Contents::Bytes(bytes) = &section.contents else { return None };
        if section.kind != SectionType::Note || !section.relocations.is_empty() {
            return None;
        }
        let size = bytes.get(4..8)?.first_chunk::<4>()?;
        let contents = bytes.get(20..)?.get(..u32::from_le_bytes(*size) as usize)?;
        let mut made = Module::new(self.module.target.clone(), self.module.version);
        let abi = self.abi;
        abi.add_metadata(&mut made, contents).ok()?;
        if made.sections.first().map(|made| (&made.contents, &made.name))
            != Some((&section.contents, &section.name))
        {
            return Some(Err("the section is not exactly one note with this name"));
        }
        Some(abi.disassemble_metadata(contents).ok_or("no text gives exactly these bytes"))
    }

    fn section(&mut self, id: SectionId) -> fmt::Result {
        let module = self.module;
        let Some(section) = module.sections.get(id.0) else { return Ok(()) };
        if self.options.only.is_some() {
            return self.wanted_parts(id);
        }
        match self.metadata(id) {
            Some(Ok(text)) => {
                let known = self.abi.directives();
                let (first, last) = (known.metadata, known.end_metadata);
                writeln!(self.out, "\n\t{first}\n{}\n\t{last}", text.trim_end())?;
                return Ok(());
            }
            Some(Err(reason)) => {
                self.out.write_char('\n')?;
                self.remark(format_args!("The metadata is written as data: {reason}"))?;
            }
            None => self.out.write_char('\n')?,
        }
        self.section_header(id)?;
        let align = section.align.max(1);
        if align > 1 {
            self.statement(format_args!(".p2align\t{}", align.trailing_zeros()))?;
        }
        self.contents(id)
    }

    /// How many sections of the same name and group precede this one.
    fn number_among_namesakes(&self, id: SectionId) -> usize {
        let Some(section) = self.module.sections.get(id.0) else { return 0 };
        let same = |other: &&Section| (&other.name, other.group) == (&section.name, section.group);
        self.module.sections.iter().take(id.0).filter(same).count()
    }

    fn section_header(&mut self, id: SectionId) -> fmt::Result {
        let Some(section) = self.module.sections.get(id.0) else { return Ok(()) };
        let zeros = matches!(section.contents, Contents::Zeros(_));
        let size = section.contents.size();
        if self.unlinked.linked {
            self.remark(format_args!(
                "{} at {:#x}, {size} bytes",
                section.name,
                self.unlinked.addresses.get(id.0).copied().unwrap_or(0)
            ))?;
        }
        let loaded = SectionFlags::ALLOC;
        let usual = match section.name.as_str() {
            ".text" => Some((loaded | SectionFlags::EXECUTE, false)),
            ".data" => Some((loaded | SectionFlags::WRITE, false)),
            ".bss" => Some((loaded | SectionFlags::WRITE, true)),
            _ => None,
        };
        if usual == Some((section.flags, zeros))
            && section.kind == SectionType::Program
            && section.group.is_none()
            && self.number_among_namesakes(id) == 0
        {
            return self.statement(format_args!("{}", section.name));
        }
        let mut flags = String::new();
        let mut rest = section.flags.0;
        for (letter, flag) in [
            ('a', SectionFlags::ALLOC.0),
            ('w', SectionFlags::WRITE.0),
            ('x', SectionFlags::EXECUTE.0),
            ('M', SectionFlags::MERGE.0),
            ('S', SectionFlags::STRINGS.0),
            ('e', SectionFlags::EXCLUDE.0),
            ('R', 0x20_0000),
        ] {
            if rest & flag != 0 {
                flags.push(letter);
                rest &= !flag;
            }
        }
        let group = section.group.and_then(|group| module_group(self.module, group.0));
        if group.is_some() {
            flags.push('G');
        }
        let kind = match section.kind {
            SectionType::Program if zeros => "@nobits".to_owned(),
            SectionType::Note => "@note".to_owned(),
            SectionType::InitArray => "@init_array".to_owned(),
            SectionType::FiniArray => "@fini_array".to_owned(),
            SectionType::PreinitArray => "@preinit_array".to_owned(),
            SectionType::Other(number) => format!("@{number:#x}"),
            _ => "@progbits".to_owned(),
        };
        let name = names::section(&section.name);
        let merged = section.flags.has(SectionFlags::MERGE);
        let entries = if merged { format!(",{}", section.entry_size) } else { String::new() };
        let comdat =
            section.group.and_then(|group| self.module.groups.get(group.0)).is_some_and(|group| group.comdat);
        let comdat = if comdat { ",comdat" } else { "" };
        let group = group.map_or(String::new(), |signature| format!(",{}{comdat}", self.names.of(signature)));
        let unique = match self.number_among_namesakes(id) {
            0 => String::new(),
            number => format!(",unique,{number}"),
        };
        self.statement(format_args!(".section\t{name},\"{flags}\",{kind}{entries}{group}{unique}"))?;
        if rest != 0 {
            self.remark(format_args!("flags without a letter: {rest:#x}"))?;
        }
        Ok(())
    }
}

/// The symbol that names a group.
fn module_group(module: &Module, group: usize) -> Option<SymbolId> {
    module.groups.get(group).map(|group| group.signature)
}

/// Whether another module may replace a symbol of a linked file, so that its distance is unknown.
fn is_preemptible(symbol: &wavemill_object::write::Symbol) -> bool {
    use wavemill_object::Binding;
    use wavemill_object::write::Visibility;
    symbol.binding != Binding::Local && symbol.visibility == Visibility::Default
}
