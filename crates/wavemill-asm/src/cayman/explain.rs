//! Describes words, groups and instructions, for people and as data.

use core::fmt;

use wavemill_isa::cayman::{Elem, Field, Format, Group, Inst, Op, Row};

use super::field::{broken_rule, name, value_names};
use super::mnemonic::{from_mnemonic, mnemonic};
use super::print::{print, print_group, source_text};

/// The instruction with a mnemonic, in any case: a slot of a group if one has it, after `x:` or
/// alone, or another word.
pub fn instruction_named(text: &str) -> Option<Op> {
    let text = text.trim().to_ascii_lowercase();
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    from_mnemonic(&joined, false).or_else(|| from_mnemonic(&joined, true))
}

/// A field of the words of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FieldFacts {
    /// Its name in texts.
    pub name: &'static str,
    /// Its bits, the highest part first: `31`, `28:26`.
    pub bits: String,
    /// Whether it is a part of the opcode.
    pub is_opcode: bool,
    /// The value that texts can omit; that of the instruction for a part of the opcode.
    pub default: u32,
    /// The names of its values, from 0 on, as far as they have any.
    pub values: &'static [&'static str],
}

/// An exception to the level of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FacetFacts {
    /// Its name.
    pub name: &'static str,
    /// The aspect of the meaning.
    pub kind: &'static str,
    /// What is open, and what Wavemill does.
    pub open: &'static str,
    /// The evidence that would settle it.
    pub settled_by: &'static str,
}

/// A property of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PropertyFacts {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub description: &'static str,
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct InstructionFacts {
    /// Its mnemonic, of one or two words.
    pub name: String,
    /// The format of its words.
    pub format: &'static str,
    /// What the format is, with its names in the manual.
    pub format_description: &'static str,
    /// Bytes of a word.
    pub bytes: usize,
    /// The opcode, with its second part behind a colon.
    pub opcode: String,
    /// Where the manual lists it.
    pub manual: &'static str,
    /// The types of the sources of an ALU slot.
    pub sources: Vec<&'static str>,
    /// The type of the result of an ALU slot.
    pub result: Option<&'static str>,
    /// The slots of a group that it takes; for ALU slots.
    pub slots: Option<&'static str>,
    /// The other slot that it reads a result from.
    pub chain: Option<&'static str>,
    /// What the address of a control flow word means.
    pub address: Option<&'static str>,
    /// The stages that may use it; empty for all.
    pub stages: Vec<&'static str>,
    /// Its properties.
    pub properties: Vec<PropertyFacts>,
    /// Further spellings.
    pub aliases: Vec<String>,
    /// A remark, such as an erratum of the manual.
    pub note: Option<&'static str>,
    /// How exact the emulator is.
    pub fidelity: &'static str,
    /// What this level means.
    pub fidelity_description: &'static str,
    /// The exceptions to the level.
    pub facets: Vec<FacetFacts>,
    /// The fields of its words, in word order.
    pub fields: Vec<FieldFacts>,
}

impl InstructionFacts {
    /// The facts of an instruction.
    pub fn of(op: Op) -> InstructionFacts {
        let row = op.row();
        let some = |text: &'static str| (!text.is_empty()).then_some(text);
        let spellings = core::iter::once(&row.name).chain(row.aliases);
        InstructionFacts {
            name: mnemonic(op).to_owned(),
            format: row.format.name(),
            format_description: row.format.description(),
            bytes: row.format.bytes(),
            opcode: opcode(row),
            manual: row.section,
            sources: row.sources.iter().map(|elem| elem.name()).collect(),
            result: row.result.map(Elem::name),
            slots: row.format.is_alu().then(|| row.slots.in_words()),
            chain: row.chain.map(|chain| chain.description()),
            address: row.address.map(|address| address.description()),
            stages: row.stages.iter().map(|stage| stage.name()).collect(),
            properties: row
                .flags
                .iter()
                .map(|flag| PropertyFacts { name: flag.name(), description: flag.description() })
                .collect(),
            aliases: spellings
                .map(|name| name.to_ascii_lowercase())
                .filter(|name| name != mnemonic(op))
                .collect(),
            note: some(row.note),
            fidelity: row.fidelity.name(),
            fidelity_description: row.fidelity.description(),
            facets: row
                .facets
                .iter()
                .map(|facet| FacetFacts {
                    name: facet.name,
                    kind: facet.kind.name(),
                    open: facet.open,
                    settled_by: facet.settled_by,
                })
                .collect(),
            fields: fields(row.format, &Inst::new(op)),
        }
    }
}

