//! Errors in a text: the position, what was expected and found, and a fix.

use core::fmt;
use std::ops::Range;

/// A part of a text, in bytes from its start.
pub type Span = Range<usize>;

/// A change of the text that fixes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The part to replace; empty for an insertion.
    pub span: Span,
    /// The text to put there.
    pub replacement: String,
}

impl Fix {
    /// `text` with the change applied; `None` if the text has no such part.
    pub fn applied(&self, text: &str) -> Option<String> {
        let (before, behind) = (text.get(..self.span.start)?, text.get(self.span.end..)?);
        Some(format!("{before}{}{behind}", self.replacement))
    }
}

/// One error in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The part of the text at fault, in bytes from its start.
    pub span: Span,
    /// What was expected and what was found, in one line without a final stop.
    pub message: String,
    /// Facts that help: the operands of the instruction, where the text would be legal.
    pub notes: Vec<String>,
    /// A change that fixes this part. With it an instruction assembles; for a directive, it fixes
    /// the name or string.
    pub fix: Option<Fix>,
}

/// Parsers fail with a boxed diagnostic: success must stay cheap.
pub(crate) type Fail = Box<Diagnostic>;

impl Diagnostic {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Fail {
        Box::new(Diagnostic { span, message: message.into(), notes: Vec::new(), fix: None })
    }

    /// Adds a remark.
    pub(crate) fn note(mut self: Box<Self>, note: impl Into<String>) -> Fail {
        self.notes.push(note.into());
        self
    }

    /// Adds a replacement of the part at fault.
    pub(crate) fn replace_with(self: Box<Self>, replacement: impl Into<String>) -> Fail {
        let span = self.span.clone();
        self.fix_at(span, replacement)
    }

    /// Removes the fix.
    pub(crate) fn without_fix(mut self: Box<Self>) -> Fail {
        self.fix = None;
        self
    }

    /// Adds a change of another part.
    pub(crate) fn fix_at(mut self: Box<Self>, span: Span, replacement: impl Into<String>) -> Fail {
        self.fix = Some(Fix { span, replacement: replacement.into() });
        self
    }

    /// Moves all positions by `offset` bytes: from a statement to the text that contains it.
    pub(crate) fn moved(mut self: Box<Self>, offset: usize) -> Fail {
        let shift = |span: &mut Span| *span = span.start + offset..span.end + offset;
        shift(&mut self.span);
        if let Some(fix) = &mut self.fix {
            shift(&mut fix.span);
        }
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.notes.iter().try_for_each(|note| write!(f, "; {note}"))
    }
}

impl core::error::Error for Diagnostic {}
