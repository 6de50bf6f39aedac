//! Sources of code objects assemble to the same code objects.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::support::{assembled, examples, text};
use wavemill_asm::gcn::parse;
use wavemill_asm::{Options, SourceOptions, Written, write_source};
use wavemill_isa::Target;
use wavemill_isa::gcn::Op;
use wavemill_object::write::{Module, link, write_relocatable};
use wavemill_object::{Unlinked, unlink};
use wavemill_oracle::SplitMix64;

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
    assembled(source, &Options::default()).unwrap_or_else(|reports| panic!("{reports}"))
}

/// Fails unless the sections of two files are equal.
fn compare(name: &str, first: &Unlinked, second: &Unlinked) {
    let differences = first.differences(second);
    assert!(differences.is_empty(), "{name}: {differences:#?}");
}

/// Converts the kernels of a target to sources and back, linked and not.
fn kernels_of(target: &str) {
    let folder = repository().join("kernels/bin").join(target);
    let all = files(&folder, "co");
    assert!(all.len() > 100, "{}", all.len());
    for path in &all {
        let name = path.display().to_string();
        let first = unlink(&std::fs::read(path).unwrap()).unwrap();
        let (text, written) = source(&first, false);
        // Some kernels that fault execute words that are not instructions. And LLVM prints nothing
        // to distinguish two encodings of this instruction.
        let words: Vec<&str> = text.lines().filter(|line| line.starts_with("\t.long 0x")).collect();
        assert_eq!(words.len() as u64, written.words, "{name}");
        let explained = |line: &&str| line.contains("`buffer_wbl2`, which assembles to other bytes");
        assert!(name.contains("/faults/") || words.iter().all(explained), "{name}: {words:#?}");
        assert_eq!(written.lost_relocations, 0, "{name}");
        let module = module(&text);
        compare(&name, &first, &unlink(&link(&module).unwrap()).unwrap());
        if path.parent() == Some(&folder) {
            // With comments, and as a file that is not linked.
            let object = write_relocatable(&module).unwrap();
            let first = unlink(&object).unwrap();
            let (text, written) = source(&first, true);
            assert_eq!(written.lost_relocations, 0, "{name}");
            compare(&name, &first, &unlink(&write_relocatable(&self::module(&text)).unwrap()).unwrap());
        }
    }
}

#[test]
fn every_kernel_of_gfx906() {
    kernels_of("gfx906");
}

#[test]
fn every_kernel_of_gfx90a() {
    kernels_of("gfx90a");
}

#[test]
fn every_kernel_of_gfx942() {
    kernels_of("gfx942");
}

#[test]
fn every_kernel_of_gfx950() {
    kernels_of("gfx950");
}

/// Code for a generic processor keeps its target, flags and code. Instructions that only some of
/// its processors have become data.
#[test]
fn code_of_generic_processors() {
    let path = repository().join("crates/wavemill-object/tests/fixtures/gfx9-4-generic-v6.co");
    let first = unlink(&std::fs::read(path).unwrap()).unwrap();
    let (text, written) = source(&first, false);
    assert!(text.contains("\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx9-4-generic\"\n"), "{text}");
    assert!(written.instructions > 0 && written.words == 0, "{written:?}");
    let again = unlink(&link(&module(&text)).unwrap()).unwrap();
    compare("gfx9-4-generic", &first, &again);
    assert_eq!(again.module.generic_version, 1);
    for (processor, target, text) in [
        ("gfx9-generic", Target::Gfx900, "v_mad_mix_f32 v0, v1, v2, v3"),
        ("gfx9-4-generic", Target::Gfx942, "v_cvt_f32_fp8_e32 v0, v1"),
        ("gfx9-4-generic", Target::Gfx942, "v_mfma_f32_32x32x4_xf32 a[0:15], v[0:1], v[2:3], a[0:15]"),
    ] {
        let (bytes, size) = parse(target, text).unwrap().encode();
        let mut unlinked = code(target, bytes[..size].to_vec());
        unlinked.module.target = processor.parse().unwrap();
        let (source, written) = source(&unlinked, false);
        assert!(written.words > 0 && written.instructions == 0, "{processor}: {source}");
        assert!(source.contains("\t.long 0x") && !source.contains(&format!("\t{text}")), "{source}");
        let again = unlink(&write_relocatable(&module(&source)).unwrap()).unwrap();
        compare(text, &unlinked, &again);
    }
}

