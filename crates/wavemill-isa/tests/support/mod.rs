//! Machine words for the tests: every value of every opcode field with fillings of the rest.

use wavemill_isa::Target;
use wavemill_isa::gcn::{Encoding, FieldId, Space};
use wavemill_oracle::{Filler, Span};

/// The encoding whose fields are filled, and constant bits beyond its own (mask, value).
fn layout(space: Space) -> (Encoding, u128, u128) {
    const SEG: u128 = 3 << 14;
    match space {
        Space::Sop2 => (Encoding::Sop2, 0, 0),
        Space::Sop1 => (Encoding::Sop1, 0, 0),
        Space::Sopc => (Encoding::Sopc, 0, 0),
        Space::Sopk => (Encoding::Sopk, 0, 0),
        Space::Sopp => (Encoding::Sopp, 0, 0),
        Space::Smem => (Encoding::Smem, 0, 0),
        Space::Vop2 => (Encoding::Vop2, 0, 0),
        Space::Vop2Sdwa => (Encoding::Vop2Sdwa, 0, 0),
        Space::Vop2Dpp => (Encoding::Vop2Dpp, 0, 0),
        Space::Vop1 => (Encoding::Vop1, 0, 0),
        Space::Vop1Sdwa => (Encoding::Vop1Sdwa, 0, 0),
        Space::Vop1Dpp => (Encoding::Vop1Dpp, 0, 0),
        Space::Vopc => (Encoding::Vopc, 0, 0),
        Space::VopcSdwa => (Encoding::VopcSdwa, 0, 0),
        Space::Vop3 => (Encoding::Vop3a, 0, 0),
        Space::Vop3p => (Encoding::Vop3p, 0, 0),
        Space::MaiScaled => (Encoding::MaiScaled, 0, 0),
        Space::Vintrp => (Encoding::Vintrp, 0, 0),
        Space::Ds => (Encoding::Ds, 0, 0),
        Space::Mubuf => (Encoding::Mubuf, 0, 0),
        Space::Mtbuf => (Encoding::Mtbuf, 0, 0),
        Space::Mimg => (Encoding::Mimg, 0, 0),
        Space::Flat => (Encoding::Flat, SEG, 0),
        Space::Scratch => (Encoding::Flat, SEG, 1 << 14),
        Space::Global => (Encoding::Flat, SEG, 2 << 14),
        Space::Exp => (Encoding::Exp, 0, 0),
    }
}

/// `count` words for each value of the opcode field of `space`, the other fields filled.
pub(crate) fn words(target: Target, space: Space, count: usize, filler: &mut Filler) -> Vec<[u8; 16]> {
    let (encoding, mut mask, mut value) = layout(space);
    mask |= encoding.marker().0;
    value |= encoding.marker().1;
    let fields: Vec<_> = encoding.fields().iter().filter(|field| field.targets.contains(target)).collect();
    let spans: Vec<_> = fields.iter().map(|field| Span { lo: field.lo, width: field.width }).collect();
    let mut words = Vec::new();
    let opcode = fields.iter().find(|field| field.id == FieldId::Op);
    for code in 0..1u128 << opcode.map_or(0, |field| field.width) {
        let mut mask = mask;
        let mut value = value;
        for field in &fields {
            let constant = match field.id {
                FieldId::Op => code,
                FieldId::Encoding => encoding.encoding_bits().into(),
                _ => continue,
            };
            mask |= field.mask();
            value |= constant << field.lo;
        }
        words.extend((0..count).map(|_| filler.fill(value, mask, &spans)));
    }
    words
}
