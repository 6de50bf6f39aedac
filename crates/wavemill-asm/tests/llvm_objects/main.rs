//! Assembles sources with Wavemill and LLVM, and requires equal section bytes, relocations and
//! symbols.
//!
//! The sources are clang's output for the kernels of this repository, and some handwritten ones for
//! directives that compilers do not emit.

#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU32, Ordering};

use object::{Object, ObjectComdat, ObjectSection, ObjectSymbol, RelocationTarget};
use support::assembled;
use wavemill_asm::{Options, assemble};
use wavemill_object::write::write_relocatable;
use wavemill_oracle::{Failed, Suite, Tool, clang, kernels, listed, run, whole_suites};

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    // The tests of the object writer use it, too.
    let sections = own_folder().join("../../../wavemill-object/tests/linked/sections.s");
    for source in listed(&own_folder(), "s").into_iter().chain([sections]) {
        for target in ["gfx906", "gfx90a", "gfx942", "gfx950", "gfx9-generic", "gfx9-4-generic"] {
            let name = source.file_stem().unwrap_or_default().to_string_lossy();
            let source = source.clone();
            suite.oracle_test(format!("by hand: {name} {target}"), &[Tool::LlvmMc], move || {
                let text = std::fs::read_to_string(&source)?.replace("TARGET", target);
                compare(&text, target)
            });
        }
    }
    for (number, case) in VERDICTS.split("\n\n").enumerate() {
        let name = case.lines().find(|line| line.starts_with('\t')).unwrap_or_default();
        suite.oracle_test(format!("verdict {number}: {}", name.trim()), &[Tool::LlvmMc], move || {
            verdict(case)
        });
    }
    let whole = whole_suites();
    for (at, kernel) in listed(&kernels(), "cl").into_iter().enumerate() {
        let name = kernel.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        // One target per kernel, and all targets for kernels with rare features: calls, function
        // tables, texts, variables.
        let all = ["function_pointers", "printf", "call_chain", "scratch", "litmus", "crc32"]
            .contains(&name.as_str());
        for (index, target) in ["gfx906", "gfx90a", "gfx942", "gfx950"].into_iter().enumerate() {
            for level in ["-O0", "-O2", "-O0 -g", "-O2 -g"] {
                let chosen = match level {
                    "-O0" => all && index == 0,
                    "-O2" => all || at % 4 == index,
                    "-O0 -g" => (at + 1) % 4 == index,
                    _ => (at + 2) % 4 == index && !CRASHES.contains(&&*name),
                };
                // Rare features are always tested.
                if chosen && !all && !whole && at % 5 != 0 {
                    suite.left_out(1);
                } else if chosen {
                    let kernel = kernel.clone();
                    suite.oracle_test(
                        format!("compiled: {name} {target} {level}"),
                        &[Tool::Clang, Tool::LlvmMc],
                        move || compare(&compile(&kernel, target, level)?, target),
                    );
                }
            }
        }
    }
    suite.run()
}

/// Short sources, whether they are accepted, and the message if not.
const VERDICTS: &str = include_str!("verdicts.txt");

/// Compares the expected verdict on a source of [`VERDICTS`] with Wavemill's and LLVM's.
fn verdict(case: &'static str) -> Result<(), Failed> {
    let (mut head, mut source) = ("", String::new());
    for line in case.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix('\t') {
            Some(line) => source += &format!("{line}\n"),
            None => head = line,
        }
    }
    let target = "gfx90a";
    if head == "accepted" {
        return compare(&source, target);
    }
    let (llvm_takes_it, message) = match head.split_once(": ").ok_or(head)? {
        ("refused", message) => (false, message),
        ("refused here", message) => (true, message),
        _ => return Err(format!("`{head}` is no verdict").into()),
    };
    let options = Options { target: Some(target.parse()?), ..Options::default() };
    let reports = assemble(&source, &options).expect_err("Wavemill takes it");
    assert_eq!(reports[0].diagnostic.to_string(), message);
    assert_eq!(reports.len(), 1, "{reports:?}");
    match (llvm(&source, target), llvm_takes_it) {
        (Ok(_), false) => Err("LLVM takes it".into()),
        (Err(error), true) => Err(format!("LLVM does not take it: {error:?}").into()),
        _ => Ok(()),
    }
}

