//! Mnemonics as written: the name of an instruction, and the suffix that distinguishes its
//! encodings.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, Op, Row};

use super::line::Short;

/// The end of a mnemonic that names an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Suffix {
    /// `_e32`: the 32-bit encoding.
    E32,
    /// `_e64`: the 64-bit encoding.
    E64,
    /// `_sdwa`: selects parts of registers.
    Sdwa,
    /// `_dpp`: permutes lanes.
    Dpp,
}

impl Suffix {
    /// Every suffix.
    pub(super) const ALL: [Suffix; 4] = [Suffix::E32, Suffix::E64, Suffix::Sdwa, Suffix::Dpp];

    /// The suffix as text.
    pub(super) const fn text(self) -> &'static str {
        match self {
            Suffix::E32 => "_e32",
            Suffix::E64 => "_e64",
            Suffix::Sdwa => "_sdwa",
            Suffix::Dpp => "_dpp",
        }
    }

    /// The suffix as a piece of a line.
    pub(super) const fn short(self) -> Short {
        match self {
            Suffix::E32 => const { Short::new(Suffix::E32.text()) },
            Suffix::E64 => const { Short::new(Suffix::E64.text()) },
            Suffix::Sdwa => const { Short::new(Suffix::Sdwa.text()) },
            Suffix::Dpp => const { Short::new(Suffix::Dpp.text()) },
        }
    }

    /// The suffix for `encoding`; `None` for encodings without one.
    pub(super) const fn of(encoding: Encoding) -> Option<Suffix> {
        use Encoding as E;
        match encoding {
            E::Vop1 | E::Vop2 | E::Vop2Literal | E::Vopc | E::Vintrp => Some(Suffix::E32),
            E::Vop3a | E::Vop3b | E::Vop3Interp | E::Vop3p | E::Mai | E::MaiScaled => Some(Suffix::E64),
            E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa => Some(Suffix::Sdwa),
            E::Vop1Dpp | E::Vop2Dpp => Some(Suffix::Dpp),
            _ => None,
        }
    }

    /// The suffix that LLVM writes for `encoding` of an instruction. It writes `_e32` and `_e64`
    /// only where both exist.
    pub(super) fn written(row: &Row, target: Target, encoding: Encoding) -> Option<Suffix> {
        let suffix = Suffix::of(encoding)?;
        let other = match suffix {
            Suffix::Sdwa | Suffix::Dpp => return Some(suffix),
            Suffix::E32 if encoding == Encoding::Vintrp => return Some(suffix),
            Suffix::E32 => Suffix::E64,
            Suffix::E64 => Suffix::E32,
        };
        row.encodings(target).any(|encoding| Suffix::of(encoding) == Some(other)).then_some(suffix)
    }
}

/// Parses a mnemonic of any target, in lower or upper case: the instruction, and its suffix.
pub(super) fn lookup(mnemonic: &str) -> Option<(Op, Option<Suffix>)> {
    with_suffix(mnemonic, Op::from_name)
}

/// As [`lookup`], but for `target` alone.
pub(super) fn lookup_on(target: Target, mnemonic: &str) -> Option<(Op, Option<Suffix>)> {
    with_suffix(mnemonic, |name| Op::on(target, name))
}

fn with_suffix(mnemonic: &str, find: impl Fn(&str) -> Option<Op>) -> Option<(Op, Option<Suffix>)> {
    let named = |name: &str| match find(name) {
        Some(op) => Some((op, None)),
        None => Suffix::ALL
            .into_iter()
            .find_map(|suffix| Some((find(name.strip_suffix(suffix.text())?)?, Some(suffix)))),
    };
    named(mnemonic).or_else(|| {
        let upper = mnemonic.bytes().any(|byte| byte.is_ascii_uppercase());
        upper.then(|| named(&mnemonic.to_ascii_lowercase())).flatten()
    })
}
