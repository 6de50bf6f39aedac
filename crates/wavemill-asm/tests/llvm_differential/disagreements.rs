//! The committed list of words on which Wavemill and LLVM disagree, and who is right.

use std::cell::Cell;

use crate::formats::Format;

/// How the two sides differ on a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Wavemill decodes it, LLVM refuses it.
    OnlyOurs,
    /// LLVM decodes it, Wavemill refuses it.
    OnlyLlvm,
    /// LLVM crashes.
    Crash,
    /// Both decode it, with different sizes.
    Size,
    /// Both decode it, with different texts.
    Text,
}

impl Kind {
    const NAMES: [(&'static str, Kind); 5] = [
        ("only-ours", Kind::OnlyOurs),
        ("only-llvm", Kind::OnlyLlvm),
        ("crash", Kind::Crash),
        ("size", Kind::Size),
        ("text", Kind::Text),
    ];

    /// The spelling in the list.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// One observed difference.
pub(crate) struct Difference<'a> {
    pub(crate) kind: Kind,
    pub(crate) target: &'static str,
    pub(crate) format: &'a Format,
    pub(crate) word: u128,
    /// Our text, empty if we refuse the word.
    pub(crate) ours: &'a str,
    /// LLVM's text, empty if it refuses the word.
    pub(crate) llvm: &'a str,
}

/// One line of the list.
pub(crate) struct Entry {
    pub(crate) line: usize,
    kinds: Vec<Kind>,
    targets: Vec<String>,
    formats: Vec<String>,
    conditions: Vec<Condition>,
    pub(crate) uses: Cell<usize>,
}

enum Condition {
    /// The field is one of these values; negated: none of them.
    Field { name: String, ranges: Vec<(u64, u64)>, negated: bool },
    /// LLVM's text contains this.
    Llvm(String),
    /// Our text contains this.
    Ours(String),
    /// Our text has a tuple of vector registers that ends beyond register 255.
    PastLast,
    /// The field is odd.
    Odd(String),
}

/// Reads the list. Columns: kinds, targets, formats, conditions, who is right, manual section, why; separated by `|`.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [kinds, targets, formats, conditions, right, section, why] = columns[..] else {
            return Err(format!("line {number}: {} columns instead of 7", columns.len()));
        };
        let named = |name: &str| Kind::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind);
        let kinds = kinds
            .split(',')
            .map(|name| named(name).ok_or_else(|| format!("line {number}: unknown kind {name:?}")))
            .collect::<Result<_, _>>()?;
        if !["ours", "llvm", "either"].contains(&right) {
            return Err(format!("line {number}: the verdict is ours, llvm or either, not {right:?}"));
        }
        if section.is_empty() || why.is_empty() {
            return Err(format!("line {number}: a manual section and a reason are needed"));
        }
        let words = |list: &str| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let conditions = conditions
            .split_whitespace()
            .map(|condition| {
                parse_condition(condition).ok_or_else(|| format!("line {number}: {condition:?}"))
            })
            .collect::<Result<_, _>>()?;
        entries.push(Entry {
            line: number,
            kinds,
            targets: words(targets),
            formats: words(formats),
            conditions,
            uses: Cell::new(0),
        });
    }
    Ok(entries)
}

fn parse_condition(text: &str) -> Option<Condition> {
    // `_` stands for a space in a text.
    if let Some(part) = text.strip_prefix("llvm~") {
        return Some(Condition::Llvm(part.replace('_', " ")));
    }
    if let Some(part) = text.strip_prefix("ours~") {
        return Some(Condition::Ours(part.replace('_', " ")));
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

impl Entry {
    /// Whether this line explains the difference; counts the use.
    pub(crate) fn explains(&self, difference: &Difference<'_>) -> bool {
        let listed = |list: &[String], name: &str| list.iter().any(|item| item == "*" || item == name);
        let all = self.kinds.contains(&difference.kind)
            && listed(&self.targets, difference.target)
            && listed(&self.formats, difference.format.name)
            && self.conditions.iter().all(|condition| match condition {
                Condition::Field { name, ranges, negated } => {
                    difference.format.field(name, difference.word).is_some_and(|value| {
                        ranges.iter().any(|(first, last)| (*first..=*last).contains(&value)) != *negated
                    })
                }
                Condition::Llvm(part) => difference.llvm.replace('_', " ").contains(part.as_str()),
                Condition::Odd(field) => {
                    difference.format.field(field, difference.word).is_some_and(|value| value % 2 == 1)
                }
                Condition::PastLast => past_last(difference.ours),
                Condition::Ours(part) => difference.ours.replace('_', " ").contains(part.as_str()),
            });
        if all {
            self.uses.set(self.uses.get() + 1);
        }
        all
    }
}

fn past_last(text: &str) -> bool {
    text.split([':', ']']).any(|number| number.parse().is_ok_and(|last: u32| (256..512).contains(&last)))
}
