//! Events for observers of the assembler.

use std::ops::Range;
use std::sync::Arc;

use super::Inclusion;
use crate::diagnostic::Span;
use crate::family::Instruction;

/// An event while a source is read.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An instruction.
    Instruction {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// The instruction. A field that a symbol decides is 0.
        inst: &'a Instruction,
        /// The instruction as written, without labels and comment.
        text: &'a str,
        /// The position in `text` of the expression that decides a field, if it has symbols that
        /// are not known yet.
        unresolved: Option<Span>,
        /// Its section, as an index into
        /// [`Module::sections`](wavemill_object::write::Module::sections).
        section: usize,
        /// Its offset in the section, in bytes.
        offset: u64,
    },
    /// A label.
    Label {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// Its name as written: with its quotes, if any, and the digits of a label such as `1:`.
        name: &'a str,
    },
    /// `.print`: a text that the source reports. It is neither error nor warning.
    Print {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// The bytes between the quotes, with escapes as written: LLVM prints them the same way.
        text: &'a [u8],
    },
    /// A directive, an assignment (`name = expression`), a line of metadata, or an empty line.
    /// Directives that only decide which lines are read, such as `.macro`, `.rept`, `.include` and
    /// `.if`, are not reported. The lines that they select are, and so are the empty lines that
    /// LLVM sees after `.macro`, `.include`, `.ifeqs` and `.ifnes`. [`Print`](Event::Print) reports
    /// `.print`.
    Other {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// Its text, without labels and comment.
        text: &'a str,
        /// Whether the line is empty, without even a comment that runs to its end.
        blank: bool,
        /// The section of its bytes, as an index into
        /// [`Module::sections`](wavemill_object::write::Module::sections).
        section: usize,
        /// Their offsets in the section; empty if the line emits no bytes there.
        bytes: Range<u64>,
    },
}
