//! Packed instructions, mixed-precision FMA, dot products and moves of accumulation VGPRs (Vega ISA 12.10, CDNA3 ISA
//! 12.10).

use wavemill_ir::{
    Attrs, DstUnused, FloatOp as F, FloatType, FpEnv, IntOp as I, Op, Operand, SrcMods, SubDword,
};
use wavemill_isa::gcn::{Inst, Op as O};

use super::lifter::{Lifted, Lifter};
use super::valu::{Ready, Valu};

impl Lifter {
    pub(super) fn vop3p(&mut self, inst: &Inst) -> Lifted {
        // Scales are for the product in the same 128-bit instruction only (CDNA4 ISA 7.2.1).
        if inst.op() == O::VMfmaLdScaleB32 {
            return Lifted::Next;
        }
        let Some(v) = self.valu(inst) else { return Lifted::Unsupported };
        let ready = match inst.op() {
            O::VPkMadI16 => v.int(I::PkMadI16),
            O::VPkMulLoU16 => v.int(I::PkMulLo16),
            O::VPkAddI16 => v.int(I::PkAddI16),
            O::VPkSubI16 => v.int(I::PkSubI16),
            O::VPkLshlrevB16 => v.rev().int(I::PkShl16),
            O::VPkLshrrevB16 => v.rev().int(I::PkShr16),
            O::VPkAshrrevI16 => v.rev().int(I::PkSar16),
            O::VPkMaxI16 => v.int(I::PkMaxI16),
            O::VPkMinI16 => v.int(I::PkMinI16),
            O::VPkMadU16 => v.int(I::PkMadU16),
            O::VPkAddU16 => v.int(I::PkAddU16),
            O::VPkSubU16 => v.int(I::PkSubU16),
            O::VPkMaxU16 => v.int(I::PkMaxU16),
            O::VPkMinU16 => v.int(I::PkMinU16),
            O::VPkFmaF16 | O::VPkFmaF32 => v.float(F::Fma),
            O::VPkAddF16 | O::VPkAddF32 => v.float(F::Add),
            O::VPkMulF16 | O::VPkMulF32 => v.float(F::Mul),
            O::VPkMinF16 => v.float(F::Min),
            O::VPkMaxF16 => v.float(F::Max),
            O::VPkMinimum3F16 => v.float(F::Minimum3),
            O::VPkMaximum3F16 => v.float(F::Maximum3),
            O::VFmaMixF32 => self.mixed(v).float_as(F::FmaMix, FloatType::F32),
            O::VFmaMixloF16 => self.mixed(v).half(SubDword::Word0).float_as(F::FmaMix, FloatType::F16),
            O::VFmaMixhiF16 => self.mixed(v).half(SubDword::Word1).float_as(F::FmaMix, FloatType::F16),
            O::VDot2F32F16 => {
                let mut v = self.whole_sources(v);
                v.attrs.fp.denorm_in = self.dot2_keeps_denormals();
                v.float_as(F::Dot2F16, FloatType::F32)
            }
            O::VDot2F32Bf16 => {
                // Modifiers do not affect the addend (AMD's machine-readable CDNA4 tables).
                let mut v = self.whole_sources(v);
                v.attrs.src[2] = SrcMods::default();
                v.float_as(F::Dot2Bf16, FloatType::F32)
            }
            O::VDot2I32I16 => self.whole_sources(v).int(I::Dot2I16),
            O::VDot2U32U16 => self.whole_sources(v).int(I::Dot2U16),
            O::VDot4I32I8 => self.whole_sources(v).int(I::Dot4I8),
            O::VDot4U32U8 => self.whole_sources(v).int(I::Dot4U8),
            O::VDot8I32I4 => self.whole_sources(v).int(I::Dot8I4),
            O::VDot8U32U4 => self.whole_sources(v).int(I::Dot8U4),
            O::VPkMovB32 => {
                // Each source gives one dword; the selects of the high result have no meaning.
                let mut v = v;
                for m in &mut v.attrs.src {
                    m.hi_sel = false;
                }
                v.int(I::PkMov)
            }
            O::VAccvgprReadB32 | O::VAccvgprWriteB32 => v.whole().int(I::Mov),
            O::VMadMixF32 => self.mad_mix(v),
            O::VMadMixloF16 => self.mad_mix_half(v, SubDword::Word0),
            O::VMadMixhiF16 => self.mad_mix_half(v, SubDword::Word1),
            _ => return Lifted::Unsupported,
        };
        self.emit(ready)
    }

