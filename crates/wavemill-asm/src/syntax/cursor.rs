//! A position in a text that is being read.

use crate::diagnostic::{Diagnostic, Fail, Span};

/// A position in a text. Blanks are skipped before each read.
#[derive(Clone, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

/// Whether a name can begin with the byte.
pub(crate) const fn begins_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'.' | b'$') || byte >= 0x80
}

/// Whether a name can contain the byte after its first. An `@` separates a symbol from its
/// relocation.
pub(crate) const fn continues_name(byte: u8) -> bool {
    begins_name(byte) || byte.is_ascii_digit() || byte == b'?'
}

/// The bytes that a name can contain after its first.
static CONTINUES_NAME: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = continues_name(byte as u8);
        byte += 1;
    }
    all
};

/// The number of leading bytes that a name can contain.
#[inline]
fn name_length(bytes: &[u8]) -> usize {
    bytes.iter().position(|&byte| !CONTINUES_NAME[usize::from(byte)]).unwrap_or(bytes.len())
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0 }
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// The position, with blanks skipped.
    #[inline]
    pub(crate) fn at(&mut self) -> usize {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\r' | b'\x0c' | b'\x0b') = bytes.get(self.at) {
            self.at += 1;
        }
        self.at
    }

    /// The position right after the last read, before any blanks.
    #[inline]
    pub(crate) fn end(&self) -> usize {
        let read = self.text.as_bytes().get(..self.at).unwrap_or_default();
        read.iter()
            .rposition(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c' | b'\x0b'))
            .map_or(0, |last| last + 1)
    }

    /// Moves to a position that this cursor returned, back or forward.
    #[inline]
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
    }

    /// The unread text, with blanks skipped.
    #[inline]
    pub(crate) fn rest(&mut self) -> &'a str {
        let at = self.at();
        self.text.get(at..).unwrap_or_default()
    }

    /// The next byte, if there is one.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        let at = self.at();
        self.text.as_bytes().get(at).copied()
    }

    /// The byte right after the last read, which may be a blank.
    #[inline]
    pub(crate) fn peek_raw(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Whether everything has been read.
    #[inline]
    pub(crate) fn is_done(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Reads `symbol` if it comes next.
    #[inline]
    pub(crate) fn eat(&mut self, symbol: &str) -> bool {
        let at = self.at();
        let found = self.text.as_bytes().get(at..).is_some_and(|rest| rest.starts_with(symbol.as_bytes()));
        if found {
            self.at = at + symbol.len();
        }
        found
    }

    /// The name that comes next, without reading it; empty if there is none.
    #[inline]
    pub(crate) fn peek_name(&mut self) -> &'a str {
        let at = self.at();
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        match rest.first() {
            Some(&first) if begins_name(first) => {
                self.text.get(at..at + name_length(rest)).unwrap_or_default()
            }
            _ => "",
        }
    }

    /// Reads a name; empty if there is none.
    #[inline]
    pub(crate) fn name(&mut self) -> &'a str {
        let name = self.peek_name();
        self.at += name.len();
        name
    }

    /// Reads `word` if it is the next name, whole.
    #[inline]
    pub(crate) fn eat_name(&mut self, word: &str) -> bool {
        let found = self.peek_name() == word;
        if found {
            self.at += word.len();
        }
        found
    }

    /// The next token, for a message: a name, a number with its letters, or one character.
    pub(crate) fn token(&mut self) -> (Span, &'a str) {
        let at = self.at();
        let rest = self.text.get(at..).unwrap_or_default();
        let length = name_length(rest.as_bytes());
        let length = if length == 0 { rest.chars().next().map_or(0, char::len_utf8) } else { length };
        (at..at + length, rest.get(..length).unwrap_or_default())
    }

    /// A diagnostic: `expected` was required next.
    pub(crate) fn expected(&mut self, expected: &str) -> Fail {
        let (span, found) = self.token();
        match found {
            "" => Diagnostic::new(span, format!("expected {expected}, found the end of the line")),
            _ => Diagnostic::new(span, format!("expected {expected}, found `{found}`")),
        }
    }

    /// Reads `symbol`, which must come next.
    pub(crate) fn expect(&mut self, symbol: &str) -> Result<(), Fail> {
        if self.eat(symbol) { Ok(()) } else { Err(self.expected(&format!("`{symbol}`"))) }
    }
}
