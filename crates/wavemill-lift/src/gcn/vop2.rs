//! VOP2 instructions: two sources, the second one a VGPR in the 32-bit encoding (Vega ISA 12.7).

use wavemill_ir::{Attrs, FloatOp as F, FloatType, IntOp as I, Op, Operand, SrcMods, SubDword};
use wavemill_isa::gcn::{Flag, Inst, Op as O};

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
            O::VMacF16 => mac_half(inst, v.onto_dst()).float(F::Mad),
            O::VMadmkF16 | O::VMadakF16 => mac_half(inst, v).float(F::Mad),
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
            O::VDot2cF32F16 => {
                let mut v = self.whole_sources(v.packed().onto_dst());
                v.attrs.fp.denorm_in = self.dot2_keeps_denormals();
                v.float_as(F::Dot2F16, FloatType::F32)
            }
            O::VDot2cF32Bf16 => {
                self.whole_sources(v.packed().onto_dst()).float_as(F::Dot2cBf16, FloatType::F32)
            }
            O::VDot2cI32I16 => v.onto_dst().int(I::Dot2I16),
            O::VDot4cI32I8 => v.onto_dst().int(I::Dot4I8),
            O::VDot8cI32I4 => v.onto_dst().int(I::Dot8I4),
            O::VPkFmacF16 => {
                let mut v = self.selected_sources(v).packed().onto_dst();
                v.attrs.src[2].hi_sel = true;
                v.float(F::Fma)
            }
            _ => return Lifted::Unsupported,
        };
        self.emit(ready)
    }
}

/// The result of a multiply-add of halves; it may keep the other half of the register.
fn mac_half(inst: &Inst, v: Valu) -> Valu {
    if inst.row().has(Flag::KeepsHalf, inst.target()) { v.keeps_other_half() } else { v }
}

impl Lifter {
    /// Copies the parts of registers that SDWA selects, extended to a dword. In the IR, selects of a
    /// packed operation name halves.
    fn selected_sources(&mut self, mut v: Valu) -> Valu {
        for i in 0..2 {
            let SrcMods { sel, sext, .. } = v.attrs.src[i];
            if sel == SubDword::Dword && !sext {
                continue;
            }
            let row = self.b.row_temp(1).into();
            let mut attrs = Attrs::default();
            attrs.src[0] = SrcMods { sel, sext, ..SrcMods::default() };
            let sources = [v.src[i], Operand::None, Operand::None, Operand::None];
            self.b.push(Op::Int(I::Mov), [row, Operand::None], sources, attrs);
            v.src[i] = row;
            (v.attrs.src[i].sel, v.attrs.src[i].sext) = (SubDword::Dword, false);
        }
        v
    }
}

impl Valu {
    /// Gives the signs of two packed sources their meaning. The negation bit is the sign of the low
    /// half. The bit of the absolute value, which is NEG_HI in VOP3P, is the sign of the high half.
    /// For bf16, AMD's machine-readable CDNA4 tables say so.
    fn packed(mut self) -> Valu {
        for m in &mut self.attrs.src[..2] {
            (m.abs, m.neg_hi, m.hi_sel) = (false, m.abs, true);
        }
        self
    }
}
