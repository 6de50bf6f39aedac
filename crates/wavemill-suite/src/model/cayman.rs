//! The effect of the groups of an ALU clause of Cayman (HD 6900 ISA 4), on all lanes, with the bits
//! that the manual leaves open.
//!
//! Operations come from `wavemill_reference::cayman`. This module has sources, modifiers, slots,
//! predicates and masks.

use wavemill_isa::cayman::{
    Elem, FieldId as F, Flag, Format, Group, Inst, Op, Source, SourceField, decode_group,
};
use wavemill_reference::cayman::{self as reference, Outcome, Product, Readings};
use wavemill_reference::{Env, F32, F64};

use super::Gap;
use crate::data::{Cell, Half, LANES, LaneMask, Lanes, Row};

/// Registers of a wave here.
pub const GPRS: u16 = 16;

/// Values of all lanes, and which of their bits are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// The values.
    pub values: Lanes,
    /// The known bits.
    pub known: Lanes,
}

impl Register {
    /// A register whose bits are all known.
    #[must_use]
    pub const fn of(values: Lanes) -> Register {
        Register { values, known: [u32::MAX; LANES] }
    }

    const UNKNOWN: Register = Register { values: [0; LANES], known: [0; LANES] };
}

/// The registers of a wave, and the state of its clause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Clause {
    /// Registers by number and channel.
    pub gprs: Vec<[Register; 4]>,
    /// Active lanes.
    pub active: u64,
    /// Valid lanes.
    pub valid: u64,
    /// The modes as SET_MODE has them: singles in bits 3:0, doubles in bits 7:4.
    pub mode: u32,
    previous: [Register; 4],
    predicate: u64,
    index: [i32; LANES],
}

/// A value and its known bits.
type Value = (u32, u32);

/// What a slot makes in a lane: its result, and whether it executes or kills.
#[derive(Clone, Copy, Default, Debug)]
struct Made {
    value: Value,
    mask: bool,
}

impl Clause {
    /// A wave whose registers are zero, and whose lanes are active and valid.
    #[must_use]
    pub fn new(mode: u32) -> Clause {
        Clause {
            gprs: vec![[Register::of([0; LANES]); 4]; usize::from(GPRS)],
            active: u64::MAX,
            valid: u64::MAX,
            mode,
            previous: [Register::UNKNOWN; 4],
            predicate: 0,
            index: [0; LANES],
        }
    }

    /// Sets a register.
    ///
    /// # Panics
    /// If the wave has no such register.
    pub fn set_row(&mut self, row: Row, lanes: &Lanes) {
        match row {
            Row::Gpr(n, channel) => self.gprs[usize::from(n)][usize::from(channel)] = Register::of(*lanes),
            other => panic!("{other} is no register of Cayman"),
        }
    }

    /// Sets a half of a mask of lanes.
    ///
    /// # Panics
    /// If the wave has no such mask.
    pub fn set_cell(&mut self, cell: Cell, value: u32) {
        let Cell::Lanes(mask, half) = cell else { panic!("{cell} is no mask of lanes") };
        let lanes = match mask {
            LaneMask::Active => &mut self.active,
            LaneMask::Valid => &mut self.valid,
        };
        let shift = if half == Half::Low { 0 } else { 32 };
        *lanes = *lanes & !(0xffff_ffff << shift) | u64::from(value) << shift;
    }

    /// A half of a mask of lanes.
    #[must_use]
    pub fn cell(&self, mask: LaneMask, half: Half) -> u32 {
        let lanes = if mask == LaneMask::Active { self.active } else { self.valid };
        (if half == Half::Low { lanes } else { lanes >> 32 }) as u32
    }

