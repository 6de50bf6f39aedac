//! Expressions over numbers and symbols.

use super::cursor::Cursor;
use super::name::quoted_name;
use super::number::{self, Number, number};
use super::source_text;
use crate::diagnostic::{Diagnostic, Fail};

/// Prefix that marks `1f` and `1b` as the next and the last label `1:`, to distinguish them from
/// names.
pub(crate) const DIRECTIONAL: char = '\u{1}';

/// Symbols whose value is known while a text is parsed.
pub trait Symbols {
    /// The value of an absolute symbol that is already set. `None` for labels, for symbols that are
    /// set later, and for symbols that do not exist.
    fn absolute(&self, name: &str) -> Option<i64>;
}

/// No symbols at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSymbols;

impl Symbols for NoSymbols {
    fn absolute(&self, _name: &str) -> Option<i64> {
        None
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    /// `-`
    Minus,
    /// `~`
    Not,
    /// `!`
    LogicalNot,
}

/// Operators with two operands, as in GNU assemblers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    LogicalOr,
    LogicalAnd,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Add,
    Subtract,
    Or,
    OrNot,
    Xor,
    And,
    Multiply,
    Divide,
    Remainder,
    ShiftLeft,
    ShiftRight,
}

/// Operators by their text, longest first, with their precedence.
const OPERATORS: [(&str, Binary, u8); 20] = [
    ("||", Binary::LogicalOr, 1),
    ("&&", Binary::LogicalAnd, 2),
    ("==", Binary::Equal, 3),
    ("!=", Binary::NotEqual, 3),
    ("<>", Binary::NotEqual, 3),
    ("<<", Binary::ShiftLeft, 6),
    (">>", Binary::ShiftRight, 6),
    ("<=", Binary::LessOrEqual, 3),
    (">=", Binary::GreaterOrEqual, 3),
    ("<", Binary::Less, 3),
    (">", Binary::Greater, 3),
    ("+", Binary::Add, 4),
    ("-", Binary::Subtract, 4),
    ("|", Binary::Or, 5),
    ("!", Binary::OrNot, 5),
    ("^", Binary::Xor, 5),
    ("&", Binary::And, 5),
    ("*", Binary::Multiply, 6),
    ("/", Binary::Divide, 6),
    ("%", Binary::Remainder, 6),
];

/// The text of an operator; if there are two, the first.
pub(super) fn operator_text(operator: Binary) -> &'static str {
    OPERATORS.iter().find(|(_, other, _)| *other == operator).map_or("", |(text, ..)| text)
}

/// The bytes that operators begin with.
static BEGINS_OPERATOR: [bool; 256] = {
    let mut all = [false; 256];
    let mut index = 0;
    while index < OPERATORS.len() {
        all[OPERATORS[index].0.as_bytes()[0] as usize] = true;
        index += 1;
    }
    all
};

/// An expression. Whatever can be computed while parsing is computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    /// A number.
    Value(i64),
    /// A symbol, and the relocation that its text requests, such as `rel32@lo`.
    Symbol { name: Box<str>, relocation: Option<Box<str>> },
    /// `.`: the address of the statement.
    Here,
    /// An operator and its operand.
    Unary(Unary, Box<Expression>),
    /// An operator between two expressions.
    Binary(Binary, Box<(Expression, Expression)>),
    /// A function: `max(a, b)`.
    Call(Box<str>, Vec<Expression>),
}

/// How deep parentheses and signs may nest.
const DEPTH: u32 = 100;
/// The most operators of an expression that cannot be computed at once.
const MOST_OPERATORS: u32 = 200;

impl Unary {
    pub(crate) fn apply(self, value: i64) -> i64 {
        match self {
            Unary::Minus => value.wrapping_neg(),
            Unary::Not => !value,
            Unary::LogicalNot => i64::from(value == 0),
        }
    }
}

