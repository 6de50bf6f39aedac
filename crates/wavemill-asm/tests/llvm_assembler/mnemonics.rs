//! Compares the set of mnemonics: every mnemonic of any processor in LLVM's assembler, and every
//! spelling of the rows, is an instruction for both sides or for neither.

use std::collections::BTreeSet;

use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::parse;
use wavemill_isa::gcn::Op;
use wavemill_oracle::{Failed, assemble, mnemonics};

use crate::times;

/// Operands that no instruction has: a rejection must name the mnemonic, or its suffix.
const OPERANDS: &str = "v0, v0, v0, v0, v0, v0, v0, v0";

/// Suffixes that LLVM looks up as part of the mnemonic.
const SUFFIXES: [&str; 2] = ["_e64", "_e32"];

/// Compares the verdicts of `set` with LLVM's.
pub(crate) fn agreement(set: InstructionSet) -> Result<(), Failed> {
    let names = spellings()?;
    let texts: Vec<String> = names.iter().map(|name| format!("{name} {OPERANDS}")).collect();
    let theirs = assemble(set.name(), &texts)?;
    let mut differences = Vec::new();
    let mut known = 0;
    for ((name, text), theirs) in names.iter().zip(&texts).zip(theirs) {
        let (Err(theirs), Err(ours)) = (theirs, parse(set, text)) else {
            return Err(format!("`{text}` assembles").into());
        };
        let ours = ours.to_string();
        let no = |message: &str, signs: [&str; 3]| signs.iter().any(|sign| message.contains(sign));
        let there = !no(
            &theirs.message,
            ["not supported on this GPU", "invalid instruction", "variant of this instruction"],
        );
        let here = !no(&ours, ["has no `", "there is no instruction", "has no encoding"]);
        known += usize::from(here);
        if here != there && !is_accepted(name, there, &ours) {
            differences.push(format!("{name}: {ours}; LLVM: {theirs}"));
        }
    }
    assert!(known > 1300, "{set}: {known} of {} are known", names.len());
    match differences.as_slice() {
        [] => Ok(()),
        all => Err(format!("{} differ:\n{}", all.len(), all.join("\n")).into()),
    }
}

/// Accepted differences.
fn is_accepted(name: &str, there: bool, ours: &str) -> bool {
    if there {
        // LLVM accepts `_e32` after instructions without a 64-bit encoding. It also checks the
        // operand of `s_endpgm` before the suffix, with which nothing assembles.
        return name.ends_with("_e32") && ours.contains("has no encoding `_e32`") || name == "s_endpgm_e64";
    }
    // Lane writes and reads have only the 64-bit encoding (Vega ISA 12.11), but LLVM rejects the
    // suffix. It lacks both gathers (Vega ISA 12.16).
    const ONLY_OURS: [&str; 4] =
        ["v_readlane_b32_e64", "v_writelane_b32_e64", "image_gather4h_pck", "image_gather8h_pck"];
    ONLY_OURS.contains(&name)
}

/// The spellings to look up: without suffix and with one. With more effort, also the other suffix
/// and possible old spellings.
fn spellings() -> Result<BTreeSet<String>, Failed> {
    let mut all: BTreeSet<String> = mnemonics()?.into_iter().collect();
    for row in Op::ALL.iter().map(|op| op.row()) {
        all.extend(row.mnemonics().iter().chain(row.aliases()).map(|(_, name)| (*name).to_owned()));
    }
    if times() >= 6 {
        let older: Vec<String> = all.iter().flat_map(|name| older(name)).collect();
        all.extend(older);
    }
    let plain = all.iter().filter(|name| !SUFFIXES.iter().any(|suffix| name.ends_with(suffix)));
    let suffixes = if times() >= 6 { &SUFFIXES[..] } else { &SUFFIXES[..1] };
    let with: Vec<String> =
        plain.flat_map(|name| suffixes.iter().map(move |suffix| format!("{name}{suffix}"))).collect();
    all.extend(with);
    Ok(all)
}

/// A mnemonic without its last part, and with one or both of its last parts joined to the part
/// before.
fn older(name: &str) -> Vec<String> {
    let Some((front, last)) = name.rsplit_once('_') else { return Vec::new() };
    let mut all = vec![front.to_owned(), format!("{front}{last}")];
    if let Some((front, middle)) = front.rsplit_once('_') {
        all.extend([format!("{front}{middle}{last}"), format!("{front}{middle}_{last}")]);
    }
    all
}
