//! Float operations on f32.
//!
//! A NaN that hosts of machine code make of two sources is the one that the manuals' rule makes: the first NaN, quieted, or
//! the default NaN. So sources keep their order, and signs change before the operation.

use iced_x86::Code;
use wavemill_float::{F32, Format};
use wavemill_ir::{CmpPred, CvtOp, FloatOp, FloatType, FpEnv, Round, SrcMods, SubDword};

use super::builder::Builder;
use super::{class, division, double, elementary, half};
use crate::lir::{Dst, Refused, Src, Step, Where};

const AND: Code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const OR: Code = Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
const COMPARE: Code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;

const fn keeps_denormals(env: FpEnv) -> bool {
    env.denorm_in && env.denorm_out
}

/// Whether the host computes the same numbers by default: to nearest, with denormals.
const fn is_host(env: FpEnv) -> bool {
    matches!(env.round, Round::NearestEven) && keeps_denormals(env)
}

/// The way to an integral number, as the host's instruction takes it, without exceptions.
const fn integral(op: FloatOp) -> Option<u8> {
    Some(match op {
        FloatOp::RoundEven => 8,
        FloatOp::Floor => 9,
        FloatOp::Ceil => 10,
        FloatOp::Trunc => 11,
        _ => return None,
    })
}

pub(super) const SIGN: u32 = 0x8000_0000;
/// The exponent field, which is that of infinities, too.
const EXPONENT: u32 = 0x7f80_0000;

/// The predicate of comparisons with NaN.
pub(super) const UNORDERED: u8 = 3;

/// The signs of a source.
#[derive(Clone, Copy)]
struct Signs {
    abs: bool,
    neg: bool,
}

/// The part of a packed operation's source, with its signs. Part 0 is the low one.
fn part_of(b: &Builder<'_>, i: usize, part: Option<u16>) -> Option<(Src, Signs)> {
    let mods = b.inst.attrs.src[i];
    match part {
        None => {
            let rest = SrcMods { abs: false, neg: false, ..mods };
            if rest != SrcMods::default() {
                return None;
            }
            Some((b.src(i, 0)?, Signs { abs: mods.abs, neg: mods.neg }))
        }
        Some(part) => {
            let known = SrcMods { neg: false, neg_hi: false, sel: SubDword::Dword, hi_sel: false, ..mods };
            if known != SrcMods::default() {
                return None;
            }
            let (high, neg) = match part {
                0 => (mods.sel == SubDword::Word1, mods.neg),
                _ => (mods.hi_sel, mods.neg_hi),
            };
            Some((b.src(i, u16::from(high))?, Signs { abs: false, neg }))
        }
    }
}

/// What signs make of a 32-bit constant.
const fn constant_with(value: u32, signs: Signs) -> u32 {
    let value = if signs.abs { value & !SIGN } else { value };
    if signs.neg { value ^ SIGN } else { value }
}

/// What signs do to bits; nothing without a change.
const fn sign_code(signs: Signs) -> Option<(Code, u32)> {
    match (signs.abs, signs.neg) {
        (false, false) => None,
        (true, false) => Some((AND, !SIGN)),
        (false, true) => Some((Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, SIGN)),
        (true, true) => Some((OR, SIGN)),
    }
}

/// The source with its signs.
fn signed(b: &mut Builder<'_>, (src, signs): (Src, Signs)) -> Option<Src> {
    if let Src::Const(value) = src {
        return Some(Src::Const(constant_with(value, signs)));
    }
    match sign_code(signs) {
        None => Some(src),
        Some((code, bits)) => b.binary(code, src, Src::Const(bits)),
    }
}

/// A part of a source as the operation takes it, in a register of the operation's own.
fn own_operand(b: &mut Builder<'_>, i: usize, part: Option<u16>) -> Option<Src> {
    let (src, signs) = part_of(b, i, part)?;
    let x = b.own(src)?;
    if let Some((code, bits)) = sign_code(signs) {
        b.put(x, code, x, Src::Const(bits))?;
    }
    if !b.inst.attrs.fp.denorm_in {
        flush(b, x)?;
    }
    Some(x)
}

/// The source without a change of its sign, and whether the sign is to change.
fn magnitude(b: &mut Builder<'_>, (src, signs): (Src, Signs)) -> Option<(Src, bool)> {
    Some((signed(b, (src, Signs { neg: false, ..signs }))?, signs.neg))
}

