//! Writes data as directives.

use std::fmt::{self, Write};

use wavemill_object::RelocationKind;
use wavemill_object::write::{Contents, Relocation, SectionId};

use super::{Writer, names};

/// At least this many zeros are written as a count.
const MANY_ZEROS: usize = 16;
/// Shorter texts are written as numbers.
const SHORTEST_TEXT: usize = 4;
/// Characters of a text per line.
const LONGEST_LINE: usize = 72;

fn is_text(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t' | b'\r')
}

/// The text at the start of `bytes`: its characters, without the terminating zero.
fn text(bytes: &[u8]) -> Option<&[u8]> {
    let length = bytes.iter().position(|byte| !is_text(*byte))?;
    (length >= SHORTEST_TEXT && bytes.get(length) == Some(&0)).then(|| bytes.get(..length)).flatten()
}

fn zeros(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == 0).count()
}

impl Writer<'_> {
    /// Writes bytes of a section as data, with the values that the linker fills in.
    pub(super) fn data(&mut self, id: SectionId, start: u64, end: u64) -> fmt::Result {
        let module = self.module;
        let Some(section) = module.sections.get(id.0) else { return Ok(()) };
        let Contents::Bytes(bytes) = &section.contents else { return Ok(()) };
        let first = section.relocations.partition_point(|relocation| relocation.offset < start);
        let mut at = start;
        for relocation in section.relocations.get(first..).unwrap_or_default() {
            if relocation.offset >= end {
                break;
            }
            let behind = relocation.offset.saturating_add(relocation.kind.width() as u64);
            let value = self.value(relocation).filter(|_| relocation.offset >= at && behind <= end);
            let Some(value) = value else {
                self.lost(std::slice::from_ref(relocation))?;
                continue;
            };
            self.plain_data(id, bytes, at, relocation.offset)?;
            self.line.clear();
            self.line.push_str(&value);
            self.comment(id, relocation.offset, &[], format_args!(""))?;
            at = behind;
        }
        self.plain_data(id, bytes, at, end)
    }

    /// The directive that produces a relocation.
    fn value(&self, relocation: &Relocation) -> Option<String> {
        let name = self.names.of(relocation.symbol);
        let sum = |kind: &str| names::sum(name, kind, relocation.addend);
        Some(match relocation.kind {
            RelocationKind::Abs64 => format!("\t.quad\t{}", sum("")),
            RelocationKind::Rel64 => format!("\t.quad\t{}", sum("rel64")),
            RelocationKind::Abs32 => format!("\t.long\t{}", sum("")),
            RelocationKind::Rel32 => format!("\t.long\t{}-.", sum("")),
            RelocationKind::Rel32Lo => format!("\t.long\t{}", sum("rel32@lo")),
            RelocationKind::Rel32Hi => format!("\t.long\t{}", sum("rel32@hi")),
            RelocationKind::Abs32Lo => format!("\t.long\t{}", sum("abs32@lo")),
            RelocationKind::Abs32Hi => format!("\t.long\t{}", sum("abs32@hi")),
            RelocationKind::GotPcRel => format!("\t.long\t{}", sum("gotpcrel")),
            RelocationKind::GotPcRel32Lo => format!("\t.long\t{}", sum("gotpcrel32@lo")),
            RelocationKind::GotPcRel32Hi => format!("\t.long\t{}", sum("gotpcrel32@hi")),
            _ => return None,
        })
    }

    fn plain_data(&mut self, id: SectionId, bytes: &[u8], start: u64, end: u64) -> fmt::Result {
        let mut at = start;
        while at < end {
            let rest = bytes.get(at as usize..end as usize).unwrap_or_default();
            if rest.is_empty() {
                return Ok(());
            }
            self.line.clear();
            let count = zeros(rest);
            let size = if count >= MANY_ZEROS || count == rest.len() && count > 4 {
                // Words that are not zero begin at word boundaries.
                let count =
                    if count == rest.len() { count } else { count - ((at as usize + count) & 3).min(count) };
                write!(self.line, "\t.zero\t{count}")?;
                count
            } else if let Some(text) = text(rest) {
                match text.get(..LONGEST_LINE) {
                    Some(part) if text.len() > LONGEST_LINE => {
                        self.line.push_str("\t.ascii\t");
                        self.characters(part)?;
                        part.len()
                    }
                    _ => {
                        self.line.push_str("\t.asciz\t");
                        self.characters(text)?;
                        text.len() + 1
                    }
                }
            } else if at.is_multiple_of(4) && rest.len() >= 4 {
                self.numbers(rest)?
            } else {
                let size = rest.len().min((4 - (at & 3)) as usize);
                for (index, byte) in rest.iter().take(size).enumerate() {
                    let before = if index == 0 { "\t.byte\t" } else { ", " };
                    write!(self.line, "{before}{byte:#04x}")?;
                }
                size
            };
            self.comment(id, at, &[], format_args!(""))?;
            at += size as u64;
        }
        Ok(())
    }

    /// Writes up to four words, unless another form suits them better. Returns how many bytes they
    /// are.
    fn numbers(&mut self, bytes: &[u8]) -> Result<usize, fmt::Error> {
        let (words, _) = bytes.as_chunks::<4>();
        let mut size = 0;
        for word in words.iter().take(4) {
            let rest = bytes.get(size..).unwrap_or_default();
            if size != 0 && (text(rest).is_some() || zeros(rest) >= MANY_ZEROS) {
                break;
            }
            let before = if size == 0 { "\t.long\t" } else { ", " };
            write!(self.line, "{before}{:#010x}", u32::from_le_bytes(*word))?;
            size += 4;
        }
        Ok(size)
    }

    /// Writes characters between quotes.
    fn characters(&mut self, text: &[u8]) -> fmt::Result {
        self.line.push('"');
        for byte in text {
            match byte {
                b'"' | b'\\' => {
                    self.line.push('\\');
                    self.line.push(char::from(*byte));
                }
                b'\n' => self.line.push_str("\\n"),
                b'\t' => self.line.push_str("\\t"),
                b' '..=b'~' => self.line.push(char::from(*byte)),
                _ => write!(self.line, "\\{byte:03o}")?,
            }
        }
        self.line.push('"');
        Ok(())
    }
}
