//! The steps of divisions.
//!
//! What matters of f64 is in the high dwords, and whether the low ones are zeros.

use iced_x86::Code;
use wavemill_float::{DivFormat, F32, F64};
use wavemill_ir::{CmpPred, FloatOp, FloatType, Round};

use super::builder::Builder;
use super::double::{self, EVEN, HIGH, LOW, Number, ODD, SHUFFLE};
use super::float::{SIGN, UNORDERED, flush, is_scalar, multiply_add, predicate};
use super::mask;
use crate::lir::{Refused, Src, Step, Where};

const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const SUB: Code = Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
const AND: Code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const OR: Code = Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
const MOVE: Code = Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512;
const MOVE_WIDE: Code = Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512;
const BROADCAST: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
const TEST: Code = Code::EVEX_Vptestmd_kr_k1_zmm_zmmm512b32;
const TEST_NOT: Code = Code::EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32;
const COMPARE: Code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
const SIGNED: Code = mask::COMPARE;
const LESS_OR_EQUAL: u8 = 2;
const NOT_LESS: u8 = 5;
const GREATER: u8 = 6;

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
    /// The power of two by which operands are scaled, and the exponent field of one.
    scale: i32,
    bias: i32,
    /// The last dwords of the default NaN, and of the bit of quiet NaNs.
    default_nan: u32,
    quiet: u32,
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
            scale: F::SCALE,
            bias: F::BIAS,
            default_nan: (F::DEFAULT_NAN >> (F::BITS - 32)) as u32,
            quiet: (F::QUIET >> (F::BITS - 32)) as u32,
        }
    }

    /// The last dword of the power of two by which operands are scaled up or down, or of one.
    fn power(self, way: i32) -> u32 {
        (self.bias + way * self.scale) as u32 * self.unit
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

/// Puts `code(.., with)` of the last dword of source `i` into a value of the operation's own.
fn put_last(b: &mut Builder<'_>, format: Format, value: Src, i: usize, code: Code, with: Src) -> Option<()> {
    let source = b.src(i, format.dwords - 1)?;
    if is_scalar(source) {
        b.put_unary(value, BROADCAST, source)?;
        return b.put(value, code, value, with);
    }
    b.put(value, code, source, with)
}

/// Puts the magnitude of source `i` into a value of the operation's own: twice its last dword, and one more if there is
/// anything in the dword before. Mask 0 is used for it.
fn put_magnitude(b: &mut Builder<'_>, format: Format, value: Src, i: usize) -> Option<()> {
    let shift = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
    b.update(value, shift, None, b.src(i, format.dwords - 1)?, Some(1), Where::Everywhere)?;
    if format.dwords == 1 {
        return Some(());
    }
    let lanes = match b.src(i, 0)? {
        Src::Const(0) => return Some(()),
        Src::Const(_) => Where::Everywhere,
        low => {
            b.test(0, TEST, Some(low), low, None, Where::Everywhere)?;
            Where::Mask(0)
        }
    };
    b.update(value, OR, Some(value), Src::Const(1), None, lanes)
}

/// Puts a constant into the lanes of a mask.
fn put_where(b: &mut Builder<'_>, value: Src, constant: u32, mask: u8) -> Option<()> {
    b.update(value, BROADCAST, None, Src::Const(constant), None, Where::Mask(mask))
}

/// Adds a mask to another one.
fn union(b: &mut Builder<'_>, mask: u8, other: u8) {
    b.push(Step::Mask { code: Code::VEX_Korw_kr_kr_kr, dst: mask, a: mask, b: other });
}

/// The denominator or the numerator, scaled so that nothing overflows or vanishes on the way to the quotient, and the lanes
/// whose quotient is to be scaled back. The rules are those of `wavemill_float::div_scale`; each is stronger than those before.
fn scale(b: &mut Builder<'_>, format: Format) -> Option<()> {
    let [value, denominator, numerator, ..] = b.inst.src;
    let is_denominator = value == denominator;
    if !is_denominator && value != numerator {
        return None;
    }
    let flushes = !b.inst.attrs.fp.denorm_in;
    let [one, up, down] = [0, 1, -1].map(|way| format.power(way));
    let (denominator, numerator) = (b.value()?, b.value()?);
    let (work, power) = (b.value()?, b.value()?);
    let whole = Where::Everywhere;
    put_last(b, format, denominator, 1, AND, format.field())?;
    put_last(b, format, numerator, 2, AND, format.field())?;
    // Masks 1 and 2: the quotient is near overflow, and near underflow.
    b.put(work, SUB, numerator, denominator)?;
    let near = format.near * format.unit;
    b.compare(1, SIGNED, work, Src::Const(near), NOT_LESS, whole)?;
    b.compare(2, SIGNED, work, Src::Const(near.wrapping_neg()), LESS_OR_EQUAL, whole)?;
    b.put_unary(power, BROADCAST, Src::Const(one))?;
    b.compare(0, COMPARE, numerator, format.exponent(format.tiny), LESS_OR_EQUAL, whole)?;
    put_where(b, power, up, 0)?;
    put_where(b, power, if is_denominator { one } else { up }, 2)?;
    // The reciprocal of the denominator would be denormal.
    put_magnitude(b, format, work, 1)?;
    let large = Src::Const(2 * (format.ones - 2) * format.unit);
    b.compare(0, COMPARE, work, large, GREATER, whole)?;
    put_where(b, power, down, 0)?;
    if !is_denominator {
        b.compare(0, COMPARE, work, large, GREATER, Where::Mask(2))?;
        put_where(b, power, one, 0)?;
    }
    b.test(0, TEST_NOT, Some(denominator), denominator, None, whole)?;
    put_where(b, power, up, 0)?;
    put_where(b, power, if is_denominator { up } else { one }, 1)?;
    union(b, 1, 2);
    b.push(Step::AndActive { dst: 1 });
    // Mask 0: there is a zero.
    if flushes {
        b.test(0, TEST_NOT, Some(denominator), denominator, None, whole)?;
        b.test(2, TEST_NOT, Some(numerator), numerator, None, whole)?;
    } else {
        b.test(2, TEST_NOT, Some(work), work, None, whole)?;
        put_magnitude(b, format, work, 2)?;
        b.test(0, TEST_NOT, Some(work), work, None, whole)?;
    }
    union(b, 0, 2);
    let default = format.default_nan;
    if format.dwords == 1 {
        b.put(work, Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, power, b.src(0, 0)?)?;
        put_where(b, work, default, 0)?;
        b.copy(b.dst(0, 0)?, work)?;
    } else {
        const MUL: Code = Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
        let value = Number::unflushed(b, 0)?;
        let (first, second, zero) = (numerator, denominator, denominator);
        b.put(zero, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, zero, zero)?;
        b.put(work, LOW, zero, power)?;
        b.put(power, HIGH, zero, power)?;
        value.half_in_register(b, LOW, Some(first))?;
        value.half_in_register(b, HIGH, Some(second))?;
        b.put(first, MUL, first, work)?;
        b.put(second, MUL, second, power)?;
        b.update(work, SHUFFLE, Some(first), second, Some(EVEN), whole)?;
        b.update(power, SHUFFLE, Some(first), second, Some(ODD), whole)?;
        put_where(b, work, 0, 0)?;
        put_where(b, power, default, 0)?;
        b.copy(b.dst(0, 0)?, work)?;
        b.copy(b.dst(0, 1)?, power)?;
    }
    b.mask_result(1, 1)
}

/// The sum with a product. Lanes of the mask, whose result is scaled, and NaNs are for other code.
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
    b.otherwise(|b| match ty {
        FloatType::F32 => fmas_scaled(b, cells),
        _ => fmas_scaled_wide(b, cells),
    })
}