impl Binary {
    /// The value. Comparisons that hold are -1, as in GNU assemblers.
    ///
    /// Numbers have 64 bits, signed or unsigned. A result is accepted if either reading of both
    /// operands gives it.
    ///
    /// # Errors
    /// A division by zero, a shift by less than 0 or more than 63 bits, or a result that does not
    /// fit 64 bits.
    pub(crate) fn apply(self, left: i64, right: i64) -> Result<i64, &'static str> {
        let truth = |holds: bool| -i64::from(holds);
        let exact = |signed: Option<i64>, unsigned: Option<u64>| {
            signed.or(unsigned.map(|value| value as i64)).ok_or("the value has more than 64 bits")
        };
        let (bits, right_bits) = (left as u64, right as u64);
        let distance = || match u32::try_from(right) {
            Ok(distance @ 0..=63) => Ok(distance),
            _ => Err("expected a shift by 0 to 63 bits"),
        };
        Ok(match self {
            Binary::LogicalOr => i64::from(left != 0 || right != 0),
            Binary::LogicalAnd => i64::from(left != 0 && right != 0),
            Binary::Equal => truth(left == right),
            Binary::NotEqual => truth(left != right),
            Binary::Less => truth(left < right),
            Binary::LessOrEqual => truth(left <= right),
            Binary::Greater => truth(left > right),
            Binary::GreaterOrEqual => truth(left >= right),
            Binary::Add => exact(left.checked_add(right), bits.checked_add(right_bits))?,
            Binary::Subtract => exact(left.checked_sub(right), bits.checked_sub(right_bits))?,
            Binary::Or => left | right,
            Binary::OrNot => left | !right,
            Binary::Xor => left ^ right,
            Binary::And => left & right,
            Binary::Multiply => exact(left.checked_mul(right), bits.checked_mul(right_bits))?,
            Binary::Divide | Binary::Remainder if right == 0 => return Err("division by zero"),
            Binary::Divide => exact(left.checked_div(right), None)?,
            Binary::Remainder => left.wrapping_rem(right),
            Binary::ShiftLeft => {
                let distance = distance()?;
                let shifted = left << distance;
                let signed = Some(shifted).filter(|shifted| shifted >> distance == left);
                let unsigned = Some(bits << distance).filter(|shifted| shifted >> distance == bits);
                exact(signed, unsigned)?
            }
            Binary::ShiftRight => (bits >> distance()?) as i64,
        })
    }
}

impl Expression {
    /// A symbol.
    pub(crate) fn symbol(name: &str) -> Expression {
        Expression::Symbol { name: name.into(), relocation: None }
    }

    /// `name + number`.
    pub(crate) fn sum(name: &str, number: u64) -> Expression {
        let symbol = Expression::symbol(name);
        match number {
            0 => symbol,
            number => Expression::Binary(Binary::Add, Box::new((symbol, Expression::Value(number as i64)))),
        }
    }

    /// The symbols in it.
    pub(crate) fn names(&self) -> Vec<&str> {
        match self {
            Expression::Value(_) | Expression::Here => Vec::new(),
            Expression::Symbol { name, .. } => vec![name],
            Expression::Unary(_, of) => of.names(),
            Expression::Binary(_, pair) => [pair.0.names(), pair.1.names()].concat(),
            Expression::Call(_, arguments) => arguments.iter().flat_map(Expression::names).collect(),
        }
    }

    /// The number, if the expression is one.
    pub(crate) fn value(&self) -> Option<i64> {
        if let Expression::Value(value) = self { Some(*value) } else { None }
    }
}

/// Reads an expression.
pub(crate) fn expression(cursor: &mut Cursor<'_>, symbols: &dyn Symbols) -> Result<Expression, Fail> {
    Parser { cursor, symbols, depth: 0, operators: 0 }.binary(0)
}

/// Reads an expression without binary operators, except in parentheses.
pub(crate) fn unary(cursor: &mut Cursor<'_>, symbols: &dyn Symbols) -> Result<Expression, Fail> {
    Parser { cursor, symbols, depth: 0, operators: 0 }.unary()
}

struct Parser<'c, 't> {
    cursor: &'c mut Cursor<'t>,
    symbols: &'c dyn Symbols,
    depth: u32,
    operators: u32,
}

impl Parser<'_, '_> {
    fn binary(&mut self, above: u8) -> Result<Expression, Fail> {
        let start = self.cursor.at();
        let mut left = self.unary()?;
        loop {
            // Most expressions are single numbers, followed by a comma or nothing.
            if !self.cursor.peek().is_some_and(|byte| BEGINS_OPERATOR[usize::from(byte)]) {
                return Ok(left);
            }
            let rest = self.cursor.rest();
            let found = OPERATORS.iter().find(|(text, ..)| rest.starts_with(text));
            let Some(&(text, operator, strength)) = found.filter(|(.., strength)| *strength > above) else {
                return Ok(left);
            };
            self.cursor.eat(text);
            let right = self.binary(strength)?;
            left = match (left, right) {
                (Expression::Value(left), Expression::Value(right)) => {
                    let value = operator.apply(left, right);
                    Expression::Value(
                        value.map_err(|message| Diagnostic::new(start..self.cursor.end(), message))?,
                    )
                }
                pair => {
                    self.operators += 1;
                    if self.operators > MOST_OPERATORS {
                        let message =
                            format!("expressions have at most {MOST_OPERATORS} operators between symbols");
                        return Err(Diagnostic::new(start..self.cursor.end(), message));
                    }
                    Expression::Binary(operator, Box::new(pair))
                }
            };
        }
    }

