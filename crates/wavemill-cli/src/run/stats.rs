//! The part of `--stats` that tells how exact the executed instructions are, and what they cost.

use std::fmt::Write as _;

use wavemill::{Fidelity, FidelityCounts, OperationCounts};

use super::text::Grouped;

/// Instructions that are named for each level.
const NAMED: usize = 5;

/// The most frequent names with their counts.
fn names<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> String {
    // An instruction stands there once for each note.
    let mut merged: Vec<(&str, u64)> = Vec::new();
    for (name, count) in all {
        match merged.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => merged.push((name, count)),
        }
    }
    let named: Vec<String> =
        merged.iter().take(NAMED).map(|(name, count)| format!("{name} {}", Grouped(*count))).collect();
    let more = merged.len().saturating_sub(NAMED);
    let tail = if more > 0 { format!(", {more} more") } else { String::new() };
    named.join(", ") + &tail
}

fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { 100.0 * part as f64 / whole as f64 }
}

/// The levels that the instructions of a launch have, and which are not exact.
pub(super) fn fidelity(counts: &FidelityCounts) -> String {
    let mut text = String::new();
    let mut label = "fidelity";
    for level in Fidelity::ALL {
        let n = counts.of(*level);
        if n == 0 && *level != Fidelity::Exact {
            continue;
        }
        let share = percent(n, counts.total());
        let which = counts.inexact.iter().filter(|one| one.fidelity == *level);
        let which = names(which.map(|one| (one.mnemonic, one.count)));
        let which = if which.is_empty() { which } else { format!(": {which}") };
        writeln!(text, "{label:13} {share:.1}% {}{which}", level.name()).expect("writing to a string");
        label = "";
    }
    text
}

/// What the instructions of a launch cost.
pub(super) fn operations(counts: &OperationCounts) -> String {
    let mut text = format!(
        "operations    {:.2} of the wave IR and {:.2} of the interpreter for each instruction\n",
        counts.ir_per_guest(),
        counts.host_per_guest()
    );
    let which = names(counts.opaque_by_instruction.iter().copied());
    let which = if which.is_empty() { which } else { format!(": {which}") };
    let share = 100.0 * counts.opaque_share();
    writeln!(text, "{:13} {share:.1}% go lane by lane through scalar code{which}", "")
        .expect("writing to a string");
    text
}

#[cfg(test)]
mod tests {
    use wavemill::InexactCount;

    use super::*;

    #[test]
    fn levels_name_their_instructions() {
        let one = |mnemonic, fidelity, note, count| InexactCount { mnemonic, fidelity, note, count };
        let mut counts = FidelityCounts { exact: 9_000, rounded: 1_000, ..FidelityCounts::default() };
        counts.inexact = vec![
            one("v_rsq_f32", Fidelity::Rounded, "", 900),
            one("v_rcp_f32", Fidelity::Rounded, "", 60),
            one("v_sqrt_f32", Fidelity::Rounded, "", 20),
            one("v_exp_f32", Fidelity::Rounded, "", 10),
            one("v_log_f32", Fidelity::Rounded, "", 6),
            one("v_sin_f32", Fidelity::Rounded, "", 4),
        ];
        assert_eq!(
            fidelity(&counts),
            "fidelity      90.0% exact\n              10.0% rounded: v_rsq_f32 900, v_rcp_f32 60, v_sqrt_f32 20, \
             v_exp_f32 10, v_log_f32 6, 1 more\n"
        );
        // Two notes of one instruction are one name.
        counts.inexact =
            vec![one("v_x", Fidelity::Rounded, "a", 700), one("v_x", Fidelity::Rounded, "b", 300)];
        assert!(fidelity(&counts).ends_with("10.0% rounded: v_x 1,000\n"), "{}", fidelity(&counts));
        assert_eq!(fidelity(&FidelityCounts::default()), "fidelity      0.0% exact\n");
    }

    #[test]
    fn operations_name_what_is_opaque() {
        let mut counts = OperationCounts { guest: 100, ir: 120, host: 130, ..OperationCounts::default() };
        assert_eq!(
            operations(&counts),
            "operations    1.20 of the wave IR and 1.30 of the interpreter for each instruction\n              \
             0.0% go lane by lane through scalar code\n"
        );
        (counts.opaque, counts.opaque_by_instruction) = (6, vec![("ds_add_u32", 6)]);
        assert!(operations(&counts).ends_with("5.0% go lane by lane through scalar code: ds_add_u32 6\n"));
    }
}
