//! The assembler: turns sources into modules.
//!
//! A source is read once, line by line. Sections grow as they are read, so the address of every
//! label is known at once. Values that depend on later symbols are filled in at the end, directly
//! or by a relocation.

mod arguments;
mod conditional;
mod data;
mod data_directive;
mod debug;
mod directives;
mod event;
mod expand;
mod expansion;
mod fields;
mod finish;
mod frame_sections;
mod frames;
mod functions;
mod kept_places;
mod kernel;
mod leb128;
mod line;
mod lines;
mod linking;
mod messages;
mod options;
mod pending;
mod position;
mod quote;
mod relaxation;
mod report;
mod section_directives;
mod sections;
mod statement;
mod symbol;
mod symbols;
mod values;

use wavemill_object::write::Module;
use wavemill_object::{CodeObjectVersion, TargetId};

use crate::diagnostic::Diagnostic;
use crate::family::InstructionParser;
use crate::instruction_set::InstructionSet;
use crate::syntax::{Expression, source_text};
pub use data_directive::DataDirective;
use debug::DebugInformation;
pub use event::Event;
use expand::Frame;
use expansion::Expansion;
use kept_places::KeptPlaces;
use kernel::Kernels;
use messages::Messages;
pub use options::{Distances, Options};
use pending::{AllPending, Pending, PendingKind};
use position::Position;
use relaxation::Relaxation;
use report::Place;
pub use report::{IncludedFile, Inclusion, Report};
use sections::Sections;
use symbols::{Meaning, Table};
pub use values::{float_bits, leb128, octas};

/// Assembles `source`: text, or bytes. Strings and comments may contain bytes that are not UTF-8.
///
/// # Errors
/// All errors in the source, in line order.
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

/// Reads the quoted string at the start of `text`. Returns its bytes with escapes resolved, and its
/// length in the text in bytes. `None` if there is no such string.
///
/// ```
/// assert_eq!(wavemill_asm::quoted(r#""a\n", 1"#), Some((b"a\n".to_vec(), 5)));
/// assert_eq!(wavemill_asm::quoted("a"), None);
/// ```
pub fn quoted(text: &str) -> Option<(Vec<u8>, usize)> {
    line::string(text).ok()
}

/// The result of assembling a source.
#[derive(Debug)]
pub struct Assembled {
    /// The module. If there are errors, it lacks the parts at fault. `None` if no target was named.
    pub module: Option<Module>,
    /// All errors, in line order.
    pub reports: Vec<Report>,
    /// Warnings: the text of `.warning`, and omissions worth knowing about.
    pub warnings: Vec<Report>,
    /// The statements with words that only linking can fill in, by section and offset.
    references: Vec<linking::Reference>,
    /// Their positions.
    places: KeptPlaces,
}

impl Assembled {
    /// The module, if the source has no errors.
    ///
    /// # Errors
    /// The errors.
    pub fn finished(self) -> Result<Module, Vec<Report>> {
        match self.module {
            Some(module) if self.reports.is_empty() => Ok(module),
            _ => Err(self.reports),
        }
    }
}

/// Assembles `source`, reports every line to `observer` on the way, and continues after errors.
pub fn assemble_with<S: AsRef<[u8]> + ?Sized>(
    source: &S,
    options: &Options<'_>,
    observer: &mut dyn FnMut(Event<'_>),
) -> Assembled {
    let source = source_text::text(source.as_ref());
    let mut relaxation = Relaxation::first(!options.distances.lay_out());
    loop {
        let mut assembler = Assembler::new(options, observer, relaxation);
        assembler.read(&source);
        match assembler.next_reading() {
            Some(next) => relaxation = next,
            None => return assembler.finish(),
        }
    }
}

/// The target of a source, and the parser of its instructions.
struct SourceTarget {
    /// `None` if neither the options nor the source name one.
    id: Option<TargetId>,
    set: InstructionSet,
    parser: Box<dyn InstructionParser>,
    /// Whether a missing target has been reported.
    missing_reported: bool,
}

/// One reading of a source. Its state is split into parts that do not know each other. Statements
/// and directives, which need several of them, are methods of the whole.
struct Assembler<'a> {
    options: &'a Options<'a>,
    observer: &'a mut dyn FnMut(Event<'_>),
    target: SourceTarget,
    version: CodeObjectVersion,
    position: Position,
    messages: Messages,
    expansion: Expansion,
    sections: Sections,
    symbols: Table,
    kernels: Kernels,
    debug: DebugInformation,
    pending: AllPending,
    /// The source positions of everything pending.
    places: KeptPlaces,
    relaxation: Relaxation,
    /// Whether the source has named itself with `.ident`.
    identified: bool,
    /// Whether the rest of the source is not read.
    ended: bool,
}

