//! What is said of a source: errors and warnings.

use super::position::Position;
use super::report::Report;
use super::symbols::Table;

/// Warnings beyond these are left out.
const MOST_WARNINGS: usize = 1000;

/// Errors and warnings.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) reports: Vec<Report>,
    pub(super) warnings: Vec<Report>,
    /// The symbol that the statement being read needs the value of, which it has not yet.
    pub(super) awaited: Option<String>,
    /// Reports of such statements, by their numbers, and the symbols.
    awaiting: Vec<(usize, String)>,
    /// Errors beyond these are left out.
    most: usize,
}

impl Messages {
    /// None yet, and at most so many errors.
    pub(super) fn at_most(most: usize) -> Messages {
        Messages { reports: Vec::new(), warnings: Vec::new(), awaited: None, awaiting: Vec::new(), most }
    }

    /// Whether no more errors are taken.
    pub(super) fn are_full(&self) -> bool {
        self.reports.len() >= self.most
    }

    /// One more error, unless there are enough.
    pub(super) fn error(&mut self, report: Report) {
        if !self.are_full() {
            self.reports.push(report);
        }
    }

    /// The last error says that the rest of the source is not read.
    pub(super) fn end_here(&mut self) {
        let most = self.most;
        if let Some(last) = self.reports.last_mut() {
            last.diagnostic.notes.push(format!("after {most} errors the rest of the source is not read"));
        }
    }

    /// One more warning, unless there are enough.
    pub(super) fn warning(&mut self, report: Report) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(report);
        }
    }

    /// The last error is one of a statement that needed the awaited symbol, if one was awaited.
    pub(super) fn statement_failed(&mut self) {
        let awaited = self.awaited.take().zip(self.reports.len().checked_sub(1));
        self.awaiting.extend(awaited.map(|(symbol, report)| (report, symbol)));
    }

    /// Says in the reports of statements that needed the value of a symbol too early that this line defines it.
    pub(super) fn tell_of_definitions(&mut self, symbols: &Table, position: &Position) {
        if self.awaiting.is_empty() {
            return;
        }
        let (line, path) = (position.line, position.inclusion.as_ref().map(|inclusion| &inclusion.path));
        let file = path.map_or(String::new(), |path| format!(" of `{path}`"));
        let reports = &mut self.reports;
        self.awaiting.retain(|(report, name)| {
            let defined = symbols.get(name).is_some_and(|symbol| symbol.meaning.is_some());
            if let Some(report) = reports.get_mut(*report).filter(|_| defined) {
                let note = format!("`{name}` gets its value in line {line}{file}; it is needed before");
                report.diagnostic.notes.push(note);
            }
            !defined
        });
    }

    /// In the order of the lines.
    pub(super) fn sorted(mut self) -> (Vec<Report>, Vec<Report>) {
        self.reports.sort_by_cached_key(Report::order);
        self.warnings.sort_by_cached_key(Report::order);
        (self.reports, self.warnings)
    }
}
