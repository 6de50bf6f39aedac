//! The bit fields of the encodings. No other code knows the position of a field.

use super::vocabulary::words;
use crate::target::{AccVgprs, Family, TargetSet, targets_where};

words! {
    /// A bit field of an encoding. The same name means the same thing in every encoding that has it.
    pub enum FieldId {
        /// The constant bits that select the encoding.
        Encoding = "encoding",
        /// A bit without a meaning.
        Reserved = "reserved",
        /// Opcode.
        Op = "op",
        /// 16-bit constant.
        Simm16 = "simm16",
        /// Scalar destination.
        Sdst = "sdst",
        /// First source, 8-bit scalar or 9-bit vector code.
        Src0 = "src0",
        /// Second source: scalar code, VGPR number or 9-bit vector code.
        Src1 = "src1",
        /// Third source.
        Src2 = "src2",
        /// Vector destination.
        Vdst = "vdst",
        /// The dword after the instruction.
        Literal = "literal",
        /// Absolute value, one bit per source.
        Abs = "abs",
        /// Negation, one bit per source.
        Neg = "neg",
        /// Packed: negation of the high half, one bit per source.
        NegHi = "neg_hi",
        /// Half selection: sources 0 to 2, then destination.
        OpSel = "op_sel",
        /// Packed: half selection for the high result, sources 0 and 1.
        OpSelHi = "op_sel_hi",
        /// Packed: half selection for the high result, source 2.
        OpSelHi2 = "op_sel_hi_2",
        /// Clamp.
        Clamp = "clamp",
        /// Output multiplier: 0 none, 1 times 2, 2 times 4, 3 divided by 2.
        Omod = "omod",
        /// SDWA: destination part.
        DstSel = "dst_sel",
        /// SDWA: effect on the rest of the destination.
        DstUnused = "dst_unused",
        /// SDWA: part of source 0.
        Src0Sel = "src0_sel",
        /// SDWA: sign-extend source 0.
        Src0Sext = "src0_sext",
        /// SDWA, DPP: negate source 0.
        Src0Neg = "src0_neg",
        /// SDWA, DPP: absolute value of source 0.
        Src0Abs = "src0_abs",
        /// SDWA: source 0 is scalar.
        Src0Scalar = "src0_scalar",
        /// SDWA: part of source 1.
        Src1Sel = "src1_sel",
        /// SDWA: sign-extend source 1.
        Src1Sext = "src1_sext",
        /// SDWA, DPP: negate source 1.
        Src1Neg = "src1_neg",
        /// SDWA, DPP: absolute value of source 1.
        Src1Abs = "src1_abs",
        /// SDWA: source 1 is scalar.
        Src1Scalar = "src1_scalar",
        /// SDWA compare: the destination is SDST, not VCC.
        SdstEnable = "sd",
        /// DPP: lane permutation.
        DppCtrl = "dpp_ctrl",
        /// DPP: lanes without a source read 0 instead of being skipped.
        BoundCtrl = "bound_ctrl",
        /// DPP: banks written.
        BankMask = "bank_mask",
        /// DPP: rows written.
        RowMask = "row_mask",
        /// Matrix: broadcast size, or format of A.
        Cbsz = "cbsz",
        /// Matrix: broadcast block.
        Abid = "abid",
        /// Matrix: C and D are accumulation VGPRs.
        AccCd = "acc_cd",
        /// Matrix: A is in accumulation VGPRs.
        AccA = "acc_a",
        /// Matrix: B is in accumulation VGPRs.
        AccB = "acc_b",
        /// Matrix: lane permutation of B, format of B, or negation.
        Blgp = "blgp",
        /// Scaled matrix: scale of A.
        Scale0 = "scale_src0",
        /// Scaled matrix: scale of B.
        Scale1 = "scale_src1",
        /// Interpolation: attribute number.
        Attr = "attr",
        /// Interpolation: channel.
        AttrChan = "attrchan",
        /// Interpolation: high half of the attribute.
        High = "high",
        /// Interpolation: VGPR.
        Vsrc = "vsrc",
        /// Scalar memory: base, in units of two SGPRs.
        Sbase = "sbase",
        /// Scalar memory: data.
        Sdata = "sdata",
        /// Scalar memory: SOFFSET is used.
        SoffsetEn = "soffset_en",
        /// Scalar memory: OFFSET is a constant.
        Imm = "imm",
        /// Offset in bytes.
        Offset = "offset",
        /// First data share offset.
        Offset0 = "offset0",
        /// Second data share offset.
        Offset1 = "offset1",
        /// Buffer and scalar memory: offset in an SGPR.
        Soffset = "soffset",
        /// Global data share.
        Gds = "gds",
        /// Data VGPRs are accumulation VGPRs.
        Acc = "acc",
        /// LDS address.
        Addr = "addr",
        /// First LDS data.
        Data0 = "data0",
        /// Second LDS data.
        Data1 = "data1",
        /// The offset VGPR is used.
        Offen = "offen",
        /// The index VGPR is used.
        Idxen = "idxen",
        /// GLC, called SC0 on gfx942 and later: return the old value, or cache scope.
        Glc = "glc",
        /// SLC, called NT on gfx942 and later.
        Slc = "slc",
        /// SCC, called SC1 on gfx942 and later.
        Scc = "scc",
        /// Memory to LDS.
        Lds = "lds",
        /// Status dword after the data.
        Tfe = "tfe",
        /// Non-volatile.
        Nv = "nv",
        /// Data format.
        Dfmt = "dfmt",
        /// Number format.
        Nfmt = "nfmt",
        /// Memory address VGPR.
        Vaddr = "vaddr",
        /// Memory data VGPR.
        Vdata = "vdata",
        /// Resource descriptor, in units of four SGPRs.
        Srsrc = "srsrc",
        /// Sampler descriptor, in units of four SGPRs.
        Ssamp = "ssamp",
        /// Scalar address; 0x7F for none.
        Saddr = "saddr",
        /// Flat: 0 flat, 1 scratch, 2 global.
        Seg = "seg",
        /// Scratch: the address VGPR is used.
        Sve = "sve",
        /// Image: channels.
        Dmask = "dmask",
        /// Image: unnormalised coordinates.
        Unorm = "unorm",
        /// Image: array.
        Da = "da",
        /// Image: 16-bit addresses.
        A16 = "a16",
        /// Image: LOD warning.
        Lwe = "lwe",
        /// Image: 16-bit data.
        D16 = "d16",
        /// Export: components.
        En = "en",
        /// Export: target.
        Tgt = "tgt",
        /// Export: compressed.
        Compr = "compr",
        /// Export: last.
        Done = "done",
        /// Export: valid mask.
        Vm = "vm",
        /// Export: first value.
        Vsrc0 = "vsrc0",
        /// Export: second value.
        Vsrc1 = "vsrc1",
        /// Export: third value.
        Vsrc2 = "vsrc2",
        /// Export: fourth value.
        Vsrc3 = "vsrc3",
    }
}

