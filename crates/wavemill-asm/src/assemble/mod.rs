//! The assembler: sources become modules.
//!
//! A source is read once, line by line. Sections grow as they are read, so the place of every label is known at once; what
//! depends on symbols that come later is filled in at the end, by itself or by a relocation.

mod arguments;
mod conditional;
mod data;
mod directives;
mod event;
mod expand;
mod finish;
mod frame_sections;
mod frames;
mod functions;
mod kernel;
mod leb128;
mod line;
mod lines;
mod linking;
mod quote;
mod relaxation;
mod report;
mod section;
mod symbol;
mod symbols;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use wavemill_isa::Target;
use wavemill_object::write::Module;
use wavemill_object::{CodeObjectVersion, TargetId};

use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::gcn::parse::{FixupKind, Parser};
use crate::instruction_set::InstructionSet;
use crate::syntax::{Cursor, Expression, expression, source_text};
use conditional::Conditional;
pub use event::Event;
use expand::{Frame, Macro};
use frames::Frames;
use kernel::Kernel;
use lines::Lines;
use relaxation::Relaxation;
use report::Place;
pub use report::{IncludedFile, Inclusion, Report};
use section::SectionState;
use symbols::{Meaning, Table};

/// What a source is assembled for.
#[derive(Clone)]
pub struct Options<'a> {
    /// The processor and its features, unless the source says another with `.amdgcn_target`. `None`: the source must say.
    pub target: Option<TargetId>,
    /// The version of the code object format, unless the source says another.
    pub version: CodeObjectVersion,
    /// Finds a file that the source includes (`.include`, `.incbin`); the error says why there is none.
    pub include: &'a dyn Fn(&str) -> Result<IncludedFile, String>,
    /// Symbols that are set before the source is read.
    pub symbols: &'a [(&'a str, i64)],
    /// Mistakes after which no more of the source is read, which the last report says then; 1000 by default.
    pub most_mistakes: usize,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("target", &self.target)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options {
            target: None,
            version: CodeObjectVersion::V6,
            include: &|name| Err(format!("`{name}` cannot be included here: the source stands alone")),
            symbols: &[],
            most_mistakes: MOST_MISTAKES,
        }
    }
}

/// Assembles `source`: text, or bytes. Strings and comments may have bytes that are not UTF-8.
///
/// # Errors
/// Everything that is wrong with the source, in the order of its lines.
///
/// ```
/// use wavemill_asm::{Options, assemble};
/// use wavemill_object::write::write_relocatable;
///
/// let source = "
///     .amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"
///     .text
///     .globl nothing
/// nothing:
///     s_endpgm
/// ";
/// let module = assemble(source, &Options::default()).map_err(|reports| format!("{reports:?}"))?;
/// let file = write_relocatable(&module)?;
/// assert_eq!(file[..4], *b"\x7fELF");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn assemble<S: AsRef<[u8]> + ?Sized>(source: &S, options: &Options<'_>) -> Result<Module, Vec<Report>> {
    assemble_with(source, options, &mut |_| {}).finished()
}

/// What came of a source.
#[derive(Debug)]
pub struct Assembled {
    /// The module: without what is wrong in the source, if something is. `None` if no target was named.
    pub module: Option<Module>,
    /// Everything that is wrong, in the order of the lines.
    pub reports: Vec<Report>,
    /// What is accepted, and should be known all the same: what `.warning` and `.print` say, and what has been left out.
    pub warnings: Vec<Report>,
    /// The statements whose words only linking can fill in, by section and offset.
    references: Vec<linking::Reference>,
}

impl Assembled {
    /// The module of a source that is right.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn finished(self) -> Result<Module, Vec<Report>> {
        match self.module {
            Some(module) if self.reports.is_empty() => Ok(module),
            _ => Err(self.reports),
        }
    }
}