/// Kernels that clang 22 itself crashes on, with debug information and optimisation.
const CRASHES: [&str; 1] = ["printf"];

fn own_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/llvm_objects")
}

/// The assembly that clang emits for a kernel; with debug information it also names the compiler.
fn compile(kernel: &Path, target: &str, level: &str) -> Result<String, Failed> {
    let debug = level.ends_with("-g");
    let ident = if debug { "-fident" } else { "-fno-ident" };
    let text = run(clang(kernel, target, &format!("-S {level} {ident}"))?.args(["-o", "-"]))?;
    Ok(String::from_utf8(text)?)
}

/// The object that LLVM assembles from a source.
fn llvm(source: &str, target: &str) -> Result<Vec<u8>, Failed> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let file = std::env::temp_dir().join(format!("wavemill-asm-{}-{number}.s", std::process::id()));
    std::fs::write(&file, source)?;
    let result = run(Command::new(Tool::LlvmMc.path()?)
        .args(["-triple=amdgcn-amd-amdhsa", "-filetype=obj", &format!("-mcpu={target}"), "-o", "-"])
        .arg(&file));
    // A leftover file does no harm.
    let _ = std::fs::remove_file(&file);
    result
}

fn compare(source: &str, target: &str) -> Result<(), Failed> {
    let theirs = llvm(source, target)?;
    let options = Options { target: Some(target.parse()?), ..Options::default() };
    let module = assembled(source, &options)?;
    let ours = write_relocatable(&module)?;
    let (theirs, ours) = (object::File::parse(&*theirs)?, object::File::parse(&*ours)?);
    let mut compared = 0;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for section in theirs.sections() {
        let name = section.name()?;
        if name.starts_with(".rela") || NOT_COMPARED.contains(&name) {
            continue;
        }
        // Sections with the same name are compared in order.
        let place = seen.entry(name.to_owned()).or_insert(0);
        let own = ours.sections().filter(|own| own.name() == Ok(name)).nth(*place);
        *place += 1;
        let Some(own) = own else {
            // Empty sections may be omitted.
            if section.size() == 0 {
                continue;
            }
            return Err(format!("there is no section {name}").into());
        };
        compared += 1;
        if name == ".llvm_addrsig" {
            assert_eq!(named(&theirs, &section)?, named(&ours, &own)?, "{name}");
            assert_eq!(section.flags(), own.flags(), "{name}");
            continue;
        }
        let (left, right) = (section.data()?, own.data()?);
        if let Some(at) = (0..left.len().max(right.len())).find(|at| left.get(*at) != right.get(*at)) {
            return Err(
                format!("{name} differs from {at:#x} on; {} bytes and {}", left.len(), right.len()).into()
            );
        }
        assert_eq!((section.size(), section.align()), (own.size(), own.align()), "{name}");
        assert_eq!(section.flags(), own.flags(), "{name}");
        same(name, &relocations(&theirs, &section)?, &relocations(&ours, &own)?)?;
    }
    assert!(compared > 0);
    for own in ours.sections().filter(|own| own.size() > 0) {
        let name = own.name()?;
        let number = ours.sections().filter(|own| own.name() == Ok(name)).count();
        let theirs = seen.get(name).copied().unwrap_or(0);
        if number > theirs && !name.starts_with(".rela") && !NOT_COMPARED.contains(&name) {
            return Err(format!("{number} sections {name}, and {theirs} there").into());
        }
    }
    same("the groups", &groups(&theirs)?, &groups(&ours)?)?;
    same("the symbol table", &symbols(&theirs)?, &symbols(&ours)?)?;
    assert_eq!(theirs.flags(), ours.flags());
    Ok(())
}

