//! How words hold instructions: the encodings and their bit fields.
//!
//! Decoder, encoder, the build script's checks and the reference pages all read these tables.

use super::fields::*;
pub use super::fields::{Field, FieldId};
use super::vocabulary::{Format, Role, words};
use crate::target::Target;

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

/// The field with each name, if the encoding has it on the target: by target, encoding and name.
static FIELDS: [[[Option<Field>; FieldId::ALL.len()]; Encoding::ALL.len()]; Target::COUNT] = index_fields();

const fn index_fields() -> [[[Option<Field>; FieldId::ALL.len()]; Encoding::ALL.len()]; Target::COUNT] {
    let mut index = [[[None; FieldId::ALL.len()]; Encoding::ALL.len()]; Target::COUNT];
    let mut target = 0;
    while target < Target::COUNT {
        let mut encoding = 0;
        while encoding < Encoding::ALL.len() {
            let fields = Encoding::ALL[encoding].fields();
            let mut i = 0;
            while i < fields.len() {
                if fields[i].targets.contains(Target::ALL[target]) {
                    index[target][encoding][fields[i].id as usize] = Some(fields[i]);
                }
                i += 1;
            }
            encoding += 1;
        }
        target += 1;
    }
    index
}

/// The field of each operand: by encoding and role.
static FIELDS_OF: [[Option<FieldId>; Role::ALL.len()]; Encoding::ALL.len()] = index_roles();

const fn index_roles() -> [[Option<FieldId>; Role::ALL.len()]; Encoding::ALL.len()] {
    let mut index = [[None; Role::ALL.len()]; Encoding::ALL.len()];
    let mut encoding = 0;
    while encoding < Encoding::ALL.len() {
        let mut role = 0;
        while role < Role::ALL.len() {
            index[encoding][role] = Encoding::ALL[encoding].find_field_of(Role::ALL[role]);
            role += 1;
        }
        encoding += 1;
    }
    index
}

impl Encoding {
    /// Whether the form selects parts of its registers (SDWA).
    pub const fn is_sdwa(self) -> bool {
        matches!(self, Encoding::Vop1Sdwa | Encoding::Vop2Sdwa | Encoding::VopcSdwa)
    }

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
    #[inline]
    pub const fn field(self, target: Target, id: FieldId) -> Option<Field> {
        FIELDS[target as usize][self as usize][id as usize]
    }

    /// The size in bytes, without the literal that a source operand may add.
    #[inline]
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

    /// Further constant bits besides the `encoding` field, as (mask, value): the marker in SRC0 of
    /// SDWA and DPP forms, and the second half of the scaled matrix pair.
    pub const fn marker(self) -> (u128, u128) {
        use Encoding::*;
        match self {
            Vop1Sdwa | Vop2Sdwa | VopcSdwa => (0x1FF, SRC_SDWA as u128),
            Vop1Dpp | Vop2Dpp => (0x1FF, SRC_DPP as u128),
            MaiScaled => (0x1FF << 87, 0b1_1010_0111 << 87),
            _ => (0, 0),
        }
    }

    /// The field that holds the operand `role`, if the word has it.
    #[inline]
    pub const fn field_of(self, role: Role) -> Option<FieldId> {
        FIELDS_OF[self as usize][role as usize]
    }

    const fn find_field_of(self, role: Role) -> Option<FieldId> {
        use Encoding::*;
        use FieldId as F;
        use Role as R;
        Some(match (role, self) {
            (R::Vdst, _) => F::Vdst,
            // Scalar results of vector instructions are in VDST unless the encoding has a field for
            // them. The 32-bit forms write VCC implicitly.
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
    /// The number of bits of the opcode field, which gives the size of the opcode space.
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
    /// An opcode space: where the decoder looks up an opcode once the constant bits identify the encoding.
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
