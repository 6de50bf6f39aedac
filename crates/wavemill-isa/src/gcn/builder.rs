//! From operands and modifiers to machine words.
//!
//! The builder writes fields, then has the decoder read the words back and compares the result with
//! the request. So there is one set of rules for what is legal: the decoder's.

use super::codes::{FIRST_CONSTANT, FIRST_VGPR, SADDR_OFF, sgpr_alignment};
use super::decode::{DecodeError, decode_form, plain_form};
use super::encoding::{Encoding, FieldId as F, SRC_LITERAL};
use super::inst::Inst;
use super::modifiers::Modifiers;
use super::operand::{Operand, Special};
use super::resolve::sign_extend;
use super::row::{FORMS, Form, MAX_OPERANDS, Op, OperandSpec};
use super::rules::{BrokenRule, Operands};
use super::vocabulary::{Elem, Format, Role};
use crate::target::{AccVgprs, Target};
use core::fmt;

/// Why an operand is not legal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandFault {
    /// The operand cannot be of this kind: a constant where a register must be, a register of the wrong file.
    Kind,
    /// The operand has the wrong number of registers.
    Width {
        /// Registers that the operand has.
        expected: u8,
        /// Registers given.
        found: u8,
    },
    /// The first register must be a multiple of this.
    Alignment(u8),
    /// The number, register or constant, does not exist or does not fit.
    Range,
    /// The instruction already has another literal.
    SecondLiteral,
    /// Addressing modifiers, cache bits or other operands rule this operand out.
    Combination,
}

impl fmt::Display for OperandFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OperandFault::Kind => f.write_str("an operand of this kind is not allowed here"),
            OperandFault::Width { expected, found } => {
                write!(f, "expected {expected} registers, found {found}")
            }
            OperandFault::Alignment(align) => write!(f, "the first register must be a multiple of {align}"),
            OperandFault::Range => f.write_str("the number does not fit"),
            OperandFault::SecondLiteral => f.write_str("an instruction can have only one literal"),
            OperandFault::Combination => f.write_str("modifiers or other operands rule it out"),
        }
    }
}

/// Why an instruction cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildError {
    /// The target lacks the instruction, or the instruction lacks the encoding there.
    NoForm {
        /// The instruction.
        op: Op,
        /// The target.
        target: Target,
        /// The encoding.
        encoding: Encoding,
    },
    /// The instruction has no operand with this role.
    NoOperand {
        /// The instruction.
        op: Op,
        /// The role given.
        role: Role,
    },
    /// An operand was not given.
    MissingOperand {
        /// The instruction.
        op: Op,
        /// The role that is missing.
        role: Role,
    },
    /// An operand is not legal.
    Operand {
        /// The instruction.
        op: Op,
        /// Which operand.
        role: Role,
        /// The operand given.
        operand: Operand,
        /// Why it is not legal.
        fault: OperandFault,
    },
    /// A modifier is not legal, or its value does not fit.
    Modifier {
        /// The instruction.
        op: Op,
        /// The field that would hold it.
        field: F,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::NoForm { op, target, encoding } => {
                write!(f, "{target} has no {op} in encoding {}", encoding.name())
            }
            BuildError::NoOperand { op, role } => write!(f, "{op} has no operand {}", role.name()),
            BuildError::MissingOperand { op, role } => write!(f, "{op} needs operand {}", role.name()),
            BuildError::Operand { op, role, operand, fault } => {
                write!(f, "{op}: operand {} cannot be {operand:?}: {fault}", role.name())
            }
            BuildError::Modifier { op, field } => write!(f, "{op}: illegal {} modifier", field.name()),
        }
    }
}

impl core::error::Error for BuildError {}

/// Collects operands and modifiers of an instruction to be encoded. Made by [`Inst::build`].
#[derive(Clone, Copy, Debug)]
pub struct InstBuilder {
    target: Target,
    form: u16,
    operands: [Option<Operand>; MAX_OPERANDS],
    modifiers: Modifiers,
    unknown: Option<Role>,
}

