//! Describes words and instructions.

use std::fmt::Write as _;

use wavemill_isa::cayman::{Elem, Field, Inst, Op, Row};

use super::field::{name, value_names};
use super::mnemonic::{from_mnemonic, mnemonic};

/// The instruction with a mnemonic, in any case: a slot of a group if one has it, after `x:` or
/// alone, or another word.
pub fn instruction_named(text: &str) -> Option<Op> {
    let text = text.trim().to_ascii_lowercase();
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    from_mnemonic(&joined, false).or_else(|| from_mnemonic(&joined, true))
}

/// The fields of a word, and its row.
pub fn explain(inst: &Inst) -> String {
    let mut out = heading(inst.op());
    let (bytes, size) = inst.encode();
    let dwords = bytes.get(..size).unwrap_or_default().chunks_exact(4);
    let dwords: Vec<String> = dwords
        .map(|dword| {
            format!("{:08x}", dword.iter().rev().fold(0u32, |all, byte| all << 8 | u32::from(*byte)))
        })
        .collect();
    // Writing to a string does not fail.
    let _ = writeln!(out, "\nword: {}\n", dwords.join(" "));
    let _ = writeln!(out, "{:<22} {:<24} {:>10}", "field", "bits", "value");
    for field in inst.format().fields() {
        let value = field.get(inst.word());
        let meaning = meaning(inst.op().row(), field, value);
        let line = format!("{:<22} {:<24} {value:>10}  {meaning}", name(field.id), bits(field));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for (index, (elem, _, source)) in inst.sources().enumerate() {
        let _ = writeln!(
            out,
            "{}source {index}: {source:?}, read as {}",
            if index == 0 { "\n" } else { "" },
            elem.name()
        );
    }
    let broken = inst.broken_rules();
    if !broken.is_empty() {
        let _ = writeln!(out, "\nrules of the manual that the word breaks:");
    }
    for broken in broken {
        let _ = writeln!(out, "  {broken}");
    }
    out
}

/// The row of an instruction, and the fields of its words.
pub fn explain_instruction(op: Op) -> String {
    let mut out = heading(op);
    let row = op.row();
    // Writing to a string does not fail.
    let _ = writeln!(out, "\n{:<22} {:<24} {:>10}", "field", "bits", "default");
    for field in row.format.fields() {
        let meaning = meaning(row, field, field.default);
        let is_opcode = meaning == OPCODE;
        let default = if is_opcode { String::new() } else { field.default.to_string() };
        let line = format!("{:<22} {:<24} {default:>10}  {meaning}", name(field.id), bits(field));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

const OPCODE: &str = "the opcode";

fn meaning(row: &Row, field: &Field, value: u32) -> &'static str {
    if Some(field.id) == row.format.opcode() || Some(field.id) == row.format.sub_opcode() {
        return OPCODE;
    }
    value_names(field.id).get(value as usize).copied().unwrap_or("")
}

/// The bits of a field, the highest part first: `31`, `28:26`.
pub(super) fn bits(field: &Field) -> String {
    let parts = field.parts.iter().rev().map(|(lo, width)| match width {
        1 => lo.to_string(),
        _ => format!("{}:{lo}", lo + width - 1),
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn heading(op: Op) -> String {
    let row = op.row();
    let mut out = format!("{}\n", mnemonic(op));
    let mut line = |name: &str, text: &str| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {name:<10} {text}");
        }
    };
    line("format", row.format.name());
    line("opcode", &opcode(row));
    line("manual", row.section);
    let sources: Vec<&str> = row.sources.iter().map(|elem| elem.name()).collect();
    line("sources", &sources.join(", "));
    line("result", row.result.map_or("", Elem::name));
    if row.format.is_alu() {
        line("slots", row.slots.name());
    }
    line("chain", row.chain.map_or("", |chain| chain.name()));
    line("address", row.address.map_or("", |address| address.name()));
    let stages: Vec<&str> = row.stages.iter().map(|stage| stage.name()).collect();
    line("stages", &stages.join(", "));
    let flags: Vec<&str> = row.flags.iter().map(|flag| flag.name()).collect();
    line("properties", &flags.join(", "));
    let aliases: Vec<String> = core::iter::once(&row.name)
        .chain(row.aliases)
        .map(|name| name.to_ascii_lowercase())
        .filter(|name| name != mnemonic(op))
        .collect();
    line("also", &aliases.join(", "));
    line("note", row.note);
    out
}

/// The opcode, with its second part.
pub(super) fn opcode(row: &Row) -> String {
    match row.format.sub_opcode() {
        Some(_) => format!("{}:{}", row.code, row.sub_code),
        None => row.code.to_string(),
    }
}