/// A bit field: `width` bits from bit `lo` of the instruction (bit 0 is the lowest bit of the first dword).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name of the field.
    pub id: FieldId,
    /// Lowest bit.
    pub lo: u8,
    /// Number of bits, 1 to 32.
    pub width: u8,
    /// The targets that have the field.
    pub targets: TargetSet,
}

impl Field {
    /// The value of the field in `words`.
    #[inline]
    pub const fn get(self, words: &[u32; 4]) -> u32 {
        let (index, shift) = (self.lo as usize / 32, self.lo as u32 % 32);
        let low = words[index] >> shift;
        let value = if shift + self.width as u32 > 32 && index < 3 {
            low | words[index + 1] << (32 - shift)
        } else {
            low
        };
        if self.width == 32 { value } else { value & ((1 << self.width) - 1) }
    }

    /// Sets the field in `words`; drops bits of `value` beyond the width.
    #[inline]
    pub const fn set(self, words: &mut [u32; 4], value: u32) {
        let (index, shift) = (self.lo as usize / 32, self.lo as u32 % 32);
        let mask = ((1u64 << self.width) - 1) << shift;
        let value = (value as u64) << shift & mask;
        words[index] = words[index] & !(mask as u32) | value as u32;
        if mask >> 32 != 0 && index < 3 {
            words[index + 1] = words[index + 1] & !((mask >> 32) as u32) | (value >> 32) as u32;
        }
    }