impl Inst {
    /// Starts building an instruction. Modifiers default to [`Modifiers::plain`].
    ///
    /// # Errors
    ///
    /// [`BuildError::NoForm`] if the instruction does not exist on the target in this encoding.
    pub fn build(target: Target, op: Op, encoding: Encoding) -> Result<InstBuilder, BuildError> {
        let form =
            op.row().form_index(target, encoding).ok_or(BuildError::NoForm { op, target, encoding })?;
        Ok(InstBuilder {
            target,
            form,
            operands: [None; MAX_OPERANDS],
            modifiers: Modifiers::plain(&FORMS[usize::from(form)]),
            unknown: None,
        })
    }
}

impl InstBuilder {
    fn form(&self) -> &'static Form {
        &FORMS[usize::from(self.form)]
    }

    fn specs(&self) -> &'static [OperandSpec] {
        self.form().op.row().operands
    }

    /// The instruction.
    pub fn op(&self) -> Op {
        self.form().op
    }

    /// Sets an operand. The VCC operands of the 32-bit carry and compare forms may be omitted.
    #[must_use]
    #[inline]
    pub fn operand(mut self, role: Role, operand: Operand) -> InstBuilder {
        match self.specs().iter().position(|spec| spec.role == role).and_then(|i| self.operands.get_mut(i)) {
            Some(slot) => *slot = Some(operand),
            None => self.unknown = Some(role),
        }
        self
    }

    /// Sets all modifiers.
    #[must_use]
    #[inline]
    pub fn modifiers(mut self, modifiers: Modifiers) -> InstBuilder {
        self.modifiers = modifiers;
        self
    }

    /// Encodes the instruction.
    ///
    /// # Errors
    ///
    /// [`BuildError`] says which operand or modifier is missing or illegal, and why.
    pub fn finish(self) -> Result<Inst, BuildError> {
        self.encode().map(|(inst, _)| inst)
    }

    /// Encodes the instruction and reports the rule that it breaks, if any: [`InstBuilder::finish`]
    /// and [`Inst::broken_rule`] in one, cheaper than both calls.
    ///
    /// # Errors
    ///
    /// As [`InstBuilder::finish`]. A broken rule is not an error.
    pub fn finish_with_rule(self) -> Result<(Inst, Option<BrokenRule>), BuildError> {
        let (inst, operands) = self.encode()?;
        Ok((inst, inst.rule_broken_with(&operands)))
    }

    /// The instance, and its operands as the decoder sees them.
    fn encode(self) -> Result<(Inst, Operands), BuildError> {
        let form = self.form();
        let op = form.op;
        if let Some(role) = self.unknown {
            return Err(BuildError::NoOperand { op, role });
        }
        let mut writer = Writer { target: self.target, form, words: [0; 4], literal: None, illegal: None };
        // The words start as zero, so only non-zero fields are written: the encoding may lack the
        // others.
        if self.modifiers != Modifiers::default() {
            self.modifiers.write(form, |id, value| {
                if value != 0 {
                    writer.modifier(id, value);
                }
            });
        }
        if let Some(field) = writer.illegal {
            return Err(BuildError::Modifier { op, field });
        }
        for (spec, operand) in self.given() {
            writer
                .operand(spec, operand)
                .map_err(|fault| {
                    let (expected, found) = (spec.ty.dwords(), operand.dwords());
                    match fault {
                        // A different width would have a different alignment.
                        OperandFault::Alignment(_) if expected != 0 && expected != found => {
                            OperandFault::Width { expected, found }
                        }
                        fault => fault,
                    }
                })
                .map_err(|fault| BuildError::Operand { op, role: spec.role, operand, fault })?;
        }
        // Constant bits come last: operands must not change them.
        for (index, word) in writer.words.iter_mut().enumerate() {
            let (fixed, value) = ((form.fixed >> (32 * index)) as u32, (form.value >> (32 * index)) as u32);
            let free = *word & !fixed;
            if *word & fixed & !value != 0 {
                let wrong = *word & fixed & !value;
                let at = 32 * index as u32 + wrong.trailing_zeros();
                return Err(BuildError::Modifier { op, field: field_of_bit(form, self.target, at) });
            }
            *word = free | value;
        }
        self.read_back(&writer)
    }

    fn given(&self) -> impl Iterator<Item = (&'static OperandSpec, Operand)> {
        self.specs().iter().zip(self.operands).filter_map(|(spec, operand)| Some((spec, operand?)))
    }

    /// Decodes the words and compares the result with the request.
    fn read_back(&self, writer: &Writer) -> Result<(Inst, Operands), BuildError> {
        let form = self.form();
        let op = form.op;
        let [low, high, ..] = writer.words;
        let inst = match plain_form(self.target, self.form, u64::from(high) << 32 | u64::from(low)) {
            Some(inst) => inst,
            None => self.decode(writer)?,
        };
        let view = inst.view();
        let mut operands = Operands::default();
        for (index, spec) in self.specs().iter().enumerate() {
            let role = spec.role;
            let found = view.operand(spec).ok().flatten();
            if let Some(slot) = operands.get_mut(index) {
                *slot = found;
            }
            let implied = form.encoding.field_of(role).is_none();
            match (self.operands.get(index).copied().flatten(), found) {
                (Some(asked), Some(found)) if asked == found => {}
                (Some(operand), found) => {
                    let fault = mismatch(operand, found);
                    return Err(BuildError::Operand { op, role, operand, fault });
                }
                // Omitted: fine if the operand is implied or absent.
                (None, Some(Operand::Off) | None) => {}
                (None, Some(_)) if implied => {}
                (None, Some(Operand::Special { reg: Special::VccLo, .. }))
                    if form.encoding == Encoding::VopcSdwa && role == Role::Sdst => {}
                (None, Some(_)) => return Err(BuildError::MissingOperand { op, role }),
            }
        }
        Ok((inst, operands))
    }

    /// Decodes the words field by field.
    fn decode(&self, writer: &Writer) -> Result<Inst, BuildError> {
        let mut bytes = [0u8; 20];
        for (chunk, word) in bytes.chunks_exact_mut(4).zip(writer.words) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        decode_form(self.target, self.form, &bytes).map_err(|error| match error {
            DecodeError::Illegal { field, .. } => self.blame(field),
            _ => BuildError::Modifier { op: self.form().op, field: F::Encoding },
        })
    }

    /// The operand or modifier that a field at fault belongs to.
    fn blame(&self, field: F) -> BuildError {
        let op = self.form().op;
        let encoding = self.form().encoding;
        let guilty = self.given().find(|(spec, _)| {
            encoding.field_of(spec.role) == Some(field)
                || spec.role == Role::Offset && matches!(field, F::Offset | F::Soffset)
        });
        match guilty {
            Some((spec, operand)) => {
                BuildError::Operand { op, role: spec.role, operand, fault: OperandFault::Kind }
            }
            None => BuildError::Modifier { op, field },
        }
    }
}

