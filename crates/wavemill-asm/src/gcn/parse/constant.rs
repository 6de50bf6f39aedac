//! From numbers to inline constants and literals.
//!
//! A number gives the bits that the operand reads: an integer gives itself, a float its bits in the
//! operand's type. If an inline constant has these bits, it is used.

use half::{bf16, f16};
use wavemill_isa::gcn::{Elem, Format, InlineFloat, Operand, OperandSpec, Role, Row};

use super::super::number::{Reading, reading};
use super::operand::Constant;

/// `0.15915494`, the text of 1 / (2 pi) in single and half precision, too.
const INV_TWO_PI: f64 = 0.159_154_94;

/// Why a number does not fit an operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Misfit {
    /// An integer of more bits than this.
    Bits(u32),
    /// A float, which 16-bit and 64-bit integers do not accept.
    FloatForInteger,
    /// A negative literal for an operand that zero-extends it.
    NegativeForUnsigned,
    /// A sign on an integer that gives the bits of a double.
    SignOfDouble,
    /// A float whose lower half a literal cannot hold; the nearest one that fits.
    LowHalfLost(f64),
    /// A float too large, or too small, for this many bits.
    Range(u32),
}

/// How an operand reads a number. Like [`Reading`], but it distinguishes packed and narrow types
/// that have the same text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// 16-bit integer.
    Int16,
    Half,
    PackedHalf,
    Bfloat,
    PackedBfloat,
    Single,
    Double,
    /// 64-bit integer; negative numbers are sign-extended literals if the type is signed.
    Wide {
        signed: bool,
    },
}

fn kind(row: &Row, spec: &OperandSpec) -> Kind {
    let elem = spec.ty.elem;
    match reading(row, spec) {
        Reading::Int16 => Kind::Int16,
        Reading::Float16 => Kind::Half,
        Reading::Int64 => Kind::Wide { signed: elem == Elem::I64 },
        Reading::Float64 => Kind::Double,
        Reading::Any32 => match (elem, spec.ty.count) {
            (Elem::Bf16, 1) => Kind::Bfloat,
            (Elem::F16, 2) => Kind::PackedHalf,
            (Elem::Bf16, 2) => Kind::PackedBfloat,
            _ => Kind::Single,
        },
    }
}

impl Kind {
    /// The width of a number for sign changes, in bits.
    const fn width(self) -> u32 {
        match self {
            Kind::Int16 | Kind::Half | Kind::PackedHalf | Kind::Bfloat | Kind::PackedBfloat => 16,
            Kind::Single => 32,
            Kind::Double | Kind::Wide { .. } => 64,
        }
    }

    /// The bits with the sign cleared (`abs`), and then flipped (`neg`).
    const fn with_sign(self, bits: u64, abs: bool, neg: bool) -> u64 {
        let sign = 1u64 << (self.width() - 1);
        let bits = if abs { bits & !sign } else { bits };
        if neg { bits ^ sign } else { bits }
    }

    /// The bits of an inline float; `None` where integers cannot give floats.
    fn inline_bits(self, float: InlineFloat) -> Option<u64> {
        Some(match self {
            Kind::Int16 => return None,
            Kind::Half | Kind::PackedHalf => float.f16_bits().into(),
            Kind::Bfloat | Kind::PackedBfloat => float.bf16_bits().into(),
            Kind::Single => float.f32_bits().into(),
            Kind::Double | Kind::Wide { .. } => float.f64_bits(),
        })
    }
}

/// The operand for `constant`, with its sign bit cleared (`abs`) and then flipped (`neg`). `sdwa`:
/// the encoding selects parts of registers.
pub(super) fn operand(
    row: &Row,
    spec: &OperandSpec,
    sdwa: bool,
    constant: Constant,
    abs: bool,
    neg: bool,
) -> Result<Operand, Misfit> {
    let operand = any_operand(row, spec, constant, abs, neg)?;
    // As in LLVM, where class masks have 32 bits.
    let mask =
        row.format == Format::Vopc && row.operand(Role::Src0).is_some_and(|spec| spec.ty.elem.is_float());
    let short = spec.ty.bits() == 16 && !spec.ty.elem.is_float() && !mask;
    match operand {
        Operand::Float(InlineFloat::InvTwoPi) if sdwa && short => Err(Misfit::FloatForInteger),
        operand => Ok(operand),
    }
}

