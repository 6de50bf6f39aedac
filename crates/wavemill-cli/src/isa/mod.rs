//! `wavemill isa`: reference pages of the instruction set.

use crate::input::Shown as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use wavemill_asm::gcn::reference::{FOLDERS, PageFormat, pages};
use wavemill_isa::Target;

use crate::cayman;
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

/// Writes the page of Cayman.
fn write_cayman(args: &IsaArgs) -> Result<(), Failure> {
    if args.format != Format::Md {
        return Err(Failure::usage("expected --format md for cayman, found html")
            .help("Its reference is one page of Markdown."));
    }
    fs::create_dir_all(&args.out)
        .map_err(|error| Failure::output(&format!("`{}`", args.out.shown()), &error))?;
    let path = args.out.join("cayman.md");
    files::write(&path, cayman::isa())?;
    let text = format!("wrote {}", path.shown());
    message::say_with(Kind::Output, &text, &json!({ "file": path, "pages": 1 }));
    Ok(())
}

/// Writes the pages.
pub(crate) fn isa(args: &IsaArgs) -> Result<(), Failure> {
    if args.target == Some(Target::Cayman) {
        return write_cayman(args);
    }
    let failed = |path: &Path, error| Failure::output(&format!("`{}`", path.shown()), &error);
    for folder in FOLDERS {
        let folder = args.out.join(folder);
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
    }
    let format = match args.format {
        Format::Html => PageFormat::Html,
        Format::Md => PageFormat::Markdown,
    };
    let mut count = 0;
    for page in pages(format, args.target) {
        let path = args.out.join(&page.path);
        files::write(&path, &page.contents)?;
        count += 1;
    }
    let first = args.out.join(format!("index.{}", format.extension()));
    let text = format!("wrote {count} pages; the first is {}", first.shown());
    message::say_with(Kind::Output, &text, &json!({ "file": first, "pages": count }));
    Ok(())
}
