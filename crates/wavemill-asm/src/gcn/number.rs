//! Constants: inline floats, literals and plain immediates, as LLVM writes them.
//!
//! An inline constant is written as its value. A literal is written in hexadecimal. If the same
//! value also exists as an inline constant, the literal is wrapped in `lit(...)`, so the text
//! distinguishes the encodings.

use std::fmt;

use wavemill_isa::gcn::{Elem, Format, InlineFloat, OperandSpec, Row};

use super::line::Line;

/// How an operand reads a constant, which decides how the constant is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// 16-bit integer: inline floats are written as their bits.
    Int16,
    /// 16-bit float.
    Float16,
    /// 32 bits, integer or float: inline floats are written as floats in both cases.
    Any32,
    /// 64-bit integer or bit pattern: a literal is zero-extended.
    Int64,
    /// 64-bit float: a literal is the high half.
    Float64,
}

/// How the operand reads constants.
pub(super) fn reading(row: &Row, spec: &OperandSpec) -> Reading {
    let scalar = matches!(row.format, Format::Sop1 | Format::Sop2 | Format::Sopc | Format::Sopk);
    match (row.constant_elem(spec), spec.ty.elem.bits()) {
        (Elem::F64, _) => Reading::Float64,
        (elem, bits) if spec.ty.count > 1 => match (elem.is_float(), bits, spec.ty.bits()) {
            // Packed integers beyond 32 bits read 64-bit constants; all other packed values read
            // one of 32 bits.
            (false, ..32, 64) => Reading::Int64,
            _ => Reading::Any32,
        },
        // LLVM writes mixed-precision constants as f16, even where OP_SEL_HI selects f32.
        (Elem::F16 | Elem::Mix, _) => Reading::Float16,
        // Scalar instructions read 32 bits; LLVM writes literals of bfloat16 operands in full.
        (_, 16) if scalar || spec.ty.elem == Elem::Bf16 => Reading::Any32,
        (_, 16) => Reading::Int16,
        (elem, 64) if elem != Elem::Mask => Reading::Int64,
        _ => Reading::Any32,
    }
}

/// 1 / (2 pi) has a longer text where 64 bits are read.
const INVERSE_TWO_PI_64: &str = "0.15915494309189532";

/// Whether an integer has its own operand code.
fn is_inline_int(value: i64) -> bool {
    (-16..=64).contains(&value)
}

fn is_inline_float(matches: impl Fn(InlineFloat) -> bool) -> bool {
    InlineFloat::ALL.iter().any(|&float| matches(float))
}

/// Writes an inline float.
pub(super) fn inline_float(out: &mut Line<'_>, float: InlineFloat, reading: Reading) -> fmt::Result {
    match reading {
        Reading::Int16 => out.hexadecimal(float.f16_bits().into()),
        Reading::Int64 | Reading::Float64 if float == InlineFloat::InvTwoPi => out.text(INVERSE_TWO_PI_64),
        _ => out.text(float.name()),
    }
}

/// Writes the literal `value` of a source operand.
pub(super) fn literal(out: &mut Line<'_>, value: u32, reading: Reading) -> fmt::Result {
    let low = value as u16;
    let small = is_inline_int(i64::from(value as i32));
    let ambiguous = match reading {
        Reading::Float16 => {
            is_inline_int(i64::from(low as i16)) || is_inline_float(|float| float.f16_bits() == low)
        }
        // LLVM checks all 32 bits for 16-bit integers, too.
        Reading::Int16 | Reading::Any32 => small || is_inline_float(|float| float.f32_bits() == value),
        Reading::Int64 => is_inline_int(i64::from(value)),
        Reading::Float64 => {
            // LLVM writes these as values, without `lit`.
            let bits = u64::from(value) << 32;
            if let Some(&float) = InlineFloat::ALL.iter().find(|float| float.f64_bits() == bits) {
                return inline_float(out, float, reading);
            }
            if value == 0 {
                return out.text("0");
            }
            false
        }
    };
    match reading {
        _ if ambiguous => {
            out.text("lit(")?;
            out.hexadecimal(value)?;
            out.text(")")
        }
        // LLVM drops the half that the operand does not read.
        Reading::Int16 | Reading::Float16 => out.hexadecimal(low.into()),
        _ => out.hexadecimal(value),
    }
}

/// Writes an immediate field like LLVM's plain 32-bit immediates: as a value if it equals an inline
/// constant, otherwise in hexadecimal.
pub(super) fn immediate(out: &mut Line<'_>, value: u32) -> fmt::Result {
    if is_inline_int(i64::from(value as i32)) {
        return out.signed_decimal(value as i32);
    }
    match InlineFloat::ALL.iter().find(|float| float.f32_bits() == value) {
        Some(&float) => inline_float(out, float, Reading::Any32),
        None => out.hexadecimal(value),
    }
}

/// Writes a signed offset: `0x10`, `-0x10`.
pub(super) fn signed_hex(out: &mut Line<'_>, value: i32) -> fmt::Result {
    if value < 0 {
        out.text("-")?;
    }
    out.hexadecimal(value.unsigned_abs())
}
