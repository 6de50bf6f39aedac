//! What lines of `disagreements.txt` can demand of a word.

use crate::disagreements::Subject;
use crate::formats::{FORMATS, Format};

/// A word that both sides decode.
pub(crate) struct Word<'a> {
    pub(crate) format: &'a Format,
    pub(crate) word: u128,
}

/// What a line of the list can demand of a word.
pub(crate) enum Condition {
    /// It is of one of these formats.
    In(Vec<String>),
    /// The field is one of these values; negated: none of them.
    Field { name: String, ranges: Vec<(u64, u64)>, negated: bool },
    /// The field is odd.
    Odd(String),
    /// Our text has a tuple of vector registers that ends beyond register 255.
    PastLast,
}

impl Subject for Word<'_> {
    type Condition = Condition;

    fn condition(text: &str) -> Option<Condition> {
        if let Some(formats) = text.strip_prefix("in:") {
            let known = |name: &str| FORMATS.iter().any(|format| format.name == name);
            return formats
                .split(',')
                .map(|name| known(name).then(|| name.to_owned()))
                .collect::<Option<_>>()
                .map(Condition::In);
        }
        if let Some(field) = text.strip_prefix("odd:") {
            return Some(Condition::Odd(field.to_owned()));
        }
        if text == "ours-past-v255" {
            return Some(Condition::PastLast);
        }
        let (name, values) = text.split_once('=')?;
        let (name, negated) = match name.strip_suffix('!') {
            Some(name) => (name, true),
            None => (name, false),
        };
        let ranges = values
            .split(',')
            .map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                Some((first.parse().ok()?, last.parse().ok()?))
            })
            .collect::<Option<_>>()?;
        Some(Condition::Field { name: name.to_owned(), ranges, negated })
    }

    fn meets(&self, condition: &Condition, ours: &str) -> bool {
        let field = |name: &str| self.format.field(name, self.word);
        match condition {
            Condition::In(formats) => formats.iter().any(|name| name == self.format.name),
            Condition::Field { name, ranges, negated } => field(name).is_some_and(|value| {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&value)) != *negated
            }),
            Condition::Odd(name) => field(name).is_some_and(|value| value % 2 == 1),
            Condition::PastLast => past_last(ours),
        }
    }
}

fn past_last(text: &str) -> bool {
    text.split([':', ']']).any(|number| number.parse().is_ok_and(|last: u32| (256..512).contains(&last)))
}
