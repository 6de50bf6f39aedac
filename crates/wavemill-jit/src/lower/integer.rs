//! Integer operations.

use iced_x86::Code;
use wavemill_ir::{IntOp, SubDword};

use super::builder::Builder;
use super::{mask, wide, words};
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
const SUB: Code = Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
const AND_NOT: Code = Code::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32;
const LEADING_ZEROS: Code = Code::EVEX_Vplzcntd_zmm_k1z_zmmm512b32;
/// Sums of two products of signed words.
pub(super) const MULTIPLY_ADD: Code = Code::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512;
pub(super) const SHUFFLE_BYTES: Code = Code::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512;

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

/// A number modulo 32, if it is not a constant in a value of the operation's own.
fn modulo_32(b: &mut Builder<'_>, value: Src) -> Option<Src> {
    match value {
        Src::Const(n) => Some(Src::Const(n & 31)),
        Src::Row(_) => b.binary(AND, value, Src::Const(31)),
        _ => {
            let value = b.reg(value)?;
            b.update(value, AND, Some(value), Src::Const(31), None, Where::Everywhere)?;
            Some(value)
        }
    }
}

/// A value shifted by an amount modulo 32; into a row, or a value of the operation's own.
fn shift(b: &mut Builder<'_>, kind: Shift, value: Src, amount: Src, row: Option<u32>) -> Option<Src> {
    let (by_constant, by_lane) = kind.codes();
    let amount = modulo_32(b, amount)?;
    match (amount, row) {
        (Src::Const(n), Some(row)) => b.result(row, by_constant, None, value, Some(n as u8))?,
        (Src::Const(n), None) => return b.with_imm(by_constant, value, n as u8),
        (_, Some(row)) => b.result(row, by_lane, Some(value), amount, None)?,
        (_, None) => b.update(amount, by_lane, Some(value), amount, None, Where::Everywhere)?,
    }
    Some(amount)
}

/// Sources in an order in which the first is a vector if one of them is.
pub(super) fn ordered(a: Src, b: Src) -> (Src, Src) {
    match a {
        Src::Cell(_) | Src::Const(_) => (b, a),
        _ => (a, b),
    }
}

/// The value of source `i`, whose lowest 24 bits count, extended to 32.
fn of_24_bits(b: &mut Builder<'_>, i: usize, value: Src, signed: bool) -> Option<Src> {
    let mods = b.inst.attrs.src[i];
    match value {
        Src::Const(n) if signed => return Some(Src::Const(((n << 8) as i32 >> 8) as u32)),
        Src::Const(n) => return Some(Src::Const(n & 0xff_ffff)),
        // A smaller part is extended already.
        _ if mods.sel != SubDword::Dword && (signed || !mods.sext) => return Some(value),
        _ => {}
    }
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
        let value = b.binary(SHUFFLE_BYTES, low, pattern)?;
        return b.copy(dst, value);
    }
    // Bit 2 of a selector names the dword: it becomes the top bit of its byte.
    b.update(selected, Shift::Left.codes().0, None, selected, Some(5), Where::Everywhere)?;
    b.push(Step::BytesToMask { dst: 0, a: selected });
    let value = b.binary(SHUFFLE_BYTES, low, pattern)?;
    let Src::Temp(into) = value else { return None };
    let high = b.reg(high)?;
    b.push(Step::Bytes { code: SHUFFLE_BYTES, dst: into, a: high, b: pattern, mask: 0 });
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