    /// The bits of the field in a 128-bit instruction.
    pub const fn mask(self) -> u128 {
        ((1u128 << self.width) - 1) << self.lo
    }
}

/// The targets that have these formats.
const FAMILY: TargetSet = Family::Gcn.targets();

const fn f(id: FieldId, lo: u8, width: u8) -> Field {
    Field { id, lo, width, targets: FAMILY }
}

const fn on(targets: TargetSet, id: FieldId, lo: u8, width: u8) -> Field {
    Field { id, lo, width, targets }
}

/// The third cache bit.
const CACHE_3: TargetSet = targets_where!(|facts| facts.third_cache_bit);
const NO_CACHE_3: TargetSet = FAMILY.difference(CACHE_3);
/// The bit for accumulation VGPRs.
const UNIFIED: TargetSet =
    targets_where!(|facts| matches!(facts.generation.facts().accvgprs, AccVgprs::Unified));
const SPLIT: TargetSet = FAMILY.difference(UNIFIED);
/// The bit for a VGPR in the address of scratch instructions.
const SVE: TargetSet = targets_where!(|facts| facts.scratch_vaddr_bit);
const NO_SVE: TargetSet = FAMILY.difference(SVE);

use FieldId as F;

pub(super) const SOP2: &[Field] =
    &[f(F::Src0, 0, 8), f(F::Src1, 8, 8), f(F::Sdst, 16, 7), f(F::Op, 23, 7), f(F::Encoding, 30, 2)];
pub(super) const SOP1: &[Field] =
    &[f(F::Src0, 0, 8), f(F::Op, 8, 8), f(F::Sdst, 16, 7), f(F::Encoding, 23, 9)];
pub(super) const SOPC: &[Field] =
    &[f(F::Src0, 0, 8), f(F::Src1, 8, 8), f(F::Op, 16, 7), f(F::Encoding, 23, 9)];
pub(super) const SOPK: &[Field] =
    &[f(F::Simm16, 0, 16), f(F::Sdst, 16, 7), f(F::Op, 23, 5), f(F::Encoding, 28, 4)];
pub(super) const SOPK_LITERAL: &[Field] =
    &[f(F::Simm16, 0, 16), f(F::Op, 23, 5), f(F::Encoding, 28, 4), f(F::Literal, 32, 32)];
pub(super) const SOPP: &[Field] = &[f(F::Simm16, 0, 16), f(F::Op, 16, 7), f(F::Encoding, 23, 9)];
pub(super) const SMEM: &[Field] = &[
    f(F::Sbase, 0, 6),
    f(F::Sdata, 6, 7),
    f(F::SoffsetEn, 14, 1),
    f(F::Nv, 15, 1),
    f(F::Glc, 16, 1),
    f(F::Imm, 17, 1),
    f(F::Op, 18, 8),
    f(F::Encoding, 26, 6),
    f(F::Offset, 32, 21),
    f(F::Soffset, 57, 7),
];
pub(super) const VOP2: &[Field] =
    &[f(F::Src0, 0, 9), f(F::Src1, 9, 8), f(F::Vdst, 17, 8), f(F::Op, 25, 6), f(F::Encoding, 31, 1)];
