//! The public types of the library have examples in their documentation.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Expr, Item, Lit, Meta, UseTree, Visibility};

/// The types without an example, with the reason.
const WITHOUT: [(&str, &str); 0] = [];

/// What a documentation says instead of an example: where to find one that has the type.
const ELSEWHERE: &str = "example of [`";

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The lines of a documentation.
fn documentation(attributes: &[Attribute]) -> String {
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(line) = &literal.lit
        {
            text += &line.value();
            text.push('\n');
        }
    }
    text
}

/// Whether a documentation has code that runs as a test: a block without `no_run` and the like.
fn has_code(documentation: &str) -> bool {
    let fences = documentation.lines().map(str::trim).filter(|line| line.starts_with("```"));
    // Every second fence ends a block.
    fences.step_by(2).any(|line| line == "```")
}

/// Whether a documentation has such code, or names the type that has it.
fn has_example(documentation: &str) -> bool {
    has_code(documentation) || documentation.contains(ELSEWHERE)
}

/// What a source has: its modules, types, and names that it passes on.
#[derive(Default)]
struct Source {
    /// The files of its modules, and whether users reach them by their names.
    modules: BTreeMap<String, bool>,
    /// Public types with their documentation.
    types: BTreeMap<String, String>,
    /// Names of `pub use`: the module, or the crate, and the name there; `*` is everything.
    passed_on: BTreeSet<(String, String)>,
}

/// The names of a `use`, each with the path before it.
fn names(tree: &UseTree, path: &mut Vec<String>, into: &mut BTreeSet<(String, String)>) {
    match tree {
        UseTree::Path(inner) => {
            path.push(inner.ident.to_string());
            names(&inner.tree, path, into);
            path.pop();
        }
        UseTree::Name(name) => drop(into.insert((path.join("::"), name.ident.to_string()))),
        UseTree::Rename(name) => drop(into.insert((path.join("::"), name.ident.to_string()))),
        UseTree::Glob(_) => drop(into.insert((path.join("::"), "*".to_owned()))),
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, path, into)),
    }
}

impl Source {
    fn parse(text: &str) -> syn::Result<Source> {
        let mut source = Source::default();
        for item in syn::parse_file(text)?.items {
            let (visibility, name, attributes) = match &item {
                Item::Mod(item) if item.content.is_none() => {
                    source.modules.insert(item.ident.to_string(), is_public(&item.vis));
                    continue;
                }
                Item::Use(item) if is_public(&item.vis) => {
                    names(&item.tree, &mut Vec::new(), &mut source.passed_on);
                    continue;
                }
                Item::Struct(item) => (&item.vis, &item.ident, &item.attrs),
                Item::Enum(item) => (&item.vis, &item.ident, &item.attrs),
                Item::Union(item) => (&item.vis, &item.ident, &item.attrs),
                Item::Trait(item) => (&item.vis, &item.ident, &item.attrs),
                _ => continue,
            };
            if is_public(visibility) {
                source.types.insert(name.to_string(), documentation(attributes));
            }
        }
        Ok(source)
    }
}

/// The file of a module, from the file of the module that has it.
fn file_of(parent: &Path, name: &str) -> PathBuf {
    let folder = match parent.file_stem().and_then(|stem| stem.to_str()) {
        Some("lib" | "mod") | None => parent.with_file_name(""),
        Some(_) => parent.with_extension(""),
    };
    let alone = folder.join(format!("{name}.rs"));
    if alone.is_file() { alone } else { folder.join(name).join("mod.rs") }
}

/// The crate's modules by their paths, and whether users reach each.
fn modules(file: &Path, path: &str, reached: bool, into: &mut BTreeMap<String, (Source, bool)>) {
    let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let source = Source::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    for (name, public) in &source.modules {
        modules(&file_of(file, name), &format!("{path}::{name}"), reached && *public, into);
    }
    into.insert(path.to_owned(), (source, reached));
}

