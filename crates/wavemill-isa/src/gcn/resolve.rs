//! From the bits of a word to an operand. No other code knows what operand codes mean in an
//! instance.

use super::codes::{FIRST_CONSTANT, FIRST_VGPR, SADDR_OFF, VGPRS, scalar_operand};
use super::encoding::{Encoding, FieldId as F};
use super::operand::{Operand, Special};
use super::row::{Form, OperandSpec};
use super::vocabulary::{Access, Elem, Flag, Format, Role, matrix_format};
use crate::target::{AccVgprs, Target};

/// The words of an instance, with the facts needed to read them.
#[derive(Clone, Copy)]
pub(super) struct Words<'a> {
    pub(super) target: Target,
    pub(super) form: &'static Form,
    pub(super) words: &'a [u32; 4],
}

impl Words<'_> {
    /// The value of a field; 0 if the encoding has no field with this name on the target.
    pub(super) fn get(&self, id: F) -> u32 {
        match self.form.encoding.field(self.target, id) {
            Some(field) => field.get(self.words),
            None => 0,
        }
    }

    pub(super) fn bit(&self, id: F) -> bool {
        self.get(id) != 0
    }

    fn format(&self) -> Format {
        self.form.op.row().format
    }

    fn flag(&self, flag: Flag) -> bool {
        self.form.op.row().has(flag, self.target)
    }

    /// Whether the instance moves memory to LDS, so that it has no data VGPRs.
    pub(super) fn moves_to_lds(&self) -> bool {
        self.bit(F::Lds)
    }

    /// The number of registers of an operand; 0 if it is `off`.
    fn dwords(&self, spec: &OperandSpec) -> u8 {
        match spec.ty.elem {
            Elem::Addr => self.address_dwords(),
            Elem::Saddr if self.saddr_is_off() => 0,
            Elem::Saddr => 2 - u8::from(self.format() == Format::Scratch),
            Elem::Texel => self.texel_dwords(),
            Elem::F8f6f4 => {
                let code = self.get(if spec.role == Role::Src0 { F::Cbsz } else { F::Blgp });
                // There are 32 elements, so the number of registers equals the bits of an element.
                // Reserved formats are as wide as the widest.
                let bits = matrix_format(code).map_or(spec.ty.elem.bits(), Elem::bits);
                (u32::from(spec.ty.count) * bits).div_ceil(32) as u8
            }
            _ if spec.role == Role::Vdata => spec.ty.dwords() + u8::from(self.bit(F::Tfe)),
            _ => spec.ty.dwords(),
        }
    }

    fn saddr_is_off(&self) -> bool {
        self.get(F::Saddr) == SADDR_OFF
    }

    /// Registers of a memory address in this addressing mode.
    fn address_dwords(&self) -> u8 {
        match (self.form.encoding, self.format()) {
            (Encoding::Mubuf | Encoding::Mtbuf, _) => (self.get(F::Offen) + self.get(F::Idxen)) as u8,
            (_, Format::Scratch) => match self.form.encoding.field(self.target, F::Sve) {
                Some(_) => u8::from(self.bit(F::Sve)),
                None => u8::from(self.saddr_is_off()),
            },
            (_, Format::Global) if !self.saddr_is_off() => 1,
            _ => 2,
        }
    }

    /// Registers of image data (Vega ISA 8.2.1): one per channel of DMASK, half as many with D16, one more with TFE.
    fn texel_dwords(&self) -> u8 {
        let channels = if self.flag(Flag::Gather) { 4 } else { self.get(F::Dmask).count_ones().max(1) as u8 };
        let data = if self.bit(F::D16) { channels.div_ceil(2) } else { channels };
        data + u8::from(self.bit(F::Tfe))
    }

    /// The operand that `spec` describes: `Ok(None)` if the instance does not have it, `Err` with
    /// the field if its code is reserved.
    pub(super) fn operand(&self, spec: &OperandSpec) -> Result<Option<Operand>, F> {
        use Encoding as E;
        let encoding = self.form.encoding;
        let role = spec.role;
        if matches!(role, Role::Vdata | Role::Vdst) && self.moves_to_lds() && !spec.ty.elem.is_immediate() {
            return Ok(None);
        }
        if role == Role::Vdst && spec.access == Access::IfReturn && !self.bit(F::Glc) {
            return Ok(None);
        }
        let Some(id) = encoding.field_of(role) else {
            // The carry and mask operands of the 32-bit forms.
            return Ok(Some(Operand::Special { reg: Special::VccLo, dwords: 2 }));
        };
        let value = self.get(id);
        if spec.ty.elem.is_immediate() {
            return Ok(Some(self.immediate(spec.ty.elem, value)));
        }
        let dwords = self.dwords(spec);
        if dwords == 0 && matches!(spec.ty.elem, Elem::Addr | Elem::Saddr) {
            return Ok(Some(Operand::Off));
        }
        let written = matches!(spec.access, Access::Write | Access::ReadWrite);
        let scalar = |code| {
            // A constant is not a destination, and only the 32-bit ALU encodings accept literals
            // (Vega ISA 6.2.1).
            let legal = !(written && code >= FIRST_CONSTANT);
            let literal = literal_index(encoding).map(|index| self.words[index]);
            scalar_operand(code, dwords, literal).filter(|_| legal).ok_or(id)
        };
        // The number of image data registers follows from DMASK, not from the opcode, so no tuple
        // is too long.
        let strict = spec.ty.elem != Elem::Texel;
        let vector = |first| {
            let acc = spec.accvgpr || self.acc_bank(role);
            vector_operand(first, dwords, acc, strict).ok_or(id)
        };
        Ok(Some(match (id, encoding) {
            (F::Offset, _) => return self.scalar_offset().map(Some),
            (F::Sdst, E::VopcSdwa) if !self.bit(F::SdstEnable) => {
                Operand::Special { reg: Special::VccLo, dwords: 2 }
            }
            (F::Sdst | F::Sdata | F::Saddr | F::Soffset, _) => scalar(value)?,
            (F::Sbase, _) => scalar(value * 2)?,
            (F::Srsrc | F::Ssamp, _) => scalar(value * 4)?,
            (F::Literal, _) => Operand::Literal(value),
            (F::Vdst, _) if role == Role::Sdst => scalar(value)?,
            (F::Src0 | F::Src1, E::Sop1 | E::Sop2 | E::Sopc) => scalar(value)?,
            (F::Src0, E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa) if self.bit(F::Src0Scalar) => {
                sdwa_scalar(value, dwords).ok_or(id)?
            }
            (F::Src1, E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa) if self.bit(F::Src1Scalar) => {
                sdwa_scalar(value, dwords).ok_or(id)?
            }
            (F::Src0 | F::Src1, E::Vop1Sdwa | E::Vop2Sdwa | E::VopcSdwa | E::Vop1Dpp | E::Vop2Dpp) => {
                vector(value)?
            }
            (F::Src1, E::Vop2 | E::Vop2Literal | E::Vopc) => vector(value)?,
            (F::Src0 | F::Src1 | F::Src2 | F::Scale0 | F::Scale1, _) | (F::Vsrc, E::Vop3Interp) => {
                if value >= FIRST_VGPR {
                    vector(value - FIRST_VGPR)?
                } else if self.takes_scalars(spec, value, dwords) {
                    scalar(value)?
                } else {
                    return Err(id);
                }
            }
            _ => vector(value)?,
        }))
    }

    /// Whether the vector register of an operand is an accumulation VGPR.
    fn acc_bank(&self, role: Role) -> bool {
        match self.form.encoding {
            Encoding::Mai | Encoding::MaiScaled => match role {
                Role::Src0 => self.bit(F::AccA),
                Role::Src1 => self.bit(F::AccB),
                Role::Src2 if self.flag(Flag::Sparse) => false,
                // On CDNA 1, matrix results are in accumulation VGPRs only.
                Role::Vdst | Role::Src2 => {
                    self.bit(F::AccCd) || self.target.generation().accvgprs == AccVgprs::Separate
                }
                _ => false,
            },
            // Global wave sync keeps its data in the address field.
            Encoding::Ds if role == Role::Addr => self.flag(Flag::GdsOnly) && self.bit(F::Acc),
            Encoding::Ds | Encoding::Mubuf | Encoding::Mtbuf | Encoding::Mimg | Encoding::Flat => {
                matches!(role, Role::Vdst | Role::Vdata | Role::Data0 | Role::Data1) && self.bit(F::Acc)
            }
            _ => false,
        }
    }

    /// Whether a 9-bit source may hold the scalar code `code`. Matrices and accumulation VGPRs
    /// never come from scalar registers; only the addend of a matrix product may be an inline
    /// constant (CDNA4 ISA 7.1). Sources of more than 64 bits cannot be scalar either: Vega ISA
    /// 6.2.1 defines scalar sources of 32 and 64 bits only.
    fn takes_scalars(&self, spec: &OperandSpec, code: u32, dwords: u8) -> bool {
        match self.form.encoding {
            Encoding::Mai | Encoding::MaiScaled if matches!(spec.role, Role::Scale0 | Role::Scale1) => true,
            Encoding::Mai | Encoding::MaiScaled => {
                spec.role == Role::Src2 && !self.flag(Flag::Sparse) && code >= FIRST_CONSTANT
            }
            _ => !spec.accvgpr && dwords <= 2,
        }
    }

    fn immediate(&self, elem: Elem, value: u32) -> Operand {
        match elem {
            Elem::Simm16 | Elem::Branch => Operand::Imm(i32::from(value as u16 as i16)),
            Elem::Attr => Operand::Attr { attr: value as u8, chan: self.get(F::AttrChan) as u8 },
            _ => Operand::Imm(value as i32),
        }
    }

    /// The offset of scalar memory instructions (Vega ISA 7.2.1): a constant, a register, or a
    /// register with the constant in the `offset` modifier.
    fn scalar_offset(&self) -> Result<Operand, F> {
        let offset = self.get(F::Offset);
        let register = |code, id| scalar_operand(code, 1, None).ok_or(id);
        match (self.bit(F::Imm), self.bit(F::SoffsetEn)) {
            (_, true) => register(self.get(F::Soffset), F::Soffset),
            (true, false) => Ok(Operand::Imm(sign_extend(offset, 21))),
            (false, false) => register(offset & 0x7F, F::Offset),
        }
    }
}