/// Sections with the same name in a file that is not linked stay separate, with their groups.
#[test]
fn sections_of_one_name() {
    let text = std::fs::read_to_string(repository().join("crates/wavemill-object/tests/linked/sections.s"));
    let text = format!(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n{}", text.unwrap());
    let first = unlink(&write_relocatable(&module(&text)).unwrap()).unwrap();
    let sections = &first.module.sections;
    let named = |name: &str| sections.iter().filter(|section| section.name == name).count();
    assert_eq!((named(".foo"), named(".grouped"), first.module.groups.len()), (4, 3, 4));
    let (source, _) = source(&first, false);
    let again = unlink(&write_relocatable(&module(&source)).unwrap()).unwrap();
    compare("sections", &first, &again);
    let order = |unlinked: &Unlinked| -> Vec<_> {
        let sections = unlinked.module.sections.iter().filter(|section| section.contents.size() > 0);
        let group = |section: &wavemill_object::write::Section| {
            let group = section.group.map(|group| &unlinked.module.groups[group.0]);
            group.map(|group| (unlinked.module.symbols[group.signature.0].name.clone(), group.comdat))
        };
        sections.map(|section| (section.name.clone(), section.contents.clone(), group(section))).collect()
    };
    assert_eq!(order(&first), order(&again));
}

/// A module with this code, as from the assembler.
fn code(target: Target, bytes: Vec<u8>) -> Unlinked {
    Unlinked::from_code(target.name().parse().unwrap(), bytes)
}

/// Fillings per form.
const FILLINGS: usize = 12;

/// Whatever the words are, the source contains all of them: as instructions, or as data where no
/// text reproduces them.
#[test]
fn any_words() {
    for target in Target::GCN {
        let mut bytes = Vec::new();
        for form in Op::ALL.iter().flat_map(|op| op.row().forms()) {
            if !form.targets.contains(target) {
                continue;
            }
            for inst in examples(form, target).take(FILLINGS) {
                let (words, size) = inst.encode();
                bytes.extend_from_slice(&words[..size]);
            }
        }
        let mut random = SplitMix64::new(7);
        bytes.extend((0..20_000).flat_map(|_| random.next_u64().to_le_bytes()));
        // An end in the middle of a word.
        bytes.extend([1, 2, 3]);
        let first = code(target, bytes);
        let (text, written) = source(&first, false);
        assert!(written.instructions > 10_000 && written.words > 1000, "{written:?}");
        compare(target.name(), &first, &unlink(&write_relocatable(&module(&text)).unwrap()).unwrap());
    }
}

/// Damaged files are rejected or become a source; nothing else happens.
#[test]
fn damaged_files() {
    let folder = repository().join("kernels/bin");
    let mut random = SplitMix64::new(3);
    let (mut refused, mut written) = (0, 0);
    for name in ["gfx90a/function_pointers.co", "gfx942/hip/hip_assert.co", "gfx906/vector_add.co"] {
        let whole = std::fs::read(folder.join(name)).unwrap();
        let object = write_relocatable(&module(&source(&unlink(&whole).unwrap(), false).0)).unwrap();
        for file in [whole, object] {
            for _ in 0..300 {
                let mut file = file.clone();
                // Headers and tables are at the start and end.
                for _ in 0..=random.below(4) {
                    let size = file.len() as u64;
                    let at = match random.below(3) {
                        0 => random.below(size.min(0x200)),
                        1 => size - 1 - random.below(size.min(0x800)),
                        _ => random.below(size),
                    };
                    file[at as usize] = [0, 1, 0x7f, 0xff, random.below(256) as u8][random.below(5) as usize];
                }
                if random.below(8) == 0 {
                    file.truncate(random.below(file.len() as u64) as usize);
                }
                let Ok(unlinked) = unlink(&file) else {
                    refused += 1;
                    continue;
                };
                let mut text = String::new();
                for only in [None, Some("vector_add")] {
                    let options = SourceOptions { only, addresses: true, ..SourceOptions::default() };
                    written += u32::from(write_source(&mut text, &unlinked, &options).is_ok());
                }
            }
        }
    }
    assert!(refused > 100 && written > 100, "{refused} {written}");
}

/// There are three reasons why a text does not assemble to the instruction that it was printed
/// from. Several instructions may have the text, and the assembler chooses another one. The
/// instruction may break a rule. Or a part of it may be missing from the text. The list has all
/// such instructions.
#[test]
fn texts_that_do_not_come_back() {
    let mut list: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for form in Op::ALL.iter().flat_map(|op| op.row().forms()) {
        for target in form.targets.iter() {
            for inst in examples(form, target).take(FILLINGS) {
                let text = text(&inst);
                let why = match parse(target, &text) {
                    Ok(again) if again.encode() == inst.encode() => continue,
                    Ok(again) if self::text(&again) == text => continue,
                    Err(_) if inst.broken_rule().is_some() => continue,
                    Ok(_) => "other text",
                    Err(_) => "no instruction",
                };
                list.entry(why).or_default().insert(form.op.row().name());
            }
        }
    }
    let lines: Vec<String> = (list.iter())
        .map(|(why, names)| format!("{why}\n  {}", names.iter().copied().collect::<Vec<_>>().join("\n  ")))
        .collect();
    insta::assert_snapshot!("texts_that_do_not_come_back", lines.join("\n"));
}