/// Why an operand reads back as a different one.
fn mismatch(asked: Operand, found: Option<Operand>) -> OperandFault {
    let Some(found) = found else { return OperandFault::Combination };
    if core::mem::discriminant(&asked) != core::mem::discriminant(&found) {
        return OperandFault::Kind;
    }
    if asked.dwords() != found.dwords() {
        return OperandFault::Width { expected: found.dwords(), found: asked.dwords() };
    }
    match asked {
        Operand::Literal(_) => OperandFault::SecondLiteral,
        Operand::Sgpr { dwords, .. } | Operand::Ttmp { dwords, .. } => {
            OperandFault::Alignment(sgpr_alignment(dwords) as u8)
        }
        _ => OperandFault::Range,
    }
}

/// The name of the field that holds bit `at`.
fn field_of_bit(form: &Form, target: Target, at: u32) -> F {
    form.encoding
        .fields()
        .iter()
        .find(|field| field.targets.contains(target) && field.mask() >> at & 1 != 0)
        .map_or(F::Encoding, |field| field.id)
}

struct Writer {
    target: Target,
    form: &'static Form,
    words: [u32; 4],
    literal: Option<u32>,
    illegal: Option<F>,
}

impl Writer {
    fn has(&self, id: F) -> bool {
        self.form.encoding.field(self.target, id).is_some()
    }

    /// Writes a modifier field. Remembers the first field that the encoding lacks or whose value
    /// does not fit.
    fn modifier(&mut self, id: F, value: u32) {
        if self.field(id, value).is_err() && self.illegal.is_none() {
            self.illegal = Some(id);
        }
    }

