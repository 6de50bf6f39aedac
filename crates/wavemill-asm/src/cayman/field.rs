//! Fields by name: what the form of a word does not express, such as `barrier:0` or `mark`.

use wavemill_isa::cayman::{BrokenRule, Field, FieldId as F, Inst, Op};

/// Names of fields that are shorter than the manual's. No format has two fields of one name.
const SHORT: [(F, &str); 13] = [
    (F::PopCount, "pop"),
    (F::CfConst, "const"),
    (F::ValidPixelMode, "vpm"),
    (F::WholeQuadMode, "wqm"),
    (F::EndOfProgram, "eop"),
    (F::ArrayBase, "base"),
    (F::ArraySize, "size"),
    (F::BurstCount, "burst"),
    (F::BurstCnt, "burst"),
    (F::ElemSize, "elem"),
    (F::IdxOffset, "offset"),
    (F::GdsOffset, "offset"),
    (F::EndianSwap, "endian"),
];

/// Values with names, by field: code and name.
const NAMED: [(F, &[&str]); 4] = [
    (F::Cond, &["active", "false", "bool", "not_bool"]),
    (F::Type, &["write", "write_ind", "write_ack", "write_ind_ack"]),
    (F::FetchType, &["vertex", "instance", "none"]),
    (F::EndianSwap, &["none", "8in16", "8in32"]),
];

/// The name of a field in texts.
pub(super) fn name(id: F) -> &'static str {
    SHORT.iter().find(|(known, _)| *known == id).map_or(id.name(), |(_, name)| name)
}

/// A broken rule and where it is broken, with the names of fields in texts.
#[must_use]
pub fn broken_rule(broken: &BrokenRule) -> String {
    broken.in_words(name)
}

/// The field of a word that a name means, in its short form or as the manual has it.
pub(super) fn named(inst: &Inst, text: &str) -> Option<&'static Field> {
    let fields = inst.format().fields();
    fields.iter().find(|field| name(field.id) == text).or_else(|| fields.iter().find(|f| f.id.name() == text))
}

/// The names of the values of a field, in the order of the values.
pub(super) fn value_names(id: F) -> &'static [&'static str] {
    NAMED.iter().find(|(known, _)| *known == id).map_or(&[], |(_, names)| names)
}

/// Whether a field holds a signed number.
pub(super) fn is_signed(id: F) -> bool {
    matches!(id, F::LodBias | F::OffsetX | F::OffsetY | F::OffsetZ)
}

/// The fields in which an instruction differs from what its text says so far, with their values, in
/// word order.
pub(super) fn differing(inst: &Inst, said: &Inst) -> impl Iterator<Item = (&'static Field, u32)> + use<> {
    let fields = inst.format().fields().iter();
    let (inst, said) = (inst.word(), said.word());
    fields.filter_map(move |field| {
        let value = field.get(inst);
        (value != field.get(said)).then_some((field, value))
    })
}

/// The instruction with a value in a field, which must exist and not be an opcode; otherwise the
/// instruction unchanged.
pub(super) fn with(inst: Inst, id: F, value: u32) -> Inst {
    inst.with(id, value).unwrap_or(inst)
}

/// The word that a mnemonic alone means. Slots without a result write nothing.
pub(super) fn base(op: Op) -> Inst {
    let inst = Inst::new(op);
    if op.row().result.is_none() { with(inst, F::WriteMask, 0) } else { inst }
}
