//! The page of an instruction.

use wavemill_isa::gcn::{Modifiers, Op};

use super::super::explain::{
    FormFacts, InstructionFacts, MatrixReport, by_facet, by_level, cells, target_list,
};
use super::paths::{format_path, instruction_path, target_path};
use crate::pages::{Block, Document, Inline, Line, code, link, text};

/// The page of an instruction.
pub(super) fn document(facts: &InstructionFacts, op: Op) -> Document {
    let mut blocks = vec![Block::Table { head: vec!["", ""], rows: overview(facts) }];
    if let Some(note) = facts.note {
        blocks.push(Block::Paragraph(text(format!("Note: {note}."))));
    }
    part(&mut blocks, "Operands", &["Role", "Type", "Registers", "Access", ""], operands(facts));
    let state =
        [("reads", &facts.reads), ("writes", &facts.writes)].into_iter().flat_map(|(what, states)| {
            states.iter().map(move |state| vec![text(what), code(state.name), text(state.description)])
        });
    part(&mut blocks, "State besides the operands", &["", "State", ""], state.collect());
    let memory = facts.memory.iter();
    let memory =
        memory.map(|access| vec![text(access.operation), code(access.space), text(access.description)]);
    part(&mut blocks, "Memory", &["Operation", "Memory", ""], memory.collect());
    let properties = facts.properties.iter().map(|property| {
        vec![code(property.name), text(target_list(&property.targets)), text(property.description)]
    });
    part(&mut blocks, "Properties", &["Property", "Targets", ""], properties.collect());
    let fidelity = by_level(&facts.fidelity).into_iter().map(|(fidelity, targets)| {
        vec![text(fidelity.level), text(target_list(&targets)), text(fidelity.description)]
    });
    part(&mut blocks, "Emulator", &["Fidelity", "Targets", ""], fidelity.collect());
    let facets = by_facet(&facts.fidelity).into_iter().map(|(facet, targets)| {
        let with_modifier =
            if facet.with_modifier { format!(" ({})", facet.condition) } else { String::new() };
        vec![
            code(facet.name),
            text(facet.kind),
            text(format!("{}{with_modifier}", target_list(&targets))),
            text(format!("{}. Settled by: {}.", facet.open, facet.settled_by)),
        ]
    });
    part(&mut blocks, "Facets", &["Facet", "Kind", "Targets", ""], facets.collect());
    blocks.push(Block::Heading(2, "Encodings".to_owned()));
    for form in &facts.forms {
        form_blocks(&mut blocks, form);
    }
    if let Ok(report) = MatrixReport::with(op, &Modifiers::default()) {
        blocks.push(Block::Heading(2, "Matrices".to_owned()));
        blocks.push(Block::Preformatted(report.by_lanes().to_string()));
    }
    Document { path: instruction_path(facts.name), title: facts.name.to_owned(), blocks }
}

/// Adds a heading and a table, unless the table is empty.
fn part(blocks: &mut Vec<Block>, title: &str, head: &[&'static str], rows: Vec<Vec<Line>>) {
    if !rows.is_empty() {
        blocks.push(Block::Heading(2, title.to_owned()));
        blocks.push(Block::Table { head: head.to_vec(), rows });
    }
}

fn overview(facts: &InstructionFacts) -> Vec<Vec<Line>> {
    let mut format = link(facts.format, format_path(facts.format));
    format.push(Inline::Text(format!(": {}", facts.format_description)));
    let mut rows = vec![vec![text("Format"), format]];
    for mnemonic in &facts.mnemonics {
        let mut line = code(mnemonic.name);
        line.push(Inline::Text(" on ".to_owned()));
        for (index, target) in mnemonic.targets.iter().enumerate() {
            if index != 0 {
                line.push(Inline::Text(", ".to_owned()));
            }
            line.extend(link(*target, target_path(target)));
        }
        rows.push(vec![text("Mnemonic"), line]);
    }
    rows.push(vec![text("Manual"), text(facts.manual)]);
    if let Some(data) = &facts.data {
        rows.push(vec![text("Data of each lane"), code(data.clone())]);
    }
    if let Some([m, n, k, blocks]) = facts.matrix {
        rows.push(vec![text("Matrices"), text(format!("M {m}, N {n}, K {k}, blocks {blocks}"))]);
    }
    rows
}

fn operands(facts: &InstructionFacts) -> Vec<Vec<Line>> {
    let row = |operand: &super::super::explain::OperandFacts| {
        vec![
            code(operand.role),
            code(operand.r#type.clone()),
            text(if operand.registers == 0 { String::new() } else { operand.registers.to_string() }),
            text(operand.access),
            text(format!("{} {}", operand.role_description, operand.type_description)),
        ]
    };
    facts.operands.iter().map(row).collect()
}

fn form_blocks(blocks: &mut Vec<Block>, form: &FormFacts) {
    blocks.push(Block::Heading(3, format!("{} in {}", form.mnemonic, form.encoding)));
    blocks.push(Block::Paragraph(text(format!(
        "{} On {}: opcode {} ({:#x}), {} bytes.",
        form.encoding_description,
        target_list(&form.targets),
        form.opcode,
        form.opcode,
        form.bytes
    ))));
    blocks.push(Block::Words(cells(&form.fields)));
    let row = |field: &super::super::explain::FieldFacts| {
        let bits = if field.high == field.low {
            field.high.to_string()
        } else {
            format!("{}:{}", field.high, field.low)
        };
        vec![text(bits), code(field.name), text(field.kind.name()), text(field.meaning.clone())]
    };
    blocks.push(Block::Table {
        head: vec!["Bits", "Field", "", "Meaning"],
        rows: form.fields.iter().filter(|field| field.name != "-").map(row).collect(),
    });
    if !form.modifiers.is_empty() {
        let rows = form.modifiers.iter().map(|modifier| {
            vec![
                modifier.syntax.map_or_else(|| text("none"), code),
                code(modifier.field),
                text(format!("{:#x}", modifier.legal)),
                text(format!("{:#x}", modifier.default)),
                text(modifier.description),
            ]
        });
        blocks.push(Block::Table {
            head: vec!["Modifier", "Field", "Legal bits", "Default", "Meaning"],
            rows: rows.collect(),
        });
    }
}
