//! A buffer for the text of an instruction.
//!
//! An instruction's text consists of many short pieces. They are collected here and passed on
//! together, and numbers are written digit by digit. Both take a fraction of the time of
//! `core::fmt`.

use std::fmt::{self, Write};

/// Few texts are this long; longer ones are written in several parts.
const ROOM: usize = 160;

/// The digits of a small number from the left, and how many there are.
static DECIMALS: [[u8; 4]; 1000] = decimals();

const fn decimals() -> [[u8; 4]; 1000] {
    let mut all = [[b'0'; 4]; 1000];
    let mut value = 0;
    while value < all.len() {
        let count = if value < 10 { 1 } else { 2 + (value >= 100) as usize };
        let mut rest = value;
        let mut at = count;
        while at > 0 {
            at -= 1;
            all[value][at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        all[value][3] = count as u8;
        value += 1;
    }
    all
}

/// A piece of at most eight bytes. It is always copied whole, so that no branch depends on its
/// length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Short {
    bytes: [u8; 8],
    length: usize,
}

impl Short {
    /// The empty piece.
    pub(super) const EMPTY: Short = Short::new("");

    /// `text`, at most eight bytes. In constants, a longer text does not compile.
    pub(super) const fn new(text: &str) -> Short {
        let mut short = Short { bytes: [0; 8], length: text.len() };
        let mut at = 0;
        while at < text.len() {
            short.bytes[at] = text.as_bytes()[at];
            at += 1;
        }
        short
    }

    fn text(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }
}

/// Collects pieces of a text for `out`.
pub(super) struct Line<'w> {
    bytes: [u8; ROOM],
    length: usize,
    out: &'w mut dyn Write,
}

impl<'w> Line<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Line<'w> {
        Line { bytes: [0; ROOM], length: 0, out }
    }

    /// Passes on the collected text.
    pub(super) fn flush(&mut self) -> fmt::Result {
        let gathered = self.bytes.get(..self.length).unwrap_or_default();
        self.length = 0;
        // Only whole texts have been added.
        self.out.write_str(std::str::from_utf8(gathered).map_err(|_| fmt::Error)?)
    }

    /// Adds `text`.
    #[inline]
    pub(super) fn text(&mut self, text: &str) -> fmt::Result {
        let end = self.length + text.len();
        match self.bytes.get_mut(self.length..end) {
            Some(place) => {
                place.copy_from_slice(text.as_bytes());
                self.length = end;
                Ok(())
            }
            None => self.long_text(text),
        }
    }

    #[cold]
    fn long_text(&mut self, text: &str) -> fmt::Result {
        self.flush()?;
        self.out.write_str(text)
    }

    /// Adds `piece`.
    #[inline]
    pub(super) fn short(&mut self, piece: Short) -> fmt::Result {
        match self.bytes.get_mut(self.length..self.length + piece.bytes.len()) {
            Some(place) => {
                place.copy_from_slice(&piece.bytes);
                self.length += piece.length;
                Ok(())
            }
            None => self.text(piece.text()),
        }
    }

    /// Adds the number in decimal.
    #[inline]
    pub(super) fn decimal(&mut self, value: u32) -> fmt::Result {
        match (DECIMALS.get(value as usize), self.bytes.get_mut(self.length..self.length + 3)) {
            (Some(&[first, second, third, count]), Some(place)) => {
                place.copy_from_slice(&[first, second, third]);
                self.length += usize::from(count);
                Ok(())
            }
            _ => write!(self, "{value}"),
        }
    }

    /// Adds the number in decimal, with a `-` if it is negative.
    pub(super) fn signed_decimal(&mut self, value: i32) -> fmt::Result {
        if value < 0 {
            self.text("-")?;
        }
        self.decimal(value.unsigned_abs())
    }

    /// Adds the number in hexadecimal, with `0x`.
    pub(super) fn hexadecimal(&mut self, value: u32) -> fmt::Result {
        let count = (value.max(1).ilog2() / 4 + 1) as usize;
        let Some(place) = self.bytes.get_mut(self.length..self.length + 2 + count) else {
            return write!(self, "{value:#x}");
        };
        let mut rest = value;
        for (at, byte) in place.iter_mut().enumerate().rev() {
            *byte = match at {
                0 => b'0',
                1 => b'x',
                _ => b"0123456789abcdef"[(rest & 15) as usize],
            };
            rest >>= 4;
        }
        self.length += 2 + count;
        Ok(())
    }
}

impl Write for Line<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_standard_library_writes_them() {
        let edges = (0..32).flat_map(|bit| [(1u32 << bit) - 1, 1 << bit, u32::MAX << bit]);
        for value in (0..=70_000).chain(edges) {
            let mut text = String::new();
            let mut line = Line::new(&mut text);
            let written = line
                .decimal(value)
                .and_then(|()| line.text(" "))
                .and_then(|()| line.signed_decimal(value as i32))
                .and_then(|()| line.text(" "))
                .and_then(|()| line.hexadecimal(value))
                .and_then(|()| line.flush());
            assert!(written.is_ok());
            assert_eq!(text, format!("{value} {} {value:#x}", value as i32));
        }
    }

    #[test]
    fn texts_longer_than_the_room_are_whole() {
        for piece in 1..2 * ROOM {
            let (mut text, mut expected) = (String::new(), String::new());
            let mut line = Line::new(&mut text);
            for round in 0..20 {
                let piece = "é".repeat(piece % 7) + &"x".repeat(piece);
                assert!(line.text(&piece).and_then(|()| line.decimal(round)).is_ok());
                assert!(line.hexadecimal(round << 20).is_ok());
                let short = if round % 2 == 0 { Short::new("12345678") } else { Short::new("é") };
                assert!(line.short(short).and_then(|()| line.short(Short::EMPTY)).is_ok());
                expected += &format!("{piece}{round}{:#x}{}", round << 20, short.text());
            }
            assert!(line.flush().is_ok());
            assert_eq!(text, expected);
        }
    }
}
