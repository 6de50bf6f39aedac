//! The documents: links lead somewhere, commands are run, pages keep their size.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Links to files of the repository from pages that are read elsewhere, too.
const REPOSITORY: &str = "https://github.com/wavemill/wavemill/";

/// The most columns of a line of prose.
const WIDTH: usize = 100;

/// Words with a plainer one in the field, and that one.
const WORDS: [(&str, &str); 7] = [
    ("mistake", "error"),
    ("mistakes", "errors"),
    ("told", "reported"),
    ("tells", "prints, says"),
    ("hears", "receives"),
    ("anew", "again"),
    ("whoever", "the caller, the user"),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository is there")
}

/// A path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut all, part| {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(all.pop()),
            part => all.push(part),
        }
        all
    })
}

/// A document, by its path from the root.
struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    fn read(path: impl Into<PathBuf>) -> Page {
        let path = path.into();
        let text =
            fs::read_to_string(root().join(&path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Page { path, text }
    }

    fn events(&self) -> impl Iterator<Item = Event<'_>> {
        Parser::new_ext(&self.text, Options::ENABLE_TABLES)
    }

    /// Destinations of links and pictures.
    fn links(&self) -> Vec<String> {
        let destination = |event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.to_string())
            }
            _ => None,
        };
        self.events().filter_map(destination).filter(|link| !link.is_empty()).collect()
    }

    /// The names by which headings can be linked to, as GitHub and mdBook make them.
    fn anchors(&self) -> BTreeSet<String> {
        let (mut anchors, mut heading) = (BTreeSet::new(), None);
        for event in self.events() {
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let text = heading.take().unwrap_or_default();
                    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
                    anchors.insert(kept.collect::<String>().to_lowercase().replace(' ', "-"));
                }
                Event::Text(text) | Event::Code(text) => {
                    if let Some(heading) = &mut heading {
                        *heading += &text;
                    }
                }
                _ => {}
            }
        }
        anchors
    }

    /// Fenced blocks: what is behind the fence, and the text.
    fn blocks(&self) -> Vec<(String, String)> {
        let mut blocks: Vec<(String, String)> = Vec::new();
        let mut inside = false;
        for event in self.events() {
            match event {
                Event::Start(Tag::CodeBlock(kind)) => {
                    let info = match kind {
                        CodeBlockKind::Fenced(info) => info.to_string(),
                        CodeBlockKind::Indented => String::new(),
                    };
                    blocks.push((info, String::new()));
                    inside = true;
                }
                Event::End(TagEnd::CodeBlock) => inside = false,
                Event::Text(text) if inside => blocks.last_mut().expect("a block").1.push_str(&text),
                _ => {}
            }
        }
        blocks
    }

    /// Lines outside of blocks and tables, with their numbers.
    fn prose(&self) -> impl Iterator<Item = (usize, &str)> {
        let mut fenced = false;
        self.text.lines().enumerate().filter_map(move |(n, line)| {
            let fence = line.trim_start().starts_with("```");
            fenced ^= fence;
            (!fence && !fenced && !line.starts_with('|') && !line.starts_with("    "))
                .then_some((n + 1, line))
        })
    }
}

/// Adds the files under a folder whose names end so.
fn files(folder: &str, end: &str, found: &mut Vec<PathBuf>) {
    let path = root().join(folder);
    for entry in fs::read_dir(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())) {
        let entry = entry.expect("the folder can be read");
        let name = Path::new(folder).join(entry.file_name());
        if entry.path().is_dir() {
            files(&name.to_string_lossy(), end, found);
        } else if entry.file_name().to_string_lossy().ends_with(end) {
            found.push(normal(&name));
        }
    }
}

/// The pages that the handbook lists.
fn handbook() -> Vec<PathBuf> {
    let summary = Page::read("docs/SUMMARY.md");
    summary.links().iter().map(|link| Path::new("docs").join(link)).collect()
}

