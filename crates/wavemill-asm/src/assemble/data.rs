//! Directives that emit bytes into a section.

use wavemill_object::write::{MAX_ALIGN, SectionFlags};

use super::{Assembler, DataDirective, Pending, PendingKind, leb128};
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Expression, Number, expression, number};

/// The value of a float that has a name. LLVM sets all bits of a NaN.
fn no_number(name: &str) -> Option<f64> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("nan") {
        Some(f64::from_bits(0x7FFF_FFFF_FFFF_FFFF))
    } else {
        (is("inf") || is("infinity")).then_some(f64::INFINITY)
    }
}

/// The bytes of a 32-bit float, which `written` spells without its sign; `None` for numbers out of
/// range.
pub(super) fn single(value: f64, written: &str) -> Option<Vec<u8>> {
    // Via 64 bits, a decimal number would be rounded twice.
    let nearest = written.parse().map_or(value as f32, |nearest: f32| nearest.copysign(value as f32));
    match nearest {
        _ if value.is_nan() => {
            let sign = u32::from(value.is_sign_negative()) << 31;
            Some((sign | 0x7FFF_FFFF).to_le_bytes().to_vec())
        }
        single if single.is_finite() || !value.is_finite() => Some(single.to_le_bytes().to_vec()),
        _ => None,
    }
}

/// The bytes of a 64-bit float.
pub(super) fn double(value: f64, _written: &str) -> Option<Vec<u8>> {
    Some(value.to_le_bytes().to_vec())
}

/// The error for an address below the current one in its section.
pub(super) fn not_ahead(span: Span, here: u64) -> Fail {
    Diagnostic::new(span, format!("expected an address in this section, at or after {here:#x}"))
}

/// The error for a number that does not fit `bits`.
pub(super) fn does_not_fit(span: Span, number: i64, bits: u32) -> Fail {
    let half = 1i64 << (bits - 1);
    let message = format!("expected a number from {} to {}, found {number}", -half, 2 * half - 1);
    Diagnostic::new(span, message).note(format!("the field has {bits} bits"))
}

/// The number, if it fits this many bytes, signed or unsigned.
fn fitting(value: i64, bytes: u64, span: Span) -> Result<i64, Fail> {
    let bits = 8 * bytes.min(8) as u32;
    // Zero bytes lose nothing.
    let fits = matches!(bits, 0 | 64) || (-(1i64 << (bits - 1))..1i64 << bits).contains(&value);
    if fits { Ok(value) } else { Err(does_not_fit(span, value, bits)) }
}

/// Reads a float and returns its bytes.
pub(super) fn float(
    cursor: &mut Cursor<'_>,
    encode: impl Fn(f64, &str) -> Option<Vec<u8>>,
) -> Result<Vec<u8>, Fail> {
    let start = cursor.at();
    let minus = cursor.eat("-");
    let _ = !minus && cursor.eat("+");
    let digits = cursor.at();
    let value = match number(cursor)? {
        Some(Number::Float(value)) => value,
        // Floats are decimal after a 0, too.
        Some(Number::Int(_)) => {
            let text = cursor.text().get(digits..cursor.end()).unwrap_or_default();
            text.parse().map_err(|_| {
                Diagnostic::new(
                    digits..cursor.end(),
                    format!(
                        "expected a decimal number, or a hexadecimal one with an exponent, found `{text}`"
                    ),
                )
                .note("`0x10p0` is 16")
            })?
        }
        None => match no_number(cursor.peek_name()) {
            Some(value) => {
                cursor.name();
                value
            }
            None => return Err(cursor.expected("a number, `inf` or `nan`")),
        },
    };
    let written = cursor.text().get(digits..cursor.end()).unwrap_or_default();
    encode(if minus { -value } else { value }, written).ok_or_else(|| {
        Diagnostic::new(start..cursor.end(), "the number is out of range for floats of 32 bits")
    })
}

/// Reads a 128-bit number.
pub(super) fn octa(cursor: &mut Cursor<'_>) -> Result<u128, Fail> {
    let (span, text) = cursor.token();
    let lower = text.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', digits @ ..] => (16, digits),
        [b'0', b'b', digits @ ..] => (2, digits),
        [b'0', digits @ ..] if !digits.is_empty() => (8, digits),
        digits => (10, digits),
    };
    let all_digits = digits.iter().all(u8::is_ascii_alphanumeric);
    let value = std::str::from_utf8(digits).ok().filter(|_| all_digits);
    let value = value.and_then(|digits| u128::from_str_radix(digits, radix).ok());
    let value = value.ok_or_else(|| cursor.expected("a 128-bit number"))?;
    cursor.go_to(span.end);
    Ok(value)
}