/// A permutation of the bytes of two dwords by a constant. Signs are for the interpreter.
fn permute_by_constant(b: &mut Builder<'_>, dst: u32, high: Src, selectors: u32) -> Option<()> {
    const ONES: u8 = 13;
    let low = b.src(1, 0)?;
    let selectors = selectors.to_le_bytes();
    if selectors.iter().any(|selector| (8..12).contains(selector)) {
        return None;
    }
    // The instruction makes a byte zero if its selector has the top bit.
    let pattern = |chosen: std::ops::Range<u8>| {
        let own = selectors.map(|s| if chosen.contains(&s) { s - chosen.start } else { 0x80 });
        let any = selectors.iter().any(|s| chosen.contains(s));
        let quarter = |n: u32| u32::from_le_bytes(own) | ((0x0404_0404 * n) & !0x8080_8080);
        any.then(|| Src::Quad(std::array::from_fn(|n| quarter(n as u32))))
    };
    let mut value = None;
    for (source, chosen) in [(low, 0..4), (high, 4..8)] {
        let Some(pattern) = pattern(chosen) else { continue };
        let bytes = b.binary(SHUFFLE_BYTES, source, pattern)?;
        match value {
            None => value = Some(bytes),
            Some(other) => b.update(other, OR, Some(other), bytes, None, Where::Everywhere)?,
        }
    }
    let ones = u32::from_le_bytes(selectors.map(|s| if s >= ONES { 0xff } else { 0 }));
    match value {
        None => b.copy(dst, Src::Const(ones)),
        Some(value) if ones == 0 => b.copy(dst, value),
        Some(value) => b.result(dst, OR, Some(value), Src::Const(ones), None),
    }
}

/// The low nibbles and the high ones of the bytes of a value of the operation's own, each replaced by what a table has for
/// it. The first value gets the low ones, and the result is the high ones.
fn look_up_nibbles(b: &mut Builder<'_>, value: Src, table: [u32; 4]) -> Option<Src> {
    let upper = b.with_imm(Shift::Right.codes().0, value, 4)?;
    let table = b.reg(Src::Quad(table))?;
    for part in [upper, value] {
        b.update(part, AND, Some(part), Src::Const(0x0f0f_0f0f), None, Where::Everywhere)?;
        b.update(part, SHUFFLE_BYTES, Some(table), part, None, Where::Everywhere)?;
    }
    Some(upper)
}

/// The bits in reverse order.
fn reverse_bits(b: &mut Builder<'_>, dst: u32, x: Src) -> Option<()> {
    const REVERSED_NIBBLES: [u32; 4] = [0x0c04_0800, 0x0e06_0a02, 0x0d05_0901, 0x0f07_0b03];
    const REVERSED_BYTES: [u32; 4] = [0x0001_0203, 0x0405_0607, 0x0809_0a0b, 0x0c0d_0e0f];
    let value = b.own(x)?;
    let upper = look_up_nibbles(b, value, REVERSED_NIBBLES)?;
    b.update(value, Shift::Left.codes().0, None, value, Some(4), Where::Everywhere)?;
    b.update(value, OR, Some(value), upper, None, Where::Everywhere)?;
    b.update(value, SHUFFLE_BYTES, Some(value), Src::Quad(REVERSED_BYTES), None, Where::Everywhere)?;
    b.copy(dst, value)
}

/// A value of the operation's own becomes the number of ones in each of its dwords.
fn count_ones(b: &mut Builder<'_>, value: Src) -> Option<()> {
    const ONES_OF_NIBBLES: [u32; 4] = [0x0201_0100, 0x0302_0201, 0x0302_0201, 0x0403_0302];
    let upper = look_up_nibbles(b, value, ONES_OF_NIBBLES)?;
    b.update(value, Code::EVEX_Vpaddb_zmm_k1z_zmm_zmmm512, Some(value), upper, None, Where::Everywhere)?;
    sum_bytes(b, value)
}

/// A value of the operation's own becomes the sum of the unsigned bytes of each of its dwords.
fn sum_bytes(b: &mut Builder<'_>, value: Src) -> Option<()> {
    let (bytes, words) = (Src::Quad([0x0101_0101; 4]), Src::Quad([0x0001_0001; 4]));
    b.update(value, Code::EVEX_Vpmaddubsw_zmm_k1z_zmm_zmmm512, Some(value), bytes, None, Where::Everywhere)?;
    b.update(value, MULTIPLY_ADD, Some(value), words, None, Where::Everywhere)
}

/// The number of lanes below each that are in a mask of lanes from `first` to `end`, plus a number.
fn mask_count(b: &mut Builder<'_>, dst: u32, mask: Src, first: u8, end: u8) -> Option<()> {
    let plus = b.part(1)?;
    let below = Src::Below { first, end };
    if mask == Src::Const(!0) {
        let below = b.reg(below)?;
        return b.result(dst, ADD, Some(below), plus, None);
    }
    // Ones from the lane's own bit on, then the mask without them.
    let value = b.reg(Src::Const(!0))?;
    b.update(value, Shift::Left.codes().1, Some(value), below, None, Where::Everywhere)?;
    b.update(value, AND_NOT, Some(value), mask, None, Where::Everywhere)?;
    count_ones(b, value)?;
    b.result(dst, ADD, Some(value), plus, None)
}

