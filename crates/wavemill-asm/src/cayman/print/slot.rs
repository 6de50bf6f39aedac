//! Slots of ALU groups.

use wavemill_isa::cayman::{Elem, FieldId as F, Format, Inline, Inst, Source, SourceField};

use super::Printer;
use crate::cayman::field::with;
use crate::cayman::mnemonic::mnemonic;
use crate::cayman::syntax::{
    CHANNELS, CLAMP, EXEC, INDICES, MASK_OPS, MASKED, MOVA_RESULTS, OMODS, OTHER_INDEX, PARAMETERS, PRED,
    PREDICATES, QUEUES, SPECIAL, SWIZZLES,
};

/// A source without a channel of its own, by its code.
pub(in crate::cayman) fn special(select: u16) -> Option<&'static str> {
    SPECIAL.iter().find(|(code, _)| *code == select).map(|(_, name)| *name)
}

/// How the literals of a group are written.
#[derive(Clone, Copy)]
pub(super) enum Literals {
    /// Their values are sources, and the assembler gives them channels.
    Automatic([u32; 4]),
    /// Sources name their channel; the values stand after the slots.
    Written,
}

/// A source of a slot as texts have it: `-|r1.x|`, `kc0[2].z`.
pub(in crate::cayman) fn source_text(inst: &Inst, elem: Elem, field: &SourceField, source: Source) -> String {
    let mut printer = Printer::new(inst);
    printer.source(elem, field, source, Literals::Written);
    printer.out
}

