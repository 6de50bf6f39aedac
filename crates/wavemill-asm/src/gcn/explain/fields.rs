//! The bit fields of an encoding, and their contents in an instance.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, FieldId as F, Form, Inst, Role, Row};

use super::modifiers::{self, is_selector};

/// The role of a field in an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "snake_case"))]
pub enum FieldKind {
    /// Constant bits that distinguish encodings.
    Constant,
    /// The opcode.
    Opcode,
    /// An operand.
    Operand,
    /// Determines how operands are read: register file, addressing mode.
    Selector,
    /// A modifier.
    Modifier,
    /// Must have one value in this instruction.
    Fixed,
    /// Has no meaning in this instruction.
    Ignored,
}

impl FieldKind {
    /// A one-word name.
    pub const fn name(self) -> &'static str {
        match self {
            FieldKind::Constant => "constant",
            FieldKind::Opcode => "opcode",
            FieldKind::Operand => "operand",
            FieldKind::Selector => "selector",
            FieldKind::Modifier => "modifier",
            FieldKind::Fixed => "fixed",
            FieldKind::Ignored => "ignored",
        }
    }
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FieldFacts {
    /// Its name; `-` for bits without one.
    pub name: &'static str,
    /// Its highest bit, counted from the lowest of the first word.
    pub high: u8,
    /// Its lowest bit.
    pub low: u8,
    /// Its role in the instruction.
    pub kind: FieldKind,
    /// Its contents.
    pub meaning: String,
    /// The value that it always has.
    pub value: Option<u32>,
}

impl FieldFacts {
    /// The number of bits.
    pub const fn width(&self) -> u8 {
        self.high - self.low + 1
    }
}

/// A field of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FieldValue {
    /// Its name; `-` for bits without one.
    pub name: &'static str,
    /// Its highest bit, counted from the lowest of the first word.
    pub high: u8,
    /// Its lowest bit.
    pub low: u8,
    /// Its role in the instruction.
    pub kind: FieldKind,
    /// The meaning of its value.
    pub meaning: String,
    /// Its value.
    pub value: u32,
}

impl FieldValue {
    /// The value in binary, with all digits.
    pub fn binary(&self) -> String {
        format!("{:0width$b}", self.value, width = usize::from(self.high - self.low + 1))
    }
}

/// The role of a field in an instruction, if the instruction uses it.
pub(super) fn kind_of(row: &Row, encoding: Encoding, id: F) -> FieldKind {
    let holds = |role| encoding.field_of(role) == Some(id);
    match id {
        F::Encoding => FieldKind::Constant,
        F::Op => FieldKind::Opcode,
        F::Reserved => FieldKind::Ignored,
        _ if row.operands.iter().any(|spec| holds(spec.role)) => FieldKind::Operand,
        _ if is_selector(id, row.format) => FieldKind::Selector,
        _ => FieldKind::Modifier,
    }
}

/// A range of bits: a field, or bits between fields.
struct Stretch {
    id: Option<F>,
    low: u8,
    high: u8,
}

/// All bits of an encoding in ascending order, in ranges that do not cross words.
fn stretches(encoding: Encoding, target: Target, bits: u8) -> Vec<Stretch> {
    let mut all = Vec::new();
    let gap = |from: u8, to: u8, all: &mut Vec<Stretch>| {
        let mut low = from;
        while low < to {
            let end = (low / 32 * 32).saturating_add(32).min(to);
            all.push(Stretch { id: None, low, high: end - 1 });
            low = end;
        }
    };
    let mut next = 0;
    for field in encoding.fields().iter().filter(|field| field.targets.contains(target)) {
        gap(next, field.lo, &mut all);
        all.push(Stretch { id: Some(field.id), low: field.lo, high: field.lo + field.width - 1 });
        next = field.lo + field.width;
    }
    gap(next, bits, &mut all);
    all
}

/// Highest field of each word first, words in ascending order.
fn in_reading_order<T>(mut fields: Vec<T>, low: impl Fn(&T) -> u8) -> Vec<T> {
    fields.sort_by_key(|field| (low(field) / 32, u8::MAX - low(field)));
    fields
}

fn ones(width: u8) -> u128 {
    (1u128 << width) - 1
}

