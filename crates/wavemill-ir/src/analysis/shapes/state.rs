//! What is known at a place of a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::{RegisterSet, Shape};
use super::Entry;
use super::masks::{ACTIVE_NOW, Mask};
use crate::{Operand, Row, Uni};

/// Most saved masks that are told apart.
pub(super) const SLOTS: u8 = 63;

/// Places of the rows that a program names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Layout {
    places: Vec<Option<u16>>,
    rows: u16,
    temporaries: Vec<u16>,
}

impl Layout {
    pub(super) fn new(registers: &RegisterSet) -> Layout {
        let mut places = vec![None; Row::COUNT.into()];
        let (mut rows, mut temporaries) = (0, Vec::new());
        for row in registers.rows() {
            places[usize::from(row.0)] = Some(rows);
            if row >= Row::TEMP0 {
                temporaries.push(rows);
            }
            rows += 1;
        }
        Layout { places, rows, temporaries }
    }

    fn place(&self, row: Row) -> Option<usize> {
        self.places.get(usize::from(row.0)).copied().flatten().map(usize::from)
    }
}

/// The shapes of rows in some lanes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct View {
    rows: Vec<Shape>,
    /// Of two rows as a 64-bit value, by the first row: where it says more than the two shapes.
    wide: BTreeMap<u16, Shape>,
}

/// How a row is written in the lanes of a view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum How {
    /// In all lanes.
    Whole,
    /// In an unknown part of the lanes.
    Part,
}

impl View {
    fn new(layout: &Layout) -> View {
        View { rows: vec![Shape::varying(32); layout.rows.into()], wide: BTreeMap::new() }
    }

    pub(super) fn row(&self, layout: &Layout, row: Row) -> Shape {
        layout.place(row).map_or(Shape::varying(32), |place| self.rows[place])
    }

    pub(super) fn pair(&self, layout: &Layout, row: Row) -> Shape {
        match self.wide.get(&row.0) {
            Some(shape) => *shape,
            None => Shape::combined(self.row(layout, row), self.row(layout, row.plus(1))),
        }
    }

    fn set(&mut self, layout: &Layout, row: Row, shape: Shape, how: How) {
        if let Some(place) = layout.place(row) {
            let old = self.rows[place];
            self.rows[place] = if how == How::Whole { shape } else { old.mix(shape) };
        }
        self.wide.remove(&row.0);
        if let Some(before) = row.0.checked_sub(1) {
            self.wide.remove(&before);
        }
    }

    fn join(&mut self, other: &View, widen: bool) -> bool {
        let mut changed = false;
        for (a, b) in self.rows.iter_mut().zip(&other.rows) {
            if a != b {
                let joined = if widen { a.widened(*b) } else { a.join(*b) };
                changed |= std::mem::replace(a, joined) != joined;
            }
        }
        let before = self.wide.len();
        self.wide.retain(|row, shape| {
            let Some(other) = other.wide.get(row) else { return false };
            let joined = if widen { shape.widened(*other) } else { shape.join(*other) };
            changed |= std::mem::replace(shape, joined) != joined;
            true
        });
        changed | (self.wide.len() != before)
    }

    /// The shapes that say more, of two views that both hold.
    fn better(self, other: &View) -> View {
        let rows = self.rows.into_iter().zip(&other.rows);
        let rows =
            rows.map(|(a, b)| if a.stride().is_none() && b.stride().is_some() { *b } else { a }).collect();
        let mut wide = other.wide.clone();
        wide.extend(self.wide);
        View { rows, wide }
    }
}

/// The low half of a 64-bit sum whose high half an operation may add next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Carry {
    /// The mask with the carries.
    pub(super) mask: Uni,
    /// The row with the low half of the sum.
    pub(super) low: Row,
    /// The low halves of both operands, each with its 64-bit shape if it is in two rows.
    pub(super) operands: [(Operand, Shape, Option<Shape>); 2],
    /// It is a difference.
    pub(super) subtracts: bool,
}

/// What is known at a place of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct State {
    layout: Arc<Layout>,
    cells: Vec<Shape>,
    /// In the active lanes, and in all lanes.
    active: View,
    all: View,
    /// In the lanes that were active when an operation, by its slot, overwrote their mask.
    saved: BTreeMap<u8, View>,
    /// Masks, by their first cells.
    masks: BTreeMap<u16, Mask>,
    carries: Vec<Carry>,
}

