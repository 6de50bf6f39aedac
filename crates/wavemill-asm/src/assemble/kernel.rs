//! What a source says of its target and of its kernels, by the directives of the ABI.

use wavemill_object::TargetId;

use super::symbols::Meaning;
use super::{Assembler, Place, quote};
use crate::abi::{self, KernelAbi};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::instruction_set::InstructionSet;
use crate::syntax::{Cursor, Expression, closest, expression, source_text};

/// A kernel descriptor, whose values may depend on symbols that come later.
#[derive(Debug)]
pub(super) struct Kernel {
    /// What describes it.
    pub(super) abi: &'static dyn KernelAbi,
    pub(super) name: String,
    pub(super) place: Place,
    /// The section that it goes into.
    pub(super) section: usize,
    pub(super) offset: u64,
    pub(super) settings: Vec<(String, Expression, Place)>,
    /// The directives that the source has tried to write.
    pub(super) tried: Vec<&'static str>,
    /// Whether the first line of the block is wrong, which has been told: nothing is made of the others.
    wrong: bool,
    /// Whether a line of the block is none of its directives, which has been told.
    pub(super) strayed: bool,
}

/// There are no rows for the processor.
pub(super) fn unknown_processor(id: &TargetId, span: Span) -> Fail {
    let names: Vec<&str> = InstructionSet::processors().collect();
    let message = format!("the tables have no instructions of {}", id.processor.name());
    Diagnostic::new(span, message).note(format!("they have those of {}", names.join(", ")))
}

/// A directive of an ABI, in a source for a processor that has none.
fn no_abi(set: InstructionSet, name: &str, span: Span) -> Fail {
    let message =
        format!("expected a directive that {set} has, found `{name}`, which describes kernels by an ABI");
    let names: Vec<&str> = InstructionSet::processors().collect();
    Diagnostic::new(span, message).note(format!(
        "no ABI describes kernels of {set}: leave the directive out, or assemble for one of {}",
        names.join(", ")
    ))
}

/// Metadata that is being read.
#[derive(Debug)]
pub(super) struct Metadata {
    abi: &'static dyn KernelAbi,
    /// The directive that begins it.
    pub(super) place: Place,
    lines: String,
}

impl Metadata {
    /// The directive that ends it.
    pub(super) fn end(&self) -> &'static str {
        self.abi.directives().end_metadata
    }
}

/// The note that metadata stands for.
#[derive(Debug)]
pub(super) struct MetadataNote {
    pub(super) abi: &'static dyn KernelAbi,
    pub(super) bytes: Vec<u8>,
}

/// The kernels of a source, and its metadata.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    pub(super) done: Vec<Kernel>,
    /// The one whose directives are being read.
    pub(super) open: Option<Kernel>,
    pub(super) metadata: Option<Metadata>,
    pub(super) metadata_note: Option<MetadataNote>,
    /// VGPRs and SGPRs that the symbols which count them have been raised to.
    pub(super) next_free: [u16; 2],
    /// Which of them the source has set: these are symbols of its own, too.
    pub(super) own_next_free: [bool; 2],
}

