//! An instance of an instruction: the machine words and their meaning.

use super::encoding::{Encoding, Field, FieldId};
use super::modifiers::Modifiers;
use super::operand::Operand;
use super::resolve::Words;
use super::row::{FORMS, Form, Op, OperandSpec, Row};
use super::vocabulary::{Elem, Role, Type};
use crate::target::Target;

/// A decoded or built instruction.
///
/// The machine words themselves store all fields: nothing is lost, and encoding returns them.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Inst {
    pub(super) words: [u32; 4],
    pub(super) form: u16,
    pub(super) target: Target,
    pub(super) size: u8,
}

impl Inst {
    /// The target that the instance is for.
    #[inline]
    pub const fn target(&self) -> Target {
        self.target
    }

    /// The form: instruction, encoding and opcode.
    #[inline]
    pub fn form(&self) -> &'static Form {
        &FORMS[usize::from(self.form)]
    }

    /// The instruction.
    #[inline]
    pub fn op(&self) -> Op {
        self.form().op
    }

    /// The row of the instruction.
    #[inline]
    pub fn row(&self) -> &'static Row {
        self.op().row()
    }

    /// The encoding.
    #[inline]
    pub fn encoding(&self) -> Encoding {
        self.form().encoding
    }

    /// The mnemonic on the target, without encoding suffix.
    pub fn mnemonic(&self) -> &'static str {
        self.row().mnemonic(self.target)
    }

    /// The size in bytes, with a literal if there is one: 4, 8, 12 or 16.
    #[inline]
    pub const fn size(&self) -> usize {
        self.size as usize
    }

    /// The machine words; those beyond the size are zero.
    #[inline]
    pub const fn words(&self) -> &[u32; 4] {
        &self.words
    }

    /// The machine code: the first `size` bytes of the array.
    #[inline]
    pub fn encode(&self) -> ([u8; 16], usize) {
        let mut bytes = [0; 16];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(self.words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        (bytes, self.size())
    }

    pub(super) fn view(&self) -> Words<'_> {
        Words { target: self.target, form: self.form(), words: &self.words }
    }

    /// The raw value of a field, if the encoding has it on this target.
    #[inline]
    pub fn field(&self, id: FieldId) -> Option<u32> {
        self.encoding().field(self.target, id).map(|field: Field| field.get(&self.words))
    }

    /// The literal dword, if a source operand has one or the instruction always carries one.
    pub fn literal(&self) -> Option<u32> {
        self.operands().find_map(|(_, operand)| match operand {
            Operand::Literal(value) => Some(value),
            _ => None,
        })
    }

    /// The operands of this instance with their specification, in the order of the assembly text.
    ///
    /// Operands that the instance lacks (the data of a memory-to-LDS load, the result of an atomic
    /// without return) are omitted. Mask operands that the 32-bit forms imply are listed as `vcc`.
    #[inline]
    pub fn operands(&self) -> impl Iterator<Item = (&'static OperandSpec, Operand)> + '_ {
        let view = self.view();
        self.row().operands.iter().filter_map(move |spec| {
            // Decoder and builder reject reserved codes.
            view.operand(spec).ok().flatten().map(|operand| (spec, operand))
        })
    }

    /// The operand with this role, if the instance has it.
    #[inline]
    pub fn operand(&self, role: Role) -> Option<Operand> {
        let spec = self.row().operand(role)?;
        self.view().operand(spec).ok().flatten()
    }

    /// The type of an operand of this instance. It is the row's type, except for mixed-precision
    /// sources, where OP_SEL_HI selects single or half precision (Vega ISA 12.10, V_MAD_MIX_F32).
    pub fn operand_type(&self, operand: &OperandSpec) -> Type {
        if operand.ty.elem != Elem::Mix {
            return operand.ty;
        }
        let half = operand.role.source().is_some_and(|n| self.modifiers().op_sel_hi >> n & 1 != 0);
        Type::one(if half { Elem::F16 } else { Elem::F32 })
    }

    /// The element type as which this instance reads an inline constant in `operand`.
    pub fn constant_elem(&self, operand: &OperandSpec) -> Elem {
        match self.row().constant_elem(operand) {
            Elem::Mix => self.operand_type(operand).elem,
            elem => elem,
        }
    }

    /// Everything in the words that is neither opcode nor operand.
    pub fn modifiers(&self) -> Modifiers {
        Modifiers::read(&self.view())
    }
}

impl core::fmt::Debug for Inst {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{} ({}, {})", self.mnemonic(), self.encoding().name(), self.target)?;
        for (spec, operand) in self.operands() {
            write!(f, " {}={operand:?}", spec.role.name())?;
        }
        f.write_str(" [")?;
        for (index, word) in self.words[..self.size() / 4].iter().enumerate() {
            write!(f, "{}{word:08x}", if index == 0 { "" } else { " " })?;
        }
        f.write_str("]")
    }
}