/// Assembles `source`, tells `observer` of every line on the way, and goes on after mistakes.
pub fn assemble_with<S: AsRef<[u8]> + ?Sized>(
    source: &S,
    options: &Options<'_>,
    observer: &mut dyn FnMut(Event<'_>),
) -> Assembled {
    let source = source_text::text(source.as_ref());
    let mut relaxation = Relaxation::default();
    loop {
        let mut assembler = Assembler::new(options, observer, relaxation);
        assembler.read(&source);
        match assembler.next_reading() {
            Some(next) => relaxation = next,
            None => return assembler.finish(),
        }
    }
}

/// A field that a symbol decides.
#[derive(Clone, Debug)]
struct Pending {
    section: usize,
    offset: u64,
    kind: PendingKind,
    expression: Expression,
    place: Place,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingKind {
    /// So many bytes of data.
    Data(u8),
    /// A field of an instruction, and the size of the instruction.
    Instruction(FixupKind, u8),
}

/// What observers are told of a directive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// The directive.
    Itself,
    /// The lines that it makes.
    Lines,
}

struct Assembler<'a> {
    options: &'a Options<'a>,
    observer: &'a mut dyn FnMut(Event<'_>),
    id: Option<TargetId>,
    version: CodeObjectVersion,
    parser: Parser,
    sections: Vec<SectionState>,
    /// The sections of each name.
    section_index: HashMap<String, Vec<usize>>,
    /// Bytes in all sections.
    bytes: u64,
    current: usize,
    previous: Option<usize>,
    stack: Vec<(usize, Option<usize>)>,
    symbols: Table,
    pending: Vec<Pending>,
    kernels: Vec<Kernel>,
    /// The descriptor whose directives are being read.
    kernel: Option<Kernel>,
    /// The lines of metadata, and where they begin.
    metadata: Option<(Place, String)>,
    metadata_note: Option<Vec<u8>>,
    conditionals: Vec<Conditional>,
    macros: HashMap<String, Rc<Macro>>,
    expansions: u64,
    expanded_bytes: u64,
    /// How many macros have been called.
    calls: u64,
    counted: Cell<quote::Counted>,
    /// How many macros, repetitions and files are open.
    nesting: u32,
    /// Whether `.exitm` ends the innermost of them.
    exiting: bool,
    reports: Vec<Report>,
    warnings: Vec<Report>,
    lines: Lines,
    relaxation: Relaxation,
    frames: Frames,
    /// Whether the source has named itself with `.ident`, and symbols whose addresses matter.
    identified: bool,
    address_significant: Option<Vec<String>>,
    /// The line being read: its number and where it comes from.
    line: usize,
    origin: Option<String>,
    inclusion: Option<Arc<Inclusion>>,
    ended: bool,
    /// Whether it has been told that there is no target.
    targetless: bool,
}

/// Mistakes that a person may want to read of.
const MOST_MISTAKES: usize = 1000;
/// Warnings beyond these are left out.
const MOST_WARNINGS: usize = 1000;

