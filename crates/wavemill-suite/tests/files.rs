//! The committed files are what the generator writes, and say what they leave out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use wavemill_isa::gcn::{Format, Op};
use wavemill_suite::data::{File, Kind, LANES, Test};
use wavemill_suite::generate::{self, FILES, TARGETS};

fn path(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "conformance", name].iter().collect()
}

/// A committed file.
pub(crate) fn committed(name: &str) -> File {
    let path = path(&format!("{name}.txt.gz"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    File::read(&bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn the_generator_writes_the_committed_files() {
    for name in FILES {
        let (old, new) = (committed(name), generate::file(name));
        assert!(old == new, "{name} is out of date: run `cargo run -p wavemill-suite`");
    }
}

#[test]
fn files_survive_reading_and_writing() {
    let file = committed("lanes");
    assert_eq!(File::parse(&file.text()).as_ref(), Ok(&file));
    let text = file.text();
    for (from, to) in [
        ("wavemill-conformance 1", "wavemill-conformance 2"),
        ("set 1\n", "set 7\n"),
        ("on gfx906", "on gfx000"),
        ("mode=3f0", "mode=xyz"),
        ("set=0 ", "set=999 "),
        ("v1 ", "w1 "),
    ] {
        assert!(text.contains(from), "{from}");
        assert!(File::parse(&text.replacen(from, to, 1)).is_err(), "{to}");
    }
}

/// Every text assembles to the words, on every target that the test names.
#[test]
fn texts_assemble_to_their_words() {
    for name in FILES {
        for test in committed(name).tests.iter().step_by(7) {
            if test.kind == Kind::Clause {
                assert_eq!(clause_words(test), test.words, "`{}`", test.text);
                continue;
            }
            for target in &test.targets {
                let inst = wavemill_asm::gcn::parse(*target, &test.text)
                    .unwrap_or_else(|error| panic!("`{}` on {target}: {error}", test.text));
                assert_eq!(inst.words()[..inst.size() / 4], test.words, "`{}` on {target}", test.text);
            }
        }
    }
}

/// The machine words of the text of a clause.
fn clause_words(test: &Test) -> Vec<u32> {
    let groups = test.text.split_inclusive(";;");
    groups
        .flat_map(|text| {
            let group = wavemill_asm::cayman::parse_group(text.trim())
                .unwrap_or_else(|error| panic!("`{text}`: {error}"));
            let slots: Vec<u32> = group
                .slots
                .iter()
                .flatten()
                .flat_map(|slot| {
                    let (bytes, _) = slot.encode();
                    [0, 4].map(|at| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
                })
                .collect();
            let literals = group.size / 4 - slots.len();
            slots.into_iter().chain(group.literals.into_iter().take(literals)).collect::<Vec<u32>>()
        })
        .collect()
}

/// All files together have at most this many bytes.
const MOST_BYTES: u64 = 10_000_000;

#[test]
fn files_are_small() {
    let size = |name| std::fs::metadata(path(&format!("{name}.txt.gz"))).expect("the file is there").len();
    let all: u64 = FILES.into_iter().map(size).sum();
    assert!(all <= MOST_BYTES, "{all} bytes");
}

/// `uncovered.txt` has the instructions without a test, and no others.
#[test]
fn uncovered_instructions_are_listed() {
    let files: Vec<File> = FILES.into_iter().map(committed).collect();
    let line = |op: Op, targets: &[wavemill_isa::Target]| {
        let targets: Vec<&str> = targets.iter().map(|target| &target.name()[3..]).collect();
        format!("{} {}", targets.join(","), op.row().name())
    };
    let missing: BTreeSet<String> =
        generate::uncovered(&files).iter().map(|(op, targets)| line(*op, targets)).collect();
    let of_cayman = generate::uncovered_of_cayman(&files);
    let missing: BTreeSet<String> =
        missing.into_iter().chain(of_cayman.iter().map(|op| format!("cayman {}", op.row().name))).collect();
    let text = std::fs::read_to_string(path("uncovered.txt")).expect("the list is there");
    let listed: BTreeSet<String> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (what, why) = line.split_once(": ").unwrap_or_else(|| panic!("`{line}` has no reason"));
            assert!(why.len() > 10, "`{line}` has no reason");
            what.to_owned()
        })
        .collect();
    let more: Vec<_> = missing.difference(&listed).collect();
    let fewer: Vec<_> = listed.difference(&missing).collect();
    assert!(
        more.is_empty() && fewer.is_empty(),
        "without a test: {more:#?}\nlisted, with a test: {fewer:#?}"
    );
}

/// Every vector instruction that has a test has at least 64 cases of it, on each target.
#[test]
fn every_row_has_enough_cases() {
    let mut cases: BTreeMap<(Op, &str), usize> = BTreeMap::new();
    let tests = FILES.into_iter().flat_map(|name| committed(name).tests);
    for test in tests.filter(|test| test.kind != Kind::Clause) {
        let bytes: Vec<u8> = test.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for target in &test.targets {
            let inst = wavemill_isa::gcn::decode(*target, &bytes).expect("the words decode");
            *cases.entry((inst.op(), target.name())).or_default() += LANES;
        }
    }
    let vector = [Format::Vop1, Format::Vop2, Format::Vop3, Format::Vop3p, Format::Vopc];
    let mut rows = 0;
    for target in TARGETS {
        for op in Op::ALL.iter().filter(|op| vector.contains(&op.row().format)) {
            if let Some(n) = cases.get(&(*op, target.name())) {
                assert!(*n >= 2 * LANES, "{op} on {target}: {n} cases");
                rows += 1;
            }
        }
    }
    assert!(rows > 1900, "{rows} pairs of a vector instruction and a target");
}
