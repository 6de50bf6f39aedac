//! The committed list of texts on which Wavemill and LLVM disagree, and who is right.

use std::cell::Cell;

/// How the two sides differ on a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Wavemill assembles it, LLVM refuses it.
    OnlyOurs,
    /// LLVM assembles it, Wavemill refuses it.
    OnlyLlvm,
    /// Both assemble it, to different bytes.
    Bytes,
}

impl Kind {
    const NAMES: [(&'static str, Kind); 3] =
        [("only-ours", Kind::OnlyOurs), ("only-llvm", Kind::OnlyLlvm), ("bytes", Kind::Bytes)];

    /// The spelling in the list.
    pub(crate) fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// One observed difference.
pub(crate) struct Difference<'a> {
    pub(crate) kind: Kind,
    pub(crate) target: &'static str,
    pub(crate) text: &'a str,
    /// Our message, empty if we accept the text.
    pub(crate) ours: &'a str,
    /// LLVM's message, empty if it accepts the text.
    pub(crate) llvm: &'a str,
}

/// One line of the list.
pub(crate) struct Entry {
    pub(crate) line: usize,
    kind: Kind,
    targets: Vec<String>,
    conditions: Vec<Condition>,
    pub(crate) uses: Cell<usize>,
}

enum Condition {
    /// The text contains this.
    Text(String),
    /// The mnemonic begins with this.
    Mnemonic(String),
    /// Our message contains this.
    Ours(String),
    /// LLVM's message contains this.
    Llvm(String),
}

/// Reads the list. Columns: kind, targets, conditions, who is right, manual section, why; separated by `|`.
pub(crate) fn parse(text: &str) -> Result<Vec<Entry>, String> {
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [kind, targets, conditions, right, section, why] = columns[..] else {
            return Err(format!("line {number}: {} columns instead of 6", columns.len()));
        };
        let kind = Kind::NAMES.iter().find(|(name, _)| *name == kind).map(|(_, kind)| *kind);
        let kind = kind.ok_or_else(|| format!("line {number}: unknown kind"))?;
        if !["ours", "llvm", "either"].contains(&right) {
            return Err(format!("line {number}: the verdict is ours, llvm or either, not {right:?}"));
        }
        if section.is_empty() || why.is_empty() {
            return Err(format!("line {number}: a manual section and a reason are needed"));
        }
        let conditions: Result<Vec<Condition>, String> = conditions
            .split_whitespace()
            .map(|condition| {
                parse_condition(condition).ok_or_else(|| format!("line {number}: {condition:?}"))
            })
            .collect();
        let conditions = conditions?;
        if conditions.is_empty() {
            return Err(format!("line {number}: without a condition it would excuse everything"));
        }
        let targets = targets.split_whitespace().map(str::to_owned).collect();
        entries.push(Entry { line: number, kind, targets, conditions, uses: Cell::new(0) });
    }
    Ok(entries)
}

fn parse_condition(text: &str) -> Option<Condition> {
    let (what, value) = text.split_once('~')?;
    // `+` stands for a blank in a text, and `{bar}` for what separates the columns.
    let value = value.replace('+', " ").replace("{bar}", "|");
    Some(match what {
        "text" => Condition::Text(value),
        "mnemonic" => Condition::Mnemonic(value),
        "ours" => Condition::Ours(value),
        "llvm" => Condition::Llvm(value),
        _ => return None,
    })
}

impl Entry {
    /// Whether the line is about this difference; counts the use.
    pub(crate) fn explains(&self, difference: &Difference<'_>) -> bool {
        let fits = self.kind == difference.kind
            && self.targets.iter().any(|target| target == "*" || target == difference.target)
            && self.conditions.iter().all(|condition| match condition {
                Condition::Text(part) => difference.text.contains(part),
                Condition::Mnemonic(start) => difference.text.trim_start().starts_with(start),
                Condition::Ours(part) => difference.ours.contains(part),
                Condition::Llvm(part) => difference.llvm.contains(part),
            });
        if fits {
            self.uses.set(self.uses.get() + 1);
        }
        fits
    }
}
