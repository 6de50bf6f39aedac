//! Slots of ALU groups.

use wavemill_isa::cayman::{Elem, FieldId as F, Format, Inline, Source, SourceField};

use super::{Line, Value};
use crate::cayman::mnemonic::mnemonic;
use crate::cayman::syntax::{
    CHANNELS, CLAMP, END, EXEC, INDICES, LITERALS, MASK_OPS, MASKED, MOVA_RESULTS, OMODS, OTHER_INDEX,
    PARAMETERS, PRED, PREDICATES, QUEUES, SPECIAL, SWIZZLES,
};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Number, closest, number};

/// The sign of a float.
const SIGN: u32 = 1 << 31;
const SOURCES: &str = "a source such as `r0.x`, `kc0[2].y`, `pv.z`, `oqa.pop`, `lit.x` or a number";

/// Whether a channel and a colon come next: a slot.
pub(super) fn begins_slot(cursor: &mut Cursor<'_>) -> Option<usize> {
    let name = cursor.peek_name();
    let mut letters = name.chars();
    let channel = letters.next().and_then(|letter| CHANNELS.iter().position(|known| *known == letter))?;
    let start = cursor.at();
    cursor.go_to(start + name.len());
    let is_slot = letters.next().is_none() && cursor.peek() == Some(b':');
    cursor.go_to(start);
    is_slot.then_some(channel)
}

/// Whether a name and a colon come next: a label.
pub(super) fn begins_label(cursor: &mut Cursor<'_>) -> bool {
    let start = cursor.at();
    let is_label = !cursor.name().is_empty() && cursor.peek() == Some(b':');
    cursor.go_to(start);
    is_label
}

