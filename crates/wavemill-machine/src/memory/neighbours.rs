//! Finds the allocations around an address, for messages.

use super::map::Allocation;
use super::{MemoryMap, SPACING};

/// An allocation near an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// Its name.
    pub name: String,
    /// First guest address.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Whether it had been freed.
    pub freed: bool,
}

impl Neighbour {
    /// First guest address after it.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }
}

/// The allocations around an address. Internal ones count only if they contain the address, or if
/// there are no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighbours {
    /// The allocation that contains it.
    pub holds: Option<Neighbour>,
    /// The nearest one that ends at or below it.
    pub below: Option<Neighbour>,
    /// The nearest one that begins above it.
    pub above: Option<Neighbour>,
}

impl MemoryMap {
    /// The allocations around an address, including freed ones that no other allocation overlaps.
    #[must_use]
    pub fn neighbours(&self, address: u64) -> Neighbours {
        self.neighbours_among(address, false)
    }

    /// The allocations around an address; internal ones near it count, too.
    #[must_use]
    pub fn all_neighbours(&self, address: u64) -> Neighbours {
        self.neighbours_among(address, true)
    }

    fn neighbours_among(&self, address: u64, internal: bool) -> Neighbours {
        let freed = self.freed.iter().filter(|(_, start, end)| {
            let before = self.live.partition_point(|a| a.start < *end);
            before == 0 || self.live[before - 1].end() <= *start
        });
        let freed = freed.map(|(name, start, end)| (name, *start, end - start, true));
        // An internal allocation far from the address is irrelevant.
        let near = |a: &&Allocation| address.abs_diff(a.start).min(address.abs_diff(a.end())) <= SPACING;
        let all_internal = self.live.iter().all(|a| a.internal);
        let known = self.live.iter().filter(|a| !a.internal || all_internal || internal && near(a));
        let known = known.map(|a| (&a.name, a.start, a.size, false));
        let neighbour = |(name, start, size, freed): (&std::sync::Arc<str>, u64, u64, bool)| Neighbour {
            name: name.to_string(),
            start,
            size,
            freed,
        };
        let mut found = Neighbours {
            holds: self.find(address).map(|a| neighbour((&a.name, a.start, a.size, false))),
            ..Neighbours::default()
        };
        for one in known.chain(freed).map(neighbour) {
            if one.end() <= address {
                if found.below.as_ref().is_none_or(|other| other.end() < one.end()) {
                    found.below = Some(one);
                }
            } else if one.start > address {
                if found.above.as_ref().is_none_or(|other| other.start > one.start) {
                    found.above = Some(one);
                }
            } else if found.holds.is_none() {
                found.holds = Some(one);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::GuestMemory;
    use super::*;

    fn names(found: &Neighbours) -> [Option<(&str, bool)>; 3] {
        [&found.below, &found.holds, &found.above].map(|n| n.as_ref().map(|n| (n.name.as_str(), n.freed)))
    }

    #[test]
    fn both_sides_of_an_address() {
        let m = GuestMemory::default();
        assert_eq!(names(&m.snapshot().neighbours(77)), [None; 3]);
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| m.allocate(name, 100, 1).unwrap());
        let at = |address| m.snapshot().neighbours(address);
        assert_eq!(names(&at(a - 1)), [None, None, Some(("a", false))]);
        assert_eq!(names(&at(b + 100)), [Some(("b", false)), None, Some(("c", false))]);
        assert_eq!(names(&at(b + 99)), [Some(("a", false)), Some(("b", false)), Some(("c", false))]);
        assert_eq!(names(&at(d + 5000)), [Some(("d", false)), None, None]);
        m.free(b).unwrap();
        assert_eq!(names(&at(b + 4)), [Some(("a", false)), Some(("b", true)), Some(("c", false))]);
        assert_eq!(names(&at(b + 100)), [Some(("b", true)), None, Some(("c", false))]);
        // Internal memory is named only if it contains the address.
        m.set_internal(c);
        assert_eq!(names(&at(b + 100)), [Some(("b", true)), None, Some(("d", false))]);
        assert_eq!(names(&at(c)), [Some(("b", true)), Some(("c", false)), Some(("d", false))]);
        let found = at(d + 107).below.unwrap();
        assert_eq!((found.start, found.end(), found.size), (d, d + 100, 100));
    }
}
