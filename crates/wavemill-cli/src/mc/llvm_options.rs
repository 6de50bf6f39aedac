//! Options of `llvm-mc` that are not taken here, each with the reason: a command of an LLVM test that has one is told so in
//! words, and no option is passed over.

use std::ffi::OsString;

use crate::failure::Failure;

const INTERNAL: &str =
    "it prints numbers and names of LLVM's own tables, which change from one LLVM to the next";
const TEXT: &str = "the text that is printed here has one form";
const DEBUG: &str = "debug information is made of what the source says, and of nothing else";
const OTHER_ARCHITECTURES: &str = "it changes nothing in code of GPUs";

/// Names without dashes, and why they are not taken.
const REFUSED: &[(&str, &str)] = &[
    ("show-inst", INTERNAL),
    ("show-inst-operands", INTERNAL),
    ("as-lex", "it prints the tokens of LLVM's reader"),
    ("mdis", TEXT),
    ("cdis", TEXT),
    ("M", TEXT),
    ("output-asm-variant", TEXT),
    ("preserve-comments", TEXT),
    ("print-imm-hex", TEXT),
    ("g", DEBUG),
    ("dwarf-version", DEBUG),
    ("dwarf64", DEBUG),
    ("fdebug-compilation-dir", DEBUG),
    ("fdebug-prefix-map", DEBUG),
    ("main-file-name", DEBUG),
    ("split-dwarf-file", DEBUG),
    ("compress-debug-sections", "debug information is written as it is"),
    ("save-temp-labels", "labels that begin with `.L` are not kept in files"),
    ("L", "labels that begin with `.L` are not kept in files"),
    ("n", "a source always begins in `.text`"),
    ("runs", "a source is read once"),
    ("validate-cfi", "what `.cfi_*` directives say is written and not checked"),
    ("position-independent", OTHER_ARCHITECTURES),
    ("large-code-model", OTHER_ARCHITECTURES),
    ("no-exec-stack", OTHER_ARCHITECTURES),
    ("mc-relax-all", OTHER_ARCHITECTURES),
    ("target-abi", OTHER_ARCHITECTURES),
    ("masm-hexfloats", OTHER_ARCHITECTURES),
    ("masm-integers", OTHER_ARCHITECTURES),
    ("motorola-integers", OTHER_ARCHITECTURES),
    ("crel", "relocations are written as LLVM does without it"),
    ("help-list", "`wavemill mc --help` lists what is taken"),
    ("help-hidden", "`wavemill mc --help` lists what is taken"),
];

/// The first of the options behind `mc` that is not taken, as a mistake of the command line.
pub(super) fn refused(options: &[OsString]) -> Option<Failure> {
    let options =
        options.iter().map_while(|option| (option != "--").then(|| option.to_str().unwrap_or_default()));
    for option in options {
        let Some(name) = option.strip_prefix('-') else { continue };
        let name = name.trim_start_matches('-').split('=').next().unwrap_or_default();
        if let Some((name, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            let failure = Failure::usage(format!("llvm-mc's -{name} is not taken here: {reason}"));
            return Some(failure.help("`wavemill mc --help` lists the options that are."));
        }
    }
    None
}
