//! Describes the location of an address in words.

use std::fmt;

/// The location of an address relative to the nearest allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Nearest {
    /// There is no allocation.
    Nothing,
    /// Further from all allocations than they are from each other ([`SPACING`](super::SPACING)):
    /// not a wrong index, but a value that was mistaken for an address.
    Far,
    /// In the first page, which is never mapped: a null pointer, or an index on one.
    Null,
    /// Guests may access all memory of the process, and the process has none there.
    NotMapped,
    /// Inside an allocation: the access runs past its end or is not allowed.
    Inside {
        /// Name of the allocation.
        name: String,
        /// Offset of the address in it.
        offset: u64,
        /// Size of the allocation.
        size: u64,
    },
    /// After its end.
    After {
        /// Name of the allocation.
        name: String,
        /// Distance from the end to the address.
        distance: u64,
        /// Whether it had been freed.
        freed: bool,
    },
    /// Before its start.
    Before {
        /// Name of the allocation.
        name: String,
        /// Distance from the address to the first byte.
        distance: u64,
        /// Whether it had been freed.
        freed: bool,
    },
    /// Inside an allocation that was freed.
    Freed {
        /// Name of the allocation.
        name: String,
        /// Offset of the address in it.
        offset: u64,
    },
    /// In the aperture of LDS, which only flat instructions reach.
    Lds {
        /// Offset in the aperture.
        offset: u64,
    },
    /// In the aperture of private memory, which only flat instructions reach.
    Private {
        /// Offset in the aperture.
        offset: u64,
    },
    /// In a part of an allocation that is read-only for the guest.
    ReadOnly {
        /// Name of the allocation.
        name: String,
        /// Offset in the allocation of the first byte that the access must not write.
        offset: u64,
        /// The kind of part: code, constants.
        what: String,
    },
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Nearest::Nothing => f.write_str("nothing is allocated"),
            Nearest::Far => f.write_str("no buffer is near"),
            Nearest::NotMapped => f.write_str("the process has no memory there"),
            Nearest::Null => f.write_str("a null pointer"),
            Nearest::Inside { name, offset, size } => {
                write!(f, "byte {offset} of `{name}`, which has {size}")
            }
            Nearest::After { name, distance, freed } | Nearest::Before { name, distance, freed } => {
                let s = if *distance == 1 { "" } else { "s" };
                match self {
                    Nearest::Before { .. } => write!(f, "{distance} byte{s} before `{name}`")?,
                    _ if *distance == 0 => write!(f, "just past the end of `{name}`")?,
                    _ => write!(f, "{distance} byte{s} past the end of `{name}`")?,
                }
                f.write_str(if *freed { ", which was freed" } else { "" })
            }
            Nearest::Lds { offset } => {
                write!(f, "byte {offset} of the LDS aperture, which only flat instructions reach")
            }
            Nearest::Private { offset } => {
                write!(f, "byte {offset} of the private aperture, which only flat instructions reach")
            }
            Nearest::Freed { name, offset } => write!(f, "byte {offset} of `{name}`, which was freed"),
            Nearest::ReadOnly { name, offset, what } => {
                write!(f, "byte {offset} of `{name}` is read-only ({what})")
            }
        }
    }
}
