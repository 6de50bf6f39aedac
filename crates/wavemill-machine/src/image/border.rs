//! Border colours of samplers that are none of the three fixed ones.
//!
//! The chip has them in a table of the driver, whose address no shader can see. Here, the table is a
//! state of the device.

use std::sync::{PoisonError, RwLock};

/// Entries of the table: BORDER_COLOR_PTR has 12 bits.
const ENTRIES: usize = 1 << 12;

/// The table of border colours. A colour is the bits of four channels as samples return them: floats,
/// or integers for images of integers.
#[derive(Debug, Default)]
pub struct BorderColours(RwLock<Vec<[u32; 4]>>);

impl BorderColours {
    /// The number of a colour, which the table gets if it does not have it; `None` if it is full.
    pub fn number(&self, colour: [u32; 4]) -> Option<u16> {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|one| *one == colour);
        let number = known.or_else(|| {
            (all.len() < ENTRIES).then(|| {
                all.push(colour);
                all.len() - 1
            })
        })?;
        Some(number as u16)
    }

    /// The colour of a number; `None` if the table has none.
    #[must_use]
    pub fn get(&self, number: u16) -> Option<[u32; 4]> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_have_one_number_each() {
        let table = BorderColours::default();
        assert_eq!(table.get(0), None);
        assert_eq!(table.number([7; 4]), Some(0));
        assert_eq!(table.number([8, 7, 6, 5]), Some(1));
        assert_eq!(table.number([7; 4]), Some(0));
        assert_eq!(table.get(1), Some([8, 7, 6, 5]));
        // The table is full, and what it has keeps its number.
        let numbers = (0..ENTRIES as u32).map(|n| table.number([n, 1, 2, 3]));
        assert_eq!(numbers.flatten().count(), ENTRIES - 2);
        assert_eq!(table.number([9; 4]), None);
        assert_eq!(table.number([8, 7, 6, 5]), Some(1));
    }
}
