//! Relocatable files are linked and read like code objects.

use std::borrow::Cow;

use wavemill_object::report::{FileReport, Filter};
use wavemill_object::write::{
    Definition, Module, Relocation, Section, SectionFlags, SectionId, Symbol, SymbolId, SymbolType,
    Visibility, write_relocatable,
};
use wavemill_object::{
    Binding, CodeObject, CodeObjectVersion, Container, DebugInfo, Error, Limits, RelocationKind, SymbolKind,
    is_relocatable, loadable, read_relocatable, unlink,
};

use crate::support::hostile::{section_headers, set, word};
use crate::support::{CODE_OBJECTS, RELOCATABLE, fixture};

fn linked(data: &[u8]) -> Vec<u8> {
    loadable(data, &Limits::default()).unwrap_or_else(|error| panic!("{error}")).into_owned()
}

#[test]
fn only_relocatable_files_are_linked() {
    let others = ["plain.bundle", "compressed-v2.bundle", "host-library.so"];
    for name in CODE_OBJECTS.into_iter().chain(others) {
        let data = fixture(name);
        assert!(!is_relocatable(&data), "{name}");
        assert!(matches!(loadable(&data, &Limits::default()), Ok(Cow::Borrowed(_))), "{name}");
    }
    let error = read_relocatable(&fixture("gfx942-v5.co"), &Limits::default()).map(drop).unwrap_err();
    assert_eq!(error.to_string(), "unsupported file: it should be relocatable, but it is linked already");
    for name in RELOCATABLE {
        let data = fixture(name);
        assert!(is_relocatable(&data), "{name}");
        let error = CodeObject::parse(&data).map(drop).unwrap_err().to_string();
        assert!(error.contains("it is not linked"), "{error}");
        assert!(!is_relocatable(&linked(&data)), "{name}");
    }
}

/// Everything that the relocatable file defines is in the linked one, at an address of a segment
/// that allows its use.
#[test]
fn kernels_and_symbols_are_found() {
    let kernels: [(&str, &[&str]); 4] = [
        ("gfx906-unlinked.o", &["scale_add", "block_sum", "shuffle"]),
        ("gfx942-relocatable.o", &["blend", "gather", "recall"]),
        ("gfx90a-relocatable.o", &["blend", "gather", "recall"]),
        ("gfx950-llc.o", &["scale"]),
    ];
    assert_eq!(kernels.map(|(name, _)| name), RELOCATABLE);
    for (name, kernels) in kernels {
        let data = fixture(name);
        let file = linked(&data);
        let object = CodeObject::parse(&file).unwrap();
        assert!(object.problems().is_empty(), "{name}: {:?}", object.problems());
        let names: Vec<_> = object.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(names, kernels, "{name}");
        let module = unlink(&data).unwrap().module;
        assert_eq!((object.target(), object.version()), (&module.target, module.version), "{name}");
        for kernel in object.kernels() {
            let symbol = object.symbols().iter().find(|symbol| symbol.name == kernel.name).unwrap();
            assert_eq!((symbol.kind, symbol.address), (SymbolKind::Function, kernel.entry_address));
            let metadata = kernel.metadata.as_ref().unwrap();
            assert_eq!(metadata.kernarg_segment_size, Some(kernel.kernarg_size()), "{name}");
        }
        for own in module.symbols.iter().filter(|own| own.kind == SymbolType::Function) {
            let Definition::Section { section, offset } = own.definition else { continue };
            let found = object.symbols().iter().find(|found| found.name == own.name).unwrap();
            assert_eq!(found.size, own.size, "{}", own.name);
            let code = object.read(found.address, found.size).unwrap();
            let bytes = match &module.sections[section.0].contents {
                wavemill_object::write::Contents::Bytes(bytes) => &bytes[offset as usize..][..code.len()],
                _ => panic!("code has bytes"),
            };
            // The words that are not relocated are the same.
            let relocated: Vec<_> = module.sections[section.0]
                .relocations
                .iter()
                .filter_map(|relocation| relocation.offset.checked_sub(offset))
                .collect();
            for (at, (left, right)) in code.chunks(4).zip(bytes.chunks(4)).enumerate() {
                if !relocated.contains(&(at as u64 * 4)) {
                    assert_eq!(left, right, "{name}, {}+{:#x}", own.name, at * 4);
                }
            }
        }
    }
}

