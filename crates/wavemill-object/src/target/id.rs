//! Target ids: a processor and the settings of its target features.

use std::fmt;

use super::Processor;

/// Setting of a target feature (`xnack`, `sramecc`) that code was compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// The processor does not have the feature.
    Unsupported,
    /// The code runs with the feature on or off.
    Any,
    /// The code needs the feature off.
    Off,
    /// The code needs the feature on.
    On,
}

impl Feature {
    /// From a field of two bits of `e_flags` (code object v4 and later).
    fn from_two_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Feature::Unsupported,
            1 => Feature::Any,
            2 => Feature::Off,
            _ => Feature::On,
        }
    }

    /// The reverse of [`from_two_bits`](Self::from_two_bits).
    fn two_bits(self) -> u32 {
        match self {
            Feature::Unsupported => 0,
            Feature::Any => 1,
            Feature::Off => 2,
            Feature::On => 3,
        }
    }

    /// From the single bit of code object v2 and v3, which is meaningless if the processor does not
    /// have the feature. A set bit stands for "any", too (AMDGPUUsage, "Code Object V2 to V3 Target
    /// ID").
    fn from_bit(set: bool, supported: bool) -> Self {
        match (set, supported) {
            (true, _) => Feature::On,
            (false, true) => Feature::Off,
            (false, false) => Feature::Unsupported,
        }
    }

    /// How well code with this setting fits a device; `None` if it does not run. A device setting
    /// of `Any` means that the user does not care.
    fn fit(self, device: Feature) -> Option<u8> {
        use Feature::*;
        match (self, device) {
            (On, On) | (Off, Off) | (Any | Unsupported, Any | Unsupported) => Some(2),
            (Any | Unsupported, On | Off) | (Off, Any | Unsupported) => Some(1),
            (On, Any) => Some(0),
            (On, Off | Unsupported) | (Off, On) => None,
        }
    }
}

/// A processor with its target features: `gfx90a:sramecc+:xnack-`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TargetId {
    /// The processor.
    pub processor: Processor,
    /// Whether GPU page faults are replayed.
    pub xnack: Feature,
    /// Whether memory error correction is on.
    pub sramecc: Feature,
}

/// How well code fits a device; more is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fit {
    /// The code is for this exact processor, not for a generic one.
    exact_processor: bool,
    /// Number of target features that are set as on the device.
    features: u8,
}

impl TargetId {
    /// A processor with open features.
    pub fn new(processor: Processor) -> Self {
        let open = |supported: bool| if supported { Feature::Any } else { Feature::Unsupported };
        // The features of an unknown processor are unknown.
        let (xnack, sramecc) = processor.info().map_or((true, true), |row| (row.xnack, row.sramecc));
        TargetId { processor, xnack: open(xnack), sramecc: open(sramecc) }
    }

    /// The target in the `e_flags` of a code object of v4 or later.
    pub(crate) fn from_flags_v4(flags: u32) -> Self {
        TargetId {
            processor: Processor::from_mach(flags as u8),
            xnack: Feature::from_two_bits(flags >> 8),
            sramecc: Feature::from_two_bits(flags >> 10),
        }
    }

    /// The `e_flags` of a code object of v4 or later for this target, without the version of a
    /// generic processor. `None` for a processor without a number.
    pub(crate) fn flags_v4(&self) -> Option<u32> {
        let mach = match &self.processor {
            Processor::Known(row) => row.mach,
            Processor::UnknownMach(mach) => *mach,
            Processor::UnknownName(_) => return None,
        };
        Some(u32::from(mach) | self.xnack.two_bits() << 8 | self.sramecc.two_bits() << 10)
    }

    /// The target in the `e_flags` of a code object of v3.
    pub(crate) fn from_flags_v3(flags: u32) -> Self {
        let processor = Processor::from_mach(flags as u8);
        let (xnack, sramecc) = processor.info().map_or((false, false), |row| (row.xnack, row.sramecc));
        TargetId {
            processor,
            xnack: Feature::from_bit(flags & 0x100 != 0, xnack),
            sramecc: Feature::from_bit(flags & 0x200 != 0, sramecc),
        }
    }

