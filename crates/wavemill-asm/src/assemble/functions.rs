//! The functions of expressions: the functions of all sources, and the functions of the family.

use crate::instruction_set::InstructionSet;

/// The functions that every source can use.
const COMMON: [&str; 3] = ["max", "or", "alignto"];

/// The value of `name(arguments)`.
pub(super) fn call(name: &str, arguments: &[i64], set: InstructionSet) -> Result<i64, String> {
    match (name, arguments) {
        ("max", _) => {
            arguments.iter().copied().max().ok_or_else(|| "`max` needs at least one number".to_owned())
        }
        ("or", _) => Ok(arguments.iter().fold(0, |all, value| all | value)),
        ("alignto", &[value, align]) if align > 0 => {
            let rest = value.rem_euclid(align);
            Ok(if rest == 0 { value } else { value.wrapping_add(align - rest) })
        }
        ("alignto", [_, _]) => Err("the second number of `alignto` must be at least 1".to_owned()),
        ("alignto", _) => Err(format!("`{name}` needs 2 numbers, found {}", arguments.len())),
        _ if set.family().functions().contains(&name) => set.family().call(set, name, arguments),
        _ => {
            let names = [&COMMON, set.family().functions()].concat();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            Err(format!("there is no function `{name}`; the functions are {} and {last}", others.join(", ")))
        }
    }
}
