//! Mnemonics: the manual's names in lower case.

use std::sync::OnceLock;

use hashbrown::HashMap;
use wavemill_isa::cayman::{Format, Op};

/// Instructions whose row has another name than the manual, because two kinds of words share it.
const OF_THE_MANUAL: [(Op, &str); 5] = [
    (Op::Tex, "tc"),
    (Op::CfNop, "nop"),
    (Op::CfEnd, "end"),
    (Op::VtxRead, "vfetch"),
    (Op::VtxSemantic, "semantic"),
];
/// What rows of texture fetches put before the manual's name.
const TEXTURE: &str = "TEX_";

/// The mnemonic of an instruction, as texts have it: one or two words.
pub fn mnemonic(op: Op) -> &'static str {
    static ALL: OnceLock<Vec<String>> = OnceLock::new();
    let all = ALL.get_or_init(|| Op::ALL.iter().map(|op| spelling(*op)).collect());
    all.get(op as usize).map_or("", String::as_str)
}

fn spelling(op: Op) -> String {
    if let Some((_, name)) = OF_THE_MANUAL.iter().find(|(known, _)| *known == op) {
        return (*name).to_owned();
    }
    let row = op.row();
    let name = row.name.strip_prefix(TEXTURE).filter(|_| row.format == Format::Tex).unwrap_or(row.name);
    name.to_ascii_lowercase()
}

/// The instruction that a mnemonic of one or two words means, among the slots of ALU groups or
/// among the other words. Names of rows and their aliases are accepted too, in lower case.
pub(super) fn from_mnemonic(name: &str, is_slot: bool) -> Option<Op> {
    static ALL: OnceLock<[HashMap<String, Op>; 2]> = OnceLock::new();
    let [words, slots] = ALL.get_or_init(|| {
        let mut all = [HashMap::new(), HashMap::new()];
        // Mnemonics win over other spellings.
        for &op in Op::ALL {
            all[usize::from(op.row().format.is_alu())].insert(mnemonic(op).to_owned(), op);
        }
        for &op in Op::ALL {
            let row = op.row();
            let known = &mut all[usize::from(row.format.is_alu())];
            for name in core::iter::once(&row.name).chain(row.aliases) {
                // An alias separates its words as a row file does.
                known.entry(name.to_ascii_lowercase().replace('/', " ")).or_insert(op);
            }
        }
        all
    });
    if is_slot { slots } else { words }.get(name).copied()
}

/// The mnemonics of slots or of other words, for suggestions.
pub(super) fn mnemonics(is_slot: bool) -> Vec<&'static str> {
    Op::ALL.iter().filter(|op| op.row().format.is_alu() == is_slot).map(|op| mnemonic(*op)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mnemonic_means_its_instruction() {
        for &op in Op::ALL {
            let is_slot = op.row().format.is_alu();
            assert_eq!(from_mnemonic(mnemonic(op), is_slot), Some(op), "{}", mnemonic(op));
        }
        assert_eq!(from_mnemonic("nop", false), Some(Op::CfNop));
        assert_eq!(from_mnemonic("nop", true), Some(Op::Nop));
        assert_eq!(from_mnemonic("cf_end", false), Some(Op::CfEnd));
        assert_eq!(mnemonic(Op::TexSample), "sample");
        assert_eq!(mnemonic(Op::MemRatCachelessStoreDword), "mem_rat_cacheless store_dword");
    }
}
