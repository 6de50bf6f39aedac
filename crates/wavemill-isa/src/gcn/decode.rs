//! Bytes to instructions. The decoder is total: any bytes of any length give an instruction or an
//! error, without allocation.

use super::encoding::{Encoding, FieldId, SRC_DPP, SRC_SDWA, Space};
use super::inst::Inst;
use super::operand::Operand;
use super::resolve::Words;
use super::row::{CODE_SETS, FORMS, NO_FORM, OPCODES, Op, OperandSpec, WINDOW_BITS};
use super::vocabulary::{Elem, Role};
use crate::target::Target;
use core::fmt;

/// Why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end inside an instruction.
    Truncated {
        /// How many bytes are needed at least.
        needed: usize,
    },
    /// The first dword is not the beginning of any instruction of the target.
    Unknown {
        /// The first dword.
        word: u32,
    },
    /// The opcode is an instruction, but a field holds a value that the instruction does not allow.
    Illegal {
        /// The instruction that the opcode names.
        op: Op,
        /// The first field at fault.
        field: FieldId,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Truncated { needed } => write!(f, "truncated instruction: {needed} bytes needed"),
            DecodeError::Unknown { word } => write!(f, "unknown instruction word {word:#010x}"),
            DecodeError::Illegal { op, field } => write!(f, "illegal {} field in {op}", field.name()),
        }
    }
}

impl core::error::Error for DecodeError {}

fn read_word(bytes: &[u8], index: usize) -> Option<u32> {
    let chunk = bytes.get(index * 4..index * 4 + 4)?;
    Some(u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]))
}

/// The facts in the highest nine bits of the first dword: the opcode space, the size in bytes
/// unless later bits change it, and the position of the opcode.
#[derive(Clone, Copy)]
struct Head {
    space: Space,
    size: u8,
    lo: u8,
    mask: u16,
}

/// Indexed by the highest nine bits of the first dword.
static HEADS: [Option<Head>; 1 << HEAD_BITS] = heads();
const HEAD_BITS: u32 = 9;

const fn heads() -> [Option<Head>; 1 << HEAD_BITS] {
    let mut all = [None; 1 << HEAD_BITS];
    let mut high = 0;
    while high < all.len() {
        all[high] = head((high as u32) << (32 - HEAD_BITS));
        high += 1;
    }
    all
}

const fn head(word: u32) -> Option<Head> {
    const fn field(word: u32, lo: u32, width: u32) -> u32 {
        word >> lo & ((1 << width) - 1)
    }
    /// The head of an encoding. Its opcode field decides the rest.
    const fn at(space: Space, encoding: Encoding) -> Option<Head> {
        let fields = encoding.fields();
        let mut head = Head { space, size: encoding.bytes(), lo: 0, mask: 0 };
        let mut index = 0;
        while index < fields.len() {
            if matches!(fields[index].id, FieldId::Op) {
                (head.lo, head.mask) = (fields[index].lo, (1 << fields[index].width) - 1);
            }
            index += 1;
        }
        Some(head)
    }
    use Encoding as E;
    if word >> 31 == 0 {
        return match field(word, 25, 6) {
            0x3F => at(Space::Vop1, E::Vop1),
            0x3E => at(Space::Vopc, E::Vopc),
            _ => at(Space::Vop2, E::Vop2),
        };
    }
    if word >> 30 == 0b10 {
        return match field(word, 23, 7) {
            0x7D => at(Space::Sop1, E::Sop1),
            0x7E => at(Space::Sopc, E::Sopc),
            0x7F => at(Space::Sopp, E::Sopp),
            0x60.. => at(Space::Sopk, E::Sopk),
            _ => at(Space::Sop2, E::Sop2),
        };
    }
    match field(word, 26, 6) {
        0b11_0000 => at(Space::Smem, E::Smem),
        0b11_0001 => at(Space::Exp, E::Exp),
        0b11_0100 if field(word, 23, 3) == 7 => at(Space::Vop3p, E::Vop3p),
        0b11_0100 => at(Space::Vop3, E::Vop3a),
        0b11_0101 => at(Space::Vintrp, E::Vintrp),
        0b11_0110 => at(Space::Ds, E::Ds),
        // The segment decides between the three.
        0b11_0111 => at(Space::Flat, E::Flat),
        0b11_1000 => at(Space::Mubuf, E::Mubuf),
        0b11_1010 => at(Space::Mtbuf, E::Mtbuf),
        0b11_1100 => at(Space::Mimg, E::Mimg),
        _ => None,
    }
}