/// Debug information refers to addresses after linking.
#[test]
fn debug_information_is_relocated() {
    let file = linked(&fixture("gfx942-relocatable.o"));
    let object = CodeObject::parse(&file).unwrap();
    let debug = DebugInfo::of(&object).unwrap();
    let names = |kernel: &str| {
        let kernel = object.kernel(kernel).unwrap();
        let count = kernel.metadata.as_ref().unwrap().args.iter().filter(|arg| !arg.is_hidden()).count();
        let parameters = debug.parameters(kernel.entry_address, count).unwrap();
        parameters.iter().map(|parameter| parameter.name.clone().unwrap_or_default()).collect::<Vec<_>>()
    };
    assert_eq!(names("blend"), ["out", "in", "rank"]);
    assert_eq!(names("gather"), ["out", "in"]);
    assert_eq!(names("recall"), ["out"]);
}

#[test]
fn report() {
    for name in ["gfx942-relocatable.o", "gfx950-llc.o"] {
        let report = FileReport::new(&fixture(name), &Filter::default(), &Limits::default()).unwrap();
        insta::assert_snapshot!(name, report);
    }
}

/// A bundle may have relocatable entries: the search for a kernel links them.
#[test]
fn relocatable_entries_of_a_bundle() {
    let code = fixture("gfx942-relocatable.o");
    let id = "hipv4-amdgcn-amd-amdhsa--gfx942".to_owned();
    let bundle = crate::support::hostile::bundle(std::iter::once((0, code.len() as u64, id)), &code);
    let container = Container::parse(&bundle).unwrap();
    let target = "gfx942".parse().unwrap();
    let limits = Limits::default();
    let found = container.find_kernel(&target, "gather", &limits).unwrap().unwrap();
    assert_eq!(found.bytes, linked(&code));
    // Reading an entry does not change it.
    assert_eq!(container.read(&found.selected, &limits).unwrap(), code);
    let report = FileReport::new(&bundle, &Filter::default(), &limits).unwrap();
    assert!(report.bundles[0].entries[0].object.as_ref().unwrap().relocatable);
}

const TEXT: SectionId = SectionId(0);
const NOWHERE: SymbolId = SymbolId(1);

/// A module with a function, data, and two symbols of other files.
fn module() -> Module {
    let mut module = Module::new("gfx90a".parse().unwrap(), CodeObjectVersion::V5);
    let flags = SectionFlags::ALLOC | SectionFlags::EXECUTE;
    let text = module.add_section(Section::new(".text", flags, 256, vec![0; 0x100]));
    let data = SectionFlags::ALLOC | SectionFlags::WRITE;
    module.add_section(Section::new(".data", data, 8, vec![0; 0x20]));
    module.add_symbol(Symbol {
        size: 0x80,
        kind: SymbolType::Function,
        binding: Binding::Global,
        ..Symbol::in_section("caller", text, 0)
    });
    module.add_symbol(Symbol::undefined("_Z5otherf"));
    module.add_symbol(Symbol::undefined("table"));
    module
}

fn relocate(module: &mut Module, section: SectionId, kind: RelocationKind, symbol: SymbolId, offset: u64) {
    module.sections[section.0].relocations.push(Relocation { offset, kind, symbol, addend: 4 });
}

fn error(data: &[u8]) -> String {
    loadable(data, &Limits::default()).map(drop).unwrap_err().to_string()
}

