//! From operands and modifiers to an encoding that holds them.

use wavemill_isa::Target;
use wavemill_isa::gcn::{
    Access, BuildError, DstUnused, Elem, Encoding, FieldId, Flag, Form, Inst, Modifiers, Op, Operand,
    OperandSpec, Role, Row, SdwaSel, Special,
};

use super::super::family::{BRANCH, HALF, literal};
use super::super::has_sign;
use super::apply::{Refusal, always_set, apply, settable};
use super::mnemonic::Named;
use super::modifier::{self, Modifier, Name};
use super::operand::{Argument, Value};
use super::{Bound, constant, report};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::family::Field;

/// Why a form does not fit, and at which step. If several forms fail, the one that got furthest is
/// explained.
pub(super) struct Rejection {
    pub(super) progress: usize,
    pub(super) fail: Fail,
}

/// How far a form got before it failed: it cannot hold a modifier, or the modifiers, the operand
/// count, the operands or the combination do not fit.
const NO_PLACE: usize = 0;
const AT_MODIFIERS: usize = 1;
const AT_COUNT: usize = 2;
const AT_OPERANDS: usize = 3;
const AT_END: usize = 100;

/// Finds the first form that accepts everything.
pub(super) fn bind(
    target: Target,
    op: Op,
    named: Named,
    arguments: &[Argument],
    modifiers: &[Modifier],
    text: &str,
    mnemonic: Span,
) -> Result<Bound, Fail> {
    let mut best: Option<(Rejection, &'static Form)> = None;
    for form in named.forms(target) {
        let attempt = Attempt { target, form, arguments, modifiers, mnemonic: mnemonic.clone() };
        match attempt.bind() {
            Ok(bound) => return Ok(bound),
            Err(rejection) => {
                if best.as_ref().is_none_or(|(known, _)| rejection.progress > known.progress) {
                    best = Some((rejection, form));
                }
            }
        }
    }
    match best {
        Some((rejection, form)) => Err(report::enrich(rejection.fail, target, form, named, text)),
        None => Err(Diagnostic::new(mnemonic, format!("{target} has no encoding of {op}"))),
    }
}

/// One form being tried.
pub(super) struct Attempt<'a> {
    pub(super) target: Target,
    pub(super) form: &'static Form,
    pub(super) arguments: &'a [Argument],
    pub(super) modifiers: &'a [Modifier],
    pub(super) mnemonic: Span,
}

