//! What lines of `disagreements.txt` can demand of a text.

use crate::disagreements::{Subject, part};

/// A text that both sides assemble.
pub(crate) struct Line<'a>(pub(crate) &'a str);

/// What a line of the list can demand of a text.
pub(crate) enum Condition {
    /// It contains one of these.
    Text(Vec<String>),
    /// It does not contain this.
    Without(String),
    /// The mnemonic begins with this.
    Mnemonic(String),
}

impl Subject for Line<'_> {
    type Condition = Condition;

    fn condition(text: &str) -> Option<Condition> {
        let without = || part(text, "without").map(Condition::Without);
        let mnemonic = || part(text, "mnemonic").map(Condition::Mnemonic);
        let contains = |parts: String| Condition::Text(parts.split("{or}").map(str::to_owned).collect());
        part(text, "text").map(contains).or_else(without).or_else(mnemonic)
    }

    fn meets(&self, condition: &Condition, _: &str) -> bool {
        match condition {
            Condition::Text(parts) => parts.iter().any(|part| self.0.contains(part)),
            Condition::Without(part) => !self.0.contains(part),
            Condition::Mnemonic(start) => self.0.trim_start().starts_with(start),
        }
    }
}