/// Messages about files that cannot be linked, and about damaged ones.
#[test]
fn messages() {
    use RelocationKind::*;
    let mut out = String::new();
    let mut say = |what: &str, data: &[u8]| out += &format!("== {what}\n{}\n\n", error(data));
    let written = |change: &dyn Fn(&mut Module)| {
        let mut module = module();
        change(&mut module);
        write_relocatable(&module).unwrap()
    };
    say("one undefined symbol", &written(&|module| relocate(module, TEXT, Rel32Lo, NOWHERE, 8)));
    say(
        "several problems",
        &written(&|module| {
            relocate(module, TEXT, Rel32Lo, NOWHERE, 8);
            relocate(module, TEXT, Rel32Hi, NOWHERE, 0x10);
            relocate(module, TEXT, Rel32Lo, NOWHERE, 0x90);
            relocate(module, SectionId(1), Abs64, SymbolId(2), 8);
            relocate(module, SectionId(1), Abs32, SymbolId(0), 16);
        }),
    );
    say(
        "local memory",
        &written(&|module| {
            module.add_symbol(Symbol {
                definition: Definition::LocalMemory { align: 16 },
                size: 64,
                binding: Binding::Global,
                ..Symbol::undefined("shared")
            });
        }),
    );
    say("an unknown type", &written(&|module| relocate(module, TEXT, Other(77), SymbolId(0), 8)));
    say(
        "a distance that does not fit",
        &written(&|module| {
            module.symbols[0].definition = Definition::Section { section: TEXT, offset: 1 << 40 };
            relocate(module, TEXT, Rel32, SymbolId(0), 8);
        }),
    );
    say(
        "alignments without use",
        &written(&|module| {
            module.add_section(Section::new(".wide", SectionFlags::ALLOC, 16 << 20, vec![1; 4]));
        }),
    );
    let fixture = fixture("gfx942-relocatable.o");
    let headers = section_headers(&fixture);
    let at = |name: &str| headers.iter().find(|header| header.name == name).unwrap();
    // The first entry of the relocations of the code, and the header of their section.
    let (entry, header) = (at(".rela.text").offset, at(".rela.text").header);
    let patched = |changes: &[(usize, usize)]| {
        let mut data = fixture.clone();
        changes.iter().for_each(|&(at, value)| set(&mut data, at, value));
        data
    };
    say("an offset outside of the section", &patched(&[(entry, 0x1000_0000)]));
    say("a symbol outside of the table", &patched(&[(entry + 8, 9999 << 32 | 10)]));
    say("the empty symbol", &patched(&[(entry + 8, 10)]));
    say("relocations of a section outside of the file", &patched(&[(header + 40, 77 << 32 | 30)]));
    say("relocations without addends", &patched(&[(header, word(&fixture, header) & 0xffff_ffff | 9 << 32)]));
    say("a table that is cut", &patched(&[(header + 32, 0x1000_0000)]));
    say("an alignment that is no power of two", &patched(&[(at(".text").header + 48, 3)]));
    let mut old = fixture.clone();
    old[8] = 1;
    say("an old version", &old);
    say("half of the file", &fixture[..fixture.len() / 2]);
    insta::assert_snapshot!(out);
}

/// A list of problems that is too long ends with their number.
#[test]
fn a_long_list_of_problems_is_cut() {
    let mut module = module();
    module.symbols[1].name = "n".repeat(60_000);
    for at in 0..1000 {
        relocate(&mut module, SectionId(1), RelocationKind::Abs32, SymbolId(1), at % 8 * 4);
        relocate(&mut module, SectionId(1), RelocationKind::Abs32, SymbolId(0), at % 8 * 4);
    }
    module.symbols[0].name = "m".repeat(60_000);
    let data = write_relocatable(&module).unwrap();
    let Err(Error::Unlinkable(error)) = loadable(&data, &Limits::default()) else { panic!("no error") };
    let text = error.to_string();
    assert!(text.len() < 8 << 20, "{} bytes", text.len());
    let last = text.lines().last().unwrap();
    assert!(last.trim_start().starts_with("there are ") && last.ends_with(" more problems"), "{last}");
}

/// A definition with default visibility is used, because nothing else is loaded with the file.
#[test]
fn own_definitions_are_used() {
    let mut module = module();
    assert_eq!(module.symbols[0].visibility, Visibility::Default);
    relocate(&mut module, TEXT, RelocationKind::Rel32, SymbolId(0), 0x40);
    let file = linked(&write_relocatable(&module).unwrap());
    let object = CodeObject::parse(&file).unwrap();
    let start = object.symbols().iter().find(|symbol| symbol.name == "caller").unwrap().address;
    let word = object.read(start + 0x40, 4).unwrap();
    // S + A - P: the symbol is 0x40 bytes below the word, and the addend is 4.
    assert_eq!(i32::from_le_bytes(word.try_into().unwrap()), 4 - 0x40);
}
