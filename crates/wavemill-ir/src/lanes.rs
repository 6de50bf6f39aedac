//! Lane patterns: which lane feeds which.

use crate::LANES;

/// Which lane feeds each lane. Groups of lanes are aligned, and their size is a power of two.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum LanePattern {
    /// Lane `n` of each four is fed by that lane of the four.
    Quad([u8; 4]),
    /// Lane `n` of each group is fed by lane `n + by` of it, if there is one.
    Shift {
        /// Lanes of a group.
        group: u8,
        /// Distance.
        by: i8,
    },
    /// Lane `n` of each group is fed by lane `n + by` of it, counted around the group.
    Rotate {
        /// Lanes of a group.
        group: u8,
        /// Distance.
        by: i8,
    },
    /// The order of lanes in each group is reversed.
    Mirror {
        /// Lanes of a group.
        group: u8,
    },
    /// All lanes of each group are fed by one of it.
    Broadcast {
        /// Lanes of a group.
        group: u8,
        /// The lane.
        lane: u8,
    },
    /// All lanes of each group are fed by the last lane of the group before it, if there is one.
    LastOfPrevious {
        /// Lanes of a group.
        group: u8,
    },
    /// Lane `n` of each 32 is fed by lane `((n & and) | or) ^ xor` of them.
    Masked {
        /// Bits that are kept.
        and: u8,
        /// Bits that are set then.
        or: u8,
        /// Bits that are flipped then.
        xor: u8,
    },
    /// Lane `n` of each 32 is fed by lane `(n & keep) | ((n + by) & !keep)` of them.
    RotateMasked {
        /// Bits that are kept.
        keep: u8,
        /// Distance.
        by: i8,
    },
    /// Lane `n` of each 32 is fed by lane `(reversed >> ones(keep)) | (n & keep)` of them, where
    /// `reversed` is the five bits of `n` in reverse order: the order of a fast Fourier transform.
    BitReverse {
        /// Bits that are kept.
        keep: u8,
    },
}

impl LanePattern {
    /// The lane that feeds a lane; `None` if none does.
    #[must_use]
    pub fn source(self, lane: u8) -> Option<u8> {
        let n = i16::from(lane) % LANES as i16;
        let within = |group: u8| {
            let group = i16::from(group.max(1));
            (n - n % group, n % group, group)
        };
        let (half, low) = (n as u8 & 0x20, n as u8 & 0x1f);
        let from = match self {
            LanePattern::Quad(lanes) => {
                let (first, at, _) = within(4);
                first + i16::from(lanes[at as usize] & 3)
            }
            LanePattern::Shift { group, by } => {
                let (first, at, size) = within(group);
                let at = at + i16::from(by);
                (0..size).contains(&at).then_some(first + at)?
            }
            LanePattern::Rotate { group, by } => {
                let (first, at, size) = within(group);
                first + (at + i16::from(by)).rem_euclid(size)
            }
            LanePattern::Mirror { group } => {
                let (first, at, size) = within(group);
                first + size - 1 - at
            }
            LanePattern::Broadcast { group, lane } => {
                let (first, _, size) = within(group);
                first + i16::from(lane) % size
            }
            LanePattern::LastOfPrevious { group } => {
                let (first, ..) = within(group);
                (first > 0).then_some(first - 1)?
            }
            LanePattern::Masked { and, or, xor } => (((low & and | or) ^ xor) & 0x1f | half).into(),
            LanePattern::RotateMasked { keep, by } => {
                let rotated = low.wrapping_add_signed(by);
                ((low & keep | rotated & !keep) & 0x1f | half).into()
            }
            LanePattern::BitReverse { keep } => {
                let reversed = low.reverse_bits() >> 3;
                let keep = keep & 0x1f;
                ((reversed >> keep.count_ones() | low & keep) & 0x1f | half).into()
            }
        };
        // Groups larger than the wave name lanes that do not exist.
        (0..LANES as i16).contains(&from).then_some(from as u8)
    }

    /// The lanes that feed lanes 0 to 63.
    #[must_use]
    pub fn sources(self) -> [Option<u8>; LANES] {
        std::array::from_fn(|lane| self.source(lane as u8))
    }
}
