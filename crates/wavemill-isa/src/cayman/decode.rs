//! Bytes to microcode words. The decoder is total: any bytes of any length give a word or an error,
//! without allocation.

use core::fmt;

use super::inst::Inst;
use super::row::with_code;
use super::vocabulary::{FieldId, Format};

/// Why bytes are not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes end inside a word.
    Truncated {
        /// How many bytes are needed.
        needed: usize,
    },
    /// No row has the opcode.
    Unknown {
        /// The first 64 bits.
        word: u64,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Truncated { needed } => write!(f, "truncated instruction: {needed} bytes needed"),
            DecodeError::Unknown { word } => write!(f, "unknown instruction word {word:#018x}"),
        }
    }
}

impl core::error::Error for DecodeError {}

/// Decodes the first bytes as a word of the format, if a row has its opcode.
fn decode(bytes: &[u8], format: Format) -> Result<Inst, DecodeError> {
    let needed = format.bytes();
    let word = bytes.get(..needed).ok_or(DecodeError::Truncated { needed })?;
    let word = word.iter().rev().fold(0, |word, byte| word << 8 | u128::from(*byte));
    let value = |id: Option<FieldId>| id.and_then(|id| format.field(id)).map_or(0, |field| field.get(word));
    let fits = format.fields().iter().all(|field| !field.fixed || field.get(word) == field.default);
    match with_code(format, value(format.opcode()), value(format.sub_opcode())) {
        Some(op) if fits => Ok(Inst { word, op }),
        _ => Err(DecodeError::Unknown { word: word as u64 }),
    }
}

/// The second dword, which determines the format of a 64-bit word.
fn second_dword(bytes: &[u8]) -> Result<u32, DecodeError> {
    match bytes.get(4..8) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(DecodeError::Truncated { needed: 8 }),
    }
}

/// The control flow word at the start of `bytes`. ALU_EXTENDED and the word behind it are one
/// instruction of 16 bytes.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_control(bytes: &[u8]) -> Result<Inst, DecodeError> {
    let high = second_dword(bytes)?;
    // Opcodes of 4 bits start with a one (HD 6900 ISA 9.1: CF_ALU_WORD1). Of the others, opcodes
    // from 64 on export (CF_ALLOC_EXPORT). ALU_EXTENDED must come before a word that starts an ALU
    // clause: others have no row as its second part.
    let format = match (high >> 29 & 1, high >> 26 & 0xf, high >> 22 & 0xff) {
        (1, 12, _) => Format::CfAluExtended,
        (1, ..) => Format::CfAlu,
        (_, _, 30) => Format::Gws,
        (_, _, 83 | 84) => Format::ExportSwiz,
        (_, _, 86 | 87 | 92) => Format::Rat,
        (_, _, 64..) => Format::ExportBuf,
        _ => Format::Cf,
    };
    decode(bytes, format)
}

/// The slot of an ALU group at the start of `bytes`.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_slot(bytes: &[u8]) -> Result<Inst, DecodeError> {
    let high = second_dword(bytes)?;
    // Bits 17:15 are zero in words with two sources (HD 6900 ISA 9.2). LDS_IDX_OP is three-source
    // instruction 17, and MOVA_INT is two-source instruction 204.
    let format = match (high >> 15 & 7, high >> 13 & 0x1f, high >> 7 & 0x7ff) {
        (0, _, 204) => Format::Op2Mova,
        (0, ..) => Format::Op2,
        (_, 17, _) => Format::Lds,
        _ => Format::Op3,
    };
    decode(bytes, format)
}

/// The instruction of a clause of fetches at the start of `bytes`: a vertex fetch, a texture fetch
/// or a memory read.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_fetch(bytes: &[u8]) -> Result<Inst, DecodeError> {
    // VC_INST, TEX_INST and MEM_INST are the same bits, and no two share a number (HD 6900 ISA 9.3
    // to 9.5).
    let format = match bytes.first().map(|byte| byte & 0x1f) {
        Some(0 | 14) => Format::Vtx,
        Some(1) => Format::VtxSemantic,
        Some(2) => Format::MemRd,
        _ => Format::Tex,
    };
    decode(bytes, format)
}

/// The instruction of a clause of the global data share at the start of `bytes`.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_gds(bytes: &[u8]) -> Result<Inst, DecodeError> {
    // MEM_OP (HD 6900 ISA 9.6).
    let format = match bytes.get(1).map(|byte| byte & 7) {
        Some(5) => Format::TfWrite,
        _ => Format::Gds,
    };
    decode(bytes, format)
}
