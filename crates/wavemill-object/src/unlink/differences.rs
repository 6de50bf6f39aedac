//! Differences between two files.

use std::collections::BTreeSet;

use super::Unlinked;
use crate::write::{Contents, Definition, Module, Section, SectionId, SymbolType};

/// Most differences of one kind that are listed; the rest are only counted.
const SHOWN: usize = 5;

impl Unlinked {
    /// The differences from another file, in words: in sections by name (contents, addresses,
    /// flags, relocations), and in symbols. Empty if a loader would treat both files alike. Ignores
    /// empty sections, and the names of symbols that only linkers see.
    pub fn differences(&self, other: &Unlinked) -> Vec<String> {
        let mut out = Vec::new();
        let (own, others) = (&self.module, &other.module);
        if (&own.target, own.version) != (&others.target, others.version) {
            out.push(format!("{} {} and {} {}", own.target, own.version, others.target, others.version));
        }
        for (index, section) in own.sections.iter().enumerate().filter(|(_, own)| own.contents.size() != 0) {
            let name = &section.name;
            // Among several sections with one name, compare those at the same position.
            let found =
                namesakes(others, name).nth(namesakes(own, name).take_while(|at| *at < index).count());
            let Some((found, there)) = found.and_then(|at| Some((at, others.sections.get(at)?))) else {
                out.push(format!("only one has {name}"));
                continue;
            };
            match (&section.contents, &there.contents) {
                (Contents::Bytes(bytes), Contents::Bytes(theirs)) if bytes.len() == theirs.len() => {
                    let differing = bytes.iter().zip(theirs).filter(|(a, b)| a != b).count();
                    if let Some(at) = bytes.iter().zip(theirs).position(|(a, b)| a != b) {
                        out.push(format!("{differing} bytes of {name} differ, first at {at:#x}"));
                    }
                }
                (bytes, theirs) if bytes != theirs => {
                    out.push(format!("{name} has {} bytes and {}", bytes.size(), theirs.size()));
                }
                _ => {}
            }
            let form = |section: &Section| (section.kind, section.flags, section.align);
            if form(section) != form(there) {
                out.push(format!("{name} is {:?} and {:?}", form(section), form(there)));
            }
            let (group, theirs) = (group(own, section), group(others, there));
            if group != theirs {
                out.push(format!("{name} is in the groups {group:?} and {theirs:?}"));
            }
            let (address, theirs) = (self.addresses.get(index), other.addresses.get(found));
            if address != theirs {
                out.push(format!(
                    "{name} is at {:#x} and {:#x}",
                    address.unwrap_or(&0),
                    theirs.unwrap_or(&0)
                ));
            }
            only(name, &self.relocations(index), &other.relocations(found), &mut out);
        }
        only("the symbol table", &self.symbols(), &other.symbols(), &mut out);
        out
    }

    fn place(&self, section: SectionId, offset: u64) -> String {
        let name = self.module.sections.get(section.0).map_or("", |section| &section.name);
        match namesakes(&self.module, name).take_while(|at| *at < section.0).count() {
            0 => format!("{name}+{offset:#x}"),
            before => format!("{name} ({})+{offset:#x}", before + 1),
        }
    }

    /// Relocations. A defined symbol is written as a location in its section.
    fn relocations(&self, section: usize) -> BTreeSet<String> {
        let relocations = self.module.sections.get(section).map_or(&[][..], |section| &section.relocations);
        let describe = |relocation: &crate::write::Relocation| {
            let symbol = self.module.symbols.get(relocation.symbol.0);
            let target = match symbol.map(|symbol| symbol.definition) {
                Some(Definition::Section { section, offset }) => {
                    self.place(section, offset.wrapping_add_signed(relocation.addend))
                }
                _ => format!("{}+{:#x}", symbol.map_or("", |symbol| &symbol.name), relocation.addend),
            };
            format!("{} at {:#x} to {target}", relocation.kind, relocation.offset)
        };
        relocations.iter().map(describe).collect()
    }

    fn symbols(&self) -> BTreeSet<String> {
        let shown = |symbol: &&crate::write::Symbol| {
            // Assemblers drop symbols with this prefix.
            symbol.kind != SymbolType::Section && !symbol.name.starts_with(".L")
        };
        (self.module.symbols.iter().filter(shown))
            .map(|symbol| {
                let at = match symbol.definition {
                    Definition::Section { section, offset } => self.place(section, offset),
                    other => format!("{other:?}"),
                };
                let (name, size, kind) = (&symbol.name, symbol.size, symbol.kind);
                format!("{name}: {at}, {size} bytes, {kind:?}, {:?}, {:?}", symbol.binding, symbol.visibility)
            })
            .collect()
    }
}

/// The sections of a name that are not empty.
fn namesakes(module: &Module, name: &str) -> impl Iterator<Item = usize> {
    let sections = module.sections.iter().enumerate();
    sections.filter(move |(_, one)| one.name == name && one.contents.size() != 0).map(|(index, _)| index)
}

/// The name of a section's group, and whether a linker keeps only one group of that name.
fn group<'a>(module: &'a Module, section: &Section) -> Option<(&'a str, bool)> {
    let group = module.groups.get(section.group?.0)?;
    Some((&module.symbols.get(group.signature.0)?.name, group.comdat))
}

/// Reports the items that only one of two sets has.
fn only(what: &str, own: &BTreeSet<String>, others: &BTreeSet<String>, out: &mut Vec<String>) {
    for (side, left, right) in [("the first", own, others), ("the second", others, own)] {
        let missing: Vec<&String> = left.difference(right).collect();
        for line in missing.iter().take(SHOWN) {
            out.push(format!("{what}: only {side} has {line}"));
        }
        if missing.len() > SHOWN {
            out.push(format!("{what}: only {side} has {} more", missing.len() - SHOWN));
        }
    }
}
