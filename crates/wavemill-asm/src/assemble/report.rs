//! Places in sources, and what is wrong there.

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
    /// What it holds.
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
    /// This one, the one that it is in, and so on up to the source itself.
    pub fn chain(&self) -> impl Iterator<Item = &Inclusion> {
        std::iter::successors(Some(self), |inclusion| inclusion.within.as_deref())
    }

    /// The order of lines: those of the `.include`s that lead to this line, from the source on, and the line itself.
    pub fn order(inclusion: Option<&Inclusion>, line: usize) -> Vec<usize> {
        let outer = inclusion.into_iter().flat_map(Inclusion::chain).map(|inclusion| inclusion.line);
        let mut lines: Vec<usize> = std::iter::once(line).chain(outer).collect();
        lines.reverse();
        lines
    }
}

/// One thing that is wrong with a source, and the line that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The line of its file, from 1; 0 for what is wrong with none of them. What a macro or a repetition makes counts as the
    /// line that makes it.
    pub line: usize,
    /// The text of the line; for what a macro makes, the line that it made. Of a long line it is the part around what is
    /// wrong. Bytes that are not UTF-8 are U+FFFD.
    pub text: String,
    /// The characters of the line that stand before `text`.
    pub cut: usize,
    /// What is wrong; places count from the start of `text`.
    pub diagnostic: Diagnostic,
    /// The macro that the line comes from, such as `macro store`.
    pub origin: Option<String>,
    /// The included file that the line is in; `None` if it is in the source itself.
    pub inclusion: Option<Arc<Inclusion>>,
}

impl Report {
    /// The column of the line where the error begins, in characters from 1.
    pub fn column(&self) -> usize {
        let before = self.text.get(..self.diagnostic.span.start).map_or(0, |before| before.chars().count());
        self.cut + before + 1
    }

    /// What reports are sorted by: see [`Inclusion::order`].
    pub(super) fn order(&self) -> Vec<usize> {
        Inclusion::order(self.inclusion.as_deref(), self.line)
    }
}

/// Where something stands in the source.
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

    /// A report of what is wrong there.
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

    /// Warns of a line or, with 0, of the whole source.
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

    /// A place of this line that is kept until the end.
    pub(super) fn keep_place(&mut self, text: &str, span: Span) -> KeptPlace {
        self.position.keep(&mut self.places, text, span)
    }
}
