//! Floats: sums, products, extremes and integral values.

use wavemill_ir::{Attrs, CmpPred, FloatOp, Op as IrOp, Operand, Row as IrRow, SrcMods};
use wavemill_isa::cayman::Op;

use super::Slot;
use super::operation::{F32, MAX, Output, PLAIN, SIGN};
use crate::cayman::lifter::Lifter;

/// The operation of an instruction that is one.
pub(super) const fn of(op: Op) -> Option<FloatOp> {
    Some(match op {
        Op::Add => FloatOp::Add,
        // Zero times anything is zero.
        Op::Mul => FloatOp::MulLegacy,
        Op::MulIeee => FloatOp::Mul,
        Op::Max => FloatOp::MaxSelect,
        Op::Min => FloatOp::MinSelect,
        Op::MaxDx10 => FloatOp::MaxNumber,
        Op::MinDx10 => FloatOp::MinNumber,
        Op::Trunc => FloatOp::Trunc,
        Op::Ceil => FloatOp::Ceil,
        Op::Rndne => FloatOp::RoundEven,
        Op::Floor => FloatOp::Floor,
        Op::Fma => FloatOp::Fma,
        // "Gives same results as ADD after MUL": two roundings.
        Op::Muladd => FloatOp::MulAddLegacy,
        Op::MuladdIeee => FloatOp::MulAdd,
        _ => return None,
    })
}

/// The factor that an instruction multiplies its sum of a product with.
const fn factor(op: Op) -> Option<f32> {
    Some(match op {
        Op::MuladdM2 => 2.0,
        Op::MuladdM4 => 4.0,
        Op::MuladdD2 => 0.5,
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// Appends the operations of an instruction that is several; `false` if it is none of these.
    pub(super) fn float_sequence(&mut self, slot: &Slot, result: IrRow) -> bool {
        let op = slot.inst.op();
        let output = Output::of(&slot.inst);
        let [first, second, third] = slot.sources;
        match op {
            Op::Mov if output.is_plain() => self.copy_bits(slot, result),
            Op::Mov => self.scaled_copy(slot, result, output),
            Op::Fract => {
                let floor = self.b.row_temp(1);
                let attrs = Attrs { src: slot.modifiers, fp: self.fp, ..Attrs::default() };
                self.push(IrOp::Float(FloatOp::Floor, F32), floor, &[first], attrs);
                let difference = IrOp::Float(FloatOp::Sub, F32);
                let src = [slot.modifiers[0], SrcMods::default(), SrcMods::default()];
                self.float(difference, result, &[first, floor.into()], src, output);
            }
            Op::MulLit => self.mul_lit(slot, result, output),
            _ => {
                let Some(factor) = factor(op) else { return false };
                let sum = IrOp::Float(FloatOp::MulAddLegacy, F32);
                self.float(sum, result, &[first, second, third], slot.modifiers, output.times(factor));
            }
        }
        true
    }

    /// MUL_LIT: the lowest number if source 1 is it, minus infinity or a NaN, or if source 2 is not
    /// above 0; else the product, in which zero times anything is zero.
    fn mul_lit(&mut self, slot: &Slot, result: IrRow, output: Output) {
        let lowest = Operand::Const(MAX | SIGN);
        let [_, factor, light] = slot.sources;
        let [first, second, third] = slot.modifiers;
        let product = self.b.row_temp(1);
        let attrs = |src: [SrcMods; 3]| Attrs { src, fp: self.fp, ..Attrs::default() };
        let (of_product, of_light) =
            (attrs([first, second, SrcMods::default()]), attrs([third, PLAIN[1], PLAIN[2]]));
        self.push(IrOp::Float(FloatOp::MulLegacy, F32), product, &slot.sources[..2], of_product);
        let select = IrOp::FloatSelect(CmpPred::Gt, F32);
        self.push(select, product, &[light, Operand::Const(0), product.into(), lowest], of_light);
        let src = [second, SrcMods::default(), SrcMods::default()];
        self.float(select, result, &[factor, lowest, product.into(), lowest], src, output);
    }
}