    /// Applies the modifiers' order and sign to the halves of the factors of a dot product, so that
    /// the operation needs none. Compilers rarely use them.
    pub(super) fn whole_sources(&mut self, mut v: Valu) -> Valu {
        for i in 0..2 {
            let m = std::mem::take(&mut v.attrs.src[i]);
            let high = |high: bool| if high { 0x0302 } else { 0x0100 };
            let low_from_high = m.sel == SubDword::Word1;
            if low_from_high || !m.hi_sel {
                let selector = high(low_from_high) | high(m.hi_sel) << 16;
                v.src[i] = self.row_step(I::Perm, [v.src[i], v.src[i], Operand::Const(selector)]);
            }
            let signs = u64::from(m.neg) << 15 | u64::from(m.neg_hi) << 31;
            if signs != 0 {
                v.src[i] = self.row_step(I::Xor, [v.src[i], Operand::Const(signs), Operand::None]);
            }
        }
        let addend = &mut v.attrs.src[2];
        *addend = SrcMods { neg: addend.neg, abs: addend.abs, ..SrcMods::default() };
        v
    }

    /// Whether dot products of f16 keep denormal factors in every MODE.
    pub(super) fn dot2_keeps_denormals(&self) -> bool {
        self.context.target.facts().dot2_keeps_denormals
    }

    /// Decides which halves of a mixed-precision operation are flushed: the f16 bits of MODE for
    /// f16 halves, the f32 bits for f32 sources (Vega ISA 6.4).
    fn mixed(&self, mut v: Valu) -> Valu {
        v.attrs.imm = i32::from(!self.fp16_64().denorm_in);
        v
    }

    /// V_MAD_MIX_F32 of gfx900: the product and the sum are rounded one after the other, as in
    /// V_MAD_F32. LLVM selects it for exactly that, with halves that are converted first.
    ///
    /// *Modelled*: denormal halves read as zeros whatever MODE says, as Mesa's compiler assumes.
    fn mad_mix(&mut self, mut v: Valu) -> Ready {
        let flushed = FpEnv { denorm_in: false, ..self.fp16_64() };
        for n in 0..3 {
            let m = v.attrs.src[n];
            if m.hi_sel {
                v.src[n] = self.widened(v.src[n], m.sel == SubDword::Word1, flushed);
            }
            v.attrs.src[n] = SrcMods { abs: m.neg_hi, neg: m.neg, ..SrcMods::default() };
        }
        v.attrs.fp = self.fp32();
        v.float_as(F::Mad, FloatType::F32)
    }

    /// V_MAD_MIXLO_F16 and V_MAD_MIXHI_F16: the f32 result, rounded again. Denormal results are
    /// flushed, too.
    fn mad_mix_half(&mut self, v: Valu, half: SubDword) -> Ready {
        let mut sum = self.mad_mix(v);
        sum.valu.attrs.clamp = false;
        let flushed = FpEnv { denorm_out: false, ..self.fp16_64() };
        self.narrowed(sum, v.half(half), flushed)
    }

    /// An integer operation into a fresh row temporary.
    fn row_step(&mut self, op: I, [a, b, c]: [Operand; 3]) -> Operand {
        let row = self.b.row_temp(1).into();
        self.b.push(Op::Int(op), [row, Operand::None], [a, b, c, Operand::None], Attrs::default());
        row
    }
}

impl Valu {
    /// Writes the result to one half of the destination and keeps the other one.
    fn half(mut self, half: SubDword) -> Valu {
        self.attrs.dst_sel = half;
        self.attrs.dst_unused = DstUnused::Preserve;
        self
    }

    /// Drops the half selects, which have no meaning for a 32-bit move.
    fn whole(mut self) -> Valu {
        self.attrs.src = [SrcMods::default(); 3];
        self
    }
}
