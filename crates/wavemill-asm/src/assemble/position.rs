//! The current position of the assembler.

use std::cell::Cell;
use std::sync::Arc;

use super::kept_places::{KeptPlace, KeptPlaces, ReadLine};
use super::quote;
use super::report::{Inclusion, Place};
use crate::diagnostic::Span;

/// The current line: its number and origin.
#[derive(Debug, Default)]
pub(super) struct Position {
    pub(super) line: usize,
    /// Whether the line is empty.
    pub(super) blank: bool,
    /// Whether the line ends with a comment.
    pub(super) commented: bool,
    /// The macro or repetition that generated it.
    pub(super) origin: Option<String>,
    /// The included file that contains it, if any.
    pub(super) inclusion: Option<Arc<Inclusion>>,
    counted: Cell<quote::Counted>,
}

impl Position {
    /// Moves to another line.
    pub(super) fn next_line(&mut self, number: Option<usize>, text: &str) {
        self.counted.set(quote::Counted::default());
        if let Some(number) = number {
            self.line = number;
        }
        self.blank = text.trim_start().is_empty();
    }

    /// A part of this line.
    pub(super) fn place(&self, text: &str, span: Span) -> Place {
        let (text, cut, span) = quote::part(text, span, &self.counted);
        let (origin, inclusion) = (self.origin.clone(), self.inclusion.clone());
        Place { line: self.line, text: text.to_owned(), cut, span, origin, inclusion }
    }

    /// A part of this line, kept until the end.
    pub(super) fn keep(&self, places: &mut KeptPlaces, text: &str, span: Span) -> KeptPlace {
        let (text, cut, span) = quote::part(text, span, &self.counted);
        let (origin, inclusion) = (self.origin.as_ref(), self.inclusion.as_ref());
        places.keep_part(ReadLine { number: self.line, text, cut, origin, inclusion }, span)
    }
}
