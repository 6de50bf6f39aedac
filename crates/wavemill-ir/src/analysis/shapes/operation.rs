//! What operations do to shapes.

use super::super::effect::{reachable, written_lanes};
use super::super::{Shape, WaveFacts, WrittenLanes};
use super::masks::{self, Mask};
use super::state::{Carry, How, State};
use super::{ComparedLanes, compared, comparison, is_active};
use crate::{
    Inst, IntOp, LANES, LaneMask, LaneOp, MemType, Op, Operand, Row, ScalarOp, Space, Uni, Value, Width,
};

/// An operation at its place.
pub(super) struct Operation<'a> {
    pub(super) inst: &'a Inst,
    pub(super) wave: &'a WaveFacts,
    /// All lanes are active.
    pub(super) full: bool,
    /// Its guest instruction names a register that the wave lacks.
    pub(super) odd: bool,
    /// The number under which the lanes are saved whose mask it overwrites.
    pub(super) slot: Option<u8>,
}

/// The first result.
enum Result {
    /// A cell of 32 bits.
    Narrow(Shape),
    /// Two cells.
    Wide(Shape),
    /// The same shape in each cell.
    Each(Shape),
}

const WORD: u64 = 0xffff_ffff;

impl Operation<'_> {
    /// Whether it works on lanes that may be inactive.
    fn reads_all(&self) -> bool {
        self.inst.mask != LaneMask::Active && !self.full
    }

    /// A source of 32 bits.
    fn narrow(&self, state: &State, n: usize) -> Shape {
        match self.inst.src[n] {
            operand if self.odd && self.wave.lacks(operand, self.inst.source_dwords(n)) => match operand {
                Operand::Row(_) => Shape::varying(32),
                _ => Shape::uniform(32),
            },
            operand => state.operand(operand, self.reads_all()),
        }
    }

    /// A source of 64 bits.
    fn wide(&self, state: &State, n: usize) -> Shape {
        match self.inst.src[n] {
            operand if self.odd && self.wave.lacks(operand, 2) => match operand {
                Operand::Row(_) => Shape::varying(64),
                _ => Shape::uniform(64),
            },
            operand => state.wide_operand(operand, self.reads_all()),
        }
    }

    /// A source of one or two cells.
    pub(super) fn source(&self, state: &State, n: usize) -> Shape {
        match self.inst.source_dwords(n) {
            2 => self.wide(state, n),
            _ => self.narrow(state, n),
        }
    }

    /// Any function of the values of each lane.
    fn function(&self, state: &State) -> Shape {
        // Its result depends on the number of the lane.
        let counts = matches!(self.inst.op, Op::Int(IntOp::MaskCountLo | IntOp::MaskCountHi));
        if self.inst.attrs.lanes.is_some() || counts {
            return Shape::varying(32);
        }
        let sources = self.inst.op.signature().sources;
        let mut all = Shape::uniform(32);
        for (n, value) in sources.into_iter().enumerate() {
            match value {
                Value::Mask if !self.is_even(state, self.inst.src[n]) => return Shape::varying(32),
                value if value.is_varying() => {
                    let odd = self.odd && self.wave.lacks(self.inst.src[n], self.inst.source_dwords(n));
                    if odd {
                        return Shape::varying(32);
                    }
                    for dword in 0..self.inst.source_dwords(n) {
                        let part = state.operand(self.inst.src[n].dword(dword), self.reads_all());
                        all = all.any_function_of(part);
                    }
                }
                _ => {}
            }
        }
        all.any_function((0, WORD))
    }

    /// Whether the bits of a mask are equal in all lanes that it works on.
    fn is_even(&self, state: &State, operand: Operand) -> bool {
        match operand {
            Operand::Uni(pair) => self.inst.mask == LaneMask::Active && !self.odd && state.is_even(pair),
            Operand::Const(value) => value == 0 || value == !0,
            _ => false,
        }
    }

    /// Follows the operation.
    pub(super) fn follow(&self, state: &mut State) {
        let inst = self.inst;
        match inst.op {
            Op::Scalar(op, width) => self.scalar(state, op, width),
            Op::MoveRelDest(..) | Op::IndexedWrite(_) | Op::LaneIndexedWrite(_) => {
                for register in reachable(inst).into_iter().chain(inst.writes()) {
                    self.forget(state, register);
                }
            }
            Op::Lane(op) => self.lane(state, op),
            _ => {
                let result = self.result(state);
                let carry = self.carry(state);
                let has_mask = inst.op.signature().results.contains(&Value::Mask);
                let even = has_mask && self.function(state).is_uniform();
                let range = match inst.op {
                    Op::ScalarCmp(..) if !self.odd => (0, 1),
                    _ => (0, WORD),
                };
                let finished = self.finished(state);
                self.write(state, result);
                if let Some((low, wide)) = finished {
                    state.set_pair(low, wide, self.full);
                }
                self.write_cells(state, even, range);
                if let Some(carry) = carry {
                    state.add_carry(carry);
                }
            }
        }
        if let (Some(cell), true) = (self.wave.exceptions, inst.op.raises()) {
            state.set_cell(cell, Shape::uniform(32));
        }
    }

    /// Forgets a register.
    fn forget(&self, state: &mut State, register: Operand) {
        match register {
            Operand::Row(row) => state.set_row(row, Shape::varying(32), How::Whole, true),
            Operand::Uni(cell) => {
                state.set_cell(cell, Shape::uniform(32));
                if is_active(register) {
                    state.set_active(Mask::default(), self.slot, &[]);
                }
            }
            _ => {}
        }
    }

    /// Writes the rows of the first result.
    fn write(&self, state: &mut State, result: Result) {
        let inst = self.inst;
        let Operand::Row(first) = inst.dst[0] else { return };
        let (how, everywhere) = match written_lanes(inst) {
            _ if self.odd => (How::Part, true),
            WrittenLanes::All => (How::Whole, true),
            WrittenLanes::Active => (How::Whole, self.full),
            WrittenLanes::Part => (How::Part, true),
        };
        let (result, how) = match how {
            // A part of the bits may be written.
            How::Part => (Result::Each(Shape::varying(32)), How::Part),
            how => (result, how),
        };
        let halves = |shape: Shape| [shape.low_half(), shape.high_half()];
        for n in 0..inst.result_dwords(0) {
            let shape = match &result {
                Result::Narrow(shape) | Result::Each(shape) => *shape,
                Result::Wide(shape) => halves(*shape)[usize::from(n) % 2],
            };
            state.set_row(first.plus(n), shape, how, everywhere);
        }
        if let (Result::Wide(shape), How::Whole) = (result, how) {
            state.set_pair(first, shape, everywhere);
        }
    }

    /// Writes cells: uniform results, and masks, whose bits are equal in the active lanes if `even`.
    fn write_cells(&self, state: &mut State, even: bool, range: (u64, u64)) {
        let inst = self.inst;
        let results = inst.op.signature().results;
        for (n, value) in results.into_iter().enumerate() {
            let Operand::Uni(first) = inst.dst[n] else { continue };
            for dword in 0..inst.result_dwords(n) {
                state.set_cell(first.plus(dword), Shape::uniform(32).in_range(range.0, range.1));
            }
            let mask = match value {
                Value::Mask if inst.mask == LaneMask::Active && !self.odd => {
                    let within = state.within(Uni::ACTIVE);
                    Mask { within, even: even && inst.attrs.traps == 0 }
                }
                _ => Mask::default(),
            };
            self.set_mask(state, first, mask, inst.result_dwords(n), &[]);
        }
    }

    /// Says what a mask is whose cells have been written; it may be that of the active lanes.
    fn set_mask(&self, state: &mut State, first: Uni, mask: Mask, dwords: u16, inside: &[Uni]) {
        let touches_active = (0..dwords).any(|n| is_active(first.plus(n).into()));
        if touches_active {
            let whole = first == Uni::ACTIVE && dwords == 2;
            let mask = if whole { mask } else { Mask::default() };
            state.set_active(mask, self.slot, if whole { inside } else { &[] });
        } else if dwords == 2 {
            state.set_mask(first, mask);
        }
    }

    /// A uniform operation.
    fn scalar(&self, state: &mut State, op: ScalarOp, width: Width) {
        let inst = self.inst;
        let (mask, inside) =
            if self.odd { (Mask::default(), Vec::new()) } else { masks::result(state, inst) };
        let value = if self.odd {
            Shape::uniform(if width == Width::W64 { 64 } else { 32 })
        } else {
            self.scalar_value(state, op, width)
        };
        let dwords = inst.result_dwords(0);
        if let Operand::Uni(first) = inst.dst[0] {
            let halves = if value.width() == 64 { [value.low_half(), value.high_half()] } else { [value; 2] };
            for n in 0..dwords {
                state.set_cell(first.plus(n), halves[usize::from(n)]);
            }
            self.set_mask(state, first, mask, dwords, &inside);
        }
        if let Operand::Uni(flag) = inst.dst[1] {
            let no_flag = inst.op.signature().results[1] == Value::None;
            let old = state.cell(flag);
            let new = Shape::uniform(32).in_range(0, 1);
            state.set_cell(flag, if no_flag || self.odd { old.join(new) } else { new });
            if is_active(flag.into()) {
                state.set_active(Mask::default(), self.slot, &[]);
            }
        }
    }

    fn scalar_value(&self, state: &State, op: ScalarOp, width: Width) -> Shape {
        let bits: u8 = if width == Width::W64 { 64 } else { 32 };
        let any = Shape::uniform(bits);
        let source = |n: usize| match width {
            Width::W64 => self.wide(state, n),
            Width::W32 => self.narrow(state, n),
        };
        let amount = || self.narrow(state, 1).value().map(|by| by as u32 % u32::from(bits));
        let all = Shape::constant(bits, !0);
        match op {
            ScalarOp::Mov => source(0),
            ScalarOp::Not => all.minus(source(0)),
            ScalarOp::And => source(0).and(source(1)),
            ScalarOp::Or => source(0).or(source(1)),
            ScalarOp::Xor => source(0).xor(source(1)),
            ScalarOp::AndNot => source(0).and(all.minus(source(1))),
            ScalarOp::OrNot => source(0).or(all.minus(source(1))),
            ScalarOp::AddCarryOut | ScalarOp::AddOverflow => source(0).plus(source(1)),
            ScalarOp::SubBorrowOut | ScalarOp::SubOverflow => source(0).minus(source(1)),
            ScalarOp::Mul => source(0).times(source(1)),
            ScalarOp::Shl => amount().map_or(any, |by| source(0).shifted_left(by)),
            ScalarOp::Shr => amount().map_or(any, |by| source(0).shifted_right(by)),
            ScalarOp::Sar => amount().map_or(any, |by| source(0).shifted_right_signed(by)),
            ScalarOp::BfeU => match self.narrow(state, 1).value() {
                Some(field) => {
                    let (at, size) = (field as u32 % u32::from(bits), field as u32 >> 16 & 0x7f);
                    let mask = if size >= 64 { !0 } else { (1 << size) - 1 };
                    source(0).shifted_right(at).and(Shape::constant(bits, mask))
                }
                None => any,
            },
            ScalarOp::ShlAdd if width == Width::W32 => {
                source(0).shifted_left(self.inst.attrs.imm as u32 & 31).plus(source(1))
            }
            ScalarOp::MinU => {
                let (a, b) = (source(0).range(), source(1).range());
                any.in_range(a.0.min(b.0), a.1.min(b.1))
            }
            ScalarOp::MaxU => {
                let (a, b) = (source(0).range(), source(1).range());
                any.in_range(a.0.max(b.0), a.1.max(b.1))
            }
            ScalarOp::Select => source(0).join(source(1)),
            _ => any,
        }
    }

    /// A movement between lanes.
    fn lane(&self, state: &mut State, op: LaneOp) {
        let inst = self.inst;
        match op {
            LaneOp::ReadLane | LaneOp::ReadFirstLane => {
                // A lane that need not be active.
                let shape = match inst.src[0] {
                    _ if self.odd => Shape::varying(32),
                    operand => state.operand(operand, !self.full),
                };
                let (low, known) = shape.forget_lanes().low_bits();
                let (least, largest) = shape.range();
                let base = Shape::uniform(32).aligned(known).plus(Shape::constant(32, low));
                let value =
                    shape.value().map_or(base.in_range(least, largest), |value| Shape::constant(32, value));
                if let Operand::Uni(cell) = inst.dst[0] {
                    state.set_cell(cell, if self.odd { Shape::uniform(32) } else { value });
                    self.set_mask(state, cell, Mask::default(), 1, &[]);
                }
            }
            LaneOp::Swap if inst.mask == LaneMask::Active && !self.odd => {
                let rows = inst.dst.map(|dst| if let Operand::Row(row) = dst { Some(row) } else { None });
                if let [Some(a), Some(b)] = rows {
                    let (first, second) = (state.row(a), state.row(b));
                    state.set_row(a, second, How::Whole, self.full);
                    state.set_row(b, first, How::Whole, self.full);
                }
            }
            LaneOp::BackPermute if self.full && inst.mask != LaneMask::All && !self.odd => {
                let data = self.narrow(state, 1);
                let shape =
                    if data.is_uniform() { data } else { Shape::varying(32).in_range(0, data.range().1) };
                self.write(state, Result::Narrow(shape));
            }
            _ => inst.writes().for_each(|register| self.forget(state, register)),
        }
    }

    /// The first result of an operation on rows.
    fn result(&self, state: &State) -> Result {
        let inst = self.inst;
        let plain = inst.attrs.is_plain() && !self.odd;
        match inst.op {
            Op::Int(op) if plain => self.int(state, op).unwrap_or_else(|| Result::Each(self.function(state))),
            Op::IntSelect(..) | Op::FloatSelect(..) if plain && inst.result_dwords(0) == 1 => {
                let even = [0, 1].iter().all(|n| self.source(state, *n).is_uniform());
                let (a, b) = (self.narrow(state, 2), self.narrow(state, 3));
                Result::Narrow(if even { a.join(b) } else { a.mix(b) })
            }
            Op::Int(_)
            | Op::IntSelect(..)
            | Op::Float(..)
            | Op::FloatSelect(..)
            | Op::Cvt(_)
            | Op::FormatCvt(_) => Result::Each(self.function(state)),
            Op::Swizzle(_) if self.full && !self.odd && inst.mask == LaneMask::Active => {
                let data = self.narrow(state, 0);
                // Lanes that no lane feeds get 0.
                let fed =
                    matches!(inst.op, Op::Swizzle(pattern) if pattern.sources().iter().all(Option::is_some));
                Result::Each(if data.is_uniform() && fed { data } else { Shape::varying(32) })
            }
            Op::Load(space, ty) => Result::Each(self.loaded(state, space, ty)),
            Op::Counter(..) if inst.mask == LaneMask::Active => Result::Each(Shape::uniform(32)),
            _ => Result::Each(Shape::varying(32)),
        }
    }

    /// What a load gives.
    fn loaded(&self, state: &State, space: Space, ty: MemType) -> Shape {
        let address = self.address(state).unwrap_or(Shape::varying(64));
        let shape = match space {
            // All lanes with one address read once; private memory differs from lane to lane.
            Space::Global | Space::Lds | Space::Gds if address.is_uniform() => Shape::uniform(32),
            // Waves that share the data share do not run in between.
            Space::Lds if address.is_strip_uniform() => Shape::strip_uniform(32),
            _ => Shape::varying(32),
        };
        match ty {
            MemType::U8 => shape.in_range(0, 0xff),
            MemType::U16 => shape.in_range(0, 0xffff),
            _ => shape,
        }
    }

    /// The shape of the addresses.
    pub(super) fn address(&self, state: &State) -> Option<Shape> {
        let inst = self.inst;
        if self.odd {
            return None;
        }
        let moved = |shape: Shape| {
            let by = Shape::constant(shape.width(), inst.attrs.imm.unsigned_abs().into());
            if inst.attrs.imm < 0 { shape.minus(by) } else { shape.plus(by) }
        };
        let space = match inst.op {
            Op::Load(space, _) | Op::Store(space, _) | Op::Atomic(_, space, _) => space,
            op => {
                let form = op.buffer_address()?;
                // The offset of a lane wraps at 32 bits; an index counts elements of unknown size.
                let place = Operand::dword(inst.src[0], u16::from(form.idxen));
                let offset = match form.offen {
                    true => moved(state.operand(place, self.reads_all())),
                    false => moved(Shape::constant(32, 0)),
                };
                let index = match form.idxen {
                    true => state.operand(inst.src[0], self.reads_all()),
                    false => Shape::constant(32, 0),
                };
                return Some(if index.is_uniform() { offset } else { Shape::varying(32) });
            }
        };
        Some(match space {
            Space::Lds => moved(self.narrow(state, 0)),
            // The base is in bits of a cell.
            Space::Gds => moved(self.narrow(state, 0)).zero_extended().plus(Shape::uniform(64)),
            Space::Scratch => {
                let base = self.narrow(state, 1).zero_extended();
                moved(self.narrow(state, 0).zero_extended().plus(base))
            }
            Space::Global | Space::Flat if inst.src[1].is_none() => moved(self.wide(state, 0)),
            Space::Global | Space::Flat => {
                moved(self.narrow(state, 0).zero_extended().plus(self.wide(state, 1)))
            }
        })
    }

    /// The lanes for which a comparison holds.
    pub(super) fn compared(&self, state: &State) -> Option<ComparedLanes> {
        let (pred, ty) = comparison(self.inst.op)?;
        let plain = self.inst.attrs.is_plain() && !self.odd && self.inst.mask == LaneMask::Active;
        plain.then(|| compared(pred, ty, self.source(state, 0), self.source(state, 1))).flatten()
    }

    /// A sum or difference whose high half may follow.
    fn carry(&self, state: &State) -> Option<Carry> {
        let inst = self.inst;
        let subtracts = match inst.op {
            Op::Int(IntOp::AddCo) => false,
            Op::Int(IntOp::SubCo) => true,
            _ => return None,
        };
        let plain = inst.attrs.is_plain() && !self.odd && inst.mask == LaneMask::Active;
        let (Operand::Row(low), Operand::Uni(mask), true) = (inst.dst[0], inst.dst[1], plain) else {
            return None;
        };
        // A result in the row above a source overwrites the high half of the source.
        let wide = |operand: Operand| match operand {
            Operand::Row(row) if row.plus(1) != low => state.known_pair(row),
            _ => None,
        };
        let operand = |n: usize| (inst.src[n], self.narrow(state, n), wide(inst.src[n]));
        Some(Carry { mask, low, operands: [operand(0), operand(1)], subtracts })
    }

    /// The 64-bit sum of which this operation computes the high half.
    fn with_high_half(&self, state: &State, subtracts: bool) -> Option<Shape> {
        let (inst, carry) = (self.inst, Operand::Uni);
        let found = state.carries().iter().find(|known| {
            carry(known.mask) == inst.src[2]
                && inst.dst[0] == known.low.plus(1).into()
                && known.subtracts == subtracts
        })?;
        if inst.mask != LaneMask::Active {
            return None;
        }
        let operand = |low: usize, high: usize| {
            let (operand, shape, wide) = found.operands[low];
            let next = matches!(operand, Operand::Row(row) if inst.src[high] == row.plus(1).into());
            match wide {
                Some(wide) if next => wide,
                _ => Shape::combined(shape, self.narrow(state, high)),
            }
        };
        if subtracts {
            return Some(operand(0, 0).minus(operand(1, 1)));
        }
        let straight = operand(0, 0).plus(operand(1, 1));
        let crossed = operand(0, 1).plus(operand(1, 0));
        Some(if straight.stride().is_some() { straight } else { crossed })
    }

    /// The result of an integer operation without modifiers; `None` for any function.
    fn int(&self, state: &State, op: IntOp) -> Option<Result> {
        use IntOp::*;
        let a = || self.narrow(state, 0);
        let b = || self.narrow(state, 1);
        let c = || self.narrow(state, 2);
        let constant = |n: usize| self.narrow(state, n).value().map(|value| value as u32);
        let word = |value: u64| Shape::constant(32, value);
        let not = |shape: Shape| word(WORD).minus(shape);
        let field = |bits: u64| (1 << bits) - 1;
        // Factors of 24 bits, as unsigned and as signed numbers.
        let u24 = |shape: Shape| shape.and(word(field(24)));
        let i24 = |shape: Shape| shape.shifted_left(8).shifted_right_signed(8);
        let narrow = match op {
            Mov => a(),
            Not => not(a()),
            And => a().and(b()),
            Or => a().or(b()),
            Xor => a().xor(b()),
            Xnor => not(a().xor(b())),
            Add | AddI | AddCo => a().plus(b()),
            Sub | SubI | SubCo => a().minus(b()),
            AddCi | SubCi => {
                let wide = self.with_high_half(state, op == SubCi)?;
                return Some(Result::Narrow(wide.high_half())).filter(|_| wide.stride().is_some());
            }
            MulLo => a().times(b()),
            MulHiU => a().zero_extended().times(b().zero_extended()).high_half(),
            MulHiI => a().sign_extended().times(b().sign_extended()).high_half(),
            MulU24 => u24(a()).times(u24(b())),
            MulI24 => i24(a()).times(i24(b())),
            MadU32 => a().times(b()).plus(c()),
            MadU24 => u24(a()).times(u24(b())).plus(c()),
            MadI24 => i24(a()).times(i24(b())).plus(c()),
            Shl => a().shifted_left(constant(1)?),
            Shr => a().shifted_right(constant(1)?),
            Sar => a().shifted_right_signed(constant(1)?),
            ShlAdd => a().shifted_left(constant(1)?).plus(c()),
            AddShl => a().plus(b()).shifted_left(constant(2)?),
            ShlOr => a().shifted_left(constant(1)?).or(c()),
            Add3 => a().plus(b()).plus(c()),
            AndOr => a().and(b()).or(c()),
            Or3 => a().or(b()).or(c()),
            XorAdd => a().xor(b()).plus(c()),
            BfeU => {
                let (at, size) = (constant(1)? % 32, u64::from(constant(2)?) % 32);
                a().shifted_right(at).and(word(field(size)))
            }
            BfeI => {
                let (at, size) = (constant(1)? % 32, constant(2)? % 32);
                match at + size {
                    _ if size == 0 => word(0),
                    // The field goes on above the highest bit.
                    32.. => a().shifted_right_signed(at),
                    end => a().shifted_left(32 - end).shifted_right_signed(32 - size),
                }
            }
            Bfi => a().and(b()).or(not(a()).and(c())),
            BitMask => {
                let (size, at) = (u64::from(constant(0)?) % 32, constant(1)? % 32);
                word(field(size) << at)
            }
            MinU => {
                let (x, y) = (a().range(), b().range());
                a().any_function_of(b()).in_range(x.0.min(y.0), x.1.min(y.1))
            }
            MaxU => {
                let (x, y) = (a().range(), b().range());
                a().any_function_of(b()).in_range(x.0.max(y.0), x.1.max(y.1))
            }
            Select => {
                let (x, y) = (a(), b());
                match self.inst.src[2] {
                    Operand::Const(0) => x,
                    Operand::Const(u64::MAX) => y,
                    mask if self.is_even(state, mask) => x.join(y),
                    _ => x.mix(y),
                }
            }
            MaskCountLo | MaskCountHi => {
                let mask = constant(0)?;
                let counts = std::array::from_fn::<u32, LANES, _>(|lane| {
                    let below = (1u64 << lane) - 1;
                    let half = if op == MaskCountLo { below as u32 } else { (below >> 32) as u32 };
                    (mask & half).count_ones()
                });
                Shape::exact(&counts).plus(b())
            }
            Mov64 => return Some(Result::Wide(self.wide(state, 0))),
            Shl64 => return Some(Result::Wide(self.wide(state, 0).shifted_left(constant(1)? % 64))),
            Shr64 => return Some(Result::Wide(self.wide(state, 0).shifted_right(constant(1)? % 64))),
            Sar64 => return Some(Result::Wide(self.wide(state, 0).shifted_right_signed(constant(1)? % 64))),
            ShlAdd64 => {
                let by = match constant(1)? & 7 {
                    by @ 0..=4 => by,
                    _ => 0,
                };
                return Some(Result::Wide(self.wide(state, 0).shifted_left(by).plus(self.wide(state, 2))));
            }
            MadU64U32 => {
                let product = a().zero_extended().times(b().zero_extended());
                return Some(Result::Wide(product.plus(self.wide(state, 2))));
            }
            MadI64I32 => {
                let product = a().sign_extended().times(b().sign_extended());
                return Some(Result::Wide(product.plus(self.wide(state, 2))));
            }
            _ => return None,
        };
        Some(Result::Narrow(narrow))
    }

    /// The 64-bit shape that the two rows of a sum get with its high half.
    fn finished(&self, state: &State) -> Option<(Row, Shape)> {
        let inst = self.inst;
        let subtracts = match inst.op {
            Op::Int(IntOp::AddCi) => false,
            Op::Int(IntOp::SubCi) => true,
            _ => return None,
        };
        let plain = inst.attrs.is_plain() && !self.odd;
        let Operand::Row(high) = inst.dst[0] else { return None };
        let low = Row(high.0.checked_sub(1)?);
        let wide = plain.then(|| self.with_high_half(state, subtracts)).flatten()?;
        wide.stride().is_some().then_some((low, wide))
    }
}