impl<'a> Assembler<'a> {
    fn new(
        options: &'a Options<'a>,
        observer: &'a mut dyn FnMut(Event<'_>),
        relaxation: Relaxation,
    ) -> Assembler<'a> {
        let known = options.target.as_ref().and_then(InstructionSet::of);
        let set = known.unwrap_or(Target::Gfx900.into());
        let mut symbols = Table::new(set.target());
        for (name, value) in options.symbols {
            symbols.entry(name).meaning = Some(Meaning::Set(Expression::Value(*value)));
        }
        let mut assembler = Assembler {
            options,
            observer,
            id: options.target.clone().filter(|_| known.is_some()),
            version: options.version,
            parser: Parser::new(set),
            sections: Vec::new(),
            section_index: HashMap::new(),
            bytes: 0,
            current: 0,
            previous: None,
            stack: Vec::new(),
            symbols,
            pending: Vec::new(),
            kernels: Vec::new(),
            kernel: None,
            metadata: None,
            metadata_note: None,
            conditionals: Vec::new(),
            macros: HashMap::new(),
            expansions: 0,
            expanded_bytes: 0,
            calls: 0,
            counted: Cell::default(),
            nesting: 0,
            exiting: false,
            reports: Vec::new(),
            warnings: Vec::new(),
            lines: Lines::default(),
            relaxation,
            frames: Frames::default(),
            identified: false,
            address_significant: None,
            line: 0,
            origin: None,
            inclusion: None,
            ended: false,
            targetless: false,
        };
        if let (Some(asked), None) = (&options.target, &assembler.id) {
            assembler.report("", *kernel::unknown_processor(asked, 0..0));
            // Nothing could be said of the lines.
            assembler.ended = true;
        }
        assembler.set_processor_symbols();
        assembler.current = assembler.section_named(".text");
        assembler
    }

    /// Reads a whole source.
    fn read(&mut self, source: &str) {
        match line::without_block_comments(source) {
            Ok(plain) => self.run(Frame::source(&plain)),
            Err(at) => {
                self.line = source.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
                self.report(
                    "",
                    *Diagnostic::new(
                        0..0,
                        "expected `*/` at the end of the comment, found the end of the file",
                    ),
                );
            }
        }
    }

    /// Reads the lines of a frame, and of the frames that they open.
    fn run(&mut self, mut frame: Frame<'_>) {
        while let Some(text) = frame.next_line() {
            if self.ended || self.exiting {
                return;
            }
            self.counted.set(quote::Counted::default());
            if let Some(line) = frame.line() {
                self.line = line;
            }
            if self.metadata.is_some() {
                self.metadata_line(text);
                continue;
            }
            let text = line::without_comment(text);
            if let Some((at, byte)) = source_text::outside_strings(text)
                && !self.skipping()
            {
                let message =
                    format!("expected UTF-8 outside of strings and comments, found the byte {byte:#04x}");
                self.report(text, *Diagnostic::new(at..at + 3, message));
                continue;
            }
            if let Err(fail) = self.statement(text, &mut frame) {
                self.report(text, *fail);
            }
        }
    }

    fn report(&mut self, text: &str, diagnostic: Diagnostic) {
        if self.reports.len() >= self.options.most_mistakes {
            return;
        }
        let (text, cut, diagnostic) = quote::around(text, diagnostic);
        let report = Place { cut, ..self.place(&text, 0..0) }.report(diagnostic);
        self.reports.push(report);
        if self.reports.len() == self.options.most_mistakes {
            self.ended = true;
            if let Some(last) = self.reports.last_mut() {
                let most = self.options.most_mistakes;
                last.diagnostic
                    .notes
                    .push(format!("after {most} mistakes the rest of the source is not read"));
            }
        }
    }

    /// Says something that is no mistake, of a line or, with 0, of the whole source.
    fn warn(&mut self, line: usize, text: &str, diagnostic: Diagnostic) {
        let (text, cut, diagnostic) = quote::around(text, diagnostic);
        let place = Place {
            line,
            text,
            cut,
            span: 0..0,
            origin: self.origin.clone(),
            inclusion: self.inclusion.clone(),
        };
        self.warn_at(&place, diagnostic);
    }

    fn warn_at(&mut self, place: &Place, diagnostic: Diagnostic) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(place.report(diagnostic));
        }
    }

    fn place(&self, text: &str, span: Span) -> Place {
        let (text, cut, span) = quote::part(text, span, &self.counted);
        let (origin, inclusion) = (self.origin.clone(), self.inclusion.clone());
        Place { line: self.line, text, cut, span, origin, inclusion }
    }

    /// Labels and the statement behind them.
    fn statement(&mut self, text: &str, frame: &mut Frame<'_>) -> Result<(), Fail> {
        let mut cursor = Cursor::new(text);
        // Where the statement behind the labels begins.
        let mut behind_labels = 0;
        loop {
            let start = cursor.at();
            let Some(first) = cursor.peek() else {
                if behind_labels == 0 {
                    self.tell_other(text, self.here());
                }
                return Ok(());
            };
            if first == b'.' || !self.conditionals.is_empty() || self.kernel.is_some() {
                if self.skipped(&mut cursor, frame)? {
                    return Ok(());
                }
                cursor.go_to(start);
            }
            if self.is_plain_instruction(&mut cursor) {
                return self.instruction(text, start);
            }
            if let Some(name) = self.label(&mut cursor)? {
                behind_labels = cursor.at();
                let written =
                    text.get(start..cursor.end()).unwrap_or_default().trim_end_matches(':').trim_end();
                self.define_label(&name, start..start + written.len())?;
                let inclusion = self.inclusion.clone();
                let name = &source_text::escaped(written);
                self.tell(Event::Label { line: self.line, inclusion: inclusion.as_ref(), name });
                continue;
            }
            cursor.go_to(start);
            let name = cursor.peek_name();
            if let Some(definition) = self.macros.get(name).cloned() {
                cursor.name();
                return self.expand(&definition, &mut cursor, frame);
            }
            if name.starts_with('.') {
                cursor.name();
                if self.assignment(name, &mut cursor)? {
                    return Ok(());
                }
                let before = self.here();
                if self.directive(name, start, &mut cursor, frame)? == Told::Itself {
                    self.tell_other(text.get(behind_labels..).unwrap_or_default(), before);
                }
                return Ok(());
            }
            if self.kernel.is_some() {
                let (span, word) = cursor.token();
                return self.stray(word, span);
            }
            if !name.is_empty() {
                cursor.name();
                if self.assignment(name, &mut cursor)? {
                    return Ok(());
                }
            }
            return self.instruction(text, start);
        }
    }

    /// Whether an instruction comes next: a name that is no directive, and neither label nor assignment. The cursor stays
    /// where it is. Where this says no, it may still be one.
    fn is_plain_instruction(&self, cursor: &mut Cursor<'_>) -> bool {
        let name = cursor.peek_name();
        if name.is_empty() || name.starts_with('.') || self.kernel.is_some() || !self.macros.is_empty() {
            return false;
        }
        let start = cursor.at();
        cursor.go_to(start + name.len());
        let behind = cursor.peek();
        cursor.go_to(start);
        !matches!(behind, Some(b':' | b'='))
    }

    /// The section and the place in it that come next.
    fn here(&self) -> (usize, u64) {
        (self.current, self.offset())
    }

    /// Tells of a statement that is no instruction; `before` is the place that came next before it.
    fn tell_other(&mut self, text: &str, (section, start): (usize, u64)) {
        let end = if self.current == section { self.offset().max(start) } else { start };
        let (text, inclusion) = (&source_text::escaped(text), self.inclusion.clone());
        let inclusion = inclusion.as_ref();
        self.tell(Event::Other { line: self.line, inclusion, text, section, bytes: start..end });
    }

    /// Reads `name:` or `1:`; `None`, wherever the cursor then stands, if there is none.
    fn label<'t>(&mut self, cursor: &mut Cursor<'t>) -> Result<Option<Cow<'t, str>>, Fail> {
        let name = match cursor.peek() {
            Some(b'"') => {
                let Ok((name, length)) = line::string(cursor.rest()) else { return Ok(None) };
                let at = cursor.at();
                cursor.go_to(at + length);
                Cow::Owned(line::utf8_name(name, at..at + length)?)
            }
            Some(b'0'..=b'9') => {
                let digits = cursor.rest().bytes().take_while(u8::is_ascii_digit).count();
                let at = cursor.at();
                let number = cursor.rest().get(..digits).and_then(|digits| digits.parse().ok());
                cursor.go_to(at + digits);
                if cursor.peek_raw() != Some(b':') {
                    return Ok(None);
                }
                cursor.expect(":")?;
                return Ok(number.map(|number| self.symbols.define_numeric(number).into()));
            }
            _ => match cursor.name() {
                "" => return Ok(None),
                name => Cow::Borrowed(name),
            },
        };
        Ok(cursor.eat(":").then_some(name))
    }

    fn define_label(&mut self, name: &str, span: Span) -> Result<(), Fail> {
        if name == "." {
            let message = "`.` is the place of the statement, which cannot be a label";
            return Err(Diagnostic::new(span, message));
        }
        let meaning = Meaning::Label { section: self.current, offset: self.offset() };
        let symbol = self.symbols.entry(name);
        if symbol.meaning.is_some() {
            return Err(Diagnostic::new(span, format!("`{name}` is defined a second time")));
        }
        symbol.meaning = Some(meaning);
        Ok(())
    }

    /// `name = expression`.
    fn assignment(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        let at = cursor.at();
        // `==` compares, and sets nothing.
        if cursor.rest().starts_with("==") || !cursor.eat("=") {
            return Ok(false);
        }
        let value = cursor.rest().trim_end();
        match name {
            "." => self.move_place(cursor)?,
            _ => self.set(name, at, cursor, true)?,
        }
        self.tell_other(&format!("\t{name} = {value}"), self.here());
        Ok(true)
    }

    fn instruction(&mut self, text: &str, start: usize) -> Result<(), Fail> {
        if self.id.is_none() {
            return self.without_target(start..text.trim_end().len());
        }
        let statement = text.get(start..).unwrap_or_default();
        let parsed = self.parser.parse(statement, &self.symbols).map_err(|fail| fail.moved(start))?;
        let (bytes, size) = parsed.inst.encode();
        let unresolved = parsed.fixup.as_ref().map(|fixup| fixup.span.clone());
        if let Some(fixup) = parsed.fixup {
            let span = fixup.span.start + start..fixup.span.end + start;
            let mut expression = fixup.expression;
            self.symbols.bind(&mut expression);
            self.pending.push(Pending {
                section: self.current,
                offset: self.offset(),
                kind: PendingKind::Instruction(fixup.kind, size as u8),
                expression,
                place: self.place(text, span),
            });
        }
        let offset = self.offset();
        let inclusion = self.inclusion.clone();
        self.tell(Event::Instruction {
            line: self.line,
            inclusion: inclusion.as_ref(),
            inst: &parsed.inst,
            text: statement.trim_end(),
            unresolved,
            section: self.current,
            offset,
        });
        self.emit(bytes.get(..size).unwrap_or_default())
            .map_err(|message| Diagnostic::new(start..text.trim_end().len(), message))
    }

    /// An expression whose value must be known here.
    fn absolute(&mut self, cursor: &mut Cursor<'_>) -> Result<i64, Fail> {
        let start = cursor.at();
        let mut value = expression(cursor, &self.symbols)?;
        let span = start..cursor.end();
        self.symbols.bind(&mut value);
        let here = (self.current, self.offset());
        let value = self.symbols.evaluate(&value, here, &span)?;
        match (self.symbols.number_of(&value), value.plus.or(value.minus)) {
            (Some(number), _) => Ok(number),
            (None, Some(reference)) => {
                let name = &self.symbols.all[reference.symbol].name;
                Err(Diagnostic::new(span, format!("expected a number that is known here; `{name}` is none")))
            }
            (None, None) => Err(Diagnostic::new(span, "expected a number that is known here")),
        }
    }

    /// The end of a statement.
    fn end(&self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        if cursor.is_done() { Ok(()) } else { Err(cursor.expected("the end of the line")) }
    }

    /// Reads and runs the directive `name`, which has been read.
    fn directive(
        &mut self,
        name: &str,
        start: usize,
        cursor: &mut Cursor<'_>,
        frame: &mut Frame<'_>,
    ) -> Result<Told, Fail> {
        if self.kernel.is_some() {
            return self.kernel_directive(name, start, cursor).map(|()| Told::Itself);
        }
        if self.expanding_directive(name, cursor, frame)? {
            return Ok(Told::Lines);
        }
        let known = self.data_directive(name, cursor)?
            || self.section_directive(name, cursor)?
            || self.symbol_directive(name, cursor)?
            || self.frame_directive(name, start, cursor)?
            || self.target_directive(name, start, cursor)?;
        if known {
            return Ok(Told::Itself);
        }
        let span = start..start + name.len();
        if directives::MISSING.contains(&name) {
            let message = format!("`{name}` is a directive of LLVM that Wavemill does not have");
            return Err(Diagnostic::new(span, message));
        }
        let fail = Diagnostic::new(span, format!("there is no directive `{name}`"));
        Err(match crate::gcn::parse::closest(name, directives::DIRECTIVES).first() {
            Some(&similar) => fail.replace_with(similar),
            None => fail,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, assemble};

    #[test]
    fn reading_ends_after_many_mistakes() {
        let target = "gfx906".parse().expect("a target");
        let source = "v_mov_b33 v1, v2\n".repeat(2000);
        let options = Options { target: Some(target), ..Options::default() };
        let reports = assemble(&source, &options).expect_err("mistakes");
        assert_eq!((reports.len(), reports[999].line), (1000, 1000));
        let note = |n: usize| reports[n].diagnostic.notes.iter().any(|note| note.contains("is not read"));
        assert_eq!((note(998), note(999)), (false, true));
        let all = Options { most_mistakes: usize::MAX, ..options };
        assert_eq!(assemble(&source, &all).expect_err("mistakes").len(), 2000);
    }
}
