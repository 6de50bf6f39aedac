//! Checks which distances between labels `wavemill mc` knows while it reads a source: the same ones
//! as `llvm-mc`.
//!
//! Each case is a section with two labels, something between them, and a statement that needs a
//! number. Both assemblers read all cases in one file. For each case, they must agree whether and
//! where there is an error.

use std::collections::BTreeMap;
use std::process::Command;

use wavemill_oracle::{Failed, Tool};

/// Text between the labels `from` and `to`. `@` is the number of the case.
const BETWEEN: &[&str] = &[
    "",
    "s_nop 0",
    "s_branch from@",
    "s_branch end@",
    "s_mov_b32 s0, end@",
    ".long 1",
    ".long end@-from@",
    ".ascii \"abc\"",
    ".float 1.0",
    ".fill 2, 4, 7",
    ".space 8",
    ".zero 8",
    ".skip 8, 3",
    ".dcb.b 3, 1",
    ".ds.b 4",
    ".set n, 8\n.space n",
    ".space tail@-head@",
    ".space end@-from@",
    ".space later",
    ".rept 2\ns_nop 0\n.endr",
    ".p2align 0",
    ".p2align 2",
    ".p2align 4,,2",
    ".balign 1",
    ".balign 8",
    "s_nop 0\n.p2align 3\ns_nop 0",
    ".org 64",
    ".org .+(tail@-head@)",
    ".uleb128 5",
    ".uleb128 tail@-head@",
    ".uleb128 end@-from@",
    ".sleb128 end@-from@",
    ".pushsection .elsewhere,\"a\"\n.p2align 3\n.popsection",
    ".section .elsewhere,\"a\"\n.long 1\n.previous",
    ".type from@,@function\n.globl from@",
];

/// Statements that need a number.
const USES: &[&str] = &[
    ".if (to@-from@) == 4\n.endif",
    ".rept to@-from@\n.byte 1\n.endr",
    ".ifne to@-from@\n.endif",
    ".ifgt to@-from@\n.endif",
    ".if 0\n.elseif to@-from@\n.endif",
    ".if from@-to@ == -4\n.endif",
    ".if -(to@-from@) == -4\n.endif",
    ".if (to@-from@)*2 == 8\n.endif",
    ".if to@-from@+1 == 5\n.endif",
    ".if (to@+4)-(from@+4)\n.endif",
    ".if from@-from@\n.endif",
    ".if . - from@\n.endif",
    ".if .-.\n.endif",
    ".if end@-from@\n.endif",
    ".if missing-missing\n.endif",
    ".if from@\n.endif",
    ".if to@ > from@\n.endif",
    ".if to@ == from@\n.endif",
    ".rept . - to@\n.byte 1\n.endr",
    ".rept (to@-from@)/4\n.byte 1\n.endr",
    ".set x@, to@-from@\n.if x@ == 4\n.endif",
    ".set x@, to@-from@\n.long x@",
    ".equiv x@, to@-from@\n.rept x@\n.byte 1\n.endr",
    ".set y@, to@\n.if y@-from@ == 4\n.endif",
    ".if max(to@-from@, 3)\n.endif",
    ".fill to@-from@, 1, 0",
    ".fill 1, to@-from@",
    ".fill 1, 4, to@-from@",
    ".zero to@-from@",
    ".skip to@-from@",
    ".space 4, to@-from@",
    ".org to@-from@+512",
    ".balign 1+0*(to@-from@)",
    ".p2align 0*(to@-from@)",
    ".long to@-from@",
    ".uleb128 to@-from@",
    ".size from@, to@-from@",
    ".dcb.b to@-from@, 1",
    ".ds.b to@-from@",
    ".comm common@, to@-from@",
    ".lcomm local@, to@-from@",
    "s_nop to@-from@",
    "s_movk_i32 s0, to@-from@",
    "s_sleep later",
    "s_mov_b32 s0, to@-from@",
    "v_mov_b32 v[to@-from@], 0",
    "ds_read_b32 v0, v1 offset:to@-from@",
];

/// The cases: everything between the labels with the first uses, and all uses with a few things between.
fn cases() -> impl Iterator<Item = (&'static str, &'static str)> {
    let first = BETWEEN.iter().flat_map(|between| USES[..2].iter().map(move |usage| (*between, *usage)));
    let few = ["s_nop 0", ".space 8", ".p2align 3", ".space tail@-head@"];
    first.chain(few.into_iter().flat_map(|between| USES[2..].iter().map(move |usage| (between, *usage))))
}

/// The first error of each case: line and column.
type Errors = BTreeMap<usize, (usize, usize)>;

/// The errors that a program reports for the source, in which the cases begin at these lines.
fn errors(command: &mut Command, starts: &[usize]) -> Result<Errors, Failed> {
    let output = command.output()?;
    let mut errors = Errors::new();
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let Some((place, _)) = line.split_once(": error: ") else { continue };
        let mut numbers = place.rsplit(':').map(str::parse::<usize>);
        let (Some(Ok(column)), Some(Ok(line))) = (numbers.next(), numbers.next()) else { continue };
        let case = starts.partition_point(|start| *start <= line).saturating_sub(1);
        let first = errors.entry(case).or_insert((line, column));
        *first = (*first).min((line, column));
    }
    Ok(errors)
}

/// Runs both programs on all cases, writing text and an object.
pub(crate) fn agree() -> Result<(), Failed> {
    let cases: Vec<_> = cases().collect();
    let mut source = ".section .elsewhere,\"a\"\n".to_owned();
    let mut starts = Vec::new();
    for (number, (between, usage)) in cases.iter().enumerate() {
        starts.push(source.lines().count() + 1);
        let text = format!(
            ".section .t@,\"ax\"\nhead@:\n.long 1\ntail@:\nfrom@:\n{between}\nto@:\n{usage}\nend@:\n"
        );
        source += &text.replace('@', &number.to_string());
    }
    source += ".set later, 8\n";
    let folder = crate::folder("distances")?;
    let file = folder.join("distances.s");
    std::fs::write(&file, &source)?;
    for kind in ["asm", "obj"] {
        let args = ["-triple=amdgcn-amd-amdhsa", "-mcpu=gfx90a", &format!("-filetype={kind}"), "-o"];
        let out = folder.join(format!("distances.{kind}"));
        let ours = errors(
            Command::new(env!("CARGO_BIN_EXE_wavemill")).arg("mc").args(args).arg(&out).arg(&file),
            &starts,
        )?;
        let theirs = errors(Command::new(Tool::LlvmMc.path()?).args(args).arg(&out).arg(&file), &starts)?;
        assert!(theirs.len() > cases.len() / 4 && theirs.len() < cases.len(), "{}", theirs.len());
        let mut differences = String::new();
        for (number, (between, usage)) in cases.iter().enumerate() {
            let of = |errors: &Errors| match errors.get(&number) {
                Some((line, column)) => format!("wrong at {}:{column}", line - starts[number]),
                None => "right".to_owned(),
            };
            if ours.get(&number) != theirs.get(&number) {
                differences +=
                    &format!("{kind}, {between:?}, {usage:?}: {}, LLVM: {}\n", of(&ours), of(&theirs));
            }
        }
        if !differences.is_empty() {
            return Err(differences.into());
        }
    }
    Ok(())
}
