//! Bytes to microcode words. The decoder is total: any bytes of any length give a word or an error,
//! without allocation.

use core::fmt;

use super::inst::Inst;
use super::row::with_code;
use super::vocabulary::Format;

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
    let value = |id| format.field(id).map_or(0, |field| field.get(word));
    match with_code(format, value(format.opcode()), format.sub_opcode().map_or(0, value)) {
        Some(op) => Ok(Inst { word, op }),
        None => Err(DecodeError::Unknown { word: word as u64 }),
    }
}

/// The second dword, which determines the format of a 64-bit word.
fn second_dword(bytes: &[u8]) -> Result<u32, DecodeError> {
    match bytes.get(4..8) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        _ => Err(DecodeError::Truncated { needed: 8 }),
    }
}

/// The control flow word at the start of `bytes`.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_control(bytes: &[u8]) -> Result<Inst, DecodeError> {
    let high = second_dword(bytes)?;
    // Opcodes of 4 bits start with a one (HD 6900 ISA 9.1: CF_ALU_WORD1). Of the others, opcodes
    // from 64 on export (CF_ALLOC_EXPORT). MEM_RAT, MEM_RAT_CACHELESS and
    // MEM_RAT_COMBINED_CACHELESS are 86, 87 and 92.
    let format = if high >> 29 & 1 != 0 {
        Format::CfAlu
    } else {
        match high >> 22 & 0xff {
            86 | 87 | 92 => Format::Rat,
            _ => Format::Cf,
        }
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
    // instruction 17.
    let format = match (high >> 15 & 7, high >> 13 & 0x1f) {
        (0, _) => Format::Op2,
        (_, 17) => Format::Lds,
        _ => Format::Op3,
    };
    decode(bytes, format)
}

/// The fetch at the start of `bytes`.
///
/// # Errors
/// [`DecodeError`].
pub fn decode_fetch(bytes: &[u8]) -> Result<Inst, DecodeError> {
    decode(bytes, Format::Vtx)
}
