//! Parses the reasons of modelled rows (one line each, `KEY: SENTENCE`) and checks them against the
//! rows.

use crate::table::RowError;

/// A reason why the meaning of some rows is a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    pub line: usize,
    /// The key that rows write after `modelled:`.
    pub key: String,
    /// The choice made.
    pub text: String,
}

/// Parses the file of reasons. Every error is reported, not only the first.
pub fn parse(file: &str, text: &str) -> Result<Vec<Reason>, Vec<RowError>> {
    let mut reasons: Vec<Reason> = Vec::new();
    let mut errors = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split_once('#').map_or(line, |(text, _)| text).trim();
        if line.is_empty() {
            continue;
        }
        let mut refuse = |message| errors.push(RowError { file: file.to_owned(), line: index + 1, message });
        let Some((key, text)) = line.split_once(": ") else {
            refuse(format!("expected `KEY: SENTENCE`, found `{line}`"));
            continue;
        };
        let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        if !key.chars().all(good) {
            refuse(format!("expected a key of lower-case letters, digits and `_`, found `{key}`"));
        } else if let Some(first) = reasons.iter().find(|reason| reason.key == key) {
            refuse(format!("expected each key once, found `{key}` again (first in line {})", first.line));
        } else {
            reasons.push(Reason { line: index + 1, key: key.to_owned(), text: text.trim().to_owned() });
        }
    }
    if errors.is_empty() { Ok(reasons) } else { Err(errors) }
}

/// A row of any family.
pub trait Reasoned {
    /// The reasons that the row names.
    fn reasons(&self) -> Vec<&str>;

    /// An error about the row.
    fn error(&self, message: String) -> RowError;
}

/// Checks that rows name reasons that exist, and that every reason is used.
pub fn check<R: Reasoned>(file: &str, reasons: &[Reason], rows: &[R]) -> Vec<RowError> {
    let mut errors = Vec::new();
    let mut used = vec![false; reasons.len()];
    for row in rows {
        for key in row.reasons() {
            match reasons.iter().position(|reason| reason.key == *key) {
                Some(index) => used[index] = true,
                None => {
                    errors.push(row.error(format!("expected a reason that {file} explains, found `{key}`")));
                }
            }
        }
    }
    for (reason, _) in reasons.iter().zip(used).filter(|(_, used)| !used) {
        errors.push(RowError {
            file: file.to_owned(),
            line: reason.line,
            message: format!("expected a row that is `modelled:{}`, found none", reason.key),
        });
    }
    errors
}
