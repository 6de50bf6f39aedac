//! Quoted symbol names.

use super::source_text;
use crate::diagnostic::{Diagnostic, Fail, Span};

/// Reads a quoted name. Returns the name and its length in the text, in bytes. `\\` is a backslash
/// and `\"` a quote; there are no other escapes.
fn unescaped(text: &str) -> Result<(Vec<u8>, usize), String> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return Err("expected a quoted name".to_owned());
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
    Err("expected `\"` at the end of the name, found the end of the line".to_owned())
}

/// Names must be UTF-8. Otherwise two of them could look the same in messages and sources.
pub(crate) fn utf8_name(name: Vec<u8>, span: Span) -> Result<String, Fail> {
    if name.contains(&0) {
        return Err(Diagnostic::new(
            span,
            "expected a name without zero bytes: a zero byte ends the name in the file",
        ));
    }
    String::from_utf8(name).map_err(|_| Diagnostic::new(span, "expected a name in UTF-8, found other bytes"))
}

/// Reads the quoted name at the start of `text`, which is at offset `start`. Also returns its
/// length in the text, in bytes.
pub(crate) fn quoted_name(text: &str, start: usize) -> Result<(String, usize), Fail> {
    let (name, length) = unescaped(text).map_err(|message| Diagnostic::new(start..start + 1, message))?;
    Ok((utf8_name(name, start..start + length)?, length))
}