/// The most repetitions of a value that only the end of the source determines: each waits on its
/// own.
const MOST_WAITING: u64 = 1 << 20;

/// How many bytes or units a directive emits.
enum Count {
    Known(i64),
    /// The number depends on later text; this reading uses this value.
    Later(u64),
}

impl Assembler<'_> {
    /// Handles directives for data and space; false for others.
    pub(super) fn data_directive(&mut self, name: &str, cursor: &mut Cursor<'_>) -> Result<bool, Fail> {
        if name == ".incbin" {
            self.binary_file(cursor)?;
            return Ok(true);
        }
        let Some(directive) = DataDirective::named(name) else { return Ok(false) };
        match directive {
            DataDirective::Integers(size) => self.integers(cursor, size)?,
            DataDirective::RepeatedIntegers(size) => self.repeated(cursor, size)?,
            DataDirective::Floats { double: false } => self.floats(cursor, single)?,
            DataDirective::Floats { double: true } => self.floats(cursor, double)?,
            DataDirective::RepeatedFloats { double: false } => self.repeated_floats(cursor, single)?,
            DataDirective::RepeatedFloats { double: true } => self.repeated_floats(cursor, double)?,
            DataDirective::Room(size) => self.room(cursor, size.into())?,
            DataDirective::Octas => self.octas(cursor)?,
            DataDirective::Leb128 { signed } => self.leb128(cursor, signed)?,
            DataDirective::Strings { zero } => self.strings(cursor, zero)?,
            DataDirective::Space => self.space(cursor)?,
            DataDirective::Fill => self.fill(cursor)?,
            DataDirective::Org => self.org(cursor)?,
            DataDirective::Align { power, unit } => self.align(cursor, power, unit.into())?,
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
            let value = expression(cursor, &self.symbols)?;
            let span = start..cursor.end();
            let bytes = match value.value() {
                Some(number) => {
                    let bits = 8 * u32::from(size);
                    let fits = bits == 64 || (-(1i64 << (bits - 1))..1i64 << bits).contains(&number);
                    if !fits {
                        return Err(does_not_fit(span, number, bits));
                    }
                    number.to_le_bytes()
                }
                None => {
                    let expression = self.symbols.bound(value);
                    let place = self.keep_place(cursor.text(), span);
                    self.pending.push(Pending {
                        section: self.sections.current,
                        offset: self.sections.offset(),
                        kind: PendingKind::Data(size),
                        expression,
                        place,
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

    /// `.octa`: 16-byte numbers.
    fn octas(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        if cursor.is_done() {
            return Ok(());
        }
        loop {
            let start = cursor.at();
            let value = octa(cursor)?;
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
        // A count beyond the end of the file is cut, as in LLVM.
        let count = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(usize::MAX).min(rest.len());
        self.put(cursor, start, rest.get(..count).unwrap_or_default())
    }

    fn floats(
        &mut self,
        cursor: &mut Cursor<'_>,
        encode: impl Fn(f64, &str) -> Option<Vec<u8>>,
    ) -> Result<(), Fail> {
        if cursor.is_done() {
            return Ok(());
        }
        loop {
            let start = cursor.at();
            let bytes = float(cursor, &encode)?;
            self.put(cursor, start, &bytes)?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    /// `.dcb.s count, value`.
    fn repeated_floats(
        &mut self,
        cursor: &mut Cursor<'_>,
        encode: impl Fn(f64, &str) -> Option<Vec<u8>>,
    ) -> Result<(), Fail> {
        let start = cursor.at();
        let count = self.count(cursor, "a number of repetitions")?;
        cursor.expect(",")?;
        let bytes = float(cursor, encode)?;
        self.end(cursor)?;
        if count > 0 {
            self.mark_line();
        }
        self.sections
            .append_fill(count, &bytes)
            .map_err(|message| Diagnostic::new(start..cursor.end(), message))
    }

    fn strings(&mut self, cursor: &mut Cursor<'_>, zero: bool) -> Result<(), Fail> {
        if cursor.is_done() {
            return Ok(());
        }
        loop {
            let start = cursor.at();
            let mut bytes = self.text(cursor)?;
            if zero {
                bytes.push(0);
            }
            // Adjacent strings are one string.
            while !zero && cursor.peek() == Some(b'"') {
                bytes.extend(self.text(cursor)?);
            }
            self.put(cursor, start, &bytes)?;
            if !cursor.eat(",") {
                return self.end(cursor);
            }
        }
    }

    /// A number known here that fits this many bytes, signed or unsigned.
    fn fitting(&mut self, cursor: &mut Cursor<'_>, bytes: u64) -> Result<i64, Fail> {
        let start = cursor.at();
        let value = self.absolute(cursor)?;
        fitting(value, bytes, start..cursor.end())
    }

    /// A number of bytes, known here.
    fn count(&mut self, cursor: &mut Cursor<'_>, what: &str) -> Result<u64, Fail> {
        let start = cursor.at();
        let value = self.absolute(cursor)?;
        u64::try_from(value)
            .map_err(|_| Diagnostic::new(start..cursor.end(), format!("expected {what}, found {value}")))
    }

    /// A number of bytes or units, which may depend on later text.
    fn count_or_later(&mut self, cursor: &mut Cursor<'_>) -> Result<Count, Fail> {
        let start = cursor.at();
        let mut value = expression(cursor, &self.symbols)?;
        let span = start..cursor.end();
        self.symbols.bind(&mut value);
        if !self.symbols.is_number(&value) {
            self.symbols.end_fragment(self.sections.current);
        }
        let known = self.symbols.evaluate(&value, (self.sections.current, self.sections.offset()), &span);
        match known.ok().and_then(|known| self.symbols.number_of(&known)) {
            Some(number) => Ok(Count::Known(number)),
            None => {
                let place = self.place(cursor.text(), span);
                Ok(Count::Later(self.repetitions_for_later(value, place)))
            }
        }
    }

    fn space(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let counted = self.count_or_later(cursor)?;
        let span = start..cursor.end();
        let value = if cursor.eat(",") { self.fitting(cursor, 1)? } else { 0 };
        self.end(cursor)?;
        if !self.options.distances.lay_out() {
            return Ok(());
        }
        let count = match counted {
            Count::Known(number) => u64::try_from(number)
                .map_err(|_| Diagnostic::new(span, format!("expected a number of bytes, found {number}")))?,
            Count::Later(count) => count,
        };
        self.sections
            .emit_fill(count, value as u8)
            .map_err(|message| Diagnostic::new(start..cursor.end(), message))
    }

    /// `.ds.w count`: zeros for `count` values.
    fn room(&mut self, cursor: &mut Cursor<'_>, size: u64) -> Result<(), Fail> {
        let start = cursor.at();
        let count = self.absolute(cursor)?;
        let span = start..cursor.end();
        self.end(cursor)?;
        let Ok(count) = u64::try_from(count) else {
            self.warn_here(
                cursor,
                span,
                format!("expected a number of values, found {count}: the directive has no effect"),
            );
            return Ok(());
        };
        self.sections
            .emit_fill(count.saturating_mul(size), 0)
            .map_err(|message| Diagnostic::new(start..cursor.end(), message))
    }

    /// `.dcb.w count, value`.
    fn repeated(&mut self, cursor: &mut Cursor<'_>, size: u8) -> Result<(), Fail> {
        let start = cursor.at();
        let count = self.count(cursor, "a number of repetitions")?;
        cursor.expect(",")?;
        let at = cursor.at();
        let value = expression(cursor, &self.symbols)?;
        let span = at..cursor.end();
        self.end(cursor)?;
        if count > 0 {
            self.mark_line();
        }
        let Some(value) = value.value() else {
            return self.repeated_later(count, size, value, cursor.text(), span);
        };
        let value = fitting(value, size.into(), span)?;
        let bytes = value.to_le_bytes();
        self.sections
            .append_fill(count, bytes.get(..usize::from(size)).unwrap_or_default())
            .map_err(|message| Diagnostic::new(start..cursor.end(), message))
    }

    /// Emits a repeated value that only the end of the source determines.
    fn repeated_later(
        &mut self,
        count: u64,
        size: u8,
        value: Expression,
        text: &str,
        span: Span,
    ) -> Result<(), Fail> {
        if count > MOST_WAITING {
            let message = format!(
                "expected at most {MOST_WAITING} repetitions of a value that is not known yet, found {count}"
            );
            return Err(Diagnostic::new(span, message));
        }
        // `.` is the address of the first repetition in all of them.
        let value = self.symbols.anchor(value, (self.sections.current, self.sections.offset()));
        let expression = self.symbols.bound(value);
        for _ in 0..count {
            let place = self.keep_place(text, span.clone());
            self.pending.push(Pending {
                section: self.sections.current,
                offset: self.sections.offset(),
                kind: PendingKind::Data(size),
                expression: expression.clone(),
                place,
            });
            let zeros = [0; 8];
            self.emit(zeros.get(..usize::from(size)).unwrap_or_default())
                .map_err(|message| Diagnostic::new(span.clone(), message))?;
        }
        Ok(())
    }

    /// Warns about a part of the current statement.
    fn warn_here(&mut self, cursor: &Cursor<'_>, span: Span, message: String) {
        self.warn(self.position.line, cursor.text(), *Diagnostic::new(span, message));
    }

    /// The size of the unit that `.fill` repeats, as in LLVM; `None` if there is nothing to repeat.
    fn fill_size(&mut self, cursor: &Cursor<'_>, size: i64, span: Span) -> Option<u64> {
        match u64::try_from(size) {
            Ok(size @ 0..=8) => Some(size),
            Ok(_) => {
                let message = format!("expected a size from 0 to 8, found {size}: using 8");
                self.warn_here(cursor, span, message);
                Some(8)
            }
            Err(_) => {
                let message =
                    format!("expected a size from 0 to 8, found {size}: the directive has no effect");
                self.warn_here(cursor, span, message);
                None
            }
        }
    }

    /// `.fill count, size, value`.
    fn fill(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let start = cursor.at();
        let counted = self.count_or_later(cursor)?;
        let count_span = start..cursor.end();
        let has_size = cursor.eat(",");
        let size_start = cursor.at();
        let size = if has_size { self.absolute(cursor)? } else { 1 };
        let size_span = size_start..cursor.end();
        let has_value = cursor.eat(",");
        let at = cursor.at();
        // The value has at most four bytes. Without a unit to repeat, any number is accepted.
        let bytes = u64::try_from(size).map_or(8, |size| size.min(4));
        let value = if has_value { self.fitting(cursor, bytes)? } else { 0 };
        self.end(cursor)?;
        let span = start..cursor.end();
        let Some(size) = self.fill_size(cursor, size, size_span) else { return Ok(()) };
        if !self.options.distances.lay_out() {
            return Ok(());
        }
        let count = match counted {
            Count::Known(number) => u64::try_from(number).unwrap_or_else(|_| {
                let message =
                    format!("expected a number of repetitions, found {number}: the directive has no effect");
                self.warn_here(cursor, count_span, message);
                0
            }),
            Count::Later(count) => count,
        };
        // LLVM repeats four bytes of a value where the count is known, and eight elsewhere.
        if matches!(counted, Count::Later(_)) && size > 4 && u32::try_from(value).is_err() {
            let message = format!("expected a value from 0 to 4294967295, found {value}");
            return Err(Diagnostic::new(at..cursor.end(), message)
                .note("the number of repetitions depends on later lines, so the value has only four bytes"));
        }
        let total = count.checked_mul(size).filter(|total| *total <= super::sections::LARGEST);
        let Some(total) = total else {
            return Err(Diagnostic::new(span, "the section would grow beyond 4 GiB"));
        };
        // The value has four bytes; a larger unit is filled with zeros.
        let mut unit = [0; 8];
        for (byte, value) in unit.iter_mut().zip(value.to_le_bytes()).take(if size > 4 { 4 } else { 8 }) {
            *byte = value;
        }
        let unit = unit.get(..size as usize).unwrap_or_default();
        let same = unit.iter().all(|byte| unit.first() == Some(byte));
        if total > 0 && matches!(counted, Count::Known(_)) {
            self.mark_line();
        }
        let result = if same {
            self.sections.emit_fill(total, unit.first().copied().unwrap_or(0))
        } else {
            self.sections.append_fill(count, unit)
        };
        result.map_err(|message| Diagnostic::new(span, message))
    }

    /// `.org place, fill`.
    fn org(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let (span, count) = self.room_up_to(cursor)?;
        let fill = if cursor.eat(",") { self.fitting(cursor, 1)? } else { 0 };
        self.end(cursor)?;
        self.sections.emit_fill(count, fill as u8).map_err(|message| Diagnostic::new(span, message))
    }

    /// `. = place`, after its `=`.
    pub(super) fn move_place(&mut self, cursor: &mut Cursor<'_>) -> Result<(), Fail> {
        let (span, count) = self.room_up_to(cursor)?;
        self.end(cursor)?;
        self.sections.emit_fill(count, 0).map_err(|message| Diagnostic::new(span, message))
    }

    /// Reads an address of this section, and counts the bytes up to it.
    fn room_up_to(&mut self, cursor: &mut Cursor<'_>) -> Result<(Span, u64), Fail> {
        let start = cursor.at();
        let mut place = expression(cursor, &self.symbols)?;
        let span = start..cursor.end();
        self.symbols.bind(&mut place);
        self.symbols.end_fragment(self.sections.current);
        if !self.options.distances.lay_out() {
            return Ok((span, 0));
        }
        let here = (self.sections.current, self.sections.offset());
        let value = self.symbols.evaluate(&place, here, &span);
        let Some(value) = value.ok().filter(|value| !self.symbols.waits(value)) else {
            let line = self.place(cursor.text(), span.clone());
            return Ok((span, self.room_for_later(place, line)));
        };
        let room = self.symbols.distance_to(&value, here).and_then(|room| u64::try_from(room).ok());
        room.map(|room| (span.clone(), room)).ok_or_else(|| not_ahead(span, here.1))
    }

    fn leb128(&mut self, cursor: &mut Cursor<'_>, signed: bool) -> Result<(), Fail> {
        if cursor.is_done() {
            return Ok(());
        }
        loop {
            let start = cursor.at();
            let mut value = expression(cursor, &self.symbols)?;
            let span = start..cursor.end();
            self.symbols.bind(&mut value);
            let here = (self.sections.current, self.sections.offset());
            if !matches!(self.symbols.number_while_reading(&value, here, &span), Ok(Ok(_))) {
                self.symbols.end_fragment(self.sections.current);
            }
            let known = self.symbols.evaluate(&value, here, &span);
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

    /// `.p2align 8, fill, most`. `power`: the first number is an exponent. `unit`: the size of the
    /// fill value in bytes.
    fn align(&mut self, cursor: &mut Cursor<'_>, power: bool, unit: u64) -> Result<(), Fail> {
        let start = cursor.at();
        if cursor.is_done() && power && unit == 1 {
            self.warn_here(
                cursor,
                0..start,
                "expected an alignment, found none: the directive has no effect".to_owned(),
            );
            return Ok(());
        }
        let value = self.count(cursor, "an alignment")?;
        let span = start..cursor.end();
        let align = match power {
            true => 1u64.checked_shl(value.min(64) as u32).unwrap_or(0),
            // An alignment to 0 bytes has no effect.
            false => value.max(1),
        };
        if !align.is_power_of_two() || align > MAX_ALIGN {
            let expected = match power {
                true => format!("an exponent from 0 to {}", MAX_ALIGN.ilog2()),
                false => format!("a power of two up to {MAX_ALIGN}"),
            };
            return Err(Diagnostic::new(span, format!("expected {expected}, found {value}")));
        }
        let (mut fill, mut most) = (None, u64::MAX);
        if cursor.eat(",") {
            if cursor.peek() != Some(b',') {
                fill = Some(self.fitting(cursor, unit)?);
            }
            if cursor.eat(",") {
                let at = cursor.at();
                most = self.count(cursor, "the maximum number of bytes to skip")?;
                if most == 0 {
                    let message = "expected a maximum of at least 1 byte to skip, found 0";
                    return Err(Diagnostic::new(at..cursor.end(), message));
                }
            }
        }
        self.end(cursor)?;
        self.symbols.end_fragment(self.sections.current);
        let padding = self.sections.offset().wrapping_neg() & (align - 1);
        self.sections.section().align = self.sections.section().align.max(align);
        if padding > most {
            return Ok(());
        }
        let code = self.sections.section().flags.has(SectionFlags::EXECUTE);
        let wrong = |message| Diagnostic::new(span.clone(), message);
        match (fill, unit) {
            (None, _) if code => {
                // Words, after bytes that complete the last word.
                self.sections.append_fill(padding % 4, &[0]).map_err(wrong)?;
                let filler = self.target.set.family().filler().to_le_bytes();
                self.sections.append_fill(padding / 4, &filler).map_err(wrong)
            }
            (None, _) => self.sections.emit_fill(padding, 0).map_err(wrong),
            (Some(value), 1) => self.sections.emit_fill(padding, value as u8).map_err(wrong),
            (Some(value), unit) => {
                if !padding.is_multiple_of(unit) {
                    let message = format!(
                        "the padding has {padding} bytes, which is not a multiple of the {unit}-byte fill value"
                    );
                    return Err(wrong(message));
                }
                let pattern = value.to_le_bytes();
                let pattern = pattern.get(..unit as usize).unwrap_or_default();
                self.sections.append_fill(padding / unit, pattern).map_err(wrong)
            }
        }
    }
}
