//! Answers each line of hexadecimal digits with one JSON object.

use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;

use wavemill_asm::InstructionSet;
use wavemill_asm::gcn::print;

use super::hex;
use crate::failure::Failure;

/// Longest line, in bytes, that may be an instruction.
const LONGEST_LINE: usize = 1 << 16;

/// The bytes to write.
struct Sink(Vec<u8>);

impl fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl Sink {
    fn text(&mut self, text: &str) {
        self.0.extend_from_slice(text.as_bytes());
    }

    /// Text between quotes.
    fn quoted(&mut self, text: &str) {
        // Writing to a vector does not fail.
        let _ = serde_json::to_writer(&mut self.0, text);
    }

    fn digits(&mut self, bytes: &[u8]) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        for byte in bytes {
            self.0.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
}

struct Answerer {
    set: InstructionSet,
    out: Sink,
    bytes: Vec<u8>,
}

impl Answerer {
    /// Appends the object for a line.
    fn line(&mut self, line: &[u8]) {
        self.bytes.clear();
        let out = &mut self.out;
        if line.len() > LONGEST_LINE {
            out.text("{\"hex\":\"\",\"error\":\"the line is longer than 65536 bytes\"}\n");
            return;
        }
        out.text("{\"hex\":");
        if let Err(message) = hex::line(line, &mut self.bytes) {
            out.quoted(&String::from_utf8_lossy(line));
            out.text(",\"error\":");
            out.quoted(&message);
            out.text("}\n");
            return;
        }
        out.text("\"");
        out.digits(&self.bytes);
        match self.set.decode(&self.bytes) {
            Ok(inst) => {
                out.text("\",\"size\":");
                // An instruction has at most 16 bytes.
                out.text(["0", "4", "8", "12", "16"].get(inst.size() / 4).unwrap_or(&"0"));
                out.text(",\"text\":\"");
                let start = out.0.len();
                // Writing to a vector does not fail.
                let _ = print(out, &inst);
                let text = out.0.get(start..).unwrap_or_default();
                // Lane patterns are between quotes.
                if text.iter().any(|byte| matches!(byte, b'"' | b'\\')) {
                    let text = String::from_utf8_lossy(text).into_owned();
                    out.0.truncate(start - 1);
                    out.quoted(&text);
                    out.text("}\n");
                } else {
                    out.text("\"}\n");
                }
            }
            Err(error) => {
                out.text("\",\"error\":");
                out.quoted(&error.to_string());
                out.text("}\n");
            }
        }
    }
}

/// Answers every line of a file, or of the standard input, as soon as it arrives.
///
/// # Errors
/// [`Failure`] if the input cannot be read or the output cannot be written. An error in a line is
/// its answer.
pub(super) fn answer(path: &Path, set: InstructionSet) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return answer_all(std::io::stdin().lock(), &crate::input::shown(path), set);
    }
    answer_all(&*crate::input::open(path)?, &crate::input::shown(path), set)
}

fn answer_all(input: impl Read, name: &str, set: InstructionSet) -> Result<(), Failure> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let mut stdout = std::io::stdout().lock();
    let mut answerer = Answerer { set, out: Sink(Vec::with_capacity(1 << 20)), bytes: Vec::new() };
    // The start of a line whose end has not arrived.
    let mut partial: Vec<u8> = Vec::new();
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::input(format!("cannot read {name}: {error}"))),
        };
        if chunk.is_empty() {
            break;
        }
        let size = chunk.len();
        let mut rest = chunk;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let (line, behind) = rest.split_at(end);
            rest = behind.get(1..).unwrap_or_default();
            if partial.is_empty() {
                answerer.line(line);
            } else {
                append(&mut partial, line);
                answerer.line(&partial);
                partial.clear();
            }
        }
        append(&mut partial, rest);
        input.consume(size);
        // The next read may wait for a program that waits for these answers.
        stdout.write_all(&answerer.out.0)?;
        stdout.flush()?;
        answerer.out.0.clear();
    }
    if !partial.is_empty() {
        answerer.line(&partial);
        stdout.write_all(&answerer.out.0)?;
    }
    stdout.flush()?;
    Ok(())
}

/// Appends to a line, up to one byte beyond the longest valid line.
fn append(partial: &mut Vec<u8>, more: &[u8]) {
    let room = (LONGEST_LINE + 1).saturating_sub(partial.len());
    partial.extend_from_slice(more.get(..more.len().min(room)).unwrap_or_default());
}
