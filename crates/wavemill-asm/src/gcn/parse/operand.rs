//! Operands as written, before their position in an instruction is known.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Elem, Operand, OperandSpec};

use super::super::special;
use crate::diagnostic::{Diagnostic, Fail, Span};
use crate::syntax::{Cursor, Expression, Number, Symbols, expression, number, unary};

/// A number as an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Constant {
    /// An integer; values beyond 63 bits are in two's complement.
    Int(i64),
    /// A float.
    Float(f64),
}

/// The kind of an operand.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// A register, or a constant of the instruction word.
    Operand(Operand),
    /// A number whose encoding depends on the instruction.
    Constant(Constant),
    /// A number that must be a literal dword.
    Literal(Constant),
    /// A value that is known only when all symbols are.
    Symbolic(Expression),
}

/// An operand with its source modifiers.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Argument {
    pub(super) value: Value,
    pub(super) neg: bool,
    pub(super) abs: bool,
    pub(super) sext: bool,
    pub(super) span: Span,
}

/// Reads the next operand. `spec` is the row's operand at this position, which determines the
/// syntax of some operands.
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
            let message = "expected one sign; use `neg(...)` to change the sign of a negative number";
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

/// Reads one operand.
pub(super) struct Reader<'c, 't> {
    pub(super) cursor: &'c mut Cursor<'t>,
    pub(super) target: Target,
    pub(super) symbols: &'c dyn Symbols,
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
        // The distance to a label is not a literal, and neither are operands with named parts.
        let own_syntax = matches!(elem, Elem::Branch | Elem::Hwreg | Elem::Sendmsg | Elem::GprIdx);
        let literal = !own_syntax && self.function("lit");
        if elem == Elem::Branch {
            self.no_register()?;
        }
        let label = elem == Elem::Branch && self.is_plain_name();
        if !(literal || label) {
            self.no_value()?;
        }
        let expression = expression(self.cursor, self.symbols)?;
        if literal {
            self.cursor.expect(")")?;
        }
        let Some(value) = expression.value() else {
            if elem == Elem::Branch && !matches!(expression, Expression::Symbol { .. } | Expression::Here) {
                let span = start..self.cursor.end();
                let message = "expected a label or a distance in dwords, found an expression with symbols";
                return Err(Diagnostic::new(span, message)
                    .note("define a label at the address, and branch to the label"));
            }
            return Ok(Value::Symbolic(expression));
        };
        // Signed fields accept the same bits as an unsigned number.
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

    /// Reads an operand with or without a negation.
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
                    return Err(Diagnostic::new(
                        start..self.cursor.end(),
                        "an operand can be negated only once",
                    ));
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
            let mut argument: Argument = match self.plain()? {
                // The same as between bars.
                Value::Literal(value) => Value::Constant(value).into(),
                value => value.into(),
            };
            self.cursor.expect(")")?;
            argument.sext = true;
            return Ok(argument);
        }
        self.absolute()
    }

    /// Whether `--` comes next.
    fn two_signs(&mut self) -> bool {
        let start = self.cursor.at();
        let two = self.cursor.eat("-") && self.cursor.peek() == Some(b'-');
        self.cursor.go_to(start);
        two
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
            // LLVM accepts the value but ignores `lit` here.
            None if close == "|" && self.function("lit") => {
                let value = Value::Constant(self.known()?);
                self.cursor.expect(")")?;
                value
            }
            None => Value::Constant(self.constant()?),
        };
        self.cursor.expect(close)?;
        Ok(Argument { abs: true, ..value.into() })
    }

    /// A signed or unsigned float, or an integer. Within bars, a bar ends the operand and is not an
    /// operator, except in parentheses.
    fn constant(&mut self) -> Result<Constant, Fail> {
        let start = self.cursor.at();
        let minus = self.cursor.eat("-");
        if let Some(Number::Float(value)) = number(self.cursor)? {
            return Ok(Constant::Float(if minus { -value } else { value }));
        }
        self.cursor.go_to(start);
        let named = !self.cursor.peek_name().is_empty();
        match unary(self.cursor, self.symbols) {
            Ok(Expression::Value(value)) => Ok(Constant::Int(value)),
            Ok(_) if !named => Err(self.cursor.expected("a number that is known here")),
            Err(fail) if self.cursor.at() != start => Err(fail),
            _ => {
                self.cursor.go_to(start);
                Err(self.cursor.expected("a register or a number"))
            }
        }
    }

    /// Fails if the operand begins with a register: a label with its name cannot be referenced.
    fn no_register(&mut self) -> Result<(), Fail> {
        let start = self.cursor.at();
        // `off` is not a register elsewhere.
        let register = self.register()?.is_some_and(|register| register != Operand::Off);
        let span = start..self.cursor.end();
        self.cursor.go_to(start);
        if !register {
            return Ok(());
        }
        let text = self.cursor.text();
        let name = text.get(span.clone()).unwrap_or_default();
        let before: Vec<&str> = text.get(..start).unwrap_or_default().split_whitespace().collect();
        let before = before.join(" ");
        let message = format!("expected a label or a distance in dwords, found the register `{name}`");
        Err(Diagnostic::new(span, message)
            .note(format!("quote a label that is named like a register: {before} \"{name}\"")))
    }

    /// Whether the next name is `lit` or `lit64` without parentheses, which can be a label.
    fn is_plain_name(&mut self) -> bool {
        let start = self.cursor.at();
        let literal = matches!(self.cursor.name(), "lit" | "lit64");
        let plain = literal && self.cursor.peek() != Some(b'(');
        self.cursor.go_to(start);
        plain
    }

    /// Fails for names that LLVM does not accept as symbols in operands.
    fn no_value(&mut self) -> Result<(), Fail> {
        let name = self.cursor.peek_name();
        let message = match name {
            "lit" => "expected a number: only operands that can be literals accept `lit(...)`".to_owned(),
            "lit64" => "literals have 32 bits here: `lit64` is for later processors".to_owned(),
            // Trap handlers have them before gfx9.
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
            .note("a symbol without `lit` is a literal too")),
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
            let message = "literals have 32 bits here: `lit64` is for later processors";
            return Err(Diagnostic::new(start..start + "lit64".len(), message)
                .note("`lit(...)` makes a 32-bit literal; a plain number becomes one where it must")
                .replace_with("lit"));
        }
        self.no_value()?;
        // The negation of such a name is not a value either.
        if self.cursor.eat("-") {
            self.no_value()?;
            self.cursor.go_to(start);
        }
        // A float is a complete operand; an integer may begin an expression.
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
}