/// The sum with a product, scaled back in the lanes of the mask. Infinities and NaNs have no other result there.
fn fmas_scaled(b: &mut Builder<'_>, cells: u32) -> Option<()> {
    let whole = Where::Everywhere;
    let scaled = b.value()?;
    let (x, y, sum) = (b.value()?, b.value()?, b.value()?);
    put_scaled_half(b, 0, [x, y, sum])?;
    b.put_unary(scaled, MOVE, sum)?;
    put_scaled_half(b, 1, [x, y, sum])?;
    let insert = Code::EVEX_Vinsertf32x8_zmm_k1z_zmm_ymmm256_imm8;
    b.update(scaled, insert, Some(scaled), sum, Some(1), whole)?;
    if !b.inst.attrs.fp.denorm_out {
        flush(b, scaled)?;
    }
    for (i, value) in [x, y, sum].into_iter().enumerate() {
        put_source(b, value, i)?;
    }
    multiply_add(b, [x, y, sum])?;
    b.push(Step::LoadMask { dst: 1, cells });
    b.update(sum, MOVE, None, scaled, None, Where::Mask(1))?;
    b.copy(b.dst(0, 0)?, sum)
}

/// Puts the dwords of source `i` into a value of the operation's own.
fn put_source(b: &mut Builder<'_>, value: Src, i: usize) -> Option<()> {
    let source = b.src(i, 0)?;
    b.put_unary(value, if is_scalar(source) { BROADCAST } else { MOVE }, source)
}