fn any_operand(
    row: &Row,
    spec: &OperandSpec,
    constant: Constant,
    abs: bool,
    neg: bool,
) -> Result<Operand, Misfit> {
    let kind = kind(row, spec);
    let modified = |bits: u64| kind.with_sign(bits, abs, neg);
    match constant {
        Constant::Int(value) if !(abs || neg) => integer(row, kind, value),
        // A sign change has different effects on the bits of an integer and on the double whose
        // upper half they are.
        Constant::Int(_) if kind == Kind::Double => Err(Misfit::SignOfDouble),
        Constant::Int(value) => {
            let bits = integer_bits(kind.width(), value).ok_or(Misfit::Bits(kind.width()))?;
            integer(row, kind, modified(bits) as i64)
        }
        Constant::Float(value) => float(kind, value, modified),
    }
}

/// The operand for a number that must be a literal, with the sign changes of [`operand`].
pub(super) fn literal(
    row: &Row,
    spec: &OperandSpec,
    constant: Constant,
    abs: bool,
    neg: bool,
) -> Result<Operand, Misfit> {
    let kind = kind(row, spec);
    let constant = match constant {
        constant if !(abs || neg) => constant,
        Constant::Float(value) => {
            let value = if abs { value.abs() } else { value };
            Constant::Float(if neg { -value } else { value })
        }
        Constant::Int(_) if kind == Kind::Double => return Err(Misfit::SignOfDouble),
        Constant::Int(value) => {
            let bits = integer_bits(kind.width(), value).ok_or(Misfit::Bits(kind.width()))?;
            Constant::Int(kind.with_sign(bits, abs, neg) as i64)
        }
    };
    let bits = match constant {
        Constant::Int(value) => literal_int(row, kind, value)?,
        // Bits of a hardware register.
        Constant::Float(_) if row.format == Format::Sopk => return Err(Misfit::FloatForInteger),
        Constant::Float(value) => match kind {
            Kind::Half | Kind::PackedHalf => u32::from(half_bits(value)?),
            Kind::Bfloat | Kind::PackedBfloat => u32::from(bfloat_bits(value)?),
            Kind::Single => single_bits(value)?,
            Kind::Double => double_high(value)?,
            Kind::Int16 | Kind::Wide { .. } => return Err(Misfit::FloatForInteger),
        },
    };
    Ok(Operand::Literal(bits))
}

/// The literal for an integer: as many bits as the operand reads, up to 32.
fn literal_int(row: &Row, kind: Kind, value: i64) -> Result<u32, Misfit> {
    let width = match kind {
        Kind::Int16 | Kind::Half | Kind::Bfloat => 16,
        _ => 32,
    };
    // A literal of an unsigned 64-bit operand is zero-extended.
    if value < 0 && kind == (Kind::Wide { signed: false }) {
        return Err(Misfit::NegativeForUnsigned);
    }
    let bits = integer_bits(width, value).ok_or(Misfit::Bits(width))? as u32;
    // LLVM fills the unread half with the sign: for integers, and where the instruction always has
    // a literal.
    let always = || row.operands.iter().any(|spec| spec.role == Role::Literal);
    let extended = kind == Kind::Int16 || kind == Kind::Half && always();
    Ok(if value < 0 && extended { value as u32 } else { bits })
}

/// The low bits of an integer, if it fits `width` bits, signed or unsigned.
fn integer_bits(width: u32, value: i64) -> Option<u64> {
    if width == 64 {
        return Some(value as u64);
    }
    let range = -(1i64 << (width - 1))..1i64 << width;
    range.contains(&value).then_some(value as u64 & ((1 << width) - 1))
}

fn inline_int(value: i64) -> Option<Operand> {
    if (-16..=64).contains(&value) { Some(Operand::Int(value as i8)) } else { None }
}

fn inline_float(kind: Kind, bits: u64) -> Option<Operand> {
    InlineFloat::ALL.iter().copied().find(|&float| kind.inline_bits(float) == Some(bits)).map(Operand::Float)
}

