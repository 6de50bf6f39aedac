//! How exact the instructions of a launch are: their levels and facets.

use std::fmt::Write as _;

use wavemill::stats::{Fidelity, FidelityCounts};

use super::{names, percent};
use crate::text::Plural;

/// The levels that occurred, and always `exact`: name, share in percent, and the instructions that
/// are not exact.
fn levels(counts: &FidelityCounts) -> impl Iterator<Item = (&'static str, f64, String)> + '_ {
    let occurred = |level: &&Fidelity| **level == Fidelity::Exact || counts.of(**level) > 0;
    Fidelity::ALL.iter().filter(occurred).map(|level| {
        let which = counts.inexact.iter().filter(|one| one.fidelity == *level);
        let which = names(which.map(|one| (one.mnemonic, one.count)));
        let which = if which.is_empty() { which } else { format!(": {which}") };
        (level.name(), percent(counts.of(*level), counts.total()), which)
    })
}

/// The lines of `--stats`: the levels with the instructions that are not exact, and the names of
/// the facets.
pub(super) fn short(counts: &FidelityCounts) -> String {
    let mut text = String::new();
    let mut label = "fidelity";
    for (level, share, which) in levels(counts) {
        writeln!(text, "{label:13} {share:.1}% {level}{which}").expect("writing to a string");
        label = "";
    }
    if !counts.facets.is_empty() {
        let which = names(counts.facets.iter().map(|one| (one.facet.name, one.count)));
        writeln!(text, "{label:13} facets: {which}").expect("writing to a string");
    }
    text
}

/// The output of `--fidelity`: the levels, and each facet with its instructions and its text.
pub(in crate::run) fn full(counts: &FidelityCounts) -> String {
    let mut text = format!("fidelity      {}\n", Plural(counts.total(), "instruction"));
    for (level, share, which) in levels(counts) {
        writeln!(text, "  {level:11} {share:5.1} %{which}").expect("writing to a string");
    }
    text += "facets\n";
    if counts.facets.is_empty() {
        text += "  none\n";
    }
    for one in &counts.facets {
        let facet = one.facet;
        let share = percent(one.count, counts.total());
        let which = names(one.instructions.iter().copied());
        writeln!(text, "  {} ({}) {share:.1} %: {which}", facet.name, facet.kind.name())
            .expect("writing to a string");
        writeln!(text, "    {}; settled by: {}", facet.open, facet.settled_by).expect("writing to a string");
    }
    text
}

#[cfg(test)]
mod tests {
    use wavemill::stats::{Facet, FacetCount, FacetKind, InexactCount};

    use super::*;

    static SHIFTS: Facet =
        Facet { name: "shifts", kind: FacetKind::Value, open: "they wrap", settled_by: "a shift of 7" };

    #[test]
    fn levels_name_their_instructions() {
        let one = |mnemonic, facets: &[&'static Facet], count| {
            let facets = facets.to_vec();
            InexactCount { mnemonic, fidelity: Fidelity::Rounded, facets, count }
        };
        let mut counts = FidelityCounts { exact: 9_000, rounded: 1_000, ..FidelityCounts::default() };
        counts.inexact = vec![
            one("v_rsq_f32", &[], 900),
            one("v_rcp_f32", &[], 60),
            one("v_sqrt_f32", &[], 20),
            one("v_exp_f32", &[], 10),
            one("v_log_f32", &[], 6),
            one("v_sin_f32", &[], 4),
        ];
        let rounded =
            "rounded: v_rsq_f32 900, v_rcp_f32 60, v_sqrt_f32 20, v_exp_f32 10, v_log_f32 6, 1 more";
        assert_eq!(short(&counts), format!("fidelity      90.0% exact\n              10.0% {rounded}\n"));
        // Two sets of facets of one instruction are one name.
        static WITH_SHIFTS: [&Facet; 1] = [&SHIFTS];
        counts.inexact = vec![one("v_x", &[], 700), one("v_x", &WITH_SHIFTS, 300)];
        assert!(short(&counts).ends_with("10.0% rounded: v_x 1,000\n"), "{}", short(&counts));
        assert_eq!(short(&FidelityCounts::default()), "fidelity      0.0% exact\n");
    }

    #[test]
    fn facets_have_their_instructions_and_their_text() {
        let instructions = vec![("v_a", 30), ("v_b", 20)];
        let facets = vec![FacetCount { facet: &SHIFTS, count: 50, instructions }];
        let counts = FidelityCounts { exact: 200, facets, ..FidelityCounts::default() };
        assert_eq!(short(&counts), "fidelity      100.0% exact\n              facets: shifts 50\n");
        assert_eq!(
            full(&counts),
            "fidelity      200 instructions\n  exact       100.0 %\nfacets\n  shifts (value) 25.0 %: v_a 30, v_b 20\n    \
             they wrap; settled by: a shift of 7\n"
        );
        let none = FidelityCounts { exact: 1, ..FidelityCounts::default() };
        assert_eq!(full(&none), "fidelity      1 instruction\n  exact       100.0 %\nfacets\n  none\n");
    }
}
