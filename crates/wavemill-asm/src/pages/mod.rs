//! Reference pages as HTML and Markdown: the contents of a page, and its two forms. Instruction
//! families make the contents.
//!
//! Pages link to each other by relative paths and need nothing else. A folder of them can be moved,
//! zipped or served.

mod boxes;
mod document;
mod html;
mod markdown;

pub(crate) use boxes::{Cell, draw};
pub(crate) use document::{Block, Document, Inline, Line, code, link, text};

/// The format of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageFormat {
    /// HTML with inline styles, for light and dark screens. It is well-formed XML, too.
    Html,
    /// Markdown as GitHub shows it.
    Markdown,
}

impl PageFormat {
    /// The file extension, without dot.
    pub const fn extension(self) -> &'static str {
        match self {
            PageFormat::Html => "html",
            PageFormat::Markdown => "md",
        }
    }
}

/// A page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its path below the folder of all pages, with `/` between folder and file.
    pub path: String,
    /// The whole file.
    pub contents: String,
}

impl Page {
    /// A document in a format.
    pub(crate) fn of(format: PageFormat, document: &Document) -> Page {
        Page {
            path: format!("{}.{}", document.path, format.extension()),
            contents: match format {
                PageFormat::Html => html::write(document),
                PageFormat::Markdown => markdown::write(document),
            },
        }
    }
}
