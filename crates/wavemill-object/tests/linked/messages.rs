//! Messages of the writers about modules that cannot be written or linked.

use wavemill_object::write::{
    Contents, Definition, GroupId, LinkError, Module, Relocation, Section, SectionFlags, SectionId,
    SectionType, Symbol, SymbolId, SymbolType, Visibility, WriteError, link, write_relocatable,
};
use wavemill_object::{Binding, CodeObjectVersion, RelocationKind};
use wavemill_oracle::Failed;

/// A module with code, data and a symbol of every kind.
fn module() -> Module {
    let mut module = Module::new("gfx90a".parse().expect("a target"), CodeObjectVersion::V5);
    let flags = SectionFlags::ALLOC | SectionFlags::EXECUTE;
    let text = module.add_section(Section::new(".text", flags, 4, vec![0; 0x100]));
    let data = SectionFlags::ALLOC | SectionFlags::WRITE;
    module.add_section(Section::new(".data", data, 8, vec![0; 0x20]));
    for (name, visibility, definition) in [
        ("shown", Visibility::Default, Definition::Section { section: text, offset: 0 }),
        ("guarded", Visibility::Protected, Definition::Section { section: text, offset: 0x40 }),
        ("number", Visibility::Hidden, Definition::Absolute(0x1_0000_0000)),
        ("nowhere", Visibility::Default, Definition::Undefined),
        ("elsewhere", Visibility::Default, Definition::Undefined),
    ] {
        let symbol = Symbol::in_section(name, text, 0);
        module.add_symbol(Symbol { binding: Binding::Global, visibility, definition, ..symbol });
    }
    module
}

const TEXT: SectionId = SectionId(0);
const DATA: SectionId = SectionId(1);

fn relocate(module: &mut Module, section: SectionId, kind: RelocationKind, symbol: &str, offset: u64) {
    let symbol =
        module.symbols.iter().position(|own| own.name == symbol).map_or(SymbolId(usize::MAX), SymbolId);
    module.sections[section.0].relocations.push(Relocation { offset, kind, symbol, addend: 4 });
}

pub(crate) fn messages() -> Result<(), Failed> {
    use RelocationKind::*;
    let mut out = String::new();
    let mut say = |change: &dyn Fn(&mut Module)| -> Result<(), Failed> {
        let mut module = module();
        change(&mut module);
        let error = link(&module).err().ok_or_else(|| format!("it is linked after:\n{out}"))?;
        match (&error, write_relocatable(&module)) {
            (LinkError::Write(_), Err(_)) | (LinkError::Problems(_), Ok(_)) => {}
            // A section without bytes in the file can be too large only for memory.
            (LinkError::Write(WriteError::TooLarge { .. }), Ok(_)) => {}
            (error, written) => return Err(format!("{error}, but {:?}", written.map(drop)).into()),
        }
        out += &format!("{error}\n");
        Ok(())
    };
    for (section, kind, symbol) in [
        (TEXT, Rel32Lo, "shown"),
        (TEXT, Abs32, "guarded"),
        (TEXT, Abs64, "guarded"),
        (DATA, Abs32Lo, "shown"),
        (TEXT, Rel32, "number"),
        (DATA, Abs32, "number"),
        (TEXT, Other(77), "guarded"),
        (TEXT, Relative64, "guarded"),
        (DATA, Abs64, "nowhere"),
    ] {
        say(&|module| relocate(module, section, kind, symbol, 8))?;
    }
    say(&|module| {
        for offset in 0..14 {
            relocate(module, TEXT, Rel32Lo, "nowhere", offset * 4);
        }
        relocate(module, DATA, Abs64, "elsewhere", 8);
        relocate(module, TEXT, Rel64, "shown", 0x80);
    })?;
    say(&|module| {
        module.sections[0].contents = Contents::Bytes(vec![0; 0x10_0000]);
        module.symbols[1].definition = Definition::Section { section: TEXT, offset: 0xf_0000 };
        relocate(module, TEXT, Rel16, "guarded", 0);
    })?;
    say(&|module| relocate(module, TEXT, Rel64, "guarded", 0xfc))?;
    say(&|module| relocate(module, TEXT, Rel64, "no such symbol", 0))?;
    say(&|module| module.symbols[0].definition = Definition::Section { section: SectionId(7), offset: 0 })?;
    say(&|module| module.symbols[1].name = "shown".to_owned())?;
    say(&|module| module.symbols[1].name = "a\0b".to_owned())?;
    say(&|module| module.symbols[1].definition = Definition::LocalMemory { align: 16 })?;
    say(&|module| module.symbols[1].definition = Definition::Common { align: 3 })?;
    say(&|module| module.sections[0].align = 1 << 40)?;
    say(&|module| module.sections[0].group = Some(GroupId(3)))?;
    say(&|module| {
        module.sections[0].flags |= SectionFlags::MERGE;
        module.sections[0].entry_size = 3;
    })?;
    say(&|module| {
        relocate(module, DATA, Abs64, "guarded", 0);
        module.sections[1].contents = Contents::Zeros(64);
    })?;
    say(&|module| module.sections[1].contents = Contents::Zeros(u64::MAX))?;
    say(&|module| module.sections[1].kind = SectionType::Other(2))?;
    say(&|module| {
        let kind = SectionType::Other(0x7000_0001);
        module
            .add_section(Section { kind, ..Section::new(".data.more", SectionFlags::ALLOC, 1, Vec::new()) });
    })?;
    say(&|module| {
        let gone = module.add_section(Section::new(".gone", SectionFlags::EXCLUDE, 1, vec![0; 4]));
        module.symbols[1].definition = Definition::Section { section: gone, offset: 0 };
        relocate(module, TEXT, Rel64, "guarded", 0);
    })?;
    say(&|module| {
        let flags = SectionFlags::ALLOC | SectionFlags::MERGE | SectionFlags::STRINGS;
        let texts = Section { entry_size: 1, ..Section::new(".rodata.str", flags, 1, b"a\0".to_vec()) };
        let texts = module.add_section(texts);
        let symbol = Symbol { kind: SymbolType::Section, ..Symbol::in_section("", texts, 0) };
        let symbol = module.add_symbol(symbol);
        module.sections[0].relocations.push(Relocation { offset: 0, kind: Rel64, symbol, addend: 2 });
    })?;
    say(&|module| module.version = CodeObjectVersion::V3)?;
    say(&|module| module.target = "gfx9999".parse().expect("a target"))?;
    insta::assert_snapshot!(out);
    Ok(())
}
