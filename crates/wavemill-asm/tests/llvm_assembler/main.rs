//! Assembles texts derived from the rows with Wavemill and LLVM, and requires equal verdicts and
//! bytes.
//!
//! The texts are instances of every form with each operand and modifier replaced by others, and the
//! same with one token dropped, doubled, swapped or replaced. Where the two sides disagree,
//! `disagreements.txt` says which one is right, by which section of the manual, and why.
//!
//! `WAVEMILL_TEXTS=N` makes N times as many texts; from 6 on, a line of the list that no text needs
//! is an error. `WAVEMILL_DIFFERENCES=FILE` also writes every unlisted difference to FILE.

mod cross;
#[path = "../support/disagreements.rs"]
mod disagreements;
mod encodes;
#[path = "../support/findings.rs"]
mod findings;
mod line;
mod mnemonics;
mod named;
#[path = "../support/pattern.rs"]
mod pattern;
mod texts;
mod types;

use std::fmt::Write as _;
use std::process::ExitCode;

use disagreements::{Difference, Kind, List};
use findings::{Comparisons, Findings, Report, every_line_is_needed};
use line::{Line, part_at};
use texts::Effort;
use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::{parse, print};
use wavemill_isa::Target;
use wavemill_isa::gcn::Inst;
use wavemill_oracle::{Failed, OracleMissing, Refusal, Suite, Tool, assemble};

/// Texts per form, unless the environment requests more.
const EFFORT: Effort = Effort { fillings: 4, replacements: 12, mutations: 6, meetings: 1 };
/// The number of lines in the list of disagreements. It is here so that a change is visible in
/// review.
const LISTED: usize = 71;
const LIST: &str = include_str!("disagreements.txt");

/// Lines that would also match differences other than the intended ones: parts of messages, texts
/// and mnemonics, and no condition on LLVM's encoding.
const TOO_WIDE: [&str; 7] = [
    "only-ours | * | llvm~not+a+valid+operand text~-",
    "only-ours | * | says:not+a+valid+operand.",
    "only-ours | * | on:v_* at:-# says:not+a+valid+operand.",
    "only-ours | * | on:v_add_f32 says:not+a+valid+operand.",
    "only-llvm | * | at:# says:src#+cannot+be+a+literal:+{}+has+room+for+none",
    "only-llvm | * | at:# llvm:illegal",
    "bytes | * | on:flat_atomic_add",
];

