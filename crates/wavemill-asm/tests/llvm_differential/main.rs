//! Compares Wavemill's decoder and printer with LLVM's disassembler: every format of every target,
//! each value of its opcode field, with random fillings of the other fields. Verdict, size and text
//! must be equal. Also decodes each word and rebuilds it from its operands and modifiers, which
//! must give the same bytes.
//!
//! Where the two disagree, `disagreements.txt` says which one is right, by which section of the
//! manual, and why. A line that no word needs is an error.
//!
//! `WAVEMILL_FILLINGS=N` tries N fillings per opcode instead of 64; `WAVEMILL_DIFFERENCES=FILE` also writes every unlisted
//! difference to FILE.

#[path = "../support/disagreements.rs"]
mod disagreements;
#[path = "../support/findings.rs"]
mod findings;
mod formats;
#[path = "../support/pattern.rs"]
mod pattern;
mod word;

use std::collections::BTreeSet;
use std::process::ExitCode;

use disagreements::{Difference, Kind, List};
use findings::{Comparisons, Findings, Report, every_line_is_needed};
use formats::{FORMATS, Format};
use wavemill_asm::gcn::print;
use wavemill_isa::Target;
use wavemill_isa::gcn::{self, BuildError, Elem, Encoding, Flag, Inst, Op, Row};
use wavemill_oracle::{Failed, Filler, LlvmOracle, Suite, Tool, Verdict};
use word::{NOTE, Word, without_notes};

/// Fillings per opcode, unless the environment requests more.
const FILLINGS: usize = 64;
/// The number of lines in the list of disagreements. It is here so that a change is visible in
/// review.
const LISTED: usize = 52;

/// Lines that would also match differences other than the intended ones.
const TOO_WIDE: [&str; 5] = [
    "only-llvm | * | llvm~src_flat_scratch_base",
    "only-llvm | * | in:vop1 shows:null",
    "only-llvm | * | src0=125 shows:null",
    "only-llvm | * | in:vop1 src0=125",
    "text | * | in:flat acc=1",
];

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("the list of disagreements is well formed and of the expected length", || {
        assert_eq!(List::<Word<'_>>::parse(LIST)?.len(), LISTED);
        Ok(())
    });
    suite.test("a line that would excuse too much is refused", || {
        for line in TOO_WIDE {
            assert!(List::<Word<'_>>::parse(&format!("{line} | ours | section | why")).is_err(), "{line}");
        }
        Ok(())
    });
    for target in Target::GCN {
        suite.oracle_test(
            format!("{target}: verdict, size and text are LLVM's"),
            &[Tool::LibLlvm],
            move || outcome(target)?.agreement(),
        );
        suite.oracle_test(
            format!("{target}: every form of every row is reached"),
            &[Tool::LibLlvm],
            move || outcome(target)?.reach(target),
        );
        suite.oracle_test(
            format!("{target}: what decodes can be built again"),
            &[Tool::LibLlvm],
            move || outcome(target)?.round_trip(),
        );
    }
    for target in [Target::Gfx906, Target::Gfx950] {
        let name = format!("{target}: constants with a syntax of their own, every value");
        suite.oracle_test(name, &[Tool::LibLlvm], move || every_constant(target));
    }
    suite.oracle_test("every listed disagreement still occurs", &[Tool::LibLlvm], || {
        every_line_is_needed::<Word<'_>>(LIST, |target| Ok(&outcome(target)?.used))
    });
    suite.run()
}

/// Rows of the manuals that LLVM does not have.
const NOT_IN_LLVM: [&str; 2] = ["image_gather4h_pck", "image_gather8h_pck"];

const LIST: &str = include_str!("disagreements.txt");

/// Words that random fillings rarely produce: the format, and the word. Every run compares them.
const RARE: [(&str, u128); 16] = [
    ("flat", 0x0080_8100_de54_1000),
    ("mimg", 0x2c08_5b00_f047_1ef8),
    ("mimg", 0x100c_038f_f046_6fd6),
    ("vop1", 0x7fcc_05fc),
    ("vop3b", 0x01f4_0000_d1e7_0000),
    ("vop3", 0x0002_0100_d252_0000),
    ("vop3", 0x0002_0100_d253_0000),
    ("vop3", 0x0000_0100_d259_0000),
    ("vop3", 0x0001_d87d_d254_0000),
    ("vop3", 0x0000_fb00_d252_0000),
    ("vop3b", 0x0000_007d_d255_0000),
    ("vop3b", 0x0000_007d_d262_0000),
    ("mai", 0x95eb_f97c_d3ae_01fc),
    ("mai", 0x1c1a_21fc_d3ae_8406),
    ("mai_scaled", 0x9d8f_f99a_d3ad_0d7a_881c_d7fe_d3ac_0000),
    ("mai_scaled", 0x1b0e_01fa_d3ae_0b00_3018_146b_d3ac_fe60),
];

/// The result of comparing one target.
struct Outcome {
    /// Words compared, and how many both sides decoded.
    words: usize,
    decoded: usize,
    /// The forms of instructions that both sides decoded.
    forms: BTreeSet<(Op, Encoding)>,
    /// Unlisted differences.
    differences: Findings,
    /// Words that could not be rebuilt.
    not_rebuilt: Findings,
    /// Lines of the list that were needed.
    used: Vec<usize>,
    report: Report,
}

/// The comparison of `target`, run once however many tests request it.
fn outcome(target: Target) -> Result<&'static Outcome, Failed> {
    static OUTCOMES: Comparisons<Outcome> = Comparisons::new();
    OUTCOMES.of(target, compare)
}

