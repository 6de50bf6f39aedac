//! Assigns link errors to the statements that cause them.

use wavemill_object::write::{Definition, LinkProblem, Module, Place as ModulePlace};

use super::Assembled;
use super::kept_places::KeptPlace;
use super::report::{Place, Report};
use crate::diagnostic::Diagnostic;
use crate::instruction_set::InstructionSet;
use crate::syntax::{LOWER_CASE, closest};

/// A statement with a word that only linking can fill in.
#[derive(Clone, Debug)]
pub(super) struct Reference {
    /// The index of the section, in the module as in the source.
    pub(super) section: usize,
    /// The offset of the word in the section, in bytes.
    pub(super) offset: u64,
    /// The statement, and the expression for the word there.
    pub(super) place: KeptPlace,
}

impl Reference {
    /// The sort key of references.
    pub(super) fn key(&self) -> (usize, u64) {
        (self.section, self.offset)
    }
}

impl Assembled {
    /// The problems that prevent linking, each with the statement that causes it, in source order.
    /// For an undefined symbol, every statement that uses it is reported. Line 0 means that no
    /// statement causes the problem.
    pub fn link_reports(&self, problems: &[LinkProblem]) -> Vec<Report> {
        let mut reports = Vec::new();
        let undefined = |name: &str| {
            let is = |problem: &LinkProblem| matches!(problem, LinkProblem::Undefined { symbol, .. } if symbol == name);
            problems.iter().any(is)
        };
        for problem in problems {
            match problem {
                LinkProblem::Undefined { symbol, places } => {
                    let similar = self.module.as_ref().and_then(|module| similar(symbol, module));
                    for place in places {
                        reports.push(self.undefined(symbol, place, similar.as_deref()));
                    }
                }
                LinkProblem::Preemptible { place, symbol, .. }
                | LinkProblem::NeedsAddress { place, symbol, .. }
                | LinkProblem::ReadOnly { place, symbol, .. }
                | LinkProblem::Absolute { place, symbol, .. }
                | LinkProblem::OutOfRange { place, symbol, .. }
                | LinkProblem::Unsupported { place, symbol, .. } => {
                    // A problem with the address of an undefined symbol is only a consequence.
                    if undefined(symbol) {
                        continue;
                    }
                    reports.push(
                        self.report_at(Some(place), |span| *Diagnostic::new(span, problem.to_string())),
                    );
                }
                _ => reports.push(self.report_at(None, |span| *Diagnostic::new(span, problem.to_string()))),
            }
        }
        reports.sort_by_cached_key(Report::order);
        reports
    }

    fn undefined(&self, symbol: &str, place: &ModulePlace, similar: Option<&str>) -> Report {
        let mut report = self
            .report_at(Some(place), |span| *Diagnostic::new(span, format!("undefined symbol `{symbol}`")));
        let set = self.module.as_ref().and_then(|module| InstructionSet::of(&module.target));
        let register = set.and_then(|set| set.family().register_but_for_case(symbol));
        let Some(similar) = register.as_deref().or(similar) else { return report };
        if register.is_some() {
            report.diagnostic.notes.push(LOWER_CASE.to_owned());
        }
        let span = report.diagnostic.span.clone();
        // The position of the symbol in the expression, if it occurs there exactly once.
        let written = report.text.get(span.clone()).unwrap_or_default();
        let mut found = written.match_indices(symbol).map(|(at, _)| span.start + at);
        let diagnostic = Box::new(report.diagnostic);
        report.diagnostic = *match (found.next(), found.next()) {
            (Some(start), None) => diagnostic.fix_at(start..start + symbol.len(), similar),
            _ => diagnostic.note(format!("did you mean `{similar}`?")),
        };
        report
    }

    fn report_at(
        &self,
        place: Option<&ModulePlace>,
        diagnostic: impl FnOnce(crate::diagnostic::Span) -> Diagnostic,
    ) -> Report {
        let key = place.map(|place| (place.section.0, place.offset));
        let found = key.and_then(|key| self.references.binary_search_by_key(&key, Reference::key).ok());
        match found.and_then(|index| self.references.get(index)) {
            Some(reference) => {
                let span = reference.place.span.clone();
                self.places.place(&reference.place).report(diagnostic(span))
            }
            None => Place::NONE.report(diagnostic(0..0)),
        }
    }
}

/// A symbol that the module defines and that has a similar name.
fn similar(symbol: &str, module: &Module) -> Option<String> {
    let defined = module
        .symbols
        .iter()
        .filter(|known| known.definition != Definition::Undefined && !known.name.is_empty());
    let names: Vec<&str> = defined.map(|known| known.name.as_str()).collect();
    closest(symbol, &names).first().map(|name| (*name).to_owned())
}