/// A part of a source with its signs, also negated with `negated`. The mode may turn denormals into zeros.
fn operand(b: &mut Builder<'_>, i: usize, part: Option<u16>, negated: bool) -> Option<Src> {
    let (src, signs) = part_of(b, i, part)?;
    let x = signed(b, (src, Signs { neg: signs.neg != negated, ..signs }))?;
    match x {
        _ if b.inst.attrs.fp.denorm_in => Some(x),
        Src::Const(value) if value & EXPONENT == 0 => Some(Src::Const(value & SIGN)),
        Src::Const(_) => Some(x),
        _ => {
            let x = b.own(x)?;
            flush(b, x)?;
            Some(x)
        }
    }
}

/// The source of an operation with one, with its signs and without a change of denormals.
pub(super) fn only_source(b: &mut Builder<'_>) -> Option<Src> {
    let x = part_of(b, 0, None)?;
    signed(b, x)
}

pub(super) const fn is_scalar(src: Src) -> bool {
    matches!(src, Src::Cell(_) | Src::Const(_))
}

/// Sources of a sum or a product in the order in which the first one is in a register anyway, if the order does not matter:
/// if there is only one that may be a NaN.
pub(super) fn rather_constant_second(x: Src, y: Src) -> (Src, Src) {
    match x {
        Src::Const(value) if value & !SIGN <= EXPONENT => (y, x),
        _ => (x, y),
    }
}

/// The parts of the result: of a packed operation, those of the low one and of the high one.
fn parts(ty: FloatType) -> Option<&'static [Option<u16>]> {
    match ty {
        FloatType::F32 => Some(&[None]),
        FloatType::PkF32 => Some(&[Some(0), Some(1)]),
        _ => None,
    }
}

pub(super) fn lower(b: &mut Builder<'_>, op: FloatOp, ty: FloatType) -> Option<()> {
    if !b.has_source_modifiers_only() {
        return None;
    }
    match (op, ty) {
        (FloatOp::DivScale | FloatOp::DivFmas | FloatOp::DivFixup, _) => return division::lower(b, op, ty),
        (_, FloatType::F16 | FloatType::PkF16) => return half::lower(b, op, ty),
        (_, FloatType::F64) => return double::lower(b, op),
        (FloatOp::Rcp | FloatOp::RcpIflag | FloatOp::Sqrt, FloatType::F32) => return approximate(b, op),
        (FloatOp::Rsq, FloatType::F32) => return elementary::rsq(b),
        (FloatOp::Exp2, FloatType::F32) => return elementary::exp2(b),
        (FloatOp::Ldexp, FloatType::F32) => return elementary::ldexp(b),
        (FloatOp::FrexpMant, FloatType::F32) => return elementary::frexp_mant(b),
        (FloatOp::FrexpExp, FloatType::F32) => return elementary::frexp_exp(b),
        _ => {}
    }
    let env = b.inst.attrs.fp;
    b.strip.round = env.round;
    if let Some(to) = integral(op) {
        let (dst, x) = (b.dst(0, 0)?, operand(b, 0, None, false)?);
        b.result(dst, Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, None, x, Some(to))?;
        return (ty == FloatType::F32).then_some(());
    }
    for part in parts(ty)? {
        let dst = b.dst(0, part.unwrap_or(0))?;
        match op {
            FloatOp::Add | FloatOp::Sub | FloatOp::Mul => {
                let x = operand(b, 0, *part, false)?;
                let y = operand(b, 1, *part, op == FloatOp::Sub)?;
                let (x, y) = rather_constant_second(x, y);
                let code = match op {
                    FloatOp::Mul => Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er,
                    _ => Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er,
                };
                if env.denorm_out {
                    b.result(dst, code, Some(x), y, None)?;
                } else {
                    let value = b.own(x)?;
                    b.put(value, code, value, y)?;
                    flush(b, value)?;
                    b.copy(dst, value)?;
                }
            }
            FloatOp::Fma if !keeps_denormals(env) => {
                let (x, y) = (operand(b, 0, *part, false)?, operand(b, 1, *part, false)?);
                let sum = operand(b, 2, *part, false)?;
                let sum = b.own(sum)?;
                b.put(sum, Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, x, y)?;
                if !env.denorm_out {
                    flush(b, sum)?;
                }
                b.copy(dst, sum)?;
                b.strip.refuses = Refused::Results;
            }
            FloatOp::Fma => {
                let (x, negated_x) = {
                    let x = part_of(b, 0, *part)?;
                    magnitude(b, x)?
                };
                let (y, negated_y) = {
                    let y = part_of(b, 1, *part)?;
                    magnitude(b, y)?
                };
                let (z, negated_z) = {
                    let z = part_of(b, 2, *part)?;
                    magnitude(b, z)?
                };
                let (x, y) = if is_scalar(x) { (y, x) } else { (x, y) };
                let x = b.reg(x)?;
                let code = match (negated_x != negated_y, negated_z) {
                    (false, false) => Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
                    (false, true) => Code::EVEX_Vfmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
                    (true, false) => Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er,
                    (true, true) => Code::EVEX_Vfnmsub231ps_zmm_k1z_zmm_zmmm512b32_er,
                };
                let y = b.second(code, y)?;
                b.copy(dst, z)?;
                b.push(Step::Vector {
                    code,
                    dst: Dst::Row(dst),
                    a: Some(x),
                    b: y,
                    imm: None,
                    lanes: Where::Everywhere,
                    round: None,
                });
                b.strip.refuses = Refused::Results;
            }
            FloatOp::Min | FloatOp::Max if ty == FloatType::F32 && keeps_denormals(env) => {
                let x = {
                    let x = part_of(b, 0, *part)?;
                    signed(b, x)?
                };
                let y = {
                    let y = part_of(b, 1, *part)?;
                    signed(b, y)?
                };
                let (x, y) = (b.reg(x)?, b.reg(y)?);
                // The two orders differ for zeros of both signs.
                let (code, combine) = match op {
                    FloatOp::Min => (
                        Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae,
                        Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32,
                    ),
                    _ => (
                        Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae,
                        Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32,
                    ),
                };
                let one = b.binary(code, x, y)?;
                let other = b.binary(code, y, x)?;
                b.result(dst, combine, Some(one), other, None)?;
                b.strip.refuses = Refused::Sources([x, y]);
                return Some(());
            }
            _ => return None,
        }
    }
    if op == FloatOp::Fma {
        b.otherwise(|b| fma_with_nans(b, ty))?;
    }
    Some(())
}

