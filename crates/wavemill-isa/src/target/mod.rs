//! The GPU targets and sets of them.

use core::fmt;

/// A GPU target: a chip whose instruction set the tables describe.
///
/// The order is the order of the generations; ranges such as "908 and later" rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Target {
    /// Vega 10 (Radeon RX Vega 56/64).
    Gfx900,
    /// Vega 20 (Radeon VII, Instinct MI50/MI60).
    Gfx906,
    /// CDNA 1 (Instinct MI100).
    Gfx908,
    /// CDNA 2 (Instinct MI200 series).
    Gfx90a,
    /// CDNA 3 (Instinct MI300 series).
    Gfx942,
    /// CDNA 4 (Instinct MI350 series).
    Gfx950,
}

impl Target {
    /// Every target, oldest first.
    pub const ALL: [Target; 6] =
        [Target::Gfx900, Target::Gfx906, Target::Gfx908, Target::Gfx90a, Target::Gfx942, Target::Gfx950];

    /// The number of targets.
    pub const COUNT: usize = Target::ALL.len();

    /// The processor name that LLVM and code objects use, such as `gfx90a`.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Gfx900 => "gfx900",
            Target::Gfx906 => "gfx906",
            Target::Gfx908 => "gfx908",
            Target::Gfx90a => "gfx90a",
            Target::Gfx942 => "gfx942",
            Target::Gfx950 => "gfx950",
        }
    }

    /// The target with this processor name (`gfx906`), without feature suffixes; `None` if the tables do not have it.
    pub fn from_name(name: &str) -> Option<Target> {
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// The position in [`Target::ALL`].
    pub const fn index(self) -> usize {
        self as usize
    }

    /// Bytes of LDS that a compute unit has, and a workgroup may have.
    pub const fn lds_bytes(self) -> u32 {
        match self {
            Target::Gfx950 => 160 << 10,
            _ => 64 << 10,
        }
    }

    /// Bytes of LDS that are allocated at once: a workgroup has a multiple of them (Vega ISA 3.6.5, CDNA4 ISA 3.6.5).
    pub const fn lds_granule(self) -> u32 {
        match self {
            Target::Gfx950 => 1280,
            _ => 512,
        }
    }

    /// Whether the target has accumulation VGPRs at all (CDNA 1 and later).
    pub const fn has_accvgprs(self) -> bool {
        TargetSet::from_first(Target::Gfx908).contains(self)
    }

    /// Whether memory instructions may name accumulation VGPRs and VGPR tuples must be even-aligned (CDNA 2 and later).
    pub const fn has_unified_vgprs(self) -> bool {
        TargetSet::from_first(Target::Gfx90a).contains(self)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of targets, as a bit mask.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TargetSet(u8);

impl TargetSet {
    /// No target.
    pub const EMPTY: TargetSet = TargetSet(0);
    /// Every target.
    pub const ALL: TargetSet = TargetSet((1 << Target::COUNT) - 1);

    /// The set with the bits of `bits`, one per target in the order of [`Target::ALL`]; further bits are dropped.
    pub const fn from_bits(bits: u8) -> TargetSet {
        TargetSet(bits & TargetSet::ALL.0)
    }

    /// The bit mask, one bit per target in the order of [`Target::ALL`].
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// The set of one target.
    pub const fn of(target: Target) -> TargetSet {
        TargetSet(1 << target as u8)
    }

    /// `first` and every later target.
    pub const fn from_first(first: Target) -> TargetSet {
        TargetSet(TargetSet::ALL.0 & !((1 << first as u8) - 1))
    }

    /// Every target up to and including `last`.
    pub const fn up_to(last: Target) -> TargetSet {
        TargetSet((2 << last as u8) - 1)
    }

    /// Whether `target` is a member.
    pub const fn contains(self, target: Target) -> bool {
        self.0 >> target as u8 & 1 != 0
    }

    /// Whether the set has no member.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The targets in both sets.
    pub const fn intersection(self, other: TargetSet) -> TargetSet {
        TargetSet(self.0 & other.0)
    }

    /// The targets in either set.
    pub const fn union(self, other: TargetSet) -> TargetSet {
        TargetSet(self.0 | other.0)
    }

    /// The targets in this set and not in `other`.
    pub const fn difference(self, other: TargetSet) -> TargetSet {
        TargetSet(self.0 & !other.0)
    }

    /// The members, oldest first.
    pub fn iter(self) -> impl Iterator<Item = Target> {
        Target::ALL.into_iter().filter(move |&target| self.contains(target))
    }
}

impl fmt::Debug for TargetSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Target::name)).finish()
    }
}
