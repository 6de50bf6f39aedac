//! Operands as they are written, before it is known where in an instruction they go.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Operand, OperandSpec, Special};

use super::super::special;
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Expression, Number, Symbols, continues_name, expression, number};

/// A number in an operand's place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    /// An integer; those of 64 bits are their two's complement.
    Int(i64),
    /// A float.
    Float(f64),
}

/// What an operand is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A register, or a constant of the instruction word.
    Operand(Operand),
    /// A number: how it is encoded depends on the instruction.
    Constant(Constant),
    /// A number that must be a literal dword.
    Literal(Constant),
    /// A value that is known only when all symbols are.
    Symbolic(Expression),
}

/// An operand with what is done to it on the way in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    pub(super) value: Value,
    pub(super) neg: bool,
    pub(super) abs: bool,
    pub(super) sext: bool,
    pub(super) span: Span,
}

/// Reads the operand that comes next. `spec` says what stands in its place in the row, which tells how to read operands
/// that have a syntax of their own.
pub(super) fn argument(
    cursor: &mut Cursor<'_>,
    spec: Option<&OperandSpec>,
    target: Target,
    symbols: &dyn Symbols,
) -> Result<Argument, Fail> {
    let start = cursor.at();
    let reader = &mut Reader { cursor, target, symbols };
    let mut argument = match spec {
        Some(spec) if spec.ty.elem.is_immediate() => reader.immediate(spec.ty.elem)?.into(),
        Some(spec) if spec.ty.elem.is_float() && spec.ty.count == 1 && reader.two_signs() => {
            let message = "expected one sign; `neg(...)` is what changes the sign of a negative number";
            return Err(Diagnostic::new(start..start + 1, message));
        }
        _ => reader.signed()?,
    };
    argument.span = start..cursor.end();
    Ok(argument)
}

impl From<Value> for Argument {
    fn from(value: Value) -> Argument {
        Argument { value, neg: false, abs: false, sext: false, span: 0..0 }
    }
}

struct Reader<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    target: Target,
    symbols: &'c dyn Symbols,
}

impl Reader<'_, '_> {
    /// A constant of the instruction word.
    fn immediate(&mut self, elem: Elem) -> Result<Value, Fail> {
        let start = self.cursor.at();
        let own = match elem {
            Elem::Waitcnt => special::parse_wait_counts(self.cursor, self.symbols)?,
            Elem::Hwreg => special::parse_hardware_register(self.cursor, self.target, self.symbols)?,
            Elem::Sendmsg => special::parse_message(self.cursor, self.symbols)?,
            Elem::GprIdx => special::parse_index_mode(self.cursor)?,
            Elem::ExpTgt => special::parse_export_target(self.cursor)?,
            Elem::InterpSlot => special::parse_interpolation_slot(self.cursor)?,
            Elem::Attr => {
                let attribute = special::parse_attribute(self.cursor)?;
                return Ok(Value::Operand(attribute));
            }
            _ => None,
        };
        if let Some(value) = own {
            return Ok(Value::Operand(Operand::Imm(value)));
        }
        // The distance to a label is no literal.
        let literal = elem != Elem::Branch && self.function("lit");
        if !literal {
            self.no_value()?;
        }
        let expression = expression(self.cursor, self.symbols)?;
        if literal {
            self.cursor.expect(")")?;
        }
        let Some(value) = expression.value() else {
            if elem == Elem::Branch && !matches!(expression, Expression::Symbol { .. } | Expression::Here) {
                let span = start..self.cursor.end();
                let message = "expected a label or a distance in dwords, found an expression over symbols";
                return Err(Diagnostic::new(span, message)
                    .note("a label of its own at the place makes it possible to go there"));
            }
            return Ok(Value::Symbolic(expression));
        };
        // Signed fields take the same bits written without sign.
        let signed = matches!(elem, Elem::Simm16 | Elem::Branch);
        let low = if signed { -0x8000 } else { 0 };
        if !(low..=0xFFFF).contains(&value) {
            let span = start..self.cursor.end();
            let message = format!("expected a number from {low} to 65535, found {value}");
            return Err(Diagnostic::new(span, message));
        }
        let value = if signed { i64::from(value as i16) } else { value };
        Ok(Value::Operand(Operand::Imm(value as i32)))
    }

