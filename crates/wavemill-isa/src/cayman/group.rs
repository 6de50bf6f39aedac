//! ALU groups: up to four slots that take effect together, and their literals.

use core::fmt;

use super::decode::{DecodeError, decode_slot};
use super::inst::Inst;
use super::vocabulary::{FieldId, Format};

/// A group: its slots by channel, and the literals after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The slots x, y, z and w.
    pub slots: [Option<Inst>; 4],
    /// The literals x, y, z and w; those that the group lacks are 0.
    pub literals: [u32; 4],
    /// Bytes of slots and literals.
    pub size: usize,
}

/// The two literals that address the direct reads of LDS in a group (HD 6900 ISA 7.3.1). Their fields
/// are those of [`Format::LdsDirect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectRead([u32; 2]);

impl DirectRead {
    /// The value of a field; `None` if the literals have no field with this name.
    pub fn field(&self, id: FieldId) -> Option<u32> {
        let word = u128::from(self.0[0]) | u128::from(self.0[1]) << 32;
        Format::LdsDirect.field(id).map(|field| field.get(word))
    }
}

impl Group {
    /// The address of the group's direct reads of LDS; `None` if it has none.
    pub fn direct_read(&self) -> Option<DirectRead> {
        let reads = |slot: &Inst| slot.sources().any(|(.., source)| source.is_direct_read());
        let [first, second, ..] = self.literals;
        self.slots.iter().flatten().any(reads).then_some(DirectRead([first, second]))
    }
}

/// Why bytes are not a group. `at` is the byte offset of the slot at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// A slot is not an instruction, or the bytes end inside the group.
    Slot {
        /// The byte offset.
        at: usize,
        /// The error.
        error: DecodeError,
    },
    /// The channel of a slot does not come after the channel of the slot before it: channels ascend
    /// (HD 6900 ISA 4.3).
    Order {
        /// The byte offset.
        at: usize,
    },
}

impl GroupError {
    /// The byte offset of the slot at fault, from the start of the group.
    pub const fn at(&self) -> usize {
        match self {
            GroupError::Slot { at, .. } | GroupError::Order { at } => *at,
        }
    }
}

impl fmt::Display for GroupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GroupError::Slot { at, error } => write!(f, "slot at byte {at} of the group: {error}"),
            GroupError::Order { at } => write!(
                f,
                "slot at byte {at} of the group: expected a channel after the channel of the previous slot"
            ),
        }
    }
}

impl core::error::Error for GroupError {}

/// The group at the start of `bytes`.
///
/// # Errors
/// [`GroupError`]. The last slot of a group is marked; four slots without a mark are an order
/// error.
pub fn decode_group(bytes: &[u8]) -> Result<Group, GroupError> {
    let mut group = Group { slots: [None; 4], literals: [0; 4], size: 0 };
    let mut pairs = 0;
    let mut free = 0;
    loop {
        let at = group.size;
        let slot = decode_slot(bytes.get(at..).unwrap_or_default())
            .map_err(|error| GroupError::Slot { at, error })?;
        let channel = slot.get(FieldId::DstChan) as usize;
        match group.slots.get_mut(channel) {
            Some(place) if channel >= free => *place = Some(slot),
            _ => return Err(GroupError::Order { at }),
        }
        free = channel + 1;
        pairs = pairs.max(slot.literal_pairs());
        group.size += slot.size();
        if slot.bit(FieldId::Last) {
            break;
        }
    }
    for literal in group.literals.iter_mut().take(2 * pairs) {
        let at = group.size;
        match bytes.get(at..at + 4) {
            Some(&[a, b, c, d]) => *literal = u32::from_le_bytes([a, b, c, d]),
            _ => {
                let error = DecodeError::Truncated { needed: at + 4 };
                return Err(GroupError::Slot { at, error });
            }
        }
        group.size += 4;
    }
    Ok(group)
}
