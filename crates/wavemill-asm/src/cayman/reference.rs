//! The reference page of all instructions, as Markdown.

use std::fmt::Write as _;

use wavemill_isa::cayman::{Elem, Format, Op};

use super::explain::{bits, opcode};
use super::field::name;
use super::mnemonic::mnemonic;

/// The page: for each format, its fields and its instructions.
pub fn reference() -> String {
    let mut out = "# Instructions of Cayman\n".to_owned();
    for &format in Format::ALL {
        // Writing to a string does not fail.
        let _ = writeln!(out, "\n## Format {}\n\n| field | bits | default |\n|---|---|---|", format.name());
        for field in format.fields() {
            let _ = writeln!(out, "| `{}` | {} | {} |", name(field.id), bits(field), field.default);
        }
        let rows: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.row().format == format).collect();
        if rows.is_empty() {
            continue;
        }
        out.push_str(
            "\n| instruction | opcode | sources | result | slots | note |\n|---|---|---|---|---|---|\n",
        );
        for op in rows {
            let row = op.row();
            let sources: Vec<&str> = row.sources.iter().map(|elem| elem.name()).collect();
            let slots = if format.is_alu() { row.slots.name() } else { "" };
            let _ = writeln!(
                out,
                "| `{}` | {} | {} | {} | {slots} | {} |",
                mnemonic(op),
                opcode(row),
                sources.join(", "),
                row.result.map_or("", Elem::name),
                row.note.replace('|', "\\|")
            );
        }
    }
    out
}