/// The fields of a form on a target.
pub(super) fn facts(form: &Form, target: Target) -> Vec<FieldFacts> {
    let (row, encoding) = (form.op.row(), form.encoding);
    let (marker, marked) = encoding.marker();
    let of = |stretch: Stretch| {
        let Stretch { id, low, high } = stretch;
        let mask = ones(high - low + 1) << low;
        let (used, fixed) = (form.used & mask, form.fixed & mask);
        let fixed_value = ((form.value & mask) >> low) as u32;
        let (name, kind, meaning, value) = match id {
            None if marker & mask == mask => {
                let meaning = format!("constant: {}", encoding.name());
                ("-", FieldKind::Constant, meaning, Some(((marked & mask) >> low) as u32))
            }
            None => ("-", FieldKind::Ignored, "no field".to_owned(), None),
            Some(F::Encoding) => {
                let meaning = format!("constant: {}", encoding.name());
                ("encoding", FieldKind::Constant, meaning, Some(fixed_value))
            }
            Some(F::Op) => ("op", FieldKind::Opcode, "opcode".to_owned(), Some(u32::from(form.code))),
            Some(id) if used == 0 => (id.name(), FieldKind::Ignored, "means nothing here".to_owned(), None),
            Some(id) if fixed == mask => {
                (id.name(), FieldKind::Fixed, format!("must be {fixed_value}"), Some(fixed_value))
            }
            Some(id) => {
                let meaning = modifiers::description(row, encoding, target, id).to_owned();
                (id.name(), kind_of(row, encoding, id), meaning, None)
            }
        };
        FieldFacts { name, high, low, kind, meaning, value }
    };
    let all = stretches(encoding, target, encoding.bytes().saturating_mul(8));
    in_reading_order(all.into_iter().map(of).collect(), |field: &FieldFacts| field.low)
}

/// The fields of an instance with their values.
pub(super) fn values(inst: &Inst) -> Vec<FieldValue> {
    let form = inst.form();
    let all = inst.words().iter().rev().fold(0u128, |all, &word| all << 32 | u128::from(word));
    let mut fields: Vec<FieldValue> = facts(form, inst.target())
        .into_iter()
        .map(|field| {
            let value = (all >> field.low & ones(field.width())) as u32;
            let meaning = meaning(inst, &field, value);
            FieldValue {
                name: field.name,
                high: field.high,
                low: field.low,
                kind: field.kind,
                meaning,
                value,
            }
        })
        .collect();
    let bits = inst.encoding().bytes().saturating_mul(8);
    if inst.size() * 8 > usize::from(bits) {
        let value = (all >> bits & ones(32)) as u32;
        let meaning = "the literal of a source operand".to_owned();
        fields.push(FieldValue {
            name: F::Literal.name(),
            high: bits.saturating_add(31),
            low: bits,
            kind: FieldKind::Operand,
            meaning,
            value,
        });
    }
    fields
}

fn meaning(inst: &Inst, field: &FieldFacts, value: u32) -> String {
    let (row, encoding) = (inst.row(), inst.encoding());
    let id = F::from_name(field.name);
    let operand = |holds: &dyn Fn(Role) -> bool| {
        let roles = || row.operands.iter().map(|spec| spec.role).filter(|&role| holds(role));
        let operands = super::operands::values(inst);
        let found = operands.into_iter().find(|operand| roles().any(|role| role.name() == operand.role));
        found.map(|operand| operand.text)
    };
    let unused = || "not used by this instance".to_owned();
    let m = inst.modifiers();
    match (field.kind, id) {
        (FieldKind::Opcode, _) => inst.mnemonic().to_owned(),
        // The register is in SOFFSET, or in OFFSET if there is no constant (Vega ISA 7.2.1).
        (FieldKind::Selector, Some(F::Soffset)) => match m.soffset_en {
            true => operand(&|role| role == Role::Offset).unwrap_or_else(unused),
            false => unused(),
        },
        (FieldKind::Operand, Some(F::Offset)) if m.soffset_en => match m.imm {
            true => m.offset.to_string(),
            false => unused(),
        },
        (FieldKind::Operand, Some(id)) => {
            operand(&|role| encoding.field_of(role) == Some(id)).unwrap_or_else(unused)
        }
        (FieldKind::Modifier, Some(id)) => match encoding.field(inst.target(), id) {
            Some(place) => format!("{}: {}", modifiers::meaning(inst, place, value), field.meaning),
            None => field.meaning.clone(),
        },
        (FieldKind::Selector, _) if field.width() == 1 => {
            format!("{}: {}", if value == 0 { "off" } else { "on" }, field.meaning)
        }
        _ => field.meaning.clone(),
    }
}
