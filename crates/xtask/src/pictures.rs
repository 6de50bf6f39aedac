//! Draws what commands print in a terminal, for the README and the handbook.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstyle_svg::Term;

use crate::shell::Folder;

/// Pictures with the commands that they show.
const PICTURES: [(&str, &str); 2] = [
    (
        "fault",
        "wavemill run examples/source/saxpy.cl --grid 4 --block 256 a=2 'x[1000]=iota' 'y[1000]=ones' n=1024",
    ),
    (
        "stuck",
        "wavemill run examples/source/ticket_lock.cl --grid 1 --block 64 'ticket[1]' 'serving[1]' 'total[1]'",
    ),
];

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Compare the pictures with what the commands print now, and write nothing
    #[arg(long)]
    check: bool,
}

/// The prompt, the command and what it prints from its error on: what is in front of that is the user's compiler.
fn draw(command: &str, printed: &str) -> Result<String, Box<dyn Error>> {
    let at = printed
        .find("\u{1b}[1m\u{1b}[31merror")
        .ok_or_else(|| format!("`{command}` prints no error: {printed}"))?;
    let text = format!("\u{1b}[1m$\u{1b}[0m {command}\n{}", printed[at..].trim_end());
    Ok(Term::new().render_svg(&text))
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let folder = Folder::new()?;
    let pictures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let mut stale: Vec<PathBuf> = Vec::new();
    for (name, command) in PICTURES {
        let path = pictures.join(format!("{name}.svg"));
        let picture = draw(command, &folder.run(&format!("{command} --color always"))?)?;
        if !options.check {
            fs::write(&path, picture).map_err(|e| format!("{}: {e}", path.display()))?;
        } else if fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))? != picture {
            stale.push(path);
        }
    }
    for path in &stale {
        println!("{} shows what its command does not print: run `xtask pictures`", path.display());
    }
    Ok(if stale.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
