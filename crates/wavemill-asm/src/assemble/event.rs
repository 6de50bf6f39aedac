//! What observers of the assembler are told.

use std::ops::Range;
use std::sync::Arc;

use wavemill_isa::gcn::Inst;

use super::Inclusion;
use crate::diagnostic::Span;

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
        inst: &'a Inst,
        /// The instruction as it is written, without labels and comment.
        text: &'a str,
        /// Where in `text` the expression stands that decides a field, if symbols that are not known yet do.
        unresolved: Option<Span>,
        /// The section that it goes into, by its index in [`Module::sections`](wavemill_object::write::Module::sections).
        section: usize,
        /// Its place in the section, in bytes.
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
    /// A directive, an assignment (`name = expression`), a line of metadata, or an empty line. Directives that only decide which lines are read, such as `.macro`, `.rept`, `.include` and `.if`, are not told: those lines are.
    Other {
        /// Its line, from 1.
        line: usize,
        /// The included file that the line is in; `None` if it is in the source itself.
        inclusion: Option<&'a Arc<Inclusion>>,
        /// Its text, without labels and comment.
        text: &'a str,
        /// The section that its bytes go into, by its index in [`Module::sections`](wavemill_object::write::Module::sections).
        section: usize,
        /// Their places in the section; empty if it makes none there.
        bytes: Range<u64>,
    },
}
