//! docs/fidelity.md: how exact the meanings of the instructions are, from their rows.

use std::collections::BTreeMap;
use std::error::Error;
use std::process::ExitCode;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Facet, FacetKind, Fidelity, Format, Op, Row};

use crate::conformance::{head, levels, line, numbers};
use crate::generated::{self, Options};
use crate::handbook::paragraph;

const PAGE: &str = "docs/fidelity.md";
const CHORE: &str = "fidelity";

pub(crate) fn run(options: &Options) -> Result<ExitCode, Box<dyn Error>> {
    generated::write(options, PAGE, CHORE, &page())
}

/// What the page says before its lists.
const INTRODUCTION: &str = "\
# Fidelity

<!-- Written by `cargo run -p xtask -- fidelity` from the rows of the instruction table. -->

This page lists how exact Wavemill is, instruction by instruction. Each instruction has a level on
each target, and facets: named exceptions to the level. A facet is one aspect of the meaning that
neither a cited text nor an outside oracle fixes. Each facet says what is open, what Wavemill does,
and which evidence would settle it.

`wavemill run --fidelity` prints the levels and facets of the instructions that a run executed (see
[Traces, statistics, coverage](trace.md#fidelity)). `wavemill explain` prints those of one
instruction. Evidence is welcome: a measurement on hardware turns a facet into a test.

The section of a manual says where an instruction is listed. Chapter 13 of the CDNA3 manual has
encodings only. For the instructions that cite it, the oracle is AMD's pseudocode of gfx950, which
the tests of `wavemill-lift` run, and mmasim for matrix products.

## Levels

";

/// Names of rows, by the names of their targets, oldest first.
type ByTargets = BTreeMap<Vec<&'static str>, Vec<&'static str>>;

/// The rows for which something holds, by the targets on which it does.
fn by_targets(holds: impl Fn(&Row, Target) -> bool) -> ByTargets {
    let mut found = ByTargets::new();
    for row in Op::ALL.iter().map(|op| op.row()) {
        let on = row.targets.iter().filter(|target| holds(row, *target)).map(Target::name);
        let on: Vec<&str> = on.collect();
        if !on.is_empty() {
            found.entry(on).or_default().push(row.name());
        }
    }
    found
}

/// Adds a list of rows, with a point for each set of targets.
fn rows(out: &mut String, all: &ByTargets, what: &str) {
    for (on, names) in all {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let set = if on.len() == Target::GCN.len() { "all targets".to_owned() } else { on.join(", ") };
        paragraph(out, "- ", "  ", &format!("{what}{set} ({}): {}.", names.len(), names.join(", ")));
    }
}

/// Adds a facet with its rows.
fn facet(out: &mut String, facet: &Facet) {
    *out += &format!("\n### {} ({})\n\n", facet.name, facet.kind.name());
    let mut open = facet.open.to_owned();
    // A sentence begins with a capital, but `f32` stays as it is.
    let is_word = |word: &str| word.trim_end_matches(',').chars().all(|c| c.is_ascii_lowercase());
    if open.split(' ').next().is_some_and(is_word)
        && let Some(first) = open.get_mut(..1)
    {
        first.make_ascii_uppercase();
    }
    paragraph(out, "", "", &format!("{open}."));
    out.push('\n');
    paragraph(out, "- ", "  ", &format!("Settled by: {}.", facet.settled_by));
    rows(out, &by_targets(|row, target| row.facets(target).contains(&facet)), "");
    // An output modifier, gds, or fast sums.
    for (condition, prefix) in
        [("with the modifier", "With the modifier, "), ("with fast sums", "With fast sums, ")]
    {
        let only_with_modifier = |row: &Row, target| {
            row.facet_condition() == condition
                && row.facets_with_modifier(target).contains(&facet)
                && !row.facets(target).contains(&facet)
        };
        rows(out, &by_targets(only_with_modifier), prefix);
    }
}

/// The page.
fn page() -> String {
    let mut out = INTRODUCTION.to_owned();
    line(&mut out, ["level", "meaning"].map(str::to_owned));
    out += "|---|---|\n";
    for level in Fidelity::ALL {
        line(&mut out, [format!("`{}`", level.name()), level.description().to_owned()]);
    }
    out += "\nInstructions by target and level:\n\n";
    let names: Vec<&str> = Fidelity::ALL.iter().map(|level| level.name()).collect();
    head(&mut out, &[&["target"], &names[..], &["all", "with facets"]].concat());
    for target in Target::GCN {
        let of_target = || Op::ALL.iter().map(|op| op.row()).filter(move |row| row.targets.contains(target));
        let supported = |row: &&Row| row.fidelity(target) != Fidelity::Unsupported;
        let with_facets =
            of_target().filter(|row| supported(row) && !row.facets(target).is_empty()).count().to_string();
        let counts = numbers(levels(of_target().map(|row| (row, target))));
        line(&mut out, [vec![target.name().to_owned()], counts, vec![with_facets]].concat());
    }

    out += "\n## Facets\n\nEach facet is of one kind:\n\n";
    line(&mut out, ["kind", "what is open", "facets"].map(str::to_owned));
    out += "|---|---|---:|\n";
    for kind in FacetKind::ALL {
        let count = Facet::all().filter(|facet| facet.kind == *kind).count();
        line(&mut out, [format!("`{}`", kind.name()), kind.description().to_owned(), count.to_string()]);
    }
    Facet::all().for_each(|one| facet(&mut out, one));

    out += "\n## No meaning\n\n";
    let missing = |format: &Format| {
        by_targets(|row, target| row.format == *format && row.fidelity(target) == Fidelity::Unsupported)
    };
    if Format::ALL.iter().all(|format| missing(format).is_empty()) {
        out += "Every instruction has a meaning on every target that has it.\n";
        return out;
    }
    out += "Wavemill does not implement these instructions yet. Reaching one of them ends the run with an error.\n";
    for format in Format::ALL {
        let missing = missing(format);
        if !missing.is_empty() {
            out += &format!("\n### {}\n\n", format.name());
            rows(&mut out, &missing, "");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_up_to_date() {
        let old = generated::read(PAGE).expect(PAGE);
        assert!(old == page(), "run `cargo run -p xtask -- {CHORE}`");
    }

    #[test]
    fn the_page_has_every_facet_and_every_row_without_a_meaning() {
        let page = page();
        for facet in Facet::all() {
            assert!(
                page.contains(&format!("\n### {} ({})\n", facet.name, facet.kind.name())),
                "{}",
                facet.name
            );
        }
        let (_, missing) = page.split_once("\n## No meaning\n").expect("the part");
        for row in Op::ALL.iter().map(|op| op.row()) {
            let is_missing = row.targets.iter().any(|target| row.fidelity(target) == Fidelity::Unsupported);
            assert_eq!(missing.contains(&format!("`{}`", row.name())), is_missing, "{}", row.name());
        }
    }
}
