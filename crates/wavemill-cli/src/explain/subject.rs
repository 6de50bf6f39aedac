//! Parses the subject of `wavemill explain`.

use crate::input::Shown as _;
use wavemill_asm::gcn::explain::{Mnemonic, mnemonics};
use wavemill_asm::gcn::{parse, print};
use wavemill_isa::Target;
use wavemill_isa::gcn::{DecodeError, Inst, Modifiers, decode};

use crate::failure::Failure;
use crate::names;
use crate::text::nearest;

/// The subject to explain.
#[derive(Debug)]
pub(super) enum Subject {
    /// An instance of an instruction.
    Instance(Inst),
    /// An instruction, with modifiers that change its layout.
    Mnemonic {
        /// The instruction, and perhaps an encoding.
        mnemonic: Mnemonic,
        /// The modifiers after it.
        modifiers: Modifiers,
    },
}

/// Parses the words of the command line.
///
/// # Errors
/// [`Failure`] if they are not an instruction, or not one of the given target.
pub(super) fn read(words: &[String], target: Option<Target>) -> Result<Subject, Failure> {
    let text = words.join(" ");
    match bytes(&text)? {
        Some(bytes) => instance(&text, &bytes, target).map(Subject::Instance),
        None => from_text(&text, target),
    }
}

/// An instruction from text: a mnemonic alone, possibly with modifiers that change a matrix layout,
/// or a whole instruction.
fn from_text(text: &str, target: Option<Target>) -> Result<Subject, Failure> {
    let text = text.trim();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mnemonic = Mnemonic::parse(name).ok_or_else(|| unknown_mnemonic(name, target))?;
    let row = mnemonic.op.row();
    if let Some(target) = target
        && !row.targets.contains(target)
    {
        let having: Vec<&str> = row.targets.iter().map(Target::name).collect();
        return Err(Failure::input(format!("{target} has no instruction `{name}`", name = name.shown()))
            .help(format!("Targets that have it: {}.", having.join(", "))));
    }
    match modifiers(rest) {
        Some(modifiers) => Ok(Subject::Mnemonic { mnemonic, modifiers }),
        None => parsed(text, target).map(Subject::Instance),
    }
}

/// A whole instruction of the target, or of the newest target that accepts the text.
fn parsed(text: &str, target: Option<Target>) -> Result<Inst, Failure> {
    let targets = target.map_or_else(|| Target::GCN.to_vec(), |target| vec![target]);
    let mut first = None;
    for target in targets.into_iter().rev() {
        match parse(target, text) {
            Ok(inst) => return Ok(inst),
            // Reports the error of the newest target that has the instruction.
            Err(error) => {
                first.get_or_insert((target, error));
            }
        }
    }
    let Some((target, error)) = first else { return Err(Failure::input("there are no targets")) };
    let part = text.get(error.span.clone()).unwrap_or_default();
    let mut failure = Failure::input(format!(
        "`{text}` is not an instruction of {target}: at `{part}`: {}",
        error.message,
        text = text.shown(),
        part = part.shown()
    ));
    let fixed =
        error.fix.as_ref().and_then(|fix| fix.applied(text)).map(|fixed| format!("Try `{}`.", fixed.shown()));
    let help: Vec<String> = error.notes.iter().map(|note| format!("{note}.")).chain(fixed).collect();
    if !help.is_empty() {
        failure = failure.help(help.join("\n"));
    }
    Err(failure)
}

/// Parses the modifiers that decide which matrix elements are read: `cbsz:2 abid:1 blgp:3`.
fn modifiers(text: &str) -> Option<Modifiers> {
    let mut modifiers = Modifiers::default();
    for word in text.split_whitespace() {
        let (name, value) = word.split_once(':')?;
        let value: u8 = value.parse().ok()?;
        match name {
            "cbsz" if value < 8 => modifiers.cbsz = value,
            "abid" if value < 16 => modifiers.abid = value,
            "blgp" if value < 8 => modifiers.blgp = value,
            _ => return None,
        }
    }
    Some(modifiers)
}

fn unknown_mnemonic(name: &str, target: Option<Target>) -> Failure {
    if let Some((op, others)) = Mnemonic::with_other_suffixes(name) {
        return Failure::input(format!(
            "`{op}` has no encoding with the suffix of `{name}`",
            name = name.shown()
        ))
        .help(match others.is_empty() {
            true => format!("Omit the suffix: {op}."),
            false => format!("Valid names are {}.", others.join(", ")),
        });
    }
    let near = nearest(&name.to_ascii_lowercase(), mnemonics(target), 3);
    let near: Vec<String> = near.into_iter().map(str::to_owned).collect();
    let hint = names::did_you_mean(&near);
    let of = target.map_or(String::new(), |target| format!(" of {target}"));
    Failure::input(format!(
        "expected machine code in hexadecimal or a mnemonic{of}, found `{name}`{hint}",
        name = name.shown()
    ))
    .help("`wavemill isa --out DIR` writes a page for each instruction.")
}