/// A number of zeros into the result; -1 where it is 32.
fn position(b: &mut Builder<'_>, dst: u32, count: Src) -> Option<()> {
    b.compare(0, mask::COMPARE, count, Src::Const(32), mask::EQUAL, Where::Everywhere)?;
    let ones = Src::Const(!0);
    b.update(count, Code::EVEX_Vpbroadcastd_zmm_k1z_xmmm32, None, ones, None, Where::Mask(0))?;
    b.copy(dst, count)
}

/// Ones above the number of bits that a source names modulo 32.
fn ones_above(b: &mut Builder<'_>, count: Src) -> Option<Src> {
    match modulo_32(b, count)? {
        Src::Const(n) => Some(Src::Const(!0 << n)),
        count => {
            let ones = b.reg(Src::Const(!0))?;
            b.update(count, Shift::Left.codes().1, Some(ones), count, None, Where::Everywhere)?;
            Some(count)
        }
    }
}

/// A field of bits, whose offset and width are not both constant.
fn field(b: &mut Builder<'_>, dst: u32, x: Src, signed: bool) -> Option<()> {
    let (offset, width) = (b.part(1)?, b.part(2)?);
    if !signed {
        let shifted = shift(b, Shift::Right, x, offset, None)?;
        return match ones_above(b, width)? {
            Src::Const(above) => b.result(dst, AND, Some(shifted), Src::Const(!above), None),
            above => b.result(dst, AND_NOT, Some(above), shifted, None),
        };
    }
    let shifted = shift(b, Shift::Arithmetic, x, offset, None)?;
    // Without a bit, the amount is 32, and nothing is left.
    let width = modulo_32(b, width)?;
    let unused = b.reg(Src::Const(32))?;
    b.update(unused, SUB, Some(unused), width, None, Where::Everywhere)?;
    b.update(shifted, Shift::Left.codes().1, Some(shifted), unused, None, Where::Everywhere)?;
    b.result(dst, Shift::Arithmetic.codes().1, Some(shifted), unused, None)
}

/// The low dword of two, shifted right by an amount that is not constant.
fn align(b: &mut Builder<'_>, dst: u32, high: Src, low: Src, amount: Src) -> Option<()> {
    let right = modulo_32(b, amount)?;
    let left = b.reg(Src::Const(32))?;
    b.update(left, SUB, Some(left), right, None, Where::Everywhere)?;
    let (low, high) = (b.reg(low)?, b.reg(high)?);
    b.update(right, Shift::Right.codes().1, Some(low), right, None, Where::Everywhere)?;
    b.update(left, Shift::Left.codes().1, Some(high), left, None, Where::Everywhere)?;
    b.result(dst, OR, Some(left), right, None)
}

/// The signed or unsigned middle of three numbers.
fn median(b: &mut Builder<'_>, dst: u32, x: Src, min: Code, max: Code) -> Option<()> {
    let (y, z) = (b.part(1)?, b.part(2)?);
    let (x, y) = ordered(x, y);
    let x = b.reg(x)?;
    let (low, high) = (b.binary(min, x, y)?, b.binary(max, x, y)?);
    b.update(high, min, Some(high), z, None, Where::Everywhere)?;
    b.result(dst, max, Some(high), low, None)
}