    fn field(&mut self, id: F, value: u32) -> Result<(), OperandFault> {
        match self.form.encoding.field(self.target, id) {
            Some(field) if u64::from(value) < 1u64 << field.width => {
                field.set(&mut self.words, value);
                Ok(())
            }
            None if value == 0 => Ok(()),
            _ => Err(OperandFault::Range),
        }
    }

    /// The code of an operand in a scalar operand field.
    fn scalar_code(&mut self, operand: Operand) -> Result<u32, OperandFault> {
        let tuple = |first: u8, dwords: u8, base: u32, limit: u32| {
            let align = sgpr_alignment(dwords);
            let first = u32::from(first);
            if first % align != 0 {
                Err(OperandFault::Alignment(align as u8))
            } else if first >= limit {
                Err(OperandFault::Range)
            } else {
                Ok(base + first)
            }
        };
        match operand {
            Operand::Sgpr { first, dwords } => tuple(first, dwords, 0, 102),
            Operand::Ttmp { first, dwords } => tuple(first, dwords, 108, 16),
            Operand::Special { reg, .. } => Ok(reg.code()),
            Operand::Int(value @ 0..=64) => Ok(FIRST_CONSTANT + value as u32),
            Operand::Int(value @ -16..=-1) => Ok(192 + u32::from(value.unsigned_abs())),
            Operand::Int(_) => Err(OperandFault::Range),
            Operand::Float(value) => Ok(value.code()),
            Operand::Literal(value) => {
                if self.literal.replace(value).is_some_and(|other| other != value) {
                    return Err(OperandFault::SecondLiteral);
                }
                let index = match self.form.encoding {
                    Encoding::Vop2Literal => 1,
                    encoding => usize::from(encoding.bytes() / 4),
                };
                *self.words.get_mut(index).ok_or(OperandFault::Kind)? = value;
                Ok(SRC_LITERAL)
            }
            _ => Err(OperandFault::Kind),
        }
    }

    fn vector_code(&mut self, spec: &OperandSpec, operand: Operand) -> Result<u32, OperandFault> {
        match operand {
            Operand::Vgpr { first, .. } => Ok(first.into()),
            Operand::Agpr { first, .. } => {
                self.accvgpr(spec)?;
                Ok(first.into())
            }
            _ => Err(OperandFault::Kind),
        }
    }

    /// Sets the bit that selects accumulation VGPRs for an operand, if it accepts one.
    fn accvgpr(&mut self, spec: &OperandSpec) -> Result<(), OperandFault> {
        if spec.accvgpr {
            return Ok(());
        }
        let id = match (self.form.encoding, spec.role) {
            (Encoding::Mai | Encoding::MaiScaled, Role::Src0) => F::AccA,
            (Encoding::Mai | Encoding::MaiScaled, Role::Src1) => F::AccB,
            (Encoding::Mai | Encoding::MaiScaled, _)
                if self.target.generation().accvgprs == AccVgprs::Separate =>
            {
                return Ok(());
            }
            (Encoding::Mai | Encoding::MaiScaled, _) => F::AccCd,
            _ => F::Acc,
        };
        if !self.has(id) {
            return Err(OperandFault::Kind);
        }
        self.field(id, 1)
    }