pub(super) const VOP2_LITERAL: &[Field] = &[
    f(F::Src0, 0, 9),
    f(F::Src1, 9, 8),
    f(F::Vdst, 17, 8),
    f(F::Op, 25, 6),
    f(F::Encoding, 31, 1),
    f(F::Literal, 32, 32),
];
pub(super) const VOP2_SDWA: &[Field] = &[
    f(F::Src1, 9, 8),
    f(F::Vdst, 17, 8),
    f(F::Op, 25, 6),
    f(F::Encoding, 31, 1),
    f(F::Src0, 32, 8),
    f(F::DstSel, 40, 3),
    f(F::DstUnused, 43, 2),
    f(F::Clamp, 45, 1),
    f(F::Omod, 46, 2),
    f(F::Src0Sel, 48, 3),
    f(F::Src0Sext, 51, 1),
    f(F::Src0Neg, 52, 1),
    f(F::Src0Abs, 53, 1),
    f(F::Src0Scalar, 55, 1),
    f(F::Src1Sel, 56, 3),
    f(F::Src1Sext, 59, 1),
    f(F::Src1Neg, 60, 1),
    f(F::Src1Abs, 61, 1),
    f(F::Src1Scalar, 63, 1),
];
pub(super) const VOP2_DPP: &[Field] = &[
    f(F::Src1, 9, 8),
    f(F::Vdst, 17, 8),
    f(F::Op, 25, 6),
    f(F::Encoding, 31, 1),
    f(F::Src0, 32, 8),
    f(F::DppCtrl, 40, 9),
    f(F::BoundCtrl, 51, 1),
    f(F::Src0Neg, 52, 1),
    f(F::Src0Abs, 53, 1),
    f(F::Src1Neg, 54, 1),
    f(F::Src1Abs, 55, 1),
    f(F::BankMask, 56, 4),
    f(F::RowMask, 60, 4),
];
pub(super) const VOP1: &[Field] =
    &[f(F::Src0, 0, 9), f(F::Op, 9, 8), f(F::Vdst, 17, 8), f(F::Encoding, 25, 7)];
pub(super) const VOP1_SDWA: &[Field] = &[
    f(F::Op, 9, 8),
    f(F::Vdst, 17, 8),
    f(F::Encoding, 25, 7),
    f(F::Src0, 32, 8),
    f(F::DstSel, 40, 3),
    f(F::DstUnused, 43, 2),
    f(F::Clamp, 45, 1),
    f(F::Omod, 46, 2),
    f(F::Src0Sel, 48, 3),
    f(F::Src0Sext, 51, 1),
    f(F::Src0Neg, 52, 1),
    f(F::Src0Abs, 53, 1),
    f(F::Src0Scalar, 55, 1),
    f(F::Src1Sel, 56, 3),
    f(F::Src1Sext, 59, 1),
    f(F::Src1Neg, 60, 1),
    f(F::Src1Abs, 61, 1),
    f(F::Src1Scalar, 63, 1),
];
pub(super) const VOP1_DPP: &[Field] = &[
    f(F::Op, 9, 8),
    f(F::Vdst, 17, 8),
    f(F::Encoding, 25, 7),
    f(F::Src0, 32, 8),
    f(F::DppCtrl, 40, 9),
    f(F::BoundCtrl, 51, 1),
    f(F::Src0Neg, 52, 1),
    f(F::Src0Abs, 53, 1),
    f(F::Src1Neg, 54, 1),
    f(F::Src1Abs, 55, 1),
    f(F::BankMask, 56, 4),
    f(F::RowMask, 60, 4),
];
pub(super) const VOPC: &[Field] =
    &[f(F::Src0, 0, 9), f(F::Src1, 9, 8), f(F::Op, 17, 8), f(F::Encoding, 25, 7)];
