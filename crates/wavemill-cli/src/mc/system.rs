//! The operating systems that a triple names, in the header of the files written for them.

use wavemill_object::{Feature, TargetId};

/// Offsets in the header of a 64-bit ELF file: operating system and its version, and flags.
const SYSTEM: std::ops::Range<usize> = 7..9;
const FLAGS: std::ops::Range<usize> = 48..52;
/// Flags of features, as they were before version 4 of the code object format (AMDGPUUsage, "ELF Header", V3).
const XNACK: u32 = 0x100;
const SRAMECC: u32 = 0x200;

/// Makes the header of a file for HSA that of one for the system of `triple`. Versions of the code object format are
/// HSA's: others have flags as before version 4.
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
