//! From mnemonics to rows.

use std::collections::HashMap;
use std::sync::OnceLock;

use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, Form, Op};

/// The end of a mnemonic that asks for an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    /// `_e32`: the 32-bit encoding.
    E32,
    /// `_e64`: the 64-bit encoding.
    E64,
    /// `_sdwa`: parts of registers.
    Sdwa,
    /// `_dpp`: lanes moved.
    Dpp,
}

impl Suffix {
    const ALL: [(&'static str, Suffix); 4] =
        [("_e32", Suffix::E32), ("_e64", Suffix::E64), ("_sdwa", Suffix::Sdwa), ("_dpp", Suffix::Dpp)];

    pub(super) fn text(self) -> &'static str {
        Suffix::ALL.iter().find(|(_, suffix)| *suffix == self).map_or("", |(text, _)| text)
    }

    /// Whether the suffix allows the encoding.
    pub(super) fn allows(self, encoding: Encoding) -> bool {
        use Encoding as E;
        match self {
            Suffix::E32 => matches!(encoding, E::Vop1 | E::Vop2 | E::Vopc | E::Vintrp),
            Suffix::E64 => matches!(encoding, E::Vop3a | E::Vop3b | E::Vop3Interp),
            Suffix::Sdwa => matches!(encoding, E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa),
            Suffix::Dpp => matches!(encoding, E::Vop1Dpp | E::Vop2Dpp),
        }
    }
}

/// The instructions that a mnemonic names on some target, and the suffix that was on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) ops: &'static [Op],
    pub(super) suffix: Option<Suffix>,
}

impl Named {
    /// The instruction of `target`, if it has one of this name.
    pub(super) fn on(&self, target: Target) -> Option<Op> {
        self.ops.iter().copied().find(|&op| takes_name(op, target))
    }

    /// The forms of `op` on `target` that the suffix allows, the one to prefer first.
    pub(super) fn forms(&self, op: Op, target: Target) -> impl Iterator<Item = &'static Form> + use<> {
        let suffix = self.suffix;
        op.row().forms().iter().filter(move |form| {
            form.targets.contains(target) && suffix.is_none_or(|suffix| suffix.allows(form.encoding))
        })
    }
}

fn takes_name(op: Op, target: Target) -> bool {
    op.row().targets.contains(target)
}

fn table() -> &'static HashMap<&'static str, Vec<Op>> {
    static TABLE: OnceLock<HashMap<&'static str, Vec<Op>>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let mut table: HashMap<&'static str, Vec<Op>> = HashMap::new();
        for &op in Op::ALL {
            for &(_, name) in op.row().mnemonics() {
                let ops = table.entry(name).or_default();
                if !ops.contains(&op) {
                    ops.push(op);
                }
            }
        }
        table
    })
}

/// What `mnemonic` names, in any case of letters.
pub(super) fn lookup(mnemonic: &str) -> Option<Named> {
    let table = table();
    let whole = |name: &str| table.get(name).map(Vec::as_slice);
    let named = |name: &str| match whole(name) {
        Some(ops) => Some(Named { ops, suffix: None }),
        None => Suffix::ALL.iter().find_map(|&(text, suffix)| {
            Some(Named { ops: whole(name.strip_suffix(text)?)?, suffix: Some(suffix) })
        }),
    };
    named(mnemonic).or_else(|| {
        let upper = mnemonic.bytes().any(|byte| byte.is_ascii_uppercase());
        upper.then(|| named(&mnemonic.to_ascii_lowercase())).flatten()
    })
}

/// The known mnemonics that are most like `mnemonic`, best first.
pub(super) fn similar(mnemonic: &str, target: Target) -> Vec<&'static str> {
    let names = Op::ALL.iter().map(|op| op.row()).filter(|row| row.targets.contains(target));
    let names: Vec<&'static str> = names.map(|row| row.mnemonic(target)).collect();
    closest(mnemonic, &names)
}

/// Up to three of `names` that need the fewest changes to become `word`, and not more than a third of its length.
pub(crate) fn closest(word: &str, names: &[&'static str]) -> Vec<&'static str> {
    let word = word.to_ascii_lowercase();
    let limit = (word.len() / 3).clamp(1, 4);
    let mut found: Vec<(usize, &'static str)> = names
        .iter()
        .filter(|name| name.len().abs_diff(word.len()) <= limit)
        .map(|&name| (strsim::osa_distance(&word, name), name))
        .filter(|(edits, _)| *edits <= limit)
        .collect();
    found.sort_unstable();
    found.truncate(3);
    found.into_iter().map(|(_, name)| name).collect()
}
