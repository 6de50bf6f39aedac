//! Fields whose value does not follow from the rest of a text: `barrier:0`.

use wavemill_isa::cayman::{FieldId, Inst};

/// The fields in which an instruction differs from what its text says so far, with their values, in
/// word order.
pub(super) fn differing(inst: &Inst, said: &Inst) -> impl Iterator<Item = (FieldId, u32)> {
    let fields = inst.format().fields().iter();
    let (inst, said) = (inst.word(), said.word());
    fields.filter_map(move |field| {
        let value = field.get(inst);
        (value != field.get(said)).then_some((field.id, value))
    })
}

/// The instruction with a value in a field, which must exist and not be an opcode; otherwise the
/// instruction unchanged.
pub(super) fn with(inst: Inst, id: FieldId, value: u32) -> Inst {
    inst.with(id, value).unwrap_or(inst)
}
