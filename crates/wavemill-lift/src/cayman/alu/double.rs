//! Doubles. A pair of slots has the high dwords of the sources in its first slot and the low dwords
//! in its second; of the result, it is the other way round. Modifiers count in the first slot (HD
//! 6900 ISA 8.2, ADD_64).

use wavemill_ir::{
    Attrs, CmpPred, CvtOp, FloatOp, FloatType, FpEnv, IntOp, IntType, Op as IrOp, Operand, Round,
    Row as IrRow, SrcMods, Uni,
};
use wavemill_isa::cayman::Op;

use super::Slot;
use super::operation::{F32, Output, PLAIN, SIGN, keeping, output_mode, sign_change};
use crate::cayman::lifter::{Lifter, Refused, UNSUPPORTED};

const F64: FloatType = FloatType::F64;
/// The exponent of infinities and NaNs in the high dword.
const EXPONENT: Operand = Operand::Const(0x7ff0_0000);
/// The NaN of an operation without a result.
const NAN: Operand = Operand::Const(0xfff8 << 48);

/// The operation of an instruction that is one.
const fn of(op: Op) -> Option<FloatOp> {
    Some(match op {
        Op::Add64 => FloatOp::Add,
        Op::Mul64 | Op::Mul64R700 => FloatOp::Mul,
        Op::Fma64 => FloatOp::Fma,
        Op::Fract64 => FloatOp::Fract,
        _ => return None,
    })
}

/// The comparison of an instruction, and its results where it holds and where not.
const fn comparison(op: Op) -> Option<(CmpPred, [Operand; 2])> {
    const ZERO: Operand = Operand::Const(0);
    const ONES: Operand = Operand::Const(u64::MAX);
    Some(match op {
        // The text of the page says greater or equal; its name and table 8.8 say equal.
        Op::Sete64 => (CmpPred::Eq, [ONES, ZERO]),
        Op::Setne64 => (CmpPred::Neq, [ONES, ZERO]),
        Op::Setgt64 => (CmpPred::Gt, [ONES, ZERO]),
        Op::Setge64 => (CmpPred::Ge, [ONES, ZERO]),
        Op::PredSete64 => (CmpPred::Eq, [ZERO, ONES]),
        Op::PredSetgt64 => (CmpPred::Gt, [ZERO, ONES]),
        Op::PredSetge64 => (CmpPred::Ge, [ZERO, ONES]),
        _ => return None,
    })
}

