//! Registers as written: `v12`, `s[4:7]`, `[s4, s5]`, `vcc_lo`.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Operand, Special};

use super::operand::Reader;
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Expression, continues_name, expression};

impl Reader<'_, '_> {
    /// Reads `v12` or `s[4:7]`, with plain decimal numbers and no blanks, as most operands are.
    /// Returns `None`, and reads nothing, for any other text, or for a register that does not
    /// exist.
    pub(super) fn simple_register(&mut self) -> Option<Operand> {
        let rest = self.cursor.rest();
        let bytes = rest.as_bytes();
        let file = match bytes.first()? {
            b'v' => File::Vgpr,
            b's' => File::Sgpr,
            b'a' if self.target.has_accvgprs() => File::Agpr,
            _ => return None,
        };
        // The value of the digits at `at`, and the offset after them. A leading 0 may mean octal.
        let number = |at: usize| {
            let digits = bytes.get(at..)?;
            let length = digits.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
            let plain = matches!((length, digits.first()), (1, _) | (2 | 3, Some(b'1'..=b'9')));
            let value = digits.iter().take(length).fold(0, |all, digit| 10 * all + i64::from(digit - b'0'));
            plain.then_some((value, at + length))
        };
        let (first, last, end) = if bytes.get(1) == Some(&b'[') {
            let (first, at) = number(2)?;
            let (last, at) = if bytes.get(at) == Some(&b':') { number(at + 1)? } else { (first, at) };
            if bytes.get(at) != Some(&b']') || last < first {
                return None;
            }
            (first, last, at + 1)
        } else {
            let (first, at) = number(1)?;
            if bytes.get(at).is_some_and(|&byte| continues_name(byte)) {
                return None;
            }
            (first, first, at)
        };
        let register = file.existing(first, last - first + 1)?;
        let start = self.cursor.at();
        self.cursor.go_to(start + end);
        Some(register)
    }

    /// A register or a tuple of registers; `Ok(None)` if none comes next.
    pub(super) fn register(&mut self) -> Result<Option<Operand>, Fail> {
        if self.cursor.peek() == Some(b'[') {
            return self.list().map(Some);
        }
        let name = self.cursor.peek_name();
        let Some(&first) = name.as_bytes().first() else { return Ok(None) };
        if matches!(first, b'v' | b's' | b'a' | b't')
            && let Some((file, digits)) = File::of(name)
        {
            let start = self.cursor.at();
            self.cursor.name();
            if !digits.is_empty() {
                let span = start..self.cursor.end();
                return match digits.parse() {
                    Ok(number) => file.tuple(number, 1, self.target, span).map(Some),
                    Err(_) => Err(file.beyond(span, name)),
                };
            }
            if self.cursor.peek() == Some(b'[') {
                return self.range(file, start).map(Some);
            }
            self.cursor.go_to(start);
        }
        let special = special_register(name);
        if special.is_some() {
            self.cursor.name();
        }
        Ok(special)
    }

    /// `[first:last]` or `[index]`, after the name of a register file.
    fn range(&mut self, file: File, start: usize) -> Result<Operand, Fail> {
        self.cursor.expect("[")?;
        let first = self.index()?;
        let last = if self.cursor.eat(":") { self.index()? } else { first };
        self.cursor.expect("]")?;
        let span = start..self.cursor.end();
        if last < first {
            let message = format!("expected the lower register first, found {first} before {last}");
            let fixed = format!("{}[{last}:{first}]", file.name());
            return Err(Diagnostic::new(span, message).replace_with(fixed));
        }
        file.tuple(first, last.saturating_sub(first).saturating_add(1), self.target, span)
    }

    fn index(&mut self) -> Result<i64, Fail> {
        let start = self.cursor.at();
        match expression(self.cursor, self.symbols)? {
            Expression::Value(value) => Ok(value),
            _ => Err(Diagnostic::new(
                start..self.cursor.end(),
                "expected the number of a register, found a symbol that has no value here",
            )
            .note("set it above with `.set name, number`")),
        }
    }

