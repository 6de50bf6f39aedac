//! Disassembles machine code without a file around it.

use wavemill_object::{Container, Error, TargetId, Unlinked};

use super::hex;
use crate::failure::Failure;

/// Whether the bytes are not a file that may contain code objects.
pub(super) fn is_raw(bytes: &[u8]) -> bool {
    matches!(Container::parse(bytes), Err(Error::Foreign { .. })) && !bytes.starts_with(b"\x7fELF")
}

/// The code, as if assembled from a source with nothing else. Text is parsed as hexadecimal digits,
/// unless `binary` is set.
///
/// # Errors
/// The error in the digits.
pub(super) fn unlinked(target: &TargetId, bytes: &[u8], binary: bool) -> Result<Unlinked, Failure> {
    let code = if binary || !hex::looks_like_text(bytes) {
        bytes.to_vec()
    } else {
        let mut code = Vec::new();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            hex::line(line, &mut code).map_err(|message| {
                Failure::input(format!("line {}: {message}", number + 1))
                    .help("Pass --raw for raw machine code that looks like text.")
            })?;
        }
        code
    };
    Ok(Unlinked::from_code(target.clone(), code))
}
