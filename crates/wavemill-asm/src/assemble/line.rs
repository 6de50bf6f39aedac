//! Splits lines of a source: comments, labels, statements.

use crate::syntax::{LineSyntax, source_text};

/// A source with its `/* */` comments replaced by blanks, so that offsets stay the same. `Err`
/// gives the position of a comment without an end.
pub(super) fn without_block_comments<'s>(
    source: &'s str,
    syntax: &LineSyntax,
) -> Result<std::borrow::Cow<'s, str>, usize> {
    if !source.contains("/*") {
        return Ok(source.into());
    }
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    loop {
        // A line comment or a string may contain what looks like a start.
        let Some(start) = rest.find("/*") else {
            plain.push_str(rest);
            return Ok(plain.into());
        };
        let line = rest.get(..start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        let before = rest.get(line..start).unwrap_or_default();
        let quoted = before.bytes().filter(|byte| *byte == b'"').count() % 2 == 1;
        if quoted || syntax.without_comment(before).len() != before.len() {
            let end = start + 2;
            plain.push_str(rest.get(..end).unwrap_or_default());
            rest = rest.get(end..).unwrap_or_default();
            continue;
        }
        plain.push_str(rest.get(..start).unwrap_or_default());
        let comment = rest.get(start..).unwrap_or_default();
        let Some(length) = comment.find("*/").map(|at| at + 2) else { return Err(plain.len()) };
        let blank = |character: char| if character == '\n' { '\n' } else { ' ' };
        for character in comment.get(..length).unwrap_or_default().chars() {
            for _ in 0..character.len_utf8() {
                plain.push(blank(character));
            }
        }
        rest = comment.get(length..).unwrap_or_default();
    }
}

/// The bytes of a quoted string, with escapes resolved, and its length in the text in bytes.
pub(super) fn string(text: &str) -> Result<(Vec<u8>, usize), String> {
    let bytes = text.as_bytes();
    if bytes.first() != Some(&b'"') {
        return Err("expected a quoted string".to_owned());
    }
    let mut value = Vec::new();
    let mut at = 1;
    loop {
        let byte =
            *bytes.get(at).ok_or("expected `\"` at the end of the string, found the end of the line")?;
        at += 1;
        match byte {
            b'"' => return Ok((value, at)),
            b'\\' => {
                let escape = *bytes.get(at).ok_or("expected a character after `\\`")?;
                at += 1;
                value.push(match escape {
                    b'n' => b'\n',
                    b't' => b'\t',
                    b'r' => b'\r',
                    b'b' => 8,
                    b'f' => 12,
                    b'"' | b'\\' => escape,
                    b'0'..=b'7' => {
                        let mut number = u32::from(escape - b'0');
                        for _ in 0..2 {
                            match bytes.get(at) {
                                Some(&digit @ b'0'..=b'7') => {
                                    number = number * 8 + u32::from(digit - b'0');
                                    at += 1;
                                }
                                _ => break,
                            }
                        }
                        u8::try_from(number).map_err(|_| "expected an octal escape up to \\377".to_owned())?
                    }
                    b'x' | b'X' => {
                        let digits = bytes.get(at..).unwrap_or_default();
                        let length = digits.iter().take_while(|digit| digit.is_ascii_hexdigit()).count();
                        let number =
                            text.get(at..at + length).and_then(|digits| u64::from_str_radix(digits, 16).ok());
                        at += length;
                        // The last two digits count.
                        number.ok_or("expected hexadecimal digits after `\\x`")? as u8
                    }
                    other => return Err(format!("`\\{}` is not an escape", char::from(other))),
                });
            }
            _ if byte.is_ascii() => value.push(byte),
            _ => {
                // A character, or a stand-in for a byte.
                let behind = bytes.get(at..).unwrap_or_default();
                let end = at + behind.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
                value.extend(source_text::bytes(text.get(at - 1..end).unwrap_or_default()));
                at = end;
            }
        }
    }
}
