//! Sets of registers.

use std::fmt;

use crate::{Operand, Row, Uni};

/// Bit of row 0. Cells come first.
const ROWS: u16 = 320;
const WORDS: usize = (ROWS + Row::COUNT).div_ceil(64) as usize;

/// A set of cells and rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RegisterSet([u64; WORDS]);

/// The bit of a register; `None` for a constant, and for a register that does not exist.
fn bit(register: Operand) -> Option<u16> {
    match register {
        Operand::Uni(cell) if cell.0 < Uni::COUNT => Some(cell.0),
        Operand::Row(row) if row.0 < Row::COUNT => Some(ROWS + row.0),
        _ => None,
    }
}

impl RegisterSet {
    /// No register.
    pub const EMPTY: RegisterSet = RegisterSet([0; WORDS]);

    /// All registers that live as long as the wave: the cells and rows of the instruction family, and
    /// the mask of active lanes.
    #[must_use]
    pub fn architectural() -> RegisterSet {
        let cells = (0..Uni::TEMP0.0).map(Uni).map(Operand::Uni);
        cells.chain((0..Row::TEMP0.0).map(Row).map(Operand::Row)).collect()
    }

    /// Adds a register. Constants, and registers that do not exist, are ignored.
    pub fn insert(&mut self, register: impl Into<Operand>) {
        if let Some(bit) = bit(register.into()) {
            self.0[usize::from(bit / 64)] |= 1 << (bit % 64);
        }
    }

    /// Removes a register.
    pub fn remove(&mut self, register: impl Into<Operand>) {
        if let Some(bit) = bit(register.into()) {
            self.0[usize::from(bit / 64)] &= !(1 << (bit % 64));
        }
    }

    /// Whether a register is in the set.
    #[must_use]
    pub fn contains(&self, register: impl Into<Operand>) -> bool {
        bit(register.into()).is_some_and(|bit| self.0[usize::from(bit / 64)] >> (bit % 64) & 1 != 0)
    }

    /// Whether the set is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Number of registers.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The registers of either set.
    #[must_use]
    pub fn union(self, other: RegisterSet) -> RegisterSet {
        self.zip(other, |a, b| a | b)
    }

    /// The registers of both sets.
    #[must_use]
    pub fn intersection(self, other: RegisterSet) -> RegisterSet {
        self.zip(other, |a, b| a & b)
    }

    /// The registers of this set that are not in the other.
    #[must_use]
    pub fn without(self, other: RegisterSet) -> RegisterSet {
        self.zip(other, |a, b| a & !b)
    }

    fn zip(self, other: RegisterSet, word: impl Fn(u64, u64) -> u64) -> RegisterSet {
        RegisterSet(std::array::from_fn(|n| word(self.0[n], other.0[n])))
    }

    /// The registers in ascending order, cells first.
    pub fn iter(&self) -> impl Iterator<Item = Operand> + '_ {
        self.bits().map(|bit| match bit.checked_sub(ROWS) {
            Some(row) => Operand::Row(Row(row)),
            None => Operand::Uni(Uni(bit)),
        })
    }

    /// The rows in ascending order.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        self.bits().filter_map(|bit| bit.checked_sub(ROWS).map(Row))
    }

    fn bits(&self) -> impl Iterator<Item = u16> + '_ {
        (0..).zip(self.0).filter(|(_, word)| *word != 0).flat_map(|(n, word): (u16, u64)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| 64 * n + bit)
        })
    }
}

impl FromIterator<Operand> for RegisterSet {
    fn from_iter<T: IntoIterator<Item = Operand>>(registers: T) -> RegisterSet {
        let mut set = RegisterSet::EMPTY;
        set.extend(registers);
        set
    }
}

impl Extend<Operand> for RegisterSet {
    fn extend<T: IntoIterator<Item = Operand>>(&mut self, registers: T) {
        registers.into_iter().for_each(|register| self.insert(register));
    }
}

impl fmt::Debug for RegisterSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_what_was_put_in() {
        let all = [Operand::Uni(Uni(0)), Uni::temp(31).into(), Row(0).into(), Row::temp(47).into()];
        let mut set: RegisterSet = all.into_iter().collect();
        set.insert(Operand::Const(3));
        set.insert(Uni(Uni::COUNT));
        set.insert(Row(Row::COUNT));
        assert_eq!((set.len(), set.iter().collect::<Vec<_>>()), (4, all.to_vec()));
        assert_eq!(set.rows().collect::<Vec<_>>(), [Row(0), Row::temp(47)]);
        set.remove(Row(0));
        assert!(!set.contains(Row(0)) && set.contains(Uni(0)) && !set.contains(Uni(1)));
        let other: RegisterSet = [all[0], all[2]].into_iter().collect();
        assert_eq!(set.union(other).len(), 4);
        assert_eq!(set.intersection(other).iter().collect::<Vec<_>>(), [all[0]]);
        assert_eq!(set.without(other).iter().collect::<Vec<_>>(), [all[1], all[3]]);
    }

    #[test]
    fn temporaries_are_not_architectural() {
        let set = RegisterSet::architectural();
        assert!(set.contains(Uni::ACTIVE.plus(1)) && set.contains(Row(Row::TEMP0.0 - 1)));
        assert!(!set.contains(Uni::TEMP0) && !set.contains(Row::TEMP0));
        assert_eq!(set.len(), 258 + 1024);
    }
}
