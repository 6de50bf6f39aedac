//! How instructions are laid out in words: the encodings and their bit fields.
//!
//! This table is the only place that knows a field's position. Decoder, encoder, the build script's checks and the
//! reference pages all read it.

use super::vocabulary::{Format, Role, words};
use crate::target::{Target, TargetSet};

words! {
    /// How an instance of an instruction is encoded.
    pub enum Encoding {
        /// Scalar ALU, two sources (Vega ISA 13.1.1).
        Sop2 = "sop2",
        /// Scalar ALU, one source (Vega ISA 13.1.3).
        Sop1 = "sop1",
        /// Scalar compare (Vega ISA 13.1.4).
        Sopc = "sopc",
        /// Scalar ALU with a 16-bit constant (Vega ISA 13.1.2).
        Sopk = "sopk",
        /// SOPK followed by a 32-bit value (`s_setreg_imm32_b32`).
        SopkLiteral = "sopk_literal",
        /// Program control (Vega ISA 13.1.5).
        Sopp = "sopp",
        /// Scalar memory (Vega ISA 13.2.1).
        Smem = "smem",
        /// Vector ALU, two sources (Vega ISA 13.3.1).
        Vop2 = "vop2",
        /// VOP2 followed by a 32-bit constant (`v_madmk`, `v_madak`, `v_fmamk`, `v_fmaak`).
        Vop2Literal = "vop2_literal",
        /// VOP2 with an SDWA word (Vega ISA 13.3.7).
        Vop2Sdwa = "vop2_sdwa",
        /// VOP2 with a DPP word (Vega ISA 13.3.9).
        Vop2Dpp = "vop2_dpp",
        /// Vector ALU, one source (Vega ISA 13.3.2).
        Vop1 = "vop1",
        /// VOP1 with an SDWA word.
        Vop1Sdwa = "vop1_sdwa",
        /// VOP1 with a DPP word.
        Vop1Dpp = "vop1_dpp",
        /// Vector compare (Vega ISA 13.3.3).
        Vopc = "vopc",
        /// VOPC with an SDWA word of its own kind (Vega ISA 13.3.8).
        VopcSdwa = "vopc_sdwa",
        /// 64-bit vector ALU encoding with ABS (Vega ISA 13.3.4).
        Vop3a = "vop3a",
        /// 64-bit vector ALU encoding with a scalar destination (Vega ISA 13.3.5).
        Vop3b = "vop3b",
        /// VOP3A with an interpolation attribute in SRC0.
        Vop3Interp = "vop3_interp",
        /// 64-bit packed encoding (Vega ISA 13.3.6).
        Vop3p = "vop3p",
        /// Matrix encoding (CDNA3 ISA 13.3.6.1).
        Mai = "mai",
        /// Load-scale word pair followed by a matrix word pair (CDNA4 ISA 7.2.1).
        MaiScaled = "mai_scaled",
        /// Interpolation (Vega ISA 13.4.1).
        Vintrp = "vintrp",
        /// Data share (Vega ISA 13.5.1).
        Ds = "ds",
        /// Untyped buffer (Vega ISA 13.6.2).
        Mubuf = "mubuf",
        /// Typed buffer (Vega ISA 13.6.1).
        Mtbuf = "mtbuf",
        /// Image (Vega ISA 13.7.1).
        Mimg = "mimg",
        /// Flat, global and scratch (Vega ISA 13.8.1).
        Flat = "flat",
        /// Export (Vega ISA 13.9.1).
        Exp = "exp",
    }
}

