//! Bytes to instructions. Total: any bytes of any length give an instruction or an error, without allocation.

use super::encoding::{Encoding, FieldId, SRC_DPP, SRC_SDWA, Space};
use super::inst::Inst;
use super::operand::Operand;
use super::resolve::Words;
use super::row::{FORMS, NO_FORM, OPCODES, Op, OperandSpec};
use super::vocabulary::{Elem, Role};
use crate::target::Target;
use core::fmt;

/// Why bytes are no instruction.
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
    /// The opcode is an instruction, but a field holds something that the instruction does not allow.
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

/// The opcode space and opcode that the first dword names.
fn classify(word: u32) -> Option<(Space, u32)> {
    let field = |lo: u32, width: u32| word >> lo & ((1 << width) - 1);
    if word >> 31 == 0 {
        let src0 = field(0, 9);
        let (plain, sdwa, dpp, code) = match field(25, 6) {
            0x3F => (Space::Vop1, Space::Vop1Sdwa, Some(Space::Vop1Dpp), field(9, 8)),
            0x3E => (Space::Vopc, Space::VopcSdwa, None, field(17, 8)),
            code => (Space::Vop2, Space::Vop2Sdwa, Some(Space::Vop2Dpp), code),
        };
        return Some((
            match src0 {
                SRC_SDWA => sdwa,
                SRC_DPP => dpp?,
                _ => plain,
            },
            code,
        ));
    }
    if word >> 30 == 0b10 {
        return Some(match field(23, 7) {
            0x7D => (Space::Sop1, field(8, 8)),
            0x7E => (Space::Sopc, field(16, 7)),
            0x7F => (Space::Sopp, field(16, 7)),
            high if high >= 0x60 => (Space::Sopk, field(23, 5)),
            code => (Space::Sop2, code),
        });
    }
    Some(match field(26, 6) {
        0b11_0000 => (Space::Smem, field(18, 8)),
        0b11_0001 => (Space::Exp, 0),
        0b11_0100 if field(23, 3) == 7 => (Space::Vop3p, field(16, 7)),
        0b11_0100 => (Space::Vop3, field(16, 10)),
        0b11_0101 => (Space::Vintrp, field(16, 2)),
        0b11_0110 => (Space::Ds, field(17, 8)),
        0b11_0111 => match field(14, 2) {
            0 => (Space::Flat, field(18, 7)),
            1 => (Space::Scratch, field(18, 7)),
            2 => (Space::Global, field(18, 7)),
            _ => return None,
        },
        0b11_1000 => (Space::Mubuf, field(18, 7)),
        0b11_1010 => (Space::Mtbuf, field(15, 4)),
        0b11_1100 => (Space::Mimg, field(18, 7)),
        _ => return None,
    })
}

fn lookup(target: Target, space: Space, code: u32) -> Option<u16> {
    let table = OPCODES[target.index()][space as usize];
    table.get(code as usize).copied().filter(|&form| form != NO_FORM)
}

/// Decodes the instruction at the start of `bytes`.
///
/// # Errors
///
/// [`DecodeError`] tells bytes that end too early from words that are no instruction of the target and from
/// instructions with an illegal field.
pub fn decode(target: Target, bytes: &[u8]) -> Result<Inst, DecodeError> {
    let word = read_word(bytes, 0).ok_or(DecodeError::Truncated { needed: 4 })?;
    if word >> 16 == Encoding::MaiScaled.encoding_bits()
        && let Some(scaled) = decode_scaled(target, bytes)
    {
        return Ok(scaled);
    }
    let unknown = DecodeError::Unknown { word };
    let (space, code) = classify(word).ok_or(unknown)?;
    let result = match lookup(target, space, code) {
        Some(form) => decode_form(target, form, bytes),
        None => Err(unknown),
    };
    if result.is_err()
        && matches!(space, Space::Vop1Sdwa | Space::Vop1Dpp)
        && let Some(plain) = lookup(target, Space::Vop1, code)
        && FORMS[usize::from(plain)].op.row().operand(Role::Src0).is_none()
    {
        // Without a source operand, what stands in SRC0 means nothing.
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
    // Words beyond the encoding are looked at only if an operand asks for a literal.
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

/// Whether a DPP permutation exists (Vega ISA 13.3.9). CDNA 2 adds the broadcast of a lane in each row, the only one
/// for 64-bit operands (CDNA3 ISA 13.3.9).
fn dpp_ctrl_exists(view: &Words<'_>, ctrl: u32) -> bool {
    let operands = view.form.op.row().operands;
    let wide = |spec: &OperandSpec| spec.ty.bits() == 64 && spec.ty.elem != Elem::Mask;
    if operands.is_empty() {
        return true;
    }
    match ctrl {
        0x150..=0x15F => view.target.has_unified_vgprs(),
        _ if operands.iter().any(wide) => false,
        0..=0xFF | 0x101..=0x10F | 0x111..=0x11F | 0x121..=0x12F => true,
        0x130 | 0x134 | 0x138 | 0x13C | 0x140..=0x143 => true,
        _ => false,
    }
}

/// The field at fault if fields that are legal by themselves hold reserved codes or do not go together.
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
        // What goes to LDS has no data registers (Vega ISA 8.1.9).
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
