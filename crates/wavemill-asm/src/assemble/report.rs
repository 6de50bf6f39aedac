//! Positions in sources, and the errors there.

use std::sync::Arc;

use super::kept_places::KeptPlace;
use super::{Assembler, quote};
use crate::diagnostic::{Diagnostic, Span};
use crate::syntax::source_text;

/// A file that a source includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncludedFile {
    /// Its path, for messages.
    pub path: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// An included file, and where it is included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inclusion {
    /// Its path, as [`Options::include`](super::Options::include) gives it.
    pub path: String,
    /// The line of the `.include`, from 1.
    pub line: usize,
    /// The included file that this line is in; `None` if it is in the source itself.
    pub within: Option<Arc<Inclusion>>,
}

impl Inclusion {
    /// This inclusion, the inclusion that contains it, and so on up to the source itself.
    pub fn chain(&self) -> impl Iterator<Item = &Inclusion> {
        std::iter::successors(Some(self), |inclusion| inclusion.within.as_deref())
    }

    /// The sort key of a line: the lines of the `.include`s that lead to it, starting from the
    /// source, and the line itself.
    pub fn order(inclusion: Option<&Inclusion>, line: usize) -> Vec<usize> {
        let outer = inclusion.into_iter().flat_map(Inclusion::chain).map(|inclusion| inclusion.line);
        let mut lines: Vec<usize> = std::iter::once(line).chain(outer).collect();
        lines.reverse();
        lines
    }
}

/// One error in a source, and its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The line in its file, from 1; 0 for an error that belongs to no line. Lines that a macro or
    /// a repetition generates count as the line that generates them.
    pub line: usize,
    /// The text of the line; for a macro, the generated line. For a long line, only the part around
    /// the error. Bytes that are not UTF-8 are U+FFFD.
    pub text: String,
    /// The number of characters of the line before `text`.
    pub cut: usize,
    /// The error; positions count from the start of `text`.
    pub diagnostic: Diagnostic,
    /// The macro that the line comes from, such as `macro store`.
    pub origin: Option<String>,
    /// The included file that the line is in; `None` if it is in the source itself.
    pub inclusion: Option<Arc<Inclusion>>,
}

impl Report {
    /// The column where the error begins, in characters from 1.
    pub fn column(&self) -> usize {
        let before = self.text.get(..self.diagnostic.span.start).map_or(0, |before| before.chars().count());
        self.cut + before + 1
    }

    /// The sort key of reports: see [`Inclusion::order`].
    pub(super) fn order(&self) -> Vec<usize> {
        Inclusion::order(self.inclusion.as_deref(), self.line)
    }
}

/// A position in the source.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) text: String,
    pub(super) cut: usize,
    pub(super) span: Span,
    pub(super) origin: Option<String>,
    pub(super) inclusion: Option<Arc<Inclusion>>,
}

impl Place {
    /// No line of the source.
    pub(super) const NONE: Place =
        Place { line: 0, text: String::new(), cut: 0, span: 0..0, origin: None, inclusion: None };

    /// A report of an error there.
    pub(super) fn report(&self, diagnostic: Diagnostic) -> Report {
        Report {
            line: self.line,
            text: source_text::shown(&self.text).into_owned(),
            cut: self.cut,
            diagnostic,
            origin: self.origin.clone(),
            inclusion: self.inclusion.clone(),
        }
    }
}

impl Assembler<'_> {
    pub(super) fn report(&mut self, text: &str, diagnostic: Diagnostic) {
        if self.messages.are_full() {
            return;
        }
        let (text, cut, diagnostic) = quote::around(text, diagnostic);
        let report = Place { cut, ..self.position.place(&text, 0..0) }.report(diagnostic);
        self.messages.error(report);
        if self.messages.are_full() {
            self.ended = true;
            self.messages.end_here();
        }
    }

    pub(super) fn report_at(&mut self, place: &Place, diagnostic: Diagnostic) {
        self.messages.error(place.report(diagnostic));
    }

    /// Warns about a line or, with 0, about the whole source.
    pub(super) fn warn(&mut self, line: usize, text: &str, diagnostic: Diagnostic) {
        let (text, cut, diagnostic) = quote::around(text, diagnostic);
        let (origin, inclusion) = (self.position.origin.clone(), self.position.inclusion.clone());
        self.warn_at(&Place { line, text, cut, span: 0..0, origin, inclusion }, diagnostic);
    }

    pub(super) fn warn_at(&mut self, place: &Place, diagnostic: Diagnostic) {
        self.messages.warning(place.report(diagnostic));
    }

    pub(super) fn place(&self, text: &str, span: Span) -> Place {
        self.position.place(text, span)
    }

    /// A position in this line that is kept until the end.
    pub(super) fn keep_place(&mut self, text: &str, span: Span) -> KeptPlace {
        self.position.keep(&mut self.places, text, span)
    }
}