/// Shows the elements that only one of two sets has.
fn same(what: &str, theirs: &BTreeSet<String>, ours: &BTreeSet<String>) -> Result<(), Failed> {
    let only = |left: &BTreeSet<String>, right: &BTreeSet<String>| {
        left.difference(right).take(8).cloned().collect::<Vec<_>>().join("\n  ")
    };
    match theirs == ours {
        true => Ok(()),
        false => Err(format!(
            "{what}: only LLVM has\n  {}\nonly Wavemill has\n  {}",
            only(theirs, ours),
            only(ours, theirs)
        )
        .into()),
    }
}

/// Groups with their flag and members.
fn groups(file: &object::File<'_>) -> Result<BTreeSet<String>, Failed> {
    let mut all = BTreeSet::new();
    for section in file.sections() {
        if section.name()? != ".group" {
            continue;
        }
        let words: Vec<u32> =
            (section.data()?.as_chunks().0.iter().copied()).map(u32::from_le_bytes).collect();
        let mut text = format!("flags {:#x}:", words.first().copied().unwrap_or(0));
        for index in words.iter().skip(1) {
            let member = file.section_by_index(object::SectionIndex(*index as usize))?;
            text += &format!(" {} of {} bytes", member.name()?, member.size());
        }
        all.insert(text);
    }
    for comdat in file.comdats() {
        all.insert(format!("comdat {}", comdat.name()?));
    }
    Ok(all)
}

/// Tables of the file format itself. The contents they describe are compared instead.
const NOT_COMPARED: [&str; 5] = ["", ".strtab", ".shstrtab", ".symtab", ".group"];

/// The symbols in a table of symbol numbers.
fn named(file: &object::File<'_>, section: &object::Section<'_, '_>) -> Result<BTreeSet<String>, Failed> {
    let mut names = BTreeSet::new();
    let (mut number, mut shift) = (0, 0);
    for byte in section.data()? {
        number |= usize::from(byte & 0x7F) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            names.insert(file.symbol_by_index(object::SymbolIndex(number))?.name()?.to_owned());
            (number, shift) = (0, 0);
        }
    }
    Ok(names)
}

/// Relocations with the names of their targets, or their section and offset.
fn relocations(
    file: &object::File<'_>,
    section: &object::Section<'_, '_>,
) -> Result<BTreeSet<String>, Failed> {
    let mut all = BTreeSet::new();
    for (offset, relocation) in section.relocations() {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return Err("a relocation without symbol".into());
        };
        let symbol = file.symbol_by_index(index)?;
        let name = match symbol.kind() {
            object::SymbolKind::Section => {
                let section = symbol.section_index().ok_or("a section symbol without section")?;
                format!("section {}", file.section_by_index(section)?.name()?)
            }
            _ => symbol.name()?.to_owned(),
        };
        all.insert(format!("{offset:#x} {:?} {name} + {:#x}", relocation.flags(), relocation.addend()));
    }
    Ok(all)
}

/// The value of a symbol; `object` has no addresses of common symbols, whose values are alignments.
fn value(file: &object::File<'_>, symbol: &object::Symbol<'_, '_>) -> Result<u64, Failed> {
    let object::File::Elf64(elf) = file else { return Err("no ELF file of 64 bits".into()) };
    let raw = elf.elf_symbol_table().symbol(symbol.index())?;
    Ok(raw.st_value.get(elf.endian()))
}

fn symbols(file: &object::File<'_>) -> Result<BTreeSet<String>, Failed> {
    let mut all = BTreeSet::new();
    for symbol in file.symbols() {
        if matches!(symbol.kind(), object::SymbolKind::Section | object::SymbolKind::File)
            || symbol.name()?.is_empty()
        {
            continue;
        }
        let section = match symbol.section_index() {
            Some(index) => file.section_by_index(index)?.name()?.to_owned(),
            None => format!("{:?}", symbol.section()),
        };
        all.insert(format!(
            "{} {section} {:#x} size {:#x} {:?}",
            symbol.name()?,
            value(file, &symbol)?,
            symbol.size(),
            symbol.flags()
        ));
    }
    Ok(all)
}
