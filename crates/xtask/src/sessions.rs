//! Runs the commands that pages show, and compares what they print with what the pages say.
//!
//! The language of a fenced block says what happens to it:
//!
//! - `console`: commands after `$ `, continued after `> `, and what they print, which is compared;
//! - `console timed`: the same, and measured numbers may differ;
//! - `sh`: a script, which must succeed; the page does not show what it prints;
//! - `sh install`: a script that installs something, which is not run here;
//! - any of them with a further word: run only if `--with` names the word.
//!
//! A page's blocks run in one shell, in a folder that looks like the root of the repository. With
//! `--with`, all pages share the folder, so that one page can install what the others need.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::ExitCode;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use snapbox::filter::NormalizeToExpected;
use snapbox::{Assert, Data, IntoData};

use crate::generated;
use crate::shell::Folder;

/// Separates the outputs of two commands.
const MARK: &str = "=== a command of the page has ended, with exit code ";

#[derive(clap::Args)]
pub(crate) struct Options {
    /// Write what the commands print into the pages
    #[arg(long)]
    update: bool,

    /// Run the blocks with this word after their language, and no others
    #[arg(long, value_name = "WORD")]
    with: Option<String>,

    /// Pages in Markdown; README.md and the whole handbook without any
    pages: Vec<PathBuf>,
}

/// The pages that docs/SUMMARY.md lists, and README.md.
fn all_pages() -> Result<Vec<PathBuf>, String> {
    let summary = generated::read("docs/SUMMARY.md")?;
    let link = |event| match event {
        Event::Start(Tag::Link { dest_url, .. }) if !dest_url.is_empty() => {
            Some(generated::path("docs").join(&*dest_url))
        }
        _ => None,
    };
    // README.md is last: it uses what pages of the handbook install.
    Ok(Parser::new(&summary).filter_map(link).chain([generated::path("README.md")]).collect())
}

/// What is compared after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    /// Everything that it prints.
    Text,
    /// Everything except measured numbers.
    Untimed,
    /// Nothing: the page does not show what it prints.
    Nothing,
}

/// A command or script that a page shows.
#[derive(Debug, PartialEq, Eq)]
struct Step {
    /// The command, without the prompts.
    command: String,
    /// Where the page has what the command prints.
    output: Range<usize>,
    /// Number of its block.
    block: usize,
    compared: Compared,
}

/// How the block with an info string is run, if it is.
fn kind(info: &str, with: Option<&str>) -> Option<Compared> {
    let mut words = info.split_whitespace();
    let compared = match words.next()? {
        "console" => Compared::Text,
        "sh" => Compared::Nothing,
        _ => return None,
    };
    let (timed, others): (Vec<_>, Vec<_>) = words.partition(|word| *word == "timed");
    let compared = if timed.is_empty() { compared } else { Compared::Untimed };
    (others == Vec::from_iter(with)).then_some(compared)
}

/// The commands of a page, in their order.
fn steps(page: &str, with: Option<&str>) -> Vec<Step> {
    let (mut steps, mut block, mut inside) = (Vec::new(), 0, None);
    for (event, range) in Parser::new(page).into_offset_iter() {
        match (event, inside) {
            (Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))), _) => {
                block += 1;
                inside = kind(&info, with);
            }
            (Event::End(TagEnd::CodeBlock), _) => inside = None,
            (Event::Text(_), Some(Compared::Nothing)) => {
                let output = range.end..range.end;
                steps.push(Step {
                    command: page[range].to_owned(),
                    output,
                    block,
                    compared: Compared::Nothing,
                });
            }
            (Event::Text(_), Some(compared)) => lines(page, range, block, compared, &mut steps),
            _ => {}
        }
    }
    steps
}

