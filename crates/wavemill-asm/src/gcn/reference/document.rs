//! What pages consist of, whatever they are written in.

use super::super::explain::Cell;

/// A piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Inline {
    Text(String),
    Code(String),
    /// A link to another page: its text, and the page's path without ending.
    Link(String, String),
}

/// What a cell of a table or a paragraph holds.
pub(super) type Line = Vec<Inline>;

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Block {
    /// A heading: 2 for a part of the page, 3 for a part of a part.
    Heading(u8, String),
    Paragraph(Line),
    Table {
        head: Vec<&'static str>,
        rows: Vec<Vec<Line>>,
    },
    /// Machine words with their fields.
    Words(Vec<Cell>),
    /// Text in which every blank counts.
    Preformatted(String),
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Document {
    /// Where it belongs, without ending.
    pub(super) path: String,
    pub(super) title: String,
    pub(super) blocks: Vec<Block>,
}

impl Document {
    /// The way from this page to the one at `path`, without ending.
    pub(super) fn way_to(&self, path: &str) -> String {
        let up = "../".repeat(self.path.matches('/').count());
        format!("{up}{path}")
    }
}

/// A line of text alone.
pub(super) fn text(text: impl Into<String>) -> Line {
    vec![Inline::Text(text.into())]
}

/// A line of code alone.
pub(super) fn code(text: impl Into<String>) -> Line {
    vec![Inline::Code(text.into())]
}

/// A line that is a link.
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
