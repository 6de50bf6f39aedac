//! Describes words, instructions and files.

use std::fmt::Write as _;

use wavemill_asm::cayman::{
    explain as explain_word, explain_instruction, instruction_named, parse, parse_group, reference,
};
use wavemill_isa::cayman::decode_program;

use super::{Clause, Decoded};
use crate::dis::hex;
use crate::failure::Failure;
use crate::input::Shown as _;

/// Describes machine code in hexadecimal digits, a word, a group or a mnemonic.
///
/// # Errors
/// [`Failure`] if the text is none of these.
pub(crate) fn explain(words: &[String], clause: Clause) -> Result<String, Failure> {
    let text = words.join(" ");
    let name = text.trim();
    if let Some(op) = instruction_named(name) {
        return Ok(explain_instruction(op));
    }
    let mut bytes = Vec::new();
    if name.starts_with(|c: char| c.is_ascii_digit()) || hex::line(name.as_bytes(), &mut bytes).is_ok() {
        bytes.clear();
        hex::line(name.as_bytes(), &mut bytes).map_err(Failure::input)?;
        let decoded = clause.decode(&bytes).map_err(|error| {
            Failure::input(error).help("--clause names the kind of clause: cf, alu, tex, vtx or gds.")
        })?;
        return Ok(described(&decoded));
    }
    let failed = |error: wavemill_asm::Diagnostic| {
        let part = name.get(error.span.clone()).unwrap_or_default();
        let failure = Failure::input(format!(
            "`{}` is not an instruction of cayman: at `{}`: {}",
            name.shown(),
            part.shown(),
            error.message
        ));
        match error.notes.is_empty() {
            true => failure,
            false => {
                failure.help(error.notes.iter().map(|note| format!("{note}.")).collect::<Vec<_>>().join("\n"))
            }
        }
    };
    // A group has channels before its mnemonics.
    let is_group = name.as_bytes().get(1) == Some(&b':');
    let decoded = if is_group {
        let ended = if name.ends_with(";;") { name.to_owned() } else { format!("{name} ;;") };
        Decoded::Group(parse_group(&ended).map_err(failed)?)
    } else {
        Decoded::Word(parse(name).map_err(failed)?)
    };
    Ok(described(&decoded))
}

fn described(decoded: &Decoded) -> String {
    let mut out = format!("{}\n\n", decoded.text());
    match decoded {
        Decoded::Word(inst) => out += &explain_word(inst),
        Decoded::Group(group) => {
            let slots: Vec<String> = group.slots.iter().flatten().map(explain_word).collect();
            out += &slots.join("\n");
            let literals = (group.size / 8).saturating_sub(slots.len()) * 2;
            for (index, literal) in group.literals.iter().take(literals).enumerate() {
                let letter = ["x", "y", "z", "w"].get(index).copied().unwrap_or_default();
                // Writing to a string does not fail.
                let _ = writeln!(out, "literal {letter}: {literal:#010x} ({})", f32::from_bits(*literal));
            }
            let broken = group.broken_rules();
            if !broken.is_empty() {
                out += "rules of the manual that the group breaks:\n";
            }
            for broken in broken {
                let _ = writeln!(out, "  {broken}");
            }
        }
    }
    out
}

/// Describes the programs of a file.
///
/// # Errors
/// [`Failure`] as for `dis`.
pub(crate) fn info(bytes: &[u8], kernel: Option<&str>) -> Result<String, Failure> {
    let mut out = String::new();
    for program in super::dis::programs(bytes, false)? {
        let name = program.name.as_deref().unwrap_or("(no name)");
        if kernel.is_some_and(|kernel| !name.contains(kernel)) {
            continue;
        }
        // Writing to a string does not fail.
        if program.is_table {
            let _ = writeln!(out, "table {name}: {} bytes", program.bytes.len());
            continue;
        }
        let decoded = decode_program(&program.bytes, 0);
        let stage = program.stage.map_or("compute", |stage| stage.name());
        let _ = writeln!(out, "program {name}: {} bytes, stage {stage}", program.bytes.len());
        let _ = writeln!(out, "  registers   {}", program.gprs);
        let need = match decoded.stack_need(0) {
            Ok(need) => format!("{} entries", need.size()),
            Err(error) => format!("not known: {error}"),
        };
        let stack = program.stack.map_or_else(|| "not stated".to_owned(), |stack| stack.to_string());
        let _ = writeln!(out, "  stack       {stack} (by the manual: {need})");
        let _ = writeln!(out, "  LDS         {} bytes", program.lds);
        let _ = writeln!(out, "  clauses     {}", decoded.clauses.len());
        let _ = writeln!(out, "  relocations {}", program.relocations.len());
        for problem in &decoded.problems {
            let _ = writeln!(out, "  problem: {problem}");
        }
        for broken in decoded.broken_rules() {
            let _ = writeln!(out, "  rule: {broken}");
        }
    }
    Ok(out)
}

/// The reference page.
pub(crate) fn isa() -> String {
    reference()
}
