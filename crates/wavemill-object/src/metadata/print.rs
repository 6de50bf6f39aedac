//! Metadata as YAML, in the form that LLVM's tools print.

use std::fmt::Write as _;

use super::scalar;
use super::value::Value;
use crate::printable::is_hidden;

/// The column of a map's values, relative to its keys.
const COLUMN: usize = 17;

/// Prints a document with the lines that mark its start and end. Entries of a map keep their order.
pub(super) fn document(value: &Value) -> String {
    let mut out = String::from("---");
    match value {
        Value::List(items) if !items.is_empty() => block(value, 0, &mut out),
        Value::Map(entries) if !entries.is_empty() => block(value, 0, &mut out),
        _ => {
            out.push(' ');
            out += &flow(value);
        }
    }
    out += "\n...\n";
    out
}

/// A list or map that is not empty, with each item on its own lines.
fn block(value: &Value, indent: usize, out: &mut String) {
    // A map or list inside a list begins after the dash.
    let mut first = !out.ends_with("- ");
    let mut begin = |out: &mut String| {
        if std::mem::replace(&mut first, true) {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
        }
    };
    match value {
        Value::List(items) => {
            for item in items {
                begin(out);
                out.push_str("- ");
                nested(item, indent + 2, out);
            }
        }
        Value::Map(entries) => {
            for (key, item) in entries {
                begin(out);
                let written = quoted(key);
                out.push_str(&written);
                out.push(':');
                if is_block(item) {
                    block(item, indent + 2, out);
                } else {
                    let padding = COLUMN.saturating_sub(written.len() + 1).max(1);
                    out.extend(std::iter::repeat_n(' ', padding));
                    out.push_str(&flow(item));
                }
            }
        }
        _ => {}
    }
}

/// An item of a list.
fn nested(item: &Value, indent: usize, out: &mut String) {
    if is_block(item) { block(item, indent, out) } else { out.push_str(&flow(item)) }
}

fn is_block(value: &Value) -> bool {
    match value {
        Value::List(items) => !items.is_empty(),
        Value::Map(entries) => !entries.is_empty(),
        _ => false,
    }
}

/// A value on the line of its key.
fn flow(value: &Value) -> String {
    match value {
        Value::Nil => "!nil ''".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) if value.is_nan() => {
            if value.is_sign_positive() { "nan" } else { "-nan" }.to_owned()
        }
        Value::Float(value) if value.is_infinite() => if *value > 0.0 { "INF" } else { "-INF" }.to_owned(),
        Value::Float(value) => format!("{value:e}"),
        // Text that would be read as another type needs a tag.
        Value::Text(text) if !matches!(scalar::plain(text), Value::Text(_)) => {
            format!("!str {}", quoted(text))
        }
        Value::Text(text) => quoted(text),
        Value::Bytes(bytes) => format!("!str '{} bytes'", bytes.len()),
        Value::List(_) => "[]".to_owned(),
        Value::Map(_) => "{}".to_owned(),
    }
}

/// Text in the quotes that it needs: none, single ones, or double ones with escapes.
fn quoted(text: &str) -> String {
    let beyond = |c: char| c != '\t' && c.is_control() || !c.is_ascii();
    if text.contains(beyond) {
        return escaped(text);
    }
    let safe = |c: char| c.is_ascii_alphanumeric() || "_-^., \t".contains(c);
    let bare = !text.is_empty()
        && text.chars().all(safe)
        && !text.starts_with([' ', '\t', '-', ','])
        && !text.ends_with([' ', '\t'])
        && matches!(scalar::plain(text), Value::Text(_))
        && !["null", "true", "false"].contains(&text.to_ascii_lowercase().as_str());
    if bare { text.to_owned() } else { format!("'{}'", text.replace('\'', "''")) }
}

fn escaped(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            '\0' => out.push_str("\\0"),
            c if is_hidden(c) => {
                let _ = match u32::from(c) {
                    code @ ..0x100 => write!(out, "\\x{code:02X}"),
                    code @ ..0x1_0000 => write!(out, "\\u{code:04X}"),
                    code => write!(out, "\\U{code:08X}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
