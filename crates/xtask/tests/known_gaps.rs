//! The list of gaps that AMD's audits of its emulator have (`known_gaps.txt`): it is complete, and
//! what it names exists.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use wavemill_suite::data::File;
use wavemill_suite::generate::FILES;

const LIST: &str = include_str!("known_gaps.txt");

/// The audits, with the last number of each and the numbers that it has withdrawn.
const AUDITS: [(&str, u32, &[u32]); 2] = [
    ("CDNA3", 131, &[48, 50, 115, 118]),
    ("CDNA4", 140, &[1, 2, 37, 43, 52, 74, 82, 91, 97, 103, 105, 113, 114, 129]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text(path: &Path) -> Option<String> {
    fs::read_to_string(root().join(path)).ok()
}

/// What holds a rule.
#[derive(Debug)]
enum Held<'a> {
    /// Tests, mnemonics of the conformance suite, facets.
    By(Vec<(&'a str, &'a str)>),
    /// The reason why the rule does not apply.
    NotApplicable,
    /// The reason why nothing holds it.
    Open,
}

/// A line of the list.
struct Gap<'a> {
    ids: Vec<&'a str>,
    held: Held<'a>,
}

/// Reads a line; the error says what is wrong.
fn read(line: &str) -> Result<Gap<'_>, String> {
    let columns: Vec<&str> = line.split(" | ").collect();
    let [ids, rule, held] = columns[..] else {
        return Err(format!("expected three columns, found {}", columns.len()));
    };
    if !rule.ends_with('.') || rule.len() > 160 {
        return Err("expected a rule of at most 160 bytes that ends with a full stop".to_owned());
    }
    let reason = |text: &str| match text.len() {
        20.. => Ok(()),
        _ => Err("expected a reason".to_owned()),
    };
    let held = if let Some(text) = held.strip_prefix("not applicable: ") {
        reason(text)?;
        Held::NotApplicable
    } else if let Some(text) = held.strip_prefix("open: ") {
        reason(text)?;
        Held::Open
    } else {
        let items = held.split("; ").map(|item| {
            let (kind, name) = item.split_once(' ').ok_or(format!("expected a kind and a name: `{item}`"))?;
            match kind {
                "test" | "suite" | "facet" => Ok((kind, name)),
                _ => Err(format!("expected `test`, `suite` or `facet`, found `{kind}`")),
            }
        });
        let items = items.collect::<Result<Vec<_>, String>>()?;
        if items.iter().all(|(kind, _)| *kind == "facet") {
            return Err("expected a test or a mnemonic of the suite: a facet holds nothing".to_owned());
        }
        Held::By(items)
    };
    Ok(Gap { ids: ids.split(' ').collect(), held })
}

fn gaps() -> Vec<Gap<'static>> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| read(line).unwrap_or_else(|error| panic!("{error}, in\n{line}"))).collect()
}

#[test]
fn every_gap_has_one_line() {
    let gaps = gaps();
    assert!(gaps.is_sorted_by(|a, b| a.ids < b.ids), "lines are in the order of ids");
    let mut listed = BTreeSet::new();
    for gap in &gaps {
        assert!(gap.ids.is_sorted(), "{:?}", gap.ids);
        for id in &gap.ids {
            assert!(listed.insert((*id).to_owned()), "{id} is on two lines");
        }
    }
    let all = AUDITS.iter().flat_map(|(audit, last, withdrawn)| {
        let numbers = (1..=*last).filter(|number| !withdrawn.contains(number));
        numbers.map(move |number| format!("{audit}-RJ-{number:03}"))
    });
    assert_eq!(listed, all.collect());
}

/// The file of a test, and the name of its function: `CRATE::FILE::NAME` is in `tests`, or in `src`
/// where the path begins with it.
fn function(name: &str) -> Option<(String, &str)> {
    let mut parts: Vec<&str> = name.split("::").collect();
    let function = parts.pop()?;
    let (krate, path) = parts.split_first()?;
    let path =
        if path.first() == Some(&"src") { path.join("/") } else { format!("tests/{}", path.join("/")) };
    let candidates = [format!("crates/{krate}/{path}.rs"), format!("crates/{krate}/{path}/mod.rs")];
    candidates.into_iter().find_map(|path| text(Path::new(&path))).map(|text| (text, function))
}

/// Whether the source has the test: a function of this name with the attribute right before it.
fn is_test(source: &str, name: &str) -> bool {
    let head = format!("fn {name}()");
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    lines.windows(2).any(|pair| pair[0] == "#[test]" && pair[1].starts_with(&head))
}

/// Mnemonics of the conformance suite, without the suffix of an encoding.
fn suite() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for name in FILES {
        let path = root().join(format!("conformance/{name}.txt.gz"));
        let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let file = File::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for test in file.tests {
            let mnemonic = test.text.split(' ').next().unwrap_or_default();
            let suffixes = ["_e32", "_e64", "_sdwa", "_dpp"];
            let name = suffixes.iter().find_map(|suffix| mnemonic.strip_suffix(suffix)).unwrap_or(mnemonic);
            names.insert(name.to_owned());
        }
    }
    names
}

#[test]
fn what_the_list_names_exists() {
    let suite = suite();
    let facets = text(Path::new("crates/wavemill-isa/rows/gcn/facets.reasons")).expect("facets have reasons");
    let mut missing = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for gap in gaps() {
        let kind = match &gap.held {
            Held::By(items) => {
                for (kind, name) in items {
                    let exists = match *kind {
                        "test" => function(name).is_some_and(|(source, name)| is_test(&source, name)),
                        "suite" => suite.contains(*name),
                        _ => facets.lines().any(|line| line.split(':').next() == Some(*name)),
                    };
                    if !exists {
                        missing.push(format!("{}: {kind} {name}", gap.ids.join(" ")));
                    }
                }
                "held"
            }
            Held::NotApplicable => "not applicable",
            Held::Open => "open",
        };
        *counts.entry(kind).or_default() += gap.ids.len();
    }
    assert!(missing.is_empty(), "these do not exist:\n{}", missing.join("\n"));
    let all: usize = counts.values().sum();
    println!("{all} gaps: {counts:?}");
    // CONFORMANCE.md has the same numbers.
    let row = format!(
        "{all} gaps: {} held by tests, {} not applicable, {} open",
        counts["held"], counts["not applicable"], counts["open"]
    );
    let page = text(Path::new("CONFORMANCE.md")).expect("the page is there");
    assert!(page.contains(&row), "CONFORMANCE.md has no `{row}`");
}

#[test]
fn wrong_lines_are_refused() {
    for line in [
        "CDNA3-RJ-001 | A rule.",
        "CDNA3-RJ-001 | A rule | test a::b::c",
        "CDNA3-RJ-001 | A rule. | ",
        "CDNA3-RJ-001 | A rule. | tests a::b::c",
        "CDNA3-RJ-001 | A rule. | facet nan_choice",
        "CDNA3-RJ-001 | A rule. | open: no",
    ] {
        assert!(read(line).is_err(), "{line}");
    }
    assert!(read("CDNA3-RJ-001 | A rule. | test a::b::c; facet d").is_ok());
    let is = |name| function(name).is_some_and(|(source, name)| is_test(&source, name));
    assert!(is("xtask::known_gaps::wrong_lines_are_refused"));
    assert!(
        !is("xtask::known_gaps::function")
            && !is("xtask::known_gaps::nothing")
            && !is("xtask::none::nothing")
    );
}
