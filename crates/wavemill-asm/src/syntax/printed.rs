//! Expressions as LLVM prints them.

use super::cursor::{Cursor, begins_name, continues_name};
use super::expression::{Binary, DIRECTIONAL, Expression, Symbols, Unary, expression, operator_text};
use crate::diagnostic::Diagnostic;

/// An expression of a list, as LLVM prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrintedExpression {
    /// The text: without blanks, numbers in decimal, and with only the parentheses that are needed.
    pub text: String,
    /// The value, if it is known at this point.
    pub value: Option<i64>,
}

/// Reads a comma-separated list of expressions, and prints each as LLVM does. Known `symbols` are
/// computed.
///
/// `rename` maps names of symbols: `.` (the address of the statement), labels such as `1f` and
/// `1b`, and all others. If it returns `None`, the symbol keeps its name.
///
/// # Errors
///
/// [`Diagnostic`] if the text is not a list of expressions.
///
/// ```
/// use wavemill_asm::{NoSymbols, printed_expressions};
///
/// let rename = &mut |name: &str| (name == ".").then(|| "here".to_owned());
/// let all = printed_expressions("0x10 + (end - .), 2 * 3", &NoSymbols, rename)?;
/// assert_eq!((all[0].text.as_str(), all[0].value), ("16+(end-here)", None));
/// assert_eq!((all[1].text.as_str(), all[1].value), ("6", Some(6)));
/// # Ok::<(), wavemill_asm::Diagnostic>(())
/// ```
pub fn printed_expressions(
    text: &str,
    symbols: &dyn Symbols,
    rename: &mut dyn FnMut(&str) -> Option<String>,
) -> Result<Vec<PrintedExpression>, Diagnostic> {
    let mut cursor = Cursor::new(text);
    let mut all = Vec::new();
    loop {
        let expression = expression(&mut cursor, symbols).map_err(|fail| *fail)?;
        let mut text = String::new();
        print(&mut text, &expression, rename);
        all.push(PrintedExpression { text, value: expression.value() });
        if !cursor.eat(",") {
            break;
        }
    }
    match cursor.is_done() {
        true => Ok(all),
        false => Err(*cursor.expected("`,` or the end of the line")),
    }
}

/// Whether a name needs no quotes.
fn is_plain_name(name: &str) -> bool {
    name.bytes().next().is_some_and(begins_name)
        && name.bytes().all(|byte| continues_name(byte) || byte == b'@')
}

fn print(out: &mut String, expression: &Expression, rename: &mut dyn FnMut(&str) -> Option<String>) {
    match expression {
        Expression::Value(value) => out.push_str(&value.to_string()),
        Expression::Here => out.push_str(rename(".").as_deref().unwrap_or(".")),
        Expression::Symbol { name, relocation } => {
            // Quoted text may look like `1f` without being such a label.
            let label = name.strip_prefix(DIRECTIONAL);
            match (label.and_then(&mut *rename), label) {
                (Some(name), _) => out.push_str(&name),
                (None, Some(label)) => out.push_str(label),
                (None, None) if is_plain_name(name) => out.push_str(name),
                (None, None) => {
                    let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
                    out.extend(["\"", &escaped, "\""]);
                }
            }
            if let Some(relocation) = relocation {
                out.extend(["@", relocation]);
            }
        }
        Expression::Unary(operator, operand) => {
            out.push(match operator {
                Unary::Minus => '-',
                Unary::Not => '~',
                Unary::LogicalNot => '!',
            });
            operand_of(out, operand, matches!(**operand, Expression::Binary(..)), rename);
        }
        Expression::Binary(operator, pair) => {
            let (left, right) = &**pair;
            let is_sum = |operator: &Binary| matches!(operator, Binary::Add | Binary::Subtract);
            // Sums need no parentheses at the start of another sum, as in `a-b+4`.
            let parentheses = match left {
                Expression::Binary(inner, _) => !(is_sum(operator) && is_sum(inner)),
                _ => false,
            };
            operand_of(out, left, parentheses, rename);
            match right {
                // `a-4` and not `a+-4`.
                Expression::Value(value) if *operator == Binary::Add && *value < 0 => {}
                _ => out.push_str(operator_text(*operator)),
            }
            operand_of(out, right, matches!(right, Expression::Binary(..)), rename);
        }
        Expression::Call(name, arguments) => {
            out.push_str(name);
            out.push('(');
            for (index, argument) in arguments.iter().enumerate() {
                out.push_str(if index == 0 { "" } else { ", " });
                print(out, argument, rename);
            }
            out.push(')');
        }
    }
}

fn operand_of(
    out: &mut String,
    operand: &Expression,
    parentheses: bool,
    rename: &mut dyn FnMut(&str) -> Option<String>,
) {
    if parentheses {
        out.push('(');
    }
    print(out, operand, rename);
    if parentheses {
        out.push(')');
    }
}

#[cfg(test)]
mod tests {
    use super::printed_expressions;
    use crate::syntax::NoSymbols;

    /// The expected texts are the output of llvm-mc 22.
    #[test]
    fn parentheses_are_those_that_are_needed() {
        for (written, wanted) in [
            ("(lab*2)/3", "(lab*2)/3"),
            ("lab * 2 / 3", "(lab*2)/3"),
            ("lab-(lab2-x)", "lab-(lab2-x)"),
            ("-lab+1", "-lab+1"),
            ("-(lab+1)", "-(lab+1)"),
            ("lab|x&y", "(lab|x)&y"),
            ("lab+(-4)", "lab-4"),
            ("lab-(-4)", "lab--4"),
            ("lab<>x", "lab!=x"),
            ("- -lab", "--lab"),
            ("(lab+x)-(y*2)", "lab+x-(y*2)"),
            ("(lab-x)+(y-z)", "lab-x+(y-z)"),
            ("lab<<1+x", "(lab<<1)+x"),
            ("\"a b\"+0x10", "\"a b\"+16"),
            ("\"lab\"", "lab"),
            ("max(lab,x,3)", "max(lab, x, 3)"),
            ("lab@rel32@lo+4", "lab@rel32@lo+4"),
            ("(lab)", "lab"),
        ] {
            let printed = printed_expressions(written, &NoSymbols, &mut |_| None).expect(written);
            assert_eq!(printed[0].text, wanted, "{written}");
        }
        for wrong in ["", "1,", "a b", "(a", "1.5"] {
            assert!(printed_expressions(wrong, &NoSymbols, &mut |_| None).is_err(), "{wrong}");
        }
    }
}