/// All documents that people read.
fn documents() -> Vec<Page> {
    let mut paths: Vec<PathBuf> = [
        "README",
        "ARCHITECTURE",
        "BENCHMARKS",
        "CHANGELOG",
        "CONFORMANCE",
        "CONTRIBUTING",
        "conformance/README",
        "kernels/README",
    ]
    .iter()
    .map(|name| PathBuf::from(format!("{name}.md")))
    .collect();
    files("docs", ".md", &mut paths);
    for entry in fs::read_dir(root().join("crates")).expect("there are crates") {
        let readme =
            Path::new("crates").join(entry.expect("the folder can be read").file_name()).join("README.md");
        if root().join(&readme).is_file() {
            paths.push(readme);
        }
    }
    paths.into_iter().map(Page::read).collect()
}

/// Old results, which the handbook does not list.
fn is_history(path: &Path) -> bool {
    path.starts_with("docs/benchmarks") || path == Path::new("docs/conformance-history.md")
}

/// What is wrong with a link of a page.
fn wrong(page: &Page, link: &str) -> Option<String> {
    let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
    let path = if let Some(rest) = target.strip_prefix(REPOSITORY) {
        let Some(rest) = ["blob/main/", "tree/main/"].iter().find_map(|kind| rest.strip_prefix(kind)) else {
            return Some("a link to the repository has blob/main/ or tree/main/".to_owned());
        };
        PathBuf::from(rest)
    } else if target.contains("://") || target.starts_with("mailto:") {
        return None;
    } else if target.is_empty() {
        page.path.clone()
    } else {
        normal(&page.path.parent().unwrap_or(Path::new("")).join(target))
    };
    if !root().join(&path).exists() {
        return Some(format!("there is no {}", path.display()));
    }
    if anchor.is_empty() || path.extension().is_none_or(|e| e != "md") {
        return None;
    }
    let anchors = Page::read(&path).anchors();
    (!anchors.contains(anchor)).then(|| format!("{} has no heading #{anchor}", path.display()))
}

#[test]
fn every_link_leads_somewhere() {
    let mut problems = Vec::new();
    let mut links = 0;
    for page in documents() {
        for link in page.links() {
            links += 1;
            if let Some(problem) = wrong(&page, &link) {
                problems.push(format!("{}: {link}: {problem}", page.path.display()));
            }
        }
    }
    assert!(links > 100, "{links} links");
    assert_eq!(problems, [] as [String; 0]);
}

#[test]
fn dead_links_are_seen() {
    let page = Page { path: "docs/run.md".into(), text: String::new() };
    let repository = |path: &str| format!("{REPOSITORY}{path}");
    for link in
        ["no.md", "run.md#no-such-heading", "../no/file", &repository("blob/main/no.rs"), &repository("x")]
    {
        assert!(wrong(&page, link).is_some(), "{link}");
    }
    for link in ["run.md", "../README.md", "https://llvm.org", &repository("blob/main/Cargo.toml")] {
        assert_eq!(wrong(&page, link), None, "{link}");
    }
}

/// mdBook shows only pages that SUMMARY.md lists, and nothing outside of its folder.
#[test]
fn the_handbook_has_all_that_its_pages_link_to() {
    let listed: BTreeSet<PathBuf> = handbook().into_iter().collect();
    let mut there = Vec::new();
    files("docs", ".md", &mut there);
    for path in there.iter().filter(|path| !is_history(path) && !path.ends_with("SUMMARY.md")) {
        assert!(listed.contains(path), "docs/SUMMARY.md does not list {}", path.display());
    }
    for path in &listed {
        let page = Page::read(path);
        for link in page.links().iter().filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let target =
                normal(&path.parent().expect("a folder").join(link.split('#').next().unwrap_or(link)));
            let shown = listed.contains(&target) || target.starts_with("docs/pictures");
            assert!(
                shown || target == Path::new("docs/mandelbrot.png"),
                "{}: {link} is not in the handbook",
                path.display()
            );
        }
    }
}

