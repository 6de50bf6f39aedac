//! The processors and their numbers in `e_flags`.

use std::borrow::Cow;
use std::fmt;

pub use wavemill_isa::Generation;

use crate::printable::Printable;

/// One row of the table of processors.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct ProcessorInfo {
    /// Name as compilers spell it: `gfx90a`, `gfx9-4-generic`, `cayman`.
    pub name: &'static str,
    /// Number in the low byte of `e_flags` (`EF_AMDGPU_MACH`).
    pub mach: u8,
    /// Family.
    pub generation: Generation,
    /// Whether page faults on the GPU can be replayed (target feature `xnack`).
    pub xnack: bool,
    /// Whether memory error correction is a target feature (`sramecc`).
    pub sramecc: bool,
    /// For a generic processor, the processors that run its code.
    pub covers: &'static [&'static str],
}

/// A processor: one of the table, or one that is newer than this crate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Processor {
    /// A row of [`PROCESSORS`].
    Known(&'static ProcessorInfo),
    /// A number in `e_flags` that is not in the table.
    UnknownMach(u8),
    /// A name that is not in the table.
    UnknownName(String),
}

impl Processor {
    /// The processor with the number `mach` in the low byte of `e_flags`.
    pub fn from_mach(mach: u8) -> Self {
        match PROCESSORS.iter().find(|row| row.mach == mach) {
            Some(row) => Processor::Known(row),
            None => Processor::UnknownMach(mach),
        }
    }

    /// The processor called `name` (`gfx942`).
    pub fn from_name(name: &str) -> Self {
        match PROCESSORS.iter().find(|row| row.name == name) {
            Some(row) => Processor::Known(row),
            None => Processor::UnknownName(name.to_owned()),
        }
    }

    /// The processor that a triple such as `amdgpu9.42-amd-amdhsa` names in its architecture.
    /// `subarch` is the part after `amdgpu` (LLVM 24, AMDGPUUsage "Subarchitecture Compatibility").
    pub fn from_subarch(subarch: &str) -> Self {
        let fits = |row: &&ProcessorInfo| row.subarch().is_some_and(|own| own == subarch);
        match PROCESSORS.iter().find(fits) {
            Some(row) => Processor::Known(row),
            None => Processor::UnknownName(format!("amdgpu{subarch}")),
        }
    }

    /// The row of the table, unless the processor is unknown.
    pub fn info(&self) -> Option<&'static ProcessorInfo> {
        match self {
            Processor::Known(row) => Some(row),
            _ => None,
        }
    }

    /// The family, unless the processor is unknown.
    pub fn generation(&self) -> Option<Generation> {
        self.info().map(|row| row.generation)
    }

    /// Whether hardware sets FLAT_SCRATCH up and only scratch instructions access scratch memory,
    /// so that no SGPRs are needed for it. False for processors that are not in the table.
    pub fn has_architected_flat_scratch(&self) -> bool {
        self.generation().is_some_and(|generation| generation.facts().architected_scratch)
    }

    /// The name; for an unknown number, a text that contains it.
    pub fn name(&self) -> Cow<'_, str> {
        match self {
            Processor::Known(row) => Cow::Borrowed(row.name),
            Processor::UnknownMach(mach) => Cow::Owned(format!("unknown-processor-{mach:#04x}")),
            Processor::UnknownName(name) => Cow::Borrowed(name),
        }
    }

    /// Whether code for this processor runs on `device`: they are the same, or this one is generic
    /// and covers the device.
    pub fn runs_on(&self, device: &Processor) -> bool {
        self == device || self.info().is_some_and(|row| row.covers.contains(&device.name().as_ref()))
    }
}

/// Prints the name on one line and escapes terminal control characters: ids of bundles may name any
/// processor.
impl fmt::Display for Processor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Printable(&self.name()).fmt(f)
    }
}

impl ProcessorInfo {
    /// Spelling of the processor in the architecture of an LLVM 24 triple,
    /// without `amdgpu`: `9.42`, `9.0a`, `10.30`; `9.4` for a generic one.
    /// `None` for the VLIW processors, whose architecture is `r600`.
    pub fn subarch(&self) -> Option<String> {
        let version = self.name.strip_prefix("gfx")?;
        if let Some(family) = version.strip_suffix("-generic") {
            return Some(family.replace('-', "."));
        }
        // The last two digits are minor version and stepping, one hexadecimal digit each.
        let (major, rest) = version.split_at_checked(version.len().checked_sub(2)?)?;
        Some(format!("{major}.{rest}"))
    }