fn main() -> ExitCode {
    let mut suite = Suite::from_args();
    suite.test("the list of disagreements is well formed and of the expected length", || {
        assert_eq!(List::<Line<'_>>::parse(LIST)?.len(), LISTED);
        Ok(())
    });
    suite.test("a line that would excuse too much is refused", || {
        for line in TOO_WIDE {
            assert!(List::<Line<'_>>::parse(&format!("{line} | ours | section | why")).is_err(), "{line}");
        }
        Ok(())
    });
    for target in Target::GCN {
        suite.oracle_test(format!("{target}: verdict and bytes are LLVM's"), &[Tool::LlvmMc], move || {
            outcome(target)?.agreement()
        });
        suite.oracle_test(format!("{target}: sources have LLVM's types"), &[Tool::LlvmMc], move || {
            types::agree(target)
        });
        suite.test(format!("{target}: every form, operand and modifier is generated"), move || {
            let all = texts::texts(target, effort());
            println!("{target}: {}", all.coverage());
            match all.missing().as_slice() {
                [] => Ok(()),
                missing => Err(format!("never generated: {}", missing.join(", ")).into()),
            }
        });
    }
    for name in InstructionSet::processors() {
        suite.oracle_test(
            format!("{name}: mnemonics are LLVM's"),
            &[Tool::LlvmMc, Tool::LibLlvm],
            move || mnemonics::agreement(InstructionSet::of(&name.parse()?).ok_or("no instruction set")?),
        );
    }
    for name in ["gfx9-generic", "gfx9-4-generic"] {
        suite.oracle_test(format!("{name}: verdict and bytes are LLVM's"), &[Tool::LlvmMc], move || {
            let set = InstructionSet::of(&name.parse()?).ok_or("no instruction set")?;
            compare(set)?.agreement()
        });
    }
    // Some differences need many texts to appear.
    if times() >= 6 {
        suite.oracle_test("every listed disagreement still occurs", &[Tool::LlvmMc], || {
            every_line_is_needed::<Line<'_>>(LIST, |target| Ok(&outcome(target)?.used))
        });
    }
    suite.run()
}

/// The factor for the number of texts.
fn times() -> usize {
    std::env::var("WAVEMILL_TEXTS").ok().and_then(|times| times.parse().ok()).unwrap_or(1)
}

fn effort() -> Effort {
    EFFORT.times(times())
}

/// The result of comparing one target.
struct Outcome {
    /// Texts compared, and how many both sides assembled alike.
    texts: usize,
    legal: usize,
    /// Unlisted differences.
    differences: Findings,
    /// Lines of the list that were needed.
    used: Vec<usize>,
}

/// The comparison of `target`, run once however many tests request it.
fn outcome(target: Target) -> Result<&'static Outcome, Failed> {
    static OUTCOMES: Comparisons<Outcome> = Comparisons::new();
    OUTCOMES.of(target, |target| compare(target.into()))
}

impl Outcome {
    fn agreement(&self) -> Result<(), Failed> {
        assert!(self.texts > 30_000 && self.legal > self.texts / 10, "{} of {}", self.legal, self.texts);
        self.differences.none()
    }
}

/// Compares both sides' results for the texts of the instruction set's target.
fn compare(set: InstructionSet) -> Result<Outcome, String> {
    let target = set.target();
    let missing = |missing: OracleMissing| missing.to_string();
    let list: List<Line<'static>> = List::parse(LIST)?;
    let all = texts::texts(target, effort());
    let texts: Vec<String> = all.lines.into_iter().chain(all.mutated).collect();
    let theirs = assemble(set.name(), &texts).map_err(missing)?;
    let ours: Vec<_> = texts.iter().map(|text| parse(set, text)).collect();
    let mut in_our_order = canonical(set, &texts, &ours, &theirs).map_err(missing)?.into_iter();
    let mut outcome =
        Outcome { texts: texts.len(), legal: 0, differences: Findings::default(), used: Vec::new() };
    let mut report = Report::new();
    for ((text, ours), theirs) in texts.iter().zip(ours).zip(&theirs) {
        let mut line = Line {
            list: &list,
            mended: 0,
            set,
            text,
            fault: 0..0,
            fix: None,
            ours: "",
            inst: ours.as_ref().ok().copied(),
            llvm: theirs.as_ref().ok().map(Vec::as_slice),
        };
        let (kind, ours, llvm) = match (ours, theirs) {
            (Ok(inst), Ok(bytes)) if encoded(&inst) == *bytes => {
                outcome.legal += 1;
                continue;
            }
            (Err(_), Err(_)) => continue,
            (Ok(inst), Ok(bytes)) => {
                (Kind::Bytes, String::new(), format!("{} here, {} there", hex(&encoded(&inst)), hex(bytes)))
            }
            (Ok(inst), Err(refusal)) => {
                // LLVM requires its own order of modifiers.
                if in_our_order.next().is_some_and(|again| again.is_ok_and(|bytes| bytes == encoded(&inst))) {
                    continue;
                }
                line.fault = part_at(text, refusal.column);
                (Kind::OnlyOurs, String::new(), refusal.to_string())
            }
            (Err(error), Ok(bytes)) => {
                line.fault = error.span.clone();
                line.fix = error.fix.as_ref().and_then(|fix| fix.applied(text));
                (Kind::OnlyLlvm, error.message, hex(bytes))
            }
        };
        line.ours = &ours;
        let fault = &text[line.fault.clone()];
        let difference = Difference { kind, target, subject: line, ours: &ours, llvm: &llvm };
        if list.explains(&difference) {
            continue;
        }
        report.line(&[&kind.name(), text, &fault, &ours, &llvm]);
        let message = if kind == Kind::Bytes { text.split(' ').next().unwrap_or_default() } else { &ours };
        let plain: String = format!("{message}{}", if kind == Kind::OnlyOurs { &llvm } else { "" })
            .chars()
            .map(|c| if c.is_ascii_digit() { '#' } else { c })
            .collect();
        let shown = format!("[{text}] {ours}{llvm}");
        outcome.differences.add(format!("{} {plain}", kind.name()), shown);
    }
    outcome.used = list.used();
    report.write(set)?;
    Ok(outcome)
}

/// Our `assemble`'s answer for a line swallowed by an open quote or comment.
const SWALLOWED: &str = "the text goes on in the next line";

/// LLVM's results for the texts that only Wavemill accepts, as Wavemill prints them.
fn canonical(
    set: InstructionSet,
    texts: &[String],
    ours: &[Result<Inst, wavemill_asm::Diagnostic>],
    theirs: &[Result<Vec<u8>, Refusal>],
) -> Result<Vec<Result<Vec<u8>, Refusal>>, OracleMissing> {
    let mut lines = Vec::new();
    for ((text, ours), theirs) in texts.iter().zip(ours).zip(theirs) {
        let (Ok(inst), Err(refusal)) = (ours, theirs) else { continue };
        // A single modifier has no order. A line swallowed by the previous one is retried.
        if texts::modifiers(text) < 2 && refusal.message != SWALLOWED {
            lines.push("no order".to_owned());
            continue;
        }
        let mut line = String::new();
        let printed = print(&mut line, inst);
        assert!(printed.is_ok(), "a String takes any text");
        // The same text again would show nothing.
        lines.push(if line == *text { "the same".to_owned() } else { line });
    }
    if lines.is_empty() { Ok(Vec::new()) } else { assemble(set.name(), &lines) }
}

fn encoded(inst: &Inst) -> Vec<u8> {
    let (bytes, size) = inst.encode();
    bytes[..size].to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut all, byte| {
        let _ = write!(all, "{byte:02x}");
        all
    })
}
