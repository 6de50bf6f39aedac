//! The contents of pages, independent of their format.

use super::boxes::Cell;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Inline {
    Text(String),
    Code(String),
    /// A link to another page: its text, and the page's path without extension.
    Link(String, String),
}

/// The contents of a table cell or a paragraph.
pub(crate) type Line = Vec<Inline>;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Block {
    /// A heading: level 2 for a part of the page, 3 for a subsection.
    Heading(u8, String),
    Paragraph(Line),
    Table {
        head: Vec<&'static str>,
        rows: Vec<Vec<Line>>,
    },
    /// Machine words with their fields.
    Words(Vec<Cell>),
    /// Text with significant blanks.
    Preformatted(String),
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Document {
    /// Its path, without extension.
    pub(crate) path: String,
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

impl Document {
    /// The relative path from this page to the one at `path`, without extension.
    pub(crate) fn way_to(&self, path: &str) -> String {
        let up = "../".repeat(self.path.matches('/').count());
        format!("{up}{path}")
    }
}

/// A line with text only.
pub(crate) fn text(text: impl Into<String>) -> Line {
    vec![Inline::Text(text.into())]
}

/// A line with code only.
pub(crate) fn code(text: impl Into<String>) -> Line {
    vec![Inline::Code(text.into())]
}

/// A line with a link only.
pub(crate) fn link(text: impl Into<String>, path: String) -> Line {
    vec![Inline::Link(text.into(), path)]
}
