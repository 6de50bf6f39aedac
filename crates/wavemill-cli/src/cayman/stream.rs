//! Answers each line of hexadecimal digits with one JSON object.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use serde_json::json;

use super::Clause;
use crate::dis::hex;
use crate::failure::Failure;

/// Longest line, in bytes, that may be a word or a group.
const LONGEST_LINE: usize = 1 << 16;

/// Answers every line of a file, or of the standard input.
///
/// # Errors
/// [`Failure`] if the input cannot be read or the output cannot be written. An error in a line is
/// its answer.
pub(crate) fn answer(path: &Path, clause: Clause) -> Result<(), Failure> {
    let name = crate::input::shown(path);
    let failed = |error: std::io::Error| Failure::input(format!("cannot read {name}: {error}"));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    let mut input: Box<dyn BufRead> = match path.as_os_str() == "-" {
        true => Box::new(BufReader::new(std::io::stdin())),
        false => Box::new(std::io::Cursor::new(crate::input::open(path)?.to_vec())),
    };
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line).map_err(failed)? == 0 {
            return Ok(());
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        writeln!(out, "{}", one(text, clause))?;
        // Programs wait for the answer.
        out.flush()?;
    }
}

/// The object for a line.
fn one(line: &[u8], clause: Clause) -> serde_json::Value {
    if line.len() > LONGEST_LINE {
        return json!({ "hex": "", "error": format!("the line is longer than {LONGEST_LINE} bytes") });
    }
    let mut bytes = Vec::new();
    if let Err(message) = hex::line(line, &mut bytes) {
        return json!({ "hex": String::from_utf8_lossy(line), "error": message });
    }
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    match clause.decode(&bytes) {
        Ok(decoded) => json!({ "hex": digits, "size": decoded.size(), "text": decoded.text() }),
        Err(error) => json!({ "hex": digits, "error": error }),
    }
}
