//! Names of symbols between quotes.

use super::source_text;
use crate::diagnostic::{Diagnostic, Fail, Span};

/// A name between quotes, and the number of bytes of the text that it takes. In a name `\\` is a backslash and `\"` a quote;
/// other escapes are none.
fn unescaped(text: &str) -> Result<(Vec<u8>, usize), String> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return Err("expected a name between quotes".to_owned());
    }
    let mut name = String::new();
    let mut rest = text.get(1..).unwrap_or_default().char_indices().peekable();
    while let Some((at, character)) = rest.next() {
        match (character, rest.peek()) {
            ('"', _) => return Ok((source_text::bytes(&name), at + 2)),
            ('\\', Some((_, escaped @ ('"' | '\\')))) => {
                name.push(*escaped);
                rest.next();
            }
            _ => name.push(character),
        }
    }
    Err("expected a `\"` that ends the name, found the end of the line".to_owned())
}

/// Names are UTF-8, or two of them could become one in messages and sources.
pub(crate) fn utf8_name(name: Vec<u8>, span: Span) -> Result<String, Fail> {
    if name.contains(&0) {
        return Err(Diagnostic::new(
            span,
            "expected a name without zero bytes: in a file, such a byte ends it",
        ));
    }
    String::from_utf8(name).map_err(|_| Diagnostic::new(span, "expected a name in UTF-8, found other bytes"))
}

/// Reads the name between quotes that `text` begins with, which stands at `start`; the number of bytes of the text that it
/// takes.
pub(crate) fn quoted_name(text: &str, start: usize) -> Result<(String, usize), Fail> {
    let (name, length) = unescaped(text).map_err(|message| Diagnostic::new(start..start + 1, message))?;
    Ok((utf8_name(name, start..start + length)?, length))
}