    /// Runs the groups of a clause.
    ///
    /// # Errors
    /// Why the model does not know what a group does.
    pub fn run(&mut self, words: &[u32]) -> Result<(), Gap> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut rest = &bytes[..];
        let (lanes, mut after) = (self.active, self.active);
        self.previous = [Register::UNKNOWN; 4];
        self.predicate = lanes;
        let mode = self.mode;
        while !rest.is_empty() {
            let group = decode_group(rest).map_err(|_| Gap("words that are no group"))?;
            rest = &rest[group.size..];
            self.group(&group, lanes, &mut after)?;
        }
        // SET_MODE counts to the end of the clause (HD 6900 ISA 4.13.1).
        self.mode = mode;
        self.active = after;
        Ok(())
    }

    fn group(&mut self, group: &Group, lanes: u64, after: &mut u64) -> Result<(), Gap> {
        let slots = || group.slots.iter().flatten();
        // It "affects other instructions in the current group" (HD 6900 ISA 4.13.1).
        if let Some(set) = slots().find(|slot| slot.op() == Op::SetMode) {
            self.mode = set.get(F::Src0Sel) & 15 | (set.get(F::Src1Sel) & 15) << 4;
        }
        let mut made = vec![[Made::default(); 4]; LANES];
        for (lane, made) in made.iter_mut().enumerate() {
            *made = Lane { clause: self, group, lane }.slots()?;
        }
        let before = self.predicate;
        let mut previous = [Register::UNKNOWN; 4];
        for slot in slots() {
            let channel = slot.get(F::DstChan) as usize;
            let selected = match slot.get(F::PredSel) {
                0 => lanes,
                2 => lanes & !before,
                3 => lanes & before,
                _ => return Err(Gap("a reserved PRED_SEL")),
            };
            let is_selected = |lane: &usize| selected >> lane & 1 != 0;
            let mask = (0..LANES).filter(|lane| is_selected(lane) && made[*lane][channel].mask);
            let mask = mask.fold(0, |mask, lane| mask | 1 << lane);
            let row = slot.row();
            if slot.op() == Op::MovaInt {
                if slot.get(F::MovaDst) != 0 {
                    return Err(Gap("a register of the wave"));
                }
                for lane in (0..LANES).filter(is_selected) {
                    self.index[lane] = made[lane][channel].value.0 as i32;
                }
                continue;
            }
            if row.has(Flag::Kill) {
                self.valid &= !mask;
            } else if row.has(Flag::Predicate) {
                if slot.bit(F::UpdatePred) {
                    self.predicate = before & !selected | mask;
                }
                if slot.bit(F::UpdateExecMask) {
                    if slot.get(F::ExecuteMaskOp) != 0 {
                        return Err(Gap("a break, a continue or a kill"));
                    }
                    // Lanes that PRED_SEL leaves out become inactive, too (HD 6900 ISA 9.2,
                    // ALU_WORD1_OP2_EXECUTE_MASK).
                    *after = mask;
                }
            }
            if row.result.is_none() {
                continue;
            }
            previous[channel] = self.previous[channel];
            for lane in (0..LANES).filter(is_selected) {
                let (value, known) = made[lane][channel].value;
                (previous[channel].values[lane], previous[channel].known[lane]) = (value, known);
            }
            if slot.field(F::WriteMask) == Some(0) {
                continue;
            }
            if slot.bit(F::DstRel) {
                return Err(Gap("a relative destination"));
            }
            if let Some(register) = self.gprs.get_mut(slot.get(F::DstGpr) as usize) {
                for lane in (0..LANES).filter(is_selected) {
                    let (value, known) = made[lane][channel].value;
                    (register[channel].values[lane], register[channel].known[lane]) = (value, known);
                }
            }
        }
        self.previous = previous;
        Ok(())
    }
}

/// A group in a lane.
struct Lane<'a> {
    clause: &'a Clause,
    group: &'a Group,
    lane: usize,
}

/// OMOD and CLAMP of a slot.
fn output(slot: &Inst) -> (u32, bool) {
    let omod = if slot.format() == Format::Op2ExecuteMask { 0 } else { slot.get(F::Omod) };
    (omod, slot.bit(F::Clamp))
}

/// A result of f32 after OMOD and CLAMP.
fn single(result: &Readings, slot: &Inst, env: Env) -> Value {
    let (omod, clamps) = output(slot);
    let clamp_is_known = !clamps || reference::clamp_is_known(F32, result);
    let readings = result.map(|bits| reference::output(F32, bits, omod, clamps, env));
    let known = if clamp_is_known { readings.known_float(F32) as u32 } else { 0 };
    (readings.chosen() as u32, known)
}

/// The dwords of an f64 after OMOD and CLAMP.
fn double(result: &Readings, slot: &Inst, env: Env) -> [Value; 2] {
    let (omod, clamps) = output(slot);
    let clamp_is_known = !clamps || reference::clamp_is_known(F64, result);
    let readings = result.map(|bits| reference::output(F64, bits, omod, clamps, env));
    dwords(readings.chosen(), if clamp_is_known { readings.known_float(F64) } else { 0 })
}

fn dwords(bits: u64, known: u64) -> [Value; 2] {
    [(bits as u32, known as u32), ((bits >> 32) as u32, (known >> 32) as u32)]
}

