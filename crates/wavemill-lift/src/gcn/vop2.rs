//! VOP2 instructions: two sources, the second one a VGPR in the 32-bit encoding (Vega ISA 12.7).

use wavemill_ir::{FloatOp as F, FloatType, IntOp as I, SubDword};
use wavemill_isa::gcn::{Inst, Op as O};

use super::lifter::{Lifted, Lifter};
use super::valu::Valu;

impl Lifter {
    pub(super) fn vop2(&mut self, inst: &Inst) -> Lifted {
        let Some(v) = self.valu(inst) else { return Lifted::Unsupported };
        let ready = match inst.op() {
            O::VCndmaskB32 => v.int(I::Select),
            O::VAddF32 | O::VAddF16 => v.float(F::Add),
            O::VSubF32 | O::VSubF16 => v.float(F::Sub),
            O::VSubrevF32 | O::VSubrevF16 => v.rev().float(F::Sub),
            O::VMulLegacyF32 => v.float(F::MulLegacy),
            O::VMulF32 | O::VMulF16 => v.float(F::Mul),
            O::VFmacF32 | O::VFmacF64 => v.onto_dst().float(F::Fma),
            O::VMulI32I24 => v.int(I::MulI24),
            O::VMulHiI32I24 => v.int(I::MulHiI24),
            O::VMulU32U24 => v.int(I::MulU24),
            O::VMulHiU32U24 => v.int(I::MulHiU24),
            O::VMinF32 | O::VMinF16 => v.float(F::Min),
            O::VMaxF32 | O::VMaxF16 => v.float(F::Max),
            O::VMinI32 => v.int(I::MinI),
            O::VMaxI32 => v.int(I::MaxI),
            O::VMinU32 => v.int(I::MinU),
            O::VMaxU32 => v.int(I::MaxU),
            O::VLshrrevB32 => v.rev().int(I::Shr),
            O::VAshrrevI32 => v.rev().int(I::Sar),
            O::VLshlrevB32 => v.rev().int(I::Shl),
            O::VAndB32 => v.int(I::And),
            O::VOrB32 => v.int(I::Or),
            O::VXorB32 => v.int(I::Xor),
            O::VXnorB32 => v.int(I::Xnor),
            O::VMacF32 => v.onto_dst().float(F::Mad),
            // The text has the constant at its position in the product or the sum.
            O::VMadmkF32 | O::VMadakF32 => v.float(F::Mad),
            O::VFmamkF32 | O::VFmaakF32 => v.float(F::Fma),
            O::VAddCoU32 => v.int(I::AddCo),
            O::VSubCoU32 => v.int(I::SubCo),
            O::VSubrevCoU32 => v.rev().int(I::SubCo),
            O::VAddcCoU32 => v.int(I::AddCi),
            O::VSubbCoU32 => v.int(I::SubCi),
            O::VSubbrevCoU32 => v.rev().int(I::SubCi),
            O::VMacF16 => v.onto_dst().float(F::Mad),
            O::VMadmkF16 | O::VMadakF16 => v.float(F::Mad),
            O::VAddU16 => v.int(I::Add16),
            O::VSubU16 => v.int(I::Sub16),
            O::VSubrevU16 => v.rev().int(I::Sub16),
            O::VMulLoU16 => v.int(I::Mul16),
            O::VLshlrevB16 => v.rev().int(I::Shl16),
            O::VLshrrevB16 => v.rev().int(I::Shr16),
            O::VAshrrevI16 => v.rev().int(I::Sar16),
            O::VMaxU16 => v.int(I::MaxU16),
            O::VMaxI16 => v.int(I::MaxI16),
            O::VMinU16 => v.int(I::MinU16),
            O::VMinI16 => v.int(I::MinI16),
            O::VLdexpF16 => v.float(F::Ldexp),
            O::VAddU32 => v.int(I::Add),
            O::VSubU32 => v.int(I::Sub),
            O::VSubrevU32 => v.rev().int(I::Sub),
            O::VDot2cF32F16 if plain_halves(&v) => {
                let mut v = v.onto_dst();
                v.attrs.fp.denorm_in = self.dot2_keeps_denormals();
                v.float_as(F::Dot2F16, FloatType::F32)
            }
            O::VDot2cF32Bf16 => {
                let mut v = v;
                // The absolute value bits are the signs of the high halves (AMD's machine-readable CDNA4 tables).
                for m in &mut v.attrs.src[..2] {
                    (m.abs, m.neg_hi, m.hi_sel) = (false, m.abs, true);
                }
                self.whole_sources(v.onto_dst()).float_as(F::Dot2cBf16, FloatType::F32)
            }
            O::VDot2cI32I16 => v.onto_dst().int(I::Dot2I16),
            O::VDot4cI32I8 => v.onto_dst().int(I::Dot4I8),
            O::VDot8cI32I4 => v.onto_dst().int(I::Dot8I4),
            O::VPkFmacF16 if plain_halves(&v) => {
                let mut v = v.onto_dst();
                for m in &mut v.attrs.src {
                    m.hi_sel = true;
                }
                v.float(F::Fma)
            }
            _ => return Lifted::Unsupported,
        };
        self.emit(ready)
    }
}

/// Whether the packed sources are unmodified. The effect of the sign and select fields of the
/// 64-bit and SDWA encodings on packed sources of a VOP2 instruction is not documented; no compiler
/// uses them.
fn plain_halves(v: &Valu) -> bool {
    v.attrs.dst_sel == SubDword::Dword
        && v.attrs.src.iter().all(|m| !m.abs && !m.neg && !m.sext && m.sel == SubDword::Dword)
}
