//! The conditions that lines of `disagreements.txt` put on a word.

use crate::disagreements::{Kind, Subject};
use crate::formats::{FORMATS, Format};
use crate::pattern::Patterns;

/// A word that both sides decode.
pub(crate) struct Word<'a> {
    pub(crate) format: &'a Format,
    pub(crate) word: u128,
}

/// A condition that a line of the list can put on a word.
pub(crate) enum Condition {
    /// The word has one of these formats.
    In(Vec<String>),
    /// One of the fields has one of these values.
    Field { names: Vec<String>, ranges: Vec<(u64, u64)> },
    /// The field is odd.
    Odd(String),
    /// Our text has a tuple of vector registers that ends beyond register 255.
    PastLast,
    /// The text of the side that accepts the word contains a word that matches one of these.
    Shows(Patterns),
    /// The words that only our text has, in one line, and the words that only LLVM's text has match
    /// these.
    Differs(Vec<(Patterns, Patterns)>),
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
        if let Some(words) = text.strip_prefix("shows:") {
            return Some(Condition::Shows(Patterns::new(words)));
        }
        if let Some(words) = text.strip_prefix("differs:") {
            let pair = |pair: &str| {
                let (ours, llvm) = pair.split_once('>')?;
                Some((Patterns::new(ours), Patterns::new(llvm)))
            };
            return words.split("{or}").map(pair).collect::<Option<_>>().map(Condition::Differs);
        }
        let (name, values) = text.split_once('=')?;
        let ranges = values
            .split(',')
            .map(|range| {
                let (first, last) = range.split_once('-').unwrap_or((range, range));
                Some((first.parse().ok()?, last.parse().ok()?))
            })
            .collect::<Option<_>>()?;
        Some(Condition::Field { names: name.split('/').map(str::to_owned).collect(), ranges })
    }

    fn missing(kind: Kind, conditions: &[Condition]) -> Option<&'static str> {
        let has = |wanted: fn(&Condition) -> bool| conditions.iter().any(wanted);
        let fields = has(|c| matches!(c, Condition::Field { .. } | Condition::Odd(_) | Condition::PastLast));
        if !(fields && has(|c| matches!(c, Condition::In(_)))) {
            return Some("`in:` and a field");
        }
        match kind {
            Kind::Text if !has(|c| matches!(c, Condition::Differs(_))) => Some("`differs:`"),
            Kind::OnlyOurs | Kind::OnlyLlvm | Kind::Size if !has(|c| matches!(c, Condition::Shows(_))) => {
                Some("`shows:`")
            }
            Kind::Bytes => Some("another kind"),
            _ => None,
        }
    }

    fn meets(&self, condition: &Condition, ours: &str, llvm: &str) -> bool {
        let field = |name: &str| self.format.field(name, self.word);
        match condition {
            Condition::In(formats) => formats.iter().any(|name| name == self.format.name),
            Condition::Field { names, ranges } => names
                .iter()
                .filter_map(|name| field(name))
                .any(|value| ranges.iter().any(|(first, last)| (*first..=*last).contains(&value))),
            Condition::Odd(name) => field(name).is_some_and(|value| value % 2 == 1),
            Condition::PastLast => past_last(ours),
            Condition::Shows(patterns) => words(&without_notes(if ours.is_empty() { llvm } else { ours }))
                .any(|word| patterns.match_one(word)),
            Condition::Differs(pairs) => {
                let (ours, llvm) = (without_notes(ours), without_notes(llvm));
                let (only_ours, only_llvm) = (without(&ours, &llvm), without(&llvm, &ours));
                pairs.iter().any(|(ours, llvm)| ours.match_one(&only_ours) && llvm.match_one(&only_llvm))
            }
        }
    }
}

/// The words of a text: operands and modifiers without separators.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().map(|word| word.trim_end_matches(','))
}

/// The words of a text that the other one does not contain, with blanks between them.
fn without(text: &str, other: &str) -> String {
    let mut others: Vec<&str> = words(other).collect();
    let only = words(text).filter(|word| match others.iter().position(|other| other == word) {
        Some(at) => {
            others.swap_remove(at);
            false
        }
        None => true,
    });
    only.collect::<Vec<_>>().join(" ")
}

fn past_last(text: &str) -> bool {
    text.split([':', ']']).any(|number| number.parse().is_ok_and(|last: u32| (256..512).contains(&last)))
}

/// The start of LLVM's notes on illegal operands, such as `/*Invalid register, operand has ...*/`.
pub(crate) const NOTE: &str = "/*";

/// LLVM's text without those notes.
pub(crate) fn without_notes(text: &str) -> String {
    let mut parts = text.split(NOTE);
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        plain += part.split_once("*/").map_or("", |(_, rest)| rest);
    }
    plain
}
