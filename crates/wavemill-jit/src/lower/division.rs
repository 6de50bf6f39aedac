//! The steps of divisions, for operands and quotients that need no scaling. Others are for the interpreter.
//!
//! What matters of f64 is in the high dwords.

use iced_x86::Code;
use wavemill_float::{DivFormat, F32, F64};
use wavemill_ir::{FloatOp, FloatType};

use super::builder::Builder;
use super::double::{self, EVEN, Number, ODD, SHUFFLE};
use super::float::{SIGN, UNORDERED, flush, is_scalar};
use crate::lir::{Refused, Src, Step, Where};

const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const SUB: Code = Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
const AND: Code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const COMPARE: Code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
const LESS_OR_EQUAL: u8 = 2;
const NOT_LESS: u8 = 5;

/// What matters of a format.
#[derive(Clone, Copy)]
struct Format {
    dwords: u16,
    /// One in the exponent field of the last dword.
    unit: u32,
    /// The exponent field of infinities.
    ones: u32,
    /// Difference of exponents from which the quotient is near overflow or underflow.
    near: u32,
    /// Exponent up to which a numerator is tiny.
    tiny: u32,
    /// Difference of exponents below which a quotient vanishes.
    vanishing: u32,
}

const SINGLE: Format = Format::of::<F32>();
const DOUBLE: Format = Format::of::<F64>();

impl Format {
    const fn of<F: DivFormat>() -> Format {
        Format {
            dwords: F::BITS as u16 / 32,
            unit: 1 << (F::MAN - (F::BITS - 32)),
            ones: F::EXP_FIELD as u32,
            near: F::NEAR as u32,
            tiny: F::TINY as u32,
            vanishing: (F::MAN as i32 + 1 - F::EMIN) as u32,
        }
    }

    /// All ones in the exponent field of the last dword.
    fn field(self) -> Src {
        Src::Const(self.ones * self.unit)
    }

    fn exponent(self, exponent: u32) -> Src {
        Src::Const(exponent * self.unit)
    }
}

pub(super) fn lower(b: &mut Builder<'_>, op: FloatOp, ty: FloatType) -> Option<()> {
    if !b.is_plain() {
        return None;
    }
    let format = match ty {
        FloatType::F32 => SINGLE,
        FloatType::F64 => DOUBLE,
        _ => return None,
    };
    match op {
        FloatOp::DivScale => scale(b, format),
        FloatOp::DivFmas => fmas(b, ty),
        FloatOp::DivFixup => fixup(b, format),
        _ => None,
    }
}

/// The lanes outside of mask 0 are for the interpreter.
fn refuse_others(b: &mut Builder<'_>) {
    b.negate(0);
    b.push(Step::AndActive { dst: 0 });
    b.strip.refuses = Refused::Lanes;
}

/// The last dword of source `i` with `code(.., with)`.
fn last(b: &mut Builder<'_>, format: Format, i: usize, code: Code, with: Src) -> Option<Src> {
    let value = b.src(i, format.dwords - 1)?;
    if is_scalar(value) {
        let value = b.reg(value)?;
        b.put(value, code, value, with)?;
        return Some(value);
    }
    b.binary(code, value, with)
}

/// Numerator and denominator that need no scaling: the value, which is one of the two, stays, and the mask is empty.
fn scale(b: &mut Builder<'_>, format: Format) -> Option<()> {
    let [value, denominator, numerator, ..] = b.inst.src;
    if value != denominator && value != numerator {
        return None;
    }
    let denominator = last(b, format, 1, AND, format.field())?;
    let numerator = last(b, format, 2, AND, format.field())?;
    // Exponents that are close to each other.
    let difference = b.binary(SUB, numerator, denominator)?;
    b.put(difference, ADD, difference, format.exponent(format.near - 1))?;
    let most = format.exponent(2 * (format.near - 1));
    b.compare(0, COMPARE, difference, most, LESS_OR_EQUAL, Where::Everywhere)?;
    // A numerator that is not tiny, and a denominator whose reciprocal is normal.
    let most = format.ones - 1;
    for (value, least, most) in [(numerator, format.tiny + 1, most), (denominator, 1, most - 2)] {
        b.put(value, SUB, value, format.exponent(least))?;
        let most = format.exponent(most - least);
        b.compare(0, COMPARE, value, most, LESS_OR_EQUAL, Where::Mask(0))?;
    }
    refuse_others(b);
    for n in 0..format.dwords {
        b.copy(b.dst(0, n)?, b.src(0, n)?)?;
    }
    b.push(Step::Mask { code: Code::VEX_Kxorw_kr_kr_kr, dst: 1, a: 1, b: 1 });
    b.mask_result(1, 1)
}