impl Lane<'_> {
    fn singles(&self) -> Env {
        reference::environment(self.clause.mode)
    }

    fn doubles(&self) -> Env {
        reference::environment(self.clause.mode >> 4)
    }

    fn slot(&self, channel: usize) -> Result<&Inst, Gap> {
        self.group.slots[channel].as_ref().ok_or(Gap("a slot that the instruction needs is not there"))
    }

    /// A source before its modifiers.
    fn raw(&self, slot: &Inst, field: &SourceField) -> Result<Value, Gap> {
        let of = |register: &Register| (register.values[self.lane], register.known[self.lane]);
        Ok(match field.of(slot).ok_or(Gap("a source that the word does not have"))? {
            Source::Gpr(number, channel) => {
                let relative = slot.bit(field.relative);
                if relative && slot.get(F::IndexMode) != 0 {
                    return Err(Gap("an index other than AR"));
                }
                let index = if relative { self.clause.index[self.lane] } else { 0 };
                // Out of range, a relative address reads register 0 (HD 6900 ISA 4.6.3).
                let number = usize::try_from(i32::from(number) + index).ok();
                let number = number.filter(|n| *n < usize::from(GPRS)).unwrap_or(0);
                of(&self.clause.gprs[number][usize::from(channel)])
            }
            Source::PreviousVector(channel) => of(&self.clause.previous[usize::from(channel)]),
            Source::Inline(constant) => (constant.bits(), u32::MAX),
            Source::Literal(channel) => (self.group.literals[usize::from(channel)], u32::MAX),
            _ => return Err(Gap("a source of the wave, of LDS or of a constant buffer")),
        })
    }

    /// The sources after ABS, then NEG; whether all their bits are known.
    fn sources(&self, slot: &Inst) -> Result<([u32; 3], bool), Gap> {
        let mut all = ([0; 3], true);
        for (n, (elem, field, _)) in slot.sources().enumerate() {
            let (mut bits, known) = self.raw(slot, field)?;
            if elem.is_float() {
                if field.absolute.is_some_and(|field| slot.bit(field)) {
                    bits &= !(1 << 31);
                }
                if slot.bit(field.negate) {
                    bits ^= 1 << 31;
                }
            }
            all.0[n] = bits;
            all.1 &= known == u32::MAX;
        }
        Ok(all)
    }

    /// A source of doubles: high and low dwords are those of two slots, modifiers those of the high
    /// one.
    fn wide(&self, high: &Inst, low: &Inst) -> Result<([u64; 3], bool), Gap> {
        let (mut all, mut is_known) = ([0; 3], true);
        let (highs, known) = self.sources(high)?;
        for (n, (_, field, _)) in low.sources().enumerate() {
            let (bits, low_known) = self.raw(low, field)?;
            all[n] = u64::from(highs[n]) << 32 | u64::from(bits);
            is_known &= low_known == u32::MAX;
        }
        Ok((all, is_known && known))
    }

    fn slots(&self) -> Result<[Made; 4], Gap> {
        let mut made = [Made::default(); 4];
        for (channel, (made, slot)) in made.iter_mut().zip(&self.group.slots).enumerate() {
            if let Some(slot) = slot {
                *made = self.made(slot, channel)?;
            }
        }
        Ok(made)
    }

    fn made(&self, slot: &Inst, channel: usize) -> Result<Made, Gap> {
        use wavemill_isa::cayman::Slots;
        let row = slot.row();
        let plain = |value: Value| Ok(Made { value, mask: false });
        match slot.op() {
            Op::Nop | Op::SetMode | Op::GroupBarrier => return Ok(Made::default()),
            Op::MovaInt => {
                let ([source, ..], known) = self.sources(slot)?;
                return match known {
                    true => plain((reference::index(source) as u32, u32::MAX)),
                    false => Err(Gap("an index that is not known")),
                };
            }
            Op::Mov => return self.copy(slot).map(|value| Made { value, mask: false }),
            _ => {}
        }
        let is_function = reference::DOUBLE_FUNCTIONS.iter().any(|(name, _)| *name == row.name);
        match row.slots {
            _ if is_function => return plain(self.double_function(slot, channel)?),
            Slots::Pair => return self.pair(channel),
            Slots::All if reference::operation(row.name).is_none() => {
                return plain(self.of_four(slot, channel)?);
            }
            _ => {}
        }
        let (sources, known) = self.sources(slot)?;
        let outcome = match row.chain {
            Some(_) if matches!(slot.op(), Op::Dot | Op::DotIeee) => {
                let products = self.products(channel)?;
                Outcome::from(reference::sum_of_products(&products, self.singles()))
            }
            Some(_) => {
                let (before, before_known) = self.before(channel)?;
                if before_known != u32::MAX {
                    return plain((0, 0));
                }
                if slot.op() == Op::Mbcnt32loAccumPrevInt {
                    let count = reference::low_mask_count(sources[0], self.lane as u32, false);
                    Outcome::from(count.wrapping_add(before))
                } else {
                    let apply = reference::CHAINED.iter().find(|(name, _)| *name == row.name);
                    let (_, apply) = apply.ok_or(Gap("no reference for this chain"))?;
                    apply(sources, before, self.singles())
                }
            }
            None if slot.op() == Op::Mbcnt32hiInt => {
                Outcome::from(reference::low_mask_count(sources[0], self.lane as u32, true))
            }
            None => {
                let apply = reference::operation(row.name).ok_or(Gap("no reference for this operation"))?;
                apply(sources, self.singles())
            }
        };
        if !known {
            return match outcome.mask || row.has(Flag::Predicate) || row.has(Flag::Kill) {
                true => Err(Gap("a predicate that is not known")),
                false => plain((0, 0)),
            };
        }
        let value = match row.result {
            Some(Elem::F32) => single(&outcome.result, slot, self.singles()),
            _ => (outcome.result.chosen() as u32, outcome.result.known() as u32),
        };
        Ok(Made { value, mask: outcome.mask })
    }

    /// MOV: a copy of bits. With output modifiers it is a float: a denormal may be a zero.
    fn copy(&self, slot: &Inst) -> Result<Value, Gap> {
        let (_, field, _) = slot.sources().next().ok_or(Gap("MOV without a source"))?;
        let known = self.raw(slot, field)?.1;
        let ([bits, ..], _) = self.sources(slot)?;
        if output(slot) == (0, false) {
            return Ok((bits, known));
        }
        if known != u32::MAX {
            return Ok((0, 0));
        }
        let env = self.singles();
        let one = wavemill_reference::mul(F32, [bits.into(), F32.one()], env);
        Ok(single(&Readings::from([one, bits.into()]), slot, env))
    }

    /// The channel that a chained slot continues.
    fn producer(&self, channel: usize) -> Result<(&Inst, usize), Gap> {
        let chain = self.slot(channel)?.row().chain.ok_or(Gap("no chain"))?;
        let producer = chain.producer(channel as u8).ok_or(Gap("a chain that leaves the group"))?;
        Ok((self.slot(producer.into())?, producer.into()))
    }

    /// The result of the channel that a slot continues, without output modifiers.
    fn before(&self, channel: usize) -> Result<Value, Gap> {
        let (slot, producer) = self.producer(channel)?;
        if output(slot) != (0, false) {
            return Err(Gap("a chain behind output modifiers"));
        }
        Ok(self.made(slot, producer)?.value)
    }

    /// The products of a sum, from its first channel on.
    fn products(&self, channel: usize) -> Result<Vec<Product>, Gap> {
        let slot = self.slot(channel)?;
        let zero_wins = match slot.op() {
            Op::Mul | Op::Dot => true,
            Op::MulIeee | Op::DotIeee => false,
            _ => return Err(Gap("a sum of something else than products")),
        };
        let mut products = match slot.row().chain {
            Some(_) => self.products(self.producer(channel)?.1)?,
            None => Vec::new(),
        };
        let ([a, b, _], known) = self.sources(slot)?;
        if !known {
            return Err(Gap("a sum of products that are not known"));
        }
        products.push(Product { factors: [a, b], zero_wins });
        Ok(products)
    }

    /// Operations of all four slots.
    fn of_four(&self, slot: &Inst, channel: usize) -> Result<Value, Gap> {
        let env = self.singles();
        let mut sources = [[0; 3]; 4];
        for (channel, sources) in sources.iter_mut().enumerate() {
            let known;
            (*sources, known) = self.sources(self.slot(channel)?)?;
            if !known {
                return Ok((0, 0));
            }
        }
        let [x, y, z, w] = sources;
        match slot.op() {
            Op::Dot4 | Op::Dot4Ieee => {
                let zero_wins = slot.op() == Op::Dot4;
                let products = [w, z, y, x].map(|[a, b, _]| Product { factors: [a, b], zero_wins });
                Ok(single(&reference::sum_of_products(&products, env), slot, env))
            }
            Op::Max4 => Ok(single(&reference::maximum_of_four([x[0], y[0], z[0], w[0]], env), slot, env)),
            // The sources are `Rn.zzxy` and `Rn.yxzz`.
            Op::Cube => {
                let results = reference::cube([z[0], w[0], x[0]], env);
                // "OMOD and CLAMP do not affect the Direct3D FaceID."
                match channel {
                    3 => Ok((results[3].chosen() as u32, results[3].known_float(F32) as u32)),
                    _ => Ok(single(&results[channel], slot, env)),
                }
            }
            Op::FltToUint4 => {
                let packed = reference::pack_bytes([x[0], y[0], z[0], w[0]], env);
                Ok((packed.chosen() as u32, packed.known() as u32))
            }
            Op::Mul64 | Op::Mul64R700 | Op::Fma64 => {
                let (high, low) = (self.slot(0)?, self.slot(3)?);
                let (wide, _) = self.wide(high, low)?;
                let result = doubles(slot)?(wide, self.doubles()).result;
                Ok(double(&result, high, self.doubles())[channel % 2])
            }
            Op::Frexp64 => {
                let (wide, _) = self.wide(self.slot(0)?, self.slot(1)?)?;
                let [exponent, fraction] = reference::frexp(wide[0], self.doubles());
                let fraction = dwords(fraction.chosen(), fraction.known_float(F64));
                Ok(match channel {
                    0 => (0, u32::MAX),
                    1 => (exponent.chosen() as u32, exponent.known() as u32),
                    _ => fraction[channel - 2],
                })
            }
            _ => Err(Gap("no reference for this operation of four slots")),
        }
    }

    /// Operations of two slots.
    fn pair(&self, channel: usize) -> Result<Made, Gap> {
        let first = channel & 2;
        let (high, low) = (self.slot(first)?, self.slot(first + 1)?);
        let plain = |value: Value| Ok(Made { value, mask: false });
        match high.op() {
            Op::Flt32ToFlt64 | Op::Flt32ToFlt64R700 => {
                let ([source, ..], known) = self.sources(high)?;
                let result = Readings::from(reference::widen(source));
                return plain(if known {
                    double(&result, high, self.doubles())[channel % 2]
                } else {
                    (0, 0)
                });
            }
            Op::Flt64ToFlt32 | Op::Flt64ToFlt32R700 => {
                let (wide, known) = self.wide(high, low)?;
                let result = Readings::from(reference::narrow(wide[0], self.singles()));
                return plain(match (channel % 2, known) {
                    (1, _) => (0, u32::MAX),
                    (_, true) => single(&result, high, self.singles()),
                    _ => (0, 0),
                });
            }
            _ => {}
        }
        let (wide, known) = self.wide(high, low)?;
        let outcome = doubles(high)?(wide, self.doubles());
        let is_float = high.row().result == Some(Elem::F64);
        let result = match (known, is_float) {
            (false, _) => [(0, 0); 2],
            (true, true) => double(&outcome.result, high, self.doubles()),
            (true, false) => dwords(outcome.result.chosen(), outcome.result.known()),
        };
        // The mask is at the first slot.
        Ok(Made { value: result[channel % 2], mask: outcome.mask && channel == first })
    }

    /// Functions of doubles: source 0 is the high dword, source 1 the low one. Where the high dword
    /// of the result is, the page does not say; y and w have it, as Mesa expects.
    fn double_function(&self, slot: &Inst, channel: usize) -> Result<Value, Gap> {
        let ([high, low, _], known) = self.sources(slot)?;
        // The second source has no modifiers of its own.
        let apply = reference::DOUBLE_FUNCTIONS.iter().find(|(name, _)| *name == slot.row().name);
        let (_, apply) = apply.ok_or(Gap("no reference for this function"))?;
        let result = apply(u64::from(high) << 32 | u64::from(low), self.doubles());
        Ok(match (channel % 2, known) {
            (1, true) => double(&result, slot, self.doubles())[1],
            _ => (0, 0),
        })
    }
}

/// The operation of doubles of a slot.
fn doubles(slot: &Inst) -> Result<reference::OfDoubles, Gap> {
    let found = reference::DOUBLES.iter().find(|(name, _)| *name == slot.row().name);
    found.map(|(_, apply)| *apply).ok_or(Gap("no reference for this operation of doubles"))
}