impl Attempt<'_> {
    fn has(&self, flag: Flag) -> bool {
        self.form.op.row().has(flag, self.target)
    }

    fn bind(&self) -> Result<Bound, Rejection> {
        let at = |progress| move |fail| Rejection { progress, fail };
        let mut all = self.all_modifiers()?;
        let mut specs = [None; 8];
        let mut count = self.present(&all, &mut specs);
        let implied = if self.arguments.len() + 1 == count { self.implied(&mut specs) } else { None };
        count -= usize::from(implied.is_some());
        let specs = specs.get(..count).unwrap_or_default();
        if self.arguments.len() != count {
            return Err(Rejection { progress: AT_COUNT, fail: report::wrong_count(self, specs) });
        }
        let op = self.form.op;
        let mut builder = Inst::build(self.target, op, self.form.encoding)
            .map_err(|error| at(AT_MODIFIERS)(Diagnostic::new(self.mnemonic.clone(), error.to_string())))?;
        let mut symbolic = None;
        if let Some((role, operand)) = implied {
            builder = builder.operand(role, operand);
        }
        for (index, (spec, argument)) in specs.iter().flatten().zip(self.arguments).enumerate() {
            // A form that lacks negation and the like is further away than one with a wrong
            // operand.
            let in_field = self.source_modifiers(spec, argument, &mut all).map_err(at(NO_PLACE))?;
            let mut fixup = None;
            let operand = self.operand(spec, argument, in_field, &mut fixup).map_err(|fail| {
                // In an encoding with the bit, the sign can change.
                let near = !(argument.neg || argument.abs) || in_field;
                Rejection { progress: if near { AT_OPERANDS + index } else { AT_MODIFIERS }, fail }
            })?;
            symbolic = fixup.map(|kind| (kind, index)).or(symbolic);
            if let Some(operand) = operand {
                builder = builder.operand(spec.role, operand);
            }
        }
        if self.form.encoding == Encoding::Exp {
            builder = self.exports(builder, &mut all).map_err(at(AT_OPERANDS))?;
        }
        let (inst, broken) = builder.modifiers(all).finish_with_rule().map_err(|error| {
            let progress = match &error {
                BuildError::Operand { role, .. } => {
                    AT_OPERANDS + specs.iter().flatten().position(|spec| spec.role == *role).unwrap_or(0)
                }
                _ => AT_MODIFIERS,
            };
            Rejection { progress, fail: report::build_error(self, specs, error) }
        })?;
        if let Some(broken) = broken {
            return Err(Rejection { progress: AT_END, fail: report::broken_rule(self, specs, broken) });
        }
        Ok(Bound { inst, symbolic })
    }

    /// The modifiers of the text, and the modifiers that it implies.
    fn all_modifiers(&self) -> Result<Modifiers, Rejection> {
        let at = |progress| move |fail| Rejection { progress, fail };
        let mut all = Modifiers::plain(self.form);
        if let Some(sdwa) = &mut all.sdwa
            && settable(self.form, self.target, FieldId::DstUnused)
        {
            // As in LLVM. If a part of the destination is written, the text must give it: see
            // `broken_rule`.
            sdwa.dst_unused = DstUnused::Preserve;
        }
        if self.form.encoding == Encoding::Mtbuf {
            all.dfmt = 1;
        }
        let moves_lanes = self.modifiers.iter().any(|modifier| modifier.name == Name::DppCtrl);
        if matches!(self.form.encoding, Encoding::Vop1Dpp | Encoding::Vop2Dpp) && !moves_lanes {
            let message = "expected a lane pattern such as `row_shl:1` after the operands";
            return Err(at(NO_PLACE)(Diagnostic::new(self.mnemonic.clone(), message)));
        }
        for (index, modifier) in self.modifiers.iter().enumerate() {
            if self.modifiers.iter().take(index).any(|before| before.name == modifier.name) {
                let text = modifier::text(modifier.name);
                return Err(at(AT_MODIFIERS)(Diagnostic::new(
                    modifier.span.clone(),
                    format!("`{text}` is given twice"),
                )));
            }
            apply(modifier, self.form, self.target, &mut all).map_err(|refusal| match refusal {
                Refusal::Misplaced(fail) => at(NO_PLACE)(fail),
                Refusal::Wrong(fail) => at(AT_MODIFIERS)(fail),
            })?;
        }
        for (flag, name) in [(Flag::GdsOnly, Name::Gds), (Flag::LdsOnly, Name::Lds)] {
            if self.has(flag) && !self.modifiers.iter().any(|modifier| modifier.name == name) {
                let word = modifier::text(name);
                let message =
                    format!("expected `{word}` after the operands: the instruction has no form without it");
                return Err(at(AT_MODIFIERS)(Diagnostic::new(self.mnemonic.clone(), message)));
            }
        }
        let part = self.modifiers.iter().find(|modifier| modifier.name == Name::DstSel);
        let rest = self.modifiers.iter().any(|modifier| modifier.name == Name::DstUnused);
        if let (Some(part), false) = (part, rest)
            && all.sdwa.is_some_and(|sdwa| sdwa.dst_sel != SdwaSel::Dword)
        {
            return Err(at(AT_MODIFIERS)(report::rest_of_destination(part)));
        }
        Ok(all)
    }

    /// The operands that the text must have, given the modifiers.
    fn present(&self, all: &Modifiers, specs: &mut [Option<&'static OperandSpec>; 8]) -> usize {
        let to_lds = all.lds || always_set(self.form, self.target, FieldId::Lds);
        let mut count = 0;
        for spec in self.form.op.row().operands {
            let moved =
                matches!(spec.role, Role::Vdata | Role::Vdst) && to_lds && !spec.ty.elem.is_immediate();
            let dropped = spec.role == Role::Vdst && spec.access == Access::IfReturn && !all.glc;
            if !(moved || dropped)
                && let Some(slot) = specs.get_mut(count)
            {
                *slot = Some(spec);
                count += 1;
            }
        }
        count
    }

    /// The operand that a text with one operand less omits, removed from `specs`; `None` if all
    /// must be written.
    fn implied(&self, specs: &mut [Option<&'static OperandSpec>; 8]) -> Option<(Role, Operand)> {
        let masks = specs.iter().flatten().filter(|spec| spec.ty.elem == Elem::Mask).count();
        let offset = self.modifiers.iter().any(|modifier| modifier.name == Name::Offset);
        let left_out = |spec: &OperandSpec| match (self.form.encoding, spec.role) {
            // In the short encodings it is always VCC.
            (Encoding::Vop2 | Encoding::Vopc, _) if masks == 1 && spec.ty.elem == Elem::Mask => {
                Some(Operand::Special { reg: Special::VccLo, dwords: 2 })
            }
            (Encoding::Smem, Role::Offset) if !offset => Some(Operand::Imm(0)),
            (_, Role::Simm16) if self.has(Flag::Endpgm) => Some(Operand::Imm(0)),
            _ => None,
        };
        let mut written = specs.iter().enumerate().filter_map(|(index, spec)| Some((index, (*spec)?)));
        let (index, role, operand) =
            written.find_map(|(index, spec)| Some((index, spec.role, left_out(spec)?)))?;
        specs[index..].rotate_left(1);
        Some((role, operand))
    }

    /// The operand that `argument` becomes for `spec`; `None` if it is encoded elsewhere. `fixup`
    /// is set to the field that a symbol decides, if any.
    fn operand(
        &self,
        spec: &'static OperandSpec,
        argument: &Argument,
        in_field: bool,
        fixup: &mut Option<Field>,
    ) -> Result<Option<Operand>, Fail> {
        if self.form.encoding == Encoding::Exp && spec.role != Role::Tgt {
            return Ok(None);
        }
        let (abs, neg) = (argument.abs && !in_field, argument.neg && !in_field);
        let misfit = |fault| report::misfit(self, spec, argument, fault);
        let operand = match &argument.value {
            Value::Operand(Operand::Special { reg, .. })
                if reg.code() > Special::M0.code() && reg.is_pair() =>
            {
                // Hardware values are as wide as the operand.
                let dwords = spec.ty.dwords().max(1);
                let named = matches!(reg, Special::ExecLo);
                match (&argument.value, named) {
                    (Value::Operand(operand), true) => *operand,
                    _ => Operand::Special { reg: *reg, dwords },
                }
            }
            // The word has only the first VGPR of the address, and the row's tuple may be a single
            // VGPR: the rule for odd numbers is for the tuple in the text.
            Value::Operand(Operand::Vgpr { first, dwords })
                if self.form.encoding == Encoding::Mimg
                    && spec.role == Role::Vaddr
                    && !(first % 2 != 0 && *dwords > 1 && self.target.has_unified_vgprs())
                    && names_address(self.form.op.row(), spec.ty.dwords(), *dwords) =>
            {
                Operand::Vgpr { first: *first, dwords: spec.ty.dwords() }
            }
            Value::Operand(operand) => *operand,
            Value::Constant(value) | Value::Literal(value) if spec.ty.elem == Elem::Soffset => {
                report::scalar_offset(argument, *value, self.target)?
            }
            Value::Constant(value) if spec.role == Role::Literal => {
                constant::literal(self.form.op.row(), spec, *value, abs, neg).map_err(misfit)?
            }
            Value::Constant(value) => {
                let row = self.form.op.row();
                let sdwa = self.form.encoding.is_sdwa();
                constant::operand(row, spec, sdwa, *value, abs, neg).map_err(misfit)?
            }
            Value::Literal(value) => {
                constant::literal(self.form.op.row(), spec, *value, abs, neg).map_err(misfit)?
            }
            Value::Symbolic(_) => {
                let (kind, operand) = if spec.ty.elem == Elem::Branch {
                    (BRANCH, Operand::Imm(0))
                } else if spec.ty.elem.is_immediate() {
                    (HALF, Operand::Imm(0))
                } else if spec.ty.bits() != 32 && spec.role.source().is_some() {
                    return Err(report::symbol_of_other_width(argument, spec.ty.bits()));
                } else {
                    let at = if self.form.encoding == Encoding::Vop2Literal {
                        4
                    } else {
                        self.form.encoding.bytes()
                    };
                    let at = if spec.role == Role::Literal { 4 } else { at };
                    (literal(at), Operand::Literal(0))
                };
                *fixup = Some(kind);
                operand
            }
        };
        Ok(Some(operand))
    }

    /// Sets the bits for negation, absolute value and sign extension. Returns true if the form has
    /// fields for them. Other forms accept constants, with the change applied to their bits.
    fn source_modifiers(
        &self,
        spec: &'static OperandSpec,
        argument: &Argument,
        all: &mut Modifiers,
    ) -> Result<bool, Fail> {
        if !(argument.neg || argument.abs || argument.sext) {
            return Ok(false);
        }
        let row = self.form.op.row();
        let constant = matches!(argument.value, Value::Constant(_) | Value::Literal(_));
        let source = spec.role.source();
        let field = |id| {
            self.form.encoding.field(self.target, id).is_some_and(|field| self.form.used & field.mask() != 0)
        };
        let has_fields = match self.form.encoding {
            Encoding::Vop3p => self.has(Flag::Mix),
            Encoding::Mai | Encoding::MaiScaled => false,
            _ => field(FieldId::Neg) || field(FieldId::Src0Neg),
        };
        let float = source.is_some_and(|source| row.float_mods >> source & 1 != 0)
            && has_sign(spec, all.sdwa.is_some());
        // VOP3B has its second destination in place of VOP3A's absolute-value bits.
        let no_abs = has_fields && !field(FieldId::Abs) && !field(FieldId::Src0Abs) && !self.has(Flag::Mix);
        if argument.abs && no_abs {
            return Err(report::no_source_modifier(self, spec, argument));
        }
        if let Some(source) = source.filter(|_| has_fields && float && !argument.sext) {
            all.neg |= u8::from(argument.neg) << source;
            all.abs |= u8::from(argument.abs) << source;
            return Ok(true);
        }
        let integer = !spec.ty.elem.is_float();
        if let Some(source) = source.filter(|_| argument.sext && field(FieldId::Src0Sext) && integer) {
            all.sext |= 1 << source;
            return Ok(true);
        }
        let has = |wanted: &[Encoding]| row.encodings(self.target).any(|encoding| wanted.contains(&encoding));
        // Sign extension leaves an integer constant as it is, where any encoding has sign
        // extension.
        let extends = row.encodings(self.target).any(Encoding::is_sdwa) && integer && !float;
        let vector = has(&[Encoding::Vop3a, Encoding::Vop3b]);
        if constant && vector && if argument.sext { extends } else { float } {
            return Ok(false);
        }
        Err(report::no_source_modifier(self, spec, argument))
    }

    /// The values of an export: `off` for disabled components, two per register if compressed.
    fn exports(
        &self,
        mut builder: wavemill_isa::gcn::InstBuilder,
        all: &mut Modifiers,
    ) -> Result<wavemill_isa::gcn::InstBuilder, Fail> {
        let Some(export) = &mut all.export else { return Ok(builder) };
        let compressed = export.compr;
        let mut registers = [Operand::Vgpr { first: 0, dwords: 1 }; 4];
        for (index, argument) in self.arguments.iter().skip(1).take(4).enumerate() {
            match argument.value {
                Value::Operand(Operand::Off) => {}
                Value::Operand(register @ Operand::Vgpr { dwords: 1, .. }) => {
                    // If compressed, the first and the third operand hold two components each.
                    match (compressed, index) {
                        (false, _) => {
                            export.en |= 1 << index;
                            registers[index] = register;
                        }
                        (true, 0 | 2) => {
                            export.en |= 3 << index;
                            registers[index / 2] = register;
                        }
                        (true, _) => {}
                    }
                }
                _ => return Err(Diagnostic::new(argument.span.clone(), "expected a VGPR or `off`")),
            }
        }
        for (role, register) in
            [Role::Vsrc0, Role::Vsrc1, Role::Vsrc2, Role::Vsrc3].into_iter().zip(registers)
        {
            builder = builder.operand(role, register);
        }
        Ok(builder)
    }

    /// The operand of the text with this role.
    pub(super) fn argument(&self, specs: &[Option<&'static OperandSpec>], role: Role) -> Option<&Argument> {
        let index = specs.iter().flatten().position(|spec| spec.role == role)?;
        self.arguments.get(index)
    }
}

/// The most VGPRs that a text may name as the address of an image instruction. How many it has
/// depends on the descriptor, and compilers name them all.
pub(super) fn most_of_address(row: &Row) -> u8 {
    // LLVM accepts four registers for every address.
    row.image_address().map_or(4, |address| address.most_registers().max(4))
}

/// Whether a text may name this many VGPRs as the address of an image instruction, which has `least`
/// at least. As in LLVM, up to 8 also stand for 5 to 7.
fn names_address(row: &Row, least: u8, named: u8) -> bool {
    let most = most_of_address(row);
    (least..=most).contains(&named) || named == 8 && (5..8).contains(&most)
}