pub(super) const VOPC_SDWA: &[Field] = &[
    f(F::Src1, 9, 8),
    f(F::Op, 17, 8),
    f(F::Encoding, 25, 7),
    f(F::Src0, 32, 8),
    f(F::Sdst, 40, 7),
    f(F::SdstEnable, 47, 1),
    f(F::Src0Sel, 48, 3),
    f(F::Src0Sext, 51, 1),
    f(F::Src0Neg, 52, 1),
    f(F::Src0Abs, 53, 1),
    f(F::Src0Scalar, 55, 1),
    f(F::Src1Sel, 56, 3),
    f(F::Src1Sext, 59, 1),
    f(F::Src1Neg, 60, 1),
    f(F::Src1Abs, 61, 1),
    f(F::Src1Scalar, 63, 1),
];
pub(super) const VOP3A: &[Field] = &[
    f(F::Vdst, 0, 8),
    f(F::Abs, 8, 3),
    f(F::OpSel, 11, 4),
    f(F::Clamp, 15, 1),
    f(F::Op, 16, 10),
    f(F::Encoding, 26, 6),
    f(F::Src0, 32, 9),
    f(F::Src1, 41, 9),
    f(F::Src2, 50, 9),
    f(F::Omod, 59, 2),
    f(F::Neg, 61, 3),
];
pub(super) const VOP3B: &[Field] = &[
    f(F::Vdst, 0, 8),
    f(F::Sdst, 8, 7),
    f(F::Clamp, 15, 1),
    f(F::Op, 16, 10),
    f(F::Encoding, 26, 6),
    f(F::Src0, 32, 9),
    f(F::Src1, 41, 9),
    f(F::Src2, 50, 9),
    f(F::Omod, 59, 2),
    f(F::Neg, 61, 3),
];
pub(super) const VOP3_INTERP: &[Field] = &[
    f(F::Vdst, 0, 8),
    f(F::Abs, 8, 3),
    f(F::OpSel, 11, 4),
    f(F::Clamp, 15, 1),
    f(F::Op, 16, 10),
    f(F::Encoding, 26, 6),
    f(F::Attr, 32, 6),
    f(F::AttrChan, 38, 2),
    f(F::High, 40, 1),
    f(F::Vsrc, 41, 9),
    f(F::Src2, 50, 9),
    f(F::Omod, 59, 2),
    f(F::Neg, 61, 3),
];
pub(super) const VOP3P: &[Field] = &[
    f(F::Vdst, 0, 8),
    f(F::NegHi, 8, 3),
    f(F::OpSel, 11, 3),
    f(F::OpSelHi2, 14, 1),
    f(F::Clamp, 15, 1),
    f(F::Op, 16, 7),
    f(F::Encoding, 23, 9),
    f(F::Src0, 32, 9),
    f(F::Src1, 41, 9),
    f(F::Src2, 50, 9),
    f(F::OpSelHi, 59, 2),
    f(F::Neg, 61, 3),
];
pub(super) const MAI: &[Field] = &[
    f(F::Vdst, 0, 8),
    f(F::Cbsz, 8, 3),
    f(F::Abid, 11, 4),
    f(F::AccCd, 15, 1),
    f(F::Op, 16, 7),
    f(F::Encoding, 23, 9),
    f(F::Src0, 32, 9),
    f(F::Src1, 41, 9),
    f(F::Src2, 50, 9),
    f(F::AccA, 59, 1),
    f(F::AccB, 60, 1),
    f(F::Blgp, 61, 3),
];
pub(super) const MAI_SCALED: &[Field] = &[
    f(F::OpSel, 11, 2),
    f(F::Encoding, 16, 16),
    f(F::Scale0, 32, 9),
    f(F::Scale1, 41, 9),
    f(F::OpSelHi, 59, 2),
    f(F::Vdst, 64, 8),
    f(F::Cbsz, 72, 3),
    f(F::Abid, 75, 4),
    f(F::AccCd, 79, 1),
    f(F::Op, 80, 7),
    f(F::Src0, 96, 9),
    f(F::Src1, 105, 9),
    f(F::Src2, 114, 9),
    f(F::AccA, 123, 1),
    f(F::AccB, 124, 1),
    f(F::Blgp, 125, 3),
];
pub(super) const VINTRP: &[Field] = &[
    f(F::Vsrc, 0, 8),
    f(F::AttrChan, 8, 2),
    f(F::Attr, 10, 6),
    f(F::Op, 16, 2),
    f(F::Vdst, 18, 8),
    f(F::Encoding, 26, 6),
];
pub(super) const DS: &[Field] = &[
    f(F::Offset0, 0, 8),
    f(F::Offset1, 8, 8),
    f(F::Gds, 16, 1),
    f(F::Op, 17, 8),
    on(UNIFIED, F::Acc, 25, 1),
    on(SPLIT, F::Reserved, 25, 1),
    f(F::Encoding, 26, 6),
    f(F::Addr, 32, 8),
    f(F::Data0, 40, 8),
    f(F::Data1, 48, 8),
    f(F::Vdst, 56, 8),
];
pub(super) const MUBUF: &[Field] = &[
    f(F::Offset, 0, 12),
    f(F::Offen, 12, 1),
    f(F::Idxen, 13, 1),
    f(F::Glc, 14, 1),
    on(CACHE_3, F::Scc, 15, 1),
    on(NO_CACHE_3, F::Reserved, 15, 1),
    f(F::Lds, 16, 1),
    f(F::Slc, 17, 1),
    f(F::Op, 18, 7),
    f(F::Encoding, 26, 6),
    f(F::Vaddr, 32, 8),
    f(F::Vdata, 40, 8),
    f(F::Srsrc, 48, 5),
    on(SPLIT, F::Tfe, 55, 1),
    on(UNIFIED, F::Acc, 55, 1),
    f(F::Soffset, 56, 8),
];
pub(super) const MTBUF: &[Field] = &[
    f(F::Offset, 0, 12),
    f(F::Offen, 12, 1),
    f(F::Idxen, 13, 1),
    f(F::Glc, 14, 1),
    f(F::Op, 15, 4),
    f(F::Dfmt, 19, 4),
    f(F::Nfmt, 23, 3),
    f(F::Encoding, 26, 6),
    f(F::Vaddr, 32, 8),
    f(F::Vdata, 40, 8),
    f(F::Srsrc, 48, 5),
    on(CACHE_3, F::Scc, 53, 1),
    f(F::Slc, 54, 1),
    on(SPLIT, F::Tfe, 55, 1),
    on(UNIFIED, F::Acc, 55, 1),
    f(F::Soffset, 56, 8),
];
pub(super) const MIMG: &[Field] = &[
    f(F::Reserved, 0, 1),
    on(CACHE_3, F::Scc, 7, 1),
    f(F::Dmask, 8, 4),
    f(F::Unorm, 12, 1),
    f(F::Glc, 13, 1),
    f(F::Da, 14, 1),
    f(F::A16, 15, 1),
    on(SPLIT, F::Tfe, 16, 1),
    on(UNIFIED, F::Acc, 16, 1),
    f(F::Lwe, 17, 1),
    f(F::Op, 18, 7),
    f(F::Slc, 25, 1),
    f(F::Encoding, 26, 6),
    f(F::Vaddr, 32, 8),
    f(F::Vdata, 40, 8),
    f(F::Srsrc, 48, 5),
    f(F::Ssamp, 53, 5),
    f(F::D16, 63, 1),
];
pub(super) const FLAT: &[Field] = &[
    f(F::Offset, 0, 13),
    on(NO_SVE, F::Lds, 13, 1),
    on(SVE, F::Sve, 13, 1),
    f(F::Seg, 14, 2),
    f(F::Glc, 16, 1),
    f(F::Slc, 17, 1),
    f(F::Op, 18, 7),
    on(CACHE_3, F::Scc, 25, 1),
    on(NO_CACHE_3, F::Reserved, 25, 1),
    f(F::Encoding, 26, 6),
    f(F::Vaddr, 32, 8),
    f(F::Vdata, 40, 8),
    f(F::Saddr, 48, 7),
    on(SPLIT, F::Nv, 55, 1),
    on(UNIFIED, F::Acc, 55, 1),
    f(F::Vdst, 56, 8),
];
pub(super) const EXP: &[Field] = &[
    f(F::En, 0, 4),
    f(F::Tgt, 4, 6),
    f(F::Compr, 10, 1),
    f(F::Done, 11, 1),
    f(F::Vm, 12, 1),
    f(F::Encoding, 26, 6),
    f(F::Vsrc0, 32, 8),
    f(F::Vsrc1, 40, 8),
    f(F::Vsrc2, 48, 8),
    f(F::Vsrc3, 56, 8),
];