impl Printer<'_> {
    /// `x: add r1.x, kc0[2].z, -|pv.w| mul:2`. The end of a group expresses LAST.
    pub(super) fn slot(&mut self, literals: Literals, swizzle: Option<u32>) {
        self.take(F::Last);
        let channel = CHANNELS[self.take(F::DstChan) as usize & 3];
        self.write(format_args!("{channel}: {}", mnemonic(self.inst.op())));
        let mut separator = " ";
        if self.result(channel) {
            separator = ", ";
        }
        let inst = *self.inst;
        for (elem, field, source) in inst.sources() {
            self.text(separator);
            separator = ", ";
            self.source(elem, field, source, literals);
        }
        if inst.format() == Format::Lds && inst.get(F::IdxOffset) != 0 {
            let offset = self.take(F::IdxOffset);
            self.write(format_args!(" offset:{offset}"));
        }
        self.modifiers(swizzle);
        self.fields();
    }

    /// The destination; whether the form has one.
    fn result(&mut self, channel: char) -> bool {
        let format = self.inst.format();
        if format == Format::Op2Mova {
            match MOVA_RESULTS.get(self.inst.get(F::MovaDst) as usize) {
                Some(name) => {
                    self.take(F::MovaDst);
                    self.write(format_args!(" {name}"));
                }
                None => self.write(format_args!(" {MASKED}")),
            }
            return true;
        }
        if format == Format::Lds || self.inst.row().result.is_none() {
            return false;
        }
        // Words with three sources have no write mask.
        if self.inst.field(F::WriteMask) == Some(0) {
            self.take(F::WriteMask);
            self.write(format_args!(" {MASKED}.{channel}"));
            return true;
        }
        let number = self.take(F::DstGpr);
        self.text(" ");
        if self.take(F::DstRel) != 0 {
            let index = self.index();
            self.write(format_args!("r[{index}+{number}].{channel}"));
        } else {
            self.write(format_args!("r{number}.{channel}"));
        }
        true
    }

    /// What is added to the number of a relative operand.
    fn index(&mut self) -> &'static str {
        let mode = self.inst.get(F::IndexMode);
        match INDICES.iter().find(|(code, _)| *code == mode) {
            Some((_, name)) => {
                self.take(F::IndexMode);
                name
            }
            None => OTHER_INDEX,
        }
    }

    fn source(&mut self, elem: Elem, field: &SourceField, source: Source, literals: Literals) {
        let has_absolute = field.absolute.is_some_and(|absolute| self.inst.bit(absolute));
        let is_negative = self.inst.bit(field.negate);
        let (select, channel) = source.code().unwrap_or_default();
        let is_number = matches!(source, Source::Inline(_))
            || matches!((source, literals), (Source::Literal(_), Literals::Automatic(_)));
        // `-1.0` is the constant 1.0 with a sign. Other numbers with a sign are literals.
        let is_signed = matches!(source, Source::Inline(Inline::One | Inline::Zero | Inline::Half));
        let takes_sign = is_signed && elem.is_float();
        self.said = with(self.said, field.select, select);
        // Sources without a channel leave it to a field by name.
        let shown_channel = match source {
            Source::Other(code, _) => special(code).is_none(),
            _ => true,
        };
        if shown_channel {
            self.said = with(self.said, field.channel, channel);
        }
        if is_negative {
            self.take(field.negate);
            self.text("-");
        }
        if let Some(absolute) = field.absolute.filter(|_| has_absolute) {
            self.take(absolute);
            self.text("|");
        }
        let parentheses = is_number && is_negative && !has_absolute && !takes_sign;
        if parentheses {
            self.text("(");
        }
        let text = self.source_value(elem, field, source, literals, is_negative && takes_sign);
        self.text(&text);
        if parentheses {
            self.text(")");
        }
        if has_absolute {
            self.text("|");
        }
    }

    fn source_value(
        &mut self,
        elem: Elem,
        field: &SourceField,
        source: Source,
        literals: Literals,
        signed: bool,
    ) -> String {
        let letter = |channel: u8| CHANNELS[usize::from(channel & 3)];
        let number = |printer: &mut Self, number: u8| {
            if printer.inst.bit(field.relative) {
                printer.take(field.relative);
                format!("[{}+{number}]", printer.index())
            } else {
                String::new()
            }
        };
        match source {
            Source::Gpr(register, channel) => match number(self, register) {
                relative if relative.is_empty() => format!("r{register}.{}", letter(channel)),
                relative => format!("r{relative}.{}", letter(channel)),
            },
            Source::Constant(window, constant, channel) => match number(self, constant) {
                relative if relative.is_empty() => format!("kc{window}[{constant}].{}", letter(channel)),
                relative => format!("kc{window}{relative}.{}", letter(channel)),
            },
            Source::Inline(constant) => inline(constant, signed).to_owned(),
            Source::Queue(queue, pops) => QUEUES[usize::from(queue & 1) + 2 * usize::from(pops)].to_owned(),
            Source::Literal(channel) => match literals {
                Literals::Automatic(values) => literal(values[usize::from(channel & 3)], elem),
                Literals::Written => format!("lit.{}", letter(channel)),
            },
            Source::PreviousVector(channel) => format!("pv.{}", letter(channel)),
            Source::Other(select, channel) => match special(select) {
                Some(name) => name.to_owned(),
                None if (PARAMETERS.0..=PARAMETERS.1).contains(&select) => {
                    format!("param{}.{}", select - PARAMETERS.0, letter(channel))
                }
                None => format!("src{select}.{}", letter(channel)),
            },
        }
    }

    fn modifiers(&mut self, swizzle: Option<u32>) {
        let omod = self.inst.get(F::Omod) as usize;
        if let Some((name, factor)) = omod.checked_sub(1).and_then(|index| OMODS.get(index)) {
            self.take(F::Omod);
            self.write(format_args!(" {name}:{factor}"));
        }
        if self.inst.bit(F::Clamp) {
            self.take(F::Clamp);
            self.write(format_args!(" {CLAMP}"));
        }
        // The search gives its swizzle to texts without one.
        let own = self.take(F::BankSwizzle);
        if swizzle != Some(own) {
            match SWIZZLES.get(own as usize) {
                Some(name) => self.write(format_args!(" bs:{name}")),
                None => self.write(format_args!(" {}:{own}", F::BankSwizzle.name())),
            }
        }
        let lanes = self.inst.get(F::PredSel);
        if let Some((_, name)) = PREDICATES.iter().find(|(code, _)| *code == lanes) {
            self.take(F::PredSel);
            self.write(format_args!(" {name}"));
        }
        if self.inst.bit(F::UpdateExecMask) {
            self.take(F::UpdateExecMask);
            self.write(format_args!(" {EXEC}"));
            // Only now has the word this field.
            let kind = self.take(F::ExecuteMaskOp) as usize;
            if kind != 0 {
                self.write(format_args!(":{}", MASK_OPS[kind & 3]));
            }
        }
        if self.inst.bit(F::UpdatePred) {
            self.take(F::UpdatePred);
            self.write(format_args!(" {PRED}"));
        }
    }
}

/// A constant with its own code. Only a signed zero needs a point.
pub(in crate::cayman) const fn inline(constant: Inline, signed: bool) -> &'static str {
    match constant {
        Inline::Zero if signed => "0.0",
        Inline::Zero => "0",
        Inline::One => "1.0",
        Inline::OneInt => "1",
        Inline::MinusOneInt => "-1",
        Inline::Half => "0.5",
    }
}

/// A literal as a source. Values that have their own code are marked: the text of a number alone
/// means the code.
pub(super) fn literal(bits: u32, elem: Elem) -> String {
    let text = number(bits, elem);
    if Inline::ALL.iter().any(|constant| constant.bits() == bits) { format!("lit({text})") } else { text }
}

/// A number: floats with a point, where this gives the same bits, others in hexadecimal digits.
pub(super) fn number(bits: u32, elem: Elem) -> String {
    let value = f32::from_bits(bits);
    if elem == Elem::F32 && value.is_normal() && (1e-6..1e9).contains(&value.abs()) {
        // The shortest digits that give the value again. `-1.0` means a constant with a sign.
        let text = format!("{value:?}");
        if !matches!(value.abs(), 0.5 | 1.0) && text.parse() == Ok(value) {
            return text;
        }
    }
    format!("{bits:#x}")
}