/// Sums with products, of any numbers.
fn fma_with_nans(b: &mut Builder<'_>, ty: FloatType) -> Option<()> {
    for part in parts(ty)? {
        let sources = [own_operand(b, 0, *part)?, own_operand(b, 1, *part)?, own_operand(b, 2, *part)?];
        multiply_add(b, sources)?;
        b.copy(b.dst(0, part.unwrap_or(0))?, sources[2])?;
        b.forget_values();
    }
    Some(())
}

/// Adds the product of two values of the operation's own to a third one, by the manuals' rule for NaNs: the first one of the
/// sources, but the default NaN for the product of an infinity and a zero, whatever is added. Masks 0 and 1 are used for it,
/// and the factors.
pub(super) fn multiply_add(b: &mut Builder<'_>, [x, y, sum]: [Src; 3]) -> Option<()> {
    const DEFAULT_NAN: Src = Src::Const(F32::DEFAULT_NAN as u32);
    const BROADCAST: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
    let whole = Where::Everywhere;
    // The host quiets the NaN of the addend, if it is the only one.
    b.compare(0, COMPARE, sum, sum, UNORDERED, whole)?;
    b.put(sum, Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er, x, y)?;
    b.compare(1, COMPARE, sum, sum, UNORDERED, whole)?;
    b.push(Step::Mask { code: Code::VEX_Kandnw_kr_kr_kr, dst: 1, a: 0, b: 1 });
    b.update(sum, BROADCAST, None, DEFAULT_NAN, None, Where::Mask(1))?;
    for factor in [y, x] {
        b.compare(0, COMPARE, factor, factor, UNORDERED, whole)?;
        b.update(sum, OR, Some(factor), Src::Const(F32::QUIET as u32), None, Where::Mask(0))?;
    }
    b.compare(0, COMPARE, x, y, predicate(CmpPred::Ordered), whole)?;
    b.put(x, Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, x, y)?;
    b.compare(0, COMPARE, x, x, UNORDERED, Where::Mask(0))?;
    b.update(sum, BROADCAST, None, DEFAULT_NAN, None, Where::Mask(0))?;
    if b.inst.attrs.fp.denorm_out { Some(()) } else { flush(b, sum) }
}

