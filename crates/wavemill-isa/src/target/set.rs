//! Sets of targets.

use core::fmt;

use super::Target;

/// A set of targets. Their order carries no meaning: the facts say what targets have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TargetSet(u16);

const _: () = assert!(Target::COUNT <= u16::BITS as usize, "a set has a bit for each target");

impl TargetSet {
    /// The empty set.
    pub const EMPTY: TargetSet = TargetSet(0);
    /// Every target.
    pub const ALL: TargetSet = TargetSet(u16::MAX >> (u16::BITS as usize - Target::COUNT));

    /// The set with the bits of `bits`, one per target in the order of [`Target::ALL`]; further bits are dropped.
    pub const fn from_bits(bits: u16) -> TargetSet {
        TargetSet(bits & TargetSet::ALL.0)
    }

    /// The bit mask, one bit per target in the order of [`Target::ALL`].
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The set of one target.
    pub const fn of(target: Target) -> TargetSet {
        TargetSet(1 << target as u8)
    }

    /// The set of these targets.
    pub const fn from_list(targets: &[Target]) -> TargetSet {
        let mut set = TargetSet::EMPTY;
        let mut index = 0;
        while index < targets.len() {
            set = set.union(TargetSet::of(targets[index]));
            index += 1;
        }
        set
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

    /// The members, in the order of [`Target::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Target> {
        Target::ALL.into_iter().filter(move |&target| self.contains(target))
    }
}

impl fmt::Debug for TargetSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Target::name)).finish()
    }
}

/// The targets of [`Family::Gcn`](super::Family::Gcn) whose [`GcnFacts`](super::GcnFacts) meet a
/// condition: `targets_where!(|facts| facts.gds)`.
macro_rules! targets_where {
    (|$facts:ident| $condition:expr) => {{
        let mut set = $crate::target::TargetSet::EMPTY;
        let mut index = 0;
        while index < $crate::target::Target::GCN.len() {
            let target = $crate::target::Target::GCN[index];
            let $facts = target.facts();
            if $condition {
                set = set.union($crate::target::TargetSet::of(target));
            }
            index += 1;
        }
        set
    }};
}
pub(crate) use targets_where;