/// The function of an instruction that every slot repeats, and what replaces its infinities.
pub(super) const fn function(op: Op) -> Option<(FloatOp, Option<FloatOp>)> {
    Some(match op {
        Op::Recip64 => (FloatOp::Rcp, None),
        Op::RecipClamped64 => (FloatOp::Rcp, Some(FloatOp::InfinityToMax)),
        Op::Recipsqrt64 => (FloatOp::Rsq, None),
        Op::RecipsqrtClamped64 => (FloatOp::Rsq, Some(FloatOp::InfinityToMax)),
        Op::Sqrt64 => (FloatOp::Sqrt, None),
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// The mode of doubles.
    fn double_mode(&self) -> FpEnv {
        // The tables of 8.2 treat denormals as zeros, which SET_MODE can change.
        self.fp64
    }

    /// A double of two dwords; a source that is missing stays so.
    fn wide(&mut self, low: Operand, high: Operand) -> Operand {
        match (low, high) {
            (Operand::None, _) | (_, Operand::None) => Operand::None,
            (Operand::Const(low), Operand::Const(high)) => Operand::Const(low & 0xffff_ffff | high << 32),
            (Operand::Row(low), Operand::Row(high)) if low.plus(1) == high => low.into(),
            _ => self.new_wide(low, high).into(),
        }
    }

    /// A copy of two dwords.
    fn new_wide(&mut self, low: Operand, high: Operand) -> IrRow {
        let wide = self.b.row_temp(2);
        self.copy(wide, low);
        self.copy(wide.plus(1), high);
        wide
    }

    /// A source of two slots, with its sign as the modifiers of the first one say.
    fn modified_wide(&mut self, high: &Slot, low: &Slot, index: usize) -> Operand {
        let Some((op, bits)) = sign_change(high.modifiers[index]) else {
            return self.wide(low.sources[index], high.sources[index]);
        };
        let wide = self.new_wide(low.sources[index], high.sources[index]);
        let sources = [wide.plus(1).into(), Operand::Const(bits)];
        self.push(IrOp::Int(op), wide.plus(1), &sources, Attrs::default());
        wide.into()
    }

    /// Appends an operation with an f64 result, and its output modifiers.
    fn double(&mut self, op: IrOp, sources: &[Operand], src: [SrcMods; 3], output: Output) -> IrRow {
        self.double_in(self.double_mode(), op, sources, src, output)
    }

    /// [`Lifter::double`] of an operation with a mode of its own.
    fn double_in(
        &mut self,
        fp: FpEnv,
        op: IrOp,
        sources: &[Operand],
        src: [SrcMods; 3],
        output: Output,
    ) -> IrRow {
        let result = self.b.row_temp(2);
        let clamp = output.clamp && output.factor == 1.0;
        self.push(op, result, sources, Attrs { src, clamp, fp, ..Attrs::default() });
        if output.factor != 1.0 {
            let factor = Operand::Const(f64::from(output.factor).to_bits());
            let fp = output_mode(self.double_mode());
            let attrs = Attrs { clamp: output.clamp, fp, ..Attrs::default() };
            self.push(IrOp::Float(FloatOp::Mul, F64), result, &[result.into(), factor], attrs);
        }
        result
    }

    /// An instruction of two slots: its results, and its mask as [`Lifter::operation`] gives it.
    pub(super) fn double_pair(
        &mut self,
        high: &Slot,
        low: &Slot,
    ) -> Result<([Operand; 2], Option<Uni>), Refused> {
        let op = high.inst.op();
        let src = high.modifiers;
        let output = Output::of(&high.inst);
        let [first, second] = [0, 1].map(|n| self.wide(low.sources[n], high.sources[n]));
        let mut mask = None;
        let result = match op {
            Op::Min64 | Op::Max64 => self.double_extreme(op, [first, second], src, output),
            // "dst = 0x0" of zeros, although the difference of zeros has a sign if it is rounded down.
            Op::Fract64 if self.double_mode().round == Round::MinusInf => {
                let fraction = self.double(IrOp::Float(FloatOp::Fract, F64), &[first], src, Output::PLAIN);
                let sources = [first, Operand::Const(0), Operand::Const(0), fraction.into()];
                self.double(
                    IrOp::FloatSelect(CmpPred::Eq, F64),
                    &sources,
                    [src[0], PLAIN[0], PLAIN[0]],
                    output,
                )
            }
            // The exponent is an integer in the first slot.
            Op::Ldexp64 => {
                let sources = [first, high.sources[1]];
                self.double(IrOp::Float(FloatOp::Ldexp, F64), &sources, src, output)
            }
            Op::Cndne64 => {
                let otherwise = self.modified_wide(high, low, 2);
                let sources = [first, Operand::Const(0), second, otherwise];
                let src = [src[0], SrcMods::default(), src[1]];
                self.double(IrOp::FloatSelect(CmpPred::Neq, F64), &sources, src, output)
            }
            Op::Flt32ToFlt64 | Op::Flt32ToFlt64R700 => self.widen(high, output),
            Op::Flt64ToFlt32 | Op::Flt64ToFlt32R700 => {
                let narrow = self.narrow(high, low, output);
                return Ok(([narrow.into(), Operand::Const(0)], None));
            }
            _ => {
                if let Some(operation) = of(op) {
                    self.double(IrOp::Float(operation, F64), &[first, second], src, output)
                } else if let Some((relation, [yes, no])) = comparison(op) {
                    mask = self.new_mask(high);
                    let result = self.b.row_temp(2);
                    let attrs = Attrs { src, fp: self.double_mode(), ..Attrs::default() };
                    let dst = [result.into(), mask.map_or(Operand::None, Operand::from)];
                    self.b.push(IrOp::FloatSelect(relation, F64), dst, [first, second, yes, no], attrs);
                    result
                } else {
                    return Err(UNSUPPORTED);
                }
            }
        };
        Ok(([result.into(), result.plus(1).into()], mask))
    }

    /// MAX_64 and MIN_64: -0 is below +0, and the second source wins if one is a NaN, as in the
    /// comparisons of MAX and MIN.
    fn double_extreme(&mut self, op: Op, sources: [Operand; 2], src: [SrcMods; 3], output: Output) -> IrRow {
        let operation = if op == Op::Max64 { FloatOp::Max } else { FloatOp::Min };
        let [first, second] = sources;
        let extreme = self.b.row_temp(2);
        let attrs = Attrs { src, fp: FpEnv { ieee: false, ..self.double_mode() }, ..Attrs::default() };
        self.push(IrOp::Float(operation, F64), extreme, &sources, attrs);
        // A denormal beside a NaN is a zero, too, if the mode says so (HD 6900 ISA 4.13.1).
        let mode = self.double_mode();
        let (otherwise, of_otherwise) = match mode.denorm_in && mode.denorm_out {
            true => (second, src[1]),
            false => {
                let flushed = self.b.row_temp(2);
                let attrs = Attrs { src: [src[1], src[1], PLAIN[2]], ..attrs };
                self.push(IrOp::Float(operation, F64), flushed, &[second, second], attrs);
                (flushed.into(), PLAIN[1])
            }
        };
        let sources = [first, second, otherwise, extreme.into()];
        let src = [src[0], src[1], of_otherwise];
        self.double(IrOp::FloatSelect(CmpPred::Unordered, F64), &sources, src, output)
    }

    /// FLT32_TO_FLT64. A NaN keeps all its bits, and denormals become zeros.
    fn widen(&mut self, slot: &Slot, output: Output) -> IrRow {
        let source = self.modified(slot, 0);
        let fp = FpEnv { denorm_in: false, ..self.fp };
        let attrs = Attrs { fp, ..Attrs::default() };
        let wide = self.b.row_temp(2);
        self.push(IrOp::Cvt(CvtOp::F64F32), wide, &[source], attrs);
        let nan = self.b.row_temp(1);
        self.push(IrOp::Int(IntOp::Sar), nan, &[source, Operand::Const(3)], Attrs::default());
        self.push(IrOp::Int(IntOp::Or), nan, &[nan.into(), Operand::Const(0x7000_0000)], Attrs::default());
        let high = wide.plus(1);
        let sources = [source, source, nan.into(), high.into()];
        self.push(IrOp::FloatSelect(CmpPred::Unordered, F32), high, &sources, attrs);
        if output.is_plain() {
            return wide;
        }
        let factor = Operand::Const(f64::from(output.factor).to_bits());
        self.double(
            IrOp::Float(FloatOp::Mul, F64),
            &[wide.into(), factor],
            PLAIN,
            Output { factor: 1.0, ..output },
        )
    }

    /// FLT64_TO_FLT32. A NaN becomes the quiet one of its sign, and denormals become zeros.
    fn narrow(&mut self, high: &Slot, low: &Slot, output: Output) -> IrRow {
        let source = self.modified_wide(high, low, 0);
        let fp = FpEnv { denorm_in: false, ..self.fp };
        let attrs = Attrs { fp, ..Attrs::default() };
        let narrow = self.b.row_temp(1);
        self.push(IrOp::Cvt(CvtOp::F32F64), narrow, &[source], attrs);
        let nan = self.b.row_temp(1);
        let sources = [source.dword(1), Operand::Const(SIGN), Operand::Const(0x7fc0_0000)];
        self.push(IrOp::Int(IntOp::AndOr), nan, &sources, Attrs::default());
        // A NaN that is converted stays one.
        let sources = [narrow.into(), narrow.into(), nan.into(), narrow.into()];
        let result = self.b.row_temp(1);
        self.float(IrOp::FloatSelect(CmpPred::Unordered, F32), result, &sources, PLAIN, output);
        result
    }

    /// MUL_64 and FMA_64: the first three slots have the high dwords, the last one the low dwords.
    /// Both pairs have the result.
    pub(super) fn double_product(&mut self, slots: [&Slot; 4]) -> [Operand; 4] {
        let [high, _, _, low] = slots;
        let sources = [0, 1, 2].map(|n| self.wide(low.sources[n], high.sources[n]));
        let output = Output::of(&high.inst);
        let operation = of(high.inst.op()).unwrap_or(FloatOp::Fma);
        let result = self.double(IrOp::Float(operation, F64), &sources, high.modifiers, output);
        let dwords = [result.into(), result.plus(1).into()];
        [dwords[0], dwords[1], dwords[0], dwords[1]]
    }

    /// FREXP_64: nothing in X, the exponent in Y, the fraction in Z and W. The exponent of
    /// infinities and NaNs is -1, and the fraction of infinities is a NaN.
    pub(super) fn double_parts(&mut self, slots: [&Slot; 4]) -> Result<[Operand; 4], Refused> {
        let [high, low, _, _] = slots;
        if slots.iter().any(|slot| !Output::of(&slot.inst).is_plain()) {
            return Err(UNSUPPORTED);
        }
        let source = self.modified_wide(high, low, 0);
        let plain = Attrs { fp: self.double_mode(), ..Attrs::default() };
        let size = SrcMods { abs: true, ..SrcMods::default() };
        let of_size = Attrs { src: [size, SrcMods::default(), SrcMods::default()], ..plain };
        let (exponent, fraction) = (self.b.row_temp(1), self.b.row_temp(2));
        self.push(IrOp::Float(FloatOp::FrexpMant, F64), fraction, &[source], plain);
        let infinity = Operand::Const(f64::INFINITY.to_bits());
        let sources = [source, infinity, NAN, fraction.into()];
        self.push(IrOp::FloatSelect(CmpPred::Eq, F64), fraction, &sources, of_size);
        self.push(IrOp::Float(FloatOp::FrexpExp, F64), exponent, &[source], plain);
        let bits = self.b.row_temp(1);
        self.push(IrOp::Int(IntOp::And), bits, &[source.dword(1), EXPONENT], Attrs::default());
        let special = IrOp::IntSelect(CmpPred::Eq, IntType::U32);
        let sources = [bits.into(), EXPONENT, Operand::Const(u32::MAX.into()), exponent.into()];
        self.push(special, exponent, &sources, Attrs::default());
        Ok([Operand::Const(0), exponent.into(), fraction.into(), fraction.plus(1).into()])
    }

    /// The high dword of a function of a double that one slot has: source 0 is its high dword,
    /// source 1 its low one. The manual assumes that the low dword of the result is 0.
    pub(super) fn double_function(&mut self, slot: &Slot, function: (FloatOp, Option<FloatOp>)) -> IrRow {
        let [high, low, _] = slot.sources;
        let source = self.wide(low, high);
        let output = Output::of(&slot.inst);
        let (function, limit) = function;
        let src = [slot.modifiers[0], SrcMods::default(), SrcMods::default()];
        let result = match limit {
            None => self.double_in(keeping(self.fp64), IrOp::Float(function, F64), &[source], src, output),
            Some(limit) => {
                let function = IrOp::Float(function, F64);
                let value = self.double_in(keeping(self.fp64), function, &[source], src, Output::PLAIN);
                self.double(IrOp::Float(limit, F64), &[value.into()], PLAIN, output)
            }
        };
        result.plus(1)
    }
}