impl State {
    pub(super) fn new(layout: Arc<Layout>, entry: &Entry, full: bool) -> State {
        let mut cells = vec![Shape::uniform(32); Uni::COUNT.into()];
        for (cell, shape) in &entry.cells {
            if let Some(place) = cells.get_mut(usize::from(cell.0)) {
                *place = *shape;
            }
        }
        let mut all = View::new(&layout);
        for (row, shape) in &entry.rows_in_all_lanes {
            all.set(&layout, *row, *shape, How::Whole);
        }
        let mut active = all.clone();
        for (row, shape) in &entry.rows {
            active.set(&layout, *row, *shape, How::Whole);
        }
        if full {
            all = active.clone();
        }
        let (saved, masks, carries) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        State { layout, cells, active, all, saved, masks, carries }
    }

    /// The shape of a row in the active lanes.
    #[must_use]
    pub fn row(&self, row: Row) -> Shape {
        self.active.row(&self.layout, row)
    }

    /// The shape of a row in all lanes, active or not.
    #[must_use]
    pub fn row_in_all_lanes(&self, row: Row) -> Shape {
        self.all.row(&self.layout, row)
    }

    /// The shape of two rows as 64-bit values in the active lanes; `row` has the low halves.
    #[must_use]
    pub fn pair(&self, row: Row) -> Shape {
        self.active.pair(&self.layout, row)
    }

    /// The same in all lanes.
    #[must_use]
    pub fn pair_in_all_lanes(&self, row: Row) -> Shape {
        self.all.pair(&self.layout, row)
    }

