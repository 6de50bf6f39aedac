//! Conversions between floats and integers, and between floats of different widths.

use wavemill_ir::{Attrs, CvtOp, DstUnused, FloatOp, FpEnv, Op as IrOp, Round, Row as IrRow, SubDword};
use wavemill_isa::cayman::Op;

use super::Slot;
use super::operation::{F32, Output, PLAIN};
use crate::cayman::lifter::Lifter;

/// The bytes of a packed result, from the lowest on.
const BYTES: [SubDword; 4] = [SubDword::Byte0, SubDword::Byte1, SubDword::Byte2, SubDword::Byte3];

/// The conversion of an instruction that is one.
pub(super) const fn of(op: Op) -> Option<CvtOp> {
    Some(match op {
        // Rounded as the mode says: VLIW4 has no slot that truncates.
        Op::FltToInt => CvtOp::I32F32,
        Op::FltToUint => CvtOp::U32F32,
        Op::IntToFlt => CvtOp::F32I32,
        Op::UintToFlt => CvtOp::F32U32,
        Op::Ubyte0Flt => CvtOp::F32Ubyte0,
        Op::Ubyte1Flt => CvtOp::F32Ubyte1,
        Op::Ubyte2Flt => CvtOp::F32Ubyte2,
        Op::Ubyte3Flt => CvtOp::F32Ubyte3,
        Op::OffsetToFlt => CvtOp::OffF32I4,
        _ => return None,
    })
}

impl Lifter<'_, '_> {
    /// Appends the operations of a conversion that is several or that has a mode of its own;
    /// `false` if it is none of these.
    pub(super) fn convert_sequence(&mut self, slot: &Slot, result: IrRow) -> bool {
        let first = slot.sources[0];
        // Denormals of f16 are accepted and made whatever the mode says.
        let halves = FpEnv { denorm_out: true, ..self.fp };
        let attrs = |src, fp| Attrs { src, fp, ..Attrs::default() };
        match slot.inst.op() {
            Op::Flt32ToFlt16 => {
                self.push(IrOp::Cvt(CvtOp::F16F32), result, &[first], attrs(slot.modifiers, halves));
            }
            Op::Flt32ToFlt16Rtz => {
                let truncating = FpEnv { round: Round::Zero, ..halves };
                self.push(IrOp::Cvt(CvtOp::F16F32), result, &[first], attrs(slot.modifiers, truncating));
            }
            Op::Flt16ToFlt32 => {
                let output = Output::of(&slot.inst);
                let halves = FpEnv { denorm_in: true, ..self.fp };
                let attrs = Attrs { clamp: output.clamp && output.factor == 1.0, ..attrs(PLAIN, halves) };
                self.push(IrOp::Cvt(CvtOp::F32F16), result, &[first], attrs);
                if output.factor != 1.0 {
                    self.scale(result, result.into(), output);
                }
            }
            // NaNs saturate by their sign.
            Op::FltToIntFloor => self.saturating(slot, CvtOp::FlrI32F32, result),
            Op::FltToIntRpi => self.saturating(slot, CvtOp::RpiI32F32, result),
            _ => return false,
        }
        true
    }

    fn saturating(&mut self, slot: &Slot, op: CvtOp, result: IrRow) {
        let number = self.b.row_temp(1);
        let attrs = Attrs { src: slot.modifiers, fp: self.fp, ..Attrs::default() };
        self.push(IrOp::Float(FloatOp::NanToInfinity, F32), number, &slot.sources[..1], attrs);
        self.push(IrOp::Cvt(op), result, &[number.into()], Attrs { src: PLAIN, ..attrs });
    }

    /// FLT_TO_UINT4: the low bytes of the four converted sources, from X on.
    pub(super) fn pack_bytes(&mut self, slots: [&Slot; 4]) -> IrRow {
        let packed = self.b.row_temp(1);
        for (channel, slot) in slots.into_iter().enumerate() {
            let dst_unused = if channel == 0 { DstUnused::Pad } else { DstUnused::Preserve };
            let attrs = Attrs {
                src: slot.modifiers,
                fp: self.fp,
                dst_sel: BYTES[channel],
                dst_unused,
                ..Attrs::default()
            };
            self.push(IrOp::Cvt(CvtOp::U32F32), packed, &slot.sources[..1], attrs);
        }
        packed
    }
}
