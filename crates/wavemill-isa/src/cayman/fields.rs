//! The position of each field in each format (HD 6900 ISA 9).

use super::vocabulary::{FieldId, Format};

/// A field: bits of a word that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub id: FieldId,
    /// First bit and width of each part, lowest part first.
    pub parts: &'static [(u8, u8)],
    /// The value in an instruction whose text does not give one.
    pub default: u32,
    /// Whether the field always has this value: words with another one are not of this format.
    pub fixed: bool,
}

impl Field {
    /// The total number of bits.
    pub const fn width(&self) -> u32 {
        let (mut width, mut part) = (0, 0);
        while part < self.parts.len() {
            width += self.parts[part].1 as u32;
            part += 1;
        }
        width
    }

    /// The largest value.
    pub const fn max(&self) -> u32 {
        u32::MAX >> (32 - self.width())
    }

    /// The value in a word.
    pub const fn get(&self, word: u128) -> u32 {
        let (mut value, mut shift, mut part) = (0, 0, 0);
        while part < self.parts.len() {
            let (lo, width) = self.parts[part];
            value |= ((word >> lo) as u32 & (u32::MAX >> (32 - width as u32))) << shift;
            shift += width as u32;
            part += 1;
        }
        value
    }

    /// The word with the low bits of `value` in the field.
    pub const fn set(&self, word: u128, value: u32) -> u128 {
        let (mut word, mut value, mut part) = (word, value as u128, 0);
        while part < self.parts.len() {
            let (lo, width) = self.parts[part];
            let mask = (1u128 << width) - 1;
            word = word & !(mask << lo) | (value & mask) << lo;
            value >>= width;
            part += 1;
        }
        word
    }
}

/// Lists fields: name, first bit and width of each part, and the default if it is not zero. `== value`
/// stands for a default that is the only value.
macro_rules! fields {
    ($($id:ident $(@ $lo:literal + $width:literal)+ $(= $default:literal)? $(== $fixed:literal)?;)*) => {
        &[$(Field {
            id: FieldId::$id,
            parts: &[$(($lo, $width)),+],
            default: 0 $(+ $default)? $(+ $fixed)?,
            fixed: fields!(@fixed $($fixed)?),
        }),*]
    };
    (@fixed) => { false };
    (@fixed $value:literal) => { true };
}

/// The fields of a format: those of its words.
macro_rules! layout {
    ($($word:ident),+) => {{
        const WORDS: &[&[Field]] = &[$($word),+];
        const ALL: [Field; count(WORDS)] = join(WORDS);
        &ALL
    }};
}

const fn count(words: &[&[Field]]) -> usize {
    let (mut count, mut word) = (0, 0);
    while word < words.len() {
        count += words[word].len();
        word += 1;
    }
    count
}

const fn join<const COUNT: usize>(words: &[&[Field]]) -> [Field; COUNT] {
    let mut all = [words[0][0]; COUNT];
    let (mut at, mut word) = (0, 0);
    while word < words.len() {
        let mut field = 0;
        while field < words[word].len() {
            all[at] = words[word][field];
            at += 1;
            field += 1;
        }
        word += 1;
    }
    all
}

// The words have the manual's names. Positions count from the start of the instruction.

const CF_WORD0: &[Field] = fields! {
    Addr @ 0 + 24; JumptableSel @ 24 + 3; Reserved0 @ 27 + 5;
};

const CF_GWS_WORD0: &[Field] = fields! {
    Value @ 0 + 10; Reserved0 @ 10 + 6; Resource @ 16 + 5; Reserved3 @ 21 + 4; Sign @ 25 + 1; ValIndexMode @ 26 + 2;
    RsrcIndexMode @ 28 + 2; GwsOpcode @ 30 + 2;
};

