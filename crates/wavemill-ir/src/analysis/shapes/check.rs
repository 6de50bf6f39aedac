//! Compares what shapes say with the registers of a wave.

use std::ops::Deref;

use super::{ComparedLanes, Walk};
use crate::{Block, LANES, Op, Operand, Row, Space, Uni};

/// The registers of a wave.
struct Registers<'a> {
    cell: &'a dyn Fn(Uni) -> u32,
    row: &'a dyn Fn(Row) -> [u32; LANES],
}

impl Registers<'_> {
    fn pair(&self, first: Uni) -> u64 {
        u64::from((self.cell)(first)) | u64::from((self.cell)(first.plus(1))) << 32
    }

    fn row(&self, row: Row) -> [u64; LANES] {
        (self.row)(row).map(u64::from)
    }

    fn rows(&self, first: Row) -> [u64; LANES] {
        let (low, high) = (self.row(first), self.row(first.plus(1)));
        std::array::from_fn(|lane| low[lane] | high[lane] << 32)
    }

    /// The values of a 32-bit operand.
    fn narrow(&self, operand: Operand) -> [u64; LANES] {
        match operand {
            Operand::Row(row) => self.row(row),
            Operand::Uni(cell) => [(self.cell)(cell).into(); LANES],
            Operand::Const(value) => [value & 0xffff_ffff; LANES],
            Operand::None => [0; LANES],
        }
    }

    /// The values of a 64-bit operand.
    fn wide(&self, operand: Operand) -> [u64; LANES] {
        match operand {
            Operand::Row(row) => self.rows(row),
            Operand::Uni(cell) => [self.pair(cell); LANES],
            Operand::Const(value) => [value; LANES],
            Operand::None => [0; LANES],
        }
    }
}

impl<B: Deref<Target = Block>> Walk<'_, '_, B> {
    /// The first thing that is said of this place and does not hold for a wave with these registers.
    ///
    /// This is for tests, and for engines that check themselves. At the beginning of a guest
    /// instruction, temporaries may have any values.
    pub fn contradiction(
        &self,
        cell: impl Fn(Uni) -> u32,
        row: impl Fn(Row) -> [u32; LANES],
    ) -> Option<String> {
        let registers = Registers { cell: &cell, row: &row };
        let active = registers.pair(Uni::ACTIVE);
        if self.is_full() && active != !0 {
            return Some(format!("all lanes should be active, but the mask is {active:#x}"));
        }
        let state = self.state();
        let (cells, rows) =
            if self.begins_guest() { (Uni::TEMP0, Row::TEMP0) } else { (Uni(Uni::COUNT), Row(Row::COUNT)) };
        for cell in (0..cells.0).map(Uni) {
            let (shape, value) = (state.cell(cell), (registers.cell)(cell));
            if !shape.admits_value(value.into()) {
                return Some(format!("{cell:?} should be {shape}, but is {value:#x}"));
            }
            if cell.0 + 1 < cells.0 && state.is_even(cell) {
                let bits = registers.pair(cell) & active;
                if bits != 0 && bits != active {
                    return Some(format!("{cell:?} should be 0 or {active:#x} there, but is {bits:#x}"));
                }
            }
        }
        let wrong = |what: String, shape, values: &[u64; LANES], mask| {
            Some(format!("{what} should be {shape} in lanes {mask:#x}, but is {values:x?}"))
        };
        for row in state.rows().filter(|row| *row < rows) {
            let (values, wide) = (registers.row(row), registers.rows(row));
            for (shape, pair, mask) in [
                (state.row(row), state.pair(row), active),
                (state.row_in_all_lanes(row), state.pair_in_all_lanes(row), !0),
            ] {
                if !shape.admits(&values, mask) {
                    return wrong(format!("{row:?}"), shape, &values, mask);
                }
                if row.0 + 1 < rows.0 && !pair.admits(&wide, mask) {
                    return wrong(format!("{row:?} and the next"), pair, &wide, mask);
                }
            }
        }
        let inst = self.operation()?;
        let (shape, values) = (self.address()?, self.addresses(&registers)?);
        if !shape.admits(&values, active) && inst.mask == crate::LaneMask::Active {
            return wrong(format!("the address of {inst}"), shape, &values, active);
        }
        None
    }

    /// Whether the next operation is the first one of its guest instruction, or the end.
    fn begins_guest(&self) -> bool {
        let insts = &self.shapes.graph.nodes()[self.node].block.insts;
        let before = self.operation.checked_sub(1).and_then(|before| insts.get(before));
        let guest = |inst: Option<&crate::Inst>| inst.map(|inst| inst.guest);
        guest(before) != guest(insts.get(self.operation))
    }

    /// The addresses of lanes.
    fn addresses(&self, registers: &Registers<'_>) -> Option<[u64; LANES]> {
        let inst = self.operation()?;
        let (Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(_, space, _)) = inst.op else {
            return None;
        };
        let imm = i64::from(inst.attrs.imm) as u64;
        let (low, base) = (registers.narrow(inst.src[0]), inst.src[1]);
        let plus = |values: [u64; LANES], others: [u64; LANES]| -> [u64; LANES] {
            std::array::from_fn(|lane| values[lane].wrapping_add(others[lane]).wrapping_add(imm))
        };
        Some(match space {
            Space::Lds => plus(low, [0; LANES]).map(|address| address & 0xffff_ffff),
            Space::Gds => return None,
            Space::Scratch => plus(low, registers.narrow(base)),
            Space::Global | Space::Flat if base.is_none() => plus(registers.wide(inst.src[0]), [0; LANES]),
            Space::Global | Space::Flat => plus(low, registers.wide(base)),
        })
    }
}

impl ComparedLanes {
    /// Whether the lanes of a mask can be those for which the comparison holds.
    #[must_use]
    pub fn admits(self, holds: u64, active: u64) -> bool {
        let holds = holds & active;
        let run = |shift: u32, width: u32| {
            let ones = if width == 64 { !0 } else { (1 << width) - 1 };
            let (active, holds) = (active >> shift & ones, holds >> shift & ones);
            let from_first = matches!(self, ComparedLanes::Run { from_first: true, .. });
            // No lane for which it does not hold comes before (behind) one for which it holds.
            let (first, second) =
                if from_first { (holds, active & !holds) } else { (active & !holds, holds) };
            first == 0 || second == 0 || 63 - first.leading_zeros() < second.trailing_zeros()
        };
        match self {
            ComparedLanes::AllOrNone => holds == 0 || holds == active,
            ComparedLanes::Run { whole_wave: true, .. } => run(0, 64),
            ComparedLanes::Run { .. } => (0..4).all(|strip| run(16 * strip, 16)),
        }
    }
}
