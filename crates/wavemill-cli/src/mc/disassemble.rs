//! Machine code in hexadecimal digits as text, instruction by instruction.

use std::fmt::Write as _;

use wavemill_asm::gcn::print;
use wavemill_isa::Target;
use wavemill_isa::gcn::decode;

use super::text::encoding;

/// Bytes with their places in the text.
#[derive(Default)]
struct Bytes {
    values: Vec<u8>,
    /// Byte offsets in the text.
    places: Vec<usize>,
}

struct Disassembler<'a> {
    file: &'a str,
    text: &'a [u8],
    target: Target,
    encodings: bool,
    out: String,
    right: bool,
}

/// Takes the bytes in a text apart; the text of the instructions, and whether everything was right.
pub(super) fn all(file: &str, text: &[u8], target: Target, encodings: bool) -> (String, bool) {
    let mut all = Disassembler { file, text, target, encodings, out: String::new(), right: true };
    all.read();
    (all.out, all.right)
}

/// A token of digits: its bytes; `None` if it is none.
fn token(text: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok()?;
    if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return Some(vec![u8::from_str_radix(digits, 16).ok()?]);
    }
    // Digits alone, two for each byte.
    let (pairs, odd) = text.as_bytes().as_chunks::<2>();
    let pair = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    (odd.is_empty() && !pairs.is_empty()).then(|| pairs.iter().map(pair).collect()).flatten()
}

impl Disassembler<'_> {
    /// Reads blocks: those between brackets, and what stands outside of them.
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
                    let Some(bytes) = token(text.get(at..at + length).unwrap_or_default()) else {
                        // What has been read is printed before the mistake is told.
                        self.block(&std::mem::take(&mut block), bracket.is_some());
                        return self.wrong(at, "invalid input token");
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

    /// Tells something of a place in the text.
    fn message(&self, at: usize, kind: &str, text: &str) {
        let before = self.text.get(..at).unwrap_or_default();
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let end = self.text.iter().skip(at).position(|byte| *byte == b'\n').map_or(self.text.len(), |n| at + n);
        let source = String::from_utf8_lossy(self.text.get(start..end).unwrap_or_default());
        super::message(self.file, line, at - start, kind, text, &source);
    }

    /// Prints the instructions of a block. In one between brackets, what follows something unknown is not looked at.
    fn block(&mut self, block: &Bytes, atomic: bool) {
        let mut at = 0;
        while let Some(rest) = block.values.get(at..).filter(|rest| !rest.is_empty()) {
            match decode(self.target, rest) {
                Ok(inst) => {
                    self.out.push('\t');
                    let start = self.out.len();
                    // A String takes any text.
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
