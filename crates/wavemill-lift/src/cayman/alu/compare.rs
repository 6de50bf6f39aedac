//! Comparisons and what they make: numbers, masks of bits, copies of sources, predicates, lanes to
//! kill.

use wavemill_ir::{
    Attrs, CmpPred, FloatOp, IntType, Op as IrOp, Operand, Row as IrRow, ScalarOp, SrcMods, Uni, Width,
};
use wavemill_isa::cayman::Op;

use super::Slot;
use super::operation::{F32, MAX, ONE, Output, PLAIN, constant};
use crate::cayman::lifter::Lifter;

/// The type of the compared sources.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Type {
    Float,
    Signed,
    Unsigned,
}

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// Sources 0 and 1; the result is one of two constants.
    Constants(u32, u32),
    /// Source 0 and zero; the result is source 1 or 2.
    Sources,
    /// Source 1 and zero, and source 0 must be zero: a counter that grows where this does not hold.
    Counter,
}

/// A comparison: relation, type, shape.
pub(super) type Comparison = (CmpPred, Type, Shape);

const SET: Shape = Shape::Constants(ONE as u32, 0);
const MASK: Shape = Shape::Constants(u32::MAX, 0);
/// The opposite of a comparison that sets: 0 where the predicate holds.
const PREDICATE: Shape = Shape::Constants(0, ONE as u32);

/// The comparison of an instruction. "Not equal" holds for NaNs.
pub(super) const fn of(op: Op) -> Option<Comparison> {
    use CmpPred::{Eq, Ge, Gt, Le, Lg, Lt, Neq};
    use Type::{Float, Signed, Unsigned};
    Some(match op {
        Op::Sete => (Eq, Float, SET),
        Op::Setgt => (Gt, Float, SET),
        Op::Setge => (Ge, Float, SET),
        Op::Setne => (Neq, Float, SET),
        Op::SeteDx10 => (Eq, Float, MASK),
        Op::SetgtDx10 => (Gt, Float, MASK),
        Op::SetgeDx10 => (Ge, Float, MASK),
        Op::SetneDx10 => (Neq, Float, MASK),
        Op::SeteInt => (Eq, Signed, MASK),
        Op::SetgtInt => (Gt, Signed, MASK),
        Op::SetgeInt => (Ge, Signed, MASK),
        Op::SetneInt => (Lg, Signed, MASK),
        Op::SetgtUint => (Gt, Unsigned, MASK),
        Op::SetgeUint => (Ge, Unsigned, MASK),
        Op::PredSete => (Eq, Float, PREDICATE),
        Op::PredSetgt => (Gt, Float, PREDICATE),
        Op::PredSetge => (Ge, Float, PREDICATE),
        Op::PredSetne => (Neq, Float, PREDICATE),
        Op::PredSeteInt => (Eq, Signed, PREDICATE),
        Op::PredSetgtInt => (Gt, Signed, PREDICATE),
        Op::PredSetgeInt => (Ge, Signed, PREDICATE),
        Op::PredSetneInt => (Lg, Signed, PREDICATE),
        Op::PredSetgtUint => (Gt, Unsigned, PREDICATE),
        Op::PredSetgeUint => (Ge, Unsigned, PREDICATE),
        Op::PredSetePush => (Eq, Float, Shape::Counter),
        Op::PredSetgtPush => (Gt, Float, Shape::Counter),
        Op::PredSetgePush => (Ge, Float, Shape::Counter),
        Op::PredSetnePush => (Neq, Float, Shape::Counter),
        Op::PredSetePushInt => (Eq, Signed, Shape::Counter),
        Op::PredSetgtPushInt => (Gt, Signed, Shape::Counter),
        Op::PredSetgePushInt => (Ge, Signed, Shape::Counter),
        Op::PredSetnePushInt => (Lg, Signed, Shape::Counter),
        Op::PredSetltPushInt => (Lt, Signed, Shape::Counter),
        Op::PredSetlePushInt => (Le, Signed, Shape::Counter),
        Op::Kille => (Eq, Float, SET),
        Op::Killgt => (Gt, Float, SET),
        Op::Killge => (Ge, Float, SET),
        Op::Killne => (Neq, Float, SET),
        Op::KilleInt => (Eq, Signed, SET),
        Op::KillgtInt => (Gt, Signed, SET),
        Op::KillgeInt => (Ge, Signed, SET),
        Op::KillneInt => (Lg, Signed, SET),
        Op::KillgtUint => (Gt, Unsigned, SET),
        Op::KillgeUint => (Ge, Unsigned, SET),
        Op::Cnde => (Eq, Float, Shape::Sources),
        Op::Cndgt => (Gt, Float, Shape::Sources),
        Op::Cndge => (Ge, Float, Shape::Sources),
        Op::CndeInt => (Eq, Signed, Shape::Sources),
        Op::CndgtInt => (Gt, Signed, Shape::Sources),
        Op::CndgeInt => (Ge, Signed, Shape::Sources),
        _ => return None,
    })
}

