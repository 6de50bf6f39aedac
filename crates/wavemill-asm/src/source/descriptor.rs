//! Writes kernel descriptors as directives.

use std::collections::HashMap;
use std::fmt;

use wavemill_object::Unlinked;
use wavemill_object::write::{Contents, Definition, SectionId, Symbol, SymbolId, SymbolType};

use super::Writer;
use super::names::Names;
use super::pieces::Bounds;
use crate::abi::KernelAbi;

/// A kernel descriptor.
#[derive(Clone, Debug)]
pub(super) struct Descriptor {
    /// Its own symbol.
    pub(super) symbol: SymbolId,
    /// The symbol of the code.
    pub(super) code: SymbolId,
    /// The directives, or why the descriptor cannot be written as directives.
    settings: Result<Vec<String>, String>,
}

/// The kernel descriptors of a module.
#[derive(Debug)]
pub(super) struct Descriptors {
    by_place: HashMap<(SectionId, u64), Descriptor>,
    by_code: HashMap<SymbolId, SymbolId>,
}

impl Descriptors {
    pub(super) fn find(
        unlinked: &Unlinked,
        abi: &dyn KernelAbi,
        names: &Names,
        bounds: &Bounds,
    ) -> Descriptors {
        let size = abi.descriptor_size();
        let module = &unlinked.module;
        let defined: HashMap<&str, SymbolId> = (module.symbols.iter().enumerate())
            .filter(|(_, symbol)| matches!(symbol.definition, Definition::Section { .. }))
            .map(|(index, symbol)| (symbol.name.as_str(), SymbolId(index)))
            .collect();
        let mut found = Descriptors { by_place: HashMap::new(), by_code: HashMap::new() };
        for (index, symbol) in module.symbols.iter().enumerate() {
            let id = SymbolId(index);
            let Some(code) = abi.kernel_of(&symbol.name).and_then(|name| defined.get(name)) else {
                continue;
            };
            let Definition::Section { section, offset } = symbol.definition else { continue };
            let is_descriptor = symbol.kind == SymbolType::Object
                && symbol.size == size
                && offset.is_multiple_of(size)
                && !names.is_changed(id)
                && !names.is_changed(*code)
                && !bounds.divides(section, offset, offset.saturating_add(size));
            if !is_descriptor || found.by_place.contains_key(&(section, offset)) {
                continue;
            }
            let Some(bytes) = bytes(unlinked, section, offset, size) else { continue };
            if !leads_to(unlinked, abi, section, offset, bytes, *code) {
                continue;
            }
            let settings = abi.express(bytes, &module.target);
            if settings.is_ok() {
                found.by_code.insert(*code, id);
            }
            found.by_place.insert((section, offset), Descriptor { symbol: id, code: *code, settings });
        }
        found
    }

    /// The descriptor at an offset.
    pub(super) fn at(&self, section: SectionId, offset: u64) -> Option<&Descriptor> {
        self.by_place.get(&(section, offset))
    }

    /// Whether the directives of a descriptor define its symbol.
    pub(super) fn is_implied(&self, section: SectionId, offset: u64, symbol: SymbolId) -> bool {
        self.at(section, offset).is_some_and(|found| found.symbol == symbol && found.settings.is_ok())
    }

    /// The symbol of the descriptor that directives make for a kernel.
    pub(super) fn of_code(&self, code: SymbolId) -> Option<SymbolId> {
        self.by_code.get(&code).copied()
    }
}

fn bytes(unlinked: &Unlinked, section: SectionId, offset: u64, size: u64) -> Option<&[u8]> {
    match &unlinked.module.sections.get(section.0)?.contents {
        Contents::Bytes(bytes) => {
            bytes.get(usize::try_from(offset).ok()?..)?.get(..usize::try_from(size).ok()?)
        }
        Contents::Zeros(_) => None,
    }
}

/// Whether a descriptor belongs to the code of a symbol.
fn leads_to(
    unlinked: &Unlinked,
    abi: &dyn KernelAbi,
    section: SectionId,
    offset: u64,
    bytes: &[u8],
    code: SymbolId,
) -> bool {
    let module = &unlinked.module;
    let place = |symbol: &Symbol| match symbol.definition {
        Definition::Section { section, offset } => Some((section, offset)),
        _ => None,
    };
    let Some((code_section, code_offset)) = module.symbols.get(code.0).and_then(place) else { return false };
    let Some(own) = module.sections.get(section.0) else { return false };
    let end = offset.saturating_add(abi.descriptor_size());
    let first = own.relocations.partition_point(|relocation| relocation.offset < offset);
    let rest = own.relocations.get(first..).unwrap_or_default();
    let mut inside = rest.iter().take_while(|relocation| relocation.offset < end);
    if unlinked.linked {
        let address = |section: SectionId| unlinked.addresses.get(section.0).copied().unwrap_or(0);
        let Some(distance) = abi.code_distance(bytes) else { return false };
        let target = address(section).wrapping_add(offset).wrapping_add_signed(distance);
        return inside.next().is_none() && target == address(code_section).wrapping_add(code_offset);
    }
    let Some(only) = inside.next() else { return false };
    let field = abi.code_field();
    let target = module.symbols.get(only.symbol.0).and_then(place).map(|(section, offset)| {
        let rest = only.addend.wrapping_sub(field.addend);
        (section, offset.wrapping_add_signed(rest))
    });
    inside.next().is_none()
        && only.kind == field.kind
        && only.offset == offset + field.offset
        && target == Some((code_section, code_offset))
}

impl Writer<'_> {
    /// Writes the directives of the descriptor at an offset. Returns false if there are none, and
    /// data must follow.
    pub(super) fn descriptor(&mut self, section: SectionId, offset: u64) -> Result<bool, fmt::Error> {
        let Some(descriptor) = self.descriptors.at(section, offset).cloned() else { return Ok(false) };
        let name = self.names.of(descriptor.code).to_owned();
        match descriptor.settings {
            Ok(settings) => {
                // LLVM gives the descriptor's symbol the attributes that the code's symbol has so
                // far.
                self.attributes_once(descriptor.code)?;
                self.attributes_of_descriptor(descriptor.symbol, descriptor.code)?;
                let known = self.abi.directives();
                self.statement(format_args!("{} {name}", known.kernel))?;
                for setting in settings {
                    self.statement(format_args!("\t{setting}"))?;
                }
                self.statement(format_args!("{}", known.end_kernel))?;
                Ok(true)
            }
            Err(reasons) => {
                self.remark(format_args!("{reasons}"))?;
                Ok(false)
            }
        }
    }
}
