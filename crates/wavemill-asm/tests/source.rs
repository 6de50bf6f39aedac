//! Sources of code objects assemble to the same code objects again.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wavemill_asm::{Options, SourceOptions, Written, assemble, write_source};
use wavemill_object::write::{Contents, Definition, Module, SymbolType, link, write_relocatable};
use wavemill_object::{CodeObjectVersion, Unlinked, unlink};

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All files with the extension under a folder.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn source(unlinked: &Unlinked, addresses: bool) -> (String, Written) {
    let mut text = String::new();
    let options = SourceOptions { title: "a.co", addresses, ..SourceOptions::default() };
    let written = write_source(&mut text, unlinked, &options).unwrap();
    (text, written)
}

fn module(source: &str) -> Module {
    assemble(source, &Options::default()).unwrap_or_else(|reports| {
        let lines = reports
            .iter()
            .take(10)
            .map(|report| format!("{}: {} [{}]", report.line, report.diagnostic, report.text));
        panic!("{}", lines.collect::<Vec<_>>().join("\n"))
    })
}

/// The symbols, each as a line; sections' own, and those that linkers make, left out.
fn symbols(unlinked: &Unlinked) -> BTreeSet<String> {
    let module = &unlinked.module;
    let place = |definition: Definition| match definition {
        Definition::Section { section, offset } => format!("{}+{offset:#x}", module.sections[section.0].name),
        other => format!("{other:?}"),
    };
    module
        .symbols
        .iter()
        .filter(|symbol| symbol.kind != SymbolType::Section)
        .map(|symbol| {
            let (name, size, kind) = (&symbol.name, symbol.size, symbol.kind);
            let at = place(symbol.definition);
            format!("{name} {at} size {size} {kind:?} {:?} {:?}", symbol.binding, symbol.visibility)
        })
        .collect()
}

/// What relocations do, with places in sections for symbols.
fn relocations(unlinked: &Unlinked, section: usize) -> Vec<String> {
    let module = &unlinked.module;
    let mut all: Vec<String> = module.sections[section]
        .relocations
        .iter()
        .map(|relocation| {
            let symbol = &module.symbols[relocation.symbol.0];
            let target = match symbol.definition {
                Definition::Section { section, offset } => {
                    let at = offset as i64 + relocation.addend;
                    format!("{}+{at:#x}", module.sections[section.0].name)
                }
                _ => format!("{}+{:#x}", symbol.name, relocation.addend),
            };
            format!("{:#x} {} {target}", relocation.offset, relocation.kind)
        })
        .collect();
    all.sort();
    all
}

/// Fails unless two files have the same in their sections.
fn compare(name: &str, first: &Unlinked, second: &Unlinked) {
    assert_eq!(first.module.target, second.module.target, "{name}");
    assert_eq!(first.module.version, second.module.version, "{name}");
    for (index, section) in first.module.sections.iter().enumerate() {
        let place = format!("{name}: {}", section.name);
        let found = second.module.sections.iter().position(|other| other.name == section.name);
        let Some(found) = found else {
            assert_eq!(section.contents.size(), 0, "{place}: there is no such section");
            continue;
        };
        let other = &second.module.sections[found];
        match (&section.contents, &other.contents) {
            (Contents::Bytes(bytes), Contents::Bytes(others)) => {
                let differs = (0..bytes.len().max(others.len())).find(|&at| bytes.get(at) != others.get(at));
                assert_eq!(differs, None, "{place} differs");
            }
            (contents, others) => assert_eq!(contents, others, "{place}"),
        }
        assert_eq!((section.kind, section.flags), (other.kind, other.flags), "{place}");
        assert_eq!(section.align, other.align, "{place}");
        assert_eq!(first.addresses[index], second.addresses[found], "{place}: address");
        assert_eq!(relocations(first, index), relocations(second, found), "{place}");
    }
    let (first, second) = (symbols(first), symbols(second));
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert!(first == second, "{name}\n{:#?}\n{:#?}", only(&first, &second), only(&second, &first));
}

#[test]
fn every_kernel_of_the_repository() {
    let all = files(&repository().join("kernels"), "co");
    assert!(all.len() > 500, "{}", all.len());
    let mut equal = 0;
    for path in &all {
        let name = path.display().to_string();
        let file = std::fs::read(path).unwrap();
        let first = unlink(&file).unwrap();
        let (text, written) = source(&first, true);
        // Some kernels that fault run into words that are no instructions.
        let words = if name.contains("/faults/") { 2 } else { 0 };
        for line in text.lines().filter(|line| line.contains("`, which")) { println!("{name} {line}"); }
        assert!(written.words <= words.max(20) && written.lost_relocations == 0, "{name}: {written:?}");
        assert_eq!(source(&first, false).1, written);
        let linked = link(&module(&text)).unwrap();
        compare(&name, &first, &unlink(&linked).unwrap());
        equal += usize::from(linked == file);
    }
    println!("{equal} of {} are the same as files", all.len());
}
