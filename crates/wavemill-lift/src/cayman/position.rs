//! Positions: the numbers that name instructions.
//!
//! | bits | what |
//! |---|---|
//! | 47:0 | guest address of the control flow word |
//! | 55:48 | 0 for that word itself; for its clause, 1 + the first word of the instruction in it |
//! | 63:56 | 0 |
//!
//! Words of ALU clauses have 8 bytes, words of fetch clauses 16. The slots of a group take effect
//! together, so a group is one instruction; its position is the position of its first slot. For a
//! program's entry and its control flow words, positions are addresses.

/// A decoded position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Guest address of the control flow word.
    pub control: u64,
    /// The word in its clause; `None` for the control flow word itself.
    pub word: Option<u8>,
}

const WORD: u32 = 48;
const ADDRESS: u64 = (1 << WORD) - 1;

impl Position {
    /// The control flow word at an address.
    pub const fn control(address: u64) -> Position {
        Position { control: address & ADDRESS, word: None }
    }

    /// Decodes a number. Bits 63:56 are ignored.
    pub const fn from_number(number: u64) -> Position {
        let word = match (number >> WORD) as u8 {
            0 => None,
            word => Some(word - 1),
        };
        Position { control: number & ADDRESS, word }
    }

    /// The number.
    pub const fn number(self) -> u64 {
        let word = match self.word {
            None => 0,
            Some(word) => 1 + word as u64,
        };
        self.control & ADDRESS | word << WORD
    }

    /// The control flow word after this one.
    pub(super) const fn next_control(self) -> Position {
        Position::control(self.control + 8)
    }

    /// A word of the clause.
    pub(super) const fn in_clause(self, word: u8) -> Position {
        Position { word: Some(word), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn numbers_come_back() {
        for word in [None, Some(0), Some(1), Some(127)] {
            let position = Position { control: 0x7fff_ffff_fff8, word };
            assert_eq!(Position::from_number(position.number()), position);
        }
        assert_eq!(Position::control(0x4000).number(), 0x4000);
        assert_eq!(Position { control: 0x4008, word: Some(2) }.number(), 0x3_0000_0000_4008);
    }
}
