//! Sums and extremes of four channels, and chains: results that go from channel to channel of a
//! group.

use wavemill_ir::{Attrs, FloatOp, IntOp, Op as IrOp, Operand, Row as IrRow, SrcMods};
use wavemill_isa::cayman::{FieldId as F, Op};

use super::Slot;
use super::joint::{Channels, Joint};
use super::operation::{F32, Output, PLAIN};
use crate::cayman::lifter::{ILLEGAL, Lifter, Refused, UNSUPPORTED};

/// The rules for the product of zero and anything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Zero {
    /// Zero.
    Wins,
    /// Those of IEEE 754.
    Ieee,
}

impl Zero {
    /// The rules of an instruction that multiplies.
    const fn of(op: Op) -> Option<Zero> {
        match op {
            Op::Mul | Op::Dot | Op::Dot4 | Op::MulPrev | Op::MuladdPrev => Some(Zero::Wins),
            Op::MulIeee | Op::DotIeee | Op::Dot4Ieee | Op::MulIeeePrev | Op::MuladdIeeePrev => {
                Some(Zero::Ieee)
            }
            _ => None,
        }
    }

    const fn select(self, wins: FloatOp, ieee: FloatOp) -> IrOp {
        IrOp::Float(
            match self {
                Zero::Wins => wins,
                Zero::Ieee => ieee,
            },
            F32,
        )
    }

    /// A product of a sum that is not rounded yet.
    const fn wide(self) -> IrOp {
        self.select(FloatOp::MulAddWideLegacy, FloatOp::MulAddWide)
    }

    /// The last product of such a sum.
    const fn narrow(self) -> IrOp {
        self.select(FloatOp::MulAddNarrowLegacy, FloatOp::MulAddNarrow)
    }
}

/// The sum of no products: it keeps the sign of a zero that is added.
const NOTHING: Operand = Operand::Const((-0.0f64).to_bits());

impl Lifter<'_, '_> {
    /// Adds the product of a slot to a sum that is not rounded.
    fn add_wide(&mut self, slot: &Slot, zero: Zero, sum: Operand) -> IrRow {
        let wider = self.b.row_temp(2);
        let [first, second, _] = slot.sources;
        let attrs = Attrs { src: slot.modifiers, fp: self.fp, ..Attrs::default() };
        self.push(zero.wide(), wider, &[first, second, sum], attrs);
        wider
    }

    /// Adds the last product to such a sum, and rounds it.
    fn add_narrow(&mut self, slot: &Slot, zero: Zero, sum: Operand) -> IrRow {
        let result = self.b.row_temp(1);
        let [first, second, _] = slot.sources;
        let output = Output::of(&slot.inst);
        self.float(zero.narrow(), result, &[first, second, sum], slot.modifiers, output);
        result
    }

    /// DOT4 and DOT4_IEEE: the products of W, Z, Y and X, added in this order and rounded at the
    /// end.
    pub(super) fn dot4(&mut self, slots: [&Slot; 4]) -> IrRow {
        let [x, y, z, w] = slots;
        let zero = Zero::of(x.inst.op()).unwrap_or(Zero::Ieee);
        let mut sum = NOTHING;
        for slot in [w, z, y] {
            sum = self.add_wide(slot, zero, sum).into();
        }
        self.add_narrow(x, zero, sum)
    }

    /// MAX4: the maximum of W and Z, then of that and Y, then X.
    pub(super) fn max4(&mut self, slots: [&Slot; 4]) -> IrRow {
        let [x, y, z, w] = slots;
        let result = self.b.row_temp(1);
        let maximum = IrOp::Float(FloatOp::MaxSelect, F32);
        let attrs = |src| Attrs { src, fp: self.fp, ..Attrs::default() };
        let (first, second) =
            ([w.modifiers[0], z.modifiers[0], PLAIN[2]], [PLAIN[0], y.modifiers[0], PLAIN[2]]);
        let (first, second) = (attrs(first), attrs(second));
        self.push(maximum, result, &[w.sources[0], z.sources[0]], first);
        self.push(maximum, result, &[result.into(), y.sources[0]], second);
        let src = [PLAIN[0], x.modifiers[0], PLAIN[2]];
        self.float(maximum, result, &[result.into(), x.sources[0]], src, Output::of(&x.inst));
        result
    }

