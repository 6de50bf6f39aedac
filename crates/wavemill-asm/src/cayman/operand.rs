//! Operands: registers, sources, windows of constants.

use wavemill_isa::cayman::{CHANNELS, FieldId, Inline, Source, SourceField, WindowFields};

use super::parse::Line;
use super::syntax::{INLINE, LINE, QUEUES};
use crate::diagnostic::{Diagnostic, Fail, Span};

impl Line<'_, '_> {
    /// `CB0:0-32`: bank, first constant, and the end of the range.
    pub(super) fn window(&mut self, fields: &WindowFields) -> Result<(), Fail> {
        let &WindowFields { bank, mode, line, .. } = fields;
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        let Some(number) = name.strip_prefix("CB").and_then(|number| number.parse().ok()) else {
            self.cursor.go_to(start);
            return Err(self.cursor.expected("a constant buffer such as `CB0`"));
        };
        self.set(bank, number, span)?;
        self.cursor.expect(":")?;
        let at = self.cursor.at();
        let first = self.decimal()?;
        self.cursor.expect("-")?;
        let end = self.decimal()?;
        let span = at..self.cursor.end();
        let lines = end.checked_sub(first).map(|constants| constants / LINE);
        match lines {
            Some(lines @ 1..=2) if first % LINE == 0 && end % LINE == 0 => {
                self.set(line, first / LINE, span.clone())?;
                self.set(mode, lines, span)
            }
            _ => Err(Diagnostic::new(
                span,
                format!("expected one or two lines of {LINE} constants, such as 0-{}", 2 * LINE),
            )),
        }
    }

    pub(super) fn decimal(&mut self) -> Result<u32, Fail> {
        let rest = self.cursor.rest();
        let length = rest.bytes().take_while(u8::is_ascii_digit).count();
        let Some(number) = rest.get(..length).and_then(|digits| digits.parse().ok()) else {
            return Err(self.cursor.expected("a number"));
        };
        let at = self.cursor.at();
        self.cursor.go_to(at + length);
        Ok(number)
    }

    /// `T2.XY`: a register and the letters after it, with their position.
    pub(super) fn register(&mut self) -> Result<(u32, String, Span), Fail> {
        let start = self.cursor.at();
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        let (register, channels) = name.split_once('.').unwrap_or((name, ""));
        match register.strip_prefix('T').and_then(|number| number.parse::<u32>().ok()) {
            Some(number @ 0..128) => {
                self.registers = self.registers.max(number as u16 + 1);
                // Names may contain `?` and digits, so all letters have been read.
                Ok((number, channels.to_owned(), span))
            }
            Some(number) => {
                Err(Diagnostic::new(span, format!("expected a register from T0 to T127, found T{number}")))
            }
            None => {
                self.cursor.go_to(start);
                Err(self.cursor.expected("a register such as `T0.X`"))
            }
        }
    }

    /// A register with one channel.
    pub(super) fn channel(&mut self, register: FieldId, channel: FieldId) -> Result<(), Fail> {
        let (number, letters, span) = self.register()?;
        let Some(found) = channel_of(&letters) else {
            return Err(Diagnostic::new(span, "expected a channel after the register: .X, .Y, .Z or .W"));
        };
        self.set(register, number, span.clone())?;
        self.set(channel, found, span)
    }

    pub(super) fn source(&mut self, field: &SourceField) -> Result<(), Fail> {
        let start = self.cursor.at();
        // `-1` has its own constant.
        let minus_one = self
            .cursor
            .rest()
            .strip_prefix("-1")
            .is_some_and(|rest| !rest.starts_with(|c: char| c == '.' || c.is_ascii_alphanumeric()));
        if !minus_one && self.cursor.eat("-") {
            self.set(field.negate, 1, start..self.cursor.end())?;
        }
        let at = self.cursor.at();
        let bars = self.cursor.eat("|");
        if bars {
            match field.absolute {
                Some(absolute) => self.set(absolute, 1, at..at + 1)?,
                None => {
                    let message = "the third source has no absolute value";
                    return Err(Diagnostic::new(at..at + 1, message));
                }
            }
        }
        let at = self.cursor.at();
        let source = self.source_value()?;
        let span = at..self.cursor.end();
        let Some((select, channel)) = source.code() else {
            return Err(Diagnostic::new(span, "there is no such source"));
        };
        self.set(field.select, select, span.clone())?;
        self.set(field.channel, channel, span)?;
        if bars { self.cursor.expect("|") } else { Ok(()) }
    }

