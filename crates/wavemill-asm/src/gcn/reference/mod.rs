//! Reference pages of the instruction set, as HTML or Markdown: one for each instruction, and lists by format and by target.
//!
//! Their contents come from the rows: the pages show [`InstructionFacts`]. Pages link to each other
//! by relative paths and need nothing else. A folder of them can be moved, zipped or served.

mod document;
mod html;
mod instruction;
mod lists;
mod markdown;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Op};

use super::explain::InstructionFacts;
use document::Document;

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

/// The folders of pages, besides the top folder.
pub const FOLDERS: [&str; 3] = ["format", "instruction", "target"];

/// All pages, for all targets or for one. The start page is first.
pub fn pages(format: PageFormat, only: Option<Target>) -> impl Iterator<Item = Page> {
    let rows = move || {
        let all = Op::ALL.iter().map(|op| op.row());
        all.filter(move |row| only.is_none_or(|only| row.targets.contains(only)))
    };
    let targets = Target::GCN.into_iter().filter(move |target| only.is_none_or(|only| only == *target));
    let formats = Format::ALL.iter().filter(move |format| rows().any(|row| row.format == **format));
    let documents = std::iter::once_with(move || lists::index(only))
        .chain(targets.map(lists::target))
        .chain(formats.map(move |format| lists::format(*format, only)))
        .chain(rows().map(move |row| instruction::document(&InstructionFacts::of(row.op, only), row.op)));
    documents.map(move |document| page(format, &document))
}

fn page(format: PageFormat, document: &Document) -> Page {
    Page {
        path: format!("{}.{}", document.path, format.extension()),
        contents: match format {
            PageFormat::Html => html::write(document),
            PageFormat::Markdown => markdown::write(document),
        },
    }
}