    /// `[s0, s1, s2]`: consecutive registers.
    fn list(&mut self) -> Result<Operand, Fail> {
        let start = self.cursor.at();
        self.cursor.expect("[")?;
        if let Some(pair) = self.halves()? {
            return Ok(pair);
        }
        let mut all: Option<(File, u8, u8)> = None;
        loop {
            let at = self.cursor.at();
            let found = self.register()?;
            let Some((file, first, 1)) = found.and_then(File::of_operand) else {
                self.cursor.go_to(at);
                return Err(self.cursor.expected("one register of a list such as `[s4, s5]`"));
            };
            all = match all {
                None => Some((file, first, 1)),
                Some((same, begin, count)) if same == file && begin.checked_add(count) == Some(first) => {
                    Some((file, begin, count + 1))
                }
                Some((same, begin, count)) => {
                    let next = u16::from(begin) + u16::from(count);
                    return Err(Diagnostic::new(
                        at..self.cursor.end(),
                        format!(
                            "expected {}{next}: the registers of a list must be consecutive",
                            same.name()
                        ),
                    ));
                }
            };
            if !self.cursor.eat(",") {
                break;
            }
        }
        self.cursor.expect("]")?;
        let span = start..self.cursor.end();
        match all {
            Some((file, first, count)) => file.tuple(first.into(), count.into(), self.target, span),
            None => Err(Diagnostic::new(span, "expected registers between `[` and `]`")),
        }
    }

    /// The halves of a special register, after the bracket of a list: `exec_lo, exec_hi]`. Returns
    /// `None`, and reads nothing, for any other text.
    fn halves(&mut self) -> Result<Option<Operand>, Fail> {
        let name = self.cursor.peek_name();
        let Some(base) = name.strip_suffix("_lo") else { return Ok(None) };
        let Some(reg) = Special::from_pair_name(base) else { return Ok(None) };
        self.cursor.name();
        self.cursor.expect(",")?;
        if self.cursor.peek_name().strip_suffix("_hi") != Some(base) {
            return Err(self.cursor.expected(&format!("{base}_hi")));
        }
        self.cursor.name();
        self.cursor.expect("]")?;
        Ok(Some(Operand::Special { reg, dwords: 2 }))
    }
}

/// A register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum File {
    Sgpr,
    Ttmp,
    Vgpr,
    Agpr,
}

impl File {
    /// The file that a name begins with, and the rest of the name, which must be digits only.
    pub(super) fn of(name: &str) -> Option<(File, &str)> {
        let (file, rest) = match name.as_bytes() {
            [b'v', ..] => (File::Vgpr, name.get(1..)?),
            [b's', ..] => (File::Sgpr, name.get(1..)?),
            [b'a', b'c', b'c', ..] => (File::Agpr, name.get(3..)?),
            [b'a', ..] => (File::Agpr, name.get(1..)?),
            [b't', b't', b'm', b'p', ..] => (File::Ttmp, name.get(4..)?),
            _ => return None,
        };
        rest.bytes().all(|byte| byte.is_ascii_digit()).then_some((file, rest))
    }

