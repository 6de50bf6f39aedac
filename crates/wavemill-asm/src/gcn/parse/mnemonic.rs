//! From mnemonics to rows.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Form, Op};

use super::super::mnemonic::{self, Suffix};
use crate::instruction_set::InstructionSet;
use crate::syntax::closest;

/// The instruction that a mnemonic names on some target, and the suffix of the mnemonic.
#[derive(Clone, Copy, Debug)]
pub(super) struct Named {
    pub(super) op: Op,
    pub(super) suffix: Option<Suffix>,
    /// Whether the target itself uses this spelling.
    here: bool,
}

impl Named {
    /// The instruction, if the processor has it with this name.
    pub(super) fn on(&self, set: InstructionSet) -> Option<Op> {
        (self.here && set.has(self.op)).then_some(self.op)
    }

    /// The forms of the instruction on `target` that the suffix allows, preferred form first.
    pub(super) fn forms(&self, target: Target) -> impl Iterator<Item = &'static Form> + use<> {
        let suffix = self.suffix;
        self.op.row().forms().iter().filter(move |form| {
            form.targets.contains(target)
                && suffix.is_none_or(|suffix| Suffix::of(form.encoding) == Some(suffix))
        })
    }
}

/// The meaning of `mnemonic` on the target of `set`, or else on any other target, in any case.
pub(super) fn lookup(mnemonic: &str, set: InstructionSet) -> Option<Named> {
    let named = |here| move |(op, suffix)| Named { op, suffix, here };
    let elsewhere = || mnemonic::lookup(mnemonic).map(named(false));
    mnemonic::lookup_on(set.target(), mnemonic).map(named(true)).or_else(elsewhere)
}

/// The known mnemonics that are most similar to `mnemonic`, best first.
pub(super) fn similar(mnemonic: &str, set: InstructionSet) -> Vec<&'static str> {
    let names = Op::ALL.iter().filter(|op| set.has(**op));
    let names: Vec<&'static str> = names.map(|op| op.row().mnemonic(set.target())).collect();
    closest(mnemonic, &names)
}

/// The first mnemonics that contain the part `word`, as `v_mov_b32` contains `mov`: other
/// assemblers use such names.
pub(super) fn with_part(word: &str, set: InstructionSet) -> Vec<&'static str> {
    let word = word.to_ascii_lowercase();
    let names = Op::ALL.iter().filter(|op| set.has(**op)).map(|op| op.row().mnemonic(set.target()));
    // Parts of one or two letters are too unspecific.
    let names = names.filter(|_| word.len() > 2);
    let part = |name: &'static str| Some((name.split('_').position(|part| part == word)?, name));
    let mut found: Vec<(usize, &'static str)> = names.filter_map(part).collect();
    // In row order, except that mnemonics with other words before the part come last.
    found.sort_by_key(|(place, _)| *place);
    found.into_iter().take(6).map(|(_, name)| name).collect()
}
