//! Disassembles hexadecimal machine code, instruction by instruction.

use std::fmt::Write as _;

use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::print;

use super::text::encoding;

/// Bytes with their positions in the text.
#[derive(Default)]
struct Bytes {
    values: Vec<u8>,
    /// Byte offsets in the text.
    places: Vec<usize>,
}

struct Disassembler<'a> {
    file: &'a str,
    text: &'a [u8],
    set: InstructionSet,
    encodings: bool,
    /// The digits are pairs without 0x.
    hex: bool,
    out: String,
    right: bool,
}

/// Disassembles the bytes in a text. They are numbers or, with `hex`, pairs of digits. Returns the
/// text of the instructions, and whether there was no error.
pub(super) fn all(
    file: &str,
    text: &[u8],
    set: InstructionSet,
    encodings: bool,
    hex: bool,
) -> (String, bool) {
    let mut all = Disassembler { file, text, set, encodings, hex, out: String::new(), right: true };
    all.read();
    (all.out, all.right)
}

/// The value of a token, as C writes numbers.
fn number(text: &[u8]) -> Option<u8> {
    let text = std::str::from_utf8(text).ok()?.to_ascii_lowercase();
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x', ..] => (text.get(2..)?, 16),
        [b'0', b'b', ..] => (text.get(2..)?, 2),
        [b'0', b'o', ..] => (text.get(2..)?, 8),
        [b'0', _, ..] => (text.get(1..)?, 8),
        _ => (text.as_str(), 10),
    };
    u8::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with('+'))
}

/// Pairs of digits.
fn pairs(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    crate::dis::hex::line(text, &mut bytes).ok()?;
    Some(bytes)
}

impl Disassembler<'_> {
    /// Reads blocks: bytes between brackets, and bytes outside of them.
    fn read(&mut self) {
        let text = self.text;
        let mut block = Bytes::default();
        let mut bracket = None;
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b',' => at += 1,
                b'#' => at += text.iter().skip(at).take_while(|byte| **byte != b'\n').count(),
                b'[' => {
                    if bracket.is_some() {
                        return self.wrong(at, "invalid input token");
                    }
                    self.block(&std::mem::take(&mut block), false);
                    bracket = Some(at);
                    at += 1;
                }
                b']' => {
                    if bracket.take().is_none() {
                        return self.wrong(at, "invalid input token");
                    }
                    self.block(&std::mem::take(&mut block), true);
                    at += 1;
                }
                _ => {
                    let end = |byte: &u8| b" \t\r\n,#[]".contains(byte);
                    let length = text.iter().skip(at).take_while(|byte| !end(byte)).count();
                    let token = text.get(at..at + length).unwrap_or_default();
                    let bytes = if self.hex { pairs(token) } else { number(token).map(|byte| vec![byte]) };
                    let Some(bytes) = bytes else {
                        // Bytes before it, and bytes after it on its line, are dropped.
                        self.message(at, "error", "invalid input token");
                        block = Bytes::default();
                        at += text.iter().skip(at).take_while(|byte| **byte != b'\n').count();
                        continue;
                    };
                    block.places.extend(bytes.iter().map(|_| at));
                    block.values.extend(bytes);
                    at += length;
                }
            }
        }
        if let Some(bracket) = bracket {
            return self.wrong(bracket, "unclosed bracket");
        }
        self.block(&block, false);
    }

    fn wrong(&mut self, at: usize, text: &str) {
        self.right = false;
        self.message(at, "error", text);
    }

    /// Reports something about a position in the text.
    fn message(&self, at: usize, kind: &str, text: &str) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let end =
            self.text.iter().skip(at).position(|byte| *byte == b'\n').map_or(self.text.len(), |n| at + n);
        let source = String::from_utf8_lossy(self.text.get(start..end).unwrap_or_default());
        super::with_mark(self.file, line, [0, at - start], kind, text, &source);
    }

    /// Prints the instructions of a block. In a block between brackets, everything after an unknown
    /// instruction is dropped.
    fn block(&mut self, block: &Bytes, atomic: bool) {
        let mut at = 0;
        while let Some(rest) = block.values.get(at..).filter(|rest| !rest.is_empty()) {
            match self.set.decode(rest) {
                Ok(inst) => {
                    self.out.push('\t');
                    let start = self.out.len();
                    // Writing to a String does not fail.
                    let _ = print(&mut self.out, &inst);
                    if self.encodings {
                        let (bytes, size) = inst.encode();
                        let list = bytes.iter().take(size).map(|byte| format!("{byte:#04x}"));
                        encoding(&mut self.out, start, &list.collect::<Vec<_>>());
                    }
                    let _ = writeln!(self.out);
                    at += inst.size();
                }
                Err(_) => {
                    let place = block.places.get(at).copied().unwrap_or(0);
                    self.message(place, "warning", "invalid instruction encoding");
                    if atomic {
                        self.right = false;
                        return;
                    }
                    at += 4;
                }
            }
        }
    }
}
