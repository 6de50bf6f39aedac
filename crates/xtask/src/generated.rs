//! Pages, and parts of pages, that are written by a chore.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

#[derive(Args)]
pub(crate) struct Options {
    /// Check that the pages are up to date, and write nothing
    #[arg(long)]
    check: bool,
}

/// The path of a page, from its path in the repository.
pub(crate) fn path(page: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", page].iter().collect()
}

/// The page as it is.
pub(crate) fn read(page: &str) -> Result<String, String> {
    fs::read_to_string(path(page)).map_err(|error| format!("{page}: {error}"))
}

/// Writes the page, or checks that it has this text. `chore` writes it.
pub(crate) fn write(
    options: &Options,
    page: &str,
    chore: &str,
    text: &str,
) -> Result<ExitCode, Box<dyn Error>> {
    if read(page).is_ok_and(|old| old == text) {
        println!("{page} is up to date");
    } else if options.check {
        return Err(format!("{page} is out of date; run `cargo run -p xtask -- {chore}`").into());
    } else {
        fs::write(path(page), text)?;
        println!("{page} is written");
    }
    Ok(ExitCode::SUCCESS)
}
