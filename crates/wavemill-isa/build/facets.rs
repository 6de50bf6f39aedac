//! Parses the facets of a family (one line each) and checks them against the rows.
//!
//! A line is `NAME: KIND: OPEN; settled by: EVIDENCE`. `#` starts a comment. Names are lower-case
//! letters, digits and `_`. Kinds are the words of [`FacetKind`].

use crate::gcn::vocabulary::{FacetKind, Fidelity};
use crate::table::{RowError, read_lines, unknown};

/// A named exception to the level of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFacet {
    pub line: usize,
    /// The name that rows write after `facet:`.
    pub name: String,
    pub kind: FacetKind,
    /// What is open, and what Wavemill does.
    pub open: String,
    /// The evidence that would settle it.
    pub settled_by: String,
}

/// What separates the two parts of the text.
const SETTLED_BY: &str = "; settled by: ";

impl SourceFacet {
    fn parse(line: usize, text: &str) -> Result<SourceFacet, String> {
        let form = || format!("expected `NAME: KIND: OPEN{SETTLED_BY}EVIDENCE`, found `{text}`");
        let (name, rest) = text.split_once(": ").ok_or_else(form)?;
        let (kind, rest) = rest.split_once(": ").ok_or_else(form)?;
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if name.is_empty() || !name.chars().all(good) {
            return Err(format!("expected a name of lower-case letters, digits and `_`, found `{name}`"));
        }
        let kind = FacetKind::from_name(kind)
            .ok_or_else(|| unknown("the kind of a facet", kind, FacetKind::ALL.iter().map(|k| k.name())))?;
        let (open, settled_by) = rest.split_once(SETTLED_BY).unwrap_or((rest, ""));
        let (open, settled_by) = (open.trim(), settled_by.trim());
        if open.is_empty() {
            return Err(format!("expected what is open about `{name}`, found none"));
        }
        if settled_by.is_empty() {
            return Err(format!(
                "expected `{}EVIDENCE` in the line of `{name}`, found none",
                &SETTLED_BY[2..]
            ));
        }
        Ok(SourceFacet {
            line,
            name: name.to_owned(),
            kind,
            open: open.to_owned(),
            settled_by: settled_by.to_owned(),
        })
    }
}

/// Parses a file of facets. Every error is reported, not only the first.
pub fn parse(file: &str, text: &str) -> Result<Vec<SourceFacet>, Vec<RowError>> {
    let mut facets: Vec<SourceFacet> = Vec::new();
    read_lines(file, text, |number, line| {
        let facet = SourceFacet::parse(number, line)?;
        if let Some(first) = facets.iter().find(|other| other.name == facet.name) {
            let name = &facet.name;
            return Err(format!(
                "expected each name once, found `{name}` again (first in line {})",
                first.line
            ));
        }
        facets.push(facet);
        Ok(())
    })?;
    Ok(facets)
}

/// A facet of a row on the targets where the row has one level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FacetUse<'a> {
    pub name: &'a str,
    pub level: Fidelity,
}

/// A row of any family.
pub trait Faceted {
    /// The facets that the row names.
    fn facets(&self) -> Vec<FacetUse<'_>>;

    /// An error about the row.
    fn error(&self, message: String) -> RowError;
}

/// Checks that rows name facets that exist and fit the level, and that every facet is used.
pub fn check<R: Faceted>(file: &str, facets: &[SourceFacet], rows: &[R]) -> Vec<RowError> {
    let mut errors = Vec::new();
    let mut used = vec![false; facets.len()];
    for row in rows {
        for FacetUse { name, level } in row.facets() {
            let Some(index) = facets.iter().position(|facet| facet.name == name) else {
                errors.push(row.error(format!("expected a facet that {file} explains, found `{name}`")));
                continue;
            };
            used[index] = true;
            if level == Fidelity::Unsupported {
                errors.push(row.error(format!(
                    "expected no facet on targets where the row is {}, found `{name}`",
                    level.name()
                )));
            }
        }
    }
    for (facet, _) in facets.iter().zip(used).filter(|(_, used)| !used) {
        errors.push(RowError {
            file: file.to_owned(),
            line: facet.line,
            message: format!("expected a row with `facet:{}`, found none", facet.name),
        });
    }
    errors
}

/// The Rust source of a table of facets.
pub fn emit(facets: &[SourceFacet]) -> String {
    let mut out = format!(
        "/// The facets that rows refer to.\npub(super) static FACETS: [Facet; {}] = [\n",
        facets.len()
    );
    for facet in facets {
        out += &format!(
            "    Facet {{ name: {:?}, kind: FacetKind::{}, open: {:?}, settled_by: {:?} }},\n",
            facet.name,
            facet.kind.variant(),
            facet.open,
            facet.settled_by
        );
    }
    out + "];\n"
}

/// References to facets by name, as a Rust expression.
pub fn references<'a>(facets: &[SourceFacet], names: impl IntoIterator<Item = &'a str>) -> String {
    let position = |name: &str| facets.iter().position(|facet| facet.name == name);
    let one = |name| position(name).map(|index| format!("&FACETS[{index}]"));
    let all: Vec<String> = names.into_iter().filter_map(one).collect();
    format!("&[{}]", all.join(", "))
}
