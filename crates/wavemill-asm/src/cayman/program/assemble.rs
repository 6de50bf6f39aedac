//! Assembles programs.

use std::ops::Range;

use wavemill_isa::cayman::Stage;

use super::read::Reader;
use super::{check, layout};
use crate::assemble::Report;

/// What to assemble, and how.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    /// Symbols that are set before the source is read.
    pub symbols: &'a [(&'a str, i64)],
    /// Whether the words of the source are programs. Otherwise each stands alone, unless there are
    /// labels: only the rules of words and groups count.
    pub whole: bool,
    /// After this many errors, the rest of the source is not read.
    pub max_errors: usize,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { symbols: &[], whole: true, max_errors: 100 }
    }
}

/// What a source gives.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    /// The programs, in the order of the source. They are complete if there are no reports.
    pub programs: Vec<Code>,
    /// The words, groups and data, in the order of the source.
    pub statements: Vec<Statement>,
    /// The errors, in the order of lines.
    pub reports: Vec<Report>,
    /// Rules of the manual that the programs break, in the order of lines.
    pub warnings: Vec<Report>,
}

/// A program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Code {
    /// Its name, if the source gives one.
    pub name: Option<String>,
    /// Its machine code. Control flow begins at its start.
    pub bytes: Vec<u8>,
    /// Entries of the stack: as stated, or as computed. `None` if they are not stated and have no
    /// bound.
    pub stack: Option<u32>,
    /// Registers: as stated, or one more than the highest that a word names.
    pub gprs: u32,
    /// Bytes of local memory.
    pub lds: u32,
    /// The stage, if the source gives one.
    pub stage: Option<Stage>,
    /// The labels, and the byte offset of each.
    pub labels: Vec<(String, usize)>,
    /// Byte offsets of dwords that hold an offset in the code of the file.
    pub relocations: Vec<usize>,
    /// The bytes of which its offset in an object file is a multiple, if that is more than usual: a
    /// power of two. Otherwise it is 0 or 1.
    pub alignment: usize,
    /// Whether it has only data.
    pub is_table: bool,
    /// Whether a slot kills pixels.
    pub kills: bool,
}

/// A word, a group or data of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The line that it begins on, from 1.
    pub line: usize,
    /// The program, from 0.
    pub program: usize,
    /// Its bytes in the program.
    pub range: Range<usize>,
    /// Its text in the form of the printer, in one line, with numbers for labels.
    pub text: String,
}

/// Assembles a source. All errors are reported, up to the limit.
///
/// ```
/// use wavemill_asm::cayman::{Options, assemble};
///
/// let source = "        alu body\n        end\nbody:   x: mov r0.x, 1.0 ;;\n";
/// let assembled = assemble(source.as_bytes(), &Options::default());
/// assert!(assembled.reports.is_empty() && assembled.warnings.is_empty());
/// assert_eq!(assembled.programs[0].bytes.len(), 24);
/// ```
pub fn assemble(source: &[u8], options: &Options<'_>) -> Assembled {
    let mut reader = Reader::new(source, options);
    reader.all();
    reader.end();
    let whole = options.whole || reader.programs.iter().any(|program| !program.labels.is_empty());
    let mut assembled = Assembled::default();
    for index in 0..reader.programs.len() {
        layout::place(&mut reader, index, whole, &mut assembled);
    }
    if reader.messages.errors.is_empty() {
        for index in 0..reader.programs.len() {
            check::program(&mut reader, index, whole, &mut assembled);
        }
    }
    let by_line = |report: &Report| report.line;
    reader.messages.errors.sort_by_key(by_line);
    reader.messages.warnings.sort_by_key(by_line);
    // Words of a program may be placed in another order.
    assembled.statements.sort_by_key(|statement| statement.line);
    assembled.reports = reader.messages.errors;
    assembled.warnings = reader.messages.warnings;
    assembled
}