    /// CUBE: the sources are `R.zzxy` and `R.yxzz`; the results are T, S, twice the major axis, and
    /// the number of the face.
    pub(super) fn cube(&mut self, slots: [&Slot; 4]) -> [Operand; 4] {
        let [in_x, _, in_z, in_w] = slots;
        // The components x, y and z.
        let components = [in_z, in_w, in_x];
        let sources = components.map(|slot| slot.sources[0]);
        let src = components.map(|slot| slot.modifiers[0]);
        let results = [FloatOp::CubeTc, FloatOp::CubeSc, FloatOp::CubeMa, FloatOp::CubeId];
        let output = Output::of(&in_x.inst);
        results.map(|function| {
            let result = self.b.row_temp(1);
            // "OMOD and CLAMP do not affect the Direct3D FaceID" (HD 6900 ISA 8.2).
            let output = if function == FloatOp::CubeId { Output::PLAIN } else { output };
            self.float(IrOp::Float(function, F32), result, &sources, src, output);
            result.into()
        })
    }

    /// The result of a slot that continues the result of another channel.
    pub(super) fn chained(
        &mut self,
        slot: &Slot,
        producer: usize,
        channels: &Channels<'_>,
        joint: &mut Joint,
    ) -> Result<Operand, Refused> {
        let op = slot.inst.op();
        let before = channels[producer].filter(|before| op.continues(before.inst.op())).ok_or(ILLEGAL)?;
        if let (Op::Dot | Op::DotIeee, Some(zero)) = (op, Zero::of(op)) {
            let sum = self.unrounded(before, producer, channels, joint)?;
            return Ok(self.add_narrow(slot, zero, sum.into()).into());
        }
        let previous = self.produced(before, producer, joint)?;
        let result = self.b.row_temp(1);
        let [first, second, _] = slot.sources;
        let count = match op {
            Op::BcntAccumPrevInt => Some((IntOp::CountOnes, [first, previous, Operand::None])),
            Op::Mbcnt32loAccumPrevInt => Some((IntOp::MaskCountLo, [first, previous, Operand::None])),
            Op::SadAccumPrevUint => Some((IntOp::SadU8, [first, second, previous])),
            _ => None,
        };
        if let Some((operation, sources)) = count {
            self.push(IrOp::Int(operation), result, &sources, Attrs::default());
            return Ok(result.into());
        }
        let [of_first, of_second, plain] = [slot.modifiers[0], slot.modifiers[1], SrcMods::default()];
        let (operation, sources, src) = match (op, Zero::of(op)) {
            (Op::AddPrev, _) => {
                let sum = IrOp::Float(FloatOp::Add, F32);
                (sum, [first, previous, Operand::None], [of_first, plain, plain])
            }
            // The page multiplies the second source.
            (Op::MulPrev | Op::MulIeeePrev, Some(zero)) => {
                let product = zero.select(FloatOp::MulLegacy, FloatOp::Mul);
                (product, [second, previous, Operand::None], [of_second, plain, plain])
            }
            (Op::MuladdPrev | Op::MuladdIeeePrev, Some(zero)) => {
                let sum = zero.select(FloatOp::MulAddLegacy, FloatOp::MulAdd);
                (sum, [first, second, previous], [of_first, of_second, plain])
            }
            _ => return Err(UNSUPPORTED),
        };
        self.float(operation, result, &sources, src, Output::of(&slot.inst));
        Ok(result.into())
    }

    /// The sum up to a channel before it is rounded.
    fn unrounded(
        &mut self,
        slot: &Slot,
        channel: usize,
        channels: &Channels<'_>,
        joint: &mut Joint,
    ) -> Result<IrRow, Refused> {
        if let Some(sum) = joint.unrounded[channel] {
            return Ok(sum);
        }
        let op = slot.inst.op();
        let sum = match op.row().chain.and_then(|chain| chain.producer(channel as u8)) {
            Some(producer) => {
                let before = channels[usize::from(producer)].filter(|before| op.continues(before.inst.op()));
                self.unrounded(before.ok_or(ILLEGAL)?, producer.into(), channels, joint)?.into()
            }
            None => NOTHING,
        };
        let sum = self.add_wide(slot, Zero::of(op).ok_or(ILLEGAL)?, sum);
        joint.unrounded[channel] = Some(sum);
        Ok(sum)
    }

    /// The result of a channel for the channel that continues it: without output modifiers.
    fn produced(&mut self, slot: &Slot, channel: usize, joint: &mut Joint) -> Result<Operand, Refused> {
        let is_plain = Output::of(&slot.inst).is_plain();
        if let (true, Some(result)) = (is_plain, joint.results[channel]) {
            return Ok(result);
        }
        let result = self.b.row_temp(1);
        if is_plain {
            joint.masks[channel] = self.operation(slot, result)?;
            joint.results[channel] = Some(result.into());
        } else {
            let mut plain = slot.clone();
            for field in [F::Omod, F::Clamp] {
                plain.inst = plain.inst.with(field, 0).unwrap_or(plain.inst);
            }
            self.operation(&plain, result)?;
        }
        Ok(result.into())
    }
}
