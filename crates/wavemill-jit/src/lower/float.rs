//! Float operations on f32, under the modes in which the host computes the same numbers.

use iced_x86::Code;
use wavemill_ir::{CmpPred, CvtOp, FloatOp, FloatType, FpEnv, Round, SrcMods, SubDword};

use super::builder::Builder;
use super::half;
use crate::lir::{Dst, Refused, Src, Step, Where};

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

/// The source with its signs.
fn signed(b: &mut Builder<'_>, (src, signs): (Src, Signs)) -> Option<Src> {
    let mut src = src;
    if signs.abs {
        src = b.binary(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, src, Src::Const(!SIGN))?;
    }
    if signs.neg {
        src = b.binary(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, src, Src::Const(SIGN))?;
    }
    Some(src)
}

/// The source without a change of its sign, and whether the sign is to change.
fn magnitude(b: &mut Builder<'_>, (src, signs): (Src, Signs)) -> Option<(Src, bool)> {
    Some((signed(b, (src, Signs { neg: false, ..signs }))?, signs.neg))
}

const fn is_scalar(src: Src) -> bool {
    matches!(src, Src::Cell(_) | Src::Const(_))
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
    if ty == FloatType::F32 && matches!(op, FloatOp::Rcp | FloatOp::RcpIflag | FloatOp::Sqrt) {
        return approximate(b, op);
    }
    if let FloatType::F16 | FloatType::PkF16 = ty {
        return half::lower(b, op, ty);
    }
    let env = b.inst.attrs.fp;
    if !keeps_denormals(env) {
        return None;
    }
    b.strip.round = env.round;
    if ty == FloatType::F64 {
        return wide(b, op);
    }
    if let Some(to) = integral(op) {
        let (dst, x) = (b.dst(0, 0)?, part_of(b, 0, None)?);
        let x = signed(b, x)?;
        b.result(dst, Code::EVEX_Vrndscaleps_zmm_k1z_zmmm512b32_imm8_sae, None, x, Some(to))?;
        b.strip.refuses = Refused::Results;
        return (ty == FloatType::F32).then_some(());
    }
    for part in parts(ty)? {
        let dst = b.dst(0, part.unwrap_or(0))?;
        match op {
            FloatOp::Add | FloatOp::Sub => {
                let (x, negated_x) = {
                    let x = part_of(b, 0, *part)?;
                    magnitude(b, x)?
                };
                let (y, negated_y) = {
                    let y = part_of(b, 1, *part)?;
                    magnitude(b, y)?
                };
                let negated_y = negated_y != (op == FloatOp::Sub);
                let add = Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er;
                let sub = Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er;
                match (negated_x, negated_y) {
                    (false, false) if is_scalar(x) => b.result(dst, add, Some(y), x, None)?,
                    (false, false) => b.result(dst, add, Some(x), y, None)?,
                    (false, true) => b.result(dst, sub, Some(x), y, None)?,
                    (true, false) => b.result(dst, sub, Some(y), x, None)?,
                    (true, true) => {
                        let x = signed(b, (x, Signs { abs: false, neg: true }))?;
                        b.result(dst, sub, Some(x), y, None)?;
                    }
                }
            }
            FloatOp::Mul => {
                let (x, negated_x) = {
                    let x = part_of(b, 0, *part)?;
                    magnitude(b, x)?
                };
                let (y, negated_y) = {
                    let y = part_of(b, 1, *part)?;
                    magnitude(b, y)?
                };
                let (x, y) = if is_scalar(x) { (y, x) } else { (x, y) };
                let x = signed(b, (x, Signs { abs: false, neg: negated_x != negated_y }))?;
                b.result(dst, Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, Some(x), y, None)?;
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
                });
            }
            FloatOp::Min | FloatOp::Max if ty == FloatType::F32 => {
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
    b.strip.refuses = Refused::Results;
    Some(())
}

/// A source of two rows, or a 64-bit scalar.
fn number(b: &Builder<'_>, i: usize) -> Option<([Src; 2], bool)> {
    let mods = b.inst.attrs.src[i];
    if (SrcMods { neg: false, ..mods }) != SrcMods::default() {
        return None;
    }
    Some(([b.src(i, 0)?, b.src(i, 1)?], mods.neg))
}

/// Half of the numbers of a strip: in a value of the operation's own, or a scalar.
fn half(b: &mut Builder<'_>, number: [Src; 2], code: Code, into: Option<Src>) -> Option<Src> {
    match number {
        [Src::Cell(cell), _] => Some(Src::CellPair(cell)),
        [Src::Const(low), Src::Const(high)] => Some(Src::ConstPair(u64::from(low) | u64::from(high) << 32)),
        [low, high] => match into {
            Some(into) => {
                b.update(into, code, Some(low), high, None, Where::Everywhere)?;
                Some(into)
            }
            None => b.binary(code, low, high),
        },
    }
}

/// The same in a register.
fn half_in_register(b: &mut Builder<'_>, number: [Src; 2], code: Code, into: Option<Src>) -> Option<Src> {
    let half = half(b, number, code, into)?;
    match (half, into) {
        (Src::CellPair(_) | Src::ConstPair(_), Some(into)) => {
            b.update(into, Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, None, half, None, Where::Everywhere)?;
            Some(into)
        }
        (Src::CellPair(_) | Src::ConstPair(_), None) => b.unary(Code::EVEX_Vpbroadcastq_zmm_k1z_xmmm64, half),
        _ => Some(half),
    }
}

/// Operations on f64: eight numbers of the strip, then the other eight.
fn wide(b: &mut Builder<'_>, op: FloatOp) -> Option<()> {
    const LOW: Code = Code::EVEX_Vpunpckldq_zmm_k1z_zmm_zmmm512b32;
    const HIGH: Code = Code::EVEX_Vpunpckhdq_zmm_k1z_zmm_zmmm512b32;
    const SHUFFLE: Code = Code::EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8;
    let rows = [b.dst(0, 0)?, b.dst(0, 1)?];
    let ((x, negated_x), (y, negated_y)) = (number(b, 0)?, number(b, 1)?);
    let is_row = |number: [Src; 2]| matches!(number[0], Src::Row(_));
    let (first, second, third, code) = match op {
        FloatOp::Fma => {
            let (z, negated_z) = number(b, 2)?;
            let code = match (negated_x != negated_y, negated_z) {
                (false, false) => Code::EVEX_Vfmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
                (false, true) => Code::EVEX_Vfmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
                (true, false) => Code::EVEX_Vfnmadd231pd_zmm_k1z_zmm_zmmm512b64_er,
                (true, true) => Code::EVEX_Vfnmsub231pd_zmm_k1z_zmm_zmmm512b64_er,
            };
            let (x, y) = if is_row(x) { (x, y) } else { (y, x) };
            (x, y, Some(z), code)
        }
        FloatOp::Mul if negated_x == negated_y => {
            let (x, y) = if is_row(x) { (x, y) } else { (y, x) };
            (x, y, None, Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er)
        }
        FloatOp::Add | FloatOp::Sub => match (negated_x, negated_y != (op == FloatOp::Sub)) {
            (false, false) if is_row(x) => (x, y, None, Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er),
            (false, false) => (y, x, None, Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er),
            (false, true) => (x, y, None, Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er),
            (true, false) => (y, x, None, Code::EVEX_Vsubpd_zmm_k1z_zmm_zmmm512b64_er),
            (true, true) => return None,
        },
        _ => return None,
    };
    let mut halves = Vec::new();
    let (mut left, mut right) = (None, None);
    for part in [LOW, HIGH] {
        let result = match third {
            Some(third) => {
                let sum = half_in_register(b, third, part, None)?;
                let x = half_in_register(b, first, part, left)?;
                let y = half(b, second, part, right)?;
                b.update(sum, code, Some(x), y, None, Where::Everywhere)?;
                left = Some(x);
                right = matches!(y, Src::Temp(_)).then_some(y);
                sum
            }
            None => {
                let x = half_in_register(b, first, part, None)?;
                let y = half(b, second, part, right)?;
                b.update(x, code, Some(x), y, None, Where::Everywhere)?;
                right = matches!(y, Src::Temp(_)).then_some(y);
                x
            }
        };
        halves.push(result);
    }
    b.result(rows[0], SHUFFLE, Some(halves[0]), halves[1], Some(0x88))?;
    b.result(rows[1], SHUFFLE, Some(halves[0]), halves[1], Some(0xdd))?;
    b.strip.refuses = Refused::WideResults;
    Some(())
}

/// Predicates of vector comparisons; none raises an exception that anybody looks at.
const fn predicate(pred: CmpPred) -> u8 {
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
    if ty != FloatType::F32 || !b.inst.attrs.fp.denorm_in || !b.has_source_modifiers_only() {
        return None;
    }
    let x = {
        let x = part_of(b, 0, None)?;
        signed(b, x)?
    };
    let y = {
        let y = part_of(b, 1, None)?;
        signed(b, y)?
    };
    let code = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    b.compare(0, code, x, y, predicate(pred), Where::Active)?;
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
    let x = part_of(b, 0, None)?;
    let x = signed(b, x)?;
    let x = b.reg(x)?;
    let dst = b.dst(0, 0)?;
    if op == CvtOp::U32F32 {
        // The second source is the result for NaN; numbers that are too large become all ones.
        let positive = b.binary(Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, x, Src::Const(0))?;
        return b.result(dst, Code::EVEX_Vcvttps2udq_zmm_k1z_zmmm512b32_sae, None, positive, None);
    }
    let compare = Code::EVEX_Vcmpps_kr_k1_zmm_zmmm512b32_imm8_sae;
    let value = b.unary(CONVERT_SIGNED, x)?;
    b.compare(0, compare, x, Src::Const(0x4f00_0000), predicate(CmpPred::Ge), Where::Everywhere)?;
    b.update(value, BROADCAST, None, Src::Const(0x7fff_ffff), None, Where::Mask(0))?;
    b.compare(0, compare, x, x, predicate(CmpPred::Unordered), Where::Everywhere)?;
    b.update(value, BROADCAST, None, Src::Const(0), None, Where::Mask(0))?;
    b.copy(dst, value)
}

/// Denormals of a value of the operation's own become zeros of their sign.
fn flush(b: &mut Builder<'_>, value: Src) -> Option<()> {
    const DENORMAL: u8 = 0x20;
    b.push(Step::Vector {
        code: Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8,
        dst: Dst::Mask(0),
        a: None,
        b: value,
        imm: Some(DENORMAL),
        lanes: Where::Everywhere,
    });
    let and = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
    b.update(value, and, Some(value), Src::Const(SIGN), None, Where::Mask(0))
}

/// Reciprocals and roots, which flush denormals in every mode.
fn approximate(b: &mut Builder<'_>, op: FloatOp) -> Option<()> {
    let x = part_of(b, 0, None)?;
    let x = signed(b, x)?;
    let x = match x {
        Src::Row(_) => b.unary(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, x)?,
        other => b.reg(other)?,
    };
    flush(b, x)?;
    let dst = b.dst(0, 0)?;
    match op {
        FloatOp::Sqrt => b.result(dst, Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, None, x, None)?,
        _ => {
            let one = b.reg(Src::Const(0x3f80_0000))?;
            b.update(x, Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, Some(one), x, None, Where::Everywhere)?;
            flush(b, x)?;
            b.copy(dst, x)?;
        }
    }
    b.strip.refuses = Refused::Results;
    Some(())
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