/// Puts eight of the strip's sums with products, scaled back, into the lower half of the third value of the operation's own.
///
/// The product of two f32 is an f64. Its sum with the addend is rounded to odd, so that a second rounding to f32 is as good as
/// one of the exact sum.
fn put_scaled_half(b: &mut Builder<'_>, half: u8, [product, addend, sum]: [Src; 3]) -> Option<()> {
    const MUL: Code = Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er;
    const ADD: Code = Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er;
    const COMPARE: Code = Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
    const EVEN: Code = Code::EVEX_Vptestnmq_kr_k1_zmm_zmmm512b64;
    let whole = Where::Everywhere;
    let nearest = Round::NearestEven;
    let power = |exponent: i32| Src::ConstPair(2f64.powi(exponent).to_bits());
    let round = b.inst.attrs.fp.round;
    let widened = |b: &mut Builder<'_>, value: Src, i: usize| {
        put_source(b, value, i)?;
        if half > 0 {
            let extract = Code::EVEX_Vextractf32x8_ymmm256_k1z_zmm_imm8;
            b.update(value, extract, None, value, Some(half), whole)?;
        }
        b.put_unary(value, Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, value)
    };
    widened(b, product, 0)?;
    widened(b, addend, 1)?;
    b.put_rounded(product, MUL, Some(product), addend, nearest)?;
    widened(b, addend, 2)?;
    // Mask 1: the size of the quotient shows which way the operands were scaled.
    let magnitude = Src::ConstPair(!(1 << 63));
    b.put(sum, Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64, addend, magnitude)?;
    b.test(1, COMPARE, Some(sum), power(1), Some(predicate(CmpPred::Ge)), whole)?;
    // Neighbours of an inexact sum, of which one is odd. An exact zero has the sign that the mode gives it.
    let (one, other) = match round {
        Round::MinusInf => (Round::MinusInf, Round::PlusInf),
        _ => (Round::PlusInf, Round::MinusInf),
    };
    b.put_rounded(sum, ADD, Some(product), addend, one)?;
    b.put_rounded(addend, ADD, Some(product), addend, other)?;
    b.test(0, COMPARE, Some(sum), addend, Some(predicate(CmpPred::Neq)), whole)?;
    b.test(0, EVEN, Some(sum), Src::ConstPair(1), None, Where::Mask(0))?;
    b.update(sum, MOVE_WIDE, None, addend, None, Where::Mask(0))?;
    b.put_rounded(sum, MUL, Some(sum), power(-F32::SCALE), nearest)?;
    b.put_unary(addend, Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, power(2 * F32::SCALE))?;
    b.update(sum, MUL, Some(sum), addend, None, Where::Mask(1))?;
    b.put_rounded(sum, Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er, None, sum, round)
}

/// The same of f64. Where the sum, or what it is scaled to, is near a limit of normal numbers, the lanes are for the
/// interpreter.
fn fmas_scaled_wide(b: &mut Builder<'_>, cells: u32) -> Option<()> {
    let whole = Where::Everywhere;
    let sources = [Number::unflushed(b, 0)?, Number::unflushed(b, 1)?, Number::unflushed(b, 2)?];
    let [first, second] = double::multiply_add_with_nans(b, sources)?;
    // The factors' registers are free.
    let (high, work) = (Src::Temp(0), Src::Temp(1));
    b.update(high, SHUFFLE, Some(first), second, Some(ODD), whole)?;
    b.update(first, SHUFFLE, Some(first), second, Some(EVEN), whole)?;
    let format = DOUBLE;
    let scale = (format.scale as u32) * format.unit;
    // Exponents of numbers that were rounded as if there were more of them: neither the least nor the greatest normal ones.
    // Sums become those beyond the limits, too.
    const LEAST: u32 = 2;
    let rounded = (format.ones - 2 - LEAST) * format.unit;
    // What is added to the exponents. Mask 2 is not free: it collects the lanes that are refused.
    let change = second;
    b.put(change, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, change, change)?;
    b.push(Step::LoadMask { dst: 1, cells });
    put_where(b, change, scale.wrapping_neg(), 1)?;
    put_last(b, format, work, 2, AND, format.field())?;
    b.compare(1, COMPARE, work, format.exponent(format.bias as u32), GREATER, Where::Mask(1))?;
    put_where(b, change, scale, 1)?;
    // Mask 0: numbers of other exponents, before or after they are scaled.
    b.put(work, AND, high, format.field())?;
    b.put(work, SUB, work, format.exponent(LEAST))?;
    b.compare(0, COMPARE, work, Src::Const(rounded), GREATER, whole)?;
    b.put(high, ADD, high, change)?;
    b.put(work, ADD, work, change)?;
    b.compare(1, COMPARE, work, Src::Const(rounded), GREATER, whole)?;
    union(b, 0, 1);
    b.push(Step::LoadMask { dst: 1, cells });
    b.push(Step::Mask { code: Code::VEX_Kandw_kr_kr_kr, dst: 0, a: 0, b: 1 });
    b.push(Step::AndActive { dst: 0 });
    b.copy(b.dst(0, 0)?, first)?;
    b.copy(b.dst(0, 1)?, high)?;
    b.strip.refuses = Refused::Lanes;
    Some(())
}