/// The types of a crate that users reach, by the paths of their definitions, with their documentation.
///
/// Only `pub use` makes a type of a private module public, so all names that a reachable module passes on are followed.
fn reachable(modules: &BTreeMap<String, (Source, bool)>) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut seen = BTreeSet::new();
    let mut left: Vec<(String, String)> = modules
        .iter()
        .filter(|(_, (_, reached))| *reached)
        .map(|(path, _)| (path.clone(), "*".to_owned()))
        .collect();
    while let Some((path, name)) = left.pop() {
        if !seen.insert((path.clone(), name.clone())) {
            continue;
        }
        let Some((source, _)) = modules.get(&path) else { continue };
        let wanted = |known: &String| name == "*" || *known == name;
        let types = source.types.iter().filter(|(known, _)| wanted(known));
        found.extend(types.map(|(known, text)| (format!("{path}::{known}"), text.clone())));
        for (from, name) in source.passed_on.iter().filter(|(_, known)| known == "*" || wanted(known)) {
            // Of this crate, from its root or from the module that passes it on.
            let of_crate = from == "crate" || from.starts_with("crate::");
            let from = if of_crate { from.clone() } else { format!("{path}::{from}") };
            left.push((from, name.clone()));
        }
    }
    found
}

fn library() -> BTreeMap<String, (Source, bool)> {
    let mut all = BTreeMap::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wavemill/src/lib.rs");
    modules(&root, "crate", true, &mut all);
    all
}

#[test]
fn every_type_of_the_library_has_an_example() {
    let types = reachable(&library());
    assert!(types.len() > 60, "found only {} types: {:?}", types.len(), types.keys());
    for expected in
        ["crate::device::Device", "crate::launch::outcome::Outcome", "crate::unfinished::Unfinished"]
    {
        assert!(types.contains_key(expected), "`{expected}` is not among {:?}", types.keys());
    }
    let without: Vec<&str> = types
        .iter()
        .filter(|(_, documentation)| !has_example(documentation))
        .map(|(path, _)| path.as_str())
        .collect();
    let allowed: Vec<&str> = WITHOUT.iter().map(|(path, _)| *path).collect();
    assert_eq!(
        without, allowed,
        "public types without an example in their documentation (left) and those that may lack one (right): add one that \
         shows what a user does with the type"
    );
}

/// A link "example of" leads to a type that has one.
#[test]
fn links_to_examples_lead_to_examples() {
    let types = reachable(&library());
    let by_name: BTreeMap<&str, &String> =
        types.iter().map(|(path, text)| (path.rsplit("::").next().unwrap_or(path), text)).collect();
    for (path, documentation) in &types {
        for rest in documentation.split(ELSEWHERE).skip(1) {
            let name = rest.split('`').next().unwrap_or(rest);
            let of = by_name.get(name).unwrap_or_else(|| panic!("`{path}`: there is no type `{name}`"));
            assert!(has_code(of), "`{path}`: `{name}` has no example");
        }
    }
}

#[test]
fn the_check_notices() {
    let source = |text: &str| Source::parse(text).expect("it is Rust");
    let all = BTreeMap::from([
        (
            "crate".to_owned(),
            (
                source(
                    "mod a; pub mod b; pub use a::{One, Two as Other}; /// ```\n/// ```\npub struct Root;",
                ),
                true,
            ),
        ),
        (
            "crate::a".to_owned(),
            (source("pub struct One; pub enum Two {} pub struct Three; struct Own;"), false),
        ),
        (
            "crate::b".to_owned(),
            (source("mod c; pub use c::*; pub use crate::a::Three; pub trait Four {}"), true),
        ),
        (
            "crate::b::c".to_owned(),
            (source("/// The example of [`One`].\npub struct Five; pub use other::Six;"), false),
        ),
    ]);
    let found = reachable(&all);
    assert_eq!(
        found.keys().map(String::as_str).collect::<Vec<_>>(),
        [
            "crate::Root",
            "crate::a::One",
            "crate::a::Three",
            "crate::a::Two",
            "crate::b::Four",
            "crate::b::c::Five"
        ]
    );
    let with: Vec<&str> =
        found.iter().filter(|(_, text)| has_example(text)).map(|(path, _)| path.as_str()).collect();
    assert_eq!(with, ["crate::Root", "crate::b::c::Five"]);
    assert!(!has_example("Text with `code`.\n```no_run\nf();\n```\n"));
    assert!(has_example("Text.\n```text\na\n```\n```\nf();\n```\n"));
}