impl Assembler<'_> {
    /// Symbols that say what is assembled for (AMDGPUUsage, "Code Object V3 and Above Predefined Symbols").
    pub(super) fn set_processor_symbols(&mut self) {
        let Some(id) = &self.target.id else { return };
        let family = self.target.set.family();
        let counters = family.register_counters().map(|name| (name, 0));
        for (name, value) in family.processor_symbols(id).into_iter().chain(counters) {
            self.symbols.entry(name).meaning = Some(Meaning::Set(Box::new(Expression::Value(value))));
        }
    }

    /// Raises the symbols that tell how many registers the instructions since the beginning have named, or since the source
    /// has set them (AMDGPUUsage, ".amdgcn.next_free_vgpr").
    pub(super) fn count_registers(&mut self) {
        let ends = self.target.parser.register_ends();
        let names = self.target.set.family().register_counters();
        for ((name, end), known) in names.iter().zip(ends).zip(&mut self.kernels.next_free) {
            if end <= *known {
                continue;
            }
            *known = end;
            let meaning = self.symbols.get(name).and_then(|symbol| symbol.meaning.as_ref());
            if let Some(Meaning::Set(value)) = meaning
                && let Expression::Value(value) = **value
                && value < end.into()
            {
                let symbol = self.symbols.set_again(name);
                symbol.meaning = Some(Meaning::Set(Box::new(Expression::Value(end.into()))));
            }
        }
    }

    /// Directives about the source, its target and its kernels; false for others.
    pub(super) fn target_directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<bool, Fail> {
        match name {
            // What compilers say of themselves, and of sources for debuggers.
            ".ident" => {
                let mut text = self.text(cursor)?;
                self.end(cursor)?;
                text.push(0);
                if !std::mem::replace(&mut self.identified, true) {
                    // A string of nothing comes first.
                    text.insert(0, 0);
                }
                let before = self.sections.current;
                self.sections.current = self.sections.string_section(".comment");
                let result = self.sections.append(&text);
                self.sections.current = before;
                result.map_err(|message| Diagnostic::new(start..cursor.end(), message))?;
            }
            ".file" => self.file(cursor)?,
            ".loc" => self.location(cursor)?,
            _ => {
                return match self.target.set.abi() {
                    Some(abi) => self.abi_directive(abi, name, start, cursor),
                    None if abi::is_directive(name) => {
                        Err(no_abi(self.target.set, name, start..start + name.len()))
                    }
                    None => Ok(false),
                };
            }
        }
        Ok(true)
    }

    /// Directives by which an ABI describes the target and its kernels; false for others.
    fn abi_directive(
        &mut self,
        abi: &'static dyn KernelAbi,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<bool, Fail> {
        let known = abi.directives();
        match name {
            _ if name == known.target => self.name_target(abi, cursor)?,
            _ if name == known.version => {
                let at = cursor.at();
                let number = self.absolute(cursor)?;
                self.end(cursor)?;
                self.version = abi.version(number).ok_or_else(|| {
                    let numbers = abi.version_numbers();
                    let message =
                        format!("expected version {numbers} of the code object format, found {number}");
                    Diagnostic::new(at..cursor.end(), message)
                })?;
            }
            _ if name == known.kernel => {
                let name = self.symbol_name(cursor);
                let place = self.place(cursor.text(), start..cursor.end());
                let name = name.and_then(|name| self.end(cursor).map(|()| name));
                // The lines behind a wrong one are those of a kernel all the same.
                self.kernels.open = Some(Kernel {
                    abi,
                    name: name.as_deref().unwrap_or_default().to_owned(),
                    place,
                    section: self.sections.current,
                    offset: 0,
                    settings: Vec::new(),
                    tried: Vec::new(),
                    wrong: name.is_err() || self.target.id.is_none(),
                    strayed: false,
                });
                name?;
                if self.target.id.is_none() {
                    return self.without_target(start..cursor.end()).map(|()| true);
                }
            }
            _ if name == known.end_kernel => {
                let message = format!("there is no `{}` that this would end", known.kernel);
                return Err(Diagnostic::new(start..start + name.len(), message));
            }
            _ if name == known.metadata => {
                self.end(cursor)?;
                if self.kernels.metadata_note.is_some() {
                    return Err(Diagnostic::new(
                        start..start + name.len(),
                        "this is the second metadata of the file",
                    ));
                }
                let place = self.place("", 0..0);
                self.kernels.metadata = Some(Metadata { abi, place, lines: String::new() });
            }
            _ if name == known.end_metadata => {
                let message = format!("there is no `{}` that this would end", known.metadata);
                return Err(Diagnostic::new(start..start + name.len(), message));
            }
            _ if abi.setting(name).is_some() => {
                let (first, last) = (known.kernel, known.end_kernel);
                let message = format!("`{name}` stands between `{first} NAME` and `{last}`");
                return Err(Diagnostic::new(start..start + name.len(), message));
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn name_target(&mut self, abi: &dyn KernelAbi, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let text = String::from_utf8_lossy(&self.text(cursor)?).into_owned();
        self.end(cursor)?;
        let span = start..cursor.end();
        let Some(id) = TargetId::parse(&text) else {
            let example = abi.example_target();
            let message = format!("`{text}` is no target; expected one such as `{example}`");
            return Err(Diagnostic::new(span, message));
        };
        let Some(set) = InstructionSet::of(&id) else {
            return Err(unknown_processor(&id, span));
        };
        if let Some(asked) = &self.options.target
            && asked.processor != id.processor
        {
            let message = format!("the source is for {id}, and {asked} was asked for");
            return Err(Diagnostic::new(span, message));
        }
        self.target.id = Some(id);
        self.symbols.set_instruction_set(set);
        self.target.set = set;
        self.target.parser = set.family().parser(set);
        self.set_processor_symbols();
        Ok(())
    }

    /// A line within the block of a kernel.
    pub(super) fn kernel_directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<(), Fail> {
        let span = start..start + name.len();
        let Some(abi) = self.kernels.open.as_ref().map(|kernel| kernel.abi) else { return Ok(()) };
        let known = abi.directives();
        if name == known.end_kernel {
            self.end(cursor)?;
            if let Some(mut kernel) = self.kernels.open.take().filter(|kernel| !kernel.wrong) {
                // The bytes are known when all symbols are.
                self.symbols.end_fragment(self.sections.current);
                let size = abi.descriptor_size();
                let padding = (size - self.sections.offset() % size) % size;
                self.sections.section().align = self.sections.section().align.max(size);
                self.sections
                    .emit_fill(padding, 0)
                    .and_then(|()| {
                        kernel.offset = self.sections.offset();
                        self.sections.emit_fill(size, 0)
                    })
                    .map_err(|message| Diagnostic::new(span, message))?;
                self.kernels.done.push(kernel);
            }
            return Ok(());
        }
        if !name.starts_with(known.setting_prefix) || name == known.kernel {
            return self.stray(name, span);
        }
        if abi.setting(name).is_none() {
            let fail = Diagnostic::new(span, format!("there is no directive `{name}`"));
            return Err(match closest(name, &abi.settings()).first() {
                Some(&similar) => {
                    self.tries(similar);
                    fail.replace_with(similar)
                }
                None => fail,
            });
        }
        let at = cursor.at();
        let value = expression(cursor, &self.symbols);
        let end = cursor.end();
        let value = value.and_then(|value| self.end(cursor).map(|()| value));
        if value.is_err() {
            self.tries(name);
        }
        let mut value = value?;
        self.symbols.bind(&mut value);
        let place = self.place(cursor.text(), at..end);
        if let Some(kernel) = &mut self.kernels.open {
            kernel.settings.push((name.to_owned(), value, place));
        }
        Ok(())
    }

    /// The source has tried to write this directive of the kernel.
    fn tries(&mut self, name: &str) {
        if let Some(kernel) = &mut self.kernels.open {
            kernel.tried.extend(kernel.abi.setting(name));
        }
    }

    /// A line within the block of a kernel that is none of its directives. Perhaps the block has no end: the first such line is
    /// reported.
    pub(super) fn stray(&mut self, word: &str, span: Span) -> Result<(), Fail> {
        let Some(abi) = self.kernels.open.as_ref().map(|kernel| kernel.abi) else { return Ok(()) };
        if let Some(name) = abi.setting(&format!(".{word}")) {
            self.tries(name);
            let fail = Diagnostic::new(span.clone(), format!("expected `{name}`, found `{word}`"));
            return Err(fail.replace_with(name));
        }
        let Some(kernel) = &mut self.kernels.open else { return Ok(()) };
        if std::mem::replace(&mut kernel.strayed, true) {
            return Ok(());
        }
        let (first, last) = (abi.directives().kernel, abi.directives().end_kernel);
        let message = format!("expected a directive of `{first}`, or `{last}`, found `{word}`");
        Err(Diagnostic::new(span, message).note(
            "between these two stands what the kernel needs; code and data stand before or behind them",
        ))
    }

    /// Something needs a target, and none has been named, which is told once.
    pub(super) fn without_target(&mut self, span: Span) -> Result<(), Fail> {
        match std::mem::replace(&mut self.target.missing_reported, true) {
            false => Err(super::finish::no_target(span)),
            true => Ok(()),
        }
    }

    /// A line of metadata: YAML, which has comments of its own.
    pub(super) fn metadata_line(&mut self, text: &str) {
        self.tell_other(text, self.here());
        if let Some((at, byte)) = source_text::first(text) {
            let message = format!("expected metadata in UTF-8, found the byte {byte:#04x}");
            return self.report(text, *Diagnostic::new(at..at + 3, message));
        }
        let Some(mut metadata) = self.kernels.metadata.take() else { return };
        if text.trim() != metadata.end() {
            metadata.lines.push_str(text);
            metadata.lines.push('\n');
            self.kernels.metadata = Some(metadata);
            return;
        }
        let Metadata { abi, place: first, lines } = metadata;
        match abi.assemble_metadata(&lines) {
            Ok(bytes) => self.kernels.metadata_note = Some(MetadataNote { abi, bytes }),
            Err(error) => {
                let line = lines.lines().nth(error.line.saturating_sub(1)).unwrap_or_default().to_owned();
                // Columns count characters.
                let start =
                    line.char_indices().nth(error.column.saturating_sub(1)).map_or(line.len(), |(at, _)| at);
                let end = line.trim_end().len().max(start);
                let (text, cut, diagnostic) =
                    quote::around(&line, *Diagnostic::new(start..end, error.detail));
                let place = Place { line: first.line + error.line, text, cut, ..first };
                self.report_at(&place, diagnostic);
            }
        }
    }
}
