//! The operation of a slot: its family computes the result, and output modifiers finish it.

use wavemill_ir::{Attrs, FloatOp, FloatType, FpEnv, IntOp, Op as IrOp, Operand, Row as IrRow, SrcMods, Uni};
use wavemill_isa::cayman::{FieldId as F, Inst, Op};

use super::{Slot, compare, convert, float, integer, transcendental};
use crate::cayman::lifter::{Lifter, Refused, UNSUPPORTED};

pub(super) const F32: FloatType = FloatType::F32;
pub(super) const SIGN: u64 = 0x8000_0000;
pub(super) const ONE: u64 = 0x3f80_0000;
/// The largest number.
pub(super) const MAX: u64 = 0x7f7f_ffff;
/// Sources without modifiers.
pub(super) const PLAIN: [SrcMods; 3] = [SrcMods { abs: false, neg: false, ..NO_MODIFIERS }; 3];
const NO_MODIFIERS: SrcMods = SrcMods {
    abs: false,
    neg: false,
    neg_hi: false,
    sext: false,
    sel: wavemill_ir::SubDword::Dword,
    hi_sel: false,
};
/// Factors of OMOD: 1, 2, 4, and 1/2 (HD 6900 ISA 9.2).
const FACTORS: [f32; 4] = [1.0, 2.0, 4.0, 0.5];

/// The output modifiers of a slot: OMOD scales the rounded result, then CLAMP brings it into \[0,
/// 1\] (HD 6900 ISA 4.9.1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Output {
    pub(super) factor: f32,
    pub(super) clamp: bool,
}

impl Output {
    /// The result stays as it is.
    pub(super) const PLAIN: Output = Output { factor: 1.0, clamp: false };

    pub(super) fn of(inst: &Inst) -> Output {
        Output { factor: FACTORS[inst.get(F::Omod) as usize & 3], clamp: inst.bit(F::Clamp) }
    }

    /// Whether the result stays as it is.
    pub(super) fn is_plain(self) -> bool {
        self.factor == 1.0 && !self.clamp
    }

    /// The same, of an instruction that scales its result itself.
    pub(super) fn times(self, factor: f32) -> Output {
        Output { factor: self.factor * factor, ..self }
    }
}

impl Lifter<'_, '_> {
    /// Computes the result of a slot that no other slot takes part in. `result` is written after
    /// all sources are read.
    ///
    /// Gives the mask that the instruction makes: the lanes in which a predicate holds, or that it
    /// kills. It has one if it updates the predicate or the active lanes, or kills.
    pub(in crate::cayman) fn operation(
        &mut self,
        slot: &Slot,
        result: IrRow,
    ) -> Result<Option<Uni>, Refused> {
        let op = slot.inst.op();
        if let Some(comparison) = compare::of(op) {
            return Ok(self.comparison(slot, comparison, result));
        }
        if let Some(operation) = integer::of(op) {
            self.push(IrOp::Int(operation), result, &slot.sources, Attrs::default());
        } else if let Some(operation) = float::of(op) {
            let output = Output::of(&slot.inst);
            self.float(IrOp::Float(operation, F32), result, &slot.sources, slot.modifiers, output);
        } else if let Some(operation) = convert::of(op) {
            let output = Output::of(&slot.inst);
            self.float(IrOp::Cvt(operation), result, &slot.sources, slot.modifiers, output);
        } else if transcendental::of(op).is_some() {
            self.transcendental(slot, result)?;
        } else if self.load_parameter(slot, result)? {
            // It has no mask.
        } else if op == Op::Nop {
            // The manual leaves PV undefined: it keeps its value.
        } else if !(self.integer_sequence(slot, result)
            || self.float_sequence(slot, result)
            || self.convert_sequence(slot, result))
        {
            return self.predicate_counter(slot, result).ok_or(UNSUPPORTED);
        }
        Ok(None)
    }

