//! Comparisons, selections and carries: operations with lane masks.

use iced_x86::Code;
use wavemill_ir::{CmpPred, IntOp, IntType};

use super::builder::Builder;
use crate::lir::{Src, Step, Where};

/// Signed comparison of dwords.
pub(super) const COMPARE: Code = Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
/// Unsigned comparison of dwords.
const COMPARE_UNSIGNED: Code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
/// Moves the low half of dwords to the top.
const HALF_UP: Code = Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8;
/// Predicates of comparisons.
pub(super) const EQUAL: u8 = 0;
const LESS: u8 = 1;

const fn predicate(pred: CmpPred) -> Option<u8> {
    Some(match pred {
        CmpPred::False => 3,
        CmpPred::Lt => LESS,
        CmpPred::Eq => EQUAL,
        CmpPred::Le => 2,
        CmpPred::Gt => 6,
        CmpPred::Lg => 4,
        CmpPred::Ge => 5,
        CmpPred::True => 7,
        _ => return None,
    })
}

/// The predicate after both sources have changed places.
const fn swapped(pred: CmpPred) -> CmpPred {
    match pred {
        CmpPred::Lt => CmpPred::Gt,
        CmpPred::Le => CmpPred::Ge,
        CmpPred::Gt => CmpPred::Lt,
        CmpPred::Ge => CmpPred::Le,
        other => other,
    }
}

const fn is_scalar(src: Src) -> bool {
    matches!(src, Src::Cell(_) | Src::Const(_))
}

/// A comparison of dwords into mask 0.
fn compare_dwords(b: &mut Builder<'_>, pred: CmpPred, ty: IntType, lanes: Where) -> Option<()> {
    let (code, is_half) = match ty {
        IntType::I32 => (COMPARE, false),
        IntType::U32 => (COMPARE_UNSIGNED, false),
        IntType::I16 => (COMPARE, true),
        IntType::U16 => (COMPARE_UNSIGNED, true),
        _ => return None,
    };
    let (mut x, mut y) = (b.part(0)?, b.part(1)?);
    if is_half {
        // The low halves, at the top.
        for src in [&mut x, &mut y] {
            *src = match *src {
                Src::Const(value) => Src::Const(value << 16),
                Src::Temp(_) => {
                    b.update(*src, HALF_UP, None, *src, Some(16), Where::Everywhere)?;
                    *src
                }
                other => b.with_imm(HALF_UP, other, 16)?,
            };
        }
    }
    let (x, y, pred) = if is_scalar(x) && !is_scalar(y) { (y, x, swapped(pred)) } else { (x, y, pred) };
    b.compare(0, code, x, y, predicate(pred)?, lanes)
}

/// A comparison of 64-bit numbers into mask 0, of all lanes.
fn compare_qwords(b: &mut Builder<'_>, pred: CmpPred, signed: bool) -> Option<()> {
    let (x, y) = ([b.src(0, 0)?, b.src(0, 1)?], [b.src(1, 0)?, b.src(1, 1)?]);
    // Everything follows from "equal" and "less".
    let (negated, less, x, y) = match pred {
        CmpPred::Eq => (false, false, x, y),
        CmpPred::Lg => (true, false, x, y),
        CmpPred::Lt => (false, true, x, y),
        CmpPred::Ge => (true, true, x, y),
        CmpPred::Gt => (false, true, y, x),
        CmpPred::Le => (true, true, y, x),
        _ => return None,
    };
    let high = b.reg(x[1])?;
    if less {
        b.compare(1, COMPARE_UNSIGNED, x[0], y[0], LESS, Where::Everywhere)?;
        b.compare(1, COMPARE, high, y[1], EQUAL, Where::Mask(1))?;
        let code = if signed { COMPARE } else { COMPARE_UNSIGNED };
        b.compare(0, code, high, y[1], LESS, Where::Everywhere)?;
        b.push(Step::Mask { code: Code::VEX_Korw_kr_kr_kr, dst: 0, a: 0, b: 1 });
    } else {
        b.compare(0, COMPARE, x[0], y[0], EQUAL, Where::Everywhere)?;
        b.compare(0, COMPARE, high, y[1], EQUAL, Where::Mask(0))?;
    }
    if negated {
        b.push(Step::Mask { code: Code::VEX_Knotw_kr_kr, dst: 0, a: 0, b: 0 });
    }
    Some(())
}

