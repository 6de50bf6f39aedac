//! Sources of code objects assemble to the same code objects again.

use std::path::{Path, PathBuf};

use wavemill_asm::{Options, SourceOptions, Written, assemble, write_source};
use wavemill_object::write::{Module, link, write_relocatable};
use wavemill_object::{Unlinked, unlink};

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

/// Fails unless two files have the same in their sections.
fn compare(name: &str, first: &Unlinked, second: &Unlinked) {
    let differences = first.differences(second);
    assert!(differences.is_empty(), "{name}: {differences:#?}");
}

#[test]
fn every_kernel_of_the_repository() {
    let all = files(&repository().join("kernels"), "co");
    assert!(all.len() > 500, "{}", all.len());
    for path in &all {
        let name = path.display().to_string();
        let first = unlink(&std::fs::read(path).unwrap()).unwrap();
        let (text, written) = source(&first, true);
        // Some kernels that fault run into words that are no instructions; and LLVM prints nothing of what distinguishes
        // this instruction from itself.
        let (plain, written_plain) = source(&first, false);
        let words: Vec<&str> = plain.lines().filter(|line| line.starts_with("\t.long 0x")).collect();
        assert_eq!(words.len() as u64, written.words, "{name}");
        let explained = |line: &&str| line.contains("`buffer_wbl2`, which assembles to other bytes");
        let faulty = name.contains("/faults/");
        assert!(faulty || words.iter().all(explained), "{name}: {words:#?}");
        assert_eq!(written.lost_relocations, 0, "{name}");
        assert_eq!(written_plain, written);
        compare(&name, &first, &unlink(&link(&module(&text)).unwrap()).unwrap());
        // As a file that has not been linked, too.
        let object = write_relocatable(&module(&text)).unwrap();
        let first = unlink(&object).unwrap();
        let (text, written) = source(&first, false);
        assert_eq!(written.lost_relocations, 0, "{name}");
        compare(&name, &first, &unlink(&write_relocatable(&module(&text)).unwrap()).unwrap());
    }
}