/// `.ci/examples` runs blocks by their language: a command in another block would be run by nobody.
#[test]
fn commands_stand_in_blocks_that_are_run() {
    let pages = handbook().into_iter().chain(["README.md".into()]).map(Page::read);
    for page in pages {
        for (info, text) in page.blocks() {
            let words: Vec<&str> = info.split_whitespace().collect();
            let run = match &words[..] {
                ["console", rest @ ..] | ["sh", rest @ ..] => {
                    let known =
                        rest.iter().all(|word| ["timed", "triton", "python", "install"].contains(word));
                    assert!(known, "{}: what is a block {info}?", page.path.display());
                    true
                }
                _ => false,
            };
            let command = |line: &&str| {
                ["$ ", "wavemill ", "cargo "].iter().any(|start| line.starts_with(start))
                    && !line.contains(" = ")
            };
            // The usage lines of options.md are no commands.
            let usage = page.path.ends_with("options.md") && info == "text";
            if let (false, false, Some(line)) = (run, usage, text.lines().find(command)) {
                panic!("{}: `{line}` is in a block that nobody runs", page.path.display());
            }
            // What installs something, or takes long, and nothing else, is left out.
            let install = |line: &&str| {
                [
                    "apt",
                    "sudo apt",
                    "pip",
                    "cargo",
                    "rustup",
                    "git",
                    "triton-venv/bin/pip",
                    ".ci/python wheel",
                    "source python-venv",
                    "python3 -m venv",
                    "#",
                    "RUSTFLAGS",
                ]
                .iter()
                .any(|start| line.starts_with(start))
            };
            if words.contains(&"install") {
                let other = text.lines().find(|line| !line.is_empty() && !install(line));
                assert_eq!(other, None, "{}: a block that is not run", page.path.display());
            }
        }
    }
}

#[test]
fn pages_keep_their_size() {
    for (path, lines, words) in [("README.md", 130, 1200), ("ARCHITECTURE.md", 200, 2000)] {
        let text = Page::read(path).text;
        let found = (text.lines().count(), text.split_whitespace().count());
        assert!(
            found.0 <= lines && found.1 <= words,
            "{path}: {found:?} lines and words, at most {lines}, {words}"
        );
    }
}

#[test]
fn prose_is_wrapped() {
    let mut long = Vec::new();
    for page in
        documents().iter().filter(|page| !is_history(&page.path) && !page.path.ends_with("docs/ir.md"))
    {
        for (n, line) in page.prose() {
            // A line of one word, a link for example, cannot be wrapped.
            let unbroken = line.split_whitespace().any(|word| word.chars().count() > WIDTH - 20);
            if line.chars().count() > WIDTH && !unbroken {
                long.push(format!("{}:{n}: {} columns", page.path.display(), line.chars().count()));
            }
        }
    }
    assert_eq!(long, [] as [String; 0]);
}

#[test]
fn words_are_those_of_the_field() {
    let mut found = Vec::new();
    for page in documents().iter().filter(|page| !is_history(&page.path)) {
        for (n, line) in page.prose() {
            let text =
                format!(" {} ", line.replace(|c: char| !c.is_alphanumeric() && c != '_', " ").to_lowercase());
            for (word, plain) in WORDS {
                if text.contains(&format!(" {word} ")) {
                    found.push(format!("{}:{n}: `{word}`; the field says `{plain}`", page.path.display()));
                }
            }
        }
    }
    assert_eq!(found, [] as [String; 0]);
}

/// Tests and files that the page of invariants names are there.
#[test]
fn invariants_name_tests_that_exist() {
    let page = Page::read("docs/internals/invariants.md");
    let mut named = 0;
    for line in page.text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
        let ticks = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
        let paths: Vec<PathBuf> = ticks(cells[0])
            .iter()
            .filter(|path| path.contains('/') && path.starts_with(|c: char| c.is_alphabetic()))
            .map(|path| root().join("crates").join(path))
            .collect();
        let mut text = String::new();
        for path in &paths {
            assert!(path.exists(), "{}: {line}", path.display());
            if path.is_file() {
                text += &fs::read_to_string(path).expect("a file of tests");
            }
        }
        let identifiers = ticks(cells[1]);
        let tests =
            identifiers.iter().filter(|name| name.matches('_').count() >= 2 && !name.contains(['/', '*']));
        for test in tests {
            named += 1;
            assert!(text.contains(&format!("fn {test}(")), "{line}\nhas no test {test}");
        }
    }
    assert!(named > 25, "{named} tests");
}
