//! Which rows are in which groups of vector registers.

use super::registers::GROUPS;
use crate::unit::Plan;

/// A row in a group of registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    row: u32,
    /// The register is newer than the home.
    dirty: bool,
}

/// The rows in registers.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Rows {
    groups: [Option<Held>; GROUPS],
}

impl Rows {
    /// The rows that a loop keeps in registers.
    pub(super) fn of_loop(rows: &[(u32, bool)]) -> Rows {
        let mut all = Rows::default();
        for (group, (row, written)) in all.groups.iter_mut().zip(rows) {
            *group = Some(Held { row: *row, dirty: *written });
        }
        all
    }

    /// The group that holds a row.
    pub(super) fn find(&self, row: u32) -> Option<usize> {
        self.groups.iter().position(|held| held.is_some_and(|held| held.row == row))
    }

    /// A group that holds nothing and is not pinned.
    pub(super) fn free(&self, pinned: u32) -> Option<usize> {
        (0..GROUPS).find(|group| self.groups[*group].is_none() && pinned >> group & 1 == 0)
    }

    /// The group whose row is needed last, of those that are not pinned; with the row if it must be stored.
    pub(super) fn victim(&self, pinned: u32, next_use: impl Fn(u32) -> u32) -> Option<(usize, u32, bool)> {
        let candidates = (0..GROUPS).filter(|group| pinned >> group & 1 == 0);
        let held = candidates.filter_map(|group| self.groups[group].map(|held| (group, held)));
        held.max_by_key(|(_, held)| (next_use(held.row), !held.dirty))
            .map(|(group, held)| (group, held.row, held.dirty))
    }

    /// A group holds a row from here on, and no other does.
    pub(super) fn hold(&mut self, group: usize, row: u32, dirty: bool) {
        if let Some(old) = self.find(row) {
            self.groups[old] = None;
        }
        self.groups[group] = Some(Held { row, dirty });
    }

    pub(super) fn release(&mut self, group: usize) {
        self.groups[group] = None;
    }

    /// A row is in no register from here on, its home being newer.
    pub(super) fn forget(&mut self, row: u32) {
        if let Some(group) = self.find(row) {
            self.groups[group] = None;
        }
    }

    /// The home of a row has been brought up to date.
    pub(super) fn is_stored(&mut self, group: usize) {
        if let Some(held) = &mut self.groups[group] {
            held.dirty = false;
        }
    }

    pub(super) fn is_dirty(&self, group: usize) -> bool {
        self.groups[group].is_some_and(|held| held.dirty)
    }

    /// Groups with rows whose homes are older.
    pub(super) fn dirty(&self) -> impl Iterator<Item = (usize, u32)> {
        self.groups
            .iter()
            .enumerate()
            .filter_map(|(group, held)| held.filter(|held| held.dirty).map(|held| (group, held.row)))
    }

    /// Groups with the rows that they hold.
    pub(super) fn held(&self) -> impl Iterator<Item = (usize, u32)> {
        self.groups.iter().enumerate().filter_map(|(group, held)| held.map(|held| (group, held.row)))
    }

    /// Drops temporaries: the block that they belong to ends.
    pub(super) fn forget_temporaries(&mut self, plan: &Plan) {
        for group in &mut self.groups {
            if group.is_some_and(|held| plan.is_temporary(held.row)) {
                *group = None;
            }
        }
    }
}
