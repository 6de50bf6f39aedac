//! Runs the commands that pages show, and compares what they print with what the pages say.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use snapbox::filter::NormalizeToExpected;
use snapbox::{Assert, Data, IntoData};

use crate::shell::Folder;

/// What stands between the outputs of two commands.
const MARK: &str = "=== a command of the page has ended, with exit code ";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write what the commands print into the pages
    #[arg(long)]
    update: bool,

    /// Run the blocks of this language alone
    #[arg(long, default_value = "console")]
    language: String,

    /// Pages in Markdown
    #[arg(required = true)]
    pages: Vec<PathBuf>,
}

/// A command that a page shows.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// The command, without the prompts.
    command: String,
    /// Where the page has what the command prints.
    output: Range<usize>,
    /// Number of its block.
    block: usize,
}

/// The commands in blocks of a language: lines behind `$ `, and those behind `> ` that go on.
fn steps(page: &str, language: &str) -> Vec<Step> {
    let (mut steps, mut block, mut inside) = (Vec::new(), 0, false);
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                block += 1;
                inside = *info == *language;
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(_) if inside => lines(page, range, block, &mut steps),
            _ => {}
        }
    }
    steps
}

/// Adds the commands of a part of a block.
fn lines(page: &str, part: Range<usize>, block: usize, steps: &mut Vec<Step>) {
    let mut at = part.start;
    for line in page[part].split_inclusive('\n') {
        let end = at + line.len();
        let text = line.trim_end_matches('\n');
        let goes_on = steps.last().is_some_and(|step| step.block == block && step.output == (at..at));
        if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: end..end, block });
        } else if let (Some(more), true) = (text.strip_prefix("> "), goes_on) {
            let step = steps.last_mut().expect("a command goes on");
            step.command = format!("{}\n{more}", step.command);
            step.output = end..end;
        } else if let Some(step) = steps.last_mut().filter(|step| step.block == block) {
            step.output.end = end;
        }
        at = end;
    }
}

/// Runs commands in one shell. What each printed, and its exit code.
fn execute(steps: &[Step], folder: &Folder) -> Result<Vec<(String, i32)>, Box<dyn Error>> {
    let mut script = String::from("export NO_COLOR=1\n");
    for Step { command, .. } in steps {
        // The exit code is kept for `echo $?`.
        script += &format!("{command}\nset -- $?; printf '%s%s\\n' '{MARK}' $1; (exit $1)\n");
    }
    let text = folder.run(&script)?;
    let mut rest = text.as_str();
    let mut results = Vec::new();
    while let Some((printed, behind)) = rest.split_once(MARK) {
        let (code, behind) = behind.split_once('\n').ok_or("the shell ended early")?;
        results.push((printed.to_owned(), code.parse()?));
        rest = behind;
    }
    if results.len() == steps.len() {
        Ok(results)
    } else {
        Err(format!("the shell ended behind command {} of {}: {rest}", results.len(), steps.len()).into())
    }
}

/// The page with what its commands print now, and what differs.
fn compare(page: &str, steps: &[Step], results: &[(String, i32)]) -> (String, Vec<String>) {
    let (mut new, mut problems, mut at) = (String::new(), Vec::new(), 0);
    for (n, (step, (printed, code))) in steps.iter().zip(results).enumerate() {
        let asks = |next: &Step| next.block == step.block && next.command == "echo $?";
        let asked = steps.get(n + 1).is_some_and(asks);
        if *code != 0 && !asked {
            problems.push(format!(
                "$ {}\nexit code {code}, and the page does not ask for it:\n{printed}",
                step.command
            ));
        }
        let expected = Data::text(&page[step.output.clone()]);
        let found = NormalizeToExpected::new().redact().normalize(printed.clone().into_data(), &expected);
        if let Err(difference) = Assert::new().try_eq(Some(&step.command), found.clone(), expected) {
            problems.push(format!("$ {}\n{difference}", step.command));
        }
        new += &page[at..step.output.start];
        new += &found.render().unwrap_or_default();
        at = step.output.end;
    }
    new += &page[at..];
    (new, problems)
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    for path in &options.pages {
        let page = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let steps = steps(&page, &options.language);
        let results = execute(&steps, &Folder::new()?).map_err(|e| format!("{}: {e}", path.display()))?;
        let (new, problems) = compare(&page, &steps, &results);
        println!("{}: {} commands, {} problems", path.display(), steps.len(), problems.len());
        for problem in &problems {
            println!("{}: {problem}", path.display());
        }
        if options.update {
            fs::write(path, new).map_err(|e| format!("{}: {e}", path.display()))?;
        } else if !problems.is_empty() {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n```console\n$ echo a; \\\n> echo b\na\n...\n$ false\n$ echo $?\n1\n```\n\n```sh\n$ no\n```\n\n```console\n$ echo $HOME/x\n[..]/x\n```\n";

    #[test]
    fn pages_are_run_as_they_stand() {
        let steps = steps(PAGE, "console");
        let commands: Vec<_> = steps.iter().map(|step| &*step.command).collect();
        assert_eq!(commands, ["echo a; \\\necho b", "false", "echo $?", "echo $HOME/x"]);
        let results = execute(&steps, &Folder::new().expect("a folder")).expect("a shell");
        assert_eq!(results.iter().map(|(_, code)| *code).collect::<Vec<_>>(), [0, 1, 0, 0]);
        let (new, problems) = compare(PAGE, &steps, &results);
        assert_eq!((&*new, &*problems), (PAGE, &[] as &[String]));
    }

    #[test]
    fn what_differs_is_reported_and_written() {
        let page = "```console\n$ echo a\nb\n$ (exit 3)\n```\n";
        let steps = steps(page, "console");
        let (new, problems) =
            compare(page, &steps, &execute(&steps, &Folder::new().expect("a folder")).expect("a shell"));
        assert_eq!(new, "```console\n$ echo a\na\n$ (exit 3)\n```\n");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[1].contains("exit code 3"), "{problems:?}");
    }
}