    fn of_operand(operand: Operand) -> Option<(File, u8, u8)> {
        Some(match operand {
            Operand::Sgpr { first, dwords } => (File::Sgpr, first, dwords),
            Operand::Ttmp { first, dwords } => (File::Ttmp, first, dwords),
            Operand::Vgpr { first, dwords } => (File::Vgpr, first, dwords),
            Operand::Agpr { first, dwords } => (File::Agpr, first, dwords),
            _ => return None,
        })
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            File::Sgpr => "s",
            File::Ttmp => "ttmp",
            File::Vgpr => "v",
            File::Agpr => "a",
        }
    }

    /// How many registers an instruction can name.
    const fn size(self) -> i64 {
        match self {
            File::Sgpr => 102,
            File::Ttmp => 16,
            File::Vgpr | File::Agpr => 256,
        }
    }

    fn tuple(self, first: i64, dwords: i64, target: Target, span: Span) -> Result<Operand, Fail> {
        let (name, size) = (self.name(), self.size());
        if self == File::Agpr && !target.has_accvgprs() {
            let message = format!("{target} has no accumulation registers");
            return Err(Diagnostic::new(span, message).note("gfx908 and later have them"));
        }
        match self.existing(first, dwords) {
            Some(operand) => Ok(operand),
            None => {
                let within = (0..size).contains(&first);
                let found = if within { first.saturating_add(dwords.saturating_sub(1)) } else { first };
                Err(self.beyond(span, &format!("{name}{found}")))
            }
        }
    }

    /// The error for a register that does not exist.
    fn beyond(self, span: Span, found: &str) -> Fail {
        let (name, last) = (self.name(), self.size() - 1);
        Diagnostic::new(span, format!("expected {name}0 to {name}{last}, found {found}"))
    }

    /// The tuple, if all of it is in the file.
    fn existing(self, first: i64, dwords: i64) -> Option<Operand> {
        (first >= 0 && first.saturating_add(dwords) <= self.size()).then(|| self.operand(first, dwords))
    }

    /// A tuple that is in the file.
    fn operand(self, first: i64, dwords: i64) -> Operand {
        // Both fit: the files have at most 256 registers. No instruction accepts a tuple of all of
        // them.
        let first = first as u8;
        let dwords = u8::try_from(dwords).unwrap_or(u8::MAX);
        match self {
            File::Sgpr => Operand::Sgpr { first, dwords },
            File::Ttmp => Operand::Ttmp { first, dwords },
            File::Vgpr => Operand::Vgpr { first, dwords },
            File::Agpr => Operand::Agpr { first, dwords },
        }
    }
}

/// Named registers, and `off`.
pub(super) fn special_register(name: &str) -> Option<Operand> {
    if name == "off" {
        return Some(Operand::Off);
    }
    if let Some(reg) = Special::from_name(name) {
        return Some(Operand::Special { reg, dwords: 1 });
    }
    if let Some(reg) = Special::from_pair_name(name) {
        return Some(Operand::Special { reg, dwords: 2 });
    }
    // Hardware values have a long and a short name, and 32 or 64 bits as the instruction needs.
    let short = |reg: &&Special| reg.name().strip_prefix("src_") == Some(name);
    Special::ALL.iter().find(short).map(|&reg| Operand::Special { reg, dwords: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Cursor, NoSymbols};

    /// The fast path for simple registers agrees with the general path, up to the same offset.
    #[test]
    fn simple_registers_are_registers() {
        let numbers =
            ["", "0", "7", "00", "07", "08", "15", "101", "102", "103", "255", "256", "1000", "0x1"];
        let mut texts = Vec::new();
        for file in ["v", "s", "a", "acc", "ttmp", "x"] {
            for first in numbers {
                for behind in ["", ",", " , v1", ".l", "_x", "é", "|", ":"] {
                    texts.push(format!(" {file}{first}{behind}"));
                    texts.push(format!("{file}[{first}]{behind}"));
                    texts.push(format!("{file} [{first}]{behind}"));
                }
                for last in numbers {
                    texts.push(format!("{file}[{first}:{last}]"));
                    texts.push(format!("{file}[{first}:{last}"));
                    texts.push(format!("{file}[{first} :{last}], 1"));
                }
            }
        }
        let mut simple = 0;
        for target in [Target::Gfx900, Target::Gfx942] {
            for text in &texts {
                let mut cursor = Cursor::new(text);
                let mut reader = Reader { cursor: &mut cursor, target, symbols: &NoSymbols };
                let Some(register) = reader.simple_register() else {
                    assert_eq!(cursor.end(), 0, "{text}");
                    continue;
                };
                simple += 1;
                let end = cursor.end();
                let mut cursor = Cursor::new(text);
                let mut reader = Reader { cursor: &mut cursor, target, symbols: &NoSymbols };
                assert_eq!(reader.register(), Ok(Some(register)), "{text}");
                assert_eq!(cursor.end(), end, "{text}");
            }
        }
        assert!(simple > 400, "{simple} texts are simple registers");
    }
}
