//! Instructions that exist only in the 64-bit encoding (Vega ISA 12.12).

use wavemill_ir::{CvtOp as C, FloatOp as F, FloatType, IntOp as I, LaneOp as L, Operand, SubDword};
use wavemill_isa::gcn::{Inst, Op as O};

use super::lifter::{Lifted, Lifter};
use super::registers::VCC;

impl Lifter {
    pub(super) fn vop3(&mut self, inst: &Inst) -> Lifted {
        if let O::VInterpP1llF16 | O::VInterpP1lvF16 | O::VInterpP2LegacyF16 | O::VInterpP2F16 = inst.op() {
            return self.interp(inst);
        }
        let Some(v) = self.valu(inst) else { return Lifted::Unsupported };
        let ready = match inst.op() {
            O::VMadLegacyF32 => v.float(F::MadLegacy),
            O::VMadF32 => v.float(F::Mad),
            O::VMadI32I24 => v.int(I::MadI24),
            O::VMadU32U24 => v.int(I::MadU24),
            O::VCubeidF32 => v.float(F::CubeId),
            O::VCubescF32 => v.float(F::CubeSc),
            O::VCubetcF32 => v.float(F::CubeTc),
            O::VCubemaF32 => v.float(F::CubeMa),
            O::VBfeU32 => v.int(I::BfeU),
            O::VBfeI32 => v.int(I::BfeI),
            O::VBfiB32 => v.int(I::Bfi),
            O::VFmaF32 | O::VFmaF64 => v.float(F::Fma),
            O::VLerpU8 => v.int(I::LerpU8),
            O::VAlignbitB32 => v.int(I::AlignBit),
            O::VAlignbyteB32 => v.int(I::AlignByte),
            O::VMin3F32 | O::VMin3F16 => v.float(F::Min3),
            O::VMin3I32 => v.int(I::Min3I),
            O::VMin3U32 => v.int(I::Min3U),
            O::VMax3F32 | O::VMax3F16 => v.float(F::Max3),
            O::VMax3I32 => v.int(I::Max3I),
            O::VMax3U32 => v.int(I::Max3U),
            O::VMed3F32 | O::VMed3F16 => v.float(F::Med3),
            O::VMed3I32 => v.int(I::Med3I),
            O::VMed3U32 => v.int(I::Med3U),
            O::VSadU8 => v.int(I::SadU8),
            O::VSadHiU8 => v.int(I::SadHiU8),
            O::VSadU16 => v.int(I::SadU16),
            O::VSadU32 => v.int(I::SadU32),
            O::VCvtPkU8F32 => v.cvt(C::PkU8F32),
            O::VDivFixupF32 | O::VDivFixupF64 | O::VDivFixupLegacyF16 => v.float(F::DivFixup),
            O::VDivScaleF32 | O::VDivScaleF64 => v.float(F::DivScale),
            O::VDivFmasF32 | O::VDivFmasF64 => {
                let mut v = v;
                v.src[3] = Operand::Uni(VCC);
                v.float(F::DivFmas)
            }
            O::VMsadU8 => v.int(I::MsadU8),
            O::VQsadPkU16U8 => v.int(I::QsadPkU16U8),
            O::VMqsadPkU16U8 => v.int(I::MqsadPkU16U8),
            O::VMqsadU32U8 => v.int(I::MqsadU32U8),
            O::VMadU64U32 => v.int(I::MadU64U32),
            O::VMadI64I32 => v.int(I::MadI64I32),
            O::VMadLegacyF16 => v.float(F::Mad),
            O::VMadLegacyU16 => v.int(I::MadU16),
            O::VMadLegacyI16 => v.int(I::MadI16),
            O::VPermB32 => v.int(I::Perm),
            O::VFmaLegacyF16 => v.float(F::Fma),
            O::VCvtPkaccumU8F32 => v.onto_dst().cvt(C::PkU8F32),
            O::VMadU32U16 => v.int(I::MadU32U16),
            O::VMadI32I16 => v.int(I::MadI32I16),
            O::VXadU32 => v.int(I::XorAdd),
            O::VMin3I16 => v.int(I::Min3I16),
            O::VMin3U16 => v.int(I::Min3U16),
            O::VMax3I16 => v.int(I::Max3I16),
            O::VMax3U16 => v.int(I::Max3U16),
            O::VMed3I16 => v.int(I::Med3I16),
            O::VMed3U16 => v.int(I::Med3U16),
            O::VLshlAddU32 => v.int(I::ShlAdd),
            O::VAddLshlU32 => v.int(I::AddShl),
            O::VAdd3U32 => v.int(I::Add3),
            O::VLshlOrB32 => v.int(I::ShlOr),
            O::VAndOrB32 => v.int(I::AndOr),
            O::VOr3B32 => v.int(I::Or3),
            O::VMadF16 => v.keeps_other_half().float(F::Mad),
            O::VMadU16 => v.keeps_other_half().int(I::MadU16),
            O::VMadI16 => v.keeps_other_half().int(I::MadI16),
            O::VFmaF16 => v.keeps_other_half().float(F::Fma),
            O::VDivFixupF16 => v.keeps_other_half().float(F::DivFixup),
            O::VLshlAddU64 => v.int(I::ShlAdd64),
            O::VBitop3B16 => {
                let mut v = v;
                v.attrs.imm = i32::from(inst.modifiers().bitop3);
                if v.attrs.dst_sel == SubDword::Dword {
                    // The operation works on whole cells; its upper half is not part of the result.
                    v.attrs.dst_sel = SubDword::Word0;
                }
                v.int(I::BitOp3)
            }
            O::VBitop3B32 => {
                let mut v = v;
                v.attrs.imm = i32::from(inst.modifiers().bitop3);
                v.int(I::BitOp3)
            }
            O::VCvtScalef32PkFp8F32
            | O::VCvtScalef32PkBf8F32
            | O::VCvtScalef32SrFp8F32
            | O::VCvtScalef32SrBf8F32
            | O::VCvtScalef32PkF32Fp8
            | O::VCvtScalef32PkF32Bf8
            | O::VCvtScalef32F32Fp8
            | O::VCvtScalef32F32Bf8
            | O::VCvtScalef32PkFp4F32
            | O::VCvtScalef32SrPkFp4F32
            | O::VCvtScalef32PkF32Fp4
            | O::VCvtScalef32PkFp8F16
            | O::VCvtScalef32PkBf8F16
            | O::VCvtScalef32SrFp8F16
            | O::VCvtScalef32SrBf8F16
            | O::VCvtScalef32PkFp8Bf16
            | O::VCvtScalef32PkBf8Bf16
            | O::VCvtScalef32SrFp8Bf16
            | O::VCvtScalef32SrBf8Bf16
            | O::VCvtScalef32PkF16Fp8
            | O::VCvtScalef32PkF16Bf8
            | O::VCvtScalef32F16Fp8
            | O::VCvtScalef32F16Bf8
            | O::VCvtScalef32PkFp4F16
            | O::VCvtScalef32PkFp4Bf16
            | O::VCvtScalef32SrPkFp4F16
            | O::VCvtScalef32SrPkFp4Bf16
            | O::VCvtScalef32PkF16Fp4
            | O::VCvtScalef32PkBf16Fp4
            | O::VCvtScalef32_2xpk16Fp6F32
            | O::VCvtScalef32_2xpk16Bf6F32
            | O::VCvtScalef32SrPk32Fp6F32
            | O::VCvtScalef32SrPk32Bf6F32
            | O::VCvtScalef32Pk32F32Fp6
            | O::VCvtScalef32Pk32F32Bf6
            | O::VCvtScalef32Pk32Fp6F16
            | O::VCvtScalef32Pk32Fp6Bf16
            | O::VCvtScalef32Pk32Bf6F16
            | O::VCvtScalef32Pk32Bf6Bf16
            | O::VCvtScalef32SrPk32Fp6F16
            | O::VCvtScalef32SrPk32Fp6Bf16
            | O::VCvtScalef32SrPk32Bf6F16
            | O::VCvtScalef32SrPk32Bf6Bf16
            | O::VCvtScalef32Pk32F16Fp6
            | O::VCvtScalef32Pk32Bf16Fp6
            | O::VCvtScalef32Pk32F16Bf6
            | O::VCvtScalef32Pk32Bf16Bf6
            | O::VCvtScalef32PkBf16Fp8
            | O::VCvtScalef32PkBf16Bf8 => return self.format_cvt(inst, v, true),
            O::VAshrPkI8I32 => v.int(I::AsrPkI8),
            O::VAshrPkU8I32 => v.int(I::AsrPkU8),
            O::VCvtPkF16F32 => v.cvt(C::PkF16F32),
            O::VCvtPkBf16F32 => v.cvt(C::PkBf16F32),
            O::VAddF64 => v.float(F::Add),
            O::VMulF64 => v.float(F::Mul),
            O::VMinF64 => v.float(F::Min),
            O::VMaxF64 => v.float(F::Max),
            O::VLdexpF64 | O::VLdexpF32 => v.float(F::Ldexp),
            O::VMulLoU32 => v.int(I::MulLo),
            O::VMulHiU32 => v.int(I::MulHiU),
            O::VMulHiI32 => v.int(I::MulHiI),
            O::VReadlaneB32 => v.lane(L::ReadLane),
            O::VWritelaneB32 => v.lane(L::WriteLane),
            O::VBcntU32B32 => v.int(I::CountOnes),
            O::VMbcntLoU32B32 => v.int(I::MaskCountLo),
            O::VMbcntHiU32B32 => v.int(I::MaskCountHi),
            O::VLshlrevB64 => v.rev().int(I::Shl64),
            O::VLshrrevB64 => v.rev().int(I::Shr64),
            O::VAshrrevI64 => v.rev().int(I::Sar64),
            O::VTrigPreopF64 => v.float(F::TrigPreop),
            O::VBfmB32 => v.int(I::BitMask),
            O::VCvtPknormI16F32 => v.cvt(C::PkNormI16F32),
            O::VCvtPknormU16F32 => v.cvt(C::PkNormU16F32),
            O::VCvtPkrtzF16F32 => v.cvt(C::PkRtzF16F32),
            O::VCvtPkU16U32 => v.cvt(C::PkU16U32),
            O::VCvtPkI16I32 => v.cvt(C::PkI16I32),
            O::VCvtPknormI16F16 => v.cvt(C::PkNormI16F16),
            O::VCvtPknormU16F16 => v.cvt(C::PkNormU16F16),
            O::VAddI32 => v.int(I::AddI),
            O::VSubI32 => v.int(I::SubI),
            O::VAddI16 => v.int(I::AddI16),
            O::VSubI16 => v.int(I::SubI16),
            O::VPackB32F16 => v.cvt(C::PackF16),
            O::VCvtPkFp8F32
            | O::VCvtPkBf8F32
            | O::VCvtSrFp8F32
            | O::VCvtSrBf8F32
            | O::VCvtSrF16F32
            | O::VCvtSrBf16F32 => return self.format_cvt(inst, v, false),
            O::VMinimum3F32 => v.float_as(F::Minimum3, FloatType::F32),
            O::VMaximum3F32 => v.float_as(F::Maximum3, FloatType::F32),
            _ => return Lifted::Unsupported,
        };
        self.emit(ready)
    }
}
