//! The operands of an instance: registers, constants, types, access.

use wavemill_isa::gcn::{Access, Elem, Inst, Operand, OperandSpec, Role};

use super::super::print::operand_text;

/// Consecutive registers of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RegisterRange {
    /// `sgpr`, `vgpr`, `agpr`, `ttmp`, or the name of a special register such as `vcc_lo`.
    pub file: &'static str,
    /// The first register; 0 for special registers.
    pub first: u8,
    /// The number of registers.
    pub count: u8,
}

/// An operand of an instance.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct OperandValue {
    /// The role of the operand, such as `src0`.
    pub role: &'static str,
    /// The description of the role.
    pub role_description: &'static str,
    /// Its text, without the effect of modifiers.
    pub text: String,
    /// The field that holds it; `None` if the encoding implies it.
    pub field: Option<&'static str>,
    /// `register`, `inline constant`, `literal`, `immediate`, `attribute` or `none`.
    pub kind: &'static str,
    /// The registers, if it is in registers.
    pub registers: Option<RegisterRange>,
    /// The value, if it is a constant: the bits, and their value in the operand's type.
    pub value: Option<String>,
    /// Its type, such as `f32` or `f16x2`.
    pub r#type: String,
    /// The description of the element type.
    pub type_description: &'static str,
    /// Whether the instance reads it.
    pub read: bool,
    /// Whether the instance writes it.
    pub written: bool,
}

impl OperandValue {
    /// `read`, `written` or `read and written`.
    pub fn access(&self) -> &'static str {
        match (self.read, self.written) {
            (true, true) => "read and written",
            (false, true) => "written",
            _ => "read",
        }
    }
}

/// The operands of an instance.
pub(super) fn values(inst: &Inst) -> Vec<OperandValue> {
    inst.operands().map(|(spec, operand)| value(inst, spec, operand)).collect()
}

fn value(inst: &Inst, spec: &OperandSpec, operand: Operand) -> OperandValue {
    let returns = inst.modifiers().glc;
    let (read, written) = match spec.access {
        Access::Read => (true, false),
        Access::Write => (false, true),
        Access::ReadWrite => (true, true),
        Access::IfReturn => (spec.role != Role::Vdst, returns),
    };
    let ty = inst.operand_type(spec);
    OperandValue {
        role: spec.role.name(),
        role_description: spec.role.description(),
        text: operand_text(inst, spec, operand),
        field: inst.encoding().field_of(spec.role).map(|id| id.name()),
        kind: kind(operand),
        registers: registers(operand),
        value: constant(inst, spec, operand),
        r#type: ty.to_string(),
        type_description: ty.elem.description(),
        read,
        written,
    }
}

fn kind(operand: Operand) -> &'static str {
    match operand {
        Operand::Int(_) | Operand::Float(_) => "inline constant",
        Operand::Literal(_) => "literal",
        Operand::Imm(_) => "immediate",
        Operand::Attr { .. } => "attribute",
        Operand::Off => "none",
        _ => "register",
    }
}

fn registers(operand: Operand) -> Option<RegisterRange> {
    let (file, first, count) = match operand {
        Operand::Sgpr { first, dwords } => ("sgpr", first, dwords),
        Operand::Vgpr { first, dwords } => ("vgpr", first, dwords),
        Operand::Agpr { first, dwords } => ("agpr", first, dwords),
        Operand::Ttmp { first, dwords } => ("ttmp", first, dwords),
        Operand::Special { reg, dwords } => (reg.name(), 0, dwords),
        _ => return None,
    };
    Some(RegisterRange { file, first, count })
}

/// The bits of a constant, and their value as a number.
fn constant(inst: &Inst, spec: &OperandSpec, operand: Operand) -> Option<String> {
    Some(match operand {
        Operand::Int(value) => format!("{:#x} = {value}", i32::from(value)),
        Operand::Float(float) => {
            let elem = inst.constant_elem(spec);
            // A 16-bit integer has all 32 bits, too.
            let digits = if elem.is_float() { elem.bits() } else { elem.bits().max(32) } as usize / 4;
            format!("{:#0width$x} = {}", float.bits(elem), float.name(), width = digits + 2)
        }
        Operand::Literal(bits) => match spec.ty.elem {
            Elem::F32 => format!("{bits:#010x} = {:?}", f32::from_bits(bits)),
            // The high half; the low half is 0.
            Elem::F64 => format!("{bits:#010x}00000000 = {:?}", f64::from_bits(u64::from(bits) << 32)),
            _ => format!("{bits:#010x} = {}", bits as i32),
        },
        Operand::Imm(value) => format!("{value:#x} = {value}"),
        _ => return None,
    })
}