/// The inline constant with these bits; `kind` determines how many count.
fn inline(kind: Kind, bits: u64) -> Option<Operand> {
    let unused = 64 - kind.width();
    inline_int((bits << unused) as i64 >> unused).or_else(|| inline_float(kind, bits))
}

fn integer(row: &Row, kind: Kind, value: i64) -> Result<Operand, Misfit> {
    if let Some(inline) = inline_int(value) {
        return Ok(inline);
    }
    let found = match kind {
        // 0xFFFF does not mean -1 here, because it does not in LLVM.
        Kind::Int16 => None,
        // An operand reads all 32 bits of an integer constant, and 16 of a float.
        Kind::PackedHalf | Kind::PackedBfloat => integer_bits(32, value)
            .and_then(|bits| inline_int(i64::from(bits as u32 as i32)))
            .or_else(|| u16::try_from(value).ok().and_then(|bits| inline_float(kind, bits.into()))),
        _ => integer_bits(kind.width(), value).and_then(|bits| inline(kind, bits)),
    };
    match found {
        Some(inline) => Ok(inline),
        None => Ok(Operand::Literal(literal_int(row, kind, value)?)),
    }
}

fn float(kind: Kind, value: f64, modified: impl Fn(u64) -> u64) -> Result<Operand, Misfit> {
    let (bits, literal) = match kind {
        // Inline floats have the bits of an f16 here, and other floats have no meaning.
        Kind::Int16 => {
            let bits = half_bits(value)?.into();
            return inline_float(Kind::Half, modified(bits)).ok_or(Misfit::FloatForInteger);
        }
        Kind::Half | Kind::PackedHalf => {
            let bits = modified(half_bits(value)?.into());
            (bits, Ok(bits as u32))
        }
        // The printed text of 1 / (2 pi) means the inline constant, although that is not the
        // nearest bfloat16. Other spellings of the number are rounded, as in LLVM.
        Kind::Bfloat | Kind::PackedBfloat if modified(0) == 0 && value == INV_TWO_PI => {
            return Ok(Operand::Float(InlineFloat::InvTwoPi));
        }
        Kind::Bfloat | Kind::PackedBfloat => {
            let bits = modified(bfloat_bits(value)?.into());
            (bits, Ok(bits as u32))
        }
        Kind::Single => {
            let bits = modified(single_bits(value)?.into());
            (bits, Ok(bits as u32))
        }
        Kind::Double => {
            let bits = modified(value.to_bits());
            (bits, double_high(f64::from_bits(bits)))
        }
        Kind::Wide { .. } => (modified(value.to_bits()), Err(Misfit::FloatForInteger)),
    };
    match inline(kind, bits) {
        Some(inline) => Ok(inline),
        None => literal.map(Operand::Literal),
    }
}

/// The upper half of a double whose lower half is zero.
fn double_high(value: f64) -> Result<u32, Misfit> {
    let bits = value.to_bits();
    match bits as u32 {
        0 => Ok((bits >> 32) as u32),
        _ => {
            // Rounded to the precision of the upper half.
            let rounded = bits.saturating_add(0x8000_0000) & !0xFFFF_FFFF;
            Err(Misfit::LowHalfLost(f64::from_bits(rounded)))
        }
    }
}

fn in_range(value: f64, finite: bool, zero: bool, bits: u32) -> Result<(), Misfit> {
    if finite && (!zero || value == 0.0) { Ok(()) } else { Err(Misfit::Range(bits)) }
}

fn single_bits(value: f64) -> Result<u32, Misfit> {
    let single = value as f32;
    in_range(value, single.is_finite(), single == 0.0, 32)?;
    Ok(single.to_bits())
}

fn half_bits(value: f64) -> Result<u16, Misfit> {
    let half = f16::from_f64(value);
    in_range(value, half.is_finite(), half == f16::ZERO, 16)?;
    Ok(half.to_bits())
}

fn bfloat_bits(value: f64) -> Result<u16, Misfit> {
    let bfloat = bf16::from_f64(value);
    in_range(value, bfloat.is_finite(), bfloat == bf16::ZERO, 16)?;
    Ok(bfloat.to_bits())
}
