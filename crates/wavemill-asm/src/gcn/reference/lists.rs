//! The lists of instructions: of all, by format, by target.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Format, Op, Row};

use super::paths::{format_path, instruction_path, target_path};
use crate::pages::{Block, Document, Line, code, link, text};

fn rows(only: Option<Target>) -> impl Iterator<Item = &'static Row> {
    let all = Op::ALL.iter().map(|op| op.row());
    all.filter(move |row| only.is_none_or(|only| row.targets.contains(only)))
}

/// The start page.
pub(super) fn index(only: Option<Target>) -> Document {
    let targets = Target::GCN.into_iter().filter(|target| only.is_none_or(|only| only == *target));
    let target_rows = targets.map(|target| {
        let count = rows(Some(target)).count();
        vec![link(target.name(), target_path(target.name())), text(count.to_string())]
    });
    let format_rows = Format::ALL.iter().filter_map(|format| {
        let count = rows(only).filter(|row| row.format == *format).count();
        let name = link(format.name(), format_path(format.name()));
        (count != 0).then(|| vec![name, text(format.description()), text(count.to_string())])
    });
    Document {
        path: "index".to_owned(),
        title: "Instructions of gfx9 and CDNA".to_owned(),
        blocks: vec![
            Block::Paragraph(text(
                "Generated from Wavemill's instruction table, which its decoder, printer and emulator also use.",
            )),
            Block::Heading(2, "Targets".to_owned()),
            Block::Table { head: vec!["Target", "Instructions"], rows: target_rows.collect() },
            Block::Heading(2, "Formats".to_owned()),
            Block::Table { head: vec!["Format", "", "Instructions"], rows: format_rows.collect() },
        ],
    }
}

/// The instructions of a target, format by format.
pub(super) fn target(target: Target) -> Document {
    let mut blocks = Vec::new();
    for format in Format::ALL {
        let of_format = rows(Some(target)).filter(|row| row.format == *format);
        let lines: Vec<Vec<Line>> = of_format
            .map(|row| {
                let encodings: Vec<&str> = row.encodings(target).map(|encoding| encoding.name()).collect();
                vec![
                    link(row.mnemonic(target), instruction_path(row.name())),
                    text(row.opcode(target).map_or(String::new(), |opcode| opcode.to_string())),
                    text(encodings.join(", ")),
                    text(row.fidelity(target).name()),
                ]
            })
            .collect();
        if lines.is_empty() {
            continue;
        }
        blocks.push(Block::Heading(2, format.name().to_owned()));
        let mut line = link(format.name(), format_path(format.name()));
        line.extend(text(format!(": {}", format.description())));
        blocks.push(Block::Paragraph(line));
        blocks
            .push(Block::Table { head: vec!["Instruction", "Opcode", "Encodings", "Emulator"], rows: lines });
    }
    Document { path: target_path(target.name()), title: format!("Instructions of {target}"), blocks }
}

/// The instructions of a format, with their opcode on each target.
pub(super) fn format(format: Format, only: Option<Target>) -> Document {
    let targets: Vec<Target> =
        Target::GCN.into_iter().filter(|target| only.is_none_or(|only| only == *target)).collect();
    let mut head = vec!["Instruction"];
    head.extend(targets.iter().map(|target| target.name()));
    head.push("Operands");
    let lines = rows(only).filter(|row| row.format == format).map(|row| {
        let opcode =
            |target: &Target| text(row.opcode(*target).map_or("-".to_owned(), |code| code.to_string()));
        let operands: Vec<String> =
            row.operands.iter().map(|spec| format!("{}:{}", spec.role.name(), spec.ty)).collect();
        let mut line = vec![link(row.name(), instruction_path(row.name()))];
        line.extend(targets.iter().map(opcode));
        line.push(if operands.is_empty() { text("none") } else { code(operands.join(" ")) });
        line
    });
    Document {
        path: format_path(format.name()),
        title: format!("Format {}", format.name()),
        blocks: vec![
            Block::Paragraph(text(format!("{} Opcodes by target:", format.description()))),
            Block::Table { head, rows: lines.collect() },
        ],
    }
}