    /// An operand with or without a negation in front of it.
    fn signed(&mut self) -> Result<Argument, Fail> {
        if let Some(register) = self.simple_register() {
            return Ok(Value::Operand(register).into());
        }
        if self.cursor.peek() == Some(b'-') {
            let start = self.cursor.at();
            self.cursor.go_to(start + 1);
            // The sign of a number or an expression is part of it.
            let register = self.cursor.peek() == Some(b'|')
                || matches!(self.cursor.peek_name(), "abs" | "neg")
                || self.cursor.peek() != Some(b'-') && self.register()?.is_some();
            self.cursor.go_to(start + 1);
            if register {
                let mut argument = self.absolute()?;
                if argument.neg || argument.sext {
                    return Err(Diagnostic::new(start..self.cursor.end(), "an operand is negated once only"));
                }
                argument.neg = true;
                return Ok(argument);
            }
            self.cursor.go_to(start);
        }
        if self.function("neg") {
            let mut argument = self.absolute()?;
            self.cursor.expect(")")?;
            argument.neg = true;
            return Ok(argument);
        }
        if self.function("sext") {
            let mut argument: Argument = self.plain()?.into();
            self.cursor.expect(")")?;
            argument.sext = true;
            return Ok(argument);
        }
        self.absolute()
    }

    /// Reads `-(` if it comes next.
    fn negated_parenthesis(&mut self) -> bool {
        let start = self.cursor.at();
        let found = self.cursor.eat("-") && self.cursor.eat("(");
        if !found {
            self.cursor.go_to(start);
        }
        found
    }

    /// Whether `--` comes next.
    fn two_signs(&mut self) -> bool {
        let start = self.cursor.at();
        let two = self.cursor.eat("-") && self.cursor.peek() == Some(b'-');
        self.cursor.go_to(start);
        two
    }

    /// The halves of a special register, behind the bracket of a list: `exec_lo, exec_hi]`. `None`, with nothing read, if
    /// something else comes.
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

    /// Reads `name(` if it comes next.
    fn function(&mut self, name: &str) -> bool {
        if self.cursor.peek() != name.bytes().next() {
            return false;
        }
        let at = self.cursor.at();
        let found = self.cursor.eat_name(name) && self.cursor.eat("(");
        if !found {
            self.cursor.go_to(at);
        }
        found
    }

    fn absolute(&mut self) -> Result<Argument, Fail> {
        let close = if self.cursor.eat("|") {
            "|"
        } else if self.function("abs") {
            ")"
        } else {
            return Ok(self.plain()?.into());
        };
        let value = match self.register()? {
            Some(register) => Value::Operand(register),
            None if close == ")" => self.plain()?,
            // LLVM takes the value and forgets that it is to be a literal, if one of the instruction has it, too.
            None if close == "|" && self.function("lit") => {
                let value = Value::Constant(self.known()?);
                self.cursor.expect(")")?;
                value
            }
            // Within bars, a bar ends the operand and is no operator, unless it stands in parentheses.
            None if self.cursor.eat("(") => {
                let value = expression(self.cursor, self.symbols)?;
                self.cursor.expect(")")?;
                match value {
                    Expression::Value(value) => Value::Constant(Constant::Int(value)),
                    _ => return Err(self.cursor.expected("a number that is known here")),
                }
            }
            None if close == "|" && self.negated_parenthesis() => {
                let value = expression(self.cursor, self.symbols)?;
                self.cursor.expect(")")?;
                match value {
                    Expression::Value(value) => Value::Constant(Constant::Int(value.wrapping_neg())),
                    _ => return Err(self.cursor.expected("a number that is known here")),
                }
            }
            None => Value::Constant(self.constant()?),
        };
        self.cursor.expect(close)?;
        Ok(Argument { abs: true, ..value.into() })
    }

    /// A number with a sign.
    fn constant(&mut self) -> Result<Constant, Fail> {
        let minus = self.cursor.eat("-");
        match number(self.cursor)? {
            Some(Number::Int(value)) if minus => Ok(Constant::Int((value as i64).wrapping_neg())),
            Some(Number::Int(value)) => Ok(Constant::Int(value as i64)),
            Some(Number::Float(value)) => Ok(Constant::Float(if minus { -value } else { value })),
            None => {
                let name = self.cursor.peek_name();
                match self.symbols.absolute(name) {
                    Some(value) if !name.is_empty() => {
                        self.cursor.name();
                        Ok(Constant::Int(if minus { value.wrapping_neg() } else { value }))
                    }
                    _ => Err(self.cursor.expected("a register or a number")),
                }
            }
        }
    }

    /// Fails for names that LLVM takes for no symbol where an operand stands.
    fn no_value(&mut self) -> Result<(), Fail> {
        let name = self.cursor.peek_name();
        let message = match name {
            "lit" => "expected a number between `(` and `)` behind `lit`".to_owned(),
            "lit64" => "literals have 32 bits here: `lit64` is for later processors".to_owned(),
            // Handlers of traps have them before gfx9.
            "tba" | "tba_lo" | "tba_hi" | "tma" | "tma_lo" | "tma_hi" => {
                format!("there is no register `{name}` on {}", self.target)
            }
            _ => return Ok(()),
        };
        let start = self.cursor.at();
        Err(Diagnostic::new(start..start + name.len(), message))
    }