/// The opcode space and opcode that the first dword names.
#[inline(always)]
fn classify(word: u32, head: Head) -> Option<(Space, u32)> {
    let code = word >> head.lo & u32::from(head.mask);
    let mut space = head.space;
    if space == Space::Flat {
        const SEGMENTS: [Option<Space>; 4] =
            [Some(Space::Flat), Some(Space::Scratch), Some(Space::Global), None];
        space = SEGMENTS[(word >> 14 & 3) as usize]?;
    }
    let src0 = word & 0x1FF;
    if word >> 31 == 0 && matches!(src0, SRC_SDWA | SRC_DPP) {
        space = match (space, src0) {
            (Space::Vop1, SRC_SDWA) => Space::Vop1Sdwa,
            (Space::Vopc, SRC_SDWA) => Space::VopcSdwa,
            (_, SRC_SDWA) => Space::Vop2Sdwa,
            (Space::Vop1, _) => Space::Vop1Dpp,
            (Space::Vopc, _) => return None,
            _ => Space::Vop2Dpp,
        };
    }
    Some((space, code))
}

#[inline(always)]
fn lookup(target: Target, space: Space, code: u32) -> Option<u16> {
    let table = OPCODES[target.index()][space as usize];
    table.get(code as usize).copied().filter(|&form| form != NO_FORM)
}

/// The head of the instruction that begins with `word`.
#[inline(always)]
fn head_of(word: u32) -> Option<Head> {
    HEADS[(word >> (32 - HEAD_BITS)) as usize]
}

/// Decodes an instance that the windows show to be legal and without a literal, as most are.
/// Returns `None` for all others, legal or not.
#[inline(always)]
fn decode_plain(target: Target, bytes: &[u8]) -> Option<Inst> {
    let words = u64::from_le_bytes(*bytes.first_chunk()?);
    let word = words as u32;
    let head = head_of(word)?;
    let (space, code) = classify(word, head)?;
    let index = lookup(target, space, code)?;
    let inst = plain_form(target, index, words)?;
    // The size comes from the head: it is known first, and the next instruction waits for it.
    (inst.size == head.size && word >> 16 != SCALED).then_some(Inst { size: head.size, ..inst })
}

/// The instance of a form in these words, if the windows show it to be legal and without a literal.
#[inline(always)]
pub(super) fn plain_form(target: Target, index: u16, words: u64) -> Option<Inst> {
    let form = &FORMS[usize::from(index)];
    let size = form.encoding.bytes();
    let words = if size == 4 { words & u64::from(u32::MAX) } else { words };
    let mut plain = words & form.fixed as u64 == form.value as u64;
    for window in form.windows {
        let shown = (words >> (window.lo & 63)) as usize & ((1 << WINDOW_BITS) - 1);
        plain &= CODE_SETS[shown] >> (window.set & 63) & 1 != 0;
    }
    if !plain {
        return None;
    }
    Some(Inst { words: [words as u32, (words >> 32) as u32, 0, 0], form: index, target, size })
}

/// Decodes the instruction at the start of `bytes`.
///
/// # Errors
///
/// [`DecodeError`] distinguishes bytes that end too early, words that are not an instruction of the
/// target, and instructions with an illegal field.
#[inline]
pub fn decode(target: Target, bytes: &[u8]) -> Result<Inst, DecodeError> {
    match decode_plain(target, bytes) {
        Some(inst) => Ok(inst),
        None => decode_any(target, bytes),
    }
}

/// The high half of the first dword of the scaled matrix pair.
const SCALED: u32 = Encoding::MaiScaled.encoding_bits();

/// Decodes any instance, field by field.
#[cold]
#[inline(never)]
fn decode_any(target: Target, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let word = read_word(bytes, 0).ok_or(DecodeError::Truncated { needed: 4 })?;
    if word >> 16 == SCALED
        && let Some(scaled) = decode_scaled(target, bytes)
    {
        return Ok(scaled);
    }
    let unknown = DecodeError::Unknown { word };
    let (space, code) = head_of(word).and_then(|head| classify(word, head)).ok_or(unknown)?;
    let result = match lookup(target, space, code) {
        Some(form) => decode_form(target, form, bytes),
        None => Err(unknown),
    };
    if result.is_err()
        && matches!(space, Space::Vop1Sdwa | Space::Vop1Dpp)
        && let Some(plain) = lookup(target, Space::Vop1, code)
        && FORMS[usize::from(plain)].op.row().operand(Role::Src0).is_none()
    {
        // Without a source operand, SRC0 has no meaning.
        return decode_form(target, plain, bytes);
    }
    result
}

/// The scaled matrix pair, if the bytes hold one. The first half alone is an instruction too.
fn decode_scaled(target: Target, bytes: &[u8]) -> Option<Inst> {
    let second = read_word(bytes, 2)?;
    let form = lookup(target, Space::MaiScaled, second >> 16 & 0x7F)?;
    decode_form(target, form, bytes).ok()
}