impl Line<'_, '_, '_> {
    /// The operands and modifiers of a slot in this channel, up to the end of the line, of the
    /// group or to the next slot.
    pub(super) fn slot(&mut self, channel: usize) -> Result<(), Fail> {
        let at = self.cursor.at();
        self.set(F::DstChan, channel as u32, at..at)?;
        let mut comma = self.result(channel)?;
        let count = self.inst.row().sources.len();
        for index in 0..count {
            if comma && !self.cursor.eat(",") {
                let name = mnemonic(self.inst.op());
                let found = if index == 0 { "none".to_owned() } else { index.to_string() };
                let at = self.cursor.at();
                let message = format!("expected {} of `{name}`, found {found}", sources(count));
                return Err(Diagnostic::new(at..at, message));
            }
            comma = true;
            self.source(index)?;
        }
        if self.cursor.peek() == Some(b',') {
            let name = mnemonic(self.inst.op());
            let at = self.cursor.at();
            let message = format!("expected {} of `{name}`, found more", sources(count));
            return Err(Diagnostic::new(at..at + 1, message));
        }
        while !self.is_slot_done() {
            self.modifier()?;
        }
        Ok(())
    }

    fn is_slot_done(&mut self) -> bool {
        self.cursor.is_done()
            || self.cursor.rest().starts_with(END)
            || self.cursor.peek_name() == LITERALS
            || begins_slot(self.cursor).is_some()
    }

    /// The destination; whether the form has one.
    fn result(&mut self, channel: usize) -> Result<bool, Fail> {
        let format = self.inst.format();
        if format == Format::Op2Mova {
            return self.index_result().map(|()| true);
        }
        if format == Format::Lds || self.inst.row().result.is_none() {
            return Ok(false);
        }
        let start = self.cursor.at();
        let name = self.cursor.peek_name();
        let own = CHANNELS[channel & 3];
        let letters_span;
        let letters;
        if let Some(rest) = name.strip_prefix(MASKED).filter(|rest| rest.is_empty() || rest.starts_with('.'))
        {
            self.cursor.name();
            let span = start..self.cursor.end();
            if self.inst.field(F::WriteMask).is_none() {
                let fail = Diagnostic::new(span, "expected a register, found `_`");
                return Err(fail.note(
                    "slots with three sources have no write mask; a register that the program does not \
                     have, such as r127, discards the result",
                ));
            }
            letters = rest.strip_prefix('.').unwrap_or("");
            letters_span = span.end - letters.len()..span.end;
            self.set(F::WriteMask, 0, span)?;
            if letters.is_empty() {
                return Ok(true);
            }
        } else {
            (letters, letters_span) = self.slot_register(F::DstGpr, F::DstRel)?;
        }
        if letters.chars().eq([own]) {
            return Ok(true);
        }
        let found = if letters.is_empty() { "none".to_owned() } else { format!("`{letters}`") };
        let message = format!("expected channel .{own}, the slot that writes it, found {found}");
        let fail = Diagnostic::new(letters_span.clone(), message);
        Err(if letters.is_empty() { fail } else { fail.replace_with(own.to_string()) })
    }

    /// `ar`, `cf_idx0`: what MOVA writes.
    fn index_result(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if name.len() == 1 && name.starts_with(MASKED) {
            return Ok(());
        }
        match MOVA_RESULTS.iter().position(|known| *known == name) {
            Some(code) => self.set(F::MovaDst, code as u32, span),
            None => {
                self.cursor.go_to(start);
                Err(self.cursor.expected(&format!("one of {}", MOVA_RESULTS.join(", "))))
            }
        }
    }

    /// `r5.x` or `r[ar+5].x`: its letters.
    fn slot_register(&mut self, register: F, relative: F) -> Result<(&str, Span), Fail> {
        let start = self.cursor.at();
        if !(self.cursor.eat_name("r") && self.cursor.eat("[")) {
            self.cursor.go_to(start);
            return self.register(register, None);
        }
        self.relative(relative)?;
        let at = self.cursor.at();
        let number = self.decimal("the number of a register")?;
        self.number_of_register(register, number, at..self.cursor.end())?;
        self.cursor.expect("]")?;
        let at = self.cursor.at();
        let name = self.cursor.name();
        Ok((name.strip_prefix('.').unwrap_or(""), at..self.cursor.end()))
    }

    /// `ar+`, in brackets. All relative operands of a slot have one index.
    fn relative(&mut self, id: F) -> Result<(), Fail> {
        let at = self.cursor.at();
        let name = self.cursor.name();
        let span = at..self.cursor.end();
        if name != OTHER_INDEX {
            let Some((mode, _)) = INDICES.iter().find(|(_, known)| *known == name) else {
                self.cursor.go_to(at);
                let names: Vec<&str> = INDICES.iter().map(|(_, name)| *name).collect();
                return Err(self.cursor.expected(&format!("an index: {}", names.join(", "))));
            };
            if self.set.contains(&F::IndexMode) {
                if self.inst.get(F::IndexMode) != *mode {
                    return Err(Diagnostic::new(
                        span,
                        format!("expected one index for all operands of a slot, found another, `{name}`"),
                    ));
                }
            } else {
                self.set(F::IndexMode, *mode, span.clone())?;
            }
        }
        self.set(id, 1, span)?;
        self.cursor.expect("+")
    }

    fn source(&mut self, index: usize) -> Result<(), Fail> {
        let field = &SourceField::ALL[index];
        let elem = self.inst.row().sources.get(index).copied().unwrap_or(Elem::B32);
        let start = self.cursor.at();
        // A sign belongs to the number behind it, unless there are parentheses or bars between
        // them.
        let sign = self.cursor.eat("-");
        let is_number =
            |line: &mut Self| line.cursor.peek().is_some_and(|byte| byte.is_ascii_digit() || byte == b'.');
        if sign && is_number(self) {
            self.cursor.go_to(start);
            return self.signed_number(index, field, elem);
        }
        if sign {
            self.modify(field.negate, start..start + 1)?;
        }
        let parentheses = sign && self.cursor.eat("(");
        let at = self.cursor.at();
        let bars = !parentheses && self.cursor.eat("|");
        if bars {
            match field.absolute.filter(|id| self.inst.field(*id).is_some()) {
                Some(absolute) => self.set(absolute, 1, at..at + 1)?,
                None => {
                    let message = "expected no absolute value here, found one";
                    let note = "slots with two sources have absolute values, LDS operations have none";
                    return Err(Diagnostic::new(at..at + 1, message).note(note));
                }
            }
        }
        self.source_value(index, field, elem)?;
        if bars {
            self.cursor.expect("|")?;
        }
        if parentheses { self.cursor.expect(")") } else { Ok(()) }
    }

    fn modify(&mut self, id: F, span: Span) -> Result<(), Fail> {
        if self.inst.field(id).is_none() {
            return Err(
                Diagnostic::new(span, "expected no sign here, found one").note("LDS operations have none")
            );
        }
        self.set(id, 1, span)
    }

    /// `-1.0`, which is a constant with a sign, or another number below zero. In a float's source,
    /// `-0` is `-0.0`.
    fn signed_number(&mut self, index: usize, field: &SourceField, elem: Elem) -> Result<(), Fail> {
        let start = self.cursor.at();
        self.cursor.eat("-");
        let value = number(self.cursor)?;
        let span = start..self.cursor.end();
        let value = match value {
            Some(Number::Int(0)) if elem.is_float() => Some(Number::Float(0.0)),
            value => value,
        };
        let bits = match value {
            Some(Number::Float(value)) => {
                let value = single(value, &span)?;
                let constant = Inline::ALL.into_iter().find(|constant| constant.bits() == value.to_bits());
                if let Some(constant) = constant
                    && elem.is_float()
                    && self.inst.field(field.negate).is_some()
                {
                    self.set(field.negate, 1, start..start + 1)?;
                    return self.plain(field, Source::Inline(constant), span);
                }
                (-value).to_bits()
            }
            Some(Number::Int(1)) => return self.plain(field, Source::Inline(Inline::MinusOneInt), span),
            Some(Number::Int(0)) => return self.plain(field, Source::Inline(Inline::Zero), span),
            Some(value) => bits(value, true, span.clone())?,
            None => return Err(Diagnostic::new(span, "expected a number of 32 bits")),
        };
        self.values.push(Value { source: index, bits, span });
        Ok(())
    }

    /// A source that has a code.
    fn plain(&mut self, field: &SourceField, source: Source, span: Span) -> Result<(), Fail> {
        let Some((select, channel)) = source.code() else {
            return Err(Diagnostic::new(span, format!("expected {SOURCES}")));
        };
        self.set(field.select, select, span.clone())?;
        // The channel of a source without one may stand by name.
        let has_channel = match source {
            Source::Inline(_) | Source::Queue(..) => false,
            Source::Other(code, _) => crate::cayman::print::special(code).is_none(),
            _ => true,
        };
        if has_channel { self.set(field.channel, channel, span) } else { Ok(()) }
    }

    fn source_value(&mut self, index: usize, field: &SourceField, elem: Elem) -> Result<(), Fail> {
        let start = self.cursor.at();
        let negative = self.cursor.eat("-");
        if let Some(value) = number(self.cursor)? {
            let span = start..self.cursor.end();
            let bits = source_bits(value, negative, elem, span.clone())?;
            return self.value(index, field, bits, span);
        }
        self.cursor.go_to(start);
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if name == "lit" && self.cursor.eat("(") {
            let at = self.cursor.at();
            let negative = self.cursor.eat("-");
            let Some(value) = number(self.cursor)? else {
                return Err(self.cursor.expected("the number of the literal"));
            };
            let bits = source_bits(value, negative, elem, at..self.cursor.end())?;
            self.cursor.expect(")")?;
            self.values.push(Value { source: index, bits, span: start..self.cursor.end() });
            return Ok(());
        }
        if let Some(number) = QUEUES.iter().position(|queue| *queue == name) {
            return self.plain(field, Source::Queue(number as u8 & 1, number >= 2), span);
        }
        if let Some((code, _)) = SPECIAL.iter().find(|(_, special)| *special == name) {
            return self.plain(field, Source::Other(*code, 0), span);
        }
        if let Some(window) = name.strip_prefix("kc").and_then(|number| number.parse::<u8>().ok()) {
            return self.constant(field, window, start);
        }
        if name == "r" || name.starts_with('r') && name[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.cursor.go_to(start);
            let (letters, letters_span) = self.slot_register(field.select, field.relative)?;
            let letters = letters.to_owned();
            let channel = self.channel(&letters, &letters_span)?;
            return self.set(field.channel, channel, letters_span);
        }
        if let Some(value) = self.symbols.absolute(name) {
            let bits = u32::try_from(value).or_else(|_| i32::try_from(value).map(|value| value as u32));
            let Ok(bits) = bits else {
                return Err(Diagnostic::new(span, format!("expected a number of 32 bits, found {value}")));
            };
            return self.value(index, field, bits, span);
        }
        let (word, letters) = name.split_once('.').unwrap_or((name, ""));
        let letters_span = span.end - letters.len()..span.end;
        let code = |prefix: &str| word.strip_prefix(prefix).and_then(|number| number.parse::<u16>().ok());
        let make: Option<fn(u8) -> Source> = match word {
            "pv" => Some(Source::PreviousVector),
            "lit" => Some(Source::Literal),
            _ => None,
        };
        if let Some(make) = make {
            let channel = self.channel(letters, &letters_span)?;
            return self.plain(field, make(channel as u8), span);
        }
        let last = PARAMETERS.1 - PARAMETERS.0;
        let other = match (code("param"), code("src")) {
            (Some(number), _) if number <= last => Some(PARAMETERS.0 + number),
            (Some(number), _) => {
                return Err(Diagnostic::new(
                    span,
                    format!("expected a parameter from 0 to {last}, found {number}"),
                ));
            }
            (_, Some(code)) if code < 512 => Some(code),
            (_, Some(code)) => {
                return Err(Diagnostic::new(span, format!("expected a code from 0 to 511, found {code}")));
            }
            _ => None,
        };
        if let Some(code) = other {
            let channel = self.channel(letters, &letters_span)?;
            return match Source::from_code(code.into(), channel) {
                source @ Source::Other(..) => self.plain(field, source, span),
                _ => Err(Diagnostic::new(
                    span,
                    format!("expected the name of the source with code {code}, found its code"),
                )),
            };
        }
        self.cursor.go_to(start);
        let fail = self.cursor.expected(SOURCES);
        let mut names: Vec<&str> = SPECIAL.iter().map(|(_, name)| *name).collect();
        names.extend(QUEUES);
        Err(match closest(name, &names)[..] {
            [one] => fail.note(format!("similar: {one}")),
            _ => fail,
        })
    }

    /// `[2].z` or `[al+2].z`, behind the name of a window.
    fn constant(&mut self, field: &SourceField, window: u8, start: usize) -> Result<(), Fail> {
        self.cursor.expect("[")?;
        if !self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.relative(field.relative)?;
        }
        let number = self.decimal("the number of a constant")?;
        self.cursor.expect("]")?;
        let at = self.cursor.at();
        let name = self.cursor.name();
        let letters_span = at..self.cursor.end();
        let channel = self.channel(name.strip_prefix('.').unwrap_or(""), &letters_span)?;
        let span = start..self.cursor.end();
        match u8::try_from(number) {
            Ok(number @ 0..32) if window < 4 => {
                self.plain(field, Source::Constant(window, number, channel as u8), span)
            }
            _ => Err(Diagnostic::new(span, "expected a constant from kc0[0] to kc3[31]")
                .note("a window has at most two lines of 16 constants")),
        }
    }

    /// A number: a constant with its own code, or a literal.
    fn value(&mut self, index: usize, field: &SourceField, bits: u32, span: Span) -> Result<(), Fail> {
        match Inline::ALL.into_iter().find(|constant| constant.bits() == bits) {
            Some(constant) => self.plain(field, Source::Inline(constant), span),
            None => {
                self.values.push(Value { source: index, bits, span });
                Ok(())
            }
        }
    }

    fn modifier(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        if self.cursor.eat("?") {
            let name = self.cursor.name();
            let span = start..self.cursor.end();
            return match PREDICATES.iter().find(|(_, known)| known.strip_prefix('?') == Some(name)) {
                Some((code, _)) => self.set(F::PredSel, *code, span),
                None => Err(Diagnostic::new(span, "expected `?p0` or `?p1`")),
            };
        }
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        match name {
            CLAMP => return self.set(F::Clamp, 1, span),
            PRED => return self.set(F::UpdatePred, 1, span),
            EXEC => return self.exec(span),
            _ => {}
        }
        if let Some((known, _)) = OMODS.iter().find(|(known, _)| *known == name) {
            self.cursor.expect(":")?;
            let (factor, factor_span) = self.letters();
            let code = OMODS.iter().position(|pair| *pair == (*known, factor));
            return match code {
                Some(code) if self.inst.field(F::Omod).is_some() => {
                    self.set(F::Omod, code as u32 + 1, start..self.cursor.end())
                }
                Some(_) => Err(Diagnostic::new(
                    span,
                    format!("expected no `{name}` here: the word has no field for it"),
                )),
                None => Err(Diagnostic::new(factor_span, "expected mul:2, mul:4 or div:2")),
            };
        }
        if name == "bs" {
            self.cursor.expect(":")?;
            let (order, order_span) = self.letters();
            return match SWIZZLES.iter().position(|known| *known == order) {
                Some(code) => self.set(F::BankSwizzle, code as u32, order_span),
                None => Err(Diagnostic::new(
                    order_span,
                    format!("expected one of {}, found `{order}`", SWIZZLES.join(", ")),
                )),
            };
        }
        self.cursor.go_to(start);
        self.field()
    }

    /// `exec`, or `exec:break`.
    fn exec(&mut self, span: Span) -> Result<(), Fail> {
        if self.inst.row().updates_masks() && self.inst.bit(F::Omod) {
            let message = "expected no output modifier beside `exec`, found one";
            return Err(Diagnostic::new(span, message).note("both use the same field"));
        }
        self.set(F::UpdateExecMask, 1, span)?;
        if !self.cursor.eat(":") {
            return Ok(());
        }
        let (kind, kind_span) = self.letters();
        match MASK_OPS.iter().position(|known| *known == kind && !kind.is_empty()) {
            Some(code) => self.set(F::ExecuteMaskOp, code as u32, kind_span),
            None => {
                let kinds = MASK_OPS[1..].join(", ");
                Err(Diagnostic::new(kind_span, format!("expected one of {kinds}, found `{kind}`")))
            }
        }
    }
}

