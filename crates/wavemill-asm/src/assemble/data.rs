//! Directives that put bytes into a section.

use wavemill_object::write::SectionFlags;

use super::{Assembler, Pending, PendingKind, leb128, line};
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, Number, expression, number};

/// `s_nop 0`: what code is aligned with.
const NOP: u32 = 0xBF80_0000;

impl Assembler<'_> {
    /// Directives for data and space; false for others.
    pub(super) fn data_directive(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        match name {
            ".byte" => self.integers(cursor, 1)?,
            ".short" | ".hword" | ".2byte" | ".half" => self.integers(cursor, 2)?,
            ".long" | ".int" | ".4byte" | ".word" => self.integers(cursor, 4)?,
            ".quad" | ".8byte" => self.integers(cursor, 8)?,
            ".octa" => self.octas(cursor)?,
            ".incbin" => self.binary_file(cursor)?,
            ".float" | ".single" => self.floats(cursor, |value| {
                let single = value as f32;
                (single.is_finite() || !value.is_finite()).then(|| single.to_le_bytes().to_vec())
            })?,
            ".double" => self.floats(cursor, |value| Some(value.to_le_bytes().to_vec()))?,
            ".ascii" => self.strings(cursor, false)?,
            ".asciz" | ".string" => self.strings(cursor, true)?,
            ".zero" | ".skip" | ".space" => self.space(cursor)?,
            ".fill" => self.fill(cursor)?,
            ".org" => self.org(cursor)?,
            ".uleb128" | ".sleb128" => self.leb128(cursor, name == ".sleb128")?,
            ".align" | ".balign" => self.align(cursor, false, 1)?,
            ".balignw" => self.align(cursor, false, 2)?,
            ".balignl" => self.align(cursor, false, 4)?,
            ".p2align" => self.align(cursor, true, 1)?,
            ".p2alignw" => self.align(cursor, true, 2)?,
            ".p2alignl" => self.align(cursor, true, 4)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn put(&mut self, cursor: &mut Cursor<'_>, start: usize, bytes: &[u8]) -> Result<(), Fail> {
        self.emit(bytes).map_err(|message| Diagnostic::new(start..cursor.end(), message))
    }

    fn integers(&mut self, cursor: &mut Cursor<'_>, size: u8) -> Result<(), Fail> {
        if cursor.is_done() {
            return Ok(());
        }
        loop {
            let start = cursor.at();
            let mut value = expression(cursor, &self.symbols)?;
            let span = start..cursor.end();
            let bytes = match value.value() {
                Some(number) => {
                    let bits = 8 * u32::from(size);
                    let fits = bits == 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&number);
                    if !fits {
                        let message = format!("the number does not fit into {bits} bits");
                        return Err(Diagnostic::new(span, message));
                    }
                    number.to_le_bytes()
                }
                None => {
                    self.symbols.resolve_numeric(&mut value);
                    self.pending.push(Pending {
                        section: self.current,
                        offset: self.offset(),
                        kind: PendingKind::Data(size),
                        expression: value,
                        place: self.place(cursor.text(), span),
                    });
                    [0; 8]
                }
            };
            self.put(cursor, start, bytes.get(..usize::from(size)).unwrap_or_default())?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    /// `.octa`: numbers of 16 bytes.
    fn octas(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        loop {
            let start = cursor.at();
            let (span, text) = cursor.token();
            let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
            let value = match hexadecimal {
                Some(digits) => u128::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            };
            let value = value.ok_or_else(|| cursor.expected("a number of 128 bits"))?;
            cursor.go_to(span.end);
            self.put(cursor, start, &value.to_le_bytes())?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    /// `.incbin "file", skipped, count`.
    fn binary_file(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let file = self.file_name(cursor)?;
        let named = start..cursor.end();
        let (mut skipped, mut count) = (0, None);
        if cursor.eat(",") {
            if cursor.peek() != Some(b',') {
                skipped = self.count(cursor, "a number of bytes to skip")?;
            }
            if cursor.eat(",") {
                count = Some(self.count(cursor, "a number of bytes")?);
            }
        }
        self.end(cursor)?;
        let bytes = (self.options.include)(&file).map_err(|message| Diagnostic::new(named, message))?.bytes;
        let rest = usize::try_from(skipped).ok().and_then(|skipped| bytes.get(skipped..)).unwrap_or_default();
        // What the file has not is not there, as for LLVM.
        let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX).min(rest.len());
        self.put(cursor, start, rest.get(..count).unwrap_or_default())
    }

    fn floats(
        &mut self,
        cursor: &mut Cursor<'_>,
        encode: impl Fn(f64) -> Option<Vec<u8>>,
    ) -> Result<(), Fail> {
        loop {
            let start = cursor.at();
            let minus = cursor.eat("-");
            let value = match number(cursor)? {
                Some(Number::Float(value)) => value,
                Some(Number::Int(value)) => value as f64,
                None => return Err(cursor.expected("a number")),
            };
            match encode(if minus { -value } else { value }) {
                Some(bytes) => self.put(cursor, start, &bytes)?,
                None => {
                    return Err(Diagnostic::new(
                        start..cursor.end(),
                        "the number is beyond floats of 32 bits",
                    ));
                }
            }
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    fn strings(&mut self, cursor: &mut Cursor<'_>, zero: bool) -> Result<(), Fail> {
        if cursor.is_done() {
            return Ok(());
        }
        loop {
            let start = cursor.at();
            let (mut bytes, length) =
                line::string(cursor.rest()).map_err(|message| Diagnostic::new(start..start + 1, message))?;
            cursor.go_to(start + length);
            if zero {
                bytes.push(0);
            }
            self.put(cursor, start, &bytes)?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    /// A number of bytes that is known here.
    fn count(&mut self, cursor: &mut Cursor<'_>, what: &str) -> Result<u64, Fail> {
        let start = cursor.at();
        let value = self.absolute(cursor)?;
        u64::try_from(value)
            .map_err(|_| Diagnostic::new(start..cursor.end(), format!("expected {what}, found {value}")))
    }

    fn space(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let count = self.count(cursor, "a number of bytes")?;
        let value = if cursor.eat(",") { self.absolute(cursor)? } else { 0 };
        self.end(cursor)?;
        self.emit_fill(count, value as u8).map_err(|message| Diagnostic::new(start..cursor.end(), message))
    }

    /// `.fill count, size, value`.
    fn fill(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let count = self.count(cursor, "a number of repetitions")?;
        let size = if cursor.eat(",") { self.count(cursor, "a size")? } else { 1 };
        let value = if cursor.eat(",") { self.absolute(cursor)? } else { 0 };
        self.end(cursor)?;
        let span = start..cursor.end();
        if size > 8 {
            return Err(Diagnostic::new(span, format!("expected a size from 0 to 8, found {size}")));
        }
        let total = count.checked_mul(size).filter(|total| *total <= super::section::LARGEST);
        let Some(total) = total else {
            return Err(Diagnostic::new(span, "the section would grow beyond 4 GiB"));
        };
        // The value has four bytes; what is longer is filled with zeros.
        let mut unit = [0; 8];
        for (byte, value) in unit.iter_mut().zip(value.to_le_bytes()).take(if size > 4 { 4 } else { 8 }) {
            *byte = value;
        }
        let unit = unit.get(..size as usize).unwrap_or_default();
        let same = unit.iter().all(|byte| unit.first() == Some(byte));
        if total > 0 {
            self.mark_line();
        }
        let result = if same {
            self.emit_fill(total, unit.first().copied().unwrap_or(0))
        } else {
            (0..count).try_for_each(|_| self.append(unit))
        };
        result.map_err(|message| Diagnostic::new(span, message))
    }

    fn org(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let mut place = expression(cursor, &self.symbols)?;
        let span = start..cursor.end();
        self.symbols.resolve_numeric(&mut place);
        let here = self.offset();
        let value = self.symbols.evaluate(&place, (self.current, here), &span)?;
        let target = match (&value.plus, &value.minus) {
            (None, None) => Some(value.constant),
            (Some(reference), None) => match self.symbols.place(reference.symbol) {
                Some((section, offset)) if section == self.current => Some(offset as i64 + value.constant),
                _ => None,
            },
            _ => self.symbols.number_of(&value),
        };
        let fill = if cursor.eat(",") { self.absolute(cursor)? } else { 0 };
        self.end(cursor)?;
        let target = target.and_then(|target| u64::try_from(target).ok());
        match target.and_then(|target| target.checked_sub(here)) {
            Some(count) => {
                self.emit_fill(count, fill as u8).map_err(|message| Diagnostic::new(span, message))
            }
            None => Err(Diagnostic::new(span, format!("expected a place of this section from {here:#x} on"))),
        }
    }

    fn leb128(&mut self, cursor: &mut Cursor<'_>, signed: bool) -> Result<(), Fail> {
        loop {
            let start = cursor.at();
            let mut value = expression(cursor, &self.symbols)?;
            let span = start..cursor.end();
            self.symbols.resolve_numeric(&mut value);
            let known = self.symbols.evaluate(&value, (self.current, self.offset()), &span);
            let Some(value) = known.ok().and_then(|known| self.symbols.number_of(&known)) else {
                let place = self.place(cursor.text(), span);
                self.number_for_later(value, signed, place)?;
                if !cursor.eat(",") {
                    return self.end(cursor);
                }
                continue;
            };
            let mut bytes = Vec::new();
            if signed {
                leb128::signed(&mut bytes, value);
            } else {
                leb128::unsigned(&mut bytes, value as u64);
            }
            self.put(cursor, start, &bytes)?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    /// `.p2align 8, fill, most`: `power` says that the first number is an exponent, `unit` how many bytes the fill has.
    fn align(&mut self, cursor: &mut Cursor<'_>, power: bool, unit: u64) -> Result<(), Fail> {
        let start = cursor.at();
        let value = self.count(cursor, "an alignment")?;
        let span = start..cursor.end();
        let align = match power {
            true => 1u64.checked_shl(value.min(64) as u32).unwrap_or(0),
            // An alignment to 0 bytes aligns nothing.
            false => value.max(1),
        };
        if !align.is_power_of_two() || align > 1 << 31 {
            let expected = if power { "an exponent from 0 to 31" } else { "a power of two up to 2147483648" };
            return Err(Diagnostic::new(span, format!("expected {expected}, found {value}")));
        }
        let (mut fill, mut most) = (None, u64::MAX);
        if cursor.eat(",") {
            if !matches!(cursor.peek(), None | Some(b',')) {
                fill = Some(self.absolute(cursor)?);
            }
            if cursor.eat(",") {
                most = self.count(cursor, "the most bytes to skip")?;
            }
        }
        self.end(cursor)?;
        let padding = self.offset().wrapping_neg() & (align - 1);
        self.section().align = self.section().align.max(align);
        if padding > most {
            return Ok(());
        }
        let code = self.section().flags.has(SectionFlags::EXECUTE);
        let bytes = match (fill, unit) {
            (None, _) if code => {
                // Words, behind what completes the last one.
                let odd = padding % 4;
                let mut bytes = vec![0; odd as usize];
                for _ in 0..padding / 4 {
                    bytes.extend(NOP.to_le_bytes());
                }
                bytes
            }
            (None, _) => return self.emit_fill(padding, 0).map_err(|message| Diagnostic::new(span, message)),
            (Some(value), 1) => {
                return self
                    .emit_fill(padding, value as u8)
                    .map_err(|message| Diagnostic::new(span, message));
            }
            (Some(value), unit) => {
                if !padding.is_multiple_of(unit) {
                    let message =
                        format!("{padding} bytes are to be skipped, which {unit} at a time cannot fill");
                    return Err(Diagnostic::new(span, message));
                }
                let pattern = value.to_le_bytes();
                let pattern = pattern.get(..unit as usize).unwrap_or_default();
                pattern.iter().copied().cycle().take(padding as usize).collect()
            }
        };
        self.append(&bytes).map_err(|message| Diagnostic::new(span, message))
    }
}
