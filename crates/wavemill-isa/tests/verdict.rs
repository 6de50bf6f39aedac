//! Compares verdict and size with LLVM 22, word by word: every value of every opcode field, with
//! fillings of other fields.
//!
//! Each difference must be one of the listed kinds, which give the reason.

mod support;

use std::collections::BTreeMap;
use std::process::ExitCode;

use wavemill_isa::Target;
use wavemill_isa::gcn::{DecodeError, Encoding, FieldId, Inst, Op, Space, decode};
use wavemill_oracle::{Failed, Filler, LlvmOracle, Suite, Tool, Verdict};

/// Words per opcode. Set `WAVEMILL_FILLINGS` to try more.
const FILLINGS: usize = 64;

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    for target in Target::GCN {
        suite.oracle_test(format!("verdicts on {target}"), &[Tool::LibLlvm], move || verdicts(target));
    }
    suite.run()
}

fn fillings() -> usize {
    std::env::var("WAVEMILL_FILLINGS").ok().and_then(|n| n.parse().ok()).unwrap_or(FILLINGS)
}

/// Why our verdict may differ from LLVM's. Each variant names the manual's rule that decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    /// LLVM crashes on the word: it reaches a case that it treats as impossible.
    Crash,
    /// LLVM decodes and marks an operand as invalid in its text.
    MarkedInvalid,
    /// A scalar register, not marked as invalid, where the manual requires a vector register:
    /// swaps, accumulation moves and matrices (CDNA4 ISA 7.1).
    ScalarForVector,
    /// LLVM accepts operand codes 230 and 231 (flat scratch base of later chips); reserved here
    /// (Vega ISA 5.2).
    ReservedCode,
    /// A value that cannot be written as destination, such as EXECZ (Vega ISA 5.2: destinations are
    /// codes 0 to 127).
    ReadOnlyDestination,
    /// LLVM reads a literal after 64-bit encodings; only 32-bit encodings accept one (Vega ISA
    /// 6.2.1).
    WideLiteral,
    /// Reserved code 3 of DST_UNUSED, which LLVM prints as 0 (Vega ISA 13.3.7).
    ReservedDstUnused,
    /// Reserved DPP permutation, or one that 64-bit operands cannot have. LLVM's assembler rejects
    /// them too (Vega ISA 12.19.1 and 13.3.9).
    ReservedDpp,
    /// LLVM reads the reserved bit 25 of DS, or NV of FLAT, as the accumulation bit, which these
    /// targets do not have (Vega ISA 13.5.1, 13.8.1).
    NoAccBit,
    /// LLVM lacks `image_gather4h_pck` and `image_gather8h_pck` (Vega ISA 12.16).
    MissingGather,
    /// LLVM lacks the accumulation forms of some returning atomics on gfx942 and gfx950 (CDNA3 ISA 13.6).
    AccAtomics,
}

fn excuse(space: Space, word: &[u8; 16], ours: &Result<Inst, DecodeError>, llvm: &Verdict) -> Option<Reason> {
    let text = match llvm {
        Verdict::Crashed => return Some(Reason::Crash),
        Verdict::Decoded { text, .. } => text.as_str(),
        Verdict::Invalid => "",
    };
    match ours {
        Ok(inst) => {
            let old = !inst.target().has_unified_vgprs();
            match inst.encoding() {
                Encoding::Flat if old && inst.modifiers().nv => Some(Reason::NoAccBit),
                Encoding::Flat
                    if inst.field(FieldId::Acc) == Some(1)
                        && inst.modifiers().glc
                        && inst.row().memory.iter().any(|access| access.op.name() == "atomic") =>
                {
                    Some(Reason::AccAtomics)
                }
                Encoding::Mimg if matches!(inst.op(), Op::ImageGather4hPck | Op::ImageGather8hPck) => {
                    Some(Reason::MissingGather)
                }
                // LLVM accepts the pair with such an operand. We decode only its load-scale half.
                Encoding::Vop3p if inst.op() == Op::VMfmaLdScaleB32 => Some(Reason::MarkedInvalid),
                _ => None,
            }
        }
        Err(error) => {
            let destination = text.split(',').next().unwrap_or("");
            let Verdict::Decoded { size, .. } = llvm else { return None };
            let field = match error {
                DecodeError::Illegal { field, .. } => Some(*field),
                _ => None,
            };
            if text.contains("src_flat_scratch_base") {
                Some(Reason::ReservedCode)
            } else if space == Space::Ds && field == Some(FieldId::Reserved) {
                Some(Reason::NoAccBit)
            } else if text.contains("/*Invalid") {
                Some(Reason::MarkedInvalid)
            } else if matches!(field, Some(FieldId::Src0 | FieldId::Src1 | FieldId::Src2))
                && (text.contains(" src_") || text.contains(" null"))
            {
                Some(Reason::ScalarForVector)
            } else if destination.contains(" src_") {
                Some(Reason::ReadOnlyDestination)
            } else if field == Some(FieldId::DstUnused) && word[5] >> 3 & 3 == 3 {
                Some(Reason::ReservedDstUnused)
            } else if field == Some(FieldId::DppCtrl) || text.contains("_dpp ") {
                Some(Reason::ReservedDpp)
            } else if *size == 12 {
                Some(Reason::WideLiteral)
            } else {
                None
            }
        }
    }
}

fn verdicts(target: Target) -> Result<(), Failed> {
    let mut llvm = LlvmOracle::open(target.name())?;
    let mut excused: BTreeMap<Reason, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    let mut agreed = 0usize;
    for &space in Space::ALL {
        let mut filler = Filler::new(7000 + target as u64 * 100 + space as u64);
        let words = support::words(target, space, fillings(), &mut filler);
        for (word, verdict) in words.iter().zip(llvm.disassemble(&words)) {
            let ours = decode(target, word);
            let same = match (&ours, &verdict) {
                (Ok(inst), Verdict::Decoded { size, text, .. }) => {
                    inst.size() == *size && mnemonic(text) == inst.mnemonic()
                }
                (Err(_), Verdict::Invalid) => true,
                _ => false,
            };
            if same {
                agreed += 1;
            } else if let Some(reason) = excuse(space, word, &ours, &verdict) {
                *excused.entry(reason).or_default() += 1;
            } else {
                wrong.push(format!("{word:02x?}: {ours:?}, LLVM {verdict:?}"));
            }
        }
    }
    println!("{target}: {agreed} verdicts agree, excused {excused:?}");
    if fillings() == FILLINGS {
        // The counts are pinned, except for crashes: LLVM does not promise to survive a word.
        let listed = excused.iter().filter(|(reason, _)| **reason != Reason::Crash);
        let text: String = listed.map(|(reason, count)| format!("{reason:?} {count}\n")).collect();
        insta::assert_snapshot!(format!("excused_on_{target}"), text);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        let shown = wrong.iter().take(20).map(String::as_str).collect::<Vec<_>>().join("\n");
        Err(format!("{} verdicts differ:\n{shown}", wrong.len()).into())
    }
}

/// The mnemonic of LLVM's text without the suffix that names the encoding.
fn mnemonic(text: &str) -> &str {
    let word = text.split_whitespace().next().unwrap_or("");
    ["_e32", "_e64", "_sdwa", "_dpp"].iter().find_map(|suffix| word.strip_suffix(suffix)).unwrap_or(word)
}
