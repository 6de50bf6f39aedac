//! ALU groups.

use wavemill_isa::cayman::{Elem, Group, Source, SourceField, search_bank_swizzles};

use super::Printer;
use super::slot::{Literals, number};
use crate::cayman::syntax::{END, LITERALS};

/// The text of a group: one slot a line, with `;;` at the end of the last. Lines are separated by
/// `separator`.
pub fn print_group(group: &Group, separator: &str) -> String {
    let swizzles = match search_bank_swizzles(group) {
        Some(swizzles) => swizzles.map(Some),
        None => [None; 4],
    };
    let literals = literals(group);
    let slots =
        group.slots.iter().zip(swizzles).filter_map(|(slot, swizzle)| Some((slot.as_ref()?, swizzle)));
    let mut lines: Vec<String> = slots
        .map(|(slot, swizzle)| {
            let mut printer = Printer::new(slot);
            printer.slot(literals, swizzle);
            printer.out
        })
        .collect();
    if matches!(literals, Literals::Written) {
        let values = group.literals.iter().take(2 * pairs(group));
        let values: Vec<String> = values.map(|bits| number(*bits, Elem::B32)).collect();
        lines.push(format!("{LITERALS} {}", values.join(", ")));
    }
    format!("{} {END}", lines.join(separator))
}

/// The pairs of literals after the slots.
fn pairs(group: &Group) -> usize {
    group.slots.iter().flatten().map(|slot| slot.literal_pairs()).max().unwrap_or(0)
}

/// Whether values as sources give the literals of the group again: the assembler puts values in the
/// order of their first use, each once, and zeros behind them.
fn literals(group: &Group) -> Literals {
    let mut placed: Vec<u32> = Vec::new();
    for slot in group.slots.iter().flatten() {
        // Literals of unused sources, and those of direct reads of LDS, have no source to stand in.
        let unused = SourceField::ALL.iter().skip(slot.row().sources.len());
        let mut others = unused.filter_map(|field| field.of(slot));
        if others.any(|source| matches!(source, Source::Literal(_))) {
            return Literals::Written;
        }
        for (_, _, source) in slot.sources() {
            let Source::Literal(channel) = source else { continue };
            let value = group.literals[usize::from(channel & 3)];
            let expected = placed.iter().position(|known| *known == value).unwrap_or(placed.len());
            if expected != usize::from(channel) {
                return Literals::Written;
            }
            if expected == placed.len() {
                placed.push(value);
            }
        }
    }
    let is_rest_zero = group.literals.iter().skip(placed.len()).all(|value| *value == 0);
    let is_direct = group.direct_read().is_some();
    // Sources decide how many pairs follow.
    let same_size = placed.len().div_ceil(2) == pairs(group);
    if is_rest_zero && same_size && !is_direct {
        Literals::Automatic(group.literals)
    } else {
        Literals::Written
    }
}
