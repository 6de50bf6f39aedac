//! The arguments of a macro call, parsed as LLVM does: a value ends at a comma, or at a blank that
//! is not next to an operator.

use super::expand::Parameter;
use crate::diagnostic::{Diagnostic, Fail};
use crate::syntax::{Cursor, begins_name, continues_name};

/// A value, and the index of the parameter that it names.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) parameter: Option<usize>,
    pub(super) value: String,
}

/// The operators that continue a value on either side, longest first. A lone `.` is one, too.
const OPERATORS: [&str; 20] = [
    "==", "||", "&&", "!=", "<=", "<<", "<>", ">=", ">>", "+", "-", "~", "/", "*", "=", "|", "^", "&", "!",
    "<",
];

/// Reads the values of a call up to the end of the line. `parameters` belong to the macro `name`.
pub(super) fn of_call(
    cursor: &mut Cursor<'_>,
    name: &str,
    parameters: &[Parameter],
) -> Result<Vec<Argument>, Fail> {
    let mut all = Vec::new();
    let mut named = false;
    while !cursor.is_done() {
        let start = cursor.at();
        let parameter = parameter_name(cursor, name, parameters)?;
        if named && parameter.is_none() {
            let end = cursor.text().trim_end().len();
            return Err(Diagnostic::new(start..end, "values without a name must come before named values"));
        }
        named |= parameter.is_some();
        let rest = parameters.get(parameter.unwrap_or(all.len())).is_some_and(|parameter| parameter.rest);
        let value = if rest { all_that_is_left(cursor) } else { value(cursor)? };
        all.push(Argument { parameter, value });
        cursor.eat(",");
        if all.len() > parameters.len() {
            let most = match parameters.len() {
                0 => "no values".to_owned(),
                1 => "one value".to_owned(),
                several => format!("{several} values"),
            };
            let message = format!("the macro `{name}` accepts {most}, found more");
            return Err(Diagnostic::new(start..cursor.end().max(start), message));
        }
    }
    Ok(all)
}

/// Reads the values of a list.
pub(super) fn of_list(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Fail> {
    let mut all = vec![value(cursor)?];
    while !cursor.is_done() {
        cursor.eat(",");
        all.push(value(cursor)?);
    }
    // An empty value after the last comma does not count.
    while all.last().is_some_and(String::is_empty) {
        all.pop();
    }
    Ok(all)
}

/// Reads `name =`, if it comes next.
fn parameter_name(
    cursor: &mut Cursor<'_>,
    name: &str,
    parameters: &[Parameter],
) -> Result<Option<usize>, Fail> {
    let start = cursor.at();
    let parameter = cursor.name();
    let end = cursor.end();
    if parameter.is_empty() || cursor.rest().starts_with("==") || !cursor.eat("=") {
        cursor.go_to(start);
        return Ok(None);
    }
    match parameters.iter().position(|known| known.name == parameter) {
        Some(index) => Ok(Some(index)),
        None => {
            let fail =
                Diagnostic::new(start..end, format!("the macro `{name}` has no parameter `{parameter}`"));
            Err(match parameters {
                [] => fail,
                _ => {
                    let names: Vec<_> = parameters.iter().map(|known| known.name.as_str()).collect();
                    fail.note(format!("it has {}", names.join(", ")))
                }
            })
        }
    }
}

fn all_that_is_left(cursor: &mut Cursor<'_>) -> String {
    let rest = cursor.rest();
    cursor.go_to(cursor.text().len());
    rest.trim_end().to_owned()
}

/// Reads one value; it may be empty.
pub(super) fn value(cursor: &mut Cursor<'_>) -> Result<String, Fail> {
    let mut value = String::new();
    let mut open = Vec::new();
    let mut at = cursor.at();
    let text = cursor.text();
    let blanks = |at: usize| {
        let rest = text.get(at..).unwrap_or_default();
        rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\x0b', '\x0c']).len()
    };
    loop {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with('=') && !rest.starts_with("==") {
            let message = "unexpected `=`: the text before it is not a parameter name";
            return Err(Diagnostic::new(at..at + 1, message));
        }
        if open.is_empty() {
            let blank = blanks(at);
            let behind = text.get(at + blank..).unwrap_or_default();
            if let Some(operator) = operator(behind) {
                value.push_str(operator);
                at += blank + operator.len();
                at += blanks(at);
                continue;
            }
            if blank > 0 || rest.starts_with(',') {
                break;
            }
        }
        let Some(&first) = rest.as_bytes().first() else { break };
        match first {
            b'(' => open.push(at),
            b')' => drop(open.pop()),
            _ => {}
        }
        let length = token(rest).map_err(|message| Diagnostic::new(at..at + 1, message))?;
        let token = rest.get(..length).unwrap_or_default();
        // Quotes keep blanks and commas together, and are not part of the value.
        let content = token.strip_prefix('"').and_then(|token| token.strip_suffix('"'));
        value.push_str(content.unwrap_or(token));
        at += length;
    }
    if let Some(at) = open.pop() {
        return Err(Diagnostic::new(at..at + 1, "expected a `)` for this `(`, found the end of the line"));
    }
    cursor.go_to(at);
    Ok(value)
}

/// The operator that comes next.
fn operator(rest: &str) -> Option<&str> {
    let length = match OPERATORS.iter().find(|operator| rest.starts_with(**operator)) {
        Some(operator) => operator.len(),
        None if rest.starts_with('>') => 1,
        None if rest.starts_with('.') && word(rest) == 1 => 1,
        None => return None,
    };
    rest.get(..length)
}

/// The length of the next name or number, in bytes.
fn word(rest: &str) -> usize {
    let continues = |byte: &u8| continues_name(*byte) || *byte == b'@';
    rest.bytes().take_while(continues).count()
}

/// The length of the next token, in bytes; the rest must not be empty. A token is a name or number,
/// a quoted text, or one character.
fn token(rest: &str) -> Result<usize, &'static str> {
    let bytes = rest.as_bytes();
    let quote = match bytes {
        [b'"', ..] => b'"',
        [b'\'', b'\\', ..] | [b'\'', _, b'\'', ..] => b'\'',
        [first, ..] if begins_name(*first) || first.is_ascii_digit() => return Ok(word(rest)),
        _ => return Ok(rest.chars().next().map_or(0, char::len_utf8)),
    };
    let mut at = 1;
    loop {
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(byte) if *byte == quote => return Ok(at + 1),
            Some(_) => at += 1,
            None => return Err("expected the same quote again, found the end of the line"),
        }
    }
}