impl Outcome {
    fn agreement(&self) -> Result<(), Failed> {
        assert!(self.words > 100_000 && self.decoded > self.words / 20, "{} of {}", self.decoded, self.words);
        self.differences.none()
    }

    /// Checks that LLVM and Wavemill both decoded at least one word of each encoding of each row,
    /// except rows that LLVM lacks.
    fn reach(&self, target: Target) -> Result<(), Failed> {
        let forms =
            Op::ALL.iter().flat_map(|op| op.row().forms()).filter(|form| form.targets.contains(target));
        let missed: Vec<String> = forms
            .filter(|form| {
                !self.forms.contains(&(form.op, form.encoding))
                    && !NOT_IN_LLVM.contains(&form.op.row().name())
            })
            .map(|form| format!("{} ({})", form.op, form.encoding.name()))
            .collect();
        if missed.is_empty() {
            Ok(())
        } else {
            Err(format!("never decoded by both: {}", missed.join(", ")).into())
        }
    }

    fn round_trip(&self) -> Result<(), Failed> {
        self.not_rebuilt.none()
    }
}

fn compare(target: Target) -> Result<Outcome, String> {
    let fillings =
        std::env::var("WAVEMILL_FILLINGS").ok().and_then(|count| count.parse().ok()).unwrap_or(FILLINGS);
    let mut llvm = LlvmOracle::open(target.name()).map_err(|missing| missing.to_string())?;
    let list = List::parse(LIST)?;
    let mut outcome = Outcome {
        words: 0,
        decoded: 0,
        forms: BTreeSet::new(),
        differences: Findings::default(),
        not_rebuilt: Findings::default(),
        used: Vec::new(),
        report: Report::new(),
    };
    for (number, format) in FORMATS.iter().enumerate() {
        let mut filler = Filler::new((target.index() * FORMATS.len() + number) as u64);
        let spans = format.spans();
        let mut words = Vec::new();
        // Formats with few opcodes get more fillings for each.
        let fillings = fillings * (256 / format.opcodes() as usize).max(1);
        for op in 0..format.opcodes() {
            let (fixed, mask) = format.with_opcode(op);
            words.extend((0..fillings).map(|_| filler.fill(fixed, mask, &spans)));
        }
        let rare = RARE.iter().filter(|(name, _)| *name == format.name);
        words.extend(rare.map(|(_, word)| word.to_le_bytes()));
        let verdicts = llvm.disassemble(&words);
        let mut rebuilt = Vec::new();
        for (index, (word, verdict)) in words.iter().zip(&verdicts).enumerate() {
            if let Some(again) = outcome.compare(target, format, word, verdict, &list) {
                rebuilt.push((index, again));
            }
        }
        // Where the words differ in bits without meaning, LLVM must decode both alike.
        let again: Vec<[u8; 16]> = rebuilt.iter().map(|(_, again)| *again).collect();
        for ((index, again), verdict) in rebuilt.iter().zip(llvm.disassemble(&again)) {
            if !same_instruction(&verdicts[*index], &verdict) {
                let shown = format!("{:?} becomes {} {verdict:?}", verdicts[*index], hex(again));
                outcome.not_rebuilt(format, &words[*index], &shown);
            }
        }
    }
    outcome.used = list.used();
    outcome.report.write(target)?;
    Ok(outcome)
}

