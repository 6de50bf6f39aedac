//! Writes the operating system of a triple into the header of an object.

use wavemill_object::{Feature, TargetId};

/// Offsets in the header of a 64-bit ELF file: operating system and its version, and flags.
const SYSTEM: std::ops::Range<usize> = 7..9;
const FLAGS: std::ops::Range<usize> = 48..52;
/// Flags of features, as before version 4 of the code object format (AMDGPUUsage, "ELF Header",
/// V3).
const XNACK: u32 = 0x100;
const SRAMECC: u32 = 0x200;

/// Changes the header of a file for HSA into one for the system of `triple`. Only HSA has versions
/// of the code object format: other systems have the flags from before version 4.
pub(super) fn adapt_header(file: &mut [u8], triple: &str, id: &TargetId) {
    let system = match triple.split('-').nth(2).unwrap_or_default() {
        "amdhsa" => return,
        "amdpal" => 65,
        "mesa3d" => 66,
        _ => 0,
    };
    if let Some(field) = file.get_mut(SYSTEM) {
        field.copy_from_slice(&[system, 0]);
    }
    let set = |feature, flag| if matches!(feature, Feature::On | Feature::Any) { flag } else { 0 };
    if let Some(field) = file.get_mut(FLAGS)
        && let Some(processor) = field.first().copied()
    {
        let flags = u32::from(processor) | set(id.xnack, XNACK) | set(id.sramecc, SRAMECC);
        field.copy_from_slice(&flags.to_le_bytes());
    }
}
