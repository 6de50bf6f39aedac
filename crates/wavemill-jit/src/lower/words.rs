//! Integer operations on 16-bit words: on the low one of each dword, or on both.
//!
//! Instructions on words have masks of words, so none of them writes a row.

use iced_x86::Code;
use wavemill_ir::{Attrs, IntOp, SrcMods, SubDword};

use super::builder::Builder;
use super::integer::{MULTIPLY_ADD, SHUFFLE_BYTES, ordered};
use crate::lir::{Src, Where};

const ADD: Code = Code::EVEX_Vpaddw_zmm_k1z_zmm_zmmm512;
const MUL: Code = Code::EVEX_Vpmullw_zmm_k1z_zmm_zmmm512;
const AND: Code = Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32;
const ADD_DWORDS: Code = Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
const LOW: Src = Src::Const(0xffff);

/// The instruction of an operation on two words.
const fn binary(op: IntOp) -> Option<Code> {
    Some(match op {
        IntOp::Add16 | IntOp::AddI16 | IntOp::PkAddI16 | IntOp::PkAddU16 => ADD,
        IntOp::Sub16 | IntOp::SubI16 | IntOp::PkSubI16 | IntOp::PkSubU16 => {
            Code::EVEX_Vpsubw_zmm_k1z_zmm_zmmm512
        }
        IntOp::Mul16 | IntOp::PkMulLo16 => MUL,
        IntOp::MinI16 | IntOp::Min3I16 | IntOp::PkMinI16 => Code::EVEX_Vpminsw_zmm_k1z_zmm_zmmm512,
        IntOp::MaxI16 | IntOp::Max3I16 | IntOp::PkMaxI16 => Code::EVEX_Vpmaxsw_zmm_k1z_zmm_zmmm512,
        IntOp::MinU16 | IntOp::Min3U16 | IntOp::PkMinU16 => Code::EVEX_Vpminuw_zmm_k1z_zmm_zmmm512,
        IntOp::MaxU16 | IntOp::Max3U16 | IntOp::PkMaxU16 => Code::EVEX_Vpmaxuw_zmm_k1z_zmm_zmmm512,
        _ => return None,
    })
}

/// The instructions of a shift: by a constant, and by an amount of each word.
const fn shift(op: IntOp) -> Option<(Code, Code)> {
    Some(match op {
        IntOp::Shl16 | IntOp::PkShl16 => {
            (Code::EVEX_Vpsllw_zmm_k1z_zmmm512_imm8, Code::EVEX_Vpsllvw_zmm_k1z_zmm_zmmm512)
        }
        IntOp::Shr16 | IntOp::PkShr16 => {
            (Code::EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8, Code::EVEX_Vpsrlvw_zmm_k1z_zmm_zmmm512)
        }
        IntOp::Sar16 | IntOp::PkSar16 => {
            (Code::EVEX_Vpsraw_zmm_k1z_zmmm512_imm8, Code::EVEX_Vpsravw_zmm_k1z_zmm_zmmm512)
        }
        _ => return None,
    })
}

/// A value of the operation's own, of whole vectors: these instructions broadcast nothing.
fn both(b: &mut Builder<'_>, code: Code, x: Src, y: Src) -> Option<Src> {
    let (x, y) = (b.reg(x)?, b.reg(y)?);
    b.binary(code, x, y)
}

fn update(b: &mut Builder<'_>, value: Src, code: Code, y: Src) -> Option<()> {
    let y = b.reg(y)?;
    b.update(value, code, Some(value), y, None, Where::Everywhere)
}

