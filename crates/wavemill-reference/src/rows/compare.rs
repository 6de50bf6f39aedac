//! Vector comparisons.

use std::cmp::Ordering;

use crate::{F16, F32, F64, Field, Mode, class, compare};

/// The code of a predicate by its name in mnemonics (Vega ISA 6.9, table 48).
fn predicate(name: &str) -> u32 {
    const CODES: [&str; 16] =
        ["f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt", "tru"];
    let name = match name {
        "ne" => "lg",
        "t" => "tru",
        name => name,
    };
    CODES.iter().position(|code| *code == name).unwrap_or_else(|| panic!("no predicate {name}")) as u32
}

/// An integer comparison.
fn integers(code: u32, a: i128, b: i128) -> bool {
    let relation = match a.cmp(&b) {
        Ordering::Less => 1,
        Ordering::Equal => 2,
        Ordering::Greater => 4,
    };
    // Integers have no unordered predicates: the last one is always true (table 49).
    code & relation != 0
}

/// Whether the comparison with this mnemonic holds for two sources.
///
/// # Panics
/// If the mnemonic is no comparison.
#[must_use]
pub fn holds(name: &str, mode: u32, [a, b]: [u64; 2]) -> bool {
    let mut parts = name.trim_start_matches("v_cmpx_").trim_start_matches("v_cmp_").split('_');
    let (pred, ty) = (parts.next().expect("a predicate"), parts.next().expect("a type"));
    let bits: u32 = ty[1..].parse().expect("a width");
    if ty.starts_with('f') {
        let (format, field) = match bits {
            16 => (F16, Field::Double),
            32 => (F32, Field::Single),
            _ => (F64, Field::Double),
        };
        let [a, low] = [a, b].map(|x| x & (u64::MAX >> (64 - bits)));
        return match pred {
            "class" => b >> class(format, a) & 1 != 0,
            _ => compare(format, predicate(pred), a, low, Mode(mode).env(field)),
        };
    }
    let number = |value: u64| {
        let value = i128::from(value) & ((1 << bits) - 1);
        if ty.starts_with('i') && value >> (bits - 1) != 0 { value - (1 << bits) } else { value }
    };
    integers(predicate(pred), number(a), number(b))
}