    /// Major version, minor version and stepping (AMDGPUUsage, "Instructions"): 9, 0 and 10 for
    /// gfx90a. Parts that the name of a generic processor omits are 0. `None` for the VLIW
    /// processors.
    pub fn version(&self) -> Option<(u8, u8, u8)> {
        let version = self.subarch()?;
        let (major, rest) = version.split_once('.').unwrap_or((&version, ""));
        let mut digits =
            rest.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()));
        Some((major.parse().ok()?, digits.next().unwrap_or(Some(0))?, digits.next().unwrap_or(Some(0))?))
    }
}

/// Every processor that has a number in `e_flags`, by number (AMDGPUUsage,
/// "EF_AMDGPU_MACH Values"; gfx940 and gfx941 were withdrawn after ROCm 6).
pub static PROCESSORS: &[ProcessorInfo] = &{
    use Generation::*;
    [
        plain("r600", 0x01, R600),
        plain("r630", 0x02, R600),
        plain("rs880", 0x03, R600),
        plain("rv670", 0x04, R600),
        plain("rv710", 0x05, R600),
        plain("rv730", 0x06, R600),
        plain("rv770", 0x07, R600),
        plain("cedar", 0x08, R600),
        plain("cypress", 0x09, R600),
        plain("juniper", 0x0a, R600),
        plain("redwood", 0x0b, R600),
        plain("sumo", 0x0c, R600),
        plain("barts", 0x0d, R600),
        plain("caicos", 0x0e, R600),
        plain("cayman", 0x0f, R600),
        plain("turks", 0x10, R600),
        plain("gfx600", 0x20, Gfx6),
        plain("gfx601", 0x21, Gfx6),
        plain("gfx700", 0x22, Gfx7),
        plain("gfx701", 0x23, Gfx7),
        plain("gfx702", 0x24, Gfx7),
        plain("gfx703", 0x25, Gfx7),
        plain("gfx704", 0x26, Gfx7),
        plain("gfx801", 0x28, Gfx8).xnack(),
        plain("gfx802", 0x29, Gfx8),
        plain("gfx803", 0x2a, Gfx8),
        plain("gfx810", 0x2b, Gfx8).xnack(),
        plain("gfx900", 0x2c, Gfx9).xnack(),
        plain("gfx902", 0x2d, Gfx9).xnack(),
        plain("gfx904", 0x2e, Gfx9).xnack(),
        plain("gfx906", 0x2f, Gfx9).xnack().sramecc(),
        plain("gfx908", 0x30, Gfx908).xnack().sramecc(),
        plain("gfx909", 0x31, Gfx9).xnack(),
        plain("gfx90c", 0x32, Gfx9).xnack(),
        plain("gfx1010", 0x33, Gfx10).xnack(),
        plain("gfx1011", 0x34, Gfx10).xnack(),
        plain("gfx1012", 0x35, Gfx10).xnack(),
        plain("gfx1030", 0x36, Gfx10),
        plain("gfx1031", 0x37, Gfx10),
        plain("gfx1032", 0x38, Gfx10),
        plain("gfx1033", 0x39, Gfx10),
        plain("gfx602", 0x3a, Gfx6),
        plain("gfx705", 0x3b, Gfx7),
        plain("gfx805", 0x3c, Gfx8),
        plain("gfx1035", 0x3d, Gfx10),
        plain("gfx1034", 0x3e, Gfx10),
        plain("gfx90a", 0x3f, Gfx90a).xnack().sramecc(),
        plain("gfx940", 0x40, Gfx940).xnack().sramecc(),
        plain("gfx1100", 0x41, Gfx11),
        plain("gfx1013", 0x42, Gfx10).xnack(),
        plain("gfx1150", 0x43, Gfx11),
        plain("gfx1103", 0x44, Gfx11),
        plain("gfx1036", 0x45, Gfx10),
        plain("gfx1101", 0x46, Gfx11),
        plain("gfx1102", 0x47, Gfx11),
        plain("gfx1200", 0x48, Gfx12),
        plain("gfx1250", 0x49, Gfx125),
        plain("gfx1151", 0x4a, Gfx11),
        plain("gfx941", 0x4b, Gfx940).xnack().sramecc(),
        plain("gfx942", 0x4c, Gfx940).xnack().sramecc(),
        plain("gfx1201", 0x4e, Gfx12),
        plain("gfx950", 0x4f, Gfx940).xnack().sramecc(),
        plain("gfx9-generic", 0x51, Gfx9)
            .xnack()
            .covers(&["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]),
        plain("gfx10-1-generic", 0x52, Gfx10).xnack().covers(&["gfx1010", "gfx1011", "gfx1012", "gfx1013"]),
        plain("gfx10-3-generic", 0x53, Gfx10)
            .covers(&["gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"]),
        plain("gfx11-generic", 0x54, Gfx11).covers(&[
            "gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153",
        ]),
        plain("gfx1152", 0x55, Gfx11),
        plain("gfx1153", 0x58, Gfx11),
        plain("gfx12-generic", 0x59, Gfx12).covers(&["gfx1200", "gfx1201"]),
        plain("gfx1251", 0x5a, Gfx125),
        plain("gfx9-4-generic", 0x5f, Gfx940).xnack().sramecc().covers(&["gfx942", "gfx950"]),
    ]
};

/// A row without target features.
const fn plain(name: &'static str, mach: u8, generation: Generation) -> ProcessorInfo {
    ProcessorInfo { name, mach, generation, xnack: false, sramecc: false, covers: &[] }
}

impl ProcessorInfo {
    const fn xnack(mut self) -> Self {
        self.xnack = true;
        self
    }

    const fn sramecc(mut self) -> Self {
        self.sramecc = true;
        self
    }

    const fn covers(mut self, processors: &'static [&'static str]) -> Self {
        self.covers = processors;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_in_order_and_name_each_processor_once() {
        assert!(PROCESSORS.windows(2).all(|pair| pair[0].mach < pair[1].mach));
        for row in PROCESSORS {
            assert_eq!(Processor::from_name(row.name), Processor::Known(row));
            assert_eq!(Processor::from_mach(row.mach), Processor::Known(row));
            if let Some(subarch) = row.subarch() {
                assert_eq!(Processor::from_subarch(&subarch), Processor::Known(row), "{subarch}");
            }
            for covered in row.covers {
                let covered = Processor::from_name(covered);
                assert_eq!(covered.generation(), Some(row.generation), "{covered} in {}", row.name);
                assert!(Processor::Known(row).runs_on(&covered));
                assert!(!covered.runs_on(&Processor::Known(row)));
            }
        }
    }

    #[test]
    fn new_triples_spell_the_version() {
        let spelled = |name: &str| Processor::from_name(name).info().unwrap().subarch().unwrap();
        assert_eq!(spelled("gfx942"), "9.42");
        assert_eq!(spelled("gfx90a"), "9.0a");
        assert_eq!(spelled("gfx1030"), "10.30");
        assert_eq!(spelled("gfx9-generic"), "9");
        assert_eq!(spelled("gfx9-4-generic"), "9.4");
        assert_eq!(Processor::from_name("cayman").info().unwrap().subarch(), None);
    }

    #[test]
    fn versions_are_three_numbers() {
        let version = |name: &str| Processor::from_name(name).info().unwrap().version();
        assert_eq!(version("gfx942"), Some((9, 4, 2)));
        assert_eq!(version("gfx90a"), Some((9, 0, 10)));
        assert_eq!(version("gfx1030"), Some((10, 3, 0)));
        assert_eq!(version("gfx9-generic"), Some((9, 0, 0)));
        assert_eq!(version("gfx9-4-generic"), Some((9, 4, 0)));
        assert_eq!(version("cayman"), None);
    }

    #[test]
    fn unknown_processors_keep_what_is_known() {
        assert_eq!(Processor::from_mach(0xfe).to_string(), "unknown-processor-0xfe");
        assert_eq!(Processor::from_name("gfx9999").to_string(), "gfx9999");
        assert_eq!(Processor::from_subarch("99.99").to_string(), "amdgpu99.99");
    }
}
