//! What observers of the assembler learn.

use std::ops::Range;
use std::sync::Arc;

use super::Inclusion;
use crate::diagnostic::Span;
use crate::family::Instruction;

/// What happens while a source is read.
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
        /// The instruction as it is written, without labels and comment.
        text: &'a str,
        /// Where in `text` the expression stands that decides a field, if symbols that are not known yet do.
        unresolved: Option<Span>,
        /// The section that it goes into, by its index in [`Module::sections`](wavemill_object::write::Module::sections).
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
        /// Its name as it is written: with its quotes, if it has some, and the digits of a label such as `1:`.
        name: &'a str,
    },
    /// `.print`: a text that the source wants to be read. It is neither error nor warning.
    Print {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// The bytes between the quotes, with their escapes as they are written: LLVM prints them so.
        text: &'a [u8],
    },
    /// A directive, an assignment (`name = expression`), a line of metadata, or an empty line. Directives that only decide which lines are read, such as `.macro`, `.rept`, `.include` and `.if`, are not reported: those lines are, and the empty ones that LLVM sees behind `.macro`, `.include`, `.ifeqs` and `.ifnes`. [`Print`](Event::Print) has what `.print` says.
    Other {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// Its text, without labels and comment.
        text: &'a str,
        /// Whether the line has nothing in it, not even a comment to its end.
        blank: bool,
        /// The section that its bytes go into, by its index in [`Module::sections`](wavemill_object::write::Module::sections).
        section: usize,
        /// Their offsets in the section; empty if it makes none there.
        bytes: Range<u64>,
    },
}