    pub(super) fn source_value(&mut self) -> Result<Source, Fail> {
        const EXPECTED: &str = "a source such as `T0.X`, `KC0[2].Y`, `PV.Z`, `literal.x`, `OQAP`, `0.0`, `1.0`, `1`, `-1` or `0.5`";
        let start = self.cursor.at();
        let rest = self.cursor.rest();
        let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || b"-.".contains(byte)).count();
        if length > 0 {
            let constant = INLINE.iter().position(|text| rest.get(..length) == Some(text));
            let constant = constant.and_then(|index| Inline::ALL.get(index));
            return match constant {
                Some(constant) => {
                    self.cursor.go_to(start + length);
                    Ok(Source::Inline(*constant))
                }
                None => Err(self
                    .cursor
                    .expected(EXPECTED)
                    .note("other constants are literals: `literal.x`, with the number after the group")),
            };
        }
        let name = self.cursor.name();
        let span = start..self.cursor.end();
        if let Some(number) = QUEUES.iter().position(|queue| *queue == name) {
            return Ok(Source::Queue(number as u8 & 1, number >= 2));
        }
        if let Some(window) = name.strip_prefix("KC").and_then(|number| number.parse::<u8>().ok()) {
            self.cursor.expect("[")?;
            let number = self.decimal()?;
            self.cursor.expect("]")?;
            let at = self.cursor.at();
            let channel = channel_of(self.cursor.name().strip_prefix('.').unwrap_or_default());
            let span = start..self.cursor.end();
            return match (channel, u8::try_from(number)) {
                (Some(channel), Ok(number @ 0..32)) if window < 4 => {
                    Ok(Source::Constant(window, number, channel as u8))
                }
                (None, _) => {
                    self.cursor.go_to(at);
                    Err(self.cursor.expected("a channel: .X, .Y, .Z or .W"))
                }
                _ => Err(Diagnostic::new(span, "expected a constant from KC0[0] to KC3[31]")),
            };
        }
        let (word, letters) = name.split_once('.').unwrap_or((name, ""));
        let channel = channel_of(letters).map(|channel| channel as u8);
        match (word, channel) {
            ("PV", Some(channel)) => return Ok(Source::PreviousVector(channel)),
            ("literal", _) if let Some(channel) = channel_of(&letters.to_ascii_uppercase()) => {
                return Ok(Source::Literal(channel as u8));
            }
            _ => {}
        }
        if let Some(select) = word.strip_prefix("SRC").and_then(|number| number.parse::<u16>().ok())
            && let Some(channel) = channel
        {
            return Ok(Source::Other(select, channel));
        }
        self.cursor.go_to(start);
        if word.starts_with('T') {
            let (number, letters, _) = self.register()?;
            return match channel_of(&letters) {
                Some(channel) => Ok(Source::Gpr(number as u8, channel as u8)),
                None => Err(Diagnostic::new(span, "expected a channel after the register: .X, .Y, .Z or .W")),
            };
        }
        Err(self.cursor.expected(EXPECTED))
    }
}

/// The channel for a letter.
fn channel_of(letter: &str) -> Option<u32> {
    let mut letters = letter.chars();
    let channel = letters.next().and_then(|first| CHANNELS.iter().position(|known| *known == first))?;
    letters.next().is_none().then_some(channel as u32)
}
