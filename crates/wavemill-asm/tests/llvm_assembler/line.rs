//! What lines of `disagreements.txt` can demand of a text.

use crate::disagreements::{Subject, part};

/// A text that both sides assemble.
pub(crate) struct Line<'a>(pub(crate) &'a str);

/// What a line of the list can demand of a text.
pub(crate) enum Condition {
    /// It contains this.
    Text(String),
    /// The mnemonic begins with this.
    Mnemonic(String),
}

impl Subject for Line<'_> {
    type Condition = Condition;

    fn condition(text: &str) -> Option<Condition> {
        let mnemonic = || part(text, "mnemonic").map(Condition::Mnemonic);
        part(text, "text").map(Condition::Text).or_else(mnemonic)
    }

    fn meets(&self, condition: &Condition, _: &str) -> bool {
        match condition {
            Condition::Text(part) => self.0.contains(part),
            Condition::Mnemonic(start) => self.0.trim_start().starts_with(start),
        }
    }
}
