//! The tables that loaders read: dynamic symbols with their names and hashes.

use object::elf;
use object::write::elf::GnuHashTable;

use super::combine::Combined;
use super::scan::{Scan, is_exported};
use crate::write::encoder;
use crate::write::module::{Definition, Module, SymbolId};
use crate::write::strings::StringTable;

/// The dynamic symbols.
#[derive(Debug)]
pub(super) struct DynamicSymbols {
    /// In the order of the file, except the empty one at the start.
    pub(super) symbols: Vec<DynamicSymbol>,
    /// Their names.
    pub(super) names: Vec<u8>,
    /// Contents of `.gnu.hash`.
    pub(super) gnu_hash: Vec<u8>,
    /// Contents of `.hash`.
    pub(super) hash: Vec<u8>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct DynamicSymbol {
    pub(super) id: SymbolId,
    /// Offset of its name.
    pub(super) name: u32,
}

/// Number of words in the filter of `.gnu.hash`: 12 bits for each symbol, rounded up to a power of
/// two.
fn filter_words(symbols: usize) -> u32 {
    match symbols {
        0 => 1,
        _ => (symbols as u64 * 12 / 64 + 1).next_power_of_two() as u32,
    }
}

/// Collects the symbols that other modules see or have to define.
pub(super) fn symbols(module: &Module, combined: &Combined, scan: &Scan) -> DynamicSymbols {
    let mut names = StringTable::new();
    let mut undefined = Vec::new();
    let mut defined = Vec::new();
    for (index, symbol) in module.symbols.iter().enumerate() {
        let id = SymbolId(index);
        if !is_exported(symbol) || scan.defined.contains_key(&id) || combined.is_dropped(module, id) {
            continue;
        }
        let entry = DynamicSymbol { id, name: names.add(&symbol.name) };
        match symbol.definition {
            Definition::Undefined => undefined.push(entry),
            _ => defined.push((elf::gnu_hash(symbol.name.as_bytes()), entry)),
        }
    }
    let bucket_count = (defined.len() / 4).max(1) as u32;
    defined.sort_by_key(|(hash, entry)| (hash % bucket_count, entry.name));
    let table = GnuHashTable {
        bucket_count,
        bloom_count: filter_words(defined.len()),
        bloom_shift: 26,
        symbol_base: undefined.len() as u32 + 1,
        symbol_count: defined.len() as u32,
    };
    let mut gnu_hash = Vec::new();
    encoder().gnu_hash_table(&mut gnu_hash, &table, |at| defined[at as usize].0);
    let symbols: Vec<_> = undefined.into_iter().chain(defined.into_iter().map(|(_, entry)| entry)).collect();

    let count = symbols.len() as u32 + 1;
    let mut hash = Vec::new();
    encoder().hash_table(&mut hash, count, count, |at| {
        let symbol = symbols.get((at as usize).checked_sub(1)?)?;
        Some(elf::hash(module.symbols[symbol.id.0].name.as_bytes()))
    });
    DynamicSymbols { symbols, names: names.bytes().to_vec(), gnu_hash, hash }
}