    /// The first rows of the pairs whose 64-bit values have a shape that the two rows do not tell.
    pub fn pairs(&self) -> impl Iterator<Item = Row> + '_ {
        self.active.wide.keys().map(|row| Row(*row))
    }

    /// The rows of which something may be known: those that the program and its entry name.
    pub fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        (0..Row::COUNT).map(Row).filter(|row| self.layout.place(*row).is_some())
    }

    /// What is known of a cell.
    #[must_use]
    pub fn cell(&self, cell: Uni) -> Shape {
        self.cells.get(usize::from(cell.0)).copied().unwrap_or(Shape::uniform(32))
    }

    /// Whether the bits of a mask are equal in all active lanes.
    #[must_use]
    pub fn is_even(&self, pair: Uni) -> bool {
        pair == Uni::ACTIVE || self.masks.get(&pair.0).is_some_and(|mask| mask.even) || {
            let [low, high] = [self.cell(pair).value(), self.cell(pair.plus(1)).value()];
            low == high && matches!(low, Some(0 | 0xffff_ffff))
        }
    }

    /// The views that a mask is a part of.
    pub(super) fn within(&self, pair: Uni) -> u64 {
        let now = if pair == Uni::ACTIVE { ACTIVE_NOW } else { 0 };
        self.masks.get(&pair.0).map_or(0, |mask| mask.within) | now
    }

    pub(super) fn carries(&self) -> &[Carry] {
        &self.carries
    }

    pub(super) fn add_carry(&mut self, carry: Carry) {
        self.carries.push(carry);
    }

    /// Writes a row. `how` says in which of the active lanes; `everywhere` that inactive lanes are
    /// written as active ones.
    pub(super) fn set_row(&mut self, row: Row, shape: Shape, how: How, everywhere: bool) {
        self.active.set(&self.layout, row, shape, how);
        let others = if everywhere { how } else { How::Part };
        for view in self.saved.values_mut().chain([&mut self.all]) {
            view.set(&self.layout, row, shape, others);
        }
        self.carries.retain(|carry| carry.low != row);
        for carry in &mut self.carries {
            for (operand, _, wide) in &mut carry.operands {
                if matches!(operand, Operand::Row(low) if low.plus(1) == row) {
                    *wide = None;
                }
            }
        }
    }

    /// Says that two rows, which have just been written as a whole, are a 64-bit value.
    pub(super) fn set_pair(&mut self, row: Row, shape: Shape, everywhere: bool) {
        if shape.stride().is_none() {
            return;
        }
        self.active.wide.insert(row.0, shape);
        if everywhere {
            for view in self.saved.values_mut().chain([&mut self.all]) {
                view.wide.insert(row.0, shape);
            }
        }
    }

    /// Writes a cell.
    pub(super) fn set_cell(&mut self, cell: Uni, shape: Shape) {
        if let Some(place) = self.cells.get_mut(usize::from(cell.0)) {
            *place = shape;
        }
        if cell != Uni::ACTIVE && cell != Uni::ACTIVE.plus(1) {
            self.masks.remove(&cell.0);
            if let Some(before) = cell.0.checked_sub(1) {
                self.masks.remove(&before);
            }
        }
        self.carries.retain(|carry| carry.mask != cell && carry.mask.plus(1) != cell);
    }

    /// Says what is known of a mask whose cells have just been written.
    pub(super) fn set_mask(&mut self, pair: Uni, mask: Mask) {
        if mask != Mask::default() {
            self.masks.insert(pair.0, mask);
        }
    }

    /// The mask of active lanes is overwritten with such a mask. `inside` are masks that are a part of
    /// it.
    pub(super) fn set_active(&mut self, new: Mask, slot: Option<u8>, inside: &[Uni]) {
        self.carries.clear();
        let narrows = new.within & ACTIVE_NOW != 0;
        let old = std::mem::replace(&mut self.active, View::new(&self.layout));
        // Shapes hold in each part of the lanes.
        let mut views = self.saved.iter().filter(|(slot, _)| new.within >> **slot & 1 != 0);
        self.active = if narrows {
            old.clone()
        } else {
            let first = views.next().map_or_else(|| self.all.clone(), |(_, view)| view.clone());
            views.fold(first, |best, (_, view)| best.better(view)).better(&self.all)
        };
        // From here on, the slot stands for the lanes that were active now.
        let bit = slot.map_or(0, |slot| 1 << slot);
        let renamed = |within: u64| {
            let others = within & !bit & !ACTIVE_NOW;
            if within & ACTIVE_NOW != 0 { others | bit } else { others }
        };
        for (pair, mask) in &mut self.masks {
            mask.within = renamed(mask.within);
            mask.even &= narrows;
            if inside.contains(&Uni(*pair)) {
                mask.within |= ACTIVE_NOW;
            }
        }
        for pair in inside {
            self.masks.entry(pair.0).or_default().within |= ACTIVE_NOW;
        }
        self.masks.insert(Uni::ACTIVE.0, Mask { within: renamed(new.within), even: false });
        if let Some(slot) = slot {
            self.saved.insert(slot, old);
        }
        let named = self.masks.iter().filter(|(pair, _)| **pair != Uni::ACTIVE.0);
        let named = named.fold(0, |all, (_, mask)| all | mask.within);
        self.saved.retain(|slot, _| named >> *slot & 1 != 0);
    }

    /// Forgets temporaries.
    pub(super) fn end_block(&mut self) {
        self.carries.clear();
        self.masks.retain(|pair, _| *pair < Uni::TEMP0.0);
        for cell in &mut self.cells[usize::from(Uni::TEMP0.0)..] {
            *cell = Shape::uniform(32);
        }
        for view in self.saved.values_mut().chain([&mut self.all, &mut self.active]) {
            for place in &self.layout.temporaries {
                view.rows[usize::from(*place)] = Shape::varying(32);
            }
            view.wide.retain(|row, _| row + 1 < Row::TEMP0.0);
        }
    }

    /// Adds what holds on another path; whether that changes anything.
    pub(super) fn join(&mut self, other: &State, widen: bool) -> bool {
        let mut changed = false;
        for (a, b) in self.cells.iter_mut().zip(&other.cells) {
            if a != b {
                let joined = if widen { a.widened(*b) } else { a.join(*b) };
                changed |= std::mem::replace(a, joined) != joined;
            }
        }
        changed |= self.active.join(&other.active, widen);
        changed |= self.all.join(&other.all, widen);
        let before = (self.saved.len(), self.masks.len());
        self.saved.retain(|slot, view| match other.saved.get(slot) {
            Some(other) => {
                changed |= view.join(other, widen);
                true
            }
            None => false,
        });
        self.masks.retain(|pair, mask| {
            let Some(other) = other.masks.get(pair) else { return false };
            let met = Mask { within: mask.within & other.within, even: mask.even && other.even };
            changed |= std::mem::replace(mask, met) != met;
            true
        });
        changed | (before != (self.saved.len(), self.masks.len()))
    }

    /// The shape of an operand's cell of 32 bits. `all` says that lanes need not be active.
    pub(super) fn operand(&self, operand: Operand, all: bool) -> Shape {
        match operand {
            Operand::Const(value) => Shape::constant(32, value),
            Operand::Uni(cell) => self.cell(cell),
            Operand::Row(row) if all => self.row_in_all_lanes(row),
            Operand::Row(row) => self.row(row),
            Operand::None => Shape::constant(32, 0),
        }
    }

    /// The shape of an operand's 64-bit value.
    pub(super) fn wide_operand(&self, operand: Operand, all: bool) -> Shape {
        match operand {
            Operand::Const(value) => Shape::constant(64, value),
            Operand::Row(row) if all => self.pair_in_all_lanes(row),
            Operand::Row(row) => self.pair(row),
            other => Shape::combined(self.operand(other.dword(0), all), self.operand(other.dword(1), all)),
        }
    }

    /// The 64-bit shape of two rows that are known to be one value.
    pub(super) fn known_pair(&self, row: Row) -> Option<Shape> {
        let shape = self.pair(row);
        shape.stride().is_some().then_some(shape)
    }
}