pub(super) fn compare(b: &mut Builder<'_>, pred: CmpPred, ty: IntType) -> Option<()> {
    if !b.has_parts_only() {
        return None;
    }
    match ty {
        IntType::I64 | IntType::U64 if !b.is_plain() => return None,
        IntType::I32 | IntType::U32 | IntType::I16 | IntType::U16 => {
            compare_dwords(b, pred, ty, Where::Active)?;
        }
        IntType::I64 | IntType::U64 => {
            compare_qwords(b, pred, ty == IntType::I64)?;
            b.push(Step::AndActive { dst: 0 });
        }
    }
    b.mask_result(0, 0)
}

/// `yes` where mask 0 is set, else `no`, into the result.
fn blend(b: &mut Builder<'_>, yes: Src, no: Src) -> Option<()> {
    let dst = b.dst(0, 0)?;
    let no = b.reg(no)?;
    let value = b.step(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, None, no, None)?;
    let code = if is_scalar(yes) {
        Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32
    } else {
        Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512
    };
    b.update(value, code, None, yes, None, Where::Mask(0))?;
    b.copy(dst, value)
}

pub(super) fn select_by_int(b: &mut Builder<'_>, pred: CmpPred, ty: IntType) -> Option<()> {
    if !b.is_plain() {
        return None;
    }
    compare_dwords(b, pred, ty, Where::Everywhere)?;
    blend(b, b.src(2, 0)?, b.src(3, 0)?)?;
    b.push(Step::AndActive { dst: 0 });
    b.mask_result(1, 0)
}

/// Selection by a mask in cells.
pub(super) fn select(b: &mut Builder<'_>) -> Option<()> {
    if !b.has_parts_only() {
        return None;
    }
    let cells = b.mask_source(2)?;
    b.push(Step::LoadMask { dst: 0, cells });
    let (yes, no) = (b.part(1)?, b.part(0)?);
    blend(b, yes, no)
}

/// The carry of a sum as a number.
pub(super) fn carry_out(b: &mut Builder<'_>, x: Src) -> Option<()> {
    let y = b.part(1)?;
    let (x, y) = if is_scalar(x) { (y, x) } else { (x, y) };
    let x = b.reg(x)?;
    let sum = b.binary(Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, x, y)?;
    b.compare(0, COMPARE_UNSIGNED, sum, x, LESS, Where::Everywhere)?;
    blend(b, Src::Const(1), Src::Const(0))
}

/// Additions and subtractions with a carry.
pub(super) fn carry(b: &mut Builder<'_>, op: IntOp) -> Option<()> {
    const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
    const SUB: Code = Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
    let dst = b.dst(0, 0)?;
    let (x, y) = (b.part(0)?, b.part(1)?);
    let adds = matches!(op, IntOp::AddCo | IntOp::AddCi);
    let (x, y) = if adds && is_scalar(x) { (y, x) } else { (x, y) };
    let x = b.reg(x)?;
    let value = b.binary(if adds { ADD } else { SUB }, x, y)?;
    // Of a sum, the carry is that it is less than a summand; of a difference, that the first number is less.
    let (left, right) = if adds { (value, x) } else { (x, y) };
    let has_carry_in = matches!(op, IntOp::AddCi | IntOp::SubCi);
    if !has_carry_in {
        b.compare(0, COMPARE_UNSIGNED, left, right, LESS, Where::Active)?;
        b.copy(dst, value)?;
        return b.mask_result(1, 0);
    }
    let cells = b.mask_source(2)?;
    b.push(Step::LoadMask { dst: 1, cells });
    b.compare(0, COMPARE_UNSIGNED, left, right, LESS, Where::Everywhere)?;
    if !adds {
        b.compare(2, COMPARE, x, y, EQUAL, Where::Mask(1))?;
    }
    let one = Src::Const(if adds { 1 } else { !0 });
    b.update(value, ADD, Some(value), one, None, Where::Mask(1))?;
    if adds {
        b.compare(2, COMPARE, value, Src::Const(0), EQUAL, Where::Mask(1))?;
    }
    b.push(Step::Mask { code: Code::VEX_Korw_kr_kr_kr, dst: 0, a: 0, b: 2 });
    b.push(Step::AndActive { dst: 0 });
    b.copy(dst, value)?;
    b.mask_result(1, 0)
}
