//! Integer operations.

use iced_x86::Code;
use wavemill_ir::{IntOp, SubDword};

use super::builder::Builder;
use super::{mask, wide};
use crate::lir::{Refused, Src, Step, Where};

/// The instruction of an operation on two dwords, and whether their order does not matter.
const fn binary(op: IntOp) -> Option<(Code, bool)> {
    Some(match op {
        IntOp::Add | IntOp::AddI => (Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::Sub | IntOp::SubI => (Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, false),
        IntOp::And => (Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::Or => (Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::Xor => (Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::MulLo => (Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::MinI => (Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::MaxI => (Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::MinU => (Code::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32, true),
        IntOp::MaxU => (Code::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32, true),
        _ => return None,
    })
}

/// The truth table of an operation on the bits of up to three dwords, indexed by `{src0, src1, src2}`.
const fn truth_table(op: IntOp, imm: i32) -> Option<(u8, usize)> {
    Some(match op {
        IntOp::Not => (0x0f, 1),
        IntOp::Xnor => (0xc3, 2),
        IntOp::AndOr => (0xea, 3),
        IntOp::Or3 => (0xfe, 3),
        IntOp::Bfi => (0xca, 3),
        IntOp::BitOp3 => (imm as u8, 3),
        _ => return None,
    })
}

const ADD: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const AND: Code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const OR: Code = Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32;
const MUL: Code = Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;

/// Kinds of shifts.
#[derive(Clone, Copy)]
enum Shift {
    Left,
    Right,
    Arithmetic,
}

impl Shift {
    /// By a constant, and by an amount of each lane.
    const fn codes(self) -> (Code, Code) {
        match self {
            Shift::Left => {
                (Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32)
            }
            Shift::Right => {
                (Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32)
            }
            Shift::Arithmetic => {
                (Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32)
            }
        }
    }
}

/// A value shifted by an amount modulo 32; into a row, or a value of the operation's own.
fn shift(b: &mut Builder<'_>, kind: Shift, value: Src, amount: Src, row: Option<u32>) -> Option<Src> {
    let (by_constant, by_lane) = kind.codes();
    let (code, a, operand, imm) = match amount {
        Src::Const(n) => (by_constant, None, value, Some((n & 31) as u8)),
        amount => {
            let amount = b.binary(AND, amount, Src::Const(31))?;
            (by_lane, Some(value), amount, None)
        }
    };
    match row {
        Some(row) => {
            b.result(row, code, a, operand, imm)?;
            Some(value)
        }
        None => b.step(code, a, operand, imm),
    }
}

/// Sources in an order in which the first is a vector if one of them is.
fn ordered(a: Src, b: Src) -> (Src, Src) {
    match a {
        Src::Cell(_) | Src::Const(_) => (b, a),
        _ => (a, b),
    }
}

/// A value whose lowest 24 bits count, extended to 32.
fn of_24_bits(b: &mut Builder<'_>, value: Src, signed: bool) -> Option<Src> {
    if signed {
        let up = b.with_imm(Shift::Left.codes().0, value, 8)?;
        b.update(up, Shift::Arithmetic.codes().0, None, up, Some(8), Where::Everywhere)?;
        Some(up)
    } else {
        let value = b.reg(value)?;
        b.binary(AND, value, Src::Const(0xff_ffff))
    }
}

/// A permutation of the bytes of two dwords by a scalar. Selectors of signs and constants are for the interpreter.
fn permute(b: &mut Builder<'_>, dst: u32, high: Src) -> Option<()> {
    const SHUFFLE: Code = Code::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512;
    let (low, selector) = (b.src(1, 0)?, b.src(2, 0)?);
    let Src::Cell(cell) = selector else { return None };
    // Bytes of a dword by their place in the quarter of the strip.
    let places = Src::Quad([0, 0x0404_0404, 0x0808_0808, 0x0c0c_0c0c]);
    let selected = b.reg(selector)?;
    let pattern = b.binary(AND, selected, Src::Const(0x0303_0303))?;
    b.update(pattern, OR, Some(pattern), places, None, Where::Everywhere)?;
    b.strip.refuses = Refused::Bits { cell, bits: 0xf8f8_f8f8 };
    if low == high {
        // Masks of the instruction are those of bytes, so it does not write the row itself.
        let value = b.binary(SHUFFLE, low, pattern)?;
        return b.copy(dst, value);
    }
    // Bit 2 of a selector names the dword: it becomes the top bit of its byte.
    b.update(selected, Shift::Left.codes().0, None, selected, Some(5), Where::Everywhere)?;
    b.push(Step::BytesToMask { dst: 0, a: selected });
    let value = b.binary(SHUFFLE, low, pattern)?;
    let Src::Temp(into) = value else { return None };
    let high = b.reg(high)?;
    b.push(Step::Bytes { code: SHUFFLE, dst: into, a: high, b: pattern, mask: 0 });
    b.copy(dst, value)
}

/// A selected dword of each source.
fn join_selected(b: &mut Builder<'_>) -> Option<()> {
    for i in 0..2 {
        let mods = b.inst.attrs.src[i];
        let (src, dst) = (b.src(i, u16::from(mods.sel == SubDword::Word1))?, b.dst(0, i as u16)?);
        b.copy(dst, src)?;
    }
    Some(())
}

pub(super) fn lower(b: &mut Builder<'_>, op: IntOp) -> Option<()> {
    if op == IntOp::Select {
        return mask::select(b);
    }
    if op == IntOp::PkMov {
        return join_selected(b);
    }
    if !b.is_plain() && !(b.has_parts_only() && (binary(op).is_some() || op == IntOp::Mov)) {
        return None;
    }
    match op {
        IntOp::Mov64
        | IntOp::Shl64
        | IntOp::Shr64
        | IntOp::Sar64
        | IntOp::ShlAdd64
        | IntOp::MadU64U32
        | IntOp::MulHiU
        | IntOp::MulHiI => return wide::lower(b, op),
        IntOp::AddCo | IntOp::SubCo | IntOp::AddCi | IntOp::SubCi => return mask::carry(b, op),
        _ => {}
    }
    let dst = b.dst(0, 0)?;
    let src = |b: &Builder<'_>, i| b.src(i, 0);
    if let Some((code, commutes)) = binary(op) {
        let (x, y) = (b.part(0)?, b.part(1)?);
        let (x, y) = if commutes { ordered(x, y) } else { (x, y) };
        return b.result(dst, code, Some(x), y, None);
    }
    if let Some((table, sources)) = truth_table(op, b.inst.attrs.imm) {
        let (x, y, z) = (src(b, 0)?, src(b, if sources > 1 { 1 } else { 0 })?, src(b, sources - 1)?);
        let y = b.reg(y)?;
        b.copy(dst, x)?;
        b.push(Step::Vector {
            code: Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
            dst: crate::lir::Dst::Row(dst),
            a: Some(y),
            b: z,
            imm: Some(table),
            lanes: Where::Everywhere,
        });
        return Some(());
    }
    let x = b.part(0)?;
    match op {
        IntOp::Mov => b.copy(dst, x),
        IntOp::Shl => shift(b, Shift::Left, x, src(b, 1)?, Some(dst)).map(drop),
        IntOp::Shr => shift(b, Shift::Right, x, src(b, 1)?, Some(dst)).map(drop),
        IntOp::Sar => shift(b, Shift::Arithmetic, x, src(b, 1)?, Some(dst)).map(drop),
        IntOp::ShlAdd | IntOp::ShlOr => {
            let shifted = shift(b, Shift::Left, x, src(b, 1)?, None)?;
            b.result(dst, if op == IntOp::ShlAdd { ADD } else { OR }, Some(shifted), src(b, 2)?, None)
        }
        IntOp::AddShl => {
            let (x, y) = ordered(x, src(b, 1)?);
            let sum = b.binary(ADD, x, y)?;
            shift(b, Shift::Left, sum, src(b, 2)?, Some(dst)).map(drop)
        }
        IntOp::Add3 | IntOp::XorAdd => {
            let first = if op == IntOp::Add3 { ADD } else { Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32 };
            let (x, y) = ordered(x, src(b, 1)?);
            let sum = b.binary(first, x, y)?;
            b.result(dst, ADD, Some(sum), src(b, 2)?, None)
        }
        IntOp::MadU32 => {
            let (x, y) = ordered(x, src(b, 1)?);
            let product = b.binary(MUL, x, y)?;
            b.result(dst, ADD, Some(product), src(b, 2)?, None)
        }
        IntOp::MulU24 | IntOp::MulI24 | IntOp::MadU24 | IntOp::MadI24 => {
            let signed = matches!(op, IntOp::MulI24 | IntOp::MadI24);
            let x = of_24_bits(b, x, signed)?;
            let y = src(b, 1)?;
            let y = of_24_bits(b, y, signed)?;
            if matches!(op, IntOp::MulU24 | IntOp::MulI24) {
                return b.result(dst, MUL, Some(x), y, None);
            }
            b.update(x, MUL, Some(x), y, None, Where::Everywhere)?;
            b.result(dst, ADD, Some(x), src(b, 2)?, None)
        }
        IntOp::Min3I | IntOp::Max3I | IntOp::Min3U | IntOp::Max3U => {
            let two = match op {
                IntOp::Min3I => IntOp::MinI,
                IntOp::Max3I => IntOp::MaxI,
                IntOp::Min3U => IntOp::MinU,
                _ => IntOp::MaxU,
            };
            let (code, _) = binary(two)?;
            let (x, y) = ordered(x, src(b, 1)?);
            let first = b.binary(code, x, y)?;
            b.result(dst, code, Some(first), src(b, 2)?, None)
        }
        IntOp::AlignBit => {
            let (low, n) = (src(b, 1)?, b.constant(2)? & 31);
            match n {
                0 => b.copy(dst, low),
                _ if low == x => {
                    b.result(dst, Code::EVEX_Vprord_zmm_k1z_zmmm512b32_imm8, None, x, Some(n as u8))
                }
                _ => {
                    let right = b.with_imm(Shift::Right.codes().0, low, n as u8)?;
                    let left = b.with_imm(Shift::Left.codes().0, x, (32 - n) as u8)?;
                    b.result(dst, OR, Some(left), right, None)
                }
            }
        }
        IntOp::BfeU => {
            let (offset, width) = (b.constant(1)? & 31, b.constant(2)? & 31);
            let shifted = b.with_imm(Shift::Right.codes().0, x, offset as u8)?;
            b.result(dst, AND, Some(shifted), Src::Const((1 << width) - 1), None)
        }
        IntOp::BfeI => {
            let (offset, width) = (b.constant(1)? & 31, b.constant(2)? & 31);
            if width == 0 || offset + width > 32 {
                return None;
            }
            let up = b.with_imm(Shift::Left.codes().0, x, (32 - offset - width) as u8)?;
            b.result(dst, Shift::Arithmetic.codes().0, None, up, Some((32 - width) as u8))
        }
        IntOp::MaskCountLo | IntOp::MaskCountHi if x == Src::Const(!0) => {
            let (first, end) = if op == IntOp::MaskCountLo { (0, 32) } else { (32, 64) };
            let below = b.reg(Src::Below { first, end })?;
            b.result(dst, ADD, Some(below), src(b, 1)?, None)
        }
        IntOp::Perm => permute(b, dst, x),
        IntOp::LeadingZeros => {
            // The instruction counts 32 zeros where the result is -1.
            let count = b.unary(Code::EVEX_Vplzcntd_zmm_k1z_zmmm512b32, x)?;
            b.compare(0, mask::COMPARE, count, Src::Const(32), mask::EQUAL, Where::Everywhere)?;
            b.update(
                count,
                Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32,
                None,
                Src::Const(!0),
                None,
                Where::Mask(0),
            )?;
            b.copy(dst, count)
        }
        _ => None,
    }
}
