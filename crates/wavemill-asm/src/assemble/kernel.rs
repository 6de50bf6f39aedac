//! The directives of the ABI that describe the target and the kernels of a source.

use wavemill_object::TargetId;

use super::symbols::Meaning;
use super::{Assembler, Place, quote};
use crate::abi::{self, KernelAbi};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::instruction_set::InstructionSet;
use crate::syntax::{Cursor, Expression, closest, expression, source_text};

/// A kernel descriptor, whose values may depend on later symbols.
#[derive(Debug)]
pub(super) struct Kernel {
    /// The ABI that describes it.
    pub(super) abi: &'static dyn KernelAbi,
    pub(super) name: String,
    pub(super) place: Place,
    /// The section that holds it.
    pub(super) section: usize,
    pub(super) offset: u64,
    pub(super) settings: Vec<(String, Expression, Place)>,
    /// The directives that the source contains, valid or not.
    pub(super) tried: Vec<&'static str>,
    /// Whether the first line of the block is invalid, which has been reported. The other lines are
    /// then ignored.
    wrong: bool,
    /// Whether a line of the block is not one of its directives, which has been reported.
    pub(super) strayed: bool,
}

/// The error if there are no rows for the processor.
pub(super) fn unknown_processor(id: &TargetId, span: Span) -> Fail {
    let names: Vec<&str> = InstructionSet::processors().collect();
    let message = format!("Wavemill has no instruction table for {}", id.processor.name());
    Diagnostic::new(span, message).note(format!("it has tables for {}", names.join(", ")))
}

/// The error for a directive of an ABI in a source for a processor without an ABI.
fn no_abi(set: InstructionSet, name: &str, span: Span) -> Fail {
    let message = format!("`{name}` describes kernels of an ABI; {set} has no ABI");
    let names: Vec<&str> = InstructionSet::processors().collect();
    Diagnostic::new(span, message)
        .note(format!("omit the directive, or assemble for one of {}", names.join(", ")))
}

/// Metadata under construction.
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

/// The note made from metadata.
#[derive(Debug)]
pub(super) struct MetadataNote {
    pub(super) abi: &'static dyn KernelAbi,
    pub(super) bytes: Vec<u8>,
}

/// The kernels of a source, and its metadata.
#[derive(Debug, Default)]
pub(super) struct Kernels {
    pub(super) done: Vec<Kernel>,
    /// The kernel whose directives are being read.
    pub(super) open: Option<Kernel>,
    pub(super) metadata: Option<Metadata>,
    pub(super) metadata_note: Option<MetadataNote>,
    /// The VGPR and SGPR counts that the counter symbols were raised to.
    pub(super) next_free: [u16; 2],
    /// Which of the counters the source has set: these are also symbols of the source.
    pub(super) own_next_free: [bool; 2],
}

impl Assembler<'_> {
    /// Sets the symbols that describe the processor (AMDGPUUsage, "Code Object V3 and Above
    /// Predefined Symbols").
    pub(super) fn set_processor_symbols(&mut self) {
        let Some(id) = &self.target.id else { return };
        let family = self.target.set.family();
        let counters = family.register_counters().map(|name| (name, 0));
        for (name, value) in family.processor_symbols(id).into_iter().chain(counters) {
            self.symbols.entry(name).meaning = Some(Meaning::Set(Box::new(Expression::Value(value))));
        }
    }

    /// Raises the symbols that count the registers named by instructions, since the start or since
    /// the source set them (AMDGPUUsage, ".amdgcn.next_free_vgpr").
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

    /// Handles directives about the source, its target and its kernels; false for others.
    pub(super) fn target_directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
    ) -> Result<bool, Fail> {
        match name {
            // Compilers write these to identify themselves, or for debuggers.
            ".ident" => {
                let mut text = self.text(cursor)?;
                self.end(cursor)?;
                text.push(0);
                if !std::mem::replace(&mut self.identified, true) {
                    // An empty string comes first.
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

    /// Handles the ABI's directives for the target and its kernels; false for others.
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
                // The lines after an invalid one still belong to a kernel.
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
                let message = format!("there is no `{}` for this `{name}`", known.kernel);
                return Err(Diagnostic::new(start..start + name.len(), message));
            }
            _ if name == known.metadata => {
                self.end(cursor)?;
                if self.kernels.metadata_note.is_some() {
                    return Err(Diagnostic::new(start..start + name.len(), "the file already has metadata"));
                }
                let place = self.place("", 0..0);
                self.kernels.metadata = Some(Metadata { abi, place, lines: String::new() });
            }
            _ if name == known.end_metadata => {
                let message = format!("there is no `{}` for this `{name}`", known.metadata);
                return Err(Diagnostic::new(start..start + name.len(), message));
            }
            _ if abi.setting(name).is_some() => {
                let (first, last) = (known.kernel, known.end_kernel);
                let message = format!("`{name}` is only valid between `{first} NAME` and `{last}`");
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
            let message = format!("expected a target such as `{example}`, found `{text}`");
            return Err(Diagnostic::new(span, message));
        };
        let Some(set) = InstructionSet::of(&id) else {
            return Err(unknown_processor(&id, span));
        };
        if let Some(requested) = &self.options.target
            && requested.processor != id.processor
        {
            let message = format!("the source is for {id}, but {requested} was requested");
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
                // The bytes are known only when all symbols are.
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

    /// Records that the source contains this directive of the kernel.
    fn tries(&mut self, name: &str) {
        if let Some(kernel) = &mut self.kernels.open {
            kernel.tried.extend(kernel.abi.setting(name));
        }
    }

    /// Handles a line in the block of a kernel that is not one of its directives. The block may
    /// lack its end, so only the first such line is reported.
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
        Err(Diagnostic::new(span, message)
            .note("only kernel directives go between these two; code and data go before or after them"))
    }

    /// Reports, once, that something needs a target and none was named.
    pub(super) fn without_target(&mut self, span: Span) -> Result<(), Fail> {
        match std::mem::replace(&mut self.target.missing_reported, true) {
            false => Err(super::finish::no_target(span)),
            true => Ok(()),
        }
    }

    /// A line of metadata: YAML, which has comments of its own.
    pub(super) fn metadata_line(&mut self, text: &str) {
        self.observe_other(text, self.here());
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
