//! Pages of the handbook that follow from the definition of the command line: options and exit codes.

use std::error::Error;
use std::fmt::Write as _;
use std::process::ExitCode;

use clap::builder::StyledStr;
use clap::{Arg, Command};
use wavemill_cli::Exit;

use crate::generated::{self, Options};

/// The page of options.
const OPTIONS: &str = "docs/options.md";
/// The page of exit codes.
const EXIT_CODES: &str = "docs/exit-codes.md";
/// The chore.
const CHORE: &str = "handbook";
/// Lines around the table of exit codes.
const BEGIN: &str = "<!-- codes: written by `cargo run -p xtask -- handbook` -->\n";
const END: &str = "<!-- /codes -->\n";

/// The most columns of a line.
const WIDTH: usize = 100;

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    generated::write(options, OPTIONS, CHORE, &options_page())?;
    generated::write(options, EXIT_CODES, CHORE, &with_codes(&generated::read(EXIT_CODES)?)?)
}

/// Text between backticks stays as it is; what Markdown would read elsewhere is escaped.
fn markdown(text: &str) -> String {
    let parts = text.split('`').enumerate();
    let part = |(n, part): (usize, &str)| match n % 2 {
        0 => part.replace('<', "\\<").replace('*', "\\*").replace('_', "\\_").replace('|', "\\|"),
        _ => part.to_owned(),
    };
    parts.map(part).collect::<Vec<_>>().join("`")
}

/// Adds a paragraph, wrapped, whose lines after the first have an indent.
pub(crate) fn paragraph(out: &mut String, first: &str, indent: &str, text: &str) {
    let mut line = first.to_owned();
    for word in text.split_whitespace() {
        let blank = usize::from(line.len() > indent.len() && !line.ends_with(' '));
        if line.chars().count() + blank + word.chars().count() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = indent.to_owned();
        } else if blank == 1 {
            line.push(' ');
        }
        line += word;
    }
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The text of a help message without its styles.
fn plain(text: Option<&StyledStr>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// How an argument is written: `-o, --out <FILE>`.
fn syntax(arg: &Arg) -> String {
    let values = arg.get_value_names().unwrap_or_default();
    let values: Vec<String> = values.iter().map(|name| format!("<{name}>")).collect();
    let takes = arg.get_action().takes_values();
    let optional = takes && arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    let value = match (takes, optional) {
        (false, _) => String::new(),
        (true, true) if !arg.is_positional() => format!("[={}]", values.join(" ")),
        (true, _) => values.join(" "),
    };
    let short = arg.get_short().map(|short| format!("-{short}"));
    let long = arg.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    let blank = if names.is_empty() || value.is_empty() || optional { "" } else { " " };
    format!("{}{blank}{value}", names.join(", "))
}

/// Adds an argument with its help.
fn argument(out: &mut String, arg: &Arg) {
    let help = plain(arg.get_long_help().or(arg.get_help()));
    let mut paragraphs = help.split("\n\n").filter(|text| !text.trim().is_empty());
    let lead = format!("- `{}`: ", syntax(arg));
    paragraph(out, &lead, "  ", &markdown(paragraphs.next().unwrap_or_default()));
    for text in paragraphs {
        out.push('\n');
        paragraph(out, "  ", "  ", &markdown(text));
    }
    let hidden = arg.is_hide_possible_values_set();
    let possible = arg.get_possible_values();
    let names: Vec<String> = possible
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if arg.get_action().takes_values() && !hidden && !names.is_empty() {
        out.push('\n');
        paragraph(out, "  ", "  ", &format!("Values: {}.", names.join(", ")));
    }
    let default: Vec<_> = arg.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if arg.get_action().takes_values() && !arg.is_hide_default_value_set() && !default.is_empty() {
        out.push('\n');
        paragraph(out, "  ", "  ", &format!("Default: `{}`.", default.join(" ")));
    }
}

/// Adds a command with its arguments, by the headings of its help page.
fn command(out: &mut String, command: &mut Command) {
    let name = command.get_name().to_owned();
    writeln!(out, "\n## wavemill {name}\n").expect("writing to a string");
    paragraph(out, "", "", &markdown(&(plain(command.get_about()) + ".")));
    let usage = command.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").lines().map(str::trim);
    writeln!(out, "\n```text\n{}\n```", usage.collect::<Vec<_>>().join("\n")).expect("writing to a string");
    let shown: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_hide_set() && !arg.is_global_set() && arg.get_id() != "help")
        .collect();
    let heading = |arg: &Arg| match arg.get_help_heading() {
        _ if arg.is_positional() => "Arguments".to_owned(),
        Some(heading) => heading.to_owned(),
        None => "Options".to_owned(),
    };
    let mut headings: Vec<String> = Vec::new();
    for arg in &shown {
        if !headings.contains(&heading(arg)) {
            headings.push(heading(arg));
        }
    }
    // Positional arguments come first, as in help pages.
    headings.sort_by_key(|heading| heading != "Arguments");
    for title in headings {
        writeln!(out, "\n### {title} ({name})\n").expect("writing to a string");
        for (n, arg) in shown.iter().filter(|arg| heading(arg) == title).enumerate() {
            if n > 0 {
                out.push('\n');
            }
            argument(out, arg);
        }
    }
}