    fn operand(&mut self, spec: &OperandSpec, operand: Operand) -> Result<(), OperandFault> {
        use Encoding as E;
        let encoding = self.form.encoding;
        let Some(id) = encoding.field_of(spec.role) else {
            let vcc = Operand::Special { reg: Special::VccLo, dwords: 2 };
            return if operand == vcc { Ok(()) } else { Err(OperandFault::Kind) };
        };
        if spec.ty.elem.is_immediate() {
            return self.immediate(spec.ty.elem, id, operand);
        }
        if operand == Operand::Off {
            return self.off(id);
        }
        let sdwa = encoding.is_sdwa();
        let vector = matches!(operand, Operand::Vgpr { .. } | Operand::Agpr { .. });
        let constant = matches!(operand, Operand::Int(_) | Operand::Float(_));
        if constant && encoding.field(self.target, id).is_some_and(|field| field.width < 8) && id != F::Offset
        {
            return Err(OperandFault::Kind);
        }
        match (id, encoding) {
            (F::Offset, _) => self.scalar_offset(operand),
            (F::Sdst, E::VopcSdwa) if operand == (Operand::Special { reg: Special::VccLo, dwords: 2 }) => {
                // VCC needs no name. The modifiers say whether it has one all the same.
                let named =
                    encoding.field(self.target, F::SdstEnable).is_some_and(|f| f.get(&self.words) != 0);
                if named { self.field(id, Special::VccLo.code()) } else { Ok(()) }
            }
            (F::Sdst, E::VopcSdwa) => {
                let code = self.scalar_code(operand)?;
                self.field(F::SdstEnable, 1)?;
                self.field(id, code)
            }
            (F::Sbase, _) => {
                let code = self.scalar_code(operand)?;
                self.field(id, code / 2)
            }
            (F::Srsrc | F::Ssamp, _) => {
                let code = self.scalar_code(operand)?;
                self.field(id, code / 4)
            }
            (F::Literal, _) => match operand {
                Operand::Literal(value) => {
                    if self.literal.replace(value).is_some_and(|other| other != value) {
                        return Err(OperandFault::SecondLiteral);
                    }
                    self.field(id, value)
                }
                _ => Err(OperandFault::Kind),
            },
            (F::Src0 | F::Src1, _) if sdwa && !vector => {
                if matches!(operand, Operand::Literal(_)) {
                    return Err(OperandFault::Kind);
                }
                let code = self.scalar_code(operand)?;
                self.field(if id == F::Src0 { F::Src0Scalar } else { F::Src1Scalar }, 1)?;
                self.field(id, code)
            }
            (F::Src0 | F::Src1 | F::Src2 | F::Scale0 | F::Scale1 | F::Vsrc, _)
                if encoding.field(self.target, id).is_some_and(|field| field.width == 9) =>
            {
                let code = if vector {
                    FIRST_VGPR + self.vector_code(spec, operand)?
                } else {
                    self.scalar_code(operand)?
                };
                self.field(id, code)
            }
            _ => {
                let code = if vector { self.vector_code(spec, operand)? } else { self.scalar_code(operand)? };
                // A scalar code in a vector field, or the reverse, reads back as something else.
                if id == F::Vaddr && self.form.op.row().format == Format::Scratch && self.has(F::Sve) {
                    self.field(F::Sve, 1)?;
                }
                self.field(id, code)
            }
        }
    }

    fn off(&mut self, id: F) -> Result<(), OperandFault> {
        match id {
            F::Saddr => self.field(id, SADDR_OFF),
            F::Vaddr => Ok(()),
            _ => Err(OperandFault::Kind),
        }
    }

    fn immediate(&mut self, elem: Elem, id: F, operand: Operand) -> Result<(), OperandFault> {
        match (operand, elem) {
            (Operand::Attr { attr, chan }, Elem::Attr) => {
                self.field(id, attr.into())?;
                self.field(F::AttrChan, chan.into())
            }
            (Operand::Imm(value), Elem::Simm16 | Elem::Branch) => {
                let narrow = value as u16;
                if sign_extend(narrow.into(), 16) != value {
                    return Err(OperandFault::Range);
                }
                self.field(id, narrow.into())
            }
            (Operand::Imm(value), _) if elem != Elem::Attr => {
                self.field(id, u32::try_from(value).map_err(|_| OperandFault::Range)?)
            }
            _ => Err(OperandFault::Kind),
        }
    }

    fn scalar_offset(&mut self, operand: Operand) -> Result<(), OperandFault> {
        let bit = |writer: &Writer, id| {
            writer.form.encoding.field(writer.target, id).is_some_and(|field| field.get(&writer.words) != 0)
        };
        if let Operand::Imm(value) = operand {
            if sign_extend(value as u32 & 0x1F_FFFF, 21) != value {
                return Err(OperandFault::Range);
            }
            self.field(F::Imm, 1)?;
            return self.field(F::Offset, value as u32 & 0x1F_FFFF);
        }
        let code = self.scalar_code(operand)?;
        let constant = bit(self, F::Imm) || bit(self, F::Offset);
        if constant || bit(self, F::SoffsetEn) {
            self.field(F::SoffsetEn, 1)?;
            self.field(F::Imm, constant.into())?;
            self.field(F::Soffset, code)
        } else {
            self.field(F::Offset, code)
        }
    }
}
