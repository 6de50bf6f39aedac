//! The reference pages: every row has one, every link has a destination, and the output is
//! well-formed.

use std::collections::{BTreeMap, BTreeSet};

use wavemill_asm::gcn::reference::{FOLDERS, PageFormat, pages};
use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Op};

/// Pages by path.
fn site(format: PageFormat, only: Option<Target>) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for page in pages(format, only) {
        assert!(all.insert(page.path.clone(), page.contents).is_none(), "{} twice", page.path);
    }
    all
}

/// The destination of a relative link of a page.
fn resolve(page: &str, link: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        if part == ".." {
            assert!(parts.pop().is_some(), "{page}: {link} leads out of the folder");
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// Every row has a page, every page is linked, every link has a page.
fn check_site(
    all: &BTreeMap<String, String>,
    ending: &str,
    only: Option<Target>,
    links: impl Fn(&str) -> Vec<String>,
) {
    let rows =
        || Op::ALL.iter().map(|op| op.row()).filter(|row| only.is_none_or(|only| row.targets.contains(only)));
    for row in rows() {
        let path = format!("instruction/{}.{ending}", row.name());
        let page = all.get(&path).unwrap_or_else(|| panic!("no {path}"));
        for (targets, name) in row.mnemonics() {
            if only.is_none_or(|only| targets.contains(only)) {
                assert!(page.contains(name), "{path} does not name {name}");
            }
        }
    }
    let targets = only.map_or(Target::GCN.len(), |_| 1);
    let formats = Format::ALL.iter().filter(|format| rows().any(|row| row.format == **format)).count();
    assert_eq!(all.len(), rows().count() + targets + formats + 1);
    check_links(all, ending, &FOLDERS, links);
}

/// Every page is linked, every link has a page, and pages are in these folders.
fn check_links(
    all: &BTreeMap<String, String>,
    ending: &str,
    folders: &[&str],
    links: impl Fn(&str) -> Vec<String>,
) {
    let mut linked = BTreeSet::from([format!("index.{ending}")]);
    for (path, contents) in all {
        let folder = path.split_once('/').map(|(folder, _)| folder);
        assert!(folder.is_none_or(|folder| folders.contains(&folder)), "{path}");
        for link in links(contents) {
            let to = resolve(path, &link);
            assert!(all.contains_key(&to), "{path} links to {to}, which is not there");
            linked.insert(to);
        }
    }
    let pages: BTreeSet<String> = all.keys().cloned().collect();
    assert_eq!(linked, pages, "pages that nothing links to");
}

fn html_links(page: &str) -> Vec<String> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document =
        roxmltree::Document::parse_with_options(page, options).unwrap_or_else(|e| panic!("{e}\n{page}"));
    document.descendants().filter_map(|node| node.attribute("href")).map(str::to_owned).collect()
}

fn markdown_links(page: &str) -> Vec<String> {
    let mut links = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
        if line.starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let mut rest = line;
        while let Some((_, after)) = rest.split_once("](") {
            let (link, after) = after.split_once(')').unwrap_or_else(|| panic!("a link without end: {line}"));
            links.push(link.to_owned());
            rest = after;
        }
    }
    assert!(!in_code, "code without end:\n{page}");
    links
}

#[test]
fn html_pages_are_whole() {
    let all = site(PageFormat::Html, None);
    check_site(&all, "html", None, html_links);
    for (path, page) in &all {
        // Pages load nothing from outside.
        assert!(!page.contains("http") && !page.contains("<script") && !page.contains("src="), "{path}");
        assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{path}");
    }
}

#[test]
fn markdown_pages_are_whole() {
    let all = site(PageFormat::Markdown, None);
    check_site(&all, "md", None, markdown_links);
    for (path, page) in &all {
        // All rows of a table have the same number of cells.
        let mut columns = None;
        for line in page.lines() {
            let bars = line.replace("\\|", "").matches('|').count();
            if !line.starts_with("| ") && !line.starts_with("|-") {
                columns = None;
            } else if let Some(columns) = columns {
                assert_eq!(bars, columns, "{path}: {line}");
            } else {
                columns = Some(bars);
            }
        }
    }
}

/// Each instruction of Cayman has a page, with what its row says.
#[test]
fn pages_of_cayman_are_whole() {
    use wavemill_asm::cayman::{InstructionFacts, reference};
    use wavemill_isa::cayman::{Format as CaymanFormat, Op as CaymanOp};
    type LinksOf = fn(&str) -> Vec<String>;
    let links: [(PageFormat, LinksOf); 2] =
        [(PageFormat::Html, html_links), (PageFormat::Markdown, markdown_links)];
    for (format, links) in links {
        let all: BTreeMap<String, String> =
            reference::pages(format).map(|page| (page.path, page.contents)).collect();
        assert_eq!(all.len(), 1 + CaymanFormat::ALL.len() + CaymanOp::ALL.len());
        check_links(&all, format.extension(), &reference::FOLDERS, links);
        for op in CaymanOp::ALL {
            let facts = InstructionFacts::of(*op);
            let path = format!("instruction/{}_{}", facts.format, facts.name.replace(' ', "_"));
            let page = &all[&format!("{path}.{}", format.extension())];
            assert!(page.contains(&facts.opcode) && page.contains(facts.fidelity), "{path}");
            assert!(facts.facets.iter().all(|facet| page.contains(facet.name)), "{path}");
        }
    }
}

#[test]
fn pages_of_one_target_say_nothing_of_others() {
    for target in [Target::Gfx900, Target::Gfx942] {
        let all = site(PageFormat::Html, Some(target));
        check_site(&all, "html", Some(target), html_links);
        for other in Target::GCN.into_iter().filter(|other| *other != target) {
            let link = format!("target/{}.html", other.name());
            assert!(all.values().all(|page| !page.contains(&link)), "{target}: {link}");
        }
    }
}

#[test]
fn pages_are_pinned() {
    for (format, only, names) in [
        (PageFormat::Html, None, &["v_add_f16"][..]),
        (PageFormat::Markdown, None, &["v_smfmac_i32_32x32x32_i8", "s_load_dword", "buffer_wbl2"][..]),
        (PageFormat::Markdown, Some(Target::Gfx942), &["v_fma_f32"][..]),
    ] {
        let all = site(format, only);
        for name in names {
            let path = format!("instruction/{name}.{}", format.extension());
            insta::assert_snapshot!(path.replace(['/', '.'], "_"), all[&path]);
        }
        if only.is_some() {
            insta::assert_snapshot!("index_of_one_target", all["index.md"]);
            insta::assert_snapshot!("format_of_one_target", all["format/sopc.md"]);
        }
    }
}

#[test]
fn the_checks_notice() {
    let good = site(PageFormat::Markdown, Some(Target::Gfx900));
    let broken = |change: &dyn Fn(&mut BTreeMap<String, String>)| {
        let mut all = good.clone();
        change(&mut all);
        std::panic::catch_unwind(|| check_site(&all, "md", Some(Target::Gfx900), markdown_links)).is_err()
    };
    assert!(!broken(&|_| {}));
    assert!(broken(&|all| drop(all.remove("instruction/v_add_f32.md"))));
    assert!(broken(&|all| all.get_mut("index.md").unwrap().push_str("\n[x](nowhere.md)\n")));
    assert!(broken(&|all| drop(all.insert("target/more.md".to_owned(), String::new()))));
}
