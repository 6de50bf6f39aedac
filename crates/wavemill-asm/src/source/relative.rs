//! Names for the addresses that code computes. In a linked file the distance is a number; here it
//! becomes a symbol again.

use wavemill_object::write::{SectionId, SymbolType};

use super::{Writer, is_preemptible};

/// The base that expresses an address.
#[derive(Clone, Debug)]
pub(super) enum Base {
    /// A symbol or a section, and the distance from it.
    Symbol(String, i64),
    /// The entry of a symbol in the global offset table.
    Got(String),
    /// An offset in the section itself that no symbol names.
    Own(u64),
}

impl Writer<'_> {
    /// The base for an address of a linked file, from the point of view of a section.
    pub(super) fn base(&self, own: SectionId, address: u64) -> Option<Base> {
        if let Ok(at) = self.unlinked.got.binary_search_by_key(&address, |entry| entry.address) {
            let entry = self.unlinked.got.get(at)?;
            return Some(Base::Got(self.names.of(entry.symbol).to_owned()));
        }
        let ranges = || {
            self.module.sections.iter().zip(&self.unlinked.addresses).enumerate().filter_map(
                |(index, (section, &start))| {
                    let offset = address.checked_sub(start)?;
                    Some((SectionId(index), section, offset))
                },
            )
        };
        let (id, section, offset) =
            ranges()
                .find(|(_, section, offset)| *offset < section.contents.size())
                .or_else(|| ranges().find(|(_, section, offset)| *offset == section.contents.size()))?;
        let symbols = self.bounds.symbols(id);
        let behind = symbols.partition_point(|(at, _)| *at <= offset);
        // The nearest symbols before it. A more distant one may contain the address too, but a
        // different name works then.
        let near = || {
            symbols.get(..behind).unwrap_or_default().iter().rev().take(8).filter_map(|(at, symbol_id)| {
                let symbol = self.module.symbols.get(symbol_id.0)?;
                let name = self.names.of(*symbol_id);
                (!is_preemptible(symbol) && !name.is_empty()).then_some((*at, symbol, name))
            })
        };
        let is_typed = |kind| matches!(kind, SymbolType::Object | SymbolType::Function);
        // A label exactly there moves with the address, whatever its type. It has precedence over
        // symbols that begin earlier.
        let found = near()
            .find(|(at, symbol, _)| *at == offset && is_typed(symbol.kind))
            .or_else(|| near().find(|(at, symbol, _)| *at == offset && symbol.kind == SymbolType::None))
            .or_else(|| near().find(|(at, symbol, _)| is_typed(symbol.kind) && offset - at < symbol.size));
        if let Some((at, _, name)) = found {
            return Some(Base::Symbol(name.to_owned(), (offset - at) as i64));
        }
        if id == own {
            return Some(Base::Own(offset));
        }
        let plain = super::names::section_in_expression(&section.name);
        Some(Base::Symbol(plain, offset as i64))
    }
}
