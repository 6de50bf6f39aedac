//! Machine code without a file around it.

use wavemill_object::write::{Module, Section, SectionFlags};
use wavemill_object::{CodeObjectVersion, Container, Error, TargetId, Unlinked};

use super::hex;
use crate::failure::Failure;

/// Whether bytes are no file that has code objects.
pub(super) fn is_raw(bytes: &[u8]) -> bool {
    matches!(Container::parse(bytes), Err(Error::Foreign { .. })) && !bytes.starts_with(b"\x7fELF")
}

/// The code as if it had been assembled from a source that has nothing else. Text is read as hexadecimal digits, unless
/// `binary` says that there is none.
///
/// # Errors
/// What is wrong with the digits.
pub(super) fn unlinked(target: &TargetId, bytes: &[u8], binary: bool) -> Result<Unlinked, Failure> {
    let code = if binary || !hex::looks_like_text(bytes) {
        bytes.to_vec()
    } else {
        let mut code = Vec::new();
        for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            hex::line(line, &mut code).map_err(|message| {
                Failure::input(format!("line {}: {message}", number + 1))
                    .help("Machine code that looks like text is read with --raw.")
            })?;
        }
        code
    };
    let mut module = Module::new(target.clone(), CodeObjectVersion::V6);
    let flags = SectionFlags::ALLOC | SectionFlags::EXECUTE;
    module.add_section(Section::new(".text", flags, 4, code));
    Ok(Unlinked {
        module,
        linked: false,
        addresses: vec![0],
        got: Vec::new(),
        legacy_kernels: Vec::new(),
        left_out: Vec::new(),
    })
}
