//! Sources that contain bytes that are not UTF-8.
//!
//! Comments and strings may contain any byte; names and everything else are UTF-8. Internally each
//! byte that is not UTF-8 becomes a stand-in character, so a source is text and no byte is lost.

use std::borrow::Cow;
use std::fmt::Write;

use crate::diagnostic::{Diagnostic, Fail};

/// The stand-in characters. They are in the private use area, and three bytes long like U+FFFD. If
/// a source contains one of them, its bytes get stand-ins too, so a stand-in never means itself.
const FIRST: u32 = 0xF700;

/// The first two bytes of all stand-ins; no other characters have them.
const PREFIXES: [[u8; 2]; 4] = [[0xEF, 0x9C], [0xEF, 0x9D], [0xEF, 0x9E], [0xEF, 0x9F]];

/// The byte that a stand-in means.
fn byte_of(character: char) -> Option<u8> {
    (character as u32).checked_sub(FIRST).and_then(|byte| u8::try_from(byte).ok())
}

/// Whether the text has stand-ins.
pub(crate) fn has_stand_ins(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = memchr::memchr(0xEF, rest) {
        rest = rest.get(at..).unwrap_or_default();
        if PREFIXES.iter().any(|prefix| rest.starts_with(prefix)) {
            return true;
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    false
}

/// A source as text.
pub(crate) fn text(source: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(source)
        && !has_stand_ins(text)
    {
        return text.into();
    }
    let mut all = String::with_capacity(source.len());
    let stand_ins = |all: &mut String, bytes: &[u8]| {
        all.extend(bytes.iter().filter_map(|byte| char::from_u32(FIRST + u32::from(*byte))));
    };
    for chunk in source.utf8_chunks() {
        for character in chunk.valid().chars() {
            match byte_of(character) {
                Some(_) => stand_ins(&mut all, character.encode_utf8(&mut [0; 4]).as_bytes()),
                None => all.push(character),
            }
        }
        stand_ins(&mut all, chunk.invalid());
    }
    all.into()
}

/// The bytes of a source, for the contents of a string.
pub(crate) fn bytes(text: &str) -> Vec<u8> {
    let mut all = Vec::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            Some(byte) => all.push(byte),
            None => all.extend(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    all
}

/// The text for people: bytes that are not UTF-8 become U+FFFD. All offsets stay the same.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !has_stand_ins(text) {
        return text.into();
    }
    text.chars().map(|c| if byte_of(c).is_some() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The text with such bytes as escapes, which strings accept.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !has_stand_ins(text) {
        return text.into();
    }
    let mut all = String::with_capacity(text.len());
    for character in text.chars() {
        match byte_of(character) {
            // Writing to a String cannot fail.
            Some(byte) => drop(write!(all, "\\{byte:03o}")),
            None => all.push(character),
        }
    }
    all.into()
}

/// The first byte of a text that is not UTF-8, with its offset.
pub(crate) fn first(text: &str) -> Option<(usize, u8)> {
    if !has_stand_ins(text) {
        return None;
    }
    text.char_indices().find_map(|(at, character)| Some((at, byte_of(character)?)))
}

/// The first byte of a line, outside of comments and strings, that is not UTF-8, with its offset.
pub(crate) fn outside_strings(line: &str) -> Option<(usize, u8)> {
    if !has_stand_ins(line) {
        return None;
    }
    let (mut quoted, mut escape) = (false, false);
    for (at, character) in line.char_indices() {
        if escape {
            escape = false;
            continue;
        }
        match character {
            '\\' if quoted => escape = true,
            '"' => quoted = !quoted,
            _ if !quoted => {
                if let Some(byte) = byte_of(character) {
                    return Some((at, byte));
                }
            }
            _ => {}
        }
    }
    None
}

/// Reports an invisible error: a name with a character that looks like a blank, or like nothing.
/// Texts copied from web pages have them. `start` is the offset of the name.
pub(crate) fn unseen(name: &str, start: usize) -> Option<Fail> {
    if name.is_ascii() {
        return None;
    }
    let nothing = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}');
    let (at, found) = name.char_indices().find(|(_, c)| nothing(*c) || !c.is_ascii() && c.is_whitespace())?;
    let code = u32::from(found);
    let (message, instead) = match nothing(found) {
        true => (format!("expected a name, found the invisible character U+{code:04X} in it"), ""),
        false => (
            format!("expected a name, found the character U+{code:04X} in it, which looks like a space"),
            " ",
        ),
    };
    let span = start + at..start + at + found.len_utf8();
    Some(Diagnostic::new(span, message).replace_with(instead))
}

#[cfg(test)]
mod tests {
    use super::{bytes, escaped, has_stand_ins, outside_strings, shown, text};

    #[test]
    fn no_byte_is_lost() {
        let all: Vec<u8> = (0..=255).collect();
        for source in [&b"plain"[..], b"a\xffb", "é\u{f7ff}\u{fffd}".as_bytes(), b"\xef\x9c", &all] {
            assert_eq!(bytes(&text(source)), source, "{source:?}");
        }
        assert!(!has_stand_ins("é\u{fffd}\u{f6ff}\u{f800}"));
        assert!(has_stand_ins("\u{f700}") && has_stand_ins("x\u{f7ff}"));
    }

    #[test]
    fn bytes_stand_in_strings() {
        let line = text(b".ascii \"a\xff\\\"\", \xfe");
        assert_eq!(escaped(&line), ".ascii \"a\\377\\\"\", \\376");
        assert_eq!(shown(&line).len(), line.len());
        let place = line.char_indices().last().map(|(at, _)| at);
        assert_eq!(outside_strings(&line).map(|(at, byte)| (Some(at), byte)), Some((place, 0xfe)));
        assert_eq!(outside_strings(&text(b".ascii \"\xff\"")), None);
    }
}
