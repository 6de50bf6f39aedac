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

/// Lists fields: name, first bit and width of each part, and the default if it is not zero.
macro_rules! fields {
    ($($id:ident $(@ $lo:literal + $width:literal)+ $(= $default:literal)?;)*) => {
        &[$(Field {
            id: FieldId::$id,
            parts: &[$(($lo, $width)),+],
            default: 0 $(+ $default)?,
        }),*]
    };
}

const CF: &[Field] = fields! {
    Addr @ 0 + 24; JumptableSel @ 24 + 3; Reserved0 @ 27 + 5;
    PopCount @ 32 + 3; CfConst @ 35 + 5; Cond @ 40 + 2; Count @ 42 + 6; Reserved1 @ 48 + 4; ValidPixelMode @ 52 + 1;
    EndOfProgram @ 53 + 1; CfInst @ 54 + 8; Reserved2 @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const CF_ALU: &[Field] = fields! {
    Addr @ 0 + 22; KcacheBank0 @ 22 + 4; KcacheBank1 @ 26 + 4; KcacheMode0 @ 30 + 2;
    KcacheMode1 @ 32 + 2; KcacheAddr0 @ 34 + 8; KcacheAddr1 @ 42 + 8; Count @ 50 + 7; AltConst @ 57 + 1; CfInst @ 58 + 4;
    WholeQuadMode @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const RAT: &[Field] = fields! {
    RatId @ 0 + 4; RatInst @ 4 + 6; Reserved0 @ 10 + 1; RatIndexMode @ 11 + 2; Type @ 13 + 2 = 1; RwGpr @ 15 + 7;
    RwRel @ 22 + 1; IndexGpr @ 23 + 7; ElemSize @ 30 + 2;
    ArraySize @ 32 + 12; CompMask @ 44 + 4 = 15; BurstCount @ 48 + 4; ValidPixelMode @ 52 + 1; EndOfProgram @ 53 + 1;
    CfInst @ 54 + 8; Mark @ 62 + 1; Barrier @ 63 + 1 = 1;
};

const OP2: &[Field] = fields! {
    Src0Sel @ 0 + 9; Src0Rel @ 9 + 1; Src0Chan @ 10 + 2; Src0Neg @ 12 + 1;
    Src1Sel @ 13 + 9; Src1Rel @ 22 + 1; Src1Chan @ 23 + 2; Src1Neg @ 25 + 1;
    IndexMode @ 26 + 3; PredSel @ 29 + 2; Last @ 31 + 1;
    Src0Abs @ 32 + 1; Src1Abs @ 33 + 1; UpdateExecMask @ 34 + 1; UpdatePred @ 35 + 1; WriteMask @ 36 + 1 = 1; Omod @ 37 + 2;
    AluInst @ 39 + 11; BankSwizzle @ 50 + 3; DstGpr @ 53 + 7; DstRel @ 60 + 1; DstChan @ 61 + 2; Clamp @ 63 + 1;
};

const OP3: &[Field] = fields! {
    Src0Sel @ 0 + 9; Src0Rel @ 9 + 1; Src0Chan @ 10 + 2; Src0Neg @ 12 + 1;
    Src1Sel @ 13 + 9; Src1Rel @ 22 + 1; Src1Chan @ 23 + 2; Src1Neg @ 25 + 1;
    IndexMode @ 26 + 3; PredSel @ 29 + 2; Last @ 31 + 1;
    Src2Sel @ 32 + 9; Src2Rel @ 41 + 1; Src2Chan @ 42 + 2; Src2Neg @ 44 + 1;
    AluInst @ 45 + 5; BankSwizzle @ 50 + 3; DstGpr @ 53 + 7; DstRel @ 60 + 1; DstChan @ 61 + 2; Clamp @ 63 + 1;
};

// The offset bits take the positions of the modifiers of other slots. The manual's caption of bit
// 44 says "bit 4", but it is bit 1.
const LDS: &[Field] = fields! {
    Src0Sel @ 0 + 9; Src0Rel @ 9 + 1; Src0Chan @ 10 + 2;
    Src1Sel @ 13 + 9; Src1Rel @ 22 + 1; Src1Chan @ 23 + 2;
    IndexMode @ 26 + 3; PredSel @ 29 + 2; Last @ 31 + 1;
    Src2Sel @ 32 + 9; Src2Rel @ 41 + 1; Src2Chan @ 42 + 2;
    AluInst @ 45 + 5; BankSwizzle @ 50 + 3; LdsOp @ 53 + 6; DstChan @ 61 + 2;
    IdxOffset @ 59 + 1 @ 44 + 1 @ 60 + 1 @ 63 + 1 @ 12 + 1 @ 25 + 1;
};

const VTX: &[Field] = fields! {
    VcInst @ 0 + 5; FetchType @ 5 + 2 = 2; FetchWholeQuad @ 7 + 1; BufferId @ 8 + 8; SrcGpr @ 16 + 7; SrcRel @ 23 + 1;
    SrcSelX @ 24 + 2; SrcSelY @ 26 + 2; StructuredRead @ 28 + 2; LdsReq @ 30 + 1; CoalescedRead @ 31 + 1;
    DstGpr @ 32 + 7; DstRel @ 39 + 1; Reserved0 @ 40 + 1; DstSelX @ 41 + 3; DstSelY @ 44 + 3; DstSelZ @ 47 + 3;
    DstSelW @ 50 + 3; UseConstFields @ 53 + 1; DataFormat @ 54 + 6; NumFormatAll @ 60 + 2 = 1; FormatCompAll @ 62 + 1;
    SrfModeAll @ 63 + 1;
    Offset @ 64 + 16; EndianSwap @ 80 + 2; ConstBufNoStride @ 82 + 1; Reserved1 @ 83 + 1; AltConst @ 84 + 1;
    BufferIndexMode @ 85 + 2; Reserved2 @ 87 + 9;
    Padding @ 96 + 32;
};

impl Format {
    /// The fields; together they cover every bit of a word exactly once.
    pub const fn fields(self) -> &'static [Field] {
        match self {
            Format::Cf => CF,
            Format::CfAlu => CF_ALU,
            Format::Rat => RAT,
            Format::Op2 => OP2,
            Format::Op3 => OP3,
            Format::Lds => LDS,
            Format::Vtx => VTX,
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
