//! Mnemonics as users write them.

use wavemill_isa::Target;
use wavemill_isa::gcn::Op;

use super::super::print::encoding_suffix;

/// The suffixes that tell encodings apart.
const SUFFIXES: [&str; 4] = ["_e32", "_e64", "_sdwa", "_dpp"];

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
        let name = text.to_ascii_lowercase();
        if let Some(op) = Op::from_name(&name) {
            return Some(Mnemonic { op, suffix: "" });
        }
        let (suffix, base) =
            SUFFIXES.iter().find_map(|suffix| Some((*suffix, name.strip_suffix(suffix)?)))?;
        let row = Op::from_name(base)?.row();
        let named = row.forms().iter().any(|form| {
            form.targets.iter().any(|target: Target| encoding_suffix(row, target, form.encoding) == suffix)
        });
        named.then_some(Mnemonic { op: row.op, suffix })
    }
}

/// Every mnemonic of every target, or of one.
pub fn mnemonics(only: Option<Target>) -> impl Iterator<Item = &'static str> {
    let named = Op::ALL.iter().flat_map(|op| op.row().mnemonics());
    named.filter(move |(targets, _)| only.is_none_or(|only| targets.contains(only))).map(|&(_, name)| name)
}
