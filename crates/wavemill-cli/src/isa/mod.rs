//! `wavemill isa`: reference pages of the instruction set.

use crate::input::Shown as _;
use std::fs;
use std::path::PathBuf;

use serde_json::json;
use wavemill_asm::cayman::reference as cayman;
use wavemill_asm::gcn::reference::{self as gcn, Page, PageFormat};
use wavemill_isa::Target;

use crate::failure::Failure;
use crate::files;
use crate::input;
use crate::message::{self, Kind};

/// Formats of pages.
#[derive(clap::ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Format {
    /// Self-contained HTML pages (default)
    #[default]
    Html,
    /// Markdown for GitHub
    Md,
}

/// Options of `wavemill isa`.
#[derive(clap::Args, Debug)]
pub(crate) struct IsaArgs {
    /// Write the pages into this folder; files of the same name are replaced
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// How to write them
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, hide_default_value = true)]
    format: Format,
    /// Only the instructions of this target or product, described for it
    #[arg(long, value_name = "TARGET", value_parser = input::parse_target_to_describe)]
    target: Option<Target>,
}

/// Writes the pages.
pub(crate) fn isa(args: &IsaArgs) -> Result<(), Failure> {
    let format = match args.format {
        Format::Html => PageFormat::Html,
        Format::Md => PageFormat::Markdown,
    };
    match args.target {
        Some(Target::Cayman) => write_pages(args, format, &cayman::FOLDERS, cayman::pages(format)),
        _ => write_pages(args, format, &gcn::FOLDERS, gcn::pages(format, args.target)),
    }
}

/// Writes pages into their folders.
fn write_pages(
    args: &IsaArgs,
    format: PageFormat,
    folders: &[&str],
    pages: impl Iterator<Item = Page>,
) -> Result<(), Failure> {
    for folder in folders {
        let folder = args.out.join(folder);
        fs::create_dir_all(&folder)
            .map_err(|error| Failure::output(&format!("`{}`", folder.shown()), &error))?;
    }
    let mut count = 0;
    for page in pages {
        let path = args.out.join(&page.path);
        files::write(&path, &page.contents)?;
        count += 1;
    }
    let first = args.out.join(format!("index.{}", format.extension()));
    let text = format!("wrote {count} pages; the first is {}", first.shown());
    message::say_with(Kind::Output, &text, &json!({ "file": first, "pages": count }));
    Ok(())
}