/// The comparison that selects.
const fn select(relation: CmpPred, ty: Type) -> IrOp {
    match ty {
        Type::Float => IrOp::FloatSelect(relation, F32),
        Type::Signed => IrOp::IntSelect(relation, IntType::I32),
        Type::Unsigned => IrOp::IntSelect(relation, IntType::U32),
    }
}

impl Lifter<'_, '_> {
    /// A pair of cells for the mask that an instruction makes, if it makes one.
    pub(super) fn new_mask(&mut self, slot: &Slot) -> Option<Uni> {
        slot.makes_mask().then(|| self.b.uni_temp(2))
    }

    /// A selection with an f32 result, its output modifiers, and its mask.
    fn select(
        &mut self,
        op: IrOp,
        result: IrRow,
        mask: Option<Uni>,
        sources: [Operand; 4],
        src: [SrcMods; 3],
        output: Output,
    ) {
        let clamps = output.factor == 1.0 && matches!(op, IrOp::FloatSelect(..));
        let attrs = Attrs { src, clamp: output.clamp && clamps, fp: self.fp, ..Attrs::default() };
        let mask = mask.map_or(Operand::None, Operand::from);
        self.b.push(op, [result.into(), mask], sources, attrs);
        if !output.is_plain() && !clamps {
            self.scale(result, result.into(), output);
        }
    }

    /// Appends a comparison. Gives its mask, as [`Lifter::operation`] does.
    pub(super) fn comparison(&mut self, slot: &Slot, comparison: Comparison, result: IrRow) -> Option<Uni> {
        let (relation, ty, shape) = comparison;
        let mask = self.new_mask(slot);
        let [first, second, _] = slot.sources;
        let zero = Operand::Const(0);
        let output = Output::of(&slot.inst);
        match shape {
            Shape::Constants(yes, no) => {
                let sources = [first, second, Operand::Const(yes.into()), Operand::Const(no.into())];
                self.select(select(relation, ty), result, mask, sources, slot.modifiers, output);
            }
            Shape::Sources => {
                // The operation has no modifiers of the value that is copied if the relation does
                // not hold.
                let otherwise = self.modified(slot, 2);
                let sources = [first, zero, second, otherwise];
                let [of_first, of_second, _] = slot.modifiers;
                let src = [of_first, SrcMods::default(), of_second];
                self.select(select(relation, ty), result, mask, sources, src, output);
            }
            Shape::Counter => self.count_up(slot, select(relation, ty), result, mask),
        }
        mask
    }

    /// Appends a comparison of which nothing but the mask is needed, and gives the mask. `None` if the
    /// instruction is no comparison of its sources with each other.
    pub(in crate::cayman) fn condition(&mut self, slot: &Slot) -> Option<Uni> {
        let (relation, ty, Shape::Constants(..)) = of(slot.inst.op())? else { return None };
        let (op, fp) = match ty {
            Type::Float => (IrOp::FloatCmp(relation, F32), self.fp),
            Type::Signed => (IrOp::IntCmp(relation, IntType::I32), Attrs::default().fp),
            Type::Unsigned => (IrOp::IntCmp(relation, IntType::U32), Attrs::default().fp),
        };
        let mask = self.b.uni_temp(2);
        let attrs = Attrs { src: slot.modifiers, fp, ..Attrs::default() };
        self.push(op, mask, &slot.sources[..2], attrs);
        Some(mask)
    }