    /// A float, or an expression whose value is known here.
    fn known(&mut self) -> Result<Constant, Fail> {
        let start = self.cursor.at();
        let minus = self.cursor.eat("-");
        if let Ok(Some(Number::Float(value))) = number(self.cursor) {
            return Ok(Constant::Float(if minus { -value } else { value }));
        }
        self.cursor.go_to(start);
        match expression(self.cursor, self.symbols)? {
            Expression::Value(value) => Ok(Constant::Int(value)),
            _ => Err(Diagnostic::new(
                start..self.cursor.end(),
                "expected a number for `lit`, found a symbol that has no value here",
            )
            .note("a symbol without `lit` around it is a literal anyway")),
        }
    }

    fn plain(&mut self) -> Result<Value, Fail> {
        if let Some(register) = self.register()? {
            return Ok(Value::Operand(register));
        }
        if self.function("lit") {
            let value = self.known()?;
            self.cursor.expect(")")?;
            return Ok(Value::Literal(value));
        }
        let start = self.cursor.at();
        if self.function("lit64") {
            let message = "`lit64` is of later families: a literal has 32 bits here";
            return Err(Diagnostic::new(start..start + "lit64".len(), message)
                .note("`lit(...)` makes a literal of 32 bits, and a number alone one where it has to be")
                .replace_with("lit"));
        }
        self.no_value()?;
        // A float stands alone; integers may begin an expression.
        if matches!(self.cursor.peek(), Some(b'0'..=b'9' | b'.' | b'-')) {
            let minus = self.cursor.eat("-");
            match number(self.cursor) {
                Ok(Some(Number::Float(value))) => {
                    return Ok(Value::Constant(Constant::Float(if minus { -value } else { value })));
                }
                Ok(Some(Number::Int(value))) if !minus && matches!(self.cursor.peek(), None | Some(b',')) => {
                    return Ok(Value::Constant(Constant::Int(value as i64)));
                }
                _ => {}
            }
            self.cursor.go_to(start);
        }
        match expression(self.cursor, self.symbols) {
            Ok(Expression::Value(value)) => Ok(Value::Constant(Constant::Int(value))),
            Ok(expression) => Ok(Value::Symbolic(expression)),
            Err(_) if self.cursor.at() == start => Err(self.cursor.expected("an operand")),
            Err(fail) => Err(fail),
        }
    }

    /// Reads `v12` or `s[4:7]`, plain decimal numbers without blanks, as most operands are. `None`, with nothing read, if
    /// anything else comes next, or a register that does not exist.
    fn simple_register(&mut self) -> Option<Operand> {
        let rest = self.cursor.rest();
        let bytes = rest.as_bytes();
        let file = match bytes.first()? {
            b'v' => File::Vgpr,
            b's' => File::Sgpr,
            b'a' if self.target.has_accvgprs() => File::Agpr,
            _ => return None,
        };
        // The digits from `at` on: their value, and the place behind them. A leading 0 may mean octal.
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
    fn register(&mut self) -> Result<Option<Operand>, Fail> {
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

    /// `[first:last]` or `[index]`, behind the name of a register file.
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

    /// `[s0, s1, s2]`: registers that follow one another.
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
                        format!("expected {}{next}: the registers of a list follow one another", same.name()),
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
    /// The file that a name begins with, and the rest of the name, which has digits only.
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

    /// There is no such register.
    fn beyond(self, span: Span, found: &str) -> Fail {
        let (name, last) = (self.name(), self.size() - 1);
        Diagnostic::new(span, format!("expected {name}0 to {name}{last}, found {found}"))
    }

    /// The tuple, if the file has all of it.
    fn existing(self, first: i64, dwords: i64) -> Option<Operand> {
        (first >= 0 && first.saturating_add(dwords) <= self.size()).then(|| self.operand(first, dwords))
    }

    /// A tuple that the file has.
    fn operand(self, first: i64, dwords: i64) -> Operand {
        // Both fit: the files have at most 256 registers. A tuple of all of them is none that an instruction takes.
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

/// Registers with names of their own, and `off`.
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
    // Values of the hardware have a long and a short name, and 32 or 64 bits as the instruction wants.
    let short = |reg: &&Special| reg.name().strip_prefix("src_") == Some(name);
    Special::ALL.iter().find(short).map(|&reg| Operand::Special { reg, dwords: 1 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::NoSymbols;

    /// What is read as a simple register is what is read otherwise, up to the same place.
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