/// Adds the commands of a part of a `console` block.
fn lines(page: &str, part: Range<usize>, block: usize, compared: Compared, steps: &mut Vec<Step>) {
    let mut at = part.start;
    for line in page[part].split_inclusive('\n') {
        let end = at + line.len();
        let text = line.trim_end_matches('\n');
        let continues = steps.last().is_some_and(|step| step.block == block && step.output == (at..at));
        if let Some(command) = text.strip_prefix("$ ") {
            steps.push(Step { command: command.to_owned(), output: end..end, block, compared });
        } else if let (Some(more), true) = (text.strip_prefix("> "), continues) {
            let step = steps.last_mut().expect("a command continues");
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
    for Step { command, compared, .. } in steps {
        // Any line of a script may fail, not only its last one.
        let command = match compared {
            Compared::Nothing => {
                format!("failed=0; trap 'failed=$?' ERR\n{command}\ntrap - ERR; (exit $failed)")
            }
            _ => command.clone(),
        };
        // The exit code is kept for `echo $?`.
        script += &format!("{command}\nset -- $?; printf '%s%s\\n' '{MARK}' $1; (exit $1)\n");
    }
    let text = folder.run(&script)?;
    let mut rest = text.as_str();
    let mut results = Vec::new();
    while let Some((printed, after)) = rest.split_once(MARK) {
        let (code, after) = after.split_once('\n').ok_or("the shell ended early")?;
        results.push((printed.to_owned(), code.parse()?));
        rest = after;
    }
    if results.len() == steps.len() {
        Ok(results)
    } else {
        Err(format!("the shell ended after command {} of {}: {rest}", results.len(), steps.len()).into())
    }
}

/// The text without its measured numbers, their units, and the blanks and rules that depend on their width.
fn untimed(text: &str) -> String {
    const UNITS: [&str; 8] = ["ns", "us", "ms", "s", "k", "K", "M", "G"];
    let mut out = String::new();
    for line in text.lines() {
        let mut words: Vec<&str> = Vec::new();
        for word in line.split_whitespace() {
            let number = word.trim_matches(['(', ')', ',', '%', ';', 'x']);
            let ruled = word.starts_with("|-") && word.chars().all(|c| "|-:".contains(c));
            if UNITS.contains(&number) && words.last() == Some(&"#") {
                continue;
            }
            words.push(if number.parse::<f64>().is_ok() {
                "#"
            } else if ruled {
                "|-"
            } else {
                word
            });
        }
        out += &words.join(" ");
        out.push('\n');
    }
    out
}

/// What a command printed, with the parts that the page elides, and how it differs from the page.
fn difference(command: &str, printed: String, expected: &str) -> (String, Option<String>) {
    let expected = Data::text(expected);
    let found = NormalizeToExpected::new().redact().normalize(printed.into_data(), &expected);
    let problem = Assert::new().try_eq(Some(&command), found.clone(), expected).err();
    (found.render().unwrap_or_default(), problem.map(|problem| problem.to_string()))
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
        let expected = &page[step.output.clone()];
        let same = match step.compared {
            Compared::Text => false,
            Compared::Untimed => difference(&step.command, untimed(printed), &untimed(expected)).1.is_none(),
            Compared::Nothing => true,
        };
        new += &page[at..step.output.start];
        if same {
            new += expected;
        } else {
            let (found, problem) = difference(&step.command, printed.clone(), expected);
            problems.extend(problem.map(|problem| format!("$ {}\n{problem}", step.command)));
            new += &found;
        }
        at = step.output.end;
    }
    new += &page[at..];
    (new, problems)
}

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    let mut code = ExitCode::SUCCESS;
    let pages = if options.pages.is_empty() { &all_pages()? } else { &options.pages };
    let shared = Folder::new()?;
    for path in pages {
        let page = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let steps = steps(&page, options.with.as_deref());
        if steps.is_empty() {
            continue;
        }
        let own = if options.with.is_some() { None } else { Some(Folder::new()?) };
        let results = execute(&steps, own.as_ref().unwrap_or(&shared));
        let results = results.map_err(|e| format!("{}: {e}", path.display()))?;
        let (new, problems) = compare(&page, &steps, &results);
        println!("{}: {} commands, {} problems", path.display(), steps.len(), problems.len());
        for problem in &problems {
            println!("{}: {problem}", path.display());
        }
        if options.update {
            fs::write(path, new).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        if !problems.is_empty() && !options.update {
            code = ExitCode::FAILURE;
        }
    }
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n\n```console\n$ echo a; \\\n> echo b\na\n...\n$ false\n$ echo $?\n1\n```\n\n```sh install\nfalse\n```\n\n```sh\ncd /\n```\n\n```sh triton\nfalse\n```\n\n```console\n$ echo $HOME/x\n[..]/x\n```\n";

    #[test]
    fn pages_are_run_as_they_stand() {
        let steps = steps(PAGE, None);
        let commands: Vec<_> = steps.iter().map(|step| &*step.command).collect();
        assert_eq!(commands, ["echo a; \\\necho b", "false", "echo $?", "cd /\n", "echo $HOME/x"]);
        let results = execute(&steps, &Folder::new().expect("a folder")).expect("a shell");
        assert_eq!(results.iter().map(|(_, code)| *code).collect::<Vec<_>>(), [0, 1, 0, 0, 0]);
        let (new, problems) = compare(PAGE, &steps, &results);
        assert_eq!((&*new, &*problems), (PAGE, &[] as &[String]));
    }

    #[test]
    fn what_differs_is_reported_and_written() {
        let page = "```console\n$ echo a\nb\n$ (exit 3)\n```\n";
        let steps = steps(page, None);
        let (new, problems) =
            compare(page, &steps, &execute(&steps, &Folder::new().expect("a folder")).expect("a shell"));
        assert_eq!(new, "```console\n$ echo a\na\n$ (exit 3)\n```\n");
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[1].contains("exit code 3"), "{problems:?}");
    }

    #[test]
    fn measured_numbers_may_differ_and_nothing_else() {
        let page = |text: &str| format!("```console timed\n$ echo '{text}'\n| a |  12.5 ms |  3 |\n```\n");
        let problems = |page: &str| {
            let steps = steps(page, None);
            compare(page, &steps, &execute(&steps, &Folder::new().expect("a folder")).expect("a shell")).1
        };
        assert_eq!(problems(&page("| a | 1.5 s | 123 |")), [] as [String; 0]);
        assert_eq!(problems(&page("| b | 1.5 s | 123 |")).len(), 1);
        assert_eq!(problems(&page("| a | 1.5 s |")).len(), 1);
    }

    #[test]
    fn words_after_the_language_choose_blocks() {
        assert_eq!(kind("sh triton", None), None);
        assert_eq!(kind("sh triton", Some("triton")), Some(Compared::Nothing));
        assert_eq!(kind("console timed", None), Some(Compared::Untimed));
        assert_eq!(kind("console", Some("triton")), None);
        assert_eq!(kind("sh triton install", Some("triton")), None);
    }

    #[test]
    fn every_line_of_a_script_counts() {
        let page =
            "```sh\n(exit 3)\ntrue\n```\n\n```sh\nfalse || true\n```\n\n```console\n$ echo a\na\n```\n";
        let steps = steps(page, None);
        let results = execute(&steps, &Folder::new().expect("a folder")).expect("a shell");
        assert_eq!(results.iter().map(|(_, code)| *code).collect::<Vec<_>>(), [3, 0, 0]);
        assert_eq!(compare(page, &steps, &results).1.len(), 1);
    }
}
