//! Operations on 64-bit integers, whose halves are in two rows.
//!
//! Halves are interleaved to two vectors of eight numbers, with the lanes of each quarter of the strip in both.
//! Operations do not care about the order, and the way back restores it.

use iced_x86::Code;
use wavemill_ir::{IntOp, Operand};

use super::builder::Builder;
use crate::lir::{Src, Step, Where};

const LOW: Code = Code::EVEX_Vpunpckldq_zmm_k1z_zmm_zmmm512b32;
const HIGH: Code = Code::EVEX_Vpunpckhdq_zmm_k1z_zmm_zmmm512b32;
const SHUFFLE: Code = Code::EVEX_Vshufps_zmm_k1z_zmm_zmmm512b32_imm8;
/// The even dwords of both sources in each quarter, and the odd ones.
const EVEN: u8 = 0x88;
const ODD: u8 = 0xdd;

const fn is_scalar(src: Src) -> bool {
    matches!(src, Src::Cell(_) | Src::Const(_))
}

/// The numbers with these halves.
fn join(b: &mut Builder<'_>, low: Src, high: Src) -> Option<[Src; 2]> {
    let both_scalar = is_scalar(low) && is_scalar(high);
    let low = b.reg(low)?;
    let first = match low {
        // A value of its own may be overwritten, unless the other vector is still to be made of it.
        Src::Temp(_) if both_scalar => {
            b.update(low, LOW, Some(low), high, None, Where::Everywhere)?;
            return Some([low, low]);
        }
        _ => b.binary(LOW, low, high)?,
    };
    let second = match low {
        Src::Temp(_) => {
            b.update(low, HIGH, Some(low), high, None, Where::Everywhere)?;
            low
        }
        _ => b.binary(HIGH, low, high)?,
    };
    Some([first, second])
}

/// The halves of numbers into the result.
fn split(b: &mut Builder<'_>, numbers: [Src; 2]) -> Option<()> {
    let rows = [b.dst(0, 0)?, b.dst(0, 1)?];
    b.result(rows[0], SHUFFLE, Some(numbers[0]), numbers[1], Some(EVEN))?;
    b.result(rows[1], SHUFFLE, Some(numbers[0]), numbers[1], Some(ODD))
}

/// A vector that may be overwritten.
fn both(b: &mut Builder<'_>, numbers: [Src; 2], code: Code, with: [Src; 2]) -> Option<()> {
    b.update(numbers[0], code, Some(numbers[0]), with[0], None, Where::Everywhere)?;
    if numbers[0] != numbers[1] {
        b.update(numbers[1], code, Some(numbers[1]), with[1], None, Where::Everywhere)?;
    }
    Some(())
}

pub(super) fn lower(b: &mut Builder<'_>, op: IntOp) -> Option<()> {
    match op {
        IntOp::Mov64 => {
            b.copy(b.dst(0, 0)?, b.src(0, 0)?)?;
            b.copy(b.dst(0, 1)?, b.src(0, 1)?)
        }
        IntOp::Shl64 | IntOp::Shr64 | IntOp::Sar64 => shift(b, op),
        IntOp::ShlAdd64 => {
            let amount = b.constant(1)? & 7;
            let (value, offset) = ([b.src(0, 0)?, b.src(0, 1)?], [b.src(2, 0)?, b.src(2, 1)?]);
            let mut both_joined = [join(b, value[0], value[1])?, join(b, offset[0], offset[1])?];
            if (1..=4).contains(&amount) {
                let code = Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8;
                let [first, second] = both_joined[0];
                b.update(first, code, None, first, Some(amount as u8), Where::Everywhere)?;
                if first != second {
                    b.update(second, code, None, second, Some(amount as u8), Where::Everywhere)?;
                }
            }
            // A scalar has one vector, which must not be added to twice.
            if is_scalar(value[0]) {
                both_joined.reverse();
            }
            let [numbers, other] = both_joined;
            if numbers[0] == numbers[1] {
                return None;
            }
            both(b, numbers, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64, other)?;
            split(b, numbers)
        }
        IntOp::MulHiU | IntOp::MulHiI => {
            let code = match op {
                IntOp::MulHiU => Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64,
                _ => Code::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64,
            };
            let (x, y) = (b.src(0, 0)?, b.src(1, 0)?);
            let (x, y) = if is_scalar(x) { (y, x) } else { (x, y) };
            if is_scalar(x) {
                return None;
            }
            let numbers = join(b, x, x)?;
            let y = if is_scalar(y) { [b.reg(y)?; 2] } else { join(b, y, y)? };
            both(b, numbers, code, y)?;
            let dst = b.dst(0, 0)?;
            b.result(dst, SHUFFLE, Some(numbers[0]), numbers[1], Some(ODD))
        }
        IntOp::MadU64U32 => multiply_add(b),
        _ => None,
    }
}

