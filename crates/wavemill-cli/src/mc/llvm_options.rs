//! Options of `llvm-mc` other than [`McArgs`](super::McArgs). Options that change nothing here are
//! accepted. All others are rejected, each with the reason and advice. No option that would change
//! the output is ignored.

use std::ffi::OsString;

use super::options::Known;
use crate::failure::Failure;
use crate::input::Shown as _;

/// How to handle an option.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// It changes nothing for this target.
    Nothing,
    /// It changes nothing in text, but would change objects: the reason to reject it there.
    NothingInText(&'static str),
    /// Rejected: the reason, and advice.
    Refused(&'static str),
    /// It prints the help page.
    Help,
}
use Fate::{Help, Nothing, NothingInText, Refused};

const LEXER: &str = "numbers are parsed as in LLVM's tests of GPU code: write 0x1F for hexadecimal and 0b101 for binary numbers";
const INTERNAL: &str = "it prints numbers and names from LLVM's internal tables, which change with each LLVM release: omit it; `wavemill explain` shows the fields and operands of an instruction";
const MARKS: &str = "marked-up and coloured text is not supported: use -disassemble";
const LABELS: &str = "labels that begin with `.L` are not kept in files: use other names";
const LINES: &str = "line tables have version 4, or 5 if the source has a file 0: omit it";
const RELOCATIONS: &str = "relocations are written as LLVM writes them without this option: omit it";

/// Names without dashes, whether they have a value, and how to handle them.
const OPTIONS: &[(&str, bool, Fate)] = &[
    // Other architectures, other systems, and measurements.
    ("emit-compact-unwind-non-canonical", false, Nothing),
    ("emit-dwarf-unwind", true, Nothing),
    ("fdpic", false, Nothing),
    ("implicit-mapsyms", false, Nothing),
    ("incremental-linker-compatible", false, Nothing),
    ("large-code-model", false, Nothing),
    ("mc-relax-all", false, Nothing),
    ("no-deprecated-warn", false, Nothing),
    ("no-type-check", false, Nothing),
    ("position-independent", false, Nothing),
    ("runs", true, Nothing),
    ("stats", false, Nothing),
    ("target-abi", true, Nothing),
    ("time-passes", false, Nothing),
    ("verify-machineinstrs", false, Nothing),
    ("x86-asm-syntax", true, Nothing),
    ("x86-relax-relocations", false, Nothing),
    // AMDGPU's printer has one syntax, and ignores this.
    ("output-asm-variant", true, Nothing),
    ("print-imm-hex", false, Nothing),
    // Only -g would use them.
    ("main-file-name", true, Nothing),
    ("fdebug-compilation-dir", true, Nothing),
    ("compress-debug-sections", true, NothingInText("debug information is written uncompressed: omit it")),
    ("crel", false, NothingInText(RELOCATIONS)),
    ("dwarf-version", true, NothingInText(LINES)),
    ("dwarf64", false, NothingInText(LINES)),
    ("fdebug-prefix-map", true, NothingInText("folders are written as the source names them: omit it")),
    (
        "no-exec-stack",
        false,
        NothingInText(
            "the section `.note.GNU-stack` is not written: omit it, no loader of code objects reads it",
        ),
    ),
    ("save-temp-labels", false, NothingInText(LABELS)),
    ("L", false, NothingInText(LABELS)),
    ("split-dwarf-file", true, Refused("all output is in one file: omit it")),
    (
        "g",
        false,
        Refused(
            "debug information comes from the source alone: `.file` and `.loc` in the source make line tables",
        ),
    ),
    ("gsframe", false, Nothing),
    ("validate-cfi", false, Refused("`.cfi_*` directives are written without checks: omit it")),
    ("show-inst", false, Refused(INTERNAL)),
    ("asm-show-inst", false, Refused(INTERNAL)),
    ("show-inst-operands", false, Refused(INTERNAL)),
    ("print-options", false, Refused(INTERNAL)),
    ("print-all-options", false, Refused(INTERNAL)),
    (
        "as-lex",
        false,
        Refused(
            "it prints the tokens of LLVM's lexer: omit it; `wavemill asm --json` shows the result of each statement",
        ),
    ),
    ("mdis", false, Refused(MARKS)),
    ("cdis", false, Refused(MARKS)),
    ("M", true, Refused("the AMDGPU printer has no options, and llvm-mc rejects all values: omit it")),
    ("preserve-comments", false, Refused("comments are not printed: omit it")),
    (
        "n",
        false,
        Refused("a source always begins in `.text`: omit it, or begin the source with a section directive"),
    ),
    ("masm-hexfloats", false, Refused(LEXER)),
    ("masm-integers", false, Refused(LEXER)),
    ("motorola-integers", false, Refused(LEXER)),
    ("help-hidden", false, Help),
    ("help-list", false, Help),
    ("help-list-hidden", false, Help),
];

/// The value of a switch, as LLVM parses it; true by default.
fn truth(value: Option<&str>) -> Option<bool> {
    match value {
        None | Some("" | "1" | "true" | "TRUE" | "True") => Some(true),
        Some("0" | "false" | "FALSE" | "False") => Some(false),
        Some(_) => None,
    }
}

/// The name and the value of an option with one or two dashes.
fn parts(option: &str) -> Option<(&str, Option<&str>)> {
    let name = option.strip_prefix('-')?;
    let name = name.strip_prefix('-').unwrap_or(name);
    Some(name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value))))
}

