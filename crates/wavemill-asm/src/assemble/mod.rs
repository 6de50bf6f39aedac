//! The assembler: sources become modules.
//!
//! A source is read once, line by line. Sections grow as they are read, so the place of every label is known at once; what
//! depends on symbols that come later is filled in at the end, by itself or by a relocation.

mod arguments;
mod conditional;
mod data;
mod data_directive;
mod directives;
mod event;
mod expand;
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
mod options;
mod pending;
mod quote;
mod relaxation;
mod report;
mod section;
mod statement;
mod symbol;
mod symbols;
mod values;

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use wavemill_isa::Target;
use wavemill_object::write::Module;
use wavemill_object::{CodeObjectVersion, TargetId};

use crate::diagnostic::Diagnostic;
use crate::gcn::parse::Parser;
use crate::instruction_set::InstructionSet;
use crate::syntax::{Expression, source_text};
use conditional::Conditional;
pub use data_directive::DataDirective;
pub use event::Event;
use expand::{Frame, Macro};
use frames::Frames;
use kept_places::{KeptPlace, KeptPlaces};
use kernel::Kernel;
pub use kernel::processor_symbols;
use lines::Lines;
pub use options::{Distances, Options};
use pending::{AllPending, Pending, PendingKind};
use relaxation::Relaxation;
use report::Place;
pub use report::{IncludedFile, Inclusion, Report};
use section::SectionState;
use symbols::{Meaning, Table};
pub use values::{float_bits, leb128, octas};

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

/// Reads the string between quotes that `text` begins with: its bytes, with the escapes undone, and how many bytes of the text
/// it takes. `None` if none is there.
///
/// ```
/// assert_eq!(wavemill_asm::quoted(r#""a\n", 1"#), Some((b"a\n".to_vec(), 5)));
/// assert_eq!(wavemill_asm::quoted("a"), None);
/// ```
pub fn quoted(text: &str) -> Option<(Vec<u8>, usize)> {
    line::string(text).ok()
}

/// What came of a source.
#[derive(Debug)]
pub struct Assembled {
    /// The module: without what is wrong in the source, if something is. `None` if no target was named.
    pub module: Option<Module>,
    /// Everything that is wrong, in the order of the lines.
    pub reports: Vec<Report>,
    /// What is accepted, and should be known all the same: what `.warning` says, and what has been left out.
    pub warnings: Vec<Report>,
    /// The statements whose words only linking can fill in, by section and offset.
    references: Vec<linking::Reference>,
    /// Where they are.
    places: KeptPlaces,
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

/// Assembles `source`, reports every line to `observer` on the way, and goes on after errors.
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
    pending: AllPending,
    /// What `.size` says of symbols.
    sizes: Vec<(usize, Expression, KeptPlace)>,
    /// Where what is pending stands in the source.
    places: KeptPlaces,
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
    /// Whether it has nothing in it.
    blank: bool,
    /// Whether a comment stands at the end of it.
    commented: bool,
    origin: Option<String>,
    inclusion: Option<Arc<Inclusion>>,
    /// The symbol that the statement being read needs the value of, which it has not yet.
    awaited: Option<String>,
    /// Reports of such statements, by their numbers, and the symbols.
    awaiting: Vec<(usize, String)>,
    ended: bool,
    /// Whether it has been told that there is no target.
    targetless: bool,
    /// VGPRs and SGPRs that the symbols which count them have been raised to.
    next_free: [u16; 2],
    /// Which of them the source has set: these are symbols of its own, too.
    own_next_free: [bool; 2],
}

impl<'a> Assembler<'a> {
    fn new(
        options: &'a Options<'a>,
        observer: &'a mut dyn FnMut(Event<'_>),
        relaxation: Relaxation,
    ) -> Assembler<'a> {
        let known = options.target.as_ref().and_then(InstructionSet::of);
        let set = known.unwrap_or(Target::Gfx900.into());
        let mut symbols = Table::new(set.target(), options.distances);
        for (name, value) in options.symbols {
            symbols.entry(name).meaning = Some(Meaning::Set(Box::new(Expression::Value(*value))));
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
            pending: AllPending::default(),
            sizes: Vec::new(),
            places: KeptPlaces::default(),
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
            blank: false,
            commented: false,
            origin: None,
            inclusion: None,
            awaited: None,
            awaiting: Vec::new(),
            ended: false,
            targetless: false,
            next_free: [0; 2],
            own_next_free: [false; 2],
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
            self.blank = text.trim_start().is_empty();
            if self.metadata.is_some() {
                self.metadata_line(text);
                continue;
            }
            let whole = text.len();
            let text = line::without_comment(text);
            self.commented = text.len() < whole;
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
                let awaited = self.awaited.take().zip(self.reports.len().checked_sub(1));
                self.awaiting.extend(awaited.map(|(symbol, report)| (report, symbol)));
            } else if !self.awaiting.is_empty() {
                self.tell_of_definitions();
            }
        }
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
