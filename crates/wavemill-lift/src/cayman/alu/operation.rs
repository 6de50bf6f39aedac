//! The meaning of the operations of ALU slots (HD 6900 ISA 8.2).

use wavemill_ir::{
    Attrs, CmpPred, FloatOp, FloatType, IntOp, IntType, Op as IrOp, Operand, Row as IrRow, SrcMods, Uni,
};
use wavemill_isa::cayman::{FieldId as F, Op};

use super::Slot;
use crate::cayman::lifter::{Lifter, Refused, UNSUPPORTED};

const F32: FloatType = FloatType::F32;
const SIGN: u64 = 0x8000_0000;
const ONE: u64 = 0x3f80_0000;
/// Factors of OMOD: 1, 2, 4, and 1/2 (HD 6900 ISA 9.2).
const FACTORS: [u64; 4] = [ONE, 0x4000_0000, 0x4080_0000, 0x3f00_0000];

/// The comparison of an instruction that computes a predicate of integers.
fn predicate(op: Op) -> Option<IrOp> {
    let (relation, ty) = match op {
        Op::PredSeteInt => (CmpPred::Eq, IntType::I32),
        Op::PredSetgtInt => (CmpPred::Gt, IntType::I32),
        Op::PredSetgeInt => (CmpPred::Ge, IntType::I32),
        Op::PredSetneInt => (CmpPred::Lg, IntType::I32),
        Op::PredSetgtUint => (CmpPred::Gt, IntType::U32),
        Op::PredSetgeUint => (CmpPred::Ge, IntType::U32),
        _ => return None,
    };
    Some(IrOp::IntSelect(relation, ty))
}

impl Lifter<'_, '_> {
    /// Computes the result of a slot. `result` is written after all sources are read.
    ///
    /// Gives the mask that the instruction makes: the lanes in which a predicate holds, or that it
    /// kills.
    pub(in crate::cayman) fn operation(&mut self, slot: &Slot, result: IrRow) -> Result<Option<Uni>, Refused> {
        let inst = &slot.inst;
        if let Some(relation) = predicate(inst.op()) {
            let mask = self.b.uni_temp(2);
            let [first, second, _] = slot.sources;
            let sources = [first, second, Operand::Const(0), Operand::Const(ONE)];
            self.b.push(relation, [result.into(), mask.into()], sources, Attrs::default());
            return Ok(Some(mask));
        }
        let factor = FACTORS[inst.get(F::Omod) as usize & 3];
        let clamp = inst.bit(F::Clamp);
        let last = Attrs { clamp, fp: self.fp, ..Attrs::default() };
        // The output modifier scales the rounded result.
        let plain = Attrs { clamp: clamp && factor == ONE, ..last };
        let attrs = Attrs { src: slot.modifiers, ..plain };
        let [first, second, third] = slot.sources;
        match inst.op() {
            Op::Mov if factor == ONE && !clamp => self.copy_bits(slot, result),
            Op::Mov => {
                let scale = Attrs { src: slot.modifiers, ..last };
                self.push(IrOp::Float(FloatOp::Mul, F32), result, &[first, Operand::Const(factor)], scale);
                return Ok(None);
            }
            Op::Add => self.push(IrOp::Float(FloatOp::Add, F32), result, &[first, second], attrs),
            Op::AddInt => self.push(IrOp::Int(IntOp::Add), result, &[first, second], Attrs::default()),
            Op::MuladdIeee => {
                // "Gives same results as ADD after MUL_IEEE" (HD 6900 ISA 8.2).
                let product = self.b.row_temp(1);
                let [a, b, c] = slot.modifiers;
                let multiply = Attrs { src: [a, b, SrcMods::default()], fp: self.fp, ..Attrs::default() };
                self.push(IrOp::Float(FloatOp::Mul, F32), product, &[first, second], multiply);
                let add = Attrs { src: [SrcMods::default(), c, SrcMods::default()], ..plain };
                self.push(IrOp::Float(FloatOp::Add, F32), result, &[product.into(), third], add);
            }
            _ => return Err(UNSUPPORTED),
        }
        if factor != ONE {
            // The IR's own output modifier depends on the mode of denormals, as the one of GCN
            // does.
            let sources = [result.into(), Operand::Const(factor)];
            self.push(IrOp::Float(FloatOp::Mul, F32), result, &sources, last);
        }
        Ok(None)
    }

    /// A copy, with the sign that the modifiers select.
    fn copy_bits(&mut self, slot: &Slot, result: IrRow) {
        let (source, modifiers) = (slot.sources[0], slot.modifiers[0]);
        let (op, bits) = match (modifiers.abs, modifiers.neg) {
            (false, false) => return self.copy(result, source),
            (true, false) => (IntOp::And, SIGN - 1),
            (false, true) => (IntOp::Xor, SIGN),
            (true, true) => (IntOp::Or, SIGN),
        };
        self.push(IrOp::Int(op), result, &[source, Operand::Const(bits)], Attrs::default());
    }
}