// Bit 53 is reserved in the manual's tables and END_OF_PROGRAM in its older diagrams. LLVM sets it.
const CF_WORD1: &[Field] = fields! {
    PopCount @ 32 + 3; CfConst @ 35 + 5; Cond @ 40 + 2; Count @ 42 + 6; Reserved1 @ 48 + 4; ValidPixelMode @ 52 + 1;
    EndOfProgram @ 53 + 1; CfInst @ 54 + 8; Reserved2 @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const CF_ALU_WORD0: &[Field] = fields! {
    Addr @ 0 + 22; KcacheBank0 @ 22 + 4; KcacheBank1 @ 26 + 4; KcacheMode0 @ 30 + 2;
};

const CF_ALU_WORD1: &[Field] = fields! {
    KcacheMode1 @ 32 + 2; KcacheAddr0 @ 34 + 8; KcacheAddr1 @ 42 + 8; Count @ 50 + 7; AltConst @ 57 + 1; CfInst @ 58 + 4;
    WholeQuadMode @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const CF_ALU_WORD0_EXT: &[Field] = fields! {
    Reserved0 @ 0 + 4; KcacheBankIndexMode0 @ 4 + 2; KcacheBankIndexMode1 @ 6 + 2; KcacheBankIndexMode2 @ 8 + 2;
    KcacheBankIndexMode3 @ 10 + 2; Reserved1 @ 12 + 10; KcacheBank2 @ 22 + 4; KcacheBank3 @ 26 + 4; KcacheMode2 @ 30 + 2;
};

const CF_ALU_WORD1_EXT: &[Field] = fields! {
    KcacheMode3 @ 32 + 2; KcacheAddr2 @ 34 + 8; KcacheAddr3 @ 42 + 8; Reserved2 @ 50 + 8; CfInstExt @ 58 + 4;
    Reserved3 @ 62 + 1; BarrierExt @ 63 + 1 = 1;
};

/// CF_ALU_WORD0 and CF_ALU_WORD1 behind the words that extend them, 64 bits later.
const CF_ALU_BEHIND: &[Field] = {
    const COUNT: usize = count(&[CF_ALU_WORD0, CF_ALU_WORD1]);
    const FIELDS: [Field; COUNT] = join(&[CF_ALU_WORD0, CF_ALU_WORD1]);
    const PARTS: &[[(u8, u8); 1]; COUNT] = &{
        let mut parts = [[(0, 0)]; COUNT];
        let mut field = 0;
        while field < COUNT {
            // None of these fields has more than one part.
            assert!(FIELDS[field].parts.len() == 1);
            let (lo, width) = FIELDS[field].parts[0];
            parts[field] = [(lo + 64, width)];
            field += 1;
        }
        parts
    };
    const BEHIND: [Field; COUNT] = {
        let mut fields = FIELDS;
        let mut field = 0;
        while field < COUNT {
            fields[field].parts = &PARTS[field];
            field += 1;
        }
        fields
    };
    &BEHIND
};

const CF_ALLOC_EXPORT_WORD0: &[Field] = fields! {
    ArrayBase @ 0 + 13; Type @ 13 + 2; RwGpr @ 15 + 7; RwRel @ 22 + 1; IndexGpr @ 23 + 7; ElemSize @ 30 + 2;
};

const CF_ALLOC_EXPORT_WORD0_RAT: &[Field] = fields! {
    RatId @ 0 + 4; RatInst @ 4 + 6; Reserved0 @ 10 + 1; RatIndexMode @ 11 + 2; Type @ 13 + 2 = 1; RwGpr @ 15 + 7;
    RwRel @ 22 + 1; IndexGpr @ 23 + 7; ElemSize @ 30 + 2;
};

const CF_ALLOC_EXPORT_WORD1_BUF: &[Field] = fields! {
    ArraySize @ 32 + 12; CompMask @ 44 + 4 = 15; BurstCount @ 48 + 4; ValidPixelMode @ 52 + 1; EndOfProgram @ 53 + 1;
    CfInst @ 54 + 8; Mark @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const CF_ALLOC_EXPORT_WORD1_SWIZ: &[Field] = fields! {
    SelX @ 32 + 3; SelY @ 35 + 3 = 1; SelZ @ 38 + 3 = 2; SelW @ 41 + 3 = 3; Reserved0 @ 44 + 4; BurstCount @ 48 + 4;
    ValidPixelMode @ 52 + 1; EndOfProgram @ 53 + 1; CfInst @ 54 + 8; Mark @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const ALU_WORD0: &[Field] = fields! {
    Src0Sel @ 0 + 9; Src0Rel @ 9 + 1; Src0Chan @ 10 + 2; Src0Neg @ 12 + 1;
    Src1Sel @ 13 + 9; Src1Rel @ 22 + 1; Src1Chan @ 23 + 2; Src1Neg @ 25 + 1;
    IndexMode @ 26 + 3; PredSel @ 29 + 2; Last @ 31 + 1;
};

// A page of the manual gives ALU_INST as 10 bits. Its top three bits are zero, so both are the same.
const ALU_WORD1_OP2: &[Field] = fields! {
    Src0Abs @ 32 + 1; Src1Abs @ 33 + 1; UpdateExecMask @ 34 + 1; UpdatePred @ 35 + 1; WriteMask @ 36 + 1 = 1; Omod @ 37 + 2;
    AluInst @ 39 + 11; BankSwizzle @ 50 + 3; DstGpr @ 53 + 7; DstRel @ 60 + 1; DstChan @ 61 + 2; Clamp @ 63 + 1;
};

const ALU_WORD1_OP2_MOVA: &[Field] = fields! {
    Src0Abs @ 32 + 1; Src1Abs @ 33 + 1; UpdateExecMask @ 34 + 1; UpdatePred @ 35 + 1; WriteMask @ 36 + 1; Omod @ 37 + 2;
    AluInst @ 39 + 11; BankSwizzle @ 50 + 3; MovaDst @ 53 + 7; DstRel @ 60 + 1; DstChan @ 61 + 2; Clamp @ 63 + 1;
};

const ALU_WORD1_OP2_EXECUTE_MASK: &[Field] = fields! {
    Src0Abs @ 32 + 1; Src1Abs @ 33 + 1; UpdateExecMask @ 34 + 1 = 1; UpdatePred @ 35 + 1; WriteMask @ 36 + 1 = 1;
    ExecuteMaskOp @ 37 + 2; AluInst @ 39 + 11; BankSwizzle @ 50 + 3; DstGpr @ 53 + 7; DstRel @ 60 + 1; DstChan @ 61 + 2;
    Clamp @ 63 + 1;
};

const ALU_WORD1_OP3: &[Field] = fields! {
    Src2Sel @ 32 + 9; Src2Rel @ 41 + 1; Src2Chan @ 42 + 2; Src2Neg @ 44 + 1;
    AluInst @ 45 + 5; BankSwizzle @ 50 + 3; DstGpr @ 53 + 7; DstRel @ 60 + 1; DstChan @ 61 + 2; Clamp @ 63 + 1;
};

// ALU_WORD0_LDS_IDX_OP and ALU_WORD1_LDS_IDX_OP share the offset. Its bits take the positions of the
// modifiers of other slots. The manual's caption of bit 44 says "bit 4", but it is bit 1.
const ALU_LDS_IDX_OP: &[Field] = fields! {
    Src0Sel @ 0 + 9; Src0Rel @ 9 + 1; Src0Chan @ 10 + 2;
    Src1Sel @ 13 + 9; Src1Rel @ 22 + 1; Src1Chan @ 23 + 2;
    IndexMode @ 26 + 3; PredSel @ 29 + 2; Last @ 31 + 1;
    Src2Sel @ 32 + 9; Src2Rel @ 41 + 1; Src2Chan @ 42 + 2;
    AluInst @ 45 + 5; BankSwizzle @ 50 + 3; LdsOp @ 53 + 6; DstChan @ 61 + 2;
    IdxOffset @ 59 + 1 @ 44 + 1 @ 60 + 1 @ 63 + 1 @ 12 + 1 @ 25 + 1;
};

const LDS_DIRECT_LITERAL_LO: &[Field] = fields! {
    OffsetA @ 0 + 13; StrideA @ 13 + 7; Reserved0 @ 20 + 2; ThreadRelA @ 22 + 1; Reserved1 @ 23 + 9;
};

const LDS_DIRECT_LITERAL_HI: &[Field] = fields! {
    OffsetB @ 32 + 13; StrideB @ 45 + 7; Reserved2 @ 52 + 2; ThreadRelB @ 54 + 1; Reserved3 @ 55 + 8; DirectRead32 @ 63 + 1;
};

const VTX_WORD0: &[Field] = fields! {
    VcInst @ 0 + 5; FetchType @ 5 + 2 = 2; FetchWholeQuad @ 7 + 1; BufferId @ 8 + 8; SrcGpr @ 16 + 7; SrcRel @ 23 + 1;
    SrcSelX @ 24 + 2; SrcSelY @ 26 + 2; StructuredRead @ 28 + 2; LdsReq @ 30 + 1; CoalescedRead @ 31 + 1;
};

const VTX_WORD1_GPR: &[Field] = fields! {
    DstGpr @ 32 + 7; DstRel @ 39 + 1; Reserved0 @ 40 + 1; DstSelX @ 41 + 3; DstSelY @ 44 + 3; DstSelZ @ 47 + 3;
    DstSelW @ 50 + 3; UseConstFields @ 53 + 1; DataFormat @ 54 + 6; NumFormatAll @ 60 + 2 = 1; FormatCompAll @ 62 + 1;
    SrfModeAll @ 63 + 1;
};

const VTX_WORD1_SEM: &[Field] = fields! {
    SemanticId @ 32 + 8; Reserved0 @ 40 + 1; DstSelX @ 41 + 3; DstSelY @ 44 + 3; DstSelZ @ 47 + 3;
    DstSelW @ 50 + 3; UseConstFields @ 53 + 1; DataFormat @ 54 + 6; NumFormatAll @ 60 + 2 = 1; FormatCompAll @ 62 + 1;
    SrfModeAll @ 63 + 1;
};

// The manual prints the last reserved field as 31:21, over BUFFER_INDEX_MODE at 22:21.
const VTX_WORD2: &[Field] = fields! {
    Offset @ 64 + 16; EndianSwap @ 80 + 2; ConstBufNoStride @ 82 + 1; Reserved1 @ 83 + 1; AltConst @ 84 + 1;
    BufferIndexMode @ 85 + 2; Reserved2 @ 87 + 9;
};

const TEX_WORD0: &[Field] = fields! {
    TexInst @ 0 + 5; InstMod @ 5 + 2; FetchWholeQuad @ 7 + 1; ResourceId @ 8 + 8; SrcGpr @ 16 + 7; SrcRel @ 23 + 1;
    AltConst @ 24 + 1; ResourceIndexMode @ 25 + 2; SamplerIndexMode @ 27 + 2; Reserved0 @ 29 + 3;
};

const TEX_WORD1: &[Field] = fields! {
    DstGpr @ 32 + 7; DstRel @ 39 + 1; Reserved1 @ 40 + 1; DstSelX @ 41 + 3; DstSelY @ 44 + 3 = 1; DstSelZ @ 47 + 3 = 2;
    DstSelW @ 50 + 3 = 3; LodBias @ 53 + 7; CoordTypeX @ 60 + 1; CoordTypeY @ 61 + 1; CoordTypeZ @ 62 + 1; CoordTypeW @ 63 + 1;
};

const TEX_WORD2: &[Field] = fields! {
    OffsetX @ 64 + 5; OffsetY @ 69 + 5; OffsetZ @ 74 + 5; SamplerId @ 79 + 5; SrcSelX @ 84 + 3; SrcSelY @ 87 + 3 = 1;
    SrcSelZ @ 90 + 3 = 2; SrcSelW @ 93 + 3 = 3;
};

const MEM_RD_WORD0: &[Field] = fields! {
    MemInst @ 0 + 5; ElemSize @ 5 + 2; FetchWholeQuad @ 7 + 1; MemOp @ 8 + 3; Uncached @ 11 + 1; Indexed @ 12 + 1;
    SrcSelY @ 13 + 2; Reserved0 @ 15 + 1; SrcGpr @ 16 + 7; SrcRel @ 23 + 1; SrcSelX @ 24 + 2; BurstCnt @ 26 + 4;
    LdsReq @ 30 + 1; CoalescedRead @ 31 + 1;
};

const MEM_RD_WORD1: &[Field] = fields! {
    DstGpr @ 32 + 7; DstRel @ 39 + 1; Reserved1 @ 40 + 1; DstSelX @ 41 + 3; DstSelY @ 44 + 3 = 1; DstSelZ @ 47 + 3 = 2;
    DstSelW @ 50 + 3 = 3; Reserved2 @ 53 + 1; DataFormat @ 54 + 6; NumFormatAll @ 60 + 2 = 1; FormatCompAll @ 62 + 1;
    SrfModeAll @ 63 + 1;
};

const MEM_RD_WORD2: &[Field] = fields! {
    ArrayBase @ 64 + 13; Reserved3 @ 77 + 3; EndianSwap @ 80 + 2; Reserved4 @ 82 + 2; ArraySize @ 84 + 12;
};

const MEM_GDS_WORD0: &[Field] = fields! {
    MemInst @ 0 + 5 == 2; Reserved0 @ 5 + 3; MemOp @ 8 + 3; SrcGpr @ 11 + 7; SrcRelMode @ 18 + 2; SrcSelX @ 20 + 3;
    SrcSelY @ 23 + 3; SrcSelZ @ 26 + 3; Reserved1 @ 29 + 3;
};

// The manual names bits 22:16 SRC_GPR, as it does bits 17:11 of MEM_GDS_WORD0, and describes them as
// an offset in dwords. The bits of UAV_INDEX_MODE are lost in its table; they are those of the diagram
// in 8.5.
const MEM_GDS_WORD1: &[Field] = fields! {
    DstGpr @ 32 + 7; DstRelMode @ 39 + 2; GdsOp @ 41 + 6; Reserved2 @ 47 + 1; GdsOffset @ 48 + 7; Reserved3 @ 55 + 1;
    UavIndexMode @ 56 + 2; UavId @ 58 + 4; AllocConsume @ 62 + 1; BcastFirstReq @ 63 + 1;
};

const MEM_GDS_WORD2: &[Field] = fields! {
    DstSelX @ 64 + 3; DstSelY @ 67 + 3 = 1; DstSelZ @ 70 + 3 = 2; DstSelW @ 73 + 3 = 3; Reserved4 @ 76 + 20;
};

/// The dword behind the three of a fetch.
const PADDING: &[Field] = fields! {
    Padding @ 96 + 32;
};

impl Format {
    /// The fields; together they cover every bit of a word exactly once.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Format::Cf => layout!(CF_WORD0, CF_WORD1),
            Format::Gws => layout!(CF_GWS_WORD0, CF_WORD1),
            Format::CfAlu => layout!(CF_ALU_WORD0, CF_ALU_WORD1),
            Format::CfAluExtended => layout!(CF_ALU_WORD0_EXT, CF_ALU_WORD1_EXT, CF_ALU_BEHIND),
            Format::ExportBuf => layout!(CF_ALLOC_EXPORT_WORD0, CF_ALLOC_EXPORT_WORD1_BUF),
            Format::ExportSwiz => layout!(CF_ALLOC_EXPORT_WORD0, CF_ALLOC_EXPORT_WORD1_SWIZ),
            Format::Rat => layout!(CF_ALLOC_EXPORT_WORD0_RAT, CF_ALLOC_EXPORT_WORD1_BUF),
            Format::Op2 => layout!(ALU_WORD0, ALU_WORD1_OP2),
            Format::Op2Mova => layout!(ALU_WORD0, ALU_WORD1_OP2_MOVA),
            Format::Op2ExecuteMask => layout!(ALU_WORD0, ALU_WORD1_OP2_EXECUTE_MASK),
            Format::Op3 => layout!(ALU_WORD0, ALU_WORD1_OP3),
            Format::Lds => layout!(ALU_LDS_IDX_OP),
            Format::LdsDirect => layout!(LDS_DIRECT_LITERAL_LO, LDS_DIRECT_LITERAL_HI),
            Format::Vtx => layout!(VTX_WORD0, VTX_WORD1_GPR, VTX_WORD2, PADDING),
            Format::VtxSemantic => layout!(VTX_WORD0, VTX_WORD1_SEM, VTX_WORD2, PADDING),
            Format::Tex => layout!(TEX_WORD0, TEX_WORD1, TEX_WORD2, PADDING),
            Format::MemRd => layout!(MEM_RD_WORD0, MEM_RD_WORD1, MEM_RD_WORD2, PADDING),
            Format::Gds | Format::TfWrite => layout!(MEM_GDS_WORD0, MEM_GDS_WORD1, MEM_GDS_WORD2, PADDING),
        }
    }

    /// The field with this name, if the format has it.
    pub fn field(self, id: FieldId) -> Option<&'static Field> {
        self.fields().iter().find(|field| field.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_every_bit_once() {
        for &format in Format::ALL {
            let mut seen = 0u128;
            for field in format.fields() {
                assert!(field.default <= field.max(), "{} of {}", field.id.name(), format.name());
                for &(lo, width) in field.parts {
                    let bits = ((1u128 << width) - 1) << lo;
                    assert_eq!(seen & bits, 0, "{} of {}", field.id.name(), format.name());
                    seen |= bits;
                }
            }
            assert_eq!(seen, u128::MAX >> (128 - 8 * format.bytes()), "{}", format.name());
        }
    }

    #[test]
    fn parts_of_a_field_are_put_together() {
        let offset = Format::Lds.field(FieldId::IdxOffset).expect("a field");
        assert_eq!((offset.width(), offset.max()), (6, 63));
        // IDX_OFFSET_4 and IDX_OFFSET_5 are bits 12 and 25 of ALU_WORD0_LDS_IDX_OP (HD 6900 ISA 9.2).
        assert_eq!(offset.set(0, 0b11_0000), 1 << 12 | 1 << 25);
        for value in 0..64 {
            assert_eq!(offset.get(offset.set(u128::MAX, value)), value);
        }
    }
}