/// The fields of a format, with the values of an instance as defaults.
pub(super) fn fields(format: Format, inst: &Inst) -> Vec<FieldFacts> {
    let facts = |field: &Field| FieldFacts {
        name: name(field.id),
        bits: bits(field),
        is_opcode: is_opcode(format, field),
        default: field.get(inst.word()),
        values: value_names(field.id),
    };
    format.fields().iter().map(facts).collect()
}

fn is_opcode(format: Format, field: &Field) -> bool {
    Some(field.id) == format.opcode() || Some(field.id) == format.sub_opcode()
}

/// The value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FieldValue {
    /// Its name in texts.
    pub name: &'static str,
    /// Its bits.
    pub bits: String,
    /// Whether it is a part of the opcode.
    pub is_opcode: bool,
    /// The value.
    pub value: u32,
    /// The name of the value, if it has one.
    pub meaning: Option<&'static str>,
}

/// A source of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct SourceFacts {
    /// Its text, with modifiers.
    pub source: String,
    /// The type that it is read as.
    pub r#type: &'static str,
}

/// A word, or a slot of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct WordFacts {
    /// The instruction.
    pub instruction: InstructionFacts,
    /// The dwords in memory order.
    pub dwords: Vec<u32>,
    /// The values of the fields, in word order.
    pub fields: Vec<FieldValue>,
    /// The sources of a slot.
    pub sources: Vec<SourceFacts>,
    /// The rules of the manual that the word breaks.
    pub broken_rules: Vec<String>,
}

impl WordFacts {
    /// The facts of a word.
    pub fn of(inst: &Inst) -> WordFacts {
        let (bytes, size) = inst.encode();
        let dwords = bytes.as_chunks::<4>().0.iter().take(size / 4);
        let value = |field: &Field| {
            let value = field.get(inst.word());
            FieldValue {
                name: name(field.id),
                bits: bits(field),
                is_opcode: is_opcode(inst.op().row().format, field),
                value,
                meaning: value_names(field.id).get(value as usize).copied(),
            }
        };
        WordFacts {
            instruction: InstructionFacts::of(inst.op()),
            dwords: dwords.map(|dword| u32::from_le_bytes(*dword)).collect(),
            fields: inst.format().fields().iter().map(value).collect(),
            sources: inst
                .sources()
                .map(|(elem, field, source)| SourceFacts {
                    source: source_text(inst, elem, field, source),
                    r#type: elem.name(),
                })
                .collect(),
            broken_rules: inst.broken_rules().iter().map(broken_rule).collect(),
        }
    }
}

/// Machine code: a word, or a group with its slots.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Explanation {
    /// The text, in one line.
    pub text: String,
    /// Bytes of it.
    pub bytes: usize,
    /// Whether it is a group.
    pub is_group: bool,
    /// The word, or the slots in the order of their channels.
    pub words: Vec<WordFacts>,
    /// The literals of a group, in pairs.
    pub literals: Vec<u32>,
    /// The rules of the manual that the group as a whole breaks.
    pub broken_rules: Vec<String>,
}

impl Explanation {
    /// Explains a word.
    pub fn of_word(inst: &Inst) -> Explanation {
        Explanation {
            text: print(inst),
            bytes: inst.size(),
            is_group: false,
            words: vec![WordFacts::of(inst)],
            literals: Vec::new(),
            broken_rules: Vec::new(),
        }
    }

    /// Explains a group.
    pub fn of_group(group: &Group) -> Explanation {
        let words: Vec<WordFacts> = group.slots.iter().flatten().map(WordFacts::of).collect();
        let literals = (group.size / 8).saturating_sub(words.len()) * 2;
        Explanation {
            text: print_group(group, " "),
            bytes: group.size,
            is_group: true,
            words,
            literals: group.literals.iter().take(literals).copied().collect(),
            broken_rules: group.broken_rules().iter().map(broken_rule).collect(),
        }
    }
}

const OPCODE: &str = "the opcode";

