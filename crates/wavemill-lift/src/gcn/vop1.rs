//! VOP1 instructions: one source (Vega ISA 12.8).

use wavemill_ir::{CvtOp as C, FloatOp as F, IntOp as I, LaneOp as L};
use wavemill_isa::gcn::{Inst, Op as O};

use super::lifter::{Lifted, Lifter};

impl Lifter {
    pub(super) fn vop1(&mut self, inst: &Inst) -> Lifted {
        if inst.op() == O::VNop {
            return Lifted::Next;
        }
        let Some(v) = self.valu(inst) else { return Lifted::Unsupported };
        let ready = match inst.op() {
            O::VMovB32 | O::VAccvgprMovB32 => v.int(I::Mov),
            O::VReadfirstlaneB32 => v.lane(L::ReadFirstLane),
            O::VCvtI32F64 => v.cvt(C::I32F64),
            O::VCvtF64I32 => v.cvt(C::F64I32),
            O::VCvtF32I32 => v.cvt(C::F32I32),
            O::VCvtF32U32 => v.cvt(C::F32U32),
            O::VCvtU32F32 => v.cvt(C::U32F32),
            O::VCvtI32F32 => v.cvt(C::I32F32),
            O::VCvtF16F32 => v.cvt(C::F16F32),
            O::VCvtF32F16 => v.cvt(C::F32F16),
            O::VCvtRpiI32F32 => v.cvt(C::RpiI32F32),
            O::VCvtFlrI32F32 => v.cvt(C::FlrI32F32),
            O::VCvtOffF32I4 => v.cvt(C::OffF32I4),
            O::VCvtF32F64 => v.cvt(C::F32F64),
            O::VCvtF64F32 => v.cvt(C::F64F32),
            O::VCvtF32Ubyte0 => v.cvt(C::F32Ubyte0),
            O::VCvtF32Ubyte1 => v.cvt(C::F32Ubyte1),
            O::VCvtF32Ubyte2 => v.cvt(C::F32Ubyte2),
            O::VCvtF32Ubyte3 => v.cvt(C::F32Ubyte3),
            O::VCvtU32F64 => v.cvt(C::U32F64),
            O::VCvtF64U32 => v.cvt(C::F64U32),
            O::VTruncF64 | O::VTruncF32 | O::VTruncF16 => v.float(F::Trunc),
            O::VCeilF64 | O::VCeilF32 | O::VCeilF16 => v.float(F::Ceil),
            O::VRndneF64 | O::VRndneF32 | O::VRndneF16 => v.float(F::RoundEven),
            O::VFloorF64 | O::VFloorF32 | O::VFloorF16 => v.float(F::Floor),
            O::VFractF64 | O::VFractF32 | O::VFractF16 => v.float(F::Fract),
            // The effect of "legacy" in the last two of the f32 forms is not documented.
            O::VExpF32 | O::VExpF16 | O::VExpLegacyF32 => v.float(F::Exp2),
            O::VLogF32 | O::VLogF16 | O::VLogLegacyF32 => v.float(F::Log2),
            O::VRcpF32 | O::VRcpF64 | O::VRcpF16 => v.float(F::Rcp),
            O::VRcpIflagF32 => v.float(F::RcpIflag),
            O::VRsqF32 | O::VRsqF64 | O::VRsqF16 => v.float(F::Rsq),
            O::VSqrtF32 | O::VSqrtF64 | O::VSqrtF16 => v.float(F::Sqrt),
            O::VSinF32 | O::VSinF16 => v.float(F::Sin),
            O::VCosF32 | O::VCosF16 => v.float(F::Cos),
            O::VNotB32 => v.int(I::Not),
            O::VBfrevB32 => v.int(I::BitReverse),
            O::VFfbhU32 => v.int(I::LeadingZeros),
            O::VFfblB32 => v.int(I::TrailingZeros),
            O::VFfbhI32 => v.int(I::LeadingSigns),
            O::VFrexpExpI32F64 | O::VFrexpExpI32F32 | O::VFrexpExpI16F16 => {
                v.without_clamp().float(F::FrexpExp)
            }
            O::VFrexpMantF64 | O::VFrexpMantF32 | O::VFrexpMantF16 => v.float(F::FrexpMant),
            O::VClrexcp => {
                self.clear_exceptions();
                return Lifted::Next;
            }
            O::VMovB64 => v.int(I::Mov64),
            O::VScreenPartition4seB32 => v.int(I::ScreenParts),
            O::VCvtF16U16 => v.cvt(C::F16U16),
            O::VCvtF16I16 => v.cvt(C::F16I16),
            O::VCvtU16F16 => v.cvt(C::U16F16),
            O::VCvtI16F16 => v.cvt(C::I16F16),
            O::VCvtNormI16F16 => v.cvt(C::NormI16F16),
            O::VCvtNormU16F16 => v.cvt(C::NormU16F16),
            O::VSatPkU8I16 => v.int(I::SatPkU8I16),
            O::VSwapB32 => v.exchange(L::Swap),
            O::VCvtF32Fp8 | O::VCvtF32Bf8 | O::VCvtPkF32Fp8 | O::VCvtPkF32Bf8 => {
                return self.format_cvt(inst, v, false);
            }
            O::VPrngB32 => v.int(I::Prng),
            O::VPermlane16SwapB32 => v.exchange(L::Permlane16Swap),
            O::VPermlane32SwapB32 => v.exchange(L::Permlane32Swap),
            O::VCvtF32Bf16 => v.cvt(C::F32Bf16),
            _ => return Lifted::Unsupported,
        };
        self.emit(ready)
    }
}
