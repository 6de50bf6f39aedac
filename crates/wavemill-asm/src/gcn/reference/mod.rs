//! Reference pages of the instruction set, as HTML or Markdown: one for each instruction, and lists by format and by target.
//!
//! Their contents come from the rows: the pages show [`InstructionFacts`].

mod instruction;
mod lists;
mod paths;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Op};

use super::explain::InstructionFacts;
pub use crate::pages::{Page, PageFormat};

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
    documents.map(move |document| Page::of(format, &document))
}
