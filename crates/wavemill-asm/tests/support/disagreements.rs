//! A committed list of disagreements between Wavemill and LLVM, and which one is right.
//!
//! A line has six columns, separated by `|`: kinds of differences, separated by commas; targets,
//! `*` for all; conditions, all of which must hold; which side is right; the manual's section; the
//! reason. `#` starts a comment. If several lines match a difference, the first one counts.

use std::cell::Cell;

use wavemill_isa::Target;

/// How the two sides differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Wavemill accepts it, LLVM rejects it.
    OnlyOurs,
    /// LLVM accepts it, Wavemill rejects it.
    OnlyLlvm,
    /// LLVM crashes.
    Crash,
    /// Both accept it, with different sizes.
    Size,
    /// Both accept it, with different texts.
    Text,
    /// Both accept it, with different bytes.
    Bytes,
}

impl Kind {
    const NAMES: [(&'static str, Kind); 6] = [
        ("only-ours", Kind::OnlyOurs),
        ("only-llvm", Kind::OnlyLlvm),
        ("crash", Kind::Crash),
        ("size", Kind::Size),
        ("text", Kind::Text),
        ("bytes", Kind::Bytes),
    ];

    /// The spelling in the list.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    fn from_name(name: &str) -> Option<Kind> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, kind)| *kind)
    }
}

/// The input that both sides process.
pub(crate) trait Subject {
    /// A condition that a line can put on it.
    type Condition;

    /// Reads such a condition.
    fn condition(text: &str) -> Option<Self::Condition>;

    /// A condition that a line of this kind needs but lacks: without it the line would match too
    /// much.
    fn missing(kind: Kind, conditions: &[Self::Condition]) -> Option<&'static str>;

    /// Whether the condition holds. `ours` is Wavemill's answer, `llvm` is LLVM's.
    fn meets(&self, condition: &Self::Condition, ours: &str, llvm: &str) -> bool;
}

/// One observed difference.
pub(crate) struct Difference<'a, S> {
    pub(crate) kind: Kind,
    pub(crate) target: Target,
    pub(crate) subject: S,
    /// Wavemill's answer: a text or a message.
    pub(crate) ours: &'a str,
    /// LLVM's answer.
    pub(crate) llvm: &'a str,
}

struct Entry<C> {
    line: usize,
    kinds: Vec<Kind>,
    targets: Vec<String>,
    conditions: Vec<C>,
    used: Cell<bool>,
}

/// A list.
pub(crate) struct List<S: Subject> {
    entries: Vec<Entry<S::Condition>>,
}

impl<S: Subject> List<S> {
    /// Reads a list.
    pub(crate) fn parse(text: &str) -> Result<List<S>, String> {
        let mut entries = Vec::new();
        for (line, content) in (1..).zip(text.lines()) {
            if !content.trim().is_empty() && !content.starts_with('#') {
                entries.push(Self::entry(line, content).map_err(|error| format!("line {line}: {error}"))?);
            }
        }
        Ok(List { entries })
    }

    fn entry(line: usize, content: &str) -> Result<Entry<S::Condition>, String> {
        let columns: Vec<&str> = content.split('|').map(str::trim).collect();
        let [kinds, targets, conditions, right, section, why] = columns[..] else {
            return Err(format!("{} columns instead of 6", columns.len()));
        };
        let kinds: Result<Vec<Kind>, String> = kinds
            .split(',')
            .map(|name| Kind::from_name(name).ok_or_else(|| format!("unknown kind {name:?}")))
            .collect();
        let targets: Vec<String> = targets.split_whitespace().map(str::to_owned).collect();
        if let Some(unknown) = targets.iter().find(|name| *name != "*" && Target::from_name(name).is_none()) {
            return Err(format!("unknown target {unknown:?}"));
        }
        if !["ours", "llvm", "either"].contains(&right) {
            return Err(format!("the verdict is ours, llvm or either, not {right:?}"));
        }
        if section.is_empty() || why.is_empty() {
            return Err("a manual section and a reason are needed".to_owned());
        }
        let conditions: Result<Vec<_>, String> = conditions
            .split_whitespace()
            .map(|text| S::condition(text).ok_or_else(|| format!("unknown condition {text:?}")))
            .collect();
        let (kinds, conditions) = (kinds?, conditions?);
        if let Some(missing) = kinds.iter().find_map(|kind| S::missing(*kind, &conditions)) {
            return Err(format!("without {missing} it would excuse too much"));
        }
        Ok(Entry { line, kinds, targets, conditions, used: Cell::new(false) })
    }

    /// The number of lines.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether a line matches this difference. Only the first match counts as used, so that
    /// superfluous lines show.
    pub(crate) fn explains<T>(&self, difference: &Difference<'_, T>) -> bool
    where
        T: Subject<Condition = S::Condition>,
    {
        let first = self.entries.iter().find(|entry| entry.fits(difference));
        first.inspect(|entry| entry.used.set(true)).is_some()
    }

    /// The indices of the lines that a difference needed.
    pub(crate) fn used(&self) -> Vec<usize> {
        self.entries.iter().filter(|entry| entry.used.get()).map(|entry| entry.line).collect()
    }

    /// The indices of the lines that are not among these.
    pub(crate) fn others(&self, used: &[usize]) -> Vec<usize> {
        self.entries.iter().map(|entry| entry.line).filter(|line| !used.contains(line)).collect()
    }
}

impl<C> Entry<C> {
    fn fits<S: Subject<Condition = C>>(&self, difference: &Difference<'_, S>) -> bool {
        self.kinds.contains(&difference.kind)
            && self.targets.iter().any(|target| target == "*" || target == difference.target.name())
            && self
                .conditions
                .iter()
                .all(|condition| difference.subject.meets(condition, difference.ours, difference.llvm))
    }
}