/// The sum with a product. Lanes of the mask, whose result is scaled, are for the interpreter, and NaNs.
fn fmas(b: &mut Builder<'_>, ty: FloatType) -> Option<()> {
    let env = b.inst.attrs.fp;
    b.strip.round = env.round;
    let cells = b.mask_source(3)?;
    if ty == FloatType::F32 {
        let (x, y) = (b.src(0, 0)?, b.src(1, 0)?);
        let (x, y) = if is_scalar(x) { (y, x) } else { (x, y) };
        let sum = b.own(b.src(2, 0)?)?;
        b.put(sum, Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, x, y)?;
        if !env.denorm_out {
            flush(b, sum)?;
        }
        let unordered = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
        b.compare(0, unordered, sum, sum, UNORDERED, Where::Everywhere)?;
        b.copy(b.dst(0, 0)?, sum)?;
    } else {
        let sources = [Number::unflushed(b, 0)?, Number::unflushed(b, 1)?, Number::unflushed(b, 2)?];
        let [first, second, high, _] = double::multiply_add(b, sources)?;
        b.update(high, SHUFFLE, Some(first), second, Some(ODD), Where::Everywhere)?;
        b.update(first, SHUFFLE, Some(first), second, Some(EVEN), Where::Everywhere)?;
        // NaNs and infinities: the exponent is all ones. Without the sign.
        b.put(second, ADD, high, high)?;
        b.compare(0, COMPARE, second, Src::Const(0xffe0_0000), NOT_LESS, Where::Everywhere)?;
        b.copy(b.dst(0, 0)?, first)?;
        b.copy(b.dst(0, 1)?, high)?;
    }
    b.push(Step::LoadMask { dst: 1, cells });
    b.push(Step::Mask { code: Code::VEX_Korw_kr_kr_kr, dst: 0, a: 0, b: 1 });
    b.push(Step::AndActive { dst: 0 });
    b.strip.refuses = Refused::Lanes;
    Some(())
}

/// The quotient of normal numbers, if it is normal itself: it receives the sign of the quotient.
fn fixup(b: &mut Builder<'_>, format: Format) -> Option<()> {
    // The number after an exponent has more than its last bit set, unless it is that of zeros or infinities.
    let test = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
    let normal = format.exponent(format.ones - 1);
    let mut value = None;
    for i in 0..3 {
        let source = b.src(i, format.dwords - 1)?;
        let (next, lanes) = match value {
            None => (last(b, format, i, ADD, format.exponent(1))?, Where::Everywhere),
            Some(value) => {
                if is_scalar(source) {
                    b.put_unary(value, Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, source)?;
                    b.put(value, ADD, value, format.exponent(1))?;
                } else {
                    b.put(value, ADD, source, format.exponent(1))?;
                }
                (value, Where::Mask(0))
            }
        };
        b.test(0, test, Some(next), normal, None, lanes)?;
        value = Some(next);
    }
    let denominator = last(b, format, 1, AND, format.field())?;
    let numerator = last(b, format, 2, AND, format.field())?;
    b.put(numerator, ADD, numerator, format.exponent(format.vanishing))?;
    b.compare(0, COMPARE, denominator, numerator, LESS_OR_EQUAL, Where::Mask(0))?;
    refuse_others(b);
    // The sign of the quotient, with the rest of the first source.
    const FIRST_WHERE_THIRD_ELSE_SECOND: u8 = 0xe4;
    let (quotient, denominator, numerator) =
        (b.src(0, format.dwords - 1)?, b.src(1, format.dwords - 1)?, b.src(2, format.dwords - 1)?);
    let sign = value?;
    let xor = Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
    if is_scalar(numerator) {
        b.put_unary(sign, Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, numerator)?;
        b.put(sign, xor, sign, denominator)?;
    } else {
        b.put(sign, xor, numerator, denominator)?;
    }
    b.update(
        sign,
        Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
        Some(quotient),
        Src::Const(SIGN),
        Some(FIRST_WHERE_THIRD_ELSE_SECOND),
        Where::Everywhere,
    )?;
    if format.dwords == 2 {
        b.copy(b.dst(0, 0)?, b.src(0, 0)?)?;
    }
    b.copy(b.dst(0, format.dwords - 1)?, sign)
}