words! {
    /// A bit field of an encoding. The same name means the same thing in every encoding that has it.
    pub enum FieldId {
        /// The constant bits that select the encoding.
        Encoding = "encoding",
        /// A bit that means nothing.
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
        /// SDWA: what happens to the rest of the destination.
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
    /// What the field holds.
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

    /// Sets the field in `words`; bits of `value` beyond the width are dropped.
    pub const fn set(self, words: &mut [u32; 4], value: u32) {
        let mut bit = 0;
        while bit < self.width as u32 {
            let at = self.lo as u32 + bit;
            let (index, shift) = (at as usize / 32, at % 32);
            words[index] = words[index] & !(1 << shift) | (value >> bit & 1) << shift;
            bit += 1;
        }
    }

    /// The bits of the field in a 128-bit instruction.
    pub const fn mask(self) -> u128 {
        ((1u128 << self.width) - 1) << self.lo
    }
}

const fn f(id: FieldId, lo: u8, width: u8) -> Field {
    Field { id, lo, width, targets: TargetSet::ALL }
}

const fn on(targets: TargetSet, id: FieldId, lo: u8, width: u8) -> Field {
    Field { id, lo, width, targets }
}

/// CDNA 2 and later.
const UNIFIED: TargetSet = TargetSet::from_first(Target::Gfx90a);
/// Before CDNA 2.
const SPLIT: TargetSet = TargetSet::up_to(Target::Gfx908);
/// CDNA 3 and later.
const SVE: TargetSet = TargetSet::from_first(Target::Gfx942);
/// Before CDNA 3.
const NO_SVE: TargetSet = TargetSet::up_to(Target::Gfx90a);

use FieldId as F;

const SOP2: &[Field] =
    &[f(F::Src0, 0, 8), f(F::Src1, 8, 8), f(F::Sdst, 16, 7), f(F::Op, 23, 7), f(F::Encoding, 30, 2)];
const SOP1: &[Field] = &[f(F::Src0, 0, 8), f(F::Op, 8, 8), f(F::Sdst, 16, 7), f(F::Encoding, 23, 9)];
const SOPC: &[Field] = &[f(F::Src0, 0, 8), f(F::Src1, 8, 8), f(F::Op, 16, 7), f(F::Encoding, 23, 9)];
const SOPK: &[Field] = &[f(F::Simm16, 0, 16), f(F::Sdst, 16, 7), f(F::Op, 23, 5), f(F::Encoding, 28, 4)];
const SOPK_LITERAL: &[Field] =
    &[f(F::Simm16, 0, 16), f(F::Op, 23, 5), f(F::Encoding, 28, 4), f(F::Literal, 32, 32)];
const SOPP: &[Field] = &[f(F::Simm16, 0, 16), f(F::Op, 16, 7), f(F::Encoding, 23, 9)];
const SMEM: &[Field] = &[
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
const VOP2: &[Field] =
    &[f(F::Src0, 0, 9), f(F::Src1, 9, 8), f(F::Vdst, 17, 8), f(F::Op, 25, 6), f(F::Encoding, 31, 1)];
const VOP2_LITERAL: &[Field] = &[
    f(F::Src0, 0, 9),
    f(F::Src1, 9, 8),
    f(F::Vdst, 17, 8),
    f(F::Op, 25, 6),
    f(F::Encoding, 31, 1),
    f(F::Literal, 32, 32),
];
const VOP2_SDWA: &[Field] = &[
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
const VOP2_DPP: &[Field] = &[
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
const VOP1: &[Field] = &[f(F::Src0, 0, 9), f(F::Op, 9, 8), f(F::Vdst, 17, 8), f(F::Encoding, 25, 7)];
const VOP1_SDWA: &[Field] = &[
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
const VOP1_DPP: &[Field] = &[
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
const VOPC: &[Field] = &[f(F::Src0, 0, 9), f(F::Src1, 9, 8), f(F::Op, 17, 8), f(F::Encoding, 25, 7)];
const VOPC_SDWA: &[Field] = &[
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
const VOP3A: &[Field] = &[
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
const VOP3B: &[Field] = &[
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
const VOP3_INTERP: &[Field] = &[
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
const VOP3P: &[Field] = &[
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
const MAI: &[Field] = &[
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
const MAI_SCALED: &[Field] = &[
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
const VINTRP: &[Field] = &[
    f(F::Vsrc, 0, 8),
    f(F::AttrChan, 8, 2),
    f(F::Attr, 10, 6),
    f(F::Op, 16, 2),
    f(F::Vdst, 18, 8),
    f(F::Encoding, 26, 6),
];
const DS: &[Field] = &[
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
const MUBUF: &[Field] = &[
    f(F::Offset, 0, 12),
    f(F::Offen, 12, 1),
    f(F::Idxen, 13, 1),
    f(F::Glc, 14, 1),
    on(UNIFIED, F::Scc, 15, 1),
    on(SPLIT, F::Reserved, 15, 1),
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
const MTBUF: &[Field] = &[
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
    on(UNIFIED, F::Scc, 53, 1),
    f(F::Slc, 54, 1),
    on(SPLIT, F::Tfe, 55, 1),
    on(UNIFIED, F::Acc, 55, 1),
    f(F::Soffset, 56, 8),
];
const MIMG: &[Field] = &[
    f(F::Reserved, 0, 1),
    on(UNIFIED, F::Scc, 7, 1),
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
const FLAT: &[Field] = &[
    f(F::Offset, 0, 13),
    on(NO_SVE, F::Lds, 13, 1),
    on(SVE, F::Sve, 13, 1),
    f(F::Seg, 14, 2),
    f(F::Glc, 16, 1),
    f(F::Slc, 17, 1),
    f(F::Op, 18, 7),
    on(UNIFIED, F::Scc, 25, 1),
    on(SPLIT, F::Reserved, 25, 1),
    f(F::Encoding, 26, 6),
    f(F::Vaddr, 32, 8),
    f(F::Vdata, 40, 8),
    f(F::Saddr, 48, 7),
    on(SPLIT, F::Nv, 55, 1),
    on(UNIFIED, F::Acc, 55, 1),
    f(F::Vdst, 56, 8),
];
const EXP: &[Field] = &[
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

/// Per target, encoding and field name: the position in [`Encoding::fields`], or [`NO_FIELD`].
static FIELD_INDEX: [[[u8; FieldId::ALL.len()]; Encoding::ALL.len()]; Target::COUNT] = index_fields();

const NO_FIELD: u8 = u8::MAX;

const fn index_fields() -> [[[u8; FieldId::ALL.len()]; Encoding::ALL.len()]; Target::COUNT] {
    let mut index = [[[NO_FIELD; FieldId::ALL.len()]; Encoding::ALL.len()]; Target::COUNT];
    let mut target = 0;
    while target < Target::COUNT {
        let mut encoding = 0;
        while encoding < Encoding::ALL.len() {
            let fields = Encoding::ALL[encoding].fields();
            let mut i = 0;
            while i < fields.len() {
                if fields[i].targets.contains(Target::ALL[target]) {
                    index[target][encoding][fields[i].id as usize] = i as u8;
                }
                i += 1;
            }
            encoding += 1;
        }
        target += 1;
    }
    index
}

impl Encoding {
    /// The bit fields, in ascending order of position.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Encoding::Sop2 => SOP2,
            Encoding::Sop1 => SOP1,
            Encoding::Sopc => SOPC,
            Encoding::Sopk => SOPK,
            Encoding::SopkLiteral => SOPK_LITERAL,
            Encoding::Sopp => SOPP,
            Encoding::Smem => SMEM,
            Encoding::Vop2 => VOP2,
            Encoding::Vop2Literal => VOP2_LITERAL,
            Encoding::Vop2Sdwa => VOP2_SDWA,
            Encoding::Vop2Dpp => VOP2_DPP,
            Encoding::Vop1 => VOP1,
            Encoding::Vop1Sdwa => VOP1_SDWA,
            Encoding::Vop1Dpp => VOP1_DPP,
            Encoding::Vopc => VOPC,
            Encoding::VopcSdwa => VOPC_SDWA,
            Encoding::Vop3a => VOP3A,
            Encoding::Vop3b => VOP3B,
            Encoding::Vop3Interp => VOP3_INTERP,
            Encoding::Vop3p => VOP3P,
            Encoding::Mai => MAI,
            Encoding::MaiScaled => MAI_SCALED,
            Encoding::Vintrp => VINTRP,
            Encoding::Ds => DS,
            Encoding::Mubuf => MUBUF,
            Encoding::Mtbuf => MTBUF,
            Encoding::Mimg => MIMG,
            Encoding::Flat => FLAT,
            Encoding::Exp => EXP,
        }
    }

    /// The field `id` as `target` has it, if the encoding has one there.
    pub const fn field(self, target: Target, id: FieldId) -> Option<Field> {
        let index = FIELD_INDEX[target as usize][self as usize][id as usize];
        let fields = self.fields();
        if (index as usize) < fields.len() { Some(fields[index as usize]) } else { None }
    }

    /// The size in bytes without a literal that a source operand may add.
    pub const fn bytes(self) -> u8 {
        use Encoding::*;
        match self {
            Sop2 | Sop1 | Sopc | Sopk | Sopp | Vop2 | Vop1 | Vopc | Vintrp => 4,
            MaiScaled => 16,
            _ => 8,
        }
    }

    /// The constant bits of the `encoding` field.
    pub const fn encoding_bits(self) -> u32 {
        use Encoding::*;
        match self {
            Sop2 => 0b10,
            Sop1 => 0b1_0111_1101,
            Sopc => 0b1_0111_1110,
            Sopp => 0b1_0111_1111,
            Sopk | SopkLiteral => 0b1011,
            Smem => 0b11_0000,
            Vop2 | Vop2Literal | Vop2Sdwa | Vop2Dpp => 0,
            Vop1 | Vop1Sdwa | Vop1Dpp => 0b011_1111,
            Vopc | VopcSdwa => 0b011_1110,
            Vop3a | Vop3b | Vop3Interp => 0b11_0100,
            Vop3p | Mai => 0b1_1010_0111,
            MaiScaled => 0xD3AC,
            Vintrp => 0b11_0101,
            Ds => 0b11_0110,
            Mubuf => 0b11_1000,
            Mtbuf => 0b11_1010,
            Mimg => 0b11_1100,
            Flat => 0b11_0111,
            Exp => 0b11_0001,
        }
    }

    /// Further constant bits beside the `encoding` field, as (mask, value): the marker in SRC0 of SDWA and DPP forms,
    /// and the second half of the scaled matrix pair.
    pub const fn marker(self) -> (u128, u128) {
        use Encoding::*;
        match self {
            Vop1Sdwa | Vop2Sdwa | VopcSdwa => (0x1FF, SRC_SDWA as u128),
            Vop1Dpp | Vop2Dpp => (0x1FF, SRC_DPP as u128),
            MaiScaled => (0x1FF << 87, 0b1_1010_0111 << 87),
            _ => (0, 0),
        }
    }

    /// The field that holds the operand `role`, if it stands in the word.
    pub const fn field_of(self, role: Role) -> Option<FieldId> {
        use Encoding::*;
        use FieldId as F;
        use Role as R;
        Some(match (role, self) {
            (R::Vdst, _) => F::Vdst,
            // Scalar results of vector instructions stand in VDST unless the encoding has a field for them;
            // the 32-bit forms write VCC without saying so.
            (R::Sdst, Vop3a | Vop1) => F::Vdst,
            (R::Sdst, Vop2 | Vop2Sdwa | Vop2Dpp | Vopc) => return None,
            (R::Sdst, _) => F::Sdst,
            (R::Src2, Vop2 | Vop2Sdwa | Vop2Dpp) => return None,
            (R::Src0, _) => F::Src0,
            (R::Src1, _) => F::Src1,
            (R::Src2, _) => F::Src2,
            (R::Literal, _) => F::Literal,
            (R::Simm16, _) => F::Simm16,
            (R::Sdata, _) => F::Sdata,
            (R::Sbase, _) => F::Sbase,
            (R::Offset, _) => F::Offset,
            (R::Vsrc, _) => F::Vsrc,
            (R::Attr, _) => F::Attr,
            (R::Addr, _) => F::Addr,
            (R::Data0, _) => F::Data0,
            (R::Data1, _) => F::Data1,
            (R::Vaddr, _) => F::Vaddr,
            (R::Vdata, _) => F::Vdata,
            (R::Saddr, _) => F::Saddr,
            (R::Srsrc, _) => F::Srsrc,
            (R::Ssamp, _) => F::Ssamp,
            (R::Soffset, _) => F::Soffset,
            (R::Tgt, _) => F::Tgt,
            (R::Vsrc0, _) => F::Vsrc0,
            (R::Vsrc1, _) => F::Vsrc1,
            (R::Vsrc2, _) => F::Vsrc2,
            (R::Vsrc3, _) => F::Vsrc3,
            (R::Scale0, _) => F::Scale0,
            (R::Scale1, _) => F::Scale1,
        })
    }
}

/// SRC0 value that announces an SDWA word.
pub const SRC_SDWA: u32 = 249;
/// SRC0 value that announces a DPP word.
pub const SRC_DPP: u32 = 250;
/// Source value that announces a literal dword.
pub const SRC_LITERAL: u32 = 255;

impl Format {
    /// The number of bits of the opcode field, and so the size of the opcode space.
    pub const fn op_bits(self) -> u32 {
        use Format::*;
        match self {
            Sop2 | Sopc | Sopp | Vop3p | Mai | MaiScaled | Mubuf | Mimg | Flat | Global | Scratch => 7,
            Sop1 | Smem | Vop1 | Vopc | Ds => 8,
            Sopk => 5,
            Vop2 => 6,
            Vop3 => 10,
            Vintrp => 2,
            Mtbuf => 4,
            Exp => 0,
        }
    }

    /// The distance from the opcode in this format to the opcode of the same instruction in the VOP3 encoding, for the
    /// formats that have one (Vega ISA 13.3.4).
    pub const fn vop3_offset(self) -> Option<u16> {
        match self {
            Format::Vopc => Some(0),
            Format::Vop2 => Some(0x100),
            Format::Vop1 => Some(0x140),
            Format::Vintrp => Some(0x270),
            _ => None,
        }
    }
}

words! {
    /// An opcode space: where the decoder looks an opcode up once the constant bits have told the encoding.
    pub enum Space {
        /// Scalar ALU, two sources.
        Sop2 = "SOP2",
        /// Scalar ALU, one source.
        Sop1 = "SOP1",
        /// Scalar compare.
        Sopc = "SOPC",
        /// Scalar ALU with a 16-bit constant.
        Sopk = "SOPK",
        /// Program control.
        Sopp = "SOPP",
        /// Scalar memory.
        Smem = "SMEM",
        /// Vector ALU, two sources.
        Vop2 = "VOP2",
        /// VOP2 with SDWA.
        Vop2Sdwa = "VOP2 SDWA",
        /// VOP2 with DPP.
        Vop2Dpp = "VOP2 DPP",
        /// Vector ALU, one source.
        Vop1 = "VOP1",
        /// VOP1 with SDWA.
        Vop1Sdwa = "VOP1 SDWA",
        /// VOP1 with DPP.
        Vop1Dpp = "VOP1 DPP",
        /// Vector compare.
        Vopc = "VOPC",
        /// VOPC with SDWA.
        VopcSdwa = "VOPC SDWA",
        /// 64-bit vector ALU.
        Vop3 = "VOP3",
        /// Packed and matrix.
        Vop3p = "VOP3P",
        /// Scaled matrix.
        MaiScaled = "scaled MFMA",
        /// Interpolation.
        Vintrp = "VINTRP",
        /// Data share.
        Ds = "DS",
        /// Untyped buffer.
        Mubuf = "MUBUF",
        /// Typed buffer.
        Mtbuf = "MTBUF",
        /// Image.
        Mimg = "MIMG",
        /// Flat.
        Flat = "FLAT",
        /// Global.
        Global = "GLOBAL",
        /// Scratch.
        Scratch = "SCRATCH",
        /// Export.
        Exp = "EXP",
    }
}
