//! Mnemonics as users write them.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Form, Op};

use super::super::mnemonic::{Suffix, lookup};

/// An instruction, and the encoding that its suffix names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mnemonic {
    /// The instruction.
    pub op: Op,
    /// The suffix, such as `_e64`; empty if there is none.
    pub suffix: &'static str,
}

impl Mnemonic {
    /// Parses a mnemonic of any target, in lower or upper case. `None` if there is no such
    /// instruction, or it has no encoding with this suffix on any target.
    pub fn parse(text: &str) -> Option<Mnemonic> {
        match lookup(text)? {
            (op, None) => Some(Mnemonic { op, suffix: "" }),
            (op, Some(suffix)) => has(op, suffix).then_some(Mnemonic { op, suffix: suffix.text() }),
        }
    }

    /// For a mnemonic whose suffix may be wrong: the instruction, and its mnemonic with each valid
    /// suffix.
    pub fn with_other_suffixes(text: &str) -> Option<(Op, Vec<String>)> {
        let (op, suffix) = lookup(text)?;
        let plain = text.get(..text.len().checked_sub(suffix?.text().len())?)?.to_ascii_lowercase();
        let suffixes = Suffix::ALL.into_iter().filter(|suffix| has(op, *suffix));
        Some((op, suffixes.map(|suffix| format!("{plain}{}", suffix.text())).collect()))
    }
}

/// Whether the suffix distinguishes encodings of the instruction, on any target.
fn has(op: Op, suffix: Suffix) -> bool {
    let row = op.row();
    let named = |form: &Form, target| Suffix::written(row, target, form.encoding) == Some(suffix);
    row.forms().iter().any(|form| form.targets.iter().any(|target: Target| named(form, target)))
}

/// Every mnemonic of every target, or of one.
pub fn mnemonics(only: Option<Target>) -> impl Iterator<Item = &'static str> {
    let named = Op::ALL.iter().flat_map(|op| op.row().mnemonics());
    named.filter(move |(targets, _)| only.is_none_or(|only| targets.contains(only))).map(|&(_, name)| name)
}
