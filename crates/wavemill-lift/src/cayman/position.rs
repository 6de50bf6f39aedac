//! Positions: the numbers that name instructions.
//!
//! | bits | what |
//! |---|---|
//! | 47:0 | guest address of the control flow word |
//! | 55:48 | 0 for that word itself; 1 + a word of its clause; 255 for its second part |
//! | 63:56 | subentries on the control flow stack |
//!
//! Words of ALU clauses have 8 bytes, words of fetch clauses 16. The slots of a group take effect
//! together, so a group is one instruction; its position is that of its first slot. For a
//! program's entry and its control flow words, positions are addresses, as long as the stack is
//! empty.
//!
//! Frames of the stack are cells. As the position has the depth of the stack, the lifter knows the
//! cells, whatever path leads to an instruction and whatever calls a subroutine. Tools that compare
//! instructions remove the depth ([`Position::instruction`]).
//!
//! A control flow word that jumps under a condition, and changes the stack only then, has a second
//! part: these changes and the jump.

/// A decoded position.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Position {
    /// Guest address of the control flow word.
    pub control: u64,
    /// The word in its clause; `None` for the control flow word itself; 254 for its second part.
    pub word: Option<u8>,
}

const WORD: u32 = 48;
const DEPTH: u32 = 56;
/// The number of the second part in place of a word of a clause. Clauses have up to 128 words.
const SECOND: u8 = 0xfe;
const ADDRESS: u64 = (1 << WORD) - 1;

impl Position {
    /// The control flow word at an address.
    pub const fn control(address: u64) -> Position {
        Position { control: address & ADDRESS, word: None }
    }

    /// The number of the same instruction with an empty stack.
    #[must_use]
    pub const fn instruction(number: u64) -> u64 {
        number & !(u64::MAX << DEPTH)
    }

    /// The depth of the stack in a number, in subentries.
    #[must_use]
    pub const fn depth(number: u64) -> u8 {
        (number >> DEPTH) as u8
    }

    /// The number at a depth of the stack.
    #[must_use]
    pub const fn number_at(self, depth: u8) -> u64 {
        self.number() | (depth as u64) << DEPTH
    }

    /// Decodes a number. The depth is ignored.
    pub const fn from_number(number: u64) -> Position {
        let word = match (number >> WORD) as u8 {
            0 => None,
            word => Some(word - 1),
        };
        Position { control: number & ADDRESS, word }
    }

    /// The number, with an empty stack.
    pub const fn number(self) -> u64 {
        let word = match self.word {
            None => 0,
            Some(word) => 1 + word as u64,
        };
        self.control & ADDRESS | word << WORD
    }

    /// The control flow word after this one, which has this many bytes.
    pub(super) const fn next_control(self, size: usize) -> Position {
        Position::control(self.control.wrapping_add(size as u64))
    }

    /// The second part of the control flow word.
    pub(super) const fn second_part(self) -> Position {
        Position { word: Some(SECOND), ..self }
    }

    /// Whether it is the second part of a control flow word.
    pub(super) const fn is_second_part(self) -> bool {
        matches!(self.word, Some(SECOND))
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
        for word in [None, Some(0), Some(1), Some(127), Some(254)] {
            let position = Position { control: 0x7fff_ffff_fff8, word };
            for depth in [0, 1, 255] {
                let number = position.number_at(depth);
                assert_eq!(Position::from_number(number), position);
                assert_eq!(Position::depth(number), depth);
                assert_eq!(Position::instruction(number), position.number());
            }
        }
        assert_eq!(Position::control(0x4000).number(), 0x4000);
        assert_eq!(Position { control: 0x4008, word: Some(2) }.number(), 0x3_0000_0000_4008);
        assert_eq!(Position::control(0x4000).number_at(5), 0x500_0000_0000_4000);
    }
}
