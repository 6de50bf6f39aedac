//! Explanations as text for terminals.

use std::fmt::{self, Display, Formatter};

use wavemill_isa::Target;

use crate::pages::draw;

use super::Explanation;
use super::drawing::{cells, value_cells};
use super::elsewhere::{OnTarget, SameBytes};
use super::facts::{FacetFacts, FidelityFacts, InstructionFacts, PropertyFacts};
use super::fields::FieldValue;
use super::modifiers::{ModifierFacts, ModifierValue};
use super::operands::OperandValue;
use super::state::{MemoryFacts, StateFacts};

/// A table whose columns are as wide as their widest cell.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: Vec<String>) -> Table {
        Table { rows: vec![head] }
    }

    pub(super) fn row(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Writes it, indented by two blanks.
    pub(super) fn write(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let widest = |column| cells(column).map(|cell: &String| cell.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|column| widest(column).unwrap_or(0)).collect();
        for row in &self.rows {
            let mut line = String::from(" ");
            for (cell, width) in row.iter().zip(&widths) {
                line.push(' ');
                line.push_str(cell);
                // One additional blank between columns.
                line.extend(std::iter::repeat_n(' ', width + 1 - cell.chars().count().min(*width)));
            }
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// Names of targets: `all targets`, or a list.
pub(in crate::gcn) fn targets(names: &[&str]) -> String {
    if names.len() == Target::GCN.len() { "all targets".to_owned() } else { names.join(", ") }
}

/// Lines with a name first, indented and aligned.
fn named(f: &mut Formatter<'_>, lines: &[(&str, String)]) -> fmt::Result {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, text) in lines {
        writeln!(f, "{}", format!("  {name:width$}  {text}").trim_end())?;
    }
    Ok(())
}

fn heading(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    writeln!(f, "\n{text}")
}

impl Display for Explanation {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ");
        let words: Vec<String> = self.words.iter().map(|word| format!("{word:#010x}")).collect();
        let mut lines = vec![
            ("target", self.target.to_owned()),
            ("encoding", format!("{}: {}", self.encoding, self.encoding_description)),
            ("opcode", format!("{} ({:#x})", self.opcode, self.opcode)),
            ("bytes", hex(&self.bytes)),
            ("words", words.join(" ")),
            ("manual", self.manual.to_owned()),
        ];
        if let Some(note) = self.note {
            lines.push(("note", note.to_owned()));
        }
        named(f, &lines)?;
        heading(f, "Fields")?;
        draw(f, &value_cells(&self.fields))?;
        field_table(f, &self.fields)?;
        if !self.operands.is_empty() {
            heading(f, "Operands")?;
            operand_table(f, &self.operands)?;
        }
        state_lines(f, &self.reads, &self.writes)?;
        memory_lines(f, &self.memory)?;
        if !self.modifiers.is_empty() {
            heading(f, "Modifiers (* in use)")?;
            modifier_table(f, &self.modifiers)?;
        }
        property_lines(f, &self.properties, false)?;
        heading(f, "Emulator")?;
        fidelity_lines(f, std::slice::from_ref(&self.fidelity), false)?;
        heading(f, "The same bytes on each target")?;
        target_lines(f, &self.targets)
    }
}

fn field_table(f: &mut Formatter<'_>, fields: &[FieldValue]) -> fmt::Result {
    let head = ["word", "bits", "field", "binary", "hex", "", "meaning"];
    let mut table = Table::new(head.iter().map(|&text| text.to_owned()).collect());
    for field in fields {
        let (high, low) = (field.high % 32, field.low % 32);
        table.row(vec![
            (field.low / 32).to_string(),
            if high == low { high.to_string() } else { format!("{high}:{low}") },
            field.name.to_owned(),
            if field.binary().len() > 16 { String::new() } else { field.binary() },
            format!("{:#x}", field.value),
            field.kind.name().to_owned(),
            field.meaning.clone(),
        ]);
    }
    table.write(f)
}

fn operand_table(f: &mut Formatter<'_>, operands: &[OperandValue]) -> fmt::Result {
    let mut table = Table::default();
    for operand in operands {
        let registers = match (operand.registers, &operand.value) {
            (Some(range), _) if range.count != 1 => format!("{} registers", range.count),
            (Some(_), _) => "1 register".to_owned(),
            (None, Some(value)) => format!("{}: {value}", operand.kind),
            (None, None) => operand.kind.to_owned(),
        };
        table.row(vec![
            operand.role.to_owned(),
            operand.text.clone(),
            operand.access().to_owned(),
            registers,
            operand.r#type.clone(),
            format!("{} {}", operand.role_description, operand.type_description),
        ]);
    }
    table.write(f)
}

fn state_lines(f: &mut Formatter<'_>, reads: &[StateFacts], writes: &[StateFacts]) -> fmt::Result {
    if reads.is_empty() && writes.is_empty() {
        return Ok(());
    }
    heading(f, "State besides the operands")?;
    let mut table = Table::default();
    for (what, states) in [("reads", reads), ("writes", writes)] {
        for state in states {
            table.row(vec![what.to_owned(), state.name.to_owned(), state.description.to_owned()]);
        }
    }
    table.write(f)
}

fn memory_lines(f: &mut Formatter<'_>, memory: &[MemoryFacts]) -> fmt::Result {
    if memory.is_empty() {
        return Ok(());
    }
    heading(f, "Memory")?;
    let mut table = Table::default();
    for access in memory {
        table.row([access.operation, access.space, access.description].map(str::to_owned).to_vec());
    }
    table.write(f)
}

/// The name of a field, with the bits that are legal if not all are.
fn legal_bits(modifier: &ModifierFacts) -> String {
    let all = modifier.legal == u32::MAX || (modifier.legal + 1).is_power_of_two();
    if all { String::new() } else { format!("bits {:#b} only", modifier.legal) }
}

fn modifier_row(facts: &ModifierFacts) -> Vec<String> {
    vec![
        facts.field.to_owned(),
        facts.syntax.unwrap_or("(no text)").to_owned(),
        legal_bits(facts),
        facts.description.to_owned(),
    ]
}

fn modifier_table(f: &mut Formatter<'_>, modifiers: &[ModifierValue]) -> fmt::Result {
    let mut table = Table::default();
    for modifier in modifiers {
        let mut row = modifier_row(&modifier.facts);
        row.insert(0, if modifier.in_use { "*" } else { "" }.to_owned());
        row.insert(2, modifier.meaning.clone());
        table.row(row);
    }
    table.write(f)
}

fn property_lines(f: &mut Formatter<'_>, properties: &[PropertyFacts], on_targets: bool) -> fmt::Result {
    if properties.is_empty() {
        return Ok(());
    }
    heading(f, "Properties")?;
    let mut table = Table::default();
    for property in properties {
        let mut row = vec![property.name.to_owned(), property.description.to_owned()];
        if on_targets {
            row.insert(1, targets(&property.targets));
        }
        table.row(row);
    }
    table.write(f)
}

fn fidelity_lines(f: &mut Formatter<'_>, all: &[FidelityFacts], on_targets: bool) -> fmt::Result {
    let mut table = Table::default();
    for (fidelity, names) in by_level(all) {
        let mut row = vec![fidelity.level.to_owned(), fidelity.description.to_owned()];
        if on_targets {
            row.insert(1, targets(&names));
        }
        table.row(row);
    }
    table.write(f)?;
    facet_lines(f, all, on_targets)
}

/// The facets, each once with the targets that have it.
fn facet_lines(f: &mut Formatter<'_>, all: &[FidelityFacts], on_targets: bool) -> fmt::Result {
    for (facet, names) in by_facet(all) {
        let with_modifier =
            if facet.with_modifier { format!(", {}", facet.condition) } else { String::new() };
        let on = if on_targets { format!(" on {}", targets(&names)) } else { String::new() };
        writeln!(f, "  facet {} ({}){on}{with_modifier}: {}.", facet.name, facet.kind, facet.open)?;
        writeln!(f, "    Settled by: {}.", facet.settled_by)?;
    }
    Ok(())
}

/// Each level once, with the targets that have it.
pub(in crate::gcn) fn by_level(all: &[FidelityFacts]) -> Vec<(&FidelityFacts, Vec<&'static str>)> {
    merged(all.iter().map(|fidelity| (fidelity, fidelity)), |one, other| one.level == other.level)
}

/// Each facet once, with the targets that have it.
pub(in crate::gcn) fn by_facet(all: &[FidelityFacts]) -> Vec<(&FacetFacts, Vec<&'static str>)> {
    let facets = all.iter().flat_map(|fidelity| fidelity.facets.iter().map(move |facet| (facet, fidelity)));
    merged(facets, |one, other| one == other)
}

/// Equal items once, with the targets of all of them.
fn merged<'a, T>(
    items: impl Iterator<Item = (&'a T, &'a FidelityFacts)>,
    same: impl Fn(&T, &T) -> bool,
) -> Vec<(&'a T, Vec<&'static str>)> {
    let mut found: Vec<(&T, Vec<&'static str>)> = Vec::new();
    for (item, fidelity) in items {
        match found.iter_mut().find(|(other, _)| same(other, item)) {
            Some((_, names)) => names.extend(&fidelity.targets),
            None => found.push((item, fidelity.targets.clone())),
        }
    }
    // The order of the names is that of the generations.
    found.iter_mut().for_each(|(_, names)| names.sort_unstable());
    found
}

fn target_lines(f: &mut Formatter<'_>, all: &[OnTarget]) -> fmt::Result {
    let mut table = Table::default();
    for on in all {
        let what = match &on.same_bytes {
            SameBytes::Same => "the same".to_owned(),
            SameBytes::SameInstruction { text } => format!("the same instruction: {text}"),
            SameBytes::AnotherInstruction { text, size } => {
                format!("another instruction of {size} bytes: {text}")
            }
            SameBytes::NoInstruction { reason } => format!("no instruction: {reason}"),
        };
        let there = match (&on.same_bytes, on.mnemonic, on.opcode) {
            (SameBytes::Same | SameBytes::SameInstruction { .. }, ..) => String::new(),
            (_, None, _) => "; the instruction does not exist there".to_owned(),
            (_, Some(name), None) => format!("; {name} exists there, without this encoding"),
            (_, Some(name), Some(opcode)) => format!("; {name} has opcode {opcode} there"),
        };
        table.row(vec![on.target.to_owned(), format!("{what}{there}")]);
    }
    table.write(f)
}

impl Display for InstructionFacts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        let mut lines = vec![("format", format!("{}: {}", self.format, self.format_description))];
        if let [mnemonic] = &self.mnemonics[..]
            && mnemonic.name == self.name
        {
            lines.push(("targets", targets(&self.targets)));
        } else {
            lines.extend(
                self.mnemonics
                    .iter()
                    .map(|name| ("mnemonic", format!("{} on {}", name.name, targets(&name.targets)))),
            );
        }
        if let Some([rows, columns, depth, blocks]) = self.matrix {
            lines.push((
                "matrices",
                format!("M {rows}, N {columns}, K {depth}, blocks {blocks} (--layout shows them)"),
            ));
        }
        lines.push(("manual", self.manual.to_owned()));
        if let Some(note) = self.note {
            lines.push(("note", note.to_owned()));
        }
        named(f, &lines)?;
        if !self.operands.is_empty() {
            heading(f, "Operands")?;
            let mut table = Table::default();
            for operand in &self.operands {
                let registers = match operand.registers {
                    0 => String::new(),
                    1 => "1 register".to_owned(),
                    count => format!("{count} registers"),
                };
                table.row(vec![
                    operand.role.to_owned(),
                    operand.r#type.clone(),
                    registers,
                    operand.access.to_owned(),
                    format!("{} {}", operand.role_description, operand.type_description),
                ]);
            }
            table.write(f)?;
        }
        state_lines(f, &self.reads, &self.writes)?;
        memory_lines(f, &self.memory)?;
        if let Some(data) = &self.data {
            named(f, &[("data", format!("{data} for each lane"))])?;
        }
        property_lines(f, &self.properties, true)?;
        heading(f, "Emulator")?;
        fidelity_lines(f, &self.fidelity, true)?;
        for form in &self.forms {
            heading(f, &format!("{} in {}", form.mnemonic, form.encoding))?;
            let lines = [
                ("encoding", form.encoding_description.to_owned()),
                ("targets", targets(&form.targets)),
                ("opcode", format!("{} ({:#x})", form.opcode, form.opcode)),
                ("bytes", form.bytes.to_string()),
            ];
            named(f, &lines)?;
            draw(f, &cells(&form.fields))?;
            if !form.modifiers.is_empty() {
                writeln!(f, "  modifiers")?;
                let mut table = Table::default();
                form.modifiers.iter().for_each(|modifier| table.row(modifier_row(modifier)));
                table.write(f)?;
            }
        }
        Ok(())
    }
}