/// The page of all options.
fn options_page() -> String {
    let mut out = String::from(
        "# Options\n\n<!-- Written by `cargo run -p xtask -- handbook` from the definition of the command line. -->\n\n\
         Every option of every command, as `wavemill COMMAND --help` prints it. `-h` prints fewer.\n",
    );
    let mut cli = wavemill_cli::definition();
    cli.build();
    out += "\n## Options of all commands\n\n";
    for (n, arg) in cli.get_arguments().filter(|arg| arg.is_global_set() && !arg.is_hide_set()).enumerate() {
        if n > 0 {
            out.push('\n');
        }
        argument(&mut out, arg);
    }
    for sub in cli.get_subcommands_mut().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        command(&mut out, sub);
    }
    out
}

/// The page of exit codes with its table.
fn with_codes(page: &str) -> Result<String, String> {
    let missing =
        || format!("expected a part between `{}` and `{}` in {EXIT_CODES}", BEGIN.trim(), END.trim());
    let (head, rest) = page.split_once(BEGIN).ok_or_else(missing)?;
    let (_, tail) = rest.split_once(END).ok_or_else(missing)?;
    let mut table = String::from("\n| code | meaning |\n|---:|---|\n| 0 | everything went well |\n");
    for exit in Exit::ALL {
        let meaning = markdown(&exit.meaning().replace('\n', " "));
        writeln!(table, "| {} | {meaning} |", *exit as u8).expect("writing to a string");
    }
    Ok([head, BEGIN, &table, "\n", END, tail].concat())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use pulldown_cmark::{Event, Parser, Tag};

    use super::*;

    #[test]
    fn pages_are_up_to_date() {
        let stale = "run `cargo run -p xtask -- handbook`";
        assert!(generated::read(OPTIONS).expect(OPTIONS) == options_page(), "{stale}");
        let page = generated::read(EXIT_CODES).expect(EXIT_CODES);
        assert!(with_codes(&page).expect("its table") == page, "{stale}");
    }

    #[test]
    fn the_page_has_what_help_has() {
        let page = options_page();
        for expected in
            ["## wavemill run", "- `--grid <SIZE>`: ", "- `--trace-format <FORMAT>`", "## wavemill mc"]
        {
            assert!(page.contains(expected), "{expected}");
        }
        assert!(page.lines().all(|line| line.chars().count() <= WIDTH || !line.contains(' ')), "{page}");
    }

    /// Options that pages name are those of the command, as are the options of lines that run it.
    #[test]
    fn pages_name_options_that_exist() {
        let mut cli = wavemill_cli::definition();
        cli.build();
        let mut known: BTreeSet<String> = std::iter::once(&cli)
            .chain(cli.get_subcommands())
            .flat_map(Command::get_arguments)
            .flat_map(|arg| arg.get_long_and_visible_aliases().unwrap_or_default())
            .map(str::to_owned)
            .collect();
        // `python -m wavemill.triton --no-bench` and its kin.
        for program in ["triton", "tinygrad"] {
            let file = format!("crates/wavemill-python/python/wavemill/{program}/__main__.py");
            let text = generated::read(&file).expect("a program of the Python package");
            let options = text.split("\"--").skip(1).filter_map(|rest| rest.split('"').next());
            known.extend(options.map(str::to_owned));
        }
        let summary = generated::read("docs/SUMMARY.md").expect("the handbook has a summary");
        let pages = Parser::new(&summary).filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. }) if !dest_url.is_empty() => {
                Some(format!("docs/{dest_url}"))
            }
            _ => None,
        });
        let (mut named, mut wrong) = (0, Vec::new());
        for page in pages.chain(["README.md".to_owned()]) {
            let text = generated::read(&page).expect("a page of the summary");
            for event in Parser::new_ext(&text, pulldown_cmark::Options::ENABLE_TABLES) {
                let Event::Code(code) = event else { continue };
                let ours = code.starts_with("--") || code.starts_with("wavemill ");
                for option in
                    code.split_whitespace().filter_map(|word| word.strip_prefix("--")).filter(|_| ours)
                {
                    let end = option.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
                    let name = &option[..end.unwrap_or(option.len())];
                    named += 1;
                    if !name.is_empty() && !known.contains(name) {
                        wrong.push(format!("{page}: --{name}"));
                    }
                }
            }
        }
        assert!(named > 50, "{named} options");
        assert_eq!(wrong, [] as [String; 0]);
    }
}