/// Sign-extends the low `bits` bits.
pub(super) const fn sign_extend(value: u32, bits: u32) -> i32 {
    ((value << (32 - bits)) as i32) >> (32 - bits)
}

/// Vector registers from `first`. A VGPR tuple may reach beyond v255: this encoding has a defined
/// meaning, a register out of range (Vega ISA 3.6.1). Where the opcode gives the length, tuples of
/// accumulation VGPRs end within the file, as in LLVM.
fn vector_operand(first: u32, dwords: u8, acc: bool, strict: bool) -> Option<Operand> {
    if acc && strict && first + u32::from(dwords) > VGPRS {
        return None;
    }
    let first = first as u8;
    Some(if acc { Operand::Agpr { first, dwords } } else { Operand::Vgpr { first, dwords } })
}

/// The index of the dword that a literal source reads: the one after the instruction, or the
/// constant that the instruction always has. `None` for encodings that do not accept a literal.
const fn literal_index(encoding: Encoding) -> Option<usize> {
    use Encoding::*;
    match encoding {
        Sop1 | Sop2 | Sopc | Vop1 | Vop2 | Vopc | Vop2Literal => Some(1),
        _ => None,
    }
}

impl Encoding {
    /// Whether a source of the encoding can be a literal dword (Vega ISA 6.2.1).
    pub const fn takes_literal(self) -> bool {
        literal_index(self).is_some()
    }
}

/// Scalar sources of SDWA forms: SGPRs, TTMPs, constants and one-dword special registers, but no literal.
fn sdwa_scalar(code: u32, dwords: u8) -> Option<Operand> {
    scalar_operand(code, dwords, None)
}
