//! Mnemonics as users write them.

use wavemill_isa::Target;
use wavemill_isa::gcn::Op;

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
    /// Reads a mnemonic of any target, in small or capital letters; `None` if there is no such instruction, or it has no
    /// encoding of this suffix on any target.
    pub fn parse(text: &str) -> Option<Mnemonic> {
        let (op, suffix) = lookup(text)?;
        let Some(suffix) = suffix else { return Some(Mnemonic { op, suffix: "" }) };
        let row = op.row();
        let named = row.forms().iter().any(|form| {
            form.targets
                .iter()
                .any(|target: Target| Suffix::written(row, target, form.encoding) == Some(suffix))
        });
        named.then_some(Mnemonic { op, suffix: suffix.text() })
    }
}

/// Every mnemonic of every target, or of one.
pub fn mnemonics(only: Option<Target>) -> impl Iterator<Item = &'static str> {
    let named = Op::ALL.iter().flat_map(|op| op.row().mnemonics());
    named.filter(move |(targets, _)| only.is_none_or(|only| targets.contains(only))).map(|&(_, name)| name)
}
