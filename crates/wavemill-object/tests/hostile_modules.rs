//! No module makes the writers panic, or write files that cannot be read.

use std::cell::Cell;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use wavemill_object::write::{
    Contents, Definition, Group, GroupId, LinkOptions, Module, Relocation, Section, SectionFlags, SectionId,
    SectionType, Symbol, SymbolId, SymbolType, Undefined, Visibility, link_with, write_relocatable,
};
use wavemill_object::{Binding, CodeObject, CodeObjectVersion, DescriptorBuilder, RelocationKind, express};

use crate::support::random_cases;

/// Numbers around the limits, and far beyond.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0_u64..64, 2 => 0_u64..0x1_0000, 1 => Just(u64::MAX), 1 => Just(1 << 63), 1 => any::<u64>()]
}

fn index() -> impl Strategy<Value = usize> {
    prop_oneof![20 => 0_usize..6, 1 => Just(usize::MAX)]
}

fn name() -> impl Strategy<Value = String> {
    let names = [
        ".text",
        ".data",
        ".rodata",
        ".bss",
        ".data.rel.ro",
        ".init_array",
        ".note",
        ".text.a",
        ".rodata.str1.1",
        ".debug_str",
        "",
        "\0",
        "é",
    ];
    proptest::sample::select(names.to_vec()).prop_map(str::to_owned)
}

fn relocation() -> impl Strategy<Value = Relocation> {
    let addend = prop_oneof![4 => -8_i64..64, 1 => any::<i64>()];
    (number(), 0_u32..17, index(), addend).prop_map(|(offset, kind, symbol, addend)| Relocation {
        offset,
        kind: RelocationKind::from_number(kind),
        symbol: SymbolId(symbol),
        addend,
    })
}

fn contents() -> impl Strategy<Value = Contents> {
    prop_oneof![
        6 => proptest::collection::vec(prop_oneof![Just(0), any::<u8>()], 0..80).prop_map(Contents::Bytes),
        2 => number().prop_map(Contents::Zeros),
    ]
}

fn section() -> impl Strategy<Value = Section> {
    let flags =
        prop_oneof![Just(2_u64), Just(3), Just(6), Just(0x32), Just(0x12), Just(0), Just(0x30), any::<u64>()];
    let kind = prop_oneof![
        10 => Just(SectionType::Program),
        1 => Just(SectionType::Note),
        1 => Just(SectionType::InitArray),
        1 => (0_u32..20).prop_map(SectionType::Other),
    ];
    let align = prop_oneof![10 => (0_u32..9).prop_map(|bits| 1 << bits), 1 => number()];
    let entry_size = prop_oneof![Just(0_u64), Just(1), Just(2), Just(4), number()];
    let group = prop_oneof![20 => Just(None), 1 => index().prop_map(|index| Some(GroupId(index)))];
    (name(), kind, flags, align, entry_size, contents(), proptest::collection::vec(relocation(), 0..4), group)
        .prop_map(|(name, kind, flags, align, entry_size, contents, relocations, group)| Section {
            name,
            kind,
            flags: SectionFlags(flags),
            align,
            entry_size,
            contents,
            relocations,
            group,
        })
}

fn symbol() -> impl Strategy<Value = Symbol> {
    let definition = prop_oneof![
        8 => (index(), number()).prop_map(|(section, offset)| Definition::Section { section: SectionId(section), offset }),
        1 => number().prop_map(Definition::Absolute),
        1 => number().prop_map(|align| Definition::Common { align }),
        1 => number().prop_map(|align| Definition::LocalMemory { align }),
        1 => Just(Definition::Undefined),
    ];
    let kinds =
        [SymbolType::None, SymbolType::Object, SymbolType::Function, SymbolType::Section, SymbolType::File];
    let visibilities = [Visibility::Default, Visibility::Hidden, Visibility::Protected, Visibility::Internal];
    let names = ["a", "b", "c.kd", "c", ".Ld", "", "__init_array_start", "__fini_array_end"];
    (
        proptest::sample::select(names.to_vec()),
        definition,
        number(),
        proptest::sample::select(kinds.to_vec()),
        proptest::sample::select(vec![Binding::Local, Binding::Local, Binding::Global, Binding::Weak]),
        proptest::sample::select(visibilities.to_vec()),
    )
        .prop_map(|(name, definition, size, kind, binding, visibility)| Symbol {
            name: name.to_owned(),
            definition,
            size,
            kind,
            binding,
            visibility,
        })
}

fn module() -> impl Strategy<Value = Module> {
    let target = proptest::sample::select(vec![
        "gfx906",
        "gfx90a:xnack-",
        "gfx950",
        "gfx9-4-generic",
        "cayman",
        "gfx9999",
    ]);
    let version = proptest::sample::select(vec![
        CodeObjectVersion::V4,
        CodeObjectVersion::V5,
        CodeObjectVersion::V6,
        CodeObjectVersion::V3,
    ]);
    let groups = proptest::collection::vec((index(), any::<bool>()), 0..2);
    (
        target,
        version,
        proptest::collection::vec(section(), 0..6),
        proptest::collection::vec(symbol(), 0..6),
        groups,
    )
        .prop_map(|(target, version, sections, symbols, groups)| {
            let mut module = Module::new(target.parse().expect("a target"), version);
            module.sections = sections;
            module.symbols = symbols;
            module.groups = groups
                .into_iter()
                .map(|(index, comdat)| Group { signature: SymbolId(index), comdat })
                .collect();
            module
        })
}