/// An operation on both words of its sources, which `source` returns.
fn words(
    b: &mut Builder<'_>,
    op: IntOp,
    x: Src,
    source: fn(&mut Builder<'_>, usize) -> Option<Src>,
) -> Option<Src> {
    let y = source(b, 1)?;
    if let Some((by_constant, by_word)) = shift(op) {
        let x = b.reg(x)?;
        return match y {
            // Both words may have amounts of their own.
            Src::Const(n) if n & 0xf == n >> 16 & 0xf || !b.inst.op.is_packed() => {
                b.with_imm(by_constant, x, (n & 0xf) as u8)
            }
            amount => {
                let amount = b.reg(amount)?;
                let amount = b.binary(AND, amount, Src::Const(0x000f_000f))?;
                b.update(amount, by_word, Some(x), amount, None, Where::Everywhere)?;
                Some(amount)
            }
        };
    }
    match op {
        IntOp::MadU16 | IntOp::MadI16 | IntOp::PkMadI16 | IntOp::PkMadU16 => {
            let product = both(b, MUL, x, y)?;
            let z = source(b, 2)?;
            update(b, product, ADD, z)?;
            Some(product)
        }
        IntOp::Med3I16 | IntOp::Med3U16 => {
            let (min, max) = match op {
                IntOp::Med3I16 => (IntOp::MinI16, IntOp::MaxI16),
                _ => (IntOp::MinU16, IntOp::MaxU16),
            };
            let (x, y) = (b.reg(x)?, b.reg(y)?);
            let (low, high) = (b.binary(binary(min)?, x, y)?, b.binary(binary(max)?, x, y)?);
            let z = source(b, 2)?;
            update(b, high, binary(min)?, z)?;
            update(b, high, binary(max)?, low)?;
            Some(high)
        }
        _ => {
            let code = binary(op)?;
            let value = both(b, code, x, y)?;
            if matches!(op, IntOp::Min3I16 | IntOp::Max3I16 | IntOp::Min3U16 | IntOp::Max3U16) {
                let z = source(b, 2)?;
                update(b, value, code, z)?;
            }
            Some(value)
        }
    }
}

/// Sums of products of words or bytes, and operations on the low word of each dword. `x` is the first source.
pub(super) fn lower(b: &mut Builder<'_>, op: IntOp, dst: u32, x: Src) -> Option<()> {
    let sum = match op {
        IntOp::MadU32U16 => {
            let y = b.part(1)?;
            let (x, y) = ordered(x, y);
            let x = b.reg(x)?;
            let low = b.binary(AND, x, LOW)?;
            let y = b.reg(y)?;
            let y = b.binary(AND, y, LOW)?;
            let code = Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;
            b.update(low, code, Some(low), y, None, Where::Everywhere)?;
            Some(low)
        }
        IntOp::MadI32I16 => {
            let y = b.part(1)?;
            let (x, y) = ordered(x, y);
            let x = b.reg(x)?;
            // The product of the other word is zero.
            let low = b.binary(AND, x, LOW)?;
            update(b, low, MULTIPLY_ADD, y)?;
            Some(low)
        }
        IntOp::Dot2I16 => {
            let y = b.part(1)?;
            Some(both(b, MULTIPLY_ADD, x, y)?)
        }
        IntOp::Dot4I8 | IntOp::Dot4U8 => Some(dot_of_bytes(b, x, op == IntOp::Dot4I8)?),
        _ => None,
    };
    if let Some(sum) = sum {
        let z = b.part(2)?;
        return b.result(dst, ADD_DWORDS, Some(sum), z, None);
    }
    let value = words(b, op, x, |b, i| b.part(i))?;
    b.result(dst, AND, Some(value), LOW, None)
}

/// The sum of the products of four bytes.
fn dot_of_bytes(b: &mut Builder<'_>, x: Src, signed: bool) -> Option<Src> {
    let up = Code::EVEX_Vpsllw_zmm_k1z_zmmm512_imm8;
    let down = match signed {
        true => Code::EVEX_Vpsraw_zmm_k1z_zmmm512_imm8,
        false => Code::EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8,
    };
    let y = b.part(1)?;
    let (x, y) = (b.reg(x)?, b.reg(y)?);
    let (even, other) = (b.with_imm(up, x, 8)?, b.with_imm(up, y, 8)?);
    for value in [even, other] {
        b.update(value, down, None, value, Some(8), Where::Everywhere)?;
    }
    update(b, even, MULTIPLY_ADD, other)?;
    b.update(other, down, None, y, Some(8), Where::Everywhere)?;
    let odd = b.with_imm(down, x, 8)?;
    update(b, odd, MULTIPLY_ADD, other)?;
    b.update(odd, ADD_DWORDS, Some(odd), even, None, Where::Everywhere)?;
    Some(odd)
}

/// Source `i` of a packed operation, with its words as the modifiers select them.
fn selected(b: &mut Builder<'_>, i: usize) -> Option<Src> {
    let mods = b.inst.attrs.src[i];
    let (low, high) = (mods.sel == SubDword::Word1, mods.hi_sel);
    match b.src(i, 0)? {
        value if (low, high) == (false, true) => Some(value),
        Src::Const(value) => {
            let word = |high| if high { value >> 16 } else { value & 0xffff };
            Some(Src::Const(word(low) | word(high) << 16))
        }
        value => {
            let bytes = |high| if high { 0x0302 } else { 0x0100 };
            let selectors = bytes(low) | bytes(high) << 16;
            b.binary(
                SHUFFLE_BYTES,
                value,
                Src::Quad(std::array::from_fn(|n| selectors + 0x0404_0404 * n as u32)),
            )
        }
    }
}

/// An operation on both words.
pub(super) fn packed(b: &mut Builder<'_>, op: IntOp) -> Option<()> {
    let whole = |mods: SrcMods| SrcMods { sel: SubDword::Dword, hi_sel: false, sext: false, ..mods };
    if !(Attrs { src: b.inst.attrs.src.map(whole), ..b.inst.attrs }).is_plain() {
        return None;
    }
    let dst = b.dst(0, 0)?;
    let x = selected(b, 0)?;
    let value = words(b, op, x, selected)?;
    b.copy(dst, value)
}