    /// The PUSH instructions: 0 where the relation holds and the counter is 0, else the counter +
    /// 1.
    fn count_up(&mut self, slot: &Slot, relation: IrOp, result: IrRow, mask: Option<Uni>) {
        let [counter, condition, _] = slot.sources;
        let [of_counter, of_condition, _] = slot.modifiers;
        let zero = Operand::Const(0);
        let next = self.b.row_temp(2);
        let fp = self.fp;
        let attrs = |src: SrcMods| Attrs { src: [src, PLAIN[1], PLAIN[2]], fp, ..Attrs::default() };
        self.push(IrOp::Float(FloatOp::Add, F32), next, &[counter, constant(1.0)], attrs(of_counter));
        let was_zero = mask.map(|_| self.b.uni_temp(2));
        let dst = [next.plus(1).into(), was_zero.map_or(Operand::None, Operand::from)];
        let sources = [counter, zero, zero, next.into()];
        self.b.push(IrOp::FloatSelect(CmpPred::Eq, F32), dst, sources, attrs(of_counter));
        let sources = [condition, zero, next.plus(1).into(), next.into()];
        let src = [of_condition, PLAIN[1], PLAIN[2]];
        self.select(relation, result, mask, sources, src, Output::of(&slot.inst));
        if let (Some(mask), Some(was_zero)) = (mask, was_zero) {
            self.b.scalar(ScalarOp::And, Width::W64, mask, &[mask.into(), was_zero.into()]);
        }
    }

    /// The instructions that change a counter of predicates. Gives their mask, as
    /// [`Lifter::operation`] does; `None` if the instruction is none of these.
    pub(super) fn predicate_counter(&mut self, slot: &Slot, result: IrRow) -> Option<Option<Uni>> {
        let op = slot.inst.op();
        let zero = Operand::Const(0);
        let output = Output::of(&slot.inst);
        let equal = IrOp::FloatSelect(CmpPred::Eq, F32);
        let [first, second, _] = slot.sources;
        let attrs = Attrs { src: slot.modifiers, fp: self.fp, ..Attrs::default() };
        match op {
            Op::PredSetInv => {
                let mask = self.new_mask(slot);
                let counter = self.modified(slot, 0);
                let inverted = self.b.row_temp(1);
                let sources = [first, zero, constant(1.0), counter];
                self.push(equal, inverted, &sources, attrs);
                let sources = [first, constant(1.0), zero, inverted.into()];
                self.select(equal, result, mask, sources, slot.modifiers, output);
                Some(mask)
            }
            Op::PredSetRestore => {
                let mask = self.new_mask(slot);
                let counter = self.modified(slot, 0);
                self.select(equal, result, mask, [first, zero, zero, counter], slot.modifiers, output);
                Some(mask)
            }
            Op::PredSetPop => {
                let mask = self.new_mask(slot);
                let difference = self.b.row_temp(1);
                self.push(IrOp::Float(FloatOp::Sub, F32), difference, &[first, second], attrs);
                let at_most = IrOp::FloatSelect(CmpPred::Le, F32);
                let sources = [first, second, zero, difference.into()];
                self.select(at_most, result, mask, sources, slot.modifiers, output);
                Some(mask)
            }
            Op::PredSetClr => {
                let mask = self.new_mask(slot);
                if let Some(mask) = mask {
                    self.b.scalar(ScalarOp::Mov, Width::W64, mask, &[zero]);
                }
                if output.is_plain() {
                    self.copy(result, Operand::Const(MAX));
                } else {
                    self.scale(result, Operand::Const(MAX), output);
                }
                Some(mask)
            }
            _ => None,
        }
    }
}
