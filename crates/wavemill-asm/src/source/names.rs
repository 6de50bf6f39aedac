//! How symbols and sections are named.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use wavemill_object::printable::is_hidden;

use wavemill_object::Unlinked;
use wavemill_object::write::{Definition, SymbolId, SymbolType};

/// The names of all symbols in a source: unique, and quoted where needed.
#[derive(Debug)]
pub(super) struct Names {
    all: Vec<String>,
    /// Whether the file has a different name for the symbol.
    changed: Vec<bool>,
}

/// Whether a name is valid in a source without quotes.
fn is_plain(name: &str) -> bool {
    let mut bytes = name.bytes();
    name != "."
        && bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || b"_.$".contains(&first))
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_.$".contains(&byte))
}

/// The name of a section.
pub(super) fn section(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_.-$".contains(c);
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { quoted(name) }
}

/// The name of a section in an expression, where it means the start of the section.
pub(super) fn section_in_expression(name: &str) -> String {
    if is_plain(name) { name.to_owned() } else { format!("\"{name}\"") }
}

/// Text between quotes, with escapes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() && c.is_ascii() => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\{:03o}", c as u32);
            }
            // Characters that an editor hides, byte by byte.
            c if is_hidden(c) => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl Names {
    pub(super) fn new(unlinked: &Unlinked) -> Names {
        let module = &unlinked.module;
        let mut taken: HashSet<String> = HashSet::new();
        // The number of duplicates of each name so far.
        let mut numbers: HashMap<String, u64> = HashMap::new();
        let (mut all, mut changed) = (Vec::new(), Vec::new());
        // Symbols that other files see keep their names.
        let mut order: Vec<usize> = (0..module.symbols.len()).collect();
        order.sort_by_key(|&index| {
            module.symbols.get(index).is_none_or(|symbol| symbol.binding == wavemill_object::Binding::Local)
        });
        all.resize(order.len(), String::new());
        changed.resize(order.len(), false);
        for index in order {
            let Some(symbol) = module.symbols.get(index) else { continue };
            let own_section = match symbol.definition {
                Definition::Section { section, .. } if symbol.kind == SymbolType::Section => {
                    module.sections.get(section.0)
                }
                _ => None,
            };
            if let Some(own) = own_section {
                all[index] = section_in_expression(&own.name);
                continue;
            }
            // Names in expressions have no escapes.
            let usable = |c: char| !is_hidden(c) && c != '"' && c != '\\';
            let base: String = symbol.name.chars().map(|c| if usable(c) { c } else { '_' }).collect();
            let mut name = base.clone();
            while !taken.insert(name.clone()) {
                let number = numbers.entry(base.clone()).or_default();
                *number += 1;
                name = format!("{base}.{number}");
            }
            changed[index] = name != symbol.name;
            all[index] = if is_plain(&name) { name } else { format!("\"{name}\"") };
        }
        Names { all, changed }
    }

    /// The name of a symbol. For the symbol of a section, the name of the section.
    pub(super) fn of(&self, symbol: SymbolId) -> &str {
        self.all.get(symbol.0).map_or("", String::as_str)
    }

    /// Whether the name differs from the name in the file.
    pub(super) fn is_changed(&self, symbol: SymbolId) -> bool {
        self.changed.get(symbol.0).copied().unwrap_or(false)
    }
}

/// `name+4`, with a relocation between name and number: `name@rel32@lo+4`.
pub(super) fn sum(name: &str, relocation: &str, addend: i64) -> String {
    let at = if relocation.is_empty() { "" } else { "@" };
    match addend {
        0 => format!("{name}{at}{relocation}"),
        addend if addend < 0 => format!("{name}{at}{relocation}-{}", addend.unsigned_abs()),
        addend => format!("{name}{at}{relocation}+{addend}"),
    }
}
