//! Checks which values directives and instructions accept in `wavemill mc`: the same ones as in
//! `llvm-mc`.
//!
//! Each case is a section with labels and a statement with a value in it. Both programs read all
//! cases in one file. They must agree which cases are errors, and write the same output for the
//! others. Text output has no layout, so some errors of object output are not errors there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use wavemill_object::unlink;
use wavemill_oracle::{Failed, Tool};

/// Statements; `%` is the value and `@` the number of the case.
const STATEMENTS: &[&str] = &[
    ".byte %",
    ".short %",
    ".long %",
    ".quad %",
    ".fill %",
    ".fill %, 4, 7",
    ".fill 2, %",
    ".fill 2, %, 7",
    ".fill 2, 4, %",
    ".skip %",
    ".skip %, 1",
    ".skip 4, %",
    ".zero %",
    ".space %",
    ".zero 4, %",
    ".org %",
    ".org %, 1",
    ".org 64, %",
    ".p2align %",
    ".p2align 3, %",
    ".p2align 3, 0, %",
    ".p2align 3, , %",
    ".balign %",
    ".balign 8, %",
    ".balign 8, 0, %",
    ".p2alignw 3, %",
    ".p2alignl 3, %",
    ".uleb128 %",
    ".sleb128 %",
    ".octa %",
    ".float %",
    ".double %",
    ".dcb.b %, 1",
    ".dcb.l 2, %",
    ".dcb.b 2, %",
    ".dcb.l %, 2",
    ".dcb.s %, 1.5",
    ".ds.b %",
    ".ds.l %",
    ".comm k@, %",
    ".comm k@, 4, %",
    ".lcomm k@, %",
    ".set e@, %\n.long e@",
    ".set e@, %",
    ".equiv e@, %",
    ".if %\n.byte 1\n.endif",
    ".ifeq %\n.byte 1\n.endif",
    ".rept %\n.byte 1\n.endr",
    ".size a@, %",
    "s_nop %",
    "s_mov_b32 s9, %",
    "v_madmk_f32 v0, v1, %, v2",
    "s_setreg_imm32_b32 hwreg(1), %",
    "s_branch %",
];

/// Values that are numbers at the latest when the source ends, and values that are not.
const NUMBERS: &[&str] = &[
    "",
    "0",
    "1",
    "4",
    "-1",
    "-4",
    "127",
    "-128",
    "255",
    "~0",
    "!0",
    "1<<3",
    "b@-a@",
    "a@-b@",
    "b@-a@==4",
    "~(b@-a@)",
    "(b@-a@)*2",
    "later",
    "later==8",
    "end@-after@",
    ".-a@",
    "c@-a@",
];

/// Values with addresses. When LLVM writes objects, it never ends on sizes that depend on
/// themselves, and emits relocations with another meaning for other sizes. `distances.rs` has the
/// values that both accept.
const ADDRESSES: &[&str] = &[
    "a@==b@",
    "a@<b@",
    "!a@",
    "a@",
    "b@",
    "a@+0",
    "-a@",
    "0-a@",
    "a@+b@",
    "a@-u",
    "b@-a@+u",
    "u",
    "u==4",
    "u-u",
    "after@",
    "after@-a@",
    "after@-b@",
    ".",
    "c@",
    "c@==a@",
    "v0",
];

/// Values that only LLVM accepts, and that stay errors: statements, values, and the reason. LLVM
/// never ends on some of them, so it is not run on these.
const REFUSED: &[(&str, &[&str], &str)] = &[
    (
        ".p2align %",
        &["-1", "-4", "-128", "~0", "a@-b@", "b@-a@==4", "~(b@-a@)", "later==8"],
        "LLVM shifts by a negative number, and never ends writing an object",
    ),
    (
        ".comm k@, 4, %",
        &["-1", "-4", "127", "-128", "255", "~0", "a@-b@", "b@-a@==4", "~(b@-a@)"],
        "LLVM takes the exponent modulo 256: no section has such an alignment",
    ),
    (
        ".size a@, %",
        &["-1", "-4", "-128", "~0", "a@-b@", "b@-a@==4", "~(b@-a@)", "later==8"],
        "no symbol has a negative size: text is not asked for it, as nothing is laid out",
    ),
    (".org 64, %", &[".-a@"], "the fill value must be known where it stands"),
    ("s_nop %", &["-1", "-4", "-128", "~0"], "LLVM drops the upper bits of the constant without a word"),
];