pub(super) fn decode_form(target: Target, index: u16, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let form = &FORMS[usize::from(index)];
    let base = usize::from(form.encoding.bytes());
    if bytes.len() < base {
        return Err(DecodeError::Truncated { needed: base });
    }
    let mut words = [0u32; 4];
    // Words beyond the encoding matter only if an operand needs a literal.
    for (index, word) in words[..base / 4].iter_mut().enumerate() {
        *word = read_word(bytes, index).unwrap_or(0);
    }
    let illegal = |field| DecodeError::Illegal { op: form.op, field };
    let all = words.iter().rev().fold(0u128, |all, &word| all << 32 | u128::from(word));
    if all & form.fixed != form.value {
        return Err(illegal(field_at(target, form.encoding, (all & form.fixed) ^ form.value)));
    }
    let view = Words { target, form, words: &words };
    if let Some(field) = reserved_combination(&view) {
        return Err(illegal(field));
    }
    let mut literal = false;
    let operands = form.op.row().operands;
    let mut checks = form.checks;
    while checks != 0 {
        let spec = &operands[checks.trailing_zeros() as usize];
        checks &= checks - 1;
        if let Some(Operand::Literal(_)) = view.operand(spec).map_err(illegal)? {
            literal |= form.encoding != Encoding::Vop2Literal && spec.role != Role::Literal;
        }
    }
    let mut size = base;
    if literal {
        size += 4;
        words[base / 4] = read_word(bytes, base / 4).ok_or(DecodeError::Truncated { needed: size })?;
    }
    Ok(Inst { words, form: index, target, size: size as u8 })
}

/// Whether a DPP permutation exists (Vega ISA 13.3.9). CDNA 2 adds the broadcast of a lane in each
/// row, which is the only permutation of 64-bit operands (CDNA3 ISA 13.3.9).
fn dpp_ctrl_exists(view: &Words<'_>, ctrl: u32) -> bool {
    let operands = view.form.op.row().operands;
    let wide = |spec: &OperandSpec| spec.ty.bits() == 64 && spec.ty.elem != Elem::Mask;
    if operands.is_empty() {
        return true;
    }
    match ctrl {
        0x150..=0x15F => view.target.facts().row_newbcast,
        _ if operands.iter().any(wide) => false,
        0..=0xFF | 0x101..=0x10F | 0x111..=0x11F | 0x121..=0x12F => true,
        0x130 | 0x134 | 0x138 | 0x13C | 0x140..=0x143 => true,
        _ => false,
    }
}

/// The field at fault if fields that are legal on their own hold reserved codes or conflict.
fn reserved_combination(view: &Words<'_>) -> Option<FieldId> {
    let used = |id| {
        view.form.encoding.field(view.target, id).is_some_and(|field| view.form.used & field.mask() != 0)
    };
    match view.form.encoding {
        Encoding::Vop1Sdwa | Encoding::Vop2Sdwa | Encoding::VopcSdwa => {
            let reserved =
                [(FieldId::DstSel, 7), (FieldId::DstUnused, 3), (FieldId::Src0Sel, 7), (FieldId::Src1Sel, 7)];
            reserved.into_iter().find(|&(id, code)| used(id) && view.get(id) == code).map(|(id, _)| id)
        }
        Encoding::Vop1Dpp | Encoding::Vop2Dpp => {
            (!dpp_ctrl_exists(view, view.get(FieldId::DppCtrl))).then_some(FieldId::DppCtrl)
        }
        // Loads to LDS have no data registers (Vega ISA 8.1.9).
        Encoding::Mubuf | Encoding::Flat if view.moves_to_lds() => {
            [FieldId::Tfe, FieldId::Acc].into_iter().find(|&id| view.bit(id))
        }
        _ => None,
    }
}

/// The field that holds the lowest bit of `bits`.
fn field_at(target: Target, encoding: Encoding, bits: u128) -> FieldId {
    let lowest = bits & bits.wrapping_neg();
    encoding
        .fields()
        .iter()
        .find(|field| field.targets.contains(target) && field.mask() & lowest != 0)
        .map_or(FieldId::Encoding, |field| field.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A deterministic sequence of numbers that look random.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            self.0 ^ self.0 >> 29
        }
    }

    /// For every form, tries each code in each window, with random bits elsewhere. The quick check
    /// agrees with the decoder that goes field by field, and it accepts most legal instances.
    #[test]
    fn what_is_plain_at_a_glance_is_right() {
        let mut numbers = Numbers(1);
        let (mut legal, mut plain) = (0u32, 0u32);
        for form in &FORMS {
            let free = !form.fixed as u64;
            for target in form.targets.iter() {
                for window in form.windows {
                    for code in 0..1u64 << WINDOW_BITS {
                        let code_bits = ((1 << WINDOW_BITS) - 1) << window.lo;
                        let mut bits = numbers.next() & !code_bits | code << window.lo;
                        if code & 1 == 0 {
                            // Operands from v0 on, so that the other windows are legal more often.
                            bits |= numbers.next() & 0x0101_0101_0101_0101;
                        }
                        let bits = bits & free | form.value as u64;
                        let bytes = bits.to_le_bytes();
                        let closely = decode_any(target, &bytes);
                        legal += u32::from(closely.is_ok());
                        if let Some(inst) = decode_plain(target, &bytes) {
                            plain += 1;
                            assert_eq!(closely, Ok(inst), "{bits:#018x} on {target}");
                        }
                    }
                }
            }
        }
        assert!(plain > legal / 2, "{plain} of {legal} legal instances are plain");
    }
}
