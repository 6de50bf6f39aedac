//! Draws the pictures of the README and the handbook: what commands print in a terminal, and the chart of speeds.

use std::error::Error;
use std::process::ExitCode;

use anstyle_svg::Term;

use crate::chart;
use crate::generated::{self, Options};
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
    let write = |name: &str, picture: &str| {
        generated::write(options, &format!("docs/pictures/{name}.svg"), "pictures", picture)
    };
    for (name, command) in PICTURES {
        write(name, &draw(command, &folder.run(&format!("{command} --color always"))?)?)?;
    }
    write("speed", &chart::draw(&generated::read("BENCHMARKS.md")?)?)
}
