//! The YAML of code object v2 metadata: block maps, block lists, lists of
//! scalars in brackets, plain and quoted scalars. Compilers write nothing else.

use super::value::{MAX_DEPTH, Value};
use crate::error::{Error, Result};

/// A line without its indentation and comment.
struct Line<'a> {
    indent: usize,
    text: &'a str,
    /// Byte offset in the document.
    at: usize,
}

struct Parser<'a> {
    lines: Vec<Line<'a>>,
    next: usize,
    offset: u64,
}

/// Reads a document that stands at `offset` in the code object.
pub(super) fn parse(text: &str, offset: u64) -> Result<Value> {
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let body = line.trim_end();
        if body == "..." {
            break;
        }
        let content = body.trim_start_matches(' ');
        if !content.is_empty() && body != "---" && !content.starts_with('#') {
            let indent = body.len() - content.len();
            lines.push(Line { indent, text: content, at: start + indent });
        }
    }
    let mut parser = Parser { lines, next: 0, offset };
    let value = match parser.lines.first() {
        None => return Ok(Value::Nil),
        Some(first) => {
            let indent = first.indent;
            parser.block(indent, 0)?
        }
    };
    match parser.peek() {
        None => Ok(value),
        Some(line) => Err(parser.error(line, "the indentation does not fit the lines above")),
    }
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&Line<'a>> {
        self.lines.get(self.next)
    }

    fn error(&self, line: &Line<'_>, detail: &str) -> Error {
        Error::malformed(
            "YAML metadata",
            self.offset + line.at as u64,
            format!("{detail}: `{}`", line.text.chars().take(60).collect::<String>()),
        )
    }

    /// A list or a map whose items all start at `indent`.
    fn block(&mut self, indent: usize, depth: u16) -> Result<Value> {
        match self.peek() {
            Some(line) if depth >= MAX_DEPTH => Err(self.error(line, "nested too deeply")),
            Some(line) if line.text == "-" || line.text.starts_with("- ") => self.list(indent, depth),
            _ => self.map(indent, depth),
        }
    }

    fn list(&mut self, indent: usize, depth: u16) -> Result<Value> {
        let mut items = Vec::new();
        while let Some(line) = self.peek() {
            if line.indent != indent || !(line.text == "-" || line.text.starts_with("- ")) {
                break;
            }
            let rest = line.text[1..].trim_start();
            let inner = indent + (line.text.len() - rest.len());
            let at = line.at + (line.text.len() - rest.len());
            if rest.is_empty() {
                self.next += 1;
                items.push(self.nested(indent, depth)?);
            } else if split_key(rest).is_some() || rest.starts_with("- ") {
                // The item goes on below, indented as its first line is after the dash.
                self.lines[self.next] = Line { indent: inner, text: rest, at };
                items.push(self.block(inner, depth + 1)?);
            } else {
                let value = scalar(rest).ok_or_else(|| self.error(line, "not a scalar"))?;
                self.next += 1;
                items.push(value);
            }
        }
        Ok(Value::List(items))
    }

    fn map(&mut self, indent: usize, depth: u16) -> Result<Value> {
        let mut entries = Vec::new();
        while let Some(line) = self.peek() {
            if line.indent != indent || line.text.starts_with("- ") {
                break;
            }
            let Some((key, rest)) = split_key(line.text) else {
                return Err(self.error(line, "expected `key: value`"));
            };
            let key = match scalar(key) {
                Some(Value::Text(text)) => text,
                _ => key.to_owned(),
            };
            let value = if rest.is_empty() {
                self.next += 1;
                self.nested(indent, depth)?
            } else {
                let value = scalar(rest).ok_or_else(|| self.error(line, "not a scalar"))?;
                self.next += 1;
                value
            };
            entries.push((key, value));
        }
        Ok(Value::Map(entries))
    }

    /// What belongs to a key or dash that ends its line: the block below, if it
    /// is indented more. A list may stand at the indentation of its key.
    fn nested(&mut self, indent: usize, depth: u16) -> Result<Value> {
        match self.peek() {
            Some(line) if line.indent > indent => {
                let indent = line.indent;
                self.block(indent, depth + 1)
            }
            Some(line) if line.indent == indent && line.text.starts_with("- ") && depth > 0 => {
                self.list(indent, depth + 1)
            }
            _ => Ok(Value::Nil),
        }
    }
}

/// Splits `key: value`; the colon must end the line or be followed by a space.
fn split_key(text: &str) -> Option<(&str, &str)> {
    if text.starts_with(['\'', '"', '[', '{']) {
        return None;
    }
    let colon = text.match_indices(':').map(|(at, _)| at).find(|&at| {
        let after = &text[at + 1..];
        after.is_empty() || after.starts_with(' ')
    })?;
    Some((text[..colon].trim_end(), text[colon + 1..].trim()))
}

/// A plain or quoted scalar, or a list of them in brackets.
fn scalar(text: &str) -> Option<Value> {
    if let Some(inner) = text.strip_prefix('[') {
        let inner = inner.strip_suffix(']')?.trim();
        if inner.is_empty() {
            return Some(Value::List(Vec::new()));
        }
        return inner.split(',').map(|item| leaf(item.trim())).collect::<Option<_>>().map(Value::List);
    }
    leaf(text)
}

fn leaf(text: &str) -> Option<Value> {
    if let Some(inner) = text.strip_prefix('\'') {
        return Some(Value::Text(inner.strip_suffix('\'')?.replace("''", "'")));
    }
    if let Some(inner) = text.strip_prefix('"') {
        return unescape(inner.strip_suffix('"')?).map(Value::Text);
    }
    Some(match text {
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        "" | "~" | "null" => Value::Nil,
        _ if text.starts_with(['{', '&', '*', '!', '|', '>', '%', '@', '`']) => return None,
        _ => match text.parse::<i64>() {
            Ok(value) => Value::Integer(value.into()),
            Err(_) => Value::Text(text.to_owned()),
        },
    })
}

/// The contents of a text in double quotes.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let digits = match chars.next()? {
            'n' => {
                out.push('\n');
                continue;
            }
            't' => {
                out.push('\t');
                continue;
            }
            'x' => 2,
            'u' => 4,
            plain @ ('"' | '\\' | '/') => {
                out.push(plain);
                continue;
            }
            _ => return None,
        };
        let code: String = chars.by_ref().take(digits).collect();
        out.push(char::from_u32(u32::from_str_radix(&code, 16).ok().filter(|_| code.len() == digits)?)?);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constructs_in_use() {
        let text = "---\nVersion: [ 1, 0 ]\nPrintf:\n  - '1:1:4:it''s %d\\n'\nKernels:\n  - Name: \"a\\tb\"\n    \
                    Args:\n      - Size: 8\n        IsConst: true\n      - Size: 4\n    CodeProps:\n      \
                    Wave: 64\n  - Name: second\n...\n\0\0";
        let value = parse(text, 0).unwrap();
        assert_eq!(
            value.to_string(),
            r#"{Version: [1, 0], Printf: ["1:1:4:it's %d\\n"], Kernels: [{Name: "a\tb", Args: [{Size: 8, IsConst: true}, {Size: 4}], CodeProps: {Wave: 64}}, {Name: "second"}]}"#
        );
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in ["Kernels: |\n  block", "a: 1\n    b: 2", "- 1\nkey: 2", "key", "a: 'open", "a: [1, 2"] {
            assert!(parse(text, 0).is_err(), "{text:?}");
        }
        let deep: String = (0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect();
        assert!(parse(&deep, 0).is_err());
    }
}