impl<'a> Assembler<'a> {
    fn new(
        options: &'a Options<'a>,
        observer: &'a mut dyn FnMut(Event<'_>),
        relaxation: Relaxation,
    ) -> Assembler<'a> {
        let known = options.target.as_ref().and_then(InstructionSet::of);
        let set = known.unwrap_or_default();
        let mut symbols = Table::new(set, options.distances);
        for (name, value) in options.symbols {
            symbols.entry(name).meaning = Some(Meaning::Set(Box::new(Expression::Value(*value))));
        }
        let id = options.target.clone().filter(|_| known.is_some());
        let mut assembler = Assembler {
            options,
            observer,
            target: SourceTarget { id, set, parser: set.family().parser(set), missing_reported: false },
            version: options.version,
            position: Position::default(),
            messages: Messages::at_most(options.max_errors),
            expansion: Expansion::default(),
            sections: Sections::default(),
            symbols,
            kernels: Kernels::default(),
            debug: DebugInformation::default(),
            pending: AllPending::default(),
            places: KeptPlaces::default(),
            relaxation,
            identified: false,
            ended: false,
        };
        if let (Some(asked), None) = (&options.target, &assembler.target.id) {
            assembler.report("", *kernel::unknown_processor(asked, 0..0));
            // The lines cannot be processed.
            assembler.ended = true;
        }
        assembler.set_processor_symbols();
        assembler.sections.current = assembler.sections.section_named(".text");
        assembler
    }

    /// Reads a whole source.
    fn read(&mut self, source: &str) {
        match line::without_block_comments(source, self.target.set.family().line_syntax()) {
            Ok(plain) => self.run(Frame::source(&plain)),
            Err(at) => {
                self.position.line = source.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
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
            if self.ended || self.expansion.exiting {
                return;
            }
            self.position.next_line(frame.line(), text);
            if self.kernels.metadata.is_some() {
                self.metadata_line(text);
                continue;
            }
            let whole = text.len();
            let text = self.target.set.family().line_syntax().without_comment(text);
            self.position.commented = text.len() < whole;
            if let Some((at, byte)) = source_text::outside_strings(text)
                && !self.expansion.skipping()
            {
                let message =
                    format!("expected UTF-8 outside of strings and comments, found the byte {byte:#04x}");
                self.report(text, *Diagnostic::new(at..at + 3, message));
                continue;
            }
            if let Err(fail) = self.statement(text, &mut frame) {
                self.report(text, *fail);
                self.messages.statement_failed();
            } else {
                self.messages.note_definitions(&self.symbols, &self.position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, assemble};

    #[test]
    fn reading_ends_after_many_errors() {
        let target = "gfx906".parse().expect("a target");
        let source = "v_mov_b33 v1, v2\n".repeat(2000);
        let options = Options { target: Some(target), ..Options::default() };
        let reports = assemble(&source, &options).expect_err("errors");
        assert_eq!((reports.len(), reports[999].line), (1000, 1000));
        let note = |n: usize| reports[n].diagnostic.notes.iter().any(|note| note.contains("is not read"));
        assert_eq!((note(998), note(999)), (false, true));
        let all = Options { max_errors: usize::MAX, ..options };
        assert_eq!(assemble(&source, &all).expect_err("errors").len(), 2000);
    }
}
