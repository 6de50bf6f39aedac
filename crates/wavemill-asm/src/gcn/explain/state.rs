//! State and memory that an instruction accesses besides its operands.

use wavemill_isa::gcn::{Elem, Flag, Inst, MemAccess, RegisterFile, Role, Row, Special, State, StateSet};

/// State outside of the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct StateFacts {
    /// Its name, such as `exec`.
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
}

/// An access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct MemoryFacts {
    /// `load`, `store` or `atomic`.
    pub operation: &'static str,
    /// Which memory, such as `global`.
    pub space: &'static str,
    /// The description of this memory.
    pub description: &'static str,
}

fn one(state: State) -> StateFacts {
    StateFacts { name: state.name(), description: state.description() }
}

/// The members of a set.
pub(super) fn facts(set: StateSet) -> Vec<StateFacts> {
    set.iter().map(one).collect()
}

/// The facts about an access.
pub(super) fn access(access: MemAccess) -> MemoryFacts {
    MemoryFacts {
        operation: access.op.name(),
        space: access.space.name(),
        description: access.space.description(),
    }
}

/// The state that instructions of a row read, including the float controls of MODE for those that
/// obey them.
pub(super) fn row_reads(row: &Row, float_controls: bool) -> Vec<StateFacts> {
    with_controls(row, row.reads, float_controls)
}

/// The part of MODE that products of matrices obey, by the type of A and of the result.
fn matrix_controls(row: &Row) -> Option<&'static str> {
    let elem = |role| row.operand(role).map(|spec| spec.ty.elem);
    match (elem(Role::Src0), elem(Role::Vdst)) {
        // Nothing of MODE changes sums of doubles.
        (_, Some(Elem::F64)) => None,
        (_, Some(Elem::I32)) => Some("With FP16_OVFL, the result saturates."),
        (Some(Elem::F32), _) => Some(
            "Rounding is fixed: to nearest even. With FP16_OVFL, a sum that overflows is the largest number. The f32 \
             denormal mode decides whether denormal factors are kept.",
        ),
        _ => Some(
            "Rounding and denormals are fixed. With FP16_OVFL, a sum that overflows is the largest number.",
        ),
    }
}

fn with_controls(row: &Row, set: StateSet, float_controls: bool) -> Vec<StateFacts> {
    let mut all = facts(set);
    if float_controls && !set.contains(State::Mode) {
        let description = match row.shape {
            Some(_) => matrix_controls(row),
            None => Some(Flag::Fp.description()),
        };
        all.extend(description.map(|description| StateFacts { name: State::Mode.name(), description }));
    }
    all
}

/// The state that an instance reads: the row's, and M0 where a modifier or an operand needs it.
pub(super) fn reads(inst: &Inst) -> Vec<StateFacts> {
    let mut set = inst.row().reads;
    let m0 = Special::M0.code() as u8;
    let named = super::operands::values(inst)
        .iter()
        .any(|operand| operand.read && operand.registers.is_some_and(|range| range.file == "m0"));
    if !named && inst.reads().contains(RegisterFile::Special, m0) {
        set = set.with(State::M0);
    }
    with_controls(inst.row(), set, inst.row().has(Flag::Fp, inst.target()))
}