/// A known difference in the text: instructions with a word that LLVM prints and does not encode,
/// each with LLVM's text. Wavemill prints the meaning of the bytes, so its text lacks ` nt`; the
/// bytes are the same.
const NOT_ENCODED: &[(&str, &str)] = &[
    ("buffer_wbl2 nt", "buffer_wbl2 nt"),
    ("buffer_wbl2 sc0 nt", "buffer_wbl2 sc0 nt"),
    ("buffer_wbl2 nt sc1", "buffer_wbl2 nt sc1"),
    ("buffer_wbl2 sc1 nt sc0", "buffer_wbl2 sc0 nt sc1"),
    ("buffer_inv nt", "buffer_inv nt"),
    ("buffer_inv sc0 nt", "buffer_inv sc0 nt"),
    ("buffer_inv sc1 nt", "buffer_inv nt sc1"),
    ("buffer_inv sc0 nt sc1", "buffer_inv sc0 nt sc1"),
];

/// A case: its statement with the value in it, and whether it stays an error.
struct Case {
    text: String,
    refused: bool,
}

/// The cases for a kind of output.
fn cases(kind: &str) -> Vec<Case> {
    let one = |statement: &str, value: &str| Case {
        text: statement.replace('%', value),
        refused: REFUSED.iter().any(|(refused, values, _)| {
            *refused == statement
                && values.contains(&value)
                && (kind == "obj" || !statement.starts_with(".size"))
        }),
    };
    let addresses = if kind == "asm" { ADDRESSES } else { &[] };
    let values = NUMBERS.iter().chain(addresses);
    // LLVM crashes on instruction fields that become numbers only at the end.
    let asked = |statement: &&&str| kind == "asm" || !matches!(**statement, "s_branch %" | "s_mov_b32 s9, %");
    STATEMENTS
        .iter()
        .filter(asked)
        .flat_map(|statement| values.clone().map(move |value| one(statement, value)))
        .collect()
}

/// Most cases in one run of a program, which also limits its errors.
const AT_ONCE: usize = 400;

/// One of the two programs, writing one kind of output.
struct Program<'a> {
    command: &'a [PathBuf],
    kind: &'static str,
    folder: &'a Path,
}

impl Program<'_> {
    /// Runs the program on these cases, and returns the numbers of the ones that it reports as
    /// errors.
    fn write(&self, cases: &[Case], numbers: &[usize], out: &Path) -> Result<BTreeSet<usize>, Failed> {
        let mut source = String::new();
        let mut starts = Vec::new();
        for number in numbers {
            starts.push(source.lines().count() + 1);
            let text = format!(
                "a@:\n.long 1\nb@:\n.set c@, b@\n{}\ns_nop 0\nafter@:\n.long 2\nend@:\n",
                cases[*number].text
            );
            source += &format!(".section .t{number},\"ax\",@progbits\n");
            source += &text.replace('@', &number.to_string());
        }
        source += ".set later, 8\n";
        let file = self.folder.join("values.s");
        std::fs::write(&file, source)?;
        let (program, first) = self.command.split_first().ok_or("no program")?;
        let output = Command::new(program)
            .args(first)
            .args(["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", &format!("-filetype={}", self.kind), "-o"])
            .args([out, &file])
            .output()?;
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(format!("{}: {message}", program.display()).into());
        }
        let mut errors = BTreeSet::new();
        for line in message.lines() {
            let Some((place, _)) = line.split_once(": error: ") else { continue };
            let Some(Ok(line)) = place.rsplit(':').nth(1).map(str::parse::<usize>) else { continue };
            let case = starts.partition_point(|start| *start <= line).checked_sub(1);
            errors.extend(case.and_then(|case| numbers.get(case)));
        }
        Ok(errors)
    }

    /// The numbers of all cases that are errors. LLVM checks for some errors only if there are no
    /// others.
    fn errors(&self, cases: &[Case], numbers: &[usize]) -> Result<BTreeSet<usize>, Failed> {
        let mut all = BTreeSet::new();
        for part in numbers.chunks(AT_ONCE) {
            loop {
                let left: Vec<usize> = part.iter().copied().filter(|number| !all.contains(number)).collect();
                let errors = self.write(cases, &left, &self.folder.join("values.out"))?;
                if errors.is_empty() {
                    break;
                }
                all.extend(errors);
            }
        }
        Ok(all)
    }
}