fn shift(b: &mut Builder<'_>, op: IntOp) -> Option<()> {
    let (by_constant, by_lane) = match op {
        IntOp::Shl64 => {
            (Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64)
        }
        IntOp::Shr64 => {
            (Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64)
        }
        _ => (Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64),
    };
    let value = [b.src(0, 0)?, b.src(0, 1)?];
    let amount = b.src(1, 0)?;
    if is_scalar(value[0]) {
        return shift_scalar(b, by_lane, amount);
    }
    let numbers = join(b, value[0], value[1])?;
    match amount {
        Src::Cell(_) => {
            let amount = b.reg(amount)?;
            let code = Code::EVEX_Vpandq_zmm_k1z_zmm_zmmm512b64;
            b.update(amount, code, Some(amount), Src::ConstPair(63), None, Where::Everywhere)?;
            both(b, numbers, by_lane, [amount; 2])?;
        }
        Src::Const(n) => {
            for number in numbers {
                b.update(number, by_constant, None, number, Some((n & 63) as u8), Where::Everywhere)?;
            }
        }
        amount => {
            let amount = b.binary(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, amount, Src::Const(63))?;
            let amounts = join(b, amount, Src::Const(0))?;
            both(b, numbers, by_lane, amounts)?;
        }
    }
    split(b, numbers)
}

/// A scalar shifted by an amount of each lane.
fn shift_scalar(b: &mut Builder<'_>, code: Code, amount: Src) -> Option<()> {
    if is_scalar(amount) {
        return None;
    }
    let value = match (b.src(0, 0)?, b.src(0, 1)?) {
        (Src::Const(low), Src::Const(high)) => Src::ConstPair(u64::from(high) << 32 | u64::from(low)),
        (Src::Cell(cells), _) => Src::CellPair(cells),
        _ => return None,
    };
    let value = b.reg(value)?;
    let amount = b.binary(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, amount, Src::Const(63))?;
    let amounts = join(b, amount, Src::Const(0))?;
    for amount in amounts {
        b.update(amount, code, Some(value), amount, None, Where::Everywhere)?;
    }
    split(b, amounts)
}

/// A product of dwords plus a 64-bit number.
fn multiply_add(b: &mut Builder<'_>) -> Option<()> {
    const COMPARE_UNSIGNED: Code = Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
    let (x, y) = (b.src(0, 0)?, b.src(1, 0)?);
    let (x, y) = if is_scalar(x) { (y, x) } else { (x, y) };
    if is_scalar(x) {
        return None;
    }
    let offset = [b.src(2, 0)?, b.src(2, 1)?];
    let numbers = join(b, x, x)?;
    let code = Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64;
    // The other factor is needed in one vector after the other: there are no more registers.
    let other = if is_scalar(y) {
        let other = b.reg(y)?;
        both(b, numbers, code, [other; 2])?;
        other
    } else {
        let other = b.binary(LOW, y, y)?;
        b.update(numbers[0], code, Some(numbers[0]), other, None, Where::Everywhere)?;
        b.update(other, HIGH, Some(y), y, None, Where::Everywhere)?;
        b.update(numbers[1], code, Some(numbers[1]), other, None, Where::Everywhere)?;
        other
    };
    // The same for the summand, in the register of the factor.
    let low = b.reg(offset[0])?;
    for (number, part) in numbers.into_iter().zip([LOW, HIGH]) {
        b.update(other, part, Some(low), offset[1], None, Where::Everywhere)?;
        b.update(
            number,
            Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64,
            Some(number),
            other,
            None,
            Where::Everywhere,
        )?;
    }
    // Back to halves; the carry is that the sum is less than the summand.
    b.update(other, SHUFFLE, Some(numbers[0]), numbers[1], Some(EVEN), Where::Everywhere)?;
    b.update(numbers[1], SHUFFLE, Some(numbers[0]), numbers[1], Some(ODD), Where::Everywhere)?;
    let (sum_low, sum_high) = (other, numbers[1]);
    if !matches!(b.inst.dst[1], Operand::None) {
        b.compare(1, COMPARE_UNSIGNED, sum_low, offset[0], 1, Where::Everywhere)?;
        b.compare(1, COMPARE_UNSIGNED, sum_high, offset[1], 0, Where::Mask(1))?;
        b.compare(0, COMPARE_UNSIGNED, sum_high, offset[1], 1, Where::Everywhere)?;
        b.push(Step::Mask { code: Code::VEX_Korw_kr_kr_kr, dst: 0, a: 0, b: 1 });
        b.push(Step::AndActive { dst: 0 });
        b.mask_result(1, 0)?;
    }
    b.copy(b.dst(0, 0)?, sum_low)?;
    b.copy(b.dst(0, 1)?, sum_high)
}