/// Predicates of vector comparisons; none raises an exception that anybody looks at.
pub(super) const fn predicate(pred: CmpPred) -> u8 {
    match pred {
        CmpPred::False => 0x0b,
        CmpPred::Lt => 0x11,
        CmpPred::Eq => 0x00,
        CmpPred::Le => 0x12,
        CmpPred::Gt => 0x1e,
        CmpPred::Lg => 0x0c,
        CmpPred::Ge => 0x1d,
        CmpPred::Ordered => 0x07,
        CmpPred::Unordered => 0x03,
        CmpPred::Nge => 0x19,
        CmpPred::Nlg => 0x08,
        CmpPred::Ngt => 0x1a,
        CmpPred::Nle => 0x16,
        CmpPred::Neq => 0x04,
        CmpPred::Nlt => 0x15,
        CmpPred::True => 0x0f,
    }
}

pub(super) fn compare(b: &mut Builder<'_>, pred: CmpPred, ty: FloatType) -> Option<()> {
    if !b.has_source_modifiers_only() {
        return None;
    }
    match ty {
        FloatType::F32 => {}
        FloatType::F64 => return double::compare(b, pred),
        _ => return None,
    }
    let (x, y) = (operand(b, 0, None, false)?, operand(b, 1, None, false)?);
    b.compare(0, COMPARE, x, y, predicate(pred), Where::Active)?;
    b.mask_result(0, 0)
}

/// A conversion to a 32-bit integer, towards zero. Numbers that are too large or small become the largest and smallest
/// integer, and NaN becomes 0.
fn to_integer(b: &mut Builder<'_>, op: CvtOp) -> Option<()> {
    const CONVERT_SIGNED: Code = Code::EVEX_Vcvttps2dq_zmm_k1z_zmmm512b32_sae;
    const BROADCAST: Code = Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32;
    if !b.has_source_modifiers_only() {
        return None;
    }
    let x = only_source(b)?;
    let x = b.reg(x)?;
    let dst = b.dst(0, 0)?;
    if op == CvtOp::U32F32 {
        // The second source is the result for NaN; numbers that are too large become all ones.
        let positive = b.binary(Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, x, Src::Const(0))?;
        return b.result(dst, Code::EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, None, positive, None);
    }
    let value = b.unary(CONVERT_SIGNED, x)?;
    b.compare(0, COMPARE, x, Src::Const(0x4f00_0000), predicate(CmpPred::Ge), Where::Everywhere)?;
    b.update(value, BROADCAST, None, Src::Const(0x7fff_ffff), None, Where::Mask(0))?;
    b.compare(0, COMPARE, x, x, predicate(CmpPred::Unordered), Where::Everywhere)?;
    b.update(value, BROADCAST, None, Src::Const(0), None, Where::Mask(0))?;
    b.copy(dst, value)
}

/// Denormals of a value of the operation's own become zeros of their sign. Mask 0 is used for it.
pub(super) fn flush(b: &mut Builder<'_>, value: Src) -> Option<()> {
    let code = Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8;
    b.test(0, code, None, value, Some(class::DENORMAL), Where::Everywhere)?;
    b.update(value, AND, Some(value), Src::Const(SIGN), None, Where::Mask(0))
}

/// Reciprocals and roots, which flush denormals in every mode.
fn approximate(b: &mut Builder<'_>, op: FloatOp) -> Option<()> {
    let x = only_source(b)?;
    let x = b.own(x)?;
    flush(b, x)?;
    let dst = b.dst(0, 0)?;
    if op == FloatOp::Sqrt {
        return b.result(dst, Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, None, x, None);
    }
    b.put(x, Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, Src::Const(0x3f80_0000), x)?;
    flush(b, x)?;
    b.copy(dst, x)
}

pub(super) fn convert(b: &mut Builder<'_>, op: CvtOp) -> Option<()> {
    if let CvtOp::U32F32 | CvtOp::I32F32 = op {
        return to_integer(b, op);
    }
    if let CvtOp::F32F16 | CvtOp::F16F32 | CvtOp::PkF16F32 | CvtOp::PackF16 = op {
        return half::convert(b, op);
    }
    if !is_host(b.inst.attrs.fp) || !b.is_plain() {
        return None;
    }
    let code = match op {
        CvtOp::F32U32 => Code::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er,
        CvtOp::F32I32 => Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er,
        _ => return None,
    };
    b.result(b.dst(0, 0)?, code, None, b.src(0, 0)?, None)
}