impl Outcome {
    /// Compares one word. If both sides agree but the rebuilt words differ, returns the rebuilt
    /// words.
    fn compare(
        &mut self,
        target: Target,
        format: &'static Format,
        bytes: &[u8; 16],
        theirs: &Verdict,
        list: &List<Word<'static>>,
    ) -> Option<[u8; 16]> {
        self.words += 1;
        let ours = gcn::decode(target, bytes).ok();
        let mut text = String::new();
        let mut rebuilt = None;
        if let Some(inst) = &ours {
            let printed = print(&mut text, inst);
            assert!(printed.is_ok(), "a String takes any text");
            rebuilt = self.rebuild(format, bytes, inst);
        }
        let (kind, llvm) = match (&ours, theirs) {
            (None, Verdict::Invalid) => return None,
            // LLVM decodes such words to report an error in them. Rejecting them is equivalent.
            (None, Verdict::Decoded { text, .. }) if text.contains(NOTE) => return None,
            (_, Verdict::Crashed) => (Kind::Crash, ""),
            (Some(_), Verdict::Invalid) => (Kind::OnlyOurs, ""),
            (None, Verdict::Decoded { text, .. }) => (Kind::OnlyLlvm, text.as_str()),
            (Some(inst), Verdict::Decoded { size, text: llvm, .. }) => {
                self.decoded += 1;
                self.forms.insert((inst.op(), inst.encoding()));
                if inst.size() != *size {
                    (Kind::Size, llvm.as_str())
                } else if without_notes(&text) != without_notes(llvm) {
                    (Kind::Text, llvm.as_str())
                } else {
                    return rebuilt;
                }
            }
        };
        let word = u128::from_le_bytes(*bytes);
        let format = format.of(word);
        let difference = Difference { kind, target, subject: Word { format, word }, ours: &text, llvm };
        if list.explains(&difference) {
            return None;
        }
        let name = if text.is_empty() { llvm } else { &text };
        let name = name.split(' ').next().unwrap_or_default();
        let op = format.opcode_of(word);
        self.report.line(&[&kind.name(), &format.name, &op, &hex(bytes), &text, &llvm]);
        let what = format!("{} {} op {op} {name}", kind.name(), format.name);
        let shown = format!("{}  ours [{text}]  LLVM [{llvm}]", hex(bytes));
        self.differences.add(what, shown);
        None
    }

