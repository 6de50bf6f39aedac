//! Decides what each relocation needs: a value, an entry of the global offset table, or the loader.

use std::collections::HashMap;

use super::combine::{Combined, Spot};
use super::problems::Problems;
use super::{LinkError, LinkOptions, LinkProblem, Undefined};
use crate::elf::{Binding, RelocationKind};
use crate::write::module::{
    Definition, Module, Place, Relocation, SectionFlags, SectionId, Symbol, SymbolId, Visibility,
};

/// The needs of a module's relocations.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Symbols with an entry of the global offset table, in the order of the entries.
    pub(super) got: Vec<SymbolId>,
    /// Their positions in it.
    pub(super) got_index: HashMap<SymbolId, usize>,
    /// Words for the loader to fill in.
    pub(super) dynamic: Vec<DynamicRelocation>,
    /// Symbols that the linker defines.
    pub(super) defined: HashMap<SymbolId, Bound>,
    /// Whether the module uses its own definitions ([`LinkOptions::symbolic`]).
    pub(super) symbolic: bool,
}

/// A word for the loader to fill in.
#[derive(Debug, Clone, Copy)]
pub(super) struct DynamicRelocation {
    pub(super) place: DynamicPlace,
    pub(super) symbol: SymbolId,
    pub(super) addend: i64,
    /// Only the load address is added; otherwise, the loader finds the symbol.
    pub(super) relative: bool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum DynamicPlace {
    Section(SectionId, u64),
    /// An entry of the global offset table.
    Got(usize),
}

/// A symbol that the linker defines: a bound of an output section, or the start of the file if
/// there is no such section.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bound {
    pub(super) output: Option<usize>,
    pub(super) at_end: bool,
}

/// How a word is filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// With a value that is known once the addresses are.
    Value,
    /// With the distance to an entry of the global offset table.
    Got,
    /// By the loader, which adds the load address.
    Relative,
    /// By the loader, which finds the symbol.
    Symbol,
}

/// Whether other modules see a symbol.
pub(super) fn is_exported(symbol: &Symbol) -> bool {
    symbol.binding != Binding::Local
        && matches!(symbol.visibility, Visibility::Default | Visibility::Protected)
}

/// Decides for every relocation.
pub(super) fn scan(module: &Module, combined: &Combined, options: &LinkOptions) -> Result<Scan, LinkError> {
    let mut scan = Scan { defined: bounds(module, combined), symbolic: options.symbolic, ..Scan::default() };
    let mut problems = Problems::new();
    undefined(module, &scan, options, &mut problems);
    let mut wants_got = vec![false; module.symbols.len()];
    for (index, section) in module.sections.iter().enumerate() {
        if matches!(combined.spots[index], Spot::Dropped) || !section.flags.has(SectionFlags::ALLOC) {
            continue;
        }
        for relocation in &section.relocations {
            let place = || module.place(SectionId(index), relocation.offset);
            match action(module, &scan, relocation, section.flags, options, place) {
                Ok(Action::Value) => {}
                Ok(Action::Got) => wants_got[relocation.symbol.0] = true,
                Ok(action) => scan.dynamic.push(DynamicRelocation {
                    place: DynamicPlace::Section(SectionId(index), relocation.offset),
                    symbol: relocation.symbol,
                    addend: relocation.addend,
                    relative: action == Action::Relative,
                }),
                Err(Some(problem)) => problems.push(problem),
                Err(None) => {}
            }
        }
    }
    // Entries are in the order of the symbols, global ones first.
    let (local, global): (Vec<_>, Vec<_>) = (0..module.symbols.len())
        .filter(|&index| wants_got[index])
        .partition(|&index| module.symbols[index].binding == Binding::Local);
    for index in global.into_iter().chain(local) {
        let symbol = SymbolId(index);
        scan.got_index.insert(symbol, scan.got.len());
        let place = DynamicPlace::Got(scan.got.len());
        scan.got.push(symbol);
        if is_preemptible(module, &scan, symbol) {
            scan.dynamic.push(DynamicRelocation { place, symbol, addend: 0, relative: false });
        } else if is_address(module, &scan, symbol) {
            scan.dynamic.push(DynamicRelocation { place, symbol, addend: 0, relative: true });
        }
    }
    let local_memory = |symbol: &&Symbol| matches!(symbol.definition, Definition::LocalMemory { .. });
    for symbol in module.symbols.iter().filter(local_memory) {
        problems.push(LinkProblem::LocalMemory { symbol: symbol.name.clone() });
    }
    problems.finish(module).map(|()| scan)
}

/// The bounds of sections that the module refers to and does not define.
fn bounds(module: &Module, combined: &Combined) -> HashMap<SymbolId, Bound> {
    let mut out = HashMap::new();
    for (index, symbol) in module.symbols.iter().enumerate() {
        if symbol.definition != Definition::Undefined {
            continue;
        }
        let find = |name: &str| combined.outputs.iter().position(|output| output.name == name);
        let bound = match symbol.name.as_str() {
            "__preinit_array_start" => (find(".preinit_array"), false),
            "__preinit_array_end" => (find(".preinit_array"), true),
            "__init_array_start" => (find(".init_array"), false),
            "__init_array_end" => (find(".init_array"), true),
            "__fini_array_start" => (find(".fini_array"), false),
            "__fini_array_end" => (find(".fini_array"), true),
            _ => continue,
        };
        out.insert(SymbolId(index), Bound { output: bound.0, at_end: bound.1 });
    }
    out
}

