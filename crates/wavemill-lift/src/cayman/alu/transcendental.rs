//! Powers, logarithms, reciprocals, roots and angles. The manual gives no error bound, so results
//! are rounded correctly.

use wavemill_ir::{Attrs, CmpPred, FloatOp, Op as IrOp, Operand, Row as IrRow, SrcMods};
use wavemill_isa::cayman::Op;

use super::Slot;
use super::operation::{F32, MAX, Output, PLAIN, SIGN, constant, keeping};
use crate::cayman::lifter::{Lifter, Refused, UNSUPPORTED};

/// What becomes of a result that is not a number in range.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Limit {
    /// It stays.
    None,
    /// An operation replaces infinities.
    Infinity(FloatOp),
    /// Minus infinity becomes the lowest number.
    Lowest,
    /// The result for angles of more than 256 turns.
    Angle(f32),
}

/// The function of an instruction, and the limit of its results.
pub(super) const fn of(op: Op) -> Option<(FloatOp, Limit)> {
    Some(match op {
        Op::ExpIeee => (FloatOp::Exp2, Limit::None),
        Op::LogIeee => (FloatOp::Log2, Limit::None),
        Op::LogClamped => (FloatOp::Log2, Limit::Lowest),
        Op::RecipIeee => (FloatOp::Rcp, Limit::None),
        Op::RecipClamped => (FloatOp::Rcp, Limit::Infinity(FloatOp::InfinityToMax)),
        Op::RecipFf => (FloatOp::Rcp, Limit::Infinity(FloatOp::InfinityToZero)),
        Op::RecipsqrtIeee => (FloatOp::Rsq, Limit::None),
        Op::RecipsqrtClamped => (FloatOp::Rsq, Limit::Infinity(FloatOp::InfinityToMax)),
        Op::RecipsqrtFf => (FloatOp::Rsq, Limit::Infinity(FloatOp::InfinityToZero)),
        Op::SqrtIeee => (FloatOp::Sqrt, Limit::None),
        Op::Sin => (FloatOp::Sin, Limit::Angle(0.0)),
        Op::Cos => (FloatOp::Cos, Limit::Angle(1.0)),
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    pub(super) fn transcendental(&mut self, slot: &Slot, result: IrRow) -> Result<(), Refused> {
        let (function, limit) = of(slot.inst.op()).ok_or(UNSUPPORTED)?;
        let output = Output::of(&slot.inst);
        let (source, function) = (&slot.sources[..1], IrOp::Float(function, F32));
        if limit == Limit::None {
            self.float(function, result, source, slot.modifiers, output);
            return Ok(());
        }
        let value = self.b.row_temp(1);
        let attrs = Attrs { src: slot.modifiers, fp: keeping(self.fp), ..Attrs::default() };
        self.push(function, value, source, attrs);
        let value = Operand::from(value);
        match limit {
            Limit::None => {}
            Limit::Infinity(replacement) => {
                self.float(IrOp::Float(replacement, F32), result, &[value], PLAIN, output);
            }
            Limit::Lowest => {
                let sources = [value, constant(f32::NEG_INFINITY), Operand::Const(MAX | SIGN), value];
                self.float(IrOp::FloatSelect(CmpPred::Eq, F32), result, &sources, PLAIN, output);
            }
            Limit::Angle(beyond) => {
                let size = SrcMods { abs: true, ..SrcMods::default() };
                let sources = [slot.sources[0], constant(256.0), constant(beyond), value];
                let src = [size, SrcMods::default(), SrcMods::default()];
                self.float(IrOp::FloatSelect(CmpPred::Gt, F32), result, &sources, src, output);
            }
        }
        Ok(())
    }
}