/// Runs both programs on all cases, writing text and objects.
pub(crate) fn agree() -> Result<(), Failed> {
    let folder = crate::folder("values")?;
    let own = [PathBuf::from(env!("CARGO_BIN_EXE_wavemill")), PathBuf::from("mc")];
    let llvm = [Tool::LlvmMc.path()?];
    let mut differences = String::new();
    for kind in ["asm", "obj"] {
        let cases = cases(kind);
        let program = |command| Program { command, kind, folder: &folder };
        let refused = |number: &usize| cases[*number].refused;
        let (never, asked): (Vec<usize>, Vec<usize>) = (0..cases.len()).partition(refused);
        let theirs = program(&llvm).errors(&cases, &asked)?;
        let ours = program(&own).errors(&cases, &asked)?;
        assert!(theirs.len() > cases.len() / 4 && theirs.len() < cases.len() * 3 / 4, "{}", theirs.len());
        for number in ours.symmetric_difference(&theirs) {
            let which = if ours.contains(number) { "wavemill" } else { "LLVM" };
            differences += &format!("{kind}, {:?}: only {which} reports an error\n", cases[*number].text);
        }
        // Every listed case must be an error.
        let own_errors = program(&own).errors(&cases, &never)?;
        for number in never.iter().filter(|number| !own_errors.contains(number)) {
            differences += &format!("{kind}, {:?}: listed, and no error\n", cases[*number].text);
        }
        let right: Vec<usize> =
            asked.into_iter().filter(|number| !ours.contains(number) && !theirs.contains(number)).collect();
        let [ours, theirs] = ["ours", "theirs"].map(|name| folder.join(format!("{name}.{kind}")));
        program(&own).write(&cases, &right, &ours)?;
        program(&llvm).write(&cases, &right, &theirs)?;
        let [ours, theirs] = [std::fs::read(ours)?, std::fs::read(theirs)?];
        if kind == "asm" {
            let [ours, theirs] = [&ours, &theirs].map(|text| String::from_utf8_lossy(text).into_owned());
            let first = ours.lines().zip(theirs.lines()).find(|(ours, theirs)| ours != theirs);
            if let Some((ours, theirs)) = first {
                differences += &format!("text: {ours:?}, LLVM: {theirs:?}\n");
            } else if ours != theirs {
                differences += "text: one is longer\n";
            }
        } else {
            for difference in unlink(&ours)?.differences(&unlink(&theirs)?).iter().take(20) {
                differences += &format!("object: {difference}\n");
            }
        }
    }
    differences += &not_encoded(&folder)?;
    match differences.is_empty() {
        true => Ok(()),
        false => Err(differences.into()),
    }
}

/// Output of the programs for [`NOT_ENCODED`] that differs from the list.
fn not_encoded(folder: &Path) -> Result<String, Failed> {
    let file = folder.join("not_encoded.s");
    let source: String = NOT_ENCODED.iter().map(|(source, _)| format!("{source}\n")).collect();
    std::fs::write(&file, source)?;
    let file = file.to_str().ok_or("no name")?;
    let mut differences = String::new();
    for target in ["-mcpu=gfx942", "-mcpu=gfx950"] {
        let args = ["-triple=amdgcn", target, "-show-encoding", file];
        let ours = instructions(&crate::wavemill(&[&["mc"][..], &args].concat())?)?;
        let theirs = instructions(&Command::new(Tool::LlvmMc.path()?).args(args).output()?)?;
        let counts = [ours.len(), theirs.len()];
        assert_eq!(counts, [NOT_ENCODED.len(); 2], "{target}: {ours:?}, LLVM: {theirs:?}");
        for ((ours, theirs), (_, listed)) in ours.iter().zip(&theirs).zip(NOT_ENCODED) {
            let without = listed.replace(" nt", "");
            if ours.1 != theirs.1 || theirs.0 != *listed || ours.0 != without {
                differences += &format!("{target}, {listed:?}: {ours:?}, LLVM: {theirs:?}\n");
            }
        }
    }
    Ok(differences)
}

/// The instructions that a program prints, and their encodings.
fn instructions(output: &Output) -> Result<Vec<(String, String)>, Failed> {
    let text = String::from_utf8(output.stdout.clone())?;
    let lines = text.lines().filter_map(|line| line.split_once("; encoding: "));
    Ok(lines.map(|(text, encoding)| (text.trim().to_owned(), encoding.to_owned())).collect())
}