    /// Reads a target id, alone or after a target triple, in any spelling in use:
    ///
    /// - `gfx90a:sramecc+:xnack-` (Clang Offload Bundler);
    /// - `gfx906+xnack+sram-ecc` (code objects v2 and v3);
    /// - `amdgcn-amd-amdhsa--gfx942` and `amdgcn-amd-amdhsa-unknown-gfx942`;
    /// - `amdgpu9.42-amd-amdhsa-unknown-gfx942`, or without the processor (LLVM 24).
    ///
    /// Returns `None` if the text names no AMD GPU.
    pub fn parse(text: &str) -> Option<Self> {
        let Some(start) = processor_start(text) else {
            // Without a target id, the architecture alone may name the processor.
            let arch = text.split('-').next()?;
            let subarch = arch.strip_prefix("amdgpu").filter(|subarch| !subarch.is_empty())?;
            return Some(TargetId::new(Processor::from_subarch(subarch)));
        };
        let id = &text[start..];
        if id.contains(':') { Self::parse_settings(id) } else { Self::parse_list(id) }
    }

    /// `processor(:feature(+|-))*`
    fn parse_settings(id: &str) -> Option<Self> {
        let mut parts = id.split(':');
        let mut target = TargetId::new(Processor::from_name(parts.next()?));
        for part in parts {
            let (name, setting) = match part.strip_suffix('+') {
                Some(name) => (name, Feature::On),
                None => (part.strip_suffix('-')?, Feature::Off),
            };
            target.set(name, setting)?;
        }
        Some(target)
    }

    /// `processor(+feature)*`
    fn parse_list(id: &str) -> Option<Self> {
        let mut parts = id.split('+');
        let mut target = TargetId::new(Processor::from_name(parts.next()?));
        for name in parts {
            target.set(name, Feature::On)?;
        }
        Some(target)
    }

    /// Sets a feature that has not been set. `None` if it is already set, or if the name is
    /// unknown.
    fn set(&mut self, name: &str, setting: Feature) -> Option<()> {
        let feature = self.feature_mut(name).filter(|feature| **feature == Feature::Any)?;
        *feature = setting;
        Some(())
    }

    fn feature_mut(&mut self, name: &str) -> Option<&mut Feature> {
        match name {
            "xnack" => Some(&mut self.xnack),
            "sramecc" | "sram-ecc" => Some(&mut self.sramecc),
            _ => None,
        }
    }

    /// Whether code compiled for `self` runs on `device`, and how well it fits
    /// (AMDGPUUsage "Target ID", Clang Offload Bundler "Target ID Definition").
    ///
    /// A feature that `device` leaves open ([`Feature::Any`]) accepts every setting. Code that
    /// leaves it open too is preferred; code that needs it on comes last.
    pub fn fit(&self, device: &TargetId) -> Option<Fit> {
        if !self.processor.runs_on(&device.processor) {
            return None;
        }
        let features = self.xnack.fit(device.xnack)? + self.sramecc.fit(device.sramecc)?;
        Some(Fit { exact_processor: self.processor == device.processor, features })
    }
}

/// Where the processor's name begins in a target id or a triple followed by one.
fn processor_start(text: &str) -> Option<usize> {
    if text.starts_with("gfx") {
        return Some(0);
    }
    if let Some(dash) = text.find("-gfx") {
        return Some(dash + 1);
    }
    // The VLIW processors: `cayman`, `r600-unknown-unknown-unknown-cayman`.
    let last = text.rfind('-').map_or(0, |dash| dash + 1);
    matches!(Processor::from_name(&text[last..]), Processor::Known(_)).then_some(last)
}

impl fmt::Display for TargetId {
    /// The canonical form: features in alphabetical order, without open ones.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.processor)?;
        for (name, setting) in [("sramecc", self.sramecc), ("xnack", self.xnack)] {
            match setting {
                Feature::On => write!(f, ":{name}+")?,
                Feature::Off => write!(f, ":{name}-")?,
                Feature::Any | Feature::Unsupported => {}
            }
        }
        Ok(())
    }
}