/// The bytes of a hexadecimal text, in memory order; `None` if it is something else.
///
/// # Errors
/// [`Failure`] if it begins as hexadecimal but does not continue so.
fn bytes(text: &str) -> Result<Option<Vec<u8>>, Failure> {
    let parts: Vec<&str> = text
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']'))
        .filter(|part| !part.is_empty())
        .collect();
    let Some(first) = parts.first() else {
        return Err(Failure::input("expected machine code in hexadecimal or a mnemonic, found nothing"));
    };
    let word_digits =
        |part: &str| part.strip_prefix("0x").or_else(|| part.strip_prefix("0X")).map(str::to_owned);
    let is_hex = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if word_digits(first).is_none() && !is_hex(first) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    for part in parts {
        let wrong = |expected: &str| {
            Failure::input(format!("expected {expected}, found `{part}`", part = part.shown()))
                .help("Write bytes in memory order (0203027e), or words after 0x (0x7e020302).")
        };
        let digits = word_digits(part);
        match &digits {
            Some(digits) if digits.is_empty() || !is_hex(digits) => {
                return Err(wrong("hexadecimal digits after 0x"));
            }
            Some(digits) if !matches!(digits.len(), 2 | 8) => {
                return Err(wrong("two digits (a byte) or eight digits (a word) after 0x"));
            }
            Some(digits) => {
                let value = u32::from_str_radix(digits, 16).map_err(|_| wrong("a word of 32 bits"))?;
                let count = digits.len() / 2;
                bytes.extend(value.to_le_bytes().into_iter().take(count));
            }
            None if !is_hex(part) => return Err(wrong("more machine code in hexadecimal")),
            None if part.len() % 2 != 0 => return Err(wrong("two hexadecimal digits for each byte")),
            None => {
                for pair in part.as_bytes().chunks(2) {
                    let digits = String::from_utf8_lossy(pair);
                    bytes.push(u8::from_str_radix(&digits, 16).map_err(|_| wrong("hexadecimal digits"))?);
                }
            }
        }
    }
    Ok(Some(bytes))
}

/// The instruction that the bytes encode, on the target or on the newest target that has it.
fn instance(text: &str, bytes: &[u8], target: Option<Target>) -> Result<Inst, Failure> {
    let newest_first = || Target::GCN.into_iter().rev();
    let decoded = match target {
        Some(target) => decode(target, bytes),
        None => {
            let found = newest_first().find_map(|target| decode(target, bytes).ok());
            found
                .map_or_else(
                    || newest_first().map(|target| decode(target, bytes)).next(),
                    |inst| Some(Ok(inst)),
                )
                .unwrap_or(Err(DecodeError::Truncated { needed: 4 }))
        }
    };
    let inst = decoded.map_err(|error| no_instruction(text, bytes, target, &error))?;
    if let Some(rest) = bytes.get(inst.size()..).filter(|rest| !rest.is_empty()) {
        let found = format!("{} more {} after `{}`", rest.len(), plural(rest.len()), printed(&inst));
        return Err(Failure::input(format!(
            "expected one instruction of {} bytes, found {found}",
            inst.size()
        ))
        .help("Pass one instruction at a time; `wavemill dis` disassembles code objects."));
    }
    Ok(inst)
}

fn no_instruction(text: &str, bytes: &[u8], target: Option<Target>, error: &DecodeError) -> Failure {
    let text = text.trim();
    if let DecodeError::Truncated { needed } = error {
        let found = format!("{} {}", bytes.len(), plural(bytes.len()));
        return Failure::input(format!(
            "`{text}` ends too early: expected at least {needed} bytes, found {found}",
            text = text.shown()
        ));
    }
    let of = target.map_or("any target".to_owned(), |target| target.to_string());
    let failure =
        Failure::input(format!("`{text}` is not an instruction of {of}: {error}", text = text.shown()));
    if let Some(inst) = Target::GCN.into_iter().rev().find_map(|target| decode(target, bytes).ok()) {
        return failure.help(format!("On {} it is `{}`.", inst.target(), printed(&inst)));
    }
    // Words written as in listings, without 0x.
    let turned: Vec<u8> = bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
    let turned_inst =
        target.into_iter().chain(Target::GCN.into_iter().rev()).find_map(|t| decode(t, &turned).ok());
    match turned_inst {
        Some(inst) if !text.contains("0x") => failure.help(format!(
            "Bytes are read in memory order. As words, with 0x before each, it is `{}` on {}.",
            printed(&inst),
            inst.target()
        )),
        _ => failure,
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "byte" } else { "bytes" }
}

fn printed(inst: &Inst) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = print(&mut text, inst);
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_code_is_read_in_every_notation() {
        let expected = Some(vec![0x02, 0x03, 0x02, 0x7e]);
        for text in
            ["0203027e", "02 03 02 7E", "0x7e020302", "[0x02,0x03,0x02,0x7e]", "0X7E020302", "0203 027e"]
        {
            assert_eq!(bytes(text), Ok(expected.clone()), "{text}");
        }
        assert_eq!(bytes("0x7e020302 0x01").map(|bytes| bytes.map(|bytes| bytes.len())), Ok(Some(5)));
        for text in ["v_add_f32", "exp", "s_endpgm", "é"] {
            assert_eq!(bytes(text), Ok(None), "{text}");
        }
        for text in [
            "",
            " ",
            "[,]",
            "0x",
            "0xg",
            "0x1",
            "0x123",
            "0x7e02",
            "0x1 0x2",
            "0x123456789",
            "123",
            "12 v_add_f32",
            "12 é",
            "0xé1",
            "1é",
        ] {
            assert!(!matches!(bytes(text), Ok(Some(_))), "{text}");
        }
    }

    #[test]
    fn modifiers_of_layouts_are_read() {
        let read = |text| modifiers(text).map(|m| (m.cbsz, m.abid, m.blgp));
        assert_eq!(read(""), Some((0, 0, 0)));
        assert_eq!(read(" cbsz:4  blgp:2 abid:15"), Some((4, 15, 2)));
        for text in ["cbsz:8", "abid:16", "blgp:-1", "cbsz", "cbsz:", "v0", "glc:1", "blgp:256"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
