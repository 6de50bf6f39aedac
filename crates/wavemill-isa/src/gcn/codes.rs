//! Operand codes: the meaning of the numbers in source and register fields, whatever the
//! instruction.
//!
//! The build script compiles this file too: it works out which codes need no further check.

use super::encoding::SRC_LITERAL;
use super::operand::{InlineFloat, Operand, Special};

/// Number of addressable SGPRs (Vega ISA 5.2): 0 to 101. Only tuples reach two more.
const SGPRS: u32 = 102;

/// Codes below this one are registers that can be written (Vega ISA 5.2, table 9).
pub(crate) const FIRST_CONSTANT: u32 = 128;

/// The code of v0 in 9-bit source fields.
pub(crate) const FIRST_VGPR: u32 = 256;

/// The number of VGPRs, and of accumulation VGPRs, that a field can name.
pub(crate) const VGPRS: u32 = 256;

/// SADDR of a memory instruction without scalar address.
pub(crate) const SADDR_OFF: u32 = 0x7F;

/// A tuple of `dwords` SGPRs must start at a multiple of this.
pub(crate) const fn sgpr_alignment(dwords: u8) -> u32 {
    match dwords {
        0 | 1 => 1,
        2 => 2,
        _ => 4,
    }
}

/// The meaning of an 8-bit scalar operand code, with the literal dword where the encoding accepts
/// one. A misaligned tuple is read from the aligned register below, as LLVM prints it.
pub(crate) fn scalar_operand(code: u32, dwords: u8, literal: Option<u32>) -> Option<Operand> {
    let align = sgpr_alignment(dwords);
    let width_exists = matches!(dwords, 1 | 2 | 3 | 4 | 8 | 16);
    Some(match code {
        0..SGPRS => {
            let first = code - code % align;
            // Aligned tuples of four or more reach into the two registers after s101.
            let limit = if align == 4 { SGPRS + 2 } else { SGPRS };
            if !width_exists || first + u32::from(dwords) > limit {
                return None;
            }
            Operand::Sgpr { first: first as u8, dwords }
        }
        108..=123 => {
            let first = (code - 108) - (code - 108) % align;
            if !width_exists || first + u32::from(dwords) > 16 {
                return None;
            }
            Operand::Ttmp { first: first as u8, dwords }
        }
        FIRST_CONSTANT..=192 => Operand::Int((code - FIRST_CONSTANT) as i8),
        193..=208 => Operand::Int(-((code - 192) as i8)),
        240..=248 => Operand::Float(InlineFloat::from_code(code)?),
        SRC_LITERAL => Operand::Literal(literal?),
        _ => {
            let reg = Special::from_code(code)?;
            match dwords {
                1 => Operand::Special { reg, dwords },
                2 if reg.is_pair() => Operand::Special { reg, dwords },
                3.. if reg == Special::Null && width_exists => Operand::Special { reg, dwords },
                _ => return None,
            }
        }
    })
}