    /// Appends an operation with an f32 result, and its output modifiers.
    pub(super) fn float(
        &mut self,
        op: IrOp,
        result: IrRow,
        sources: &[Operand],
        src: [SrcMods; 3],
        output: Output,
    ) {
        let clamps =
            output.factor == 1.0 && matches!(op, IrOp::Float(..) | IrOp::FloatSelect(..) | IrOp::Cvt(_));
        let attrs = Attrs { src, clamp: output.clamp && clamps, fp: self.fp, ..Attrs::default() };
        self.push(op, result, sources, attrs);
        if !output.is_plain() && !clamps {
            self.scale(result, result.into(), output);
        }
    }

    /// `result` = a result times the factor, clamped if the slot says so. The factor is a part of the
    /// output (HD 6900 ISA 4.9.1), so a denormal is not flushed as a source on its way. The IR's own
    /// output modifier depends on the mode of denormals, as the one of GCN does.
    pub(super) fn scale(&mut self, result: IrRow, source: Operand, output: Output) {
        let attrs = Attrs { fp: output_mode(self.fp), ..Attrs::default() };
        self.product(result, source, output, attrs);
    }

    /// MOV with output modifiers: a product, whose source is one of the instruction.
    pub(super) fn scaled_copy(&mut self, slot: &Slot, result: IrRow, output: Output) {
        let src = [slot.modifiers[0], SrcMods::default(), SrcMods::default()];
        let attrs = Attrs { src, fp: self.fp, ..Attrs::default() };
        self.product(result, slot.sources[0], output, attrs);
    }

    fn product(&mut self, result: IrRow, source: Operand, output: Output, attrs: Attrs) {
        let sources = [source, constant(output.factor)];
        let attrs = Attrs { clamp: output.clamp, ..attrs };
        self.push(IrOp::Float(FloatOp::Mul, F32), result, &sources, attrs);
    }

    /// A source with its modifiers applied, without any other change of its bits.
    pub(super) fn modified(&mut self, slot: &Slot, index: usize) -> Operand {
        let (source, modifiers) = (slot.sources[index], slot.modifiers[index]);
        let Some((op, bits)) = sign_change(modifiers) else { return source };
        let row = self.b.row_temp(1);
        self.push(IrOp::Int(op), row, &[source, Operand::Const(bits)], Attrs::default());
        row.into()
    }

    /// The source of a slot that copies its bits; `None` if it computes a result.
    pub(in crate::cayman) fn copied(&self, slot: &Slot) -> Option<Operand> {
        let is_plain = slot.inst.op() == Op::Mov && Output::of(&slot.inst).is_plain();
        (is_plain && sign_change(slot.modifiers[0]).is_none()).then_some(slot.sources[0])
    }

    /// MOV without output modifiers: a copy, with the sign that the modifiers select.
    pub(super) fn copy_bits(&mut self, slot: &Slot, result: IrRow) {
        let source = slot.sources[0];
        match sign_change(slot.modifiers[0]) {
            None => self.copy(result, source),
            Some((op, bits)) => {
                self.push(IrOp::Int(op), result, &[source, Operand::Const(bits)], Attrs::default());
            }
        }
    }
}

/// The mode of an output modifier: its own source is a result, which the mode of results has been
/// applied to.
pub(super) fn output_mode(mode: FpEnv) -> FpEnv {
    FpEnv { denorm_in: true, ..mode }
}

/// The mode of angles and of functions of doubles: denormals stay numbers (facet
/// `function_values`).
pub(super) fn keeping(mode: FpEnv) -> FpEnv {
    FpEnv { denorm_in: true, denorm_out: true, ..mode }
}

/// The operation with a constant that changes the sign of an f32 as modifiers say; `None` if it
/// stays.
pub(super) fn sign_change(modifiers: SrcMods) -> Option<(IntOp, u64)> {
    match (modifiers.abs, modifiers.neg) {
        (false, false) => None,
        (true, false) => Some((IntOp::And, SIGN - 1)),
        (false, true) => Some((IntOp::Xor, SIGN)),
        (true, true) => Some((IntOp::Or, SIGN)),
    }
}

/// An f32.
pub(super) fn constant(value: f32) -> Operand {
    Operand::Const(value.to_bits().into())
}