pub(super) fn lower(b: &mut Builder<'_>, op: IntOp) -> Option<()> {
    match op {
        IntOp::Select => return mask::select(b),
        IntOp::PkMov => return join_selected(b),
        _ if b.inst.op.is_packed() => return words::packed(b, op),
        _ if !b.has_parts_only() => return None,
        IntOp::Mov64
        | IntOp::Shl64
        | IntOp::Shr64
        | IntOp::Sar64
        | IntOp::ShlAdd64
        | IntOp::MadU64U32
        | IntOp::MulHiU
        | IntOp::MulHiI => return if b.is_plain() { wide::lower(b, op) } else { None },
        IntOp::AddCo | IntOp::SubCo | IntOp::AddCi | IntOp::SubCi => return mask::carry(b, op),
        _ => {}
    }
    let dst = b.dst(0, 0)?;
    if let Some((code, commutes)) = binary(op) {
        let (x, y) = (b.part(0)?, b.part(1)?);
        let (x, y) = if commutes { ordered(x, y) } else { (x, y) };
        return b.result(dst, code, Some(x), y, None);
    }
    if let Some((table, sources)) = truth_table(op, b.inst.attrs.imm) {
        let x = b.part(0)?;
        let y = if sources > 1 { b.part(1)? } else { x };
        let z = if sources > 2 { b.part(2)? } else { y };
        let y = b.reg(y)?;
        b.copy(dst, x)?;
        b.push(Step::Vector {
            code: Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8,
            dst: crate::lir::Dst::Row(dst),
            a: Some(y),
            b: z,
            imm: Some(table),
            lanes: Where::Everywhere,
            round: None,
        });
        return Some(());
    }
    let x = b.part(0)?;
    match op {
        IntOp::Mov => b.copy(dst, x),
        IntOp::Shl | IntOp::Shr | IntOp::Sar => {
            let kind = match op {
                IntOp::Shl => Shift::Left,
                IntOp::Shr => Shift::Right,
                _ => Shift::Arithmetic,
            };
            let amount = b.part(1)?;
            shift(b, kind, x, amount, Some(dst)).map(drop)
        }
        IntOp::ShlAdd | IntOp::ShlOr => {
            let amount = b.part(1)?;
            let shifted = shift(b, Shift::Left, x, amount, None)?;
            let z = b.part(2)?;
            b.result(dst, if op == IntOp::ShlAdd { ADD } else { OR }, Some(shifted), z, None)
        }
        IntOp::AddShl => {
            let (x, y) = ordered(x, b.part(1)?);
            let sum = b.binary(ADD, x, y)?;
            let amount = b.part(2)?;
            shift(b, Shift::Left, sum, amount, Some(dst)).map(drop)
        }
        IntOp::Add3 | IntOp::XorAdd => {
            let first = if op == IntOp::Add3 { ADD } else { Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32 };
            let (x, y) = ordered(x, b.part(1)?);
            let sum = b.binary(first, x, y)?;
            let z = b.part(2)?;
            b.result(dst, ADD, Some(sum), z, None)
        }
        IntOp::MadU32 => {
            let (x, y) = ordered(x, b.part(1)?);
            let product = b.binary(MUL, x, y)?;
            let z = b.part(2)?;
            b.result(dst, ADD, Some(product), z, None)
        }
        IntOp::MulU24 | IntOp::MulI24 | IntOp::MadU24 | IntOp::MadI24 => {
            let signed = matches!(op, IntOp::MulI24 | IntOp::MadI24);
            let x = of_24_bits(b, 0, x, signed)?;
            let y = b.part(1)?;
            let y = of_24_bits(b, 1, y, signed)?;
            let (x, y) = ordered(x, y);
            if matches!(op, IntOp::MulU24 | IntOp::MulI24) {
                return b.result(dst, MUL, Some(x), y, None);
            }
            let product = b.binary(MUL, x, y)?;
            let z = b.part(2)?;
            b.result(dst, ADD, Some(product), z, None)
        }
        IntOp::Min3I | IntOp::Max3I | IntOp::Min3U | IntOp::Max3U => {
            let two = match op {
                IntOp::Min3I => IntOp::MinI,
                IntOp::Max3I => IntOp::MaxI,
                IntOp::Min3U => IntOp::MinU,
                _ => IntOp::MaxU,
            };
            let (code, _) = binary(two)?;
            let (x, y) = ordered(x, b.part(1)?);
            let first = b.binary(code, x, y)?;
            let z = b.part(2)?;
            b.result(dst, code, Some(first), z, None)
        }
        IntOp::Med3I => median(b, dst, x, binary(IntOp::MinI)?.0, binary(IntOp::MaxI)?.0),
        IntOp::Med3U => median(b, dst, x, binary(IntOp::MinU)?.0, binary(IntOp::MaxU)?.0),
        IntOp::AlignBit | IntOp::AlignByte => {
            let low = b.part(1)?;
            let unit = if op == IntOp::AlignBit { 1 } else { 8 };
            let Some(n) = b.constant(2).map(|n| n.wrapping_mul(unit) & 31) else {
                let amount = b.part(2)?;
                let amount = if unit == 1 { amount } else { b.with_imm(Shift::Left.codes().0, amount, 3)? };
                return align(b, dst, x, low, amount);
            };
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
        IntOp::BfeU | IntOp::BfeI => {
            let signed = op == IntOp::BfeI;
            let (Some(offset), Some(width)) = (b.constant(1), b.constant(2)) else {
                return field(b, dst, x, signed);
            };
            let (offset, width) = (offset & 31, width & 31);
            if !signed {
                let shifted = b.with_imm(Shift::Right.codes().0, x, offset as u8)?;
                return b.result(dst, AND, Some(shifted), Src::Const((1 << width) - 1), None);
            }
            if width == 0 || offset + width > 32 {
                return field(b, dst, x, signed);
            }
            let up = b.with_imm(Shift::Left.codes().0, x, (32 - offset - width) as u8)?;
            b.result(dst, Shift::Arithmetic.codes().0, None, up, Some((32 - width) as u8))
        }
        IntOp::BitMask => {
            let ones = match ones_above(b, x)? {
                Src::Const(above) => Src::Const(!above),
                above => {
                    b.update(above, AND_NOT, Some(above), Src::Const(!0), None, Where::Everywhere)?;
                    above
                }
            };
            let amount = b.part(1)?;
            shift(b, Shift::Left, ones, amount, Some(dst)).map(drop)
        }
        IntOp::MaskCountLo => mask_count(b, dst, x, 0, 32),
        IntOp::MaskCountHi => mask_count(b, dst, x, 32, 64),
        IntOp::CountOnes => {
            let value = b.own(x)?;
            count_ones(b, value)?;
            let y = b.part(1)?;
            b.result(dst, ADD, Some(value), y, None)
        }
        IntOp::BitReverse => reverse_bits(b, dst, x),
        IntOp::CarryOut => mask::carry_out(b, x),
        IntOp::Perm if b.is_plain() => match b.constant(2) {
            Some(selectors) => permute_by_constant(b, dst, x, selectors),
            None => permute(b, dst, x),
        },
        IntOp::LeadingZeros => {
            let count = b.unary(LEADING_ZEROS, x)?;
            position(b, dst, count)
        }
        IntOp::TrailingZeros => {
            // The lowest one by itself.
            let lowest = b.reg(Src::Const(0))?;
            b.update(lowest, SUB, Some(lowest), x, None, Where::Everywhere)?;
            b.update(lowest, AND, Some(lowest), x, None, Where::Everywhere)?;
            b.update(lowest, LEADING_ZEROS, None, lowest, None, Where::Everywhere)?;
            // If there is none, 31 - 32 is the result.
            let last = b.reg(Src::Const(31))?;
            b.result(dst, SUB, Some(last), lowest, None)
        }
        IntOp::LeadingSigns => {
            let signs = b.with_imm(Shift::Arithmetic.codes().0, x, 31)?;
            let code = Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32;
            b.update(signs, code, Some(signs), x, None, Where::Everywhere)?;
            b.update(signs, LEADING_ZEROS, None, signs, None, Where::Everywhere)?;
            position(b, dst, signs)
        }
        IntOp::SadU8 => {
            let x = b.reg(x)?;
            let y = b.part(1)?;
            let y = b.reg(y)?;
            let low = b.binary(Code::EVEX_Vpminub_zmm_k1z_zmm_zmmm512, x, y)?;
            let value = b.binary(Code::EVEX_Vpmaxub_zmm_k1z_zmm_zmmm512, x, y)?;
            b.update(value, SUB, Some(value), low, None, Where::Everywhere)?;
            sum_bytes(b, value)?;
            let z = b.part(2)?;
            b.result(dst, ADD, Some(value), z, None)
        }
        IntOp::SadU32 => {
            let (x, y) = ordered(x, b.part(1)?);
            let low = b.binary(binary(IntOp::MinU)?.0, x, y)?;
            let value = b.binary(binary(IntOp::MaxU)?.0, x, y)?;
            b.update(value, SUB, Some(value), low, None, Where::Everywhere)?;
            let z = b.part(2)?;
            b.result(dst, ADD, Some(value), z, None)
        }
        _ => words::lower(b, op, dst, x),
    }
}