/// Repairs obvious errors, so that tests reach the code after the checks.
fn tame(module: &mut Module) {
    let (sections, groups) = (module.sections.len(), module.groups.len());
    let symbols = module.symbols.len();
    let align = |align: u64| if align.is_power_of_two() && align <= 4096 { align } else { 4 };
    module.target = "gfx942".parse().expect("a target");
    module.version = CodeObjectVersion::V5;
    for section in &mut module.sections {
        section.name = section.name.replace('\0', "x");
        section.align = align(section.align);
        section.flags.0 &= 0x37;
        section.group = section.group.filter(|group| group.0 < groups);
        if let SectionType::Other(_) = section.kind {
            section.kind = SectionType::Program;
        }
        if let Contents::Zeros(size) = &mut section.contents {
            *size %= 1 << 20;
            section.kind = SectionType::Program;
            section.relocations.clear();
        }
        let size = section.contents.size();
        if section.entry_size == 0 || !size.is_multiple_of(section.entry_size) {
            section.entry_size = 1;
        }
        section.relocations.retain(|relocation| symbols != 0 && size >= relocation.kind.width() as u64);
        for relocation in &mut section.relocations {
            relocation.symbol.0 %= symbols;
            relocation.offset %= size - relocation.kind.width() as u64 + 1;
            if let RelocationKind::Other(_) | RelocationKind::Relative64 = relocation.kind {
                relocation.kind = RelocationKind::Rel32Lo;
                relocation.offset = 0;
            }
        }
        section.relocations.retain(|relocation| size >= relocation.offset + relocation.kind.width() as u64);
    }
    for (index, symbol) in module.symbols.iter_mut().enumerate() {
        if symbol.binding != Binding::Local && !symbol.name.starts_with("__") {
            symbol.name = format!("{}{index}", symbol.name);
        } else if symbol.name.starts_with("__") {
            symbol.binding = Binding::Local;
        }
        symbol.definition = match symbol.definition {
            Definition::Section { section, offset } if sections != 0 => {
                Definition::Section { section: SectionId(section.0 % sections), offset }
            }
            Definition::Common { align: bytes } => {
                symbol.size %= 1 << 20;
                Definition::Common { align: align(bytes) }
            }
            Definition::Undefined => Definition::Undefined,
            _ => Definition::Absolute(1),
        };
    }
    module.groups.retain(|_| symbols != 0);
    for group in &mut module.groups {
        group.signature.0 %= symbols;
    }
    let groups = module.groups.len();
    for section in &mut module.sections {
        section.group = section.group.filter(|group| group.0 < groups);
    }
}

/// Every written file can be read again, and every error has a message.
fn exercise(module: &Module) -> (bool, bool) {
    let relocatable = match write_relocatable(module) {
        Ok(bytes) => {
            object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*bytes)
                .expect("a file that can be read");
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    };
    let mut linked = false;
    for undefined in [Undefined::Refuse, Undefined::Keep] {
        match link_with(module, &LinkOptions { undefined, ..LinkOptions::default() }) {
            Ok(bytes) => {
                if let Err(error) = CodeObject::parse(&bytes) {
                    // Notes of random bytes are not valid notes.
                    assert!(
                        module.sections.iter().any(|section| section.kind == SectionType::Note),
                        "{error}"
                    );
                }
                linked = true;
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
    (relocatable, linked)
}

#[test]
fn any_module() {
    let (written, linked) = (Cell::new(0), Cell::new(0));
    TestRunner::new(random_cases(4000))
        .run(&(module(), 0..4), |(mut module, wild)| {
            if wild != 0 {
                tame(&mut module);
            }
            let (first, second) = exercise(&module);
            written.set(written.get() + u32::from(first));
            linked.set(linked.get() + u32::from(second));
            Ok(())
        })
        .unwrap();
    // Not all modules are rejected.
    assert!(written.get() > 2000 && linked.get() > 500, "{} {}", written.get(), linked.get());
}

/// A descriptor whose words have arbitrary bits, or only a few.
fn descriptor() -> impl Strategy<Value = [u8; 64]> {
    let byte = prop_oneof![6 => Just(0_u8), 2 => (0_u32..8).prop_map(|bit| 1 << bit), 1 => any::<u8>()];
    let places = [0..12_usize, 44..60];
    proptest::collection::vec(byte, 64).prop_map(move |bytes| {
        let used = |at: &usize| places.iter().any(|range| range.contains(at));
        std::array::from_fn(|at| if used(&at) { bytes[at] } else { 0 })
    })
}

/// Arbitrary bytes become directives that reproduce them, or an error with reasons.
#[test]
fn any_descriptor() {
    let expressed = Cell::new(0);
    TestRunner::new(random_cases(20_000))
        .run(&(descriptor(), 0_usize..5), |(bytes, target)| {
            let target = ["gfx900", "gfx906", "gfx90a:xnack-", "gfx942", "gfx1030"][target].parse().unwrap();
            match express(&bytes, &target) {
                Ok(settings) => {
                    let mut builder = DescriptorBuilder::new(&target).unwrap();
                    for setting in settings {
                        builder.set(setting.directive.name, setting.value.into()).unwrap();
                    }
                    prop_assert_eq!(builder.finish(), Ok(bytes));
                    expressed.set(expressed.get() + 1);
                }
                Err(error) => prop_assert!(!error.reasons.is_empty()),
            }
            Ok(())
        })
        .unwrap();
    assert!(expressed.get() > 50, "{}", expressed.get());
}