/// A number of sources.
fn sources(count: usize) -> String {
    if count == 1 { "one source".to_owned() } else { format!("{count} sources") }
}

/// A number as a float of 32 bits, rounded to the nearest.
fn single(value: f64, span: &Span) -> Result<f32, Fail> {
    let single = value as f32;
    if single.is_finite() {
        return Ok(single);
    }
    let message = format!("expected a float of 32 bits, at most {:e}, found {value:e}", f32::MAX);
    Err(Diagnostic::new(span.clone(), message).note("infinity is 0x7f800000, and 0xff800000 with a sign"))
}

/// The bits of a number in a source of this type. A zero with a sign is a float in a float's source.
fn source_bits(value: Number, negative: bool, elem: Elem, span: Span) -> Result<u32, Fail> {
    match value {
        Number::Int(0) if negative && elem.is_float() => Ok(SIGN),
        value => bits(value, negative, span),
    }
}

/// The bits of a number.
pub(super) fn bits(value: Number, negative: bool, span: Span) -> Result<u32, Fail> {
    match (value, negative) {
        (Number::Float(value), _) => {
            let value = single(value, &span)?;
            Ok(if negative { -value } else { value }.to_bits())
        }
        (Number::Int(value), false) if value <= u64::from(u32::MAX) => Ok(value as u32),
        (Number::Int(value), true) if value <= 1 << 31 => Ok((value as u32).wrapping_neg()),
        (Number::Int(value), _) => {
            let sign = if negative { "-" } else { "" };
            Err(Diagnostic::new(span, format!("expected a number of 32 bits, found {sign}{value}")))
        }
    }
}