/// The options after `mc` without the ones that change nothing, for clap, which knows the others.
///
/// # Errors
/// The first option that is not accepted, as an error of the command line.
pub(super) fn settled(options: Vec<OsString>, known: &Known) -> Result<Vec<OsString>, Failure> {
    let object = writes_object(&options);
    let mut kept = Vec::with_capacity(options.len());
    let mut options = options.into_iter();
    while let Some(option) = options.next() {
        if option == "--" {
            kept.push(option);
            break;
        }
        let Some((name, value)) = option.to_str().and_then(parts) else {
            kept.push(option);
            continue;
        };
        if known.takes_value(name) && value.is_none() {
            kept.push(option);
            kept.extend(options.next());
            continue;
        }
        let wrong = |value: &str| {
            Failure::usage(format!("-{name}: expected 1 or 0, found `{}`", value.shown()))
                .help("Without a value, it means 1; true and false are accepted, too.")
        };
        if let (true, Some(text)) = (known.switches.iter().any(|own| own == name), value) {
            if truth(value).ok_or_else(|| wrong(text))? {
                kept.push(format!("--{name}").into());
            }
            continue;
        }
        let Some(&(_, takes_value, fate)) = OPTIONS.iter().find(|(known, ..)| *known == name) else {
            kept.push(option);
            continue;
        };
        let refused = |reason: &str| {
            Failure::usage(format!("llvm-mc's -{name} is not supported: {reason}"))
                .help("`wavemill mc --help` lists the supported options.")
        };
        let unchanged = match (takes_value, name) {
            (true, "compress-debug-sections") => value == Some("none"),
            (true, "dwarf-version") => value == Some("4"),
            (true, _) => false,
            // A switch that is off.
            (false, _) => !truth(value).ok_or_else(|| wrong(value.unwrap_or_default()))?,
        };
        match fate {
            Help => kept.push("--help".into()),
            Refused(reason) if !unchanged => return Err(refused(reason)),
            NothingInText(reason) if object && !unchanged => return Err(refused(reason)),
            Refused(_) | Nothing | NothingInText(_) => {
                if takes_value && value.is_none() && options.next().is_none() {
                    return Err(Failure::usage(format!(
                        "-{name}: expected a value, found the end of the line"
                    )));
                }
            }
        }
    }
    kept.extend(options);
    Ok(kept)
}

/// Whether the options request an object.
fn writes_object(options: &[OsString]) -> bool {
    let mut options =
        options.iter().map_while(|option| (option != "--").then(|| option.to_str().unwrap_or_default()));
    while let Some(option) = options.next() {
        match parts(option) {
            Some(("filetype", Some(value))) => return value == "obj",
            Some(("filetype", None)) => return options.next() == Some("obj"),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::Known;
    use super::{OsString, settled};

    fn read(line: &str) -> Result<String, String> {
        let options = line.split(' ').map(OsString::from).collect();
        let kept = settled(options, &Known::of_mc()).map_err(|failure| failure.message)?;
        Ok(kept.iter().map(|option| option.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn what_changes_nothing_is_left_out() {
        for (line, kept) in [
            ("--mcpu=gfx906 --mc-relax-all a.s", "--mcpu=gfx906 a.s"),
            ("--runs 2 a.s", "a.s"),
            ("--output-asm-variant=0 --print-imm-hex a.s", "a.s"),
            ("--show-encoding=0 --hex=true a.s", "--hex a.s"),
            ("-g=false --preserve-comments=0 a.s", "a.s"),
            ("--dwarf-version=5 --no-exec-stack a.s", "a.s"),
            ("--dwarf-version=4 --filetype=obj a.s", "--filetype=obj a.s"),
            ("-o -g --mattr -n -- -g", "-o -g --mattr -n -- -g"),
            ("--help-hidden", "--help"),
            ("--no-such=1 a.s", "--no-such=1 a.s"),
        ] {
            assert_eq!(read(line).as_deref(), Ok(kept), "{line}");
        }
    }

    #[test]
    fn what_would_change_the_output_is_refused() {
        for (line, message) in [
            ("--show-inst", "llvm-mc's -show-inst is not supported: it prints numbers"),
            ("-g a.s", "llvm-mc's -g is not supported: debug information"),
            ("--no-exec-stack --filetype obj a.s", "llvm-mc's -no-exec-stack is not supported"),
            ("--dwarf-version=5 --filetype=obj", "llvm-mc's -dwarf-version is not supported"),
            ("--show-encoding=yes", "-show-encoding: expected 1 or 0, found `yes`"),
            ("--mc-relax-all=2", "-mc-relax-all: expected 1 or 0, found `2`"),
            ("a.s --runs", "-runs: expected a value, found the end of the line"),
        ] {
            let told = read(line).expect_err(line);
            assert!(told.starts_with(message), "{line}: {told}");
        }
    }
}