/// The quotient with its sign, or what special operands make of it. The rules are those of `wavemill_float`; each is stronger
/// than those before.
fn fixup(b: &mut Builder<'_>, format: Format) -> Option<()> {
    const FIRST_WHERE_THIRD_ELSE_SECOND: u8 = 0xe4;
    let flushes = !b.inst.attrs.fp.denorm_in;
    let (denominator, numerator) = (b.value()?, b.value()?);
    let (result, sign) = (b.value()?, b.value()?);
    let whole = Where::Everywhere;
    let last = format.dwords - 1;
    put_magnitude(b, format, denominator, 1)?;
    put_magnitude(b, format, numerator, 2)?;
    // Magnitudes of infinities, and of zeros at most.
    let infinity = Src::Const(2 * format.ones * format.unit);
    let zero = Src::Const(if flushes { 2 * format.unit - 1 } else { 0 });
    // Mask 1: the quotient vanishes. Mask 2: it is a NaN. Mask 0: it is a zero.
    put_magnitude(b, format, result, 0)?;
    b.compare(2, COMPARE, result, infinity, GREATER, whole)?;
    put_last(b, format, result, 2, AND, format.field())?;
    b.put(result, ADD, result, format.exponent(format.vanishing))?;
    put_last(b, format, sign, 1, AND, format.field())?;
    b.compare(1, COMPARE, sign, result, GREATER, whole)?;
    put_magnitude(b, format, result, 0)?;
    b.compare(0, COMPARE, result, zero, LESS_OR_EQUAL, whole)?;
    put_last(b, format, sign, 1, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, b.src(2, last)?)?;
    b.put(sign, AND, sign, Src::Const(SIGN))?;
    b.put_unary(result, MOVE, sign)?;
    let code = Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8;
    let quotient = b.src(0, last)?;
    let blend = Some(FIRST_WHERE_THIRD_ELSE_SECOND);
    b.update(result, code, Some(quotient), Src::Const(SIGN), blend, whole)?;
    let infinite = Src::Const(format.ones * format.unit);
    b.update(result, OR, Some(sign), infinite, None, Where::Mask(2))?;
    for mask in [0, 1] {
        b.update(result, MOVE, None, sign, None, Where::Mask(mask))?;
        // Mask 2 collects the lanes whose other dword is not that of the quotient.
        union(b, 2, mask);
    }
    let (is_zero, is_infinite, is_nan) =
        ((zero, LESS_OR_EQUAL), (infinity, mask::EQUAL), (infinity, GREATER));
    let rules = [
        (denominator, is_infinite, false),
        (numerator, is_zero, false),
        (numerator, is_infinite, true),
        (denominator, is_zero, true),
    ];
    for (value, (limit, predicate), to_infinity) in rules {
        b.compare(0, COMPARE, value, limit, predicate, whole)?;
        match to_infinity {
            true => b.update(result, OR, Some(sign), infinite, None, Where::Mask(0))?,
            false => b.update(result, MOVE, None, sign, None, Where::Mask(0))?,
        }
        union(b, 2, 0);
    }
    for (limit, predicate) in [is_zero, is_infinite] {
        b.compare(0, COMPARE, denominator, limit, predicate, whole)?;
        b.compare(0, COMPARE, numerator, limit, predicate, Where::Mask(0))?;
        put_where(b, result, format.default_nan, 0)?;
    }
    let nans = [(denominator, 1), (numerator, 2)];
    for (value, i) in nans {
        b.compare(0, COMPARE, value, is_nan.0, is_nan.1, whole)?;
        let source = b.src(i, last)?;
        if is_scalar(source) {
            b.update(result, BROADCAST, None, source, None, Where::Mask(0))?;
            b.update(result, OR, Some(result), Src::Const(format.quiet), None, Where::Mask(0))?;
        } else {
            b.update(result, OR, Some(source), Src::Const(format.quiet), None, Where::Mask(0))?;
        }
        union(b, 2, 0);
    }
    if format.dwords == 2 {
        let low = sign;
        let copy = |src: Src| if is_scalar(src) { BROADCAST } else { MOVE };
        let quotient = b.src(0, 0)?;
        b.put_unary(low, copy(quotient), quotient)?;
        put_where(b, low, 0, 2)?;
        for (value, i) in nans {
            b.compare(0, COMPARE, value, is_nan.0, is_nan.1, whole)?;
            let source = b.src(i, 0)?;
            b.update(low, copy(source), None, source, None, Where::Mask(0))?;
        }
        b.copy(b.dst(0, 0)?, low)?;
    }
    b.copy(b.dst(0, last)?, result)
}