    /// Rebuilds the instruction from operands and modifiers. Returns the new words if they differ.
    fn rebuild(&mut self, format: &Format, bytes: &[u8; 16], inst: &Inst) -> Option<[u8; 16]> {
        let (encoded, size) = inst.encode();
        if encoded[..size] != bytes[..size] {
            self.not_rebuilt(format, bytes, &format!("encodes as {}", hex(&encoded)));
            return None;
        }
        let again = match build_again(inst) {
            Ok(again) => again,
            Err(error) => {
                self.not_rebuilt(format, bytes, &format!("{inst:?} is refused: {error}"));
                return None;
            }
        };
        let same_meaning = again.size() == size
            && again.modifiers() == inst.modifiers()
            && again.operands().map(|(_, operand)| operand).eq(inst.operands().map(|(_, operand)| operand));
        let fixed = build_again(&again).is_ok_and(|third| third.encode() == again.encode());
        if !same_meaning || !fixed {
            self.not_rebuilt(format, bytes, &format!("{inst:?} becomes {again:?}"));
            return None;
        }
        (again.encode().0 != encoded).then_some(again.encode().0)
    }

    fn not_rebuilt(&mut self, format: &Format, bytes: &[u8; 16], problem: &str) {
        let op = format.opcode_of(u128::from_le_bytes(*bytes));
        self.report.line(&[&"rebuild", &format.name, &op, &hex(bytes), &problem, &""]);
        let shown = format!("{} {problem}", hex(bytes));
        self.not_rebuilt.add(format!("{} op {op}", format.name), shown);
    }
}

fn build_again(inst: &Inst) -> Result<Inst, BuildError> {
    let builder = Inst::build(inst.target(), inst.op(), inst.encoding())?.modifiers(inst.modifiers());
    inst.operands().fold(builder, |builder, (spec, operand)| builder.operand(spec.role, operand)).finish()
}

/// Whether LLVM reads two words as the same instruction, or rejects the first.
fn same_instruction(first: &Verdict, second: &Verdict) -> bool {
    let Verdict::Decoded { size, text, .. } = first else { return true };
    matches!(second, Verdict::Decoded { size: other, text: again, .. }
        if size == other && without_notes(text) == without_notes(again))
}

/// All 65,536 values of the 16-bit constants with a symbolic syntax: counters, hardware registers,
/// messages, index modes, lane patterns.
fn every_constant(target: Target) -> Result<(), Failed> {
    let symbolic = |row: &Row| {
        let own = [Elem::Waitcnt, Elem::Hwreg, Elem::Sendmsg, Elem::GprIdx];
        row.has(Flag::Swizzle, target) || row.operands.iter().any(|spec| own.contains(&spec.ty.elem))
    };
    let mut llvm = LlvmOracle::open(target.name())?;
    let mut rows = 0;
    for form in Op::ALL.iter().map(|op| op.row()).filter(|row| symbolic(row)).flat_map(Row::forms) {
        // SOPC has its index mode in an 8-bit source field, which the random words cover.
        if !form.targets.contains(target) || form.encoding == Encoding::Sopc {
            continue;
        }
        rows += 1;
        // All of these encodings have the constant in their low half.
        let words: Vec<[u8; 16]> =
            (0..=0xffffu128).map(|constant| (form.value | constant).to_le_bytes()).collect();
        for (word, verdict) in words.iter().zip(llvm.disassemble(&words)) {
            let mut ours = String::new();
            let inst = gcn::decode(target, word).map_err(|error| format!("{}: {error}", hex(word)))?;
            print(&mut ours, &inst)?;
            let Verdict::Decoded { text, .. } = verdict else {
                return Err(format!("{}: ours [{ours}] LLVM {verdict:?}", hex(word)).into());
            };
            if ours != text {
                return Err(format!("{}: ours [{ours}] LLVM [{text}]", hex(word)).into());
            }
        }
    }
    assert!(rows >= 8, "only {rows} instructions with symbolic constants");
    Ok(())
}

fn hex(bytes: &[u8; 16]) -> String {
    let dwords =
        bytes.chunks_exact(4).map(|dword| dword.iter().rev().map(|byte| format!("{byte:02x}")).collect());
    dwords.collect::<Vec<String>>().join(" ")
}
