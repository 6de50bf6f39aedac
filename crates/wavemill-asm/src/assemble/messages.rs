//! The messages about a source: errors and warnings.

use super::position::Position;
use super::report::Report;
use super::symbols::{self, Table};

/// Further warnings are dropped.
const MOST_WARNINGS: usize = 1000;

/// Errors and warnings.
#[derive(Debug)]
pub(super) struct Messages {
    pub(super) reports: Vec<Report>,
    pub(super) warnings: Vec<Report>,
    /// The symbol whose value the current statement needs but that has none yet.
    pub(super) awaited: Option<String>,
    /// The indices of reports about such statements, with the symbols.
    awaiting: Vec<(usize, String)>,
    /// Further errors are dropped.
    most: usize,
}

impl Messages {
    /// No messages yet, and this limit of errors.
    pub(super) fn at_most(most: usize) -> Messages {
        Messages { reports: Vec::new(), warnings: Vec::new(), awaited: None, awaiting: Vec::new(), most }
    }

    /// Whether further errors are dropped.
    pub(super) fn are_full(&self) -> bool {
        self.reports.len() >= self.most
    }

    /// Adds an error, up to the limit.
    pub(super) fn error(&mut self, report: Report) {
        if !self.are_full() {
            self.reports.push(report);
        }
    }

    /// Notes in the last error that the rest of the source is not read.
    pub(super) fn end_here(&mut self) {
        let most = self.most;
        if let Some(last) = self.reports.last_mut() {
            last.diagnostic
                .notes
                .push(format!("stopped after {most} errors: the rest of the source is not read"));
        }
    }

    /// Adds a warning, up to the limit.
    pub(super) fn warning(&mut self, report: Report) {
        if self.warnings.len() < MOST_WARNINGS {
            self.warnings.push(report);
        }
    }

    /// If a symbol was awaited, the last error is about a statement that needed it.
    pub(super) fn statement_failed(&mut self) {
        let awaited = self.awaited.take().zip(self.reports.len().checked_sub(1));
        self.awaiting.extend(awaited.map(|(symbol, report)| (report, symbol)));
    }

    /// Adds a note to reports about statements that needed the value of a symbol too early: this
    /// line defines it.
    pub(super) fn note_definitions(&mut self, symbols: &Table, position: &Position) {
        if self.awaiting.is_empty() {
            return;
        }
        let (line, path) = (position.line, position.inclusion.as_ref().map(|inclusion| &inclusion.path));
        let file = path.map_or(String::new(), |path| format!(" of `{path}`"));
        let reports = &mut self.reports;
        self.awaiting.retain(|(report, name)| {
            let defined = symbols.get(name).is_some_and(|symbol| symbol.meaning.is_some());
            if let Some(report) = reports.get_mut(*report).filter(|_| defined) {
                let name = symbols::shown(name);
                let note = format!("`{name}` gets its value later, in line {line}{file}");
                report.diagnostic.notes.push(note);
            }
            !defined
        });
    }

    /// Errors and warnings in line order.
    pub(super) fn sorted(mut self) -> (Vec<Report>, Vec<Report>) {
        self.reports.sort_by_cached_key(Report::order);
        self.warnings.sort_by_cached_key(Report::order);
        (self.reports, self.warnings)
    }
}