    fn unary(&mut self) -> Result<Expression, Fail> {
        self.depth += 1;
        if self.depth > DEPTH {
            let at = self.cursor.at();
            return Err(Diagnostic::new(at..at + 1, format!("expressions nest at most {DEPTH} deep")));
        }
        let operator = match self.cursor.peek() {
            Some(b'-') => Some(Unary::Minus),
            Some(b'~') => Some(Unary::Not),
            Some(b'!') => Some(Unary::LogicalNot),
            _ => None,
        };
        let result = if let Some(operator) = operator {
            let at = self.cursor.at();
            self.cursor.go_to(at + 1);
            let written = self.cursor.peek().is_some_and(|byte| byte.is_ascii_digit());
            match self.unary()? {
                // A number as written is not negative, so no 64-bit number is its negation.
                Expression::Value(value)
                    if operator == Unary::Minus && written && value.cast_unsigned() > 1 << 63 =>
                {
                    let span = at..self.cursor.end();
                    let text = self.cursor.text().get(span.clone()).unwrap_or_default();
                    return Err(Diagnostic::new(span, number::too_small(text)));
                }
                Expression::Value(value) => Expression::Value(operator.apply(value)),
                operand => Expression::Unary(operator, Box::new(operand)),
            }
        } else if self.cursor.eat("+") {
            self.unary()?
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(result)
    }

    fn primary(&mut self) -> Result<Expression, Fail> {
        let start = self.cursor.at();
        if self.cursor.eat("(") {
            let inner = self.binary(0)?;
            self.cursor.expect(")")?;
            return Ok(inner);
        }
        if let Some(label) = self.directional() {
            return Ok(label);
        }
        match number(self.cursor)? {
            Some(Number::Int(value)) => return Ok(Expression::Value(value as i64)),
            Some(Number::Float(_)) => {
                return Err(Diagnostic::new(
                    start..self.cursor.end(),
                    "expected an integer or a symbol, found a float: expressions compute with integers",
                ));
            }
            None => {}
        }
        if self.cursor.peek() == Some(b'"') {
            return self.quoted();
        }
        match self.cursor.name() {
            "" => Err(self.cursor.expected("a number or a symbol")),
            "." => Ok(Expression::Here),
            name if self.cursor.peek_raw() == Some(b'(') => self.call(name),
            name => self.symbol(name),
        }
    }

    /// `1f` and `1b`: the next and the last label `1:`.
    fn directional(&mut self) -> Option<Expression> {
        let rest = self.cursor.rest();
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let mut behind = rest.bytes().skip(digits);
        let direction = matches!(behind.next(), Some(b'f' | b'b'))
            && !behind.next().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if digits == 0 || !direction {
            return None;
        }
        let start = self.cursor.at();
        self.cursor.go_to(start + digits + 1);
        let name = format!("{DIRECTIONAL}{}", rest.get(..=digits)?).into();
        Some(Expression::Symbol { name, relocation: None })
    }

    /// `"a name with blanks"`.
    fn quoted(&mut self) -> Result<Expression, Fail> {
        let start = self.cursor.at();
        let (name, length) = quoted_name(self.cursor.rest(), start)?;
        self.cursor.go_to(start + length);
        self.symbol(&name)
    }

    fn symbol(&mut self, name: &str) -> Result<Expression, Fail> {
        if let Some(fail) = source_text::unseen(name, self.cursor.end().saturating_sub(name.len())) {
            return Err(fail);
        }
        let mut relocation = String::new();
        while self.cursor.peek_raw() == Some(b'@') {
            self.cursor.expect("@")?;
            let part = self.cursor.name();
            if part.is_empty() {
                return Err(self.cursor.expected("a relocation such as `rel32@lo`"));
            }
            if !relocation.is_empty() {
                relocation.push('@');
            }
            // LLVM accepts them in either case.
            relocation += &part.to_ascii_lowercase();
        }
        match self.symbols.absolute(name) {
            Some(value) if relocation.is_empty() => Ok(Expression::Value(value)),
            _ => {
                let relocation = (!relocation.is_empty()).then(|| relocation.into());
                Ok(Expression::Symbol { name: name.into(), relocation })
            }
        }
    }

    fn call(&mut self, name: &str) -> Result<Expression, Fail> {
        self.cursor.expect("(")?;
        let mut arguments = Vec::new();
        while !self.cursor.eat(")") {
            if !arguments.is_empty() {
                self.cursor.expect(",")?;
            }
            arguments.push(self.binary(0)?);
        }
        Ok(Expression::Call(name.into(), arguments))
    }
}
