//! `wavemill completions` and `wavemill man`: generated from the definition of the command line.

use crate::input::Shown as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::Failure;
use crate::files;
use crate::text::closest;

/// Options of `wavemill completions`.
#[derive(clap::Args, Debug)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Prints the completions of a shell.
pub(crate) fn completions(args: &CompletionsArgs, mut command: Command) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut command, "wavemill", &mut text);
    std::io::stdout().lock().write_all(&text)?;
    Ok(())
}

/// Options of `wavemill man`.
#[derive(clap::Args, Debug)]
pub(crate) struct ManArgs {
    /// The subcommand whose page to print; by default, the page of `wavemill` itself
    subcommand: Option<String>,
    /// Write all pages into this folder instead
    #[arg(long, value_name = "FOLDER", conflicts_with = "subcommand")]
    out: Option<PathBuf>,
}

/// A page and the name of its file.
struct Page {
    file: String,
    text: Vec<u8>,
}

/// The pages: `wavemill` itself first, then the subcommands.
fn pages(command: &Command) -> std::io::Result<Vec<(Option<String>, Page)>> {
    let page = |command: Command| {
        let version = concat!("wavemill ", env!("CARGO_PKG_VERSION"));
        let man = Man::new(command).source(version).manual("Wavemill");
        let mut text = Vec::new();
        man.render(&mut text)?;
        Ok::<_, std::io::Error>(Page { file: man.get_filename(), text })
    };
    let mut pages = vec![(None, page(command.clone())?)];
    let hidden = |sub: &&Command| !sub.is_hide_set() && sub.get_name() != "help";
    for sub in command.get_subcommands().filter(hidden) {
        pages.push((Some(sub.get_name().to_owned()), page(sub.clone())?));
    }
    Ok(pages)
}

/// Prints or writes man pages.
pub(crate) fn man(args: &ManArgs, mut command: Command) -> Result<(), Failure> {
    // This gives the subcommands their full names, and the options of all commands.
    command.build();
    let pages = pages(&command)?;
    if let Some(folder) = &args.out {
        return write(folder, &pages);
    }
    let names = || pages.iter().filter_map(|(name, _)| name.as_deref());
    let found = pages.iter().find(|(name, _)| *name == args.subcommand);
    let Some((_, page)) = found else {
        let wanted = args.subcommand.as_deref().unwrap_or_default();
        let near = closest(wanted, names());
        let hint = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        return Err(Failure::usage(format!(
            "there is no subcommand `{wanted}`{hint}",
            wanted = wanted.shown()
        ))
        .help(format!("Subcommands are {}.", names().collect::<Vec<_>>().join(", "))));
    };
    std::io::stdout().lock().write_all(&page.text)?;
    Ok(())
}

fn write(folder: &Path, pages: &[(Option<String>, Page)]) -> Result<(), Failure> {
    let failed = |path: &Path, error| Failure::output(&format!("`{}`", path.shown()), &error);
    std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
    for (_, page) in pages {
        let path = folder.join(&page.file);
        files::write(&path, &page.text)?;
    }
    Ok(())
}