impl std::str::FromStr for TargetId {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        TargetId::parse(text).ok_or_else(|| crate::Error::Foreign {
            expected: "a target such as gfx942 or gfx90a:xnack-",
            found: format!("{text:?}"),
            advice: "",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TargetId {
        TargetId::parse(text).unwrap_or_else(|| panic!("{text} is no target id"))
    }

    #[test]
    fn every_spelling_means_the_same() {
        let wanted = id("gfx942:sramecc+:xnack-");
        for text in [
            "gfx942:xnack-:sramecc+",
            "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
            "amdgcn-amd-amdhsa-unknown-gfx942:sramecc+:xnack-",
            "amdgpu9.42-amd-amdhsa-unknown-gfx942:sramecc+:xnack-",
            "amdgpu9.42-amd-amdhsa--gfx942:sramecc+:xnack-",
        ] {
            assert_eq!(id(text), wanted, "{text}");
        }
        assert_eq!(wanted.to_string(), "gfx942:sramecc+:xnack-");
        assert_eq!(id("amdgpu9.0a-amd-amdhsa--"), id("gfx90a"));
        assert_eq!(id("amdgpu9.4-amd-amdhsa"), id("gfx9-4-generic"));
        assert_eq!(id("amdgcn-amd-amdhsa-gfx906+xnack+sram-ecc"), id("gfx906:sramecc+:xnack+"));
        assert_eq!(id("amdgcn-amd-amdhsa--gfx9-4-generic:xnack+").to_string(), "gfx9-4-generic:xnack+");
        assert_eq!(id("r600-unknown-unknown-unknown-cayman"), id("cayman"));
        for text in ["", "-", "x86_64-unknown-linux--", "amdgcn-amd-amdhsa", "gfx942:xnack", "gfx942:tea+"] {
            assert_eq!(TargetId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn flags_of_every_version() {
        assert_eq!(TargetId::from_flags_v4(0x52f).to_string(), "gfx906");
        assert_eq!(TargetId::from_flags_v4(0xa2f).to_string(), "gfx906:sramecc-:xnack-");
        assert_eq!(TargetId::from_flags_v4(0xe4c).to_string(), "gfx942:sramecc+:xnack-");
        assert_eq!(TargetId::from_flags_v4(0x54f), id("gfx950"));
        assert_eq!(TargetId::from_flags_v4(0x36).xnack, Feature::Unsupported);
        for flags in [0x52f, 0xa2f, 0xe4c, 0x54f, 0x36] {
            assert_eq!(TargetId::from_flags_v4(flags).flags_v4(), Some(flags));
        }
        assert_eq!(TargetId::from_flags_v3(0x12f).to_string(), "gfx906:sramecc-:xnack+");
        assert_eq!(TargetId::from_flags_v3(0x36), id("gfx1030"));
    }

    #[test]
    fn features_are_set_once() {
        for twice in [
            "gfx90a:xnack+:xnack-",
            "gfx90a:xnack+:xnack+",
            "gfx90a:sramecc+:xnack-:sramecc-",
            "gfx908+xnack+xnack",
        ] {
            assert_eq!(TargetId::parse(twice), None, "{twice}");
        }
        assert!(TargetId::parse("gfx90a:xnack+:sramecc-").is_some());
    }

    #[test]
    fn features_match_as_the_rules_say() {
        let fits = |code: &str, device: &str| id(code).fit(&id(device));
        assert!(fits("gfx90a", "gfx90a:xnack+").is_some());
        assert!(fits("gfx90a:xnack+", "gfx90a:xnack+").is_some());
        assert!(fits("gfx90a:xnack-", "gfx90a:xnack+").is_none());
        assert!(fits("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-").is_some());
        assert!(fits("gfx90a", "gfx908").is_none());
        assert!(fits("gfx9-4-generic", "gfx950").is_some());
        assert!(fits("gfx950", "gfx9-4-generic").is_none());
        // The closest fit wins.
        assert!(fits("gfx90a:xnack+", "gfx90a:xnack+") > fits("gfx90a", "gfx90a:xnack+"));
        assert!(fits("gfx942", "gfx942:xnack+") > fits("gfx9-4-generic:xnack+", "gfx942:xnack+"));
        assert!(fits("gfx90a", "gfx90a") > fits("gfx90a:xnack-", "gfx90a"));
        assert!(fits("gfx90a:xnack-", "gfx90a") > fits("gfx90a:xnack+", "gfx90a"));
    }
}