/// The bits of a field, the highest part first: `31`, `28:26`.
pub(super) fn bits(field: &Field) -> String {
    let parts = field.parts.iter().rev().map(|(lo, width)| match width {
        1 => lo.to_string(),
        _ => format!("{}:{lo}", lo + width - 1),
    });
    parts.collect::<Vec<_>>().join(", ")
}

/// The opcode, with its second part.
fn opcode(row: &Row) -> String {
    match row.format.sub_opcode() {
        Some(_) => format!("{}:{}", row.code, row.sub_code),
        None => row.code.to_string(),
    }
}

impl InstructionFacts {
    /// The name, and a line for each fact besides the fields.
    fn heading(&self, f: &mut impl fmt::Write) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        let lines = [
            ("format", self.format.to_owned()),
            ("opcode", self.opcode.clone()),
            ("manual", self.manual.to_owned()),
            ("sources", self.sources.join(", ")),
            ("result", self.result.unwrap_or_default().to_owned()),
            ("slots", self.slots.unwrap_or_default().to_owned()),
            ("chain", self.chain.unwrap_or_default().to_owned()),
            ("address", self.address.unwrap_or_default().to_owned()),
            ("stages", self.stages.join(", ")),
            ("also", self.aliases.join(", ")),
            ("note", self.note.unwrap_or_default().to_owned()),
            ("emulator", self.fidelity.to_owned()),
        ];
        for (name, text) in lines.iter().filter(|(_, text)| !text.is_empty()) {
            writeln!(f, "  {name:<10} {text}")?;
        }
        let properties = &mut self.properties.iter();
        properties
            .try_for_each(|property| writeln!(f, "  property   {}: {}", property.name, property.description))
    }
}

/// A line of a table of fields.
fn field_line(f: &mut impl fmt::Write, cells: [&str; 4]) -> fmt::Result {
    let [name, bits, value, meaning] = cells;
    writeln!(f, "{}", format!("{name:<22} {bits:<24} {value:>10}  {meaning}").trim_end())
}

/// The row of the instruction, and the fields of its words.
impl fmt::Display for InstructionFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.heading(f)?;
        for facet in &self.facets {
            writeln!(f, "  open       {}: {}; settled by: {}", facet.name, facet.open, facet.settled_by)?;
        }
        writeln!(f)?;
        field_line(f, ["field", "bits", "default", ""])?;
        for field in &self.fields {
            let default = if field.is_opcode { String::new() } else { field.default.to_string() };
            let named = field.values.get(field.default as usize).copied().unwrap_or_default();
            let meaning = if field.is_opcode { OPCODE } else { named };
            field_line(f, [field.name, &field.bits, &default, meaning])?;
        }
        Ok(())
    }
}

/// The fields of the word, and its row.
impl fmt::Display for WordFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.instruction.heading(f)?;
        let dwords: Vec<String> = self.dwords.iter().map(|dword| format!("{dword:08x}")).collect();
        writeln!(f, "\nword: {}\n", dwords.join(" "))?;
        field_line(f, ["field", "bits", "value", ""])?;
        for field in &self.fields {
            let meaning = if field.is_opcode { OPCODE } else { field.meaning.unwrap_or_default() };
            field_line(f, [field.name, &field.bits, &field.value.to_string(), meaning])?;
        }
        for (index, source) in self.sources.iter().enumerate() {
            let before = if index == 0 { "\n" } else { "" };
            writeln!(f, "{before}source {index}: {}, read as {}", source.source, source.r#type)?;
        }
        if !self.broken_rules.is_empty() {
            writeln!(f, "\nrules of the manual that the word breaks:")?;
        }
        self.broken_rules.iter().try_for_each(|rule| writeln!(f, "  {rule}"))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.text)?;
        for (index, word) in self.words.iter().enumerate() {
            write!(f, "{}{word}", if index == 0 { "" } else { "\n" })?;
        }
        for (letter, literal) in ["x", "y", "z", "w"].iter().zip(&self.literals) {
            writeln!(f, "literal {letter}: {literal:#010x} ({})", f32::from_bits(*literal))?;
        }
        if !self.broken_rules.is_empty() {
            f.write_str("rules of the manual that the group breaks:\n")?;
        }
        self.broken_rules.iter().try_for_each(|rule| writeln!(f, "  {rule}"))
    }
}