/// Whether a symbol is undefined and must not be. No other module can define one that is not
/// visible to it.
fn is_refused(symbol: &Symbol, options: &LinkOptions) -> bool {
    symbol.definition == Definition::Undefined
        && symbol.binding == Binding::Global
        && (options.undefined == Undefined::Refuse || symbol.visibility != Visibility::Default)
}

/// Collects the undefined symbols, with all locations that use them.
fn undefined(module: &Module, scan: &Scan, options: &LinkOptions, problems: &mut Problems) {
    let mut missing: Vec<(SymbolId, Vec<(SectionId, u64)>)> = Vec::new();
    let mut known = HashMap::new();
    for (index, symbol) in module.symbols.iter().enumerate() {
        let id = SymbolId(index);
        if is_refused(symbol, options) && !scan.defined.contains_key(&id) {
            known.insert(id, missing.len());
            missing.push((id, Vec::new()));
        }
    }
    for (index, section) in module.sections.iter().enumerate() {
        if !section.flags.has(SectionFlags::ALLOC) {
            continue;
        }
        for relocation in &section.relocations {
            if let Some(&at) = known.get(&relocation.symbol) {
                missing[at].1.push((SectionId(index), relocation.offset));
            }
        }
    }
    // A symbol that is only declared does no harm.
    for (id, uses) in missing.iter().filter(|(_, uses)| !uses.is_empty()) {
        problems.undefined(module, *id, uses);
    }
}

/// Whether another code object may redefine the symbol, or has to define it.
pub(super) fn is_preemptible(module: &Module, scan: &Scan, id: SymbolId) -> bool {
    let symbol = &module.symbols[id.0];
    symbol.binding != Binding::Local
        && symbol.visibility == Visibility::Default
        && !scan.defined.contains_key(&id)
        && !(scan.symbolic && symbol.definition != Definition::Undefined)
}

/// Whether the value of a symbol that is not preemptible is an address, which moves with the load
/// address. An undefined weak symbol is 0.
fn is_address(module: &Module, scan: &Scan, id: SymbolId) -> bool {
    match module.symbols[id.0].definition {
        Definition::Section { .. } | Definition::Common { .. } => true,
        Definition::Undefined => scan.defined.contains_key(&id),
        Definition::Absolute(_) | Definition::LocalMemory { .. } => false,
    }
}

/// Decides how to fill in the word of a relocation in a section with `flags`. The error is `None`
/// if the symbol is reported elsewhere.
pub(super) fn action(
    module: &Module,
    scan: &Scan,
    relocation: &Relocation,
    flags: SectionFlags,
    options: &LinkOptions,
    place: impl Fn() -> Place,
) -> Result<Action, Option<LinkProblem>> {
    let (kind, id) = (relocation.kind, relocation.symbol);
    let name = || display_name(module, id);
    if matches!(kind, RelocationKind::Other(_) | RelocationKind::Relative64) {
        return Err(Some(LinkProblem::Unsupported {
            kind: kind.to_string(),
            place: place(),
            symbol: name(),
        }));
    }
    if !flags.has(SectionFlags::ALLOC) {
        return Ok(Action::Value);
    }
    if kind.uses_got() {
        return Ok(Action::Got);
    }
    let preemptible = is_preemptible(module, scan, id);
    if kind.is_relative() {
        let symbol = &module.symbols[id.0];
        return match symbol.definition {
            // An undefined symbol is reported as undefined, unless it is left to the loader.
            Definition::Undefined if preemptible && is_refused(symbol, options) => Err(None),
            _ if preemptible => {
                Err(Some(LinkProblem::Preemptible { kind: kind.to_string(), place: place(), symbol: name() }))
            }
            Definition::Absolute(_) => {
                Err(Some(LinkProblem::Absolute { kind: kind.to_string(), place: place(), symbol: name() }))
            }
            _ => Ok(Action::Value),
        };
    }
    if !preemptible && !is_address(module, scan, id) {
        return Ok(Action::Value);
    }
    if kind != RelocationKind::Abs64 {
        return Err(Some(LinkProblem::NeedsAddress {
            kind: kind.to_string(),
            place: place(),
            symbol: name(),
        }));
    }
    if !flags.has(SectionFlags::WRITE) {
        if is_refused(&module.symbols[id.0], options) {
            return Err(None);
        }
        return Err(Some(LinkProblem::ReadOnly { kind: kind.to_string(), place: place(), symbol: name() }));
    }
    Ok(if preemptible { Action::Symbol } else { Action::Relative })
}

/// The name of a symbol for messages: the name of its section if it has none.
pub(super) fn display_name(module: &Module, id: SymbolId) -> String {
    let symbol = &module.symbols[id.0];
    match symbol.definition {
        Definition::Section { section, .. } if symbol.name.is_empty() => {
            module.sections.get(section.0).map_or(String::new(), |section| section.name.clone())
        }
        _ => symbol.name.clone(),
    }
}
