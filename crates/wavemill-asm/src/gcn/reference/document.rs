//! The contents of pages, independent of their format.

use super::super::explain::Cell;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inline {
    Text(String),
    Code(String),
    /// A link to another page: its text, and the page's path without extension.
    Link(String, String),
}

/// The contents of a table cell or a paragraph.
pub(super) type Line = Vec<Inline>;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
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
pub(super) struct Document {
    /// Its path, without extension.
    pub(super) path: String,
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

impl Document {
    /// The relative path from this page to the one at `path`, without extension.
    pub(super) fn way_to(&self, path: &str) -> String {
        let up = "../".repeat(self.path.matches('/').count());
        format!("{up}{path}")
    }
}

/// A line with text only.
pub(super) fn text(text: impl Into<String>) -> Line {
    vec![Inline::Text(text.into())]
}

/// A line with code only.
pub(super) fn code(text: impl Into<String>) -> Line {
    vec![Inline::Code(text.into())]
}

/// A line with a link only.
pub(super) fn link(text: impl Into<String>, path: String) -> Line {
    vec![Inline::Link(text.into(), path)]
}

/// The page of an instruction, by its newest mnemonic.
pub(super) fn instruction_path(name: &str) -> String {
    format!("instruction/{name}")
}

/// The page of a format.
pub(super) fn format_path(name: &str) -> String {
    format!("format/{name}")
}

/// The page of a target.
pub(super) fn target_path(name: &str) -> String {
    format!("target/{name}")
}
