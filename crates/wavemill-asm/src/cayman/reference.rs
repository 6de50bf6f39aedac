//! Reference pages of all instructions: one for each instruction, and lists by format.

use wavemill_isa::cayman::{Format, Inst, Op};

use super::explain::{FieldFacts, InstructionFacts, fields};
use super::mnemonic::mnemonic;
use crate::pages::{Block, Document, Line, Page, PageFormat, code, link, text};

/// The folders of pages, besides the top folder.
pub const FOLDERS: [&str; 2] = ["format", "instruction"];

/// All pages. The start page is first.
pub fn pages(format: PageFormat) -> impl Iterator<Item = Page> {
    let documents = std::iter::once_with(index)
        .chain(Format::ALL.iter().map(|format| list(*format)))
        .chain(Op::ALL.iter().map(|op| instruction(*op)));
    documents.map(move |document| Page::of(format, &document))
}

/// The page of a format.
fn format_path(format: &str) -> String {
    format!("format/{format}")
}

/// The page of an instruction. Words of several formats can have one mnemonic.
fn instruction_path(op: Op) -> String {
    format!("instruction/{}_{}", op.row().format.name(), mnemonic(op).replace(' ', "_"))
}

/// The start page.
fn index() -> Document {
    let count = |format: Format| Op::ALL.iter().filter(|op| op.row().format == format).count();
    let formats = Format::ALL.iter().map(|format| {
        let name = link(format.name(), format_path(format.name()));
        vec![name, text(format.description()), text(count(*format).to_string())]
    });
    Document {
        path: "index".to_owned(),
        title: "Instructions of Cayman".to_owned(),
        blocks: vec![
            Block::Paragraph(text(
                "Generated from Wavemill's instruction table, which its decoder, printer and emulator also use.",
            )),
            Block::Heading(2, "Formats".to_owned()),
            Block::Table { head: vec!["Format", "", "Instructions"], rows: formats.collect() },
        ],
    }
}

/// A table of fields.
fn field_table(fields: &[FieldFacts]) -> Block {
    let row = |field: &FieldFacts| {
        let values: Vec<String> =
            field.values.iter().enumerate().map(|(value, name)| format!("{value} {name}")).collect();
        let meaning = if field.is_opcode { "the opcode".to_owned() } else { values.join(", ") };
        vec![code(field.name), text(field.bits.clone()), text(field.default.to_string()), text(meaning)]
    };
    Block::Table { head: vec!["Field", "Bits", "Default", "Values"], rows: fields.iter().map(row).collect() }
}

/// The fields and the instructions of a format.
fn list(format: Format) -> Document {
    let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.row().format == format).collect();
    let mut blocks = vec![Block::Paragraph(text(format!(
        "{} A word has {} bytes.",
        format.description(),
        format.bytes()
    )))];
    blocks.push(Block::Heading(2, "Fields".to_owned()));
    // A format without instructions shares fields with another one.
    let any = Inst::new(ops.first().copied().unwrap_or(Op::Nop));
    blocks.push(field_table(&fields(format, &any)));
    if !ops.is_empty() {
        let row = |op: &Op| -> Vec<Line> {
            let facts = InstructionFacts::of(*op);
            vec![
                link(facts.name, instruction_path(*op)),
                text(facts.opcode),
                text(facts.sources.join(", ")),
                text(facts.result.unwrap_or_default()),
                text(facts.slots.unwrap_or_default()),
                text(facts.fidelity),
            ]
        };
        blocks.push(Block::Heading(2, "Instructions".to_owned()));
        blocks.push(Block::Table {
            head: vec!["Instruction", "Opcode", "Sources", "Result", "Slots", "Emulator"],
            rows: ops.iter().map(row).collect(),
        });
    }
    Document { path: format_path(format.name()), title: format!("Format {}", format.name()), blocks }
}

/// The page of an instruction.
fn instruction(op: Op) -> Document {
    let facts = InstructionFacts::of(op);
    let mut format = link(facts.format, format_path(facts.format));
    format.extend(text(format!(": {}", facts.format_description)));
    let properties: Vec<&str> = facts.properties.iter().map(|property| property.description).collect();
    let lines = [
        ("Opcode", facts.opcode.clone()),
        ("Manual", facts.manual.to_owned()),
        ("Bytes", facts.bytes.to_string()),
        ("Sources", facts.sources.join(", ")),
        ("Result", facts.result.unwrap_or_default().to_owned()),
        ("Slots", facts.slots.unwrap_or_default().to_owned()),
        ("Chain", facts.chain.unwrap_or_default().to_owned()),
        ("Address", facts.address.unwrap_or_default().to_owned()),
        ("Stages", facts.stages.join(", ")),
        ("Properties", properties.join(" ")),
        ("Also", facts.aliases.join(", ")),
        ("Emulator", format!("{}: {}", facts.fidelity, facts.fidelity_description)),
    ];
    let mut rows = vec![vec![text("Format"), format]];
    let filled = lines.into_iter().filter(|(_, line)| !line.is_empty());
    rows.extend(filled.map(|(name, line)| vec![text(name), text(line)]));
    let mut blocks = vec![Block::Table { head: vec!["", ""], rows }];
    if let Some(note) = facts.note {
        blocks.push(Block::Paragraph(text(format!("Note: {note}."))));
    }
    if !facts.facets.is_empty() {
        let facets = facts.facets.iter().map(|facet| {
            let open = format!("{}. Settled by: {}.", facet.open, facet.settled_by);
            vec![code(facet.name), text(facet.kind), text(open)]
        });
        blocks.push(Block::Heading(2, "Facets".to_owned()));
        blocks.push(Block::Table { head: vec!["Facet", "Kind", ""], rows: facets.collect() });
    }
    blocks.push(Block::Heading(2, "Fields".to_owned()));
    blocks.push(field_table(&facts.fields));
    Document { path: instruction_path(op), title: facts.name, blocks }
}
